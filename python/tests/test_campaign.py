"""A campaign does the same in a file, on a service and in a database."""

from __future__ import annotations

import http.server
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import threading
import urllib.request
import uuid
from datetime import datetime, timedelta, timezone
from xml.etree import ElementTree

import numpy as np
import pytest

import nextbatch
from nextbatch import Campaign, _binary, _service

# Few labels, and rows that lack inputs: each is worth a warning, and none of them matters here.
pytestmark = pytest.mark.filterwarnings("ignore::nextbatch.NextbatchWarning")
QUICK = {"learner": "network", "epochs": 3, "hidden": (16,), "seed": 4}
KINDS = ["file", "service"]
STORES = [*KINDS, "database"]


@pytest.fixture(scope="session")
def database():
    """The address of a PostgreSQL database, in which a schema of its own holds the campaigns of these tests."""
    address = os.environ.get("NEXTBATCH_POSTGRES")
    if not address:
        assert os.environ.get("NEXTBATCH_REQUIRE_POSTGRES") != "1", "NEXTBATCH_POSTGRES is empty"
        pytest.skip("NEXTBATCH_POSTGRES names no PostgreSQL database")
    if shutil.which("psql") is None:
        pytest.skip("psql, which creates a schema for the tests, is not installed")
    schema = f"python_{uuid.uuid4().hex}"
    psql = ["psql", address, "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--command"]
    subprocess.run([*psql, f"CREATE SCHEMA {schema}"], check=True, timeout=60)
    yield f"{address}{'&' if '?' in address else '?'}search_path={schema}"
    subprocess.run([*psql, f"SET client_min_messages = warning; DROP SCHEMA {schema} CASCADE"], check=True, timeout=60)


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """A service with its token, for all tests."""
    folder = tmp_path_factory.mktemp("service")
    process = subprocess.Popen(
        [_binary.path(), "serve", str(folder / "c.db"), "--listen", "127.0.0.1:0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    address = token = ""
    seen = []
    while not (address and token):
        line = process.stdout.readline()
        seen.append(line)
        assert line, "".join(seen)
        address = address or next(iter(re.findall(r"http://127\.0\.0\.1:\d+", line)), "")
        token = token or next(iter(re.findall(r"nb_[\w-]+", line)), "")
    drain = threading.Thread(target=process.stdout.read, daemon=True)
    drain.start()
    yield address, token
    process.terminate()
    process.wait(30)
    drain.join(10)
    process.stdout.close()


class Places:
    """Makes campaigns in a file, on the service, and in the database."""

    def __init__(self, service, folder, database=None):
        self.service, self.folder, self.database, self.count = service, folder, database, 0

    def new(self, kind, *arguments, **settings):
        self.count += 1
        name = f"{self.folder.name}-{self.count}"
        if kind == "file":
            return Campaign.new(self.folder / f"{name}.db", *arguments, person="ada", **settings)
        if kind == "database":
            return Campaign.new(self.database(), *arguments, name=name, person="ada", **settings)
        return Campaign.new(self.service[0], *arguments, name=name, token=self.service[1], **settings)

    def open(self, kind, campaign):
        if kind == "file":
            return Campaign(self.folder / f"{campaign.name}.db")
        if kind == "database":
            return Campaign(self.database(), campaign.name)
        return Campaign(self.service[0], campaign.name, token=self.service[1])


@pytest.fixture
def places(service, tmp_path, request):
    return Places(service, tmp_path, lambda: request.getfixturevalue("database"))


def waves(n=60):
    rows = np.sin(np.arange(3.0 * n) ** 2).reshape(n, 3)
    return rows, rows[:, 0] + rows[:, 1]


def course(places, kind, columns):
    """Ask, tell, fail and so on, and return everything that can be seen of it."""
    campaign = places.new(kind, columns, "y", id="name", **QUICK)
    seen = []
    first = campaign.ask(8, audit=0.25)
    label = {name: t / 10 for name, t in zip(columns["name"], columns["temperature"], strict=True)}
    seen.append((first.ids.tolist(), first.audit.tolist(), first.reasons, first.predictions["y"].tolist(), first.method, first.trained, first.ask))
    seen.append({k: np.asarray(v).tolist() for k, v in first.columns.items() if k != "y"})
    told = campaign.tell(first.ids[:5], [label[i] for i in first.ids[:5]])
    seen.append((told.ids.tolist(), told.known, told.wrong))
    seen.append(campaign.fail(first.ids[5], "broke").ids.tolist())
    seen.append(campaign.return_(first.ids[6:7]).ids.tolist())
    retired = campaign.retire([first.ids[7]], "gone")
    seen.append(campaign.undo(retired.event).ids.tolist())
    again = {**columns, "name": [n + "b" for n in columns["name"]], "material": ["cork"] * len(columns["name"])}
    added = campaign.add(again)
    seen.append((added.rows, added.labelled, added.new_levels))
    second = campaign.ask(6, must=[first.ids[6]], exclude=["s001"], audit=0)
    seen.append((second.ids.tolist(), second.trained, second.predictions["y"].tolist()))
    predicted = campaign.predict()
    seen.append((predicted.ids.tolist(), predicted.mean.tolist(), predicted.low.tolist(), predicted.high.tolist(), predicted.trained))
    status = campaign.status("rmse<0.5")
    seen.append((status.rows, status.open, status.asked, status.labelled, status.failed, status.retired, status.asks, status.advice, status.because))
    seen.append((status.inputs, status.targets, status.id_column))
    seen.append([(e.kind, e.undone, e.ids.tolist()) for e in campaign.history() if e.kind != "settings"])
    assert str(seen[-1]) == str([(e.kind, e.undone, e.ids.tolist()) for e in places.open(kind, campaign).history() if e.kind != "settings"])
    return seen


def test_file_and_service_do_the_same(places, columns):
    here, there = (course(places, kind, columns) for kind in KINDS)
    for a, b in zip(here, there, strict=True):
        assert str(a) == str(b)  # NaN is NaN here


def test_file_and_database_do_the_same(places, columns):
    there, here = (course(places, kind, columns) for kind in ("database", "file"))
    for a, b in zip(here, there, strict=True):
        assert str(a) == str(b)


def test_databases_that_cannot_be_used(database, tmp_path):
    with pytest.raises(nextbatch.RequestError, match="name the campaign"):
        Campaign.new(database, np.eye(3), "y")
    with pytest.raises(nextbatch.NextbatchError, match="nobody"):
        Campaign(database, "nobody")
    with pytest.raises(nextbatch.RequestError, match="a token is for a service"):
        Campaign(database, "nobody", token="nb_x")
    with pytest.raises(nextbatch.NextbatchError) as caught:
        Campaign(f"postgres://ada:secret@/x?host={tmp_path}", "c")
    assert "secret" not in str(caught.value)


def test_command_line_asks_for_the_same(places, columns, tmp_path):
    from conftest import command

    campaign = places.new("file", columns, "y", id="name", **QUICK)
    copy = tmp_path / "copy.db"
    copy.write_bytes((tmp_path / f"{campaign.name}.db").read_bytes())
    assert campaign.ask(8).ids.tolist() == command("campaign", "ask", str(copy), "-n", "8")["ids"]


@pytest.mark.parametrize("kind", STORES)
def test_arrays(places, kind):
    rows, labels = waves()
    campaign = places.new(kind, rows, "y", labels=np.where(np.arange(60) < 20, labels, np.nan), **QUICK)
    batch = campaign.ask(5)
    assert batch.ids.dtype == np.int64 and (batch.ids >= 20).all()
    assert set(campaign.tell(batch.ids, labels[batch.ids]).ids) == set(batch.ids)
    assert campaign.status().labelled == 25
    np.testing.assert_array_equal(rows[batch.ids, 1], batch.columns["x1"])
    assert campaign.predict().mean.shape == (35,)
    assert campaign.add(rows, labels=labels).labelled == 60


@pytest.mark.parametrize("kind", STORES)
def test_two_targets(places, kind):
    rows, labels = waves()
    both = np.c_[labels, -labels]
    both[:, 1][::2] = np.nan
    both[20:] = np.nan
    campaign = places.new(kind, rows, ["y", "z"], labels=both, weights=[1, 2], **QUICK)
    batch = campaign.ask(4)
    assert set(batch.predictions) == {"y", "z"} and batch.predictions["z"].shape == (4, 3)
    assert campaign.tell(batch.ids, np.c_[labels[batch.ids], np.full(4, np.nan)]).event
    assert campaign.tell({"row": batch.ids, "z": [1.0, 2.0, 3.0, None]}).event
    assert campaign.predict().mean.shape == (36, 2)
    assert campaign.status().settings["weights"] == [1, 2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(places, kind, library, columns):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame(columns)
    campaign = places.new(kind, frame, "y", id="name", missing="drop", **QUICK)
    asked = campaign.ask(5)
    batch = asked.to_frame(library)
    assert any("; predicted " in reason for reason in asked.reasons) and not any("predicted" in reason for reason in batch["reason"])
    assert isinstance(batch, frames.DataFrame) and list(batch.columns)[:4] == ["name", "pick", "reason", "temperature"]
    filled = batch.assign(y=[1.0, None, 3.0, None, 5.0]) if library == "pandas" else batch.with_columns(y=frames.Series([1.0, None, 3.0, None, 5.0]))
    assert len(campaign.tell(filled).ids) == 3
    assert len(campaign.tell(filled).ids) == 0
    assert campaign.tell(filled).known == 3
    predicted = campaign.predict().to_frame(library)
    assert list(predicted.columns) == ["name", "prediction", "low", "high"]
    assert len(frames.DataFrame(campaign.history())) == len(campaign.history())


@pytest.mark.parametrize("kind", KINDS)
def test_index_names_rows(places, kind, columns):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns).set_index("name")
    campaign = places.new(kind, frame.drop(columns="y"), "y", missing="drop", **QUICK)
    batch = campaign.ask(3)
    assert set(batch.ids) <= set(frame.index)
    assert len(campaign.tell(frame.iloc[:6]).ids) == 2
    assert campaign.add(frame.rename(index=lambda n: n + "b")).rows == 120


@pytest.mark.parametrize("kind", KINDS)
def test_settings(places, kind):
    rows, _ = waves()
    campaign = places.new(kind, rows, "y", batch=3, lease="36h", audit=0, method="random", **QUICK)
    batch = campaign.ask()
    assert len(batch) == 3 and batch.method == "random" and not batch.audit.any()
    assert batch.lease_end - datetime.now(timezone.utc) < timedelta(hours=37)
    campaign.change_settings(batch=4, lease="never", epochs=5)
    batch = campaign.ask()
    assert len(batch) == 4 and batch.lease_end is None
    assert campaign.status().settings["network"]["architecture"]["hidden"] == [16]
    assert campaign.status().settings["network"]["training"]["epochs"] == 5


@pytest.mark.parametrize("kind", STORES)
def test_requests_are_met_once(places, kind):
    rows, _ = waves()
    campaign = places.new(kind, rows, "y", **QUICK)
    first, second = campaign.ask(4, request="plate 1"), campaign.ask(4, request="plate 1")
    assert first.ids.tolist() == second.ids.tolist() and first.event == second.event
    assert not campaign.tell(first.ids, np.arange(4.0), request="day 1").repeated
    assert campaign.tell(first.ids, np.arange(4.0), request="day 1").repeated
    with pytest.raises(ValueError, match="plate 1"):
        campaign.retire(first.ids, request="plate 1")


@pytest.mark.parametrize("kind", STORES)
def test_wrong_labels(places, kind, columns):
    campaign = places.new(kind, columns, "y", id="name", **QUICK)
    labels = {"name": ["s001", "s002", "x", "s004", "s005"], "y": ["1.5", None, 2.0, "high", ""]}
    with pytest.raises(nextbatch.RowsError) as caught:
        campaign.tell(labels)
    assert [(w.line, w.id) for w in caught.value.wrong] == [(3, "s004")] and "'high' is not a number" in str(caught.value)
    labels["y"][3] = 3.0
    with pytest.raises(nextbatch.RowsError, match=r"1 row is wrong; nothing was changed\nrow 2, id 'x': the campaign has no row") as caught:
        campaign.tell(labels)
    assert pickle.loads(pickle.dumps(caught.value)).wrong == caught.value.wrong
    labels["y"][3] = float("inf")
    told = campaign.tell(labels, partial=True)
    assert told.ids.tolist() == ["s001"] and [(w.line, w.id) for w in told.wrong] == [(2, "x"), (3, "s004")]
    assert campaign.tell(["s001"], [2.5], correct=True).event
    with pytest.raises(nextbatch.RowsError, match="row 1, id 'nobody': the campaign has no row"):
        campaign.retire(["s001", "nobody"])


@pytest.mark.parametrize("kind", STORES)
def test_text_is_read_as_in_files(places, kind):
    text, numbers = ({"name": [f"s{i}" for i in range(40)], "x": x, "y": y} for x, y in (
        ([f"{i % 7},5" if i % 9 else "<0,5" for i in range(40)], [f"{i},25" if i % 2 else None for i in range(40)]),
        ([i % 7 + 0.5 if i % 9 else 0.5 for i in range(40)], [i + 0.25 if i % 2 else None for i in range(40)]),
    ))  # fmt: skip
    numbers["x censored"] = [0.0 if i % 9 else -1.0 for i in range(40)]
    asked = []
    for table in (text, numbers):
        campaign = places.new(kind, table, "y", id="name", **QUICK)
        campaign.add({name: [f"{v}b" if name == "name" else v for v in column] for name, column in table.items()})
        asked.append((campaign.status().labelled, campaign.ask(6).ids.tolist()))
    assert asked[0] == asked[1] and asked[0][0] == 40
    campaign = places.new(kind, text, "y", id="name", censored="drop", **QUICK)
    assert [*campaign.status().inputs] == ["x"]
    told = {"name": ["s0", "s2", "s4", "s6", "s8"], "y": ["1.024,5", "k.A.", "<0,5", 7.5, "12,5"]}
    assert campaign.tell(told, accept=True).ids.tolist() == ["s0", "s4", "s6", "s8"]
    assert campaign.tell(["s0", "s4", "s8"], ["1.024,5", "<0,5", "12,5"]).known == 3
    assert campaign.tell(["s10", "s12"], ["<0,5", "3,5"], censored="drop", accept=True).ids.tolist() == ["s12"]
    with pytest.raises(nextbatch.RowsError, match="row 1, id 's16': y: 'lost' is not a number"):
        campaign.tell(["s14", "s16"], ["1,5", "lost"])
    with pytest.raises(nextbatch.DataError, match='"12,5 g".*, but the column has had no unit so far'):
        campaign.tell(["s14"], ["12,5 g"])


@pytest.mark.parametrize("kind", STORES)
def test_labels_below_a_limit(places, kind):
    rows = {"name": [f"s{i}" for i in range(12)], "x": [float(i % 5) for i in range(12)], "y": ["<0.5", ">7", "1.5", "<LOD", "n.d.", *[None] * 7]}
    with pytest.raises(nextbatch.DataError, match=r'may lie beyond a limit that is not known: "<LOD" .*, "n.d." .* give it: lod=0.5'):
        places.new(kind, rows, "y", id="name", **QUICK)
    campaign = places.new(kind, rows, "y", id="name", lod=0.2, **QUICK)
    assert campaign.tell({"s0": "<0.5", "s3": "<LOD", "s4": "<0.2"}).known == 3
    assert campaign.tell(["s5", "s6"], ["n.d.", 3], accept=True).ids.tolist() == ["s5", "s6"]
    campaign.add({"name": ["t0"], "x": [1.0], "y": ["<LOD"]})
    assert campaign.tell({"t0": "<0.2"}).known == 1
    campaign.change_settings(lod=None)
    with pytest.raises(nextbatch.RowsError, match=r"row 0, id 's7': y: '<LOD' may lie below a limit .* change_settings\(lod=0.5\)"):
        campaign.tell({"s7": "<LOD"})
    with pytest.raises(nextbatch.RequestError, match="lod must be a number, or a dictionary"):
        campaign.change_settings(lod="0,5")


@pytest.mark.parametrize("kind", KINDS)
def test_frames_with_other_inputs(places, kind):
    """A frame whose inputs are not those of the row that its id names is of another row."""
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(3).random(12) * 0.123456789
    rows = {"name": [f"s{i}" for i in range(12)], "x": x, "site": ["up", "down"] * 6, "y": [*np.sin(40 * x[:8]), *[np.nan] * 4]}
    campaign = places.new(kind, rows, "y", id="name", **QUICK)
    frame = campaign.ask(4).to_frame()
    frame["y"] = [0.1, 0.2, 0.3, 0.4]
    for column, value in (("x", 0.5), ("site", "left")):
        other = frame.copy()
        other.loc[1, column] = value
        with pytest.raises(nextbatch.RowsError, match=f"^1 row is wrong.*\\nrow 1, id '{frame['name'][1]}': column \"{column}\" has \"{value}\", but the row has"):
            campaign.tell(other)
    assert len(campaign.tell(other, partial=True, accept=True).ids) == 3
    rounded = frame.assign(x=[float(f"{v:.10g}") for v in frame["x"]], site=[None, *frame["site"][1:]])
    assert campaign.tell(rounded, accept=True).ids.tolist() == [frame["name"][1]]
    with pytest.raises(nextbatch.RowsError, match='column "x" has "0.5"'):
        campaign.tell({**{name: frame[name] for name in ("name", "y")}, "x": [0.5] * 4}, correct=True)
    assert campaign.tell(pandas.DataFrame(rows)).known == 8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda c: c.ask(0), "n must be a whole number from 1"),
        (lambda c: c.ask(2.5), "n must be a whole number from 1"),
        (lambda c: c.ask(2, lease="soon"), "lease must be a time"),
        (lambda c: c.ask(2, audit=2), "audit must be a share"),
        (lambda c: c.ask(2, must=["99"]), "99"),
        (lambda c: c.tell([1, 2], [1.0]), "values has 1 labels for 2 rows"),
        (lambda c: c.tell([1, 2], [1.0, 2.0], again=True, correct=True), "use one of them"),
        (lambda c: c.tell([1, 2]), "give a frame with ids and labels"),
        (lambda c: c.tell({"y": [1.0]}), "labels has no column 'row'"),
        (lambda c: c.tell({"row": [1], "z": [1.0]}), "none of the targets y"),
        (lambda c: c.tell({"row": [1, 2], "y": [1.0]}), "column 'y' has 1 rows where others have 2"),
        (lambda c: c.undo(99), "99"),
        (lambda c: c.undo(1), "event 1|cannot be undone"),
        (lambda c: c.status("rmse"), "rmse"),
        (lambda c: c.predict(), "at least 2 labelled rows"),
        (lambda c: c.fail("99"), "id '99': the campaign has no row"),
        (lambda c: c.add({"x0": [1.0]}), "x1"),
        (lambda c: c.add(np.array([["a"]])), "elements of type"),
        (lambda c: c.change_settings(method="lcmd-tp:gradd"), "gradd"),
        (lambda c: c.change_settings(epochs=0), "epochs must be a whole number from 1"),
    ],
)
def test_bad_calls(shared_campaigns, kind, do, message):
    campaign = shared_campaigns[kind]
    before = campaign.status().event
    with pytest.raises(ValueError, match=message) as caught:
        do(campaign)
    assert isinstance(caught.value, nextbatch.NextbatchError)
    assert campaign.status().event == before


