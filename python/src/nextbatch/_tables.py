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
    ordered: dict[str, list[str]] = field(default_factory=dict)  # of these, those with an order: all categories, the lowest first
    matrix_names: list[str] = field(default_factory=list)  # of the columns of an array
    index: Any = None  # of a pandas frame, unless it only counts the rows
    named: bool = False  # whether the index is one name per row, and no two are the same

    def names(self) -> list[str]:
        """Return the names of all columns."""
        return [name for c in self.columns for name in c.get("names", [c["name"]])]

    def complete(self) -> set[str]:
        """Return the names of the columns of an array that lack no value."""
        if not self.matrix_names:
            return set()
        whole = ~np.isnan(self.columns[0]["arrays"][0]).any(axis=0)
        return {name for name, full in zip(self.matrix_names, whole, strict=True) if full}

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


def kept(keep: Sequence[str], tables: Sequence[Table]) -> list[str]:
    """Return the columns to keep: of arrays also those without gaps, which are inputs even if they look like row numbers."""
    complete = set.intersection(*(t.complete() for t in tables))
    return list(dict.fromkeys([*keep, *(name for name in tables[0].matrix_names if name in complete)]))


def is_series(data: object) -> bool:
    """Whether the data are a Series of pandas, whose index names them."""
    loaded_pandas = sys.modules.get("pandas")
    return loaded_pandas is not None and isinstance(data, loaded_pandas.Series)


def loaded(data: Any) -> Any:
    """Return a lazy frame of polars as a frame, what is of pyarrow as of pandas, and anything else as it is."""
    if type(data).__module__.partition(".")[0] == "pyarrow" and hasattr(data, "to_pandas"):
        return data.to_pandas()
    return data.collect() if type(data).__name__ == "LazyFrame" and hasattr(data, "collect") else data


def dense(data: Any) -> Any:
    """Return a sparse matrix of SciPy as an array, one with a mask as one with gaps, and anything else as it is."""
    if isinstance(data, np.ma.MaskedArray):
        return _with_gaps(data)
    return data.toarray() if hasattr(data, "toarray") and hasattr(data, "nnz") else data


def _with_gaps(array: np.ma.MaskedArray[Any, Any]) -> Array:
    """Return an array with NaN, NaT or None in place of what a mask hides."""
    mask, kind = np.ma.getmaskarray(array), array.dtype.kind
    if not mask.any():
        return array.data
    values = array.data.astype(np.float64 if kind in "iu" else array.dtype if kind in "fmM" else object)
    values[mask] = np.nan if kind in "iuf" else "NaT" if kind in "mM" else None
    return values


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
    if isinstance(data, np.ma.MaskedArray) and data.dtype.kind == "b":
        data = data.astype(np.float64)
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
    array = to_numpy(loaded(data), name)
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
    data = values() if callable(values) else dense(labels)
    if not isinstance(data, (list, tuple)) and getattr(getattr(data, "dtype", None), "kind", "") not in ("O", "U", "T"):
        return None
    array = np.asarray(data, object)
    return array if any(isinstance(v, str) for v in array.flat) else None


def _by_target(array: Array, name: str, rows: int) -> Array:
    """Return labels with a column for each target."""
    if array.ndim == 0:
        raise DataError(f"{name} is {array.item():g}, where one number per row is expected")
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


def table_of(data: Any, name: str, id_column: str | None = None) -> Table:
    """Return the columns of a frame, of a dictionary of columns, or of an array."""
    data = loaded(data)
    data = data if isinstance(data, np.ma.MaskedArray) else dense(data)  # some sparse matrices are dictionaries
    if is_frame(data, "pandas"):
        return _from_pandas(data, name, id_column)
    if is_frame(data, "polars"):
        return _from_columns([(c, data[c]) for c in data.columns], name, id_column)
    if isinstance(data, Mapping):
        return _from_columns([*data.items()], name, id_column)
    if id_column is not None:
        raise RequestError(f"id={id_column!r} names a column, but {name} is an array, whose rows have numbers")
    array = matrix_of(data, name)
    names = [f"x{j}" for j in range(array.shape[1])]
    table = Table(name, array.shape[0], matrix_names=names)
    table.columns.append({"name": name, "kind": "matrix", "names": names, "arrays": [array]})
    return table


def column_of(data: Any, name: str) -> Any:
    """Return the column of a frame, or of a dictionary, whose name reads so."""
    return data[next(key for key in (data if isinstance(data, Mapping) else data.columns) if str(key) == name)]


