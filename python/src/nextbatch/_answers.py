"""What a campaign answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _html

Floats = npt.NDArray[np.float64]
Library = Literal["pandas", "polars"]

_AUDIT = "audit row: drawn at random from the open rows, to measure the error"


@dataclass(frozen=True)
class Asked:
    """Rows that are out to be labelled, the most useful first.

    Lists with one entry per row are in the order of the picks.

    Attributes
    ----------
    ids : ndarray
        The ids of the rows; in a campaign without an id column, their numbers.
    ask : int
        The number of the ask, from 1.
    event : int
        The number of its event, for `Campaign.undo`.
    audit : ndarray of bool
        Whether a row was drawn at random, to measure the error of the model.
    reasons : list of str
        Why each row is in the batch.
    predictions : dict
        By target, an array with a line per row: prediction, lower and upper end of the interval; NaN
        where there is none. Empty without a model.
    method : str
        The method that picked.
    trained : int
        How many labelled rows the model was fitted to; 0 without a model.
    lease_end : datetime or None
        When the rows are open again; None means never.
    warnings : list of str
        What you should know about the batch. They were also issued as `NextbatchWarning`.
    columns : dict
        The rows as a table: ids, ``pick``, ``reason`` (without the prediction, which would steer who labels), the inputs, and an
        empty column for each target; where the ask has them, also ``run``, ``replicate``, ``plate`` and ``well``.
    """

    ids: npt.NDArray[Any]
    ask: int
    event: int
    audit: npt.NDArray[np.bool_]
    reasons: list[str]
    predictions: dict[str, Floats] = field(repr=False)
    method: str
    trained: int
    lease_end: datetime | None
    warnings: list[str]
    columns: dict[str, Any] = field(repr=False)
    _lab: list[str] = field(default_factory=list, repr=False)  # those columns that say where and how often to measure
    _alone: list[str] = field(default_factory=list, repr=False)  # the reasons without what is predicted

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()

    def _shown(self) -> _html.Shown:
        until = f" until {self.lease_end:%Y-%m-%d %H:%M %Z}" if self.lease_end else ""
        picks = _html.column("pick", range(1, len(self) + 1))
        columns = [picks, _html.column("row", self.ids), *(_html.column(name, self.columns[name]) for name in self._lab), _html.column("reason", self._alone)]
        return _html.some(len(self), f"{_html.rows_of(len(self))} to label, of ask {self.ask}, with you{until}", columns)

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return `columns` as a frame, ready to be filled in and given to `Campaign.tell`.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("asked.db", np.eye(3), "y")
        >>> frame = campaign.ask(2).to_frame()
        >>> list(frame.columns)
        ['row', 'pick', 'reason', 'x0', 'x1', 'x2', 'y']
        >>> frame["y"] = [0.5, 1.5]
        >>> len(campaign.tell(frame).ids)
        2
        """
        return frame_of(self.columns, library)


@dataclass(frozen=True)
class Wrong:
    """A row of a list that cannot be right.

    Attributes
    ----------
    line : int
        Its place in the list, from 0.
    id : str
        Its id.
    reason : str
        What is wrong with it.
    """

    line: int
    id: str
    reason: str


@dataclass(frozen=True)
class Changed:
    """What a call changed.

    Attributes
    ----------
    event : int
        The number of its event, for `Campaign.undo`; 0 if everything was that way already.
    ids : ndarray
        The rows that changed.
    repeated : bool
        Whether the request had been made before, so that nothing changed now.
    """

    event: int
    ids: npt.NDArray[Any]
    repeated: bool


