"""Whatever holds the views gives the same clusters."""

from decimal import Decimal

import numpy as np
import pytest

import cdimc
from cdimc._views import as_views
from conftest import refused

pd = pytest.importorskip("pandas")


@pytest.fixture
def labels(data, quick):
    return quick("concat").fit_predict(data[0])


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_order_of_memory_does_not_matter(order, data, quick, labels):
    views = [np.asarray(view, order=order) for view in data[0]]
    assert np.array_equal(quick("concat").fit_predict(views), labels)
    assert np.array_equal(quick("concat").fit_predict([view[::-1][::-1] for view in views]), labels)


def test_single_precision_is_widened(data, quick):
    single = [view.astype(np.float32) for view in data[0]]
    double = [view.astype(np.float64) for view in single]
    assert as_views(single)[0].values.dtype == np.float32
    assert np.array_equal(quick("concat").fit_predict(single), quick("concat").fit_predict(double))


@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_fields_of_packed_records_are_read_by_value(kind, quick):
    first, second = cdimc.datasets.make_views(60, 3, random_state=1).views[:2]
    first = first.astype(kind)
    packed = np.zeros(60, dtype=[("id", "S3"), ("values", kind, first.shape[1])])
    packed["values"] = first
    model = quick("t-mixture", starts=2).fit([first, second])
    again = quick("t-mixture", starts=2).fit([packed["values"], second])
    assert np.array_equal(again.labels_, model.labels_)
    assert np.array_equal(model.impute([packed["values"][::-1], None])[0], first[::-1])


def test_the_input_is_left_as_it_is(data, quick):
    views = [view.copy() for view in data[0]]
    row = int(np.flatnonzero(~np.isnan(views[0][:, 0]))[0])
    views[0][row, 3] = np.nan
    before = [view.copy() for view in views]
    with pytest.warns(cdimc.FilledCellsWarning):
        quick("concat").fit(views)
    for view, then in zip(views, before):
        assert np.array_equal(view, then, equal_nan=True)


def test_frames_are_joined_by_their_index(frames, data, quick):
    fitted = quick("concat").fit(frames)
    assert fitted.samples_ == cdimc.sample_names(frames)
    assert sorted(fitted.samples_) == sorted(f"p{i}" for i in range(60))
    # The same samples as arrays in the order of the join.
    rows = [int(name[1:]) for name in fitted.samples_]
    arrays = [view[rows] for view in data[0]]
    assert np.array_equal(fitted.labels_, quick("concat").fit_predict(arrays))
    assert fitted.view_names_ == ["table0", "table1", "table2"]
    assert fitted.feature_names_[1][:2] == ["v1f0", "v1f1"]


def test_only_text_names_the_samples_of_a_frame_of_polars(quick):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"smoker": [True, False, None], "age": [50.0, 61.0, 44.0]})
    (view,) = as_views([frame])
    assert view.ids is None and view.features == ["smoker", "age"]
    assert np.array_equal(view.values, [[1, 50], [0, 61], [np.nan, 44]], equal_nan=True)


@pytest.mark.parametrize("kind", ["String", "Categorical", "Enum"])
def test_a_column_of_any_kind_of_text_names_the_samples_of_a_frame_of_polars(kind):
    pl = pytest.importorskip("polars")
    dtype = pl.Enum(["p2", "p1"]) if kind == "Enum" else getattr(pl, kind)
    frame = pl.DataFrame({"id": pl.Series(["p1", "p2"], dtype=dtype), "age": [50, 61], "weight": [None, None]})
    (view,) = as_views([frame])
    assert view.ids == ["p1", "p2"] and view.features == ["age", "weight"]
    assert np.array_equal(view.values, [[50, np.nan], [61, np.nan]], equal_nan=True)


@pytest.mark.parametrize("kind", ["Date", "Datetime", "Duration", "Time", "Binary", "List"])
def test_columns_of_polars_that_are_no_numbers_are_refused_by_name(kind):
    pl = pytest.importorskip("polars")
    dtype = pl.List(pl.Int64) if kind == "List" else getattr(pl, kind)
    frame = pl.DataFrame({"seen": pl.Series([None, None], dtype=dtype), "age": [50.0, 61.0]})
    refused(f"rna, column `seen` is of type {kind}", as_views, {"rna": frame})


