"""Assigns new patients with two of five assays, and fills in an assay that they lack.

Run it as it is: ``python new_patients.py``.
"""

import tempfile
from pathlib import Path

import numpy as np

import cdimc

ASSAYS = {"rna": 20, "methylation": 15, "protein": 10, "metabolites": 12, "images": 18}


def main() -> None:
    """Learns from 400 patients, then places 100 new ones."""
    made = cdimc.datasets.make_views(500, 4, views=[(width, "linear") for width in ASSAYS.values()])
    mask = cdimc.missing.PerView(0.3).mask(400, 5, seed=0)
    known = cdimc.missing.hide([view[:400] for view in made.views], mask)
    model = cdimc.TMixture(n_clusters=4, random_state=0).fit(dict(zip(ASSAYS, known)))

    # A model is one file, which the command `cdimc predict` takes as well.
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.safetensors")
        model = cdimc.TMixture.load(Path(folder) / "model.safetensors")

    new = {name: view[400:] for name, view in zip(ASSAYS, made.views)}
    two = {"protein": new["protein"], "images": new["images"]}
    for given in (two, new):
        labels = model.predict(given)
        accuracy = cdimc.metrics.accuracy(made.target[400:], labels)
        sure = model.predict_confidence(given).mean()
        print(f"{' and '.join(given)}: {accuracy:.1%} right, mean confidence {sure:.2f}")

    filled = model.impute(two)["rna"]
    mean = np.nanmean(known[0], axis=0)
    left, there = ((new["rna"] - guess) ** 2 for guess in (filled, mean))
    print(f"rna from the two: {1 - left.sum() / there.sum():.1%} of the variance recovered")


if __name__ == "__main__":
    main()
