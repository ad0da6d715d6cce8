"""The other side of `cargo xtask compare` and of `unseen.py`: a method by its NumPy program or by a Python package.

Reads a case as one line of JSON on standard input, runs it as often as asked and prints seconds and labels as one
line of JSON. Scaling, filling and the last k-means are inside the time, imports and reading outside. Starts,
iterations and weights come from the settings of the case, which cdimc uses too.
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


def read_views():
    """The views, NaN where unobserved, and the mask (n_samples, n_views) of zeros and ones."""
    n = case["n_samples"]
    views = [np.fromfile(f"{case['folder']}/view{v}.f64").reshape(n, d) for v, d in enumerate(case["widths"])]
    return views, np.stack([~np.isnan(x[:, 0]) for x in views], axis=1).astype(float)


views, mask = read_views()
n_views = len(views)
zero_filled = [np.nan_to_num(x) for x in views]


def k_means(points, restarts):
    return KMeans(k, n_init=restarts, random_state=0).fit_predict(points)


def unit_rows(x):
    return x / np.sqrt(np.maximum((x**2).sum(1, keepdims=True), 1e-14))


def unit_and_filled(v):
    x, seen = unit_rows(zero_filled[v]), mask[:, v] == 1
    x[~seen] = x[seen].mean(0)
    return x


def bsv():
    found = [k_means(unit_and_filled(v), settings["restarts"]) for v in range(n_views)]
    return found[0]


def concat():
    return k_means(np.hstack([unit_and_filled(v) for v in range(n_views)]), settings["restarts"])


def mic():
    xs, weights = program.prep(zero_filled, mask, "l2s")
    consensus = program.mic(
        xs, weights, k, settings["alpha"], settings["beta"], 0, rounds=settings["rounds"], inner=settings["sweeps"],
        init_iters=settings["initial-sweeps"], cycles=settings["cycles"],
    )[0]
    return k_means(consensus / consensus.max(), settings["restarts"])


def omvc():
    order = np.random.default_rng(0).permutation(len(mask))
    xs, _ = program.dynamic_fill([np.maximum(x, 0) for x in zero_filled], mask, order)
    consensus = program.omvc(
        [x / x.sum() for x in xs], np.ones_like(mask), k, settings["alpha"], settings["beta"], settings["chunk-size"],
        settings["passes"], settings["iterations"], settings["tolerance"],
    )[0]
    labels = np.empty(len(mask), int)
    labels[order] = k_means(consensus / consensus.max(), settings["restarts"])
    return labels


def daimc():
    # The program has its number of first starts as a default argument.
    program.init.__defaults__ = (settings["initial-restarts"],)
    xs = [(unit_rows(x) * mask[:, [v]]).T for v, x in enumerate(zero_filled)]
    p = program.daimc(xs, mask, k, settings["alpha"], settings["beta"], iters=settings["iterations"])[1]
    return k_means(p, settings["restarts"])


def opimc():
    order = np.random.default_rng(0).permutation(len(mask))
    xs = [(unit_rows(x) * mask[:, [v]])[order].T.copy() for v, x in enumerate(zero_filled)]
    labels = np.empty(len(mask), int)
    labels[order] = program.opimc(
        xs, mask[order], k, settings["alpha"], settings["chunk-size"], settings["passes"], settings["iterations"],
        settings["tolerance"],
    )[0]
    return labels


def mkkm_ik_mkc():
    kernels = program.make_kernels(zero_filled, mask, "linear", "unit")
    h = program.mkc(kernels, mask.astype(int), k, 1 / n_views, "exact", settings["max-iterations"])[0]
    return k_means(program.row_norm(h), settings["restarts"])


def split():
    """The samples of both views, of the first alone and of the second alone."""
    both = np.flatnonzero(mask.sum(1) == 2)
    alone = [np.flatnonzero((mask[:, v] == 1) & (mask[:, 1 - v] == 0)) for v in range(2)]
    return both, *alone


def restored(labels, order):
    out = np.empty(len(labels), int)
    out[order] = labels
    return out


def pmvc():
    order = np.concatenate(split())
    f = program.run(*zero_filled, order, mask, k, settings["lambda"])[0]
    return restored(k_means(f, settings["restarts"]), order)


def img():
    both, first, second = split()
    a, b = (unit_rows(x) for x in zero_filled)
    weights = (settings[name] for name in ("lambda", "beta", "gamma"))
    found = program.img(a[both], b[both], a[first], b[second], k, *weights, iters=settings["max-iterations"], La0="zero")
    return restored(k_means(program.ncut_embed(found[2], k), settings["restarts"]), np.r_[both, first, second])


def imc_grmf():
    order = np.concatenate(split())
    f = program.run(*zero_filled, order, mask, k, settings["neighbors"], settings["lambda1"], settings["lambda2"])[0]
    return restored(k_means(f, settings["restarts"]), order)


def pmvc_cgan():
    """A script that reads Handwritten, draws a mask of the same ratio and prints its scores: no labels."""
    import pathlib
    import runpy

    epochs = [settings[f"{stage}-epochs"] for stage in ("autoencoder", "adversarial", "clustering")]
    sys.argv = ["pmvc_cgan", json.dumps({"p": 0.3, "B": settings["batch-size"], "ep": epochs, "w": settings["widths"]})]
    folder = pathlib.Path(case["programs"]).parents[1] / "datasets" / "handwritten"
    with contextlib.redirect_stdout(sys.stderr):
        runpy.run_path(f"{case['programs']}/pmvc_cgan.py", {"DATA": folder})
    return None


def imml_daimc():
    xs = [unit_rows(x) for x in views]
    from imml.cluster import DAIMC

    return DAIMC(k, settings["alpha"], settings["beta"], random_state=0).fit_predict(xs)


def imml_opimc():
    from imml.cluster import OPIMC

    order = np.random.default_rng(0).permutation(len(mask))
    method = OPIMC(
        k, settings["alpha"], settings["passes"], settings["iterations"], settings["tolerance"], settings["chunk-size"], 0
    )
    return restored(method.fit_predict([unit_rows(x)[order] for x in views]), order)


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
    fused = snf.snf(snf.make_affinity(filled, K=min(20, len(mask) - 1), mu=0.5), K=min(20, len(mask) - 1))
    return SpectralClustering(k, affinity="precomputed", random_state=settings["seed"]).fit_predict(fused)


def mofapy2_mofa():
    from mofapy2.run.entry_point import entry_point

    with contextlib.redirect_stdout(sys.stderr):
        program = entry_point()
        program.set_data_options(scale_views=True)
        program.set_data_matrix([[x] for x in views])
        program.set_model_options(factors=min(10, len(mask) // 4, sum(case["widths"]) - 1))
        program.set_train_options(seed=settings["seed"], convergence_mode="fast", quiet=True)
        program.build()
        program.run()
        factors = program.model.nodes["Z"].getExpectation()
    return KMeans(k, n_init=20, random_state=settings["seed"]).fit_predict(factors)


name = case["method"].replace("-", "_")
if case["peer"] != "numpy":
    importlib.import_module({"imml": "imml.cluster", "snfpy": "snf", "mofapy2": "mofapy2.run.entry_point"}[case["peer"]])
    run = globals()[f"{case['peer']}_{name}"]
else:
    sys.path.insert(0, case["programs"])
    if name == "pmvc_cgan":
        import torch  # noqa: F401
    elif name not in ("bsv", "concat"):
        program = __import__(name)
    run = globals()[name]

seconds, labels = [], None
while len(seconds) < case["times"]:
    start = time.perf_counter()
    labels = run()
    seconds.append(time.perf_counter() - start)
labels = [] if labels is None else [int(label) for label in labels]
print(json.dumps({"seconds": seconds, "labels": labels}))
