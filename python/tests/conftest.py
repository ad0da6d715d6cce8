"""Small incomplete data that every test may read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import cdimc

#: Settings that make the slow methods quick; the others keep their defaults.
QUICK = {
    "cdimc-net": {"pretrain_epochs": 3, "finetune_rounds": 2, "advanced_wide": 30},
    "pmvc-cgan": {
        "widths": (20, 15, 10),
        "autoencoder_epochs": 2,
        "adversarial_epochs": 2,
        "clustering_epochs": 2,
    },
}

#: The methods that are made for two views, each sample in both or in one.
PAIRED = ("pmvc", "img", "imc-grmf", "pmvc-cgan")


def refused(message, call, *arguments, **parameters):
    """Checks that the call raises a ValueError with this message, a regular expression."""
    with pytest.raises(ValueError, match=message):
        call(*arguments, **parameters)


@pytest.fixture(scope="session")
def data():
    """60 samples in 3 clusters, three views, 30 % missing from each."""
    made = cdimc.datasets.make_views(60, 3, random_state=1)
    mask = cdimc.missing.PerView(0.3).mask(60, 3, seed=1)
    return cdimc.missing.hide(made.views, mask), made.target


@pytest.fixture(scope="session")
def paired():
    """60 samples in 3 clusters, two views, half of the samples in both."""
    made = cdimc.datasets.make_views(60, 3, views=((12, "linear"), (9, "linear")), random_state=1)
    return cdimc.missing.hide(made.views, cdimc.missing.Paired(0.5).mask(60, 2, seed=1))


@pytest.fixture(params=cdimc.method_names())
def method(request):
    return request.param


@pytest.fixture
def quick():
    """A function that gives a method's estimator with settings that end in a moment."""

    def make(method: str, **parameters):
        from cdimc._estimator import by_name

        parameters = {"n_clusters": 3, "random_state": 0, **QUICK.get(method, {}), **parameters}
        return by_name(method)(**parameters)

    return make


@pytest.fixture
def views_for(data, paired):
    """A function that gives data that a method is made for."""
    return lambda method: paired if method in PAIRED else data[0]


@pytest.fixture(scope="session")
def command():
    """The command of the same checkout: CDIMC_COMMAND, or where cargo builds it."""
    if given := os.environ.get("CDIMC_COMMAND"):
        return given
    root = Path(__file__).resolve().parents[2]
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    found = shutil.which(str(target / "debug" / "cdimc"))
    if found is None:
        pytest.skip("no command: build it with `cargo build --package cdimc`")
    return found


@pytest.fixture
def frames(data):
    """The views as frames of the observed rows alone, in an order of their own."""
    pd = pytest.importorskip("pandas")
    found = {}
    for v, view in enumerate(data[0]):
        rows = np.random.default_rng(v).permutation(len(view))
        frame = pd.DataFrame(
            view[rows],
            index=pd.Index([f"p{i}" for i in rows], name="patient"),
            columns=[f"v{v}f{j}" for j in range(view.shape[1])],
        )
        found[f"table{v}"] = frame.dropna(how="all")
    return found
