"""Measures the calibration of the probabilities of ``TMixture``: the share of right samples per band of confidence.

    python reliability.py handwritten 0.3 [n_masks]

A best one-to-one matching assigns a class to each cluster; the classes are used only after the fit. The program prints, per band of confidence,
the number of samples, their mean confidence and the share that is right. The expected calibration error is the mean distance of the two over the
bands, weighted by samples (Guo et al., ICML 2017).
"""

import sys

import cdimc
import numpy as np

BANDS = [0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0]


def fitted(dataset, rate, seed):
    """Returns the confidence, and whether the cluster is the sample's class, of every sample."""
    views = list(dataset.views.values())
    n_samples = len(dataset.target)
    rows = np.random.default_rng(seed).permutation(n_samples)
    views, target = [view[rows] for view in views], np.asarray(dataset.target)[rows]
    mask = cdimc.missing.PerView(rate).mask(n_samples, len(views), seed)
    model = cdimc.TMixture(n_clusters=len(np.unique(target)), random_state=seed)
    model.fit(cdimc.missing.hide(views, mask))
    matched = cdimc.metrics.match_labels(target, model.labels_)
    right = np.array([matched.get(label) == truth for label, truth in zip(model.labels_, target)])
    return model.confidence_, right


def main(name, rate, n_masks=3):
    dataset = cdimc.datasets.load(name)
    both = [fitted(dataset, float(rate), seed) for seed in range(int(n_masks))]
    confidence, right = (np.concatenate(part) for part in zip(*both))
    error = 0.0
    for low, high in zip(BANDS, BANDS[1:]):
        band = (confidence > low) & (confidence <= high)
        if band.any():
            predicted, found = confidence[band].mean(), right[band].mean()
            error += band.mean() * abs(predicted - found)
            print(f"| {low:.2f} to {high:.2f} | {band.mean():.3f} | {predicted:.3f} | {found:.3f} |")
    print(f"{name} {rate}: accuracy {right.mean():.3f}, mean confidence {confidence.mean():.3f}, error {error:.3f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
