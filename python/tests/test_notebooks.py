"""What the two notebooks of the published package do, on small data, with its imports changed to ours."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from nextbatch.compat import Features, IdentityFeatureMap, MaxDistSelectionMethod, TensorFeatureData, select_batch  # noqa: E402

torch.set_num_threads(1)


def spiral(n):
    """Rows on a spiral, with labels that grow to one side."""
    torch.manual_seed(1234)
    x = torch.randn(n, 3)
    theta = 3 * (x[:, 1] + 0.1 * x[:, 0])
    x = (0.2 * x[:, 2] + x[:, 1] + 2)[:, None] * torch.stack([torch.sin(theta), torch.cos(theta)], dim=1)
    return x, torch.exp(x[:, 0])[:, None]


def test_batches_for_a_custom_network():
    x, y = spiral(400)
    x_train, y_train, x_pool = x[:50], y[:50], x[50:]
    model = torch.nn.Sequential(torch.nn.Linear(2, 20), torch.nn.SiLU(), torch.nn.Linear(20, 20), torch.nn.SiLU(), torch.nn.Linear(20, 1))
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-2)
    for _ in range(30):
        ((model(x_train) - y_train) ** 2).mean().backward()
        optimiser.step()
        optimiser.zero_grad()
    rows, info = select_batch(
        batch_size=20, models=[model], data={"train": TensorFeatureData(x_train), "pool": TensorFeatureData(x_pool)}, y_train=y_train,
        selection_method="lcmd", sel_with_train=True, base_kernel="grad", kernel_transforms=[("rp", [64])],
    )  # fmt: skip
    assert rows.dtype == torch.int64 and len(set(rows.tolist())) == 20 and x_pool[rows, 0].numpy().shape == (20,)
    assert info["selection_status"] is None and info["kernel_time"]["total"] >= 0 and info["selection_time"]["process"] >= 0


@pytest.mark.filterwarnings("ignore")
def test_batches_by_subscripts_for_a_network_of_the_published_package(monkeypatch):
    monkeypatch.setattr(np, "Inf", np.inf, raising=False)  # which it uses, and NumPy 2 does not have
    models = pytest.importorskip("bmdal_reg.models")
    x, y = spiral(300)
    train_idxs, pool_idxs = torch.arange(40), torch.arange(40, 300)
    model = models.create_tabular_model(n_models=1, n_features=2, hidden_sizes=[16, 16]).get_single_model(0)
    data = TensorFeatureData(x)
    rows, _ = select_batch(
        batch_size=12, models=[model], data={"train": data[train_idxs], "pool": data[pool_idxs]}, y_train=y[train_idxs],
        selection_method="lcmd", sel_with_train=True, base_kernel="grad", kernel_transforms=[],
    )  # fmt: skip
    want, _ = pytest.importorskip("bmdal_reg.bmdal.algorithms").select_batch(
        batch_size=12, models=[model], y_train=y[train_idxs], selection_method="lcmd", sel_with_train=True, base_kernel="grad", kernel_transforms=[],
        data={k: pytest.importorskip("bmdal_reg.bmdal.feature_data").TensorFeatureData(x[i]) for k, i in (("train", train_idxs), ("pool", pool_idxs))},
    )  # fmt: skip
    assert rows.tolist() == want.tolist()
    taken = torch.zeros(pool_idxs.shape[-1], dtype=torch.bool)
    taken[rows] = True
    assert len(torch.cat([train_idxs, pool_idxs[taken]])) == 52 and len(pool_idxs[~taken]) == 248


def test_feature_data():
    data = TensorFeatureData(torch.arange(10)[:, None])
    assert data[2].get_tensor().tolist() == [[2]] and data[-1].get_tensor().tolist() == data.get_tensor(-1).tolist() == [[9]]
    assert data[1:3].get_tensor().tolist() == [[1], [2]] and data[torch.as_tensor([1, 2, 3])].get_tensor().tolist() == [[1], [2], [3]]
    assert data[2:8][1:3].get_tensor().tolist() == [[3], [4]] and data.simplify().batched(3).get_tensor(slice(0, 2)).tolist() == [[0], [1]]
    with pytest.raises(ValueError, match="step"):
        data[::-1]
    assert (len(data), data.n_samples, data.get_n_samples(), data.device, data.get_device()) == (10, 10, 10, "cpu", "cpu")
    assert (data.dtype, data.get_dtype(), data.cast_to(torch.float64).dtype, data.to("cpu").dtype) == (torch.int64, torch.int64, torch.float64, torch.int64)


def test_features_and_transformations():
    torch.manual_seed(0)
    train_data, pool_data, features = TensorFeatureData(torch.randn(30, 64)), TensorFeatureData(torch.randn(80, 64)), IdentityFeatureMap(n_features=64)
    train, pool = Features(features, train_data), Features(features, pool_data)
    both = train.concat_with(pool)
    assert train.feature_map is features and train.feature_data is train_data
    assert [tuple(m.shape) for m in (train.get_kernel_matrix(train), train.get_kernel_matrix_diag(), train.get_feature_matrix(), train.get_sq_dists(train))] == [
        (30, 30), (30,), (30, 64), (30, 30),
    ]  # fmt: skip
    assert pool[0].get_kernel_matrix(both).shape == (1, 110)
    assert both.batched(16).get_kernel_matrix(both.batched(16)).shape == (110, 110)
    assert torch.all(both.feature_data.get_tensor() == both.batched(16).feature_data.get_tensor())
    assert (both.get_n_features(), len(both), both.get_device()) == (64, 110, "cpu")
    sketch = train.sketch_tfm(n_features=32)
    sketched, of_pool = sketch(train), sketch(pool)
    assert (sketched.get_n_features(), sketched.feature_map.tfms, sketched.feature_map.feature_map.get_n_features()) == (32, [features], 32)
    assert sketched.feature_data is train_data
    computed, computed_pool = (f.batched(16).precompute().simplify() for f in (sketched, of_pool))
    assert isinstance(computed.feature_map, IdentityFeatureMap) and computed.feature_data.get_tensor().shape == (30, 32)
    torch.testing.assert_close(sketched[:3].get_kernel_matrix(sketched[:3]), computed[:3].get_kernel_matrix(computed[:3]))
    torch.testing.assert_close(sketched[:3].get_sq_dists(sketched[:3]).diagonal(), torch.zeros(3), atol=1e-3, rtol=0)
    torch.testing.assert_close(sketched.feature_map.get_feature_matrix(pool_data), computed_pool.get_feature_matrix())
    rows = MaxDistSelectionMethod(pool_features=pool, train_features=train, sel_with_train=True).select(5)
    assert len(set(rows.tolist())) == 5
