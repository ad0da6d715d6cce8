"""Small files of every format that is read, as other programs write them: python seeds.py FOLDER

Needs numpy, scipy, h5py, pandas and pyarrow. The corpora of the fuzz targets are made of them.
"""

import gzip
import pathlib
import struct
import sys
import zipfile

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse

OUT = pathlib.Path(sys.argv[1])
OUT.mkdir(parents=True, exist_ok=True)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 4)).round(3)
IDS = [f"s{i}" for i in range(12)]
SPARSE = scipy.sparse.random(12, 4, 0.3, "csr", random_state=0)


def text():
    frame = pd.DataFrame(X.copy(), columns=list("abcd"))
    frame.iloc[3, 1] = np.nan
    (OUT / "plain.csv").write_text(frame.to_csv(index=False))
    (OUT / "tabs.tsv").write_text(frame.to_csv(sep="\t", index=False))
    (OUT / "semicolons.csv").write_text(frame.to_csv(sep=";", na_rep="NA"))
    (OUT / "packed.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode(), mtime=0))


def spreadsheets():
    """Two sheets with their cells in place."""
    schema = "http://schemas.openxmlformats.org"
    main = f'xmlns="{schema}/spreadsheetml/2006/main" xmlns:r="{schema}/officeDocument/2006/relationships"'

    def sheet(table):
        def cell(at, x):
            text = f't="inlineStr"><is><t>{x}</t></is>' if isinstance(x, str) else f"><v>{x}</v>"
            return f'<c r="{at}" {text}</c>'
        rows = (f'<row r="{i}">' + "".join(cell(f"{chr(65 + j)}{i}", x) for j, x in enumerate(row)) + "</row>"
                for i, row in enumerate(table, 1))
        return f"<worksheet {main}><sheetData>{''.join(rows)}</sheetData></worksheet>"

    def related(ties):
        links = (f'<Relationship Id="r{i}" Type="{schema}/officeDocument/2006/relationships/{of}" Target="{to}"/>'
                 for i, (of, to) in enumerate(ties, 1))
        return f'<Relationships xmlns="{schema}/package/2006/relationships">{"".join(links)}</Relationships>'

    tables = [[["a", "b"], [1, 2.5], [3, -4]], [["c"], [7], [8]]]
    sheets = "".join(f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>' for i, name in enumerate("xy", 1))
    parts = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": related([("officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": f"<workbook {main}><sheets>{sheets}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": related([("worksheet", f"worksheets/s{i}.xml") for i in (1, 2)]),
    } | {f"xl/worksheets/s{i}.xml": sheet(table) for i, table in enumerate(tables, 1)}
    for name, packing in [("plain.xlsx", zipfile.ZIP_STORED), ("packed.xlsx", zipfile.ZIP_DEFLATED)]:
        with zipfile.ZipFile(OUT / name, "w", packing) as archive:
            for part, content in parts.items():
                archive.writestr(zipfile.ZipInfo(part), '<?xml version="1.0"?>' + content, packing)


def numpy_files():
    np.save(OUT / "f8.npy", X)
    np.save(OUT / "f4_fortran.npy", np.asfortranarray(X.astype("f4")))
    np.save(OUT / "i8_big.npy", (X * 10).astype(">i8"))
    np.save(OUT / "u1.npy", np.abs(X * 10).astype("u1"))
    np.savez(OUT / "two.npz", x=X, y=X[:, :2], ids=np.array(IDS))
    np.savez_compressed(OUT / "packed.npz", x=X, ids=np.arange(12) + 2**53)


def matlab_files():
    cells = np.empty((1, 2), object)
    cells[0, 0], cells[0, 1] = X, X[:, :2]
    scipy.io.savemat(OUT / "plain.mat", {"X": X, "y": np.arange(12)})
    scipy.io.savemat(OUT / "packed.mat", {"X": X.astype("f4"), "k": 3}, do_compression=True)
    scipy.io.savemat(OUT / "cells.mat", {"X": cells})
    scipy.io.savemat(OUT / "sparse.mat", {"S": SPARSE.tocsc()}, do_compression=True)
    scipy.io.savemat(OUT / "sparse_plain.mat", {"S": SPARSE.tocsc()})
    with h5py.File(OUT / "seven.mat", "w", userblock_size=512, libver="earliest") as file:
        def matrix(name, values):
            made = file.create_dataset(name, data=values.T)
            made.attrs["MATLAB_class"] = np.bytes_("double")
            return made
        matrix("X", X)
        refs = file.create_group("#refs#")
        cell = file.create_dataset("C", (2, 1), h5py.ref_dtype)
        cell.attrs["MATLAB_class"] = np.bytes_("cell")
        for i in range(2):
            cell[i, 0] = matrix(f"#refs#/r{i}", X[:, : i + 2]).ref
        group = file.create_group("S")
        group.attrs["MATLAB_sparse"] = np.uint64(12)
        csc = SPARSE.tocsc()
        group["data"], group["ir"], group["jc"] = csc.data, csc.indices.astype("u8"), csc.indptr.astype("u8")


def frame(group, names, label):
    group.attrs["_index"] = "_index"
    group.attrs["encoding-type"] = "dataframe"
    group.create_dataset("_index", data=np.array(names, object), dtype=h5py.string_dtype())
    codes = group.create_group(label)
    codes.attrs["encoding-type"] = "categorical"
    codes.create_dataset("categories", data=np.array(["u", "v"], object), dtype=h5py.string_dtype())
    codes["codes"] = (np.arange(len(names)) % 2).astype("i1")


def ann_data(group, matrix, **packing):
    if scipy.sparse.issparse(matrix):
        x = group.create_group("X")
        x.attrs["encoding-type"] = f"{matrix.format}_matrix"
        x.attrs["shape"] = np.array(matrix.shape)
        for part in ("data", "indices", "indptr"):
            x.create_dataset(part, data=getattr(matrix, part), **packing)
    else:
        group.create_dataset("X", data=matrix, **packing)
    frame(group.create_group("obs"), IDS, "c")
    frame(group.create_group("var"), [f"f{i}" for i in range(4)], "c")


def hdf5_files():
    for name, matrix, packing in [
        ("dense.h5ad", X, {}),
        ("packed.h5ad", X.astype("f4"), {"compression": "gzip", "chunks": (5, 3)}),
        ("shuffled.h5ad", X, {"compression": "lzf", "shuffle": True, "fletcher32": True, "chunks": (12, 2)}),
        ("csr.h5ad", SPARSE, {}),
        ("csc.h5ad", SPARSE.tocsc(), {"compression": "gzip"}),
    ]:
        with h5py.File(OUT / name, "w") as file:
            ann_data(file, matrix, **packing)
    with h5py.File(OUT / "two.h5mu", "w") as file:
        for name, matrix in [("rna", X), ("atac", SPARSE)]:
            ann_data(file.create_group(f"mod/{name}"), matrix)
    with h5py.File(OUT / "plain.h5", "w") as file:
        file["x"], file["y"], file["ids"] = X, (X * 10).astype("i4"), np.arange(12)


def market_files():
    counts = (SPARSE * 10).ceil().tocoo()
    scipy.io.mmwrite(OUT / "real.mtx", SPARSE)
    scipy.io.mmwrite(OUT / "integer.mtx", counts.astype("i4").T)
    scipy.io.mmwrite(OUT / "pattern.mtx", counts, field="pattern")
    (OUT / "packed.mtx.gz").write_bytes(gzip.compress((OUT / "real.mtx").read_bytes(), mtime=0))
    csc = SPARSE.tocsr().T
    with h5py.File(OUT / "tenx.h5", "w") as file:
        parts = {part: getattr(csc, part) for part in ("data", "indices", "indptr")}
        parts |= {"shape": np.array(csc.shape, "i4"), "barcodes": np.array(IDS, "S")}
        parts["features/id"] = np.array([f"ENSG{i}" for i in range(4)], "S")
        parts["features/name"] = np.array(list("abad"), "S")
        parts["features/feature_type"] = np.array(["Gene Expression"] * 3 + ["Antibody Capture"], "S")
        for part, values in parts.items():
            file.create_dataset(f"matrix/{part}", data=values, compression="gzip")


def columnar_files():
    table = pa.table({
        "id": IDS,
        "a": X[:, 0],
        "b": pa.array(X[:, 1].astype("f4")),
        "c": pa.array([None if i == 3 else i for i in range(12)], pa.int32()),
        "d": pa.array(X[:, 3] > 0),
        "e": pa.DictionaryArray.from_arrays(pa.array([0, 1] * 6, pa.int8()), pa.array([1.5, 2.5])),
    })
    numbers = table.drop(["id"])
    for codec in ("none", "snappy", "gzip", "zstd", "brotli", "lz4"):
        pq.write_table(numbers.drop(["e"]), OUT / f"{codec}.parquet", compression=codec)
    pq.write_table(numbers.drop(["e"]), OUT / "plain.parquet", use_dictionary=False, data_page_version="2.0")
    for codec in ("uncompressed", "lz4", "zstd"):
        feather.write_feather(numbers, str(OUT / f"{codec}.feather"), compression=codec)
    with pa.OSFile(str(OUT / "stream.arrows"), "wb") as sink, pa.ipc.new_stream(sink, numbers.schema) as stream:
        stream.write_table(numbers, max_chunksize=5)


def others():
    images = struct.pack(">4B3I", 0, 0, 8, 3, 3, 2, 2) + bytes(range(12))
    (OUT / "images.idx").write_bytes(images)
    (OUT / "images.idx.gz").write_bytes(gzip.compress(images, mtime=0))


text(), spreadsheets(), numpy_files(), matlab_files(), hdf5_files(), market_files(), columnar_files(), others()
