"""Selections give the batches of the command line."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import QUICK, QUICK_FLAGS, command

import nextbatch
from nextbatch import _html

pytestmark = pytest.mark.filterwarnings("ignore::nextbatch.NextbatchWarning")


def test_frame_equals_command_line(columns, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    frame["measured"] = pandas.to_datetime(frame["measured"])
    frame.to_csv(tmp_path / "table.csv", index=False)
    want = command("select", str(tmp_path / "table.csv"), "--target", "y", "--id", "name", "-n", "9", "--seed", "5",
                   "--cost", "hours", "--budget", "40", "--group", "site", "--per-group", "6", "--pending", "s001,s002",
                   "--must", "s004", "--exclude", "s005", *QUICK_FLAGS)  # fmt: skip
    batch = nextbatch.select(frame, "y", n=9, id="name", seed=5, cost="hours", budget=40, group="site", per_group=6,
                             pending=["s001", "s002"], must=["s004"], exclude=["s005"], **QUICK)  # fmt: skip
    assert batch.indices.tolist() == want["indices"]
    assert batch.ids.tolist() == want["ids"]
    assert batch.reasons == want["reasons"]
    np.testing.assert_allclose(batch.scores, want["scores"])
    assert batch.details["metrics"]["inputs"] == want["metrics"]["inputs"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "dict"])
def test_two_tables_equal_command_line(columns, tmp_path, kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    labelled, pool = frame[frame["y"].notna()].reset_index(drop=True), frame[frame["y"].isna()].reset_index(drop=True)
    pool = pool.drop(columns="y")
    labelled.to_csv(tmp_path / "labelled.csv", index=False)
    pool.to_csv(tmp_path / "pool.csv", index=False)
    want = command("select", "--train", str(tmp_path / "labelled.csv"), "--pool", str(tmp_path / "pool.csv"),
                   "--target", "y", "--id", "name", "-n", "7", "--method", "bait-f-p:ll>train", *QUICK_FLAGS)  # fmt: skip
    if kind == "polars":
        polars = pytest.importorskip("polars")
        labelled, pool = polars.from_pandas(labelled), polars.from_pandas(pool)
    elif kind == "dict":
        labelled, pool = ({c: f[c].tolist() for c in f.columns} for f in (labelled, pool))
    batch = nextbatch.select(labelled, "y", pool, 7, "bait-f-p:ll>train", id="name", **QUICK)
    assert batch.indices.tolist() == want["indices"]
    assert list(batch.ids) == want["ids"]
    assert batch.reasons == want["reasons"]


def test_arrays_equal_command_line(rng, tmp_path):
    labelled, pool = rng.normal(size=(30, 4)), rng.normal(size=(200, 4))
    y = labelled[:, 0] * labelled[:, 1]
    header = ",".join(f"x{j}" for j in range(4))
    np.savetxt(tmp_path / "pool.csv", pool, "%.17g", ",", header=header, comments="")
    np.savetxt(tmp_path / "train.csv", np.column_stack([labelled, y]), "%.17g", ",", header=header + ",y", comments="")
    want = command("select", "--train", str(tmp_path / "train.csv"), "--pool", str(tmp_path / "pool.csv"),
                   "--target", "y", "-n", "12", "--seed", "3", *QUICK_FLAGS)  # fmt: skip
    batch = nextbatch.select(labelled, y, pool, 12, seed=3, **QUICK)
    assert batch.indices.tolist() == want["indices"] == batch.ids.tolist()
    assert batch.reasons == want["reasons"]
    same = nextbatch.select(np.asfortranarray(labelled), y.reshape(-1, 1), pool[:, ::-1][:, ::-1], 12, seed=3, threads=1, **QUICK)
    assert same.indices.tolist() == want["indices"]


def test_a_column_far_from_zero(near_and_far):
    near, far, y = near_and_far
    want, got = (nextbatch.select(x[:40], y[:40], x[40:], 12, seed=3, **QUICK) for x in (near, far))
    assert got.indices.tolist() == want.indices.tolist() and got.scores.tolist() == want.scores.tolist()


@pytest.mark.parametrize("method", ["lcmd-tp:features", "maxdet-p:features>train", "kmeanspp-tp:features"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_equal_command_line(rng, tmp_path, method, dtype):
    train, pool = rng.normal(size=(20, 6)).astype(dtype), rng.normal(size=(300, 6)).astype(dtype)
    np.save(tmp_path / "t.npy", train)
    np.save(tmp_path / "p.npy", pool)
    want = command("select", "--train-features", str(tmp_path / "t.npy"), "--pool-features", str(tmp_path / "p.npy"),
                   "-n", "16", "--method", method, "--seed", "2", "--must", "3")  # fmt: skip
    batch = nextbatch.select_features(train, pool, 16, method, seed=2, must=[3])
    assert batch.indices.tolist() == want["indices"]
    assert batch.reasons == want["reasons"]


def test_features_without_labelled_rows_and_with_a_target(rng):
    pool, target = rng.normal(size=(300, 3)), rng.normal(2, 0.1, size=(50, 3))
    assert nextbatch.select_features(None, pool, 4).method == "lcmd-p:features"
    near = nextbatch.select_features(None, pool, 4, "bait-f-p:features", target=target)
    assert np.linalg.norm(pool[near.indices] - 2, axis=1).mean() < np.linalg.norm(pool - 2, axis=1).mean()


def test_several_targets_equal_command_line(columns, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({c: columns[c] for c in ("name", "temperature", "pressure", "hours", "y")})
    frame["z"] = frame["y"] * frame["hours"]
    frame.to_csv(tmp_path / "table.csv", index=False)
    want = command("select", str(tmp_path / "table.csv"), "--target", "y,z", "--id", "name", "-n", "7", *QUICK_FLAGS)
    assert nextbatch.select(frame, ["y", "z"], n=7, id="name", **QUICK).ids.tolist() == want["ids"]
    inputs, labels = frame.drop(columns=["y", "z"]), frame[["y", "z"]].to_numpy()
    assert nextbatch.select(inputs, labels, n=7, id="name", **QUICK).ids.tolist() == want["ids"]
    weighted = nextbatch.select(frame, ["y", "z"], n=7, id="name", weights=[1, 50], **QUICK)
    assert weighted.ids.tolist() != want["ids"]


def test_index_names_the_rows(columns):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns).set_index("name")
    batch = nextbatch.select(frame, "y", n=5, pending=["s001"], must=["s002"], **QUICK)
    assert batch.ids[0] == "s002" and "s001" not in batch.ids
    assert frame.loc[list(batch.ids), "y"].isna().all()
    assert (frame.index[batch.indices] == batch.ids).all()
    assert "labelled row s" in batch.reasons[1]
    labelled, pool = frame[frame["y"].notna()], frame[frame["y"].isna()].drop(columns="y")
    two = nextbatch.select(labelled, "y", pool, 5, pending=["s001"], must=["s002"], **QUICK)
    assert two.ids.tolist() == batch.ids.tolist()
    assert (pool.index[two.indices] == two.ids).all()


def test_indices_that_overlap_are_not_taken_for_the_same_rows(columns):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns).drop(columns="name")
    labelled, pool = frame[frame["y"].notna()], frame[frame["y"].isna()].drop(columns="y")
    labelled.index, pool.index = range(10, 10 + len(labelled)), range(10, 10 + len(pool))
    batch = nextbatch.select(labelled, "y", pool, 5, must=[12], exclude=[13], **QUICK)
    assert batch.indices[0] == 2 and batch.ids[0] == 12 and 13 not in batch.ids
    with pytest.raises(nextbatch.RequestError, match="pool has no row 3 in its index"):
        nextbatch.select(labelled, "y", pool, 5, must=[3], **QUICK)


def test_columns_of_every_kind(columns):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns).drop(columns="name")
    plain = nextbatch.select(frame, "y", n=6, **QUICK)
    other = frame.copy()
    other["material"] = other["material"].astype("category")
    other["site"] = other["site"].astype("string")
    other["hours"] = other["hours"].astype("Int64")
    other["measured"] = pandas.to_datetime(other["measured"])
    other["valid"] = other["valid"].astype("boolean")
    assert nextbatch.select(other, "y", n=6, **QUICK).indices.tolist() == plain.indices.tolist()
    other["measured"] = [d.date() for d in other["measured"]]
    other["valid"] = other["valid"].astype(object)
    other["hours"] = other["hours"].astype(object)
    assert nextbatch.select(other, "y", n=6, **QUICK).indices.tolist() == plain.indices.tolist()
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    lazy = polars.from_pandas(frame).with_columns(polars.col("measured").str.to_date(), polars.col("material").cast(polars.Categorical),
                             polars.col("hours").cast(polars.Int32))  # fmt: skip
    assert nextbatch.select(lazy, "y", n=6, **QUICK).indices.tolist() == plain.indices.tolist()


def test_tensors(rng):
    torch = pytest.importorskip("torch")
    labelled, pool = rng.normal(size=(30, 4)), rng.normal(size=(100, 4))
    y = labelled[:, 0]
    want = nextbatch.select(labelled, y, pool, 6, **QUICK)
    tensors = [torch.tensor(a, requires_grad=a is labelled) for a in (labelled, y, pool)]
    assert nextbatch.select(*tensors, 6, **QUICK).indices.tolist() == want.indices.tolist()


def test_frames_of_a_batch(columns):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({**columns, "score": 1.0}).set_index("name")
    batch = nextbatch.select(frame, "y", n=5, **QUICK)
    picked = batch.to_frame()
    assert list(picked.columns[:3]) == ["pick", "_score", "reason"] and list(picked["pick"]) == [1, 2, 3, 4, 5]
    assert picked.index.tolist() == batch.ids.tolist()
    assert (picked["temperature"] == frame["temperature"].iloc[batch.indices]).all()
    arrays = nextbatch.select_features(None, np.eye(5), 2).to_frame()
    assert list(arrays.columns) == ["index", "pick", "score", "reason"]
    polars = pytest.importorskip("polars")
    table = polars.from_pandas(frame)
    picked = nextbatch.select(table, "y", n=5, **QUICK).to_frame()
    assert isinstance(picked, polars.DataFrame) and picked.columns[:3] == ["pick", "_score", "reason"]


def test_plot(rng):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    batch = nextbatch.select(rng.normal(size=(30, 4)), rng.normal(size=30), rng.normal(size=(100, 4)), 6, plot=True, **QUICK)
    ax = batch.plot()
    assert [len(points.get_offsets()) for points in ax.collections] == [100, 30, 6]
    with pytest.raises(nextbatch.RequestError, match="plot=True"):
        nextbatch.select_features(None, np.eye(5), 2).plot()


def test_progress(rng, capsys):
    calls = []
    nextbatch.select(rng.normal(size=(30, 4)), rng.normal(size=30), rng.normal(size=(100, 4)), 6,
                     progress=lambda *a: calls.append(a), **QUICK)  # fmt: skip
    assert calls[-1] == ("picking", 6, 6) and ("training", 3, 3) in calls
    pytest.importorskip("tqdm")
    nextbatch.select_features(None, rng.normal(size=(100, 4)), 6, progress=True)
    assert "picking" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_warnings_point_at_the_caller(rng):
    pool = rng.normal(size=(3, 2))
    with pytest.warns(nextbatch.NextbatchWarning, match="the batch has 3 of 5 rows") as caught:
        batch = nextbatch.select_features(None, pool, 5)
    assert batch.missing == 2 and "3 of 5" in batch.warnings[-1]
    assert caught[0].filename == __file__


def test_version_is_that_of_the_program(fresh_worker):
    import os

    if "NEXTBATCH_BINARY" in os.environ:
        pytest.skip("another program than the package's own is in use")
    assert fresh_worker().version == nextbatch.__version__


@pytest.mark.parametrize("empty", [lambda pool: pool[:0], lambda pool: [], lambda pool: np.empty((0, 0))])
def test_a_start_without_labels(rng, empty):
    pool = rng.normal(size=(50, 3))
    with pytest.warns(nextbatch.NextbatchWarning, match="too few to train"):
        batch = nextbatch.select(empty(pool), [], pool, n=4)
    assert batch.method.startswith("bait-f-p:laplace") and len(set(batch)) == 4


def test_indices_that_are_not_names(columns):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns).drop(columns="name")
    expected = nextbatch.select(frame, "y", n=4, **QUICK).indices
    levels = frame.set_index(pandas.MultiIndex.from_product([range(12), list("abcdefghij")]))
    batch = nextbatch.select(levels, "y", n=4, **QUICK)
    assert batch.indices.tolist() == expected.tolist() and batch.ids.tolist() == levels.index[expected].tolist()
    assert nextbatch.select(levels, "y", n=4, must=[(3, "b")], **QUICK).ids[0] == (3, "b")
    twice = frame.set_index(pandas.Index([0] * 60 + list(range(60))))
    with pytest.warns(nextbatch.NextbatchWarning, match="there twice"):
        batch = nextbatch.select(twice, "y", n=4, must=[7], **QUICK)
    assert batch.indices[0] == 67 and batch.ids[0] == 7
    with pytest.raises(nextbatch.RequestError, match="has 61 rows 0 in its index"), pytest.warns(nextbatch.NextbatchWarning):
        nextbatch.select(twice, "y", n=4, exclude=[0], **QUICK)


def test_sparse_matrices(rng):
    sparse = pytest.importorskip("scipy.sparse")
    train, pool = rng.normal(size=(30, 3)), rng.normal(size=(50, 3))
    rows = [nextbatch.select(to(train), train[:, 0], to(pool), n=4, **QUICK).indices.tolist() for to in (np.asarray, sparse.csr_matrix, sparse.dok_array)]
    assert rows[0] == rows[1] == rows[2]
    assert list(nextbatch.select_features(sparse.csr_array(train), pool, 4)) == list(nextbatch.select_features(train, pool, 4))


def test_two_names_of_the_seed(rng):
    train, pool = rng.normal(size=(30, 3)), rng.normal(size=(50, 3))
    seeds = [nextbatch.select_features(train, pool, 4, "random", **{name: 5}).indices.tolist() for name in ("seed", "random_state")]
    assert seeds[0] == seeds[1]
    drawn = [nextbatch.select(train, train[:, 0], pool, 4, random_state=np.random.default_rng(3), **QUICK).seed for _ in range(2)]
    assert drawn[0] == drawn[1] != 0


def test_public_names():
    assert set(dir(nextbatch)) == {*nextbatch.__all__, "__version__", "atoms", "compat", "torch"}


def test_html(columns):
    batch = nextbatch.select({**columns, "material": ["<b>"] * 60 + ["&"] * 60}, "y", n=12, id="name", plot=True, **QUICK)
    page = batch._repr_html_()
    assert page.count("<tr>") == 11 and "2 more: to_frame() has all" in page and batch.ids[0] in page
    assert "<svg" in page and page.count("<title>pick") == 12 and "<script" not in page and "<b>&" not in page
    from xml.etree import ElementTree

    ElementTree.fromstring(page)
    text = str(batch).splitlines()
    assert len(text) == 13 and max(map(len, text)) < 80 and batch.ids[0] in text[2] and text[-1] == "2 more: to_frame() has all"
    assert [_html.number(v) for v in (3030.4, 0.123456, 1234567.8, 0, 12.5, -3e-7, np.nan)] == ["3,030", "0.1235", "1,234,568", "0", "12.5", "-3e-07", "–"]
    assert [_html.number(3819.956, width) for width in (0.137, 40.0)] == ["3,819.96", "3,820"]


def test_runs_replicates_and_wells():
    pandas = pytest.importorskip("pandas")
    heat = np.tile([300.0, 350.0], 30)
    frame = pandas.DataFrame({"name": [f"s{i}" for i in range(60)], "x": np.sin(np.arange(60)), "heat": heat})
    y = np.where(np.arange(60) < 20, np.arange(60.0), np.nan)
    batch = nextbatch.select(frame, y, n=8, method="maxdist-tp:linear", id="name", same="heat", runs=2)
    assert batch.run == [1] * 4 + [2] * 4
    for run, about in enumerate(batch.runs):
        assert about["rows"] == 4
        assert {str(v) for v in heat[batch.indices[4 * run : 4 * run + 4]]} == {str(float(about["values"][0]))}
    assert list(batch.to_frame()["run"]) == batch.run

    batch = nextbatch.select(frame, y, n=8, method="maxdist-tp:linear", id="name", replicates=2, replicate_share="1/4", plate="4x6", controls=["A", "6"])
    assert len(batch) == 3
    assert len(batch.measurements) == 8
    wells = [m["well"] for m in batch.measurements]
    assert len(set(wells)) == 8 and not any(well.startswith("A") or well.endswith("6") for well in wells)
    assert [m["pick"] for m in batch.measurements] == [0, 0, 1, 1, 2, 2, -1, -1]
    shown = batch.to_frame()
    assert list(shown["replicates"]) == [2, 2, 2]
    assert list(shown["wells"])[0] == ", ".join(wells[:2])
    assert wells[0] in batch._repr_html_()
    with pytest.raises(nextbatch.RequestError, match="n 7 .*replicates 2"):
        nextbatch.select(frame, y, n=7, method="random", id="name", replicates=2)
    with pytest.raises(nextbatch.RequestError, match='plate "96": write its rows and columns: 8x12'):
        nextbatch.select(frame, y, n=8, method="random", id="name", plate="96")


def test_tables_of_other_libraries(columns):
    """A table of pyarrow and a lazy frame of polars give the batch of the frame, whose picks have their columns."""
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    frame = polars.DataFrame(columns, strict=False)
    want = nextbatch.select(frame, "y", n=4, id="name", **QUICK)
    for table in (frame.lazy(), frame.to_arrow(), arrow.RecordBatch.from_pydict(columns)):
        batch = nextbatch.select(table, "y", n=4, id="name", **QUICK)
        assert batch.ids.tolist() == want.ids.tolist() and list(batch.to_frame()["name"]) == want.ids.tolist()
    known = frame.filter(polars.col("y").is_not_nan()).drop("name")
    labels = known["y"].to_arrow()
    rest = frame.filter(polars.col("y").is_nan()).drop("name", "y")
    two = [nextbatch.select(X, y, pool, 4, **QUICK) for X, y, pool in ((known.drop("y"), known["y"], rest), (known.drop("y").to_arrow(), labels, rest.lazy()))]
    assert two[0].indices.tolist() == two[1].indices.tolist()
    pytest.importorskip("sklearn")
    model = nextbatch.Regressor(learner="trees", random_state=1)
    fitted = [model.fit(X, y).predict(pool).tolist() for X, y, pool in ((known.drop("y"), known["y"], rest), (known.drop("y").to_arrow(), labels, rest.lazy()))]
    assert fitted[0] == fitted[1]
