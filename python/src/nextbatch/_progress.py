"""Bars that show the progress of a call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def reporter(progress: bool | Callable[[str, int, int], None]) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield the function that is called with the progress: the user's own, bars, or none."""
    if progress is False or progress is None:
        yield None
    elif progress is not True:
        yield progress
    else:
        try:
            with warnings.catch_warnings():  # in a notebook without ipywidgets, bars are of text
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError("progress=True needs tqdm: pip install tqdm") from error
        bars: dict[str, Any] = {}

        def show(stage: str, done: int, of: int) -> None:
            bar = bars.get(stage)
            if bar is None:
                bar = bars[stage] = tqdm(total=of, desc=stage)
            bar.update(done - bar.n)

        try:
            yield show
        finally:
            for bar in bars.values():
                bar.close()
