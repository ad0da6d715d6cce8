"""Tools for MuData, as users of scanpy and muon expect them: results go into the object."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._cdimc import DEFAULT_METHOD
from ._estimator import MultiViewClusterer
from ._methods import by_name
from ._progress import Progress

__all__ = ["cluster"]


def cluster(
    mdata: Any,
    n_clusters: int | str = "auto",
    *,
    method: str | MultiViewClusterer = DEFAULT_METHOD,
    key_added: str = "cluster",
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
    copy: bool = False,
    **settings: Any,
) -> Any:
    """Groups the observations of a MuData, each in whatever modalities it has.

    Parameters
    ----------
    mdata : MuData
        A view a modality; an observation is missing where a modality lacks it.
    n_clusters : int or "auto"
        Number of clusters.
    method : str or estimator
        A method's name, as the command takes it, or an estimator with all parameters set.
    key_added : str
        Results go to ``obs[key_added]``, ``obs[f"{key_added}_confidence"]``, ``obsm[f"X_{key_added}"]`` (embedding),
        ``obsm[f"{key_added}_probabilities"]`` and ``uns[key_added]`` (method, settings and what it found out).
    random_state, n_jobs, progress
        As for the estimators.
    copy : bool
        Whether to leave ``mdata`` as it is and give back a copy with the results.
    **settings
        Parameters of the method's estimator.

    Returns
    -------
    MuData or None
        The copy, if asked for.
    """
    import pandas as pd

    if isinstance(method, MultiViewClusterer):
        estimator = method
    else:
        estimator = by_name(method)(
            n_clusters=n_clusters, random_state=random_state, n_jobs=n_jobs, **settings
        )
    mdata = mdata.copy() if copy else mdata
    estimator.fit(mdata, progress=progress)
    samples = estimator.samples_ or []
    order = pd.Index(samples).get_indexer(list(map(str, mdata.obs_names)))
    found = (order >= 0) & (estimator.labels_[order] >= 0)

    def aligned(values: Any) -> Any:
        return np.where(found.reshape(-1, *[1] * (values.ndim - 1)), values[order], np.nan)

    names = [str(c) for c in range(estimator.n_clusters_)]
    labels = np.where(found, estimator.labels_[order], -1)
    mdata.obs[key_added] = pd.Categorical.from_codes(labels, categories=names)
    if estimator.confidence_ is not None:
        mdata.obs[f"{key_added}_confidence"] = aligned(estimator.confidence_)
    if estimator.embedding_ is not None:
        mdata.obsm[f"X_{key_added}"] = aligned(estimator.embedding_)
    if estimator.probabilities_ is not None:
        mdata.obsm[f"{key_added}_probabilities"] = aligned(estimator.probabilities_)
    mdata.uns[key_added] = {
        "method": estimator._method,
        "n_clusters": estimator.n_clusters_,
        "params": {name: str(value) for name, value in estimator.get_params().items()},
        "settings": estimator.settings_,
        "curves": {name: np.asarray(values) for name, values in estimator.curves_.items()},
    }
    if estimator.shared_information_ is not None:
        mdata.uns[key_added]["shared_information"] = estimator.shared_information_
    return mdata if copy else None
