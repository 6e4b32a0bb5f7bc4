"""Bad input gives an exception that says what is wrong, and the next call works."""

from __future__ import annotations

import inspect
import re
from datetime import date

import numpy as np
import pytest
from conftest import QUICK

import nextbatch
from nextbatch import _arguments

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
        ({"epochs": 0}, "epochs must be a whole number from 1"),
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


ODD = [object(), {1, 2}, {"a": 1}, "text", 3, 2.5, -1, float("nan"), ["a"], True, 2**70, np.int64(2), np.array([1, 2]), b"x", date(2024, 1, 1)]


@pytest.mark.filterwarnings("ignore::nextbatch.NextbatchWarning")
@pytest.mark.parametrize("function", [nextbatch.select, nextbatch.select_features])
def test_any_value_of_any_argument(function):
    """What cannot be is an error of this package that says so in words: never Python's own, and never Go's or NumPy's words."""
    base = {"labelled": ROWS, "y": LABELS, "learner": "gp"} if function is nextbatch.select else {"train": ROWS}
    for name in set(inspect.signature(function).parameters) - {"progress"}:
        for value in ODD:
            try:
                function(**{**base, "pool": ROWS, "n": 2, name: value})
            except nextbatch.NextbatchError as error:
                assert not isinstance(error, nextbatch.WorkerError), (name, value)
                assert not re.search(r"json|Go |shape \(\)|reshape array|cannot be sent|cannot be used: ", str(error)), (name, value, error)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": 3}, "y is 3, where one number per row is expected"),
        ({"budget": "much"}, "budget must be a number, not 'much'"),
        ({"cost": ["a"]}, r"cost must be the name of a column, not \['a'\]"),
        ({"learner": None, "method": 3}, "method must be a text, not 3"),
        ({"weights": 2}, "weights must be a list of numbers, not 2"),
        ({"n": 2**70}, "n must be a whole number"),
        ({"seed": 2**70}, "seed must be a whole number that is not negative, and less than"),
        ({"must": 2.5}, "^must takes a list of rows, not 2.5"),
        ({"replicate_share": "half"}, "replicate_share must be a share from 0 to 1, such as '1/8' or 0.125, not 'half'"),
        ({"max_memory": "lots"}, "max_memory must be a number of bytes, or an amount such as '8GiB', not 'lots'"),
        ({"learners": 3}, "learners must be a list, not 3"),
        ({"labelled": {"a": 1}}, "labelled: column 'a' is 1, not a list of values"),
    ],
)
def test_sentences(arguments, message):
    with pytest.raises(ValueError, match=message):
        nextbatch.select(**{"labelled": ROWS, "y": LABELS, "pool": ROWS, "n": 3, **arguments})


def test_amounts_of_memory():
    memory = [_arguments.checked(max_memory=v)["max_memory"] for v in ("8GiB", "500 MB", "1e9", "1.5g", 2**33, 1e9)]
    assert memory == [8 << 30, 500_000_000, 10**9, 3 << 29, 1 << 33, 10**9]
    with pytest.raises(nextbatch.TooLittleMemoryError, match=r"would need about \d+ [KMG]iB, but max_memory is 1 KiB"):
        nextbatch.select(ROWS, LABELS, ROWS, 3, max_memory="1KiB", **QUICK)


def test_column_names_may_be_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS).assign(**{"2": np.where(np.arange(20) < 10, LABELS, np.nan), "3": [f"s{i}" for i in range(20)]})
    frame.columns = range(4)
    batch = nextbatch.select(frame, 2, n=3, id=3, **QUICK)
    want = nextbatch.select(frame.rename(columns=str), "2", n=3, id="3", **QUICK)
    assert batch.ids.tolist() == want.ids.tolist() == [f"s{i}" for i in batch.indices]


def test_a_category_that_there_is_not():
    """A misspelt column of codes would stay one of numbers without a word."""
    table = {"code": [float(i % 3) for i in range(20)], "x": ROWS[:, 0], "y": [1.0 * (i % 5) if i < 12 else None for i in range(20)]}
    message = 'categorical: there is no column "kode"; the columns are '
    with pytest.raises(nextbatch.DataError, match=message):
        nextbatch.select(table, "y", n=2, categorical=["kode"], **QUICK)
    with pytest.raises(nextbatch.DataError, match=message):
        nextbatch.Regressor(learner="gp", categorical=["kode"]).fit(ROWS, LABELS)
    assert len(nextbatch.select(table, "y", n=2, categorical=["code"], **QUICK)) == 2


def test_progress_that_is_none():
    for progress in ("x", 3, [print]):
        with pytest.raises(nextbatch.RequestError, match="progress must be True, False or a function, not "):
            nextbatch.select(ROWS, LABELS, ROWS, 2, progress=progress, **QUICK)