def _from_pandas(frame: Any, name: str, id_column: str | None) -> Table:
    pandas = sys.modules["pandas"]
    if isinstance(frame.columns, pandas.MultiIndex):
        raise DataError(f"{name} has several levels of column names; flatten them first")
    table = _from_columns([(c, frame.iloc[:, i]) for i, c in enumerate(frame.columns)], name, id_column)
    table.rows = len(frame)
    counts = isinstance(frame.index, pandas.RangeIndex) and frame.index.equals(pandas.RangeIndex(len(frame)))
    if not counts:
        table.index = frame.index
        table.named = not isinstance(frame.index, pandas.MultiIndex) and bool(frame.index.is_unique)
    return table


def _from_columns(columns: Sequence[tuple[Any, Any]], name: str, id_column: str | None) -> Table:
    """Return columns as a table, where their names are text, as in a file."""
    if not columns:
        raise DataError(f"{name} has no columns")
    for key, values in columns:
        if isinstance(values, str) or not hasattr(values, "__len__") or np.ndim(values) == 0:
            raise DataError(f"{name}: column {str(key)!r} is {values!r}, not a list of values")
    table = Table(name, len(columns[0][1]))
    keys: dict[str, Any] = {}
    for own, values in columns:
        key = str(own)
        if key in keys:
            two = f"two columns {key!r}" if keys[key] == own else f"columns {keys[key]!r} and {own!r}, whose names are the same text"
            raise DataError(f"{name}: there are {two}; rename one")
        keys[key] = own
        if len(values) != table.rows:
            raise DataError(f"{name}: column {key!r} has {len(values)} rows where others have {table.rows}")
        where = f"{name}: column {key!r}"
        table.columns.append(text_column(key, values) if key == id_column else _column(key, dense(values), where, table))
    return table


def _column(key: str, values: Any, where: str, table: Table) -> dict[str, Any]:
    """Return a column of a frame, or of a dictionary."""
    kind = str(getattr(values, "dtype", "")).lower()
    if kind.startswith(("category", "categorical", "enum")):
        table.categorical.append(key)
        return _categories(key, values, where, table)
    if isinstance(values, np.ndarray) and values.dtype.kind == "m":
        return {"name": key, "kind": "numeric", "arrays": [values / np.timedelta64(1, "s")]}
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = values.astype("M8[us]")  # of which Python has objects
    if kind.startswith(("duration", "timedelta")):
        seconds = [np.nan if is_missing(v) else v.total_seconds() for v in listed(values)]
        return {"name": key, "kind": "numeric", "arrays": [np.array(seconds, np.float64)]}
    if kind in ("bool", "boolean"):
        return _words(key, [None if is_missing(v) else str(bool(v)) for v in listed(values)], where)
    if kind.startswith(("int", "uint", "float", "decimal", "double")) and not kind.startswith("interval"):
        return {"name": key, "kind": "numeric", "arrays": [_numbers(values)]}
    return _from_objects(key, listed(values), where)


def _categories(key: str, values: Any, where: str, table: Table) -> dict[str, Any]:
    """Return a column of dtype category: each category, whatever it is, by its text."""
    about = getattr(values, "cat", values)
    if not hasattr(about, "categories"):  # of polars, which has texts
        return _words(key, listed(values), where)
    codes = np.asarray(about.codes, np.int32)
    levels = [str(v) for v in _plain_dates(about.categories.tolist())]
    if len(set(levels)) < len(levels):
        twice = next(v for v in levels if levels.count(v) > 1)
        raise DataError(f"{where} has two categories that read {twice!r}; rename one")
    if about.ordered:
        table.ordered[key] = levels
    used = np.unique(codes[codes >= 0])
    places = np.full(len(levels) + 1, -1, np.int32)  # the last for -1, which is a gap
    places[used] = np.arange(len(used))
    return {"name": key, "kind": "categorical", "levels": [levels[i] for i in used], "arrays": [places[codes]]}


def orders(tables: Sequence[Table]) -> dict[str, list[str]]:
    """Return the columns of categories with an order, which all tables share."""
    merged: dict[str, list[str]] = {}
    for table in tables:
        for name, levels in table.ordered.items():
            longer, shorter = sorted((merged.get(name, levels), levels), key=len, reverse=True)
            if [v for v in longer if v in shorter] != shorter:
                raise DataError(f"{table.name}: column {name!r} has categories in the order {' < '.join(levels)}, but elsewhere in the order "
                                f"{' < '.join(merged[name])}; give both the same categories")  # fmt: skip
            merged[name] = longer
    return merged


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
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
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
    return DataError(
        f"{where} is neither numbers nor words: row {row} (from 0) is a {type(value).__name__}, {value!r}; where each value is a category, "
        "make the column one of dtype category"
    )


def text_column(key: str, values: Any) -> dict[str, Any]:
    """Return a column of text, such as names of rows."""
    texts = [b"" if is_missing(v) else str(v).encode() for v in listed(values)]
    ends = np.cumsum([len(t) for t in texts], dtype=np.int64)
    return {"name": key, "kind": "text", "arrays": [ends, np.frombuffer(b"".join(texts), np.uint8)]}
