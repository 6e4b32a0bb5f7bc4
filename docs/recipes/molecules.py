"""Molecules: which compounds to make and measure next, from SMILES."""

import csv
import os

import numpy as np
import pandas as pd
from rdkit import Chem, RDConfig
from rdkit.Chem import Descriptors, rdFingerprintGenerator
from rdkit.Chem.Scaffolds import MurckoScaffold

import nextbatch

# 1,017 sulfonamides from the medicinal chemistry of one project (ChEMBL document CHEMBL2321810), which RDKit
# ships: y is the measured activity, on a logarithmic scale.
folder = os.path.join(RDConfig.RDContribDir, "FreeWilson", "data")
with open(os.path.join(folder, "CHEMBL2321810_act.csv")) as file:
    activity = {row["Name"]: float(row["Act"]) for row in csv.DictReader(file)}
with open(os.path.join(folder, "CHEMBL2321810.smi")) as file:
    table = pd.DataFrame([line.split() for line in file], columns=["smiles", "name"])
table["y"] = table["name"].map(activity)

# Features: Morgan fingerprints, 1,024 numbers that count substructures.
molecules = [Chem.MolFromSmiles(smiles) for smiles in table["smiles"]]
morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)
fingerprints = np.array([morgan.GetCountFingerprintAsNumPy(m) for m in molecules], np.float32)

# Inputs: a few descriptors; and the Murcko scaffold, as a group.
wanted = ["MolWt", "MolLogP", "TPSA", "NumHDonors", "NumHAcceptors", "NumRotatableBonds", "RingCount", "FractionCSP3"]
for name in wanted:
    table[name] = [getattr(Descriptors, name)(m) for m in molecules]
table["scaffold"] = [MurckoScaffold.MurckoScaffoldSmiles(mol=m) for m in molecules]

# 60 compounds are measured; the labels of the others are put aside, to see later what they would have been.
measured = np.random.default_rng(0).permutation(len(table)) < 60
truth = table["y"].copy()
table.loc[~measured, "y"] = np.nan

# 1. By fingerprints alone: no model, so no label is needed.
labelled, pool = np.flatnonzero(measured), np.flatnonzero(~measured)
batch = nextbatch.select_features(np.sqrt(fingerprints[labelled]), np.sqrt(fingerprints[pool]), n=16)
print("by fingerprints:", ", ".join(table["name"].iloc[pool[batch.indices[:4]]]), "…")
print("  the first, because", batch.reasons[0])
print("  scaffolds in the batch:", table["scaffold"].iloc[pool[batch.indices]].nunique())

# 2. By a model of the descriptors, at most two compounds per scaffold.
inputs = table.drop(columns="smiles")
batch = nextbatch.select(inputs, "y", n=16, id="name", group="scaffold", per_group=2, seed=1)
picked = table.iloc[batch.indices]
print("by descriptors:", ", ".join(batch.ids[:4]), "…")
print("  most of one scaffold:", picked["scaffold"].value_counts().max())

# 3. Both: the fingerprints, reduced to 16 numbers, are inputs beside the descriptors.
centred = np.sqrt(fingerprints) - np.sqrt(fingerprints).mean(axis=0)
axes = np.linalg.svd(centred, full_matrices=False)[2][:16]
parts = pd.DataFrame(centred @ axes.T, columns=[f"fp{k}" for k in range(16)])
batch = nextbatch.select(pd.concat([inputs, parts], axis=1), "y", n=16, id="name", group="scaffold", per_group=2, seed=1)
print("by both:", batch.learner)
error = np.abs(batch.predictions - truth.iloc[batch.indices])
print(f"  mean error of the predictions for the picks: {error.mean():.2f}, of the mean activity instead: "
      f"{np.abs(truth.iloc[batch.indices] - table['y'].mean()).mean():.2f}")
