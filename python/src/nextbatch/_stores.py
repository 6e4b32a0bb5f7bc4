"""Campaigns in a file or a database, by way of the worker."""

from __future__ import annotations

import os
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from . import _worker
from ._errors import RequestError
from ._tables import Table
from ._worker import Progress

Body = dict[str, Any]

#: Numbers of rows, their ids, and predictions with the ends of their intervals, each with a column per target.
PredictedArrays = tuple[npt.NDArray[np.int64], list[str], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]


class Place(Protocol):
    """Where campaigns are. The answers are those of the service, in JSON."""

    name: str

    def new(self, table: Table, id: str | None, targets: list[str], settings: Body, request: str) -> Body:
        """Create the campaign, and return its status."""

    def status(self, stop: str | None) -> Body:
        """Return the status; with a stop rule, which may be empty, also the standing."""

    def change(self, verb: str, body: Body, request: str) -> Body:
        """Carry out a change: tell, correct, fail, return, retire, undo or settings."""

    def add(self, table: Table, settings: Body, request: str) -> Body:
        """Add rows."""

    def ask(self, body: Body, request: str, report: Progress | None) -> Body:
        """Hand out rows."""

    def predict(self, report: Progress | None) -> tuple[Body, PredictedArrays]:
        """Predict the labels of the open rows."""

    def history(self) -> list[Body]:
        """Return all events."""


class Store:
    """A campaign in a file or a database."""

    def __init__(self, address: str, name: str, person: str) -> None:
        is_url = "://" in address
        # the worker may have been started in another folder
        self.address = address if is_url else os.path.abspath(address)
        self.is_file = not is_url
        self.name, self.person = name, person

    def _call(
        self, verb: str, body: Body, request: str = "", arrays: list[Any] | None = None, report: Progress | None = None
    ) -> tuple[Any, list[Any]]:
        place = {"store": self.address, "name": self.name, "person": self.person, "request": request}
        return _worker.call(f"campaign_{verb}", {**place, **body}, arrays or [], report)

    def new(self, table: Table, id: str | None, targets: list[str], settings: Body, request: str) -> Body:
        arrays: list[Any] = []
        body = {"table": table.pack(arrays), "id": id or "", "targets": targets, "settings": settings}
        answer: Body = self._call("new", body, request, arrays)[0]
        return answer

    def status(self, stop: str | None) -> Body:
        if self.is_file and not os.path.exists(self.address):
            raise RequestError(f"{self.address} does not exist; nextbatch.Campaign.new creates a campaign")
        answer: Body = self._call("status", {"stop": stop})[0]
        self.name = answer["name"]
        return answer

    def change(self, verb: str, body: Body, request: str) -> Body:
        if verb == "correct":
            verb, body = "tell", {**body, "correct": True}
        answer: Body = self._call(verb, body, request)[0]
        return answer

    def add(self, table: Table, settings: Body, request: str) -> Body:
        arrays: list[Any] = []
        answer: Body = self._call("add", {"table": table.pack(arrays)}, request, arrays)[0]
        return answer

    def ask(self, body: Body, request: str, report: Progress | None) -> Body:
        answer: Body = self._call("ask", body, request, report=report)[0]
        return answer

    def predict(self, report: Progress | None) -> tuple[Body, PredictedArrays]:
        body, (rows, ends, text, mean, low, high) = self._call("predict", {}, report=report)
        raw, starts = text.tobytes(), [0, *ends.tolist()]
        ids = [raw[a:b].decode() for a, b in zip(starts, starts[1:], strict=False)]
        return body, (rows, ids, mean, low, high)

    def history(self) -> list[Body]:
        answer: list[Body] = self._call("history", {})[0]
        return answer
