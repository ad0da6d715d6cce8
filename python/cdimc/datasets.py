"""Data sets with known classes: one in the package, generated ones, and local files.

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
from ._estimator import _plain, seed_of

__all__ = ["load", "make_views", "names"]


def names() -> list[str]:
    """Returns the names that ``load`` accepts."""
    return _cdimc.dataset_names()


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Bunch:
    """Returns the complete views of a data set and its classes.

    Parameters
    ----------
    name : str
        One of ``names()``; the package includes the files of ``digits``.
    folder : path, optional
        Folder of the other files, in addition to the environment variable ``CDIMC_DATASETS``.

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
    random_state: Any = 0,
) -> Bunch:
    """Returns simulated views of Gaussian clusters in a few hidden factors, mapped to features at random.

    Parameters
    ----------
    n_samples, n_clusters : int
        Numbers of samples and clusters; cluster sizes differ by at most one.
    views : sequence of (int, {"linear", "nonlinear"})
        Number of features and kind of each view.
    n_factors : int
        Number of hidden factors, shared by all views.
    separation : float
        Standard deviation (SD) of the cluster centers, in SD within a cluster.
    noise : float
        Standard deviation of the noise of each feature.
    outliers : float
        Fraction of samples that are outliers, per view.
    random_state : int, RandomState or None
        Seed; None draws one.

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
    try:
        maps = [{"width": width, "map": kind} for width, kind in views]
    except (TypeError, ValueError):
        raise ValueError(f'views = {views!r}: must be pairs of a number of features and "linear" or "nonlinear"') from None
    description: dict[str, Any] = {
        "n-samples": n_samples,
        "n-clusters": n_clusters,
        "n-factors": n_factors,
        "separation": separation,
        "views": maps,
        "noise": noise,
        "outliers": outliers,
    }
    arrays, target = _cdimc.synthetic(json.dumps(description, default=_plain), seed_of(random_state))
    return Bunch(views=arrays, target=target)
