"""Samples in partitions of Dask get the clusters that they get in memory."""

import os
import pathlib
import pickle
import re
import warnings

import numpy as np
import pytest

import cdimc
from cdimc.dask import TMixture

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
pd = pytest.importorskip("pandas")

N = 600
SIZES = (200, 90, 310)
QUICK = {"n_clusters": 3, "starts": 4, "random_state": 3}


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def arrays():
    """Three views of 600 samples, a fifth missing from each."""
    made = cdimc.datasets.make_views(N, 3, random_state=1)
    return cdimc.missing.hide(made.views, cdimc.missing.PerView(0.2).mask(N, 3, seed=1))


@pytest.fixture(scope="module")
def tables(arrays):
    """The same as frames, of the observed rows alone."""
    index = pd.Index([f"s{i:03}" for i in range(N)], name="sample")
    frames = [pd.DataFrame(view, index, [f"v{v}f{j}" for j in range(view.shape[1])]) for v, view in enumerate(arrays)]
    return {f"table{v}": frame.dropna(how="all") for v, frame in enumerate(frames)}


def parts_of(table):
    """The rows of a table by partition."""
    part = np.repeat(range(len(SIZES)), SIZES)[[int(name[1:]) for name in table.index]]
    return [table[part == i] for i in range(len(SIZES))]


def collection(parts):
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0], verify_meta=False)


@pytest.fixture
def partitioned(tables):
    return {name: collection(parts_of(table)) for name, table in tables.items()}


def chunked(arrays):
    return [da.from_array(view, chunks=(SIZES, -1)) for view in arrays]


def bytes_of(model):
    return model._model.to_bytes()


def test_partitions_are_fitted_as_memory_is(tables, partitioned):
    fitted = TMixture(**QUICK).fit(partitioned)
    labels = fitted.predict(partitioned).compute()
    whole = cdimc.TMixture(**QUICK).fit(tables)
    assert labels.index.name == "sample"
    assert sorted(labels.index) == sorted(whole.samples_)
    assert np.array_equal(labels[whole.samples_], whole.labels_)
    assert (fitted.n_samples_, fitted.n_clusters_) == (N, 3)
    assert fitted.view_names_ == whole.view_names_
    assert fitted.feature_names_ == whole.feature_names_
    assert fitted.shared_information_ == pytest.approx(whole.shared_information_, rel=0.02)
    assert fitted.n_iter_ > 1


def test_a_search_of_some_ends_where_it_ends_in_memory(arrays, tables, partitioned):
    settings = {**QUICK, "search_samples": 250}
    labels = TMixture(**settings).fit_predict(chunked(arrays)).compute()
    assert np.array_equal(labels, cdimc.TMixture(**settings).fit(arrays).labels_)
    # Frames are drawn from in another order than in memory.
    by_name = TMixture(**settings).fit_predict(partitioned).compute()
    whole = cdimc.TMixture(**settings).fit(tables)
    assert cdimc.metrics.ari(whole.labels_, by_name[whole.samples_]) > 0.97


def test_arrays_are_fitted_as_frames_are(arrays, partitioned):
    # The frames have another order of samples, on which a close choice of coordinates may depend.
    settings = {**QUICK, "coordinates": "standard"}
    views = chunked(arrays)
    fitted = TMixture(**settings).fit(views)
    labels = fitted.predict(views)
    assert isinstance(labels, da.Array)
    assert labels.chunks == (SIZES,)
    by_name = TMixture(**settings).fit_predict(partitioned).compute().sort_index()
    assert cdimc.metrics.ari(labels.compute(), by_name) == 1.0
    # Chunks along columns are joined.
    cut = [view.rechunk((SIZES, 4)) for view in views]
    assert bytes_of(TMixture(**settings).fit(cut)) == bytes_of(fitted)


def test_no_scheduler_changes_a_bit(partitioned):
    fitted = TMixture(**QUICK).fit(partitioned)
    with dask.config.set(scheduler="threads", num_workers=3):
        again = TMixture(**QUICK).fit(partitioned)
    assert bytes_of(again) == bytes_of(fitted)


