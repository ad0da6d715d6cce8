"""Tools for AnnData and MuData, in the conventions of scanpy and muon."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _cdimc
from ._cdimc import DEFAULT_METHOD
from ._estimator import COUNTS, Call, MultiViewClusterer, by_name, columns_of, n_threads_of, stability_of
from ._progress import Progress, reporter
from ._views import NO_CLUSTER, as_views, text_of
from ._warnings import OddDataWarning, warn

__all__ = ["associations", "cluster", "markers", "stability", "survival"]


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
    """Clusters the observations of a MuData, which may have any subset of the modalities.

    Parameters
    ----------
    mdata : MuData
        Each modality is a view; observations without a row in a modality are missing there.
    n_clusters : int or "auto"
        Number of clusters.
    method : str or estimator
        Name of a method, as for the command, or an estimator with all parameters set; other parameters are then refused.
    key_added : str
        Results are written to ``obs[key_added]``, ``obs[f"{key_added}_confidence"]``, ``obsm[f"X_{key_added}"]``
        (embedding), ``obsm[f"{key_added}_probabilities"]`` and ``uns[key_added]`` (method, settings, markers, model and
        its findings; with "auto" also the reason for the number of clusters, and the shared information of all tried).
    random_state, n_jobs, progress
        Same as for the estimators.
    copy : bool
        Whether to return a copy with the results and leave ``mdata`` unchanged.
    **settings
        Parameters of the method's estimator.

    Returns
    -------
    MuData or None
        The copy, if ``copy``.
    """
    import pandas as pd

    if not isinstance(key_added, str) or not key_added or "/" in key_added:
        raise ValueError(f"key_added = {key_added!r}: must be text and have no `/`, which files of MuData cannot keep")
    parameters = {"n_clusters": n_clusters, "random_state": random_state, "n_jobs": n_jobs, **settings}
    if isinstance(method, MultiViewClusterer):
        estimator, defaults = method, {"n_clusters": "auto", "random_state": 0, "n_jobs": None}
        for name, value in parameters.items():
            if name not in defaults or value != defaults[name]:
                raise ValueError(f"{name} = {value!r}: must be set in the estimator that is given as method")
    else:
        estimator = by_name(method)(**parameters)
    if not hasattr(mdata, "mod"):
        raise ValueError(f"mdata is a {type(mdata).__name__}: must be a MuData, which gets the results")
    mdata = mdata.copy() if copy else mdata
    estimator.fit(mdata, progress=progress, test_markers=True)
    samples = estimator.samples_ or []
    order = pd.Index(samples).get_indexer(list(map(str, mdata.obs_names)))
    found = (order >= 0) & (estimator.labels_[order] >= 0)

    def aligned(values: Any) -> Any:
        return np.where(found.reshape(-1, *[1] * (values.ndim - 1)), values[order], np.nan)

    names = [str(c) for c in range(estimator.n_clusters_)]
    labels = np.where(found, estimator.labels_[order], -1)
    mdata.obs[key_added] = pd.Categorical.from_codes(labels, categories=names)
    # Removes results of earlier clusters of this name that the new ones may not have.
    former = [f"{key_added}_confidence", f"{key_added}_stability"]
    mdata.obs.drop(columns=former, errors="ignore", inplace=True)
    for name in (f"X_{key_added}", f"{key_added}_probabilities"):
        mdata.obsm.pop(name, None)
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
        # A frame keeps the order of its columns in a file.
        "markers": pd.DataFrame(estimator.markers_),
    }
    if number := estimator.cluster_number_:
        held_out = [candidate["held-out"] or {} for candidate in number["candidates"]]
        mdata.uns[key_added]["cluster_number"] = {
            "reason": number["reason"],
            "n_clusters": np.array([candidate["n-clusters"] for candidate in number["candidates"]]),
            "shared_information": np.array([found.get("shared-information", np.nan) for found in held_out]),
        }
    if estimator.shared_information_ is not None:
        mdata.uns[key_added]["shared_information"] = estimator.shared_information_
    nats = [found["shared-information"] for found in estimator.view_contributions_ or []]
    # The contribution is unknown for a view without common samples.
    contributions = {name: known for name, known in zip(estimator.view_names_, nats) if known is not None}
    if contributions:
        mdata.uns[key_added]["contributions"] = contributions
    if estimator._model is not None:
        mdata.uns[key_added]["model"] = np.frombuffer(estimator._model.to_bytes(), dtype=np.uint8)
    return mdata if copy else None


def markers(data: Any, cluster: int | str | None = None, *, key: str = "cluster") -> Any:
    """Returns the columns that differ between each cluster and the other samples, like ``markers.csv`` of the command.

    Parameters
    ----------
    data : MuData
        Data with results of `cluster`.
    cluster : int or str, optional
        Only the markers of this cluster, as number or as category of ``obs``; all by default.
    key : str
        The ``key_added`` of `cluster`.

    Returns
    -------
    DataFrame
        Columns per cluster and view, most different first: ``difference`` (Hedges' g, in normal scores for ``ranks``) with
        ``lower`` and ``upper``, ``auc``, means and numbers of samples inside and outside; ``p`` and ``q`` from clusters
        of the other views, NaN if there are no such clusters.
    """
    import pandas as pd

    frame = pd.DataFrame(stored(data, key, "markers", "cdimc.tl.cluster writes them")).reset_index(drop=True)
    if cluster is None:
        return frame
    if str(cluster) not in map(str, range(n := int(data.uns[key]["n_clusters"]))):
        raise ValueError(f"cluster = {cluster!r}: must lie in 0..={n - 1}")
    return frame[frame["cluster"] == int(cluster)].reset_index(drop=True)


def stability(
    data: Any,
    n_subsamples: int = 50,
    *,
    key: str = "cluster",
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
) -> Any:
    """Computes the stability of clusters of ``TMixture`` in random subsamples with 80 % of the observations.

    Parameters
    ----------
    data : MuData
        Data with results of `cluster`; a warning follows if observations were removed or added since.
    n_subsamples : int
        Number of subsamples.
    key : str
        The ``key_added`` of `cluster`. The mean fraction of the other samples of its cluster that stay with each
        observation is written to ``obs[f"{key}_stability"]``, the rest to ``uns[key]["stability"]``.
    random_state, n_jobs, progress
        Same as for the estimators.

    Returns
    -------
    DataFrame
        One row per cluster: its name and its ``stability``, the mean Jaccard index with the most similar cluster of each
        subsample. At 0.85 and above the cluster is stable; below 0.6 do not trust it.
    """
    import pandas as pd

    content = stored(data, key, "model", "cdimc.tl.cluster writes it, of t-mixture")
    model = _cdimc.Model.from_bytes(np.asarray(content, dtype=np.uint8).tobytes())
    call = Call(n_threads_of(n_jobs), False, reporter(progress))
    samples, found = stability_of(model, as_views(data), n_subsamples, random_state, call)
    of_sample = pd.Series(np.array(found["samples"], dtype=float), index=samples)
    data.obs[f"{key}_stability"] = of_sample.reindex(list(map(str, data.obs_names))).to_numpy()
    of_cluster = np.array(found["clusters"], dtype=float)
    data.uns[key]["stability"] = {
        "clusters": of_cluster,
        "n_subsamples": found["n-subsamples"],
        "ambiguous": np.nan if found["ambiguous"] is None else found["ambiguous"],
    }
    return pd.DataFrame({"cluster": [str(c) for c in range(len(of_cluster))], "stability": of_cluster})


def stored(data: Any, key: str, what: str, advice: str) -> Any:
    """Returns a result of this name in ``uns[key]``."""
    results = getattr(data, "uns", {}).get(key)
    if not isinstance(results, Mapping) or what not in results:
        raise ValueError(f"no {what} in uns[{key!r}]: {advice}")
    return results[what]


def associations(data: Any, columns: Sequence[str] | None = None, *, groupby: str = "cluster") -> Any:
    """Tests other variables of the samples for differences between clusters, like ``associations.csv`` of the command.

    Parameters
    ----------
    data : AnnData, MuData or DataFrame
        The variables are the columns of ``obs`` or of the frame; a text such as ``NA`` is missing, as in the command.
    columns : sequence of str, optional
        Columns to compare; by default all except ``groupby``, its confidence and its stability.
    groupby : str
        Column of clusters; samples without a cluster, or with -1 as number or text, are left out.

    Returns
    -------
    DataFrame
        One row per column, smallest p value first: ``test``, ``n``, ``statistic``, ``p``, ``q`` (Benjamini and Hochberg
        over these columns), ``effect`` and its ``size``, ``ari`` (adjusted Rand index of clusters and categories),
        typical values of each cluster by name, and a ``note`` if there was no test.

    Examples
    --------
    >>> import pandas as pd
    >>> obs = pd.DataFrame({"cluster": list("aaaabbbb"), "age": [41, 44, 47, 43, 58, 60, 63, 59]})
    >>> found = associations(obs)
    >>> found[["column", "test", "n"]].values.tolist(), round(float(found.p[0]), 4)
    ([['age', 'Kruskal-Wallis', 8]], 0.0209)
    """
    table, _, _, clusters = _compared(data, columns, None, groupby)
    frame, names = _frame(table), {str(code): str(name) for code, name in enumerate(clusters)}
    named = re.compile(r"(?:^|(?<=; ))\d+(?=: )")
    frame["clusters"] = [named.sub(lambda found: names.get(found[0], found[0]), text) for text in frame["clusters"]]
    return frame


def survival(data: Any, time: str, event: str, *, groupby: str = "cluster") -> dict[str, Any]:
    """Compares the survival of clusters, like ``survival.csv`` and ``run.json`` of the command.

    Parameters
    ----------
    data : AnnData, MuData or DataFrame
        The variables are the columns of ``obs`` or of the frame; a text such as ``NA`` is missing, as in the command.
    time, event : str
        Columns of the observation time, and of its end: the event (1, true, yes or dead) or censoring (0 or false).
    groupby : str
        Column of clusters; samples without a cluster, or with -1 as number or text, are left out.

    Returns
    -------
    dict
        ``p`` (NaN without a test), ``log_rank`` (chi squared, degrees of freedom, samples, events; empty without a test),
        ``clusters`` (a frame: medians, restricted means up to ``horizon``, hazard ratios against the cluster
        ``reference``) and ``curves`` (a frame: steps of the Kaplan-Meier curves), with the clusters' names.

    Raises
    ------
    ValueError
        If many times or events cannot be read, all samples are censored, or there are fewer than two clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> obs = pd.DataFrame({"cluster": list("aaabbb"), "days": [5, 8, 12, 3, 4, 4], "dead": [0, 1, 0, 1, 1, 1]})
    >>> round(survival(obs, "days", "dead")["p"], 4)
    0.0295
    """
    import pandas as pd

    _, table, record, names = _compared(data, [time, event], (time, event), groupby)
    found, curves = json.loads(record), _frame(table)
    clusters = pd.json_normalize(found["survival"]["clusters"], sep="-").drop(columns="hazard-ratio", errors="ignore")
    for frame in (clusters, curves):
        frame["cluster"] = pd.Categorical.from_codes(frame["cluster"].to_numpy(dtype=int), names)
    return {
        "p": found.get("log-rank", {}).get("p", float("nan")),
        "log_rank": found.get("log-rank", {}),
        "clusters": clusters,
        "reference": names[found["survival"]["reference"]],
        "horizon": found["survival"]["horizon"],
        "curves": curves,
    }


def _compared(data: Any, columns: Sequence[str] | None, times: tuple[str, str] | None, groupby: str) -> Any:
    """Returns the engine's comparison of these columns, which are passed as text, and the name of each cluster.

    It warns as the command does.
    """
    import pandas as pd

    # A frame may have a column named obs.
    known = data if isinstance(data, pd.DataFrame) else getattr(data, "obs", None)
    if known is None:
        raise ValueError(f"data is a {type(data).__name__}: must be an AnnData, MuData or DataFrame")
    if isinstance(columns, str):
        raise ValueError(f"columns = {columns!r}: must be a list of names")
    own = (groupby, f"{groupby}_confidence", f"{groupby}_stability")
    names = [c for c in known.columns if c not in own] if columns is None else list(columns)
    count = Counter(map(str, known.columns))
    for column in [groupby, *names]:
        if column not in known.columns:
            there = ", ".join(map(str, known.columns[:8]))
            raise ValueError(f"no column `{column}`; there are: {there}")
        if count[str(column)] > 1:
            raise ValueError(f"two columns are named `{column}`")
    groups = pd.Categorical(known[groupby])
    groups = groups.remove_categories([c for c in groups.categories if str(c) in NO_CLUSTER])
    known = known[groups.codes >= 0]
    if known.empty:
        raise ValueError(f"column `{groupby}`: no sample has a cluster")

    text = [(str(name), text_of(known[name])) for name in names]
    samples = list(map(str, known.index if known.index.is_unique else range(1, len(known) + 1)))
    notes, table, curves, record = _cdimc.compare(text, times, samples, groups.codes[groups.codes >= 0].tolist())
    if times and curves is None:
        raise ValueError("; ".join(notes))
    for note in notes:
        warn(note, OddDataWarning)
    # Missing labels turn whole numbers into floats.
    clusters = [int(c) if isinstance(c, float) and c.is_integer() else c for c in groups.categories]
    return table, curves, record, clusters


def _frame(table: tuple[list[str], list[list[str]]]) -> Any:
    """Returns a table of the engine as a frame with numeric columns."""
    import pandas as pd

    frame = pd.DataFrame(columns_of(table))
    return frame.astype({name: "Int64" for name in frame if name in COUNTS})
