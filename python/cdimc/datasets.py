"""Data sets with their truth: one that comes with the package, generated ones, and files on this machine.

Examples
--------
>>> digits = load("digits")
>>> {name: view.shape for name, view in digits.views.items()}["pixels"]
(1797, 64)
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from sklearn.utils import Bunch

from . import _cdimc
from ._estimator import _plain

__all__ = ["load", "make_views", "names"]


def names() -> list[str]:
    """The names that ``load`` takes."""
    return _cdimc.dataset_names()


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Bunch:
    """The complete views of a data set and its classes.

    Parameters
    ----------
    name : str
        One of ``names()``; the files of ``digits`` come with the package.
    folder : path, optional
        Where the files of the others lie, beside the environment variable ``CDIMC_DATASETS``.

    Returns
    -------
    Bunch
        ``views``, a dict of arrays (n_samples, n_features), and ``target``, the class of each sample or None.
    """
    view_names, views, target = _cdimc.dataset(name, None if folder is None else os.fspath(folder))
    return Bunch(views=dict(zip(view_names, views)), target=target)


def make_views(
    n_samples: int = 300,
    n_clusters: int = 4,
    *,
    views: Sequence[tuple[int, str]] = ((12, "linear"), (7, "nonlinear"), (20, "linear")),
    n_factors: int = 5,
    separation: float = 3.0,
    noise: float = 0.3,
    outliers: float = 0.02,
    random_state: int = 0,
) -> Bunch:
    """Gaussian clusters in a few hidden factors, seen through random maps.

    Parameters
    ----------
    n_samples, n_clusters : int
        Clusters differ in size by one sample at most.
    views : sequence of (int, {"linear", "nonlinear"})
        Features and kind of each view.
    n_factors : int
        Hidden factors that all views share.
    separation : float
        Standard deviation of the cluster centers, in units of that within a cluster.
    noise : float
        Standard deviation of what each feature adds of its own.
    outliers : float
        Share of the samples that are outliers of each view on its own.
    random_state : int
        The seed.

    Returns
    -------
    Bunch
        ``views``, a list of arrays (n_samples, n_features), and ``target``.

    Examples
    --------
    >>> data = make_views(60, 3)
    >>> [view.shape for view in data.views]
    [(60, 12), (60, 7), (60, 20)]
    """
    description: dict[str, Any] = {
        "n-samples": n_samples,
        "n-clusters": n_clusters,
        "n-factors": n_factors,
        "separation": separation,
        "views": [{"width": width, "map": kind} for width, kind in views],
        "noise": noise,
        "outliers": outliers,
    }
    arrays, target = _cdimc.synthetic(json.dumps(description, default=_plain), random_state)
    return Bunch(views=arrays, target=target)
