"""The process behind this package, which starts with the first call and stays for the next ones."""

from __future__ import annotations

import atexit
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from . import _binary, _frames, _pipe
from ._errors import DataError, DeviceError, NextbatchError, RequestError, RowsError, TooLittleMemoryError, WorkerError
from ._frames import Array

#: Called with a stage, the number of steps that are done, and how many there are.
Progress = Callable[[str, int, int], None]

_ERRORS: dict[str, type[NextbatchError]] = {
    "request": RequestError, "data": DataError, "memory": TooLittleMemoryError, "device": DeviceError,
}  # fmt: skip

_KEPT_LOG = 8192  # bytes of what a worker wrote last to its standard error
_PIPE = 1 << 20
_PATIENCE = 2.0  # seconds for a worker to end by itself


class Worker:
    """A process that answers requests.

    Reading and writing happen in threads of their own, because Python delivers Ctrl-C to
    the main thread only: a call can be interrupted at any time, and the streams stay intact.
    """

    def __init__(self) -> None:
        program = _binary.path()
        options: dict[str, Any] = {"start_new_session": True}  # a Ctrl-C is for us, not for the worker
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
        try:
            self._process = subprocess.Popen(
                [program, "worker", *_options()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                **options,
            )
        except OSError as error:
            raise WorkerError(f"{program} cannot be started: {error}") from error
        self._log = b""
        self._number = 0
        self._outbox: queue.SimpleQueue[list[memoryview] | None] = queue.SimpleQueue()
        self._inbox: queue.SimpleQueue[tuple[int, str, Any, list[Array]] | None] = queue.SimpleQueue()
        self._enlarge_pipes()
        self._threads = [
            threading.Thread(target=target, name=f"nextbatch {name}", daemon=True)
            for name, target in (("writer", self._write), ("reader", self._read), ("log", self._collect))
        ]
        for thread in self._threads:
            thread.start()
        try:
            about, _ = self.call("hello", {"protocol": _frames.PROTOCOL})
        except BaseException:
            self.kill()
            raise
        self.version: str = about["version"]

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def call(
        self, kind: str, body: object, arrays: Sequence[Array] = (), progress: Progress | None = None
    ) -> tuple[Any, list[Array]]:
        """Send a request and wait for its answer. An exception, such as Ctrl-C, cancels the request."""
        self._number += 1
        pieces = _frames.encode(self._number, kind, body, arrays)  # kept until the answer: the pipe may have their memory
        self._outbox.put(pieces)
        try:
            return self._answer(kind, progress)
        except NextbatchError:
            raise
        except BaseException:
            self._cancel(kind)
            raise

    def _answer(self, kind: str, progress: Progress | None) -> tuple[Any, list[Array]]:
        while True:
            message = self._next(kind)
            if message is None or message[0] != self._number:
                continue
            _, what, body, arrays = message
            if what == "result":
                return body, arrays
            if what == "error" and body.get("rows"):
                raise RowsError(body["rows"])
            if what == "error":
                raise _ERRORS.get(body["error"], WorkerError)(body["message"])
            if what != "progress":
                raise WorkerError(f"{_binary.path()} gave an answer of the unknown kind {what!r}: it is not a nextbatch of this version")
            if progress is not None:
                progress(body["stage"], body["done"], body["of"])

    def _next(self, kind: str) -> tuple[int, str, Any, list[Array]] | None:
        try:
            message = self._inbox.get(timeout=0.5)  # without a limit, Windows would not deliver Ctrl-C
        except queue.Empty:
            return None
        if message is None:
            self.kill()
            raise WorkerError(self._death(kind))
        return message

    def _cancel(self, kind: str) -> None:
        """Cancel the request and wait for its end, so that its answer is not mistaken for another."""
        try:
            self._outbox.put(_frames.encode(self._number, "cancel", None))
            self._answer(kind, None)
        except NextbatchError:
            pass
        except BaseException:  # a second Ctrl-C: it takes too long
            self.kill()
            raise

    def _death(self, kind: str) -> str:
        code = self._process.returncode
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
        text = f"the nextbatch process {how} in the middle of {kind!r}; the next call starts a new one"
        if code == -9:
            text += ". If nobody killed it, the machine ran out of memory"
        log = self._log.decode(errors="replace").strip()
        return f"{text}\n{log}" if log else text

    def close(self) -> None:
        """End the process, by the end of its input."""
        self._outbox.put(None)
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        self.kill()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.wait()
        self._outbox.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_PATIENCE)

    def abandon(self) -> None:
        """Close this process's ends of the pipes: the worker belongs to the process that forked this one."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        self._process.returncode = 0  # it is not our child

    def _enlarge_pipes(self) -> None:
        if sys.platform != "linux":
            return
        import fcntl

        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                fcntl.fcntl(stream.fileno(), 1031, _PIPE)  # F_SETPIPE_SZ
            except OSError:
                pass  # it is only slower

    def _write(self) -> None:
        stream = self._process.stdin
        assert stream is not None
        writer = _pipe.Writer(stream.fileno())
        try:
            while (pieces := self._outbox.get()) is not None:
                for piece in pieces:
                    while len(piece):
                        piece = piece[writer.write(piece) :]
                del pieces, piece
        except OSError:
            pass  # the reader notices the death, too
        finally:
            stream.close()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None

        def fill(buffer: memoryview) -> None:
            while len(buffer):
                count = stream.readinto(buffer)  # type: ignore[attr-defined]
                if not count:
                    raise EOFError
                buffer = buffer[count:]

        try:
            while True:
                self._inbox.put(_frames.decode(fill))
        except (OSError, EOFError, ValueError, _frames.FrameError):
            self._inbox.put(None)
        finally:
            stream.close()

    def _collect(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        try:
            for line in stream:
                self._log = (self._log + line)[-_KEPT_LOG:]
                if line.startswith(b"warning: "):  # as of a GPU that cannot be used
                    print("nextbatch:", line.decode(errors="replace").strip(), file=sys.stderr)
        except (OSError, ValueError):
            pass
        finally:
            stream.close()


def _options() -> list[str]:
    """Return the options for the device and the memory of the worker that the environment sets."""
    device, memory = os.environ.get("NEXTBATCH_DEVICE"), os.environ.get("NEXTBATCH_MAX_MEMORY")
    return (["--device", device] if device else []) + (["--max-memory", memory] if memory else [])


_worker: Worker | None = None
_lock = threading.RLock()
_busy = False


def call(
    kind: str, body: object, arrays: Sequence[Array] = (), progress: Progress | None = None
) -> tuple[Any, list[Array]]:
    """Send a request to the worker of this process, which is started if there is none.

    Calls from several threads take turns: each uses all cores.
    """
    global _worker, _busy
    with _lock:
        if _busy:
            raise WorkerError("nextbatch cannot be called from a progress function")
        _busy = True
        try:
            if _worker is None or not _worker.alive():
                _drop()
                _worker = Worker()
            return _worker.call(kind, body, arrays, progress)
        finally:
            _busy = False


def worker() -> Worker:
    """Return the worker of this process, which is started if there is none."""
    call("ping", None)
    assert _worker is not None
    return _worker


def _drop() -> None:
    global _worker
    if _worker is not None:
        _worker.kill()
        _worker = None


def close() -> None:
    """End the worker of this process. The next call starts a new one."""
    global _worker
    with _lock:
        if _worker is not None:
            _worker.close()
            _worker = None


def _forked() -> None:
    """In a forked process, drop the worker of the parent."""
    global _worker, _lock, _busy
    if _worker is not None:
        _worker.abandon()
    _worker, _lock, _busy = None, threading.RLock(), False


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