@pytest.fixture(scope="module")
def shared_campaigns(service, tmp_path_factory):
    places = Places(service, tmp_path_factory.mktemp("shared"))
    return {kind: places.new(kind, waves()[0], "y", **QUICK) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((np.array([["a"]]), "y"), {}, "rows has elements of type"),
        ((waves()[0], "y"), {"epochs": -1}, "epochs"),
        ((waves()[0], "y"), {"method": "nonsense"}, "nonsense"),
        ((waves()[0], []), {}, "target must be"),
        ((waves()[0], "y"), {"labels": [1.0]}, "labels has 1 labels for 60 rows"),
        ((waves()[0], "y"), {"id": "name"}, "rows is an array"),
        (({"name": ["a", "a"], "x": [1.0, 2.0]}, "y"), {"id": "name"}, 'id "a"|"a"'),
        (({"x": [1.0, 2.0]}, "y"), {"labels": np.ones((2, 2))}, "labels has 2 columns for the targets y"),
    ],
)
def test_bad_beginnings(service, tmp_path, kind, arguments, settings, message):
    where = tmp_path / "c.db" if kind == "file" else service[0]
    token = None if kind == "file" else service[1]
    with pytest.raises(ValueError, match=message):
        Campaign.new(where, *arguments, name="bad", token=token, **settings)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="does not exist|no such campaign|campaign"):
        Campaign(where, "bad", token=token)


