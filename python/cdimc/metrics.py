"""Scores of a clustering against the truth; labels may be numbers or names.

Examples
--------
>>> truth, found = [0, 0, 1, 1, 2, 2], [5, 5, 3, 3, 3, 9]
>>> accuracy(truth, found), purity(truth, found)
(0.8333333333333334, 0.8333333333333334)
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _cdimc

__all__ = ["accuracy", "ari", "match_labels", "nmi", "pairwise", "purity", "scores"]

#: What mutual information is divided by.
Normalizer: TypeAlias = Literal["arithmetic", "geometric", "min", "max"]


def scores(truth: ArrayLike, found: ArrayLike) -> dict[str, float]:
    """All scores at once.

    Parameters
    ----------
    truth : array-like of shape (n_samples,)
        The class of each sample.
    found : array-like of shape (n_samples,)
        The cluster of each sample.

    Returns
    -------
    dict
        ``acc``, ``nmi`` (over the arithmetic mean of the entropies; ``nmi_geometric``, ``nmi_max`` and ``nmi_min`` over
        the others), ``ari``, ``purity``, and over pairs of samples ``precision``, ``recall`` and ``f``, as fractions.

    Examples
    --------
    >>> scores([0, 0, 1, 1], [1, 1, 0, 0])["acc"]
    1.0
    """
    return _cdimc.scores(_numbers(truth), _numbers(found))


def accuracy(truth: ArrayLike, found: ArrayLike) -> float:
    """The share of samples right under the best naming of clusters by classes."""
    return scores(truth, found)["acc"]


def nmi(truth: ArrayLike, found: ArrayLike, normalizer: Normalizer = "arithmetic") -> float:
    """Mutual information over a mean of the entropies, or over the larger or smaller one."""
    return scores(truth, found)["nmi" if normalizer == "arithmetic" else f"nmi_{normalizer}"]


def ari(truth: ArrayLike, found: ArrayLike) -> float:
    """The adjusted Rand index: pairs of samples that agree, less what chance gives."""
    return scores(truth, found)["ari"]


def purity(truth: ArrayLike, found: ArrayLike) -> float:
    """The share of samples in the largest class of their cluster."""
    return scores(truth, found)["purity"]


def pairwise(truth: ArrayLike, found: ArrayLike) -> tuple[float, float, float]:
    """Precision, recall and F over pairs of samples."""
    all_scores = scores(truth, found)
    return all_scores["precision"], all_scores["recall"], all_scores["f"]


def match_labels(truth: ArrayLike, found: ArrayLike) -> dict[Any, Any]:
    """The class that the best naming gives each cluster; None for clusters that get none.

    Examples
    --------
    >>> match_labels(["a", "a", "b"], [1, 1, 0])
    {0: 'b', 1: 'a'}
    """
    classes, clusters = np.unique(np.asarray(truth)), np.unique(np.asarray(found))
    naming = _cdimc.match_labels(_numbers(truth), _numbers(found))
    names: list[Any] = classes.tolist()
    return {
        cluster: None if (best := naming[c]) is None else names[best]
        for c, cluster in enumerate(clusters.tolist())
    }


def _numbers(labels: ArrayLike) -> list[int]:
    numbers: NDArray[np.int64] = np.unique(np.asarray(labels), return_inverse=True)[1]
    return numbers.ravel().tolist()
