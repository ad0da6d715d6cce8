"""Base class of all estimators: scikit-learn's conventions around the engine."""

from __future__ import annotations

import json
import os
import tempfile
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
from ._views import View, Views, as_views, missing_rows, missing_value, names_of, observed_names, with_values
from ._warnings import (
    DoubtfulClustersWarning,
    FilledCellsWarning,
    OddDataWarning,
    UnobservedSamplesWarning,
    warn,
)

if TYPE_CHECKING:
    from typing_extensions import Self

#: Parameters of every estimator, in addition to the settings of its method.
SHARED = ("n_clusters", "n_clusters_range", "strict", "random_state", "n_jobs")


#: Result of a model for samples.
Found = TypeVar("Found", "_cdimc.Prediction", "_cdimc.Imputation")

#: Columns of the engine's tables that hold text, and that hold counts.
WORDS = {"id", "column", "test", "effect", "clusters", "note", "view", "kind", "ranges_of"}
COUNTS = {"n", "cluster", "other_cluster", "at_risk", "events", "censored", "n_inside", "n_outside"}


def columns_of(table: tuple[list[str], list[list[str]]]) -> dict[str, NDArray[Any]]:
    """Returns a table of the engine as arrays by name; an empty number is NaN."""
    header, rows = table

    def column(name: str, cells: list[str]) -> NDArray[Any]:
        if name in WORDS:
            return np.array(cells, dtype=object)
        # float() keeps every digit; the parser of pandas does not guarantee it.
        numbers = np.array([float(cell) if cell else np.nan for cell in cells], dtype=float)
        return numbers.astype(np.int64) if name in COUNTS and not np.isnan(numbers).any() else numbers

    return {name: column(name, [row[j] for row in rows]) for j, name in enumerate(header)}


class Call(NamedTuple):
    """Options of one call of the engine."""

    n_threads: int
    strict: bool
    progress: Progress | None


class MultiViewClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters samples with several views; any sample may be missing from any view.

    A subclass has the name of a method of the registry and the settings of the method as parameters.

    Attributes
    ----------
    samples_ : list of str or None
        Names of the samples, in order of first appearance over the views; None if rows have no names.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, 0 and up; -1 for a sample without a value in any view.
    n_clusters_ : int
        Number of clusters.
    confidence_ : ndarray of shape (n_samples,) or None
        Confidence of each label, in [0, 1], high is good; None if the method has none.
    probabilities_ : ndarray of shape (n_samples, n_clusters) or None
        Probability of every cluster; rows sum to 1. None if the method has none.
    losses_ : ndarray of shape (n_samples,) or None
        Loss of each sample; high values fit their cluster badly. None if the method has none.
    embedding_ : ndarray of shape (n_samples, n_components) or None
        Coordinates that all views share; None if the method has none.
    sample_table_ : dict of ndarray of shape (n_samples,)
        Columns of ``to_frame()``.
    markers_ : dict of ndarray
        Columns of the command's ``markers.csv``.
    curves_ : dict of list of float
        Losses and other curves during training.
    n_iter_ : int
        Number of steps.
    cluster_number_ : dict or None
        Tried numbers of clusters and the reason for the chosen one; None if ``n_clusters`` is a number.
    view_names_ : list of str
        Names of the views.
    feature_names_ : list of list of str
        Names of the columns of each view.
    settings_ : dict
        All settings of the method, by the names of the command.
    facts_ : dict
        Findings of the fit that the model file keeps.
    shared_information_ : float or None
        Information that the views share, in nats per sample; only for ``TMixture`` with several views.
    view_contributions_ : list of dict or None
        Information that each view shares with the others, in nats per sample; only for ``TMixture`` with several views.
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
        """Clusters the samples of ``Xs``.

        Parameters
        ----------
        Xs : list or dict of views, or MuData
            A view is an array (n_samples, n_features), a frame or an AnnData. A row of NaN is a missing sample.
            Frames and AnnData are joined by name: a sample without a row is missing in this view. Single NaN are
            replaced by the mean of the column, with a warning, or are an error if ``strict``.
        y : object
            Ignored.
        progress : callable or bool, optional
            Called with stage, steps done, number of steps and loss; True shows tqdm's bar.
        test_markers : bool
            Whether ``markers_`` has p and q values, like ``markers.csv`` of the command. It needs ``t-mixture`` and
            several views, and runs one short search per view, without that view.

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
            _truth("test_markers", test_markers),
            self._call(progress),
        )
        place = _Places(views, fit.samples)
        _warn(fit, place.unobserved, fit.cluster_warnings)
        self.samples_ = place.names
        self.sample_table_ = {name: place.spread(values) for name, values in fit.columns.items()}
        self.labels_ = self.sample_table_["cluster"]
        self.n_clusters_ = fit.n_clusters
        self.confidence_ = self.sample_table_.get("confidence")
        self.losses_ = self.sample_table_.get("loss")
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
        """Returns ``fit(Xs).labels_``."""
        return self.fit(Xs, y, **kwargs).labels_

    def fit_transform(self, Xs: Views, y: object = None, **kwargs: Any) -> NDArray[np.float64]:
        """Returns ``fit(Xs).embedding_``."""
        embedding = self.fit(Xs, y, **kwargs).embedding_
        if embedding is None:
            raise ValueError(f"{self._method} has no embedding")
        return embedding

    def predict(self, Xs: Views) -> Any:
        """Returns the clusters of new samples with any subset of the views.

        Parameters
        ----------
        Xs : list or dict of views, or MuData
            A dict has some views of the fit, by name. A list has all views, by position; a missing view is None or
            an array of NaN. A frame or AnnData without rows, or without values, is a missing view, if another has rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Clusters; -1 for a sample without a value in any view.
        """
        return self._per_sample(Xs, "cluster")

    def predict_proba(self, Xs: Views) -> Any:
        """Returns the probability of every cluster for new samples, (n_samples, n_clusters); rows sum to 1."""
        return self._per_sample(Xs, "probabilities")

    def predict_confidence(self, Xs: Views) -> Any:
        """Returns the confidence of the cluster of each new sample, (n_samples,), in [0, 1], high is good."""
        return self._per_sample(Xs, "confidence")

    def unusual(self, Xs: Views) -> Any:
        """Returns whether each new sample is unlike all training samples, (n_samples,)."""
        return self._per_sample(Xs, "unusual")

    def transform(self, Xs: Views) -> NDArray[np.float64]:
        """Returns the embedding of new samples, (n_samples, n_components)."""
        place, found = self._predict(Xs)
        return place.spread(self._values(found, "embedding"))

    def score_samples(self, Xs: Views) -> Any:
        """Returns the negative loss of each new sample, (n_samples,); high values fit their cluster well."""
        return -self._per_sample(Xs, "loss")

    def to_frame(self, Xs: Views | None = None) -> Any:
        """Returns the columns of the command's ``labels.csv`` as a data frame of pandas, with one row per sample.

        ``stability`` is left out. ``cluster`` and ``cluster_by_VIEW`` (only of the fit) are -1 where the file is empty.

        Parameters
        ----------
        Xs : list or dict of views, or MuData, optional
            New samples, as for ``predict``; by default the samples of the fit.
        """
        import pandas as pd

        if Xs is None:
            check_is_fitted(self, "view_names_")
            if not hasattr(self, "sample_table_"):
                raise ValueError("a model file has no samples: must be to_frame(views)")
            return pd.DataFrame(self.sample_table_, self.samples_)
        place, found = self._predict(Xs)
        return pd.DataFrame({name: place.spread(values) for name, values in found.columns.items()}, place.names)

    def score(self, Xs: Views, y: object = None) -> float:
        """Returns the mean of ``score_samples``.

        It does not compare models: the loss is a distance relative to the spread of the model's own clusters. Choose the
        number of clusters with ``n_clusters="auto"``.
        """
        return float(np.nanmean(self.score_samples(Xs)))

    def impute(self, Xs: Views) -> Any:
        """Returns every view of the samples, with unchanged observed values and predicted missing values.

        Parameters
        ----------
        Xs : list or dict of views, or MuData
            Same as for ``predict``.

        Returns
        -------
        list of ndarray, or dict of ndarray if ``Xs`` has names
            All views of the fit, (n_samples, n_features) each.
        """
        views, model = self._ready(Xs)
        place, done = self._found(views, model.impute)
        filled = [place.spread(values) for values in done.views]
        has_names = isinstance(Xs, Mapping) or hasattr(Xs, "mod")
        return dict(zip(self.view_names_, filled)) if has_names else filled

    def explain(self, Xs: Views, samples: Sequence[str] | None = None) -> Any:
        """Returns why samples are in their clusters, as a data frame of pandas; only for ``TMixture``.

        Parameters
        ----------
        Xs : list or dict of views, or MuData
            Same as for ``predict``.
        samples : sequence of str, optional
            Names of the samples to explain, as in ``sample_names(Xs)``; by default all, and none if empty.

        Returns
        -------
        DataFrame
            Rows as in the command's ``explanations.csv``: the log odds of the ``cluster`` against the
            ``other_cluster``, their parts by view and by column with the value, and quartiles and means of both clusters,
            and the missing views with the fraction of the doubt that each would remove.
        """
        import pandas as pd

        if isinstance(samples, str):
            raise ValueError(f"samples = {samples!r}: must be a list of names")
        views, model = self._ready(Xs)
        ids = [] if samples is None else [str(sample) for sample in samples]
        is_empty = samples is not None and not ids
        # Without ids the engine explains all samples.
        asked = observed_names(views)[0][:1] if is_empty else ids
        frame = pd.DataFrame(columns_of(model.explain(views, (asked, seed_of(self.random_state)), self._call())))
        return frame.iloc[:0] if is_empty else frame

    def stability(self, Xs: Views, n_subsamples: int = 50) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the stability of the clusters in random subsamples with 80 % of the samples; only for ``TMixture``.

        Parameters
        ----------
        Xs : list or dict of views, or MuData
            Samples of the fit, in any form that ``predict`` takes; all views are needed. Other numbers of samples give a
            warning.
        n_subsamples : int, default=50
            Number of subsamples.

        Returns
        -------
        clusters : ndarray of shape (n_clusters,)
            Mean Jaccard index of every cluster with the most similar cluster of each subsample, high is good.
        samples : ndarray of shape (n_samples,)
            Mean fraction of the other samples of its cluster that share a cluster with the sample in the subsamples,
            in the order of ``sample_names(Xs)``.
        """
        model, views = self._fitted(), self._named(Xs)
        samples, stability = stability_of(model, views, n_subsamples, self.random_state, self._call())
        place = _Places(views, samples)
        of_samples = np.array(stability["samples"], dtype=float)
        return np.array(stability["clusters"], dtype=float), place.spread(of_samples)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to the file ``path``, atomically; the command reads such files too."""
        path = Path(path)
        content = self._fitted().to_bytes()
        if path.is_dir():
            raise ValueError(f"{path}: is a directory, must be a file")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path.parent}: no such folder")
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".cdimc-") as folder:
            partial = Path(folder) / path.name
            partial.write_bytes(content)
            partial.replace(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Returns the estimator of a model file from ``save`` or the command."""
        estimator = load(path)
        if not isinstance(estimator, cls):
            raise ValueError(
                f"{os.fspath(path)}: the model is a {type(estimator).__name__}, a {cls.__name__} is needed"
            )
        return estimator

    def _settings(self) -> dict[str, Any]:
        """Returns the parameters as settings of the engine; None keeps the default."""
        settings: dict[str, Any] = {}
        paths = setting_paths(self._method)
        for name, value in self.get_params(deep=False).items():
            # A subclass may have parameters that are no settings.
            if value is None or name not in paths:
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
        return Call(n_threads_of(self.n_jobs), _truth("strict", self.strict), reporter(progress))

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
        # In arrays, a view that all new samples lack may be given as NaN.
        there = [view for view in views if view.ids is not None or not missing_rows(view.values).all()]
        return there or views, model

    def _named(self, Xs: Views) -> list[View]:
        known = dict(zip(self.view_names_, self.feature_names_))

        def named(view: View) -> View:
            # Columns without names are taken in the order of the model.
            features = known.get(view.name, [])
            same = view.features is None and len(features) == view.values.shape[1]
            return view._replace(features=features) if same else view

        return [named(view) for view in as_views(Xs, self.view_names_)]

    def _predict(self, Xs: Views) -> tuple[_Places, _cdimc.Prediction]:
        views, model = self._ready(Xs)
        return self._found(views, model.predict)

    def _per_sample(self, Xs: Views, name: str) -> Any:
        place, found = self._predict(Xs)
        return place.spread(self._values(found, name))

    def _values(self, found: _cdimc.Prediction, name: str) -> NDArray[Any]:
        """Returns a column of ``labels.csv``, the probabilities or the embedding."""
        values = found.columns.get(name)
        if values is None:
            values = getattr(found, name, None)
        if values is None:
            raise ValueError(f"{self._method} has no {name} of new samples")
        return values

    def _placeholder(self) -> View:
        """Returns a view of one sample; its results have the right shapes and types, its values are not used."""
        features = self.feature_names_[0]
        return View(self.view_names_[0], None, features, np.ones((1, len(features))))

    def _found(self, views: list[View], call: Callable[[list[View], Call], Found]) -> tuple[_Places, Found]:
        there = with_values(views)
        if not there and names_of(views):
            place = _Places(views, [])
            _warn_unobserved(place.unobserved)
            return place, call([self._placeholder()], self._call())
        # The engine raises the error for tables without rows.
        found = call(there or views, self._call())
        place = _Places(views, found.samples)
        _warn(found, place.unobserved)
        return place, found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = True
        return tags


