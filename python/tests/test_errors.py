"""Errors are ValueErrors of one line with the value and the rule."""

import re
import sys

import numpy as np
import pytest

import cdimc
from conftest import refused


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"n_clusters": 1}, "clusters = 1: must lie in 2..=60, the number of samples"),
        ({"n_clusters": 61}, "clusters = 61: must lie in 2..=60, the number of samples"),
        ({"n_clusters": 2.5}, "n_clusters = 2.5: must be a number of clusters or \"auto\""),
        ({"n_clusters": True}, "n_clusters = True: must be"),
        (
            {"n_clusters": "auto", "n_clusters_range": range(2, 13)},
            "n_clusters_range = range(2, 13): must be two numbers",
        ),
        ({"n_clusters": "auto", "n_clusters_range": (2.5, 8)}, "n_clusters_range = 2.5: must be two numbers"),
        ({"restarts": 0}, "settings of concat: restarts = 0: must be at least 1"),
        ({"restarts": "many"}, 'settings of concat: restarts: invalid type: string "many"'),
        ({"restarts": object()}, "a setting is a number"),
        ({"restarts": float("nan")}, "restarts = nan: must be finite"),
        ({"n_jobs": 1.5}, "n_jobs = 1.5: must be a whole number other than 0, or None"),
        ({"n_jobs": 0}, "n_jobs = 0: must be"),
        ({"restarts": np.float32("inf")}, "restarts = inf: must be finite"),
        ({"strict": "no"}, "strict = 'no': must be True or False"),
        ({"n_jobs": True}, "n_jobs = True: must be a whole number other than 0, or None"),
        ({"random_state": True}, "random_state = True: must be a whole number, a RandomState or None"),
        ({"random_state": "0"}, "random_state = '0': must be a whole number, a RandomState or None"),
        ({"random_state": np.random.default_rng(0)}, "random_state = Generator(PCG64)"),
    ],
)
def test_parameters_are_checked_by_fit(parameters, message, data, quick):
    with pytest.raises(ValueError) as raised:
        quick("concat", **parameters).fit(data[0])
    assert message in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda views: views[0], "is a ndarray: must be a list or dict of views"),
        (lambda views: [], "views = 0: at least one view is needed"),
        (lambda views: [views[0], views[1][:10]], "view0 has 60 rows, view1 has 10"),
        (lambda views: [views[0][0], views[1]], "view0 has 1 dimensions"),
        (lambda views: [views[0][:, :0], views[1]], "view0: "),
        (lambda views: [views[0], np.full((60, 2), np.nan)], "view1: all values are missing"),
        (lambda views: [views[0], np.ones((60, 2))], "view1: every column is constant"),
        (
            lambda views: [views[0], np.where(np.arange(60) == 7, 1.0, np.nan)[:, None]],
            "view1: only one row has values",
        ),
        (lambda views: [np.where(np.isnan(views[0]), np.nan, np.inf), views[1]], "view0: row "),
        (lambda views: [[["a", "b"]] * 60], "view0: only numbers can be clustered on"),
        (lambda views: [np.ones((60, 2), dtype=complex)], "view0: only numbers"),
    ],
)
def test_odd_data_are_refused(change, message, data):
    with pytest.raises(ValueError) as raised:
        cdimc.Concat(n_clusters=3, random_state=0).fit(change(data[0]))
    assert message in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_series_is_no_view_and_nothing_has_no_samples(kind):
    series = pytest.importorskip(kind).Series([1.0, 2.0])
    refused("view0 has 1 dimensions", cdimc.sample_names, [series])
    refused("views = 0: at least one view is needed", cdimc.sample_names, [])


@pytest.mark.skipif(sys.platform != "linux", reason="not every system reports its free memory")
def test_a_fit_that_needs_more_memory_than_there_is_is_refused(data):
    net = cdimc.CDIMCNet(n_clusters=3, random_state=0, advanced_wide=2**31)
    refused("GB of memory for such data", net.fit, data[0])


def test_other_shapes_and_kinds_are_refused_with_the_rule(data):
    sparse = pytest.importorskip("scipy.sparse")
    refused("view0 has 1 dimensions: a view is a matrix", cdimc.sample_names, [sparse.coo_array(np.arange(3.0))])
    with pytest.raises(ValueError, match="view 0 is a csr_matrix: must be an array, as its toarray"):
        cdimc.missing.hide([sparse.csr_matrix(np.eye(3))], np.ones((3, 1)))
    refused("view `samples`: must have another name", cdimc.pp.missing, {"samples": data[0][0]})
    refused("mdata is a dict: must be a MuData", cdimc.tl.cluster, {"a": data[0][0]}, 3)


def test_frames_are_refused_with_their_names(frames):
    pd = pytest.importorskip("pandas")
    concat = cdimc.Concat(n_clusters=3, random_state=0)
    twice = pd.concat([frames["table0"], frames["table0"].iloc[:1]])
    refused("table0: .*p[0-9]+.*", concat.fit, {"table0": twice, "table1": frames["table1"]})
    text = frames["table0"].assign(ward="north")
    with pytest.raises(ValueError, match="table0, row 1, column `ward`: `north` .* make it the index if it names the samples"):
        concat.fit({"table0": text, "table1": frames["table1"]})
    strangers = frames["table1"].rename(index=lambda name: "q" + name)
    refused("no id is shared", concat.fit, {"table0": frames["table0"], "table1": strangers})


