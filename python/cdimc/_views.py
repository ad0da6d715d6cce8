"""Conversion of arrays, frames, AnnData and MuData to tables for the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _cdimc

#: A list or dict of arrays, frames or AnnData, or a MuData.
Views: TypeAlias = Any

#: Contents of columns of pandas with any objects that are numbers; columns of a transposed frame are such objects.
NUMBERS = ("decimal", "floating", "integer", "mixed-integer-float", "boolean", "empty")

#: Label of a sample without a cluster as text: some types of columns make a float of it.
NO_CLUSTER = ("-1", "-1.0")


class Sparse(NamedTuple):
    """Matrix in compressed rows, as in SciPy, with ascending and unique columns per row."""

    shape: tuple[int, int]
    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    data: NDArray[np.float64]


class View(NamedTuple):
    """One table with a row per sample and a column per feature.

    Attributes
    ----------
    name : str
        Name in errors and model files.
    ids : list of str or None
        Sample of each row; ``None`` if row i of every view is the same sample.
    features : list of str or None
        Name of each column; ``None`` if columns are numbered.
    values : ndarray or Sparse of shape (n_rows, n_features)
        float32 or float64; NaN is missing.
    """

    name: str
    ids: list[str] | None
    features: list[str] | None
    values: NDArray[np.floating[Any]] | Sparse


def as_views(Xs: Views, names: Sequence[str] | None = None) -> list[View]:
    """Returns the tables of ``Xs``.

    With the ``names`` of a model's views, a list is matched by position, a dict by name, in any order. None is a
    missing view.

    Examples
    --------
    >>> import numpy as np
    >>> [view.name for view in as_views([np.eye(3), np.eye(3)])]
    ['view0', 'view1']
    >>> [view.name for view in as_views([None, np.eye(3)], names=["rna", "protein"])]
    ['protein']
    """
    if hasattr(Xs, "mod") and hasattr(Xs, "obsmap"):  # A MuData; observed samples have a row in the modality.
        Xs = dict(Xs.mod)
    elif not isinstance(Xs, (Mapping, list, tuple)):
        raise ValueError(
            f"Xs is a {type(Xs).__name__}: must be a list or dict of views, or a MuData; "
            "one table of several views goes through cdimc.AsSingleTable"
        )
    there = [(name, X) for name, X in with_names(Xs, names) if X is not None]
    _check_numbered(dict(there))
    return [_view(name, X) for name, X in there]


def with_names(Xs: Any, names: Sequence[str] | None) -> list[tuple[str, Any]]:
    """Returns the views of a list or dict with their names; ``names`` are of a model's views."""
    if isinstance(Xs, Mapping):
        return [(str(name), X) for name, X in Xs.items()]
    if names is not None and len(names) != len(Xs):
        raise ValueError(
            f"{len(Xs)} views: the model has {len(names)} ({', '.join(names)}); "
            "give None for a view that is not there, or a dict"
        )
    return list(zip(names or [f"view{v}" for v in range(len(Xs))], Xs))


def _check_numbered(Xs: Mapping[str, Any]) -> None:
    """Refuses frames of different lengths that only number their rows: row i may be another sample in each."""
    lengths = {name: len(X) for name, X in Xs.items() if _is_numbered(X)}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(
            f"rows without names: {counts}; samples are joined by the index: make it the sample names, "
            "as in frame.set_index(COLUMN) or adata.obs_names = NAMES"
        )


def check_same_rows(tables: Mapping[str, Any]) -> None:
    """Refuses frames and series of pandas in which row i has another name than in the first."""
    pandas = {name: X.index for name, X in tables.items() if hasattr(X, "iloc") and not _is_numbered(X)}
    named = [(name, list(map(str, index))) for name, index in pandas.items()]
    for name, index in named[1:]:
        if index != named[0][1]:
            raise ValueError(
                f"the index of {name} differs from the index of {named[0][0]}: row i of both must be the same sample, "
                "as reindex(INDEX) gives"
            )


def check_unique(view: View) -> None:
    """Refuses a view with two rows of one sample."""
    row_of: dict[str, int] = {}
    for row, id in enumerate(view.ids or [], start=1):
        if id in row_of:
            raise ValueError(
                f"{view.name}: id `{id}` is in row {row_of[id]} and again in row {row}: ids must be unique"
            )
        row_of[id] = row


def _is_numbered(X: Any) -> bool:
    """Returns whether a frame or AnnData with rows has no names for them."""
    index: Any = getattr(X, "obs_names", getattr(X, "index", None))
    if type(index).__name__ == "RangeIndex":
        return (index.start, index.step) == (0, 1) and len(index) > 0
    if not type(index).__module__.startswith("pandas.") or not len(index) or index[0] != "0":
        return False
    # AnnData writes the numbers as text.
    return list(index) == list(map(str, range(len(index))))


