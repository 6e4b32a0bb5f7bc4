"""What the prior draws: python pictures.py OUT.png [--columns D] [--seed S]. One panel a table: its most telling input and the label.

Labelled rows are dark. The title says columns (nominal), and by how much neighbours predict the label.
"""
import argparse

import matplotlib
import torch

from prior import draw, standard, teachable

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def main():
    a = argparse.ArgumentParser()
    a.add_argument("out")
    a.add_argument("--columns", type=int, default=4)
    a.add_argument("--labelled", type=int, default=100)
    a.add_argument("--seed", type=int, default=0)
    a = a.parse_args()
    t = draw(48, a.labelled, 200, a.columns, "cpu", a.seed, chunks=24)
    known = teachable(standard(torch.where(t.nominal[:, None], torch.zeros_like(t.x), t.x)), t.y)
    _, panels = plt.subplots(6, 8, figsize=(24, 16))
    for k, panel in enumerate(panels.flat):
        x, y = t.x[k], t.y[k]
        telling = standard(x, 0).T @ standard(y, 0)
        best = int(telling.abs().argmax())
        other = (best + 1) % a.columns
        m = a.labelled
        panel.scatter(x[m:, best], y[m:], s=5, c="#bbbbbb")
        panel.scatter(x[:m, best], y[:m], s=7, c=x[:m, other])
        panel.set_title(f"{int(t.nominal[k].sum())} nominal, {known[k]:.2f}" + (", level" if t.nominal[k, best] else ""), fontsize=8)
        panel.tick_params(labelsize=6)
    plt.tight_layout()
    plt.savefig(a.out, dpi=55)


if __name__ == "__main__":
    main()
