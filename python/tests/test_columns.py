"""Columns that NumPy and pandas say more about than their values: masks, orders, categories of any kind, names that are numbers."""

from __future__ import annotations

import numpy as np
import pytest

import nextbatch
from nextbatch import _tables

pandas = pytest.importorskip("pandas")

GP = {"n": 4, "learner": "gp"}

pytestmark = pytest.mark.filterwarnings("ignore:the intervals:nextbatch.NextbatchWarning")


@pytest.fixture
def masked(rng) -> tuple[np.ndarray, np.ma.MaskedArray, np.ma.MaskedArray]:
    """Rows, the same where -9999 stands for a gap, and labels of which every other is hidden."""
    x = rng.normal(size=(60, 3))
    gaps = rng.uniform(size=x.shape) < 0.1
    y = np.ma.masked_array(np.where(np.arange(60) % 2, -9999.0, x.sum(axis=1)), np.arange(60) % 2 == 1)
    return np.where(gaps, np.nan, x), np.ma.masked_array(np.where(gaps, -9999.0, x), gaps), y


@pytest.mark.filterwarnings("ignore::nextbatch.NextbatchWarning")
def test_what_a_mask_hides_is_missing(masked):
    x, hidden, y = masked
    want = nextbatch.select(x, y.filled(np.nan), **GP)
    for labels in (y, list(y), np.ma.masked_array([str(v) for v in y.data], y.mask)):
        assert nextbatch.select(hidden, labels, **GP).indices.tolist() == want.indices.tolist()
    names = "abc"
    columns = {name: hidden[:, j] for j, name in enumerate(names)}
    frame = pandas.DataFrame(x, columns=list(names)).assign(y=y.filled(np.nan))
    assert nextbatch.select({**columns, "y": y}, "y", **GP).indices.tolist() == nextbatch.select(frame, "y", **GP).indices.tolist()


def test_masks_of_every_type():
    mask = [False, True, False]
    column = {
        "whole": np.ma.masked_array([1, -9999, 2], mask), "true": np.ma.masked_array([True, False, False], mask),
        "words": np.ma.masked_array(["x", "lost", "y"], mask), "days": np.ma.masked_array(np.array(["2024-01-01"] * 3, "M8[ns]"), mask),
        "plain": np.ma.masked_array([1.0, 2.0, 3.0]),
    }  # fmt: skip
    made = {c["name"]: c for c in _tables.table_of(column, "rows").columns}
    np.testing.assert_array_equal(made["whole"]["arrays"][0], [1, np.nan, 2])
    assert made["plain"]["arrays"][0].tolist() == [1, 2, 3]
    assert {name: made[name]["arrays"][0].tolist() for name in ("true", "words", "days")} == {"true": [0, -1, 1], "words": [0, -1, 1], "days": [0, -1, 0]}
    np.testing.assert_array_equal(_tables.matrix_of(np.ma.masked_array([[True, False]], [[False, True]]), "rows"), [[1, np.nan]])


@pytest.mark.filterwarnings("ignore::nextbatch.NextbatchWarning")
def test_masks_of_estimators_and_features(masked):
    pytest.importorskip("sklearn")
    x, hidden, y = masked
    known = np.arange(0, 60, 2)
    settings = {"learner": "trees", "random_state": 1}
    model = nextbatch.Regressor(**settings).fit(hidden[known], y.data[known])
    want = nextbatch.Regressor(**settings).fit(x[known], y.data[known])
    np.testing.assert_array_equal(model.predict(hidden), want.predict(x))
    with pytest.raises(ValueError, match="NaN"):
        nextbatch.Regressor(**settings).fit(x, y)
    with pytest.raises(nextbatch.DataError, match="is NaN"):
        nextbatch.select_features(None, hidden, 3)


def test_masks_in_a_campaign(tmp_path):
    rows = np.arange(12.0).reshape(6, 2) ** 2
    labels = np.ma.masked_array([1.0, -9999, -9999, -9999, -9999, -9999], [False] + [True] * 5)
    campaign = nextbatch.Campaign.new(tmp_path / "c.db", rows, "y", labels=labels)
    assert campaign.status().labelled == 1
    assert campaign.tell([1, 2], np.ma.masked_array([2.0, -9999], [False, True])).ids.tolist() == [1]
    assert campaign.tell({"row": [3, 4], "y": np.ma.masked_array([-9999, 2], [True, False])}).ids.tolist() == [4]


def test_masks_of_tensors(masked):
    torch = pytest.importorskip("torch")
    from nextbatch.compat import TensorFeatureData, select_batch

    model = torch.nn.Linear(3, 1)
    assert np.isnan(nextbatch.torch.features(model, masked[1], sketch=None)).any()
    with pytest.raises(nextbatch.DataError, match="is NaN"):
        select_batch(3, [model], {"train": TensorFeatureData(torch.ones(4, 3)), "pool": masked[1]}, None, "linear", [], "lcmd")


def test_names_that_are_numbers(rng):
    x = rng.normal(size=(40, 2))
    y = np.where(np.arange(40) < 20, x[:, 0], np.nan)
    want = nextbatch.select({"1": x[:, 0], "2": x[:, 1], "3": y}, "3", **GP)
    for table in ({1: x[:, 0], 2: x[:, 1], 3: y}, pandas.DataFrame({1: x[:, 0], 2: x[:, 1], 3: y})):
        assert nextbatch.select(table, "3", **GP).indices.tolist() == want.indices.tolist()
    for table in ({1: x[:, 0], "1": x[:, 1]}, pandas.DataFrame(x, columns=[1, "1"])):
        with pytest.raises(nextbatch.DataError, match="labelled: there are columns 1 and '1', whose names are the same text; rename one"):
            nextbatch.select(table, y, **GP)


