"""Boolean masks: the same code over all rows, masked."""

from __future__ import annotations

import pytest

from .value_rewrites import Pair, check, declined, findings, rewritten, source

PAIRS = (
    Pair(
        "mask scale",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    x[mask] *= 0.5
    return x + 1
""",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    x.copy_(torch.where(mask, x * 0.5, x))
    return x + 1
""",
        "[(torch.randn(5,4),torch.randn(5,4)>0),(torch.randn(5,4),torch.randn(5,4)>9)]",
    ),
    Pair(
        "mask own",
        """
def f(x: torch.Tensor):
    y = x * 2
    y[y > 0] -= 1
    y[y < -1] = y[y < -1] * 0.5
    return y
""",
        """
def f(x: torch.Tensor):
    y = x * 2
    y = torch.where(y > 0, y - 1, y)
    y = torch.where(y < -1, y * 0.5, y)
    return y
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "all indices in one name",
        """
def f(x: torch.Tensor):
    y = torch.zeros_like(x)
    at = (x > 0).nonzero(as_tuple=True)
    y[at] = x[at] * 2
    return y
""",
        """
def f(x: torch.Tensor):
    y = torch.zeros_like(x)
    y = torch.where(x > 0, x * 2, y)
    return y
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "mask log",
        """
def f(x: torch.Tensor):
    out = torch.zeros_like(x)
    mask = x > 0
    out[mask] = torch.log(x[mask])
    return out
""",
        """
def f(x: torch.Tensor):
    out = torch.zeros_like(x)
    mask = x > 0
    out = torch.where(mask, torch.log(torch.where(mask, x, 1)), out)
    return out
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "mask mean",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    return x[mask].mean() + x[mask].sum(0)
""",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    return torch.where(mask[..., None], x, 0).sum() / (
        mask.sum() * x.shape[-1]
    ) + torch.where(mask[..., None], x, 0).sum(0)
""",
        "[(torch.randn(5,4),torch.tensor([True,False,True,True,False])),(torch.randn(5,4),torch.zeros(5,dtype=torch.bool)),(torch.randn(5,4),torch.ones(5,dtype=torch.bool))]",
    ),
    Pair(
        "mask elem",
        """
def f(x: torch.Tensor):
    mask = x > 0
    return x[mask].sum() + (x[mask] ** 2).mean()
""",
        """
def f(x: torch.Tensor):
    mask = x > 0
    return (
        torch.where(mask, x, 0).sum() + torch.where(mask, x ** 2, 0).sum() / mask.sum()
    )
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "mask max",
        """
def f(x: torch.Tensor):
    return x * x[x < 0.1].max()
""",
        """
def f(x: torch.Tensor):
    return x * torch.where(x < 0.1, x, float("-inf")).max()
""",
        "[(torch.randn(5,4),),(torch.randn(5,4),)]",
    ),
    Pair(
        "mask any",
        """
def f(x: torch.Tensor):
    mask = x > 0
    return (x[mask] > 1).any() & (x[mask] < 2).all()
""",
        """
def f(x: torch.Tensor):
    mask = x > 0
    return ((x > 1) & mask).any() & ((x < 2) | ~mask).all()
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "ce",
        """
def f(logits: torch.Tensor, y: torch.Tensor, mask: torch.Tensor):
    return F.cross_entropy(logits[mask], y[mask])
""",
        """
def f(logits: torch.Tensor, y: torch.Tensor, mask: torch.Tensor):
    return F.cross_entropy(logits, torch.where(mask, y, -100))
""",
        "[(torch.randn(5,4),torch.tensor([0,1,2,3,0]),torch.tensor([True,False,True,True,False])),(torch.randn(5,4),torch.tensor([0,1,2,3,0]),torch.zeros(5,dtype=torch.bool)),(torch.randn(5,4),torch.tensor([0,1,2,3,0]),torch.ones(5,dtype=torch.bool))]",
    ),
    Pair(
        "ce2",
        """
def f(logits: torch.Tensor, y: torch.Tensor):
    valid = y >= 0
    return F.cross_entropy(logits[valid], y[valid])
""",
        """
def f(logits: torch.Tensor, y: torch.Tensor):
    valid = y >= 0
    return F.cross_entropy(logits.flatten(0, -2), torch.where(valid, y, -100).flatten())
""",
        "[(torch.randn(2,3,4),torch.tensor([[0,1,-1],[2,-1,3]]))]",
    ),
    Pair(
        "linear",
        """
lin = torch.nn.Linear(4, 4)


def f(x: torch.Tensor, mask: torch.Tensor):
    out = x.clone()
    out[mask] = torch.relu(lin(x[mask])) + 1
    return out
""",
        """
lin = torch.nn.Linear(4, 4)


def f(x: torch.Tensor, mask: torch.Tensor):
    out = torch.where(mask[..., None], torch.relu(lin(x)) + 1, x)
    return out
""",
        "[(torch.randn(5,4),torch.tensor([True,False,True,True,False])),(torch.randn(5,4),torch.zeros(5,dtype=torch.bool)),(torch.randn(5,4),torch.ones(5,dtype=torch.bool))]",
    ),
    Pair(
        "rowscols",
        """
def f(x: torch.Tensor):
    rows, cols = torch.where(x > 0)
    return x[rows, cols].mean()
""",
        """
def f(x: torch.Tensor):
    return torch.where(x > 0, x, 0).sum() / (x > 0).sum()
""",
        "[(torch.randn(5,4),),(torch.randn(5,4).abs(),),(-torch.randn(5,4).abs(),)]",
    ),
    Pair(
        "nonzero",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    idx = mask.nonzero().squeeze(-1)
    out = x.clone()
    out[idx] = x[idx] * 3
    out.index_add_(0, idx, x[idx])
    return out
""",
        """
def f(x: torch.Tensor, mask: torch.Tensor):
    out = torch.where(mask[..., None], x * 3, x)
    out.add_(torch.where(mask[..., None], x, 0))
    return out
""",
        "[(torch.randn(5,4),torch.tensor([True,False,True,True,False])),(torch.randn(5,4),torch.zeros(5,dtype=torch.bool)),(torch.randn(5,4),torch.ones(5,dtype=torch.bool))]",
    ),
    Pair(
        "div mask",
        """
def f(a: torch.Tensor, b: torch.Tensor):
    out = torch.zeros_like(a)
    mask = b != 0
    out[mask] = a[mask] / b[mask]
    return out
""",
        """
def f(a: torch.Tensor, b: torch.Tensor):
    out = torch.zeros_like(a)
    mask = b != 0
    out = torch.where(mask, torch.where(mask, a, 1) / torch.where(mask, b, 1), out)
    return out
""",
        "[(torch.randn(5,4),torch.tensor([0.,1,2,0])*torch.ones(5,4)),(torch.randn(5,4),torch.zeros(5,4))]",
    ),
    Pair(
        "augpm",
        """
def f(a: torch.Tensor, b: torch.Tensor):
    mask = a > 0
    a = a * 1
    a[mask] += b[mask] * 2
    return a
""",
        """
def f(a: torch.Tensor, b: torch.Tensor):
    mask = a > 0
    a = a * 1
    a = torch.where(mask, a + b * 2, a)
    return a
""",
        "[(torch.randn(5,4),torch.randn(5,4))]",
    ),
    Pair(
        "selfattr",
        """
class f(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mem", torch.zeros(5, 4))
        self.mlp = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU())

    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        self.mem[mask] = self.mlp(x[mask])
        return self.mem.sum() + x
""",
        """
class f(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mem", torch.zeros(5, 4))
        self.mlp = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU())

    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        self.mem.copy_(torch.where(mask[..., None], self.mlp(x), self.mem))
        return self.mem.sum() + x
""",
        "[(torch.randn(5,4),torch.tensor([True,False,True,True,False])),(torch.randn(5,4),torch.zeros(5,dtype=torch.bool)),(torch.randn(5,4),torch.ones(5,dtype=torch.bool))]",
    ),
    Pair(
        "indexadd",
        """
def f(x: torch.Tensor, edges: torch.Tensor, kind: torch.Tensor):
    out = torch.zeros_like(x)
    for r in range(2):
        pick = kind == r
        out = out.index_add(0, edges[1][pick], x[edges[0][pick]] @ x.T @ x * (r + 1))
    return out
""",
        """
def f(x: torch.Tensor, edges: torch.Tensor, kind: torch.Tensor):
    out = torch.zeros_like(x)
    for r in range(2):
        pick = kind == r
        out = out.index_add(
            0,
            edges[1],
            torch.where(pick[..., None], x[edges[0]] @ x.T @ x * (r + 1), 0),
        )
    return out
""",
        "[(torch.randn(5,4),torch.tensor([[0,1,2],[3,3,1]]),torch.tensor([0,1,0])),(torch.randn(5,4),torch.tensor([[0,1,2],[3,3,1]]),torch.tensor([1,1,1]))]",
    ),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_rewrites(pair: Pair) -> None:
    assert rewritten(source(pair.before), pair.choice) == source(pair.after)


@pytest.mark.truth
def test_eager_and_dynamo_agree() -> None:
    check(PAIRS)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return x[mask]", "leaves as it is"),
        ("return x[mask].std()", "the selected rows alone"),
        ("return x[mask].sum(dim=-1)", "leaves as it is"),
        ("return x[mask, 0].sum()", "among other indices"),
        ("return F.dropout(x[mask]).sum()", "draws at random"),
        ("return x[mask].view(-1).sum()", "the selected rows alone"),
        ("y = x[mask]\n    mask = ~mask\n    return y.sum()", "changes before"),
        ("y = x[mask]\n    x.add_(1)\n    return y.sum()", "changes before"),
        ("return (x[mask] + x[x > 0]).sum()", "selected by something else"),
        ("return torch.nn.functional.softmax(x[mask], dim=0).sum()", "the selected rows alone"),
    ],
)
def test_declined(body: str, reason: str) -> None:
    text = f"def f(x: torch.Tensor, mask: torch.Tensor):\n    {body}"
    assert reason in declined(text, "CL408")


def test_layers_that_mix_rows_are_declined() -> None:
    text = "bn = torch.nn.BatchNorm1d(4)\n\n\ndef f(x: torch.Tensor, mask: torch.Tensor):\n"
    assert "mixes rows" in declined(text + "    x[mask] = bn(x[mask])\n    return x", "CL408")


@pytest.mark.parametrize(
    "before",
    ["view = y.view(-1)", "kept.append(y)", "self.last = y", "view = y[0]"],
)
def test_a_tensor_with_other_names_is_written_in_place(before: str) -> None:
    text = f"""
        def f(self, x: torch.Tensor, kept: list):
            y = x + 1
            {before}
            y[y > 0] *= 2
            return y
        """
    assert "y.copy_(torch.where(y > 0, y * 2, y))" in rewritten(source(text))


def test_ranks_decide_the_form() -> None:
    text = """
        def f(x: torch.Tensor, mask: torch.Tensor):
            return x[mask].sum()
        """
    forms = [fix.edits[0].text for f in findings(source(text)) for fix in f.fixes]
    assert ["mask, x, 0" in forms[0], "mask[..., None], x, 0" in forms[1]] == [True, True]
