"""Measures nextbatch.atoms on a large extended XYZ file: seconds and peak memory of every step.

    python atoms.py FOLDER [--frames 100000] [--labelled 1000] [-n 256] [--columns 1000]

FOLDER gets pool.xyz and labelled.xyz, unless they are there: crystals of copper, silver and gold of various sizes and
spacings, some with vacancies, with every atom displaced at random; 32 atoms each on average. The steps are those of a first round: count the
frames, compute `radial` of every frame into pool.npy, pick, and write the picks. With --columns, the features are that many random
numbers per frame instead, which are made before. The steps run in a process of their own. Peak memory is
the most that this process has had resident, mapped pages of pool.npy included (VmHWM), plus the most that its worker has had.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

LATTICE = {"Cu": 3.61, "Ag": 4.09, "Au": 4.08}


def frame(rng):
    """Return a frame of 2 to 108 atoms: an fcc alloy, compressed or expanded, with up to two vacancies and displaced atoms."""
    cells = np.stack(np.meshgrid(*(np.arange(k) for k in rng.integers(1, 4, 3)), indexing="ij"), -1).reshape(-1, 3)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    sites = (cells[:, None] + basis).reshape(-1, 3)
    kept = rng.permutation(len(sites))[rng.integers(0, 3) :]
    elements = rng.choice(list(LATTICE), len(kept), p=rng.dirichlet(np.ones(3)))
    spacing = np.mean([LATTICE[e] for e in elements]) * rng.uniform(0.94, 1.06)
    positions = spacing * sites[kept] + rng.normal(0, 0.15 * rng.random(), (len(kept), 3))
    box = spacing * (cells.max(axis=0) + 1)
    lattice = " ".join(f"{v:.6f}" for v in np.diag(box).ravel())
    lines = [str(len(kept)), f'Lattice="{lattice}" Properties=species:S:1:pos:R:3 pbc="T T T"']
    lines += [f"{e} {x:15.8f} {y:15.8f} {z:15.8f}" for e, (x, y, z) in zip(elements, positions)]
    return "\n".join(lines) + "\n"


def write_frames(path, frames, seed):
    if path.exists():
        return
    rng = np.random.default_rng(seed)
    with open(path, "w") as file:
        for _ in range(frames):
            file.write(frame(rng))


def peak(process):
    """Return the most memory that a process has had resident, in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def write_random(path, rows, columns):
    features = np.lib.format.open_memmap(path, "w+", np.float32, (rows, columns))
    for row in features:
        row[:] = np.random.standard_normal(columns)


def measure(folder, n, columns):
    import nextbatch.atoms
    from nextbatch import _worker

    os.chdir(folder)
    begin = time.perf_counter()

    def done(step):
        nonlocal begin
        print(f"{step:40} {time.perf_counter() - begin:8.1f} s, peak {peak(os.getpid()):7.0f} MiB", flush=True)
        begin = time.perf_counter()

    done("start, with NumPy and ASE")
    frames = nextbatch.atoms.Frames("pool.xyz")
    done(f"count {len(frames):,} frames, {os.path.getsize('pool.xyz') / 2**20:,.0f} MiB")
    pool, labelled = "random-pool.npy", "random-labelled.npy"
    if not columns:
        pool, labelled = "pool.npy", nextbatch.atoms.features("labelled.xyz")
        nextbatch.atoms.features(frames, out=pool)
        done(f"features, {labelled.shape[1]} per frame")
    batch = nextbatch.atoms.select(frames, pool, n, labelled=labelled, out="next.xyz", threads=1)
    done(f"pick and write {len(batch)} frames")
    worker = peak(_worker.worker().pid)
    print(f"the worker: peak {worker:.0f} MiB; together at most {peak(os.getpid()) + worker:.0f} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--labelled", type=int, default=1000)
    parser.add_argument("-n", type=int, default=256)
    parser.add_argument("--columns", type=int, default=0, help="how many random features to take instead")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.folder, options.n, options.columns)
    options.folder.mkdir(parents=True, exist_ok=True)
    write_frames(options.folder / "pool.xyz", options.frames, 0)
    write_frames(options.folder / "labelled.xyz", options.labelled, 1)
    if options.columns:
        write_random(options.folder / "random-pool.npy", options.frames, options.columns)
        write_random(options.folder / "random-labelled.npy", options.labelled, options.columns)
    subprocess.run([sys.executable, __file__, str(options.folder), "-n", str(options.n), "--columns", str(options.columns), "--measure"], check=True)


if __name__ == "__main__":
    main()