def test_unknown_setting(tmp_path):
    with pytest.raises(TypeError, match="there is no setting 'epoch'"):
        Campaign.new(tmp_path / "c.db", waves()[0], "y", epoch=3)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_open(places, kind):
    campaign = places.new(kind, np.eye(3), "y", **QUICK)
    with pytest.warns(nextbatch.NextbatchWarning, match="3 of 5 rows"):
        assert len(campaign.ask(5)) == 3
    with pytest.raises(ValueError, match="no row is open"):
        campaign.ask(1)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("kind", STORES)
def test_interrupt_cancels_the_ask(places, kind):
    rows, labels = waves()
    campaign = places.new(kind, rows, "y", labels=np.where(np.arange(60) < 30, labels, np.nan), learner="network", epochs=10**8, hidden=(16,))
    stages = []

    def interrupt(stage, done, of):
        stages.append((stage, of))
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        campaign.ask(3, progress=interrupt)
    assert stages[0] == ("training", 10**8)
    campaign.change_settings(epochs=2)
    assert len(campaign.ask(3)) == 3 and campaign.status().asks == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_worker_killed_in_the_middle_of_an_ask(places, fresh_worker):
    rows, labels = waves()
    campaign = places.new("file", rows, "y", labels=np.where(np.arange(60) < 30, labels, np.nan), learner="network", epochs=10**8, hidden=(16,))
    pid = fresh_worker().pid
    with pytest.raises(nextbatch.WorkerError, match="killed by signal 9"):
        campaign.ask(3, request="plate 1", progress=lambda *_: os.kill(pid, signal.SIGKILL))
    assert campaign.status().asked == 0
    campaign.change_settings(epochs=2)
    assert len(campaign.ask(3, request="plate 1")) == 3 and campaign.status().asked == 3


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(ValueError, match="nowhere"):
        Campaign.new(tmp_path / "nowhere" / "c.db", np.eye(3), "y")
    with pytest.raises(ValueError, match="is a folder"):
        Campaign.new(tmp_path, np.eye(3), "y")
    with pytest.raises(ValueError, match="there is no kind of store"):
        Campaign("mysql://host/db")
    text = tmp_path / "text.db"
    text.write_text("not a database" * 100)
    with pytest.raises(ValueError, match="text.db"):
        Campaign(text)
    assert [f.name for f in tmp_path.iterdir()] == ["text.db"] and text.read_text().startswith("not a database")


