"""Turns arrays and frames into the columns that the worker takes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._errors import DataError, RequestError
from ._frames import Array


@dataclass
class Table:
    """Columns that are ready to be sent."""

    name: str  # in messages
    rows: int
    columns: list[dict[str, Any]] = field(default_factory=list)  # each with its arrays themselves
    categorical: list[str] = field(default_factory=list)  # columns that the frame declares as categories
    matrix_names: list[str] = field(default_factory=list)  # of the columns of an array
    index: Any = None  # of a pandas frame, unless it only counts the rows
    named: bool = False  # whether the index is one name per row, and no two are the same

    def names(self) -> list[str]:
        """Return the names of all columns."""
        return [name for c in self.columns for name in c.get("names", [c["name"]])]

    def add(self, column: dict[str, Any]) -> None:
        """Add a column whose name must be new."""
        if column["name"] in self.names():
            raise RequestError(f"{self.name}: there are two columns {column['name']!r}; rename one")
        self.columns.append(column)

    def renamed(self, names: Sequence[str]) -> Table:
        """Give the columns the names that others in their places had."""
        if self.matrix_names:
            self.columns[0]["names"] = list(names)
            return self
        for column, name in zip(self.columns, names, strict=True):
            column["name"] = name
        return self

    def pack(self, arrays: list[Array]) -> dict[str, Any]:
        """Return the table as JSON, and append its arrays to those of the frame."""
        columns = []
        for column in self.columns:
            own = column["arrays"]
            columns.append({**column, "arrays": list(range(len(arrays), len(arrays) + len(own)))})
            arrays.extend(own)
        return {"name": self.name, "columns": columns}


def is_frame(data: object, module: str) -> bool:
    """Whether the data are a frame of a module, which is not imported to find out."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(data, loaded.DataFrame)


def dense(data: Any) -> Any:
    """Return a sparse matrix of SciPy as an array, and anything else as it is."""
    return data.toarray() if hasattr(data, "toarray") and hasattr(data, "nnz") else data


def same_rows(frame: Any, labels: Any, name: str) -> None:
    """Reject labels whose index names the rows of a frame in another order: it is not clear which label is whose."""
    if not is_frame(frame, "pandas") or not hasattr(labels, "index") or not hasattr(labels.index, "isin"):
        return
    if len(frame) == len(labels) and not frame.index.equals(labels.index) and labels.index.isin(frame.index).any():
        raise DataError(
            f"the index of y names rows of {name}, but at other places; give y.loc[{name}.index] if the labels belong to the rows "
            "of their names, or y.to_numpy() if they are in the order of the rows"
        )


def to_numpy(data: Any, name: str) -> Array:
    """Return an array or a tensor as an array of numbers, in float32 or float64."""
    data = dense(data)
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(data, torch.Tensor):
        data = data.detach().cpu()
        data = (data.float() if data.dtype in (torch.bfloat16, torch.float16) else data).numpy()
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise DataError(f"{name} cannot be made an array: {error}") from error
    if array.dtype.kind == "f":
        return array.astype(np.float32 if array.dtype.itemsize <= 4 else np.float64, copy=False)
    if array.dtype.kind in "iub":
        return array.astype(np.float64)
    raise DataError(f"{name} has elements of type {array.dtype}, not numbers; give a frame if it has columns of words")


def matrix_of(data: object, name: str) -> Array:
    """Return rows and columns of numbers."""
    if data is None:
        raise DataError(f"{name} is None, not rows and columns")
    array = to_numpy(data, name)
    if array.shape == (0,):
        return array.reshape(0, 0)
    if array.ndim != 2:
        hint = "; for a single column write .reshape(-1, 1)" if array.ndim == 1 else ""
        raise DataError(f"{name} has {array.ndim} dimensions where rows and columns are expected{hint}")
    return array


def labels_of(data: object, name: str, rows: int) -> Array:
    """Return the labels of each row: one, or a few for several targets."""
    values = getattr(data, "to_numpy", None)
    return _by_target(to_numpy(_without_none(values() if callable(values) else data), name), name, rows)


