"""Frames of extended XYZ files are picked by features, and written as they were."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import nextbatch
from nextbatch.atoms import Frames, _neighbours, features, pooled, radial, select

COMMENT = 'Lattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3 energy={} config="a \\"b\\""'


def frame(rng: np.random.Generator, atoms: int, ending: str = "\n") -> bytes:
    """A frame with odd spaces, which a program that writes it anew would change."""
    lines = [f"  {atoms}", COMMENT.format(rng.normal())]
    lines += [f"{rng.choice(['Cu', 'O'])}  {x:.3f}\t{y:.10f} {z}" for x, y, z in rng.uniform(0, 9, (atoms, 3))]
    return "".join(line + ending for line in lines).encode()


@pytest.fixture
def texts(rng) -> list[bytes]:
    return [frame(rng, int(atoms), ending) for atoms, ending in zip(rng.integers(1, 30, 40), 20 * ["\n", "\r\n"])]


@pytest.fixture
def files(texts, tmp_path, monkeypatch) -> list[str]:
    """The frames in two files: the first ends without a line break, the second with empty lines."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.xyz").write_bytes(b"".join(texts[:15]).rstrip(b"\n"))
    (tmp_path / "b.xyz").write_bytes(b"".join(texts[15:]) + b"\n \n")
    return ["a.xyz", "b.xyz"]


def unmarked(text: bytes) -> bytes:
    return re.sub(rb' nextbatch_pick=\d+ nextbatch_reason="[^"]*" nextbatch_source="[^"]*"', b"", text)


def test_frames_are_found(files, texts):
    frames = Frames(files)
    assert len(frames) == 40
    assert [frames.text(i) for i in range(40)] == [*texts[:14], texts[14].rstrip(b"\n"), *texts[15:]]
    assert (frames.name(14), frames.name(15)) == ("a.xyz@14", "b.xyz@0")
    assert len(Frames("a.xyz")) == 15
    for wrong in (40, -1):
        with pytest.raises(IndexError, match="40, from 0"):
            frames.text(wrong)


def test_picks_are_written_as_they_were(files, texts, rng):
    rows = rng.normal(size=(40, 6)).astype(np.float32)
    np.save("rows.npy", rows)
    batch = select(files, "rows.npy", 12, out="next.xyz")
    frames = Frames("next.xyz")
    assert [unmarked(frames.text(k)) for k in range(12)] == [texts[i] for i in batch.indices]
    comments = [frames.text(k).splitlines()[1].decode() for k in range(12)]
    for k, (comment, reason, name) in enumerate(zip(comments, batch.reasons, batch.ids), 1):
        assert comment.endswith(f' nextbatch_pick={k} nextbatch_reason="{reason}" nextbatch_source="{name}"')
    assert list(batch.ids) == [Frames(files).name(i) for i in batch.indices]
    assert sorted(os.listdir()) == ["a.xyz", "b.xyz", "next.xyz", "rows.npy"]


def test_a_second_round_replaces_the_marks(files, rng):
    rows = rng.normal(size=(40, 3))
    select(files, rows, 12, out="first.xyz")
    again = select("first.xyz", rows[:12], 12, out="second.xyz")
    marks = Frames("second.xyz").text(0).splitlines()[1]
    assert marks.count(b"nextbatch_pick=") == marks.count(b"nextbatch_source=") == 1
    assert f'nextbatch_source="first.xyz@{again.indices[0]}"'.encode() in marks


def test_the_batch_is_that_of_the_features(files, rng):
    rows, train = rng.normal(size=(40, 5)) * [1, 2, 3, 4, 0] + 7, rng.normal(size=(8, 5)) * [1, 2, 3, 4, 0] + 7
    plain = select(files, rows, 9, "maxdist-tp:features", labelled=train, scale=False, exclude=[3], must=[5])
    same = nextbatch.select_features(train, rows, 9, "maxdist-tp:features", exclude=[3], must=[5])
    assert plain.indices.tolist() == same.indices.tolist()
    both = np.concatenate([rows, train])
    by_hand = (both - both.mean(axis=0)) / np.where(both.std(axis=0) > 0, both.std(axis=0), 1)
    scaled = select(files, rows.astype(np.float32), 9, labelled=train.astype(np.float32))
    assert scaled.indices.tolist() == nextbatch.select_features(by_hand[40:], by_hand[:40], 9).indices.tolist()


