"""The networks of `benchmarks/gpu.py`, in plain PyTorch, so that no other package is needed."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class DenseLayer(nn.Module):
    """BN, ReLU, 1×1, BN, ReLU, 3×3; its input is the concatenation of all before."""

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, parts: list[torch.Tensor]) -> torch.Tensor:
        x = self.conv1(F.relu(self.norm1(torch.cat(parts, 1))))
        return self.conv2(F.relu(self.norm2(x)))


class DenseNet(nn.Module):
    """DenseNet-121 (Huang et al., 2017)."""

    def __init__(self, tiny: bool = False) -> None:
        super().__init__()
        growth, first = (4, 8) if tiny else (32, 64)
        blocks = (2, 2) if tiny else (6, 12, 24, 16)
        self.stem = nn.Sequential(
            nn.Conv2d(3, first, 7, 2, 3, bias=False),
            nn.BatchNorm2d(first),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        channels = first
        self.blocks = nn.ModuleList()
        self.transitions = nn.ModuleList()
        for k, length in enumerate(blocks):
            layers = [DenseLayer(channels + i * growth, growth) for i in range(length)]
            self.blocks.append(nn.ModuleList(layers))
            channels += length * growth
            if k < len(blocks) - 1:
                self.transitions.append(
                    nn.Sequential(
                        nn.BatchNorm2d(channels),
                        nn.ReLU(),
                        nn.Conv2d(channels, channels // 2, 1, bias=False),
                        nn.AvgPool2d(2, 2),
                    )
                )
                channels //= 2
        self.norm = nn.BatchNorm2d(channels)
        self.head = nn.Linear(channels, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for k, layers in enumerate(self.blocks):
            parts = [x]
            for layer in layers:  # type: ignore[union-attr]
                parts.append(layer(parts))
            x = torch.cat(parts, 1)
            if k < len(self.transitions):
                x = self.transitions[k](x)
        x = F.relu(self.norm(x))
        return self.head(x.mean((2, 3)))


class LlamaBlock(nn.Module):
    """RMSNorm, rotary attention, RMSNorm, SwiGLU."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.RMSNorm(width)
        self.norm2 = nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 4 * width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).unbind(2)
        q, k = self.rotate(q), self.rotate(k)
        y = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True
        )
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        half = x.shape[-1] // 2
        at = torch.arange(x.shape[1], device=x.device, dtype=torch.float32)
        rate = 10000 ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
        angle = at[:, None, None] * rate
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class BertLayer(nn.Module):
    """Self-attention and a perceptron, each added and normed."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dense = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width, 1e-12)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width, 1e-12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = (
            part(x).view(b, t, self.heads, -1).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        y = F.scaled_dot_product_attention(q, k, v)
        x = self.norm1(x + self.dense(y.transpose(1, 2).reshape(b, t, c)))
        return self.norm2(x + self.narrow(F.gelu(self.wide(x))))


class Bert(nn.Module):
    """BERT's encoder (Devlin et al., 2018), without padding; the last layer's states."""

    def __init__(self, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, width)
        self.places = nn.Embedding(512, width)
        self.kinds = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(depth))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        place = torch.arange(tokens.shape[1], device=tokens.device)
        kind = torch.zeros_like(tokens)
        x = self.norm(self.words(tokens) + self.kinds(kind) + self.places(place))
        for layer in self.layers:
            x = layer(x)
        return x


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1, each with batch norm, added to the input."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.conv1, self.norm1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv3, self.norm3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.down = (
            nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))
            if stride > 1 or channels != out
            else nn.Identity()
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        y = F.relu(self.norm2(self.conv2(y)))
        return F.relu(self.norm3(self.conv3(y)) + self.down(x))


class ResNet(nn.Module):
    """ResNet-50 (He et al., 2015), its stride in the 3×3."""

    def __init__(self, tiny: bool = False) -> None:
        super().__init__()
        first, depths = (8, (1, 1)) if tiny else (64, (3, 4, 6, 3))
        self.stem = nn.Sequential(
            nn.Conv2d(3, first, 7, 2, 3, bias=False),
            nn.BatchNorm2d(first),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        channels, blocks = first, []
        for k, depth in enumerate(depths):
            width = first << k
            for i in range(depth):
                blocks.append(Bottleneck(channels, width, 2 if k and not i else 1))
                channels = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))
