"""Frames of the worker's protocol: a length, a JSON header, and arrays as raw bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import RequestError

Array = npt.NDArray[Any]

#: The version of the protocol.
PROTOCOL = 4

_TYPES = {name: np.dtype(name).newbyteorder("<") for name in ("float32", "float64", "int32", "int64", "uint8")}


class FrameError(Exception):
    """What arrived is not a frame."""


def encode(number: int, kind: str, body: object, arrays: Sequence[Array] = ()) -> list[memoryview]:
    """Return the pieces of a frame. Arrays that lie in memory row by row are not copied."""
    shapes, pieces = [], []
    for array in arrays:
        name = array.dtype.newbyteorder("=").name
        if name not in _TYPES:
            raise TypeError(f"arrays of {array.dtype} cannot be sent")
        flat = np.ascontiguousarray(array, dtype=_TYPES[name]).reshape(-1)
        shapes.append({"type": name, "shape": list(array.shape)})
        pieces.append(memoryview(flat.view(np.uint8)))
    try:
        header = json.dumps({"id": number, "kind": kind, "body": body, "arrays": shapes}, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise RequestError(f"an argument has a value that cannot be sent: {error}") from error
    return [memoryview(struct.pack("<I", len(header)) + header), *pieces]


def decode(fill: Callable[[memoryview], None]) -> tuple[int, str, Any, list[Array]]:
    """Read a frame with a function that fills a buffer."""
    length = bytearray(4)
    fill(memoryview(length))
    header = bytearray(struct.unpack("<I", length)[0])
    fill(memoryview(header))
    try:
        fields = json.loads(header)
        arrays = [np.empty(shape["shape"], _TYPES[shape["type"]]) for shape in fields.get("arrays", ())]
        number, kind, body = fields["id"], fields["kind"], fields.get("body")
    except (ValueError, KeyError, TypeError) as error:
        raise FrameError(str(error)) from error
    for array in arrays:
        if array.size:
            fill(memoryview(array.reshape(-1).view(np.uint8)))
    return number, kind, body, arrays
