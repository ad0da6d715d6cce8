"""Scores of a clustering against known classes; labels may be numbers or names.

Samples without a class (None or NaN) or without a cluster (None, NaN or -1, as in ``labels_``) are left out.

Examples
--------
>>> truth, found = [0, 0, 1, 1, 2, 2], [5, 5, 3, 3, 3, 9]
>>> accuracy(truth, found), purity(truth, found)
(0.8333333333333334, 0.8333333333333334)
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _cdimc
from ._views import NO_CLUSTER, check_same_rows

__all__ = ["accuracy", "ari", "match_labels", "nmi", "pairwise", "purity", "scores"]

#: Divisor of the mutual information.
Normalizer: TypeAlias = Literal["arithmetic", "geometric", "min", "max"]


def scores(truth: ArrayLike, found: ArrayLike) -> dict[str, float]:
    """Returns all scores; high is good.

    Parameters
    ----------
    truth : array-like of shape (n_samples,)
        Class of each sample; None or NaN if unknown.
    found : array-like of shape (n_samples,)
        Cluster of each sample; None, NaN or -1 if it has none.

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
    classes, clusters = _known(truth, found)
    return _cdimc.scores(_numbers(classes), _numbers(clusters))


def accuracy(truth: ArrayLike, found: ArrayLike) -> float:
    """Returns the fraction of correct samples after the best matching of clusters and classes."""
    return scores(truth, found)["acc"]


def nmi(truth: ArrayLike, found: ArrayLike, normalizer: Normalizer = "arithmetic") -> float:
    """Returns the mutual information divided by a mean of the entropies, or by the larger or smaller one."""
    if normalizer not in get_args(Normalizer):
        raise ValueError(f"normalizer = {normalizer!r}: must be one of {', '.join(get_args(Normalizer))}")
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
    classes, clusters = _known(truth, found)
    naming = _cdimc.match_labels(_numbers(classes), _numbers(clusters))
    names: list[Any] = np.unique(classes).tolist()
    return {
        cluster: None if (best := naming[c]) is None else names[best]
        for c, cluster in enumerate(np.unique(clusters).tolist())
    }


def _known(truth: ArrayLike, found: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns the labels of the samples with a class and a cluster."""
    check_same_rows({"truth": truth, "found": found})
    classes, clusters = _labels("truth", truth), _labels("found", found)
    if len(classes) != len(clusters):
        raise ValueError(f"truth has {len(classes)} samples, found has {len(clusters)}: must be the same samples")
    pairs = [
        (label, cluster)
        for label, cluster in zip(classes, clusters)
        if not _is_missing(label) and not _is_missing(cluster) and str(cluster) not in NO_CLUSTER
    ]
    if not pairs:
        raise ValueError("no sample has both a class and a cluster")
    return np.array([label for label, _ in pairs]), np.array([cluster for _, cluster in pairs])


def _labels(name: str, labels: ArrayLike) -> list[Any]:
    values = np.asarray(labels)
    if values.shape[1:] not in ((), (1,)):
        raise ValueError(f"{name} has the shape {values.shape}: must be one label per sample")
    found: list[Any] = values.ravel().tolist()
    return found


def _is_missing(label: Any) -> bool:
    # The NA of pandas has no truth value.
    return label is None or type(label).__name__ == "NAType" or label != label


def _numbers(labels: NDArray[Any]) -> list[int]:
    numbers: NDArray[np.int64] = np.unique(labels, return_inverse=True)[1]
    return numbers.ravel().tolist()
