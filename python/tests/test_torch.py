"""Features of PyTorch modules are those of the kernels that nextbatch computes itself."""

from __future__ import annotations

import json
import struct
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

torch.set_num_threads(1)  # threads cost more than these sizes need

import nextbatch  # noqa: E402
from nextbatch import _binary  # noqa: E402
from nextbatch.torch import features  # noqa: E402


class NeuralTangentLayer(nn.Module):
    """z = σ_w/√d·W·x + σ_b·b."""

    def __init__(self, weight, bias, sigma_w, sigma_b):
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)
        self.sigma_w, self.sigma_b = sigma_w, sigma_b

    def forward(self, x):
        return self.sigma_w / x.shape[1] ** 0.5 * x @ self.weight + self.sigma_b * self.bias


class Scale(nn.Module):
    """5·tanh((x − mean)/(5·deviation))."""

    def __init__(self, mean, deviation):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("deviation", deviation)

    def forward(self, x):
        return 5 * torch.tanh((x - self.mean) / (5 * self.deviation))


def own_network(path):
    """The network of a file, as a module."""
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    metadata = header.pop("__metadata__")
    about, columns = json.loads(metadata["architecture"]), json.loads(metadata["columns"])
    tensors = {}
    for name, tensor in header.items():
        start, end = tensor["data_offsets"]
        kind = {"F32": np.float32, "F64": np.float64}[tensor["dtype"]]
        values = np.frombuffer(raw[8 + length + start : 8 + length + end], kind).reshape(tensor["shape"])
        tensors[name] = torch.tensor(values.astype(np.float64))
    centres = torch.tensor(columns["Centres"], dtype=torch.float64)  # subtracted before anything is rounded
    layers = [Scale(centres + tensors["inputs.mean"], tensors["inputs.deviation"])]
    for i in range(len(about["hidden"]) + 1):
        if i > 0:
            layers.append(nn.ReLU())
        parts = (tensors[f"members.0.layers.{i}.{part}"] for part in ("weight", "bias"))
        layers.append(NeuralTangentLayer(*parts, about["sigma_w"], about["sigma_b"]))
    return nn.Sequential(*layers)


