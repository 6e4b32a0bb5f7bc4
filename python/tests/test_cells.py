"""Tables that another program has read as text give what their files give on the command line."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from conftest import QUICK, QUICK_FLAGS, command

import nextbatch
from nextbatch import _binary, _tables

pandas = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::nextbatch.NextbatchWarning")


def typed(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".").replace(".", ",")


@pytest.fixture
def lines(rng) -> list[list[str]]:
    """A table as a laboratory types it, with its header: 90 rows, of which 45 have a label."""
    table = [["name", "temperature", "purity", "impurity", "mass", "solvent", "code", "measured", "yield"]]
    for i in range(90):
        x = rng.normal(size=4)
        temperature = f"{typed(50 + 20 * x[0])} °C" if i % 3 else typed(50 + 20 * x[0])
        purity = {4: "-", 5: "n.d.", 6: "lost"}.get(i % 30) or typed(90 + x[1])
        impurity = {2: "<LOD", 3: "< 0,5"}.get(i % 9) or typed(abs(x[2]) + 0.5)
        label = "" if i % 2 else "<0,25" if i % 20 == 4 else typed(3 * x[0] - x[2])
        table.append([
            f"s{i:02d}", temperature, purity, impurity, f"{i % 7 + 1}.{i * 7 % 1000:03d},5", ["water", "ethanol", "NA"][i % 3], f"{i * 37 % 11:03d}",
            f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}", label,
        ])  # fmt: skip
    return table


def written(lines: list[list[str]], path) -> str:
    path.write_text("".join(";".join(line) + "\n" for line in lines))
    return str(path)


def same(batch: nextbatch.Batch, want: dict) -> None:
    assert batch.indices.tolist() == want["indices"]
    assert batch.ids.tolist() == want["ids"]
    assert batch.reasons == want["reasons"]
    assert batch.details["metrics"]["inputs"] == want["metrics"]["inputs"]
    np.testing.assert_allclose(batch.scores, want["scores"])


@pytest.mark.parametrize("kind", ["str", "object", "gaps", "string", "polars", "dict"])
def test_text_equals_its_file(lines, tmp_path, kind):
    path = written(lines, tmp_path / "table.csv")
    want = command("select", path, "--target", "yield", "--id", "name", "-n", "9", *QUICK_FLAGS)
    table = pandas.read_csv(path, sep=";", dtype=str, keep_default_na=kind == "gaps")
    if kind in ("object", "string"):
        table = table.astype(kind)
    elif kind == "polars":
        table = pytest.importorskip("polars").from_pandas(table)
    elif kind == "dict":
        table = {name: table[name].tolist() for name in table}
    same(nextbatch.select(table, "yield", n=9, id="name", **QUICK), want)


def test_censored_values_dropped(lines, tmp_path):
    path = written(lines, tmp_path / "table.csv")
    frame = pandas.read_csv(path, sep=";", dtype=str)
    want = command("select", path, "--target", "yield", "--id", "name", "-n", "9", "--censored", "drop", *QUICK_FLAGS)
    batch = nextbatch.select(frame, "yield", n=9, id="name", censored="drop", **QUICK)
    same(batch, want)
    assert batch.details["metrics"]["inputs"] < nextbatch.select(frame, "yield", n=9, id="name", **QUICK).details["metrics"]["inputs"]
    with pytest.raises(nextbatch.RequestError, match='censored must be limit or drop, not "keep"'):
        nextbatch.select(frame, "yield", n=9, id="name", censored="keep", **QUICK)


def test_two_tables_and_labels_of_text(lines, tmp_path):
    labelled, pool = ([lines[0], *(line for line in lines[1:] if (line[-1] != "") == known)] for known in (True, False))
    pool = [line[:-1] for line in pool]
    train, candidates = written(labelled, tmp_path / "train.csv"), written(pool, tmp_path / "pool.csv")
    want = command("select", "--train", train, "--pool", candidates, "--target", "yield", "--id", "name", "-n", "7", *QUICK_FLAGS)
    frame, others = (pandas.read_csv(path, sep=";", dtype=str) for path in (train, candidates))
    y = frame.pop("yield")
    for labels in (y, y.to_numpy(), y.to_numpy(object)):
        same(nextbatch.select(frame, labels, others, 7, id="name", **QUICK), want)


@pytest.mark.parametrize("text", ["1,234", "1.234", "1 234,5", "1'234.5"])
def test_numbers_beside_columns_of_numbers(text, tmp_path):
    lines = [["a", "b", "y"], *([str(i * 7 % 13), text.replace("1", str(i % 9 + 1)), "" if i % 2 else f"{i % 5}.5"] for i in range(40))]
    path = written(lines, tmp_path / "table.csv")
    want = command("select", path, "--target", "y", "-n", "5", *QUICK_FLAGS)
    frame = pandas.read_csv(path, sep=";", dtype={"b": str})
    batch = nextbatch.select(frame, "y", n=5, **QUICK)
    assert batch.indices.tolist() == want["indices"] and batch.reasons == want["reasons"]


def test_numbers_and_words_in_one_column(tmp_path):
    """As pandas reads a workbook: stored numbers beside what was typed as text."""
    values = ["n.d." if i % 9 == 4 else "36,5" if i % 9 == 5 else i % 7 + 0.5 for i in range(40)]
    numbers = [np.nan if v == "n.d." else 36.5 if v == "36,5" else v for v in values]
    y = [np.nan if i % 2 else i % 5 for i in range(40)]
    batches = [nextbatch.select({"a": column, "y": y}, "y", n=5, **QUICK) for column in (values, numbers)]
    assert batches[0].indices.tolist() == batches[1].indices.tolist()


def test_messages():
    column = ["1,5", "lost", *(f"{i},25" for i in range(20)), "<0,5"]
    y = np.where(np.arange(23) % 2, np.nan, np.arange(23.0))
    with pytest.warns(nextbatch.NextbatchWarning) as caught:
        nextbatch.select({"a": column, "y": y}, "y", n=2, **QUICK)
    texts = [str(w.message) for w in caught]
    assert any(t.startswith('labelled: column "a" is numbers but for 1 cell, which is taken as missing: "lost" (row 1 from 0)') and 'categorical=["a"]' in t for t in texts)
    assert any('"<0,5" (row 22 from 0)' in t and 'censored="drop"' in t for t in texts)
    assert not any("--" in t for t in texts)


def test_categories_stay_categories():
    table = {"a": [f"{i % 3},5" for i in range(40)], "b": [str(i % 4) for i in range(40)], "c": ["AB"[i % 2] for i in range(40)], "y": [None if i % 2 else float(i % 7) for i in range(40)]}
    frame = pandas.DataFrame(table).astype({"a": "category"})
    inputs = nextbatch.select(frame, "y", n=3, **QUICK).details["metrics"]["inputs"]
    assert inputs == 3 + 1 + 1
    assert nextbatch.select(frame, "y", n=3, categorical=["b"], **QUICK).details["metrics"]["inputs"] == 3 + 4 + 1
    assert _tables.table_of(frame, "X").columns[0]["kind"] == "categorical"


def test_regressor(lines, tmp_path):
    pytest.importorskip("sklearn")
    frame = pandas.DataFrame(lines[1:], columns=lines[0])
    known = frame[frame["yield"] != ""].drop(columns="name").reset_index(drop=True)
    X, y = known.drop(columns="yield"), known["yield"]
    numbers = np.array([float(v.lstrip("<").replace(",", ".")) for v in y])
    settings = {"learner": "trees", "random_state": 1}
    model = nextbatch.Regressor(**settings).fit(X, y)
    want = nextbatch.Regressor(**settings).fit(X, numbers)
    exact = nextbatch.Regressor(**settings).fit(X, y.str.lstrip("<"))
    assert exact.predict(X).tolist() == want.predict(X).tolist() != model.predict(X).tolist()
    path = written([list(known), *known.to_numpy().tolist()], tmp_path / "known.csv")
    rows = pandas.read_csv(path, sep=";", dtype=str).drop(columns="yield")
    assert model.predict(rows).tolist() == model.predict(X).tolist()
    fitted = command("fit", path, "--target", "yield", "--learner", "trees", "--seed", "1", "--out", str(tmp_path / "m.nextbatch"))
    np.testing.assert_allclose(np.ravel(fitted["valid_rmse"])[:1], model.valid_rmse_[:1])
    dropped = nextbatch.Regressor(**settings, censored="drop").fit(X, numbers)
    assert dropped.predict(X).tolist() != model.predict(X).tolist()
    two = nextbatch.Regressor(**settings).fit(X, pandas.DataFrame({"u": y, "v": numbers}))
    assert two.predict(X)[:, 0].tolist() == model.predict(X).tolist()
    with pytest.raises(nextbatch.DataError, match=r"y has rows without a label, 2 \(from 0\)"):
        nextbatch.Regressor(**settings).fit(X, y.where(y.index != 2, "n.d."))
    with pytest.raises(nextbatch.DataError, match=r'the value is not a number: "lost" \(rows 3, 5 from 0\)'):
        nextbatch.Regressor(**settings).fit(X, y.where(~y.index.isin([3, 5]), "lost"))


def test_own_learners_get_numbers():
    linear = pytest.importorskip("sklearn.linear_model")
    x = np.random.default_rng(1).normal(size=(60, 2))
    y = pandas.Series([f"{v:.2f}".replace(".", ",") if i < 30 else None for i, v in enumerate(x.sum(axis=1))])
    numbers = y.str.replace(",", ".").astype(float).to_numpy()
    batches = [nextbatch.select(x, labels, n=4, learner="gp", learners=[linear.Ridge()]) for labels in (y, numbers)]
    assert batches[0].indices.tolist() == batches[1].indices.tolist()
    assert batches[0].candidates == batches[1].candidates


def test_campaign_equals_command_line(lines, tmp_path):
    path = written(lines, tmp_path / "table.csv")
    new = [_binary.path(), "campaign", "new", str(tmp_path / "a.db"), path, "--target", "yield", "--id", "name", "--seed", "4", "--quiet", *QUICK_FLAGS]
    subprocess.run(new, check=True, capture_output=True)
    frame = pandas.read_csv(path, sep=";", dtype=str)
    campaign = nextbatch.Campaign.new(tmp_path / "b.db", frame, "yield", id="name", seed=4, **QUICK)
    assert campaign.ask(8).ids.tolist() == command("campaign", "ask", str(tmp_path / "a.db"), "-n", "8")["ids"]


def test_labels_below_a_limit():
    frame = {"x": [i / 7 for i in range(30)], "z": [i % 4 for i in range(30)]}
    x = np.column_stack([frame["x"], frame["z"]])
    y = [f"{i / 3:.2f}" for i in range(20)] + [None] * 10
    for mark in ("<LOD", "n.d.", "n.b."):
        cells = [*y[:5], mark, *y[6:]]
        with pytest.raises(nextbatch.DataError, match="give it: lod=0.5"):
            nextbatch.select(frame, cells, n=2, learner="gp")
        told = nextbatch.select(frame, cells, n=2, learner="gp", lod=1)
        assert told.indices.tolist() == nextbatch.select(frame, [*y[:5], "<1", *y[6:]], n=2, learner="gp").indices.tolist()
        with pytest.raises(nextbatch.DataError, match="lod"):
            nextbatch.Regressor(learner="gp").fit(x[:20], cells[:20])
        fitted = nextbatch.Regressor(learner="gp", lod={"y": 1}).fit(x[:20], cells[:20])
        assert fitted.predict(x).shape == (30,)
