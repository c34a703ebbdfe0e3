"""Calls and effects: what they become, that it says the same, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from .effect_pairs import PAIRS
from .effect_rewrites import declined, findings, module, outcome, rewritten

BY_NAME = {name: rest for name, *rest in PAIRS}
PACKED = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch._dynamo.config.allow_rnn = True


class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.{layer}

    def forward(self, x, lengths):
{body}
"""
PACK = """
        packed = pack_padded_sequence(
            x, lengths.cpu(), batch_first=True, enforce_sorted=False
        )"""
LAYERS = {
    "gru": (
        "GRU(3, 4, batch_first=True)",
        PACK
        + """
        out, last = self.rnn(packed)
        padded, _ = pad_packed_sequence(out, batch_first=True)
        return padded.sum(1) + last[-1]
""",
    ),
    "lstm state": (
        "LSTM(3, 4, batch_first=True)",
        PACK
        + """
        _, (h, _) = self.rnn(packed)
        return h[-1]
""",
    ),
    "names again, time first": (
        "RNN(3, 4, num_layers=2)",
        """
        x = x.transpose(0, 1)
        state = x.new_ones(2, x.shape[1], 4)
        x = pack_padded_sequence(x, lengths, enforce_sorted=False)
        x, _ = self.rnn(x, state)
        x, _ = pad_packed_sequence(x)
        return x.sum(0)
""",
    ),
}
READ = "\n        out, (h, c) = self.rnn(packed)\n        return h + c\n"
NOT_PADDED = [
    ("LSTM(3, 4, batch_first=True)", PACK + READ, "the state of the cells is read"),
    (
        "GRU(3, 4, batch_first=True, bidirectional=True)",
        LAYERS["gru"][1],
        "the layer has `bidirectional=`: it may look ahead, or drop at random",
    ),
    (
        "GRU(3, 4, 2, batch_first=True)",
        LAYERS["gru"][1],
        "the states of lower layers are only known at the end",
    ),
    (
        "GRU(3, 4, batch_first=True)",
        PACK + "\n        return self.rnn(packed)[0].data\n",
        "the results aren't two variables",
    ),
]
DECLINED = [
    (
        "CL101",
        "import random\n\ndef f(x: torch.Tensor, seed: int):\n    dice = random.Random(seed)\n"
        "    last = dice.randrange(4)\n    if last > 2:\n        x = x * 2\n    return x\n",
        "the numbers of a generator object are its own: draw outside",
    ),
    (
        "CL301",
        "def f(x: torch.Tensor):\n    print(x.add_(1))\n    return x\n",
        "`x` is written on the way",
    ),
    (
        "CL304",
        "import time\n\ndef f(x: torch.Tensor):\n    t = time.time()\n    return x * 2, t\n",
        "the result of the call is returned",
    ),
    (
        "CL304",
        "import time\n\ndef f(x: torch.Tensor):\n    t = time.time()\n    return x * t\n",
        "the result of the call is returned",
    ),
    (
        "CL321",
        "def f(x: torch.Tensor):\n    k = 2\n\n    class A:\n        n = k\n\n    return x * A.n\n",
        "`A` needs `k`, a variable of the function",
    ),
    (
        "CL313",
        "import copy\n\nlayer = torch.nn.Linear(3, 3)\n\n"
        "def f(x: torch.Tensor):\n    return copy.deepcopy(layer)(x)\n",
        "a module's copy has parameters of its own: copy it before compiling",
    ),
    (
        "CL525",
        "def f(x: torch.Tensor):\n    try:\n        return torch.linalg.cholesky(x)\n"
        "    except RuntimeError:\n        return x\n",
        "`cholesky` fails on values: see `torch.linalg.cholesky_ex` and its like",
    ),
    (
        "CL525",
        "def f(a: torch.Tensor, b: torch.Tensor):\n    try:\n        y = a @ b\n"
        "        return y @ y\n    except RuntimeError:\n        return a\n",
        "several operators of the `try` may fail",
    ),
    (
        "CL504",
        "def f(x: torch.Tensor):\n    x.requires_grad_()\n    return x * 2\n",
        "the flag of what was there before is set: set it before the compiled call",
    ),
    (
        "CL507",
        "def f(x: torch.Tensor):\n    y = torch.zeros(3, requires_grad=True)\n"
        "    return x + y, y.grad\n",
        "its gradient is read: make the leaf outside and pass it in",
    ),
    (
        "CL319",
        "def f(x: torch.Tensor):\n    torch.manual_seed(0)\n    return x + torch.rand(3)\n",
        "seed before the compiled call, or draw outside and pass the numbers in",
    ),
    (
        "CL305",
        "import random\n\ndef f(x: torch.Tensor):\n    return x * random.choice([1, 2])\n",
        "torch has no draw like `choice`: draw outside, and pass it in",
    ),
]