@pytest.mark.parametrize(("content", "message"), [
    (b"", "x.xyz has no frames"),
    (b"\n\n", "x.xyz has no frames"),
    (b"2\n\nH 0 0 0\n", "line 1: the frame ends after 1 of 2 atoms"),
    (b"1\n\nH 0 0 0\n1\n", "line 4: the frame ends after 0 of 1 atoms"),
    (b"1\n\nH 0 0 0\nH 0 0 1\n", "line 4: a frame begins with its number of atoms, not with 'H 0 0 1'"),
    (b"0\n\n", "not with '0'"),
    (b"1\n\nH 0 0 0\n\n1\n\nH 0 0 0\n", "line 4: there is an empty line between frames"),
    (b"\x1f\x8b\x08\x00", "line 1: a frame begins"),
])  # fmt: skip
def test_files_that_are_not_frames(tmp_path, content, message):
    (tmp_path / "x.xyz").write_bytes(content)
    with pytest.raises(nextbatch.DataError, match=re.escape(message)):
        Frames(tmp_path / "x.xyz")


def test_misuse(files, rng):
    rows = rng.normal(size=(40, 3))
    with pytest.raises(nextbatch.RequestError, match="is one of the files"):
        select(files, rows, 3, out="./a.xyz")
    assert len(Frames("a.xyz")) == 15
    with pytest.raises(nextbatch.DataError, match="39 rows for 40 frames"):
        select(files, rows[1:], 3)
    with pytest.raises(nextbatch.DataError, match="labelled has 2 features per frame, frames 3"):
        select(files, rows, 3, labelled=rows[:, :2])
    with pytest.raises(nextbatch.RequestError, match=r"not that of a \.npy file"):
        select(files, rows, 3, labelled="b.xyz")
    with pytest.raises(nextbatch.RequestError, match="must be frames where features is a function"):
        select("a.xyz", len, 3, labelled=rows)
    with pytest.raises(nextbatch.RequestError, match="give the path"):
        Frames([])


def test_a_file_that_changes_is_noticed(files):
    frames = Frames("a.xyz")
    with open("a.xyz", "ab") as file:
        file.write(b"\n")
    with pytest.raises(nextbatch.DataError, match="has changed"):
        frames.text(0)


def test_ase_reads_what_was_written(files, texts):
    io = pytest.importorskip("ase.io")
    batch = select(files, radial, 10, labelled="a.xyz", out="next.xyz")
    for k, atoms in enumerate(io.iread("next.xyz")):
        source = io.read(batch.ids[k])
        assert (atoms.positions == source.positions).all() and (atoms.numbers == source.numbers).all()
        assert atoms.get_potential_energy() == source.get_potential_energy() and (atoms.cell == source.cell).all()
        assert atoms.info["config"] == 'a "b"' and atoms.info["nextbatch_pick"] == k + 1
        assert (atoms.info["nextbatch_reason"], atoms.info["nextbatch_source"]) == (batch.reasons[k], batch.ids[k])


def test_features_of_frames(files):
    pytest.importorskip("ase")
    steps: list[tuple[str, int, int]] = []
    rows = features(files, out="rows.npy", progress=lambda *step: steps.append(step))
    assert rows.shape == (40, 50) and rows.dtype == np.float32 and isinstance(rows, np.memmap)
    assert steps[-1] == ("features", 40, 40)
    frames = Frames(files)
    for i in (0, 14, 39):
        np.testing.assert_allclose(rows[i], pooled(radial(frames[i])), rtol=1e-6)
    assert select(files, "rows.npy", 8).indices.tolist() == select(files, radial, 8).indices.tolist()
    assert features(files, lambda atoms: [len(atoms), atoms.cell.volume])[:3].tolist() == [[len(frames[i]), 729] for i in range(3)]
    assert features("a.xyz", lambda atoms: atoms.positions).shape == (15, 6)