@pytest.mark.parametrize("kind", [float, int, np.float32])
def test_what_a_mask_hides_is_missing(kind):
    values = np.ma.array([[1, 2], [3, 4], [5, 6]], mask=[[0, 1], [0, 0], [1, 1]], dtype=kind)
    (view,) = as_views([values])
    assert np.array_equal(view.values, [[1, np.nan], [3, 4], [np.nan, np.nan]], equal_nan=True)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_a_sparse_matrix_gives_what_the_dense_one_gives(kind):
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    values = rng.poisson(np.where(np.arange(60)[:, None] % 3 == np.arange(30) % 3, 1.5, 0.2)).astype(float)
    other = rng.normal(np.arange(60)[:, None] % 3 == np.arange(4), 0.5)
    given = sparse.csr_matrix(values).asformat(kind)
    dense, model = (
        cdimc.TMixture(3, starts=3, random_state=0).fit([view, other]) for view in (values, given)
    )
    assert np.array_equal(model.labels_, dense.labels_)
    assert np.array_equal(model.predict_proba([given, other]), dense.predict_proba([values, other]))


def test_a_sparse_matrix_of_scipy_is_put_in_order_and_stays_as_it_was():
    sparse = pytest.importorskip("scipy.sparse")
    given = sparse.csr_matrix(([1.0, 2.0, 4.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    (view,) = as_views([given])
    assert view.values.indices.tolist() == [0, 2] and view.values.data.tolist() == [2, 5]
    assert given.indices.tolist() == [2, 0, 2]
    refused("view0: only numbers", as_views, [sparse.csr_matrix(np.array([[1j]]))])


def test_sparse_matrices_are_filled_up_with_zeros(quick):
    sparse = pytest.importorskip("scipy.sparse")
    values = np.random.default_rng(0).poisson(0.7, (40, 12)).astype(float)
    dense = quick("concat").fit_predict([values, values[:, :5] ** 2])
    assert np.array_equal(quick("concat").fit_predict([sparse.csr_matrix(values), values[:, :5] ** 2]), dense)


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, pd.NaT])
def test_a_row_without_an_id_is_no_sample(missing):
    ad = pytest.importorskip("anndata")
    names = [f"p{i}" for i in range(5)]

    def without(row):
        ids = pd.Index([*names[:row], missing, *names[row + 1 :]], dtype=object)
        return pd.DataFrame(np.eye(5), ids)

    for views in ({"a": without(2), "b": without(3)}, {"a": ad.AnnData(without(2))}):
        refused("a: row 3 has no id", cdimc.sample_names, views)
    text = without(2)
    text.index = pd.array(text.index.where(text.index.notna(), None), dtype="string")
    refused("a: row 3 has no id", as_views, {"a": text})


def test_a_row_of_polars_without_an_id_is_no_sample():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"id": ["p1", None, "None"], "age": [50.0, 61.0, 44.0]})
    refused("a: row 2 has no id", as_views, {"a": frame})
    refused("a is a LazyFrame", as_views, {"a": frame.lazy()})


def test_a_table_of_another_kind_is_not_taken_for_an_array():
    # Its column of ids would be a feature, and rows would be joined by their number.
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="^rna is a Table of pyarrow: must be a frame of pandas with the names of the sam"):
        as_views({"rna": pa.table({"patient": [1, 2], "a": [0.5, 1.5]})})


def test_decimals_of_arrow_are_numbers():
    pa = pytest.importorskip("pyarrow")
    decimals = [Decimal("0.25"), None, Decimal("1.5")]
    frame = pd.DataFrame({"a": pd.array(decimals, dtype=pd.ArrowDtype(pa.decimal128(10, 3))), "b": [1, 2, 3]})
    assert np.array_equal(as_views([frame])[0].values, [[0.25, 1], [np.nan, 2], [1.5, 3]], equal_nan=True)


