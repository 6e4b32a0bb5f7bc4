"""A network that reads a table and predicts the labels of its unlabelled rows.

Cells of two columns make a token, and so does the label. Each block attends over the tokens of a row, then over the labelled
rows of a column, so that unlabelled rows do not see one another. The answer, from the label's token of a row, is a
distribution over bins of the standardised label.
"""
import math
from dataclasses import asdict, dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention import across_columns, across_rows

SIGNS = 24  # random signs that stand for a level of a nominal column
CELL = 6 + SIGNS
NAMES = 16  # random signs that tell two columns apart
LABEL = 4


@dataclass
class Shape:
    width: int = 128  # of a token; heads have 32
    blocks: int = 10
    expand: int = 2
    thinking: int = 8  # rows of the network's own
    bins: int = 256
    edge_scale: float = 0.6
    edge_reach: float = 3.3


# --- what the network is shown of a table ---


def soft_clip(z):
    a = z.abs()
    return torch.sign(z) * torch.minimum(a, 3 + torch.log1p(torch.relu(a - 3))).clamp(max=8)


def between(sorted_values, count, values):
    """Share of the labelled values below, and share equal; values (..., n), sorted_values (..., m)."""
    sorted_values, values = sorted_values.contiguous(), values.contiguous()
    left = torch.searchsorted(sorted_values, values).minimum(count)
    right = torch.searchsorted(sorted_values, values, right=True).minimum(count)
    count = count.clamp(min=1)
    return left / count, (right - left) / count


def encode_cells(x, nominal, missing, labelled, seed=None):
    """(B, n, d) -> (B, d, n, CELL). Everything comes from the labelled rows. seed: (B, d) numbers that draw the signs."""
    x = x.transpose(1, 2).contiguous().float()
    missing = missing.transpose(1, 2)
    here = ~missing[..., :labelled]
    count = here.sum(-1, keepdim=True)
    known = x[..., :labelled] * here
    mean = known.sum(-1, keepdim=True) / count.clamp(min=1)
    var = ((known - mean).square() * here).sum(-1, keepdim=True) / (count - 1).clamp(min=1)
    sd = var.sqrt()
    z = soft_clip((x - mean) / (sd + 1e-6 * mean.abs() + 1e-9))
    sorted_values = torch.where(here, x[..., :labelled], torch.full_like(known, 3e38)).sort(-1).values
    below, equal = between(sorted_values, count, x)
    rank = 2 * (below + 0.5 * equal) - 1
    number = ~(nominal[:, :, None] | missing)
    signs = level_signs(x, seed) * (nominal[:, :, None] & ~missing)[..., None]
    flags = [z * number, rank * number, equal * ~missing, missing, nominal[:, :, None].expand_as(missing), torch.ones_like(x)]
    return torch.cat([torch.stack([f.to(x) for f in flags], -1), signs], -1)


