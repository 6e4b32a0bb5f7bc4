"""Atoms: which structures to compute next, from extended XYZ files."""

import ase.io
import numpy as np
from ase.build import bulk
from ase.calculators.emt import EMT

import nextbatch.atoms

# Candidates: crystals of copper and gold, of 2 to 16 atoms, strained and shaken. EMT, a simple potential
# that is part of ASE, stands for the calculation that takes hours. Labelled frames have an energy.
rng = np.random.default_rng(0)


def structure():
    atoms = bulk("Cu", "fcc", a=rng.uniform(3.5, 4.2)) * rng.choice([(2, 1, 1), (2, 2, 1), (2, 2, 2), (4, 2, 2)])
    atoms.symbols[rng.random(len(atoms)) < rng.random()] = "Au"
    atoms.set_cell(atoms.cell @ (np.eye(3) + rng.normal(0, 0.04, (3, 3))), scale_atoms=True)
    atoms.rattle(0.2 * rng.random(), rng=rng)
    return atoms


def computed(atoms):
    atoms.calc = EMT()
    atoms.get_potential_energy()
    return atoms


ase.io.write("pool.xyz", [structure() for _ in range(600)])
ase.io.write("labelled.xyz", [computed(structure()) for _ in range(30)])

# The picks go to next.xyz: the frames as they were, with order, reason and source in the comment.
batch = nextbatch.atoms.select("pool.xyz", nextbatch.atoms.radial, 30, labelled="labelled.xyz", out="next.xyz")
first = ase.io.read("next.xyz", 0)
print(batch.ids[0], "is", first.get_chemical_formula(), "with", first.info["nextbatch_pick"], first.info["nextbatch_reason"])

# Compute them, and add them to the labelled frames: that is a round.
with open("labelled.xyz", "a") as file:
    for atoms in ase.io.iread("next.xyz"):
        ase.io.write(file, computed(atoms), format="extxyz")

# For many frames, compute the features once, into a file that later rounds map. Frames that were picked before
# are left out by their numbers.
nextbatch.atoms.features("pool.xyz", out="pool.npy")
known = nextbatch.atoms.features("labelled.xyz")
batch = nextbatch.atoms.select("pool.xyz", "pool.npy", 30, labelled=known, exclude=batch.indices.tolist(), out="second.xyz")
print("second round:", ", ".join(batch.ids[:3]), "…")
