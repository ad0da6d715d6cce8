"""Measures the error of filled-in rows: ``TMixture``, ``CDIMCNet``, nearest neighbors and column means.

    python imputation.py handwritten 0.3 [seed [--no-network]]

In addition to the missing rows, a tenth of every view's measured rows is hidden before the fits, from samples that keep another view. Errors are
root mean squares over these rows, in standard deviations of the columns; column means have 1.
"""

import sys

import cdimc
import numpy as np
from sklearn.impute import KNNImputer


def hold_out(mask, rng):
    """Returns the mask without the held-out rows, and the held-out rows as a mask."""
    mask, held_out = mask.copy(), np.zeros_like(mask)
    for v in range(mask.shape[1]):
        rows = np.flatnonzero(mask[:, v] & (mask.sum(axis=1) > 1))
        rows = rng.permutation(rows)[: len(rows) // 10]
        mask[rows, v], held_out[rows, v] = False, True
    return mask, held_out


def neighbors(views, widths):
    """Fills every view with the mean of the ten nearest samples, by the standardized columns that both samples have."""
    x = np.hstack(views)
    mean, scale = np.nanmean(x, axis=0), np.nanstd(x, axis=0)
    scale[scale == 0] = 1
    filled = KNNImputer(n_neighbors=10, keep_empty_features=True).fit_transform((x - mean) / scale) * scale + mean
    return np.split(filled, np.cumsum(widths)[:-1], axis=1)


def main(name, rate, seed=0, *flags):
    dataset, rng = cdimc.datasets.load(name), np.random.default_rng(int(seed))
    rows = rng.permutation(len(dataset.target))
    views = [np.asarray(view)[rows] for view in dataset.views.values()]
    k = len(np.unique(dataset.target))
    whole = np.asarray(cdimc.missing.PerView(float(rate)).mask(len(rows), len(views), int(seed)))
    mask, held_out = hold_out(whole, rng)
    seen = cdimc.missing.hide(views, mask)
    filled = {
        "means": [np.broadcast_to(np.nanmean(view, axis=0), view.shape) for view in seen],
        "neighbors": neighbors(seen, [view.shape[1] for view in views]),
        "t-mixture": cdimc.TMixture(n_clusters=k, random_state=int(seed)).fit(seen).impute(seen),
    }
    if "--no-network" not in flags:
        filled["cdimc-net"] = cdimc.CDIMCNet(n_clusters=k, random_state=int(seed)).fit(seen).impute(seen)
    for method, guess in filled.items():
        errors = []
        for v, view in enumerate(views):
            scale = np.nanstd(seen[v], axis=0)
            off = (np.asarray(guess[v]) - view)[held_out[:, v]] / np.where(scale > 0, scale, 1)
            errors.append(np.sqrt((off * off).mean()))
        print(name, rate, method, " ".join(f"{e:.3f}" for e in errors), f"mean {np.mean(errors):.3f}", flush=True)


main(*sys.argv[1:])
