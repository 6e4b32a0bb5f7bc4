"""The interfaces of other packages, and results of the benchmark."""

from __future__ import annotations

import sqlite3
import subprocess

import numpy as np
import pytest
from conftest import QUICK

import nextbatch
from nextbatch import _binary


def test_compat_equals_the_paper():
    torch = pytest.importorskip("torch")
    from nextbatch.compat import TensorFeatureData, select_batch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    data = {"train": TensorFeatureData(torch.randn(20, 4)), "pool": TensorFeatureData(torch.randn(150, 4))}
    f = {key: nextbatch.torch.features(model, rows.data, "ll", None) for key, rows in data.items()}
    for transforms, method, config, spec in [
        ([], "lcmd", {}, "lcmd-tp:features"),
        ([("train", [0.001, None])], "bait", {"bait_sigma": 0.001}, "bait-f-p:features>scale>post@compat"),
        ([("train", [0.01])], "maxdet", {"maxdet_sigma": 0.01}, "maxdet-p:features>post@sigma2(1e-4)"),
        ([("scale", [])], "maxdist", {"sel_with_train": False}, "maxdist-p:features>scale"),
        ([], "random", {"seed": 3}, "random"),
    ]:
        rows, results = select_batch(batch_size=9, models=[model], data=data, y_train=None, base_kernel="ll",
                                     kernel_transforms=transforms, selection_method=method, verbosity=0, **config)  # fmt: skip
        want = nextbatch.select_features(f["train"], f["pool"], 9, spec, seed=config.get("seed", 0))
        assert rows.tolist() == want.indices.tolist(), spec
        assert results["selection_status"] is None and results["selection_time"]["total"] >= 0


def test_compat_sketches_and_ensembles():
    torch = pytest.importorskip("torch")
    from nextbatch.compat import select_batch

    models = [torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)) for _ in range(2)]
    data = {"train": torch.randn(20, 4), "pool": torch.randn(150, 4)}
    for transforms in ([("rp", [32])], [("rp", [32]), ("ens", [])], [("ens", []), ("rp", [32]), ("train", [0.001, None])],
                       [("rp", [32]), ("acs-rf", [16, 0.001, None])], [("rp", [32]), ("acs-grad", [0.001, None])]):  # fmt: skip
        rows, _ = select_batch(5, models, data, None, "grad", transforms, "maxdet", maxdet_sigma=0.001)
        assert len(set(rows.tolist())) == 5
    for arguments, message in [
        (("ntk", [], "lcmd"), "base_kernel 'ntk'"),
        (("ll", [("pool", [1.0])], "lcmd"), "transformation 'pool'"),
        (("ll", [], "rmds"), "selection_method 'rmds'"),
        (("ll", [("train", [0.1]), ("ens", [])], "lcmd"), "ens has to come first"),
        (("ll", [("train", [0.1]), ("acs-grad", [0.2])], "lcmd"), "one noise variance"),
    ]:
        with pytest.raises(nextbatch.RequestError, match=message):
            select_batch(5, models, data, None, *arguments)


@pytest.mark.filterwarnings("ignore")
def test_compat_equals_the_published_package(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(np, "Inf", np.inf, raising=False)  # which it uses, and NumPy 2 does not have
    published = pytest.importorskip("bmdal_reg.bmdal.algorithms")
    from bmdal_reg.bmdal.feature_data import TensorFeatureData

    from nextbatch.compat import select_batch

    torch.manual_seed(0)
    data = {"train": TensorFeatureData(torch.randn(30, 6).double()), "pool": TensorFeatureData(torch.randn(400, 6).double())}
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).double()
    for kernel in ("ll", "linear"):
        for transforms, method in [([], "lcmd"), ([], "maxdist"), ([("train", [0.1, None])], "maxdet"), ([("train", [0.1, None])], "bait")]:
            settings = dict(batch_size=20, models=[model], y_train=None, base_kernel=kernel, kernel_transforms=transforms,
                            selection_method=method, maxdet_sigma=0.1, bait_sigma=0.1, allow_float64=True, verbosity=0)  # fmt: skip
            want, _ = published.select_batch(data=dict(data), **settings)
            got, _ = select_batch(data=data, **settings)
            assert got.tolist() == want.tolist(), (kernel, method)


