"""Compares the batches of nextbatch with those of bmdal_reg, scikit-activeml, modAL and BayBE.

    python comparison.py run --data DATA --results comparison.jsonl [--settings small middle large] [--seeds 0,1,2]
    python comparison.py page --results comparison.jsonl --page ../../docs/benchmark.md

A run takes a table, draws labelled rows, candidates and test rows from it, and lets one strategy pick batches. After each
batch, three models are trained on the labelled rows and judged on the test rows, whatever model the strategy used
itself: boosting (LightGBM), extra trees and a Gaussian process (scikit-learn). All strategies get the same numbers: categories
one-hot, all columns standardised. All of them and the judges run on one thread. `run` appends a line to the results for each run that is done: another call
does not repeat it, so stop and resume as you like. Packages that are not installed are left out.

The time of a batch is that of the processor, of this process and its children, for all that a strategy does between labels and
batch: its model is trained, and rows are picked. (BayBE's search space, which it builds once for a campaign, is not part of it.) `page` writes the tables into the page, between its comments.

DATA is as for learners.py. NEXTBATCH_BINARY names the program for a package that is not installed from a wheel.
"""

from __future__ import annotations

import os

for library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GOMAXPROCS"):
    os.environ[library] = "1"  # before any of them is loaded

import argparse  # noqa: E402
import importlib.metadata  # noqa: E402
import json  # noqa: E402
import re  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402
import zlib  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

from learners import by_extra_trees, by_gp, by_lightgbm, error, geometric, read_all  # noqa: E402


@dataclass
class Setting:
    """How many rows are labelled, candidates and tested, and how many are picked."""

    tables: list[str]
    labels: int
    candidates: int
    tests: int
    batch: int
    batches: int


SETTINGS = {
    "small": Setting(["airfoil", "concrete", "wine", "energy"], 32, 400, 200, 16, 2),
    "middle": Setting(["fried", "protein", "diamonds", "sgemm", "bike", "elevators"], 64, 4000, 2000, 64, 3),
    "large": Setting(["sgemm"], 256, 100_000, 5000, 256, 1),
}


# The strategies. Each takes the labelled inputs, their labels, the candidates (as its function prepare returns them), the
# size of the batch and a seed, and returns indices of candidates.


def by_random(x, y, pool, n, seed):
    return np.random.default_rng([seed, len(x)]).choice(len(pool), n, replace=False)


def by_nextbatch(**settings):
    def pick(x, y, pool, n, seed):
        import nextbatch

        return nextbatch.select(x, y, pool, n, seed=seed, threads=1, **settings).indices

    return pick


def by_bmdal(method, transforms, with_train):
    def pick(x, y, pool, n, seed):
        import torch

        np.Inf = np.inf  # which the package uses, and NumPy 2 does not have
        from bmdal_reg.bmdal.algorithms import select_batch
        from bmdal_reg.bmdal.feature_data import TensorFeatureData
        from bmdal_reg.nn_interface import NNRegressor

        torch.set_num_threads(1)
        network = NNRegressor(seed=seed, device="cpu")
        network.fit(x, y)
        network.model_.eval()
        rows = {name: TensorFeatureData(as_trained(network, part)) for name, part in (("train", x), ("pool", pool))}
        picks, _ = select_batch(n, [network.model_.get_single_model(0)], rows, torch.tensor(y, dtype=torch.float32), "grad", transforms, method,
                                sel_with_train=with_train, allow_float64=True, bait_sigma=1e-3, verbosity=0)  # fmt: skip
        return picks.numpy()

    return pick


def as_trained(network, x):
    """Return inputs as the network of bmdal_reg was trained on them."""
    import torch

    scaled = (torch.as_tensor(x, dtype=torch.float32) - network.means_) / (network.stds_ + 1e-30)
    return 5 * torch.tanh(0.2 * scaled)


def forest(seed):
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(100, random_state=seed, n_jobs=1)


def by_activeml(query):
    def pick(x, y, pool, n, seed):
        from skactiveml.regressor import SklearnRegressor

        rows, labels = np.concatenate([x, pool]), np.concatenate([y, np.full(len(pool), np.nan)])
        return query(rows, labels, n, seed, SklearnRegressor) - len(x)

    return pick


def greedy_inputs(rows, labels, n, seed, wrap):
    from skactiveml.pool import GreedySamplingX

    return GreedySamplingX(random_state=seed).query(rows, labels, batch_size=n)


def greedy_target(rows, labels, n, seed, wrap):
    from skactiveml.pool import GreedySamplingTarget

    return GreedySamplingTarget(random_state=seed).query(rows, labels, reg=wrap(forest(seed)), batch_size=n)


