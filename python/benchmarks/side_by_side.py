"""Times the same selection by nextbatch, by the authors' package and by scikit-activeml.

    python side_by_side.py [--rows 100000] [--columns 512] [--batch 256] [--repeats 5] [--methods LCMD,BAIT]

Each measurement is written to --results (side_by_side.json) as soon as it is done, and is not repeated by
another run of the same sizes: stop and resume as you like. Packages that are not installed are left out. At the
end it prints a table.

Each time is the shortest of the repeats, in seconds, of the call alone: features are in memory, and nextbatch's
worker is warm. The command line reads the same features from .npy files that are in the cache of the system; its
own time is the one that it prints, without the start of the process. Picks are compared with those of nextbatch, as
the number of equal ones from the first on.

The authors' package (bmdal_reg) takes float64 for BAIT, as nextbatch does; its score differs from the paper's, and
nextbatch follows it here (@compat). scikit-activeml has no BAIT or LCMD for regression; its GreedySamplingX is max-dist
on the inputs, and takes one row at a time, each of which computes all distances again, so it runs on a hundredth of the
rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import nextbatch
from nextbatch import _binary, _worker

METHODS = {
    "k-means++": ("kmeanspp-tp:features", "kmeanspp", []),
    "max-dist": ("maxdist-tp:features", "maxdist", []),
    "BAIT": ("bait-f-p:features>train@compat", "bait", [("train", [1e-3, None])]),
    "LCMD": ("lcmd-tp:features", "lcmd", []),
}


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


class Results:
    """Measurements in a file, which another run does not repeat."""

    def __init__(self, path, sizes):
        self.path, self.sizes = Path(path), sizes
        self.all = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.own = self.all.setdefault(sizes, {})

    def measure(self, what, call):
        """Return a measurement, from the file if it has it; None if a package is not installed."""
        if what not in self.own:
            print(f"{self.sizes}: {what} …", flush=True)
            try:
                self.own[what] = call()
            except ImportError as error:
                print(f"  left out: {error}")
                return None
            part = self.path.with_name(self.path.name + ".part")
            part.write_text(json.dumps(self.all, indent=1))
            os.replace(part, self.path)
        return self.own[what]


def by_nextbatch(train, pool, options, spec):
    """Time the Python call, beside the part of it that is the selection."""
    best = None
    for _ in range(options.repeats):
        seconds, batch = timed(1, lambda: nextbatch.select_features(train, pool, options.batch, spec))
        if best is None or seconds < best["seconds"]:
            best = {"seconds": seconds, "inside": batch.details["timings"]["total"], "picks": batch.indices.tolist()}
    return best


def by_command(train, pool, options, spec):
    """Time the command line on the same features: its own time, and with the start of the process."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, array in (("train", train), ("pool", pool)):
            files += [f"--{name}-features", os.path.join(folder, f"{name}.npy")]
            np.save(files[-1], array)
        command = [_binary.path(), "select", *files, "-n", str(options.batch), "--method", spec, "--json", "--quiet"]
        best = None
        for _ in range(options.repeats):
            seconds, done = timed(1, lambda: subprocess.run(command, check=True, capture_output=True))
            answer = json.loads(done.stdout)
            if best is None or answer["timings"]["total"] < best["own"]:
                best = {"seconds": seconds, "own": answer["timings"]["total"], "picks": answer["indices"]}
        return best


def by_authors(train, pool, options, method, transforms):
    import torch
    from bmdal_reg.bmdal.algorithms import select_batch
    from bmdal_reg.bmdal.feature_data import TensorFeatureData

    np.Inf = np.inf  # which the authors' package uses, and NumPy 2 does not have
    data = {"train": TensorFeatureData(torch.from_numpy(train)), "pool": TensorFeatureData(torch.from_numpy(pool))}
    seconds, (rows, _) = timed(1, lambda: select_batch(options.batch, [torch.nn.Identity()], data, None, "linear", transforms, method,
                                                       allow_float64=True, bait_sigma=1e-3, verbosity=0))  # fmt: skip
    return {"seconds": seconds, "picks": rows.tolist()}


