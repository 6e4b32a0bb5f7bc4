"""Selections from tables and from features."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _html, _learners, _tables, _worker
from ._arguments import Censored, Learner, Missing, checked
from ._batch import Batch, from_answer
from ._errors import DataError, NextbatchWarning, RequestError
from ._progress import reporter
from ._seed import drawn
from ._space import Space
from ._tables import Table

Floats = npt.NDArray[np.float64]
ProgressArgument = bool | Callable[[str, int, int], None]

_ROWS = 256  # of a batch, unless the caller says how many


def select(
    labelled: Any,
    y: Any,
    pool: Any = None,
    n: int = _ROWS,
    method: str | None = None,
    *,
    seed: int | None = None,
    weights: Sequence[float] | None = None,
    range: Any = None,
    label_sd: Any = None,
    id: str | None = None,
    categorical: Sequence[str] = (),
    keep: Sequence[str] = (),
    missing: Missing | None = None,
    censored: Censored | None = None,
    lod: Any = None,
    target: Any = None,
    earlier: Any = None,
    cost: str | None = None,
    budget: float | None = None,
    cost_aware: bool = False,
    group: str | None = None,
    per_group: int | None = None,
    group_input: bool = False,
    min_per_group: int | None = None,
    at_most_groups: int | None = None,
    same: str | Sequence[str] = (),
    runs: int | None = None,
    replicates: int | None = None,
    replicate_share: float | str | None = None,
    plate: str | None = None,
    controls: str | Sequence[str] = (),
    pending: Iterable[Any] = (),
    must: Iterable[Any] = (),
    exclude: Iterable[Any] = (),
    random_column: str | None = None,
    learner: Learner = "auto",
    learners: Sequence[Any] = (),
    hidden: Sequence[int] | None = None,
    activation: str | None = None,
    epochs: int | None = None,
    ensemble: int = 0,
    threads: int = 0,
    max_memory: int | str | None = None,
    plot: bool | None = None,
    progress: ProgressArgument = False,
    random_state: Any = None,
    space: Space | None = None,
) -> Batch:
    """Pick the rows to label next.

    A model is fitted to the labelled rows and turned into a kernel, by which the method picks.
    For the same rows and the same seed, the batch is that of the command ``nextbatch select``.

    Parameters
    ----------
    labelled : array, tensor or DataFrame
        The labelled rows. An array, a sparse matrix or a PyTorch tensor has numbers; a frame of pandas or
        polars, a table of pyarrow, or a dictionary of columns, may also have columns of categories and dates, and columns of text
        are read as those of a file: as numbers, whether they are written ``"12.5"``, ``"12,5"`` or ``"12,5 °C"``,
        with marks of missing values such as ``"n.d."``, or else as categories. Without `pool`, it holds the
        candidates, too. For a start without labels give ``pool[:0]``, with ``[]`` as `y`.
    y : array, str or list of str
        The label of each of these rows, or the name of the column with the labels. NaN means that
        a row has none. For several targets, an array with a column for each, or a list of names. Labels that
        are text are read as in a file.
    pool : array, tensor or DataFrame, optional
        The candidates. Without it, they are the rows of `labelled` that have no label.
    n : int
        How many rows to pick. With a `budget`, 0 means as many as fit into it.
    method : str, optional
        The method, as in ``"lcmd-tp:grad>sketch(512)"``. The default suits the learner. The command
        ``nextbatch specs`` lists them.
    seed : int, optional
        Of models and methods; 0 by default. The same seed gives the same batch.
    weights : list of float, optional
        How much each of several targets counts; 1 each by default.
    range : str or pair, optional
        What the labels can be, such as ``"0..100"`` or ``(0, 100)``, with None for no limit; for several targets
        one for all, or a list. Predictions and intervals keep to it, other labels are refused, and
        the labels may be learnt on another scale.
    label_sd : array, str or list of str, optional
        The standard deviation of each label's noise, or the name of its column; for several targets as `y`. Noisy labels
        count less. It is not an input.
    id : str, optional
        The column that names the rows. Without it, the index of a pandas frame does, or else their
        number, from 0.
    categorical : list of str
        Columns of numbers that are categories. A column of dtype category always is.
    keep : list of str
        Columns to use even if they look like row numbers, or as if they were measured together with the label:
        those that have values only where there is one, or equal it.
    missing : {"impute", "drop", "refuse"}, optional
        What to do about missing inputs: replace them by the median and mark them, which is the
        default, drop their rows, or raise an exception.
    censored : {"limit", "drop"}, optional
        What to do about numbers of which only a limit is known, such as ``"<0.5"`` in a column of text: take the
        limit and mark them in an input of its own, which is the default, or make them missing. Labels get no mark.
    lod : float or dict, optional
        The limit of detection of the labels, for those such as ``"<LOD"`` or ``"n.d."``, which are refused without it; by target
        in a dictionary.
    target : array, tensor or DataFrame, optional
        Rows of the distribution that the model will be used on, if that is not the one of the pool.
    earlier : DataFrame, pair or list of these, optional
        Labelled rows of an earlier campaign, another instrument or a simulation: a frame that has the columns of the labels,
        too, or a pair of rows and labels. They may lack columns, and the labels may be on another scale. What a model of them
        predicts is an input if that lowers the error on held-out labels; without labels, it picks the first batch.
    cost, budget, cost_aware : str, float, bool
        The column with the cost of each candidate, the most that the batch may cost, and whether to
        divide scores by costs.
    group, per_group, group_input : str, int, bool
        The column with the group of each candidate, how many rows of any group may be in the batch,
        and whether the column is an input as well.
    min_per_group, at_most_groups : int
        The fewest rows of every group that has candidates, and the most groups that the batch has rows of; with
        both, the fewest rows of each group in the batch.
    same, runs : str or list of str, int
        Columns whose values all rows of a run share, such as a temperature, and how many runs the batch has, each
        with values of its own; 1 by default.
    replicates, replicate_share : int, float or str
        How often each pick is measured, and the share of the batch that measures labelled rows once more, such as
        ``"1/8"`` or 0.125. Then `n` and `budget` count measurements: `Batch.measurements` lists them.
    plate, controls : str, list of str
        The rows and columns of the plates that measurements get wells on, such as ``"8x12"``, and what stays free
        for controls: wells, rows, columns or ranges, such as ``["A1", "12"]``.
    pending, must, exclude : list
        Rows that are out being labelled, rows that have to be in the batch, and rows that may not
        be, by their names.
    random_column : str, optional
        The column that is true where a label was drawn at random. From these rows, the error on the
        pool is estimated: ``batch.details["metrics"]["pool_rmse"]``.
    learner : {"auto", "network", "gp", "trees", "in-context"}
        The model: ``"auto"`` cross-fits a Gaussian process, trees and networks on the labelled rows and
        blends those that predict held-out rows best; ``"gp"`` and ``"trees"`` take these alone, and
        ``"network"`` is the paper's network. `Batch.learner` says what was chosen.
    learners : list of estimators, or of pairs of a name and an estimator
        Your own candidates for the blend, such as ``[Ridge(), ("forest", RandomForestRegressor())]``:
        estimators like those of scikit-learn. For each target, each is fitted five times with a part of
        the labelled rows held out, and once to all of them. It gets the array, or the columns of the frame
        that are inputs, as they are: a pipeline can encode words. Where a ``random_state`` is None, it
        becomes the seed. Your candidates take part in the predictions; the kernel is made of the others.
    hidden, activation, epochs, ensemble : list of int, str, int, int
        The network: widths of its hidden layers, activation function, epochs of training, and how
        many networks to train (0: as many as the method needs). None means the default of the
        command, which ``nextbatch select --help`` names: that of the paper.
    threads : int
        How many threads to use; 0 means all cores. The batch does not depend on it.
    max_memory : int or str, optional
        The most memory of the machine to use, in bytes or as ``"8GiB"``; without it, what is available.
    plot : bool, optional
        Compute what `Batch.plot` draws. None, the default, means only in a notebook, which shows it beside the picks.
    progress : bool or callable
        True shows bars: by tqdm, and in a notebook without it. A function is called with the stage, the number of steps that are
        done, and how many there are; an exception that it raises cancels the selection.
    random_state : int, RandomState or Generator, optional
        Another name of `seed`; a generator draws one.
    space : Space, optional
        A space of factors in place of `pool`: the candidates are ``space.candidates(seed=seed)``.

    Returns
    -------
    Batch
        The picks with their reasons.

    Raises
    ------
    RequestError, DataError
        If the arguments or the rows cannot be used. Both are kinds of ValueError.
    TooLittleMemoryError
        If there is not enough memory.
    DeviceError
        If the GPU failed.

    Examples
    --------
    >>> import numpy as np
    >>> import nextbatch
    >>> rng = np.random.default_rng(0)
    >>> labelled, pool = rng.normal(size=(40, 3)), rng.normal(size=(500, 3))
    >>> batch = nextbatch.select(labelled, labelled.sum(axis=1), pool, n=8, epochs=20)
    >>> pool[batch.indices].shape
    (8, 3)
    >>> [candidate["name"] for candidate in batch.candidates]
    ['gp', 'gp-sparse', 'gp-stationary', 'extra-trees', 'boosting', 'network']
    """
    seed = _seed(seed, random_state)
    given = checked(
        range=range, learner=learner, hidden=hidden, activation=activation, epochs=epochs, ensemble=ensemble, weights=weights, random_column=random_column,
        categorical=categorical, keep=keep, missing=missing, censored=censored, lod=lod, cost=cost, budget=budget, cost_aware=cost_aware, group=group,
        per_group=per_group, group_input=group_input, min_per_group=min_per_group, at_most_groups=at_most_groups, same=same, runs=runs,
        replicates=replicates, replicate_share=replicate_share, plate=plate, controls=controls,
    )  # fmt: skip
    if space is not None:
        if pool is not None:
            raise RequestError("give pool or space, not both")
        pool = space.candidates(seed=seed or 0)
        if labelled is None:
            labelled = {name: column[:0] for name, column in pool.items()}
    labelled, y, pool, target = (_tables.loaded(data) for data in (labelled, y, pool, target))
    id = checked(id=id).get("id")
    if pool is not None and _no_rows(labelled):
        labelled = _tables.dense(pool)[:0] if hasattr(pool, "__getitem__") else pool
    _tables.same_rows(labelled, y, "labelled")
    train = _tables.table_of(labelled, "labelled", id)
    candidates = None if pool is None else _tables.table_of(pool, "pool", id)
    if candidates is not None and candidates.rows == 0:
        raise DataError("pool has no rows: there is nothing to pick from")
    aims = None if target is None else _tables.table_of(target, "target", id)
    tables = [t for t in (train, candidates, aims) if t is not None]
    y_names = add_labels(train, y, tables)
    noise = add_noise(train, label_sd, y_names, tables)
    _same_columns(train, tables)
    id_name, names = _name_rows(train, candidates, id)
    chosen = candidates or train
    arrays: list[np.ndarray[Any, Any]] = []
    body = {
        **_common(n, method, seed, threads, max_memory, plot),
        **{which: names(rows) for which, rows in checked(pending=pending, must=must, exclude=exclude).items()},
        **given, "y": y_names, "label_sd": noise, "id": id_name or "", "ordered": _tables.orders(tables),
        "categorical": list(dict.fromkeys([*given["categorical"], *(c for t in tables for c in t.categorical)])),
        "keep": _tables.kept(given["keep"], tables), "target": None if aims is None else aims.pack(arrays),
    }  # fmt: skip
    if candidates is None:
        body["table"] = train.pack(arrays)
    else:
        body["train"], body["pool"] = train.pack(arrays), candidates.pack(arrays)
    body["earlier"] = earlier_tables(earlier, y_names, arrays)
    source = labelled if pool is None else pool
    ids = chosen.index if id is None else _tables.column_of(source, id)
    with reporter(progress) as report:
        if checked(learners=learners)["learners"]:
            leaks = _worker.call("leaks", body, arrays)[0]["columns"]
            not_inputs = [*y_names, *noise, *leaks, id or "", *(given[name] for name in ("cost", "random_column", "group") if name in given and not (name == "group" and group_input))]
            body["learners"] = _own_learners(learners, labelled, numbers_in(train, y_names, censored, lod), pool, not_inputs, seed, report, arrays)
        return _ask("select", body, arrays, report, source, ids)


def select_features(
    train: Any,
    pool: Any,
    n: int = _ROWS,
    method: str | None = None,
    *,
    target: Any = None,
    seed: int | None = None,
    pending: Iterable[int] = (),
    must: Iterable[int] = (),
    exclude: Iterable[int] = (),
    threads: int = 0,
    max_memory: int | str | None = None,
    plot: bool | None = None,
    progress: ProgressArgument = False,
    random_state: Any = None,
) -> Batch:
    """Pick the rows to label next by features that you have, from any model.

    No network is trained: rows are compared by their features as they are, so their scale matters.

    Parameters
    ----------
    train : array or tensor, or None
        Features of the labelled rows; None if there are none.
    pool : array or tensor
        Features of the candidates, with the same columns.
    n : int
        How many rows to pick.
    method : str, optional
        The method, with the kernel ``features``, as in ``"bait-f-p:features>train"``. The default
        is ``"lcmd-tp:features"``, or ``"lcmd-p:features"`` without labelled rows. With the kernel
        ``predictions``, as in ``"lcmd-tp:predictions"``, the columns are what the members of an
        ensemble predict, and rows are compared by how these differ.
    target : array or tensor, optional
        Features of the distribution that the model will be used on, if that is not the one of the
        pool.
    seed, threads, max_memory, plot, progress, random_state
        As in `select`.
    pending, must, exclude : list of int
        Rows of the pool that are out being labelled, that have to be in the batch, and that may
        not be.

    Returns
    -------
    Batch
        The picks with their reasons.

    Examples
    --------
    >>> import numpy as np
    >>> import nextbatch
    >>> rng = np.random.default_rng(0)
    >>> batch = nextbatch.select_features(rng.normal(size=(20, 4)), rng.normal(size=(100, 4)), n=5)
    >>> len(set(batch.indices))
    5
    """
    rows = _tables.matrix_of(pool, "pool")
    if len(rows) == 0:
        raise DataError("pool has no rows: there is nothing to pick from")
    none = np.empty((0, rows.shape[1]), rows.dtype)
    arrays = [rows]
    for data, name in ((train, "train"), (target, "target")):
        arrays.append(none if data is None else _tables.matrix_of(data, name))
    body = {
        **_common(n, method, _seed(seed, random_state), threads, max_memory, plot),
        **{which: _numbers(rows) for which, rows in checked(pending=pending, must=must, exclude=exclude).items()},
    }  # fmt: skip
    with reporter(progress) as report:
        return _ask("select_features", body, arrays, report, pool, None)


def earlier_tables(earlier: Any, y_names: Sequence[str], arrays: list[np.ndarray[Any, Any]]) -> list[dict[str, Any]]:
    """Return tables of earlier data as the worker takes them, and append their arrays to those that are sent."""
    several = earlier if isinstance(earlier, list) else [] if earlier is None else [earlier]
    packed = []
    for i, one in enumerate(several):
        name = "earlier" if len(several) == 1 else f"earlier[{i}]"
        rows, labels = one if isinstance(one, tuple) and len(one) == 2 else (one, None)
        table = _tables.table_of(rows, name)
        if labels is not None:
            columns = _tables.label_columns(_tables.loaded(labels), f"the labels of {name}", table.rows)
            if len(columns) != len(y_names):
                raise RequestError(f"{name} has {len(columns)} columns of labels, and y {len(y_names)}")
            for column, target in zip(columns, y_names, strict=True):
                table.add({**column, "name": target})
        packed.append(table.pack(arrays))
    return packed


def _seed(seed: int | None, random_state: Any) -> int:
    """Return the seed of a selection, which is 0 unless the caller says otherwise."""
    return 0 if seed is None and random_state is None else drawn(seed, random_state)


def _no_rows(labelled: Any) -> bool:
    """Whether an array, or a list, has no rows, and perhaps no columns either."""
    is_list = isinstance(labelled, (list, tuple, np.ndarray))
    return is_list and len(labelled) == 0


def _common(n: int, method: str | None, seed: int, threads: int, max_memory: int | str | None, plot: bool | None) -> dict[str, Any]:
    """Return the settings that both selections have."""
    plot = _html.in_notebook() if plot is None else plot
    return {"seed": seed, **checked(n=n, method=method, threads=threads, max_memory=max_memory, plot=plot)}


def _ask(kind: str, body: dict[str, Any], arrays: list[Any], report: _worker.Progress | None, pool: Any, ids: Any) -> Batch:
    answer, places = _worker.call(kind, body, arrays, report)
    if answer["missing"]:
        asked = answer["missing"] + len(answer["indices"])
        answer["warnings"].append(f"the batch has {len(answer['indices'])} of {asked} rows: {answer['short']}")
    batch = from_answer(answer, pool, ids, places)
    warn(batch.warnings)
    return batch


def warn(messages: Iterable[str]) -> None:
    """Issue warnings at the line that called this package."""
    package = os.path.dirname(__file__)
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == package:
        level, frame = level + 1, frame.f_back
    for message in messages:
        warnings.warn(message, NextbatchWarning, stacklevel=level)


def add_noise(train: Table, label_sd: Any, y_names: list[str], tables: list[Table]) -> list[str]:
    """Return the names of the columns with the standard deviations of labels, which are added unless they are names."""
    if label_sd is None:
        return []
    names = add_labels(train, label_sd, tables, "label_sd", "label_sd")
    if len(names) != len(y_names):
        raise RequestError(f"label_sd has {len(names)} columns, and y {len(y_names)}")
    return names


def add_labels(train: Table, y: Any, tables: list[Table], named: Any = None, argument: str = "y") -> list[str]:
    """Return the names of the columns with the labels, which are added unless y is names already.

    Their name is that of y, or `named`. Messages call them as the argument is called.
    """
    is_name = isinstance(y, str) or isinstance(y, (int, np.integer)) and not train.matrix_names
    names = [str(y)] if is_name else y
    if isinstance(names, (list, tuple)) and names and all(isinstance(name, str) for name in names):
        if train.matrix_names:
            raise RequestError(f"{argument}={y!r} names a column, but labelled is an array: give the labels themselves")
        for name in names:
            if name not in train.names():
                raise DataError(f"labelled has no column {name!r} with the labels; its columns are {', '.join(train.names())}")
        return list(names)
    if y is None:
        raise RequestError("give y: the labels, or the name of their column")
    columns = _tables.label_columns(y, argument, train.rows)
    named = getattr(y, "name", None) or named
    own = [str(named or "y")] if len(columns) == 1 else [f"{argument}{k}" for k in range(len(columns))]
    taken = {column for t in tables for column in t.names()}
    for k, name in enumerate(own):
        while name in taken:  # with an underscore before it, a column with the name of the label is not an input
            name = "_" + name if named else name + "_"
        own[k] = name
        train.add({**columns[k], "name": name})
    return own


def numbers_in(train: Table, names: list[str], censored: str | None, lod: Any) -> Floats:
    """Return the labels in a table, with a column for each target. The worker reads those that are text."""
    columns = {c["name"]: c for c in train.columns}
    for name in names:
        if columns[name]["kind"] not in ("numeric", "cells"):
            raise DataError(f"{train.name}: the labels in {name!r} are not numbers")
    if any(columns[name]["kind"] == "cells" for name in names):
        arrays: list[Any] = []
        _, numbers = _worker.call("labels", {"table": train.pack(arrays), "y": names, **checked(censored=censored, lod=lod)}, arrays)
        return np.column_stack(numbers)
    return np.column_stack([np.asarray(columns[name]["arrays"][0], np.float64) for name in names])


def _own_learners(
    learners: Sequence[Any], labelled: Any, labels: Floats, pool: Any, not_inputs: list[str], seed: int,
    report: _worker.Progress | None, arrays: list[Any],
) -> list[dict[str, Any]]:  # fmt: skip
    """Fit the user's own learners, and return them as the worker takes them."""
    if (~np.isnan(labels)).sum(axis=0).min() < _learners.FEWEST:
        return []  # too few for any model: the batch is spread over the inputs, or the worker says what is wrong
    inputs = _learners.inputs_of(labelled, "labelled", not_inputs, pool)
    candidates = np.flatnonzero(np.isnan(labels).all(axis=1))  # without a pool
    packed = []
    for own in _learners.cross_fit(learners, inputs, labels, seed, report):
        predicted = np.full(labels.shape, np.nan)
        if pool is not None:
            predicted = _learners.predict(own.name, own.estimators, _learners.inputs_of(pool, "pool", not_inputs, labelled))
        elif len(candidates):
            predicted[candidates] = _learners.predict(own.name, own.estimators, _learners.take(inputs, candidates))
        packed.append(_learners.pack(own.name, [own.held, predicted], arrays))
    return packed


