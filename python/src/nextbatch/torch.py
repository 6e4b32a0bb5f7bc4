"""The paper's kernels of PyTorch modules, as features for `nextbatch.select_features`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

try:
    import torch
    from torch import nn
    from torch.func import functional_call, grad, vmap
except ImportError as error:
    raise ImportError("nextbatch.torch needs PyTorch 2.0 or newer: pip install torch") from error

from ._errors import RequestError
from ._tables import dense

__all__ = ["features"]

#: What features are gradients with respect to.
Kernel = Literal["ll", "gradient"]

_ADVICE = {"grad": ", which the command line has for networks in the paper's parametrization; 'gradient' takes the parameters as they are"}
_CACHED = 1 << 26  # numbers of random matrices that are kept from one block of rows to the next


def features(
    model: Any,
    rows: Any,
    kernel: Kernel = "ll",
    sketch: int | None = 512,
    *,
    seed: int = 0,
    block: int = 1024,
) -> npt.NDArray[Any]:
    """Return features whose inner products are a kernel of a trained module.

    The features of a row are the gradient of the module's output with respect to its parameters
    (``"gradient"``), or to those of its last layer (``"ll"``), as they are in the module. Two rows are similar if a step of
    training on one changes the prediction for the other. The kernel ``grad`` of the command line is that of
    a network in the paper's parametrization, in which weights of d inputs count with a factor σ_w/√d and biases with σ_b.

    Parameters
    ----------
    model : torch.nn.Module
        The trained module. It takes rows and returns one number for each. During the call it is in
        evaluation mode.
    rows : tensor or array
        The rows; their first dimension counts them.
    kernel : {"ll", "gradient"}
        Which parameters.
    sketch : int or None
        The number of features after a random projection. If there are no more than that to begin
        with, as often for ``"ll"``, they stay as they are; None keeps all.
    seed : int
        Of the projection. Compute the features of labelled rows and of candidates with the same seed,
        or in one call.
    block : int
        How many rows to put through the module at a time.

    Returns
    -------
    ndarray of shape (rows, features)
        The features.

    Notes
    -----
    The gradient with respect to the weights of an ``nn.Linear`` layer is the product of its input and
    of the gradient with respect to its output. The two are sketched separately, so that the full
    gradient is never formed (paper, appendix on sketching). Gradients with respect to other parameters
    are computed by `torch.func`.

    Examples
    --------
    >>> import torch
    >>> import nextbatch
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.SiLU(), torch.nn.Linear(8, 1))
    >>> labelled, pool = torch.randn(20, 3), torch.randn(100, 3)
    >>> train, candidates = (nextbatch.torch.features(model, x, "gradient", 64) for x in (labelled, pool))
    >>> len(nextbatch.select_features(train, candidates, 5))
    5
    """
    if kernel not in ("ll", "gradient"):
        raise RequestError(f"kernel must be 'll' or 'gradient', not {kernel!r}" + _ADVICE.get(kernel, "; the other kernels do not need a network"))
    if sketch is not None and sketch < 1:
        raise RequestError(f"sketch must be at least 1, or None, not {sketch}")
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise RequestError("the module has no parameters that require a gradient")
    rows = torch.as_tensor(dense(rows)).to(parameters[0].device, parameters[0].dtype)
    training = model.training
    model.eval()
    try:
        gradients = _Gradients(model, rows[:2], kernel, sketch, seed)
        parts = [gradients.of(part) for part in torch.split(rows, block)]
    finally:
        model.train(training)
    return np.concatenate([part.cpu().numpy() for part in parts])


class _Gradients:
    """Computes the features of blocks of rows."""

    def __init__(self, model: Any, example: Any, kernel: str, sketch: int | None, seed: int) -> None:
        self.model, self.seed = model, seed
        used = _used_layers(model, example)
        if kernel == "ll":
            used = [(layer, once) for layer, once in used if not _contains(layer, used)][-1:]
        self.linear = [layer for layer, once in used if once and type(layer) is nn.Linear]
        factored = {id(p) for layer in self.linear for p in layer.parameters(recurse=False)}
        wanted = {id(p) for layer, _ in used for p in layer.parameters(recurse=False)} - factored
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self.others = {name: p.detach() for name, p in named if id(p) in wanted}
        self.fixed = {name: p.detach() for name, p in model.named_parameters() if name not in self.others}
        self.fixed.update(model.named_buffers())
        size = sum(p.numel() for p in self.others.values())
        size += sum(p.numel() for layer in self.linear for p in layer.parameters(recurse=False))
        self.sketch = sketch if sketch is not None and size > sketch else None
        self.cache: dict[tuple[str, int], Any] = {}

    def of(self, rows: Any) -> Any:
        """Return the features of some rows: a sum over layers if they are sketched, or all side by side."""
        parts = [*self._of_linear(rows), *self._of_others(rows)]
        if self.sketch is None:
            return torch.cat(parts, 1)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def _of_linear(self, rows: Any) -> Iterator[Any]:
        if not self.linear:
            return
        seen: dict[Any, tuple[Any, Any]] = {}
        hooks = [layer.register_forward_hook(lambda m, x, z: seen.update({m: (x[0], z)})) for layer in self.linear]
        try:
            with torch.enable_grad():
                output = _numbers(self.model(rows), rows)
                gradients = torch.autograd.grad(output.sum(), [seen[layer][1] for layer in self.linear])
        finally:
            for hook in hooks:
                hook.remove()
        for i, (layer, g) in enumerate(zip(self.linear, gradients, strict=True)):
            x = seen[layer][0].detach()
            if layer.bias is not None:
                x = torch.cat([x, torch.ones_like(x[:, :1])], 1)
            if self.sketch is None:
                yield (g[:, :, None] * x[:, None, :]).flatten(1)
            elif g.shape[1] == 1:  # nothing to sketch on that side
                yield g * self._project(x, f"{i} input")
            else:
                yield self._project(x, f"{i} input") * self._project(g, f"{i} output") * self.sketch**0.5

    def _of_others(self, rows: Any) -> Iterator[Any]:
        if not self.others:
            return

        def output(parameters: Any, row: Any) -> Any:
            return _numbers(functional_call(self.model, {**self.fixed, **parameters}, (row[None],)), row[None])[0]

        gradients = vmap(grad(output), in_dims=(None, 0))(self.others, rows)
        for name, g in gradients.items():
            g = g.reshape(len(rows), -1)
            yield g if self.sketch is None else self._project(g, name)

    def _project(self, values: Any, name: str) -> Any:
        """Multiply by a random matrix of independent normal numbers of variance 1/sketch."""
        assert self.sketch is not None
        total: Any = 0
        for at in range(0, values.shape[1], 1 << 14):
            part = values[:, at : at + (1 << 14)]
            total = total + part @ self._random(name, at, part)
        return total / self.sketch**0.5

    def _random(self, name: str, at: int, like: Any) -> Any:
        key = (name, at)
        if key in self.cache:
            return self.cache[key]
        words = np.random.SeedSequence([self.seed, at, *name.encode()]).generate_state(1, np.uint64)
        generator = torch.Generator().manual_seed(int(words[0] >> np.uint64(1)))
        normal = torch.randn(like.shape[1], self.sketch, generator=generator, dtype=torch.float32).to(like.device, like.dtype)
        if sum(kept.numel() for kept in self.cache.values()) + normal.numel() <= _CACHED:
            self.cache[key] = normal
        return normal


def _numbers(output: Any, rows: Any) -> Any:
    """Return the output of a module as one number per row."""
    if not isinstance(output, torch.Tensor):
        raise RequestError(
            f"the module returns a {type(output).__name__}, not a tensor with one number per row; "
            "wrap it in a module that returns the output you are interested in"
        )
    if output.numel() != len(rows):
        raise RequestError(
            f"the module returns the shape {tuple(output.shape)} for {len(rows)} rows, not one number per row; "
            "wrap it in a module that returns the output you are interested in"
        )
    return output.reshape(-1)


def _contains(layer: Any, others: list[tuple[Any, bool]]) -> bool:
    """Whether a module contains another one of the list: then it ends after its last layer, but is not that."""
    return any(other is not layer and other in set(layer.modules()) for other, _ in others)


def _used_layers(model: Any, example: Any) -> list[tuple[Any, bool]]:
    """List the layers with parameters of their own in the order in which they run, and whether they do so once on a matrix."""
    calls: list[tuple[Any, bool]] = []
    layers = [m for m in model.modules() if any(p.requires_grad for p in m.parameters(recurse=False))]
    hooks = [m.register_forward_hook(lambda m, x, z: calls.append((m, x[0].ndim == 2))) for m in layers]
    try:
        with torch.no_grad():
            _numbers(model(example), example)
    finally:
        for hook in hooks:
            hook.remove()
    if not calls and layers:  # a module whose own parameters are all there is, or scripted layers
        return [(m, False) for m in layers]
    once = {id(m): sum(other is m for other, _ in calls) == 1 for m, _ in calls}
    ordered: dict[int, tuple[Any, bool]] = {}
    for m, is_matrix in calls:
        ordered.pop(id(m), None)
        ordered[id(m)] = (m, is_matrix and once[id(m)])
    return list(ordered.values())
