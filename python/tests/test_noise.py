"""Known noise of labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nextbatch
from nextbatch import DataError, Regressor, RequestError

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (160, 3))
TRUE = np.sin(3 * X[:, 0]) + X[:, 1]
SD = np.where(np.arange(160) % 2, 2.0, 0.05)
Y = TRUE + SD * RNG.normal(size=160)


@pytest.mark.parametrize("learner", ["gp", "trees", "network"])
def test_noisy_labels_count_less(learner: str) -> None:
    def off(**known: object) -> float:
        model = Regressor(learner=learner, random_state=0).fit(X[:60], Y[:60], **known)
        return float(np.sqrt(np.mean((model.predict(X[60:]) - TRUE[60:]) ** 2)))

    assert off(label_sd=SD[:60]) < 0.85 * off()


def test_a_batch_takes_arrays_and_columns() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=np.where(np.arange(160) < 60, Y, np.nan), sd=SD)
    by_name = nextbatch.select(frame, "y", n=6, learner="gp", label_sd="sd")
    by_array = nextbatch.select(X[:60], Y[:60], X[60:], n=6, learner="gp", label_sd=SD[:60])
    assert [i - 60 for i in by_name.indices] == by_array.indices.tolist()
    assert "sd" not in " ".join(by_name.reasons)
    texts = frame.assign(sd=[f"{s:g}".replace(".", ",") for s in SD])
    assert nextbatch.select(texts, "y", n=6, learner="gp", label_sd="sd").indices.tolist() == by_name.indices.tolist()


def test_wrong_noise_is_named() -> None:
    with pytest.raises(DataError, match="row 3.*standard deviation of the label is -1"):
        Regressor().fit(X[:20], Y[:20], label_sd=[1, 1, 1, -1] + [1] * 16)
    with pytest.raises(DataError, match="row 3.*has no standard deviation"):
        nextbatch.select(X[:20], Y[:20], X[20:], n=2, label_sd=[1, 1, 1, np.nan] + [1] * 16)
    with pytest.raises(DataError, match="label_sd has 3 labels for 20 rows"):
        Regressor().fit(X[:20], Y[:20], label_sd=[1, 1, 1])
    with pytest.raises(RequestError, match="label_sd has 2 columns, and y 1"):
        Regressor().fit(X[:20], Y[:20], label_sd=np.ones((20, 2)))
