"""One table through scikit-learn's own checks, pipelines and searches."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import cdimc


@pytest.mark.parametrize("views", [None, [slice(0, 1), slice(1, None)]])
def test_scikit_learns_checks_pass(views, quick):
    estimator = cdimc.AsSingleTable(quick("t-mixture", n_clusters=2), views=views)
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed, failed


@pytest.fixture
def table(data):
    return np.hstack(data[0]), [slice(0, 12), slice(12, 19), slice(19, 39)]


def test_one_table_gives_the_clusters_of_its_views(table, data, quick):
    X, views = table
    single = cdimc.AsSingleTable(quick("cdimc-net"), views=views).fit(X)
    several = quick("cdimc-net").fit(data[0])
    assert np.array_equal(single.labels_, several.labels_)
    assert np.array_equal(single.predict(X), several.labels_)
    assert np.array_equal(single.transform(X), several.transform(data[0]))
    assert single.score(X) == several.score(data[0])


def test_views_of_a_frame_are_columns_by_position_or_by_name(table, quick):
    pd = pytest.importorskip("pandas")
    X, views = table
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    expected = cdimc.AsSingleTable(quick("concat"), views=views).fit_predict(X)
    names = [list(frame.columns[columns]) for columns in views]
    masks = [frame.columns.isin(of_view) for of_view in names]
    for given in (names, masks, views):
        assert np.array_equal(cdimc.AsSingleTable(quick("concat"), views=given).fit_predict(frame), expected)
    for wrong, given in (([[0], [100]], X), ([["c0"], ["d"]], frame), ([[0], ["c1"]], X), ([[0], 1], X)):
        with pytest.raises(ValueError, match=r"views\[1\] = .*: must be columns of X, which has 39"):
            cdimc.AsSingleTable(quick("concat"), views=wrong).fit(given)
    for wrong in ("c0", {"rna": slice(0, 12)}):
        with pytest.raises(ValueError, match="views = .*: must be a list of slices or of arrays of columns"):
            cdimc.AsSingleTable(quick("concat"), views=wrong).fit(frame)


def test_what_a_fit_does_not_take_is_refused(table, quick):
    X, views = table
    with pytest.raises(TypeError, match="sample_weight"):
        cdimc.AsSingleTable(quick("concat"), views=views).fit_predict(X, sample_weight=np.ones(len(X)))


def test_rows_without_any_value_have_no_cluster(table, quick):
    X, views = table
    single = cdimc.AsSingleTable(quick("cdimc-net"), views=views).fit(X)
    with pytest.warns(cdimc.UnobservedSamplesWarning):
        assert single.predict(np.full((3, X.shape[1]), np.nan)).tolist() == [-1] * 3


# The drawn views have heavy tails: values of one half of the samples are far from the other half.
@pytest.mark.filterwarnings("ignore::cdimc.OddDataWarning")
def test_pipelines_and_searches_work(table, quick):
    X, views = table
    pipeline = make_pipeline(StandardScaler(), cdimc.AsSingleTable(quick("cdimc-net"), views=views))
    labels = pipeline.fit_predict(X)
    assert labels.shape == (60,) and np.array_equal(clone(pipeline).fit_predict(X), labels)
    search = GridSearchCV(
        cdimc.AsSingleTable(quick("cdimc-net"), views=views),
        {"estimator__n_clusters": [2, 3], "estimator__pretrain_learning_rate": np.array([0.01, 0.02])},
        cv=2,
    ).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict(X).shape == (60,)


@pytest.mark.filterwarnings("ignore::cdimc.OddDataWarning")
@pytest.mark.parametrize("seed", range(4))
def test_auto_chooses_the_number_of_clusters_and_known_classes_score_a_search(seed):
    made = cdimc.datasets.make_views(300, 4, random_state=seed)
    X, views = np.hstack(made.views), [slice(0, 12), slice(12, 19), slice(19, 39)]
    auto = cdimc.TMixture("auto", n_clusters_range=(2, 8), random_state=0)
    assert cdimc.AsSingleTable(auto, views=views).fit(X).estimator_.n_clusters_ == 4
    table = cdimc.AsSingleTable(cdimc.TMixture(starts=2, random_state=0), views=views)

    def agreement(model, X, y):
        return cdimc.metrics.ari(y, model.predict(X))

    search = GridSearchCV(table, {"estimator__n_clusters": [2, 3, 4, 5]}, scoring=agreement, cv=2).fit(X, made.target)
    assert search.best_params_ == {"estimator__n_clusters": 4}