@dataclass(frozen=True)
class Waiting:
    """A label that waits for a second look: it is far from what was expected when it was told.

    It is in the history, but nothing learns from it and no estimate uses it until it is confirmed
    (`Campaign.confirm`) or corrected (``tell(..., correct=True)``).

    Attributes
    ----------
    id
        The row, as the campaign names it: by its id, or by its number.
    target : str
        The target that the label is of.
    value : float
        The label.
    low, high : float
        Where a right label was expected: the interval that was predicted or, without one, where nine of
        ten labels lie.
    prediction : float or None
        What was predicted before the label came, if anything was.
    slip : str
        What may have happened, such as ``"one digit too many?"``; empty where nothing fits.
    why : str
        All of this in words.
    event : int
        The event that told it.
    since : datetime
        When it was told.
    person : str
        Who told it.
    """

    id: Any
    target: str
    value: float
    low: float
    high: float
    prediction: float | None
    slip: str
    why: str
    event: int
    since: datetime
    person: str


@dataclass(frozen=True)
class Told(Changed):
    """The result of `Campaign.tell`.

    Attributes
    ----------
    known : int
        How many labels the rows had already.
    wrong : list of Wrong
        Rows that were left out, with ``partial=True``.
    waiting : list of Waiting
        Labels that wait for a second look, because they are far from what was expected.
    """

    known: int
    wrong: list[Wrong]
    waiting: list[Waiting]


@dataclass(frozen=True)
class Added:
    """The result of `Campaign.add`.

    Attributes
    ----------
    event : int
        The number of its event; 0 if nothing changed.
    rows, labelled : int
        How many rows, and how many of them came with a label.
    new_levels : dict
        By column, the words that no row had before.
    repeated : bool
        Whether the request had been made before.
    waiting : list of Waiting
        Labels that wait for a second look, because they are far from what was expected.
    """

    event: int
    rows: int
    labelled: int
    new_levels: dict[str, list[str]]
    repeated: bool
    waiting: list[Waiting]