def tree_based(rows, labels, n, seed, wrap):
    from skactiveml.pool import RegressionTreeBasedAL
    from sklearn.tree import DecisionTreeRegressor

    tree = wrap(DecisionTreeRegressor(min_samples_leaf=5, random_state=seed))
    return RegressionTreeBasedAL(method="diversity", random_state=seed).query(rows, labels, reg=tree, batch_size=n)


def query_by_committee(rows, labels, n, seed, wrap):
    from skactiveml.pool import QueryByCommittee

    members = [wrap(forest(seed * 100 + member)) for member in range(5)]
    return QueryByCommittee(random_state=seed).query(rows, labels, ensemble=members, batch_size=n)


def by_modal_committee(x, y, pool, n, seed):
    from modAL.disagreement import max_std_sampling
    from modAL.models import ActiveLearner, CommitteeRegressor

    np.random.seed(seed)  # the members differ by their bootstrap samples, which modAL draws
    members = [ActiveLearner(forest(member), X_training=x, y_training=y, bootstrap_init=True) for member in range(5)]
    return CommitteeRegressor(members, query_strategy=max_std_sampling).query(pool, n_instances=n)[0]


def by_modal_process(x, y, pool, n, seed):
    from modAL.disagreement import max_std_sampling
    from modAL.models import ActiveLearner
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    process = GaussianProcessRegressor(RBF() + WhiteKernel(), normalize_y=True, random_state=seed)
    return ActiveLearner(process, query_strategy=max_std_sampling, X_training=x, y_training=y).query(pool, n_instances=n)[0]


def by_baybe(recommender):
    def pick(x, y, space, n, seed):
        import pandas as pd
        import torch
        from baybe.objectives import SingleTargetObjective
        from baybe.targets import NumericalTarget

        torch.set_num_threads(1)
        torch.manual_seed(seed)
        np.random.seed(seed)
        labelled = pd.DataFrame(x).add_prefix("x").assign(y=y)
        found = recommender().recommend(n, space, SingleTargetObjective(NumericalTarget("y")), labelled[[*space.parameter_names, "y"]])
        return found.index.to_numpy()[:n]  # a candidate that is in the table twice comes twice, and counts as one of n

    return pick


def search_space(pool):
    """Return the candidates as BayBE wants them: with a parameter for each column that has more than one value."""
    import pandas as pd
    from baybe.parameters import NumericalDiscreteParameter
    from baybe.searchspace import SearchSpace

    candidates = pd.DataFrame(pool).add_prefix("x")
    candidates = candidates.loc[:, candidates.nunique() > 1]
    parameters = [NumericalDiscreteParameter(name, sorted(set(values))) for name, values in candidates.items()]
    return SearchSpace.from_dataframe(candidates, parameters)


def integrated_variance():
    from baybe.acquisition import qNegIntegratedPosteriorVariance
    from baybe.recommenders import BotorchRecommender

    return BotorchRecommender(acquisition_function=qNegIntegratedPosteriorVariance())


def farthest_points():
    from baybe.recommenders import FPSRecommender

    return FPSRecommender()


SKETCH = ("rp", [512])
EVERYWHERE = ("small", "middle", "large")


@dataclass
class Strategy:
    package: str
    what: str
    pick: callable
    settings: tuple[str, ...] = EVERYWHERE
    prepare: callable = np.asarray


STRATEGIES = {
    "random": Strategy("numpy", "random rows", by_random),
    "nextbatch": Strategy("nextbatch", "default: a blend of learners, LCMD", by_nextbatch()),
    "nextbatch-bait": Strategy("nextbatch", "blend, BAIT", by_nextbatch(method="bait-f-p:grad>sketch(512)>train")),
    "nextbatch-network": Strategy("nextbatch", "network alone, LCMD", by_nextbatch(learner="network")),
    "bmdal-lcmd": Strategy("bmdal_reg", "network, LCMD", by_bmdal("lcmd", [SKETCH], True)),
    "bmdal-bait": Strategy("bmdal_reg", "network, BAIT", by_bmdal("bait", [SKETCH, ("train", [1e-3, None])], False)),
    "activeml-gsx": Strategy("scikit-activeml", "GreedySamplingX: the inputs alone", by_activeml(greedy_inputs)),
    "activeml-gsi": Strategy("scikit-activeml", "GreedySamplingTarget: inputs and predictions", by_activeml(greedy_target), ("small", "middle")),
    "activeml-tree": Strategy("scikit-activeml", "RegressionTreeBasedAL", by_activeml(tree_based)),
    "activeml-qbc": Strategy("scikit-activeml", "QueryByCommittee of five forests", by_activeml(query_by_committee)),
    "modal-committee": Strategy("modAL-python", "largest deviation of five forests", by_modal_committee),
    "modal-gp": Strategy("modAL-python", "largest deviation of a Gaussian process", by_modal_process),
    "baybe-nipv": Strategy("baybe", "integrated variance of a Gaussian process", by_baybe(integrated_variance), ("small",), search_space),
    "baybe-fps": Strategy("baybe", "FPSRecommender: the inputs alone", by_baybe(farthest_points), ("small",), search_space),
}

