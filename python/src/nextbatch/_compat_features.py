"""Features of rows with the interface of the authors' published package, bmdal_reg.

There, a feature map is kept apart from the rows that it is applied to, so that kernels without features can be
computed. Here the features of rows are a matrix, and a transformation is a function of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ._tables import dense


class TensorFeatureData:
    """Rows as a tensor.

    Parameters
    ----------
    data : tensor
        The rows.

    Attributes
    ----------
    n_samples : int
        How many rows there are.
    device : str
        Where they are.
    dtype : torch.dtype
        Their type.

    Examples
    --------
    >>> import torch
    >>> from nextbatch.compat import TensorFeatureData
    >>> data = TensorFeatureData(torch.arange(10)[:, None])
    >>> data[2].get_tensor(), len(data[1:3])
    (tensor([[2]]), 2)
    """

    def __init__(self, data: Any) -> None:
        self.data = data

    @property
    def n_samples(self) -> int:
        return len(self.data)

    @property
    def device(self) -> str:
        return str(self.data.device)

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def get_tensor(self, idxs: Any = None) -> Any:
        """Return the rows, or some of them; a single number keeps the dimension of rows."""
        return self.data if idxs is None else self.data[_rows_at(idxs)]

    def get_n_samples(self) -> int:
        """Return the number of rows."""
        return self.n_samples

    def get_device(self) -> str:
        """Return where the rows are."""
        return self.device

    def get_dtype(self) -> Any:
        """Return the type of the rows."""
        return self.dtype

    def __len__(self) -> int:
        return self.n_samples

    def __getitem__(self, idxs: Any) -> TensorFeatureData:
        """Return some rows; a single number keeps the dimension of rows."""
        return TensorFeatureData(self.get_tensor(idxs))

    def to(self, device: Any) -> TensorFeatureData:
        """Return the rows on another device."""
        return TensorFeatureData(self.data.to(device))

    def cast_to(self, dtype: Any) -> TensorFeatureData:
        """Return the rows with another type."""
        return TensorFeatureData(self.data.to(dtype))

    def batched(self, batch_size: int) -> TensorFeatureData:
        """Return the same rows."""
        return self

    def simplify(self, idxs: Any = None) -> TensorFeatureData:
        """Return the same rows, or some of them."""
        return TensorFeatureData(self.get_tensor(idxs))


def _rows_at(idxs: Any) -> Any:
    """Return what picks rows of a tensor, without losing the dimension of rows."""
    return slice(idxs, idxs + 1 or None) if isinstance(idxs, int) else idxs


class IdentityFeatureMap:
    """The map whose features are the rows themselves: the linear kernel.

    Parameters
    ----------
    n_features : int
        How many columns the rows have.
    """

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    def get_n_features(self) -> int:
        """Return the number of features."""
        return self.n_features

    def get_feature_matrix(self, feature_data: Any) -> Any:
        """Return the features of rows."""
        return tensor_of(feature_data)


class SequentialFeatureMap:
    """A map whose features are those of another one, transformed.

    Attributes
    ----------
    tfms : list
        The other map.
    feature_map : LinearFeatureMap
        What is done to its features.
    """

    def __init__(self, feature_map: LinearFeatureMap, tfms: list[Any]) -> None:
        self.feature_map, self.tfms = feature_map, tfms

    def get_n_features(self) -> int:
        """Return the number of features."""
        return self.feature_map.get_n_features()

    def get_feature_matrix(self, feature_data: Any) -> Any:
        """Return the features of rows."""
        return self.feature_map.of_matrix(self.tfms[0].get_feature_matrix(feature_data))


class LinearFeatureMap:
    """A linear function of features: a scale, a posterior, or a sketch.

    Parameters
    ----------
    n_features : int
        How many features it returns.
    of_matrix : callable
        What it does to a matrix with a row of features for each row.
    """

    def __init__(self, n_features: int, of_matrix: Callable[[Any], Any]) -> None:
        self.n_features, self.of_matrix = n_features, of_matrix

    def get_n_features(self) -> int:
        """Return the number of features."""
        return self.n_features

    def get_feature_matrix(self, feature_data: Any) -> Any:
        """Return the features of rows."""
        return self.of_matrix(tensor_of(feature_data))


class Features:
    """The features of rows, with their kernel: inner products.

    Parameters
    ----------
    feature_map : IdentityFeatureMap
        The map, or any object with a method ``get_feature_matrix``.
    feature_data : TensorFeatureData or tensor
        The rows.
    diag : tensor, optional
        The squared norms of the features, if they are known already.

    Attributes
    ----------
    feature_map, feature_data
        The map and the rows.

    Examples
    --------
    >>> import torch
    >>> from nextbatch.compat import Features, IdentityFeatureMap, TensorFeatureData
    >>> train = Features(IdentityFeatureMap(2), TensorFeatureData(torch.eye(2)))
    >>> after = train.posterior_tfm(sigma=1.0)(train)
    >>> after.get_kernel_matrix_diag()
    tensor([0.5000, 0.5000])
    """

    def __init__(self, feature_map: Any, feature_data: Any, diag: Any = None) -> None:
        self.feature_map, self.diag = feature_map, diag
        self.feature_data = feature_data if hasattr(feature_data, "get_tensor") else TensorFeatureData(tensor_of(feature_data))
        self._computed: Any = None

    @property
    def _matrix(self) -> Any:
        if self._computed is None:
            self._computed = self.feature_map.get_feature_matrix(self.feature_data)
        return self._computed

    def precompute(self) -> Features:
        """Return the same features, computed: the map is the identity."""
        return features_of(self._matrix)

    def simplify(self) -> Features:
        """Return the same features."""
        return self

    def batched(self, batch_size: int) -> Features:
        """Return the same features."""
        return self

    def get_n_samples(self) -> int:
        """Return the number of rows."""
        return int(self._matrix.shape[0])

    def __len__(self) -> int:
        return self.get_n_samples()

    def get_n_features(self) -> int:
        """Return the number of features."""
        return int(self._matrix.shape[1])

    def get_device(self) -> str:
        """Return where the features are."""
        return str(self._matrix.device)

    def get_dtype(self) -> Any:
        """Return the type of the features."""
        return self._matrix.dtype

    def __getitem__(self, idxs: Any) -> Features:
        """Return the features of some rows; a single number keeps the dimension of rows."""
        at = _rows_at(idxs)
        part = Features(self.feature_map, TensorFeatureData(tensor_of(self.feature_data)[at]), None if self.diag is None else self.diag[at])
        part._computed = self._matrix[at]
        return part

    def get_feature_matrix(self) -> Any:
        """Return a row of features for each row."""
        return self._matrix

    def get_kernel_matrix_diag(self) -> Any:
        """Return the squared norm of the features of each row."""
        if self.diag is None:
            self.diag = (self._matrix**2).sum(dim=1)
        return self.diag

    def get_kernel_matrix(self, other_features: Features) -> Any:
        """Return the inner products with the features of other rows."""
        return self._matrix @ other_features._matrix.T

    def get_sq_dists(self, other_features: Features) -> Any:
        """Return the squared distances from the features of other rows."""
        norms, others = self.get_kernel_matrix_diag(), other_features.get_kernel_matrix_diag()
        return norms[:, None] + others[None, :] - 2 * self.get_kernel_matrix(other_features)

    def concat_with(self, other_features: Features) -> Features:
        """Return the features of both lists of rows, one after the other."""
        both = [tensor_of(f.feature_data) for f in (self, other_features)]
        joined = Features(self.feature_map, TensorFeatureData(torch.cat(both)))
        joined._computed = torch.cat([self._matrix, other_features._matrix])
        return joined

    def scale_tfm(self, factor: float | None = None) -> FeaturesTransform:
        """Return the transformation that multiplies features by a factor: by default such that these have a mean squared norm of 1."""
        by = float(self.get_kernel_matrix_diag().mean() ** -0.5) if factor is None else factor
        return FeaturesTransform(lambda matrix: by * matrix, self.get_n_features())

    def posterior_tfm(self, sigma: float = 1.0, **config: Any) -> FeaturesTransform:
        """Return the transformation to the posterior kernel of a Gaussian process that has seen these rows, with noise of this deviation."""
        seen = self._matrix.T @ self._matrix
        factor = torch.linalg.cholesky(seen + sigma**2 * torch.eye(len(seen), dtype=seen.dtype, device=seen.device))
        return FeaturesTransform(lambda matrix: sigma * torch.linalg.solve_triangular(factor, matrix.T, upper=False).T, len(seen))

    def sketch_tfm(self, n_features: int, **config: Any) -> FeaturesTransform:
        """Return a random projection to this number of features, which keeps inner products on average."""
        m = self._matrix
        by = torch.randn(self.get_n_features(), n_features, dtype=m.dtype, device=m.device) / n_features**0.5
        return FeaturesTransform(lambda matrix: matrix @ by, n_features)


class FeaturesTransform:
    """A transformation of features, to be called with them.

    Parameters
    ----------
    of_matrix : callable
        What it does to the matrix of the features.
    n_features : int
        How many features there are afterwards.
    """

    def __init__(self, of_matrix: Callable[[Any], Any], n_features: int) -> None:
        self._map = LinearFeatureMap(n_features, of_matrix)

    def __call__(self, features: Features) -> Features:
        """Return the features, transformed."""
        after = Features(SequentialFeatureMap(self._map, [features.feature_map]), features.feature_data)
        after._computed = self._map.of_matrix(features.get_feature_matrix())
        return after


def features_of(matrix: Any) -> Features:
    """Return a matrix as features."""
    return Features(IdentityFeatureMap(matrix.shape[1]), matrix)


def tensor_of(rows: Any) -> Any:
    """Return rows as a tensor: a tensor, or an object with a method get_tensor."""
    get = getattr(rows, "get_tensor", None)
    return torch.as_tensor(dense(rows) if get is None else get(slice(None)))
