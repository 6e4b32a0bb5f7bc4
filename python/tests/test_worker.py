"""The process behind the package survives what may happen to it, and leaves nothing behind."""

from __future__ import annotations

import multiprocessing
import os
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import nextbatch
from nextbatch import _binary, _pipe, _worker

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
ROWS = np.sin(np.arange(120.0) ** 2).reshape(40, 3)
LABELS = ROWS[:, 0] + ROWS[:, 1]
LONG = {"epochs": 10**9, "hidden": (64,)}


def picks(seed: int = 0) -> list[int]:
    """A short call, whose answer is known."""
    return nextbatch.select_features(ROWS[:5], ROWS, 6, "kmeanspp-tp:features", seed=seed).indices.tolist()


def worker_and_picks(seed: int) -> tuple[int, list[int]]:
    return _worker.worker().pid, picks(seed)


def gone(pid: int) -> bool:
    """Wait until a process has ended; who should collect it may be slow to do so."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


@POSIX
def test_killed_while_idle(fresh_worker):
    pid = fresh_worker().pid
    want = picks()
    os.kill(pid, signal.SIGKILL)
    _worker._worker._process.wait()
    assert picks() == want and fresh_worker().pid != pid


@POSIX
def test_killed_in_the_middle(fresh_worker):
    pid = fresh_worker().pid
    with pytest.raises(nextbatch.WorkerError, match="killed by signal 9 in the middle of 'select'"):
        nextbatch.select(ROWS, LABELS, ROWS, 3, progress=lambda *_: os.kill(pid, signal.SIGKILL), **LONG)
    assert picks() and fresh_worker().pid != pid


@POSIX
def test_interrupt_cancels_the_call_and_not_the_worker(fresh_worker):
    pid = fresh_worker().pid
    with pytest.raises(KeyboardInterrupt):
        nextbatch.select(ROWS, LABELS, ROWS, 3, progress=lambda *_: os.kill(os.getpid(), signal.SIGINT), **LONG)
    assert picks() and fresh_worker().pid == pid


@POSIX
def test_worker_ignores_the_interrupt_of_a_terminal(fresh_worker):
    pid = fresh_worker().pid
    os.kill(pid, signal.SIGINT)
    assert picks() and fresh_worker().pid == pid


def test_exception_of_a_progress_function_cancels(fresh_worker):
    pid = fresh_worker().pid

    def stop(*_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        nextbatch.select(ROWS, LABELS, ROWS, 3, progress=stop, **LONG)
    with pytest.raises(nextbatch.WorkerError, match="from a progress function"):
        nextbatch.select(ROWS, LABELS, ROWS, 3, progress=lambda *_: picks(), **LONG)
    assert picks() and fresh_worker().pid == pid


@pytest.mark.parametrize("lend", ["as it is", "not there", "forbidden"])
def test_large_arrays_come_back(fresh_worker, monkeypatch, lend):
    if lend != "as it is":
        monkeypatch.setattr(_pipe, "_vmsplice", lambda: None if lend == "not there" else lambda *_: -1)
    whole = np.arange(3_000_001, dtype=np.float32)
    arrays = [whole[1:].reshape(1000, 3000), whole[1:].reshape(1000, 3000).T, np.empty((0, 4)), np.arange(5, dtype=">i4"), whole]
    _, back = _worker.call("ping", {"any": "thing"}, arrays)
    for sent, got in zip(arrays, back, strict=True):
        np.testing.assert_array_equal(sent, got)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")
def test_memory_is_given_back_after_a_large_call(fresh_worker):
    pid = fresh_worker().pid

    def resident() -> int:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    assert _worker.call("ping", None, [np.ones(50_000_000)])[1][0].sum() == 50_000_000
    for _ in range(200):
        if resident() < 200 << 20:
            break
        time.sleep(0.05)
    assert resident() < 200 << 20


def test_threads(fresh_worker):
    want = [picks(seed) for seed in range(12)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(picks, range(12))) == want


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", sorted(set(multiprocessing.get_all_start_methods()) & {"fork", "spawn"}))
def test_processes(fresh_worker, method):
    own = fresh_worker().pid
    want = [picks(seed) for seed in range(4)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        answers = pool.map(worker_and_picks, range(4), chunksize=1)
    assert [answer for _, answer in answers] == want
    assert own not in {pid for pid, _ in answers}
    assert all(gone(pid) for pid, _ in answers)
    assert fresh_worker().pid == own and picks() == want[0]


SCRIPT = """
import sys, time
import numpy as np
import nextbatch
from nextbatch import _worker
print(_worker.worker().pid, nextbatch.select_features(None, np.eye(9), 3).indices, flush=True)
{end}
"""


def script(end: str, **settings) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-X", "dev", "-W", "error", "-c", SCRIPT.format(end=end)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **settings)  # fmt: skip


@POSIX
@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise ValueError", "nextbatch.select_features(None, [[1.0]], 'x')"])
def test_nothing_is_left_behind(tmp_path, end):
    process = script(end, env={**os.environ, "TMPDIR": str(tmp_path)})
    out, errors = process.communicate(timeout=120)
    assert out, errors
    assert "ResourceWarning" not in errors
    assert gone(int(out.split()[0]))
    assert not list(tmp_path.iterdir())


@POSIX
def test_worker_ends_with_a_killed_parent():
    process = script("time.sleep(600)")
    pid = int(process.stdout.readline().split()[0])
    process.kill()
    process.communicate()
    assert gone(pid)


@POSIX
def test_temporary_folder_that_cannot_be_written():
    process = script("", env={**os.environ, "TMPDIR": "/proc"})
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert out.split()[1]


@pytest.mark.parametrize(
    ("program", "message"),
    [("no-such-program", "cannot be started"), ("false", "ended with code"), ("cat", "not a nextbatch of this version")],
)
@POSIX
def test_program_that_is_not_nextbatch(fresh_worker, monkeypatch, program, message):
    import shutil

    _worker.close()
    path = shutil.which(program) or program
    if program == "cat":  # repeats what it is told, whatever its arguments
        path = str(Path(__file__).parent / "repeat")
    with monkeypatch.context() as patch:
        patch.setenv("NEXTBATCH_BINARY", path)
        with pytest.raises(nextbatch.WorkerError, match=message):
            picks()
    assert picks()


def test_command_line_comes_along():
    done = subprocess.run([sys.executable, "-c", "import sys; from nextbatch._binary import main; sys.exit(main())", "specs"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0 and "lcmd" in done.stdout


def test_notebook(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook()
    code = ["import numpy as np, nextbatch", "batch = nextbatch.select(np.eye(20), np.arange(20.0), np.ones((9, 20)) * np.arange(9)[:, None], "
            "4, epochs=3, hidden=(8,), progress=print)", "print(len(batch))", "batch",
            "nextbatch.select_features(None, np.eye(9), 2, progress=True)"]  # fmt: skip
    book.cells = [nbformat.v4.new_code_cell(line) for line in code]
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    assert book.cells[2].outputs[0].text == "4\n"
    assert "picking 4 4" in "".join(o.text for o in book.cells[1].outputs if o.get("name") == "stdout")
    shown = book.cells[3].outputs[0]["data"]["text/html"]
    assert "4 rows to label next" in shown and "<svg" in shown
    bar, picks = book.cells[4].outputs
    assert "picking: " in bar["data"]["text/html"] and picks.output_type == "execute_result"


def test_the_environment_names_the_device(monkeypatch):
    monkeypatch.setenv("NEXTBATCH_DEVICE", "cpu")
    _worker.Worker().kill()
    monkeypatch.setenv("NEXTBATCH_DEVICE", "nonsense")
    with pytest.raises(nextbatch.WorkerError, match="--device nonsense"):
        _worker.Worker()


def test_the_environment_bounds_the_memory(monkeypatch):
    monkeypatch.setenv("NEXTBATCH_MAX_MEMORY", "8GiB")
    _worker.Worker().kill()
    monkeypatch.setenv("NEXTBATCH_MAX_MEMORY", "much")
    with pytest.raises(nextbatch.WorkerError, match="--max-memory"):
        _worker.Worker()


def test_a_failure_of_the_gpu_is_not_the_datas():
    assert _worker._ERRORS["device"] is nextbatch.DeviceError
    assert issubclass(nextbatch.DeviceError, RuntimeError) and not issubclass(nextbatch.DeviceError, ValueError)


@POSIX
def test_warnings_of_the_worker_are_printed(tmp_path, monkeypatch, capfd):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho 'warning: computing on the CPU: the card is gone' >&2\nexec {shlex.quote(_binary.path())} \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("NEXTBATCH_BINARY", str(program))
    worker = _worker.Worker()
    worker.kill()
    assert "nextbatch: warning: computing on the CPU: the card is gone" in capfd.readouterr().err
