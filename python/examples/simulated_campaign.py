"""A campaign against a simulated oracle: batches by nextbatch, and random ones for comparison."""

import numpy as np

import nextbatch
from nextbatch import Regressor

rng = np.random.default_rng(1)


def oracle(rows):
    """The simulation that labels rows: rough in one corner, flat elsewhere."""
    return np.sin(12 * rows[:, 0] * rows[:, 1]) * (rows[:, 0] > 0.5) + 0.1 * rows[:, 2]


pool = rng.random((1500, 4))
test = rng.random((500, 4))
start = rng.choice(1500, 48, replace=False)


def campaign(pick):
    """Label four batches and return the error after each."""
    labelled, errors = start, []
    for round in range(4):
        model = Regressor(hidden=(128, 128), epochs=150, folds=0, random_state=0).fit(pool[labelled], oracle(pool[labelled]))
        errors.append(np.sqrt(np.mean((model.predict(test) - oracle(test)) ** 2)))
        candidates = np.setdiff1d(np.arange(1500), labelled)
        labelled = np.concatenate([labelled, candidates[pick(labelled, candidates, round)]])
    return errors


def by_nextbatch(labelled, candidates, round):
    batch = nextbatch.select(pool[labelled], oracle(pool[labelled]), pool[candidates], n=48, hidden=(128, 128), epochs=150, seed=round)
    return batch.indices


def at_random(labelled, candidates, round):
    return rng.choice(len(candidates), 48, replace=False)


for name, pick in (("nextbatch", by_nextbatch), ("random", at_random)):
    print(f"{name:10}", " ".join(f"{error:.3f}" for error in campaign(pick)))
