"""Spaces of factors, whose combinations are candidates."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _binary
from ._errors import DataError, NextbatchError, RequestError, WorkerError


class Space:
    """A space of factors: all combinations that its constraints allow are candidates.

    Parameters
    ----------
    description : path, str or mapping
        A file such as ``space.toml``, its text, or what it says as a mapping: lists of dictionaries named
        ``factor``, ``mixture`` and ``constraint``, and ``cost``. ``nextbatch candidates --help`` lists all keys.
        A table of descriptors is looked for beside the file.

    Attributes
    ----------
    text : str
        The description.

    Examples
    --------
    >>> import nextbatch
    >>> heat = {"name": "heat", "range": [20, 120], "step": 5, "unit": "K"}
    >>> space = nextbatch.Space({"factor": [heat, {"name": "base", "categories": ["KOH", "NaOH"]}]})
    >>> space.describe()["candidates"]
    '42'
    """

    def __init__(self, description: str | os.PathLike[str] | Mapping[str, Any]) -> None:
        self._path: str | None = None
        if isinstance(description, Mapping):
            self.text = _toml(description)
        elif isinstance(description, str) and ("\n" in description or "=" in description):
            self.text = description
        else:
            self._path = os.fspath(description)
            try:
                self.text = Path(self._path).read_text(encoding="utf-8")
            except OSError as error:
                raise DataError(f"the space {self._path} cannot be read: {error.strerror}") from error

    def __repr__(self) -> str:
        return f"Space({self._path or self.text!r})"

    @classmethod
    def from_baybe(cls, text: str | Mapping[str, Any]) -> Space:
        """Return the space of BayBE's JSON, if it has one that means the same.

        Parameters
        ----------
        text : str or mapping
            What ``SearchSpace.to_json`` returned, or the part ``searchspace`` of a configuration.

        Returns
        -------
        Space
            The same factors and constraints.

        Raises
        ------
        RequestError
            If something in it means nothing here; the message names it.

        Examples
        --------
        >>> import nextbatch
        >>> base = {"type": "CategoricalParameter", "name": "base", "values": ["KOH", "NaOH"]}
        >>> nextbatch.Space.from_baybe({"parameters": [base]}).describe()["candidates"]
        '2'
        """
        given: Mapping[str, Any] = json.loads(text) if isinstance(text, str) else text
        given = given.get("searchspace", given)
        parts = [part for part in (given, given.get("discrete"), given.get("continuous")) if part]
        factors = [_factor(p) for part in parts for p in part.get("parameters") or []]
        rules = [rule for part in parts for c in part.get("constraints") or [] for rule in _constraint(c)]
        for part in parts:
            for key, sign in (("constraints_lin_eq", "="), ("constraints_lin_ineq", ">=")):
                rules += [_linear(c, sign) for c in part.get(key) or []]
            if part.get("constraints_nonlin"):
                raise RequestError("the space has constraints that are not linear, which mean nothing here")
        if given.get("constructor", "from_product") != "from_product":
            raise RequestError(f"a space of {given['constructor']} is a list of candidates: pass these as pool")
        space = cls({"factor": factors, "constraint": rules})
        rows = next((part["exp_rep"] for part in parts if part.get("exp_rep")), None)
        if rows is not None:
            discrete = cls({"factor": [f for f in factors if "range" not in f], "constraint": [r for r in rules if _of(r, factors)]})
            if discrete.describe()["candidates"] != str(_rows(rows)):
                raise RequestError("the space has other candidates than its parameters and constraints allow: pass these as pool")
        return space

    def describe(self) -> dict[str, Any]:
        """Return what the space is, without making candidates.

        Returns
        -------
        dict
            What ``nextbatch candidates --describe --json`` prints: ``candidates``, how many there are, as text (None where
            factors take any value), ``estimated``, ``factors``, ``constraints`` and ``notes``.

        Examples
        --------
        >>> import nextbatch
        >>> nextbatch.Space({"factor": [{"name": "a", "levels": [1, 2]}]}).describe()["factors"][0]["name"]
        'a'
        """
        answer: dict[str, Any] = json.loads(self._run("--describe", "--json", "--quiet"))
        return answer

    def candidates(self, n: int = 10_000, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
        """Return all candidates or, if there are more than `n`, a sample that fills the space.

        Parameters
        ----------
        n : int
            How many, at most.
        seed : int
            The same seed gives the same sample.

        Returns
        -------
        dict
            The columns by name, for `select`, or ``pandas.DataFrame(…)``.

        Examples
        --------
        >>> import nextbatch
        >>> columns = nextbatch.Space({"factor": [{"name": "a", "range": [0, 1]}]}).candidates(100)
        >>> len(columns["a"])
        100
        """
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder, "candidates.jsonl")
            self._run("--rows", str(n), "--seed", str(seed), "--out", str(table), "--quiet")
            rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
        columns: dict[str, np.ndarray[Any, Any]] = {}
        for name in dict.fromkeys(key for row in rows for key in row):
            values = [row.get(name) for row in rows]
            if any(isinstance(v, str) for v in values):
                columns[name] = np.array(values, dtype=object)
            else:
                columns[name] = np.array([np.nan if v is None else v for v in values], dtype=float)
        return columns

    def _run(self, *arguments: str) -> str:
        """Run the command, and return what it prints."""
        with tempfile.TemporaryDirectory() as folder:
            path = self._path
            if path is None:
                path = os.path.join(folder, "space.toml")
                Path(path).write_text(self.text, encoding="utf-8")
            done = subprocess.run([_binary.path(), "candidates", path, *arguments], capture_output=True, text=True, encoding="utf-8")
            said = done.stderr.replace(folder + os.sep, "").strip().removeprefix("nextbatch: ")
        partial = 4  # fewer candidates than asked for were found
        if done.returncode in (0, partial):
            return done.stdout
        kinds: dict[int, type[NextbatchError]] = {2: RequestError, 3: DataError}
        raise kinds.get(done.returncode, WorkerError)(said)


def _toml(value: Mapping[str, Any]) -> str:
    """Return a mapping as TOML."""
    lines = [f"{json.dumps(key)} = {_value(v)}" for key, v in value.items() if not _is_tables(v)]
    for key, tables in value.items():
        for table in tables if _is_tables(tables) else ():
            lines += [f"[[{json.dumps(key)}]]", *(f"{json.dumps(k)} = {_value(v)}" for k, v in table.items())]
    return "\n".join(lines) + "\n"


def _is_tables(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(v, Mapping) for v in value)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(k)} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, (Sequence, np.ndarray)):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    raise RequestError(f"a space cannot have the value {value!r}")


def _factor(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter of BayBE as a factor."""
    kind, name = parameter.get("type"), parameter.get("name")
    values = parameter.get("values", parameter.get("_values"))
    if kind == "NumericalContinuousParameter":
        bounds = parameter["bounds"]
        ends = [bounds["lower"], bounds["upper"]] if isinstance(bounds, Mapping) else list(bounds)
        return {"name": name, "range": ends}
    if kind == "NumericalDiscreteParameter" and values:
        return {"name": name, "levels": sorted(values)}
    if kind == "CategoricalParameter" and values:
        return {"name": name, "categories": [str(v) for v in values]}
    raise RequestError(f"the parameter {name!r} is a {kind}, which means nothing here; give its values as categories, or with descriptors")


