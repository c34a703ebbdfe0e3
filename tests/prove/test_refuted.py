"""Wrong rewrites are refuted, each for its own reason; the right ones beside them are proved."""

from __future__ import annotations

from typing import Any

import pytest
from compile_lint.linter.prove.model import Status

from .trials import trial

BRANCH = """
def f(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y + 1
"""
WHERE = "def f(x):\n    y = torch.where(x.sum() > 0, {}, {})\n    return y + 1\n"
LIVE = """
def f(x):
    n = x.sum()
    if n > 0:
        y = x * 2
        n = n + 1
    else:
        y = x - 1
    return y, n
"""
LOOP = """
def f(x):
    while x.sum() < 100:
        x = x * 2 + 1
    return x
"""
WHILE = """
def f(x):
    (x,) = torch.while_loop(lambda x: x.sum() < 100, lambda x: ({},), (x{},))
    return x
"""
TWO = """
def f(a, b):
    while a < 5:
        a = a + 1
        b = b + a
    return b
"""
TWO_LOOPED = """
def f(a, b):
    a, b = torch.while_loop(
        lambda a, b: a < 5, lambda a, b: ({}), (a.clone(), b.clone())
    )
    return b
"""
SUMS = """
def f(x, s):
    while s.sum() < 10:
        s = s * x + x
    return s
"""
SUMMED = """
def f(x, s):
    (last,) = torch.while_loop(lambda s: s.sum() < 10, lambda s: (s * x + x,), ({},))
    return torch.where(s.sum() < 10, last, s)
"""
ROOT = """
def f(x):
    if x.min() > 0:
        y = x.sqrt()
    else:
        y = x * 0.5
    return y
"""
GUARD = """
def f(x, w):
    if x.isnan().any():
        y = x.nan_to_num() * w
    else:
        y = x * w
    return y
"""
HALVED = """
def f(x, k):
    y = x.sqrt() if x.sum() > 0 else x.abs().sqrt()
    if k != 2:
        y[1].mul_(0.25)
    return y
"""
IN_PLACE = """
def f(x):
    if x.sum() > 0:
        x.mul_(2)
    return x + 1
"""
DRAWS = """
def f(x):
    if x.sum() > 0:
        y = x + torch.rand(3, 4)
    else:
        y = x - torch.rand(3, 4)
    return y
"""
RAISES = """
def f(x):
    if (x < 0).any():
        raise ValueError("negative")
    return x.sqrt()
"""
CLONES = """
def f(x):
    if x.sum() > 0:
        y = x.clone()
    else:
        y = x.clone() + 0
    return y
"""
ONE = "[(torch.randn(3, 4),)]"
BOTH = "[(torch.rand(3, 4) + 1,), (-torch.rand(3, 4),)]"
# name: (original, rewrite, inputs, what the reason says)
WRONG = {
    "swapped arms": (BRANCH, WHERE.format("x - 1", "x * 2"), "", "the output differs"),
    "swapped arms, one input": (BRANCH, WHERE.format("x - 1", "x * 2"), ONE, "the output differs"),
    "one arm only": (BRANCH, WHERE.format("x * 2", "x - 1.01"), BOTH, "the output differs"),
    "dropped live-out": (
        LIVE,
        "def f(x):\n    n = x.sum()\n    y = torch.where(n > 0, x * 2, x - 1)\n    return y, n\n",
        ONE,
        "the output[1] differs",
    ),
    "stale carry": (
        TWO,
        TWO_LOOPED.format("a + 1, b + a"),
        "[(torch.zeros(()), torch.ones(()))]",
        "the output differs",
    ),
    "wrong dtype": (BRANCH, WHERE.format("x * 2", "(x - 1).double()"), BOTH, "the dtype of"),
    "wrong shape": (
        BRANCH,
        WHERE.format("x * 2", "x - 1").replace("y + 1", "y[None] + 1"),
        BOTH,
        "the shape of",
    ),
    "missing clone": (
        CLONES,
        "def f(x):\n    y = x\n    return y\n",
        BOTH,
        "shares memory with argument",
    ),
    "lost in-place write": (
        IN_PLACE,
        "def f(x):\n    x = torch.where(x.sum() > 0, x * 2, x)\n    return x + 1\n",
        BOTH,
        "the arguments after the call",
    ),
    "poisoned gradient": (
        ROOT,
        "def f(x):\n    y = torch.where(x.min() > 0, x.sqrt(), x * 0.5)\n    return y\n",
        "[(torch.rand(3, 4) + 1,), (torch.zeros(3, 4),)]",
        "the gradient of `argument 0` differs: nan against",
    ),
    # The logarithm of zero is there whichever value is picked, and on no input that is given.
    "gradient poisoned where one argument is zero": (
        "def f(x, y):\n    a = x.log()\n    if y.sum() > 9:\n        a = x * 2\n    return x + a\n",
        "def f(x, y):\n    a = torch.where(y.sum() > 9, x * 2, x.log())\n    return x + a\n",
        "[(torch.rand(3, 4) + 1, torch.rand(3)), (torch.rand(3, 4) + 1, torch.rand(3) + 9)]",
        "the gradient of `argument 0` differs: nan against",
    ),
    # Autograd refuses to differentiate the original, but where k is 2.
    "gradient poisoned before a root is written to": (
        HALVED,
        HALVED.replace(
            "x.sqrt() if x.sum() > 0 else x.abs().sqrt()",
            "torch.where(x.sum() > 0, x.sqrt(), x.abs().sqrt())",
        ),
        "[(torch.rand(3, 4) + 1, torch.tensor(1))]",
        "gradient",
    ),
    "gradient poisoned by what a test keeps out": (
        GUARD,
        "def f(x, w):\n    y = torch.where(x.isnan().any(), x.nan_to_num() * w, x * w)\n"
        "    return y\n",
        "[(torch.rand(3, 4), torch.rand(3, 4))]",
        "the gradient of `argument 1` differs: nan against",
    ),
    "detached": (BRANCH, WHERE.format("x.detach() * 2", "x - 1"), BOTH, "the gradient of"),
    "extra draw": (
        DRAWS,
        "def f(x):\n    a, b = torch.rand(3, 4), torch.rand(3, 4)\n"
        "    y = torch.where(x.sum() > 0, x + a, x - a)\n    return y\n",
        BOTH,
        "random numbers are drawn differently",
    ),
    "exception lost": (
        RAISES,
        "def f(x):\n    return x.clamp(min=0).sqrt()\n",
        ONE,
        "ValueError is not raised",
    ),
    "exception gained": (
        "def f(x):\n    if x.sum() > 0:\n        x = x * 2\n    return x\n",
        "def f(x):\n    torch._check(x.sum() > 0)\n    x = x * 2\n    return x\n",
        ONE,
        "is raised: ",
    ),
    "still breaks": (
        BRANCH,
        "def f(x):\n    y = x * 2 if x.sum() > 0 else x - 1\n    return y + 1\n",
        ONE,
        "fullgraph=True) fails (line 5)",
    ),
    "lost gradient of a carry": (
        SUMS,
        SUMMED.format("s"),
        "[(torch.ones(3), torch.zeros(3)), (torch.ones(3), torch.full((3,), 9.0))]",
        "with gradients of some arguments only",
    ),
    "other type": (
        BRANCH,
        WHERE.format("x * 2", "x - 1").replace("return y + 1", "return (y + 1,)"),
        ONE,
        "is a tuple",
    ),
}
MODULES = {
    "lost gradient of a weight": (
        "    def forward(self, x):\n        s = x[:, :2].abs()\n        while s.sum() < 20:\n"
        "            s = s * self.lin.weight.abs().sum() + self.lin(x) ** 2 + 1\n"
        "        return s\n",
        "    def forward(self, x):\n        s = x[:, :2].abs()\n"
        "        (last,) = torch.while_loop(\n"
        "            lambda s: s.sum() < 20,\n"
        "            lambda s: (s * self.lin.weight.abs().sum() + self.lin(x) ** 2 + 1,),\n"
        "            (s.clone(),),\n        )\n"
        "        return torch.where(s.sum() < 20, last, s)\n",
        "with gradients of some arguments only",
    ),
    "stale state": (
        "    def forward(self, x):\n        if x.sum() > 0:\n            self.seen += 1\n"
        "        return self.lin(x) * self.seen\n",
        "    def forward(self, x):\n        seen = self.seen + torch.where(x.sum() > 0, 1, 0)\n"
        "        return self.lin(x) * seen\n",
        "the state after the call.seen differs",
    ),
    "dead weight": (
        "    def forward(self, x):\n        if x.sum() > 0:\n            return self.lin(x)\n"
        "        return self.lin(x) * 2\n",
        "    def forward(self, x):\n        with torch.no_grad():\n            y = self.lin(x)\n"
        "        return torch.where(x.sum() > 0, y, y * 2)\n",
        "the gradient of",
    ),
}


def check(prover: Any, before: str, after: str, says: str, **more: Any) -> None:
    verdict = prover.prove(trial(before, after, **more))
    assert verdict.status is Status.REFUTED, verdict
    assert says in verdict.reason


@pytest.mark.parametrize("name", WRONG)
def test_wrong(prover, name):
    before, after, inputs, says = WRONG[name]
    check(prover, before, after, says, examples=inputs, target="f")


@pytest.mark.parametrize("name", MODULES)
def test_wrong_module(prover, name):
    head = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.lin = nn.Linear(4, 2)\n"
        "        self.register_buffer('seen', torch.zeros(()))\n\n"
    )
    before, after, says = MODULES[name]
    check(
        prover,
        head + before,
        head + after,
        says,
        function="Net.forward",
        examples=BOTH,
        target="Net",
    )
