"""The exceptions of this package."""

from __future__ import annotations


class NextbatchError(Exception):
    """The base class of all exceptions of this package."""


class RequestError(NextbatchError, ValueError):
    """The arguments contradict each other, or one of them has a value that it cannot have."""


class DataError(NextbatchError, ValueError):
    """The rows cannot be used. The message names the column or the row."""


class TooLittleMemoryError(NextbatchError, MemoryError):
    """The call would need more memory than is available, or than ``max_memory``."""


class WorkerError(NextbatchError, RuntimeError):
    """The program behind this package could not be started, ended in the middle, or has a fault."""


class NextbatchWarning(UserWarning):
    """Something that you should know about a result, such as rows or columns that were not used."""
