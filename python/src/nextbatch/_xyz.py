"""Frames of extended XYZ files, read where they lie and written as they were."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import DataError, RequestError

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Frames:
    """The frames of extended XYZ files. Only their places in the files are in memory.

    Parameters
    ----------
    paths : path, or list of paths
        The files. Their frames are numbered through, from 0.

    Examples
    --------
    >>> import nextbatch.atoms
    >>> frame = '2\\nProperties=species:S:1:pos:R:3 energy=-1.5\\nH 0 0 0\\nH 0 0 0.74\\n'
    >>> _ = open("pool.xyz", "w").write(3 * frame)
    >>> frames = nextbatch.atoms.Frames("pool.xyz")
    >>> len(frames), frames.name(2)
    (3, 'pool.xyz@2')
    """

    def __init__(self, paths: Paths) -> None:
        listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        if not listed:
            raise RequestError("give the path of an extended XYZ file, or several")
        self.paths = [Path(path) for path in listed]
        self._states = [_state(path) for path in self.paths]
        self._bounds = [_bounds(path) for path in self.paths]
        self._first = np.cumsum([0, *(len(bounds) - 1 for bounds in self._bounds)])

    def __len__(self) -> int:
        return int(self._first[-1])

    def __getitem__(self, frame: int) -> Any:
        """Return a frame as `ase.Atoms`."""
        try:
            return _read(self.text(frame).decode())
        except (ValueError, KeyError) as error:  # ASE's own errors are such, too
            raise DataError(f"{self.name(frame)}: ASE cannot read this frame: {error}") from error

    def __iter__(self) -> Iterator[Any]:
        return (self[frame] for frame in range(len(self)))

    def text(self, frame: int) -> bytes:
        """Return a frame as it is in its file.

        Examples
        --------
        >>> import nextbatch.atoms
        >>> _ = open("pool.xyz", "w").write("1\\n\\nH 0 0 0\\n")
        >>> nextbatch.atoms.Frames("pool.xyz").text(0)
        b'1\\n\\nH 0 0 0\\n'
        """
        file, number = self._place(frame)
        path, bounds = self.paths[file], self._bounds[file]
        if _state(path) != self._states[file]:
            raise DataError(f"{path} has changed since its frames were counted")
        with open(path, "rb") as lines:
            lines.seek(bounds[number])
            return lines.read(int(bounds[number + 1] - bounds[number]))

    def name(self, frame: int) -> str:
        """Return the file and the number of a frame, as `ase.io.read` takes them.

        Examples
        --------
        >>> import nextbatch.atoms
        >>> _ = open("pool.xyz", "w").write("1\\n\\nH 0 0 0\\n")
        >>> nextbatch.atoms.Frames("pool.xyz").name(0)
        'pool.xyz@0'
        """
        file, number = self._place(frame)
        return f"{self.paths[file]}@{number}"

    def _place(self, frame: int) -> tuple[int, int]:
        """Return the file of a frame, and its number there."""
        if not 0 <= frame < len(self):
            raise IndexError(f"there is no frame {frame}: there are {len(self)}, from 0")
        file = int(np.searchsorted(self._first, frame, side="right")) - 1
        return file, int(frame - self._first[file])


def _state(path: Path) -> tuple[int, int]:
    """Return what changes when a file is written."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _bounds(path: Path) -> npt.NDArray[np.int64]:
    """Return where each frame of a file begins, and where the last one ends."""
    bounds, at, line = [0], 0, 1
    with open(path, "rb") as lines:
        while head := lines.readline():
            if not head.strip():
                _only_blank(path, lines, line)
                break
            atoms = _count(path, head, line)
            sizes = [len(row) for row in islice(lines, atoms + 1)]
            if len(sizes) <= atoms:
                raise DataError(f"{path}, line {line}: the frame ends after {max(0, len(sizes) - 1)} of {atoms} atoms")
            at += len(head) + sum(sizes)
            line += atoms + 2
            bounds.append(at)
    if len(bounds) == 1:
        raise DataError(f"{path} has no frames")
    return np.array(bounds, np.int64)


def _count(path: Path, head: bytes, line: int) -> int:
    """Return the number of atoms that a frame begins with."""
    text = head.strip()
    if not text.isdigit() or int(text) == 0:
        shown = text[:40].decode(errors="replace")
        raise DataError(f"{path}, line {line}: a frame begins with its number of atoms, not with {shown!r}")
    return int(text)


def _only_blank(path: Path, lines: Any, line: int) -> None:
    """Reject a file in which frames follow an empty line: readers differ in whether they see them."""
    if any(row.strip() for row in lines):
        raise DataError(f"{path}, line {line}: there is an empty line between frames")


def _read(text: str) -> Any:
    try:
        from ase.io.extxyz import read_xyz
    except ImportError as error:
        raise ImportError("nextbatch.atoms needs ASE to read frames: pip install ase") from error
    return next(read_xyz(StringIO(text), 0))


_OURS = re.compile(rb' nextbatch_(?:pick=\d+|reason="(?:[^"\\]|\\.)*"|source="(?:[^"\\]|\\.)*")')


def write(frames: Frames, picks: Sequence[int], reasons: Sequence[str], out: str | os.PathLike[str]) -> None:
    """Write frames as they were, with order, reason and source at the end of the comment."""
    target = Path(out)
    part = target.with_name(target.name + ".part")
    with open(part, "wb") as file:
        for order, (frame, reason) in enumerate(zip(picks, reasons, strict=True), 1):
            file.write(_marked(frames.text(frame), order, reason, frames.name(frame)))
    os.replace(part, target)


def must_differ(frames: Frames, out: str | os.PathLike[str]) -> None:
    """Reject an output that would overwrite the frames."""
    if os.path.exists(out) and any(path.samefile(out) for path in frames.paths):
        raise RequestError(f"out={os.fspath(out)!r} is one of the files that the frames are read from")


def _marked(text: bytes, order: int, reason: str, source: str) -> bytes:
    """Return a frame with our keys in its comment, instead of those of an earlier batch."""
    head, comment, atoms = re.split(rb"(?<=\n)", text, maxsplit=2)
    bare = comment.rstrip(b"\r\n")
    keys = f" nextbatch_pick={order} nextbatch_reason={_quoted(reason)} nextbatch_source={_quoted(source)}"
    ending = b"" if atoms.endswith(b"\n") else b"\n"
    return head + _OURS.sub(b"", bare) + keys.encode() + comment[len(bare) :] + atoms + ending


def _quoted(text: str) -> str:
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
