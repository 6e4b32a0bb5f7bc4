"""Times the same selection by nextbatch, by the authors' package and by scikit-activeml.

    python side_by_side.py [--rows 100000] [--columns 512] [--batch 256] [--repeats 3]

Packages that are not installed are left out. Each time is the shortest of the repeats, in seconds,
of the call alone: features are in memory, and nextbatch's worker is warm. Picks are compared with
those of nextbatch, as the number of equal ones from the first on.

The authors' package (bmdal_reg) takes float64 for BAIT, as nextbatch does. scikit-activeml has no
BAIT or LCMD for regression; its GreedySamplingX is max-dist on the inputs, and takes one row at a time,
each of which computes all distances again, so it runs on a hundredth of the rows.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import nextbatch


def timed(repeats, call):
    """Return the shortest time and the result."""
    best, result = float("inf"), None
    for _ in range(repeats):
        begin = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - begin)
    return best, result


def common(a, b):
    """Count the equal picks from the first on."""
    different = np.nonzero(np.asarray(a) != np.asarray(b))[0]
    return int(different[0]) if len(different) else len(a)


def make(rows, columns, seed=0):
    """Features as of a trained network: a few directions carry most of the variance."""
    rng = np.random.default_rng(seed)
    scale = np.arange(1, columns + 1) ** -0.7
    return (rng.normal(size=(rows, columns)) * scale).astype(np.float32)


METHODS = {
    "k-means++": ("kmeanspp-tp:features", "kmeanspp", []),
    "max-dist": ("maxdist-tp:features", "maxdist", []),
    "BAIT": ("bait-f-p:features>train", "bait", [("train", [1e-3, None])]),
    "LCMD": ("lcmd-tp:features", "lcmd", []),
}


def by_authors(train, pool, batch, method, transforms):
    import torch
    from bmdal_reg.bmdal.algorithms import select_batch
    from bmdal_reg.bmdal.feature_data import TensorFeatureData

    data = {"train": TensorFeatureData(torch.from_numpy(train)), "pool": TensorFeatureData(torch.from_numpy(pool))}
    rows, _ = select_batch(batch, [torch.nn.Identity()], data, None, "linear", transforms, method,
                           allow_float64=True, bait_sigma=1e-3, verbosity=0)  # fmt: skip
    return rows.numpy()


def by_activeml(train, pool, batch):
    from skactiveml.pool import GreedySamplingX

    x = np.concatenate([train, pool])
    y = np.concatenate([np.zeros(len(train)), np.full(len(pool), np.nan)])
    return GreedySamplingX(random_state=0).query(x, y, batch_size=batch) - len(train)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("rows", 100_000), ("columns", 512), ("train", 1000), ("batch", 256), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.Inf = np.inf  # which the authors' package uses, and NumPy 2 does not have
    train, pool = make(options.train, options.columns, 1), make(options.rows, options.columns)
    nextbatch.select_features(None, np.eye(2), 1)
    print(f"{options.rows} x {options.columns} features, {options.train} labelled, batch {options.batch}")
    print("| method | package | seconds | equal picks |\n|---|---|---|---|")
    for name, (spec, method, transforms) in METHODS.items():
        seconds, batch = timed(options.repeats, lambda: nextbatch.select_features(train, pool, options.batch, spec))
        inside = batch.details["timings"]["total"]
        print(f"| {name} | nextbatch | {seconds:.2f}, of which {seconds - inside:.2f} for the way to the worker and back | |", flush=True)
        try:
            seconds, rows = timed(1, lambda: by_authors(train, pool, options.batch, method, transforms))
        except ImportError as error:
            print(f"| {name} | bmdal_reg | {error} | |")
        else:
            print(f"| {name} | bmdal_reg | {seconds:.2f} | {common(rows, batch.indices)} of {len(rows)} |", flush=True)
    few = pool[: max(options.rows // 100, 1)]
    n = min(options.batch, len(few) // 4)
    seconds, batch = timed(options.repeats, lambda: nextbatch.select_features(train, few, n, "maxdist-tp:features"))
    print(f"| max-dist, {len(few)} rows, batch {n} | nextbatch | {seconds:.3f} | |")
    try:
        seconds, rows = timed(1, lambda: by_activeml(train, few, n))
        print(f"| max-dist, {len(few)} rows, batch {n} | scikit-activeml | {seconds:.2f} | {common(rows, batch.indices)} of {n} |")
    except ImportError as error:
        print(f"| max-dist | scikit-activeml | {error} | |")


if __name__ == "__main__":
    main()
