"""A scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("nextbatch.Regressor needs scikit-learn 1.6 or newer: pip install scikit-learn") from error

from . import _learners, _worker
from ._progress import reporter
from ._select import ProgressArgument, network, warn

Floats = npt.NDArray[np.float64]


class Regressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The model that suits the labels there are, as a scikit-learn estimator.

    By default a Gaussian process, trees and networks are cross-fitted on the rows and blended. Inputs
    are standardised, and every choice is made on held-out rows, so there is nothing to scale or to
    tune beforehand.

    Parameters
    ----------
    hidden : sequence of int, optional
        Widths of the hidden layers. None here, and for the next two, means the default that
        ``nextbatch fit --help`` names: that of the paper.
    activation : str, optional
        Activation function: ``"relu"``, ``"silu"`` or another that ``nextbatch fit --help`` lists.
    epochs : int, optional
        Epochs of training.
    ensemble : int
        How many networks to train; predictions are their mean.
    folds : int, optional
        Folds of cross-fitting, for ``learner="network"`` only. Each fold is one more training, and intervals are then based on all
        rows. 0 means no cross-fitting: intervals are based on the held-out rows. None means 5 with
        20 to 3000 rows, and otherwise 0.
    holdout : float, optional
        The share of the rows that is held out, for ``learner="network"`` only; None means 0.2, but at
        most 1024 rows.
    random_state : int, RandomState or None
        Seed of the models. With None, each fit has its own.
    threads : int
        How many threads to use; 0 means all cores.
    progress : bool or callable
        As in `nextbatch.select`.
    learner : {"auto", "network", "gp", "trees"}
        The model: the blend of all candidates, the paper's network, a Gaussian process, or trees.
    learners : list of estimators, or of pairs of a name and an estimator, optional
        Your own candidates for the blend, as in `nextbatch.select`.

    Attributes
    ----------
    n_features_in_ : int
        How many inputs the model has.
    learner_ : str
        What was chosen and why, such as ``"0.71 gp, 0.29 extra-trees (RMSE out of fold: …)"``; if y has
        columns, a list with one for each.
    candidates_ : list of dict
        What was tried: ``name``, ``weight`` in the blend, ``error`` out of fold, ``left``, why it was left
        out, and ``notes``, what went wrong; empty for a network alone. If y has columns, a list with one
        such list for each.
    estimators_ : dict
        By name, those of your own learners that have a weight: a list with a fitted estimator for each target.
    model_ : bytes
        The rest of the model, as the contents of a file: what ``nextbatch fit --out`` writes.
    valid_rmse_ : ndarray
        The error on the rows that were held out, in units of the labels: that of the blend, or of each
        network; for several targets, with a column for each.
    intervals_ : str
        How intervals are computed.

    Examples
    --------
    >>> import numpy as np
    >>> from nextbatch import Regressor
    >>> x = np.linspace(-1, 1, 60).reshape(-1, 1)
    >>> model = Regressor(epochs=20, random_state=0).fit(x, x[:, 0] ** 2)
    >>> mean, std = model.predict(x, return_std=True)
    >>> mean.shape, std.shape
    ((60,), (60,))
    """

    def __init__(
        self,
        hidden: Sequence[int] | None = None,
        activation: str | None = None,
        epochs: int | None = None,
        ensemble: int = 1,
        folds: int | None = None,
        holdout: float | None = None,
        random_state: Any = None,
        threads: int = 0,
        progress: ProgressArgument = False,
        learner: str = "auto",
        learners: Sequence[Any] | None = None,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.epochs = epochs
        self.ensemble = ensemble
        self.folds = folds
        self.holdout = holdout
        self.random_state = random_state
        self.threads = threads
        self.progress = progress
        self.learner = learner
        self.learners = learners

    def fit(self, X: Any, y: Any) -> Regressor:
        """Fit the model.

        Parameters
        ----------
        X : array of shape (rows, inputs)
            The inputs.
        y : array of shape (rows,) or (rows, targets)
            The labels.

        Returns
        -------
        Regressor
            This estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Regressor
        >>> x = np.linspace(-1, 1, 60).reshape(-1, 1)
        >>> model = Regressor(epochs=20, random_state=0).fit(x, x[:, 0] ** 2)
        >>> model.n_features_in_, model.valid_rmse_.shape
        (1, (1,))
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True, multi_output=True, ensure_min_samples=2)
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31)
        body = {
            **network(self.hidden, self.activation, self.epochs, self.ensemble),
            "learner": self.learner, "folds": self.folds, "holdout": self.holdout, "seed": int(seed), "threads": self.threads,
        }  # fmt: skip
        sent = [X, np.asarray(y, np.float64)]
        with reporter(self.progress) as report:
            own = self._fit_own(X, sent[1], int(seed), report)
            body["learners"] = [_learners.pack(one.name, [one.held], sent) for one in own]
            about, arrays = _worker.call("fit", body, sent, report)
        self.model_ = arrays[0].tobytes()
        candidates = [_learners.candidates_of(of_target) for of_target in about["candidates"]]
        self.learner_ = about["learner"] if y.ndim > 1 else about["learner"][0]
        self.candidates_ = candidates if y.ndim > 1 else candidates[0]
        weighted = {c["name"] for of_target in candidates for c in of_target if c["weight"] > 0}
        self.estimators_ = {one.name: one.estimators for one in own if one.name in weighted}
        errors = np.array([[np.nan if v is None else v for v in target] for target in about["valid_rmse"]], np.float64).T
        self.valid_rmse_ = errors[:, 0] if y.ndim == 1 else errors
        self._columns = y.shape[1:]
        self.intervals_ = about["intervals"]
        warn(about["warnings"])
        return self

    def _fit_own(self, X: Floats, y: Floats, seed: int, report: _worker.Progress | None) -> list[_learners.Own]:
        """Fit the user's own learners; with too few rows for any, the worker says so."""
        if not self.learners or len(X) < _learners.FEWEST:
            return []
        return _learners.cross_fit(self.learners, X, y.reshape(len(X), -1), seed, report)

    def predict(
        self, X: Any, return_std: bool = False, return_interval: float | bool = False
    ) -> Floats | tuple[Floats, ...]:
        """Predict labels.

        Parameters
        ----------
        X : array of shape (rows, inputs)
            The inputs.
        return_std : bool
            Return standard deviations as well.
        return_interval : bool or float
            Also return prediction intervals with this coverage; True means 0.9. The coverage holds
            for rows that were drawn as those of the training.

        Returns
        -------
        ndarray, or a tuple of them
            The predictions; with `return_std` their standard deviations; with `return_interval` the
            lower and the upper ends of the intervals. They have the shape of the labels: for several
            targets, a column for each.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import Regressor
        >>> x = np.linspace(-1, 1, 60).reshape(-1, 1)
        >>> model = Regressor(epochs=20, random_state=0).fit(x, x[:, 0] ** 2)
        >>> mean, low, high = model.predict(x, return_interval=0.8)
        >>> bool((low <= mean).all() and (mean <= high).all())
        True
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        coverage = None if return_interval is True else float(return_interval) or None
        sent = [np.frombuffer(self.model_, np.uint8), X]
        body = {
            "std": bool(return_std), "interval": bool(return_interval), "coverage": coverage, "threads": self.threads,
            "learners": [_learners.pack(name, [_learners.predict(name, own, X)], sent) for name, own in self.estimators_.items()],
        }  # fmt: skip
        _, arrays = _worker.call("predict", body, sent)
        shaped = [array.reshape(len(X), *self._columns) for array in arrays]
        return tuple(shaped) if len(shaped) > 1 else shaped[0]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that several targets are supported."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
