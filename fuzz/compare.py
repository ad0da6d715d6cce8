"""Compares the values read by `damage.py` with NumPy, SciPy, h5py and pyarrow on the same files.

    python compare.py RESULTS.jsonl

Files that either side refuses are counted and skipped. The script restarts itself if a library crashes or hangs.
"""

import collections
import csv
import gzip
import io
import json
import os
import pathlib
import signal
import sys
import warnings
import zipfile

import h5py
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse

warnings.simplefilter("ignore")
MISSING = {"", "NA", "N/A", "na", "NaN", "nan", "NAN", "null", "NULL", "None", "?"}
NAN = np.uint64(0x7FF8000000000000)


def weighted(values):
    values = np.ascontiguousarray(values, dtype="f8")
    bits = values.reshape(-1).view("u8").copy()
    bits[np.isnan(values.reshape(-1))] = NAN
    with np.errstate(over="ignore"):
        total = (bits * np.arange(1, bits.size + 1, dtype="u8")).sum(dtype="u8")
    return list(values.shape), f"{int(total):016x}"


def text(path):
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    lines = raw.decode().removeprefix("\ufeff")
    first = lines.split("\n")[0]
    delimiter = max(",\t;", key=lambda d: (first.count(d), d == ","))
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(lines), delimiter=delimiter) if row]
    head, rows = rows[0], [row for row in rows[1:] if row != [""] or len(rows[0]) == 1]
    if all(len(row) == len(head) + 1 for row in rows):
        # R and pandas write no name above the ids.
        return {None: pandas.read_csv(io.StringIO(lines), sep=delimiter, na_values=MISSING).to_numpy("f8")}
    kept = [j for j, name in enumerate(head) if name and not name.startswith("Unnamed: ")]
    return {None: np.array([[np.nan if row[j] in MISSING else float(row[j]) for j in kept] for row in rows])}


def npy(path):
    return {None: np.load(path)}


def npz(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files if file[name].ndim == 2}


def level5(path):
    tables = {}
    for name, value in scipy.io.loadmat(path).items():
        if name.startswith("__"):
            continue
        if scipy.sparse.issparse(value):
            tables[name] = value.toarray()
        elif value.dtype == object:
            for i, cell in enumerate(value.reshape(-1, order="F")):
                tables[f"{name}{i}"] = cell.toarray() if scipy.sparse.issparse(cell) else cell
        else:
            tables[name] = value
    return tables


def sparse(group, kind):
    parts = (group["data"][()], group["indices"][()], group["indptr"][()])
    made = kind(parts, shape=tuple(int(n) for n in group.attrs["shape"]))
    made.check_format(full_check=True)
    return made.toarray()


def matrix(node):
    if isinstance(node, h5py.Dataset):
        return node[()]
    kind = node.attrs["encoding-type"]
    kind = kind.decode() if isinstance(kind, bytes) else kind
    return sparse(node, scipy.sparse.csc_matrix if kind == "csc_matrix" else scipy.sparse.csr_matrix)


def of_matlab(file, node):
    if isinstance(node, h5py.Group):
        parts = (node["data"][()], node["ir"][()].astype("i8"), node["jc"][()].astype("i8"))
        made = scipy.sparse.csc_matrix(parts, shape=(int(node.attrs["MATLAB_sparse"]), len(parts[2]) - 1))
        made.check_format(full_check=True)
        return made.toarray()
    return node[()].T


def hdf5(path):
    with h5py.File(path) as file:
        if "mod" in file:
            return {name: matrix(file["mod"][name]["X"]) for name in file["mod"]}
        if "obs" in file or "var" in file:
            return {None: matrix(file["X"])}
        tables = {}
        for name in file:
            if name.startswith("#"):
                continue
            node = file[name]
            if path.suffix == ".mat":
                kind = node.attrs.get("MATLAB_class", b"")
                if kind == b"cell":
                    for i, ref in enumerate(node[()].reshape(-1)):
                        tables[f"{name}{i}"] = of_matlab(file, file[ref])
                    continue
                tables[name] = of_matlab(file, node)
            else:
                tables[name] = node[()]
        return tables


def columns(table):
    table.validate(full=True)
    numbers = []
    for column in table.columns:
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_decimal(column.type):
            # Its own conversion is off by a last bit.
            column = pa.array([None if value is None else float(value) for value in column.to_pylist()], pa.float64())
        if not pa.types.is_floating(column.type):
            column = column.cast(pa.int64() if pa.types.is_boolean(column.type) else column.type)
        numbers.append(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    return {None: np.array(numbers).T}


def stream(path):
    with pa.ipc.open_stream(path.read_bytes()) as reader:
        return columns(reader.read_all())


def reader_of(path):
    head = path.open("rb").read(4096)
    if any(head[at:].startswith(b"\x89HDF\r\n\x1a\n") for at in (0, 512, 1024, 2048)):
        return hdf5
    if head.startswith(b"\x93NUMPY"):
        return npy
    if head.startswith(b"PAR1"):
        return lambda path: columns(pq.read_table(path, page_checksum_verification=True))
    if head.startswith(b"ARROW1"):
        return lambda path: columns(feather.read_table(path))
    if head.startswith(b"\xff\xff\xff\xff"):
        return stream
    if path.suffix == ".mat":
        return level5
    return npz if zipfile.is_zipfile(path) or head.startswith(b"PK") else text


def compare(line, counts):
    path = pathlib.Path(line["file"])
    for flaw in ("panicked", "crashed", "hung"):
        if line[flaw]:
            counts[flaw] += 1
            print(flaw, path, flush=True)
    if line.get("peak_bytes", 0) > max(4 * path.stat().st_size, 500_000_000):
        counts["memory"] += 1
        print("memory", path, flush=True)
    tables = line.get("outcome", {}).get("tables")
    if tables is None:
        counts["refused"] += 1
        return
    try:
        expected = reader_of(path)(path)
    except Exception:
        counts["refused by the others"] += 1
        return
    for table in tables:
        values = expected.get(table["name"], expected.get(None))
        # A name that is no UTF-8 is spelled in more than one way, and a matrix alone is named after the file.
        if values is None:
            numbers = [v for v in expected.values() if np.issubdtype(np.asarray(v).dtype, np.number)]
            candidates = [v for v in numbers if weighted(v) == (table["shape"], table["sum"])]
            values = candidates[0] if candidates else None
        try:
            same = values is not None and weighted(np.atleast_2d(values)) == (table["shape"], table["sum"])
        except (TypeError, ValueError):
            counts["refused by the others"] += 1
            return
        if not same:
            counts["different"] += 1
            found = None if values is None else weighted(np.atleast_2d(values))
            print("different", path, table["name"], table["shape"], table["sum"], found, flush=True)
            return
    counts["the same"] += 1


def main():
    results = [json.loads(line) for line in open(sys.argv[1])]
    state = pathlib.Path(sys.argv[1] + ".state")
    at, counts = 0, collections.Counter()
    while at < len(results):
        child = os.fork()
        if child == 0:
            for i in range(at, len(results)):
                state.write_text(json.dumps([i, counts]))
                # Its default is to end the process, also inside a library that hangs.
                signal.alarm(20)
                compare(results[i], counts)
            state.write_text(json.dumps([len(results), counts]))
            os._exit(0)
        os.waitpid(child, 0)
        at, counts = json.loads(state.read_text())
        counts = collections.Counter(counts)
        if at < len(results):
            counts["crashed or hung the others"] += 1
            at += 1
    state.unlink()
    counts["files"] = len(results)
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