@pytest.mark.parametrize("name", BY_NAME)
def test_rewrite(name: str) -> None:
    code, before, after, _ = BY_NAME[name]
    assert rewritten(before, [code]) == after


@pytest.mark.truth
@pytest.mark.parametrize("name", [name for name, rest in BY_NAME.items() if rest[3]])
def test_rewrite_says_the_same(name: str, tmp_path: Path) -> None:
    import torch

    code, before, after, inputs = BY_NAME[name]
    del code
    for arguments in eval(inputs, {"torch": torch}):
        want = outcome(before, tmp_path / "before.py", arguments, compiled=False)
        got = outcome(after, tmp_path / "after.py", arguments, compiled=True)
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize(("code", "text", "reason"), DECLINED)
def test_declined(code: str, text: str, reason: str) -> None:
    assert reason in declined(f"import torch\n\n{text}", code)


def test_a_report_of_unknown_calls_needs_proof() -> None:
    text = "import torch\n\ndef f(x: torch.Tensor, show):\n    print({})\n    return x * 2\n"
    known = [f.fixes[0].safety.value for f in findings(text.format("x.mean()"))]
    unknown = [f.fixes[0].safety.value for f in findings(text.format("show(x)"))]
    assert (known, unknown) == (["safe"], ["needs-proof"])


def test_draws_are_unsafe() -> None:
    text = """\
import random

import torch


def f(x: torch.Tensor):
    k = random.random()
    return x * random.gauss(1, 2) + k
"""
    found = findings(text)
    assert {fix.safety.value for finding in found for fix in finding.fixes} == {"unsafe"}
    assert rewritten(text) == (
        "import torch\n\n\ndef f(x: torch.Tensor):\n    k = torch.rand(())\n"
        "    return x * (1 + 2 * torch.randn(())) + k\n"
    )


def test_truncated_normal_draws_the_same_distribution(tmp_path: Path) -> None:
    import torch

    text = (
        "import torch\nfrom torch import nn\n\n\ndef f(x: torch.Tensor):\n"
        "    nn.init.trunc_normal_(x, 0.5, 1.5, a=-1)\n    return x\n"
    )
    after = rewritten(text, ["CL326"])
    assert "trunc_normal_" not in after
    torch.manual_seed(0)
    want = module(text, tmp_path / "before.py").f(torch.empty(200_000))
    got = module(after, tmp_path / "after.py").f(torch.empty(200_000))
    points = torch.linspace(0, 1, 21)
    torch.testing.assert_close(
        torch.quantile(got, points), torch.quantile(want, points), atol=0.02, rtol=0
    )


@pytest.mark.truth
@pytest.mark.parametrize("lengths", [[5, 3], [2, 2]])
@pytest.mark.parametrize("which", sorted(LAYERS))
def test_packed_layer_runs_padded(which: str, lengths: list[int], tmp_path: Path) -> None:
    import torch

    layer, body = LAYERS[which]
    text = PACKED.format(layer=layer, body=body.strip("\n"))
    after = rewritten(text, ["CL314", "CL315"])
    assert "_sequence(" not in after
    arguments = (torch.randn(2, 5, 3, requires_grad=True), torch.tensor(lengths))
    with torch._dynamo.config.patch(allow_rnn=True):  # it is put back
        want = outcome(text, tmp_path / "before.py", arguments, compiled=False)
        got = outcome(after, tmp_path / "after.py", arguments, compiled=True)
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize(("layer", "body", "reason"), NOT_PADDED)
def test_packed_layers_that_stay(layer: str, body: str, reason: str) -> None:
    text = PACKED.format(layer=layer, body=body.strip("\n"))
    assert any(reason in said for said in declined(text, "CL315"))


def test_two_functions_get_two_operators() -> None:
    call = "torch.from_numpy(median_filter(x.numpy(), 3))"
    text = "import torch\nfrom scipy.ndimage import median_filter\n"
    for name in "fg":
        text += f"\n\ndef {name}(x: torch.Tensor):\n    return {call}\n"
    after = rewritten(text)
    assert "def median_filter_op(" in after
    assert "def median_filter_op_2(" in after


def test_a_draw_that_is_tested_is_drawn_by_torch() -> None:
    text = """\
import random

import torch


def f(x: torch.Tensor):
    last = random.randrange(1, 4)
    if last > 2:
        x = x + 1
    return x
"""
    found = [fix for f in findings(text) if f.code == "CL101" for fix in f.fixes]
    assert [fix.safety.value for fix in found] == ["unsafe"]
    assert "last = torch.randint(1, 4, ())\n" in rewritten(text)