def mix(v):
    """A hash of 32 bits for each integer."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 0x9E3779B1)):
        v = ((v ^ (v >> shift)) * factor) & 0xFFFFFFFF
    return v ^ (v >> 16)


def signs_of(v, count):
    """`count` bits of a hash of each integer, as -1 and 1."""
    return ((mix(v)[..., None] >> torch.arange(count, device=v.device)) & 1) * 2.0 - 1


def level_signs(x, seed):
    """Signs for each level of each column: equal levels have equal signs, and that is all they say."""
    return signs_of(x.clamp(0, 1e5).long() + (seed[:, :, None] << 17), SIGNS)


def encode_labels(y, labelled, n):
    """Standardised labels (B, labelled) -> (B, n, LABEL)."""
    count = torch.full((1,), labelled, device=y.device)
    below, equal = between(y.sort(-1).values, count, y)
    size = math.log(labelled) / 7
    known = torch.stack([soft_clip(y), 2 * (below + 0.5 * equal) - 1, torch.ones_like(y), torch.full_like(y, size)], -1)
    empty = torch.zeros(y.shape[0], n - labelled, LABEL, device=y.device)
    empty[..., 3] = size
    return torch.cat([known, empty], 1)


def standardise(y, labelled):
    """Labels by the mean and the deviation of the labelled ones: z, mean, deviation."""
    mean = y[:, :labelled].mean(1, keepdim=True)
    sd = y[:, :labelled].std(1, keepdim=True) + 1e-9
    return (y - mean) / sd, mean, sd


# --- pieces between two attentions; each is compiled once for all blocks ---


def rms(h, gain):
    x = h.float()
    return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * gain).to(h.dtype)


def enter(h, gain, w):
    return F.linear(rms(h, gain), w)


def middle(h, a, out, gain, w):
    h = h + F.linear(a, out)
    return h, F.linear(rms(h, gain), w)


def leave(h, a, out, gain, up, down):
    h = h + F.linear(a, out)
    return h + F.linear(F.silu(F.linear(rms(h, gain), up)), down)


class Pieces:
    enter, middle, leave = staticmethod(enter), staticmethod(middle), staticmethod(leave)


def compile_pieces():
    for name in ("enter", "middle", "leave"):
        setattr(Pieces, name, staticmethod(torch.compile(globals()[name])))


def dynamic(*tensors):
    for t in tensors:
        torch._dynamo.maybe_mark_dynamic(t, 0)
    return tensors if len(tensors) > 1 else tensors[0]


def matrix(*shape, zero=False):
    return nn.Parameter(torch.zeros(shape) if zero else torch.randn(shape) / math.sqrt(shape[-1]))


class Embed(nn.Module):
    """A linear map and a small network beside it."""

    def __init__(self, inputs, width):
        super().__init__()
        self.straight = nn.Linear(inputs, width)
        self.up = nn.Linear(inputs, width)
        self.down = nn.Linear(width, width, bias=False)

    def forward(self, x):
        return self.straight(x) + self.down(F.silu(self.up(x)))


class Blocks(nn.Module):
    """Weights of all blocks, stacked."""

    def __init__(self, blocks, width, heads, expand):
        super().__init__()
        self.heads = heads
        self.column_gain = nn.Parameter(torch.ones(blocks, width))
        self.column_qkv = matrix(blocks, 3 * width, width)
        self.column_out = matrix(blocks, width, width, zero=True)
        self.row_gain = nn.Parameter(torch.ones(blocks, width))
        self.row_qkv = matrix(blocks, 3 * width, width)
        self.row_out = matrix(blocks, width, width, zero=True)
        self.sharpness = nn.Parameter(torch.zeros(blocks, 2, heads))  # of attention over rows: constant, by log of rows
        self.mlp_gain = nn.Parameter(torch.ones(blocks, width))
        self.up = matrix(blocks, expand * width, width)
        self.down = matrix(blocks, width, expand * width, zero=True)

    def forward(self, h, labelled):
        """h: (B, C, n, width); the first rows are labelled."""
        B, C, n, width = h.shape
        kind = h.dtype
        h = h.reshape(-1, width)
        factor = 1 + self.sharpness[:, 0] + self.sharpness[:, 1] * (math.log(labelled) - 4)
        factor = torch.cat([factor.repeat_interleave(width // self.heads, 1), factor.new_ones(len(factor), 2 * width)], 1)
        row_qkv = (self.row_qkv * factor[:, :, None]).to(kind).unbind(0)
        column_qkv, column_out, row_out, up, down = (
            w.to(kind).unbind(0) for w in (self.column_qkv, self.column_out, self.row_out, self.up, self.down)
        )
        for i in range(len(row_qkv)):
            qkv = Pieces.enter(dynamic(h), self.column_gain[i], column_qkv[i])
            a = across_columns(qkv.view(B, C, n, 3 * width), self.heads).reshape(-1, width)
            h, qkv = Pieces.middle(*dynamic(h, a), column_out[i], self.row_gain[i], row_qkv[i])
            a = across_rows(qkv.view(B, C, n, 3 * width), self.heads, labelled).reshape(-1, width)
            h = Pieces.leave(*dynamic(h, a), row_out[i], self.mlp_gain[i], up[i], down[i])
        return h.view(B, C, n, width)


class Network(nn.Module):
    def __init__(self, shape=Shape()):
        super().__init__()
        s = self.shape = shape
        self.cell = Embed(2 * CELL, s.width)
        self.label = Embed(LABEL, s.width)
        self.name = matrix(s.width, NAMES)
        self.thinking = nn.Parameter(torch.randn(s.thinking, s.width) * 0.5)
        self.blocks = Blocks(s.blocks, s.width, s.width // 32, s.expand)
        self.last_gain = nn.Parameter(torch.ones(s.width))
        self.hidden = nn.Linear(s.width, 4 * s.width)
        self.answer = nn.Linear(4 * s.width, s.bins)
        nn.init.zeros_(self.answer.weight)
        t = torch.linspace(-s.edge_reach, s.edge_reach, s.bins + 1)
        self.register_buffer("edges", s.edge_scale * torch.sinh(t), persistent=False)

    def forward(self, cells, labels, labelled, names):
        """cells: (B, d, n, CELL), labels: (B, n, LABEL), names: (B, ceil(d / 2), NAMES) -> logits of the other rows."""
        s = self.shape
        B, d, n, _ = cells.shape
        if d % 2:
            cells = F.pad(cells, (0, 0, 0, 0, 0, 1))
        C = cells.shape[1] // 2
        pairs = cells.view(B, C, 2, n, CELL).transpose(2, 3).reshape(B, C, n, 2 * CELL)
        kind = torch.bfloat16 if cells.is_cuda else torch.float32
        with torch.autocast(cells.device.type, torch.bfloat16, enabled=cells.is_cuda):
            own = torch.cat([self.cell(pairs), self.label(labels)[:, None]], 1)
            think = self.thinking[None, None].expand(B, C + 1, s.thinking, s.width)
            h = torch.cat([think.to(own.dtype), own], 2)
            name = F.pad(F.linear(names, self.name), (0, 0, 0, 1))
            h = (h + name[:, :, None]).to(kind)
        labelled = labelled + s.thinking
        h = self.blocks(h, labelled)
        h = rms(h[:, -1, labelled:], self.last_gain)
        with torch.autocast(cells.device.type, torch.bfloat16, enabled=cells.is_cuda):
            return self.answer(F.silu(self.hidden(h))).float()

    def description(self):
        return asdict(self.shape)


# --- the distribution ---


def negative_log_density(logits, y, edges):
    inside = torch.minimum(torch.maximum(y, edges[0]), edges[-1])
    i = torch.bucketize(inside, edges[1:-1].contiguous())
    width = (edges[1:] - edges[:-1]).log()
    return -(logits.log_softmax(-1).gather(-1, i[..., None]).squeeze(-1) - width[i])


def moments(logits, edges):
    p = logits.softmax(-1)
    centre = 0.5 * (edges[1:] + edges[:-1])
    mean = (p * centre).sum(-1)
    second = (p * (centre.square() + (edges[1:] - edges[:-1]).square() / 12)).sum(-1)
    return mean, (second - mean.square()).clamp(min=1e-12).sqrt()


def quantile(logits, edges, q):
    """Where the distribution reaches q, linear inside a bin."""
    cdf = F.pad(logits.softmax(-1).cumsum(-1), (1, 0)).clamp(0, 1)
    i = (cdf[..., 1:-1] < q).sum(-1, keepdim=True)
    low, high = cdf.gather(-1, i), cdf.gather(-1, i + 1)
    part = ((q - low) / (high - low).clamp(min=1e-9)).clamp(0, 1)
    return (edges[i] + part * (edges[i + 1] - edges[i])).squeeze(-1)


# --- a table in, a distribution out ---


def present(tables, labelled, seed, names):
    """What the network is given, and the standardised labels of all rows, their mean and deviation.

    seed: (1, d) draws the signs of levels, names: (1, ceil(d / 2), NAMES) tells columns apart.
    """
    B, n, d = tables.x.shape
    cells = encode_cells(tables.x, tables.nominal, tables.missing, labelled, seed.expand(B, -1))
    z, mean, sd = standardise(tables.y, labelled)
    return cells, encode_labels(z[:, :labelled], labelled, n), names.expand(B, -1, -1), z, mean, sd


def chances(d, device):
    """A random seed and random names for d columns."""
    seed = torch.randint(0, 1 << 16, (1, d), device=device)
    return seed, torch.randint(0, 2, (1, (d + 1) // 2, NAMES), device=device) * 2.0 - 1


def views(tables, labelled, number):
    """The same for one order of the columns, by its number: all that is random comes from hashes."""
    d, device = tables.x.shape[2], tables.x.device
    first = number << 20
    order = mix(first + torch.arange(d, device=device)).argsort()
    seed = mix(first + (1 << 18) + torch.arange(d, device=device))[None] & 0xFFFF
    names = signs_of(first + (1 << 19) + torch.arange((d + 1) // 2, device=device), NAMES)[None]
    return present(tables.columns(order), labelled, seed, names)


@torch.no_grad()
def predict(network, tables, labelled, orders=4):
    """Logarithms of mean probabilities over several orders of the columns; z, mean and deviation of the labels."""
    total = 0
    for k in range(orders):
        cells, labels, names, z, mean, sd = views(tables, labelled, k)
        total = total + network(cells, labels, labelled, names).softmax(-1)
    return (total / orders).log(), z, mean, sd