def test_names(service, tmp_path):
    path = tmp_path / "several.db"
    assert Campaign.new(path, np.eye(3), "y").name == "several"
    assert Campaign(path).name == "several"
    Campaign.new(path, np.eye(3), "y", name="other")
    with pytest.raises(nextbatch.RequestError, match="there are 2 campaigns; name one of them: other, several"):
        Campaign(path)
    with pytest.raises(nextbatch.RequestError, match="exists already"):
        Campaign.new(path, np.eye(3), "y", name="other")
    with pytest.raises(nextbatch.RequestError, match="does not exist; nextbatch.Campaign.new"):
        Campaign(tmp_path / "none.db")
    with pytest.raises(nextbatch.RequestError, match="a token is for a service"):
        Campaign(path, "other", token="nb_x")
    with pytest.raises(nextbatch.RequestError, match="name the campaign"):
        Campaign.new(service[0], np.eye(3), "y", token=service[1])
    assert repr(Campaign(path, "other")) == "<nextbatch.Campaign 'other'>"


def test_paths_are_of_this_process(tmp_path, monkeypatch):
    nextbatch.select_features(None, np.eye(3), 1)  # the worker runs, in another folder
    monkeypatch.chdir(tmp_path)
    Campaign.new("c.db", np.eye(3), "y")
    assert (tmp_path / "c.db").is_file()