def sample_names(Xs: Views) -> list[str]:
    """Returns the samples of ``Xs`` in the order of results.

    Samples are joined by name, in order of first appearance over the views, with or without a value there. Rows of
    arrays are numbered from 1.

    Parameters
    ----------
    Xs : list or dict of views, or MuData
        Same as for ``fit``.

    Returns
    -------
    list of str
        One name per sample.

    Examples
    --------
    >>> import pandas as pd
    >>> rna = pd.DataFrame({"a": [1.0, 2.0]}, index=["p1", "p2"])
    >>> protein = pd.DataFrame({"b": [3.0, 4.0]}, index=["p3", "p1"])
    >>> sample_names([rna, protein])
    ['p1', 'p2', 'p3']
    """
    return names_of(as_views(Xs))


def names_of(views: Sequence[View]) -> list[str]:
    """Returns the samples of these tables in the order of results."""
    if not views:
        raise ValueError("views = 0: at least one view is needed")
    if views[0].ids is None:
        return [str(i + 1) for i in range(views[0].values.shape[0])]
    return list(dict.fromkeys(name for view in views for name in _rows_of(view)))


def _rows_of(view: View) -> list[str]:
    """Returns the sample of each row."""
    return names_of([view]) if view.ids is None else view.ids


def observed_names(views: Sequence[View]) -> tuple[list[str], list[str]]:
    """Returns the samples with a value in some view, in order of first appearance, and the other samples."""
    observed = dict.fromkeys(names_of(views), False)
    for view in views:
        observed.update(dict.fromkeys(np.array(_rows_of(view), dtype=object)[~missing_rows(view.values)], True))
    return [name for name in observed if observed[name]], [name for name in observed if not observed[name]]


def _view(name: str, X: Any) -> View:
    ids: list[str] | None
    features: list[str] | None
    if hasattr(X, "__dask_graph__"):
        raise ValueError(
            f"{name} lies in partitions of Dask, which are not gathered: fit, predict, predict_proba, "
            "predict_confidence and unusual of cdimc.dask.TMixture take it"
        )
    if type(X).__name__ == "LazyFrame":
        raise ValueError(f"{name} is a LazyFrame, which holds no values yet: must be what its collect() gives")
    if hasattr(X, "obsmap"):
        raise ValueError(f"{name} is a MuData: must be one of its modalities")
    if hasattr(X, "obs_names") and hasattr(X, "var_names"):  # AnnData
        if X.X is None:
            raise ValueError(f"{name} has no X: must be an AnnData with X, or a layer, as adata.to_df(LAYER) gives")
        ids, features, values = _of_index(name, X.obs_names), list(map(str, X.var_names)), X.X
    elif hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        ids, features, values = _of_index(name, X.index), list(map(str, X.columns)), _of_pandas(name, X)
    elif type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "columns"):
        ids, X = _polars_ids(name, X)
        features, values = list(X.columns), X.to_numpy()
    elif hasattr(X, "columns") or hasattr(X, "column_names"):  # As an array it would lose the names of samples.
        raise ValueError(
            f"{name} is a {type(X).__name__} of {type(X).__module__.partition('.')[0]}: must be a frame of pandas with the "
            "names of the samples as index, or a frame of polars"
        )
    else:
        ids, features, values = None, None, X
    for gather in ("to_memory", "compute"):  # An AnnData backed by a file, or by Dask.
        values = getattr(values, gather)() if hasattr(values, gather) else values
    if hasattr(values, "tocsr"):
        _check_matrix(name, values.ndim)
        return View(name, ids, features, _of_scipy(name, values))
    try:
        if isinstance(values, np.ma.MaskedArray):  # asarray would show masked values.
            values = np.ma.filled(values.astype(np.result_type(values, np.float32)), np.nan)
        values = np.asarray(values)
        if values.dtype.kind not in "fiubO":
            raise TypeError(f"its values are of type {values.dtype}")
        if values.dtype not in (np.float64, np.float32):
            values = values.astype(np.float64)
        # The engine needs strides of whole items; a field of packed records has other strides.
        if not values.flags.aligned or any(stride % values.itemsize for stride in values.strides):
            values = values.copy()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: only numbers can be clustered on: {error}") from None
    _check_matrix(name, values.ndim)
    return View(name, ids, features, values)


def _check_matrix(name: str, n_dimensions: int) -> None:
    if n_dimensions != 2:
        raise ValueError(f"{name} has {n_dimensions} dimensions: a view is a matrix of samples and features")


