"""NumPy code → torch's functions, or constants of the module."""

from __future__ import annotations

import pytest

from .branch_rewriting import declined, rewritten
from .value_rewrites import Pair, check

NUMPY = "import numpy as np\nimport torch\n\n\n"
TORCH = "import torch\n\n\n"
PAIRS = (
    Pair(
        "numbers",
        NUMPY
        + """\
def f(x: torch.Tensor):
    mean = float(np.mean(x.detach().numpy()))
    top = np.percentile(x.detach().numpy(), 90)
    return (x - mean).clamp(max=float(top))
""",
        TORCH
        + """\
def f(x: torch.Tensor):
    mean = torch.mean(x.detach()).detach()
    top = torch.quantile(x.detach(), 0.9)
    return (x - mean).clamp(max=top.reshape(()).detach())
""",
        "[(torch.randn(4,3),)]",
    ),
    Pair(
        "gaps",
        NUMPY
        + """\
def f(x: torch.Tensor):
    a = x.detach().numpy()
    center = np.nanmean(a, axis=0)
    kind = torch.from_numpy(np.digitize(a, np.array([-1.0, 0.0, 1.0])))
    return torch.from_numpy(a - center) + kind
""",
        NUMPY
        + """\
def f(x: torch.Tensor):
    a = x.detach().numpy()
    center = torch.nanmean(torch.as_tensor(a), dim=0).numpy()
    kind = torch.bucketize(
        torch.as_tensor(a), torch.as_tensor(np.array([-1.0, 0.0, 1.0])), right=True
    )
    return torch.from_numpy(a - center) + kind
""",
        "[(torch.randn(4,3),)]",
    ),
    Pair(
        "constants",
        NUMPY
        + """\
def f(x: torch.Tensor):
    grid = np.interp(np.arange(3), [0, 2], [0.0, 1.0])
    return x + torch.from_numpy(grid)
""",
        NUMPY
        + """\
GRID = np.interp(np.arange(3), [0, 2], [0.0, 1.0])


def f(x: torch.Tensor):
    grid = GRID
    return x + torch.from_numpy(grid)
""",
        "[(torch.randn(4,3),)]",
    ),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_rewrite(pair: Pair) -> None:
    assert rewritten(pair.before) == pair.after


@pytest.mark.truth
def test_rewrites_say_the_same() -> None:
    check(PAIRS)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "    w = np.interp(np.arange(3), [0, 2], [0.0, 1.0])\n    w[0] = 1\n"
            "    return x + torch.from_numpy(w)\n",
            "`w` is written to",
        ),
        (
            "    return x * float(np.mean(x.numpy(), where=x.numpy() > 0))\n",
            "`where=` has no counterpart in torch",
        ),
        (
            "    return x + torch.from_numpy(np.polyval(x.numpy(), 2.0))\n",
            "use the function of torch, or compute it outside",
        ),
    ],
)
def test_declined(body: str, reason: str) -> None:
    assert reason in declined(f"{NUMPY}def f(x: torch.Tensor):\n{body}")
