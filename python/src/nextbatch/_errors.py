"""The exceptions of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._answers import Wrong


class NextbatchError(Exception):
    """The base class of all exceptions of this package."""


class RequestError(NextbatchError, ValueError):
    """The arguments contradict each other, or one of them has a value that it cannot have."""


class DataError(NextbatchError, ValueError):
    """The rows cannot be used. The message names the column or the row."""


class RowsError(DataError):
    """Some rows of a list are wrong, and nothing was changed.

    Attributes
    ----------
    wrong : list of Wrong
        Each of them, with its place in the list, its id and the reason.
    """

    def __init__(self, wrong: Sequence[Mapping[str, Any]]) -> None:
        self.wrong = [Wrong(w["line"], w["id"], w["reason"]) for w in wrong]
        lines = [f"row {w.line}, id {w.id!r}: {w.reason}" for w in self.wrong]
        count = "1 row is" if len(lines) == 1 else f"{len(lines)} rows are"
        super().__init__("\n".join([f"{count} wrong; nothing was changed", *lines]))

    def __reduce__(self) -> tuple[Any, ...]:
        return RowsError, ([vars(w) for w in self.wrong],)


class TooLittleMemoryError(NextbatchError, MemoryError):
    """The call would need more memory than is available, on the machine or its GPU, or than ``max_memory``."""


class DeviceError(NextbatchError, RuntimeError):
    """The GPU failed. The message contains the driver's message and advice."""


class WorkerError(NextbatchError, RuntimeError):
    """The program behind this package could not be started, ended unexpectedly, or has a bug."""


class ServiceError(NextbatchError, RuntimeError):
    """A service could not be reached, did not accept the token, or has a bug."""


class NextbatchWarning(UserWarning):
    """Something that you should know about a result, such as rows or columns that were not used."""
