"""Compares the learners of nextbatch with LightGBM, CatBoost, scikit-learn, GPyTorch, RealMLP and AutoGluon on the same rows.

    python learners.py tasks TASKS --data DATA
    python learners.py run TASKS --models lightgbm catboost extra-trees gp
    python learners.py run TASKS --models "nextbatch --learner auto" --binary bin/nextbatch
    python learners.py table TASKS [--against "nextbatch --learner auto"]

`tasks` draws the rows. DATA holds fried.arff.gz, CASP.csv.gz, diamonds.csv.gz and sgemm_product.csv.gz, and a folder
`tables` of compressed CSV files without a header, whose last column is the label. A table has one random order for each
seed: the first 64, 256 or 1,024 rows of it are labelled, and the last 2,000 of the others (or as many as there are)
are the test rows. A table with fewer than 50 rows left for the test is left out at that size. Each task is a folder
TASKS/TABLE-LABELS-SEED with train.csv (the column `label` is the label, `row` the row of the table), test.csv (without
labels) and truth.csv (the labels of the test rows). Categories stay words.

`run` trains models, and appends a line to TASKS/results.jsonl for each task that is done: another run does not repeat
it, so stop and resume as you like. A model that starts with the word nextbatch is that command, with these flags for
`nextbatch fit`. Everything runs on one thread unless --threads says otherwise. A line has the error, the CPU seconds
and the seconds on the clock of training and prediction, and the load of the machine at the end (other programs
slow down what has a limit of time, as AutoGluon has).

`table` prints the errors: the root mean squared error on the test rows, divided by the standard deviation of the labels
of these rows; the mean over the seeds for each table, then the geometric mean over the tables. It also scores files
TASKS/TABLE-LABELS-SEED/NAME.predicted.csv, which `nextbatch predict --id row --out` writes, as the model NAME. With
--against, it prints the ratio of each model's error to that of one model, on the tasks that both have done, with a 95 %
interval (Student's t on the logarithm of the ratio, one value for each table).

The models, with inputs as they come unless it says otherwise:

    lightgbm          learning rate 0.05, leaves of at least 5 rows; the number of rounds is chosen by early stopping
                      (50 rounds) on a fifth that is held out, and the model is then trained again on all rows
    lightgbm-default  the default settings with the same early stopping, not trained again
    catboost          the default settings with early stopping (50 rounds) on a fifth that is held out
    catboost-all      the default settings: 1,000 rounds on all rows
    extra-trees       scikit-learn's ExtraTreesRegressor with 500 trees, categories one-hot
    gp                scikit-learn's GaussianProcessRegressor: Matérn-5/2 with a length scale for each input, noise,
                      one restart; inputs scaled, categories one-hot, labels normalised
    gpytorch          GPyTorch's exact process with the same kernel and noise, in float64; Adam with rate 0.1 on
                      the marginal likelihood, until 50 steps have not raised its logarithm by 0.001 per label
                      (torch's L-BFGS is faster, but fails on some tables)
    realmlp           RealMLP-TD of pytabkit with its default settings, which hold a fifth out
    autogluon         AutoGluon's preset best_quality with a limit of 100 seconds, the folds one after another
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from pathlib import Path

SIZES, SEEDS, MOST_TESTED, FEWEST_TESTED = [64, 256, 1024], [0, 1, 2], 2000, 50


# The rows of the tasks.


def read_small(file):
    """Read a table whose last column is the label."""
    import pandas as pd

    data = pd.read_csv(file, header=None)
    data.columns = [f"x{i}" for i in range(data.shape[1] - 1)] + ["label"]
    if file.name == "bike.csv.gz":  # registered and casual users, whose sum is the number that the label is made of
        data = data.drop(columns=["x15", "x16"])
    return data


def read_fried(file):
    import pandas as pd

    return pd.read_csv(file, comment="@", header=None, names=[f"x{i}" for i in range(10)] + ["label"])


def read_sgemm(file):
    import numpy as np
    import pandas as pd

    data = pd.read_csv(file)
    inputs, runs = data.iloc[:, :14], data.iloc[:, 14:]
    return inputs.assign(label=np.log(runs.median(axis=1)))


def read_all(folder):
    """Yield the name and the rows of each table."""
    import pandas as pd

    for file in sorted((folder / "tables").glob("*.csv.gz")):
        yield file.name.split(".")[0], read_small(file)
    yield "fried", read_fried(folder / "fried.arff.gz")
    yield "protein", pd.read_csv(folder / "CASP.csv.gz").rename(columns={"RMSD": "label"})
    yield "diamonds", pd.read_csv(folder / "diamonds.csv.gz").rename(columns={"price": "label"})
    yield "sgemm", read_sgemm(folder / "sgemm_product.csv.gz")


def write_tasks(options):
    import numpy as np

    for name, data in read_all(options.data):
        data.index.name = "row"
        for seed in options.seeds:
            order = np.random.default_rng([seed, zlib.crc32(name.encode())]).permutation(len(data))
            for size in options.sizes:
                if len(data) - size >= FEWEST_TESTED:
                    write_task(options.tasks / f"{name}-{size}-{seed}", data, order[:size], order[size:][-MOST_TESTED:])


def write_task(folder, data, labelled, tested):
    folder.mkdir(parents=True, exist_ok=True)
    data.iloc[labelled].to_csv(folder / "train.csv")
    data.iloc[tested].drop(columns="label").to_csv(folder / "test.csv")
    data.iloc[tested][["label"]].to_csv(folder / "truth.csv")


# The models. Each takes the labelled inputs, their labels, the inputs of the test rows, a seed and the options, and
# returns predictions. Categorical columns have the type "category", with the levels that are labelled.


def held_out(x, y, seed):
    from sklearn.model_selection import train_test_split

    return train_test_split(x, y, test_size=0.2, random_state=seed)


def lightgbm_model(seed, options, **settings):
    import lightgbm

    return lightgbm.LGBMRegressor(random_state=seed, n_jobs=options.threads, verbosity=-1, **settings)


def stopped_early(model, x, y, seed):
    import lightgbm

    fit_x, stop_x, fit_y, stop_y = held_out(x, y, seed)
    return model.fit(fit_x, fit_y, eval_set=[(stop_x, stop_y)], callbacks=[lightgbm.early_stopping(50, verbose=False)])


def by_lightgbm(x, y, new, seed, options):
    careful = {"learning_rate": 0.05, "min_child_samples": 5}
    stopped = stopped_early(lightgbm_model(seed, options, n_estimators=2000, **careful), x, y, seed)
    rounds = max(stopped.best_iteration_, 1)
    return lightgbm_model(seed, options, n_estimators=rounds, **careful).fit(x, y).predict(new)


def by_lightgbm_default(x, y, new, seed, options):
    return stopped_early(lightgbm_model(seed, options, n_estimators=2000), x, y, seed).predict(new)


def catboost_model(x, seed, options):
    from catboost import CatBoostRegressor

    return CatBoostRegressor(random_seed=seed, thread_count=options.threads, cat_features=categories(x), verbose=False, allow_writing_files=False)


def by_catboost(x, y, new, seed, options):
    fit_x, stop_x, fit_y, stop_y = held_out(words(x), y, seed)
    model = catboost_model(x, seed, options)
    return model.fit(fit_x, fit_y, eval_set=(stop_x, stop_y), early_stopping_rounds=50).predict(words(new))


def by_catboost_all(x, y, new, seed, options):
    return catboost_model(x, seed, options).fit(words(x), y).predict(words(new))


def categories(x):
    return list(x.select_dtypes("category").columns)


def words(x):
    """Return categories as CatBoost takes them; a level that is not labelled is a word of its own."""
    return x.astype({c: object for c in categories(x)}).fillna({c: "another" for c in categories(x)})


def encoder(x, numbers):
    """Return the step that makes numbers of all columns; numbers says what becomes of the others."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    return make_column_transformer((OneHotEncoder(handle_unknown="ignore", sparse_output=False), categories(x)), remainder=numbers)