def load(path: str | os.PathLike[str]) -> MultiViewClusterer:
    """Returns the estimator of a model file.

    Parameters
    ----------
    path : str or path
        A file from ``save`` or ``cdimc cluster``.

    Returns
    -------
    MultiViewClusterer
        An estimator of the class of the model's method. It predicts and imputes, but has no results of the fit such as
        ``labels_``.
    """
    model = _cdimc.Model.load(os.fspath(path))
    estimator = by_name(model.method)()
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
    estimator.settings_ = settings
    estimator.view_names_ = model.view_names
    estimator.feature_names_ = model.feature_names
    estimator._take_model(model)
    return estimator


def by_name(method: str) -> type[MultiViewClusterer]:
    """Returns the class of the method with this name in the command."""
    classes: dict[str, type[MultiViewClusterer]] = {cls._method: cls for cls in MultiViewClusterer.__subclasses__()}
    if method not in classes:
        raise ValueError(f"unknown method `{method}`: must be one of {', '.join(classes)}")
    return classes[method]


@cache
def setting_paths(method: str) -> dict[str, tuple[str, ...]]:
    """Returns the path of each parameter in the settings of ``method``: ``pretrain_epochs`` is (pretrain, epochs)."""

    def leaves(prefix: tuple[str, ...], schema: dict[str, Any]) -> list[tuple[str, ...]]:
        if "properties" not in schema:
            return [prefix]
        return [leaf for key, inner in schema["properties"].items() for leaf in leaves((*prefix, key), inner)]

    paths = leaves((), json.loads(_cdimc.Method(method, "{}").described)["schema"])
    return {parameter_name(path): path for path in paths}


