"""Numbers read out of tensors stay tensors."""

from __future__ import annotations

import pytest

from .value_rewrites import Pair, check, declined, findings, rewritten, source

PAIRS = (
    Pair(
        "item scale",
        """
def f(x: torch.Tensor):
    scale = x.abs().max().item()
    return x / (scale + 1e-6)
""",
        """
def f(x: torch.Tensor):
    scale = x.abs().max().detach()
    return x / (scale + 1e-6)
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "item count",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    n = mask.sum().item()
    return x.sum() / max(n, 1)
""",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    n = mask.sum()
    return x.sum() / n.clamp(min=1)
""",
        "[(torch.randn(5,4),torch.tensor([True,False,True,True,False])),(torch.randn(5,4),torch.zeros(5,dtype=torch.bool)),(torch.randn(5,4),torch.ones(5,dtype=torch.bool))]",
    ),
    Pair(
        "item of a mask that weighs",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    n = mask.sum().item()
    return (x * mask).sum() / max(n, 1)
""",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    n = mask.sum().detach()
    return (x * mask).sum() / n.clamp(min=1)
""",
        "[(torch.randn(5, 4), torch.rand(5, 4)), (torch.randn(5, 4), torch.zeros(5, 4))]",
    ),
    Pair(
        "loop total",
        """
def f(x: torch.Tensor):
    total = 0.0
    for row in x:
        total += row.sum().item()
    return x - total
""",
        """
def f(x: torch.Tensor):
    total = 0.0
    for row in x:
        total = total + row.sum().detach()
    return x - total
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "int trunc",
        """
def f(x: torch.Tensor):
    n = int(x.sum())
    return x * n
""",
        """
def f(x: torch.Tensor):
    n = x.sum().long()
    return x * n
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "math",
        """
import math


def f(x: torch.Tensor):
    return x * math.sqrt(x.abs().sum().item()) + math.exp(x.mean())
""",
        """
import math


def f(x: torch.Tensor):
    return x * torch.sqrt(x.abs().sum().detach()) + torch.exp(x.mean().detach())
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "tensor of",
        """
def f(x: torch.Tensor):
    stats = torch.tensor([x.mean().item(), x.std().item()])
    return x * stats[0] + torch.tensor(x.sum().item())
""",
        """
def f(x: torch.Tensor):
    stats = torch.tensor([x.mean().detach(), x.std().detach()])
    return x * stats[0] + x.sum().detach().clone()
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "half",
        """
def f(x: torch.Tensor):
    return x.half() * x.sum().item()
""",
        """
def f(x: torch.Tensor):
    return x.half() * x.sum().detach()
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "tolist for",
        """
def f(x: torch.Tensor):
    out = x
    for v in x.mean(1).tolist():
        out = out * 0.9 + v
    return out
""",
        """
def f(x: torch.Tensor):
    out = x
    for v in x.mean(1).detach():
        out = out * 0.9 + v
    return out
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "tolist unpack",
        """
def f(x: torch.Tensor):
    lo, hi = x[0, :2].tolist()
    return x * lo + hi
""",
        """
def f(x: torch.Tensor):
    lo, hi = x[0, :2].detach()
    return x * lo + hi
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "as tensor",
        """
def f(x: torch.Tensor):
    return torch.as_tensor([x.sum(), x.mean()]) * 2
""",
        """
def f(x: torch.Tensor):
    return torch.stack([x.sum(), x.mean()]).detach() * 2
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_rewrites(pair: Pair) -> None:
    assert rewritten(source(pair.before), pair.choice) == source(pair.after)


@pytest.mark.truth
def test_eager_and_dynamo_agree() -> None:
    check(PAIRS)


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        ("return x.sum().item()", "CL401", "returned"),
        ("return torch.zeros(x.sum().item())", "CL401", "needs a number"),
        ("n = x.sum().item()\n    return x + len(f'{n:.2f}')", "CL401", "formatted into text"),
        ("return [t * 2 for t in range(int(x.sum()))]", "CL402", "goes to `range"),
        ("n = int(x.sum())\n    return x[: n + 1]", "CL402", "bound of a slice"),
        ("n = x.sum().item()\n    return {'n': n, 'x': x}", "CL401", "`{'n': n, 'x': x}`"),
        ("n = x.sum().item()\n    return (lambda y: y * n)(x)", "CL401", "function inside"),
        ("return x.clamp(0.0, x.mean().item())", "CL401", "needs a number"),
        ("return x + float(x.numpy().sum())", "CL402", "NumPy"),
        ("k = x.long().tolist()\n    return torch.zeros(k)", "CL403", "goes to `torch.zeros(k)`"),
        ("return x.view(3, -1) * math.gcd(x.sum(), 2)", "CL402", "no form for tensors"),
    ],
)
def test_declined(body: str, code: str, reason: str) -> None:
    head = "import math\n\n\n" if "math" in body else ""
    assert reason in declined(f"{head}def f(x: torch.Tensor):\n    {body}", code)


def test_gradients_are_cut_only_where_they_could_flow() -> None:
    compared = rewritten(source("def f(x: torch.Tensor):\n    return (x.sum().item() > 0) * x"))
    assert "x * (x.sum()" in compared or "(x.sum() > 0) * x" in compared
    text = "def f(x: torch.Tensor):\n    with torch.no_grad():\n        return x * x.sum().item()"
    assert "x * x.sum()\n" in rewritten(source(text))


def test_a_read_that_cant_be_dropped_leaves_the_loop() -> None:
    text = """
        def f(x: torch.Tensor, n: torch.Tensor):
            for _ in range(3):
                x = x + torch.zeros(n.max().item()).sum()
            return x
        """
    assert "    n_max = n.max().item()\n    for _ in" in rewritten(source(text))
    own = text.replace("for _ in range(3)", "for n in n")
    assert "read" not in [fix.title[:4] for f in findings(source(own)) for fix in f.fixes]


def test_a_total_is_rebound_not_written_in_place() -> None:
    text = """
        def f(x: torch.Tensor):
            first = x.sum().item()
            total = first
            total += 1.0
            return x * first + total
        """
    assert "total = total + 1.0" in rewritten(source(text))