def test_tokens(service, monkeypatch):
    address, token = service
    made = Campaign.new(address, np.eye(3), "y", name="tokens", token=token)
    monkeypatch.setenv("NEXTBATCH_TOKEN", token)
    assert Campaign(address, "tokens").status().rows == 3
    with pytest.raises(nextbatch.ServiceError, match="401.*token"):
        Campaign(address, "tokens", token="nb_wrong")
    assert token not in repr(made)


def test_no_service(monkeypatch):
    monkeypatch.setattr(_service, "WAITS", (0.01,))
    with pytest.raises(nextbatch.ServiceError, match="gives no answer"):
        Campaign("http://127.0.0.1:9", "c", token="nb_x")


@pytest.fixture
def lossy(service, monkeypatch):
    """A proxy that passes each request on and loses the first answer to each change."""
    monkeypatch.setattr(_service, "WAITS", (0.01, 0.01))
    lost = set()

    class Proxy(http.server.BaseHTTPRequestHandler):
        def handle_all(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {k: v for k, v in self.headers.items() if k not in ("Host", "Content-Length", "Connection")}
            request = urllib.request.Request(service[0] + self.path, body or None, headers, method=self.command)
            try:
                with urllib.request.urlopen(request) as answer:
                    status, text = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, text = error.code, error.read()
            key = (self.command, self.path, self.headers.get("Idempotency-Key"))
            if self.command != "GET" and key not in lost:
                lost.add(key)
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_DELETE = handle_all  # noqa: N815

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", lost
    server.shutdown()
    server.server_close()
    thread.join()


def test_lost_answers_are_asked_for_again(service, lossy):
    address, lost = lossy
    rows, labels = waves()
    campaign = Campaign.new(address, rows, "y", name="lossy", token=service[1], **QUICK)
    batch = campaign.ask(5)
    told = campaign.tell(batch.ids, labels[batch.ids])
    assert told.repeated and len(told.ids) == 5
    assert campaign.retire([1], "gone").repeated
    kinds = [e.kind for e in campaign.history()]
    assert kinds == ["created", "rows_added", "settings", "asked", "told", "retired"] and len(lost) >= 5
    with pytest.raises(nextbatch.RequestError, match="exists already"):
        Campaign.new(address, rows, "y", name="lossy", token=service[1])


def test_redirects_are_refused(service):
    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            self.send_response(302)
            self.send_header("Location", service[0] + self.path)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(nextbatch.ServiceError, match="302"):
            Campaign(f"http://127.0.0.1:{server.server_address[1]}", "c", token=service[1])
    finally:
        server.shutdown()
        server.server_close()


def test_history_is_json(places):
    campaign = places.new("file", np.eye(3), "y")
    first = campaign.history()[0]
    assert first.person == "ada" and json.dumps(first.detail) and first.time.tzinfo is not None


@pytest.mark.parametrize("kind", STORES)
def test_labels_that_wait(places, kind):
    campaign = places.new(kind, np.arange(60.0)[:, None], "y", **QUICK)
    told = campaign.tell(range(40), 50 + np.arange(40) % 7)
    assert told.waiting == []
    told = campaign.tell([40, 41], [5300.0, 52.0])
    (waits,) = told.waiting
    assert (waits.id, waits.target, waits.value, waits.prediction, waits.event) == (40, "y", 5300.0, None, told.event)
    assert waits.low < 53 < waits.high < 5300 and waits.slip in waits.why and waits.since.tzinfo is not None
    status = campaign.status()
    assert (status.waiting, status.labelled, status.doubtful) == (1, 41, [waits])
    assert campaign.tell([40], [5300.0]).waiting == [waits]  # it is known, and still waits
    assert campaign.confirm(40, "measured twice").ids.tolist() == [40]
    assert campaign.confirm([40]).event == 0
    status = campaign.status()
    assert (status.waiting, status.labelled, status.doubtful) == (0, 42, [])
    assert campaign.history()[-1].kind == "confirmed"
    assert len(campaign.tell([42], [5100.0]).waiting) == 1
    assert campaign.tell([42], [51.0], correct=True).waiting == []
    assert campaign.tell([43], [5100.0], accept=True).waiting == []
    assert campaign.status().labelled == 44
    with pytest.raises(nextbatch.RowsError, match="no label that could be confirmed"):
        campaign.confirm([50])


@pytest.mark.parametrize("kind", KINDS)
def test_added_labels_that_wait(places, kind):
    campaign = places.new(kind, {"name": [f"r{i}" for i in range(40)], "x": np.arange(40.0)}, "y", id="name", **QUICK)
    campaign.tell([f"r{i}" for i in range(40)], 50 + np.arange(40) % 7)
    added = campaign.add({"name": ["s"], "x": [3.5], "y": [5200.0]})
    assert [(w.id, w.value) for w in added.waiting] == [("s", 5200.0)]
    assert (campaign.status().waiting, campaign.status().doubtful) == (1, added.waiting)


def test_replicates_and_wells_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"name": [f"s{i}" for i in range(12)], "heat": [300.0, 350.0] * 6, "y": [1.0, 2.0, 3.0] + [np.nan] * 9})
    campaign = Campaign.new(tmp_path / "c.db", rows, "y", id="name", audit=0, method="random", replicates=2, plate="2x4", controls="A1", replicate_share="1/8")
    asked = campaign.ask(4, replicate_share=0)
    frame = asked.to_frame()
    assert list(frame.columns[:5]) == ["name", "pick", "replicate", "plate", "well"]
    assert list(frame["replicate"]) == [1, 2, 1, 2]
    assert len(set(frame["well"])) == 4 and "A1" not in set(frame["well"])
    frame["y"] = [5.0, 6.0, 7.0, np.nan]
    campaign.tell(frame)
    assert campaign.status().labelled == 5
    assert campaign.ask(2, replicates=1, replicate_share=0, same="heat", plate="").columns["run"] == [1, 1]
    with pytest.raises(nextbatch.RequestError, match="replicate_share must be a share"):
        campaign.change_settings(replicate_share="9/8")


