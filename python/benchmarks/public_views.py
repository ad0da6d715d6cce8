"""Compares ``TMixture`` with default settings with k-means after filling in column means, on public MATLAB files of multi-view papers.

    python public_views.py FOLDER NAME...

Every ``FOLDER/NAME.mat`` has views in a cell array ``X`` or ``data``, with samples in rows or in columns, and classes in one of ``CLASSES``. Three
masks hide 30 % of each view. k-means runs on standardized columns and on rows of unit length. Scores are accuracy and NMI in percent.
"""

import sys
import time
import warnings
from pathlib import Path

import cdimc
import numpy as np
from cdimc.metrics import accuracy, nmi
from scipy.io import loadmat
from scipy.sparse import issparse
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

MASKS = 3
CLASSES = ("Y", "y", "gt", "truth", "truelabel")


def read(path):
    """Returns the views, with samples in rows, and the classes."""
    file = loadmat(path)
    y = next(file[name] for name in CLASSES if name in file).ravel()
    # Some files give every view the same classes again.
    y = y[0].ravel() if y.dtype == object else y
    cells = file["X"] if "X" in file else file["data"]
    views = [view.toarray() if issparse(view) else view for view in cells.ravel()]
    return [np.asarray(view if len(view) == len(y) else view.T, float) for view in views], y


def filled(views, mask):
    """Returns all views in one table, with missing rows at the mean of the view."""
    return np.hstack([np.where(seen[:, None], view, view[seen].mean(axis=0)) for view, seen in zip(views, mask.T)])


def standardized(views, mask):
    seen = [view[rows] for view, rows in zip(views, mask.T)]
    deviations = [np.where(view.std(axis=0) > 0, view.std(axis=0), 1) for view in seen]
    return filled([view / deviation for view, deviation in zip(views, deviations)], mask)


def compare(views, y, seed):
    """Returns accuracy and NMI of the mixture and of k-means on both kinds of columns, and the mixture's seconds."""
    order = np.random.default_rng(seed).permutation(len(y))
    views, y, k = [view[order] for view in views], y[order], len(np.unique(y))
    mask = cdimc.missing.PerView(0.3).mask(len(y), len(views), seed=seed)
    begun = time.perf_counter()
    mixture = cdimc.TMixture(n_clusters=k, random_state=seed).fit(cdimc.missing.hide(views, mask)).labels_
    seconds = time.perf_counter() - begun
    columns = standardized(views, mask), filled([normalize(view) for view in views], mask)
    plain = [KMeans(k, n_init=10, random_state=seed).fit_predict(x) for x in columns]
    return [score(y, labels) for labels in (mixture, *plain) for score in (accuracy, nmi)], seconds


def main(folder, *names):
    warnings.simplefilter("ignore", cdimc.CdimcWarning)
    for name in names:
        views, y = read(Path(folder, name).with_suffix(".mat"))
        runs = [compare(views, y, seed) for seed in range(MASKS)]
        scores = 100 * np.array([scores for scores, _ in runs])
        mean, spread = scores.mean(axis=0), scores.std(axis=0)
        shape = f"{len(y)} samples, {', '.join(str(view.shape[1]) for view in views)} columns, {len(np.unique(y))} classes"
        cells = [f"{mean[i]:.1f} ± {spread[i]:.1f} ({mean[i + 1]:.1f})" for i in (0, 2, 4)]
        print("| " + " | ".join([f"{name}: {shape}", *cells, f"{np.mean([s for _, s in runs]):.1f}"]) + " |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
