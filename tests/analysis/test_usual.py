"""What only another configuration than the usual one runs into is advice, and says when."""

from __future__ import annotations

from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.rules.base import Finding, Severity

HEAD = """
import random

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, rate=0.1, checked=False, scaled=True):
        super().__init__()
        self.rate = rate
        self.checked = checked
        self.scaled = scaled
        self.seen = None

    def note(self, x):
        self.seen = x

    def forward(self, x: torch.Tensor, limit=None, mask: torch.Tensor | None = None):
"""


def lint(body: str, training: bool = False) -> list[Finding]:
    text = HEAD + "".join(f"        {line}\n" for line in body.split("\n")) + "        return x\n"
    file = SourceFile("m.py", text, "utf-8", False, "\n", "x")
    options = AnalysisOptions(entry="all", target_torch="2.13", training=training)
    return [f for f in Linter(options).lint(file).findings if f.region == "Net.forward"]


def advice(body: str, training: bool = False) -> str:
    (finding,) = lint(body, training)
    if finding.breaks:
        return ""
    assert finding.severity is Severity.INFO
    return finding.message.rpartition(", ")[2]


def test_half_precision() -> None:
    body = "if x.dtype == torch.float16 and torch.isinf(x).any(): x = x.clamp(-1, 1)"
    assert advice(body) == "only where `x.dtype == torch.float16` holds"
    assert not advice("if x.dtype == torch.float32 and torch.isinf(x).any(): x = x * 2")


def test_training_is_a_setting() -> None:
    body = "if self.training and random.random() < 0.5: x = x * 2"
    assert advice(body) == "only where `self.training` holds"
    assert not advice(body, training=True)
    other = "if not self.training and x.sum() > 0: x = x * 2"
    assert not advice(other)
    assert advice(other, training=True) == "only where `not self.training` holds"


def test_inputs_ask_for_no_gradient() -> None:
    body = "if x.requires_grad and x.sum() > 0: x = x * 2"
    assert advice(body) == "only where `x.requires_grad` holds"
    assert not advice("y = x * 2\nif y.requires_grad and x.sum() > 0: x = x * 2")


def test_a_flag_that_training_makes_a_tensor() -> None:
    body = "skip = False\nif self.training and self.rate > 0:\n"
    body += "    skip = torch.rand([]) < self.rate\nif not skip: x = x * 2"
    assert advice(body) == "in training only"
    assert not advice(body, training=True)


def test_defaults_of_parameters_and_of_the_constructor() -> None:
    assert advice("if limit is None or x.sum() > limit: x = x * 2") == (
        "only where `limit is None` fails"
    )
    assert advice("if self.checked and x.sum() > 0: x = x * 2") == (
        "only where `self.checked` holds"
    )
    assert not advice("if self.scaled and x.sum() > 0: x = x * 2")


def test_a_flag_that_was_worked_out_before() -> None:
    body = "drop = self.training and self.rate > 0\nif drop and x.sum() > 0: x = x * 2"
    assert advice(body) == "only where `drop` holds"


def test_tensors_and_state_have_no_usual_value() -> None:
    assert not advice("if mask is not None and mask.any(): x = x * 2")
    assert not advice("if self.seen is None or (self.seen != x).any(): x = x * 2")


def test_certain_only_in_the_usual_configuration() -> None:
    (finding,) = lint("if self.training:\n    print(1)")
    assert finding.breaks
    assert finding.certainty.value == "likely"
    (finding,) = lint("if self.training:\n    print(1)", training=True)
    assert finding.certainty.value == "certain"


def test_a_statement_on_the_line_of_its_test() -> None:
    assert advice("if self.checked: print(x)") == "only where `self.checked` holds"
    assert not advice("if self.checked:\n    print(x)")


def test_tensors_are_plain_ones() -> None:
    body = "if isinstance(x, Named) and x.sum() > 0: x = x * 2"
    assert not advice(body)
    (finding,) = lint(body)
    assert finding.breaks
    known = HEAD.replace("class Net", "class Named(torch.Tensor):\n    pass\n\nclass Net")
    file = SourceFile(
        "m.py", known + f"        {body}\n        return x\n", "utf-8", False, "\n", "x"
    )
    options = AnalysisOptions(entry="all", target_torch="2.13")
    (finding,) = [f for f in Linter(options).lint(file).findings if f.region == "Net.forward"]
    assert not finding.breaks


def test_a_flag_that_may_be_a_tensor_is_a_flag() -> None:
    head = "import torch\n\ndef f(x: torch.Tensor, signed: KIND | torch.Tensor):\n"
    body = "    sign = signed.item() if isinstance(signed, torch.Tensor) else signed\n"
    for kind, breaks in (("bool", False), ("float", True)):
        text = head.replace("KIND", kind) + body + "    return x * sign\n"
        file = SourceFile("m.py", text, "utf-8", False, "\n", "x")
        options = AnalysisOptions(entry="all", target_torch="2.13")
        (finding,) = Linter(options).lint(file).findings
        assert (finding.code, bool(finding.breaks)) == ("CL401", breaks)