def test_an_index_of_several_levels_names_samples():
    frame = pd.DataFrame(np.eye(2), pd.MultiIndex.from_tuples([("p1", 1), ("p1", 2)]))
    assert as_views([frame])[0].ids == ["('p1', 1)", "('p1', 2)"]


def test_anndata_and_mudata_are_joined_by_their_names(frames, quick):
    ad, md = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    tables = {name: ad.AnnData(frame) for name, frame in frames.items()}
    expected = quick("concat").fit(frames)
    for views in (tables, list(tables.values()), md.MuData(tables)):
        fitted = quick("concat").fit(views)
        assert fitted.samples_ == expected.samples_
        assert np.array_equal(fitted.labels_, expected.labels_)


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_backed_anndata(kind, tmp_path):
    ad, sparse = pytest.importorskip("anndata"), pytest.importorskip("scipy.sparse")
    values = np.random.default_rng(0).poisson(0.7, (9, 5)).astype(np.float32)
    given = ad.AnnData(values if kind == "dense" else sparse.csr_matrix(values).asformat(kind))
    given.write_h5ad(tmp_path / "rna.h5ad")
    backed = ad.read_h5ad(tmp_path / "rna.h5ad", backed="r")
    for rna, expected in ((backed, given), (backed[:4, [2, 0]], given[:4, [2, 0]])):
        (found,), (view,) = as_views([rna]), as_views([expected])
        assert (found.ids, found.features) == (view.ids, view.features)
        if kind == "dense":
            assert np.array_equal(found.values, view.values)
        else:
            assert found.values.shape == view.values.shape
            assert all(map(np.array_equal, found.values[1:], view.values[1:]))


def test_a_sample_without_any_value_has_no_cluster(data, quick):
    views = [view.copy() for view in data[0]]
    for view in views:
        view[[7, 20]] = np.nan
    with pytest.warns(cdimc.UnobservedSamplesWarning, match="2 samples get no cluster, .* .first: 8."):
        fitted = quick("cdimc-net").fit(views)
    assert fitted.labels_[[7, 20]].tolist() == [-1, -1] and (np.delete(fitted.labels_, [7, 20]) >= 0).all()
    assert np.isnan(fitted.embedding_[7]).all() and np.isnan(fitted.confidence_[20])
    kept = [np.delete(view, [7, 20], axis=0) for view in views]
    assert np.array_equal(quick("cdimc-net").fit_predict(kept), np.delete(fitted.labels_, [7, 20]))
    with pytest.warns(cdimc.UnobservedSamplesWarning):
        assert fitted.predict(views)[7] == -1


def test_a_row_without_any_value_shifts_no_other_row(data, quick):
    views = {f"table{v}": pd.DataFrame(view).rename(index="s{}".format, columns=str) for v, view in enumerate(data[0])}
    for frame in views.values():
        frame.loc["s2"] = np.nan
    names = [f"s{i}" for i in range(60)]
    with pytest.warns(cdimc.UnobservedSamplesWarning, match="first: (s2|3)"):
        model = quick("t-mixture").fit(views)
        as_arrays = quick("t-mixture").fit([frame.to_numpy() for frame in views.values()])
        table = model.to_frame(views)
        assert model.predict(views).tolist() == model.labels_.tolist() == as_arrays.labels_.tolist()
        assert np.array_equal(model.predict_proba(views), model.probabilities_, equal_nan=True)
        assert np.array_equal(model.impute(views)["table0"][3:], as_arrays.impute(list(views.values()))[0][3:])
    assert model.samples_ == cdimc.sample_names(views) == list(table.index) == list(model.to_frame().index) == names
    assert np.flatnonzero(model.labels_ == -1).tolist() == np.flatnonzero(table["cluster"] == -1).tolist() == [2]


def test_single_missing_cells_hold_the_mean_of_their_column(data, quick):
    views = [view.copy() for view in data[0]]
    row = int(np.flatnonzero(~np.isnan(views[0][:, 0]))[0])
    views[0][row, 2] = np.nan
    with pytest.warns(cdimc.FilledCellsWarning, match="1 single missing cells in 1 columns"):
        found = quick("concat").fit_predict(views)
    column = views[0][:, 2]
    column[row] = np.nanmean(column)
    assert np.array_equal(found, quick("concat").fit_predict(views))
    views[0][row, 2] = np.nan
    refused("a single missing cell", quick("concat", strict=True).fit, views)


