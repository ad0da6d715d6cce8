"""What scikit-learn's users expect of every estimator."""

import copy
import importlib.util
import inspect
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone, is_clusterer
from sklearn.exceptions import NotFittedError

import cdimc
from cdimc import _cdimc
from cdimc._estimator import SHARED, by_name, setting_paths
from conftest import refused


def test_the_parameters_are_the_settings_and_their_defaults(method):
    parameters = inspect.signature(by_name(method)).parameters
    settings = json.loads(_cdimc.Method(method, "{}").settings)
    absent_if_unset = {"engine": None, "components": None}
    assert set(parameters) == set(setting_paths(method)) | set(SHARED)
    for name, path in setting_paths(method).items():
        value = settings
        for key in path:
            value = value.get(key, absent_if_unset.get(key))
        default = parameters[name].default
        assert (list(default) if isinstance(default, tuple) else default) == value, name


def program(path):
    """Returns a program of the repository as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_estimators_equal_the_output_of_the_generator():
    generator = program(Path(__file__).resolve().parents[1] / "generate_methods.py")
    assert generator.generate() == generator.TARGET.read_text()


def test_the_page_of_settings_is_current():
    path = Path(__file__).resolve().parents[2] / "docs" / "reference.py"
    if not path.exists():
        pytest.skip("the documents are not here")
    reference = program(path)
    assert reference.settings_page() == reference.SETTINGS.read_text(encoding="utf-8")


def test_help_names_every_attribute_of_a_fit(quick, data):
    doc, fitted = inspect.getdoc(cdimc.MultiViewClusterer), quick("t-mixture").fit(data[0])
    documented = set(re.findall(r"^(\w+_) : ", doc, re.M))
    assert documented == {name for name in vars(fitted) if name.endswith("_")}
    assert list(fitted.to_frame()) == list(fitted.sample_table_)


def test_parameters_are_kept_untouched_and_come_back(method, quick):
    widths = np.array([1, 2])
    estimator = quick(method, n_clusters=widths)
    assert estimator.get_params()["n_clusters"] is widths
    assert clone(estimator.set_params(n_clusters=4)).n_clusters == 4
    assert is_clusterer(estimator)
    refused("Invalid parameter", estimator.set_params, no_such_setting=1)


def test_fit_gives_a_label_to_every_sample(method, quick, views_for):
    views = views_for(method)
    estimator = quick(method)
    labels = estimator.fit_predict(views)
    assert labels.shape == (60,) and labels.dtype == np.int64
    assert set(labels) <= {0, 1, 2} and np.array_equal(labels, estimator.labels_)
    assert estimator.n_clusters_ == 3 and estimator.n_iter_ > 0
    assert estimator.settings_ == json.loads(
        _cdimc.Method(method, json.dumps(estimator._settings())).settings
    )


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(method, quick, views_for):
    views = views_for(method)
    one, two = (quick(method, n_jobs=n).fit(views) for n in (1, 2))
    assert np.array_equal(one.labels_, two.labels_)
    for name in ("losses_", "confidence_", "probabilities_", "embedding_"):
        a, b = getattr(one, name), getattr(two, name)
        assert (a is None and b is None) or a.tobytes() == b.tobytes(), name
    if one._model is not None:
        assert one._model.to_bytes() == two._model.to_bytes()


def test_an_unfitted_estimator_is_refused(method, quick, data):
    for verb in ("predict", "predict_proba", "transform", "impute", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(quick(method), verb)(data[0])


@pytest.mark.parametrize("how", [pickle.dumps, copy.deepcopy])
def test_a_fitted_estimator_survives_pickle_and_copy(how, quick, data):
    fitted = quick("cdimc-net").fit(data[0])
    again = pickle.loads(how(fitted)) if how is pickle.dumps else how(fitted)
    assert np.array_equal(again.predict(data[0]), fitted.labels_)
    assert again.get_params() == fitted.get_params()


def test_a_model_predicts_the_labels_of_its_training(method, quick, views_for):
    views = views_for(method)
    fitted = quick(method).fit(views)
    if fitted._model is None:
        refused("keeps no model", fitted.predict, views)
        return
    assert np.array_equal(fitted.predict(views), fitted.labels_)
    assert fitted.transform(views).shape[0] == 60
    seen = ~np.isnan(views[0][:, 0])
    assert fitted.predict([views[0][seen], None, None]).shape == (seen.sum(),)
    filled = fitted.impute(views)
    for view, values in zip(views, filled):
        observed = ~np.isnan(view)
        assert np.array_equal(values[observed], view[observed]) and np.isfinite(values).all()


def test_save_and_load_keep_every_bit(tmp_path, quick, data):
    fitted = quick("cdimc-net").fit(data[0])
    fitted.save(tmp_path / "model.safetensors")
    for loaded in (cdimc.load(tmp_path / "model.safetensors"), cdimc.CDIMCNet.load(tmp_path / "model.safetensors")):
        assert loaded._model.to_bytes() == fitted._model.to_bytes()
        assert np.array_equal(loaded.predict(data[0]), fitted.labels_)
        assert loaded.get_params()["pretrain_epochs"] == 3 and loaded.settings_.keys() == fitted.settings_.keys()
        assert np.array_equal(loaded.to_frame(data[0])["cluster"], fitted.labels_)
        refused(r"a model file has no samples: must be to_frame\(views\)", loaded.to_frame)
    refused("the model is a CDIMCNet, a Concat is needed", cdimc.Concat.load, tmp_path / "model.safetensors")


def test_random_states_of_every_kind_are_taken(quick, data):
    for state in (None, 3, np.int64(3), np.random.RandomState(3)):
        quick("concat", random_state=state).fit(data[0])
    for state in (-1, 2**64):
        refused(f"random_state = {state}: must lie in ", quick("concat", random_state=state).fit, data[0])
    quick("concat", random_state=2**64 - 1).fit(data[0])


def test_the_number_of_clusters_can_be_chosen(quick, data):
    fitted = quick("concat", n_clusters="auto", n_clusters_range=(2, 5)).fit(data[0])
    tried = [candidate["n-clusters"] for candidate in fitted.cluster_number_["candidates"]]
    assert tried == [2, 3, 4, 5] and fitted.n_clusters_ in tried
    assert fitted.cluster_number_["reason"].startswith(f"k = {fitted.n_clusters_}")
    refused("number of clusters = 0..5", quick("concat", n_clusters="auto", n_clusters_range=(0, 5)).fit, data[0])


class Named(cdimc.TMixture):
    """A subclass with a parameter of its own."""

    def __init__(self, n_clusters=3, *, title="", starts=2, random_state=0):
        super().__init__(n_clusters, starts=starts, random_state=random_state)
        self.title = title


def test_a_subclass_may_have_parameters_of_its_own(data, quick):
    named = clone(Named(title="cells")).fit(data[0])
    assert named.get_params()["title"] == "cells"
    assert np.array_equal(named.labels_, quick("t-mixture", starts=2).fit_predict(data[0]))
