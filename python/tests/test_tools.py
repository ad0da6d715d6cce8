"""Scores, masks, data sets and the tools for MuData."""

import numpy as np
import pytest
from sklearn import metrics as peer

import cdimc
from conftest import refused

pd = pytest.importorskip("pandas")


@pytest.fixture
def mdata(frames):
    """The views as a MuData."""
    ad, md = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    return md.MuData({name: ad.AnnData(frame) for name, frame in frames.items()})


def test_scores_equal_scikit_learn():
    rng = np.random.default_rng(0)
    truth, found = rng.integers(-1, 3, 200), rng.integers(0, 6, 200)
    for mean in ("arithmetic", "geometric", "min", "max"):
        expected = peer.normalized_mutual_info_score(truth, found, average_method=mean)
        assert cdimc.metrics.nmi(truth, found, mean) == pytest.approx(expected, abs=1e-12)
    assert cdimc.metrics.ari(truth, found) == pytest.approx(peer.adjusted_rand_score(truth, found), abs=1e-12)
    precision, recall, f = cdimc.metrics.pairwise(truth, found)
    assert f == pytest.approx(2 * precision * recall / (precision + recall))
    names = np.array(["b", "c", "d", "a"])[truth]
    assert cdimc.metrics.scores(names, found) == cdimc.metrics.scores(truth, found)
    naming = cdimc.metrics.match_labels(truth, found)
    named = np.array([naming[c] if naming[c] is not None else -9 for c in found])
    assert cdimc.metrics.accuracy(truth, found) == np.mean(named == truth)
    refused("truth has 2 samples, found has 1: must be the same samples", cdimc.metrics.accuracy, [0, 1], [0])
    with pytest.raises(ValueError, match=r"found has the shape \(2, 2\): must be one label per sample"):
        cdimc.metrics.accuracy([0, 1, 1, 0], [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="normalizer = 'sqrt': must be one of arithmetic, geometric, min, max"):
        cdimc.metrics.nmi(truth, found, "sqrt")


@pytest.mark.parametrize(
    "truth, found",
    [
        ([0, 0, 1, 1, -1, -1, 1], [2, 2, 0, 2, 1, 1, -1]),
        (["a", "a", "b", "b", "-1", "-1", None], ["x", "x", "y", "x", "z", "z", "y"]),
        ([0.0, 0.0, 1.0, 1.0, -1.0, -1.0, np.nan], [2, 2, 0, 2, 1, 1, 0]),
        (pd.array([0, 0, 1, 1, -1, -1, None]), pd.array([2, 2, 0, 2, 1, 1, None])),
        (list("aabbcca"), pd.Categorical(["2", "2", "0", "2", "1", "1", None])),
        (list("aabbcca"), [2, 2, 0, 2, 1, 1, None]),
    ],
)
def test_samples_without_a_class_or_a_cluster_are_left_out_of_scores(truth, found):
    expected = cdimc.metrics.scores(list("aabbcc"), [2, 2, 0, 2, 1, 1])
    assert cdimc.metrics.scores(truth, found) == pytest.approx(expected)
    assert len(cdimc.metrics.match_labels(truth, found)) == 3
    refused("no sample has both a class and a cluster", cdimc.metrics.ari, truth[-1:], found[-1:])


@pytest.mark.parametrize(
    "pattern, observed",
    [
        (cdimc.missing.Complete(), 300),
        (cdimc.missing.PerView(0.3), 210),
        (cdimc.missing.PerView(np.float64(0.3)), 210),
        (cdimc.missing.PerView(np.float32(0.5)), 150),
        (cdimc.missing.PerView([0.1, 0.2, 0.5]), 220),
        (cdimc.missing.Paired(0.5), 200),
        (cdimc.missing.IncompleteSamples(0.4, "mem"), 220),
        (cdimc.missing.Cells(0.25), 225),
        (cdimc.missing.Blocks(0.3), 210),
        (cdimc.missing.Text("random-views:2"), 200),
        (cdimc.missing.Text("chain"), 200),
        (cdimc.missing.Text("ring"), 200),
        (cdimc.missing.Text("given:" + ",".join(["110", "011"] * 50)), 200),
    ],
)
def test_patterns_have_their_counts(pattern, observed):
    mask = pattern.mask(100, 3, seed=3)
    assert mask.shape == (100, 3) and mask.dtype == bool and mask.sum() == observed
    assert mask.any(axis=1).all() and np.array_equal(mask, pattern.mask(100, 3, seed=3))


def test_patterns_that_cannot_be_are_refused():
    refused(r"missing rate = 1.2: must lie in \[0, 1\)", cdimc.missing.PerView(1.2).mask, 10, 2, seed=0)
    refused("every sample must keep a view", cdimc.missing.PerView(0.7).mask, 10, 2, seed=0)
    refused('missing pattern = "cohorts": must be complete, ', cdimc.missing.Text("cohorts").mask, 10, 2, seed=0)
    refused("the mask has shape", cdimc.missing.hide, [np.ones((3, 2))], np.ones((2, 1)))
    for odd in (np.nan, -1):
        with pytest.raises(ValueError, match=f"the mask has the value {odd}.*: must be 1 where observed, 0 where missing"):
            cdimc.missing.hide([np.ones((3, 2))], np.array([[1], [odd], [1]]))


def test_views_with_names_are_hidden_by_name():
    named, mask = {"a": np.ones((3, 2)), "b": np.ones((3, 1))}, np.eye(3, 2, dtype=bool)
    hidden = cdimc.missing.hide(named, mask)
    assert list(hidden) == ["a", "b"]
    assert all(map(lambda one, other: np.array_equal(one, other, True), hidden.values(), cdimc.missing.hide([*named.values()], mask)))


def test_what_a_mask_hides_stays_hidden():
    first = np.ma.array(np.arange(12.0).reshape(6, 2), mask=[[row == 2] * 2 for row in range(6)])
    views, mask = [first, np.ones((6, 2), dtype=int)], np.ones((6, 2), dtype=bool)
    hidden = cdimc.missing.hide(views, mask)
    assert np.isnan(hidden[0][2]).all() and not np.isnan(np.delete(hidden[0], 2, axis=0)).any()
    assert type(hidden[0]) is np.ndarray and hidden[1].dtype == np.float64
    assert cdimc.pp.missing(views).equals(cdimc.pp.missing(hidden))
    hidden[0][:] = 0
    assert first.data[0, 1] == 1 and first.mask[2].all()


def test_labels_in_a_column_are_labels():
    truth, found = pd.DataFrame({"class": ["a", "a", "b"]}), [1, 1, 0]
    assert cdimc.metrics.accuracy(truth, found) == 1.0
    assert cdimc.metrics.match_labels(truth, found) == {0: "b", 1: "a"}


def test_data_sets_come_with_their_truth():
    digits = cdimc.datasets.load("digits")
    assert [view.shape[0] for view in digits.views.values()] == [1797] * 4
    assert set(digits.target) == set(range(10)) and "digits" in cdimc.datasets.names()
    refused("nowhere", cdimc.datasets.load, "nowhere")
    with pytest.raises(ValueError):
        cdimc.datasets.make_views(0)
    refused(r"views = \[3, 4\]: must be pairs", cdimc.datasets.make_views, views=[3, 4])
    drawn = [cdimc.datasets.make_views(30, 3, random_state=None).views[0] for _ in range(2)]
    assert not np.array_equal(*drawn)
    refused("random_state = -1: must lie in", cdimc.datasets.make_views, random_state=-1)


def test_numbers_of_numpy_make_the_views_of_plain_ones():
    plain = cdimc.datasets.make_views(30, 3, views=((4, "linear"), (3, "nonlinear")), noise=0.5, random_state=1)
    views = ((np.int64(4), "linear"), (np.int32(3), "nonlinear"))
    same = cdimc.datasets.make_views(
        np.int64(30), np.int64(3), views=views, noise=np.float32(0.5), random_state=np.int64(1)
    )
    for one, other in zip(plain.views, same.views):
        assert np.array_equal(one, other)


def test_a_frame_without_rows_is_a_view_that_all_samples_lack(frames):
    table = cdimc.pp.observed({**frames, "empty": frames["table0"].iloc[:0]})
    assert len(table) == 60 and not table["empty"].any()


def test_the_missing_pattern_is_counted(frames, data):
    observed = ~np.isnan(np.stack([view[:, 0] for view in data[0]], axis=1))
    table = cdimc.pp.observed(frames)
    rows = [int(name[1:]) for name in table.index]
    assert np.array_equal(table.to_numpy(), observed[rows])
    counts = cdimc.pp.missing(frames)
    assert counts["samples"].sum() == 60 and counts["samples"].is_monotonic_decreasing
    sets, n = np.unique(observed, axis=0, return_counts=True)
    found = {tuple(row[:-1]): row[-1] for row in counts.itertuples(index=False)}
    assert found == {tuple(map(bool, s)): k for s, k in zip(sets, n)}


def test_results_go_into_a_mudata(mdata, quick):
    mdata = mdata[np.random.default_rng(3).permutation(mdata.n_obs)].copy()
    estimator = quick("cdimc-net")
    assert cdimc.tl.cluster(mdata, method=estimator, key_added="group") is None
    expected = dict(zip(estimator.samples_, estimator.labels_))
    assert {name: int(label) for name, label in mdata.obs["group"].items()} == expected
    assert list(mdata.obs["group"].cat.categories) == ["0", "1", "2"]
    assert mdata.obsm["X_group"].shape == (60, estimator.embedding_.shape[1])
    assert mdata.obs["group_confidence"].between(0, 1).all()
    assert mdata.uns["group"]["method"] == "cdimc-net"
    again = cdimc.tl.cluster(mdata, 3, method="concat", copy=True, restarts=2)
    assert "cluster" in again.obs and "cluster" not in mdata.obs
    refused("unknown method `means`", cdimc.tl.cluster, mdata, 3, method="means")
    for name, value in (("n_clusters", 3), ("random_state", 1), ("n_jobs", 2), ("restarts", 3)):
        with pytest.raises(ValueError, match=f"{name} = {value}: must be set in the estimator"):
            cdimc.tl.cluster(mdata, method=estimator, **{name: value})


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float64", "Float64", "object", "category", "str"])
def test_label_minus_one_is_no_cluster_of_any_type(dtype):
    obs = pd.DataFrame({"cluster": [0, 0, 0, 1, 1, 1], "days": [5, 8, 12, 3, 4, 4], "dead": [0, 1, 0, 1, 1, 1]})
    more = pd.concat([obs, pd.DataFrame({"cluster": -1, "days": [1, 2], "dead": 1})], ignore_index=True)
    more["cluster"] = more["cluster"].astype(dtype)
    assert cdimc.tl.associations(more).equals(cdimc.tl.associations(obs))
    assert cdimc.tl.survival(more, "days", "dead")["log_rank"] == cdimc.tl.survival(obs, "days", "dead")["log_rank"]


@pytest.mark.parametrize(
    "labels, names",
    [
        (pd.Categorical(["1"] * 8 + ["2"] * 8), ["1", "2"]),
        (pd.Categorical(["2"] * 8 + ["1"] * 8, ["0", "1", "2"]), ["1", "2"]),
        (["10"] * 8 + ["2"] * 8, ["10", "2"]),
        ([3] * 8 + [7] * 8, [3, 7]),
        ([3.0] * 8 + [7.0] * 8, [3, 7]),
    ],
)
def test_clusters_keep_their_names(labels, names):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    obs = pd.DataFrame({"cluster": labels, "age": range(40, 56), "days": range(1, 17), "dead": [1, 0] * 8})
    found = cdimc.tl.associations(obs)["clusters"][0]
    assert [part.partition(": ")[0] for part in found.split("; ")] == [str(name) for name in names]
    survival = cdimc.tl.survival(obs, "days", "dead")
    assert list(survival["clusters"]["cluster"]) == list(survival["curves"]["cluster"].unique()) == names
    assert survival["reference"] in names
    legend = cdimc.pl.survival(obs, "days", "dead").get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [f"cluster {name} (n = 8)" for name in names]


def test_words_for_missing_are_missing_as_in_the_command():
    sex = [*"mmmfff", None, None, None, None] + [*"ffffmm", None, None, None, None]
    known = pd.DataFrame({"cluster": [0] * 10 + [1] * 10, "sex": sex, "days": [None, *range(2, 11)] * 2, "dead": [1, 0] * 10})
    words = known.astype(object).where(known.notna(), "NA")
    assert cdimc.tl.associations(words).equals(cdimc.tl.associations(known))
    assert cdimc.tl.associations(words)["n"].max() == 20
    expected = cdimc.tl.survival(known, "days", "dead")
    assert cdimc.tl.survival(words, "days", "dead")["log_rank"] == expected["log_rank"]


def test_notes_on_variables_are_warnings():
    known = pd.DataFrame({"cluster": [0] * 10 + [1] * 10}, index=[f"p{i}" for i in range(20)])
    known["sex"] = ["Male", "MALE", "Female"] * 6 + ["Female"] * 2
    with pytest.warns(cdimc.OddDataWarning, match="`sex` is tested with 3 categories, but `MALE` and `Male` may be"):
        cdimc.tl.associations(known)
    with pytest.warns(cdimc.OddDataWarning, match="the clusters repeat the groups of `batch` .ARI 1.00.: good if"):
        cdimc.tl.associations(known.assign(batch=["a"] * 10 + ["b"] * 10, sex="f"))
    known["days"] = [*range(1, 11)] * 2
    known["status"] = ["1:DECEASED", "0:LIVING"] * 10
    expected = cdimc.tl.survival(known.assign(dead=[1, 0] * 10)[1:], "days", "dead")["log_rank"]
    known.loc["p0", "days"] = -0.2
    with pytest.warns(cdimc.OddDataWarning) as caught:
        assert cdimc.tl.survival(known, "days", "status")["log_rank"] == expected
    notes = " ".join(str(note.message) for note in caught)
    assert "`1:DECEASED` of column `status` is the event" in notes and "left out of survival: sample `p0`" in notes
    assert {note.filename for note in caught} == {__file__}


def test_two_columns_of_one_name_are_refused():
    known = pd.DataFrame({"cluster": list("aaabbb"), "days": [5, 8, 12, 3, 4, 4], "dead": [0, 1, 0, 1, 1, 1]})
    twice = pd.concat([known, known[["days"]]], axis="columns")
    refused("two columns are named `days`", cdimc.tl.associations, twice)
    refused("two columns are named `days`", cdimc.tl.survival, twice, "days", "dead")
    with pytest.raises(ValueError, match="two columns are named `cluster`"):
        cdimc.tl.associations(pd.concat([known, known[["cluster"]]], axis="columns"))
    assert cdimc.tl.associations(twice, ["dead"]).equals(cdimc.tl.associations(known, ["dead"]))


def test_a_frame_may_have_a_column_named_obs():
    known = pd.DataFrame({"cluster": list("aaaabbbb"), "obs": [41, 44, 47, 43, 58, 60, 63, 59]})
    found = cdimc.tl.associations(known)
    assert found["column"].tolist() == ["obs"]
    assert found["p"].equals(cdimc.tl.associations(known.rename(columns={"obs": "age"}))["p"])


def test_clustering_again_removes_the_former_clusters(mdata, quick):
    once = cdimc.tl.cluster(mdata, method=quick("concat"), copy=True)
    cdimc.tl.cluster(mdata, method=quick("t-mixture"))
    cdimc.tl.stability(mdata, 3)
    mdata.obs["cluster_of_others"] = 1
    cdimc.tl.cluster(mdata, method=quick("concat"))
    assert set(mdata.obs) == {*once.obs, "cluster_of_others"}
    assert set(mdata.obsm) == set(once.obsm) and set(mdata.uns["cluster"]) == set(once.uns["cluster"])


def test_markers_of_a_cluster_go_by_number_or_category(mdata, quick):
    cdimc.tl.cluster(mdata, method=quick("t-mixture"))
    found = cdimc.tl.markers(mdata, 1)
    assert len(found) and set(found["cluster"]) == {1}
    assert cdimc.tl.markers(mdata, mdata.obs["cluster"].cat.categories[1]).equals(found)
    for unknown in (3, "3", -1, "x", 1.5):
        refused(f"cluster = {unknown!r}: must lie in 0..=2", cdimc.tl.markers, mdata, unknown)


def test_a_mudata_with_results_can_be_written(mdata, quick, tmp_path):
    cdimc.tl.cluster(mdata, method=quick("cdimc-net"))
    mdata.write(tmp_path / "out.h5mu")
    again = pytest.importorskip("mudata").read(tmp_path / "out.h5mu")
    assert (again.obs["cluster"] == mdata.obs["cluster"]).all()
    pd.testing.assert_frame_equal(cdimc.tl.markers(again), cdimc.tl.markers(mdata))
    for name in (1, "", "a/b"):
        refused(f"key_added = {name!r}: must be text and have no `/`", cdimc.tl.cluster, mdata, 3, key_added=name)


def test_tools_refuse_data_without_results_of_clusters():
    ad = pytest.importorskip("anndata")
    other = ad.AnnData(np.eye(2), uns={"cluster": np.arange(2)})
    for data in (other, pd.DataFrame(), np.eye(2)):
        for tool, name in ((cdimc.tl.markers, "markers"), (cdimc.tl.stability, "model"), (cdimc.pl.stability, "stability")):
            refused(f"no {name} in uns.'cluster'.: cdimc.tl", tool, data)
    for n in (0, -1, 2.5):
        refused(f"n = {n}: must be a whole number of at least 1", cdimc.pl.markers, other, n)


def test_the_results_of_a_clustering_are_not_compared_with_it():
    obs = pd.DataFrame({"cluster": list("aaaabbbb"), "age": [41, 44, 47, 43, 58, 60, 63, 59]})
    results = obs.assign(cluster_confidence=np.linspace(0.5, 1, 8), cluster_stability=np.linspace(1, 0.8, 8))
    assert cdimc.tl.associations(results).equals(cdimc.tl.associations(obs))
    assert len(cdimc.tl.associations(results, ["cluster_confidence"])) == 1
    refused("columns = 'age': must be a list of names", cdimc.tl.associations, obs, "age")
    refused("column `cluster`: no sample has a cluster", cdimc.tl.associations, obs.assign(cluster=np.nan))
    refused("data is a ndarray: must be an AnnData, MuData or DataFrame", cdimc.tl.associations, np.eye(2))


def test_stability_and_pictures_of_what_was_found(tmp_path):
    ad, md, matplotlib = map(pytest.importorskip, ("anndata", "mudata", "matplotlib"))
    matplotlib.use("agg")
    made = cdimc.datasets.make_views(90, 3, random_state=1)
    mask = cdimc.missing.PerView(0.3).mask(90, len(made.views), seed=0)
    modalities = {}
    for v, view in enumerate(made.views):
        rows = np.flatnonzero(mask[:, v])
        names = [f"s{i}" for i in rows]
        modalities[f"view{v}"] = ad.AnnData(pd.DataFrame(view[rows], index=names).rename(columns=str))
    mdata = md.MuData(modalities)
    refused("no model", cdimc.tl.stability, mdata)
    cdimc.tl.cluster(mdata, 3)
    refused("no stability", cdimc.pl.stability, mdata)
    found = cdimc.tl.stability(mdata, 10)
    assert list(found["cluster"]) == ["0", "1", "2"] and found["stability"].between(0, 1).all()
    estimator = cdimc.TMixture(n_clusters=3, random_state=0).fit(mdata)
    clusters, samples = estimator.stability(mdata, 10)
    assert np.array_equal(found["stability"], clusters)
    of_name = dict(zip(estimator.samples_, samples))
    assert [of_name[name] for name in mdata.obs_names] == list(mdata.obs["cluster_stability"])
    with pytest.warns(cdimc.OddDataWarning, match="80 samples are given, the fit had 90"):
        cdimc.tl.stability(mdata[mdata.obs_names[:80]].copy(), 2)
    contributions = cdimc.pl.contributions(mdata)
    expected = [found["shared-information"] for found in estimator.view_contributions_]
    assert [bar.get_width() for bar in contributions.patches] == expected
    mdata.obs["days"] = np.arange(1, mdata.n_obs + 1)
    mdata.obs["dead"] = (np.arange(mdata.n_obs) % 3 > 0).astype(int)
    p = cdimc.tl.survival(mdata, "days", "dead")["p"]
    curves = cdimc.pl.survival(mdata, "days", "dead")
    assert f"{p:.2g}" in curves.get_title() and len(curves.get_lines()) == 6
    assert cdimc.pl.missing(mdata).get_ylim()[0] == mdata.n_obs
    # Five columns of three clusters, each with an interval and a point, and the line at none.
    markers = cdimc.pl.markers(mdata)
    assert len(markers.get_yticklabels()) == 15
    assert cdimc.pl.stability(mdata, ax=curves) is curves
    mdata.write(tmp_path / "out.h5mu")
    again = md.read(tmp_path / "out.h5mu")
    assert np.array_equal(cdimc.tl.stability(again, 10)["stability"], clusters)
    alone = md.MuData({"view0": modalities["view0"]})
    cdimc.tl.cluster(alone, 3)
    refused("several views", cdimc.pl.contributions, alone)
    alone.write(tmp_path / "alone.h5mu")


def test_a_mudata_keeps_the_reason_for_the_number_of_clusters(mdata, quick, tmp_path):
    estimator = quick("t-mixture", n_clusters="auto", n_clusters_range=(2, 4), starts=2)
    cdimc.tl.cluster(mdata, method=estimator)
    mdata.write(tmp_path / "out.h5mu")
    found = pytest.importorskip("mudata").read(tmp_path / "out.h5mu").uns["cluster"]["cluster_number"]
    number = estimator.cluster_number_
    assert found["reason"] == number["reason"] and found["n_clusters"].tolist() == [2, 3, 4]
    shared = [candidate["held-out"]["shared-information"] for candidate in number["candidates"]]
    assert found["shared_information"].tolist() == shared
    cdimc.tl.cluster(mdata, 3)
    assert "cluster_number" not in mdata.uns["cluster"]
