"""Replays labelling with models of one's own: rows by leaves, by predictions and by features, against random rows.

    python own_models.py run RESULTS.jsonl --data DATA [--tables airfoil,concrete,...] [--seeds 0,1,2]
    python own_models.py table RESULTS.jsonl

DATA holds compressed CSV files without a header, whose last column is the label. Of each table, a seed draws up to 500 test
rows and a pool of up to 1,500. 64 rows of the pool are labelled at random, then three batches of 64 are picked, each by the
model of the labels so far. The models and their kernels are those of docs/recipes/own_model.py. After each batch, the model is fitted
again, and its error on the test rows counts: `table` prints its change against random rows, as the geometric mean over the
three rounds, seeds and tables, with a standard error over the tables. The way `nextbatch` is the batch that nextbatch.select
picks by its own learners, on which the model is fitted all the same.

A line of RESULTS is a table, a seed, a model and a way; what is there is not repeated. Everything runs on one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
import zlib
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # before they are imported
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "recipes"))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from learners import error, geometric, numbers, read_small, show  # noqa: E402
from own_model import boosting, bootstrap, leaf_features, predictions, trained_network  # noqa: E402
from sklearn.ensemble import RandomForestRegressor  # noqa: E402

import nextbatch  # noqa: E402

START, BATCH, ROUNDS, POOL, TESTED, COMMITTEE = 64, 64, 3, 1500, 500, 10


class Forest:
    """A forest of scikit-learn."""

    def __init__(self, X, y, seed):
        self.model = RandomForestRegressor(200, random_state=seed).fit(X, y)
        self.predict = self.model.predict

    def by_leaves(self, rows):
        return leaf_features(self.model.apply(rows)), "lcmd-tp:features"

    def by_predictions(self, rows):
        return predictions(self.model.estimators_, rows), "lcmd-tp:predictions"

    def by_disagreement(self, rows):
        return predictions(self.model.estimators_, rows), "maxdiag:predictions"


class LightGBM:
    """Boosting, and a committee of it on rows that are drawn with replacement."""

    def __init__(self, X, y, seed):
        self.X, self.y = X, y
        self.model = boosting(seed).fit(X, y)
        self.predict = self.model.predict

    def by_leaves(self, rows):
        return leaf_features(self.model.predict(rows, pred_leaf=True)), "lcmd-tp:features"

    def by_predictions(self, rows):
        return predictions(bootstrap(boosting, self.X, self.y, COMMITTEE), rows), "lcmd-tp:predictions"


class Network:
    """A network of PyTorch on scaled inputs, and a committee of others that start elsewhere."""

    def __init__(self, X, y, seed):
        self.seed, self.mean, self.deviation = seed, X.mean(axis=0), np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        self.X, self.centre, self.spread = self.scaled(X), y.mean(), y.std()
        self.y = (y - self.centre) / self.spread
        self.model = trained_network(self.X, self.y, seed)

    def scaled(self, rows):
        return np.clip((rows - self.mean) / self.deviation, -5, 5)

    def predict(self, rows):
        with torch.no_grad():
            return self.centre + self.spread * self.model(torch.tensor(self.scaled(rows), dtype=torch.float32))[:, 0].numpy()

    def by_gradients(self, rows):
        return nextbatch.torch.features(self.model, self.scaled(rows), "gradient", 256), "lcmd-tp:features"

    def by_last_layer(self, rows):
        return nextbatch.torch.features(self.model, self.scaled(rows), "ll"), "lcmd-tp:features"

    def by_predictions(self, rows):
        inputs = torch.tensor(self.scaled(rows), dtype=torch.float32)
        members = [trained_network(self.X, self.y, self.seed + 100 + k) for k in range(5)]
        with torch.no_grad():
            return np.column_stack([m(inputs)[:, 0].numpy() for m in members]), "lcmd-tp:predictions"


MODELS = {"forest": Forest, "LightGBM": LightGBM, "PyTorch": Network}


def ways(model):
    return ["random", "nextbatch", *(name.removeprefix("by_") for name in vars(MODELS[model]) if name.startswith("by_"))]


def read(path, seed):
    """Return inputs and labels of the pool and of the test rows."""
    data = read_small(path).to_numpy(float)
    order = np.random.default_rng([seed, zlib.crc32(path.name.encode())]).permutation(len(data))
    tested = min(TESTED, len(data) // 4)
    test, pool = data[order[:tested]], data[order[tested:][:POOL]]
    return pool[:, :-1], pool[:, -1], test[:, :-1], test[:, -1]


def picked(way, model, X, y, labelled, pool, seed):
    """Return the rows of the pool to label next."""
    if way == "random":
        return np.random.default_rng([seed, len(labelled)]).choice(pool, BATCH, replace=False)
    if way == "nextbatch":
        batch = nextbatch.select(X[labelled], y[labelled], X[pool], n=BATCH, seed=seed, threads=1)
    else:
        features, method = getattr(model, f"by_{way}")(X)
        batch = nextbatch.select_features(features[labelled], features[pool], n=BATCH, method=method, seed=seed, threads=1)
    return pool[batch.indices]


def replay(data, models, way, seed):
    """Return the errors of each model after each round; the rows are picked by the first, or by none of them."""
    X, y, X_test, y_test = data
    labelled, pool = np.arange(START), np.arange(START, len(X))
    errors = {name: [] for name in models}
    for at in range(ROUNDS + 1):
        fitted = {name: MODELS[name](X[labelled], y[labelled], seed) for name in models}
        for name, model in fitted.items():
            errors[name].append(error(y_test, model.predict(X_test)))
        if at < ROUNDS:
            rows = picked(way, next(iter(fitted.values())), X, y, labelled, pool, seed)
            labelled, pool = np.concatenate([labelled, rows]), np.setdiff1d(pool, rows)
    return errors


def run(options):
    lines = options.results.read_text().splitlines() if options.results.exists() else []
    done = {(line["table"], line["seed"], line["model"], line["way"]) for line in map(json.loads, lines)}
    for seed in options.seeds:
        for table in options.tables:
            data = read(options.data / f"{table}.csv.gz", seed)
            jobs = [(list(MODELS), "random"), (list(MODELS), "nextbatch"), *(([m], w) for m in MODELS for w in ways(m)[2:])]
            for models, way in jobs:
                if all((table, seed, model, way) in done for model in models):
                    continue
                for model, errors in replay(data, models, way, seed).items():
                    with open(options.results, "a") as out:
                        out.write(json.dumps({"table": table, "seed": seed, "model": model, "way": way, "errors": errors}) + "\n")
            print(table, seed, flush=True)


def print_table(options):
    lines = [json.loads(line) for line in options.results.read_text().splitlines()]
    errors = {(line["model"], line["way"], line["table"], line["seed"]): geometric(line["errors"][1:]) for line in lines}
    rows = []
    for model in MODELS:
        for way in ways(model)[1:]:
            logs = {}
            for m, w, table, seed in errors:
                if (m, w) == (model, way) and (model, "random", table, seed) in errors:
                    logs.setdefault(table, []).append(np.log(errors[m, w, table, seed] / errors[m, "random", table, seed]))
            if len(logs) < 2:
                continue
            means = {table: np.mean(values) for table, values in logs.items()}
            values = np.array(list(means.values()))
            change, deviation = np.expm1(values.mean()), np.exp(values.mean()) * values.std(ddof=1) / np.sqrt(len(values))
            best, worst = min(means, key=means.get), max(means, key=means.get)
            rows.append([model, way.replace("_", " "), f"{len(values)}, {sum(map(len, logs.values()))}", f"{100 * change:+.1f} %", f"{100 * deviation:.1f} %",
                         int((values < 0).sum()), f"{best} {100 * np.expm1(means[best]):+.0f} %, {worst} {100 * np.expm1(means[worst]):+.0f} %"])  # fmt: skip
    show("Change of the error against random rows", ["model", "rows by", "tables, replays", "change of the error", "standard error", "better on", "best and worst table"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, call in (("run", run), ("table", print_table)):
        command = commands.add_parser(name)
        command.set_defaults(call=call)
        command.add_argument("results", type=Path)
        if name == "run":
            command.add_argument("--data", type=Path, required=True, help="folder of the tables")
            command.add_argument("--tables", type=lambda text: text.split(","), default="airfoil,autompg,bike,concrete,elevators,energy,housing,pol,skillcraft,wine".split(","))
            command.add_argument("--seeds", type=numbers, default=[0, 1, 2])
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    options.call(options)


if __name__ == "__main__":
    main()