def _of_scipy(name: str, X: Any) -> Sparse:
    """Returns canonical compressed rows; the input is unchanged."""
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{name}: only numbers can be clustered on: its values are of type {X.dtype}")
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return Sparse(
        (int(rows.shape[0]), int(rows.shape[1])),
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.uint32),
        rows.data.astype(np.float64),
    )


def missing_rows(values: NDArray[Any] | Sparse) -> NDArray[np.bool_]:
    """Returns whether each row is all NaN."""
    missing: NDArray[np.bool_]
    if isinstance(values, Sparse):
        # Only rows with an entry in every column can be all NaN.
        full = np.flatnonzero(np.diff(values.indptr) == values.shape[1])
        missing = np.zeros(values.shape[0], dtype=bool)
        for row in full:
            missing[row] = np.isnan(values.data[values.indptr[row] : values.indptr[row + 1]]).all()
        return missing
    missing = np.isnan(values).all(axis=1)
    return missing


def missing_value(values: NDArray[Any]) -> Any:
    """Returns what a sample without a value in any view has in such an array: no cluster, 0, NaN, False or an empty set."""
    return {"i": -1, "u": 0, "f": np.nan, "b": False, "O": ""}[values.dtype.kind]


def with_values(views: list[View]) -> list[View]:
    """Returns the views with any observed row, and all input that the engine rejects: no columns, or mixed names."""
    if len({view.ids is None for view in views}) > 1:
        return views
    return [view for view in views if not view.values.shape[1] or not missing_rows(view.values).all()]


def _of_index(name: str, index: Any) -> list[str]:
    import pandas as pd

    return _ids(name, index, pd.isna(index.to_numpy()))


def _ids(name: str, ids: Any, missing: Any) -> list[str]:
    """Returns the ids as text. An empty id is an error, because different samples without an id would be joined."""
    if len(rows := np.flatnonzero(missing)):
        raise ValueError(f"{name}: row {rows[0] + 1} has no id")
    return list(map(str, ids))


def _of_pandas(name: str, X: Any) -> NDArray[Any]:
    from pandas.api.types import infer_dtype

    others = [j for j, dtype in enumerate(X.dtypes) if getattr(dtype, "kind", "O") not in "fiub"]
    if numbers := [j for j in others if infer_dtype(X.iloc[:, j]) in NUMBERS]:
        X, others = X.copy(deep=False), sorted({*others} - {*numbers})
        for j in numbers:
            X.isetitem(j, X.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan))
    if others:
        text = [j for j in others if getattr(X.dtypes.iloc[j], "kind", "O") == "O"]
        advice = _advice(X.columns[text], [text_of(X.iloc[:, j]) for j in text])
        column, dtype = X.columns[others[0]], X.dtypes.iloc[others[0]]
        rule = f"column `{column}` is of type {dtype}: only numbers can be clustered on; names of samples go into the index"
        raise ValueError(f"{name}, {advice or rule}")
    dtype = np.float32 if all(dtype == np.float32 for dtype in X.dtypes) else np.float64
    values: NDArray[Any] = X.to_numpy(dtype=dtype, na_value=np.nan)
    return values


def text_of(column: Any) -> list[str]:
    """Returns a column of pandas as text; missing cells are empty."""
    return ["" if missing else str(value) for value, missing in zip(column, column.isna())]


def _advice(names: Any, columns: list[list[str]]) -> str | None:
    """Returns the engine's advice about columns of text."""
    return _cdimc.text_among_numbers(list(map(str, names)), columns)


def _polars_ids(name: str, X: Any) -> tuple[list[str] | None, Any]:
    """Returns the ids and the other columns; the only text column has the ids, because polars frames have no index."""
    import polars as pl

    # Booleans become numbers; nulls among them, and columns of nulls, become NaN.
    X = X.with_columns(pl.col(pl.Boolean).cast(pl.Float32), pl.col(pl.Null).cast(pl.Float64))
    text = [column for column, dtype in X.schema.items() if dtype in (pl.String, pl.Categorical, pl.Enum)]
    for column, dtype in X.schema.items():
        if column not in text and not dtype.is_numeric():
            raise ValueError(
                f"{name}, column `{column}` is of type {dtype}: only numbers can be clustered on; "
                "names of samples go into a column of text"
            )
    if len(text) > 1:
        advice = _advice(text[1:], [X[column].cast(pl.String).fill_null("").to_list() for column in text[1:]])
        rule = f"columns {', '.join(text)} are not numbers: only one may be, the samples' names"
        raise ValueError(f"{rule}; {advice}" if advice else rule)
    if not text:
        return None, X
    return _ids(name, X[text[0]], X[text[0]].is_null()), X.drop(text)
