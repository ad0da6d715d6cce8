"""The runner of `python/benchmarks/unseen.py` for methods of other Python packages.

Reads a case as one line of JSON on standard input, runs it as often as asked and prints seconds and labels as one
line of JSON. Scaling, filling and the last k-means are inside the time, imports and reading outside.
"""

import contextlib
import importlib
import json
import os
import sys
import time

case = json.loads(sys.stdin.readline())
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402  (the number of threads must be set first)
from sklearn.cluster import KMeans  # noqa: E402

settings, k = case["settings"], case["n_clusters"]


#: The views, NaN where unobserved.
n = case["n_samples"]
views = [np.fromfile(f"{case['folder']}/view{v}.f64").reshape(n, d) for v, d in enumerate(case["widths"])]


def standardized():
    """The views with standardized columns, NaN where unobserved."""
    scales = [np.nanstd(x, axis=0) for x in views]
    return [(x - np.nanmean(x, axis=0)) / np.where(scale > 0, scale, 1) for x, scale in zip(views, scales)]


def imml_nemo():
    from imml.cluster import NEMO

    return NEMO(k, random_state=settings["seed"]).fit_predict(standardized())


def imml_pimvc():
    from imml.cluster import PIMVC

    # The package refuses more clusters than a view has columns.
    narrow = [x for x in standardized() if x.shape[1] >= k]
    return PIMVC(k, random_state=settings["seed"]).fit_predict(narrow)


def snfpy_snf():
    import snf
    from sklearn.cluster import SpectralClustering

    filled = [np.nan_to_num(x) for x in standardized()]
    fused = snf.snf(snf.make_affinity(filled, K=min(20, n - 1), mu=0.5), K=min(20, n - 1))
    return SpectralClustering(k, affinity="precomputed", random_state=settings["seed"]).fit_predict(fused)


def mofapy2_mofa():
    from mofapy2.run.entry_point import entry_point

    with contextlib.redirect_stdout(sys.stderr):
        program = entry_point()
        program.set_data_options(scale_views=True)
        program.set_data_matrix([[x] for x in views])
        program.set_model_options(factors=min(10, n // 4, sum(case["widths"]) - 1))
        program.set_train_options(seed=settings["seed"], convergence_mode="fast", quiet=True)
        program.build()
        program.run()
        factors = program.model.nodes["Z"].getExpectation()
    return KMeans(k, n_init=20, random_state=settings["seed"]).fit_predict(factors)


importlib.import_module({"imml": "imml.cluster", "snfpy": "snf", "mofapy2": "mofapy2.run.entry_point"}[case["peer"]])
run = globals()[f"{case['peer']}_{case['method'].replace('-', '_')}"]
seconds, labels = [], []
while len(seconds) < case["times"]:
    start = time.perf_counter()
    labels = run()
    seconds.append(time.perf_counter() - start)
print(json.dumps({"seconds": seconds, "labels": [int(label) for label in labels]}))
