"""Settings of Dynamo that lift a break: offered where no rewrite is known, and read again."""

from __future__ import annotations

import pytest
from compile_lint.linter.engine import Linter
from compile_lint.linter.fix.edits import apply_fixes
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.rules.base.finding import Finding

from tests.dynamo.measure import Snippet, measure

LAYER = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]


f = Net
"""
COUNTS = """import torch as t


def f(x: t.Tensor, counts: t.Tensor):
    return x.repeat_interleave(counts, 0) * 2
"""
PENALTY = """import torch
from torch.autograd import grad


def f(x: torch.Tensor):
    energy = (x**2).sum()
    (force,) = grad(energy, x, create_graph=True)
    return force
"""
CASES = (
    (LAYER, "from torch import nn\n\ntorch._dynamo.config.allow_rnn = True\n\n\nclass", None),
    (
        COUNTS,
        "import torch as t\n\nt._dynamo.config.capture_scalar_outputs = True\n"
        "t._dynamo.config.capture_dynamic_output_shape_ops = True\n\n\ndef",
        "[(torch.randn(3, 2), torch.tensor([1, 0, 2]))]".replace("torch", "t"),
    ),
    (
        PENALTY,
        "import grad\n\ntorch._dynamo.config.trace_autograd_ops = True\n\n\ndef",
        "[(torch.randn(3, requires_grad=True),)]",
    ),
)

FORCES = """import torch


def f(x: torch.Tensor):
    x = x.detach().requires_grad_(True)
    energy = (x**2).sum()
    energy.backward()
    return energy.detach(), -x.grad
"""


def lint(text: str) -> tuple[Finding, ...]:
    source = SourceFile("m.py", text, "utf-8", False, "\n", str(hash(text)))
    return Linter(AnalysisOptions(entry="all", fixes=True)).lint(source).findings


@pytest.mark.parametrize(("text", "head", "inputs"), CASES)
def test_a_setting_is_the_last_fix_and_lifts_the_finding(
    text: str, head: str, inputs: str | None
) -> None:
    findings = lint(text)
    assert findings
    fix = findings[0].fixes[-1]
    assert fix.setting
    assert fix.title.split(" (")[0].endswith("by a setting of the whole process")
    after = apply_fixes(text, [fix])
    assert head in after
    assert lint(after) == ()


def test_dynamo_captures_what_a_setting_lifts() -> None:
    pytest.importorskip("torch", "2.13")
    snippets = [
        Snippet(
            apply_fixes(text, [lint(text)[0].fixes[-1]]),
            target="f",
            inputs=inputs or "[(torch.randn(2, 3, 4),)]",
        )
        for text, _, inputs in CASES
    ]
    assert [measured.verdict for measured in measure(snippets)] == ["captured"] * len(CASES)


def test_a_leaf_may_stay_where_its_gradient_is_taken_inside() -> None:
    found = {f.code: f for f in lint(FORCES)}
    assert sorted(found) == ["CL501", "CL505"]
    after = apply_fixes(FORCES, [found["CL501"].fixes[-1]])
    assert lint(after) == ()
    pytest.importorskip("torch", "2.13")
    snippet = Snippet(after, target="f", inputs="[(torch.randn(3),)]")
    assert [measured.verdict for measured in measure([snippet])] == ["captured"]


def test_no_setting_where_something_else_stays_broken() -> None:
    text = COUNTS.replace("    return", "    input()\n    return")
    found = {f.code: f for f in lint(text)}
    assert not any(fix.setting for fix in found["CL413"].fixes)


def test_the_reason_for_no_rewrite_is_in_the_title() -> None:
    (finding,) = lint(COUNTS)
    assert finding.declined
    assert finding.declined in finding.fixes[-1].title


@pytest.mark.parametrize(
    "spelled",
    [
        "import torch._dynamo\n\ntorch._dynamo.config",
        "import torch._dynamo as dynamo\n\ndynamo.config",
        "from torch._dynamo import config as settings\n\nsettings",
        "import torch._dynamo.config as settings\n\nsettings",
    ],
)
def test_settings_are_read_however_they_are_spelled(spelled: str) -> None:
    text = LAYER.replace("nn\n\n", f"nn\n{spelled}.allow_rnn = True\n\n", 1)
    assert lint(text) == ()
    assert lint(text.replace("= True", "= False")) != ()