@pytest.mark.parametrize("kernel", ["ll", "grad"])
def test_kernels_are_those_of_our_own_network(rng, tmp_path, kernel):
    rows = rng.normal(size=(50, 3))
    y = np.where(np.arange(50) < 30, rows[:, 0] * rows[:, 1], np.nan)
    text = "\n".join(["a,b,c,y", *(",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in np.column_stack([rows, y]))])
    (tmp_path / "t.csv").write_text(text + "\n")

    def run(*arguments):
        subprocess.run([_binary.path(), *arguments], check=True, cwd=tmp_path, capture_output=True)

    run("fit", "t.csv", "--target", "y", "--out", "net.safetensors", "--hidden", "24,16", "--epochs", "20", "--folds", "0", "--learner", "network")
    run("gram", "t.csv", "--target", "y", "--model", "net.safetensors", "--method", f"maxdet-p:{kernel}", "--out", "k.npy")
    want = np.load(tmp_path / "k.npy")
    f = features(own_network(tmp_path / "net.safetensors"), rows[30:], "gradient" if kernel == "grad" else "ll", None)
    np.testing.assert_allclose(f @ f.T, want, rtol=0, atol=2e-6 * np.abs(want).max())


def test_gradient_is_grad_of_the_paper_s_parametrization(rng, tmp_path):
    """The command line takes a network from elsewhere as one in the paper's parametrization: the gradient of that one is its grad."""
    torch.manual_seed(4)
    plain = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
    (tmp_path / "net.safetensors").write_bytes(safetensors_of(plain.state_dict()))
    layers = [{"op": "Linear", "name": "0"}, {"op": "ReLU"}, {"op": "Linear", "name": "2"}]
    (tmp_path / "net.json").write_text(json.dumps({"weights": "net.safetensors", "inputs": 3, "layers": layers}))
    rows = rng.normal(size=(12, 3)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    subprocess.run(
        [_binary.path(), "gram", "--pool", "rows.npy", "--model", "net.json", "--method", "maxdet-p:grad", "--out", "k.npy"],
        check=True, cwd=tmp_path, capture_output=True,
    )  # fmt: skip
    want, sigma = np.load(tmp_path / "k.npy"), 0.2
    paper = [
        NeuralTangentLayer(one.weight.detach().T * one.in_features**0.5 / sigma, one.bias.detach() / sigma, sigma, sigma) if isinstance(one, nn.Linear) else one
        for one in plain
    ]
    np.testing.assert_allclose(nn.Sequential(*paper)(torch.tensor(rows)).detach(), plain(torch.tensor(rows)).detach(), rtol=1e-4, atol=1e-5)
    same, other = (kernel_of(features(net, rows, "gradient", None)) for net in (nn.Sequential(*paper), plain))
    np.testing.assert_allclose(same, want, rtol=0, atol=1e-5 * np.abs(want).max())
    assert np.abs(other / other.max() - want / want.max()).max() > 0.01, "it says nothing"


def safetensors_of(tensors):
    """The bytes of a safetensors file."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = tensor.detach().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def mlp(dtype=torch.float64):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 12), nn.SiLU(), nn.Linear(12, 7, bias=False), nn.Tanh(), nn.Linear(7, 1)).to(dtype)


def by_hand(model, rows, parameters):
    """Gradients, row by row."""
    return torch.stack([torch.cat([g.flatten() for g in torch.autograd.grad(model(row[None]).sum(), parameters)]) for row in rows])


def kernel_of(f):
    return np.asarray(f) @ np.asarray(f).T


def test_gradients_are_those_by_hand():
    model, rows = mlp(), torch.randn(9, 5, dtype=torch.float64)
    for kernel, parameters in (("gradient", list(model.parameters())), ("ll", list(model[-1].parameters()))):
        want = by_hand(model, rows, parameters)
        got = features(model, rows, kernel, None, block=4)
        assert got.shape == tuple(want.shape)
        np.testing.assert_allclose(kernel_of(got), kernel_of(want), rtol=1e-10)


class Mixed(nn.Module):
    """A module with more than linear layers: a shared layer, a convolution, parameters of its own."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv1d(1, 3, 3, padding=1)
        self.norm = nn.BatchNorm1d(3)
        self.shared = nn.Linear(5, 5)
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.last = nn.Linear(5, 1)

    def forward(self, x):
        x = self.norm(self.convolution(x[:, None])).mean(1)
        x = self.shared(torch.relu(self.shared(x))) * self.scale
        return self.last(x)[:, 0]


def test_modules_of_every_kind():
    torch.manual_seed(1)
    model, rows = Mixed().double(), torch.randn(9, 5, dtype=torch.float64)
    model.train()
    got = features(model, rows, "gradient", None, block=4)
    assert model.training and all(p.grad is None for p in model.parameters())
    model.eval()
    np.testing.assert_allclose(kernel_of(got), kernel_of(by_hand(model, rows, list(model.parameters()))), rtol=1e-9)
    last = by_hand(model, rows, list(model.last.parameters()))
    np.testing.assert_allclose(kernel_of(features(model, rows, "ll", None)), kernel_of(last), rtol=1e-9)


def test_a_sketch_estimates_the_kernel():
    for model in (mlp(), Mixed().double().eval()):
        rows = torch.randn(12, 5, dtype=torch.float64)
        exact = kernel_of(features(model, rows, "gradient", None))
        sketches = [kernel_of(features(model, rows, "gradient", 32, seed=seed)) for seed in range(16)]
        assert features(model, rows, "gradient", 32).shape == (12, 32)
        errors = [np.abs(k - exact).max() / np.abs(exact).max() for k in (np.mean(sketches, 0), sketches[0])]
        assert errors[0] < 0.4 and 0 < errors[0] < errors[1]
        np.testing.assert_array_equal(features(model, rows, "gradient", 32, seed=3), features(model, rows, "gradient", 32, seed=3))
        np.testing.assert_allclose(features(model, rows, "gradient", 32)[:7], features(model, rows[:7], "gradient", 32), atol=1e-9)


def test_narrow_features_stay_as_they_are():
    model, rows = mlp(torch.float32), torch.randn(9, 5)
    f = features(model, rows, "ll")
    np.testing.assert_allclose(f[:, -1], 1)
    assert f.shape == (9, 8) and f.dtype == np.float32
    with torch.no_grad():
        np.testing.assert_allclose(f[:, :-1], model[:-1](rows).numpy(), rtol=1e-6)


def test_bad_input():
    with pytest.raises(nextbatch.RequestError, match="not 'grad', which the command line has for networks in the paper's parametrization"):
        features(mlp(), torch.randn(9, 5), "grad")
    with pytest.raises(nextbatch.RequestError, match="not 'ntk'"):
        features(mlp(), torch.randn(9, 5), "ntk")
    with pytest.raises(nextbatch.RequestError, match="not one number per row"):
        features(nn.Linear(5, 2), torch.randn(9, 5))
    with pytest.raises(nextbatch.RequestError, match="no parameters"):
        features(nn.ReLU(), torch.randn(9, 5))
    with pytest.raises(nextbatch.RequestError, match="sketch must be"):
        features(mlp(), torch.randn(9, 5), sketch=0)


def test_modules_that_return_no_tensor():
    class Pair(torch.nn.Linear):
        def forward(self, rows):
            return super().forward(rows), rows

    with pytest.raises(nextbatch.RequestError, match="the module returns a tuple"):
        nextbatch.torch.features(Pair(3, 1), torch.randn(5, 3))
