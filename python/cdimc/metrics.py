"""Scores of a clustering against known classes; labels may be numbers or names.

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

#: Divisor of the mutual information.
Normalizer: TypeAlias = Literal["arithmetic", "geometric", "min", "max"]


def scores(truth: ArrayLike, found: ArrayLike) -> dict[str, float]:
    """Returns all scores; high is good.

    Parameters
    ----------
    truth : array-like of shape (n_samples,)
        Class of each sample.
    found : array-like of shape (n_samples,)
        Cluster of each sample.

    Returns
    -------
    dict
        ``acc``, ``nmi`` (divided by the arithmetic mean of the entropies), ``nmi_geometric``, ``nmi_max``, ``nmi_min``,
        ``ari``, ``purity``, and ``precision``, ``recall`` and ``f`` over pairs of samples, as fractions.

    Examples
    --------
    >>> scores([0, 0, 1, 1], [1, 1, 0, 0])["acc"]
    1.0
    """
    return _cdimc.scores(_numbers(truth), _numbers(found))


def accuracy(truth: ArrayLike, found: ArrayLike) -> float:
    """Returns the fraction of correct samples after the best matching of clusters and classes."""
    return scores(truth, found)["acc"]


def nmi(truth: ArrayLike, found: ArrayLike, normalizer: Normalizer = "arithmetic") -> float:
    """Returns the mutual information divided by a mean of the entropies, or by the larger or smaller one."""
    return scores(truth, found)["nmi" if normalizer == "arithmetic" else f"nmi_{normalizer}"]


def ari(truth: ArrayLike, found: ArrayLike) -> float:
    """Returns the adjusted Rand index: agreement over pairs of samples; 1 if equal, about 0 by chance."""
    return scores(truth, found)["ari"]


def purity(truth: ArrayLike, found: ArrayLike) -> float:
    """Returns the fraction of samples in the largest class of their cluster."""
    return scores(truth, found)["purity"]


def pairwise(truth: ArrayLike, found: ArrayLike) -> tuple[float, float, float]:
    """Returns precision, recall and F over pairs of samples."""
    all_scores = scores(truth, found)
    return all_scores["precision"], all_scores["recall"], all_scores["f"]


def match_labels(truth: ArrayLike, found: ArrayLike) -> dict[Any, Any]:
    """Returns the class of each cluster in the best matching; None for clusters without a class.

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
