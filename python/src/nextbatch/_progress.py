"""Bars that show the progress of a call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from ._errors import RequestError
from ._html import in_notebook


@contextmanager
def reporter(progress: bool | Callable[[str, int, int], None]) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield the function that is called with the progress: the user's own, bars, or none."""
    if progress is False or progress is None:
        yield None
    elif progress is not True:
        if not callable(progress):
            raise RequestError(f"progress must be True, False or a function, not {progress!r}")
        yield progress
    else:
        bars: Any = _Notebook() if in_notebook() else _Terminal()
        try:
            yield bars.show
        finally:
            bars.close()


class _Terminal:
    """A bar of tqdm for each stage."""

    def __init__(self) -> None:
        try:
            from tqdm import tqdm
        except ImportError as error:
            raise ImportError("progress=True needs tqdm: pip install tqdm") from error
        self._new = tqdm
        self._bars: dict[str, Any] = {}

    def show(self, stage: str, done: int, of: int) -> None:
        bar = self._bars.get(stage)
        if bar is None:
            bar = self._bars[stage] = self._new(total=of, desc=stage)
        bar.update(done - bar.n)

    def close(self) -> None:
        for bar in self._bars.values():
            bar.close()


class _Notebook:
    """Bars of HTML in the output of a cell, which need no further package; at the end, a line with the time."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html = HTML
        self._stages: dict[str, tuple[int, int]] = {}
        self._begin = time.monotonic()
        self._shown = display(HTML("<p>starting …</p>"), display_id=True)

    def show(self, stage: str, done: int, of: int) -> None:
        self._stages[stage] = done, of
        lines = [
            f"<div>{escape(name)} <progress value='{k}' max='{n}'></progress> {k:,} of {n:,}</div>" for name, (k, n) in self._stages.items()
        ]
        self._update("".join(lines))

    def close(self) -> None:
        self._update(f"<p>{escape(', '.join(self._stages) or 'ended')}: {time.monotonic() - self._begin:.1f} s</p>")

    def _update(self, html: str) -> None:
        if self._shown is not None:
            self._shown.update(self._html(html))
