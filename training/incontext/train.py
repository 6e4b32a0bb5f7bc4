"""Trains the network on generated tables: python train.py OUT --seconds 570 [--resume OUT]

OUT/weights.safetensors is the running average of the weights as bf16, OUT/checkpoint.safetensors the weights themselves with
the moments of the optimizer. --resume takes a folder with both, or with the first alone. The seed of a drawn batch is its number,
so that a resumed training goes on with tables that it has not seen.
"""
import argparse
import math
import random
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import NormalDist

import torch

import model
import weights
from optimizer import Optimizer, Recorder
from prior import Tables, draw


@dataclass
class Recipe:
    rate: float = 3e-3
    warm: int = 200  # steps until the full rate
    fall: float = 0.0  # share of the time, at the end, over which the rate falls to 0
    tokens: int = 65_000  # cell tokens of a step
    tables: int = 64  # of a step, at most
    tests: int = 128  # rows a table that are predicted
    sizes: int = 64  # sizes of tables in one run
    most: int = 1024  # labelled rows
    width: int = 128
    blocks: int = 10
    thinking: int = 8
    bins: int = 256
    seed: int = 1

    def network(self):
        return model.Network(model.Shape(width=self.width, blocks=self.blocks, thinking=self.thinking, bins=self.bins))


def deck(recipe, number):
    """Sizes of tables for a run that begins with a draw: labelled rows, columns, tables of a step."""
    dice = random.Random(f"{recipe.seed} {number} deck")
    n = recipe.sizes
    other = dice.sample(range(n), n)
    sizes = []
    for i in range(n):
        labelled = round(8 * (recipe.most / 8) ** ((i + dice.random()) / n))
        u = (other[i] + dice.random()) / n
        d = min(64, max(1, round(math.exp(NormalDist(2.05, 0.8).inv_cdf(min(max(u, 1e-4), 1 - 1e-4))))))
        tokens = (labelled + recipe.tests) * ((d + 1) // 2 + 1)
        sizes.append((labelled, d, max(2, min(recipe.tables, recipe.tokens // tokens))))
    return sizes


class Stream:
    """Tables of a step, their size's number, and what names their levels and columns.

    Tables are drawn for several steps at once, beside the training, and wait in a shuffled store.
    """

    def __init__(self, recipe, device, number=0, together=32, store=320):
        self.recipe, self.device, self.number = recipe, device, number
        self.together, self.size, self.store = together, store, []
        self.sizes = deck(recipe, number)
        self.dice = random.Random(f"{recipe.seed} {number} store")
        self.side = torch.cuda.Stream() if device == "cuda" else None

    def refill(self):
        k = self.dice.randrange(len(self.sizes))
        labelled, d, B = self.sizes[k]
        seed = self.recipe.seed * 1_000_000_007 + self.number
        with torch.cuda.stream(self.side):
            many = draw(B * self.together, labelled, self.recipe.tests, d, self.device, seed, chunks=12)
            parts = [getattr(many, f.name).split(B) for f in fields(Tables)]
            values = [[*part, *model.chances(d, self.device)] for part in zip(*parts)]
            ready = self.side.record_event() if self.side else None
        self.number += 1
        self.store += [(k, v, ready) for v in values]

    def next(self):
        while len(self.store) < self.size:
            self.refill()
        i = self.dice.randrange(len(self.store))
        self.store[i], self.store[-1] = self.store[-1], self.store[i]
        k, values, ready = self.store.pop()
        if ready:
            now = torch.cuda.current_stream()
            now.wait_event(ready)
            for v in values:
                v.record_stream(now)
        return k, values


def loss_of(network, tables, labelled, seed, names):
    """Mean of the negative logarithm of the density at the labels of unlabelled rows."""
    with torch.no_grad():
        cells, labels, names, z, _, _ = model.present(tables, labelled, seed, names)
    logits = network(cells, labels, labelled, names)
    return model.negative_log_density(logits, z[:, labelled:], network.edges).mean()


class Step:
    """Loss and gradients of tables of one size: adds the loss to `total`, and leaves the gradients with the optimizer."""

    def __init__(self, network, optimizer, recorder, total, labelled, example):
        self.inputs = [t.clone() for t in example]

        def run():
            loss = loss_of(network, Tables(*self.inputs[:4]), labelled, *self.inputs[4:])
            torch._foreach_copy_(optimizer.grads, torch.autograd.grad(loss, optimizer.all))
            total.add_(loss.detach())

        before = total.clone()
        self.play = recorder.record(run)
        total.copy_(before)

    def __call__(self, values):
        for t, v in zip(self.inputs, values):
            t.copy_(v)
        self.play()


def state_of(network, optimizer):
    return {f"weight.{n}": p for n, p in network.named_parameters()} | optimizer.state


def save(out, network, optimizer, about):
    out.mkdir(parents=True, exist_ok=True)
    about = about | {"shape": network.description()}
    weights.save(out / "weights.safetensors", optimizer.average, about)
    weights.save(out / "checkpoint.safetensors", state_of(network, optimizer), about)


@torch.no_grad()
def resume(folder, network, optimizer):
    """Takes what the folder has; returns what its files say."""
    average, about = weights.load(folder / "weights.safetensors")
    named = dict(network.named_parameters())
    for n, t in average.items():
        optimizer.average[n].copy_(t)
        named[n].copy_(t)
    if (folder / "checkpoint.safetensors").exists():
        state, _ = weights.load(folder / "checkpoint.safetensors")
        for n, t in state_of(network, optimizer).items():
            t.copy_(state[n])
        optimizer.count.fill_(1000)
    return about


def train(recipe, seconds, out, origin=None, device=None, steps=10**9, say=print):
    started = time.time()
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(recipe.seed)
    network = recipe.network().to(device)
    if device == "cuda":
        model.compile_pieces()
    recorder = Recorder(device)
    optimizer = Optimizer(network, recorder)
    before = {"steps": 0, "tables": 0, "draws": 0, "seconds": 0.0}
    if origin:
        before |= resume(Path(origin), network, optimizer)
    stream, plays = Stream(recipe, device, before["draws"]), {}
    step = tables = 0
    total, mark, saved, curve = torch.zeros((), device=device), time.time(), time.time(), []

    def about():
        return {
            "steps": before["steps"] + step, "tables": before["tables"] + tables, "draws": stream.number,
            "seconds": round(before["seconds"] + time.time() - started, 1), "recipe": asdict(recipe),
        }  # fmt: skip

    while step < steps:
        left = 1 - (time.time() - started) / seconds
        if left <= 0:
            break
        k, batch = stream.next()
        if k not in plays:
            plays[k] = Step(network, optimizer, recorder, total, stream.sizes[k][0], batch)
        plays[k](batch)
        rate = recipe.rate * min(1, (step + 1) / recipe.warm, left / recipe.fall if recipe.fall else 1)
        optimizer.step(rate, 1 - 1 / min(0.06 * (before["steps"] + step) + 5, 3000))
        step, tables = step + 1, tables + len(batch[0])
        if step % 500 == 0:
            curve.append(total.item() / 500)
            say(f"{time.time() - started:6.1f} s  step {step:6}  tables {tables:8}  loss {curve[-1]:7.4f}  "
                f"{(time.time() - mark) * 2:5.2f} ms a step", flush=True)  # fmt: skip
            total.zero_()
            mark = time.time()
            if mark - saved > 120:
                save(out, network, optimizer, about())
                saved = time.time()
    save(out, network, optimizer, about())
    say(f"{time.time() - started:6.1f} s  done: {about()}", flush=True)
    return network, optimizer, curve


def recipe_of(changes):
    kinds = {f.name: type(f.default) for f in fields(Recipe)}
    pairs = [c.split("=", 1) for c in changes]
    return replace(Recipe(), **{k: kinds[k](float(v)) for k, v in pairs})


if __name__ == "__main__":
    a = argparse.ArgumentParser()
    a.add_argument("out", type=Path)
    a.add_argument("--seconds", type=float, required=True)
    a.add_argument("--resume", type=Path)
    a.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="changes of the recipe")
    a = a.parse_args()
    train(recipe_of(a.set), a.seconds, a.out, a.resume)