#: Classes of the published package, with their settings.
CLASSES = [
    ("LargestClusterMaxDistSelectionMethod", {}),
    ("LargestClusterMaxDistSelectionMethod", {"sel_with_train": False}),
    ("MaxDistSelectionMethod", {}),
    ("MaxDistSelectionMethod", {"sel_with_train": False}),
    ("MaxDetSelectionMethod", {"noise_sigma": 0.1}),
    ("MaxDetSelectionMethod", {"noise_sigma": 0.1, "sel_with_train": True}),
    ("MaxDetFeatureSpaceSelectionMethod", {"noise_sigma": 0.1}),
    ("BaitFeatureSpaceSelectionMethod", {"noise_sigma": 0.1}),
    ("BaitFeatureSpaceSelectionMethod", {"noise_sigma": 0.1, "sel_with_train": True}),
    ("BaitFeatureSpaceSelectionMethod", {"noise_sigma": 0.1, "overselection_factor": 2.0}),
    ("FrankWolfeSelectionMethod", {}),
    ("FrankWolfeSelectionMethod", {"sel_with_train": True}),
    ("MaxDiagSelectionMethod", {}),
]


@pytest.fixture
def published(monkeypatch):
    """The modules of the published package with features and with selection methods."""
    pytest.importorskip("torch")
    monkeypatch.setattr(np, "Inf", np.inf, raising=False)  # which it uses, and NumPy 2 does not have
    return pytest.importorskip("bmdal_reg.bmdal.feature_data"), pytest.importorskip("bmdal_reg.bmdal.selection")


def features_of_both(published, seed):
    """Return features of a pool and of labelled rows, by the published package and by ours."""
    import torch

    from nextbatch import compat

    data, selection = published
    random = torch.Generator().manual_seed(seed)
    pool, train = (torch.randn(n, 6, generator=random, dtype=torch.float64) for n in (300, 30))
    theirs = [selection.Features(selection.IdentityFeatureMap(6), data.TensorFeatureData(rows)) for rows in (pool, train)]
    return theirs, [compat.Features(compat.IdentityFeatureMap(6), compat.TensorFeatureData(rows)) for rows in (pool, train)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "settings"), CLASSES, ids=[f"{name} {settings}" for name, settings in CLASSES])
def test_classes_equal_those_of_the_published_package(published, name, settings):
    from nextbatch import compat

    for seed in range(6):
        theirs, own = features_of_both(published, seed)
        of = slice(1) if "Diag" in name else slice(2)  # which takes no labelled rows
        want = getattr(published[1], name)(*theirs[of], verbosity=0, **settings).select(15)
        method = getattr(compat, name)(*own[of], verbosity=0, **settings)
        assert method.select(15).tolist() == want.tolist() and method.get_status() is None


@pytest.mark.filterwarnings("ignore")
def test_draws_are_as_good_as_those_of_the_published_package(published):
    from nextbatch import compat

    for name in ("KmeansppSelectionMethod", "RandomSelectionMethod"):
        spread = np.zeros(2)
        for seed in range(20):
            for k, (module, (pool, train)) in enumerate(zip((published[1], compat), features_of_both(published, seed), strict=True)):
                arguments = (pool,) if name.startswith("Random") else (pool, train)
                rows = getattr(module, name)(*arguments, verbosity=0).select(15)
                assert len(set(rows.tolist())) == 15
                spread[k] += pool.get_sq_dists(pool[rows].concat_with(train)).min(dim=1).values.mean().item()
        assert abs(spread[1] / spread[0] - 1) < 0.1, (name, spread)


@pytest.mark.filterwarnings("ignore")
def test_transformations_equal_those_of_the_published_package(published):
    for transformation in (("scale_tfm", {}), ("scale_tfm", {"factor": 0.3}), ("posterior_tfm", {}), ("posterior_tfm", {"sigma": 0.2})):
        kernels = []
        for pool, train in features_of_both(published, 7):
            tfm = getattr(train, transformation[0])(**transformation[1])
            kernels.append(tfm(pool).get_kernel_matrix(tfm(train)).numpy())
        np.testing.assert_allclose(kernels[1], kernels[0], atol=1e-10)
    (pool, train), (own_pool, own_train) = features_of_both(published, 8)
    np.testing.assert_allclose(own_pool[-1].get_sq_dists(own_train), pool[-1:].get_sq_dists(train), atol=1e-10)
    assert len(own_pool[3:7]) == 4 and own_pool.get_n_features() == 6 and own_pool.sketch_tfm(3)(own_train).get_n_features() == 3


def test_settings_that_the_classes_do_not_have():
    torch = pytest.importorskip("torch")
    from nextbatch import compat

    pool = compat.Features(compat.IdentityFeatureMap(2), torch.eye(2))
    for method, settings, message in [
        (compat.LargestClusterMaxDistSelectionMethod, {"dist_weight_mode": "dist"}, "dist_weight_mode 'dist'"),
        (compat.BaitFeatureSpaceSelectionMethod, {"overselection_factor": 1.5}, "overselection_factor is 1 or 2"),
    ]:
        with pytest.raises(nextbatch.RequestError, match=message):
            method(pool, pool, **settings).select(1)


