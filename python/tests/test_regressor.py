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
