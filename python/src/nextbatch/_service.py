"""Campaigns of a service, over HTTP."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import numpy as np

from . import _worker
from ._errors import DataError, NextbatchError, RequestError, RowsError, ServiceError
from ._tables import Table
from ._transport import Body, columns_of
from ._worker import Progress

#: Seconds to wait before each repetition of a request whose answer was lost.
WAITS = (0.1, 0.3, 1.0, 3.0)

_TIMEOUT = 60.0  # seconds without a byte
_PAGE = 1000  # events at a time
_PREDICTIONS = 100_000  # rows at a time
_POLL = (0.02, 0.5)  # seconds between two checks of a job, growing
_RESTARTS = 5  # of the service during one job

_PATHS = {
    "tell": "/tells", "correct": "/corrections", "fail": "/failures", "return": "/returns", "retire": "/retirements", "confirm": "/confirmations", "undo": "/undo", "settings": "/settings",
}  # fmt: skip
_LISTS = ("tell", "correct", "fail", "return", "retire", "confirm")  # what is wrong with them is wrong with the data


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Rejects redirects: a token must only be sent to the service that it is for."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Service:
    """The transport to a campaign of a service.

    Each change has a key, so a request whose answer was lost is repeated without changing anything twice.
    """

    def __init__(self, address: str, name: str, token: str | None) -> None:
        self.address, self.name, self._token = address.rstrip("/"), name, token
        self._opener = urllib.request.build_opener(_NoRedirect)

    def call(self, verb: str, body: Body, *, request: str = "", table: Table | None = None, report: Progress | None = None) -> Any:
        match verb:
            case "new":
                return self._new(body, request, table)
            case "status":
                return self._status(body.get("stop"))
            case "add":
                return self._add(body, request, table)
            case "ask":
                return self._ask(body, request, report)
            case "predict":
                return self._predict(report)
            case "history":
                return self._history()
            case "rows":
                return columns_of(*self._rows("campaign_decode", {}))
            case "export":
                return self._rows("campaign_export", body)[0]
            case "audit":
                self._job("/audits", {}, "", report)
                return self._send("GET", self._path("/audit"))["audit"]
        return self._change(verb, body, request)

    def _new(self, body: Body, request: str, table: Table | None) -> Body:
        if any("," in target for target in body["targets"]):
            raise RequestError("over HTTP, the name of a target cannot contain a comma")
        query = {"name": self.name, "target": ",".join(body["targets"]), **({"id": body["id"]} if body["id"] else {})}
        answer = self._upload("/v1/campaigns", query, table, body, request)
        if body["settings"]:
            self._change("settings", body, request + "-settings")
        return {**self._status(None), "warnings": answer["warnings"]}

    def _add(self, body: Body, request: str, table: Table | None) -> Body:
        about = self._status(None)
        like = {"id": about.get("id_column", ""), "targets": about["targets"], "columns": about["columns"], "settings": {"lod": about["settings"].get("lod", "")}}
        return self._upload(self._path("/rows"), {}, table, {**body, **like}, request)

    def _upload(self, path: str, query: dict[str, str], table: Table | None, how: Body, request: str) -> Body:
        """Send rows as a Parquet file, which the worker writes. It checks the settings before anything is sent."""
        assert table is not None
        arrays: list[Any] = []
        about, files = _worker.call("campaign_encode", {"table": table.pack(arrays), **how}, arrays)
        answer: Body = self._send("POST", path, query={**query, "format": "parquet"}, data=files[0].tobytes(), key=request, bad=DataError)
        of_server = [] if how.get("settings", {}).get("keep") else answer.get("warnings", [])  # it learns later what is kept
        return {**answer, "warnings": about["warnings"] + of_server}

    def _status(self, stop: str | None) -> Body:
        if not self.name:
            self.name = self._only()
        answer: Body = self._send("GET", self._path())
        if stop is not None:
            answer["standing"] = self._send("GET", self._path("/standing"), query={"stop": stop} if stop else {})
        return answer

    def _only(self) -> str:
        names = [c["name"] for c in self._send("GET", "/v1/campaigns")]
        if len(names) != 1:
            raise RequestError(f"there are {len(names)} campaigns; name one of them: {', '.join(names)}")
        return str(names[0])

    def _change(self, verb: str, body: Body, request: str) -> Any:
        if verb == "tell" and body.get("correct"):
            verb = "correct"
        content = body["settings"] if verb == "settings" else {k: v for k, v in body.items() if k != "correct"}
        method, bad = "PUT" if verb == "settings" else "POST", DataError if verb in _LISTS else RequestError
        return self._send(method, self._path(_PATHS[verb]), body=content, key=request, bad=bad)

    def _ask(self, body: Body, request: str, report: Progress | None) -> Any:
        job = self._job("/asks", {k: v for k, v in body.items() if v not in (None, "", [])}, request, report)
        return self._send("GET", self._path(f"/asks/{job['ask']}"))

    def _predict(self, report: Progress | None) -> Body:
        job = self._job("/predictions", None, "", report)
        path = self._path(f"/jobs/{job['id']}/predictions")
        rows: list[Body] = []
        while True:
            page = self._send("GET", path, query={"offset": str(len(rows)), "limit": str(_PREDICTIONS)})
            rows += page["rows"]
            if len(rows) >= page["total"] or not page["rows"]:
                break
        targets = self._status(None)["targets"]
        values = [[row["predictions"].get(target) or {} for target in targets] for row in rows]

        def array(key: str) -> Any:
            numbers = [[np.nan if p.get(key) is None else p[key] for p in line] for line in values]
            return np.array(numbers, np.float64).reshape(len(rows), len(targets))

        return {
            "trained": page["trained"], "warnings": page["warnings"], "targets": targets, "rows": np.array([row["row"] for row in rows], np.int64),
            "ids": [row["id"] for row in rows], "mean": array("value"), "low": array("low"), "high": array("high"),
        }  # fmt: skip

    def _history(self) -> list[Body]:
        events: list[Body] = []
        while True:
            after = str(events[-1]["event"]) if events else "0"
            page = self._send("GET", self._path("/events"), query={"after": after, "limit": str(_PAGE)})
            events += page
            if len(page) < _PAGE:
                return events

    def _rows(self, verb: str, body: Body) -> tuple[Any, list[Any]]:
        """Fetch all rows and give them to the worker, which knows how to read and to write them."""
        about = self._status(None)
        like = {"id": about.get("id_column", ""), **{key: about[key] for key in ("targets", "columns", "labels")}}
        file = self._send("GET", self._path("/rows/export"), query={"format": "parquet"}, as_json=False)
        return _worker.call(verb, {**like, **body}, [np.frombuffer(file, np.uint8)])

    def _path(self, rest: str = "") -> str:
        return "/v1/campaigns/" + urllib.parse.quote(self.name, safe="") + rest

    def _job(self, path: str, body: Body | None, request: str, report: Progress | None) -> Body:
        """Start a job and wait for its end. If a restarted service no longer knows the job, start it again."""
        for _ in range(_RESTARTS):
            job: Body = self._send("POST", self._path(path), body=body, key=request)
            try:
                ended = self._watch(job, report)
            except NextbatchError:
                raise
            except BaseException:  # Ctrl-C, or an exception of the progress function
                self._send("DELETE", self._path(f"/jobs/{job['id']}"))
                raise
            if ended is None:
                continue
            if ended["state"] == "failed":
                raise DataError(ended["problem"])
            if ended["state"] == "cancelled":
                raise ServiceError(f"{self.address}: the job was cancelled there")
            return ended
        raise ServiceError(f"{self.address} was restarted {_RESTARTS} times while it worked on a request")

    def _watch(self, job: Body, report: Progress | None) -> Body | None:
        """Wait for the end of a job. None means that the service no longer knows it."""
        wait, longest = _POLL
        while job["state"] == "running":
            if report is not None and job["progress"]["of"]:
                report(job["progress"]["stage"], job["progress"]["done"], job["progress"]["of"])
            time.sleep(wait)
            wait = min(wait * 1.5, longest)
            try:
                job = self._send("GET", self._path(f"/jobs/{job['id']}"))
            except NotFoundError:
                return None
        return job

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Body | None = None,
        data: bytes | None = None,
        key: str = "",
        bad: type[NextbatchError] = RequestError,
        as_json: bool = True,
    ) -> Any:
        """Send a request, again if its answer is lost, and return the answer. A body that cannot be used is bad."""
        headers = {"Accept": "application/json"} if as_json else {}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if key:
            headers["Idempotency-Key"] = key
        if data is not None:
            headers["Content-Type"] = "application/vnd.apache.parquet"
        elif body is not None:
            headers["Content-Type"], data = "application/json", json.dumps(body, allow_nan=False).encode()
        address = self.address + path + ("?" + urllib.parse.urlencode(query) if query else "")
        lost: Exception | None = None
        for wait in (*WAITS, None):
            try:
                with self._opener.open(urllib.request.Request(address, data, headers, method=method), timeout=_TIMEOUT) as answer:
                    content = answer.read()
                    return json.loads(content) if as_json else content
            except urllib.error.HTTPError as error:
                with error:
                    problem = _problem(error)
                if error.code not in (429, 502, 503, 504) or wait is None:
                    raise self._refused(error.code, problem, bad) from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                lost = error
                if isinstance(getattr(error, "reason", None), ssl.SSLError):
                    break
            if wait is not None:
                time.sleep(wait)
        reason = getattr(lost, "reason", None) or lost
        raise ServiceError(f"{self.address} gives no answer: {reason}") from lost

    def _refused(self, code: int, problem: Body, bad: type[NextbatchError]) -> NextbatchError:
        """Return the exception for an answer that reports an error."""
        detail = str(problem.get("detail") or problem.get("title") or http.client.responses.get(code, code))
        wrong = []
        for one in problem.get("errors") or []:
            place = re.fullmatch(r"body\.rows\[(\d+)\]", one.get("location", ""))
            if place is None:
                detail += f"\n{one.get('location', '')}: {one.get('message', '')}"
            else:
                wrong.append({"line": int(place[1]), "id": str(one.get("value", "")), "reason": one.get("message", "")})
        if wrong:
            return RowsError(wrong)
        if code == 404:
            return NotFoundError(detail)
        if code in (400, 409):
            return RequestError(detail)
        if code in (413, 422):
            return bad(detail)
        return ServiceError(f"{self.address} refuses the request ({code}): {detail}")


class NotFoundError(RequestError):
    """There is no such campaign, or the service no longer knows the job."""


def _problem(error: urllib.error.HTTPError) -> Body:
    """Return the problem document of an answer, if it has one: a proxy's page has none."""
    try:
        problem = json.loads(error.read())
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    return problem if isinstance(problem, dict) else {}
