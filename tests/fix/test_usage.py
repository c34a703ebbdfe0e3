"""Uses of torch.compile: what they become, and how safe that is."""

from __future__ import annotations

import pytest

from .effect_rewrites import findings, rewritten

HEAD = "import torch\nfrom torch import nn\n\n\ndef step(x):\n    return x.relu() + 1\n\n\n"
PAIRS = [
    (
        "CL701",
        "safe",
        """\
def run(x, passes):
    for _ in range(passes):
        y = torch.compile(step, dynamic=True)(x)
    return y
""",
        """\
def run(x, passes):
    compiled_step = torch.compile(step, dynamic=True)
    for _ in range(passes):
        y = compiled_step(x)
    return y
""",
    ),
    (
        "CL701",
        "safe",
        """\
def run(x, passes):
    for _ in range(passes):
        # once is enough
        fast = torch.compile(step)
        x = fast(x)
    return x
""",
        """\
def run(x, passes):
    fast = torch.compile(step)
    for _ in range(passes):
        # once is enough
        x = fast(x)
    return x
""",
    ),
    (
        "CL702",
        "safe",
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Linear(3, 3)  # the last

    def forward(self, x):
        return torch.compile(self.block, dynamic=True)(x)
""",
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Linear(3, 3)  # the last
        self.block.compile(dynamic=True)

    def forward(self, x):
        return self.block(x)
""",
    ),
    (
        "CL702",
        "safe",
        """\
class Net(nn.Module):
    def forward(self, x):
        return torch.compile(step)(x)
""",
        """\
compiled_step = torch.compile(step)


class Net(nn.Module):
    def forward(self, x):
        return compiled_step(x)
""",
    ),
    (
        "CL703",
        "unsafe",
        """\
def build():
    model = nn.Linear(3, 3)
    model = torch.compile(model, mode="default")  # in place
    return model.state_dict()
""",
        """\
def build():
    model = nn.Linear(3, 3)
    model.compile(mode="default")  # in place
    return model.state_dict()
""",
    ),
    (
        "CL704",
        "safe",
        """\
@torch.jit.script
def gelu(x):
    return x * torch.sigmoid(1.702 * x)


def run(x):
    return gelu(x)
""",
        """\
def gelu(x):
    return x * torch.sigmoid(1.702 * x)


def run(x):
    return gelu(x)
""",
    ),
    (
        "CL704",
        "unsafe",
        "traced = torch.jit.trace(step, torch.ones(3))\n",
        "traced = torch.compile(step)\n",
    ),
    (
        "CL705",
        "safe",
        """\
import time


def timed(x):
    compiled = torch.compile(step)
    compiled(x.cuda())
    start = time.perf_counter()
    compiled(x)
    end = time.perf_counter()
    return end - start
""",
        """\
import time


def timed(x):
    compiled = torch.compile(step)
    compiled(x.cuda())
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    compiled(x)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    end = time.perf_counter()
    return end - start
""",
    ),
    (
        "CL705",
        "unsafe",
        """\
import time


def timed(x):
    compiled = torch.compile(step)
    start = time.perf_counter()
    compiled(x)
    end = time.perf_counter()
    return end - start
""",
        """\
import time


def timed(x):
    compiled = torch.compile(step)
    compiled(x)  # compiles
    start = time.perf_counter()
    compiled(x)
    end = time.perf_counter()
    return end - start
""",
    ),
    (
        "CL712",
        "safe",
        'fast = torch.compile(step, mode="max_autotune")\n',
        'fast = torch.compile(step, mode="max-autotune")\n',
    ),
    (
        "CL712",
        "safe",
        'fast = torch.compile(step, backend="eager", mode="default")\n',
        'fast = torch.compile(step, backend="eager")\n',
    ),
    (
        "CL713",
        "unsafe",
        "fast = torch.compile(step)\nfaster = torch.compile(fast)\n",
        "fast = torch.compile(step)\nfaster = fast\n",
    ),
    (
        "CL714",
        "unsafe",
        "def setup():\n    torch._dynamo.config.suppress_errors = True\n",
        "def setup():\n    pass\n",
    ),
    (
        "CL715",
        "unsafe",
        """\
def train(fast, x):
    for _ in range(3):
        torch._dynamo.reset()
        fast(x)
""",
        """\
def train(fast, x):
    torch._dynamo.reset()
    for _ in range(3):
        fast(x)
""",
    ),
    (
        "CL605",
        "safe",
        """\
fast = torch.compile(step)


def generate(ids):
    for _ in range(6):
        out = fast(ids)
        ids = torch.cat([ids, out[:, -1:]], dim=-1)
    return ids
""",
        """\
fast = torch.compile(step)


def generate(ids):
    for _ in range(6):
        torch._dynamo.maybe_mark_dynamic(ids, ids.ndim - 1)
        out = fast(ids)
        ids = torch.cat([ids, out[:, -1:]], dim=-1)
    return ids
""",
    ),
]


@pytest.mark.parametrize(("code", "safety", "before", "after"), PAIRS)
def test_rewrite(code: str, safety: str, before: str, after: str) -> None:
    found = [f for f in findings(HEAD + before) if f.code == code]
    assert [f.fixes[0].safety.value for f in found] == [safety]
    assert rewritten(HEAD + before, [code]) == HEAD + after


@pytest.mark.parametrize(
    ("code", "text", "reason"),
    [
        (
            "CL701",
            "def run(x):\n    for _ in range(3):\n        @torch.compile\n"
            "        def inner(y):\n            return y + 1\n\n        x = inner(x)\n"
            "    return x\n",
            "the function is defined in the loop",
        ),
        (
            "CL704",
            'traced = torch.jit.trace(step, torch.ones(3))\ntraced.save("m.pt")\n',
            "the TorchScript itself is what is wanted",
        ),
        (
            "CL605",
            "fast = torch.compile(step)\n\n\ndef grow(x):\n    for _ in range(3):\n"
            "        y = fast(x)\n        x = torch.vstack([x, y])\n    return x\n",
            "which dimension grows isn't in sight",
        ),
        (
            "CL712",
            'fast = torch.compile(step, mode="default", options={"max_autotune": True})\n',
            "whether the mode or the options are meant isn't known",
        ),
    ],
)
def test_declined(code: str, text: str, reason: str) -> None:
    assert [f.declined for f in findings(HEAD + text) if f.code == code] == [reason]
