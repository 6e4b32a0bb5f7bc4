"""Seeds, under the two names that people give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import RequestError


def drawn(seed: int | None, random_state: Any) -> int:
    """Return the seed that `seed` or `random_state` says; a new one if neither does."""
    if seed is not None and random_state is not None:
        raise RequestError("seed and random_state are two names of one thing: give one of them")
    source = random_state if seed is None else seed
    if source is None:
        source = np.random.mtrand._rand  # which np.random.seed sets, as scikit-learn's estimators expect
    if isinstance(source, np.random.RandomState):
        return int(source.randint(2**31))
    if isinstance(source, np.random.Generator):
        return int(source.integers(2**31))
    name = "random_state" if seed is None else "seed"
    if isinstance(source, bool) or not isinstance(source, (int, np.integer)) or not 0 <= source < 2**64:
        raise RequestError(f"{name} must be a whole number that is not negative, and less than 2**64, not {source!r}")
    return int(source)
