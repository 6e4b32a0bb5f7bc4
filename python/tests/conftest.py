"""What several tests use."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

# The models of these tests are small. Where other tests run at the same time, the threads of PyTorch and
# BLAS would spend minutes waiting for one another. This has to be set before they are imported.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# Shells let what they start in the background ignore this signal, and tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from nextbatch import _binary, _worker  # noqa: E402

QUICK = {"learner": "network", "epochs": 3, "hidden": (16,)}
QUICK_FLAGS = ["--learner", "network", "--epochs", "3", "--hidden", "16"]


def command(*arguments: str) -> dict:
    """Run the command line and return what it prints as JSON."""
    done = subprocess.run(
        [_binary.path(), *arguments, "--json", "--quiet"], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture
def columns(rng: np.random.Generator) -> dict:
    """A table of 120 rows, of which a third is labelled, with words, dates and gaps."""
    n = 120
    pressure = rng.normal(size=n)
    pressure[7] = np.nan
    days = np.datetime64("2024-01-30") + rng.integers(0, 400, n)
    return {
        "name": [f"s{i:03d}" for i in range(n)],
        "temperature": rng.normal(50, 20, n),
        "pressure": pressure,
        "material": [None if i == 11 else str(m) for i, m in enumerate(rng.choice(["steel", "brass", "glass"], n))],
        "site": rng.choice(["A", "B"], n).tolist(),
        "hours": rng.integers(1, 5, n).astype(float),
        "measured": [str(d) for d in days],
        "valid": rng.integers(0, 2, n).astype(bool),
        "y": np.where(np.arange(n) % 3 == 0, rng.normal(size=n), np.nan),
    }


@pytest.fixture
def near_and_far(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows near zero, the same with a column of Unix seconds, and y = 3a + 0.1b.

    Multiples of 1/64 are exact there in float64, while float32 has steps of 128.
    """
    x = np.column_stack([rng.permutation(128) / 64, rng.normal(size=128)])
    return x, x + [1.7e9, 0], 3 * x[:, 0] + 0.1 * x[:, 1]


@pytest.fixture
def fresh_worker():
    """A worker of its own for tests that kill it or count what is left of it."""
    _worker.close()
    yield _worker.worker
    _worker.close()


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return Path(__file__).resolve().parents[2]
