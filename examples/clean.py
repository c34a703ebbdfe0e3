"""Rotary attention and a guarded loss, written so that torch.compile captures all of it."""

import torch
import torch.nn.functional as F
from torch import nn


class RotaryAttention(nn.Module):
    def __init__(self, dim: int = 32, heads: int = 4, longest: int = 128):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        rate = 10000 ** (-torch.arange(0, dim // heads, 2) / (dim // heads))
        angle = torch.outer(torch.arange(longest), rate)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def rotate(self, x):
        tokens = x.shape[-2]
        even, odd = x[..., 0::2], x[..., 1::2]
        cos, sin = self.cos[:tokens], self.sin[:tokens]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

    def forward(self, x, mask=None):
        batch, tokens, dim = x.shape
        qkv = self.qkv(x).view(batch, tokens, 3, self.heads, dim // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        if mask is not None:
            mask = mask[:, None, None, :]
        y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, attn_mask=mask)
        return self.proj(y.transpose(1, 2).reshape(batch, tokens, dim))


class GuardedLoss(nn.Module):
    """A mean over valid positions; falls back to the plain mean when none is valid."""

    def forward(self, prediction, target, valid):
        error = (prediction - target) ** 2
        count = valid.sum()
        masked = torch.where(valid, error, 0.0).sum() / count.clamp(min=1)
        return torch.where(count > 0, masked, error.mean())


def example_inputs():
    x = torch.randn(2, 10, 32)
    return [(x,), (x, torch.arange(10).expand(2, 10) < 7)]


TARGET = "RotaryAttention"
