"""Your own table: pick rows, label them, pick again, and see the error fall."""

import numpy as np

import nextbatch

rng = np.random.default_rng(0)


def measure(rows):
    """What an experiment would cost a day for; here it is a formula."""
    return np.sin(rows["temperature"] / 20) + rows["pressure"] * (rows["material"] == "steel")


# A table as you would read it from a file: 600 candidates, of which the first 60 are labelled.
table = {
    "name": np.array([f"s{i:03d}" for i in range(600)]),
    "temperature": rng.uniform(0, 100, 600),
    "pressure": rng.uniform(0.5, 1.5, 600),
    "material": rng.choice(["steel", "brass", "glass"], 600),
}
truth = measure(table)
table["y"] = np.where(np.arange(600) < 60, truth, np.nan)

for round in range(3):
    batch = nextbatch.select(table, "y", n=24, id="name", epochs=60, seed=round)
    print(f"round {round}: label {', '.join(batch.ids[:4])}, …")
    print(f"  why {batch.ids[0]}: {batch.reasons[0]}")
    table["y"][batch.indices] = truth[batch.indices]  # your experiment goes here

print(f"{np.isfinite(table['y']).sum()} rows are labelled now")