def by_extra_trees(x, y, new, seed, options):
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.pipeline import make_pipeline

    trees = ExtraTreesRegressor(500, random_state=seed, n_jobs=options.threads)
    return make_pipeline(encoder(x, "passthrough"), trees).fit(x, y).predict(new)


def by_gp(x, y, new, seed, options):
    import numpy as np
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
    from sklearn.preprocessing import StandardScaler

    encode = encoder(x, StandardScaler())
    inputs = encode.fit_transform(x)
    kernel = ConstantKernel() * Matern(np.ones(inputs.shape[1]), nu=2.5) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=1, random_state=seed)
    return model.fit(inputs, y).predict(encode.transform(new))


def by_gpytorch(x, y, new, seed, options):
    import gpytorch
    import torch
    from sklearn.preprocessing import StandardScaler

    torch.set_num_threads(options.threads)
    torch.manual_seed(seed)
    encode = encoder(x, StandardScaler())
    inputs, labels = torch.tensor(encode.fit_transform(x)), torch.tensor((y - y.mean()) / y.std())
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=inputs.shape[1]))

    class Process(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(inputs, labels, likelihood)
            self.mean, self.kernel = gpytorch.means.ConstantMean(), kernel

        def forward(self, rows):
            return gpytorch.distributions.MultivariateNormal(self.mean(rows), self.kernel(rows))

    model = Process(gpytorch.likelihoods.GaussianLikelihood()).double()
    with gpytorch.settings.fast_computations(False, False, False):  # Cholesky factors throughout
        maximise_likelihood(model, inputs, labels)
        with torch.no_grad(), gpytorch.settings.skip_posterior_variances():
            predictions = model.eval()(torch.tensor(encode.transform(new))).mean
    return y.mean() + y.std() * predictions.numpy()


def maximise_likelihood(model, inputs, labels):
    import gpytorch
    import torch

    likelihood = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    steps = torch.optim.Adam(model.train().parameters(), lr=0.1)
    best, since = float("inf"), 0
    while since < 50:
        steps.zero_grad()
        loss = -likelihood(model(inputs), labels)
        loss.backward()
        steps.step()
        since += 1
        if loss.item() < best - 1e-3:
            best, since = loss.item(), 0


def by_realmlp(x, y, new, seed, options):
    from pytabkit import RealMLP_TD_Regressor

    return RealMLP_TD_Regressor(device="cpu", random_state=seed, n_threads=options.threads, verbosity=0).fit(x, y).predict(new)


def by_autogluon(x, y, new, seed, options):
    from autogluon.tabular import TabularPredictor

    with tempfile.TemporaryDirectory() as folder:
        predictor = TabularPredictor("label", problem_type="regression", path=folder, verbosity=0)
        # Folds one after another: each worker of ray takes longer to start than a small fold takes to fit.
        predictor.fit(x.assign(label=y), presets="best_quality", time_limit=100, num_cpus=options.threads,
                      ag_args_ensemble={"fold_fitting_strategy": "sequential_local"})
        return predictor.predict(new, as_pandas=False)


MODELS = {
    "lightgbm": by_lightgbm,
    "lightgbm-default": by_lightgbm_default,
    "catboost": by_catboost,
    "catboost-all": by_catboost_all,
    "extra-trees": by_extra_trees,
    "gp": by_gp,
    "gpytorch": by_gpytorch,
    "realmlp": by_realmlp,
    "autogluon": by_autogluon,
}


# Training and scoring.


def read_task(folder):
    """Return the labelled inputs, their labels and the inputs of the test rows."""
    import pandas as pd

    x, new = pd.read_csv(folder / "train.csv", index_col="row"), pd.read_csv(folder / "test.csv", index_col="row")
    y = x.pop("label").to_numpy(float)
    for column in x.columns:
        if not pd.api.types.is_numeric_dtype(x[column]):
            levels = pd.CategoricalDtype(sorted(x[column].unique()))
            x[column], new[column] = x[column].astype(levels), new[column].where(new[column].isin(levels.categories)).astype(levels)
    return x, y, new


def truth(folder):
    import pandas as pd

    return pd.read_csv(folder / "truth.csv", index_col="row")["label"]


def error(labels, predictions):
    """Return the root mean squared error in standard deviations of the labels."""
    import numpy as np

    labels, predictions = np.asarray(labels, float), np.asarray(predictions, float).reshape(-1)
    return float(np.sqrt(np.mean((labels - predictions) ** 2)) / labels.std())


def cpu_seconds():
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def nextbatch_predictions(folder, flags, seed, options):
    """Run `nextbatch fit` with the flags, and `nextbatch predict`."""
    with tempfile.TemporaryDirectory() as scratch:
        model, out = os.path.join(scratch, "model.safetensors"), os.path.join(scratch, "out.csv")
        both = ["--id", "row", "--quiet", "--threads", str(options.threads)]
        fit = ["fit", folder / "train.csv", "--target", "label", "--seed", str(seed), "--out", model, *both, *flags]
        predict = ["predict", folder / "test.csv", "--model", model, "--out", out, *both]
        for command in (fit, predict):
            subprocess.run([options.binary, *command], check=True, stdout=subprocess.DEVNULL)
        return read_predictions(out, truth(folder))


def read_predictions(file, labels):
    """Return the predictions of a file that `nextbatch predict` wrote, in the order of the labels."""
    import pandas as pd

    return pd.read_csv(file, index_col="row")["prediction"].loc[labels.index]


def measure(folder, model, options):
    """Train a model on a task; return the line of the results."""
    task, own = which(folder), model not in MODELS
    data = None if own else read_task(folder)
    cpu, clock = cpu_seconds(), time.perf_counter()
    if own:
        predictions = nextbatch_predictions(folder, shlex.split(model)[1:], task["seed"], options)
    else:
        predictions = MODELS[model](*data, task["seed"], options)
    cpu, clock = cpu_seconds() - cpu, time.perf_counter() - clock
    return {**task, "model": model, "error": error(truth(folder), predictions), "cpu": round(cpu, 2), "clock": round(clock, 2),
            "load": round(os.getloadavg()[0], 2), "threads": options.threads}  # fmt: skip


def which(folder):
    """Return the table, the number of labels and the seed of a task."""
    table, labels, seed = folder.name.rsplit("-", 2)
    return {"table": table, "labels": int(labels), "seed": int(seed)}


def wanted(task, options):
    return task["labels"] in options.sizes and task["seed"] in options.seeds


def in_turn(task_and_folder):
    task, _ = task_and_folder
    return task["seed"], task["labels"], task["table"]


def task_folders(options):
    """Return the folders of the tasks: the first seed at all sizes first."""
    folders = [file.parent for file in options.tasks.glob("*/train.csv")]
    tasks = [(which(folder), folder) for folder in folders]
    return [folder for task, folder in sorted(tasks, key=in_turn) if wanted(task, options)]


def read_results(options):
    file = options.tasks / "results.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def run(options):
    done = {(line["table"], line["labels"], line["seed"], line["model"]) for line in read_results(options)}
    failed = 0
    for folder in task_folders(options):
        for model in options.models:
            if (*which(folder).values(), model) in done:
                continue
            try:
                line = measure(folder, model, options)
            except Exception:
                failed += 1
                print(f"{folder.name}: {model} failed", file=sys.stderr)
                traceback.print_exc()
                continue
            with open(options.tasks / "results.jsonl", "a") as out:
                out.write(json.dumps(line) + "\n")
            print(f"{folder.name}: {model} {line['error']:.3f}, {line['cpu']} CPU seconds", flush=True)
    if failed:
        raise SystemExit(f"{failed} of the trainings failed; run again to repeat them")


# The tables.


def all_lines(options):
    """Return the results, and the errors of the predictions in files, of the wanted sizes and seeds."""
    lines = [line for line in read_results(options) if wanted(line, options)]
    for folder in task_folders(options):
        labels = truth(folder)
        for file in sorted(folder.glob("*.predicted.csv")):
            name = file.name.removesuffix(".predicted.csv")
            lines.append({**which(folder), "model": name, "error": error(labels, read_predictions(file, labels))})
    return lines


def geometric(values):
    import numpy as np

    return float(np.exp(np.log(values).mean()))


def show(title, head, rows):
    print(f"\n{title}\n\n| " + " | ".join(map(str, head)) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")


def summary(data, sizes):
    """Show a line for each model: geometric means, and the CPU seconds of a task."""
    by_table = data.groupby(["model", "labels", "table"])["error"].mean()
    rows = []
    for model in data["model"].unique():
        row = [model]
        for size in sizes:
            part = data[(data["model"] == model) & (data["labels"] == size)]
            if part.empty:
                row.append("–")
                continue
            cpu = f", {part['cpu'].mean():.1f} s" if part["cpu"].notna().any() else ""
            row.append(f"{geometric(by_table[model, size]):.3f} ({part['table'].nunique()} tables, {len(part)} tasks{cpu})")
        rows.append(row)
    show("Geometric mean of the error over the tables (CPU seconds of a task, on average)", ["model", *sizes], rows)


def tables(data, sizes):
    """Show the errors by table, for each size."""
    for size in sizes:
        part = data[data["labels"] == size].pivot_table(index="table", columns="model", values="error", sort=False)
        rows = [[table, *("–" if value != value else f"{value:.3f}" for value in values)] for table, values in zip(part.index, part.to_numpy())]
        if rows:
            show(f"{size} labels, mean over the seeds", ["table", *part.columns], sorted(rows))


def ratios(data, sizes, against):
    """Show the error of each model in units of that of another, on the tasks that both have done."""
    import numpy as np
    from scipy import stats

    errors = data.pivot_table(index=["labels", "table", "seed"], columns="model", values="error", sort=False)
    rows = []
    for model in errors.columns.drop(against):
        row = [model]
        for size in sizes:
            both = errors.loc[[size], [model, against]].dropna() if size in errors.index.get_level_values(0) else errors.iloc[:0]
            logs = np.log(both[model] / both[against]).groupby("table").mean().to_numpy() if len(both) else []
            if len(logs) < 2:
                row.append("–")
                continue
            half = stats.t.ppf(0.975, len(logs) - 1) * np.std(logs, ddof=1) / np.sqrt(len(logs))
            low, middle, high = np.exp([np.mean(logs) - half, np.mean(logs), np.mean(logs) + half])
            row.append(f"{middle:.3f} ({low:.3f} to {high:.3f}; {len(both)} tasks)")
        rows.append(row)
    show(f"Error divided by that of {against}, on the same tasks", ["model", *sizes], rows)


def print_tables(options):
    import pandas as pd

    data = pd.DataFrame(all_lines(options))
    if data.empty:
        raise SystemExit("there are no results yet")
    data["cpu"] = data.get("cpu")
    if options.against and options.against not in set(data["model"]):
        raise SystemExit(f"there are no results of {options.against}")
    summary(data, options.sizes)
    if options.against:
        ratios(data, options.sizes, options.against)
    tables(data, options.sizes)


def numbers(text):
    return [int(word) for word in text.split(",")]


def model_name(text):
    if text not in MODELS and text.split()[:1] != ["nextbatch"]:
        raise argparse.ArgumentTypeError(f"there is no model {text}; choose from {', '.join(MODELS)}, or 'nextbatch' with flags")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, call, text in (("tasks", write_tasks, "draw the rows"), ("run", run, "train models"), ("table", print_tables, "print the errors")):
        command = commands.add_parser(name, help=text)
        command.set_defaults(call=call)
        command.add_argument("tasks", type=Path, help="folder of the tasks")
        command.add_argument("--sizes", type=numbers, default=SIZES, help="numbers of labels, separated by commas")
        command.add_argument("--seeds", type=numbers, default=SEEDS, help="seeds, separated by commas")
        if name == "tasks":
            command.add_argument("--data", type=Path, required=True, help="folder of the tables")
        if name == "run":
            command.add_argument("--models", type=model_name, nargs="+", required=True, help="names of models, or 'nextbatch' with flags of fit")
            command.add_argument("--threads", type=int, default=1)
            command.add_argument("--binary", default="nextbatch", help="the program nextbatch")
        if name == "table":
            command.add_argument("--against", help="model to compare the others with")
    options = parser.parse_args()
    for library in ("OMP", "OPENBLAS", "MKL"):  # read when these libraries are loaded, which is later
        os.environ[f"{library}_NUM_THREADS"] = str(getattr(options, "threads", 1))
    warnings.simplefilter("ignore")
    options.call(options)


if __name__ == "__main__":
    main()
