"""Results of the benchmark."""

from __future__ import annotations

import math
import os
import sqlite3
from pathlib import Path
from typing import Any

from ._errors import DataError

_APPLICATION = 0x4E425253  # marks a results file of nextbatch

_QUERY = """
SELECT rounds.run, runs.dataset, runs.activation, runs.spec AS method, runs.compat, runs.batch, runs.rounds, runs.split,
       rounds.round, rounds.labels, rounds.mae, rounds.rmse, rounds.maxe, rounds.q95, rounds.q99,
       rounds.training, rounds.features, rounds.selection, rounds.testing, rounds.elapsed,
       rounds.effective_dimension, rounds.fallbacks, rounds.threads
FROM rounds JOIN runs ON runs.id = rounds.run
ORDER BY runs.dataset, runs.activation, runs.spec, runs.batch, runs.split, rounds.round
"""

_ERRORS = ("mae", "rmse", "maxe", "q95", "q99")
_TARGETS = f"SELECT run, round, name, {', '.join(_ERRORS)} FROM targets ORDER BY run, round, target"


def read_results(path: str | os.PathLike[str]) -> Any:
    """Read the results of ``nextbatch bench run``.

    Parameters
    ----------
    path : path
        The results file. It may still be written to.

    Returns
    -------
    pandas.DataFrame
        One row per round: the run (``dataset``, ``activation``, ``method``, ``compat``, ``batch``,
        ``rounds``, ``split``), the ``round``, how many ``labels`` there were, the errors on the test
        set (``mae``, ``rmse``, ``maxe``, ``q95``, ``q99``), and seconds. With several targets, these are
        the errors of all labels together, and ``mae_y``, ``rmse_y`` and so on are those of target ``y``.

    Examples
    --------
    >>> import nextbatch
    >>> results = nextbatch.read_results("own.db")
    >>> results.groupby(["dataset", "method", "labels"])["rmse"].mean().index.names
    FrozenList(['dataset', 'method', 'labels'])
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("read_results needs pandas: pip install pandas") from error
    if not Path(path).is_file():
        raise DataError(f"{os.fspath(path)} does not exist")
    connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)
    try:
        if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise DataError(f"{os.fspath(path)} is not a results file of 'nextbatch bench run'")
        rows = connection.execute(_QUERY)
        names = [column[0] for column in rows.description]
        frame = pandas.DataFrame(rows.fetchall(), columns=names)
        earlier = connection.execute("PRAGMA user_version").fetchone()[0] < 2  # than there were errors of targets
        targets = [] if earlier else connection.execute(_TARGETS).fetchall()
    except sqlite3.Error as error:
        raise DataError(f"{os.fspath(path)} cannot be read: {error}") from error
    finally:
        connection.close()
    if targets:
        rows_of = {at: row for row, at in enumerate(zip(frame["run"], frame["round"]))}
        columns: dict[str, list[float]] = {}
        for run, round_, name, *errors in targets:
            for kind, value in zip(_ERRORS, errors):
                column = columns.setdefault(f"{kind}_{name}", [math.nan] * len(frame))
                if value is not None and (run, round_) in rows_of:
                    column[rows_of[run, round_]] = value
        frame = pandas.concat([frame, pandas.DataFrame(columns)], axis=1)
    return frame.drop(columns="run").astype({"compat": bool})
