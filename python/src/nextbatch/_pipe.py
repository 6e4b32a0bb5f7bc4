"""Writes to the pipe of the worker."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import Any

import numpy as np

_MOST = 1 << 30  # bytes of one call
_LARGE = 1 << 20  # bytes from which on lending pages is faster than copying them


class _Piece(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("length", ctypes.c_size_t)]  # struct iovec


class Writer:
    """Writes memory to a pipe.

    Linux lends large pieces to the pipe (vmsplice), so that they are copied once, by the process that
    reads them. Until it has done so, they must neither change nor be freed.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lend = _vmsplice()

    def write(self, piece: memoryview) -> int:
        """Write some of the piece, and return how many bytes."""
        piece = piece[:_MOST]
        if self._lend is not None and len(piece) >= _LARGE:
            lent = _Piece(np.frombuffer(piece, np.uint8).ctypes.data, len(piece))
            count = self._lend(self._descriptor, ctypes.byref(lent), 1, 0)
            if count >= 0:
                return int(count)
            if ctypes.get_errno() == errno.EINTR:
                return 0
            self._lend = None  # a sandbox may forbid it; os.write reports a pipe that nobody reads
        return os.write(self._descriptor, piece)


def _vmsplice() -> Any:
    """Return the function of the C library; None where there is none."""
    if sys.platform != "linux":
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).vmsplice
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_ssize_t
    function.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_uint]
    return function