JUDGES = {"boosting": by_lightgbm, "extra trees": by_extra_trees, "Gaussian process": by_gp}


# The runs.


def encoded(data):
    """Return inputs and labels as numbers: categories one-hot, all columns standardised, constant ones dropped."""
    import pandas as pd

    x = pd.get_dummies(data.drop(columns="label"), dtype=float).to_numpy(float)
    x = x[:, x.std(axis=0) > 0]
    return (x - x.mean(axis=0)) / x.std(axis=0), data["label"].to_numpy(float)


def cpu_seconds():
    import psutil

    here = psutil.Process()
    times = [here.cpu_times(), *(child.cpu_times() for child in here.children(recursive=True))]
    return sum(time.user + time.system for time in times)


def judge(x, y, test, truth, seed):
    """Return the error of each judge."""
    import pandas as pd

    options = argparse.Namespace(threads=1)
    frame, new = pd.DataFrame(x).add_prefix("x"), pd.DataFrame(test).add_prefix("x")
    return {name: error(truth, by(frame, y, new, seed, options)) for name, by in JUDGES.items()}


def measure(setting, table, data, seed, strategy):
    """Let a strategy pick its batches; return the line of the results."""
    sizes = SETTINGS[setting]
    x, y = encoded(data)
    order = np.random.default_rng([seed, zlib.crc32(table.encode())]).permutation(len(x))
    labelled, pool, test = np.split(order[: sizes.labels + sizes.candidates + sizes.tests], np.cumsum([sizes.labels, sizes.candidates]))
    line = {"setting": setting, "table": table, "seed": seed, "strategy": strategy, "version": version(strategy), "labels": [], "cpu": [],
            "errors": {name: [] for name in JUDGES}}  # fmt: skip
    for _ in range(sizes.batches):
        candidates = STRATEGIES[strategy].prepare(x[pool])
        begin = cpu_seconds()
        picks = np.asarray(STRATEGIES[strategy].pick(x[labelled], y[labelled], candidates, sizes.batch, seed)).ravel()
        line["cpu"].append(round(cpu_seconds() - begin, 3))
        if len(set(picks.tolist())) != sizes.batch:
            raise ValueError(f"{len(set(picks.tolist()))} different rows instead of {sizes.batch}")
        labelled, pool = np.concatenate([labelled, pool[picks]]), np.delete(pool, picks)
        line["labels"].append(len(labelled))
        for name, value in judge(x[labelled], y[labelled], x[test], y[test], seed).items():
            line["errors"][name].append(round(value, 5))
    return line


def version(strategy):
    try:
        return importlib.metadata.version(STRATEGIES[strategy].package)
    except importlib.metadata.PackageNotFoundError:
        return "of this checkout" if strategy.startswith("nextbatch") else None


def warm_up(strategy):
    """Load what a strategy needs, so that its first time is not that of imports."""
    x = np.random.default_rng(0).normal(size=(60, 3))
    STRATEGIES[strategy].pick(x[:30], x[:30, 0], STRATEGIES[strategy].prepare(x[30:]), 2, 0)


def read_results(options):
    return [json.loads(line) for line in options.results.read_text().splitlines()] if options.results.exists() else []


def ready(strategy):
    try:
        warm_up(strategy)
    except ImportError as problem:
        print(f"{strategy} is left out: {problem}", file=sys.stderr)
        return False
    return True


def wanted_runs(options):
    """Return setting, seed, table and strategy of each run: the first seed of all first."""
    return [(setting, seed, table, strategy)
            for seed in options.seeds for setting in options.settings for table in SETTINGS[setting].tables for strategy in options.strategies
            if setting in STRATEGIES[strategy].settings]  # fmt: skip


def run(options):
    done = {(line["setting"], line["seed"], line["table"], line["strategy"]) for line in read_results(options)}
    options.strategies = [strategy for strategy in options.strategies if ready(strategy)]
    data = dict(read_all(options.data))
    for setting, seed, table, strategy in wanted_runs(options):
        if (setting, seed, table, strategy) in done:
            continue
        line = measure(setting, table, data[table], seed, strategy)
        with open(options.results, "a") as out:
            out.write(json.dumps(line) + "\n")
        last = {name: errors[-1] for name, errors in line["errors"].items()}
        print(f"{setting} {table} {seed} {strategy}: {line['cpu']} CPU seconds, {last}", flush=True)


# The page.