def test_tables_are_checked_as_in_the_command(frames, quick):
    first, second = frames["table0"], frames["table1"]

    def warned(pattern, **views):
        with pytest.warns(cdimc.OddDataWarning, match=pattern):
            quick("concat").fit({"table1": second, **views})

    coded = first.copy()
    coded.iloc[::7, :4] = -999
    warned("-999 is clustered on as a measurement.* replace it with NaN$", table0=coded)
    summaries = first.agg(["mean", "std"]).set_axis(["Mean", "SD"])
    warned(r"count as samples: `Mean`, `SD`; leave them out: frame\[~frame.index.str.contains", table0=pd.concat([first, summaries]))
    warned("`Unnamed: 0` numbers them; leave it out$", table0=first.assign(**{"Unnamed: 0": range(len(first))}))
    warned("named by dates, which spreadsheets make .*: `2-Sep`", table0=first.rename(columns={"v0f3": "2-Sep"}))
    upper = first.rename(index=lambda name: name.upper() if name[-1] == "1" else name)
    warned("more would agree if written alike", table0=upper)
    counts = (first.rank() * 37).round()
    warned("seems to be a mark of thousands", table0=counts.where(counts < 1000, counts / 1000))
    rows = [frame.assign(patient=np.arange(len(frame)) + start) for frame, start in ((first, 1009), (second, 1001))]
    rows = [frame.reset_index(drop=True) for frame in rows]
    refused("column `patient` looks like an id and differs in the same rows", quick("concat").fit, rows)


def test_new_samples_go_by_name_or_by_position(frames, quick):
    fitted = quick("cdimc-net").fit(frames)
    first, second = frames["table0"].iloc[:9], frames["table1"].iloc[:6]
    by_name = fitted.predict({"table1": second, "table0": first})
    names = cdimc.sample_names([second, first])
    order = [names.index(name) for name in cdimc.sample_names([first, second])]
    assert np.array_equal(fitted.predict([first, second, None]), by_name[order])
    # Arrays have the model's columns in its order; named columns are put in it.
    assert np.array_equal(fitted.predict({"table0": first.to_numpy()}), fitted.predict({"table0": first}))
    assert np.array_equal(fitted.predict({"table0": first[first.columns[::-1]]}), fitted.predict([first, None, None]))
    filled = fitted.impute({"table0": first})
    assert list(filled) == ["table0", "table1", "table2"] and filled["table2"].shape == (9, 20)


def test_new_samples_may_all_lack_a_view_that_has_names(frames, quick):
    model = quick("t-mixture").fit(frames)
    first = frames["table0"].iloc[:9]
    expected = dict(zip(first.index, model.predict({"table0": first})))
    assert model.predict({"table1": frames["table1"].iloc[:0], "table0": first}).tolist() == list(expected.values())
    # Samples come as they appear first, with or without a value.
    nothing = pd.DataFrame(np.nan, ["stranger", *first.index[::-1]], frames["table1"].columns)
    views = {"table1": nothing, "table0": first}
    names = cdimc.sample_names(views)
    assert names == ["stranger", *first.index[::-1]]
    with pytest.warns(cdimc.UnobservedSamplesWarning, match="1 samples get no cluster.*first: stranger."):
        assert model.predict(views).tolist() == [-1] + [expected[name] for name in names[1:]]
        filled = model.impute(views)
    assert np.array_equal(filled["table0"][1:], first.to_numpy()[::-1]) and np.isnan(filled["table1"][0]).all()
    refused("table0: ", model.predict, {"table0": first.iloc[:0]})