def test_a_cluster_of_processes_changes_no_bit(partitioned):
    distributed = pytest.importorskip("distributed")
    fitted = TMixture(**QUICK).fit(partitioned)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with dask.config.set(scheduler=None), cluster, distributed.Client(cluster):
        again = TMixture(**QUICK).fit(partitioned)
        labels = again.predict(partitioned).compute()
        with pytest.raises(ValueError, match=r"^partition \d: table0: column `other` is in other partitions and "):
            TMixture(**QUICK).fit({"table0": renamed(partitioned["table0"])})
    assert bytes_of(again) == bytes_of(fitted)
    assert labels.equals(fitted.predict(partitioned).compute())


def renamed(frame):
    """A collection whose partitions lack its declared columns."""
    parts = frame.to_delayed()
    meta = frame._meta.rename(columns={"v0f0": "other"})
    return dd.from_delayed(list(parts), meta=meta, verify_meta=False)


def test_results_of_partitions_equal_results_in_memory(tables, partitioned):
    fitted = TMixture(**QUICK).fit(partitioned)
    names = cdimc.sample_names(tables)
    for result in ("predict", "predict_proba", "predict_confidence", "unusual"):
        found = getattr(fitted, result)(partitioned)
        assert found.npartitions == 3
        computed = found.compute()
        assert np.array_equal(computed.loc[names].to_numpy(), getattr(fitted, result)(tables))
        assert np.array_equal(found.dtypes, computed.dtypes)
    some = {"table2": partitioned["table2"]}
    assert np.array_equal(fitted.predict(some).compute(), fitted.predict({"table2": tables["table2"]}))
    by_position = fitted.predict([None, None, partitioned["table2"]])
    assert np.array_equal(by_position.compute(), fitted.predict(some).compute())
    with pytest.raises(ValueError, match="lies in partitions of Dask"):
        fitted.impute(partitioned)


def test_results_of_arrays_equal_results_in_memory(arrays):
    views = chunked(arrays)
    fitted = TMixture(**QUICK).fit(views)
    for result in ("predict", "predict_proba", "predict_confidence", "unusual"):
        found = getattr(fitted, result)(views)
        local = getattr(fitted, result)(arrays)
        assert (found.shape, found.dtype) == (local.shape, local.dtype)
        assert np.array_equal(found.compute(), local)


def test_an_id_in_two_partitions_is_refused_by_predict_too(tables, partitioned):
    fitted = TMixture(**QUICK).fit(partitioned)
    apart = {name: dd.from_pandas(table, npartitions=3) for name, table in tables.items()}
    moved = {**partitioned, "table0": collection(parts_of(tables["table0"])[::-1])}
    again = tables["table0"].iloc[8:20].copy()
    again.iloc[0] = np.nan
    twice = {"table0": collection([tables["table0"].iloc[:9], again])}
    for views in (apart, moved, twice):
        for call in (TMixture(**QUICK).fit, fitted.predict, fitted.predict_proba):
            with pytest.raises(ValueError, match=r"^id `s\d+` is in partition \d and again in partition \d: a sample must"):
                call(views)


def test_labels_of_known_divisions_lie_beside_the_rows(tables, partitioned):
    fitted = TMixture(**QUICK).fit(partitioned)
    frame = dd.from_pandas(tables["table0"], npartitions=3)
    labels = fitted.predict({"table0": frame})
    assert labels.divisions == frame.divisions
    beside = frame.assign(cluster=labels).compute()
    assert np.array_equal(beside["cluster"], fitted.predict({"table0": tables["table0"]}))


def test_columns_picked_from_files_stay_beside_each_other(arrays, tmp_path):
    index = pd.Index([f"s{i:03}" for i in range(N)], name="sample")
    for name, view in zip("ab", arrays):
        frame = pd.DataFrame(view, index, [f"{name}{j}" for j in range(view.shape[1])])
        dd.from_pandas(frame, npartitions=8).to_parquet(tmp_path / name)
    few = ["b1", "b2", "b3"]
    # Of so few columns, Dask would read several files as one partition.
    views = {"a": dd.read_parquet(tmp_path / "a"), "b": dd.read_parquet(tmp_path / "b")[few].astype("float32")}
    assert len(views["b"].to_delayed()) < 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cdimc.UnobservedSamplesWarning)
        fitted = TMixture(**QUICK).fit(views)
    labels = fitted.predict(views).compute()
    assert len(labels) == N
    in_memory = {name: view.compute() for name, view in views.items()}
    with pytest.warns(cdimc.UnobservedSamplesWarning):
        assert np.array_equal(labels[cdimc.sample_names(in_memory)], fitted.predict(in_memory))


