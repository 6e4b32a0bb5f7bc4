"""The interface of the authors' published package, bmdal_reg, so that a script changes one import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

try:
    import torch
except ImportError as error:
    raise ImportError("nextbatch.compat needs PyTorch: pip install torch") from error

from ._batch import Batch
from ._compat_features import (
    Features, FeaturesTransform, IdentityFeatureMap, LinearFeatureMap, SequentialFeatureMap, TensorFeatureData, tensor_of,
)  # fmt: skip
from ._errors import RequestError
from ._select import select_features
from .torch import features

__all__ = [
    "BaitFeatureSpaceSelectionMethod",
    "Features",
    "FeaturesTransform",
    "FrankWolfeSelectionMethod",
    "IdentityFeatureMap",
    "KmeansppSelectionMethod",
    "LargestClusterMaxDistSelectionMethod",
    "LinearFeatureMap",
    "MaxDetFeatureSpaceSelectionMethod",
    "MaxDetSelectionMethod",
    "MaxDiagSelectionMethod",
    "MaxDistSelectionMethod",
    "RandomSelectionMethod",
    "SelectionMethod",
    "SequentialFeatureMap",
    "TensorFeatureData",
    "select_batch",
]

_METHODS = {
    "random": "random", "maxdiag": "maxdiag", "maxdet": "maxdet", "bait": "bait-f", "fw": "frankwolfe",
    "maxdist": "maxdist", "kmeanspp": "kmeanspp", "lcmd": "lcmd",
}  # fmt: skip
_BY_DISTANCE = ("maxdist", "kmeanspp", "lcmd")
_WITHOUT_MODE = ("random", "maxdiag")


def select_batch(
    batch_size: int,
    models: Sequence[Any],
    data: Mapping[str, Any],
    y_train: Any,
    base_kernel: str,
    kernel_transforms: Sequence[tuple[str, Sequence[Any]]],
    selection_method: str,
    precomp_batch_size: int = 32768,
    nn_batch_size: int = 8192,
    **config: Any,
) -> tuple[Any, dict[str, Any]]:
    """Select a batch, with the arguments of the authors' published package.

    Where the published code differs from the paper, this follows the code. Random numbers are
    others, so that methods that draw, and sketches, give other batches of the same distribution.

    Parameters
    ----------
    batch_size : int
        How many rows to pick.
    models : list of torch.nn.Module
        The trained networks: one, or several for the transformation ``ens``.
    data : dict
        ``data["train"]`` and ``data["pool"]``: tensors, or objects with a method ``get_tensor``.
    y_train : tensor or None
        Not used.
    base_kernel : {"ll", "grad", "linear"}
        The kernel. As there, ``grad`` is the gradient with respect to the parameters as they are in the network. The others do not depend on a trained network: use `nextbatch.select`.
    kernel_transforms : list of (str, list)
        The transformations: ``("rp", [512])``, ``("train", [sigma, None])``, ``("scale", [])``,
        ``("ens", [])``, ``("acs-rf", [512, sigma, None])``, ``("acs-grad", [sigma, None])``.
    selection_method : str
        random, maxdiag, maxdet, bait, fw, maxdist, kmeanspp or lcmd.
    precomp_batch_size : int
        Not used.
    nn_batch_size : int
        How many rows to put through a network at a time.
    **config
        ``sel_with_train``, ``maxdet_sigma``, ``bait_sigma`` and ``overselection_factor`` (1, or 2, which
        means that BAIT removes half of the rows again), as there; ``seed``, and others, which are ignored.

    Returns
    -------
    tuple
        A tensor of rows of the pool, and a dictionary with times and the status.

    Examples
    --------
    >>> import torch
    >>> from nextbatch.compat import TensorFeatureData, select_batch
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    >>> data = {"train": TensorFeatureData(torch.randn(40, 8)), "pool": TensorFeatureData(torch.randn(500, 8))}
    >>> rows, info = select_batch(
    ...     batch_size=16, models=[model], data=data, y_train=None, selection_method="lcmd",
    ...     sel_with_train=True, base_kernel="grad", kernel_transforms=[("rp", [64])],
    ... )
    >>> len(set(rows.tolist()))
    16
    """
    sets = {key: tensor_of(data[key]) for key in ("train", "pool")}
    sketch, rest = _leading_sketch(base_kernel, list(kernel_transforms))
    arrays = {key: _features(models, rows, base_kernel, sketch, rest, nn_batch_size, config) for key, rows in sets.items()}
    method = spec(selection_method, [t for t in rest if t[0] != "ens"], config)
    batch = select_features(arrays["train"], arrays["pool"], int(batch_size), method, seed=int(config.get("seed", 0)))
    seconds = batch.details["timings"]
    results = {
        "kernel_time": {"total": seconds["kernel"], "process": seconds["kernel"]},
        "selection_time": {"total": seconds["select"], "process": seconds["select"]},
        "selection_status": "; ".join(batch.warnings) or None,
    }
    return _rows(batch, selection_method), results


def _rows(batch: Batch, selection_method: str) -> Any:
    """Return the rows of a batch in the order of the published code, which sorts those of maxdiag upwards."""
    return torch.as_tensor(batch.indices[::-1].copy() if selection_method == "maxdiag" else batch.indices)


class SelectionMethod:
    """Base class of the methods: each picks rows of a pool by their features.

    Attributes
    ----------
    status : str or None
        What was wrong with the selection, if anything.

    Examples
    --------
    >>> import torch
    >>> from nextbatch.compat import Features, IdentityFeatureMap, LargestClusterMaxDistSelectionMethod, TensorFeatureData
    >>> train, pool = (Features(IdentityFeatureMap(4), TensorFeatureData(torch.randn(n, 4))) for n in (20, 200))
    >>> rows = LargestClusterMaxDistSelectionMethod(pool, train).select(8)
    >>> len(set(rows.tolist()))
    8
    """

    _method = ""  # as select_batch calls it
    status: str | None = None

    def __init__(
        self, pool_features: Features, train_features: Features | None = None, sel_with_train: bool | None = None,
        verbosity: int = 1, **config: Any,
    ) -> None:  # fmt: skip
        self.pool_features = pool_features
        self.train_features = train_features
        self.config = {**config, "sel_with_train": sel_with_train}

    def select(self, batch_size: int) -> Any:
        """Return the numbers of the rows of the pool that are picked, as a tensor."""
        pool = self.pool_features.get_feature_matrix()
        train = None if self.train_features is None else self.train_features.get_feature_matrix()
        method = spec(self._method, [], self._settings(pool))
        labelled, candidates = (None if m is None else m.detach().cpu().numpy() for m in (train, pool))
        seed = int(self.config.get("seed", torch.randint(2**31, (1,)).item()))
        batch = select_features(labelled, candidates, int(batch_size), method, seed=seed)
        self.status = "; ".join(batch.warnings) or None
        return _rows(batch, self._method).to(pool.device)

    def get_status(self) -> str | None:
        """Return what was wrong with the selection; None if nothing was."""
        return self.status

    def _settings(self, pool: Any) -> dict[str, Any]:
        return self.config


class RandomSelectionMethod(SelectionMethod):
    """Random rows."""

    _method = "random"


class MaxDiagSelectionMethod(SelectionMethod):
    """The rows with the largest norms, that of the last the largest."""

    _method = "maxdiag"


class _WithNoise(SelectionMethod):
    def _settings(self, pool: Any) -> dict[str, Any]:
        """Return the settings with the noise, which is never exactly 0 here: far less than rounding leaves of the features."""
        least = 1e-7 * float((pool**2).sum(dim=1).mean() ** 0.5)
        return {**self.config, f"{self._method}_sigma": max(float(self.config.get("noise_sigma", 0.0)), least)}


class MaxDetSelectionMethod(_WithNoise):
    """Rows that make the determinant of their kernel matrix large, with ``noise_sigma**2`` on its diagonal."""

    _method = "maxdet"


class MaxDetFeatureSpaceSelectionMethod(MaxDetSelectionMethod):
    """The same: nextbatch chooses by itself how to compute it."""


class BaitFeatureSpaceSelectionMethod(_WithNoise):
    """BAIT; with an ``overselection_factor`` of 2, twice as many rows are picked, and half of them removed."""

    _method = "bait"


class MaxDistSelectionMethod(SelectionMethod):
    """Rows that are far from those that are picked and, unless ``sel_with_train`` is False, from labelled ones."""

    _method = "maxdist"


class KmeansppSelectionMethod(SelectionMethod):
    """Rows that are drawn with probabilities by their squared distances: k-means++."""

    _method = "kmeanspp"


class LargestClusterMaxDistSelectionMethod(SelectionMethod):
    """LCMD: the farthest row of the largest cluster, in each step."""

    _method = "lcmd"

    def _settings(self, pool: Any) -> dict[str, Any]:
        mode = self.config.get("dist_weight_mode", "sq-dist")
        if mode != "sq-dist":
            raise RequestError(f"dist_weight_mode {mode!r} is not supported here: clusters are weighted by squared distances, as in the paper")
        return self.config


class FrankWolfeSelectionMethod(SelectionMethod):
    """Frank-Wolfe optimisation of the distance between the means of the picks and of all rows."""

    _method = "fw"


def spec(selection_method: str, transforms: Sequence[tuple[str, Sequence[Any]]], config: Mapping[str, Any]) -> str:
    """Return the text of a method, with the kernel ``features``."""
    if selection_method not in _METHODS:
        raise RequestError(f"selection_method {selection_method!r} is not among {', '.join(_METHODS)}")
    method = _METHODS[selection_method]
    if selection_method == "bait" and config.get("overselection_factor", 1.0) > 1.0:
        if config["overselection_factor"] != 2.0:
            raise RequestError(f"overselection_factor is 1 or 2 here, not {config['overselection_factor']!r}: half of the rows are removed again")
        method = "bait-fb"
    if selection_method == "random":
        return method
    if selection_method not in _WITHOUT_MODE:
        with_train = config.get("sel_with_train")
        method += "-tp" if (selection_method in _BY_DISTANCE if with_train is None else with_train) else "-p"
    sigmas = [float(config[f"{name}_sigma"]) for name in ("maxdet", "bait") if name == selection_method and config.get(f"{name}_sigma")]
    text = "features"
    for name, arguments in transforms:
        part, sigma = _transform(name, list(arguments))
        text += part
        sigmas += sigma
    if len(set(sigmas)) > 1:
        raise RequestError(f"the method has one noise variance, but sigma is {' and '.join(map(str, sorted(set(sigmas))))}")
    noise = f"@sigma2({sigmas[0] ** 2:.17g})" if sigmas else ""
    return f"{method}:{text}@compat{noise}"


def _transform(name: str, arguments: list[Any]) -> tuple[str, list[float]]:
    """Return the text of a transformation, and its noise deviation if it has one."""

    def scaled(at: int) -> str:
        if len(arguments) <= at:
            return ""
        return ">scale" if arguments[at] is None else f">scale({float(arguments[at]):.17g})"

    if name in ("rp", "sketch"):
        return f">sketch({int(arguments[0])})", []
    if name == "scale":
        return (scaled(0) if arguments else ">scale"), []
    if name == "train":
        return f"{scaled(1)}>post", [float(arguments[0])]
    if name == "acs-rf":
        return f"{scaled(2)}>acs-rf({int(arguments[0])})", [float(arguments[1])]
    if name == "acs-grad":
        return f"{scaled(1)}>acs-grad", [float(arguments[0])]
    raise RequestError(f"the transformation {name!r} is not supported here; nextbatch.select knows all of the paper's")


def _leading_sketch(kernel: str, transforms: list[Any]) -> tuple[int | None, list[Any]]:
    """Split off a sketch of gradients, so that the full gradients are never in memory."""
    if kernel == "grad" and transforms and transforms[0][0] in ("rp", "sketch"):
        return int(transforms[0][1][0]), transforms[1:]
    return None, transforms


def _features(
    models: Sequence[Any], rows: Any, kernel: str, sketch: int | None, transforms: list[Any], block: int, config: Mapping[str, Any]
) -> np.ndarray[Any, Any]:
    if kernel == "linear":
        return rows.detach().cpu().numpy()  # type: ignore[no-any-return]
    if kernel not in ("ll", "grad"):
        raise RequestError(f"base_kernel {kernel!r} is not supported here: use nextbatch.select, which knows it")
    names = [name for name, _ in transforms]
    if "ens" not in names:
        models = models[:1]
    elif names.index("ens") > 0:
        raise RequestError("ens has to come first, or right after the sketch of gradients: nextbatch.select knows other orders")
    parts = [
        features(model, rows, "gradient" if kernel == "grad" else "ll", sketch, seed=int(config.get("seed", 0)) + i, block=block) for i, model in enumerate(models)
    ]
    return np.concatenate(parts, 1)
