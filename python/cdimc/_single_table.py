"""Estimator for several views in one table, for pipelines and searches of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

if TYPE_CHECKING:
    from typing_extensions import Self


def _has_probabilities(table: AsSingleTable) -> bool:
    """Returns whether the method has probabilities; true before the fit."""
    fitted = getattr(table, "estimator_", None)
    return fitted is None or fitted.probabilities_ is not None


class AsSingleTable(ClusterMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters several views that are given as one table with all columns.

    Parameters
    ----------
    estimator : MultiViewClusterer
        Estimator for the views; it is cloned, not fitted itself.
    views : sequence of slice or of arrays of columns, optional
        Columns of each view, by position or, if the table is a frame, by name; by default all columns are one view.

    Attributes
    ----------
    estimator_ : MultiViewClusterer
        Fitted estimator.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    n_features_in_ : int
        Number of columns of the table.

    Examples
    --------
    >>> import numpy as np, cdimc
    >>> X = np.array([[0.0, 0.2, 1.0], [0.2, 0.0, np.nan], [5.0, 0.1, 9.0], [5.0, 0.3, 9.2]])
    >>> concat = cdimc.Concat(n_clusters=2, random_state=0)
    >>> labels = cdimc.AsSingleTable(concat, views=[slice(0, 2), slice(2, 3)]).fit_predict(X)
    >>> bool(labels[0] != labels[2] == labels[3])
    True
    """

    def __init__(self, estimator: Any, views: Sequence[Any] | None = None) -> None:
        self.estimator = estimator
        self.views = views

    def fit(self, X: Any, y: object = None) -> Self:
        """Clusters the rows of ``X``, (n_samples, n_features), NaN if missing."""
        X = self._table(X, reset=True)
        self.estimator_ = clone(self.estimator).fit(self._split(X))
        self.labels_ = self.estimator_.labels_
        return self

    def fit_predict(self, X: Any, y: object = None) -> NDArray[np.int64]:
        """Returns ``fit(X).labels_``."""
        labels: NDArray[np.int64] = self.fit(X, y).labels_
        return labels

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Returns the clusters of new rows, (n_samples,)."""
        labels: NDArray[np.int64] = self._fitted().predict(self._new(X))
        return labels

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Returns the probability of every cluster for new rows, (n_samples, n_clusters)."""
        probabilities: NDArray[np.float64] = self._fitted().predict_proba(self._new(X))
        return probabilities

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Returns the embedding of new rows, (n_samples, n_components)."""
        embedding: NDArray[np.float64] = self._fitted().transform(self._new(X))
        return embedding

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Returns the negative loss of each new row, (n_samples,); high values fit their cluster well."""
        scores: NDArray[np.float64] = self._fitted().score_samples(self._new(X))
        return scores

    def score(self, X: Any, y: object = None) -> float:
        """Returns the mean of ``score_samples``.

        It does not compare models, so give searches another scorer: the loss is a distance relative to the spread of the
        model's own clusters. Choose the number of clusters with ``n_clusters="auto"`` of the estimator.
        """
        return float(np.nanmean(self.score_samples(X)))

    def _fitted(self) -> Any:
        check_is_fitted(self, "estimator_")
        return self.estimator_

    def _new(self, X: Any) -> list[NDArray[Any]]:
        self._fitted()
        return self._split(self._table(X, reset=False))

    def _table(self, X: Any, reset: bool) -> NDArray[Any]:
        table: NDArray[Any] = validate_data(
            self,
            X,
            reset=reset,
            dtype=(np.float64, np.float32),
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
        return table

    def _split(self, X: NDArray[Any]) -> list[NDArray[Any]]:
        if self.views is not None and not isinstance(self.views, (list, tuple, np.ndarray)):
            raise ValueError(f"views = {self.views!r}: must be a list of slices or of arrays of columns")
        views = [X] if self.views is None else [self._columns(X, v) for v in range(len(self.views))]
        if empty := [v for v, view in enumerate(views) if view.shape[1] == 0]:
            raise ValueError(f"view {empty[0]} has no columns: X has {X.shape[1]} feature(s)")
        return views

    def _columns(self, X: NDArray[Any], v: int) -> NDArray[Any]:
        """Returns view ``v`` of the table."""
        columns = self.views[v]  # type: ignore[index]
        position = {name: j for j, name in enumerate(getattr(self, "feature_names_in_", []))}
        try:
            values: NDArray[Any] = X[:, columns if isinstance(columns, slice) else [position.get(c, c) for c in columns]]
        except (IndexError, TypeError):
            shown = np.asarray(columns).tolist()
            raise ValueError(f"views[{v}] = {shown!r}: must be columns of X, which has {X.shape[1]}") from None
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
