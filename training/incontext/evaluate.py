"""How well weights predict the development tables: python evaluate.py weights.safetensors tables.npz [--auto auto.npz]

Errors are RMSE over the deviation of the label, geometric means over tables; a table counts once, whatever its draws. With the
predictions of auto.py, the same for auto, and for the best constant weight beside it (one for each number of labels).
"""
import argparse
import json
from itertools import groupby

import numpy as np
import torch

import model
import tables as development
import weights
from prior import Tables

GROUPS = ["numbers", "categories", "uci", "large"]
WEIGHTS = np.arange(0, 1.01, 0.05)


def load(path, device):
    tensors, about = weights.load(path)
    network = model.Network(model.Shape(**about["shape"]))
    network.load_state_dict(tensors, strict=False)
    return network.to(device).eval()


@torch.no_grad()
def predict(network, found, orders=4, sizes=development.SIZES):
    """By table, labels and draw: mean, low and high end of the 90 % interval, and density of the labels, a row for each."""
    device, out = network.edges.device, {}
    for (name, size), draws in groupby(development.splits(found, sizes), key=lambda s: s[:2]):
        _, x, nominal, y = found[name]
        draws = list(draws)
        rows = [np.concatenate(s[3:]) for s in draws]
        t = Tables(
            torch.tensor(np.stack([x[r] for r in rows]), dtype=torch.float32, device=device),
            torch.tensor(nominal, device=device).expand(len(rows), -1),
            torch.zeros(len(rows), len(rows[0]), x.shape[1], dtype=torch.bool, device=device),
            torch.tensor(np.stack([(y[r] - y.mean()) / y.std() for r in rows]), dtype=torch.float32, device=device),
        )
        logits, z, mean, sd = model.predict(network, t, size, orders)
        centre, _ = model.moments(logits, network.edges)
        low, high = (model.quantile(logits, network.edges, q) for q in (0.05, 0.95))
        dense = -model.negative_log_density(logits, z[:, size:], network.edges) - sd.log()
        for k, s in enumerate(draws):
            found_k = torch.stack([v[k] * sd[k] + mean[k] for v in (centre, low, high)])
            values = found_k.cpu().numpy() * y.std() + y.mean()
            out[name, size, s[2]] = np.concatenate([values, dense[k : k + 1].cpu().numpy()])
    return out


def errors(found, predictions, others=None):
    """By group and labels: logarithms of RMSE, (tables, weights) of `predictions` beside `others`, meaned over draws."""
    out = {}
    for (name, size), draws in groupby(development.splits(found), key=lambda s: s[:2]):
        group, _, _, y = found[name]
        values = []
        for s in draws:
            p = predictions.get((name, size, s[2]))
            q = p if others is None else others.get((name, size, s[2]))
            if p is None or q is None:
                continue
            mixed = WEIGHTS[:, None] * p[0] + (1 - WEIGHTS[:, None]) * q[0]
            values.append(0.5 * np.log(np.square(mixed - y[s[4]]).mean(1) / y.var() + 1e-12))
        if values:
            out.setdefault((group, size), {})[name] = np.mean(values, 0)
    return out


def coverage(found, predictions):
    """By group and labels: share of labels in the 90 % interval, its length over the deviation, density of the labels."""
    out = {}
    for name, size, draw, _, rows in development.splits(found):
        group, _, _, y = found[name]
        if (name, size, draw) in predictions:
            p = predictions[name, size, draw]
            inside = ((y[rows] >= p[1]) & (y[rows] <= p[2])).mean()
            known = p[3].mean() if len(p) > 3 else np.nan
            out.setdefault((group, size), []).append([inside, (p[2] - p[1]).mean() / y.std(), known])
    return {k: np.mean(v, 0) for k, v in out.items()}


def report(found, predictions, others=None, details=False):
    table = errors(found, predictions, others)
    mine = coverage(found, predictions)
    theirs = coverage(found, others) if others else None
    print("tables, labels        |  n |  auto | alone | change |  best weight: change | inside, length | of auto      | density")
    for size in development.SIZES:
        every = []
        for group in GROUPS:
            if (group, size) not in table:
                continue
            e = np.stack(list(table[group, size].values()))
            every.append(e)
            line(f"{group}, {size}", e, mine[group, size], theirs and theirs.get((group, size)))
        if every:
            line(f"all, {size}", np.concatenate(every))
            if others:
                e = np.concatenate(every)
                gain = e[:, np.abs(e.mean(0) - e.mean(0).min()).argmin()] - e[:, 0]
                print(f"{'':22}   mixed: {100 * np.expm1(gain.mean()):+.1f} % ± {100 * gain.std() / len(gain) ** 0.5:.1f}")
    if details:
        for (group, size), e in table.items():
            for name, v in e.items():
                best = WEIGHTS[v.argmin()]
                print(f"{name:16} {size:5} auto {np.exp(v[0]):.3f} alone {np.exp(v[-1]):.3f} best weight {best:.2f}")


def line(name, e, mine=None, theirs=None):
    m = e.mean(0)
    best = m.argmin()
    text = f"{name:22}| {len(e):2} | {np.exp(m[0]):.3f} | {np.exp(m[-1]):.3f} | {100 * np.expm1(m[-1] - m[0]):+5.1f}% |"
    text += f" {WEIGHTS[best]:.2f}: {100 * np.expm1(m[best] - m[0]):+5.1f}%        |"
    if mine is not None:
        text += f" {100 * mine[0]:5.1f} %, {mine[1]:.2f}   |"
        text += f" {100 * theirs[0]:5.1f} %, {theirs[1]:.2f} |" if theirs is not None else "              |"
        text += f" {mine[2]:.3f}"
    print(text, flush=True)


def of_auto(path):
    """What auto.py wrote: by table, labels and draw."""
    f = np.load(path)
    keys = [k.split("/") for k in f.files if k.count("/") == 2]
    return {(n, int(s), int(d)): f[f"{n}/{s}/{d}"] for n, s, d in keys}


def main():
    a = argparse.ArgumentParser()
    a.add_argument("weights")
    a.add_argument("tables")
    a.add_argument("--auto")
    a.add_argument("--orders", type=int, default=4)
    a.add_argument("--details", action="store_true")
    a.add_argument("--out", help="write the predictions to this file")
    a = a.parse_args()
    found = development.read(a.tables)
    network = load(a.weights, "cuda" if torch.cuda.is_available() else "cpu")
    predictions = predict(network, found, a.orders)
    if a.out:
        np.savez_compressed(a.out, **{"/".join(map(str, k)): v.astype(np.float32) for k, v in predictions.items()})
    report(found, predictions, of_auto(a.auto) if a.auto else None, a.details)
    print(json.dumps({"orders": a.orders, "tables": len(found)}))


if __name__ == "__main__":
    main()
