"""Which structures to compute next, from extended XYZ files of any length.

Frames are read one at a time; the chosen ones are written back as they were, with their order and
reasons. ASE is needed only where frames are parsed: to compute features from them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tables, _xyz
from ._batch import Batch
from ._errors import DataError, RequestError
from ._progress import reporter
from ._select import ProgressArgument, select_features
from ._xyz import Frames, Paths

__all__ = ["Frames", "features", "pooled", "radial", "select"]

Describe = Callable[[Any], Any]
Array = npt.NDArray[Any]

_BLOCK = 4096  # rows that are scaled at a time


def select(
    frames: Paths | Frames,
    features: Describe | Any,
    n: int,
    method: str | None = None,
    *,
    labelled: Any = None,
    out: str | os.PathLike[str] | None = None,
    scale: bool = True,
    seed: int | None = None,
    pending: Iterable[int] = (),
    must: Iterable[int] = (),
    exclude: Iterable[int] = (),
    threads: int = 0,
    max_memory: int | str | None = None,
    progress: ProgressArgument = False,
    random_state: Any = None,
) -> Batch:
    """Pick the frames to compute next.

    Parameters
    ----------
    frames : path, list of paths, or Frames
        The candidates, in extended XYZ files. They are never all in memory.
    features : callable, array, or path of a .npy file
        A function of `ase.Atoms`, such as `radial`, that returns a vector, or a matrix with a row per
        atom, of which `pooled` takes mean and deviation. Or the features themselves, a row per frame;
        a file is mapped into memory, not read as a whole.
    n : int
        How many frames to pick.
    method : str, optional
        As in `nextbatch.select_features`: ``"lcmd-tp:features"`` by default.
    labelled : path, list of paths, Frames, array, or path of a .npy file, optional
        What is labelled already: frames if `features` is a function, and features otherwise.
    out : path, optional
        Where to write the picks as extended XYZ, in their order. Each frame is as it was, byte for byte,
        but for the end of its comment: ``nextbatch_pick`` (from 1), ``nextbatch_reason``, and
        ``nextbatch_source``, such as ``pool.xyz@17``.
    scale : bool
        Whether to subtract the mean of each feature and divide by its standard deviation, over candidates
        and labelled frames. Without it, features are compared as they are.
    seed, pending, must, exclude, threads, max_memory, progress, random_state
        As in `nextbatch.select_features`; frames are named by their numbers.

    Returns
    -------
    Batch
        The picks with their reasons. Its `indices` are numbers of frames, its `ids` their sources.

    Examples
    --------
    >>> import ase.build, ase.io
    >>> import nextbatch.atoms
    >>> ase.io.write("pool.xyz", [ase.build.molecule(name) for name in ("H2O", "CH4", "CO2", "N2", "C6H6")])
    >>> batch = nextbatch.atoms.select("pool.xyz", nextbatch.atoms.radial, 2, out="next.xyz")
    >>> [atoms.info["nextbatch_pick"] for atoms in ase.io.iread("next.xyz")] == [1, 2]
    True
    """
    candidates = _indexed(frames, "frames")
    known = _indexed(labelled, "labelled") if callable(features) and labelled is not None else labelled
    if out is not None:  # before features are computed, which may take hours
        _xyz.must_differ(candidates, out)
    with reporter(progress) as report:
        pool = _rows(candidates, features, "features", report)
        if len(pool) != len(candidates):
            raise DataError(f"features has {len(pool)} rows for {len(candidates)} frames")
        train = None
        if known is not None:
            train = _rows(known, features if callable(features) else known, "labelled", report)
        if train is not None and train.shape[1] != pool.shape[1]:
            raise DataError(f"labelled has {train.shape[1]} features per frame, frames {pool.shape[1]}")
        if scale:
            pool, train = _scaled(pool, train)
        batch = select_features(
            train, pool, n, method, seed=seed, pending=pending, must=must, exclude=exclude,
            threads=threads, max_memory=max_memory, progress=report or False, random_state=random_state,
        )  # fmt: skip
    if out is not None:
        _xyz.write(candidates, batch.indices.tolist(), batch.reasons, out)
    # Without the features, which are of no use in a table of the picks.
    return replace(batch, ids=np.array([candidates.name(i) for i in batch.indices]), _pool=None)


def features(
    frames: Paths | Frames,
    describe: Describe | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    progress: ProgressArgument = False,
) -> Array:
    """Compute the features of frames, one frame at a time.

    Parameters
    ----------
    frames : path, list of paths, or Frames
        The frames.
    describe : callable, optional
        A function of `ase.Atoms` that returns a vector, or a matrix with a row per atom, of which `pooled`
        takes mean and deviation; `radial` by default.
    out : path, optional
        A .npy file to write them to, and to map: then they are not in memory, and `select` takes the file
        instead of computing them again.
    progress : bool or callable
        As in `nextbatch.select`.

    Returns
    -------
    ndarray of float32
        A row per frame.

    Examples
    --------
    >>> import ase.build, ase.io
    >>> import nextbatch.atoms
    >>> ase.io.write("pool.xyz", [ase.build.molecule(name) for name in ("H2O", "CH4", "CO2")])
    >>> nextbatch.atoms.features("pool.xyz", out="pool.npy").shape
    (3, 50)
    """
    with reporter(progress) as report:
        return _computed(_indexed(frames, "frames"), describe or radial, None if out is None else Path(out), report)


def pooled(rows: Any) -> Array:
    """Return mean and standard deviation of each column: features of a frame from those of its atoms.

    Examples
    --------
    >>> import nextbatch.atoms
    >>> nextbatch.atoms.pooled([[1.0, 5.0], [3.0, 5.0]]).tolist()
    [2.0, 5.0, 1.0, 0.0]
    """
    matrix = np.asarray(_tables.dense(rows), np.float64)
    return np.concatenate([matrix.mean(axis=0), matrix.std(axis=0)])


def radial(atoms: Any, cutoff: float = 6.0, bins: int = 12) -> Array:
    """Describe each atom by the distances to its neighbours, smoothly and simply.

    A row has the atomic number, a histogram of the distances within the cutoff, and the same histogram with
    every neighbour counted by its atomic number; a neighbour that crosses the cutoff fades out. There are no
    angles, and elements of similar numbers look alike: it is a start where no model of yours has descriptors.

    Parameters
    ----------
    atoms : ase.Atoms
        The structure, periodic or not.
    cutoff : float
        How far a neighbour may be, in the units of the positions.
    bins : int
        How many distances the histograms have.

    Returns
    -------
    ndarray of shape (atoms, 1 + 2·bins)
        The descriptors, for `pooled`.

    Examples
    --------
    >>> import ase.build
    >>> import nextbatch.atoms
    >>> nextbatch.atoms.radial(ase.build.molecule("H2O"), bins=12).shape
    (3, 25)
    """
    if not cutoff > 0 or bins < 1:
        raise RequestError(f"radial needs a positive cutoff and at least one bin, not {cutoff} and {bins}")
    first, second, distance = _neighbours(atoms, cutoff)
    width = cutoff / bins
    centres = width * (np.arange(bins) + 0.5)
    fading = 0.5 * (np.cos(np.pi * distance / cutoff) + 1)
    bumps = fading * np.exp(-(((distance - centres[:, None]) / width) ** 2) / 2)
    weights = [np.ones(len(second)), atoms.numbers[second] / 10]
    columns = [np.bincount(first, bump * weight, len(atoms)) for weight in weights for bump in bumps]
    return np.column_stack([atoms.numbers / 10, *columns])


def _neighbours(atoms: Any, cutoff: float) -> tuple[Array, Array, Array]:
    """Return all pairs of an atom and a neighbour, or an image of one, and their distances.

    ASE's own list takes a hundred times as long for small cells, which it divides into smaller ones.
    """
    from scipy.spatial import cKDTree  # ASE needs SciPy, too

    positions = atoms.get_positions(wrap=True)
    cell = np.asarray(atoms.cell.complete())
    heights = 1 / np.linalg.norm(np.linalg.inv(cell), axis=0)
    reach = np.where(atoms.pbc, np.ceil(cutoff / heights), 0).astype(int)
    shifts = np.stack(np.meshgrid(*(np.r_[0 : k + 1, -k:0] for k in reach), indexing="ij"), -1).reshape(-1, 3)
    images = (shifts @ cell)[:, None] + positions  # those without a shift come first
    pairs = cKDTree(positions).sparse_distance_matrix(cKDTree(images.reshape(-1, 3)), cutoff, output_type="ndarray")
    pairs = pairs[pairs["i"] != pairs["j"]]
    return pairs["i"], pairs["j"] % len(positions), pairs["v"]


def _indexed(frames: Any, name: str) -> Frames:
    if isinstance(frames, np.ndarray):
        raise RequestError(f"{name} must be frames where features is a function: an extended XYZ file, not an array")
    return frames if isinstance(frames, Frames) else Frames(frames)


def _rows(frames: Frames, features: Any, name: str, report: Any) -> Array:
    """Return features that are there, or compute them."""
    return _computed(frames, features, None, report) if callable(features) else _given(features, name)


def _given(features: Any, name: str) -> Array:
    """Return features that the caller has; those in a file are mapped."""
    if not isinstance(features, (str, os.PathLike)):
        return _tables.matrix_of(features, name)
    if Path(features).suffix != ".npy":
        raise RequestError(f"{name} is the path {os.fspath(features)!r}, not that of a .npy file")
    return _tables.matrix_of(np.load(features, mmap_mode="r"), name)


def _computed(frames: Frames, describe: Describe, out: Path | None, report: Any) -> Array:
    first = _described(frames, 0, describe)
    shape = len(frames), len(first)
    part = None if out is None else out.with_name(out.name + ".part")
    rows = np.empty(shape, np.float32) if part is None else np.lib.format.open_memmap(part, "w+", np.float32, shape)
    rows[0] = first
    for i in range(1, len(frames)):
        row = _described(frames, i, describe)
        if row.shape != first.shape:
            raise DataError(f"{frames.name(i)} has {len(row)} features, the first frame {len(first)}")
        rows[i] = row
        if report is not None and (i + 1 == len(frames) or i % 64 == 0):
            report("features", i + 1, len(frames))
    if part is None or out is None:
        return rows
    del rows  # written, and no longer mapped, so that Windows lets it be renamed
    os.replace(part, out)
    return np.load(out, mmap_mode="r")  # type: ignore[no-any-return]


def _described(frames: Frames, i: int, describe: Describe) -> Array:
    """Return the features of a frame."""
    row = _tables.to_numpy(describe(frames[i]), f"what features returns for {frames.name(i)}")
    if row.ndim == 2:
        row = pooled(row)
    if row.ndim != 1 or len(row) == 0:
        raise DataError(f"{frames.name(i)}: features returns the shape {row.shape}, not a vector or a row per atom")
    if not np.isfinite(row).all():
        raise DataError(f"{frames.name(i)}: its features are not all finite")
    return row


def _scaled(pool: Array, train: Array | None) -> tuple[Array, Array | None]:
    """Return features with mean 0 and standard deviation 1; those that do not vary become 0."""
    parts = [part for part in (pool, train) if part is not None and len(part)]
    count = sum(len(part) for part in parts)
    mean = sum(block.sum(axis=0, dtype=np.float64) for part in parts for block in _blocks(part)) / count
    squares = sum(((block - mean) ** 2).sum(axis=0) for part in parts for block in _blocks(part))
    deviation = np.sqrt(squares / count)
    varies = deviation > 1e-6 * np.abs(mean)  # less is rounding
    factor = np.where(varies, 1 / np.where(varies, deviation, 1), 0)

    def scaled(rows: Array) -> Array:
        result = np.empty(rows.shape, np.float32)
        for at in range(0, len(rows), _BLOCK):
            result[at : at + _BLOCK] = (rows[at : at + _BLOCK] - mean) * factor
        return result

    return scaled(pool), None if train is None else scaled(train)


def _blocks(rows: Array) -> Iterable[Array]:
    return (rows[at : at + _BLOCK] for at in range(0, len(rows), _BLOCK))
