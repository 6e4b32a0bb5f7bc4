"""The learner is chosen for the labels there are, and estimators of scikit-learn may be candidates."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import command

pytest.importorskip("sklearn", minversion="1.6")
from sklearn.base import BaseEstimator, RegressorMixin, clone  # noqa: E402
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.ensemble import RandomForestRegressor  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

import nextbatch  # noqa: E402
from nextbatch import Campaign, Regressor  # noqa: E402

SMALL = {"hidden": (8,), "epochs": 4}  # networks that take no time


@pytest.fixture
def linear(rng):
    """Rows whose label is linear, with noise: ridge regression predicts it best."""
    X = rng.normal(size=(360, 5))
    return X, X @ [3, -2, 1, 0.5, 0] + rng.normal(size=360)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", [{"learner": "auto", **SMALL}, {"learner": "trees", "learners": [Ridge()]}])
def test_check_estimator(settings):
    check_estimator(Regressor(random_state=0, **settings))


def test_a_blend(rng):
    X = rng.uniform(-2, 2, size=(300, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    model = Regressor(random_state=0, **SMALL).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.99
    assert [c["name"] for c in model.candidates_] == ["gp", "extra-trees", "boosting", "network"]
    assert sum(c["weight"] for c in model.candidates_) == pytest.approx(1)
    gp, trees, _, network = model.candidates_
    assert gp["error"] < trees["error"] and "gp" in model.learner_ and "RMSE out of fold" in model.learner_
    assert network["weight"] > 0 or network["left"]
    assert all((c["error"] is None) == bool(c["left"]) and c["error"] != 0 for c in model.candidates_)
    assert model.valid_rmse_.shape == (1,) and "cross-fitted" in model.intervals_ and model.estimators_ == {}
    mean, std, low, high = model.predict(X[200:], return_std=True, return_interval=True)
    assert ((low <= y[200:]) & (y[200:] <= high)).mean() > 0.75 and (std > 0).all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X[200:]), mean)
    np.testing.assert_array_equal(clone(model).fit(X[:200], y[:200]).predict(X[200:]), mean)
    assert Regressor(learner="gp").fit(X, y).learner_.startswith("1.00 gp")
    alone = Regressor(learner="network", folds=0, **SMALL).fit(X, y)
    assert alone.learner_ == "network" and alone.candidates_ == []


def test_own_learners(linear):
    X, y = linear
    calls = []
    learners = [RandomForestRegressor(20), ("ridge", Ridge()), Ridge(alpha=1e9), Ridge(alpha=1e8)]
    model = Regressor(learner="trees", learners=learners, random_state=0, progress=lambda *a: calls.append(a)).fit(X[:160], y[:160])
    names = [c["name"] for c in model.candidates_]
    assert names == ["extra-trees", "boosting", "RandomForestRegressor", "ridge", "Ridge", "Ridge-2"]
    weights = {c["name"]: c["weight"] for c in model.candidates_}
    assert weights["ridge"] > 0.7 and set(model.estimators_) == {n for n in names[2:] if weights[n] > 0}
    assert ("fitting ridge", 6, 6) in calls and learners[0].random_state is None and not hasattr(learners[1][1], "coef_")
    mean, std, low, high = model.predict(X[160:], return_std=True, return_interval=0.9)
    assert 0.82 < ((low <= y[160:]) & (y[160:] <= high)).mean() < 0.97
    assert np.sqrt(((mean - y[160:]) ** 2).mean()) < 1.15 and np.sqrt((std**2).mean()) == pytest.approx(1, abs=0.25)
    model.set_params(progress=False)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X[160:]), mean)
    np.testing.assert_array_equal(clone(model).fit(X[:160], y[:160]).predict(X[160:]), mean)
    assert len(cross_val_score(model, X, y, cv=2)) == 2


def test_own_learners_of_several_targets(linear):
    X, y = linear
    model = Regressor(learner="trees", learners=[Ridge()], random_state=0).fit(X[:100], np.c_[y, -y][:100])
    assert len(model.learner_) == len(model.candidates_) == len(model.estimators_["Ridge"]) == 2
    mean = model.predict(X[100:])
    assert np.corrcoef(mean[:, 0], mean[:, 1])[0, 1] < -0.9


class Remembers(RegressorMixin, BaseEstimator):
    """Knows the labels of the rows that it has seen by heart, and nothing of others."""

    def fit(self, X, y):
        self.labels_ = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
        return self

    def predict(self, X):
        return np.array([self.labels_.get(row.tobytes(), 0.0) for row in X])


def test_held_out_rows_are_not_learnt(linear):
    X, y = linear
    model = Regressor(learner="gp", learners=[Remembers()], random_state=0).fit(X, y)
    own = model.candidates_[-1]
    assert own["error"] == pytest.approx(np.sqrt((y**2).mean())) and own["weight"] < 0.05
    batch = nextbatch.select(X[:60], y[:60], X[60:], 4, learner="gp", learners=[Remembers()])
    assert batch.candidates[-1]["error"] > 0.5 * y.std()


def test_select_with_own_learners(linear):
    X, y = linear
    batch = nextbatch.select(X[:80], y[:80], X[80:], 6, learner="trees", learners=[("ridge", Ridge())], seed=2)
    weights = {c["name"]: c["weight"] for c in batch.candidates}
    assert weights["ridge"] > 0.7 and "ridge" in batch.learner
    whole = Ridge().fit(X[:80], y[:80]).predict(X[80:][batch.indices])
    np.testing.assert_allclose(batch.predictions, whole, atol=3 * (1 - weights["ridge"]) * y.std() + 1e-9)
    assert (batch.low < batch.predictions).all()
    # in one table, where candidates are the rows without a label, and with two targets
    labels = np.where(np.arange(len(y)) % 3 == 0, y, np.nan)
    one = nextbatch.select(X, np.c_[labels, -labels], n=6, learner="trees", learners=[("ridge", Ridge())], seed=2)
    assert np.isnan(labels[one.indices]).all() and len(one.details["targets"]) == 2
    np.testing.assert_allclose(one.predictions, y[one.indices], atol=4)
    again = nextbatch.select(X, np.c_[labels, -labels], n=6, learner="trees", learners=[("ridge", Ridge())], seed=2, threads=1)
    np.testing.assert_array_equal(again.predictions, one.predictions)


@pytest.mark.parametrize("settings", [SMALL, {"learner": "trees"}, {"learner": "gp"}])
def test_select_equals_command_line(linear, tmp_path, settings):
    X, y = linear
    table = np.c_[X, np.where(np.arange(len(y)) < 30, y, np.nan)]
    np.savetxt(tmp_path / "table.csv", table, delimiter=",", header="x0,x1,x2,x3,x4,y", comments="", fmt="%.17g")
    lines = (tmp_path / "table.csv").read_text().replace("nan", "")
    (tmp_path / "table.csv").write_text(lines)
    flags = ["--hidden", "8", "--epochs", "4"] if settings is SMALL else ["--learner", settings["learner"]]
    want = command("select", str(tmp_path / "table.csv"), "--target", "y", "-n", "6", "--seed", "3", *flags)
    got = nextbatch.select(X, table[:, -1], n=6, seed=3, **settings)
    assert got.indices.tolist() == want["indices"] and got.learner == want["learner"] and got.method == want["spec"]


@pytest.mark.filterwarnings("ignore")  # of missing inputs, and of the budget
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_own_learners_of_frames(columns, library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({k: columns[k] for k in ("name", "temperature", "material", "site", "hours", "y")})
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["site"]), ("passthrough", ["temperature"]))
    learners = [("ridge", make_pipeline(encode, Ridge()))]
    batch = nextbatch.select(frame, "y", n=4, id="name", cost="hours", budget=9, learner="trees", learners=learners)
    assert [c["name"] for c in batch.candidates][2:] == ["ridge"] and len(batch) >= 2
    with pytest.raises(nextbatch.DataError, match="the learner Ridge cannot be fitted: .*(steel|brass|glass|string|convert)"):
        nextbatch.select(frame, "y", n=4, id="name", learner="trees", learners=[Ridge()])
    with pytest.raises(nextbatch.RequestError, match="dictionary"):
        nextbatch.select(columns, "y", n=4, id="name", learner="trees", learners=learners)


class Fails(Remembers):
    """Predicts what cannot be."""

    def predict(self, X):
        return np.full(len(X), np.nan)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": "oracle"}, "learner is auto, network, gp, trees or in-context"),
        ({"learner": "auto", "folds": 3}, "of a network alone"),
        ({"learner": "gp", "epochs": 3}, "epochs sets the training of a network, but learner gp trains none"),
        ({"learner": "trees", "ensemble": 2}, "ensemble sets the training of a network, but learner trees trains none"),
        ({"learner": "auto", "activation": "relu"}, "activation relu is for learner network"),
        ({"learner": "auto", "holdout": 0.1}, "of a network alone"),
        ({"learner": "network", "learners": [Ridge()]}, "choose the learner auto"),
        ({"learners": [Ridge]}, "estimators with fit and predict"),
        ({"learners": ["ridge"]}, "estimators with fit and predict"),
        ({"learners": [("gp", Ridge())]}, "two learners"),
        ({"learners": [("mine", Ridge(alpha=-1))]}, "the learner mine cannot be fitted"),
        ({"learners": [Fails()]}, "the learner Fails should predict one finite number"),
    ],
)
def test_learners_that_cannot_be(linear, settings, message):
    X, y = linear
    with pytest.raises(nextbatch.NextbatchError, match=message):
        Regressor(**{"learner": "gp", **settings}).fit(X[:40], y[:40])


def test_too_few_labels(linear):
    X, y = linear
    with pytest.raises(nextbatch.DataError, match="4 rows have a label"):
        Regressor(learners=[Ridge()]).fit(X[:4], y[:4])
    with pytest.warns(nextbatch.NextbatchWarning, match="too few to train a model"):
        assert nextbatch.select(X[:4], y[:4], X[4:], 3, learners=[Ridge()]).learner == ""


def test_predictions_of_an_ensemble(rng):
    train, pool = rng.normal(size=(20, 6)), rng.normal(size=(80, 6))
    batch = nextbatch.select_features(train, pool, 5, "lcmd-tp:predictions")
    shifted = nextbatch.select_features(train + rng.integers(0, 4, (20, 1)), pool + rng.integers(0, 4, (80, 1)), 5, "lcmd-tp:predictions")
    assert batch.indices.tolist() == shifted.indices.tolist()
    centred = [(rows - rows.mean(axis=1, keepdims=True)) / np.sqrt(6) for rows in (train, pool)]
    assert nextbatch.select_features(*centred, 5, "lcmd-tp:features").indices.tolist() == batch.indices.tolist()


def test_campaigns_have_the_setting(linear, tmp_path):
    X, y = linear
    labels = np.where(np.arange(len(y)) < 30, y, np.nan)
    campaign = Campaign.new(tmp_path / "c.db", X, "y", labels=labels, **SMALL)
    assert campaign.status().settings["learner"] == "auto"
    assert len(campaign.ask(3)) == 3 and campaign.predict().mean.shape == (327,)
    campaign.change_settings(learner="trees")
    assert campaign.status().settings["learner"] == "trees" and campaign.status().settings["network"]["architecture"]["hidden"] == [8]
    with pytest.raises(nextbatch.RequestError, match="learner is auto"):
        campaign.change_settings(learner="oracle")