def label_columns(data: object, name: str, rows: int) -> list[dict[str, Any]]:
    """Return the labels of each row as a column for each target, which has no name yet: of numbers, or of cells."""
    texts = texts_among(data)
    if texts is not None:
        return [_cells("", column, name) for column in _by_target(texts, name, rows).T.tolist()]
    labels = labels_of(data, name, rows)
    return [{"name": "", "kind": "numeric", "arrays": [np.ascontiguousarray(column)]} for column in labels.T]


def texts_among(labels: Any) -> Array | None:
    """Return labels as Python objects if some of them are texts, and None otherwise."""
    values = getattr(labels, "to_numpy", None)
    data = values() if callable(values) else labels
    if not isinstance(data, (list, tuple)) and getattr(getattr(data, "dtype", None), "kind", "") not in ("O", "U", "T"):
        return None
    array = np.asarray(data, object)
    return array if any(isinstance(v, str) for v in array.flat) else None


def _by_target(array: Array, name: str, rows: int) -> Array:
    """Return labels with a column for each target."""
    if array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise DataError(f"{name} has the shape {array.shape} where one number per row is expected, or a column for each target")
    if len(array) != rows:
        raise DataError(f"{name} has {len(array)} labels for {rows} rows")
    return array if array.ndim == 2 else array[:, None]


def _without_none(labels: Any) -> Any:
    """Return labels with None or NA among them as numbers, and anything else as it is."""
    array = np.asarray(labels, object) if isinstance(labels, list) else labels
    if getattr(array, "dtype", None) != object or not all(is_missing(v) or isinstance(v, (int, float, np.number)) for v in array.flat):
        return labels
    return np.array([np.nan if is_missing(v) else float(v) for v in array.flat], np.float64).reshape(array.shape)


def table_of(data: object, name: str, id_column: str | None = None) -> Table:
    """Return the columns of a frame, of a dictionary of columns, or of an array."""
    data = dense(data)
    if is_frame(data, "pandas"):
        return _from_pandas(data, name, id_column)
    if is_frame(data, "polars"):
        return _from_columns({c: data[c] for c in data.columns}, name, id_column)  # type: ignore[attr-defined, index]
    if isinstance(data, Mapping):
        return _from_columns(data, name, id_column)
    if id_column is not None:
        raise RequestError(f"id={id_column!r} names a column, but {name} is an array, whose rows have numbers")
    array = matrix_of(data, name)
    names = [f"x{j}" for j in range(array.shape[1])]
    table = Table(name, array.shape[0], matrix_names=names)
    table.columns.append({"name": name, "kind": "matrix", "names": names, "arrays": [array]})
    return table


def _from_pandas(frame: Any, name: str, id_column: str | None) -> Table:
    pandas = sys.modules["pandas"]
    if isinstance(frame.columns, pandas.MultiIndex):
        raise DataError(f"{name} has several levels of column names; flatten them first")
    duplicates = frame.columns[frame.columns.duplicated()]
    if len(duplicates):
        raise DataError(f"{name}: there are two columns {str(duplicates[0])!r}; rename one")
    table = _from_columns({str(c): frame[c] for c in frame.columns}, name, id_column)
    table.rows = len(frame)
    counts = isinstance(frame.index, pandas.RangeIndex) and frame.index.equals(pandas.RangeIndex(len(frame)))
    if not counts:
        table.index = frame.index
        table.named = not isinstance(frame.index, pandas.MultiIndex) and bool(frame.index.is_unique)
    return table


def _from_columns(columns: Mapping[str, Any], name: str, id_column: str | None) -> Table:
    if not columns:
        raise DataError(f"{name} has no columns")
    table = Table(name, len(next(iter(columns.values()))))
    for key, values in columns.items():
        if len(values) != table.rows:
            raise DataError(f"{name}: column {key!r} has {len(values)} rows where others have {table.rows}")
        where = f"{name}: column {key!r}"
        column = text_column(key, values) if key == id_column else _column(key, values, where, table)
        table.columns.append(column)
    return table