@pytest.mark.parametrize(
    "cell, advice",
    [
        ("<LOD", "all else in columns `v0f1`, `v0f2` is numbers or missing: for a value beyond a limit write a number"),
        ("1,620.8", "`1,620.8` in columns `v0f1`, `v0f2` groups thousands"),
        ("\u22123.2", "`\u22123.2` in columns `v0f1`, `v0f2` has a dash for a minus"),
    ],
)
def test_text_among_numbers_is_named_as_in_the_command(cell, advice, frames):
    pl = pytest.importorskip("polars")
    table = frames["table0"].astype({"v0f1": object, "v0f2": object})
    table.iloc[4, 1] = table.iloc[2, 2] = cell
    message = f"row 3, column `v0f2`: `{cell}` is not a number; {advice}"
    refused(re.escape(f"table0, {message}"), cdimc.Concat(n_clusters=3).fit, {"table0": table})
    words = table.astype({"v0f1": str, "v0f2": str}).reset_index(names="id")
    rule = "columns id, v0f1, v0f2 are not numbers: only one may be, the samples' names"
    refused(re.escape(f"{rule}; {message}"), cdimc.Concat(n_clusters=3).fit, {"table0": pl.from_pandas(words)})


def test_new_samples_must_fit_the_model(frames, quick):
    fitted = quick("cdimc-net").fit(frames)
    refused("the model has no view `other`; it has table0, table1, table2", fitted.predict, {"other": frames["table0"]})
    refused("table0: lacks 1 of the 12 columns .*: `v0f11`", fitted.predict, {"table0": frames["table0"].iloc[:, :11]})
    with pytest.raises(ValueError, match="lacks 1 of .*: `v0f0`; unknown to the model: `other`"):
        fitted.predict({"table0": frames["table0"].rename(columns={"v0f0": "other"})})
    with pytest.warns(cdimc.OddDataWarning, match="unknown to the model are left out .1.: `age`"):
        fitted.predict({"table0": frames["table0"].assign(age=1.0)})
    with pytest.warns(cdimc.OddDataWarning, match="are the units the same"):
        fitted.predict({"table0": frames["table0"] * 1000})
    refused("2 views: the model has 3", fitted.predict, [frames["table0"], frames["table1"]])


@pytest.mark.parametrize("number", [0, -1, 2.5, "many"])
def test_stability_takes_a_subsample_at_least(number, data, quick):
    fitted = quick("t-mixture").fit(data[0])
    with pytest.raises(ValueError, match=f"n_subsamples = {number!r}: must be a whole number of at least 1"):
        fitted.stability(data[0], n_subsamples=number)


def test_methods_refuse_unsuitable_data(data):
    refused("pmvc does not apply: ", cdimc.PMVC(n_clusters=3, random_state=0).fit, data[0])


def test_files_that_are_no_models_are_refused(tmp_path, quick, data):
    refused("no such file", cdimc.load, tmp_path / "none.safetensors")
    path = tmp_path / "model.safetensors"
    quick("cdimc-net").fit(data[0]).save(path)
    path.write_bytes(path.read_bytes()[:-3])
    refused("model.safetensors: not a ", cdimc.load, path)
    model = quick("cdimc-net").fit(data[0])
    with pytest.raises(FileNotFoundError, match="such: no such folder"):
        model.save(tmp_path / "no" / "such" / "folder")
    refused("is a directory, must be a file", model.save, tmp_path)


def test_options_of_a_fit_are_checked(data, quick):
    refused("progress = 'yes': must be True, False, None or a function", quick("concat").fit, data[0], progress="yes")
    refused("test_markers = 1: must be True or False", quick("concat").fit, data[0], test_markers=1)


def test_anndata_that_is_no_view_is_refused_with_the_rule():
    ad, md, pd = map(pytest.importorskip, ("anndata", "mudata", "pandas"))
    cells = pd.DataFrame(index=["c1", "c2"])
    refused("rna has no X: must be an AnnData with X, or a layer", cdimc.sample_names, {"rna": ad.AnnData(obs=cells)})
    rna = ad.AnnData(np.eye(2), obs=cells)
    refused("rna is a MuData: must be one of its modalities", cdimc.sample_names, {"rna": md.MuData({"rna": rna})})
    refused("view 0 is a AnnData: must be an array, as its to_df", cdimc.missing.hide, [rna], np.ones((2, 1)))
    twice = pd.DataFrame(np.eye(2), index=["c1", "c1"])
    for summary in (cdimc.pp.observed, cdimc.pp.missing):
        refused("rna: id `c1` is in row 1 and again in row 2: ids must be unique", summary, {"rna": twice})


def test_rows_in_another_order_are_not_compared():
    pd = pytest.importorskip("pandas")
    truth = pd.Series([0, 0, 1, 1], index=["a", "b", "c", "d"])
    for found in (truth, truth.to_numpy(), truth.reset_index(drop=True)):
        assert cdimc.metrics.accuracy(truth, found) == 1
    for found in (truth[::-1], truth.rename(index={"a": "z"})):
        with pytest.raises(ValueError, match="the index of found differs from the index of truth: row i of both must be"):
            cdimc.metrics.accuracy(truth, found)
    frame = truth.astype(float).to_frame()
    with pytest.raises(ValueError, match="the index of view 1 differs from the index of view 0"):
        cdimc.missing.hide([frame, frame[::-1]], np.ones((4, 2)))
    with pytest.raises(ValueError, match="the index of the mask differs from the index of view 0"):
        cdimc.missing.hide([frame], cdimc.pp.observed([frame[::-1]]))


@pytest.mark.parametrize("name, value", [("n_samples", -1), ("n_samples", 5.0), ("n_views", 0), ("seed", None), ("seed", -1)])
def test_the_shape_and_seed_of_a_mask_are_whole_numbers(name, value):
    with pytest.raises(ValueError, match=f"{name} = {value}: must be a whole number of at least [01]"):
        cdimc.missing.PerView(0.3).mask(**{"n_samples": 9, "n_views": 2, "seed": 0, name: value})
