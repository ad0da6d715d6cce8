"""Tasks that run on the workers, one per Dask partition; see ``cdimc.dask``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _cdimc
from ._estimator import Call, MultiViewClusterer
from ._views import View, as_views, check_unique, missing_value, names_of, observed_names, with_values


class Count(NamedTuple):
    """Sample counts of a partition."""

    n_samples: int
    n_unobserved: int


def of_partition(
    function: Callable[..., Any], partition: int, names: list[str], blocks: Sequence[Any], *arguments: Any
) -> Any:
    """Returns ``function(views, *arguments)``; errors name the partition."""
    try:
        return function(dict(zip(names, blocks)), *arguments)
    except ValueError as error:
        raise ValueError(f"partition {partition}: {error}") from None


def count(blocks: dict[str, Any], features: list[list[str]], n_buckets: int) -> tuple[Any, ...]:
    """Returns the counts of a partition, and the hashes of its ids as ``hashes``."""
    views = as_views(blocks)
    for view, expected in zip(views, features):
        _check_columns(view, expected)
        _check_rows(view)
        # Chunks of unknown sizes cannot be compared before.
        if view.ids is None and len(view.values) != len(views[0].values):
            raise ValueError(
                f"{view.name} has {len(view.values)} rows, {views[0].name} has {len(views[0].values)}: row i of every view "
                "must be the same sample"
            )
    observed, unobserved = observed_names(views)
    count = Count(len(observed), len(unobserved))
    return (count, *(hashes(blocks, n_buckets) if n_buckets else ()))


def hashes(blocks: dict[str, Any], n_buckets: int) -> tuple[NDArray[np.uint64], ...]:
    """Returns the hashes of the ids of a partition in buckets."""
    found = _hashes(names_of(as_views(blocks)))
    bucket = found % np.uint64(n_buckets)
    return tuple(found[bucket == b] for b in range(n_buckets))


def _check_columns(view: View, expected: list[str]) -> None:
    features = expected[: view.values.shape[1]] if view.features is None else view.features
    for some, others, where in (
        (expected, features, "in other partitions and not here"),
        (features, expected, "here and not in other partitions"),
    ):
        if only := sorted(set(some) - set(others), key=some.index):
            raise ValueError(
                f"{view.name}: column `{only[0]}` is {where}: all partitions of a view must have the same columns"
            )


def _check_rows(view: View) -> None:
    """Raises the errors of the engine before the search instead of after it."""
    if isinstance(view.values, np.ndarray) and len(infinite := np.argwhere(np.isinf(view.values))):
        row, j = infinite[0]
        column = view.features[j] if view.features else j
        raise ValueError(
            f"{view.name}: row {row + 1}, column `{column}` = {view.values[row, j]}: values must be finite"
        )
    check_unique(view)


def _hashes(ids: list[str]) -> NDArray[np.uint64]:
    from pandas.util import hash_array

    hashes: NDArray[np.uint64] = hash_array(np.array(ids, dtype=object), categorize=False)
    return hashes


def repeated(*buckets: NDArray[np.uint64]) -> tuple[int, int, int] | None:
    """Returns a hash that occurs in two buckets, and these two; there is one bucket per partition."""
    hashes = np.concatenate(buckets)
    partitions = np.repeat(np.arange(len(buckets)), [len(bucket) for bucket in buckets])
    order = np.argsort(hashes, kind="stable")
    again = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    if not len(again):
        return None
    first, second = order[again[0]], order[again[0] + 1]
    return int(hashes[first]), int(partitions[first]), int(partitions[second])


def ids_of_hash(blocks: dict[str, Any], hash: int) -> list[str]:
    """Returns the ids with this hash."""
    names = names_of(as_views(blocks))
    return [names[i] for i in np.flatnonzero(_hashes(names) == np.uint64(hash))]


def select(blocks: dict[str, Any], n_samples: int, rows: NDArray[np.int64]) -> list[Any]:
    """Returns the rows of every view for the samples at ``rows`` among the observed samples."""
    views = as_views(blocks)
    observed, _ = observed_names(views)
    _check_unchanged(len(observed), n_samples)
    if views[0].ids is None:
        at = [int(observed[row]) - 1 for row in rows]
        return [np.asarray(X)[at] for X in blocks.values()]
    chosen = {observed[row] for row in rows}
    return [X[[id in chosen for id in view.ids or []]] for X, view in zip(blocks.values(), views)]


def pass_over(blocks: dict[str, Any], model: _cdimc.Model, strict: bool, n_samples: int) -> _cdimc.Pass:
    """Returns the sums of EM over a partition, on one thread, because partitions run in parallel."""
    found = model.pass_over(with_values(as_views(blocks)), Call(1, strict, None))
    _check_unchanged(found.n_samples, n_samples)
    return found


def _check_unchanged(found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"it has {found} samples, and had {expected} when it was read first: it has changed")


def add(pair: list[_cdimc.Pass]) -> _cdimc.Pass:
    """Adds two passes."""
    return _cdimc.Pass.sum(pair)


def predict(blocks: dict[str, Any], estimator: MultiViewClusterer, what: str, empty: NDArray[Any]) -> Any:
    """Returns a result per sample, in order of first appearance, as an array like ``empty``."""
    views, model = estimator._ready(blocks)
    named = views[0].ids is not None
    ids = names_of(views)
    values = np.full((len(ids), *empty.shape[1:]), missing_value(empty), empty.dtype)
    if there := with_values(views):
        found = model.predict(there, estimator._call())
        place = {id: i for i, id in enumerate(ids)}
        values[[place[id] for id in found.samples]] = estimator._values(found, what)
    if not named:
        return values
    import pandas as pd

    # Ids in the type of the frames' index.
    known = {str(id): id for X in blocks.values() for id in X.index}
    index = next(iter(blocks.values())).index
    return with_ids(values, what, pd.Index([known[id] for id in ids], dtype=index.dtype, name=index.name))


def with_ids(values: NDArray[Any], what: str, index: Any) -> Any:
    """Returns a column of ``labels.csv`` as a series, or the probabilities as a frame."""
    import pandas as pd

    if values.ndim == 2:
        return pd.DataFrame(values, index)
    return pd.Series(values, index, name=what)