@dataclass(frozen=True)
class Event:
    """An entry of the log.

    Attributes
    ----------
    event : int
        Its number, from 1.
    time : datetime
        When it happened.
    person : str
        Who did it.
    kind : str
        What happened, such as ``"asked"`` or ``"told"``.
    undone : bool
        Whether it has no effect: it was undone, or undoes another.
    ids : ndarray
        The rows that it names.
    request : str
        The id of the request that caused it.
    detail : dict
        The entry as it is stored.
    """

    event: int
    time: datetime
    person: str
    kind: str
    undone: bool
    ids: npt.NDArray[Any]
    request: str
    detail: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Status:
    """The status of a campaign.

    Attributes
    ----------
    name : str
        The name of the campaign.
    rows, open, asked, labelled, waiting, failed, retired : int
        How many rows there are, and how many have each status. A row is waiting if all its labels wait for a
        second look.
    targets : list of str
        The names of the targets.
    id_column : str or None
        The column that names the rows; without it, their numbers do.
    inputs : dict
        The other columns, with their kinds.
    event, asks : int
        The number of the last event, and how many batches were handed out.
    rmse : dict
        By target, the error of the current model with its interval, as a tuple of value, low and
        high; None where too few audit rows are labelled.
    advice : str
        ``"go on"``, ``"stop"`` or ``"too early to tell"``.
    because : str
        The reason for the advice.
    doubtful : list of Waiting
        The labels that wait for a second look, the oldest first.
    settings : dict
        How the campaign asks.
    standing : dict
        Learning curves, forecasts and gains, as ``nextbatch campaign status --json`` prints them.
    """

    name: str
    rows: int
    open: int
    asked: int
    labelled: int
    waiting: int
    failed: int
    retired: int
    targets: list[str]
    id_column: str | None
    inputs: dict[str, str]
    event: int
    asks: int
    rmse: dict[str, tuple[float, float, float] | None]
    advice: str
    because: str
    doubtful: list[Waiting]
    settings: dict[str, Any] = field(repr=False)
    standing: dict[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()

    def _shown(self) -> _html.Shown:
        states = ("labelled", "asked", "open", "waiting", "failed", "retired")
        rows = [["rows", ", ".join(f"{getattr(self, state):,} {state}" for state in states if getattr(self, state) or state == "labelled")]]
        for target, error in self.rmse.items():
            rows.append([f"error of {target}", "too few labelled audit rows" if error is None else f"RMSE {_html.with_interval(*error)}"])
        if self.doubtful:
            rows.append(["second look", f"{len(self.doubtful)} of the labels: see doubtful"])
        if self.advice:
            rows.append(["advice", f"{self.advice}: {self.because}"])
        return _html.Shown(f"campaign {self.name}: {_html.rows_of(self.rows)}, {self.asks} {'ask' if self.asks == 1 else 'asks'} so far", ["", ""], rows)


@dataclass(frozen=True)
class Predictions:
    """Predictions for the open rows.

    Attributes
    ----------
    ids : ndarray
        The ids of the rows; in a campaign without an id column, their numbers.
    mean, low, high : ndarray
        Predictions, and intervals that hold the label with probability 0.9; NaN where there is none.
        With several targets, they have a column for each.
    targets : list of str
        The names of the targets.
    trained : int
        How many labelled rows the model was fitted to.
    warnings : list of str
        What you should know about them.
    """

    ids: npt.NDArray[Any]
    mean: Floats
    low: Floats
    high: Floats
    targets: list[str]
    trained: int
    warnings: list[str]
    _id_name: str = field(default="row", repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()

    def _shown(self) -> _html.Shown:
        by_target = [values.reshape(len(self), -1) for values in (self.mean, self.low, self.high)]
        columns = [_html.intervals(target, *(values[:, k] for values in by_target)) for k, target in enumerate(self.targets)]
        title = f"predictions for {_html.rows_of(len(self))}, from {self.trained} labelled ones"
        return _html.some(len(self), title, [_html.column(self._id_name, self.ids), *columns])

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return a frame with the ids, ``prediction``, ``low`` and ``high``; with several targets, after their names.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
        >>> labels = np.where(np.arange(60) < 40, rows.sum(axis=1), np.nan)
        >>> campaign = Campaign.new("predictions.db", rows, "y", labels=labels, epochs=5, hidden=(16,))
        >>> frame = campaign.predict().to_frame()
        >>> list(frame.columns), len(frame)
        (['row', 'prediction', 'low', 'high'], 20)
        """
        columns: dict[str, Any] = {self._id_name: self.ids}
        several = len(self.targets) > 1
        for k, target in enumerate(self.targets):
            prefix = f"{target}_" if several else ""
            for name, values in (("prediction", self.mean), ("low", self.low), ("high", self.high)):
                columns[prefix + name] = values[:, k] if several else values
        return frame_of(columns, library)


@dataclass(frozen=True)
class Finding:
    """A label that disagrees with predictions by models that have not seen it.

    Attributes
    ----------
    id
        The row, as the campaign names it: by its id, or by its number.
    target : str
        The target that the label is of.
    label, prediction : float
        The label, and what was predicted.
    low, high : float
        A right label lies between them with a probability of 95 %.
    score : float
        The error over the error that is typical for such a row.
    p : float or None
        The probability that the worst label of a table without errors looks this wrong; None where it is not small.
    suspect : bool
        Whether the label looks wrong.
    """

    id: Any
    target: str
    label: float
    prediction: float
    low: float
    high: float
    score: float
    p: float | None
    suspect: bool


@dataclass(frozen=True)
class Audit:
    """The result of `Campaign.audit`.

    Attributes
    ----------
    labelled : int
        How many labelled rows were examined. Labels that wait for a second look are not: ``status().doubtful`` lists them.
    answers : dict
        By target, the result in a sentence.
    findings : list of Finding
        The labels that disagree most with predictions, those of each target together.
    warnings : list of str
        What you should know about the audit. They were also issued as `NextbatchWarning`.
    """

    labelled: int
    answers: dict[str, str]
    findings: list[Finding]
    warnings: list[str]
    _id_name: str = field(default="row", repr=False)

    def __len__(self) -> int:
        return len(self.findings)

    def __repr__(self) -> str:
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()

    def _shown(self) -> _html.Shown:
        found = self.findings
        predicted = ([getattr(f, name) for f in found] for name in ("prediction", "low", "high"))
        columns = [
            _html.column(self._id_name, [f.id for f in found]), _html.column("target", [f.target for f in found]),
            _html.column("label", [_html.number(f.label) for f in found]), _html.intervals("prediction", *predicted),
            _html.column("looks wrong", ["yes" if f.suspect else "" for f in found]),
        ]  # fmt: skip
        several = len(self.answers) > 1
        title = " ".join(f"{target}: {answer}" if several else answer for target, answer in self.answers.items())
        return _html.some(len(found), title, columns)

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return the findings as a frame.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(40, 2))
        >>> campaign = Campaign.new("doubts.db", rows, "y", labels=rows.sum(axis=1), learner="gp")
        >>> list(campaign.audit().to_frame().columns)
        ['row', 'target', 'label', 'prediction', 'low', 'high', 'score', 'p', 'suspect']
        """
        names = ("target", "label", "prediction", "low", "high", "score", "p", "suspect")
        columns = {self._id_name: [f.id for f in self.findings], **{name: [getattr(f, name) for f in self.findings] for name in names}}
        return frame_of(columns, library)


def audit_from(body: dict[str, Any], status: Status) -> Audit:
    """Make an audit from the answer of the worker or of a service."""
    findings = [
        Finding(
            id=f["row"] if status.id_column is None else f["id"], target=t["target"], label=f["label"], prediction=f["prediction"],
            low=f["low"], high=f["high"], score=f["score"], p=f.get("p"), suspect=place < t["suspects"],
        )
        for t in body["targets"]
        for place, f in enumerate(t["findings"])
    ]  # fmt: skip
    answers = {t["target"]: t["answer"] for t in body["targets"]}
    return Audit(body["labelled"], answers, findings, list(body["warnings"]), status.id_column or "row")


def rows_from(columns: dict[str, Any], status: Status) -> dict[str, Any]:
    """Return the columns of all rows, with counts and times as such."""
    row, time = next(iter(columns)), list(columns)[-1]
    for name in columns:
        if name.replace("nextbatch_", "") in ("row", "measured") and name not in status.inputs and name not in status.targets:
            columns[name] = columns[name].astype(np.int64)
    if status.id_column is not None:
        del columns[row]
    columns[time] = [None if text is None else time_of(text) for text in columns[time]]
    return columns


def frame_of(columns: dict[str, Any], library: Library) -> Any:
    """Return columns as a frame."""
    if library not in ("pandas", "polars"):
        raise ValueError(f"library must be 'pandas' or 'polars', not {library!r}")
    from importlib import import_module

    try:
        return import_module(library).DataFrame({k: v.tolist() if isinstance(v, np.ndarray) and v.dtype == object else v for k, v in columns.items()})
    except ImportError as error:
        raise ImportError(f"to_frame needs {library}: pip install {library}") from error


def ids_of(rows: Sequence[dict[str, Any]], id_column: str | None) -> npt.NDArray[Any]:
    """Return the names of rows: their ids, or their numbers."""
    if id_column is None:
        return np.array([row["row"] for row in rows], np.int64)
    return np.array([row["id"] for row in rows], object)


def waiting_from(rows: Sequence[dict[str, Any]], id_column: str | None) -> list[Waiting]:
    """Make the list of labels that wait from the answer of the worker or of a service."""
    return [
        Waiting(
            id=w["row"] if id_column is None else w["id"], target=w["target"], value=w["value"], low=w["doubt"]["low"], high=w["doubt"]["high"],
            prediction=w["doubt"].get("prediction"), slip=w["doubt"].get("slip", ""), why=w["why"], event=w["event"], since=time_of(w["since"]),
            person=w.get("person", ""),
        )
        for w in rows
    ]  # fmt: skip


def time_of(text: str) -> datetime:
    """Read a time as JSON has it, with up to nine digits after the second."""
    text = re.sub(r"(\.\d{1,6})\d*", lambda m: m.group(1).ljust(7, "0"), text)
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def asked_from(body: dict[str, Any], status: Status) -> Asked:
    """Make a batch from the answer of the worker or of a service."""
    rows, ids = body["rows"], ids_of(body["rows"], status.id_column)
    reasons, alone = ([_AUDIT if row["audit"] else row.get(key, "") for row in rows] for key in ("reason", "reason_alone"))
    columns: dict[str, Any] = {status.id_column or "row": ids}
    taken = {*columns, *status.inputs, *status.targets}
    lab = _lab(rows)
    own: dict[str, Any] = {"pick": np.arange(1, len(rows) + 1), **lab, "reason": alone}
    for name, values in own.items():
        columns[own_name(name, taken)] = values
    for name, kind in status.inputs.items():
        values = [row["inputs"].get(name) for row in rows]
        columns[name] = _floats(values) if kind == "numeric" else values
    for target in status.targets:
        columns[target] = np.full(len(rows), np.nan)
    predictions = {}
    if any(row["predictions"] for row in rows):
        for target in status.targets:
            of_rows = [row["predictions"].get(target) or {} for row in rows]
            predictions[target] = np.stack([_floats([p.get(key) for p in of_rows]) for key in ("value", "low", "high")], axis=1)
    return Asked(
        ids=ids, ask=body["ask"], event=body["event"], audit=np.array([row["audit"] for row in rows], bool), reasons=reasons,
        predictions=predictions, method=body["spec"], trained=body["trained"], warnings=list(body["warnings"]),
        lease_end=time_of(body["lease_end"]) if body.get("lease_end") else None, columns=columns,
        _lab=[own_name(name, taken) for name in lab], _alone=alone,
    )  # fmt: skip


def own_name(name: str, taken: Iterable[str]) -> str:
    """Return the name of a column of ours that the rows do not have."""
    others = set(taken)
    while name in others:
        name = "_" + name
    return name


def _lab(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns about runs, replicates and wells, where the batch has them."""
    several = any(row.get("replicate", 1) > 1 for row in rows)
    shown = [name for name in ("run", "replicate", "plate", "well") if (several if name == "replicate" else any(row.get(name) for row in rows))]
    return {name: [row.get(name) for row in rows] for name in shown}


def _floats(values: Sequence[Any]) -> Floats:
    return np.array([np.nan if v is None else v for v in values], np.float64)


def status_from(body: dict[str, Any]) -> Status:
    """Make a status from the answer of the worker or of a service."""
    standing = body.get("standing") or {"targets": [], "advice": {"verdict": "", "because": ""}}
    rmse: dict[str, tuple[float, float, float] | None] = dict.fromkeys(body["targets"])
    for target in standing["targets"]:
        curve = target["curve"]
        if curve is not None:
            value, low, high = (np.inf if curve["rmse"][key] is None else curve["rmse"][key] for key in ("value", "low", "high"))
            rmse[target["target"]] = (value, low, high)
    counts = {key: body[key] for key in ("rows", "open", "asked", "labelled", "waiting", "failed", "retired", "event", "asks")}
    id_column = body.get("id_column") or None
    return Status(
        name=body["name"], targets=list(body["targets"]), id_column=id_column, rmse=rmse,
        inputs={c["name"]: c["kind"] for c in body["columns"]}, advice=standing["advice"]["verdict"],
        because=standing["advice"]["because"], doubtful=waiting_from(standing.get("doubtful") or [], id_column), settings=body["settings"], standing=standing, **counts,
    )  # fmt: skip
