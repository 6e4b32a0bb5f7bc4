"""Predictions of `nextbatch --learner auto` on the development tables: python auto.py NEXTBATCH tables.npz auto.npz

Each fit has one thread and sees the labelled rows and, without labels, those to predict. What is finished is written every minute.
"""
import argparse
import csv
import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np

import tables as development


def cell(value, nominal):
    return f"level{int(value)}" if nominal else repr(float(value))


def write(path, x, nominal, rows, y=None):
    names = [f"{'c' if k else 'x'}{i}" for i, k in enumerate(nominal)]
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(names + ["y"] * (y is not None))
        for k, r in enumerate(rows):
            label = [] if y is None else [repr(float(y[k])) if k < len(y) else ""]
            out.writerow([cell(v, m) for v, m in zip(x[r], nominal)] + label)
    return names


def fit_and_predict(program, table, labelled, others, learner="auto"):
    """Prediction, low and high end of the 90 % interval, a row for each, and seconds of the processor."""
    _, x, nominal, y = table
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        names = write(folder / "t.csv", x, nominal, np.concatenate([labelled, others]), y[labelled])
        write(folder / "p.csv", x, nominal, others)
        numbers = ",".join(n for n in names if n[0] == "x")
        kinds = (["--numeric", numbers] if numbers else []) + ["--keep", ",".join(names)]
        once = {"env": os.environ | {"GOMAXPROCS": "1"}, "check": True, "capture_output": True, "text": True}
        start = time.time()
        subprocess.run(
            [program, "fit", "t.csv", "--target", "y", "--learner", learner, "--out", "m.nextbatch", "--threads", "1", "-q", *kinds],
            cwd=folder, **once,
        )  # fmt: skip
        seconds = time.time() - start
        subprocess.run(
            [program, "predict", "p.csv", "--model", "m.nextbatch", "--out", "o.csv", "--threads", "1", "-q"],
            cwd=folder, **once,
        )  # fmt: skip
        with open(folder / "o.csv") as f:
            rows = list(csv.DictReader(f))
    return np.array([[float(r[k]) for k in ("prediction", "low", "high")] for r in rows]).T, seconds


def main():
    a = argparse.ArgumentParser()
    a.add_argument("program")
    a.add_argument("tables")
    a.add_argument("out")
    a.add_argument("--workers", type=int, default=os.cpu_count())
    a.add_argument("--learner", default="auto")
    a.add_argument("--draws", type=int, default=99, help="of each table and number of labels, at most")
    a.add_argument("--sizes", type=int, nargs="*", default=list(development.SIZES))
    a.add_argument("--names", nargs="*")
    a.add_argument("--seconds", type=float, default=1e9)
    a = a.parse_args()
    found = development.read(a.tables)
    work = [s for s in development.splits(found) if s[2] < a.draws and s[1] in a.sizes and (not a.names or s[0] in a.names)]
    work.sort(key=lambda s: (s[2], s[1]))
    done, start, saved = {}, time.time(), time.time()
    if Path(a.out).exists():
        done = dict(np.load(a.out))

    def one(s):
        if f"{s[0]}/{s[1]}/{s[2]}" in done or time.time() - start > a.seconds:
            return s, None
        return s, fit_and_predict(a.program, found[s[0]], s[3], s[4], a.learner)

    with ThreadPoolExecutor(a.workers) as pool:
        for future in as_completed([pool.submit(one, s) for s in work]):
            try:
                (name, size, draw, *_), result = future.result()
            except subprocess.CalledProcessError as e:
                print(e.stderr[-500:], flush=True)
                continue
            if result:
                done[f"{name}/{size}/{draw}"] = result[0].astype(np.float32)
                done[f"{name}/{size}/{draw}/seconds"] = np.float32(result[1])
            if time.time() - saved > 60:
                np.savez_compressed(a.out, **done)
                saved = time.time()
    np.savez_compressed(a.out, **done)
    fits = [v for k, v in done.items() if k.endswith("seconds")]
    print(f"{len(fits)} of {len(work)} fits, {sum(fits):.0f} s of fits, {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
