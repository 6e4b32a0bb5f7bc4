"""Attention over the columns of a row, and over the labelled rows of a column.

Both take queries, keys and values of all tokens in one tensor (B, C, n, 3 D) and return (B, C, n, D). On the GPU the first is
a kernel that packs many short rows into one tile; the second hands views to the library's kernel and writes the
gradients of queries, keys and values into one tensor.
"""
import torch
import torch.nn.functional as F

try:
    import triton
    import triton.language as tl
except ImportError:  # the CPU has its own path
    triton = None


def split(qkv, heads):
    B, C, n, D3 = qkv.shape
    return qkv.view(B, C, n, 3, heads, D3 // 3 // heads).unbind(3)


def across_columns_plain(qkv, heads):
    B, C, n, D3 = qkv.shape
    q, k, v = (t.permute(0, 2, 3, 1, 4) for t in split(qkv, heads))  # B, n, heads, C, width
    out = F.scaled_dot_product_attention(q, k, v)
    return out.permute(0, 3, 1, 2, 4).reshape(B, C, n, D3 // 3)


def across_rows_plain(qkv, heads, labelled):
    B, C, n, D3 = qkv.shape
    q, k, v = (t.transpose(2, 3) for t in split(qkv, heads))  # B, C, heads, n, width
    out = F.scaled_dot_product_attention(q, k[..., :labelled, :], v[..., :labelled, :])
    return out.transpose(2, 3).reshape(B, C, n, D3 // 3)


if triton:

    @triton.jit
    def tile(C, n, R, T: tl.constexpr):
        t = tl.arange(0, T)
        r = t // C
        i = tl.program_id(0) * R + r
        ok = (r < R) & (i < n)
        at = (tl.program_id(2).to(tl.int64) * C + t % C) * n + i
        return r, ok, at

    @triton.jit
    def forward_kernel(X, O, scale, C, n, R, D, W: tl.constexpr, T: tl.constexpr):
        r, ok, at = tile(C, n, R, T)
        w = tl.program_id(1) * W + tl.arange(0, W)
        x = X + at[:, None] * (3 * D) + w[None, :]
        q = tl.load(x, mask=ok[:, None], other=0.0)
        k = tl.load(x + D, mask=ok[:, None], other=0.0)
        v = tl.load(x + 2 * D, mask=ok[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where((r[:, None] == r[None, :]) & ok[None, :], s, -1e30)
        p = tl.exp(s - tl.max(s, 1)[:, None])
        p = p / tl.sum(p, 1)[:, None]
        o = tl.dot(p.to(v.dtype), v)
        tl.store(O + at[:, None] * D + w[None, :], o.to(v.dtype), mask=ok[:, None])

    @triton.jit
    def backward_kernel(X, G, DX, scale, C, n, R, D, W: tl.constexpr, T: tl.constexpr):
        r, ok, at = tile(C, n, R, T)
        w = tl.program_id(1) * W + tl.arange(0, W)
        x = X + at[:, None] * (3 * D) + w[None, :]
        q = tl.load(x, mask=ok[:, None], other=0.0)
        k = tl.load(x + D, mask=ok[:, None], other=0.0)
        v = tl.load(x + 2 * D, mask=ok[:, None], other=0.0)
        g = tl.load(G + at[:, None] * D + w[None, :], mask=ok[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where((r[:, None] == r[None, :]) & ok[None, :], s, -1e30)
        p = tl.exp(s - tl.max(s, 1)[:, None])
        p = tl.where(ok[:, None], p / tl.sum(p, 1)[:, None], 0.0)
        dv = tl.dot(tl.trans(p).to(v.dtype), g)
        dp = tl.dot(g, tl.trans(v))
        ds = (p * (dp - tl.sum(p * dp, 1)[:, None]) * scale).to(v.dtype)
        dq = tl.dot(ds, k)
        dk = tl.dot(tl.trans(ds), q)
        dx = DX + at[:, None] * (3 * D) + w[None, :]
        tl.store(dx, dq.to(v.dtype), mask=ok[:, None])
        tl.store(dx + D, dk.to(v.dtype), mask=ok[:, None])
        tl.store(dx + 2 * D, dv.to(v.dtype), mask=ok[:, None])

    class AcrossColumns(torch.autograd.Function):
        @staticmethod
        def launch(kernel, qkv, others, heads):
            B, C, n, D3 = qkv.shape
            D = D3 // 3
            T = 32 if C <= 6 else 64 if C <= 16 else 128
            if C > T:
                raise ValueError(f"{C} tokens a row: at most {T}")
            R = T // C
            grid = (triton.cdiv(n, R), heads, B)
            kernel[grid](qkv, *others, (D // heads) ** -0.5, C, n, R, D, W=D // heads, T=T, num_warps=4)

        @staticmethod
        def forward(ctx, qkv, heads):
            qkv = qkv.contiguous()
            out = qkv.new_empty(*qkv.shape[:3], qkv.shape[3] // 3)
            AcrossColumns.launch(forward_kernel, qkv, (out,), heads)
            ctx.save_for_backward(qkv)
            ctx.heads = heads
            return out

        @staticmethod
        def backward(ctx, g):
            (qkv,) = ctx.saved_tensors
            d = torch.empty_like(qkv)
            AcrossColumns.launch(backward_kernel, qkv, (g.contiguous(), d), ctx.heads)
            return d, None


class AcrossRows(torch.autograd.Function):
    @staticmethod
    def parts(qkv, heads, labelled):
        B, C, n, D3 = qkv.shape
        q, k, v = qkv.view(B * C, n, 3, heads, D3 // 3 // heads).permute(2, 0, 3, 1, 4)
        return q, k[:, :, :labelled], v[:, :, :labelled]

    @staticmethod
    def forward(ctx, qkv, heads, labelled):
        qkv = qkv.contiguous()
        q, k, v = AcrossRows.parts(qkv, heads, labelled)
        out, lse, cq, ck, mq, mk, seed, offset, _ = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v)
        ctx.save_for_backward(qkv, out, lse, seed, offset)
        ctx.rest = cq, ck, mq, mk, heads, labelled
        B, C, n, D3 = qkv.shape
        return out.transpose(1, 2).reshape(B, C, n, D3 // 3)

    @staticmethod
    def backward(ctx, g):
        qkv, out, lse, seed, offset = ctx.saved_tensors
        cq, ck, mq, mk, heads, labelled = ctx.rest
        q, k, v = AcrossRows.parts(qkv, heads, labelled)
        B, C, n, D3 = qkv.shape
        g = g.reshape(B * C, n, heads, D3 // 3 // heads).transpose(1, 2)
        grads = torch.ops.aten._scaled_dot_product_flash_attention_backward(
            g, q, k, v, out, lse, cq, ck, mq, mk, 0.0, False, seed, offset
        )
        d = torch.empty_like(qkv).view(B * C, n, 3, heads, D3 // 3 // heads)
        d[:, :, 0] = grads[0].transpose(1, 2)
        d[:, :labelled, 1] = grads[1].transpose(1, 2)
        d[:, :labelled, 2] = grads[2].transpose(1, 2)
        d[:, labelled:, 1:] = 0
        return d.view(B, C, n, D3), None, None


def across_columns(qkv, heads):
    return AcrossColumns.apply(qkv, heads) if qkv.is_cuda else across_columns_plain(qkv, heads)


def across_rows(qkv, heads, labelled):
    return AcrossRows.apply(qkv, heads, labelled) if qkv.is_cuda else across_rows_plain(qkv, heads, labelled)