@pytest.mark.parametrize("kind", STORES)
def test_labels_by_id(kind, places):
    """A dictionary or a Series of labels by id, of numbers or of names, and one row as a dictionary."""
    pandas = pytest.importorskip("pandas")
    rows, labels = waves(20)
    campaign = places.new(kind, rows, "y", **QUICK)
    assert campaign.tell({3: labels[3], 4: None, 5: "0,5"}).ids.tolist() == [3, 5]
    assert campaign.tell(pandas.Series([labels[7], np.nan], index=[7, 8])).ids.tolist() == [7]
    assert campaign.tell({"row": 9, "y": labels[9]}).ids.tolist() == [9]
    assert campaign.tell({}).ids.tolist() == campaign.tell([], []).ids.tolist() == []
    two = places.new(kind, {"name": [f"s{i}" for i in range(20)], "x": rows[:, 0]}, ["u", "v"], id="name", **QUICK)
    assert two.tell({"s1": {"u": 1.0, "v": 2.0}, "s2": {"u": 3.0}}).ids.tolist() == ["s1", "s2"]
    assert two.tell(pandas.Series([4.0], index=["s2"], name="v")).ids.tolist() == ["s2"]
    assert two.status().labelled == 2
    for labels in ({"s3": 1.0}, pandas.Series([1.0], index=["s3"])):
        with pytest.raises(nextbatch.RequestError, match="may be of any of the targets u, v: give a frame with a column for each"):
            two.tell(labels)
    with pytest.raises(nextbatch.RowsError, match="'s99'"):
        two.tell({"s99": {"u": 1.0}})


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_other_libraries(kind, places, columns):
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    frame = polars.DataFrame(columns, strict=False)
    batches = []
    for table in (frame, frame.lazy(), frame.to_arrow(), arrow.RecordBatch.from_pydict(columns)):
        campaign = places.new(kind, table, "y", id="name", **QUICK)
        asked = campaign.ask(4)
        batches.append(asked.ids.tolist())
        filled = frame.filter(polars.col("name").is_in(asked.ids.tolist())).select("name").with_columns(y=1.5)
        told = campaign.tell(filled.lazy() if table is not frame else filled.to_arrow())
        assert sorted(told.ids.tolist()) == sorted(asked.ids.tolist())
    assert all(batch == batches[0] for batch in batches)


