"""Every single-byte change of small files is refused, read as before, or read as the format's reference does.

    cargo build -p cdimc-tables --example mutate
    python python/benchmarks/single_bytes.py target/debug/examples/mutate SEEDS OUT [SHARE]

SEEDS holds files as `fuzz/seeds.py` and this program's `more_seeds` make them; every SHARE-th byte (1) is changed
in three ways. What is read differently is read again with NumPy, SciPy, h5py and pyarrow (page checksums on).
Needs numpy, scipy, h5py, pandas and pyarrow. Ends with 1 if something is read unlike the reference.
"""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import warnings

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "fuzz"))
import compare
warnings.simplefilter("ignore")


def more_seeds(out):
    """What `fuzz/seeds.py` leaves out: other versions of NPY, HDF5 and pages, ids as words, narrow numbers."""
    rng = np.random.default_rng(1)
    x, ids = rng.normal(size=(12, 4)).round(3), np.array([f"s{i:02}" for i in range(12)])
    with open(out / "version2.npy", "wb") as file:
        np.lib.format.write_array(file, x, version=(2, 0))
    np.save(out / "i2.npy", (x * 10).astype("<i2"))
    np.save(out / "truth.npy", x > 0)
    np.savez(out / "ids_i8.npz", a=x, ids=np.arange(12))
    np.savez_compressed(out / "three.npz", a=x, b=x[:, :3].astype("f4"), ids=ids)
    for packed in (False, True):
        name = "packed" if packed else "plain"
        scipy.io.savemat(out / f"ids_{name}.mat", {"a": x, "b": (x * 9).astype("i2"), "ids": ids.astype(object)},
                         do_compression=packed)
    for libver in ("earliest", "v110", "latest"):
        with h5py.File(out / f"words_{libver}.h5", "w", libver=libver) as file:
            file["a"], file["b"] = x, x[:, :3]
            file["ids"] = ids.astype(h5py.string_dtype())
        with h5py.File(out / f"fixed_{libver}.h5", "w", libver=libver, track_order=True) as file:
            file.create_dataset("a", data=x, chunks=(6, 2), compression="gzip", fletcher32=True)
            file["ids"] = ids.astype("S3")
    table = pa.table({name: x[:, j] for j, name in enumerate("abcd")})
    for version in ("1.0", "2.0"):
        for codec in ("none", "snappy", "zstd"):
            pq.write_table(table, out / f"pages{version}_{codec}.parquet", compression=codec,
                           data_page_version=version, write_page_checksum=True)


def ids_of(path):
    """The ids as the reference reads them, `None` where the file has none."""
    reader = compare.reader_of(path)
    if reader is compare.hdf5:
        with h5py.File(path) as file:
            for name in ("ids", "obs/_index"):
                if name in file:
                    return words(file[name][()])
            return None
    if reader is compare.npz:
        with np.load(path, allow_pickle=False) as file:
            return words(file["ids"]) if "ids" in file.files else None
    if reader is compare.level5:
        ids = scipy.io.loadmat(path).get("ids")
        return None if ids is None else [str(np.squeeze(word)) for word in ids.reshape(-1)]
    return None


def words(values):
    return [word.decode(errors="replace") if isinstance(word, bytes) else str(word) for word in values]


def format_of(path):
    path = path.name.removesuffix(".gz")
    return path.rsplit(".", 1)[-1]


def verdict(line):
    """In a process of its own: the reference may crash too."""
    back, front = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        counts = collections.Counter()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        flaws = dict.fromkeys(("panicked", "crashed", "hung"), False)
        compare.compare({"file": line["file"], **flaws, "outcome": {"tables": line["different"]}}, counts)
        said = next(iter(counts), "different")
        try:
            ids = ids_of(pathlib.Path(line["file"]))
            if said == "the same" and any(table["ids"] != ids for table in line["different"]) and ids is not None:
                said = "other ids"
        except Exception:
            said = "refused by the others"
        os.write(front, said.encode())
        os._exit(0)
    os.close(front)
    said = os.read(back, 100).decode()
    os.close(back)
    os.waitpid(child, 0)
    return said or "refused by the others"


def main():
    program, seeds, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    share = sys.argv[4] if len(sys.argv) > 4 else "1"
    seeds.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, ROOT / "fuzz" / "seeds.py", seeds], check=True)
    more_seeds(seeds)
    totals = collections.defaultdict(collections.Counter)
    unlike = 0
    for seed in sorted(seeds.iterdir()):
        run = subprocess.run([program, "single", out, share, seed], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        total = totals[format_of(seed)]
        total["files"] += 1
        total["crashed"] += run.returncode != 0
        for line in map(json.loads, run.stdout.splitlines()):
            if "seed" in line:
                total["changes"] += line["refused"] + line["same"] + line["different"]
                total["refused"] += line["refused"]
                total["as before"] += line["same"]
                continue
            said = verdict(line)
            total[said] += 1
            if said == "the same":
                pathlib.Path(line["file"]).unlink(missing_ok=True)
            else:
                unlike += 1
                print(said, line["file"], flush=True)
    for name, total in totals.items():
        print(name, json.dumps(total), flush=True)
    sys.exit(unlike > 0)


main()
