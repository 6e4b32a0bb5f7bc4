"""The estimator is one of scikit-learn's."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")
from joblib import parallel_config  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

import nextbatch  # noqa: E402
from nextbatch import Regressor  # noqa: E402


@pytest.mark.filterwarnings("ignore")
def test_check_estimator():
    check_estimator(Regressor(learner="network", hidden=(64, 64), folds=0, random_state=0))


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, size=(300, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def test_it_learns(data):
    X, y = data
    model = Regressor(learner="network", hidden=(64, 64), folds=None, random_state=0).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9
    mean, std, low, high = model.predict(X[200:], return_std=True, return_interval=True)
    np.testing.assert_array_equal(mean, model.predict(X[200:]))
    inside = ((low <= y[200:]) & (y[200:] <= high)).mean()
    assert 0.75 <= inside <= 1 and (std > 0).all()
    narrow = model.predict(X[200:], return_interval=0.5)
    assert len(narrow) == 3 and (narrow[2] - narrow[1]).mean() < (high - low).mean()
    assert "cross-fitted" in model.intervals_ and model.valid_rmse_.shape == (1,)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_pipelines_cross_validation_and_pickles(data):
    X, y = data
    quick = Regressor(learner="network", hidden=(32,), epochs=20, folds=0, random_state=3)
    piped = make_pipeline(StandardScaler(), quick)
    assert len(cross_val_score(piped, X, y, cv=3)) == 3
    with parallel_config("multiprocessing"):
        assert len(cross_val_score(quick, X, y, cv=3, n_jobs=2)) == 3
    search = GridSearchCV(quick, {"hidden": [(8,), (32,)]}, cv=2).fit(X, y)
    assert search.best_params_["hidden"] in [(8,), (32,)]
    quick.fit(X, y)
    copy = pickle.loads(pickle.dumps(quick))
    np.testing.assert_array_equal(copy.predict(X), quick.predict(X))
    again = clone(quick).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), quick.predict(X))
    other = clone(quick).set_params(random_state=4).fit(X, y)
    assert (other.predict(X) != quick.predict(X)).any()


def test_model_is_a_file_of_the_command_line(data, tmp_path):
    X, y = data
    model = Regressor(learner="network", hidden=(16,), epochs=5, folds=0, random_state=3).fit(X, y)
    assert b"nextbatch regressor" in model.model_[:4096]


def test_ensembles(data):
    X, y = data
    model = Regressor(learner="network", hidden=(16,), epochs=5, folds=0, ensemble=3, random_state=3).fit(X, y)
    assert model.valid_rmse_.shape == (3,)


def test_several_targets(data):
    X, y = data
    both = np.c_[y, 50 - 10 * y]
    model = Regressor(learner="network", hidden=(64, 64), epochs=128, folds=0, ensemble=2, random_state=0).fit(X[:200], both[:200])
    assert model.score(X[200:], both[200:]) > 0.8 and model.valid_rmse_.shape == (2, 2)
    answers = model.predict(X[200:], return_std=True, return_interval=0.9)
    assert [a.shape for a in answers] == [(100, 2)] * 4
    mean, std, low, high = answers
    np.testing.assert_array_equal(mean, model.predict(X[200:]))
    assert ((low <= both[200:]) & (both[200:] <= high)).mean(axis=0).min() > 0.7 and (std[:, 1] > std[:, 0]).all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert Regressor(learner="network", hidden=(8,), epochs=2, folds=0).fit(X, y[:, None]).predict(X).shape == (300, 1)


def test_a_column_far_from_zero(near_and_far):
    near, far, y = near_and_far
    models = [Regressor(learner="network", hidden=(16,), epochs=60, folds=5, random_state=1).fit(x[:40], y[:40]) for x in (near, far)]
    assert models[1].score(far, y) > 0.9
    want, got = (m.predict(x, return_interval=True) for m, x in zip(models, (near, far), strict=True))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"epochs": 0}, "epochs"), ({"folds": 1}, "1 folds"), ({"holdout": 2.0}, "hold out"), ({"activation": "x"}, "activation")],
)
def test_settings_that_cannot_be(data, settings, message):
    with pytest.raises(nextbatch.NextbatchError, match=message):
        Regressor(learner="network", **settings).fit(*data)


def test_too_few_rows_for_an_interval(data):
    X, y = data
    model = Regressor(learner="network", hidden=(8,), epochs=2, folds=0).fit(X[:12], y[:12])
    with pytest.raises(nextbatch.DataError, match="coverage|rows"):
        model.predict(X, return_interval=0.99)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.filterwarnings("ignore::nextbatch.NextbatchWarning")
def test_frames_with_words_dates_and_gaps(columns, library):
    frames = pytest.importorskip(library)
    y = np.nan_to_num(columns["temperature"]) / 20 + 3.0 * (np.array(columns["site"]) == "A")
    X = frames.DataFrame({k: v for k, v in columns.items() if k not in ("name", "y")})
    model = Regressor(learner="trees", random_state=0)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.7
    model.fit(X[:80], y[:80])
    assert list(model.feature_names_in_) == list(X.columns) and model.n_features_in_ == 7
    mean, low, high = model.predict(X[80:], return_interval=True)
    assert mean.shape == (40,) and np.isfinite(mean).all() and (low <= high).all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[list(X.columns)[::-1]])


def test_frames_of_numbers_are_arrays(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame, model = pandas.DataFrame(X, columns=["a", "b"]), Regressor(learner="gp", random_state=0)
    of_frame, of_array = (model.fit(x, y).predict(x) for x in (frame, X))
    np.testing.assert_array_equal(of_frame, of_array)
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_array_equal(model.predict(frame), of_array)  # by their places
    numbered = pandas.DataFrame(X)
    np.testing.assert_array_equal(model.fit(numbered, y).predict(numbered), of_array)


def test_gaps_in_arrays(data):
    X, y = data
    gaps = np.where(np.arange(600).reshape(300, 2) % 17 == 0, np.nan, X)
    model = Regressor(learner="trees", random_state=0)
    with pytest.warns(nextbatch.NextbatchWarning, match="missing inputs are imputed"):
        assert model.fit(gaps, y).score(gaps, y) > 0.8
    model.fit(X, y)
    with pytest.warns(nextbatch.NextbatchWarning, match="no inputs at all"):
        predicted = model.predict([[1.0, np.nan], [np.nan, np.nan]])  # where the rows of the fit had no gaps
    assert np.isfinite(predicted[0]) and np.isnan(predicted[1])
    with pytest.raises(nextbatch.DataError, match="X: .* lack an input"):
        Regressor(learner="trees", missing="refuse").fit(gaps, y)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(np.isnan(gaps), np.inf, gaps), y)


def test_sparse_matrices(data):
    sparse = pytest.importorskip("scipy.sparse")
    X, y = data
    model = Regressor(learner="gp", random_state=0)
    expected = model.fit(X, y).predict(X)
    for matrix in (sparse.csr_matrix(X), sparse.dok_array(X)):
        np.testing.assert_array_equal(model.fit(matrix, y).predict(matrix), expected)


def test_labels_with_another_index(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=["a", "b"], index=[f"r{i}" for i in range(300)])
    labels, model = pandas.Series(y, index=frame.index), Regressor(learner="trees", random_state=0)
    expected = model.fit(frame, labels).predict(frame)
    np.testing.assert_array_equal(model.fit(frame, labels.reset_index(drop=True)).predict(frame), expected)
    with pytest.raises(nextbatch.DataError, match=r"y.loc\[X.index\]"):
        model.fit(frame, labels[::-1])


def test_two_names_of_the_seed(data):
    X, y = data
    settings = {"learner": "network", "hidden": (8,), "epochs": 3}
    one, two = (Regressor(**settings, **{name: 5}).fit(X, y).predict(X) for name in ("seed", "random_state"))
    np.testing.assert_array_equal(one, two)
    Regressor(**settings, random_state=np.random.default_rng(0)).fit(X, y)
    with pytest.raises(nextbatch.RequestError, match="two names of one thing"):
        Regressor(**settings, seed=1, random_state=1).fit(X, y)


def test_a_fit_does_not_pay_for_intervals(data):
    X, y = data
    stages = {}
    settings = {"learner": "network", "hidden": (8,), "epochs": 4, "random_state": 0, "progress": lambda stage, done, of: stages.update({stage: of})}
    model = Regressor(**settings).fit(X, y)
    assert stages == {"training": 4}
    with pytest.warns(nextbatch.NextbatchWarning, match="fit it with folds=5"):
        model.predict(X, return_interval=True)
    Regressor(**settings, folds=None).fit(X, y)
    assert stages == {"training": 24}


def test_a_pickle_of_an_earlier_version(data):
    X, y = data
    model = Regressor(learner="gp", random_state=0).fit(X, y)
    arrays = nextbatch._worker.call("fit", {"learner": "gp", "seed": 0}, [X, y])[1]
    expected = model.predict(X)
    model.model_ = arrays[0].tobytes()
    del model._names, model._array, model._advised_folds
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-5)


def test_predictions_keep_to_the_range_of_the_labels(data):
    x, y = data
    for limits in ("0..0.5", (0, 0.5), ["0..0.5"]):
        model = Regressor(learner="gp", random_state=0, range=limits).fit(x, np.clip(y, 0, 0.5))
        for values in model.predict(x, return_interval=True):
            assert values.min() >= 0
            assert values.max() <= 0.5
    with pytest.raises(nextbatch.DataError, match="outside the declared range 0..0.5"):
        Regressor(range="0..0.5").fit(x, np.where(np.arange(len(y)) == 3, 2.0, np.clip(y, 0, 0.5)))
    with pytest.raises(nextbatch.RequestError, match="range must be such as"):
        Regressor(range=3).fit(x, y)
