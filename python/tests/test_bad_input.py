"""Bad input gives an exception that says what is wrong, and the next call works."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import QUICK

import nextbatch

ROWS = np.arange(40.0).reshape(20, 2) % 7
LABELS = ROWS[:, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ROWS.astype(object), LABELS, ROWS), "labelled has elements of type object"),
        ((ROWS, LABELS, np.array([["a", "b"]])), "pool has elements of type <U1"),
        ((ROWS, LABELS.astype(complex), ROWS), "y has elements of type complex128"),
        ((ROWS[:, 0], LABELS, ROWS), r"labelled has 1 dimensions.*reshape\(-1, 1\)"),
        ((ROWS[None], LABELS, ROWS), "labelled has 3 dimensions"),
        ((ROWS, LABELS[:-1], ROWS), "y has 19 labels for 20 rows"),
        ((ROWS, ROWS[None], ROWS), r"y has the shape \(1, 20, 2\)"),
        ((ROWS, LABELS, ROWS[:, :1]), "labelled has 2 columns, pool 1"),
        ((ROWS, LABELS, np.where(ROWS == 0, np.inf, ROWS)), r"is \+Inf in row 0, column 0"),
        ((ROWS, LABELS, ROWS[:0]), "pool has no rows: there is nothing to pick from"),
        ((ROWS, LABELS, []), "pool has no rows: there is nothing to pick from"),
        ((None, [], ROWS), "labelled is None"),
        ((ROWS[:0], [1.0], ROWS), "y has 1 labels for 0 rows"),
        ((ROWS, np.full(20, np.nan), ROWS, 3, "lcmd-tp:grad"), "0 rows have a label"),
        ((ROWS, LABELS), "nothing to pick from, because all 20 rows have a label"),
        ((ROWS, None, ROWS), "give y"),
        ((ROWS, "y", ROWS), "labelled is an array: give the labels themselves"),
        ((ROWS, LABELS, {"a": [1.0]}), "must both be arrays, or both be frames"),
        (({}, "y"), "labelled has no columns"),
        (({"a": [1.0, 2.0], "y": [1.0]}, "y"), "column 'y' has 1 rows where others have 2"),
        (({"a": [1.0, 2.0]}, "y"), "labelled has no column 'y' with the labels; its columns are a"),
        (({"a": ["x", b"z"], "y": [1.0, 2.0]}, "y"), "column 'a' is neither numbers nor words: row 1 .* is a bytes"),
        (({"a": ROWS[:4, 0], "y": [1.0, 2.0, "lost", None]}, "y"), r'row 2 \(from 0\), column 2 \(y\): the value is not a number: "lost"'),
        ((ROWS[:2], [1.0, "lost"], ROWS), r'row 1 \(from 0\), column 3 \(y\): the value is not a number: "lost"; correct it'),
        (({"a": [[1], [2]], "y": [1.0, 2.0]}, "y"), "column 'a'"),
        ((ROWS, LABELS, ROWS, -1), "n must be a whole number"),
        ((ROWS, LABELS, ROWS, 2.5), "n must be a whole number"),
        ((ROWS, LABELS, ROWS, 0), "how many rows to pick with n"),
        ((ROWS, LABELS, ROWS, 3, "lcmd-tp:gradd"), "gradd"),
        ((ROWS, LABELS, ROWS, 3, "lcmd-tp:features"), "features"),
    ],
)
def test_select(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        nextbatch.select(*arguments, **QUICK)
    assert isinstance(caught.value, nextbatch.NextbatchError)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": [1.0, 2.0]}, "2 weights, but 1 target column"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"hidden": (0,)}, "hidden layer 1 has width 0"),
        ({"hidden": 0}, "hidden must be a list with the width of each hidden layer"),
        ({"hidden": (2.5,)}, "hidden must be a list with the width of each hidden layer"),
        ({"seed": 1, "random_state": 1}, "two names of one thing"),
        ({"random_state": "x"}, "random_state must be a whole number"),
        ({"activation": "step"}, "activation"),
        ({"missing": "guess"}, "missing"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"threads": -1}, "threads must be a whole number"),
        ({"must": ["first"]}, "named by their number"),
        ({"must": [99]}, "99"),
        ({"id": "name"}, "labelled is an array"),
        ({"keep": ["z"]}, "keep: column \"z\""),
        ({"budget": 3.0}, "budget needs the costs"),
        ({"max_memory": 1}, None),
    ],
)
def test_settings(settings, message):
    expected = ValueError if message else nextbatch.TooLittleMemoryError
    with pytest.raises(expected, match=message or "max_memory"):
        nextbatch.select(ROWS, LABELS, ROWS, 3, **{**QUICK, **settings})


@pytest.mark.parametrize(
    ("train", "pool", "message"),
    [
        (ROWS, np.where(ROWS == 0, np.nan, ROWS), r"pool: row 0, column 0 \(from 0\) is NaN"),
        (np.where(ROWS == 1, np.inf, ROWS), ROWS, r"train: row \d+, column \d is \+Inf".replace(" is", r" \(from 0\) is")),
        (ROWS[:, :1], ROWS, "train has 1 columns, pool 2"),
        (ROWS, ROWS[0], "pool has 1 dimensions"),
        (ROWS, [["a"]], "pool has elements of type"),
        (ROWS, [[1.0], [1.0, 2.0]], "pool cannot be made an array"),
        (None, ROWS[:0], "pool has no rows"),
        (None, [], "pool has no rows"),
    ],
)
def test_features(train, pool, message):
    with pytest.raises(nextbatch.DataError, match=message):
        nextbatch.select_features(train, pool, 3)


def test_frames(columns):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    for broken, message in [
        (frame.drop(columns="y"), "labelled has no column 'y'"),
        (pandas.concat([frame, frame[["site"]]], axis=1), "there are two columns 'site'"),
        (frame.assign(site=[{"a": 1}] * len(frame)), "column 'site'"),
        (frame.assign(y="high"), r'\(y\): the value is not a number: "high" \(120 times: rows 0, 1, 2, … from 0, ids s000'),
        (frame.assign(name="same"), "id .same."),
    ]:
        with pytest.raises(nextbatch.DataError, match=message):
            nextbatch.select(broken, "y", n=3, id="name", **QUICK)
    several = frame.copy()
    several.columns = pandas.MultiIndex.from_tuples([("a", c) for c in frame.columns])
    with pytest.raises(nextbatch.DataError, match="several levels"):
        nextbatch.select(several, "y", n=3, **QUICK)


def test_missing_inputs(columns):
    with pytest.warns(nextbatch.NextbatchWarning, match="pressure"):
        nextbatch.select(columns, "y", n=3, id="name", **QUICK)
    with pytest.raises(nextbatch.DataError, match="pressure"):
        nextbatch.select(columns, "y", n=3, id="name", missing="refuse", **QUICK)


def test_missing_inputs_say_how_to_drop_rows(columns):
    with pytest.warns(nextbatch.NextbatchWarning, match='imputed: .*; missing="drop" leaves such rows out'):
        nextbatch.select(columns, "y", n=3, id="name", **QUICK)


def test_labels_with_none_among_them():
    pandas = pytest.importorskip("pandas")
    labels: list = [None if i == 3 else v for i, v in enumerate(LABELS.tolist())]
    picks = nextbatch.select(ROWS, np.where(np.arange(20) == 3, np.nan, LABELS), ROWS, 3, **QUICK).indices.tolist()
    for y in (labels, np.array(labels, object), pandas.Series(labels, dtype=object), pandas.Series(labels).astype("Float64")):
        assert nextbatch.select(ROWS, y, ROWS, 3, **QUICK).indices.tolist() == picks
    frame = pandas.DataFrame(ROWS, columns=["a", "b"])
    with pytest.warns(nextbatch.NextbatchWarning, match="0 rows have a label"):
        assert len(nextbatch.select(frame[:0], pandas.Series([], dtype=object), frame, 3)) == 3


def test_labels_with_another_index(columns):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns).set_index("name")
    y, X = frame["y"], frame.drop(columns="y")
    picks = nextbatch.select(X, y, n=3, **QUICK).indices.tolist()
    assert nextbatch.select(X, y.reset_index(drop=True), n=3, **QUICK).indices.tolist() == picks
    with pytest.raises(nextbatch.DataError, match=r"y.loc\[labelled.index\]"):
        nextbatch.select(X, y[::-1], n=3, **QUICK)
