"""Compares methods on the same data with the same rows hidden.

Run it as it is: ``python compare.py``.
"""

import time

import cdimc


def main() -> None:
    """Hides 30 % of each view of the digits that come with the package, and scores what methods find."""
    digits = cdimc.datasets.load("digits")
    views = [view[:600] for view in digits.views.values()]
    truth = digits.target[:600]
    mask = cdimc.missing.PerView(0.3).mask(len(truth), len(views), seed=0)
    hidden = cdimc.missing.hide(views, mask)
    methods = [cdimc.TMixture, cdimc.Concat, cdimc.MIC, cdimc.DAIMC, cdimc.OPIMC]
    print(f"{'method':<12} {'ACC':>6} {'NMI':>6} {'seconds':>8}")
    for method in methods:
        started = time.perf_counter()
        labels = method(n_clusters=10, random_state=0).fit_predict(hidden)
        seconds = time.perf_counter() - started
        scores = cdimc.metrics.scores(truth, labels)
        print(f"{method.__name__:<12} {scores['acc']:6.3f} {scores['nmi']:6.3f} {seconds:8.2f}")


if __name__ == "__main__":
    main()