def parameter_name(path: tuple[str, ...]) -> str:
    """Returns the Python name of a setting: its keys, joined; ``lambda`` is reserved and gets an underscore."""
    name = "_".join(path).replace("-", "_")
    return f"{name}_" if name == "lambda" else name


def seed_of(random_state: Any) -> int:
    """Returns the seed of the engine: an int is used like ``--seed`` of the command, anything else draws a seed."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state = {random_state}: must lie in 0..=2^64-1")
        return int(random_state)
    try:
        if isinstance(random_state, bool):
            raise ValueError
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        rule = "must be a whole number, a RandomState or None"
        raise ValueError(f"random_state = {random_state!r}: {rule}") from None


class _Places:
    """Output positions of the samples of a result: their rows in the arrays, or the order of first appearance."""

    def __init__(self, views: list[View], samples: list[str]) -> None:
        names, observed = names_of(views), set(samples)
        self.n_samples = len(names)
        self.names = names if views[0].ids is not None else None
        self.unobserved = [name for name in names if name not in observed]
        # With views in another order, or fewer views, the engine returns the samples in another order.
        self.is_in_order = samples == names
        row_of = {name: row for row, name in enumerate(names)}
        self.rows = np.array([row_of[name] for name in samples], dtype=np.int64)

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Returns one value or row per sample, also for samples without a value in any view."""
        if self.is_in_order:
            return values
        spread = np.full((self.n_samples, *values.shape[1:]), missing_value(values), dtype=values.dtype)
        spread[self.rows] = values[: len(self.rows)]
        return spread

    def spread_optional(self, values: NDArray[Any] | None) -> NDArray[Any] | None:
        """Like ``spread``; None stays None."""
        return None if values is None else self.spread(values)


