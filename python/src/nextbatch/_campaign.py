"""Campaigns: a table that people label over weeks."""

from __future__ import annotations

import getpass
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _tables, _worker
from ._answers import (
    Added, Asked, Audit, Changed, Event, Library, Predictions, Status, Told, Wrong, asked_from, audit_from, frame_of, ids_of, own_name,
    rows_from, status_from, time_of, waiting_from,
)  # fmt: skip
from ._arguments import Censored, Learner, checked, positive
from ._errors import DataError, RequestError, RowsError
from ._progress import reporter
from ._seed import drawn
from ._select import ProgressArgument, warn
from ._service import Service
from ._tables import Table
from ._transport import Body, Store, Transport

#: The environment variable with the token for a service.
TOKEN = "NEXTBATCH_TOKEN"

Where = str | os.PathLike[str]
Lease = str | timedelta | None


class Campaign:
    """A table that is labelled over weeks, in a file, a database, or a service.

    A campaign hands out rows to label, accepts labels late and in any order, and estimates the error.
    Several people may use it at the same time: no row is handed out twice. Nothing is lost: each
    event can be undone. The command ``nextbatch campaign`` works on the same files.

    Calls do the same everywhere, and return the same for the same rows, labels and seed.

    Parameters
    ----------
    where : str or path
        A file, the address of a PostgreSQL database (``postgres://…``), or that of a service
        (``http://…`` or ``https://…``), which ``nextbatch serve`` starts.
    name : str, optional
        The name of the campaign, if there are several.
    token : str, optional
        The token for a service; by default that in the environment variable ``NEXTBATCH_TOKEN``.
    person : str, optional
        Who you are, for the history; by default the name of the user. A service uses the token's person.

    Examples
    --------
    >>> import numpy as np
    >>> from nextbatch import Campaign
    >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
    >>> campaign = Campaign.new("c.db", rows, "y", epochs=20, hidden=(32,))
    >>> batch = campaign.ask(8)
    >>> told = campaign.tell(batch.ids, rows[batch.ids].sum(axis=1))
    >>> campaign = Campaign("c.db")
    >>> campaign.name, campaign.targets, campaign.status().labelled
    ('c', ['y'], 8)
    """

    def __init__(self, where: Where, name: str | None = None, *, token: str | None = None, person: str | None = None) -> None:
        self._transport = _transport(where, "" if name is None else name, token, person)
        self._about = status_from(self._transport.call("status", {}))

    @classmethod
    def new(
        cls,
        where: Where,
        rows: Any,
        target: str | Sequence[str],
        name: str | None = None,
        *,
        labels: Any = None,
        id: str | None = None,
        censored: Censored | None = None,
        token: str | None = None,
        person: str | None = None,
        request: str | None = None,
        learner: Learner = "auto",
        **settings: Any,
    ) -> Campaign:
        """Begin a campaign with the rows of a table.

        Parameters
        ----------
        where, token, person
            As for `Campaign`. A file that does not exist is created.
        rows : array or DataFrame
            The rows: an array of numbers, a frame of pandas or polars, or a dictionary of columns. Columns of text
            are read as those of a file, as in `nextbatch.select`.
        target : str or list of str
            The names of the targets. Columns of these names hold labels; NaN means none.
        name : str, optional
            The name of the campaign; by default that of the file, without its extension.
        labels : array, optional
            Labels of the rows, NaN where there is none, if the rows have no columns for them; for
            several targets, with a column for each.
        id : str, optional
            The column that names the rows. Without it, the index of a pandas frame does, or else their
            number, from 0.
        censored : {"limit", "drop"}, optional
            What to do about numbers such as ``"<0.5"`` in columns of text, as in `nextbatch.select`.
        request : str, optional
            The id of this request, as for `ask`.
        learner : {"auto", "network", "gp", "trees", "in-context"}
            The model that the campaign fits, as in `nextbatch.select`. It is a setting.
        **settings
            How the campaign asks, as for `change_settings`.

        Returns
        -------
        Campaign
            The new campaign.

        Examples
        --------
        >>> import nextbatch
        >>> rows = {"name": ["a", "b", "c"], "x": [1.0, 2.0, 3.0], "y": [0.5, None, None]}
        >>> campaign = nextbatch.Campaign.new("named.db", rows, "y", id="name", seed=3)
        >>> campaign.status().open
        2
        """
        transport = _transport(where, _name_of(where) if name is None else name, token, person)
        rows, id = _tables.loaded(rows), checked(id=id).get("id")
        targets = [target] if isinstance(target, str) or not isinstance(target, Iterable) else list(target)
        if not targets or not all(isinstance(t, str) for t in targets):
            raise RequestError(f"target must be the name of a column of labels, or a list of names, not {target!r}")
        table = _tables.table_of(rows, "rows", id)
        id = id or _name_by_index(table)
        if labels is not None:
            _add_labels(table, targets, labels)
        if table.categorical:
            settings["categorical"] = list(dict.fromkeys([*settings.get("categorical", ()), *table.categorical]))
        if table.matrix_names:
            settings["keep"] = _tables.kept(settings.get("keep", ()), [table])
        chosen = _changed({}, {"learner": learner, **settings}) | ({"ordered": table.ordered} if table.ordered else {})
        body = {"id": id or "", "targets": targets, "settings": chosen, **checked(censored=censored)}
        made = cls.__new__(cls)
        made._transport = transport
        answer = transport.call("new", body, request=_key(request), table=table)
        made._about = status_from(answer)
        warn(answer["warnings"])
        return made

    def __repr__(self) -> str:
        return f"<nextbatch.Campaign {self.name!r}>"

    def __enter__(self) -> Campaign:
        """Return the campaign. Nothing stays open between calls, so leaving ``with`` closes nothing."""
        return self

    def __exit__(self, *_: object) -> None:
        return None

    @property
    def name(self) -> str:
        """The name of the campaign."""
        return self._about.name

    @property
    def targets(self) -> list[str]:
        """The names of the targets."""
        return list(self._about.targets)

    def ask(
        self,
        n: int | None = None,
        *,
        lease: Lease = None,
        audit: float | None = None,
        must: Iterable[Any] = (),
        exclude: Iterable[Any] = (),
        same: str | Sequence[str] | None = None,
        runs: int | None = None,
        min_per_group: int | None = None,
        at_most_groups: int | None = None,
        replicates: int | None = None,
        replicate_share: float | str | None = None,
        plate: str | None = None,
        controls: str | Sequence[str] | None = None,
        request: str | None = None,
        progress: ProgressArgument = False,
    ) -> Asked:
        """Ask for rows to label, which are then out with you.

        A model is fitted to the labelled rows, unless there are no new labels since the last ask. As
        long as there are too few labels for a model, the batch is spread over the inputs. Ctrl-C
        cancels the ask.

        Parameters
        ----------
        n : int, optional
            How many rows; by default that of the settings.
        lease : str or timedelta, optional
            How long the rows are out, such as ``"36h"``, ``"7d"`` or ``"never"``; by default that of
            the settings. Afterwards they are open again.
        audit : float, optional
            The share of rows that are drawn at random, which show how large the error is; by default
            that of the settings.
        must, exclude : list
            Ids of rows that have to be in the batch, and of rows that may not be.
        same, runs, min_per_group, at_most_groups, replicates, replicate_share, plate, controls
            As in `nextbatch.select`; by default as the settings say. With replicates, `n` counts measurements.
        request : str, optional
            The id of this request. A request that was made before hands out nothing new: it returns
            the batch of that time. By default, each call is a request of its own.
        progress : bool or callable
            As in `nextbatch.select`.

        Returns
        -------
        Asked
            The rows.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("asks.db", np.eye(6), "y")
        >>> batch = campaign.ask(2, lease="7d", request="plate 1")
        >>> again = campaign.ask(2, lease="7d", request="plate 1")
        >>> bool((batch.ids == again.ids).all())
        True
        """
        body = {
            "rows": 0 if n is None else positive("n", n), "lease": _duration(lease), "must": _texts(must), "exclude": _texts(exclude),
            **checked(
                audit=audit, same=same, runs=runs, min_per_group=min_per_group, at_most_groups=at_most_groups, replicates=replicates,
                replicate_share=replicate_share, plate=plate, controls=controls,
            ),
        }  # fmt: skip
        with reporter(progress) as report:
            answer = self._transport.call("ask", body, request=_key(request), report=report)
        if n is not None and len(answer["rows"]) < n:
            answer["warnings"].append(f"the batch has {len(answer['rows'])} of {n} rows: there are no more that may be handed out")
        asked = asked_from(answer, self._about)
        warn(asked.warnings)
        return asked

    def tell(
        self,
        labels: Any,
        values: Any = None,
        *,
        partial: bool = False,
        again: bool = False,
        correct: bool = False,
        accept: bool = False,
        censored: Censored | None = None,
        request: str | None = None,
    ) -> Told:
        """Tell the labels of rows.

        Rows without a label are skipped, so you can tell a frame repeatedly while it fills up: labels
        that are already known change nothing. Different labels of a row are several measurements of it,
        and its label is their mean. Rows need not have been asked for. If a row is wrong, no label is
        stored; one whose inputs in a frame are not those of the campaign is wrong, too.

        Parameters
        ----------
        labels : DataFrame, dict, Series, or list of ids
            A frame, or a dictionary of columns, with the ids of rows and columns of labels, such as that of `Asked.to_frame` when
            it is filled in; a dictionary or a Series of labels by id; or the ids, together with `values`.
        values : array, optional
            A label for each id, NaN where there is none; for several targets, with a column for each.
        partial : bool
            Accept the rows that are right, even if others are wrong.
        again : bool
            Count a number that a row has already as one more measurement.
        correct : bool
            Replace the measurements of the rows.
        accept : bool
            Take the labels as they are. Otherwise a label that is far from what was expected, as after a slip of
            the decimal point, waits for a second look: it is stored, but counts once it is confirmed or
            corrected. `Told.waiting` lists such labels.
        censored : {"limit", "drop"}, optional
            Labels may be text, such as ``"12,5"``, ``"n.d."`` or ``"<0.5"``, which are read as in a file. This says
            whether the last one is the limit, the default, or missing.
        request : str, optional
            The id of this request, as for `ask`.

        Returns
        -------
        Told
            What changed.

        Raises
        ------
        RowsError
            If rows are wrong; its attribute ``wrong`` lists them.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("tells.db", np.eye(6), "y")
        >>> campaign.tell([0, 3], [1.5, 2.5]).ids
        array([0, 3])
        >>> campaign.tell({"row": [0, 1], "y": [1.5, None]}).known
        1
        >>> campaign.tell({4: 3.5}).ids
        array([4])
        """
        if again and correct:
            raise RequestError("again adds a measurement and correct replaces it: use one of them")
        labels, values = _tables.loaded(labels), _tables.loaded(values)
        lines, rows, faults, units = self._entries(labels if values is not None else self._as_columns(labels), values, censored)
        if faults and not partial:
            raise RowsError(faults)
        wrong = [Wrong(f["line"], f["id"], f["reason"]) for f in faults]
        if not rows:
            return Told(0, ids_of([], self._about.id_column), False, 0, wrong, [])
        body = {"rows": rows, "partial": bool(partial), "again": bool(again), "correct": bool(correct), "accept": bool(accept)} | ({"units": units} if units else {})
        try:
            answer = self._transport.call("tell", body, request=_key(request))
        except RowsError as error:
            raise RowsError([{**vars(w), "line": lines[w.line]} for w in error.wrong]) from None
        wrong += [Wrong(lines[w["line"]], w["id"], w["reason"]) for w in answer["wrong"]]
        wrong.sort(key=lambda w: w.line)
        waiting = waiting_from(answer["waiting"], self._about.id_column)
        return Told(answer["event"], ids_of(answer["rows"], self._about.id_column), answer["repeated"], answer["known"], wrong, waiting)

    def _entries(self, labels: Any, values: Any, censored: str | None) -> tuple[list[int], list[Body], list[Body], dict[str, str]]:
        """Return the rows that have a label, with their places, what is wrong with others, and the units of labels."""
        ids, columns = self._labels(labels, values)
        read = self._read(columns, labels if values is None else {}, censored)
        numbers, inputs = self._replicates(labels, len(ids)), self._inputs_in(labels if values is None else {}, len(ids))
        lines, rows, faults = [], [], []
        for line, name in enumerate(ids):
            found: dict[str, float] = {}
            fault = ""
            for target, column in read.columns.items():
                try:
                    if (target, line) in read.unknown:
                        raise ValueError(f"{column[line]!r} may lie below a limit that is not known; write the limit, as in '<0.5', or set it: change_settings(lod=0.5)")
                    number = _number(column[line])
                except ValueError as error:
                    fault = f"{target}: {error}"
                    continue
                if number is not None:
                    found[target] = number
            if fault:
                faults.append({"line": line, "id": name, "reason": fault})
            elif found:
                lines.append(line)
                limits = {target: read.sides[target, line] for target in found if (target, line) in read.sides}
                beside = {column: text for column, cells in inputs.items() if (text := _cell(cells[line])) is not None}
                rows.append(
                    {"id": name, "values": found}
                    | ({"replicate": numbers[line]} if numbers else {})
                    | ({"censored": limits} if limits else {})
                    | ({"inputs": beside} if beside else {})
                )
        return lines, rows, faults, read.units

    def _as_columns(self, labels: Any) -> Any:
        """Return labels by id, in a Series or a dictionary, as a dictionary of columns, and anything else as it is."""
        id_name = self._about.id_column or "row"
        if _tables.is_series(labels):
            return {id_name: labels.index, self._target_of(labels.name): labels}
        if not isinstance(labels, Mapping) or not all(np.ndim(v) == 0 for v in labels.values()):
            return labels
        if id_name in labels:  # a single row
            return {name: [value] for name, value in labels.items()}
        if labels and all(isinstance(v, Mapping) for v in labels.values()):
            return {id_name: list(labels), **{t: [v.get(t) for v in labels.values()] for t in self._about.targets}}
        return {id_name: list(labels), self._target_of(None): list(labels.values())}

    def _target_of(self, name: Any) -> str:
        """Return the target that labels without a column are of."""
        targets = self._about.targets
        if len(targets) > 1 and name not in targets:
            raise RequestError(f"the labels may be of any of the targets {', '.join(targets)}: give a frame with a column for each")
        return str(name) if name in targets else targets[0]

    def _labels(self, labels: Any, values: Any) -> tuple[list[str], dict[str, list[Any]]]:
        """Return ids and columns of labels."""
        about = self._about
        if values is not None:
            ids = _texts(labels)
            if not ids and np.size(values) == 0:
                return [], {}
            array = _tables.texts_among(values)
            if array is None:
                array = np.asarray(values, object) if _is_objects(values) else _tables.labels_of(values, "values", len(ids))
            array = array.reshape(len(ids), -1) if len(array) == len(ids) else array
            if array.shape != (len(ids), len(about.targets)):
                what = f"{len(array)} rows" if len(array) != len(ids) else f"{array.shape[1]} columns"
                raise DataError(f"values has {what} for {len(ids)} ids and the targets {', '.join(about.targets)}: give a number for each")
            return ids, {target: array[:, k].tolist() for k, target in enumerate(about.targets)}
        if not (_tables.is_frame(labels, "pandas") or _tables.is_frame(labels, "polars") or isinstance(labels, Mapping)):
            raise RequestError("give a frame with ids and labels, a dictionary or a Series of labels by id, or ids and values")
        names = [str(c) for c in labels] if isinstance(labels, Mapping) else [str(c) for c in labels.columns]
        id_name = about.id_column or "row"
        if id_name in names:
            of_rows: Any = labels[id_name]
        elif _tables.is_frame(labels, "pandas") and about.id_column in (labels.index.name, "index"):
            of_rows = labels.index
        else:
            raise DataError(f"labels has no column {id_name!r} with the ids of rows; its columns are {', '.join(names)}")
        targets = [t for t in about.targets if t in names]
        if not targets:
            raise DataError(f"labels has none of the targets {', '.join(about.targets)}; its columns are {', '.join(names)}")
        columns = {target: list(_tables.listed(labels[target])) for target in targets}
        ids = _texts(_tables.listed(of_rows))
        for target, column in columns.items():
            if len(column) != len(ids):
                raise DataError(f"labels: column {target!r} has {len(column)} rows where others have {len(ids)}")
        return ids, columns

    def _read(self, columns: dict[str, list[Any]], beside: Any, censored: str | None) -> _Read:
        """Return columns of labels with numbers in place of texts, as far as these are such.

        Columns of text beside them tell how numbers are written.
        """
        if not any(isinstance(v, str) for column in columns.values() for v in column):
            return _Read(columns, {}, {}, set())
        names = {str(name): name for name in (beside if isinstance(beside, Mapping) else beside.columns)}
        others = {name: beside[names[name]] for name in self._about.inputs if name in names}
        texts = {target: [v if isinstance(v, str) else None for v in column] for target, column in columns.items()}
        table = _tables.table_of({**others, **texts}, "labels")
        table.columns = [c for c in table.columns if c["kind"] == "cells"]
        told = [target for target in columns if target in table.names()]
        arrays: list[Any] = []
        body = {"table": table.pack(arrays), "y": told, "partial": True, **checked(censored=censored)}
        status = self._transport.call("status", {})
        body["history"], body["lod"] = status["labels"], status["settings"].get("lod", "")
        answer, numbers = _worker.call("labels", body, arrays)
        warn(answer["warnings"])
        wrong = {(one["column"], one["row"]) for one in answer["wrong"]}
        read = {**columns}
        for target, values in zip(told, numbers, strict=True):
            cells = enumerate(zip(columns[target], values.tolist(), strict=True))
            read[target] = [number if isinstance(cell, str) and (target, row) not in wrong else cell for row, (cell, number) in cells]
        sides = {(target, int(row)): side for target, rows in answer["censored"].items() for row, side in rows.items()}
        return _Read(read, answer["units"], sides, {(one["column"], one["row"]) for one in answer["wrong"] if one.get("limit")})

    def _inputs_in(self, labels: Any, rows: int) -> dict[str, list[Any]]:
        """Return the columns of inputs that come with labels and must be those of the rows, without texts among numbers."""
        kinds = self._about.inputs
        names = labels if isinstance(labels, Mapping) else labels.columns
        found = {str(name): _tables.listed(labels[name]) for name in names if str(name) in kinds}
        return {
            name: [None if isinstance(v, str) and kinds[name] == "numeric" else v for v in cells]
            for name, cells in found.items()
            if len(cells) == rows
        }

    def _replicates(self, labels: Any, rows: int) -> list[int]:
        """Return the numbers of measurements in a frame with a column replicate; none without one."""
        if not (_tables.is_frame(labels, "pandas") or _tables.is_frame(labels, "polars") or isinstance(labels, Mapping)):
            return []
        name = own_name("replicate", [*self._about.inputs, *self._about.targets, self._about.id_column or "row"])
        if name not in labels:
            return []
        numbers = list(_tables.listed(labels[name]))
        if len(numbers) != rows or not all(v == v and v is not None and float(v) >= 1 and float(v) == int(v) for v in numbers):
            raise DataError(f"labels: column {name!r} must have the number of a measurement in each row: 1, 2 and so on")
        return [int(v) for v in numbers]

    def confirm(self, ids: Any, reason: str = "", *, request: str | None = None) -> Changed:
        """Confirm labels of rows that wait for a second look: they count from now on. The arguments are those of `fail`.

        A row of which no label waits stays as it is.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("confirms.db", np.arange(40.0)[:, None], "y")
        >>> told = campaign.tell(range(30), 50 + np.arange(30) % 7)
        >>> told = campaign.tell([30], [5300.0])
        >>> told.waiting[0].id, told.waiting[0].slip
        (30, 'two digits too many?')
        >>> campaign.status().waiting
        1
        >>> campaign.confirm([30]).ids
        array([30])
        >>> campaign.status().labelled
        31
        """
        return self._change("confirm", {"ids": _texts(ids), **checked(reason=reason)}, request)

    def fail(self, ids: Any, reason: str = "", *, again: bool = False, request: str | None = None) -> Changed:
        """Report that rows could not be labelled.

        Parameters
        ----------
        ids : list, or a single id
            The rows.
        reason : str
            Why, for the history.
        again : bool
            The rows are open again; otherwise they are never handed out again.
        request : str, optional
            The id of this request, as for `ask`.

        Returns
        -------
        Changed
            What changed.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("fails.db", np.eye(6), "y")
        >>> batch = campaign.ask(2)
        >>> campaign.fail(batch.ids[0], "dropped on the floor").ids.tolist() == [batch.ids[0]]
        True
        >>> changed = campaign.fail(batch.ids[1], "the machine was off", again=True)
        >>> status = campaign.status()
        >>> status.failed, status.open
        (1, 5)
        """
        return self._change("fail", {"ids": _texts(ids), **checked(reason=reason), "again": bool(again)}, request)

    def return_(self, ids: Any, reason: str = "", *, request: str | None = None) -> Changed:
        """Return rows that are out: they are open again. The arguments are those of `fail`.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("returns.db", np.eye(6), "y")
        >>> batch = campaign.ask(3)
        >>> returned = campaign.return_(batch.ids[1:], "no time this week")
        >>> campaign.status().asked
        1
        """
        return self._change("return", {"ids": _texts(ids), **checked(reason=reason)}, request)

    def retire(self, ids: Any, reason: str = "", *, request: str | None = None) -> Changed:
        """Remove rows from the campaign: they are neither picked nor used for training. The arguments are those of `fail`.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("retires.db", np.eye(6), "y")
        >>> campaign.retire([4, 5], "out of stock").ids
        array([4, 5])
        >>> campaign.status().open
        4
        """
        return self._change("retire", {"ids": _texts(ids), **checked(reason=reason)}, request)

    def add(self, rows: Any, *, labels: Any = None, censored: Censored | None = None, request: str | None = None) -> Added:
        """Add rows, which have the columns of the campaign and new ids.

        Parameters
        ----------
        rows, labels, censored
            As for `new`.
        request : str, optional
            The id of this request, as for `ask`.

        Returns
        -------
        Added
            What was added.

        Examples
        --------
        >>> import nextbatch
        >>> rows = {"name": ["a", "b"], "kind": ["steel", "brass"], "x": [1.0, 2.0]}
        >>> campaign = nextbatch.Campaign.new("adds.db", rows, "y", id="name")
        >>> added = campaign.add({"name": ["c"], "kind": ["glass"], "x": [3.0], "y": [0.5]})
        >>> added.rows, added.labelled, added.new_levels
        (1, 1, {'kind': ['glass']})
        """
        about, rows = self._about, _tables.loaded(rows)
        table = _tables.table_of(rows, "rows", None if _is_array(rows) else about.id_column)
        if about.id_column and about.id_column not in table.names():
            if _name_by_index(table) != about.id_column:
                raise DataError(f"rows has no column {about.id_column!r} with the ids; its columns are {', '.join(table.names())}")
        if labels is not None:
            _add_labels(table, about.targets, labels)
        answer = self._transport.call("add", checked(censored=censored), request=_key(request), table=table)
        warn(answer["warnings"])
        return Added(answer["event"], answer["rows"], answer["labelled"], answer.get("new_levels") or {}, answer["repeated"], waiting_from(answer["waiting"], about.id_column))

    def undo(self, event: int, reason: str = "", *, request: str | None = None) -> Changed:
        """Undo an event, by another one.

        Parameters
        ----------
        event : int
            Its number, which every change returns and `history` lists.
        reason : str
            Why, for the history.
        request : str, optional
            The id of this request, as for `ask`.

        Returns
        -------
        Changed
            The new event. It names no rows: they are those of the event that was undone.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("undoes.db", np.eye(6), "y")
        >>> told = campaign.tell([0, 3], [15.0, 2.5])
        >>> undone = campaign.undo(told.event, "wrong plate")
        >>> campaign.status().labelled
        0
        """
        return self._change("undo", checked(event=event, reason=reason), request)

    def history(self) -> list[Event]:
        """Return all events, the oldest first. ``pandas.DataFrame(campaign.history())`` is a frame of them.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("remembers.db", np.eye(6), "y", person="Ada")
        >>> told = campaign.tell([3], [2.5])
        >>> event = campaign.history()[-1]
        >>> event.kind, event.person, event.ids
        ('told', 'Ada', array([3]))
        """
        return [
            Event(
                event=e["event"], time=time_of(e["time"]), person=e.get("person", ""), kind=e["kind"], undone=e["undone"],
                ids=ids_of(e["rows"], self._about.id_column), request=e.get("request", ""), detail=e["detail"],
            )  # fmt: skip
            for e in self._transport.call("history", {})
        ]

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return all rows as a frame: ids, inputs, ``status``, labels, ``measured``, ``person`` and ``time``.

        ``measured`` is how often a row was measured; ``person`` told the last label or, without one, has the row, since ``time``.
        Where a batch had plates, ``wells`` says where a row was. A label that waits for a second look is not among the labels.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("shows.db", np.eye(3), "y", person="Ada")
        >>> told = campaign.tell([2], [1.5])
        >>> campaign.to_frame()[["row", "x2", "status", "y", "person"]].values.tolist()[2]
        [2, 1.0, 'labelled', 1.5, 'Ada']
        """
        return frame_of(rows_from(self._transport.call("rows", {}), self._about), library)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write all rows with their inputs and labels to a file, as ``nextbatch campaign export`` does.

        Parameters
        ----------
        path : str or path
            A table (.csv, .tsv, .xlsx, .jsonl, .parquet) like the one that the campaign began with, or, if the
            name ends in .zip, an archive of the whole campaign, for ``nextbatch campaign import``. A service hands out no archives.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> Campaign.new("leaves.db", np.eye(2), "y", labels=[0.5, np.nan]).export("leaves.csv")
        >>> print(open("leaves.csv").read())
        row,x0,x1,y
        0,1,0,0.5
        1,0,1,
        <BLANKLINE>
        """
        self._transport.call("export", {"path": os.path.abspath(path)})

    def audit(self, *, progress: ProgressArgument = False) -> Audit:
        """Look for labels that look wrong, as ``nextbatch campaign audit`` does.

        Each labelled row is predicted by models that were fitted to other rows.

        Parameters
        ----------
        progress : bool or callable
            As in `nextbatch.select`.

        Returns
        -------
        Audit
            The labels that disagree most with what was predicted.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
        >>> labels = rows.sum(axis=1)
        >>> labels[7] += 3
        >>> found = Campaign.new("audits.db", rows, "y", labels=labels, learner="gp").audit()
        >>> found.answers["y"]
        '1 label of 60 looks wrong, with a p-value of at most 0.05.'
        >>> found.findings[0].id, found.findings[0].suspect
        (7, True)
        """
        with reporter(progress) as report:
            found = audit_from(self._transport.call("audit", {}, report=report), self._about)
        warn(found.warnings)
        return found

    def predict(self, *, progress: ProgressArgument = False) -> Predictions:
        """Predict the labels of all open rows.

        The model of the last ask predicts; if there are new labels, a new one is fitted first.

        Parameters
        ----------
        progress : bool or callable
            As in `nextbatch.select`.

        Returns
        -------
        Predictions
            With 90 % prediction intervals.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(100, 3))
        >>> labels = np.where(np.arange(100) < 40, rows.sum(axis=1), np.nan)
        >>> campaign = Campaign.new("predicts.db", rows, "y", labels=labels, epochs=20, hidden=(32,))
        >>> predicted = campaign.predict()
        >>> predicted.trained, predicted.mean.shape
        (40, (60,))
        >>> predicted.ids[:3]
        array([40, 41, 42])
        """
        with reporter(progress) as report:
            answer = self._transport.call("predict", {}, report=report)
        mean, low, high = answer["mean"], answer["low"], answer["high"]
        if len(self._about.targets) == 1:
            mean, low, high = mean[:, 0], low[:, 0], high[:, 0]
        warn(answer["warnings"])
        id_column = self._about.id_column
        return Predictions(
            ids=answer["rows"] if id_column is None else np.array(answer["ids"], object), mean=mean, low=low, high=high, targets=self.targets,
            trained=answer["trained"], warnings=answer["warnings"], _id_name=id_column or "row",
        )  # fmt: skip

    def status(self, stop: str = "") -> Status:
        """Return the status of the campaign.

        Parameters
        ----------
        stop : str
            The rule by which the advice is given, such as ``"rmse<0.5"``, ``"q95(yield)<2"`` or, by
            default, ``"gain<2%"``: 10 % more labels would lower the RMSE by less than 2 %, even by the upper limit.

        Returns
        -------
        Status
            Counts of rows, the error of the model, and advice.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("stands.db", np.eye(6), "y")
        >>> status = campaign.status("rmse<0.5")
        >>> status.open, status.rmse
        (6, {'y': None})
        >>> status.advice
        'too early to tell'
        """
        self._about = status_from(self._transport.call("status", checked(stop=stop)))
        return self._about

    def change_settings(self, *, request: str | None = None, **settings: Any) -> Changed:
        """Change settings, from the next ask on. Those that are not named stay as they are.

        Parameters
        ----------
        request : str, optional
            The id of this request, as for `ask`.
        **settings
            `batch` (rows of an ask that names no number; 32), `method`, `audit` (share of audit
            rows; 0.125), `lease` (``"7d"``), `latest` (the label of a row is its latest measurement, not
            the mean), and, as for `nextbatch.select`, `learner`, `weights`, `range`, `lod`, `seed`, `hidden`, `activation`,
            `epochs`, `ensemble`, `categorical`, `keep`, `missing`, `cost`, `budget`, `cost_aware`,
            `group`, `per_group`, `group_input`, `min_per_group`, `at_most_groups`, `same`, `runs`, `replicates`,
            `replicate_share`, `plate` and `controls`.

        Returns
        -------
        Changed
            What changed.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Campaign
        >>> campaign = Campaign.new("changes.db", np.eye(6), "y")
        >>> changed = campaign.change_settings(batch=2, lease="never")
        >>> batch = campaign.ask()
        >>> len(batch), batch.lease_end
        (2, None)
        """
        current = self._transport.call("status", {})["settings"]
        changed = self._change("settings", {"settings": _changed(current, settings)}, request)
        self._about = status_from(self._transport.call("status", {}))
        return changed

    def _change(self, verb: str, body: Body, request: str | None) -> Changed:
        answer = self._transport.call(verb, body, request=_key(request))
        return Changed(answer["event"], ids_of(answer["rows"], self._about.id_column), answer["repeated"])