def test_what_is_printed(places):
    """Whatever is printed fits a screen, and says in a notebook what it says there."""
    rows, labels = waves(60)
    campaign = places.new("file", {"name": ["<b>"] + [f"s{i}" for i in range(1, 60)], "x": rows[:, 0], "z": rows[:, 1]}, ["u", "v"], id="name", **QUICK)
    asked = campaign.ask(12, replicates=2, plate="8x12")
    campaign.tell({i: {"u": labels[k], "v": labels[k] ** 2} for k, i in enumerate(campaign.ask(30).ids)})
    for one, says in ((asked, f"{len(asked)} rows to label, of ask 1"), (campaign.status(), "30 labelled"), (campaign.predict(), "from 30 labelled ones")):
        text, page = repr(one), one._repr_html_()
        assert says in text and says in page
        assert all(len(line) < 80 for line in text.splitlines()) and len(text.splitlines()) < 20
        assert "<b>s" not in page and "<script" not in page
        ElementTree.fromstring(page)
    assert "well" in repr(asked).splitlines()[1]


def everything(places, kind, columns, library):
    """A campaign with rows of every kind, its frame, its exports and its audit."""
    columns = {**columns, "note": [f"n{i}" for i in range(len(columns["name"]))], "status": ["ok"] * len(columns["name"])}
    with places.new(kind, columns, "y", id="name", **QUICK) as campaign:
        asked = campaign.ask(3, audit=0)
        campaign.tell({asked.ids[0]: 0.25, "s001": 1000.0})
        campaign.fail(asked.ids[1])
    frame = campaign.to_frame(library)
    seen = {name: list(frame[name]) for name in frame.columns}
    files = {}
    for name in ("t.csv", "t.xlsx", "t.parquet"):
        path = places.folder / f"{kind}-{name}"
        campaign.export(path)
        files[name] = path
    return campaign, asked, frame, seen, files


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frame_of_a_campaign(places, columns, library):
    """All rows with their inputs, labels, states, who and when, the same from a file and from a service."""
    module = pytest.importorskip(library)
    seen = {}
    for kind in KINDS:
        before = datetime.now(timezone.utc).replace(microsecond=0)
        campaign, asked, frame, values, _ = everything(places, kind, columns, library)
        assert isinstance(frame, module.DataFrame)
        assert list(frame.columns) == ["name", *campaign.status().inputs, "nextbatch_status", "y", "nextbatch_measured", "person", "time"]
        at = {name: i for i, name in enumerate(values["name"])}
        told, failed, out = (at[i] for i in asked.ids)
        state = values["nextbatch_status"]
        assert (state[told], state[failed], state[out], state[at["s001"]], state[0]) == ("labelled", "failed", "asked", "waiting", "labelled")
        assert values["y"][told] == 0.25 and np.isnan(values["y"][at["s001"]]) and values["y"][0] == columns["y"][0]
        assert values["note"][2] == "n2" and values["status"][0] == "ok" and values["pressure"][8] == columns["pressure"][8]
        assert all(nextbatch._tables.is_missing(missing) for missing in (values["material"][11], values["pressure"][7], values["person"][failed]))
        who = "ada" if kind == "file" else campaign.history()[-1].person
        assert values["person"][told] == values["person"][out] == values["person"][at["s001"]] == values["person"][0] == who
        assert before <= values["time"][told] <= datetime.now(timezone.utc)
        assert values["nextbatch_measured"][told] == 1 and np.asarray(values["nextbatch_measured"]).dtype.kind == "i"
        status = campaign.status()
        assert sum(s == "labelled" for s in state) == status.labelled and sum(s == "open" for s in state) == status.open
        seen[kind] = {k: str(v) for k, v in values.items() if k not in ("person", "time")}
    assert seen["file"] == seen["service"]