def _same_columns(train: Table, tables: list[Table]) -> None:
    """Reject arrays that do not match, because their columns have no names."""
    for t in tables:
        if bool(t.matrix_names) != bool(train.matrix_names):
            raise RequestError(f"labelled and {t.name} must both be arrays, or both be frames")
        if len(t.matrix_names) != len(train.matrix_names):
            raise DataError(f"labelled has {len(train.matrix_names)} columns, {t.name} {len(t.matrix_names)}")


def _name_rows(
    train: Table, pool: Table | None, id: str | None
) -> tuple[str | None, Callable[[Iterable[Any]], list[str]]]:
    """Return the column that names the rows, and a function that translates names of candidates."""
    if id is not None:
        return id, lambda values: [str(v) for v in values]
    candidates = pool or train
    if candidates.index is None:
        return None, _numbers
    if not candidates.index.is_unique:
        warn([f"names in the index of {candidates.name} are there twice, so that batch.ids may name several rows: take the picks by frame.iloc[batch.indices]"])
    # The worker treats rows of equal name as the same row, so the index of two frames can be
    # used only if no row of one has the name of a row of the other.
    named = all(t is None or t.index is None or t.named for t in (train, pool))
    if named and (pool is None or train.index is None or not train.index.isin(pool.index).any()):
        name = str(candidates.index.name or "index")
        while name in train.names() or (pool is not None and name in pool.names()):
            name = "_" + name
        for t in (train, pool):
            if t is not None and t.index is not None:
                t.add(_tables.text_column(name, t.index))
        if train.index is not None:
            return name, lambda values: [str(v) for v in values]
        candidates.columns.pop()
    return None, lambda values: [str(_place(candidates, v)) for v in values]


def _place(table: Table, name: Any) -> int:
    """Return the number of the row that has a name in the index of a table."""
    at = np.flatnonzero(table.index.isin([name]))
    if len(at) == 0:
        raise RequestError(f"{table.name} has no row {name!r} in its index")
    if len(at) > 1:
        raise RequestError(f"{table.name} has {len(at)} rows {name!r} in its index: name the rows by a column, with id, or reset the index")
    return int(at[0])


def _numbers(values: Iterable[Any]) -> list[str]:
    """Return row numbers as the worker takes them."""
    wanted = list(values)
    for v in wanted:
        if isinstance(v, bool) or not isinstance(v, (int, np.integer)):
            raise RequestError(f"rows of arrays are named by their number, from 0, not by {v!r}")
    return [str(int(v)) for v in wanted]
