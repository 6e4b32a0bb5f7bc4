"""A query strategy for scikit-activeml."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    from skactiveml.base import SingleAnnotatorPoolQueryStrategy
    from skactiveml.utils import MISSING_LABEL, is_labeled
except ImportError as error:
    raise ImportError("nextbatch.QueryStrategy needs scikit-activeml: pip install scikit-activeml") from error

from ._arguments import Learner
from ._seed import drawn
from ._select import select
from ._tables import dense


class QueryStrategy(SingleAnnotatorPoolQueryStrategy):  # type: ignore[misc]
    """The methods of nextbatch where scikit-activeml takes a pool query strategy, for regression.

    It needs no model: `query` fits nextbatch's own to the labelled rows. Loops that pass a regressor to every
    strategy, as ``reg=…``, work all the same.

    Parameters
    ----------
    method : str, optional
        The method, as in `nextbatch.select`.
    missing_label : scalar
        What marks a row without a label.
    random_state : int, RandomState or None
        Seed of models and methods.
    hidden, activation, epochs
        The network, as in `nextbatch.select`.
    learner : {"auto", "network", "gp", "trees", "in-context"}
        The model, as in `nextbatch.select`.
    seed : int, optional
        Another name of `random_state`.

    Examples
    --------
    >>> import numpy as np
    >>> from nextbatch import QueryStrategy
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> y = np.where(np.arange(80) < 20, X[:, 0], np.nan)
    >>> picks = QueryStrategy(epochs=5, random_state=0).query(X, y, batch_size=4)
    >>> len(picks), bool(np.isnan(y[picks]).all())
    (4, True)
    """

    def __init__(
        self,
        method: str | None = None,
        missing_label: float = MISSING_LABEL,
        random_state: Any = None,
        hidden: Sequence[int] | None = None,
        activation: str | None = None,
        epochs: int | None = None,
        learner: Learner = "auto",
        seed: int | None = None,
    ) -> None:
        super().__init__(missing_label=missing_label, random_state=random_state)
        self.method = method
        self.hidden = hidden
        self.activation = activation
        self.epochs = epochs
        self.learner = learner
        self.seed = seed

    def query(
        self,
        X: Any,
        y: Any,
        candidates: Any = None,
        batch_size: int = 1,
        return_utilities: bool = False,
        reg: Any = None,
        fit_reg: bool = True,
    ) -> Any:
        """Pick the rows to label next.

        Parameters
        ----------
        X : array of shape (rows, inputs)
            All rows, with and without a label.
        y : array of shape (rows,)
            The labels.
        candidates : array, optional
            The candidates: numbers of rows of `X`, or rows themselves; without it, all rows of `X`
            that have no label.
        batch_size : int
            How many rows to pick.
        return_utilities : bool
            Return utilities as well. A method of nextbatch does not compute those of all rows in each
            step, so that there is one per step, that of the row picked, and NaN elsewhere.
        reg, fit_reg
            Not used: strategies of scikit-activeml take a regressor here.

        Returns
        -------
        ndarray of int, or a tuple
            Rows of `X`, or of `candidates` if these are rows themselves; with `return_utilities`, a
            matrix with a row per step as well.

        Examples
        --------
        >>> import numpy as np
        >>> from nextbatch import QueryStrategy
        >>> X = np.random.default_rng(0).normal(size=(80, 2))
        >>> y = np.where(np.arange(80) < 20, X[:, 0], np.nan)
        >>> picks = QueryStrategy(epochs=5, random_state=0).query(X, y, candidates=[30, 40, 50], batch_size=2)
        >>> len(picks), set(picks.tolist()) <= {30, 40, 50}
        (2, True)
        """
        X, y, candidates, batch_size, return_utilities = self._validate_data(
            dense(X), dense(y), dense(candidates), batch_size, return_utilities, reset=True
        )
        seed = int(self.random_state_.randint(2**31)) if self.seed is None else drawn(self.seed, self.random_state)
        rows, numbers = self._transform_candidates(candidates, X, y)
        known = is_labeled(y, missing_label=self.missing_label_)
        batch = select(
            X[known], np.asarray(y, np.float64)[known], rows, batch_size, self.method,
            seed=seed, hidden=self.hidden, activation=self.activation, epochs=self.epochs,
            learner=self.learner,
        )  # fmt: skip
        picks = batch.indices if numbers is None else np.asarray(numbers)[batch.indices]
        if not return_utilities:
            return picks
        utilities = np.full((len(picks), len(rows) if numbers is None else len(X)), np.nan)
        utilities[np.arange(len(picks)), picks] = batch.scores
        return picks, utilities