def test_a_view_may_be_missing_from_a_partition(tables):
    parts = {name: parts_of(table) for name, table in tables.items()}
    parts["table1"][1] = parts["table1"][1].iloc[:0]
    parts["table2"][2] = parts["table2"][2] * np.nan
    views = {name: collection(of_view) for name, of_view in parts.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cdimc.UnobservedSamplesWarning)
        fitted = TMixture(**QUICK).fit(views)
        whole = cdimc.TMixture(**QUICK).fit({name: pd.concat(of_view) for name, of_view in parts.items()})
    labels = fitted.predict(views).compute()
    assert cdimc.metrics.ari(labels[whole.samples_], whole.labels_) == 1.0
    assert (labels == -1).sum() == (whole.labels_ == -1).sum() > 0


def test_samples_without_values_are_reported_once_and_labeled_minus_one(arrays, tables):
    nothing = [view.copy() for view in arrays]
    for view in nothing:
        view[[5, 250, 251]] = np.nan
    with pytest.warns(cdimc.UnobservedSamplesWarning, match="3 samples get no cluster") as said:
        fitted = TMixture(**QUICK).fit(chunked(nothing))
    assert len(said) == 1
    assert fitted.n_samples_ == N - 3
    labels = fitted.predict(chunked(nothing)).compute()
    assert list(np.flatnonzero(labels == -1)) == [5, 250, 251]
    none = da.full((4, arrays[0].shape[1]), np.nan, chunks=2)
    assert list(fitted.predict({"view0": none}).compute()) == [-1] * 4


def test_the_model_goes_to_files_and_back(partitioned, tmp_path):
    fitted = TMixture(**QUICK).fit(partitioned)
    labels = fitted.predict(partitioned).compute()
    fitted.save(tmp_path / "model.safetensors")
    for again in (pickle.loads(pickle.dumps(fitted)), TMixture.load(tmp_path / "model.safetensors")):
        assert isinstance(again, TMixture)
        assert bytes_of(again) == bytes_of(fitted)
        assert again.predict(partitioned).compute().equals(labels)
    assert type(cdimc.load(tmp_path / "model.safetensors")) is cdimc.TMixture


def test_the_number_of_clusters_may_be_chosen(partitioned):
    fitted = TMixture(**{**QUICK, "n_clusters": "auto", "n_clusters_range": (2, 3), "search_samples": 200})
    assert fitted.fit(partitioned).n_clusters_ == fitted.cluster_number_["chosen"]


def test_progress_reports_passes(partitioned):
    stages = []
    fitted = TMixture(**QUICK).fit(partitioned, progress=lambda stage, *_: stages.append(stage))
    assert stages.count("all samples") == fitted.n_iter_


def refused(views, match, **parameters):
    with pytest.raises(ValueError, match=match):
        TMixture(**QUICK, **parameters).fit(views)


def test_partitions_that_do_not_fit_are_named(tables, partitioned):
    def changed(name, i, change):
        parts = parts_of(tables[name])
        parts[i] = change(parts[i])
        return {**partitioned, name: collection(parts)}

    refused(
        changed("table1", 1, lambda part: part.rename(columns={"v1f3": "x"})),
        "^partition 1: table1: column `v1f3` is in other partitions and not here: all partitions of a view must have",
    )
    refused(changed("table1", 2, lambda part: part.iloc[:, :-1]), r"^partition 2: table1: column `v1f\d+` is in other")
    refused(changed("table1", 2, lambda part: part.assign(x=1.0)), "^partition 2: table1: column `x` is here and not in ")
    refused(
        changed("table0", 2, lambda part: part.rename(index={part.index[4]: "s012"})),
        "^id `s012` is in partition 0 and again in partition 2: a sample must be in one partition$",
    )
    refused(
        changed("table0", 1, lambda part: part.rename(index={part.index[4]: part.index[0]})),
        "^partition 1: table0: id `s200` is in row 1 and again in row 5: ids must be unique",
    )
    refused(
        changed("table0", 1, lambda part: part.replace(part.iloc[2, 3], np.inf)),
        "^partition 1: table0: row 3, column `v0f3` = inf: values must be finite$",
    )
    one_cell = changed("table2", 0, lambda part: part.where(part != part.iloc[0, 0]))
    refused(one_cell, "missing", strict=True)
    refused({name: X[X[X.columns[0]] > np.inf] for name, X in partitioned.items()}, "^no sample has a value in any view$")


