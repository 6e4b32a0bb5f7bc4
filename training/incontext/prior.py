"""Random regression tables, drawn in batches on the GPU.

A batch holds tables of one size. Each table has inputs with their own marginals and dependences, a label that is a random
function of them (or of hidden causes of them), noise, and a split into labelled rows and others. Nothing here waits for
the GPU: no boolean indexing, no .item().
"""
import math
import random
from dataclasses import dataclass

import torch

LEVELS = 96  # of a nominal column, at most


@dataclass
class Tables:
    """x: (B, n, d), codes where nominal (B, d), 0 where missing (B, n, d). y: (B, n). The first rows are labelled."""

    x: torch.Tensor
    nominal: torch.Tensor
    missing: torch.Tensor
    y: torch.Tensor

    def index(self, i):
        return Tables(self.x[i], self.nominal[i], self.missing[i], self.y[i])

    def columns(self, i):
        return Tables(self.x[:, :, i], self.nominal[:, i], self.missing[:, :, i], self.y)


class Dice:
    """Random tensors on a device. One torch seed and one of these give one batch."""

    def __init__(self, device, seed):
        self.device = device
        self.py = random.Random(seed)

    def uniform(self, *shape, low=0.0, high=1.0):
        return torch.rand(shape, device=self.device) * (high - low) + low

    def normal(self, *shape):
        return torch.randn(shape, device=self.device)

    def chance(self, p, *shape):
        return torch.rand(shape, device=self.device) < p

    def integer(self, low, high, *shape):
        return torch.randint(low, high, shape, device=self.device)

    def one_of(self, values, *shape):
        k, out = self.integer(0, len(values), *shape), torch.full(shape, values[0], device=self.device)
        for i, v in enumerate(values[1:], 1):
            out = torch.where(k == i, v, out)
        return out

    def lognormal(self, mean, sd, *shape):
        return torch.exp(self.normal(*shape) * sd + mean)


def standard(f, dim=1):
    f = torch.nan_to_num(f, nan=0.0, posinf=1e4, neginf=-1e4).clamp(-1e4, 1e4)
    f = f - f.mean(dim, keepdim=True)
    return f / (f.square().mean(dim, keepdim=True).sqrt() + 1e-6)


def phi(z):
    return 0.5 * (1 + torch.erf(z * math.sqrt(0.5)))


# --- random functions: (B, n, d) inputs of deviation about 1, (B, d) relevance -> (B, n, m) outputs ---


def smooth(x, rel, m, dice):
    """A draw from a Gaussian process by random Fourier features: all columns or few in a wave, several tails."""
    B, n, d = x.shape
    M = 128
    few = dice.chance(0.5, B, 1, 1)
    size = torch.exp(math.log(max(d, 1)) * dice.uniform(B, 1, M) * dice.uniform(B, 1, 1))
    mask = torch.where(few, dice.uniform(B, d, M) < size / d, torch.ones((), dtype=torch.bool, device=x.device))
    nu = dice.one_of([1.0, 3.0, 5.0, 5.0, 1e3], B, 1, 1)
    gamma = torch._standard_gamma((nu / 2).expand(B, 1, M)) / (nu / 2)
    w = dice.normal(B, d, M) / gamma.clamp(min=1e-3).sqrt() * mask * rel[:, :, None]
    scale = (rel.square()[:, :, None] * mask).sum(1, keepdim=True).mean(2, keepdim=True).sqrt() + 1e-6
    w = w / scale * dice.lognormal(0.2, 0.8, B, 1, 1)
    f = torch.cos(x @ w + 2 * math.pi * dice.uniform(B, 1, M)) @ dice.normal(B, M, m)
    return standard(f) + standard(linear(x, rel, m, dice)) * dice.chance(0.4, B, 1, 1) * dice.uniform(B, 1, m, high=1.5)


def linear(x, rel, m, dice):
    B, n, d = x.shape
    return x @ (dice.normal(B, d, m) * rel[:, :, None])


