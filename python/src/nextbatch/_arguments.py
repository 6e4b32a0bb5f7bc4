"""What arguments may be: each is checked where it is given, so that messages name it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from numbers import Real
from typing import Any, Literal

import numpy as np

from ._errors import RequestError

Learner = Literal["auto", "network", "gp", "trees", "in-context"]
Missing = Literal["impute", "drop", "refuse"]
Censored = Literal["limit", "drop"]

_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
          "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}  # fmt: skip
_LARGEST = 2**53  # of whole numbers: JSON has no larger ones


def checked(**arguments: Any) -> dict[str, Any]:
    """Return arguments as the worker takes them, without those that are None, which were not given."""
    return {name: _KINDS[name](name, value) for name, value in arguments.items() if value is not None}


def _wrong(name: str, what: str, value: Any) -> RequestError:
    takes = "takes" if name == "must" else "must be"
    return RequestError(f"{name} {takes} {what}, not {value!r}")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "a text", value)
    return str(value)


def _column(name: str, value: Any) -> str:
    """Return the name of a column, which is text even if a frame has a number."""
    if isinstance(value, (bool, float)) or not isinstance(value, (str, int, np.integer)):
        raise _wrong(name, "the name of a column", value)
    return str(value)


def _columns(name: str, value: Any) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = [value]
    return [_column(name, v) for v in value]


def texts_of(name: str, value: Any) -> list[str]:
    """Return texts that are one, separated by commas, or a list."""
    if isinstance(value, str):
        return [v.strip() for v in value.split(",")]
    return _columns(name, value)


def _rows(name: str, value: Any) -> list[Any]:
    """Return the names of rows, of which there may be one."""
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        return [value]
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        raise _wrong(name, "a list of rows", value)
    return list(value)


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise _wrong(name, "a list", value)
    return list(value)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < _LARGEST:
        raise _wrong(name, "a whole number that is not negative", value)
    return int(value)


def positive(name: str, value: Any) -> int:
    """Return a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value < _LARGEST:
        raise _wrong(name, "a whole number from 1", value)
    return int(value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, (bool, str, bytes)) or not isinstance(value, (int, float, np.number, Fraction)) or not math.isfinite(value):
        raise _wrong(name, "a number", value)
    return float(value)


def _numbers(name: str, value: Any) -> list[float]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise _wrong(name, "a list of numbers", value)
    return [_number(name, v) for v in value]


def _ranges(name: str, value: Any) -> list[str]:
    """Return what labels can be, of one target or of several, as texts such as 0..100."""
    if isinstance(value, str):
        return value.split(",")
    if isinstance(value, tuple) and len(value) == 2 and all(v is None or isinstance(v, Real) for v in value):
        low, high = ("" if v is None or math.isinf(v) else repr(float(v)) for v in value)
        return [f"{low}..{high}"]
    if isinstance(value, (list, tuple)):
        return [text for one in value for text in ([] if one is None else _ranges(name, one))]
    raise _wrong(name, "such as '0..100' or (0, 100), or a list with one for each target", value)


def _lod(name: str, value: Any) -> str:
    """Return limits of detection, of all labels or by target, as the program reads them."""
    limits = value if isinstance(value, Mapping) else {"": value}
    if isinstance(value, str) or not all(isinstance(v, Real) and math.isfinite(v) and not isinstance(v, bool) for v in limits.values()):
        raise _wrong(name, "a number, or a dictionary of numbers by target", value)
    return ",".join(f"{target}={float(v)!r}" if target else repr(float(v)) for target, v in limits.items())


def _widths(name: str, value: Any) -> list[int]:
    if np.ndim(value) != 1 or not all(isinstance(w, (int, np.integer)) for w in value):
        raise _wrong(name, "a list with the width of each hidden layer, such as (512, 512)", value)
    return [_count(name, width) for width in value]


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_, int)):
        raise _wrong(name, "True or False", value)
    return bool(value)


def _share(name: str, value: Any) -> float:
    """Return a share, which may be written as a fraction, such as 1/8."""
    try:
        share = float(Fraction(value) if isinstance(value, str) else value)
    except (TypeError, ValueError, ZeroDivisionError):
        share = -1.0
    if not 0 <= share <= 1:
        raise _wrong(name, "a share from 0 to 1, such as '1/8' or 0.125", value)
    return share


def _memory(name: str, value: Any) -> int:
    """Return an amount of memory in bytes, which may be written as for the command line, such as 8GiB."""
    amount: Any = value
    if isinstance(value, str):
        parts = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([a-z]*)\s*", value, re.IGNORECASE)
        try:
            amount = float(parts[1]) * _UNITS[parts[2].upper()] if parts else None
        except (ValueError, KeyError):
            amount = None
    if isinstance(amount, bool) or not isinstance(amount, (int, float, np.number)) or not 0 <= amount < _LARGEST:
        raise _wrong(name, "a number of bytes, or an amount such as '8GiB'", value)
    return int(amount)


_KINDS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("method", "learner", "missing", "censored", "plate", "activation", "name", "person", "request", "reason", "stop"), _text),
    **dict.fromkeys(("cost", "group", "random_column", "id"), _column),
    **dict.fromkeys(("categorical", "keep"), _columns), **dict.fromkeys(("same", "controls"), texts_of),
    **dict.fromkeys(("n", "threads", "per_group", "min_per_group", "at_most_groups", "runs", "replicates", "ensemble", "folds"), _count),
    **dict.fromkeys(("cost_aware", "group_input", "latest", "plot"), _flag),
    **dict.fromkeys(("pending", "must", "exclude"), _rows), "learners": _list,
    "budget": _number, "event": positive, "holdout": _number, "weights": _numbers, "hidden": _widths, "range": _ranges, "lod": _lod, "replicate_share": _share, "audit": _share,
    "max_memory": _memory, "batch": positive, "epochs": positive,
}  # fmt: skip
