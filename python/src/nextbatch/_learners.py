"""A user's own learners: estimators like those of scikit-learn, as candidates of the blend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tables
from ._errors import DataError, RequestError
from ._frames import Array
from ._worker import Progress

Floats = npt.NDArray[np.float64]

_FOLDS = 5
FEWEST = 5  # labels of each target that cross-fitting needs


@dataclass
class Own:
    """A learner that was fitted here."""

    name: str
    held: Floats  # predictions for the rows, each by an estimator that has not learnt from it; NaN without a label
    estimators: list[Any]  # fitted to all labelled rows, one for each target


def cross_fit(learners: Sequence[Any], inputs: Any, labels: Floats, seed: int, report: Progress | None) -> list[Own]:
    """Fit each learner to the labelled rows, and predict these by estimators that have not learnt from them.

    The labels have a column for each target, with NaN where there is none. Rows are held out in folds that
    depend on the seed alone.
    """
    fitted = []
    for name, estimator in _named(learners):
        held, whole = np.full(labels.shape, np.nan), []
        steps = labels.shape[1] * (_FOLDS + 1)
        for k in range(labels.shape[1]):
            known = np.flatnonzero(~np.isnan(labels[:, k]))
            order = np.random.default_rng(seed).permutation(known)
            for fold in range(_FOLDS + 1):
                if report is not None:
                    report(f"fitting {name}", k * (_FOLDS + 1) + fold, steps)
                out = np.sort(order[fold::_FOLDS]) if fold < _FOLDS else order[:0]  # the last time, of all rows
                rest = np.setdiff1d(known, out)
                one = _fit(name, estimator, take(inputs, rest), labels[rest, k], seed)
                if len(out):
                    held[out, k] = _predict(name, one, take(inputs, out))
            whole.append(one)
        if report is not None:
            report(f"fitting {name}", steps, steps)
        fitted.append(Own(name, held, whole))
    return fitted


def predict(name: str, estimators: Sequence[Any], inputs: Any) -> Floats:
    """Return what the estimators of a learner predict, with a column for each target."""
    return np.column_stack([_predict(name, e, inputs) for e in estimators])


def pack(name: str, predictions: Sequence[Floats], arrays: list[Array]) -> dict[str, Any]:
    """Return a learner as the worker takes it, and append its predictions to the arrays of the frame."""
    first = len(arrays)
    arrays.extend(np.ascontiguousarray(p) for p in predictions)
    return {"name": name, "arrays": list(range(first, len(arrays)))}


def candidates_of(answer: Sequence[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Return the candidates of a blend, each with all its entries; one that was left out has no error."""
    return [{"left": "", "notes": [], **candidate, **({"error": None} if candidate.get("left") else {})} for candidate in answer or []]


def inputs_of(data: Any, name: str, without: Sequence[str], like: Any = None) -> Any:
    """Return rows as estimators take them: an array, or a frame without some columns.

    Of a frame, only those columns are kept that `like`, another frame, has as well.
    """
    if _tables.is_frame(data, "pandas") or _tables.is_frame(data, "polars"):
        columns = [c for c in data.columns if str(c) not in without and (like is None or c in like.columns)]
        return data[columns]
    if isinstance(data, Mapping):
        raise RequestError(f"learners take arrays and frames, but {name} is a dictionary of columns: make it a frame")
    matrix = _tables.matrix_of(data, name)
    return matrix[:, [j for j in range(matrix.shape[1]) if f"x{j}" not in without]]


def take(inputs: Any, rows: Array) -> Any:
    """Return some of the rows."""
    if _tables.is_frame(inputs, "pandas"):
        return inputs.iloc[rows]
    return inputs[rows]


def _named(learners: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return learners with their names: those that the user gave, or the names of their classes."""
    named: list[tuple[str, Any]] = []
    for learner in learners:
        pair = isinstance(learner, tuple) and len(learner) == 2 and isinstance(learner[0], str)
        name, estimator = learner if pair else (type(learner).__name__, learner)
        if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
            raise RequestError(f"learners are estimators with fit and predict, or pairs of a name and such an estimator, not {learner!r}")
        taken = [n for n, _ in named]
        if not pair and name in taken:
            name = next(f"{name}-{i}" for i in range(2, len(taken) + 3) if f"{name}-{i}" not in taken)
        named.append((name, estimator))
    return named


def _fit(name: str, estimator: Any, inputs: Any, labels: Floats, seed: int) -> Any:
    """Return a copy of an estimator that is fitted."""
    try:
        one = _seeded(_copy(estimator), seed)
        one.fit(inputs, labels)
    except Exception as error:
        raise DataError(f"the learner {name} cannot be fitted: {type(error).__name__}: {error}") from error
    return one


def _copy(estimator: Any) -> Any:
    """Return an estimator of the same parameters that is not fitted."""
    try:
        from sklearn.base import clone
    except ImportError as error:
        raise ImportError("learners need scikit-learn: pip install scikit-learn") from error
    return clone(estimator, safe=False)


def _seeded(estimator: Any, seed: int) -> Any:
    """Give an estimator a seed where it has none, so that one seed gives one batch."""
    if hasattr(estimator, "get_params") and hasattr(estimator, "set_params"):
        parameters = estimator.get_params(deep=True)
        free = [key for key, value in parameters.items() if value is None and key.split("__")[-1] == "random_state"]
        estimator.set_params(**dict.fromkeys(free, seed % 2**32))
    return estimator


def _predict(name: str, estimator: Any, inputs: Any) -> Floats:
    try:
        predicted = np.asarray(estimator.predict(inputs), np.float64)
    except Exception as error:
        raise DataError(f"the learner {name} cannot predict: {type(error).__name__}: {error}") from error
    if predicted.size != len(inputs) or not np.isfinite(predicted).all():
        raise DataError(f"the learner {name} should predict one finite number per row, for {len(inputs)} rows; its answer has the shape {predicted.shape}")
    return predicted.reshape(len(inputs))