def test_query_strategy_in_a_loop_of_any_strategies(rng):
    pytest.importorskip("skactiveml")
    from skactiveml.pool import GreedySamplingTarget
    from skactiveml.regressor import SklearnRegressor
    from sklearn.linear_model import Ridge

    X = rng.normal(size=(40, 2))
    y = np.where(np.arange(40) < 10, X[:, 0], np.nan)
    for strategy in (GreedySamplingTarget(random_state=0), nextbatch.QueryStrategy(random_state=0, **QUICK), nextbatch.QueryStrategy(seed=3, **QUICK)):
        assert len(strategy.query(X, y, reg=SklearnRegressor(Ridge()), fit_reg=True, batch_size=2)) == 2


def test_query_strategy(rng):
    pytest.importorskip("skactiveml")
    from skactiveml.pool import RandomSampling

    X = rng.normal(size=(80, 3))
    y = np.where(np.arange(80) % 4 == 0, X[:, 0], np.nan)
    strategy = nextbatch.QueryStrategy(random_state=0, **QUICK)
    picks = strategy.query(X, y, batch_size=5)
    assert picks.shape == RandomSampling(random_state=0).query(X, y, batch_size=5).shape
    assert np.isnan(y[picks]).all() and len(set(picks)) == 5
    candidates = np.arange(1, 80, 4)
    chosen, utilities = strategy.query(X, y, candidates=candidates, batch_size=3, return_utilities=True)
    assert set(chosen) <= set(candidates) and utilities.shape == (3, 80)
    np.testing.assert_array_equal(np.nanargmax(utilities, 1), chosen)
    rows, utilities = strategy.query(X, y, candidates=X[1:20], batch_size=3, return_utilities=True)
    assert rows.max() < 19 and utilities.shape == (3, 19)
    from sklearn.base import clone

    assert clone(strategy).get_params()["epochs"] == 3
    everything = y.copy()
    for _ in range(3):  # the loop of their tutorial
        picked = strategy.query(X, everything, batch_size=10)
        everything[picked] = X[picked, 0]
    assert np.isnan(everything).sum() == 30


def test_results_of_the_benchmark(tmp_path, root):
    pytest.importorskip("pandas")
    table = "a,b,y\n" + "".join(f"{np.sin(i)},{np.cos(i * i)},{np.sin(i) * np.cos(i * i)}\n" for i in range(400))
    (tmp_path / "own.csv").write_text(table)
    done = subprocess.run([_binary.path(), "bench", "run", "--table", "own.csv", "--target", "y", "--specs", "random", "--splits", "0-1", "--rounds", "2", "--batch", "16",
                           "--start", "32", "--valid", "64", "--epochs", "2", "--hidden", "8", "--results", "own.db"], cwd=tmp_path, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    frame = nextbatch.read_results(tmp_path / "own.db")
    assert set(frame["split"]) == {0, 1} and set(frame["method"]) == {"random"} and (frame["rmse"] > 0).all()
    assert frame["labels"].diff().max() == 16 and list(frame)[-1] == "threads"
    with pytest.raises(nextbatch.DataError, match="does not exist"):
        nextbatch.read_results(tmp_path / "none.db")
    with pytest.raises(nextbatch.DataError, match="not a results file|cannot be read"):
        nextbatch.read_results(tmp_path / "own.csv")


def test_results_of_several_targets(tmp_path):
    pytest.importorskip("pandas")
    table = "a,b,y,z\n" + "".join(f"{np.sin(i)},{np.cos(i * i)},{np.sin(i) * np.cos(i * i)},{i % 7}\n" for i in range(200))
    (tmp_path / "own.csv").write_text(table)
    done = subprocess.run([_binary.path(), "bench", "run", "--table", "own.csv", "--target", "y,z", "--specs", "random", "--splits", "0", "--rounds", "1", "--batch", "8",
                           "--start", "32", "--valid", "16", "--epochs", "2", "--hidden", "8", "--results", "own.db"], cwd=tmp_path, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    frame = nextbatch.read_results(tmp_path / "own.db")
    both = (frame["rmse_y"] ** 2 + frame["rmse_z"] ** 2) / 2
    np.testing.assert_allclose(both**0.5, frame["rmse"], rtol=1e-6)
    assert (np.maximum(frame["maxe_y"], frame["maxe_z"]) == frame["maxe"]).all() and "run" not in frame
    connection = sqlite3.connect(tmp_path / "own.db")  # as the file was before there were errors of targets
    connection.executescript("DROP TABLE targets; PRAGMA user_version = 1")
    connection.close()
    before = nextbatch.read_results(tmp_path / "own.db")
    assert before.equals(frame[list(before)]) and list(before)[-1] == "threads"


def test_missing_packages_are_named():
    with pytest.raises(AttributeError, match="no attribute 'pick'"):
        nextbatch.pick
