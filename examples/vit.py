"""A small vision transformer with random token dropping and an optional padding mask."""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        batch, tokens, dim = x.shape
        qkv = self.qkv(x).view(batch, tokens, 3, self.heads, dim // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        if mask is not None and not mask.all():
            bias = torch.zeros_like(mask, dtype=x.dtype).masked_fill(~mask, float("-inf"))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias[:, None, None, :])
        else:
            y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(batch, tokens, dim))


class Block(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = Attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, dim: int = 32, depth: int = 2, heads: int = 4, drop_tokens: float = 0.25):
        super().__init__()
        self.patchify = nn.Conv2d(3, dim, kernel_size=4, stride=4)
        self.position = nn.Parameter(torch.randn(1, 64, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.head = nn.Linear(dim, 10)
        self.drop_tokens = drop_tokens
        self.last_norm = 0.0

    def forward(self, images, mask=None):
        x = self.patchify(images).flatten(2).transpose(1, 2)
        x = x + self.position[:, : x.shape[1]]
        if self.training and self.drop_tokens > 0:
            keep = torch.rand(x.shape[1], device=x.device) > self.drop_tokens
            x = x[:, keep]
            mask = None
        for block in self.blocks:
            x = block(x, mask)
        self.last_norm = x.norm().item()
        if torch.isnan(x).any():
            print("NaN in the trunk, norm was", self.last_norm)
        return self.head(x.mean(dim=1))


def example_inputs():
    images = torch.randn(2, 3, 32, 32)
    mask = torch.arange(64).expand(2, 64) < 50
    return [(images,), (images, mask)]


TARGET = "VisionTransformer"
