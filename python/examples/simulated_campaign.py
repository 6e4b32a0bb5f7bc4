"""A campaign against a simulated oracle, and one that labels rows at random, for comparison.

Most rows of the table are routine, and a tenth of them are anything but. A random sample repeats the
routine rows over and over; nextbatch labels a few of them and spends the rest on rows that differ.
The table was made for the difference to be plain to see, and these are single runs with one seed: on
your own table, `nextbatch advise` says whether picked rows beat random ones.
"""

import tempfile
from pathlib import Path

import numpy as np

from nextbatch import Campaign

rng = np.random.default_rng(1)
routine = rng.random(3000) < 0.9
rows = np.where(routine[:, None], rng.normal(0.5, 0.05, size=(3000, 3)), rng.uniform(-1, 1, size=(3000, 3)))
labels = np.sin(3 * rows[:, 0]) + 2 * rows[:, 1] * rows[:, 2] + rng.normal(scale=0.02, size=3000)  # what the oracle will say
held_out = np.arange(1000)  # never labelled: they measure the error of both campaigns
first = rng.choice(np.arange(1000, 3000), 32, replace=False)


def campaign(folder, **settings):
    """Label the first rows and then five batches, and return the error after each."""
    lab = Campaign.new(Path(folder) / "lab.db", rows, "y", audit=0, hidden=(128, 128), epochs=128, **settings)
    ids, errors = first, []
    for _ in range(6):
        lab.tell(ids, labels[ids])
        predicted = lab.predict()
        mean = predicted.mean[np.isin(predicted.ids, held_out)]
        errors.append(np.sqrt(np.mean((mean - labels[held_out]) ** 2)))
        ids = lab.ask(32, exclude=held_out).ids
    return errors


print("RMSE with 32, 64, ... 192 labels, on rows that neither campaign has seen")
for name, settings in {"picked rows": {}, "random rows": {"method": "random"}}.items():
    with tempfile.TemporaryDirectory() as folder:
        print(f"{name:12}", " ".join(f"{error:.3f}" for error in campaign(folder, **settings)), flush=True)