def test_export_is_that_of_the_command_line(places, columns, tmp_path):
    pandas = pytest.importorskip("pandas")
    campaign, _, _, _, files = everything(places, "file", columns, "pandas")
    for name, file in files.items():
        subprocess.run([_binary.path(), "campaign", "export", f"{tmp_path}/{campaign.name}.db", str(tmp_path / name), "--quiet"], check=True)
        assert (tmp_path / name).read_bytes() == file.read_bytes()
    served, _, _, _, others = everything(places, "service", columns, "pandas")
    assert others["t.csv"].read_bytes() == files["t.csv"].read_bytes()
    again = pandas.read_csv(files["t.csv"], dtype={"note": str})
    assert list(again.columns) == ["name", *campaign.status().inputs, "y"] and len(again) == len(columns["name"])
    campaign.export(tmp_path / "all.zip")
    subprocess.run([_binary.path(), "campaign", "import", str(tmp_path / "again.db"), str(tmp_path / "all.zip"), "--quiet"], check=True)
    assert [e.detail for e in Campaign(tmp_path / "again.db").history()] == [e.detail for e in campaign.history()]
    with pytest.raises(nextbatch.RequestError, match="hands out no archives"):
        served.export(tmp_path / "all.zip")
    for one in (campaign, served):
        with pytest.raises(nextbatch.DataError, match="the extension is .doc"):
            one.export(tmp_path / "t.doc")
    with pytest.raises(nextbatch.RequestError, match="the campaign itself"):
        campaign.export(tmp_path / f"{campaign.name}.db")


def test_audit_of_a_campaign(places):
    """The same findings from a file, from a service, and from the command line."""
    rows, labels = waves()
    labels[17] += 4
    found = {}
    for kind in KINDS:
        campaign = places.new(kind, rows, "y", labels=labels, learner="gp")
        audit = found[kind] = campaign.audit()
        assert audit.labelled == 60 and audit.answers == {"y": "1 label of 60 looks wrong, with a p-value of at most 0.05."}
        assert [f.id for f in audit.findings if f.suspect] == [17] and audit.findings[0].label == labels[17]
        assert "looks wrong" in repr(audit) and all(len(line) < 80 for line in repr(audit).splitlines())
        ElementTree.fromstring(audit._repr_html_())
    assert found["file"] == found["service"]
    store = next(places.folder.glob("*.db"))
    done = subprocess.run([_binary.path(), "campaign", "audit", str(store), "--json", "--quiet"], check=True, capture_output=True, text=True)
    printed = json.loads(done.stdout)
    assert printed["answer"] == found["file"].answers["y"]
    assert [(f["row"], f["label"], f["prediction"], f["low"], f["high"]) for f in printed["findings"]] == [
        (f.id, f.label, f.prediction, f.low, f.high) for f in found["file"].findings
    ]
    with pytest.raises(nextbatch.NextbatchError, match="label"):
        Campaign.new(places.folder / "empty.db", rows, "y").audit()
