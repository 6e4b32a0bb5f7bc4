"""Spaces of factors, as descriptions of our own and as BayBE's JSON."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from conftest import QUICK

import nextbatch

TEXT = """
cost = "hours"
[[factor]]
name = "heat"
range = [20, 120]
step = 5
unit = "°C"
[[factor]]
name = "hours"
levels = [1, 2, 4]
[[factor]]
name = "solvent"
categories = ["DMF", "water"]
[[factor]]
name = "pressure"
integers = [2, 4]
when = { solvent = "water" }
[[constraint]]
forbid = { solvent = "DMF", heat = "> 100" }
"""


def test_a_space_of_each_form(tmp_path: Path) -> None:
    """A file, a text and a mapping say the same."""
    file = tmp_path / "space.toml"
    file.write_text(TEXT, encoding="utf-8")
    mapping = {
        "factor": [
            {"name": "heat", "range": [20, np.int64(120)], "step": 5.0, "unit": "°C"},
            {"name": "hours", "levels": np.array([1, 2, 4])},
            {"name": "solvent", "categories": ("DMF", "water")},
            {"name": "pressure", "integers": [2, 4], "when": {"solvent": "water"}},
        ],
        "constraint": [{"forbid": {"solvent": "DMF", "heat": "> 100"}}],
        "cost": "hours",
    }
    first, *others = [nextbatch.Space(d).candidates() for d in (file, TEXT, mapping)]
    assert list(first) == ["heat (°C)", "hours", "solvent", "pressure", "cost"]
    assert len(first["hours"]) == 17 * 3 + 21 * 3 * 3
    assert np.isnan(first["pressure"]).sum() == 17 * 3
    for other in others:
        for name, column in first.items():
            np.testing.assert_array_equal(column, other[name])
    assert nextbatch.Space(mapping).describe()["candidates"] == str(len(first["hours"]))


def test_batches_of_a_space() -> None:
    """The candidates of a batch are those of the same seed, and a first batch needs no labels."""
    space = nextbatch.Space(TEXT)
    rows = space.candidates(seed=3)
    start = nextbatch.select(None, [], space=space, n=6, seed=3)
    assert len(set(start.indices)) == 6
    labelled = {name: column[:40] for name, column in rows.items()}
    batch = nextbatch.select(labelled, rows["heat (°C)"][:40], space=space, n=5, seed=3, **QUICK)
    same = nextbatch.select(labelled, rows["heat (°C)"][:40], rows, n=5, seed=3, **QUICK)
    assert list(batch) == list(same)
    with pytest.raises(nextbatch.RequestError, match="pool or space"):
        nextbatch.select(labelled, rows["hours"][:40], rows, space=space, n=5)


def test_wrong_spaces(tmp_path: Path) -> None:
    """Messages are those of the program, without names of files that nobody knows."""
    with pytest.raises(nextbatch.DataError, match=r"^space.toml, line 2: factor \"a\": it needs one of"):
        nextbatch.Space('[[factor]]\nname = "a"\n').describe()
    with pytest.raises(nextbatch.DataError, match="cannot be read"):
        nextbatch.Space(tmp_path / "none.toml")
    with pytest.raises(nextbatch.RequestError, match="--rows must be at least 1"):
        nextbatch.Space(TEXT).candidates(0)
    with pytest.raises(nextbatch.RequestError, match="cannot have the value"):
        nextbatch.Space({"factor": [{"name": None}]})


BAYBE = {
    "discrete": {
        "parameters": [
            {"type": "NumericalDiscreteParameter", "name": "x 1", "values": [3.0, 1.0, 2.0], "tolerance": 0.1},
            {"type": "NumericalDiscreteParameter", "name": "x2", "_values": [0.5, 1.5]},
            {"type": "CategoricalParameter", "name": "base", "values": ["KOH", "NaOH"], "encoding": "OHE"},
        ],
        "constraints": [
            {"type": "DiscreteSumConstraint", "parameters": ["x 1", "x2"], "condition": {"type": "ThresholdCondition", "threshold": 4.0, "operator": "<="}},
            {"type": "DiscreteExcludeConstraint", "parameters": ["x2", "base"], "combiner": "AND",
             "conditions": [{"type": "ThresholdCondition", "threshold": 1.0, "operator": ">"}, {"type": "SubSelectionCondition", "selection": ["KOH"]}]},
        ],
    },
}  # fmt: skip


def test_a_space_of_baybe() -> None:
    """The candidates are those that the JSON allows."""
    found = nextbatch.Space.from_baybe(json.dumps(BAYBE)).candidates()
    want = {
        (a, b, c) for a, b, c in product((1.0, 2.0, 3.0), (0.5, 1.5), ("KOH", "NaOH"))
        if a + b <= 4 and not (b > 1 and c == "KOH")
    }  # fmt: skip
    assert set(zip(found["x 1"], found["x2"], found["base"], strict=True)) == want
    continuous = {"parameters": [{"type": "NumericalContinuousParameter", "name": n, "bounds": [0, 1]} for n in "ab"],
                  "constraints_lin_ineq": [{"parameters": ["a", "b"], "coefficients": [1, -2], "rhs": 0.5}]}  # fmt: skip
    rows = nextbatch.Space.from_baybe({"continuous": continuous}).candidates(200)
    assert len(rows["a"]) == 200
    assert (rows["a"] - 2 * rows["b"] >= 0.5 - 1e-9).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": [{"type": "SubstanceParameter", "name": "s", "data": {}}]}, "'s' is a SubstanceParameter"),
        ({"parameters": [{"type": "TaskParameter", "name": "t", "values": ["a"]}]}, "'t' is a TaskParameter"),
        ({"constraints": [{"type": "DiscreteNoLabelDuplicatesConstraint", "parameters": ["a"]}]}, "NoLabelDuplicates"),
        ({"constraints_nonlin": [{}]}, "not linear"),
        ({"constructor": "from_dataframe", "parameters": []}, "list of candidates"),
    ],
)
def test_what_baybe_alone_means(change: dict, message: str) -> None:
    """What has no counterpart is named."""
    with pytest.raises(nextbatch.RequestError, match=message):
        nextbatch.Space.from_baybe(change)