ACTS = [
    torch.tanh, torch.relu, torch.sin, torch.abs, torch.nn.functional.silu, lambda v: (v > 0).to(v), lambda v: 0.5 * v * v,
    lambda v: torch.exp(-v * v), lambda v: v, lambda v: torch.sign(v) * v.abs().sqrt(), torch.nn.functional.softplus,
    lambda v: v - torch.floor(v), torch.floor,
]


def net(x, rel, m, dice):
    """A random network of one to three hidden layers, each half with an activation of its own."""
    B, n, d = x.shape
    H = dice.py.choice([8, 16, 32, 64])
    h = x * rel[:, None, :]
    for _ in range(dice.py.choice([1, 1, 2, 2, 3])):
        w = dice.normal(B, h.shape[-1], H) * (dice.uniform(B, h.shape[-1], H) < 0.15 + 0.85 * dice.uniform(B, 1, 1))
        p = standard(h @ w) * dice.lognormal(0, 0.6, B, 1, 1) + dice.normal(B, 1, H)
        p = p.clamp(-10, 10)
        a, b = dice.py.choice(ACTS), dice.py.choice(ACTS)
        h = torch.cat([a(p[..., : H // 2]), b(p[..., H // 2 :])], -1)
    return h @ (dice.normal(B, H, m) * (dice.uniform(B, H, m) < 0.2 + 0.8 * dice.uniform(B, 1, 1)))


def pick(rel, k, dice):
    """k columns of each table, by relevance: (B, k)."""
    c = (rel + 1e-9).cumsum(1)
    return torch.searchsorted(c, dice.uniform(rel.shape[0], k) * c[:, -1:]).clamp(max=rel.shape[1] - 1)


def columns(x, index):
    return torch.gather(x, 2, index[:, None, :].expand(-1, x.shape[1], -1))


def trees(x, rel, m, dice):
    """A sum of oblivious trees with thresholds at rows of the table; some nearly steps, some many and small."""
    B, n, d = x.shape
    T, D = dice.py.choice([1, 2, 4, 8, 16, 24]), dice.py.randint(1, 5)
    xs = columns(x, pick(rel, T * D, dice))
    t = torch.gather(xs, 1, dice.integer(0, n, B, 1, T * D))
    leaf = ((xs > t).view(B, n, T, D) * (2 ** torch.arange(D, device=x.device))).sum(-1)
    f = 0
    value = dice.normal(B, 2**D, T, m) * dice.lognormal(0, 0.5, B, 1, T, 1)
    for j in range(m):
        f_j = torch.gather(value[..., j], 1, leaf).sum(-1, keepdim=True)
        f = f_j if j == 0 else torch.cat([f, f_j], -1)
    return f


def centres(x, rel, m, dice):
    """Values at random rows: that of the nearest one, a soft mixture, or bumps."""
    B, n, d = x.shape
    K = dice.py.choice([3, 6, 12, 24, 48])
    h = x * rel[:, None, :]
    c = torch.gather(h, 1, dice.integer(0, n, B, K, 1).expand(B, K, d))
    D = torch.cdist(h, c) / (rel.square().sum(1).sqrt()[:, None, None] + 1e-6)
    value = dice.normal(B, K, m)
    style = dice.py.random()
    if style < 0.4:
        w = torch.softmax(-D * 200, -1)
    elif style < 0.75:
        w = torch.softmax(-D * dice.lognormal(1.5, 0.7, B, 1, 1), -1)
    else:
        w = torch.exp(-((D * dice.lognormal(0.7, 0.5, B, 1, 1)) ** 2))
    return w @ value


def products(x, rel, m, dice):
    """Sums of a few products, ratios and powers of shifted columns, as formulas have them."""
    B, n, d = x.shape
    K = dice.py.choice([1, 2, 4, 6])
    f = 0
    for k in range(dice.py.choice([1, 2, 2, 3])):
        v = columns(x, pick(rel, K, dice)) + dice.normal(B, 1, K) * 1.5
        s = dice.py.random()
        if s < 0.2:
            v = 1 / (0.3 + v.abs())
        elif s < 0.35:
            v = v.abs() ** dice.uniform(B, 1, K, low=0.3, high=2.5)
        elif s < 0.5:
            v = torch.exp((v * 0.7).clamp(-5, 3))
        f = v if k == 0 else f * v
    f = standard(f).clamp(-8, 8)
    return f @ dice.normal(B, K, m) + dice.uniform(B, 1, 1) * standard(linear(x, rel, m, dice))


def additive(x, rel, m, dice):
    """One random curve a column: waves, steps, bends and powers."""
    B, n, d = x.shape
    a = dice.lognormal(0, 0.7, B, 1, d)
    b = dice.normal(B, 1, d)
    kind = dice.integer(0, 7, B, 1, d)
    v = x * a + b
    curves = [x, torch.sin(v), (v > 0).to(v), v.abs(), 0.5 * v * v, torch.tanh(2 * v), torch.exp(-v * v)]
    g = torch.zeros_like(x)
    for k, curve in enumerate(curves):
        g = torch.where(kind == k, curve, g)
    g = standard(g) * (g.std(1, keepdim=True) > 1e-4)
    return g @ (dice.normal(B, d, m) * rel[:, :, None])


KINDS = [(smooth, 0.34), (net, 0.22), (trees, 0.16), (additive, 0.10), (centres, 0.07), (products, 0.08), (linear, 0.03)]


def function(x, rel, m, dice):
    f = dice.py.choices([k for k, _ in KINDS], [w for _, w in KINDS])[0]
    return standard(f(x, rel, m, dice)).clamp(-12, 12)


def composed(x, rel, m, dice):
    """One to three random functions, in a row or summed."""
    B, n, d = x.shape
    s = dice.py.random()
    if s < 0.45:
        return function(x, rel, m, dice)
    if s < 0.75:
        return function(x, rel, m, dice) + dice.uniform(B, 1, m) * function(x, rel, m, dice)
    k = dice.py.choice([1, 2, 3, 6])
    h = function(x, rel, k, dice)
    keep = rel * dice.chance(0.5, B, 1)
    inner = torch.cat([torch.ones(B, k, device=x.device) * dice.lognormal(0, 0.4, B, k), keep], 1)
    return function(torch.cat([h, x], 2), inner, m, dice)


# --- inputs ---


def latent(B, n, d, dice):
    """Rows before the marginals: normal, mixed, of low rank, clustered, in crowds, along a path."""
    z = dice.normal(B, n, d)
    eye = torch.eye(d, device=z.device)
    strength = dice.uniform(B, 1, 1, high=1.5) * dice.chance(0.5, B, 1, 1)
    z = z @ (eye + strength * dice.normal(B, d, d) / math.sqrt(d))
    r = max(1, d // 3)
    low = dice.normal(B, n, r) @ dice.normal(B, r, d) / math.sqrt(r)
    z = torch.where(dice.chance(0.12, B, 1, 1), low + dice.uniform(B, 1, 1, high=0.5) * z, z)
    K = 8
    centre = dice.normal(B, K, d) * 2
    of = (dice.uniform(B, n) ** dice.uniform(B, 1, low=0.5, high=2.0) * dice.uniform(B, 1, low=2, high=K)).long()
    clustered = torch.gather(centre, 1, of[..., None].expand(B, n, d)) + z * dice.uniform(B, 1, 1, low=0.05, high=0.8)
    z = torch.where(dice.chance(0.2, B, 1, 1), clustered, z)
    path = standard(torch.cumsum(dice.normal(B, n, d), 1))
    path = torch.gather(path, 1, torch.rand(B, n, device=z.device).argsort(1)[..., None].expand(B, n, d))
    z = torch.where(dice.chance(0.06, B, 1, 1) & dice.chance(0.7, B, 1, d), path, z)
    z = standard(z)
    other = torch.roll(z, 1, 2) + 0.5 * torch.roll(z, 2, 2) * dice.normal(B, 1, d)  # nearly a function of others
    bent = torch.where(dice.chance(0.5, B, 1, d), torch.sin(1.5 * other), other)
    near = standard(bent + dice.lognormal(-2.5, 1, B, 1, d) * dice.normal(B, n, d))
    z = torch.where(dice.chance(0.15, B, 1, 1) & dice.chance(0.4, B, 1, d), near, z)
    crowd = dice.chance(0.12, B, 1)  # near-duplicates, and exact ones: replicates
    source = (dice.uniform(B, n) ** 2 * n).long().clamp(max=n - 1)
    own = torch.arange(n, device=z.device).expand(B, n)
    source = torch.where(crowd & (dice.uniform(B, n) < dice.uniform(B, 1, high=0.6)), source, own)
    z = torch.gather(z, 1, source[..., None].expand(B, n, d))
    z = z + 0.03 * dice.uniform(B, 1, 1) * dice.chance(0.5, B, 1, 1) * (source != own)[..., None] * dice.normal(B, n, d)
    return z


def marginals(z, dice):
    """What a table shows (codes of nominal levels), what the function sees (two effects of a level), which are nominal."""
    B, n, d = z.shape
    k = dice.integer(0, 13, B, 1, d)
    k = torch.where(k == 12, 4, k)
    k = torch.where(dice.chance(0.5, B, 1, 1), k[..., :1].expand_as(k), k)  # half of the tables: all columns alike
    k = torch.where(dice.chance(0.1 if d > 6 else 0.2, B, 1, 1), torch.full_like(k, 4), k)  # categories alone
    k = torch.where(dice.chance(0.3, B, 1, 1), torch.where(k > 2, 0, k), k)
    u = phi(z).clamp(1e-5, 1 - 1e-5)
    few = dice.integer(2, 13, B, 1, d)
    many = dice.integer(10, LEVELS, B, 1, d)
    levels = torch.where(dice.chance(0.25, B, 1, 1), many, few).to(z)
    even = torch.floor(u * few.to(z))
    skew = torch.where(dice.chance(0.5, B, 1, d), torch.ones(B, 1, d, device=z.device), dice.uniform(B, 1, d, low=1, high=3))
    code = torch.floor(u**skew * levels).clamp(max=LEVELS - 1)
    s = dice.uniform(B, 1, d)
    x = z
    x = torch.where(k == 1, 2 * u - 1, x)
    x = torch.where(k == 2, torch.exp((0.3 + s) * z.clamp(-4, 4)), x)
    x = torch.where(k == 3, even, x)
    x = torch.where(k == 5, (u < 0.1 + 0.8 * s).to(z), x)
    x = torch.where(k == 6, torch.relu(z + s - 0.3), x)
    x = torch.where(k == 7, torch.round(u * (15 + 60 * s)), x)
    x = torch.where(k == 8, torch.sign(z) * z.abs() ** (1 + 1.5 * s), x)
    x = torch.where(k == 9, u ** (0.2 + 3 * s), x)
    x = torch.where(k == 10, z + 3 * (dice.uniform(B, n, d) < s), x)
    x = torch.where(k == 11, torch.round(z * 3) / 3, x)
    parts = dice.chance(0.08, B, 1, 1) & (dice.chance(0.8, B, 1, d) | dice.chance(0.5, B, 1, 1)) & (k != 4)
    w = torch.exp(z.clamp(-4, 4) * dice.lognormal(0.2, 0.5, B, 1, 1)) * parts
    share = w / (w.sum(2, keepdim=True) + 1e-9)
    share = torch.relu(share - 0.1 * dice.chance(0.5, B, 1, 1))
    share = share / (share.sum(2, keepdim=True) + 1e-9)
    share = torch.where(dice.chance(0.5, B, 1, 1), torch.round(share * 10) / 10, share)
    x = torch.where(parts, share, x)
    nominal = k == 4
    order = torch.rand(B, LEVELS, d, device=z.device).argsort(1)  # codes have no order
    effect, second = (torch.gather(dice.normal(B, LEVELS, d), 1, code.long()) for _ in range(2))
    shown = torch.where(nominal, torch.gather(order, 1, code.long()).to(z), x)
    seen = torch.where(nominal, effect, x)
    # numbers get a second view too: the same column, bent
    second = torch.where(nominal, second, torch.zeros_like(second))
    return shown, standard(seen).clamp(-8, 8), standard(second).clamp(-8, 8), nominal[:, 0]


def relevance(B, d, dice):
    share = dice.uniform(B, 1)
    on = dice.uniform(B, d) < 0.1 + 0.9 * share
    best = dice.uniform(B, d)
    on = on | (best == best.max(1, keepdim=True).values)
    return on * dice.lognormal(0, 0.7, B, d)


# --- labels ---


def noise(shape, f, x, dice):
    """Errors of deviation about 1: normal, with heavy tails, with outliers, with a size that depends on the row."""
    B, n = shape
    e = dice.normal(B, n)
    heavy = e / torch._standard_gamma(torch.full((B, n), 1.5, device=e.device)).clamp(min=0.05).sqrt() * 1.2
    e = torch.where(dice.chance(0.2, B, 1), heavy, e)
    e = torch.where(dice.chance(0.1, B, 1) & dice.chance(0.02, B, n), e * 8, e)
    column = x[..., 0]
    size = torch.where(dice.chance(0.5, B, 1), f, column)
    size = torch.exp((dice.uniform(B, 1, low=-1.2, high=1.2) * size).clamp(-3, 2))
    size = size / (size.square().mean(1, keepdim=True).sqrt() + 1e-6)
    return e * torch.where(dice.chance(0.2, B, 1), size, torch.ones_like(size))


def label(f, x, dice):
    """Noise, then what people do to labels: logs, bounds, zeros, ties."""
    B, n = f.shape
    sd = torch.exp(dice.uniform(B, 1, low=math.log(0.004), high=math.log(1.0)))
    sd = sd * ~dice.chance(0.08, B, 1)
    y = f + sd * noise((B, n), f, x, dice)
    kind = dice.integer(0, 24, B, 1)
    s = dice.uniform(B, 1)
    y = torch.where(kind < 4, torch.exp(((0.2 + 1.2 * s) * y).clamp(-8, 5)), y)
    y = torch.where(kind == 4, torch.sigmoid((1 + 3 * s) * y), y)
    y = torch.where(kind == 5, (y + 2 * s - 1).clamp(-1, 1), y)  # bounded on both sides
    y = torch.where(kind == 6, torch.relu(y + 2 * s - 0.8), y)  # zeros
    y = torch.where(kind == 7, torch.relu(y + 2 * s - 0.8) ** 2, y)
    y = torch.where(kind == 8, torch.round(y * (1 + 4 * s)), y)  # ties
    y = torch.where(kind == 9, torch.sign(y) * y.abs() ** (1 + s), y)
    y = torch.where(kind == 10, torch.sign(y) * y.abs().sqrt(), y)
    y = torch.where(kind == 11, torch.log(y.abs() + 0.02 + s), y)
    y = torch.where(dice.chance(0.5, B, 1), -y, y)
    return standard(y)


# --- which rows are labelled ---


def labelled_first(z, n_lab, dice):
    """An order of the rows: random, a region, the tails, or spread out as methods pick them; (B, n)."""
    B, n, d = z.shape
    gumbel = -torch.log(-torch.log(dice.uniform(B, n).clamp(1e-6, 1 - 1e-6)))
    direction = (z @ dice.normal(B, d, 1)).squeeze(-1) / math.sqrt(d)
    region = gumbel + direction * dice.uniform(B, 1, high=2.5)
    tails = gumbel + z.square().mean(2) * dice.uniform(B, 1, high=1.5)
    key = torch.where(dice.chance(0.3, B, 1), region, tails)
    first = gumbel + 0
    if n_lab < 0.8 * n:  # a few rounds, each of the rows farthest from those before
        rounds = 4
        chosen = torch.zeros(B, n, device=z.device)
        score = gumbel
        for r in range(rounds):
            want = max(1, n_lab * (r + 1) // rounds - n_lab * r // rounds)
            top = torch.topk(score - 1e6 * chosen, want, 1).indices
            chosen = chosen.scatter(1, top, float(rounds - r))
            centre = torch.gather(z, 1, top[..., None].expand(B, want, d))
            near = torch.cdist(z, centre).min(2).values
            dist = near if r == 0 else torch.minimum(dist, near)
            score = 3 * dist / (dist.mean(1, keepdim=True) + 1e-6) + 0.5 * gumbel
        first = chosen * 100 + gumbel
    key = torch.where(dice.chance(0.6, B, 1), first, key)
    key = torch.where(dice.chance(0.65, B, 1), gumbel, key)
    return key.argsort(1, descending=True)


# --- tables ---


def teachable(x, y, rows=160):
    """Correlation of a leave-one-out kernel mean with the label, the best of three widths; (B,)."""
    x, y = x[:, :rows], standard(y[:, :rows])
    D = torch.cdist(x, x)
    D = D / (D.mean((1, 2), keepdim=True) + 1e-6)
    D = D + 1e6 * torch.eye(x.shape[1], device=x.device)
    best = torch.full((x.shape[0],), -1.0, device=x.device)
    for width in (3.0, 8.0, 20.0):
        p = standard((torch.softmax(-width * D, -1) @ y[..., None]).squeeze(-1))
        best = torch.maximum(best, (p * y).mean(1))
    return best


def chunk(B, n, d, n_lab, dice):
    z = latent(B, n, d, dice)
    hidden = dice.py.random() < 0.25
    if hidden:  # inputs and label are effects of hidden causes
        rel = relevance(B, d, dice)
        m = max(2, d // 2)
        h1 = composed(z, rel, m, dice) + 0.1 * dice.uniform(B, 1, m) * dice.normal(B, n, m)
        both = torch.cat([z, h1], 2)
        h2 = composed(both, relevance(B, both.shape[2], dice), m + 1, dice)
        f = h2[..., 0]
        nodes = torch.cat([both, h2[..., 1:] + 0.1 * dice.normal(B, n, m)], 2)
        which = torch.rand(B, nodes.shape[2], device=z.device).argsort(1)[:, :d]
        z = standard(columns(nodes, which)).clamp(-5, 5)
        shown, seen, _, nominal = marginals(z, dice)
        view = seen
    else:
        shown, seen, second, nominal = marginals(z, dice)
        rel = relevance(B, d, dice)
        x = torch.cat([seen, second], 2)
        rel = torch.cat([rel, rel * nominal], 1)
        f = composed(x, rel, 1, dice)[..., 0]
        view = seen * rel[:, :d][:, None, :]
    y = label(standard(f).clamp(-10, 10), seen, dice)
    good = teachable(view, y)
    missing = dice.chance(0.18, B, 1, 1) & dice.chance(0.4, B, 1, d)
    rate = dice.uniform(B, 1, d, high=0.5) * torch.where(dice.chance(0.3, B, 1, 1), phi(2 * seen), torch.ones_like(seen))
    missing = missing & (dice.uniform(B, n, d) < rate)
    order = labelled_first(standard(seen), n_lab, dice)
    rows = order[..., None].expand(B, n, d)
    shown, missing, y = torch.gather(shown, 1, rows), torch.gather(missing, 1, rows), torch.gather(y, 1, order)
    shown = torch.where(missing, torch.zeros_like(shown), torch.nan_to_num(shown).clamp(-1e6, 1e6))
    return Tables(shown, nominal, missing, y), good


def draw(B, n_lab, n_test, d, device, seed, chunks=4, surplus=1.25):
    """B tables of n_lab labelled and n_test other rows with d columns. One seed gives one batch."""
    torch.manual_seed(seed)
    dice = Dice(device, seed)
    n = n_lab + n_test
    total = max(chunks, math.ceil(B * surplus))
    sizes = [total // chunks + (i < total % chunks) for i in range(chunks)]
    parts = [chunk(size, n, d, n_lab, dice) for size in sizes]
    t = Tables(*(torch.cat([getattr(p, name) for p, _ in parts]) for name in ("x", "nominal", "missing", "y")))
    good = torch.cat([g for _, g in parts])
    spread = t.y[:, :n_lab].std(1)
    keep = (good > 0.12) | dice.chance(0.15, total)
    keep = keep & torch.isfinite(t.y).all(1) & (spread > 1e-2)
    order = (keep + 0.5 * dice.uniform(total)).argsort(descending=True)[:B]
    t = t.index(order)
    column = torch.rand(B, d, device=device).argsort(1)
    rows = column[:, None, :].expand(B, n, d)
    return Tables(torch.gather(t.x, 2, rows), torch.gather(t.nominal, 1, column), torch.gather(t.missing, 2, rows), t.y)
