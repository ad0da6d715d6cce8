"""Compares ``TMixture``, by default and with a separate shape per cluster, with k-means after filling in column means, on simulated views.

    python simulated.py

Each situation has five draws with 30 % missing in each view; a few also have 45 % missing, or the first view alone and complete. k-means runs on
standardized columns and on rows of unit length. Scores are accuracies in percent.
"""

import warnings

import cdimc
import numpy as np
from cdimc.metrics import accuracy
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

DRAWS = 5
#: What the method was before it chose.
OWN_SHAPES = {"pooling": 4.0, "diagonal": 0.05}
MORE_MISSING = ("4 in answers yes or no, 300",)
ALONE = ("4 in answers yes or no, 300", "4 in two tables of categories, 400")


def normal(rng, y, widths, distance):
    """Returns round clusters of one size; the distance of the centers from the middle of a view is in standard deviations."""
    views = []
    for width in widths:
        centers = rng.normal(size=(y.max() + 1, width)) * distance / np.sqrt(width)
        views.append(centers[y] + rng.normal(size=(len(y), width)))
    return views


def omics(rng, y):
    """Returns views in which one in twenty columns differs between clusters; five hidden factors per view and heavy tails are unrelated."""
    views = []
    for width in (1500, 600, 200):
        centers = rng.normal(size=(y.max() + 1, width)) * 0.9 * (rng.random(width) < 0.05)
        factors = rng.normal(size=(len(y), 5)) @ rng.normal(size=(5, width)) * 0.5
        views.append(centers[y] + factors + rng.standard_t(4, size=(len(y), width)))
    return views


def counts(rng, y):
    """Returns overdispersed counts of samples of different depth; a tenth of the columns changes with the cluster."""
    views, k = [], y.max() + 1
    for width in (500, 300):
        change = np.where(rng.random((k, width)) < 0.1, rng.lognormal(size=(k, width)), 1)
        mean = rng.lognormal(0, 0.4, size=(len(y), 1)) * rng.lognormal(0, 1.5, size=width) * change[y]
        views.append(rng.poisson(mean * rng.gamma(2, 0.5, size=mean.shape)).astype(float))
    return views


def yes_or_no(rng, y):
    rates = [rng.beta(0.7, 1.5, size=(y.max() + 1, width)) for width in (40, 60)]
    return [(rng.random((len(y), rate.shape[1])) < 0.2 + rate[y] / 2).astype(float) for rate in rates]


def marks(rng, y, categories):
    """Returns columns of zeros and ones, one for each value of each category."""
    columns = []
    for n_values in categories:
        rates = rng.dirichlet(np.full(n_values, 0.6), size=y.max() + 1)
        drawn = (rng.random((len(y), 1)) > rates[y].cumsum(axis=1)[:, :-1]).sum(axis=1)
        columns.append(np.eye(n_values)[drawn])
    return np.hstack(columns)


def mutations(rng, y, width):
    """Returns zeros and ones: in every cluster, ones are frequent in a sixth of the columns and rare in the others."""
    rates = np.where(rng.random((y.max() + 1, width)) < 1 / 6, 0.5, 0.05) * rng.uniform(0.3, 1, size=width)
    return (rng.random((len(y), width)) < rates[y]).astype(float)


def shares(view):
    return np.exp(view) / np.exp(view).sum(axis=1, keepdims=True)


def in_other_units(rng, views):
    return [view * 10 ** rng.uniform(-2, 4, view.shape[1]) + 10 ** rng.uniform(0, 4, view.shape[1]) for view in views]


