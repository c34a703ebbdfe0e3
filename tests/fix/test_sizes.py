"""Sizes and places that only the data knows."""

from __future__ import annotations

import pytest
from compile_lint.rules.base import Safety

from .value_rewrites import Pair, check, declined, findings, rewritten, source

PAIRS = (
    Pair(
        "idx",
        """
def f(x: torch.Tensor):
    i = x.sum(1).argmax()
    return x[i] * 2 + x[x.sum(1).argmin().item()] + x[:, x[0].argmax().item()].sum()
""",
        """
def f(x: torch.Tensor):
    i = x.sum(1).argmax()
    return (
        x[i.unsqueeze(0)].squeeze(0) * 2
        + x[x.sum(1).argmin().reshape(1)].squeeze(0)
        + x[:, x[0].argmax().reshape(1)].squeeze(1).sum()
    )
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "idxset",
        """
def f(x: torch.Tensor):
    x = x.clone()
    i = x.sum(1).argmax()
    x[i] = 0.0
    x[:, x[0].argmax()] = 1.0
    x[x.sum(1).argmin()] += x[0]
    return x
""",
        """
def f(x: torch.Tensor):
    x = x.clone()
    i = x.sum(1).argmax()
    x[i.unsqueeze(0)] = 0.0
    x[:, x[0].argmax().unsqueeze(0)] = 1.0
    x[x.sum(1).argmin().unsqueeze(0)] += x[0]
    return x
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "slice3",
        """
def f(x: torch.Tensor, s: torch.Tensor):
    start = s.max()
    y = x[start : start + 2]
    x = x.clone()
    x[:, start : start + 2] = 0.0
    return y.sum() + x
""",
        """
def f(x: torch.Tensor, s: torch.Tensor):
    start = s.max()
    y = x[start + torch.arange(2, device=x.device)]
    x = x.clone()
    x[:, start + torch.arange(2, device=x.device)] = 0.0
    return y.sum() + x
""",
        "[(torch.randn(5,4),torch.tensor([1,2])),(torch.randn(5,4),torch.tensor([0,0]))]",
    ),
    Pair(
        "prefix",
        """
def f(x: torch.Tensor, s: torch.Tensor):
    n = s.max()
    x = x.clone()
    x[n:] = 0.0
    return x[:n].sum() + x
""",
        """
def f(x: torch.Tensor, s: torch.Tensor):
    n = s.max()
    x = torch.where((torch.arange(x.shape[0], device=x.device) >= n)[:, None], 0.0, x)
    return (
        torch.where(
            (torch.arange(x.shape[0], device=x.device) < n)[:, None], x, 0
        ).sum()
        + x
    )
""",
        "[(torch.randn(5,4),torch.tensor([1,2])),(torch.randn(5,4),torch.tensor([0,0])),(torch.randn(5,4),torch.tensor([5,0]))]",
    ),
    Pair(
        "bins",
        """
def f(k: torch.Tensor):
    return torch.bincount(k, minlength=4) + k.bincount(minlength=4)
""",
        """
def f(k: torch.Tensor):
    return torch.zeros(4, dtype=torch.long, device=k.device).scatter_add_(
        0, k, torch.ones_like(k)
    ) + torch.zeros(4, dtype=torch.long, device=k.device).scatter_add_(
        0, k, torch.ones_like(k)
    )
""",
        "[(torch.tensor([0,2,2]),)]",
    ),
    Pair(
        "repint",
        """
def f(x: torch.Tensor, g: torch.Tensor, c: torch.Tensor):
    owner = torch.repeat_interleave(torch.arange(g.shape[0]), c)
    return x + g[owner]
""",
        """
def f(x: torch.Tensor, g: torch.Tensor, c: torch.Tensor):
    owner = torch.repeat_interleave(torch.arange(g.shape[0]), c, output_size=x.shape[0])
    return x + g[owner]
""",
        "[(torch.randn(4,2),torch.randn(3,2),torch.tensor([1,2,1])),(torch.randn(4,2),torch.randn(3,2),torch.tensor([4,0,0]))]",
    ),
    Pair(
        "segsum",
        """
def f(x: torch.Tensor, sizes: torch.Tensor):
    parts = x.split(sizes.tolist())
    return torch.stack([p.sum(0) for p in parts])
""",
        """
def f(x: torch.Tensor, sizes: torch.Tensor):
    segment = torch.searchsorted(
        sizes.cumsum(0), torch.arange(x.shape[0], device=x.device), right=True
    )
    return x.new_zeros(sizes.shape[0], *x.shape[1:]).index_add(0, segment, x)
""",
        "[(torch.randn(5,4),torch.tensor([2,3])),(torch.randn(5,4),torch.tensor([0,5]))]",
    ),
    Pair(
        "segmean",
        """
def f(x: torch.Tensor, sizes: torch.Tensor):
    return torch.stack([p.mean(dim=0) for p in torch.split(x, sizes.tolist(), dim=0)]) * 2
""",
        """
def f(x: torch.Tensor, sizes: torch.Tensor):
    segment = torch.searchsorted(
        sizes.cumsum(0), torch.arange(x.shape[0], device=x.device), right=True
    )
    return x.new_zeros(sizes.shape[0], *x.shape[1:]).index_add(0, segment, x) / sizes[:, None] * 2
""",
        "[(torch.randn(5,4),torch.tensor([2,3])),(torch.randn(5,4),torch.tensor([0,5]))]",
    ),
    Pair(
        "sdpa",
        """
def f(q, k, v, offsets):
    sizes = (offsets[1:] - offsets[:-1]).tolist()
    parts = [t.split(sizes, dim=1) for t in (q, k, v)]
    done = [F.scaled_dot_product_attention(a, b, c) for a, b, c in zip(*parts)]
    return torch.cat(done, dim=1)
""",
        """
def f(q, k, v, offsets):
    sizes = offsets[1:] - offsets[:-1]
    segment = torch.searchsorted(
        sizes.cumsum(0), torch.arange(q.shape[1], device=q.device), right=True
    )
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=segment[:, None] == segment
    )
""",
        "[(torch.randn(2,6,4),torch.randn(2,6,4),torch.randn(2,6,4),torch.tensor([0,2,6])),(torch.randn(2,6,4),torch.randn(2,6,4),torch.randn(2,6,4),torch.tensor([0,3,3,6]))]",
    ),
    Pair(
        "fill2",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    a = x.new_full((3,), mask.sum())
    b = torch.full_like(x, fill_value=mask.sum())
    return a.sum() + b * x
""",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    a = x.new_empty((3,)).fill_(mask.sum())
    b = torch.empty_like(x).fill_(mask.sum())
    return a.sum() + b * x
""",
        "[(torch.randn(5,4),torch.tensor([True,False,True,True,False])),(torch.randn(5,4),torch.zeros(5,dtype=torch.bool)),(torch.randn(5,4),torch.ones(5,dtype=torch.bool))]",
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
        ("return torch.unique(k)", "CL411", "how many different values"),
        ("return torch.bincount(k)", "CL412", "pass `minlength=`"),
        ("return F.one_hot(k)", "CL417", "pass `num_classes=`"),
        ("return torch.repeat_interleave(x, k, dim=0)", "CL413", "pass `output_size=`"),
        ("return torch.arange(k.max())", "CL415", "upper bound"),
        ("return x[k.min() : k.max()].sum()", "CL414", "how long"),
        ("y = x[k.max()]\n    x[0] = 1.0\n    return y", "CL425", "a view"),
        ("x[:, k.max()] = x[0]\n    return x", "CL425", "another shape"),
        ("x[k.max(), 0] = 1.0\n    return x", "CL425", "other indices"),
        ("return x * {0: 2, 1: 3}[int(k.max())]", "CL426", "Python must pick it"),
        ("return x.roll(k.max())", "CL424", "must be a number"),
    ],
)
def test_declined(body: str, code: str, reason: str) -> None:
    text = f"def f(x: torch.Tensor, k: torch.Tensor):\n    {body}"
    assert reason in declined(text, code)


def test_a_counter_becomes_a_buffer_on_request() -> None:
    text = """
        class f(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.calls = 0

            def forward(self, x: torch.Tensor):
                self.calls += 1
                return x * self.calls
        """
    (found,) = [f for f in findings(source(text)) if f.code == "CL601"]
    (fix,) = found.fixes
    assert fix.safety is Safety.UNSAFE
    line = (
        '        self.register_buffer("calls", torch.tensor(0, dtype=torch.long), persistent=False)'
    )
    assert [edit.text for edit in fix.edits] == [line]
    sliced = text.replace("x * self.calls", "x[: self.calls]")
    assert "needed in Python" in declined(sliced, "CL601")
