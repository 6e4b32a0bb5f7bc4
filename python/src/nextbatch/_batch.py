"""The answer to a selection."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _html
from ._errors import RequestError
from ._learners import candidates_of


@dataclass(frozen=True)
class Batch:
    """Rows to label next, the most useful first.

    Lists with one entry per pick are in the order of the picks.

    Attributes
    ----------
    indices : ndarray of int
        Positions of the picks among the candidates: ``pool[batch.indices]``, or
        ``frame.iloc[batch.indices]`` if labelled rows and candidates are in one frame.
    ids : ndarray
        The names of the picks: their values in the column ``id``, or in the index of the frame.
        Without either, the indices.
    scores : ndarray of float
        What the method ranks rows by. Methods have different scores; NaN where there is none.
    reasons : list of str
        Why each row is in the batch.
    predictions, low, high : ndarray of float
        What the model predicts for each pick, and intervals that hold the label with probability
        0.9; empty without a model, NaN with too few labels for an interval.
    learner : str
        What was chosen for the blend and why, such as ``"0.71 gp, 0.29 extra-trees (RMSE out of fold:
        …)"``; empty for a network alone. With several targets, that of the first; ``details["targets"]``
        has all.
    candidates : list of dict
        What was tried: ``name``, ``weight`` in the blend, ``error`` out of fold (None where it was left out), ``left``, why it was left
        out, and ``notes``, what went wrong.
    run : list of int
        The number of the run that each pick belongs to, from 1; empty without `same`.
    runs : list of dict
        The runs: their ``values`` of the columns that they share, and how many ``rows`` they have.
    measurements : list of dict
        What to measure, where that is not each pick once: with replicates, repeats of labelled rows, or plates. Each has
        its ``id``, its ``pick`` (from 0; -1 for a labelled row that is measured once more), ``replicate`` (from 1) and,
        with plates, ``plate`` (from 1) and ``well``.
    method : str
        The method that was used.
    seed : int
        The seed that was used.
    missing : int
        By how many rows the batch is smaller than requested.
    short : str
        Why it is smaller.
    warnings : list of str
        What you should know about the batch. They were also issued as `NextbatchWarning`.
    details : dict
        The whole answer, as ``nextbatch select --json`` prints it.

    Examples
    --------
    >>> import numpy as np
    >>> import nextbatch
    >>> batch = nextbatch.select_features(None, np.eye(5), 2, "maxdist-p:features")
    >>> len(batch)
    2
    >>> list(batch) == list(batch.indices)
    True
    """

    indices: npt.NDArray[np.int64]
    ids: npt.NDArray[Any]
    scores: npt.NDArray[np.float64]
    reasons: list[str]
    predictions: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    learner: str
    candidates: list[dict[str, Any]]
    run: list[int]
    runs: list[dict[str, Any]]
    measurements: list[dict[str, Any]]
    method: str
    seed: int
    missing: int
    short: str
    warnings: list[str]
    details: dict[str, Any] = field(repr=False)
    _pool: Any = field(default=None, repr=False)
    _places: list[npt.NDArray[np.float64]] = field(default_factory=list, repr=False)
    _alone: list[str] = field(default_factory=list, repr=False)  # the reasons without what is predicted

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __repr__(self) -> str:
        return _html.batch(self).text()

    def _repr_html_(self) -> str:
        return _html.batch_html(self)

    def to_frame(self) -> Any:
        """Return the picks as a frame, ready to be filled in.

        Returns
        -------
        DataFrame
            Of polars if the candidates were such a frame, otherwise of pandas. It has the columns
            ``pick`` (from 1), ``score`` and ``reason``, what the model predicts, and then those
            of the candidates; and, where the batch has them, ``run``, ``replicates``, how often it
            is measured, and ``wells``, separated by commas. A column of that name among the candidates keeps it, and ours gets a
            line in front of it: ``_score``.

        Examples
        --------
        >>> import numpy as np
        >>> import nextbatch
        >>> batch = nextbatch.select_features(None, np.eye(5), 2, "maxdist-p:features")
        >>> list(batch.to_frame().columns)
        ['index', 'pick', 'score', 'reason']
        """
        polars = sys.modules.get("polars")
        own: dict[str, Any] = {"pick": np.arange(1, len(self) + 1), "score": self.scores, "reason": self.reasons}
        own |= self._lab()
        if len(self.predictions):
            own |= {"prediction": self.predictions, "low": self.low, "high": self.high}
        if polars is not None and isinstance(self._pool, polars.DataFrame):
            return polars.DataFrame(_renamed(own, self._pool.columns)).hstack(self._pool[self.indices.tolist()])
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        if isinstance(self._pool, (pandas.DataFrame, dict)):
            rows = pandas.DataFrame(self._pool).iloc[self.indices]
            return pandas.concat([pandas.DataFrame(_renamed(own, rows.columns), index=rows.index), rows], axis=1)
        return pandas.DataFrame({"index": self.indices, **own})

    def _lab(self) -> dict[str, list[Any]]:
        """Return the columns about runs, replicates and wells, where the batch has them."""
        own: dict[str, list[Any]] = {"run": self.run} if self.run else {}
        of_pick: list[list[dict[str, Any]]] = [[] for _ in self.indices]
        for m in self.measurements:
            if m["pick"] >= 0:
                of_pick[m["pick"]].append(m)
        if any(len(some) > 1 for some in of_pick):
            own["replicates"] = [len(some) for some in of_pick]
        if any("well" in m for m in self.measurements):
            several = any(m.get("plate", 1) > 1 for m in self.measurements)
            own["wells"] = [", ".join(f"{m['plate']}:{m['well']}" if several else m["well"] for m in some) for some in of_pick]
        return own

    def plot(self, ax: Any = None) -> Any:
        """Draw candidates, labelled rows and picks in the plane in which the method sees them vary most.

        The selection has to compute the plane: call it with ``plot=True``, unless you are in a notebook.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; without it, a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes of the picture.

        Examples
        --------
        >>> import numpy as np
        >>> import nextbatch
        >>> rng = np.random.default_rng(0)
        >>> train, pool = rng.normal(size=(20, 4)), rng.normal(size=(100, 4))
        >>> batch = nextbatch.select_features(train, pool, n=5, plot=True)
        >>> batch.plot().get_title()
        'lcmd-tp:features'
        """
        if not self._places:
            raise RequestError("the batch has no picture: call the selection with plot=True")
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plot needs matplotlib: pip install matplotlib") from error
        if ax is None:
            _, ax = plt.subplots()
        candidates, labelled, picks = self._places
        ax.scatter(*candidates.T, s=6, c="lightgrey", label="candidates")
        ax.scatter(*labelled.T, s=14, c="tab:blue", label="labelled")
        ax.scatter(*picks.T, s=22, c="tab:red", marker="x", label="picks")
        ax.set_xlabel("first direction")
        ax.set_ylabel("second direction")
        ax.set_title(self.method)
        ax.legend()
        return ax


def _renamed(own: dict[str, Any], taken: Sequence[Any]) -> dict[str, Any]:
    """Return our columns with names that the candidates do not have."""
    names = set(taken)
    renamed = {}
    for name, values in own.items():
        while name in names:
            name = "_" + name
        renamed[name] = values
    return renamed


def from_answer(body: dict[str, Any], pool: Any, ids: Any, places: list[npt.NDArray[Any]]) -> Batch:
    """Make a batch from the worker's answer. The ids are those of all candidates, or None."""
    alone = body.pop("reasons_alone", body["reasons"])
    indices = np.array(body["indices"], np.int64)
    predicted = body["predictions"]
    return Batch(
        indices=indices,
        ids=indices if ids is None else np.asarray(ids)[indices],
        scores=_floats(body["scores"]),
        reasons=body["reasons"],
        predictions=_floats([p["value"] for p in predicted]),
        low=_floats([p.get("low") for p in predicted]),
        high=_floats([p.get("high") for p in predicted]),
        learner=body.get("learner", ""),
        candidates=candidates_of(body.get("candidates")),
        run=body.get("run", []),
        runs=body.get("runs", []),
        measurements=body.get("measurements", []),
        method=body["spec"],
        seed=body["seed"],
        missing=body["missing"],
        short=body["short"],
        warnings=body["warnings"],
        details=body,
        _pool=pool,
        _places=places,
        _alone=alone,
    )


def _floats(values: Sequence[float | None]) -> npt.NDArray[np.float64]:
    return np.array([np.nan if v is None else v for v in values], np.float64)