def by_activeml(train, pool, n):
    from skactiveml.pool import GreedySamplingX

    x = np.concatenate([train, pool])
    y = np.concatenate([np.zeros(len(train)), np.full(len(pool), np.nan)])
    seconds, rows = timed(1, lambda: GreedySamplingX(random_state=0).query(x, y, batch_size=n) - len(train))
    return {"seconds": seconds, "picks": rows.tolist()}


def few_rows(options, train, pool):
    """Compare with scikit-activeml on a hundredth of the rows; return lines of a table."""
    few = pool[: max(options.rows // 100, 1)]
    n = min(options.batch, len(few) // 4)
    results = Results(options.results, f"{len(few)} x {options.columns}, {options.train} labelled, batch {n}")

    def ours():
        seconds, batch = timed(options.repeats, lambda: nextbatch.select_features(train, few, n, "maxdist-tp:features"))
        return {"seconds": seconds, "picks": batch.indices.tolist()}

    own, theirs = results.measure("nextbatch", ours), results.measure("scikit-activeml", lambda: by_activeml(train, few, n))
    if theirs is None:
        return []
    return ["", f"Max-dist on {results.sizes}: nextbatch {own['seconds']:.3f} s, scikit-activeml {theirs['seconds']:.2f} s, "
            f"{common(theirs['picks'], own['picks'])} of {n} picks equal."]  # fmt: skip


def line(name, own, shell, theirs):
    """Return the line of a method."""
    over = f"{100 * (own['seconds'] / shell['own'] - 1):+.0f} %"
    cells = [name, f"{own['seconds']:.2f}", f"{own['inside']:.2f}", f"{shell['own']:.2f}", over]
    if theirs is None:
        return cells + ["–", "–"]
    return cells + [f"{theirs['seconds']:.1f}", f"{common(theirs['picks'], own['picks'])} of {len(own['picks'])}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("rows", 100_000), ("columns", 512), ("train", 1000), ("batch", 256), ("repeats", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--methods", default=",".join(METHODS), help="which to measure, separated by commas")
    parser.add_argument("--results", default="side_by_side.json", help="file with the measurements so far")
    options = parser.parse_args()
    unknown = set(options.methods.split(",")) - set(METHODS)
    if unknown:
        parser.error(f"there is no method {', '.join(sorted(unknown))}; choose from {', '.join(METHODS)}")
    warnings.simplefilter("ignore")
    train, pool = make(options.train, options.columns, 1), make(options.rows, options.columns)
    results = Results(options.results, f"{options.rows} x {options.columns}, {options.train} labelled, batch {options.batch}")
    nextbatch.select_features(None, np.eye(2), 1)  # starts the worker
    empty = results.measure("an empty call", lambda: timed(200, lambda: _worker.call("ping", None))[0])
    lines = []
    for name in options.methods.split(","):
        spec, method, transforms = METHODS[name]
        own = results.measure(f"{spec}, nextbatch", lambda: by_nextbatch(train, pool, options, spec))
        shell = results.measure(f"{spec}, command line", lambda: by_command(train, pool, options, spec))
        if own["picks"] != shell["picks"]:
            raise SystemExit(f"{name}: the command line picks other rows than the Python call")
        lines.append(line(name, own, shell, results.measure(f"{name}, bmdal_reg", lambda: by_authors(train, pool, options, method, transforms))))
    tail = few_rows(options, train, pool)
    print(f"\n{results.sizes}; seconds; an empty call takes {1000 * empty:.1f} ms\n")
    print("| method | nextbatch, Python call | of which the selection | command line, own time | call over command line | bmdal_reg | equal picks |")
    print("|" + "---|" * 7)
    for cells in lines:
        print("| " + " | ".join(cells) + " |")
    print("\n".join(tail))


if __name__ == "__main__":
    main()
