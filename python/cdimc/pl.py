"""Plots of the results of `cdimc.tl` with matplotlib, in scanpy's conventions; each function returns its axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import pp, tl
from ._estimator import _whole
from ._views import Views

__all__ = ["contributions", "markers", "missing", "stability", "survival"]

#: Cluster colors of the command's report; the first seven are from Okabe and Ito.
COLORS = (
    "#0072b2 #e69f00 #009e73 #d55e00 #cc79a7 #56b4e9 #968229 #808080 #6e40aa #b01e3c #6eaa28 #965f3c"
).split()


def color(cluster: int) -> str:
    """Returns the color of a cluster."""
    return COLORS[cluster % len(COLORS)]


def missing(Xs: Views, *, ax: Any = None) -> Any:
    """Plots the sets of views that samples have; the height is the number of samples.

    Parameters
    ----------
    Xs : list or dict of views, or MuData
        Same as for ``fit``.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    Axes
    """
    table = pp.missing(Xs)
    names, counts = list(table.columns[:-1]), table["samples"].to_numpy()
    ax = _axes(ax, (1 + 1.1 * len(names), 4))
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    for place, name in enumerate(names):
        there = table[name].to_numpy()
        ax.bar(place, np.where(there, counts, 0), bottom=begins, width=0.92, color=color(0), edgecolor="white")
    ax.set(xticks=range(len(names)), xticklabels=names, ylabel="samples", ylim=(counts.sum(), 0))
    return ax


def markers(data: Any, n: int = 5, *, key: str = "cluster", ax: Any = None) -> Any:
    """Plots the columns that differ most between each cluster and the other samples, with 95 % intervals.

    Parameters
    ----------
    data : MuData
        Data with results of `cdimc.tl.cluster`.
    n : int
        Number of columns per cluster, over all views.
    key : str
        The ``key_added`` of `cdimc.tl.cluster`.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    Axes
    """
    n = _whole("n", n, "must be a whole number of at least 1", 1)
    frame = tl.markers(data, key=key)
    frame = frame.reindex(frame["difference"].abs().sort_values(ascending=False, kind="stable").index)
    frame = frame.groupby("cluster", sort=True).head(n).sort_values("cluster", kind="stable")
    ax = _axes(ax, (6, 1 + 0.22 * len(frame)))
    for place, row in enumerate(frame.itertuples(index=False)):
        ax.plot([row.lower, row.upper], [place, place], color=color(row.cluster))
        ax.plot(row.difference, place, "o", color=color(row.cluster))
    for cluster in frame["cluster"].unique():
        ax.plot([], [], "o-", color=color(cluster), label=f"cluster {cluster}")
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    ax.set(yticks=range(len(frame)), yticklabels=frame["view"] + ": " + frame["column"].astype(str))
    ax.set(xlabel="difference from the other samples, in SD (Hedges' g, 95 %)", ylim=(len(frame) - 0.5, -0.5))
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return ax


def survival(data: Any, time: str, event: str, *, groupby: str = "cluster", ax: Any = None) -> Any:
    """Plots Kaplan-Meier curves of the clusters; ticks mark censored samples.

    Parameters
    ----------
    data, time, event, groupby
        Same as for `cdimc.tl.survival`.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    Axes
    """
    found = tl.survival(data, time, event, groupby=groupby)
    ax = _axes(ax, (6, 4))
    names = list(found["curves"]["cluster"].cat.categories)
    for cluster, steps in found["curves"].groupby("cluster", sort=True, observed=True):
        times = np.concatenate([[0], steps["time"].to_numpy(dtype=float)])
        shares = np.concatenate([[1], steps["survival"].to_numpy(dtype=float)])
        n, shade = int(steps["at_risk"].iloc[0]), color(names.index(cluster))
        ax.step(times, shares, where="post", color=shade, label=f"cluster {cluster} (n = {n})")
        censored = steps["censored"].to_numpy(dtype=int) > 0
        ax.plot(times[1:][censored], shares[1:][censored], "|", color=shade)
    ax.set(xlabel=time, ylabel="share without the event", ylim=(0, 1.02), title=f"log-rank p = {found['p']:.2g}")
    ax.legend(frameon=False)
    return ax


def stability(data: Any, *, key: str = "cluster", ax: Any = None) -> Any:
    """Plots the stability of every cluster, with lines at 0.85 (stable above) and 0.6 (do not trust below).

    Parameters
    ----------
    data : MuData
        Data with results of `cdimc.tl.stability`.
    key : str
        The ``key_added`` of `cdimc.tl.cluster`.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    Axes
    """
    found = tl.stored(data, key, "stability", "cdimc.tl.stability writes it")
    values = np.asarray(found["clusters"], dtype=float)
    ax = _axes(ax, (1.5 + 0.5 * len(values), 3.5))
    ax.bar(range(len(values)), values, color=[color(cluster) for cluster in range(len(values))])
    for level in (0.6, 0.85):
        ax.axhline(level, color="0.5", linewidth=0.8, linestyle="--")
    ax.set(xticks=range(len(values)), xlabel="cluster", ylabel="mean Jaccard index in subsamples", ylim=(0, 1))
    return ax


def contributions(data: Any, *, key: str = "cluster", ax: Any = None) -> Any:
    """Plots the information that each view shares with the others, in nats per sample.

    Parameters
    ----------
    data : MuData
        Data with results of `cdimc.tl.cluster` by ``t-mixture``.
    key : str
        The ``key_added`` of `cdimc.tl.cluster`.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    Axes
    """
    nats = tl.stored(data, key, "contributions", "cdimc.tl.cluster writes them, of t-mixture with several views")
    ax = _axes(ax, (5, 0.8 + 0.4 * len(nats)))
    ax.barh(range(len(nats)), list(nats.values()), color=color(0))
    ax.axvline(0, color="0.6", linewidth=0.8)
    ax.set(yticks=range(len(nats)), yticklabels=list(nats), xlabel="nats per sample", ylim=(len(nats) - 0.5, -0.5))
    return ax


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    """Returns the given axes, or the axes of a new figure, without a frame."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=size, layout="constrained").add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    return ax