def _warn(
    found: _cdimc.Fit | _cdimc.Prediction | _cdimc.Imputation,
    unobserved: Sequence[str],
    cluster_warnings: Sequence[str] = (),
) -> None:
    if found.filled:
        view, column, _ = found.filled[0]
        n_cells = sum(count for _, _, count in found.filled)
        warn(
            f"{n_cells} single missing cells in {len(found.filled)} columns were filled with the column's mean "
            f"(first: view {view}, column `{column}`)",
            FilledCellsWarning,
        )
    if unobserved:
        _warn_unobserved(unobserved)
    for text in found.data_warnings:
        warn(text, OddDataWarning)
    for text in cluster_warnings:
        warn(text, DoubtfulClustersWarning)


def _warn_unobserved(samples: Sequence[str]) -> None:
    text = f"{len(samples)} samples get no cluster, because they have no value in any view (first: {samples[0]})"
    warn(text, UnobservedSamplesWarning)


def n_threads_of(n_jobs: Any) -> int:
    """Returns the number of threads, as joblib counts jobs."""
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ValueError(f"n_jobs = {n_jobs!r}: must be a whole number other than 0, or None")
    return int(effective_n_jobs(n_jobs))


def stability_of(
    model: _cdimc.Model, views: list[View], n_subsamples: Any, random_state: Any, call: Call
) -> tuple[list[str], dict[str, Any]]:
    """Returns the samples with a value and the stability of their clusters; warns if the fit had more or fewer samples."""
    number = _whole("n_subsamples", n_subsamples, "must be a whole number of at least 1", 1)
    samples, _, found = model.stability(views, (number, seed_of(random_state)), call)
    n_fitted = json.loads(model.facts)["findings"]["n-samples"]
    if len(samples) != n_fitted:
        numbers = f"{len(samples)} samples are given, the fit had {n_fitted}"
        warn(f"the stability may differ from the stability of the fit: {numbers}", OddDataWarning)
    return samples, json.loads(found)


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


def _truth(name: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ValueError(f"{name} = {value!r}: must be True or False")


def _plain(value: Any) -> Any:
    """Converts NumPy numbers, which occur in parameter grids, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise ValueError(f"{value!r}: a setting is a number, a text, a truth value or a list of them")
