"""The mixture over samples that lie in the partitions of Dask collections: ``pip install cdimc[dask]``.

The search sees a sample of the samples on the client. EM then goes over all of them: a pass is a map over the
partitions and a sum of neighbors in pairs, so that the result has the same bits on any cluster. What comes to the
client is the sample, the sums of each pass and counts.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _cdimc, _partition
from ._estimator import _callers_level, _plain, seed_of
from ._methods import TMixture as _InMemory
from ._progress import Progress, reporter
from ._views import as_views, missing_rows
from ._warnings import UnobservedSamplesWarning

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TMixture"]

#: Passes of EM at most.
PASSES = 100

#: A list or dict of Dask DataFrames or Dask arrays.
Collections = Any


class TMixture(_InMemory):
    """``cdimc.TMixture`` for Dask DataFrames, whose index names the samples, or Dask arrays.

    All views are partitioned alike: partition ``i`` of each holds the same samples. A sample absent from a view's
    partition, or NaN throughout there, is missing in the view.

    The parameters are those of ``cdimc.TMixture``; ``n_jobs`` are the threads of the search on the client. Warnings
    speak of the samples that the search sees. Views in memory are predicted as ``cdimc.TMixture`` does.

    See Also
    --------
    cdimc.TMixture : the parameters.
    """

    def fit(  # type: ignore[override]
        self, Xs: Collections, y: object = None, *, progress: Progress | bool | None = None
    ) -> Self:
        """Groups the samples of ``Xs``.

        Parameters
        ----------
        Xs : list or dict of Dask DataFrames or Dask arrays
            The views. Those of a list are called view0, view1 and so on.
        y : object
            Not looked at.
        progress : callable or bool, optional
            Called with stage, steps done, number of steps and loss; True shows tqdm's bar.

        Returns
        -------
        self
            Without labels, which ``predict`` gives.
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
        """Not for collections: ``transform`` takes samples in memory."""
        raise ValueError("fit_transform: an embedding is of samples in memory; fit, and transform a sample")

    def fit_predict(self, Xs: Collections, y: object = None, **kwargs: Any) -> Any:
        """``fit(Xs).predict(Xs)``."""
        return self.fit(Xs, y, **kwargs).predict(Xs)

    def predict(self, Xs: Collections) -> Any:
        """The clusters of samples, partition by partition, when they are computed.

        Parameters
        ----------
        Xs : list or dict of Dask DataFrames or Dask arrays
            A dict has any of the views of the fit by name; a list has all by position, None for those not there.

        Returns
        -------
        Dask Series or Dask array of shape (n_samples,)
            The Series has the ids of a partition in the order of their first appearance over the views. -1 for a
            sample without a value in any view.
        """
        return self._predicted("labels", Xs) if _are_dask(Xs) else super().predict(Xs)

    def predict_proba(self, Xs: Collections) -> Any:
        """The probability of every cluster: a Dask DataFrame or array (n_samples, n_clusters), rows of sum 1."""
        return self._predicted("probabilities", Xs) if _are_dask(Xs) else super().predict_proba(Xs)

    def predict_confidence(self, Xs: Collections) -> Any:
        """How sure the cluster of each sample is, in [0, 1]: a Dask Series or array (n_samples,)."""
        return self._predicted("confidence", Xs) if _are_dask(Xs) else super().predict_confidence(Xs)

    def unusual(self, Xs: Collections) -> Any:
        """Which samples are unlike all of the training: a Dask Series or array (n_samples,)."""
        return self._predicted("unusual", Xs) if _are_dask(Xs) else super().unusual(Xs)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The estimator with the model in the file ``path``, which ``save`` or the command wrote."""
        estimator = cls()
        estimator.__dict__.update(vars(_InMemory.load(path)))
        return estimator

    def _predicted(self, what: str, Xs: Collections) -> Any:
        import dask

        self._fitted()
        names, views = _there(Xs, self.view_names_)
        partitions = _Partitions.of(dict(zip(names, views)))
        local = _InMemory()
        local.__dict__.update(vars(self))
        local.n_jobs = None
        # One task, whose value all partitions read.
        tasks = partitions.map(_partition.predict, dask.delayed(local, traverse=False), what)
        width = (self.n_clusters_,) if what == "probabilities" else ()
        empty = np.full((0, *width), _partition.FILLINGS[what])
        if not partitions.ids:
            import dask.array as da

            blocks = zip(tasks, views[0].chunks[0])
            return da.concatenate([da.from_delayed(task, (n, *width), meta=empty) for task, n in blocks])
        import dask.dataframe as dd

        meta = _partition.with_ids(empty, what, views[0]._meta.index[:0])
        divisions = views[0].divisions
        # A sample that only another view has may lie outside of the first one's.
        known = None not in divisions and all(X.divisions == divisions for X in views)
        return dd.from_delayed(tasks, meta, divisions if known else None, prefix=what, verify_meta=False)


class _Partitions:
    """The partitions of all views: tasks of their blocks, and whether these have ids."""

    def __init__(self, names: list[str], features: list[list[str]], blocks: list[Any], ids: bool) -> None:
        self.names, self.features, self.blocks, self.ids = names, features, blocks, ids

    @classmethod
    def of(cls, Xs: Collections) -> Self:
        """The partitions of these views.

        Raises
        ------
        ValueError
            If a view lies in memory, or they are not partitioned alike.
        """
        names, views = _there(Xs)
        if not _are_frames(names, views):
            views = _whole_rows(names, views)
            features = [[str(j) for j in range(X.shape[1])] for X in views]
            return cls(names, features, list(zip(*(X.to_delayed()[:, 0] for X in views))), ids=False)
        _check_partitions(names, [X.npartitions for X in views])
        # Columns are picked where files are read; optimized further, some files would be read as one partition.
        blocks = zip(*(X.simplify().to_delayed(optimize_graph=False) for X in views))
        return cls(names, [list(map(str, X.columns)) for X in views], list(blocks), ids=True)

    def count(self) -> list[int]:
        """The number of samples of every partition that have a value in some view.

        Raises
        ------
        ValueError
            If a partition has none, columns of its own or a sample of another.
        """
        import dask

        # With few buckets one holds many hashes, with many there are many tasks.
        n_buckets = math.isqrt(len(self.blocks)) + 1 if self.ids else 0
        counted = self.map(_partition.count, self.features, n_buckets)
        buckets = [
            dask.delayed(_partition.repeated, pure=False)(*(part[1 + bucket] for part in counted))
            for bucket in range(n_buckets)
        ]
        counts, repeated = dask.compute([part[0] for part in counted], buckets)
        for found in filter(None, repeated):
            self._refuse_repeated(*found)
        if n_unobserved := sum(count.n_unobserved for count in counts):
            warnings.warn(
                f"samples without a value in any view, left out: {n_unobserved}",
                UnobservedSamplesWarning,
                stacklevel=_callers_level(),
            )
        return [count.n_samples for count in counts]

    def _refuse_repeated(self, hash: int, first: int, second: int) -> None:
        import dask

        ids = dask.compute(*self.map(_partition.ids_of_hash, hash, only=[first, second]))
        # None in common: two ids of one hash.
        for id in sorted(set(ids[0]) & set(ids[1])) if first < second else []:
            raise ValueError(
                f"id `{id}` is in partition {first} and again in partition {second}: a sample lies in one partition"
            )

    def select(self, n_samples: Sequence[int], rows: NDArray[np.int64]) -> dict[str, Any]:
        """The samples that stand at ``rows``, ascending, among those of all partitions."""
        import dask

        starts = np.cumsum([0, *n_samples])
        bounds = np.searchsorted(rows, starts)
        chosen = [rows[a:b] - start for a, b, start in zip(bounds, bounds[1:], starts)]
        some = [i for i, of_part in enumerate(chosen) if len(of_part)]
        tasks = self.map(_partition.select, each=list(zip(n_samples, chosen)), only=some)
        views = [_stacked(tables) for tables in zip(*dask.compute(*tasks))]
        for name, view in zip(self.names, views):
            if missing_rows(as_views([view])[0].values).all():
                raise ValueError(
                    f"{name}: none of the {len(rows)} samples that the search sees has this view: raise "
                    "search_samples, or leave it out"
                )
        return dict(zip(self.names, views))

    def em(
        self, model: _cdimc.Model, n_samples: Sequence[int], strict: bool, report: Progress | None
    ) -> tuple[_cdimc.Model, int]:
        """The model after EM over all samples, and the number of passes."""
        import dask

        last: _cdimc.Pass | None = None
        for n_passes in range(PASSES):
            if report:
                report("all samples", n_passes, PASSES, last.mean_log_likelihood if last else None)
            # One task, whose value all partitions read.
            shared = dask.delayed(model, traverse=False)
            tasks = self.map(_partition.pass_over, shared, strict, each=[(n,) for n in n_samples])
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
        """``function(views, *common, *each[i])`` of the partitions ``only``, or all, as tasks."""
        import dask

        task = dask.delayed(_partition.of_partition, pure=False)
        return [
            task(function, i, self.names, self.blocks[i], *common, *(each[i] if each else ()))
            for i in (range(len(self.blocks)) if only is None else only)
        ]


def _there(Xs: Collections, names: Sequence[str] | None = None) -> tuple[list[str], list[Any]]:
    """Names and collections; with the ``names`` of a model's views a list may hold None."""
    if isinstance(Xs, Mapping):
        items = [(str(name), X) for name, X in Xs.items()]
    elif not isinstance(Xs, (list, tuple)):
        raise ValueError(f"Xs is a {type(Xs).__name__}: must be a list or dict of views")
    elif names is not None and len(names) != len(Xs):
        raise ValueError(
            f"{len(Xs)} views: the model has {len(names)} ({', '.join(names)}); "
            "give None for a view that is not there, or a dict"
        )
    else:
        items = list(zip(names or [f"view{v}" for v in range(len(Xs))], Xs))
    if names is not None:
        items = [(name, X) for name, X in items if X is not None]
    if not items:
        raise ValueError("views = 0: at least one view is needed")
    return [name for name, _ in items], [X for _, X in items]


def _are_dask(Xs: Collections) -> bool:
    views = Xs.values() if isinstance(Xs, Mapping) else Xs if isinstance(Xs, (list, tuple)) else [Xs]
    return any(_is_dask(X) for X in views)


def _is_dask(X: Any) -> bool:
    return hasattr(X, "__dask_graph__")


def _are_frames(names: Sequence[str], views: Sequence[Any]) -> bool:
    """Whether these are Dask DataFrames, and not Dask arrays."""
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
    """The arrays with no chunks along columns."""
    for name, X in zip(names, views):
        # Unknown sizes are NaN, which differ from themselves.
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
    """The task of the sum of these tasks, in the order of ``Pass.sum``."""
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
