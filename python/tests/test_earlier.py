"""Earlier data: labelled rows of another table."""

from __future__ import annotations

import numpy as np
import pytest

import nextbatch
from nextbatch import DataError, Regressor, RequestError


def _truth(x: np.ndarray) -> np.ndarray:
    return np.sin(5 * x[:, 0]) + x[:, 1] * x[:, 2]


RNG = np.random.default_rng(0)
X, OLD = RNG.uniform(-1, 1, (200, 3)), RNG.uniform(-1, 1, (120, 3))
Y, OLD_Y = 100 + 10 * _truth(X), _truth(OLD)


def test_a_model_learns_from_earlier_data() -> None:
    plain = Regressor(learner="gp", random_state=0).fit(X[:20], Y[:20])
    model = Regressor(learner="gp", random_state=0).fit(X[:20], Y[:20], earlier=(OLD, OLD_Y))
    before, after = (np.sqrt(np.mean((m.predict(X[20:]) - Y[20:]) ** 2)) for m in (plain, model))
    assert after < 0.7 * before


def test_a_batch_may_begin_with_earlier_data() -> None:
    first = nextbatch.select(X[:0], [], X, n=6, earlier=(OLD, OLD_Y))
    assert first.indices.tolist() != nextbatch.select(X[:0], [], X, n=6).indices.tolist()
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": [*Y[:20], *[np.nan] * 180]}
    old = {"a": OLD[:, 0], "c": OLD[:, 2], "b": OLD[:, 1], "y": OLD_Y}
    second = nextbatch.select(columns, "y", n=4, learner="gp", earlier=[old, old])
    assert len(second.indices) == 4


def test_faults_name_the_earlier_data() -> None:
    with pytest.raises(DataError, match="earlier: 3 rows have a label"):
        Regressor(learner="gp").fit(X[:20], Y[:20], earlier=(OLD[:3], OLD_Y[:3]))
    with pytest.raises(RequestError, match="earlier has 2 columns of labels, and y 1"):
        Regressor(learner="gp").fit(X[:20], Y[:20], earlier=(OLD, np.column_stack([OLD_Y, OLD_Y])))