@pytest.mark.parametrize("of_file", [False, True])
def test_results_of_samples_without_any_value_are_missing(of_file, data, quick, tmp_path):
    model = quick("t-mixture").fit(data[0])
    width = model.embedding_.shape[1]
    if of_file:
        model.save(tmp_path / "model.safetensors")
        model = cdimc.load(tmp_path / "model.safetensors")
    nothing = [np.full((4, 12), np.nan), None, None]
    with pytest.warns(cdimc.UnobservedSamplesWarning, match="4 samples get no cluster.*first: 1."):
        for found, shape in (
            (model.predict_proba(nothing), (4, 3)),
            (model.predict_confidence(nothing), (4,)),
            (model.score_samples(nothing), (4,)),
            (model.transform(nothing), (4, width)),
            (model.impute(nothing)[2], (4, 20)),
        ):
            assert found.shape == shape and np.isnan(found).all()
        labels = model.predict(nothing)
        assert labels.tolist() == [-1] * 4 and labels.dtype == np.int64
        assert model.unusual(nothing).tolist() == [False] * 4


def test_a_method_without_probabilities_has_none_for_samples_without_a_value(frames, quick):
    net = quick("cdimc-net").fit(frames)
    nothing = {"table1": frames["table1"].iloc[:2] * np.nan}
    with pytest.warns(cdimc.UnobservedSamplesWarning):
        assert net.predict(nothing).tolist() == [-1] * 2
        assert np.isnan(net.predict_confidence(nothing)).all()
        refused("cdimc-net has no probabilities", net.predict_proba, nothing)


def test_reasons_add_up_to_the_log_odds_of_the_probabilities(frames, quick):
    model = quick("t-mixture").fit(frames)
    names = cdimc.sample_names(frames)
    probabilities = dict(zip(names, model.predict_proba(frames)))
    found = model.explain(frames, names[:2])
    assert list(found["id"].unique()) == list(names[:2])
    for name, rows in found.groupby("id"):
        parts = rows[rows["kind"].isin(["total", "cluster sizes", "view"])]
        total, cluster, other = parts.iloc[0][["log_odds", "cluster", "other_cluster"]]
        assert parts["log_odds"].iloc[1:].sum() == pytest.approx(total, abs=1e-9)
        p = probabilities[name]
        assert total == pytest.approx(np.log(p[cluster] / p[other]), abs=1e-6)
    nothing = model.explain(frames, [])
    assert len(nothing) == 0 and nothing.dtypes.equals(found.dtypes)
    refused(f"samples = '{names[0]}': must be a list of names", model.explain, frames, names[0])
    refused("sample = `nobody`: there is no such sample", model.explain, frames, ["nobody"])
    refused("cdimc-net: only t-mixture can give reasons", quick("cdimc-net").fit(frames).explain, frames)


def test_stability_takes_views_and_columns_by_name(frames, quick):
    model = quick("t-mixture").fit(frames)
    clusters, samples = model.stability(frames, 5)
    of_name = dict(zip(cdimc.sample_names(frames), samples))
    turned = {name: frames[name][frames[name].columns[::-1]] for name in reversed(list(frames))}
    for given in (turned, list(frames.values())):
        found = model.stability(given, 5)
        assert np.array_equal(found[0], clusters)
        assert np.array_equal(found[1], [of_name[name] for name in cdimc.sample_names(given)], equal_nan=True)
    with pytest.warns(cdimc.OddDataWarning, match="the stability may differ .*: 59 samples are given, the fit had 60"):
        model.stability({name: frame.drop(index="p7", errors="ignore") for name, frame in frames.items()}, 5)
    with pytest.raises(ValueError, match="the model's view `table1` is not there: its training had table0, table1"):
        model.stability({"table0": frames["table0"], "table2": frames["table2"]}, 5)
    refused("the model has no view `other`", model.stability, {**frames, "other": frames["table0"]}, 5)


def test_a_warning_points_at_the_line_that_called(data, quick):
    views = [view.copy() for view in data[0]]
    views[0][np.flatnonzero(~np.isnan(views[0][:, 0]))[0], 2] = np.nan
    model = quick("cdimc-net")
    for call in (model.fit, model.fit_predict, model.predict, model.transform, model.impute):
        with pytest.warns(cdimc.FilledCellsWarning) as caught:
            call(views)
        filled = [warning for warning in caught if warning.category is cdimc.FilledCellsWarning]
        assert [warning.filename for warning in filled] == [__file__], call


