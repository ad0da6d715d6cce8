"""Tests whether ``TMixture`` finds one cluster if views share nothing, and more if they share clusters.

    python shared_structure.py [DRAWS]

Data: ten kinds of noise and the situations of ``simulated.py``, with 30 % of each view's rows missing. The program tries 1 to 8 clusters, and
prints the share of the draws with one cluster, and the median and range of their p values.
"""

import sys
import warnings

import cdimc
import numpy as np
from simulated import situations


def correlated(rng, n, width, n_factors):
    return rng.normal(size=(n, n_factors)) @ rng.normal(size=(n_factors, width))


def own_groups(rng, n, width):
    return 4 * rng.normal(size=(3, width))[rng.integers(3, size=n)] + rng.normal(size=(n, width))


def batches(rng, n):
    """Returns samples of four batches; three batches lack a view, and the batch shifts the first view."""
    batch = rng.integers(4, size=n)
    views = [rng.normal(size=(n, 10)) for _ in range(3)]
    views[0] += 1.5 * rng.normal(size=(4, 10))[batch]
    return views, np.array([batch != v + 1 for v in range(3)]).T


def noises(rng, n=250):
    """Yields names, views and masks; the views are independent."""
    kinds = {
        "white": [rng.normal(size=(n, 15)) for _ in range(3)],
        "correlated columns": [correlated(rng, n, 20, 5) + 0.5 * rng.normal(size=(n, 20)) for _ in range(3)],
        "heavy tails": [rng.standard_t(3, size=(n, 12)) for _ in range(2)],
        "groups in every view, each its own": [own_groups(rng, n, 10) for _ in range(3)],
        "skewed": [np.exp(rng.normal(size=(n, 10))) for _ in range(3)],
        "counts": [rng.poisson(3, size=(n, 30)).astype(float) for _ in range(2)],
        "answers yes or no": [(rng.random((n, 40)) < rng.beta(1, 1, size=40)).astype(float) for _ in range(2)],
        "300 columns with factors of their own": [
            0.5 * correlated(rng, n, 300, 5) + rng.standard_t(4, size=(n, 300)) for _ in range(2)
        ],
        "60 samples": [rng.normal(size=(60, 30)) for _ in range(3)],
    }
    for name, views in kinds.items():
        yield name, views, cdimc.missing.PerView(0.3).mask(len(views[0]), len(views), seed=int(rng.integers(1000)))
    yield "batches that lack a view", *batches(rng, n)


def found(views, mask, seed):
    """Returns the number of clusters and the p value."""
    last = min(8, 2 * len(mask) // 3 - 1)
    model = cdimc.TMixture(n_clusters="auto", n_clusters_range=(1, last), random_state=seed)
    number = model.fit(cdimc.missing.hide(views, mask)).cluster_number_
    return number["chosen"] == 1, number["shared-structure"]["p-value"]


def main(draws=10):
    warnings.simplefilter("ignore", cdimc.CdimcWarning)
    for of in (noises, situations):
        all_found = {}
        for draw in range(int(draws)):
            for case in of(np.random.default_rng(1000 + draw)):
                if of is noises:
                    name, views, mask = case
                else:
                    name, _, views = case
                    mask = cdimc.missing.PerView(0.3).mask(len(views[0]), len(views), seed=draw)
                all_found.setdefault(name, []).append(found(views, mask, draw))
        for name, draws_found in all_found.items():
            one, p = np.array(draws_found, float).T
            cells = f"{one.mean():.2f} | {np.median(p):.2f} ({p.min():.2f} to {p.max():.2f})"
            print(f"| {name} | {cells} |", flush=True)
        one = [one for draws_found in all_found.values() for one, _ in draws_found]
        print(f"{of.__name__}: one cluster in {sum(one)} of {len(one)}", flush=True)


main(*sys.argv[1:])