def test_a_partition_may_be_empty_and_its_columns_in_another_order(tables, partitioned):
    def with_more(name):
        parts = parts_of(tables[name])
        gaps = pd.DataFrame(np.nan, ["nobody"], parts[0].columns)
        return collection([parts[0].iloc[:0], parts[0], gaps, parts[1][parts[1].columns[::-1]], parts[2]])

    with pytest.warns(cdimc.UnobservedSamplesWarning, match="^1 samples get no cluster"):
        fitted = TMixture(**QUICK).fit({name: with_more(name) for name in tables})
    assert bytes_of(fitted) == bytes_of(TMixture(**QUICK).fit(partitioned))


def test_views_that_do_not_fit_are_named(arrays, tables, partitioned):
    fewer = partitioned["table1"].repartition(npartitions=2)
    refused({**partitioned, "table1": fewer}, "^table1 has 2 partitions, table0 has 3: partition i of every view must")
    refused(tables, "^table0 is a DataFrame: must be a Dask DataFrame or a Dask array of two dimensions; cdimc.")
    views = chunked(arrays)
    refused([views[0], views[1].rechunk((300, -1))], "^view1 and view0 have chunks of differing numbers of rows")
    kept = [view[view[:, 0] > 0] for view in map(np.nan_to_num, views)]
    refused(kept, r"^partition \d: view1 has \d+ rows, view0 has \d+: row i of every view must be the same sample$")
    refused([views[0][:, views[0][0] > 0]], r"^view0 has an unknown number of columns: call compute_chunk_sizes\(\)")
    refused({"a": views[0], "b": partitioned["table0"]}, "^a and b: views must be all Dask DataFrames or all Dask arr")
    refused(partitioned["table0"], "must be a list or dict of views")
    refused([], "^views = 0: ")
    with pytest.raises(ValueError, match="view0 lies in partitions of Dask, which are not gathered: fit, "):
        cdimc.TMixture(3).fit(views)
    rare = tables["table2"].iloc[:1]
    views = {**partitioned, "rare": collection([rare, rare.iloc[:0], rare.iloc[:0]])}
    refused(views, "^rare: [01] of the 100 samples in the search have this view, at least 2", search_samples=100)


def test_partitions_that_change_between_passes_are_noticed(tables, partitioned):
    reads = []

    def part(frame):
        reads.append(1)
        # The census, the sample and the first pass see it whole.
        return frame if len(reads) <= 3 else frame.iloc[1:]

    parts = parts_of(tables["table0"])
    alone = [dask.delayed(part, pure=False)(parts[0]), *map(dask.delayed, parts[1:])]
    frame = dd.from_delayed(alone, meta=parts[0].iloc[:0], verify_meta=False)
    n = len(parts[0])
    refused(
        {"table0": frame},
        f"^partition 0: it has {n - 1} samples, and had {n} when it was read first: it has changed$",
    )


def test_what_comes_to_the_client_does_not_grow_with_the_samples(partitioned, monkeypatch):
    compute, came = dask.compute, []

    def watched(*args, **kwargs):
        found = compute(*args, **kwargs)
        came.append(len(pickle.dumps(found)))
        return found

    monkeypatch.setattr(dask, "compute", watched)
    sizes = []
    for n in (2, 3):
        came.clear()
        some = {name: frame.partitions[:n] for name, frame in partitioned.items()}
        fitted = TMixture(**QUICK, search_samples=100).fit(some)
        # Counts, the sample, and the sums of every pass.
        assert len(came) == 2 + fitted.n_iter_
        sizes.append((came[1], max(came[2:])))
        assert came[0] < 1000
    assert fitted.n_samples_ == N
    assert np.allclose(*sizes, rtol=0.1)


def test_the_program_of_the_guide_runs(tmp_path, monkeypatch):
    root = pathlib.Path(__file__).parents[2]
    program = re.search(r"^```python\n(.*?)^```", (root / "docs/guides/many-machines.md").read_text(), re.M | re.S)[1]
    os.symlink(root / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "docs/guides/many-machines.md", "exec"), {})
    clusters = dd.read_parquet("clusters").compute()["cluster"]
    tables = [pd.read_csv(f"examples/{name}.csv", index_col="patient") for name in ("rna", "methylation", "protein")]
    whole = cdimc.TMixture(4, random_state=0).fit(tables)
    assert np.array_equal(clusters[whole.samples_], whole.labels_)