class _Read(NamedTuple):
    """Labels as the worker reads them."""

    columns: dict[str, list[Any]]
    units: dict[str, str]  # of first labels
    sides: dict[tuple[str, int], int]  # by target and line: -1 below a limit, 1 above it
    unknown: set[tuple[str, int]]  # that may lie beyond a limit that is not known


def _transport(where: Where, name: str, token: str | None, person: str | None) -> Transport:
    address = os.fspath(where)
    checked(name=name, person=person)
    if address.startswith(("http://", "https://")):
        return Service(address, name, token or os.environ.get(TOKEN))
    if token is not None:
        raise RequestError(f"a token is for a service, but {address} is a file or a database")
    return Store(address, name, _user() if person is None else person)


def _user() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # the system does not know
        return ""


def _name_of(where: Where) -> str:
    address = os.fspath(where)
    if "://" in address:
        raise RequestError("name the campaign: name=…")
    return Path(address).stem


def _key(request: str | None) -> str:
    """Return the id of a request; without one, an id that nobody else has."""
    return str(checked(request=request).get("request", uuid.uuid4().hex))


def _name_by_index(table: Table) -> str | None:
    """Name the rows of a pandas frame by its index, unless that only counts them."""
    if not table.named:
        return None
    name = str(table.index.name or "index")
    table.add(_tables.text_column(name, table.index))
    return name