def graded(values, categories=("low", "mid", "high"), ordered=True):
    return pandas.Categorical(np.asarray(categories)[np.asarray(values)], categories=list(categories), ordered=ordered)


def inputs(frame, **more) -> int:
    return nextbatch.select(frame, "y", **GP, **more).details["metrics"]["inputs"]


def test_an_order_is_an_input(rng):
    grade = rng.integers(0, 3, 60)
    frame = pandas.DataFrame({"a": rng.normal(size=60), "grade": graded(grade), "y": np.where(np.arange(60) < 30, 2.0 * grade + rng.normal(size=60), np.nan)})
    assert inputs(frame) == 1 + 3 + 1
    assert inputs(frame.assign(grade=graded(grade, ordered=False))) == 1 + 3
    assert inputs(frame.assign(grade=graded(np.minimum(grade, 1), ("low", "high")))) == 1 + 1  # the one of two categories tells their order
    assert inputs({name: frame[name].array for name in frame}) == 1 + 3 + 1
    train, pool = frame[:30], frame[30:].drop(columns="y")
    whole = nextbatch.select(train, "y", pool, **GP)
    assert whole.details["metrics"]["inputs"] == 5
    few = pool.assign(grade=graded(np.minimum(grade[30:], 1), ("low", "high")))
    assert nextbatch.select(train, "y", few, **GP).details["metrics"]["inputs"] == 5
    turned = pool.assign(grade=pool["grade"].cat.reorder_categories(["high", "mid", "low"]))
    with pytest.raises(nextbatch.DataError, match="pool: column 'grade' has categories in the order high < mid < low, but elsewhere in the order low < mid < high"):
        nextbatch.select(train, "y", turned, **GP)


def test_an_order_helps_where_a_category_is_rare(rng, tmp_path):
    """Ten grades of which one has no label yet: its place tells what it is like."""
    pytest.importorskip("sklearn")
    names = [f"grade {c}" for c in "qwertyuiop"]
    grade = np.concatenate([np.delete(np.arange(10), 8).repeat(6), [8] * 6, np.delete(np.arange(10), 8).repeat(2)])
    frame = pandas.DataFrame({"grade": graded(grade, names), "a": rng.normal(size=len(grade))})
    errors = []
    for ordered in (True, False):
        X = frame.assign(grade=graded(grade, names, ordered))
        y = np.where(np.arange(len(grade)) < 54, 3.0 * grade, np.nan)
        campaign = nextbatch.Campaign.new(tmp_path / f"{ordered}.db", X, "y", labels=y, learner="gp")
        assert ("ordered" in campaign.status().settings) == ordered
        predicted = nextbatch.Regressor(learner="gp", random_state=1).fit(X[:54], y[:54]).predict(X[54:])
        np.testing.assert_allclose(campaign.predict().mean, predicted, atol=0.5)
        errors.append(np.abs(predicted - 24)[:6].mean())
    assert errors[0] < errors[1] / 3
    campaign.change_settings(batch=3)


@pytest.mark.filterwarnings("ignore::nextbatch.NextbatchWarning")
@pytest.mark.parametrize(
    "values",
    [
        pandas.cut(pandas.Series(np.arange(40.0)), 4).astype(object),
        pandas.to_datetime(["2024-01-02", "2024-03-04"] * 20),
        pandas.period_range("2024-01", periods=2, freq="M").tolist() * 20,
        [(1, 2), (3, 4)] * 20,
        ["a", 1] * 20,
        [True, 1.5, None, b"x"] * 10,
    ],
    ids=["intervals", "timestamps", "periods", "tuples", "words and numbers", "anything"],
)
def test_categories_of_any_kind(values, rng):
    column = pandas.Series(values).astype("category")
    frame = pandas.DataFrame({"a": rng.normal(size=40), "kind": column, "y": np.where(np.arange(40) < 20, rng.normal(size=40), np.nan)})
    words = pandas.Series(column.cat.codes.map(lambda c: f"level {c}" if c >= 0 else None)).astype("category")
    assert inputs(frame) == inputs(frame.assign(kind=words)) > 1


def test_categories_of_one_text():
    frame = pandas.DataFrame({"kind": pandas.Series(["1", 1] * 4).astype("category"), "y": [1.0, 2.0] * 4})
    with pytest.raises(nextbatch.DataError, match="column 'kind' has two categories that read '1'; rename one"):
        nextbatch.select(frame, "y", **GP)
    with pytest.raises(nextbatch.DataError, match="make the column one of dtype category"):
        nextbatch.select(frame.assign(kind=pandas.interval_range(0, 8)), "y", **GP)


def test_times_of_numpy():
    days = np.array(["2024-01-02T00", "2024-01-03T00", "NaT"], "M8[ns]")
    made = _tables.table_of({"days": days, "took": np.array([1500, -1, "NaT"], "m8[ms]")}, "rows").columns
    assert made[0]["levels"] == ["2024-01-02", "2024-01-03"]
    np.testing.assert_array_equal(made[1]["arrays"][0], [1.5, -0.001, np.nan])
