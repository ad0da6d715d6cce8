"""``TMixture`` for samples in the partitions of Dask collections: ``pip install cdimc[dask]``.

The search runs on the client, on a random subsample. EM then uses all samples: each pass maps over the partitions and
adds the results in a fixed order of pairs, so every Dask cluster gives the same bits. Only the subsample, the sums of
each pass and counts are sent to the client.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _cdimc, _partition
from ._estimator import _plain, seed_of
from ._methods import TMixture as _InMemory
from ._progress import Progress, reporter
from ._views import as_views, missing_rows, with_names
from ._warnings import UnobservedSamplesWarning, warn

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TMixture"]

#: Largest number of EM passes.
PASSES = 100

#: A list or dict of Dask DataFrames or Dask arrays.
Collections = Any


class TMixture(_InMemory):
    """``cdimc.TMixture`` for Dask DataFrames, with sample names in the index, or Dask arrays.

    All views must have the same partitions: partition ``i`` of every view holds the same samples. A sample without a
    row in the partition of a view, or with a row of NaN, is missing in this view.

    Parameters are the same as in ``cdimc.TMixture``; ``n_jobs`` is the number of threads of the search on the client.
    Warnings refer to the subsample of the search. Views in memory are predicted as in ``cdimc.TMixture``.

    ``predict``, ``predict_proba``, ``predict_confidence``, ``unusual`` and ``score_samples`` of Dask collections return a
    Dask Series, DataFrame or array, computed lazily per partition. A Series has the ids of each partition in order of first
    appearance over the views. An id in two partitions is an error; to find it, all ids are read at once, except if all
    views have the same known divisions.

    See Also
    --------
    cdimc.TMixture : the parameters.
    """

    def fit(  # type: ignore[override]
        self, Xs: Collections, y: object = None, *, progress: Progress | bool | None = None
    ) -> Self:
        """Clusters the samples of ``Xs``.

        Parameters
        ----------
        Xs : list or dict of Dask DataFrames or Dask arrays
            The views. Views of a list are named view0, view1 and so on.
        y : object
            Ignored.
        progress : callable or bool, optional
            Called with stage, steps done, number of steps and loss; True shows tqdm's bar.

        Returns
        -------
        self
            It has no ``labels_``; use ``predict``.
        """
        partitions, report = _Partitions.of(Xs), reporter(progress)
        seed = seed_of(self.random_state)
        local = _InMemory(**{**self.get_params(deep=False), "random_state": seed})
        settings = _cdimc.Method(self._method, json.dumps(self._settings(), default=_plain)).settings
        n_samples = partitions.count()
        rows = _cdimc.samples_to_search(settings, sum(n_samples), seed)
        searched = partitions.select(n_samples, np.array(rows, dtype=np.int64))
        local.fit(searched, progress=report)
        model, n_passes = partitions.em(local._fitted(), n_samples, self.strict, report)
        self.n_clusters_ = local.n_clusters_
        self.view_names_ = local.view_names_
        self.feature_names_ = local.feature_names_
        self.settings_ = local.settings_
        self.cluster_number_ = local.cluster_number_
        self.n_samples_ = sum(n_samples)
        self.n_iter_ = n_passes
        self._take_model(model.completed(as_views(searched), seed, self._call()))
        return self

    def fit_transform(self, Xs: Collections, y: object = None, **kwargs: Any) -> NDArray[np.float64]:
        """Raises an error: ``transform`` takes samples in memory only."""
        raise ValueError("fit_transform: embeddings need samples in memory; call fit, then transform a sample")

    def fit_predict(self, Xs: Collections, y: object = None, **kwargs: Any) -> Any:
        """Returns ``fit(Xs).predict(Xs)``."""
        return self.fit(Xs, y, **kwargs).predict(Xs)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Returns the estimator of a model file from ``save`` or the command."""
        estimator = cls()
        estimator.__dict__.update(vars(_InMemory.load(path)))
        return estimator

    def _per_sample(self, Xs: Collections, name: str) -> Any:
        """Returns a Dask Series, DataFrame or array, computed lazily per partition."""
        if not _are_dask(Xs):
            return super()._per_sample(Xs, name)
        import dask

        empty = self._values(self._fitted().predict([self._placeholder()], self._call()), name)[:0]
        names, views = _there(Xs, self.view_names_)
        partitions = _Partitions.of(dict(zip(names, views)))
        local = _InMemory()
        local.__dict__.update(vars(self))
        local.n_jobs = None
        # One task for the value that all partitions use.
        tasks = partitions.map(_partition.predict, dask.delayed(local, traverse=False), name, empty)
        if not partitions.ids:
            import dask.array as da

            blocks = zip(tasks, views[0].chunks[0])
            return da.concatenate([da.from_delayed(task, (n, *empty.shape[1:]), meta=empty) for task, n in blocks])
        import dask.dataframe as dd

        meta = _partition.with_ids(empty, name, views[0]._meta.index[:0])
        divisions = views[0].divisions
        # A sample that is missing in the first view may lie outside its divisions.
        known = None not in divisions and all(X.divisions == divisions for X in views)
        if not known:
            _Partitions.of({view: X[[]] for view, X in zip(names, views)}).check_ids()
        return dd.from_delayed(tasks, meta, divisions if known else None, prefix=name, verify_meta=False)