def _add_labels(table: Table, targets: list[str], labels: Any) -> None:
    columns = _tables.label_columns(labels, "labels", table.rows)
    if len(columns) != len(targets):
        raise DataError(f"labels has {len(columns)} columns for the targets {', '.join(targets)}")
    for target, column in zip(targets, columns, strict=True):
        if target in table.names():
            raise RequestError(f"{table.name} has a column {target!r}, and labels has the labels of it: leave out one of the two, or rename the column")
        table.add({**column, "name": target})


def _is_array(rows: Any) -> bool:
    return not (isinstance(rows, Mapping) or _tables.is_frame(rows, "pandas") or _tables.is_frame(rows, "polars"))


def _is_objects(values: Any) -> bool:
    return isinstance(values, (list, tuple)) and any(not isinstance(v, (int, float, np.number, list, tuple)) for v in values)


def _texts(ids: Any) -> list[str]:
    """Return ids as text; a single one is a list of one."""
    if isinstance(ids, (str, int, np.integer)):
        ids = [ids]
    if np.ndim(ids) == 0 and not isinstance(ids, Iterable):
        raise RequestError(f"give the ids of rows in a list, not {ids!r}")
    return [str(v) for v in _tables.listed(ids)]


def _cell(value: Any) -> str | None:
    """Return a number or a text as files have it; None for anything else, and for what is missing."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value:
        return repr(value)
    return None


def _number(value: Any) -> float | None:
    """Return a label, or None where there is none."""
    if _tables.is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    try:
        if isinstance(value, (bool, np.bool_)):
            raise ValueError
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{value!r} is not a number") from None
    if not np.isfinite(number):
        raise ValueError("a label must be finite")
    return number


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def _duration(lease: Lease) -> str:
    """Return a lease as the program reads it; negative means without end, and empty means the default of the settings."""
    if lease is None:
        return ""
    if isinstance(lease, str) and lease == "never":
        return "-1s"
    seconds = 0.0
    if isinstance(lease, timedelta):
        seconds = lease.total_seconds()
    elif isinstance(lease, str) and lease[-1:] in _UNITS:
        try:
            seconds = float(lease[:-1]) * _UNITS[lease[-1]]
        except ValueError:
            pass
    if not 0 < seconds < 1e9:
        raise RequestError(f"lease must be a time such as '36h', '7d' or '2w', a timedelta, or 'never', not {lease!r}")
    return f"{seconds:.3f}s"


#: Where the settings of the network are.
_OF_NETWORK = {"hidden": "architecture", "activation": "architecture", "epochs": "training"}

#: Where the settings are that have another name, or another place, than the arguments.
_SETTINGS = {
    "method": "spec", "ensemble": "members", "cost": "cost_column", "cost_aware": "per_cost", "group": "group_column",
    "group_input": "group_is_input", "learner": "learner", "batch": "batch", "audit": "audit", "lease": "lease", "latest": "latest",
    "weights": "weights", "seed": "seed", "categorical": "categorical", "keep": "keep", "missing": "missing", "range": "range", "lod": "lod",
    "min_per_group": "min_per_group", "at_most_groups": "at_most_groups", "same": "same", "runs": "runs",
    "replicates": "replicates", "replicate_share": "replicate_share", "plate": "plate", "controls": "controls",
    "budget": "budget", "per_group": "per_group", "hidden": "hidden", "activation": "activation", "epochs": "epochs",
}  # fmt: skip


def _changed(settings: Body, changes: dict[str, Any]) -> Body:
    """Return settings with changes, which have the names of arguments."""
    settings = {**settings, "network": {**settings.get("network", {})}}
    network = settings["network"]
    network["architecture"], network["training"] = {**network.get("architecture", {})}, {**network.get("training", {})}
    for name, value in changes.items():
        if name not in _SETTINGS:
            raise TypeError(f"there is no setting {name!r}; the settings are {', '.join(sorted(_SETTINGS))}")
        place = network[_OF_NETWORK[name]] if name in _OF_NETWORK else settings
        if value is None:
            place.pop(_SETTINGS[name], None)
        elif name == "seed":
            settings[name] = network[name] = drawn(value, None)
        else:
            place[_SETTINGS[name]] = _duration(value) if name == "lease" else checked(**{name: value})[name]
    return settings if changes else {}
