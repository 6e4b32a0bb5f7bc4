"""What the network of these weights answers for a few tables, to compare other programs with: python golden.py weights.safetensors OUT.json"""
import json
import sys

import numpy as np
import torch

import evaluate
import model
from prior import Tables

CASES = [(12, 5, 1, 0), (30, 9, 4, 2), (64, 70, 7, 0), (150, 20, 12, 5), (9, 6, 33, 3)]  # labelled, others, columns, nominal


def case(labelled, others, columns, nominal, seed):
    dice = np.random.default_rng(seed)
    n = labelled + others
    x = dice.normal(size=(n, columns)).astype(np.float32)
    x[:, ::3] = np.round(x[:, ::3] * 2) / 2  # ties
    kinds = np.zeros(columns, bool)
    kinds[dice.permutation(columns)[:nominal]] = True
    for j in np.flatnonzero(kinds):
        x[:, j] = dice.integers(0, 2 + 4 * j, n)
    missing = dice.random((n, columns)) < (0.15 if seed % 2 else 0)
    y = np.sin(x[:, 0]) + x.sum(1) * 0.3 + 0.1 * dice.normal(size=n)
    y = np.round(y * 50 + 300, 1)
    return x, kinds, missing, y


@torch.no_grad()
def main():
    network = evaluate.load(sys.argv[1], "cpu")
    out = []
    for seed, (labelled, others, columns, nominal) in enumerate(CASES):
        x, kinds, missing, y = case(labelled, others, columns, nominal, seed)
        t = Tables(
            torch.tensor(np.where(missing, 0, x))[None], torch.tensor(kinds)[None], torch.tensor(missing)[None],
            torch.tensor(y.astype(np.float32))[None],
        )  # fmt: skip
        logits, _, mean, sd = model.predict(network, t, labelled, 2)
        edges = network.edges.double()
        centre, deviation = model.moments(logits.double(), edges)
        cells = [[None if m else round(float(v), 7) for v, m in zip(*r)] for r in zip(x, missing)]
        out.append({
            "rows": cells, "nominal": kinds.tolist(), "labels": y[:labelled].tolist(), "views": 2,
            "means": (centre * sd + mean)[0].tolist(), "deviations": (deviation * sd)[0].tolist(),
            "first": logits.exp()[0, 0].tolist(),
        })  # fmt: skip
    with open(sys.argv[2], "w") as f:
        json.dump(out, f)
        f.write("\n")


if __name__ == "__main__":
    main()
