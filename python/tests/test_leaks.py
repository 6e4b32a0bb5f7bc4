"""Columns that are measured together with the label are no inputs, unless they are kept."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import QUICK

import nextbatch
from nextbatch import Campaign, NextbatchWarning

TABLES = Path(__file__).parents[2] / "tables" / "testdata" / "leaks"

STORIES = [
    ("conversion", "conversion", "it has values in 24 of 24 labelled rows and in 0 of 96 others, so it is measured together with the label"),
    ("renamed", "outcome", "it equals the label in all 24 rows that have both, so it is a copy of it"),
    ("notes", "notes", "it has values in 19 of 24 labelled rows and in 0 of 276 others, so it is measured together with the label"),
]


EXPECTED = [
    line.rstrip("\n").split(" | ")
    for line in (TABLES / "expected.txt").read_text(encoding="utf-8").splitlines()
    if " | " in line and not line.startswith("#")
]


def read(name: str) -> dict[str, list[Any]]:
    """Read a table: columns of numbers as such, and the others as words."""
    with open(TABLES / f"{name}.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter=";" if name == "haerte" else ","))
    columns: dict[str, list[Any]] = {key: [row[key] for row in rows] for key in rows[0]}
    for key, values in columns.items():
        try:
            columns[key] = [float(v.replace(",", ".")) if v else np.nan for v in values]
        except ValueError:
            columns[key] = [v or None for v in values]
    return columns


def said(call: Callable[[], Any]) -> str:
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return "\n".join(str(w.message) for w in caught if issubclass(w.category, NextbatchWarning))


@pytest.mark.parametrize(("table", "column", "why"), STORIES)
def test_select(table: str, column: str, why: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(read(table))
    text = f'column "{column}" is not used: {why}; keep=["{column}"] makes it an input'
    assert text in said(lambda: nextbatch.select(frame, "yield", n=3, id="id", **QUICK))
    # the label apart from the rows, which still have it
    apart = said(lambda: nextbatch.select(frame, frame["yield"], n=3, id="id", **QUICK))
    assert f'"{column}"' in apart and '"yield"' in apart and "equals the label in all 24 rows that have both" in apart
    kept = said(lambda: nextbatch.select(frame, "yield", n=3, id="id", keep=[column], **QUICK))
    assert "is not used" not in kept


@pytest.mark.parametrize(("table", "column", "why"), STORIES)
def test_campaign(table: str, column: str, why: str, tmp_path: Path) -> None:
    rows = read(table)
    text = f'column "{column}" is not used: {why}; keep=["{column}"] makes it an input'
    made: list[Campaign] = []
    assert text in said(lambda: made.append(Campaign.new(tmp_path / "a.db", rows, "yield", id="id", **QUICK)))
    assert text in said(lambda: made[0].ask(3))
    labels = rows.pop("yield")
    assert text in said(lambda: made.append(Campaign.new(tmp_path / "b.db", rows, "yield", labels=labels, id="id", **QUICK)))
    assert said(lambda: Campaign.new(tmp_path / "c.db", rows, "yield", labels=labels, id="id", keep=[column])) == ""
    row = {key: [values[0]] for key, values in rows.items()} | {"id": ["new"], "yield": [50.0]}
    assert column in said(lambda: made[1].add(row))


@pytest.mark.parametrize(("table", "target", "columns", "says"), EXPECTED)
def test_corpus(table: str, target: str, columns: str, says: str, tmp_path: Path) -> None:
    """A new campaign names the columns that are not inputs, and no others."""
    text = said(lambda: Campaign.new(tmp_path / "a.db", read(table), target, id="id", **QUICK))
    if columns == "-":
        assert "is not used" not in text
    else:
        assert says in text and all(f'"{column}"' in text for column in columns.split()[:5]), text


def test_name_of_the_label(tmp_path: Path) -> None:
    """A column with the name of the label is none, though its values are others."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(9)
    frame = pandas.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    frame["ic50"] = np.exp(frame["a"] - frame["b"])
    text = 'column "ic50" is not used: it has the name of the label ("_ic50"); keep=["ic50"] makes it an input'
    model = nextbatch.Regressor(random_state=1, **QUICK)
    assert text in said(lambda: model.fit(frame, np.log10(frame["ic50"])))
    assert np.array_equal(model.predict(frame), model.predict(frame.assign(ic50=1.0)))
    half = np.log10(frame["ic50"]).where(frame.index < 30)
    assert text in said(lambda: nextbatch.select(frame, half, n=2, **QUICK))
    assert "name of the label" not in said(lambda: nextbatch.select(frame, half, n=2, keep=["ic50"], **QUICK))
    # without a name, none is the same
    assert "name of the label" not in said(lambda: nextbatch.select(frame.rename(columns={"a": "y"}), half.to_numpy(), n=2, **QUICK))
    with pytest.raises(nextbatch.RequestError, match="rows has a column 'ic50', and labels has the labels of it"):
        Campaign.new(tmp_path / "a.db", frame, "ic50", labels=half)


def test_arrays() -> None:
    """A column of an array that has numbers only where there are labels is none of the inputs either."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 4))
    y = x[:, 0] - x[:, 1] + 0.1 * rng.normal(size=200)
    x[:, 2] = y + rng.normal(size=200)
    y[30:] = x[30:, 2] = np.nan
    x[:, 3] = np.arange(200)  # an input of an array, although it looks like row numbers
    text = said(lambda: nextbatch.select(x, y, n=3, **QUICK))
    assert 'column "x2" is not used: it has values in 30 of 30 labelled rows and in 0 of 170 others' in text
    assert "x3" not in text.split("labelled rows are unlike the others")[0]
    assert "is not used" not in said(lambda: nextbatch.select(x, y, n=3, keep=["x2"], **QUICK))


def test_own_learners() -> None:
    """Nor do the user's own learners get it."""
    seen: list[tuple[str, ...]] = []

    class Own:
        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {}

        def fit(self, inputs: Any, labels: Any) -> Own:
            seen.append(tuple(inputs.columns))
            self.mean = float(np.mean(labels))
            return self

        def predict(self, inputs: Any) -> Any:
            return np.full(len(inputs), self.mean)

    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(read("conversion"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nextbatch.select(frame, "yield", n=3, id="id", learners=[("own", Own())], seed=1)
    assert set(seen) == {("temperature", "ligand", "loading")}

    numbers = pandas.DataFrame({"a": np.arange(40.0) % 7, "b": np.arange(40.0) % 5})
    numbers["label"] = numbers["a"] - numbers["b"]
    seen.clear()
    model = nextbatch.Regressor(learners=[("own", Own())], random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(numbers, numbers["label"]).predict(numbers)
    assert set(seen) == {("a", "b")}


def test_regressor() -> None:
    """A frame that still has the label is fitted without it."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    frame = pandas.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    frame["label"] = frame["a"] - frame["b"] ** 2
    model = nextbatch.Regressor(random_state=1, **QUICK)
    assert 'column "label" is not used: it equals the label in all 60 rows that have both' in said(lambda: model.fit(frame, frame["label"]))
    shifted = frame.assign(label=100.0)
    assert np.array_equal(model.predict(frame), model.predict(shifted))