def test_new_samples_may_lack_a_view_by_nan(quick, data):
    views = data[0]
    model = quick("t-mixture").fit(views)
    without = [views[0], np.full_like(views[1], np.nan), *views[2:]]
    left_out = [views[0], None, *views[2:]]
    with pytest.warns(cdimc.UnobservedSamplesWarning):  # Some samples had no other view.
        assert np.array_equal(model.predict(without), model.predict(left_out))
        assert np.array_equal(model.impute(without)[1], model.impute(left_out)[1], equal_nan=True)


def test_a_note_is_a_warning_that_calls_itself_a_note(quick):
    rng, n = np.random.default_rng(0), 24
    views = [rng.uniform(-1, 1, (n, 4)) + 6 * np.eye(4)[np.arange(n) % 3] for _ in range(3)]
    views[2] = views[2][(np.arange(n) * 7 + np.arange(n) // 3) % n]
    with pytest.warns(cdimc.DoubtfulClustersWarning, match="note: .* too few samples"):
        quick("concat").fit(views)


def test_numbered_rows_are_joined_only_if_all_frames_have_as_many(frames):
    numbered = {name: frame.reset_index(drop=True) for name, frame in frames.items()}
    with pytest.raises(ValueError, match=r"rows without names: table0 has .*set_index\(COLUMN\)"):
        cdimc.sample_names(numbered | {"table1": numbered["table1"].iloc[:-1]})
    equal = {name: frame.iloc[:20] for name, frame in numbered.items()}
    assert len(cdimc.sample_names(equal)) == 20
    # A frame without rows is a view that no sample has.
    assert len(cdimc.sample_names(equal | {"table1": equal["table1"].iloc[:0]})) == 20


def test_anndata_that_only_numbers_its_cells_is_joined_only_if_all_have_as_many():
    ad, md = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    rna, adt = ad.AnnData(np.eye(9)), ad.AnnData(np.eye(7))
    for views in ({"rna": rna, "adt": adt}, {"rna": rna.to_df(), "adt": adt}, md.MuData({"rna": rna, "adt": adt})):
        refused("rows without names: rna has 9, adt has 7; .* adata.obs_names = NAMES", cdimc.sample_names, views)
    assert len(cdimc.sample_names([rna, adt[:0], rna.copy()])) == 9
    # Names with gaps are left from a filter of numbered cells.
    assert len(cdimc.sample_names([rna, adt[1:]])) == 9


def test_none_is_a_view_that_is_not_there(frames, quick):
    model = quick("t-mixture").fit({**frames, "other": None})
    assert model.view_names_ == ["table0", "table1", "table2"]
    first = {"table0": frames["table0"]}
    assert np.array_equal(model.predict({**first, "table1": None, "table2": None}), model.predict(first))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_numbers_in_columns_of_objects_are_numbers(missing):
    frame = pd.DataFrame({"a": [1, 2.5, missing], "b": [Decimal("0.25"), missing, Decimal(2)], "c": [True, False, missing]})
    expected = [[1, 0.25, 1, np.nan], [2.5, np.nan, 0, np.nan], [np.nan, 2, np.nan, np.nan]]
    frame = frame.astype(object).assign(d=None)
    before = frame.copy()
    assert np.array_equal(as_views([frame])[0].values, expected, equal_nan=True)
    assert frame.equals(before) and (frame.dtypes == object).all()
    refused("column `a` is of type object", as_views, [frame.assign(a=["1", "2", "3"])])


def test_anndata_of_dask_is_read(quick):
    ad, da, sparse = map(pytest.importorskip, ("anndata", "dask.array", "scipy.sparse"))
    values = np.random.default_rng(0).poisson(0.7, (9, 5)).astype(float)
    chunks = da.from_array(values, chunks=(4, 5))
    assert np.array_equal(as_views([ad.AnnData(chunks)])[0].values, values)
    view = as_views([ad.AnnData(chunks.map_blocks(sparse.csr_matrix))])[0].values
    assert np.array_equal(sparse.csr_matrix((view.data, view.indices, view.indptr), view.shape).toarray(), values)
