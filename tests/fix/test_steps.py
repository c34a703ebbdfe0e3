"""Rewrites that are a step on the way: with those that follow, the graph is whole."""

from __future__ import annotations

import pytest

from .branch_rewriting import declined, rewritten
from .value_rewrites import Pair, check, source

PAIRS = (
    Pair(
        "selected rows",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    out = x.clone()
    rows = mask.nonzero().flatten()
    for i in rows:
        # twice
        out[i] = out[int(i)] * 2
    return out
""",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    out = x.clone()
    for i in range(mask.shape[0]):
        # twice
        out[i] = torch.where(mask[i] != 0, out[i] * 2, out[i])
    return out
""",
        "[(torch.randn(4,3),torch.arange(4)>1,),(torch.randn(4,3),torch.arange(4)>9,)]",
    ),
    Pair(
        "selected rows of an expression",
        """
def f(x: torch.Tensor):
    total = x[0]
    for i in torch.where(x.sum(1) > 0)[0].tolist():
        total = total + x[i]
    return total
""",
        """
def f(x: torch.Tensor):
    total = x[0]
    chosen = x.sum(1) > 0
    for i in range(chosen.shape[0]):
        total = torch.where(chosen[i], total + x[i], total)
    return total
""",
        "[(torch.randn(4,3),),(-torch.rand(4,3),)]",
    ),
    Pair(
        "rows by index",
        """
def f(tokens: torch.Tensor):
    out = []
    for i in range(tokens.shape[0]):
        out.append(tokens[i] * 2)
    return torch.stack(out)
""",
        """
def f(tokens: torch.Tensor):
    return tokens * 2
""",
        "[(torch.randn(4,3),)]",
    ),
    Pair(
        "grown by cat",
        """
def f(x: torch.Tensor, n: int = 3):
    acc = x[:1]
    for i in range(n):
        acc = torch.cat([acc, x * i], dim=0)
    return acc
""",
        """
def f(x: torch.Tensor, n: int = 3):
    acc = x[:1]
    acc_parts = [acc]
    for i in range(n):
        acc_parts.append(x * i)
    acc = torch.cat(acc_parts, dim=0)
    return acc
""",
        "[(torch.randn(4,3),)]",
    ),
    Pair(
        "zip of a list",
        """
def f(a: torch.Tensor, weights: torch.Tensor):
    total = torch.zeros_like(a)
    for part, weight in zip(a.unbind(), weights.tolist()):
        total = total + weight * part
    return total
""",
        """
def f(a: torch.Tensor, weights: torch.Tensor):
    total = torch.zeros_like(a)
    for part, weight in zip(a.unbind(), weights.detach()):
        total = total + weight * part
    return total
""",
        "[(torch.randn(2,3),torch.rand(2),)]",
    ),
    Pair(
        "index by name",
        """
def f(logits: torch.Tensor, table: torch.Tensor):
    best = logits.argmax().item()
    return table[best] * 2
""",
        """
def f(logits: torch.Tensor, table: torch.Tensor):
    best = logits.argmax()
    return table[best.reshape(1)].squeeze(0) * 2
""",
        "[(torch.randn(4),torch.randn(4,3),)]",
    ),
    Pair(
        "picked from a list",
        """
def f(a: torch.Tensor, b: torch.Tensor, router: torch.Tensor, scales: torch.Tensor):
    options = scales.tolist()
    parts = [a, b]
    return parts[int(router.argmax())] * options[router.argmin().item()]
""",
        """
def f(a: torch.Tensor, b: torch.Tensor, router: torch.Tensor, scales: torch.Tensor):
    options = scales.detach()
    parts = [a, b]
    return torch.stack(parts)[router.argmax().reshape(1)].squeeze(0) * options[
        router.argmin().reshape(1)
    ].squeeze(0)
""",
        "[(torch.randn(3),torch.randn(3),torch.tensor([0.1,0.9]),torch.rand(2))]",
    ),
    Pair(
        "a helper's answer",
        """
def crowded(x: torch.Tensor, limit=1.0):
    \"\"\"Say whether there is much.\"\"\"
    level = x.abs().mean()
    return bool(level > limit)


def f(x: torch.Tensor):
    if not crowded(x):
        x = x * 2
    return x
""",
        """
def crowded_tensor(x: torch.Tensor, limit=1.0):
    \"\"\"Say whether there is much.\"\"\"
    level = x.abs().mean()
    return level > limit


def crowded(x: torch.Tensor, limit=1.0):
    \"\"\"Say whether there is much.\"\"\"
    return bool(crowded_tensor(x, limit))


def f(x: torch.Tensor):
    x = torch.where(~crowded_tensor(x), x * 2, x)
    return x
""",
        "[(torch.randn(4),),(torch.randn(4)*9,)]",
    ),
    Pair(
        "a private helper's number",
        """
def _energy(x: torch.Tensor):
    return x.pow(2).sum().item()


def f(x: torch.Tensor):
    if _energy(x) > 3:
        x = x * 0.5
    return x
""",
        """
def _energy(x: torch.Tensor):
    return x.pow(2).sum()


def f(x: torch.Tensor):
    x = torch.where(_energy(x) > 3, x * 0.5, x)
    return x
""",
        "[(torch.randn(4),),(torch.randn(4)*9,)]",
    ),
    Pair(
        "a helper's comparison",
        """
def dense(mask: torch.Tensor):
    return mask.mean().item() > 0.5


def f(x: torch.Tensor):
    return x * 2 if dense(x) else x
""",
        """
def dense_tensor(mask: torch.Tensor):
    return mask.mean() > 0.5


def dense(mask: torch.Tensor):
    return bool(dense_tensor(mask))


def f(x: torch.Tensor):
    return torch.where(dense_tensor(x), x * 2, x)
""",
        "[(torch.ones(4),),(torch.zeros(4),)]",
    ),
    Pair(
        "a number in a buffer",
        """
class f(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x: torch.Tensor):
        level = float(x.abs().mean())
        self.scale = 0.9 * self.scale + 0.1 * level
        return x / self.scale
""",
        """
class f(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x: torch.Tensor):
        level = x.abs().mean().detach()
        self.scale = 0.9 * self.scale + 0.1 * level
        return x / self.scale
""",
        "[(torch.randn(4),)]",
    ),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_rewrite(pair: Pair) -> None:
    assert rewritten(source(pair.before)) == source(pair.after)


@pytest.mark.truth
def test_rewrites_say_the_same() -> None:
    check(PAIRS)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "def f(x: torch.Tensor, m: torch.Tensor):\n    for i in m.nonzero().flatten():\n"
            "        x = x * i\n    return x\n",
            "`i` is more than an index",
        ),
        (
            "def f(x: torch.Tensor, m: torch.Tensor):\n    for i in m.nonzero().flatten():\n"
            "        m[i] = False\n    return x\n",
            "the loop writes to `m`, which selects the rows",
        ),
        (
            "def f(x: torch.Tensor):\n    out = []\n    for i in range(len(x)):\n"
            "        out.append(x[i] * i)\n    return torch.stack(out)\n",
            "`i` does more than pick rows",
        ),
        (
            "def f(x: torch.Tensor):\n    acc = x\n    for i in range(3):\n"
            "        acc = torch.cat([acc, acc * i])\n    return acc\n",
            "the loop reads `acc` besides",
        ),
    ],
)
def test_declined(text: str, reason: str) -> None:
    assert reason in declined(source(text))
