"""What all estimators share: scikit-learn's conventions around one call of the engine."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import _cdimc
from ._progress import Progress, reporter
from ._views import View, Views, as_views, missing_rows, names_of, with_values
from ._warnings import (
    DoubtfulClustersWarning,
    FilledCellsWarning,
    OddDataWarning,
    UnobservedSamplesWarning,
)

if TYPE_CHECKING:
    from typing_extensions import Self

#: The parameters that every estimator has beside the settings of its method.
SHARED = ("n_clusters", "n_clusters_range", "strict", "random_state", "n_jobs")


#: What a model says of samples.
Found = TypeVar("Found", "_cdimc.Prediction", "_cdimc.Imputation")

#: Columns of the engine's tables that are words, and that count.
WORDS = {"column", "test", "effect", "clusters", "note", "view"}
COUNTS = {"n", "cluster", "at_risk", "events", "censored", "n_inside", "n_outside"}


def columns_of(table: tuple[list[str], list[list[str]]]) -> dict[str, NDArray[Any]]:
    """A table of the engine as arrays by name; what is empty among numbers is NaN."""
    header, rows = table

    def column(name: str, cells: list[str]) -> NDArray[Any]:
        if name in WORDS:
            return np.array(cells, dtype=object)
        # Every digit, which the parser of pandas does not promise.
        numbers = np.array([float(cell) if cell else np.nan for cell in cells], dtype=float)
        return numbers.astype(np.int64) if name in COUNTS and not np.isnan(numbers).any() else numbers

    return {name: column(name, [row[j] for row in rows]) for j, name in enumerate(header)}


class Call(NamedTuple):
    """How the engine is to do something."""

    n_threads: int
    strict: bool
    progress: Progress | None


class MultiViewClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Groups samples seen in several views, any of which may lack any sample.

    Subclasses name a method of the registry and have its settings as parameters.
    """

    _method: ClassVar[str]

    n_clusters: int | str
    n_clusters_range: tuple[int, int]
    strict: bool
    random_state: Any
    n_jobs: int | None

    def fit(
        self,
        Xs: Views,
        y: object = None,
        *,
        progress: Progress | bool | None = None,
        test_markers: bool = False,
    ) -> Self:
        """Groups the samples of ``Xs``.

        Parameters
        ----------
        Xs : list or dict of views, or MuData
            A view is an array (n_samples, n_features), a frame or an AnnData. A row of NaN is a sample that the
            view lacks. Frames and AnnData are joined by name: a sample that one of them lacks is missing there.
            Single NaN hold their column's mean, with a warning, or are refused if ``strict``.
        y : object
            Not looked at.
        progress : callable or bool, optional
            Called with stage, steps done, number of steps and loss; True shows tqdm's bar.
        test_markers : bool
            Whether ``markers_`` has p and q values, as the command's ``markers.csv``: with ``t-mixture`` and several
            views, for a short search of all views but one, once a view.

        Returns
        -------
        self
        """
        views = as_views(Xs)
        number = self.n_clusters
        method = _cdimc.Method(self._method, json.dumps(self._settings(), default=_plain))
        seed = seed_of(self.random_state)
        fit = method.fit(
            views,
            (_range(self.n_clusters_range) if number == "auto" else _n_clusters(number), seed),
            test_markers,
            self._call(progress),
        )
        place = _Places(views, fit.samples)
        _warn(fit, place.unobserved, fit.cluster_warnings)
        self.samples_ = place.names
        self.labels_ = place.spread(fit.labels, -1)
        self.n_clusters_ = fit.n_clusters
        self.confidence_ = place.spread_optional(fit.confidence)
        self.losses_ = place.spread_optional(fit.losses)
        self.probabilities_ = place.spread_optional(fit.probabilities)
        self.embedding_ = place.spread_optional(fit.embedding)
        self.curves_ = dict(fit.curves)
        self.markers_ = columns_of(fit.markers)
        self.n_iter_ = fit.n_steps
        self.view_names_ = [view.name for view in views]
        self.feature_names_ = fit.features
        self.settings_ = json.loads(method.settings)
        self.cluster_number_ = json.loads(fit.cluster_number)
        self._take_model(fit.model)
        return self

    def fit_predict(self, Xs: Views, y: object = None, **kwargs: Any) -> NDArray[np.int64]:
        """The labels of the samples of ``Xs``, as ``fit(Xs).labels_``."""
        return self.fit(Xs, y, **kwargs).labels_

    def fit_transform(self, Xs: Views, y: object = None, **kwargs: Any) -> NDArray[np.float64]:
        """The embedding of the samples of ``Xs``, as ``fit(Xs).embedding_``."""
        embedding = self.fit(Xs, y, **kwargs).embedding_
        if embedding is None:
            raise ValueError(f"{self._method} has no embedding")
        return embedding

    def predict(self, Xs: Views) -> NDArray[np.int64]:
        """The clusters of new samples, which may have any subset of the views.

        Parameters
        ----------
        Xs : list or dict of views, or MuData
            A dict has any of the views of the fit by name; a list has all by position, None or an array of NaN
            for those not there. Frames and AnnData may be without a row, or without a value.

        Returns
        -------
        ndarray of shape (n_samples,)
            -1 for a sample without a value in any view.
        """
        place, found = self._predict(Xs)
        return place.spread(found.labels, -1)

    def predict_proba(self, Xs: Views) -> NDArray[np.float64]:
        """The probability of every cluster for new samples, (n_samples, n_clusters), rows of sum 1."""
        place, found = self._predict(Xs)
        if found.probabilities is None:
            raise ValueError(f"{self._method} has no probabilities; confidence_ says how sure its labels are")
        return place.spread(found.probabilities, np.nan)

    def predict_confidence(self, Xs: Views) -> NDArray[np.float64]:
        """How sure the cluster of each new sample is, in [0, 1], (n_samples,)."""
        place, found = self._predict(Xs)
        return place.spread(found.confidence, np.nan)

    def unusual(self, Xs: Views) -> NDArray[np.bool_]:
        """Which new samples are unlike all of the training, (n_samples,)."""
        place, found = self._predict(Xs)
        if found.unusual is None:
            raise ValueError(f"{self._method} does not tell unusual samples")
        return place.spread(found.unusual, False)

    def transform(self, Xs: Views) -> NDArray[np.float64]:
        """The embedding of new samples, (n_samples, n_components)."""
        place, found = self._predict(Xs)
        return place.spread(found.embedding, np.nan)

    def score_samples(self, Xs: Views) -> NDArray[np.float64]:
        """How well each new sample fits its cluster, (n_samples,): its loss, negative."""
        place, found = self._predict(Xs)
        if found.losses is None:
            raise ValueError(f"{self._method} has no loss of a sample")
        return -place.spread(found.losses, np.nan)

    def score(self, Xs: Views, y: object = None) -> float:
        """The mean of ``score_samples``."""
        return float(np.nanmean(self.score_samples(Xs)))

    def impute(self, Xs: Views) -> Any:
        """Every view of the samples: observed values as they are, missing ones filled in.

        Parameters
        ----------
        Xs : list or dict of views, or MuData
            As for ``predict``.

        Returns
        -------
        list of ndarray, or dict of ndarray where ``Xs`` goes by name
            All views of the fit, (n_samples, n_features) each.
        """
        views, model = self._ready(Xs)
        place, done = self._found(views, model.impute)
        filled = [place.spread(values, np.nan) for values in done.views]
        by_name = isinstance(Xs, Mapping) or hasattr(Xs, "mod")
        return dict(zip(self.view_names_, filled)) if by_name else filled

    def stability(self, Xs: Views, n_subsamples: int = 50) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How far the clusters stay the same in random four fifths of the samples of the fit; of ``TMixture`` alone.

        Parameters
        ----------
        Xs : list or dict of views, or MuData
            The samples of the fit, in any of the forms that ``predict`` takes; all views are needed.
        n_subsamples : int, default=50
            How many times.

        Returns
        -------
        clusters : ndarray of shape (n_clusters,)
            The mean Jaccard index of every cluster with the one most like it.
        samples : ndarray of shape (n_samples,)
            The mean share of its cluster's others that every sample stays with, in the order of ``sample_names(Xs)``.
        """
        seed = seed_of(self.random_state)
        model, views = self._fitted(), self._named(Xs)
        samples, _, found = model.stability(views, (n_subsamples_of(n_subsamples), seed), self._call())
        stability, place = json.loads(found), _Places(views, samples)
        of_samples = np.array(stability["samples"], dtype=float)
        return np.array(stability["clusters"], dtype=float), place.spread(of_samples, np.nan)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to the file ``path``, whole or not at all; the command reads it too."""
        path = Path(path)
        content = self._fitted().to_bytes()
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".cdimc-") as folder:
            partial = Path(folder) / path.name
            partial.write_bytes(content)
            partial.replace(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The estimator with the model in the file ``path``, which ``save`` or the command wrote."""
        estimator = load(path)
        if not isinstance(estimator, cls):
            raise ValueError(
                f"{os.fspath(path)}: the model is a {type(estimator).__name__}, a {cls.__name__} is needed"
            )
        return estimator

    def _settings(self) -> dict[str, Any]:
        """The parameters as the engine's settings; what is None there keeps its default."""
        settings: dict[str, Any] = {}
        paths = setting_paths(self._method)
        for name, value in self.get_params(deep=False).items():
            if value is None or name in SHARED:
                continue
            if isinstance(value, (float, np.floating)) and not np.isfinite(value):
                raise ValueError(f"{name} = {value}: must be finite")
            path = paths[name]
            inner = settings
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = value
        return settings

    def _call(self, progress: Progress | bool | None = None) -> Call:
        return Call(effective_n_jobs(self.n_jobs), self.strict, reporter(progress))

    def _take_model(self, model: _cdimc.Model | None) -> None:
        self._model = model
        self.facts_: dict[str, Any] = (json.loads(model.facts) if model else None) or {}
        findings = self.facts_.get("findings") or {}
        self.shared_information_: float | None = findings.get("shared-information")
        self.view_contributions_: list[dict[str, Any]] | None = findings.get("contributions")

    def _fitted(self) -> _cdimc.Model:
        check_is_fitted(self, "view_names_")
        if self._model is None:
            raise ValueError(f"{self._method} keeps no model: it groups the samples of the fit alone")
        return self._model

    def _ready(self, Xs: Views) -> tuple[list[View], _cdimc.Model]:
        model, views = self._fitted(), self._named(Xs)
        # Of new samples that all lack a view, arrays may say so by NaN, as they do of single samples.
        there = [view for view in views if view.ids is not None or not missing_rows(view.values).all()]
        return there or views, model

    def _named(self, Xs: Views) -> list[View]:
        known = dict(zip(self.view_names_, self.feature_names_))

        def named(view: View) -> View:
            # Columns without names are the model's, in its order.
            features = known.get(view.name, [])
            same = view.features is None and len(features) == view.values.shape[1]
            return view._replace(features=features) if same else view

        return [named(view) for view in as_views(Xs, self.view_names_)]

    def _predict(self, Xs: Views) -> tuple[_Places, _cdimc.Prediction]:
        views, model = self._ready(Xs)
        return self._found(views, model.predict)

    def _found(self, views: list[View], ask: Callable[[list[View], Call], Found]) -> tuple[_Places, Found]:
        there = with_values(views)
        if not there and names_of(views):
            # What the model says of a sample made up has the shape of what it would say of these; no value is used.
            features = self.feature_names_[0]
            made_up = View(self.view_names_[0], None, features, np.ones((1, len(features))))
            place = _Places(views, [])
            _warn_unobserved(place.unobserved)
            return place, ask([made_up], self._call())
        # Tables without a row are for the engine to refuse.
        found = ask(there or views, self._call())
        place = _Places(views, found.samples)
        _warn(found, place.unobserved)
        return place, found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = True
        return tags


def load(path: str | os.PathLike[str]) -> MultiViewClusterer:
    """The estimator with the model in the file ``path``.

    Parameters
    ----------
    path : str or path
        A file that ``save`` or ``cdimc cluster`` wrote.

    Returns
    -------
    MultiViewClusterer
        Of the class of the model's method; it predicts and imputes, and has no ``labels_``.
    """
    model = _cdimc.Model.load(os.fspath(path))
    classes = {cls._method: cls for cls in MultiViewClusterer.__subclasses__()}
    estimator: MultiViewClusterer = classes[model.method]()
    estimator.n_clusters = model.n_clusters
    settings = json.loads(model.settings) or {}
    paths = setting_paths(model.method)
    for name in estimator.get_params(deep=False):
        keys = paths.get(name, (name,))
        value: Any = settings
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            setattr(estimator, name, tuple(value) if isinstance(value, list) else value)
    estimator.n_clusters_ = model.n_clusters
    estimator.view_names_ = model.view_names
    estimator.feature_names_ = model.feature_names
    estimator._take_model(model)
    return estimator


@cache
def setting_paths(method: str) -> dict[str, tuple[str, ...]]:
    """Where each parameter stands in the settings of ``method``: ``pretrain_epochs`` at pretrain, epochs."""

    def leaves(prefix: tuple[str, ...], schema: dict[str, Any]) -> list[tuple[str, ...]]:
        if "properties" not in schema:
            return [prefix]
        return [leaf for key, inner in schema["properties"].items() for leaf in leaves((*prefix, key), inner)]

    paths = leaves((), json.loads(_cdimc.Method(method, "{}").described)["schema"])
    return {parameter_name(path): path for path in paths}


def parameter_name(path: tuple[str, ...]) -> str:
    """The Python name of a setting: its keys joined; ``lambda`` is a word of the language."""
    name = "_".join(path).replace("-", "_")
    return f"{name}_" if name == "lambda" else name


def seed_of(random_state: Any) -> int:
    """The engine's seed: an int is the command's ``--seed``, anything else draws one."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state = {random_state}: must lie in 0..=2^64-1")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


class _Places:
    """Where the samples of a result stand: where the rows of arrays stood, or by order of appearance."""

    def __init__(self, views: list[View], samples: list[str]) -> None:
        names, observed = names_of(views), set(samples)
        self.n_samples = len(names)
        self.names = names if views[0].ids is not None else None
        self.unobserved = [name for name in names if name not in observed]
        # The engine meets samples in another order where it gets views in another order, or not all of them.
        self.is_in_order = samples == names
        row_of = {name: row for row, name in enumerate(names)}
        self.rows = np.array([row_of[name] for name in samples], dtype=np.int64)

    def spread(self, values: NDArray[Any], missing: Any) -> NDArray[Any]:
        """One value or row a sample, ``missing`` for those without a value in any view."""
        if self.is_in_order:
            return values
        spread = np.full((self.n_samples, *values.shape[1:]), missing, dtype=values.dtype)
        spread[self.rows] = values[: len(self.rows)]
        return spread

    def spread_optional(self, values: NDArray[Any] | None) -> NDArray[Any] | None:
        """As ``spread``; None stays None."""
        return None if values is None else self.spread(values, np.nan)


def _warn(
    found: _cdimc.Fit | _cdimc.Prediction | _cdimc.Imputation,
    unobserved: Sequence[str],
    cluster_warnings: Sequence[str] = (),
) -> None:
    if found.filled:
        view, column, _ = found.filled[0]
        n_cells = sum(count for _, _, count in found.filled)
        warnings.warn(
            f"{n_cells} single missing cells in {len(found.filled)} columns filled with the column's mean "
            f"(first: view {view}, column `{column}`)",
            FilledCellsWarning,
            stacklevel=_callers_level(),
        )
    if unobserved:
        _warn_unobserved(unobserved)
    for text in found.data_warnings:
        warnings.warn(text, OddDataWarning, stacklevel=_callers_level())
    for text in cluster_warnings:
        warnings.warn(text, DoubtfulClustersWarning, stacklevel=_callers_level())


def _warn_unobserved(samples: Sequence[str]) -> None:
    warnings.warn(
        f"samples without a value in any view, left out: {len(samples)} (first: {samples[0]})",
        UnobservedSamplesWarning,
        stacklevel=_callers_level(),
    )


def _callers_level() -> int:
    """The stack level, for a warning of the function that asks, of the line that called this package."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    return level


def n_subsamples_of(number: Any) -> int:
    """How many subsamples, none of which would say nothing of any cluster."""
    return _whole("n_subsamples", number, "must be a whole number of at least 1", 1)


def _range(numbers: Any) -> tuple[int, int]:
    name, rule = "n_clusters_range", "must be two numbers, the fewest and the most clusters to try"
    try:
        first, last = numbers
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {numbers!r}: {rule}") from None
    return _whole(name, first, rule), _whole(name, last, rule)


def _n_clusters(number: Any) -> int:
    return _whole("n_clusters", number, 'must be a number of clusters or "auto"')


def _whole(name: str, number: Any, rule: str, least: int = 0) -> int:
    if isinstance(number, (int, np.integer)) and not isinstance(number, bool) and number >= least:
        return int(number)
    raise ValueError(f"{name} = {number!r}: {rule}")


def _plain(value: Any) -> Any:
    """NumPy's numbers, as a grid of parameters holds them, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise ValueError(f"{value!r}: a setting is a number, a text, a truth value or a list of them")