def situations(rng):
    """Yields names, classes and views."""

    def even(n, k):
        return rng.permutation(np.arange(n) % k)

    uneven = rng.choice(4, size=400, p=[0.7, 0.15, 0.1, 0.05])
    yield "4 clusters of 70, 15, 10 and 5 % of 400", uneven, normal(rng, uneven, (15, 25), 3.5)
    y = even(300, 3)
    yield "3 that overlap, 300", y, normal(rng, y, (20, 20), 2.2)
    y = even(400, 8)
    yield "8 well apart, 400", y, normal(rng, y, (20, 20, 20), 4)
    y = even(500, 20)
    yield "20 well apart, 500", y, normal(rng, y, (20, 30, 25), 5)
    y = even(45, 3)
    yield "3 of 15 samples", y, normal(rng, y, (40, 60, 20), 4.5)
    y = even(300, 4)
    yield "4 and a view of noise, 300", y, [*normal(rng, y, (20, 20), 4), rng.normal(size=(300, 50))]
    yield "4 in logarithms, 300", y, [np.exp(view) for view in normal(rng, y, (20, 20), 4)]
    yield "4 in answers yes or no, 300", y, yes_or_no(rng, y)
    y = even(300, 3)
    yield "3 in mixed units, 300", y, in_other_units(rng, normal(rng, y, (8, 8), 3.5))
    y = even(160, 4)
    yield "4 in 2300 columns with hidden factors, 160", y, omics(rng, y)
    y = even(400, 6)
    yield "6 in counts, 400", y, counts(rng, y)
    y = even(300, 4)
    yield "4 in shares of a whole, 300", y, [shares(view) for view in normal(rng, y, (20, 20), 4)]
    y = even(400, 4)
    records = np.hstack([*normal(rng, y, (4,), 2), marks(rng, y, (2, 3, 4, 5))])
    yield "4 in records of numbers and categories, and proteins, 400", y, [records, *normal(rng, y, (20,), 3)]
    yield "4 in two tables of categories, 400", y, [marks(rng, y, (2, 3, 4, 5, 3)), marks(rng, y, (4, 4, 2, 2, 5))]
    yield "4 in two wide tables of categories, 400", y, [marks(rng, y, (4,) * 10), marks(rng, y, (2, 3) * 8)]
    yield "4 in mutations, 400", y, [mutations(rng, y, 150), mutations(rng, y, 60)]
    uneven = rng.choice(4, size=400, p=[0.5, 0.3, 0.15, 0.05])
    yield "4 of 50, 30, 15 and 5 % in mutations, 400", uneven, [mutations(rng, uneven, 150), mutations(rng, uneven, 60)]
    y = even(240, 4)
    yield "4 of equal samples, 240", y, [np.eye(4)[y], np.eye(4)[y][:, :2] @ rng.normal(size=(2, 3)) + (y == 2)[:, None]]


def compare(y, views, seed, rate=0.3):
    """Returns the accuracy by default, with separate shapes, and of k-means on both kinds of columns."""
    k = int(y.max()) + 1
    mask = cdimc.missing.PerView(rate).mask(len(y), len(views), seed=seed)
    hidden = cdimc.missing.hide(views, mask)
    mixtures = [cdimc.TMixture(n_clusters=k, random_state=seed, **settings) for settings in ({}, OWN_SHAPES)]
    found = [mixture.fit(hidden).labels_ for mixture in mixtures]
    for unit in (False, True):
        columns = []
        for view, seen in zip(views, mask.T):
            view = normalize(view) if unit else view / np.maximum(view[seen].std(axis=0), 1e-12)
            columns.append(np.where(seen[:, None], view, view[seen].mean(axis=0)))
        found.append(KMeans(k, n_init=20, random_state=seed).fit_predict(np.hstack(columns)))
    return [100 * accuracy(y, labels) for labels in found]


def main():
    warnings.simplefilter("ignore", cdimc.CdimcWarning)
    scores: dict[str, list[list[float]]] = {}
    for seed in range(DRAWS):
        for name, y, views in situations(np.random.default_rng(seed)):
            scores.setdefault(name, []).append(compare(y, views, seed))
            if name in MORE_MISSING:
                scores.setdefault(f"{name}, 45 % missing", []).append(compare(y, views, seed, 0.45))
            if name in ALONE:
                scores.setdefault(f"{name}, first view", []).append(compare(y, views[:1], seed, 0))
    for name, of_draws in scores.items():
        mean, spread = np.mean(of_draws, axis=0), np.std(of_draws, axis=0)
        print(f"| {name} | {mean[0]:.1f} ± {spread[0]:.1f} | " + " | ".join(f"{value:.1f}" for value in mean[1:]) + " |", flush=True)


if __name__ == "__main__":
    main()
