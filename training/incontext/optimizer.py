"""Muon for the matrices of the blocks, Adam for the rest, and a running average of all."""
import torch


class Recorder:
    """Turns functions without results into graphs of the GPU, which have one pool of memory; on a CPU it returns them as they are."""

    def __init__(self, device):
        self.on = device == "cuda"
        if self.on:
            self.pool, self.stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream()

    def record(self, run):
        if not self.on:
            return run
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            run()  # compiles what is to be compiled
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin(pool=self.pool)
            run()
            graph.capture_end()
        torch.cuda.current_stream().wait_stream(self.stream)
        return graph.replay


ROUNDS = [
    (4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
    (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012),
]  # fmt: skip


def orthogonal(x):
    """Matrices (k, rows, columns) with all singular values near 1, by Newton and Schulz."""
    x = x.to(torch.bfloat16) if x.is_cuda else x
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for a, b, c in ROUNDS:
        s = x @ x.mT
        x = a * x + (b * s + c * (s @ s)) @ x
    return x.mT if tall else x


def pieces(name, p):
    """A stack of matrices, queries, keys and values apart."""
    if name.endswith("_qkv"):
        return p.view(p.shape[0] * 3, p.shape[2], p.shape[2])
    return p.view(-1, *p.shape[-2:])


def for_muon(name, p):
    return name.startswith("blocks.") and p.ndim == 3 and "sharpness" not in name


class Optimizer:
    """Steps from the gradients in `grads`. The rate and the weight of the average are tensors, so that a step can be recorded."""

    def __init__(self, network, recorder, momentum=0.95, betas=(0.9, 0.98), decay=0.01, clip=1.0):
        self.momentum, self.betas, self.decay, self.clip = momentum, betas, decay, clip
        named = list(network.named_parameters())
        self.all = [p for _, p in named]
        self.grads = [torch.zeros_like(p) for p in self.all]
        grad = dict(zip((n for n, _ in named), self.grads))
        self.muon = [(n, p, grad[n]) for n, p in named if for_muon(n, p)]
        self.adam = [(n, p, grad[n]) for n, p in named if not for_muon(n, p)]
        self.state = {f"momentum.{n}": torch.zeros_like(p) for n, p, _ in self.muon}
        for n, p, _ in self.adam:
            self.state |= {f"first.{n}": torch.zeros_like(p), f"second.{n}": torch.zeros_like(p)}
        self.average = {n: p.detach().clone() for n, p in named}
        device = self.all[0].device
        self.rate = torch.zeros((), device=device)
        self.keep = torch.zeros((), device=device)  # of the average
        self.count = torch.zeros((), device=device)
        self.play = recorder.record(self.update)  # at rate 0

    def step(self, rate, keep):
        self.rate.fill_(rate)
        self.keep.fill_(keep)
        self.play()

    @torch.no_grad()
    def update(self):
        grads = self.grads
        for g in grads:
            torch.nan_to_num(g, nan=0.0, posinf=0.0, neginf=0.0, out=g)
        norm = torch.stack(torch._foreach_norm(grads)).norm()
        torch._foreach_mul_(grads, (self.clip / (norm + 1e-6)).clamp(max=1.0))
        self.count += 1
        for name, p, grad in self.muon:
            m = self.state[f"momentum.{name}"]
            m.mul_(self.momentum).add_(grad, alpha=1 - self.momentum)
            u = pieces(name, grad.lerp(m, self.momentum))
            u = orthogonal(u).to(p.dtype) * (0.2 * max(u.shape[1:]) ** 0.5)
            p.mul_(1 - self.rate * self.decay).sub_(self.rate * u.reshape(p.shape))
        params, grads = [p for _, p, _ in self.adam], [g for _, _, g in self.adam]
        first = [self.state[f"first.{n}"] for n, _, _ in self.adam]
        second = [self.state[f"second.{n}"] for n, _, _ in self.adam]
        a, b = self.betas
        torch._foreach_lerp_(first, grads, 1 - a)
        torch._foreach_mul_(second, b)
        torch._foreach_addcmul_(second, grads, grads, 1 - b)
        size = torch._foreach_sqrt(second)
        torch._foreach_div_(size, (1 - b**self.count).sqrt())
        torch._foreach_add_(size, 1e-8)
        u = torch._foreach_div(first, size)
        torch._foreach_mul_(u, -self.rate / (1 - a**self.count))
        torch._foreach_add_(params, u)
        average = list(self.average.values())
        torch._foreach_mul_(average, self.keep)
        torch._foreach_add_(average, torch._foreach_mul([p.detach() for p in self.all], 1 - self.keep))
