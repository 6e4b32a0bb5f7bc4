"""How a batch looks in a notebook: a small table and, if there is one, a map. There are no scripts."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
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


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], more: str) -> str:
    """Return a table of texts, of which the last column may be long, and a line below it."""
    head = "".join(f'<th style="text-align:left">{escape(h)}</th>' for h in headers)
    cells = ['<td style="text-align:left;vertical-align:top;white-space:nowrap">{}</td>'] * (len(headers) - 1)
    cells.append('<td style="text-align:left;vertical-align:top">{}</td>')
    body = "".join("<tr>" + "".join(c.format(escape(v)) for c, v in zip(cells, row, strict=True)) + "</tr>" for row in rows)
    below = f"<p>{escape(more)}</p>" if more else ""
    return f'<div><table style="max-width:60em;font-size:inherit"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>'


def batch(picks: Any) -> str:
    """Return a batch as a map and a table below it."""
    lab: dict[str, list[object]] = picks._lab()
    headers, predicted = ["pick", "row", *lab], len(picks.predictions) > 0
    rows = []
    for i in range(min(len(picks), _SHOWN)):
        row = [str(i + 1), str(picks.ids[i]), *(str(values[i]) for values in lab.values())]
        if predicted:
            row.append(_with_interval(picks.predictions[i], picks.low[i], picks.high[i]))
        rows.append([*row, without_prediction(picks.reasons[i])])  # which has a column
    headers += ["prediction", "reason"] if predicted else ["reason"]
    left = len(picks) - len(rows)
    more = f"{left} more: to_frame() has all" if left else ""
    title = f"<p><b>{len(picks)} {'row' if len(picks) == 1 else 'rows'} to label next</b>, the most useful first, by {escape(picks.method)}</p>"
    parts = (map_of(picks._places, len(rows)) if picks._places else "") + table(headers, rows, more)
    return f"<div>{title}{parts}</div>"


def without_prediction(reason: str) -> str:
    """Return a reason without what the model predicts, which comes last."""
    return reason.split("; predicted ")[0]


def _with_interval(value: float, low: float, high: float) -> str:
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