def test_radial_is_smooth_and_invariant(rng):
    ase = pytest.importorskip("ase")
    build = pytest.importorskip("ase.build")
    water = build.molecule("H2O")
    before = radial(water)
    water.rotate(77, (1, 2, 3))
    water.translate((5, 4, 3))
    np.testing.assert_allclose(radial(water), before, atol=1e-12)
    np.testing.assert_allclose(pooled(radial(water[[2, 0, 1]])), pooled(before), atol=1e-12)

    def pair(distance):
        return radial(ase.Atoms("H2", [(0, 0, 0), (0, 0, distance)]))

    assert np.abs(pair(5.999) - pair(6.001)).max() < 1e-6  # a neighbour that crosses the cutoff fades out
    assert np.abs(pair(2.0) - pair(2.001)).max() < 1e-2 < np.abs(pair(2.0) - pair(2.5)).max()
    crystal = build.bulk("Cu", "fcc", 3.6)  # periodic: one atom with its images
    np.testing.assert_allclose(pooled(radial(crystal)), pooled(radial(crystal * (2, 1, 2))), atol=1e-9)
    assert radial(crystal)[0, 1:].sum() > 10
    assert radial(ase.Atoms("H"))[0, 1:].max() == 0  # an atom alone


@pytest.mark.parametrize("pbc", [(1, 1, 1), (1, 1, 0), (0, 1, 0), (0, 0, 0)])
def test_neighbours_are_those_of_ase(rng, pbc):
    ase = pytest.importorskip("ase")
    from ase.neighborlist import neighbor_list

    for cell in ([[5, 0, 0], [2, 6.1, 0], [1, 1, 7]], [[14, 0, 0], [0, 3.1, 0], [0, 0, -9]]):
        atoms = ase.Atoms("CuAgO4", rng.uniform(-3, 12, (6, 3)), cell=cell, pbc=pbc)  # some lie outside of the cell
        pairs = [np.column_stack(lists)[np.lexsort(lists[::-1])] for lists in (neighbor_list("ijd", atoms, 6.0), _neighbours(atoms, 6.0))]
        np.testing.assert_allclose(*pairs, rtol=1e-9)
        assert len(pairs[0]) >= 2
    loose = ase.Atoms("H2", [(0, 0, 0), (0, 0, 1)])  # no cell at all
    assert _neighbours(loose, 6.0)[2].tolist() == [1, 1]


def test_features_that_cannot_be_used(files):
    pytest.importorskip("ase")
    with pytest.raises(nextbatch.DataError, match=r"a\.xyz@0: its features are not all finite"):
        features(files, lambda atoms: [np.nan])
    with pytest.raises(nextbatch.DataError, match=r"a\.xyz@0: features returns the shape \(\)"):
        features(files, lambda atoms: 1.0)
    with pytest.raises(nextbatch.DataError, match=r"@\d+ has \d+ features, the first frame \d+"):
        features(files, lambda atoms: atoms.numbers, out="rows.npy")
    assert not os.path.exists("rows.npy")
    with open("bad.xyz", "w") as file:
        file.write("1\n\nH 0 0 word\n")
    with pytest.raises(nextbatch.DataError, match=r"bad\.xyz@0: ASE cannot read this frame"):
        features("bad.xyz")


def test_without_ase(files):
    code = (
        "import sys; sys.modules['ase'] = None\n"
        "import numpy as np, nextbatch.atoms\n"
        "print(len(nextbatch.atoms.select('a.xyz', np.eye(15), 3, out='next.xyz')))\n"
        "try: nextbatch.atoms.select('a.xyz', nextbatch.atoms.radial, 3)\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "3\nnextbatch.atoms needs ASE to read frames: pip install ase\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_frames_are_not_held_in_memory(tmp_path, rng):
    """A file of 40 MB is indexed, and picks are taken from it, in a fraction of that."""
    block = b"".join(frame(rng, 40) for _ in range(50))
    (tmp_path / "pool.xyz").write_bytes(block * (40_000_000 // len(block)))
    code = (
        "import numpy as np, nextbatch.atoms\n"
        "def peak(): return int(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])\n"
        "before = peak()\n"
        "frames = nextbatch.atoms.Frames('pool.xyz')\n"
        "rows = np.random.default_rng(0).normal(size=(len(frames), 4)).astype('f')\n"
        "nextbatch.atoms.select(frames, rows, 50, out='next.xyz')\n"
        "print(len(frames), peak() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path)
    count, grown = map(int, done.stdout.split())
    assert count > 20_000 and grown < 20_000  # kB