def _column(key: str, values: Any, where: str, table: Table) -> dict[str, Any]:
    """Return a column of a frame, or of a dictionary."""
    kind = str(getattr(values, "dtype", "")).lower()
    if kind.startswith(("category", "categorical", "enum")):
        table.categorical.append(key)
        return _words(key, listed(values), where)
    if kind.startswith(("duration", "timedelta")):
        seconds = [np.nan if is_missing(v) else v.total_seconds() for v in listed(values)]
        return {"name": key, "kind": "numeric", "arrays": [np.array(seconds, np.float64)]}
    if kind in ("bool", "boolean"):
        return _words(key, [None if is_missing(v) else str(bool(v)) for v in listed(values)], where)
    if kind.startswith(("int", "uint", "float", "decimal", "double")):
        return {"name": key, "kind": "numeric", "arrays": [_numbers(values)]}
    return _from_objects(key, listed(values), where)


def listed(values: Any) -> list[Any]:
    """Return the values of a column, of an array or of a list."""
    to_list = getattr(values, "to_list", None) or getattr(values, "tolist", None)
    return list(to_list()) if to_list is not None else list(values)


def _plain_dates(dates: Sequence[Any]) -> Sequence[Any]:
    """Return dates, without a time of day where every time is midnight, as files have them."""
    times = [d for d in dates if not is_missing(d) and hasattr(d, "hour")]
    if times and all(hasattr(d, "date") and d.tzinfo is None and (d.hour, d.minute, d.second, d.microsecond) == (0, 0, 0, 0) for d in times):
        return [d if is_missing(d) else d.date() for d in dates]
    return dates


def _numbers(values: Any) -> Array:
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return array.astype(np.float32 if array.dtype.itemsize <= 4 else np.float64, copy=False)
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    # numbers with a mark for missing ones
    return np.array([np.nan if is_missing(v) else float(v) for v in listed(values)], np.float64)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _from_objects(key: str, values: Sequence[Any], where: str) -> dict[str, Any]:
    """Return a column of Python objects: all dates, all truth values, all numbers, or cells as people type them."""
    present = [v for v in values if not is_missing(v)]
    if present and all(hasattr(v, "isoformat") for v in present):
        return _words(key, [None if is_missing(v) else v.isoformat() for v in _plain_dates(values)], where)
    if present and all(isinstance(v, (bool, np.bool_)) for v in present):
        return _words(key, [None if is_missing(v) else str(bool(v)) for v in values], where)
    if all(isinstance(v, (int, float, np.integer, np.floating)) and not isinstance(v, bool) for v in present):
        return {"name": key, "kind": "numeric", "arrays": [np.array([np.nan if is_missing(v) else float(v) for v in values])]}
    return _cells(key, values, where)


def _cells(key: str, values: Sequence[Any], where: str) -> dict[str, Any]:
    """Return a column of text, and perhaps of numbers, which the worker reads as one of a file."""
    levels: dict[str, int] = {}
    codes = np.full(len(values), -1, np.int32)
    stored = False
    for row, value in enumerate(values):
        if not isinstance(value, str):
            if is_missing(value):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
                raise _neither(where, row, value)
            stored = True
        codes[row] = levels.setdefault(str(value), len(levels))
    return {"name": key, "kind": "cells", "levels": list(levels), "stored": stored, "arrays": [codes]}


def _words(key: str, values: Sequence[Any], where: str) -> dict[str, Any]:
    levels: dict[Any, int] = {}
    codes = np.empty(len(values), np.int32)
    first: Any = None
    for row, value in enumerate(values):
        if is_missing(value):
            codes[row] = -1
            continue
        first = type(value) if first is None else first
        if type(value) is not first or first not in (str, int, float, bool):
            raise _neither(where, row, value)
        codes[row] = levels.setdefault(value, len(levels))
    return {"name": key, "kind": "categorical", "levels": [str(v) for v in levels], "arrays": [codes]}


def _neither(where: str, row: int, value: Any) -> DataError:
    return DataError(f"{where} is neither numbers nor words: row {row} (from 0) is a {type(value).__name__}, {value!r}")


def text_column(key: str, values: Any) -> dict[str, Any]:
    """Return a column of text, such as names of rows."""
    texts = [b"" if is_missing(v) else str(v).encode() for v in listed(values)]
    ends = np.cumsum([len(t) for t in texts], dtype=np.int64)
    return {"name": key, "kind": "text", "arrays": [ends, np.frombuffer(b"".join(texts), np.uint8)]}