class _Partitions:
    """Partitions of all views: the tasks of their blocks, and whether the blocks have ids."""

    def __init__(self, names: list[str], features: list[list[str]], blocks: list[Any], ids: bool) -> None:
        self.names, self.features, self.blocks, self.ids = names, features, blocks, ids

    @classmethod
    def of(cls, Xs: Collections) -> Self:
        """Returns the partitions of these views.

        Raises
        ------
        ValueError
            If a view is in memory, or the views have different partitions.
        """
        names, views = _there(Xs)
        if not _are_frames(names, views):
            views = _whole_rows(names, views)
            features = [[str(j) for j in range(X.shape[1])] for X in views]
            return cls(names, features, list(zip(*(X.to_delayed()[:, 0] for X in views))), ids=False)
        _check_partitions(names, [X.npartitions for X in views])
        # simplify() selects columns while reading; further optimization could merge files into one partition.
        blocks = zip(*(X.simplify().to_delayed(optimize_graph=False) for X in views))
        return cls(names, [list(map(str, X.columns)) for X in views], list(blocks), ids=True)

    def count(self) -> list[int]:
        """Returns the number of samples with a value in some view, per partition.

        Raises
        ------
        ValueError
            If there is no such sample, or a partition has other columns or shares a sample with another partition.
        """
        import dask

        counted = self.map(_partition.count, self.features, self._n_buckets if self.ids else 0)
        counts, repeated = dask.compute([part[0] for part in counted], self._repeated(counted, 1) if self.ids else [])
        self._refuse_repeated(repeated)
        if not any(count.n_samples for count in counts):
            raise ValueError("no sample has a value in any view")
        if n_unobserved := sum(count.n_unobserved for count in counts):
            text = f"{n_unobserved} samples get no cluster, because they have no value in any view"
            warn(text, UnobservedSamplesWarning)
        return [count.n_samples for count in counts]

    def check_ids(self) -> None:
        """Raises an error if partitions share a sample."""
        import dask

        self._refuse_repeated(dask.compute(*self._repeated(self.map(_partition.hashes, self._n_buckets), 0)))

    @property
    def _n_buckets(self) -> int:
        # Few buckets hold many hashes each; many buckets make many tasks.
        return math.isqrt(len(self.blocks)) + 1

    def _repeated(self, parts: Sequence[Any], start: int) -> list[Any]:
        """Returns the tasks that find a repeated hash; each part has its buckets from ``start`` on."""
        import dask

        repeated = dask.delayed(_partition.repeated, pure=False)
        return [repeated(*(part[start + bucket] for part in parts)) for bucket in range(self._n_buckets)]

    def _refuse_repeated(self, repeated: Sequence[tuple[int, int, int] | None]) -> None:
        import dask

        for hash, first, second in filter(None, repeated):
            ids = dask.compute(*self.map(_partition.ids_of_hash, hash, only=[first, second]))
            # If there is no common id, two different ids have the same hash.
            for id in sorted(set(ids[0]) & set(ids[1])) if first < second else []:
                raise ValueError(
                    f"id `{id}` is in partition {first} and again in partition {second}: a sample must be in one partition"
                )

    def select(self, n_samples: Sequence[int], rows: NDArray[np.int64]) -> dict[str, Any]:
        """Returns the samples at ``rows``, ascending, of all partitions."""
        import dask

        starts = np.cumsum([0, *n_samples])
        bounds = np.searchsorted(rows, starts)
        chosen = [rows[a:b] - start for a, b, start in zip(bounds, bounds[1:], starts)]
        some = [i for i, of_part in enumerate(chosen) if len(of_part)]
        tasks = self.map(_partition.select, each=list(zip(n_samples, chosen)), only=some)
        views = [_stacked(tables) for tables in zip(*dask.compute(*tasks))]
        for name, view in zip(self.names, views):
            if (n := np.count_nonzero(~missing_rows(as_views([view])[0].values))) < 2:
                raise ValueError(
                    f"{name}: {n} of the {len(rows)} samples in the search have this view, at least 2 are needed: raise "
                    "search_samples, or leave it out"
                )
        return dict(zip(self.names, views))

    def em(
        self, model: _cdimc.Model, n_samples: Sequence[int], strict: bool, report: Progress | None
    ) -> tuple[_cdimc.Model, int]:
        """Runs EM over all samples; returns the model and the number of passes."""
        import dask

        last: _cdimc.Pass | None = None
        observed = [i for i, n in enumerate(n_samples) if n]
        for n_passes in range(PASSES):
            if report:
                report("all samples", n_passes, PASSES, last.mean_log_likelihood if last else None)
            # One task for the value that all partitions use.
            shared = dask.delayed(model, traverse=False)
            tasks = self.map(_partition.pass_over, shared, strict, each=[(n,) for n in n_samples], only=observed)
            (total,) = dask.compute(_sum_of(tasks))
            if last is not None and total.settles(last):
                return model, n_passes + 1
            model, last = model.after(total), total
        return model, PASSES

    def map(
        self,
        function: Callable[..., Any],
        *common: Any,
        each: Sequence[tuple[Any, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[Any]:
        """Returns the tasks ``function(views, *common, *each[i])`` for the partitions ``only``, or for all."""
        import dask

        task = dask.delayed(_partition.of_partition, pure=False)
        return [
            task(function, i, self.names, self.blocks[i], *common, *(each[i] if each else ()))
            for i in (range(len(self.blocks)) if only is None else only)
        ]


def _there(Xs: Collections, names: Sequence[str] | None = None) -> tuple[list[str], list[Any]]:
    """Returns names and collections; with the ``names`` of a model's views a list may hold None."""
    if not isinstance(Xs, (Mapping, list, tuple)):
        raise ValueError(f"Xs is a {type(Xs).__name__}: must be a list or dict of views")
    items = [(name, X) for name, X in with_names(Xs, names) if names is None or X is not None]
    if not items:
        raise ValueError("views = 0: at least one view is needed")
    return [name for name, _ in items], [X for _, X in items]


def _are_dask(Xs: Collections) -> bool:
    views = Xs.values() if isinstance(Xs, Mapping) else Xs if isinstance(Xs, (list, tuple)) else [Xs]
    return any(_is_dask(X) for X in views)


def _is_dask(X: Any) -> bool:
    return hasattr(X, "__dask_graph__")


def _are_frames(names: Sequence[str], views: Sequence[Any]) -> bool:
    """Returns whether these are Dask DataFrames, not Dask arrays."""
    frames = []
    for name, X in zip(names, views):
        if not _is_dask(X) or X.ndim != 2:
            raise ValueError(
                f"{name} is a {type(X).__name__}: must be a Dask DataFrame or a Dask array of two dimensions; "
                "cdimc.TMixture fits what is in memory"
            )
        frames.append(hasattr(X, "npartitions") and hasattr(X, "columns"))
    if any(frame != frames[0] for frame in frames):
        other = names[frames.index(not frames[0])]
        raise ValueError(f"{names[0]} and {other}: views must be all Dask DataFrames or all Dask arrays")
    return frames[0]


def _whole_rows(names: Sequence[str], views: Sequence[Any]) -> list[Any]:
    """Returns the arrays with one chunk of columns."""
    for name, X in zip(names, views):
        if math.isnan(X.shape[1]):
            raise ValueError(f"{name} has an unknown number of columns: call compute_chunk_sizes() of it first")
        # Compared as text, because unknown sizes are NaN.
        if str(X.chunks[0]) != str(views[0].chunks[0]):
            raise ValueError(
                f"{name} and {names[0]} have chunks of differing numbers of rows: all views must be chunked alike; "
                "rechunk one"
            )
    return [X if X.numblocks[1] == 1 else X.rechunk({1: -1}) for X in views]


def _check_partitions(names: Sequence[str], numbers: Sequence[int]) -> None:
    for name, number in zip(names, numbers):
        if number != numbers[0]:
            raise ValueError(
                f"{name} has {number} partitions, {names[0]} has {numbers[0]}: partition i of every view must hold "
                "the same samples; merge or repartition them first"
            )


def _sum_of(passes: list[Any]) -> Any:
    """Returns the task that adds the results of these tasks, in the order of ``Pass.sum``."""
    import dask

    add = dask.delayed(_partition.add, pure=False)
    while len(passes) > 1:
        pairs = [passes[i : i + 2] for i in range(0, len(passes), 2)]
        passes = [add(pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return passes[0]


def _stacked(tables: Sequence[Any]) -> Any:
    if hasattr(tables[0], "iloc"):
        import pandas as pd

        return pd.concat(tables)
    return np.concatenate(tables)
