"""The development tables, read once into one file: python tables.py SHARED/data tables.npz

Each table has a group: numbers (of laboratories), categories (of laboratories), uci, large.
"""
import csv
import gzip
import io
import sys
import zlib
from pathlib import Path

import numpy as np

ROWS = 3000  # that are kept of a larger table
TEST = 400  # rows that are predicted, at most
SIZES = {16: 4, 24: 4, 64: 4, 128: 3, 256: 3, 1024: 2}  # labels: draws


def cells(path):
    """Rows of text, names of the columns or None."""
    text = gzip.open(path, "rt").read()
    if path.name.endswith(".arff.gz"):
        return list(csv.reader(io.StringIO(text.split("@data", 1)[1].strip()))), None
    rows = list(csv.reader(io.StringIO(text)))
    try:
        [float(c) for c in rows[0]]
        return rows, None
    except ValueError:
        return rows[1:], rows[0]


def numbers(column):
    try:
        return np.array([float(c) for c in column]), False
    except ValueError:
        code = {c: i for i, c in enumerate(sorted(set(column)))}
        return np.array([code[c] for c in column], float), True


def table(path, labels=(-1,), leave_out=()):
    """x, which columns are nominal, y. Several labels: the median of their logarithms."""
    rows, _ = cells(path)
    columns = list(zip(*rows))
    labels = [i % len(columns) for i in labels]
    parts = [numbers(c) for i, c in enumerate(columns) if i not in labels and i not in leave_out]
    y = np.array([numbers(columns[i])[0] for i in labels])
    y = np.log(np.median(y, 0)) if len(labels) > 1 else y[0]
    x, nominal = np.stack([p[0] for p in parts], 1), np.array([p[1] for p in parts])
    if len(x) > ROWS:
        keep = np.random.default_rng(0).permutation(len(x))[:ROWS]
        x, y = x[keep], y[keep]
    varies = (x != x[:1]).any(0)
    return x[:, varies], nominal[varies], y


def development(data):
    out = {}
    for path in sorted((data / "lab").glob("*.gz")):
        t = table(path)
        if "liquid_dce" in path.name:  # its first row is the numbers of the columns
            t = t[0][1:], t[1], t[2][1:]
        out[path.name.split(".")[0]] = ("categories" if t[1].any() else "numbers", *t)
    for path in sorted((data / "tables").glob("*.gz")):
        out[path.name.split(".")[0]] = ("uci", *table(path, leave_out=(15, 16) if "bike" in path.name else ()))
    out["sgemm"] = ("large", *table(data / "sgemm_product.csv.gz", labels=(14, 15, 16, 17)))
    out["protein"] = ("large", *table(data / "CASP.csv.gz", labels=(0,)))
    out["fried"] = ("large", *table(data / "fried.arff.gz"))
    out["diamonds"] = ("large", *table(data / "diamonds.csv.gz", labels=(6,)))
    return out


def write(tables, path):
    flat = {}
    for name, (group, x, nominal, y) in tables.items():
        flat |= {f"{name}.group": group, f"{name}.x": x.astype(np.float32), f"{name}.nominal": nominal, f"{name}.y": y}
    np.savez_compressed(path, **flat)


def read(path):
    f = np.load(path)
    names = [k[:-6] for k in f.files if k.endswith(".group")]
    return {n: (str(f[f"{n}.group"]), f[f"{n}.x"], f[f"{n}.nominal"], f[f"{n}.y"]) for n in names}


def splits(tables, sizes=SIZES):
    """Name, labels, draw, labelled rows, rows to predict: the same at each call."""
    for name, (_, x, _, _) in tables.items():
        for size, draws in sizes.items():
            if size > 0.8 * len(x):
                continue
            for draw in range(draws):
                order = np.random.default_rng([zlib.crc32(name.encode()), size, draw]).permutation(len(x))
                yield name, size, draw, order[:size], order[size : size + TEST]


if __name__ == "__main__":
    found = development(Path(sys.argv[1]))
    write(found, sys.argv[2])
    for name, (group, x, nominal, y) in found.items():
        print(f"{name:16} {group:10} {len(x):5} x {x.shape[1]:3} ({nominal.sum()} nominal)  label {y.min():.4g} .. {y.max():.4g}")
