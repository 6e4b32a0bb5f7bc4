"""How results look where they are printed, and in a notebook: a small table and, if there is one, a map. There are no scripts."""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

_SHOWN = 10  # picks in the table
_DOTS = 300  # of each kind on the map
_WIDTH, _HEIGHT, _MARGIN = 320, 240, 12


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def number(value: float, within: float = 0.0) -> str:
    """Return a number as people write it, 3,030 and not 3.03e+03: with four digits, or with those that matter within a range."""
    size = abs(value)
    if not math.isfinite(value):
        return "–"
    if size == 0 or not 1e-4 <= size < 1e15:
        return f"{value:.4g}"
    decimals = max(0, 3 - math.floor(math.log10(size)) if within <= 0 else 1 - math.floor(math.log10(within)))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals and within <= 0 else text


@dataclass(frozen=True)
class Shown:
    """What is shown of a result: a line, a table whose last column may be long, and a line below it."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: str = ""

    def html(self, between: str = "") -> str:
        """Return it as HTML, perhaps with something between the first line and the table."""
        head = "".join(f'<th style="text-align:left">{escape(h)}</th>' for h in self.headers)
        cells = ['<td style="text-align:left;vertical-align:top;white-space:nowrap">{}</td>'] * (len(self.headers) - 1)
        cells.append('<td style="text-align:left;vertical-align:top">{}</td>')
        body = "".join("<tr>" + "".join(c.format(escape(v)) for c, v in zip(cells, row, strict=True)) + "</tr>" for row in self.rows)
        below = f"<p>{escape(self.more)}</p>" if self.more else ""
        table = f'<div><table style="max-width:60em;font-size:inherit"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>'
        return f"<div><p><b>{escape(self.title)}</b></p>{between}{table}</div>"

    def text(self) -> str:
        """Return it as text that is no wider than the screen: a long line ends with …, or goes on below if no header is above it."""
        wide = max(40, shutil.get_terminal_size().columns - 1)
        lines = [self.headers, *self.rows] if any(self.headers) else [*self.rows]
        widths = [max(len(line[j]) for line in lines) for j in range(len(self.headers) - 1)]
        written = ["  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[-1]]).rstrip() for line in lines]
        if lines and lines[0] is not self.headers:
            written = [textwrap.fill(one, wide, subsequent_indent=" " * (sum(widths) + 2 * len(widths))) for one in written]
        else:
            written = [one if len(one) <= wide else one[: wide - 1] + "…" for one in written]
        return "\n".join([textwrap.fill(self.title, wide, break_on_hyphens=False), *written, *([self.more] if self.more else [])])


Column = tuple[str, Callable[[int], str]]  # a header, and what to show of a row, by its number


def column(header: str, values: Any) -> Column:
    """Return a column of values as they are."""
    return header, lambda i: str(values[i])


def intervals(header: str, mean: Any, low: Any, high: Any) -> Column:
    """Return a column of predictions with their intervals."""
    return header, lambda i: with_interval(mean[i], low[i], high[i])


def some(count: int, title: str, columns: Sequence[Column]) -> Shown:
    """Return the first of some rows as they are shown."""
    shown = min(count, _SHOWN)
    left = f"{count - shown} more: to_frame() has all" if count > shown else ""
    return Shown(title, [header for header, _ in columns], [[cell(i) for _, cell in columns] for i in range(shown)], left)


def rows_of(count: int) -> str:
    """Return a number of rows in words."""
    return f"{count} {'row' if count == 1 else 'rows'}"


def batch(picks: Any) -> Shown:
    """Return what is shown of a batch."""
    columns = [column("pick", range(1, len(picks) + 1)), column("row", picks.ids), *(column(name, values) for name, values in picks._lab().items())]
    if len(picks.predictions):
        columns.append(intervals("prediction", picks.predictions, picks.low, picks.high))
    columns.append(column("reason", picks._alone))
    return some(len(picks), f"{rows_of(len(picks))} to label next, the most useful first, by {picks.method}", columns)


def batch_html(picks: Any) -> str:
    """Return a batch as a map and a table below it."""
    return batch(picks).html(map_of(picks._places, min(len(picks), _SHOWN)) if picks._places else "")


def with_interval(value: float, low: float, high: float) -> str:
    """Return a prediction with its interval, if it has one."""
    if math.isfinite(low) and math.isfinite(high):
        width = high - low
        return f"{number(value, width)} ({number(low, width)} to {number(high, width)})"
    return number(value)


def map_of(places: Sequence[npt.NDArray[np.float64]], numbered: int) -> str:
    """Return a map of candidates, labelled rows and picks, of which the first have their numbers."""
    every = np.concatenate(list(places))
    low = every.min(axis=0)
    span = np.maximum(every.max(axis=0) - low, 1e-30)
    inner = np.array([_WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN])
    candidates, labelled, picks = (_MARGIN + (p - low) / span * inner for p in places)
    dots = _circles(candidates, 1.5, "#999", 0.5) + _circles(labelled, 2.5, "#1f77b4", 0.9)
    for i, (x, y) in enumerate(picks.tolist()):
        dots += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#d62728"><title>pick {i + 1}</title></circle>'
        if i < numbered:
            dots += f'<text x="{x + 5:.1f}" y="{y - 4:.1f}" font-size="10" fill="currentColor">{i + 1}</text>'
    legend = "grey: candidates, blue: labelled, red: picks"
    return (
        f'<div><svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="map of the rows">'
        f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{_HEIGHT - 1}" fill="none" stroke="currentColor" stroke-opacity="0.3"/>'
        f"{dots}</svg><p>The rows as the method compares them ({legend})</p></div>"
    )


def _circles(at: npt.NDArray[np.float64], radius: float, colour: str, opacity: float) -> str:
    some = at[:: max(1, math.ceil(len(at) / _DOTS))].tolist()
    return "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}" fill-opacity="{opacity}"/>' for x, y in some)