def _constraint(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a constraint of BayBE as some of ours."""
    kind, names = given.get("type"), given.get("parameters") or []
    if kind == "DiscreteSumConstraint":
        condition = given["condition"]
        total, sign, slack = " + ".join(_quoted(n) for n in names), condition["operator"], condition.get("tolerance") or 0
        if sign in ("=", "==") and slack:
            return [{"linear": f"{total} >= {condition['threshold'] - slack}"}, {"linear": f"{total} <= {condition['threshold'] + slack}"}]
        if sign in ("=", "==", "<", "<=", ">", ">="):
            return [{"linear": f"{total} {sign.replace('==', '=')} {condition['threshold']}"}]
    if kind == "DiscreteExcludeConstraint" and given.get("combiner", "AND") in ("AND", "OR"):
        parts = {name: _condition(c) for name, c in zip(names, given["conditions"], strict=True)}
        return [{"forbid": parts}] if given.get("combiner", "AND") == "AND" else [{"forbid": {n: c}} for n, c in parts.items()]
    if str(kind).startswith("ContinuousLinear"):
        return [_linear(given, ">=" if "Inequality" in str(kind) else "=")]
    raise RequestError(f"the space has a {kind}, which means nothing here")


def _linear(given: Mapping[str, Any], sign: str) -> dict[str, Any]:
    """Return a linear constraint of continuous parameters."""
    names = given["parameters"]
    factors = given.get("coefficients") or [1] * len(names)
    total = " + ".join(f"{c}*{_quoted(n)}" for c, n in zip(factors, names, strict=True)).replace("+ -", "- ")
    return {"linear": f"{total} {given.get('operator', sign).replace('==', '=')} {given.get('rhs', 0)}"}


def _condition(given: Mapping[str, Any]) -> Any:
    if given.get("type") == "SubSelectionCondition":
        return given.get("selection", given.get("_selection"))
    if given.get("type") == "ThresholdCondition" and given["operator"] in ("<", "<=", ">", ">="):
        return f"{given['operator']} {given['threshold']}"
    raise RequestError(f"a condition is a {given.get('type')} with {given.get('operator')}, which means nothing here")


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"'{name}'"


def _of(rule: Mapping[str, Any], factors: list[dict[str, Any]]) -> bool:
    """Report whether a constraint is about discrete factors alone."""
    return "forbid" in rule or not any("range" in f and _quoted(f["name"]) in rule["linear"] for f in factors)


def _rows(table: str) -> int:
    """Return how many rows a frame has that BayBE has written."""
    try:
        import pandas

        return len(pandas.read_parquet(io.BytesIO(base64.b64decode(table))))
    except Exception as error:
        raise RequestError(f"the candidates in the space cannot be compared with its parameters: {error}") from error