def comparable(lines):
    """Return the runs on rows for which every strategy of the setting has a run, so that none is judged by easier tables."""
    done = {}
    for line in lines:
        done.setdefault(line["setting"], {}).setdefault((line["table"], line["seed"]), set()).add(line["strategy"])
    most = {setting: set().union(*rows.values()) for setting, rows in done.items()}
    return [line for line in lines if done[line["setting"]][line["table"], line["seed"]] == most[line["setting"]]]


def ratios(lines, setting, strategy, judge):
    """Return the ratios of a strategy's errors to those of random rows: one for each table, over its seeds and batches."""
    runs = {(line["table"], line["seed"], line["strategy"]): line["errors"][judge] for line in lines if line["setting"] == setting}
    tables = {}
    for (table, seed, name), errors in runs.items():
        random = runs.get((table, seed, "random"))
        if name == strategy and random:
            tables.setdefault(table, []).extend(np.divide(errors, random))
    return {table: geometric(values) for table, values in tables.items()}


def percent(ratio):
    return f"{100 * (ratio - 1):+.1f} %".replace("-", "−")


def seconds(value):
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def strategy_row(lines, setting, name):
    strategy, runs = STRATEGIES[name], [line for line in lines if line["setting"] == setting and line["strategy"] == name]
    if not runs:
        return None
    by_judge = {judge: ratios(lines, setting, name, judge) for judge in JUDGES}
    means = [geometric(list(by_judge[judge].values())) for judge in JUDGES]
    every = [ratio for tables in by_judge.values() for ratio in tables.values()]
    worse = f"{sum(ratio < 1 for ratio in every)} of {len(every)}" if name != "random" else "–"
    package = "–" if strategy.package == "numpy" else strategy.package
    time = seconds(float(np.median([value for line in runs for value in line["cpu"]])))
    return [package, strategy.what, *(map(percent, means) if name != "random" else ["0"] * 3), worse, str(len(runs)), time], geometric(means)


def setting_table(lines, setting):
    """Return the table of a setting, the lowest mean error first."""
    found = [row for row in (strategy_row(lines, setting, name) for name in STRATEGIES) if row]
    head = ["package", "strategy", *JUDGES, "better than random", "runs", "CPU seconds per batch"]
    return markdown(head, [cells for cells, _ in sorted(found, key=lambda row: row[1])])


def table_rows(lines, setting):
    """Return the ratios of each table, over the judges."""
    tables, rows = measured_tables(lines, setting), []
    for name, strategy in STRATEGIES.items():
        by_judge = [ratios(lines, setting, name, judge) for judge in JUDGES]
        if name != "random" and by_judge[0]:
            means = [geometric([found[table] for found in by_judge]) if table in by_judge[0] else None for table in tables]
            rows.append([strategy.package, strategy.what, *("–" if mean is None else percent(mean) for mean in means)])
    return markdown(["package", "strategy", *tables], rows)


def measured_tables(lines, setting):
    return [table for table in SETTINGS[setting].tables if any(line["table"] == table and line["setting"] == setting for line in lines)]


def sizes_text(lines, setting):
    sizes, seeds = SETTINGS[setting], {line["seed"] for line in lines if line["setting"] == setting}
    return (f"Tables: {', '.join(measured_tables(lines, setting))}. Seeds of the rows: {len(seeds)}. {sizes.labels:,} labelled rows, {sizes.candidates:,} candidates, "
            f"{sizes.tests:,} test rows; batches: {sizes.batches} of {sizes.batch}.")  # fmt: skip


def versions(lines):
    found = {STRATEGIES[line["strategy"]].package: line["version"] for line in lines if line["strategy"] != "random"}
    return ", ".join(f"{package} {version}" for package, version in found.items()) + "."


def markdown(head, rows):
    table = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in table)


def page(options):
    """Write what the results say between the comments of the page."""
    lines = comparable(read_results(options))
    parts = {"versions": versions(lines)}
    for setting in {line["setting"] for line in lines}:
        parts |= {f"{setting} sizes": sizes_text(lines, setting), setting: setting_table(lines, setting), f"{setting} tables": table_rows(lines, setting)}
    text = options.page.read_text()
    for name, part in parts.items():
        text = re.sub(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", lambda found: found[1] + part + found[2], text, flags=re.DOTALL)
    options.page.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for name, command in (("run", run), ("page", page)):
        sub = commands.add_parser(name)
        sub.set_defaults(command=command)
        sub.add_argument("--results", type=Path, default=Path("comparison.jsonl"), help="file with the runs so far")
        if command is page:
            sub.add_argument("--page", type=Path, required=True, help="the page whose tables are written")
            continue
        sub.add_argument("--data", type=Path, required=True, help="folder with the tables")
        sub.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
        sub.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=list(STRATEGIES))
        sub.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0, 1, 2])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.command(options)


if __name__ == "__main__":
    main()
