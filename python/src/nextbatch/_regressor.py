"""A scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils import check_array, check_consistent_length
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("nextbatch.Regressor needs scikit-learn 1.6 or newer: pip install scikit-learn") from error

from . import _learners, _tables, _worker
from ._arguments import Censored, Learner, Missing, checked
from ._errors import DataError, RequestError
from ._progress import reporter
from ._seed import drawn
from ._select import ProgressArgument, add_labels, add_noise, earlier_tables, numbers_in, warn

Floats = npt.NDArray[np.float64]


class Regressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The model that suits the labels there are, as a scikit-learn estimator.

    By default a Gaussian process, trees and networks are cross-fitted on the rows and blended. Inputs
    are standardised, and every choice is made on held-out rows, so there is nothing to scale or to
    tune beforehand. Frames are taken as `nextbatch.select` takes them: columns of words become
    categories, dates become numbers and cycles, gaps are imputed, and numbers that are text are read as in files.

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
        Folds of cross-fitting, for ``learner="network"`` only: give 5, or None, if you want intervals. Each
        fold is one more training, and intervals are based on all rows; with 0, the default, they are based on the
        rows that chose the epoch, and tend to be too short. None means 5 with 20 to 3000 rows, and otherwise 0, because so many held-out
        rows are enough. The other learners are cross-fitted anyway, and their intervals cost nothing.
    holdout : float, optional
        The share of the rows that is held out, for ``learner="network"`` only; None means 0.2, but at
        most 1024 rows.
    random_state : int, RandomState, Generator or None
        Seed of the models. With None, each fit has its own.
    threads : int
        How many threads to use; 0 means all cores.
    progress : bool or callable
        As in `nextbatch.select`.
    learner : {"auto", "network", "gp", "trees", "in-context"}
        The model: the blend of all candidates, the paper's network, a Gaussian process, or trees.
    learners : list of estimators, or of pairs of a name and an estimator, optional
        Your own candidates for the blend, as in `nextbatch.select`.
    categorical, keep : list of str
        Columns of numbers that are categories, and columns to use even if they look like row numbers or equal `y`, as in
        `nextbatch.select`.
    missing : {"impute", "drop", "refuse"}, optional
        What to do about missing inputs, as in `nextbatch.select`. With ``"drop"``, rows with gaps are left out of
        the fit, and NaN is predicted for them.
    seed : int, optional
        Another name of `random_state`.
    censored : {"limit", "drop"}, optional
        What to do about numbers such as ``"<0.5"`` in columns of text, as in `nextbatch.select`.
    lod : float or dict, optional
        The limit of detection of the labels, as in `nextbatch.select`.
    range : str or pair, optional
        What the labels can be, as in `nextbatch.select`. The model keeps it.

    Attributes
    ----------
    n_features_in_ : int
        How many inputs the model has.
    learner_ : str
        What was chosen and why, such as ``"0.71 gp, 0.29 extra-trees (RMSE out of fold: …)"``; if y has
        columns, a list with one for each.
    candidates_ : list of dict
        What was tried: ``name``, ``weight`` in the blend, ``error`` out of fold (None where it was left out), ``left``, why it was left
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

    _names: Sequence[str] = ()  # of the columns that the model was fitted to
    _array = True  # whether these were those of an array
    _advised_folds = 0  # which intervals lack

    def __init__(
        self,
        hidden: Sequence[int] | None = None,
        activation: str | None = None,
        epochs: int | None = None,
        ensemble: int = 1,
        folds: int | None = 0,
        holdout: float | None = None,
        random_state: Any = None,
        threads: int = 0,
        progress: ProgressArgument = False,
        learner: Learner = "auto",
        learners: Sequence[Any] | None = None,
        categorical: Sequence[str] = (),
        keep: Sequence[str] = (),
        missing: Missing | None = None,
        seed: int | None = None,
        censored: Censored | None = None,
        lod: Any = None,
        range: Any = None,
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
        self.categorical = categorical
        self.keep = keep
        self.missing = missing
        self.seed = seed
        self.censored = censored
        self.lod = lod
        self.range = range

    def fit(self, X: Any, y: Any, earlier: Any = None, label_sd: Any = None) -> Regressor:
        """Fit the model.

        Parameters
        ----------
        X : array or DataFrame of shape (rows, inputs)
            The inputs. A frame may have columns of words, dates and gaps; a sparse matrix is made dense.
        y : array of shape (rows,) or (rows, targets)
            The labels. Those that are text are read as in a file.
        earlier : DataFrame, pair or list of these, optional
            Labelled rows of an earlier campaign, another instrument or a simulation, as in `nextbatch.select`. A frame
            has the labels in columns named like `y`, or "y". The model keeps what it needs of them.
        label_sd : array of the shape of y, optional
            The standard deviation of each label's noise. Noisy labels count less.

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
        X, y = _tables.loaded(X), _tables.dense(y)
        texts, y_name = _tables.texts_among(y), getattr(y, "name", None)
        X, y = self._checked(X, y if texts is None else self._numbers(X, y, texts))
        seed = drawn(self.seed, self.random_state)
        given = checked(
            hidden=self.hidden, activation=self.activation, epochs=self.epochs, ensemble=self.ensemble, keep=self.keep, learner=self.learner,
            folds=self.folds, holdout=self.holdout, range=self.range, threads=self.threads,
        )  # fmt: skip
        table = _tables.table_of(X, "X")
        names = table.names()
        y_names = add_labels(table, y if texts is None else texts, [table], y_name)
        noise = add_noise(table, label_sd, y_names, [table])
        sent: list[npt.NDArray[Any]] = []
        body = {
            **given, **self._about(table), "table": table.pack(sent), "y": y_names, "label_sd": noise, "ordered": _tables.orders([table]),
            "keep": _tables.kept(given["keep"], [table]), "seed": seed, "earlier": earlier_tables(earlier, y_names, sent),
        }  # fmt: skip
        with reporter(self.progress) as report:
            own = self._fit_own(X, y, {key: body[key] for key in ("table", "y", "label_sd", "keep")}, sent, seed, report)
            body["learners"] = [_learners.pack(one.name, [one.held], sent) for one in own]
            about, arrays = _worker.call("fit", body, sent, report)
        self._names, self._array = names, bool(table.matrix_names)
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
        self._advised_folds = about["advised_folds"]
        warn(about["warnings"])
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Any, Floats]:
        """Return inputs and labels that can be fitted, or raise what scikit-learn raises."""
        _tables.same_rows(X, y, "X")
        if not _is_frame(X):
            X, y = validate_data(
                self, _dense(X), y, dtype=[np.float64, np.float32], y_numeric=True, multi_output=True, ensure_min_samples=2,
                ensure_all_finite=self._finite(),
            )  # fmt: skip
            return X, np.asarray(y, np.float64)
        X, y = validate_data(self, X, y, skip_check_array=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=self)
        check_consistent_length(X, y)
        return X, y

    def _numbers(self, X: Any, y: Any, texts: npt.NDArray[Any]) -> Floats:
        """Return labels that are text as numbers."""
        _tables.same_rows(X, y, "X")
        table = _tables.table_of(X, "X")
        numbers = numbers_in(table, add_labels(table, texts, [table]), self.censored, self.lod)
        without = np.flatnonzero(np.isnan(numbers).any(axis=1))
        if len(without):
            rows = ", ".join(map(str, without[:5])) + (", …" if len(without) > 5 else "")
            raise DataError(f"y has rows without a label, {rows} (from 0), where it is empty, 'n.d.' without lod, or dropped as censored; leave these rows out")
        return numbers if texts.ndim > 1 else numbers[:, 0]

    def _finite(self) -> bool | str:
        """Return whether arrays may have gaps, as scikit-learn takes it: not if the user's own learners get them."""
        return True if self.learners else "allow-nan"

    def _about(self, table: _tables.Table) -> dict[str, Any]:
        """Return how the columns of a table are read, as the worker takes it."""
        given = checked(categorical=self.categorical, missing=self.missing, censored=self.censored, lod=self.lod)
        return {**given, "categorical": list(dict.fromkeys([*given["categorical"], *table.categorical]))}

    def _fit_own(
        self, X: Any, y: Floats, body: dict[str, Any], sent: list[npt.NDArray[Any]], seed: int, report: _worker.Progress | None
    ) -> list[_learners.Own]:  # fmt: skip
        """Fit the user's own learners, without what leaks the label; with too few rows for any, the worker says so."""
        if not self.learners or len(X) < _learners.FEWEST:
            return []
        self._leaks = _worker.call("leaks", body, sent)[0]["columns"]
        return _learners.cross_fit(self.learners, self._own_inputs(X), y.reshape(len(X), -1), seed, report)

    def _own_inputs(self, X: Any) -> Any:
        """Return rows as the user's own learners take them."""
        leaks = getattr(self, "_leaks", None)  # which pickles of an earlier version lack
        return _learners.inputs_of(X, "X", leaks) if leaks else X

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False, return_interval: Literal[False] = False) -> Floats: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True], return_interval: Literal[False] = False) -> tuple[Floats, Floats]: ...

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, *, return_interval: Literal[True] | float
    ) -> tuple[Floats, Floats, Floats]: ...

    @overload
    def predict(self, X: Any, return_std: Literal[False], return_interval: Literal[True] | float) -> tuple[Floats, Floats, Floats]: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True], return_interval: Literal[True] | float) -> tuple[Floats, Floats, Floats, Floats]: ...

    @overload
    def predict(self, X: Any, return_std: bool = False, return_interval: float | bool = False) -> Floats | tuple[Floats, ...]: ...

    def predict(
        self, X: Any, return_std: bool = False, return_interval: float | bool = False
    ) -> Floats | tuple[Floats, ...]:
        """Predict labels.

        Parameters
        ----------
        X : array or DataFrame of shape (rows, inputs)
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
            targets, a column for each. A row without any input has NaN.

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
        X = _tables.loaded(X)
        if _is_frame(X) and not self._array:
            X = validate_data(self, X, skip_check_array=True, reset=False)
        else:
            X = validate_data(self, _dense(X), reset=False, dtype=[np.float64, np.float32], ensure_all_finite=self._finite())
        if return_interval and self._advised_folds:
            warn([f"the intervals tend to be too short: they come from the rows that chose the epoch of the network; fit it with folds={self._advised_folds}"])
        coverage = None if return_interval is True else float(return_interval) or None
        sent: list[npt.NDArray[Any]] = [np.frombuffer(self.model_, np.uint8)]
        body = {
            **self._rows(X, sent), "std": bool(return_std), "interval": bool(return_interval), "coverage": coverage, **checked(threads=self.threads),
            "learners": [_learners.pack(name, [_learners.predict(name, own, self._own_inputs(X))], sent) for name, own in self.estimators_.items()],
        }  # fmt: skip
        about, arrays = _worker.call("predict", body, sent)
        warn(about["warnings"])
        shaped = [array.reshape(len(X), *self._columns) for array in arrays]
        return tuple(shaped) if len(shaped) > 1 else shaped[0]

    def _rows(self, X: Any, sent: list[npt.NDArray[Any]]) -> dict[str, Any]:
        """Return rows as the worker takes them, and append their arrays to those that are sent."""
        if not self._names:  # from a pickle of an earlier version, whose models take arrays
            sent.append(X)
            return {}
        table = _tables.table_of(X, "X").renamed(self._names)
        return {**self._about(table), "table": table.pack(sent)}

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that several targets, gaps and sparse matrices are supported."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = not self.learners
        tags.input_tags.sparse = True
        return tags


def _is_frame(X: Any) -> bool:
    return _tables.is_frame(X, "pandas") or _tables.is_frame(X, "polars")


def _dense(X: Any) -> Any:
    """Return a sparse matrix as an array, and anything else as it is."""
    X = _tables.dense(X)
    if isinstance(X, Mapping):
        raise RequestError("X is a dictionary of columns: make it a frame")
    return X
