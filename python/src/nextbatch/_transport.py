"""How requests about a campaign are sent: through the worker, or over HTTP (_service.py)."""

from __future__ import annotations

import os
from typing import Any, Protocol

from . import _worker
from ._errors import RequestError
from ._tables import Table
from ._worker import Progress

Body = dict[str, Any]


class Transport(Protocol):
    """Carries requests about a campaign.

    Requests and answers are those of ``nextbatch worker`` (docs/worker.md), without the place of the campaign.
    The answer to ``predict`` has its arrays by name: ``rows`` (numbers), ``ids`` (a list of texts), and ``mean``,
    ``low`` and ``high``, with a column for each target; that to ``rows`` is a dictionary of columns.
    """

    def call(self, verb: str, body: Body, *, request: str = "", table: Table | None = None, report: Progress | None = None) -> Any:
        """Send a request, with the rows of a table where the verb takes some, and return the answer."""


class Store:
    """The transport to a campaign in a file or a database."""

    def __init__(self, address: str, name: str, person: str) -> None:
        is_url = "://" in address
        # the worker may have been started in another folder
        self.address = address if is_url else os.path.abspath(address)
        self.is_file = not is_url
        self.name, self.person = name, person

    def call(self, verb: str, body: Body, *, request: str = "", table: Table | None = None, report: Progress | None = None) -> Any:
        if verb == "status" and self.is_file and not os.path.exists(self.address):
            raise RequestError(f"{self.address} does not exist; nextbatch.Campaign.new creates a campaign")
        if verb == "export" and self.is_file and os.path.realpath(body["path"]) == os.path.realpath(self.address):
            raise RequestError(f"{self.address} is the campaign itself: export it to another file")
        arrays: list[Any] = []
        place = {"store": self.address, "name": self.name, "person": self.person, "request": request}
        rows = {} if table is None else {"table": table.pack(arrays)}
        answer, arrays = _worker.call(f"campaign_{verb}", {**place, **body, **rows}, arrays, report)
        if verb == "status":
            self.name = answer["name"]  # which was empty for the only campaign
        if verb == "predict":
            numbers, ends, text, mean, low, high = arrays
            return {**answer, "rows": numbers, "ids": texts_of(ends, text), "mean": mean, "low": low, "high": high}
        return columns_of(answer, arrays) if verb == "rows" else answer


def columns_of(answer: Body, arrays: list[Any]) -> dict[str, Any]:
    """Return the columns of a table that the worker sends: numbers, or texts with None where there is none."""
    columns: dict[str, Any] = {}
    for one in answer["columns"]:
        own = [arrays[at] for at in one["arrays"]]
        columns[one["name"]] = own[0] if one["kind"] == "numeric" else [text or None for text in texts_of(*own)]
    return columns


def texts_of(ends: Any, text: Any) -> list[str]:
    """Return texts that follow one another, by their ends."""
    raw, bounds = text.tobytes(), [0, *ends.tolist()]
    return [raw[a:b].decode() for a, b in zip(bounds, bounds[1:], strict=False)]
