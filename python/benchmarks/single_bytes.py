"""Checks that every single-byte change of small files is refused, or read as before, or read like the format's reference reads it.

    cargo build -p xtask
    python python/benchmarks/single_bytes.py target/debug/xtask SEEDS OUT [SHARE]

SEEDS has files from `fuzz/seeds.py` and from `more_seeds` of this program. Every SHARE-th byte (default 1) is changed in three ways. Files that are
read differently are read again with NumPy, SciPy, h5py and pyarrow (with page checksums). Needs numpy, scipy, h5py, pandas and pyarrow. The exit code is
1 if a file is read unlike its reference.
"""

import collections
import csv
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import warnings
from decimal import Decimal

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import scipy.io

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "fuzz"))
import compare
warnings.simplefilter("ignore")


def more_seeds(out):
    """Writes files that `fuzz/seeds.py` leaves out: other versions of NPY, HDF5 and pages, ids as words, narrow numbers."""
    rng = np.random.default_rng(1)
    x, ids = rng.normal(size=(12, 4)).round(3), np.array([f"s{i:02}" for i in range(12)])
    frame = pd.DataFrame(x, columns=list("abcd"))
    quoted = frame.to_csv(index=False, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    (out / "quoted.csv").write_text(quoted, newline="")
    (out / "rows.csv").write_text(frame.to_csv())
    (out / "tabs.tsv.gz").write_bytes(gzip.compress(frame.to_csv(sep="\t", index=False).encode(), mtime=0))
    with open(out / "version2.npy", "wb") as file:
        np.lib.format.write_array(file, x, version=(2, 0))
    with open(out / "version3.npy", "wb") as file:
        np.lib.format.write_array(file, x.astype("f4"), version=(3, 0))
    np.save(out / "i2.npy", (x * 10).astype("<i2"))
    np.save(out / "truth.npy", x > 0)
    np.savez(out / "ids_i8.npz", a=x, ids=np.arange(12))
    np.savez_compressed(out / "three.npz", a=x, b=x[:, :3].astype("f4"), ids=ids)
    for packed in (False, True):
        name = "packed" if packed else "plain"
        scipy.io.savemat(out / f"ids_{name}.mat", {"a": x, "b": (x * 9).astype("i2"), "ids": ids.astype(object)},
                         do_compression=packed)
    for libver in ("earliest", "v110", "v114"):
        with h5py.File(out / f"words_{libver}.h5", "w", libver=libver) as file:
            file["a"], file["b"] = x, x[:, :3]
            file["ids"] = ids.astype(h5py.string_dtype())
        with h5py.File(out / f"fixed_{libver}.h5", "w", libver=libver, track_order=True) as file:
            file.create_dataset("a", data=x, chunks=(6, 2), compression="gzip", fletcher32=True)
            file["ids"] = ids.astype("S3")
    table = pa.table({name: x[:, j] for j, name in enumerate("abcd")})
    with pa.OSFile(str(out / "packed.arrows"), "wb") as sink:
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
            stream.write_table(table, max_chunksize=7)
    decimals = pa.table({"a": pa.array([Decimal(i) / 8 for i in range(12)], pa.decimal128(9, 3)), "b": x[:, 1]})
    feather.write_feather(decimals, str(out / "decimals.feather"), compression="uncompressed")
    pq.write_table(decimals, out / "decimals.parquet", compression="none")
    for version in ("1.0", "2.0"):
        for codec in ("none", "snappy", "zstd"):
            pq.write_table(table, out / f"pages{version}_{codec}.parquet", compression=codec,
                           data_page_version=version, write_page_checksum=True)


def names_of(path):
    """Returns ids and column names of each table by the reference, `None` if it has none."""
    reader = compare.reader_of(path)
    if reader is compare.hdf5:
        with h5py.File(path) as file:
            groups = dict(file["mod"].items()) if "mod" in file else {None: file}
            return {name: of_group(group) for name, group in groups.items()}
    if reader is compare.npz:
        with np.load(path, allow_pickle=False) as file:
            return {None: (words(file["ids"]) if "ids" in file.files else None, None)}
    if reader is compare.level5:
        ids = scipy.io.loadmat(path).get("ids")
        return {None: (None if ids is None else [str(np.squeeze(word)) for word in ids.reshape(-1)], None)}
    head = path.open("rb").read(6)
    if head.startswith(b"PAR1"):
        return {None: (None, pq.read_table(path).column_names)}
    if head == b"ARROW1":
        return {None: (None, feather.read_table(path).column_names)}
    if reader is compare.stream:
        with pa.ipc.open_stream(path.read_bytes()) as stream:
            return {None: (None, stream.schema.names)}
    return {}


def of_group(group):
    found = []
    for places in (("obs/_index", "ids"), ("var/_index",)):
        place = next((place for place in places if place in group), None)
        found.append(None if place is None else words(group[place][()]))
    return tuple(found)


def words(values):
    return [word.decode(errors="replace") if isinstance(word, bytes) else str(word) for word in values]


def have_other_names(tables, names):
    for table in tables:
        ids, features = names.get(table["name"], names.get(None, (None, None)))
        if ids is not None and ids != table["ids"] or features is not None and features != table["features"]:
            return True
    return False


def format_of(path):
    path = path.name.removesuffix(".gz")
    return path.rsplit(".", 1)[-1]


def verdict(line):
    counts = collections.Counter()
    flaws = dict.fromkeys(("panicked", "crashed", "hung"), False)
    tables = line["different"]
    compare.compare({"file": line["file"], **flaws, "outcome": {"tables": tables}}, counts)
    found = next(iter(counts), "different")
    try:
        if found == "the same" and have_other_names(tables, names_of(pathlib.Path(line["file"]))):
            found = "other names"
    except Exception:
        found = "refused by the others"
    return found


def verdicts(lines):
    """Returns the verdicts on all lines; a new process starts after a file that crashes the reference."""
    found = []
    while len(found) < len(lines):
        back, front = os.pipe()
        if os.fork() == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            for line in lines[len(found):]:
                signal.alarm(20)
                os.write(front, (verdict(line) + "\n").encode())
            os._exit(0)
        os.close(front)
        with open(back) as stream:
            found += stream.read().splitlines()
        os.wait()
        if len(found) < len(lines):
            found.append("refused by the others")
    return found


def main():
    program, seeds, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    share = sys.argv[4] if len(sys.argv) > 4 else "1"
    seeds.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, ROOT / "fuzz" / "seeds.py", seeds], check=True)
    more_seeds(seeds)
    totals = collections.defaultdict(collections.Counter)
    unlike = 0
    # IDX is not a format of views.
    for seed in sorted(seed for seed in seeds.iterdir() if ".idx" not in seed.name):
        run = subprocess.run([program, "study", "damage", "single", out, share, seed], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        total = totals[format_of(seed)]
        total["files"] += 1
        total["crashed"] += run.returncode != 0
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        for line in lines:
            if "seed" in line:
                total["changes"] += line["refused"] + line["same"] + line["different"]
                total["refused"] += line["refused"]
                total["as before"] += line["same"]
        lines = [line for line in lines if "file" in line]
        for line, verdict in zip(lines, verdicts(lines)):
            total[verdict] += 1
            if verdict == "the same":
                pathlib.Path(line["file"]).unlink(missing_ok=True)
            else:
                unlike += 1
                print(verdict, line["file"], flush=True)
    for name, total in totals.items():
        print(name, json.dumps(total), flush=True)
    sys.exit(unlike > 0)


main()
