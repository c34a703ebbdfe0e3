"""What the tests of rewrites of values share: rewrite a module, and compare two by running them."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from compile_lint.linter.engine import Linter
from compile_lint.linter.fix.edits import apply_fixes, overlap
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.rules.base.finding import Edit, Finding, Fix

from tests.dynamo.measure import Snippet, measure

from .rule_fixes import of_rules

HEAD = "import torch\nimport torch.nn.functional as F\n\n\n"


@dataclass(frozen=True)
class Pair:
    """A function `f` before and after its rewrite, and inputs that tell them apart.

    `choice` is which of a finding's fixes is taken: the first ones may not hold for the inputs.
    """

    name: str
    before: str
    after: str
    inputs: str
    choice: int = 0


def source(text: str) -> str:
    """Return a module that holds a function, with the imports it needs."""
    return HEAD + textwrap.dedent(text).strip() + "\n"


def findings(text: str) -> list[Finding]:
    """Lint a module for fixes."""
    options = AnalysisOptions(entry="all", fixes=True)
    file = SourceFile("x.py", text, "utf-8", False, "\n", "x")
    return list(of_rules(Linter(options).lint(file).findings))


def declined(text: str, code: str) -> str:
    """Return why findings of a code in a function have no fix; "" where they have one."""
    found = [f for f in findings(source(text)) if f.code == code]
    assert found, f"nothing is found by {code}"
    return "; ".join(f.declined for f in found if not f.fixes)


def rewritten(text: str, choice: int = 0) -> str:
    """Return a module with fixes of values applied, to the fixed point."""
    for _ in range(10):
        chosen: list[Fix] = []
        for finding in findings(text):
            if finding.fixes and finding.code.startswith("CL4"):
                fix = finding.fixes[min(choice, len(finding.fixes) - 1)]
                taken: list[Edit] = [edit for other in chosen for edit in other.edits]
                if not overlap(fix.edits, taken):
                    chosen.append(fix)
        if not chosen:
            return text
        text = apply_fixes(text, chosen)
    raise AssertionError("the fixes come to no end")


def check(pairs: Sequence[Pair]) -> None:
    """Assert that pairs agree in values and gradients, and that Dynamo captures `after` whole."""
    torch = pytest.importorskip("torch", "2.13")
    for pair in pairs:
        before, after = (_module(source(text)) for text in (pair.before, pair.after))
        for args, gradient in itertools.product(eval(pair.inputs, dict(before)), (False, True)):
            old, new = (_run(module, args, gradient) for module in (before, after))
            message = f"{pair.name}: {{}}".format
            torch.testing.assert_close(new, old, equal_nan=True, rtol=1e-4, atol=1e-5, msg=message)
    snippets = [
        Snippet(source(p.after), target="f", inputs=p.inputs, name=p.name, fresh=False)
        for p in pairs
    ]
    for measured in measure(snippets):
        assert measured.verdict == "captured", measured


_NUMBER = itertools.count()


def _module(text: str) -> dict[str, Any]:
    """Run a module under a name of its own, so that Dynamo keeps its code apart."""
    import torch

    torch.manual_seed(0)
    space: dict[str, Any] = {"__name__": "values"}
    exec(compile(text, f"<values {next(_NUMBER)}>", "exec"), space)
    return space


def _target(module: dict[str, Any]) -> Any:
    import torch

    torch.manual_seed(0)
    return module["f"]() if isinstance(module["f"], type) else module["f"]


def _run(module: dict[str, Any], args: tuple[Any, ...], gradient: bool) -> list[Any]:
    """Return results, what became of the arguments, and gradients."""
    import torch

    leaves = [arg.clone().requires_grad_(gradient and arg.is_floating_point()) for arg in args]
    given = [leaf * 1 if leaf.requires_grad else leaf for leaf in leaves]
    result = _target(module)(*given)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    found = [r.detach() for r in results] + [arg.detach() for arg in given]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    total = sum((r.double() ** 2).sum() for r in results if r.requires_grad)
    if wanted and isinstance(total, torch.Tensor):
        gradients = torch.autograd.grad(total, wanted, allow_unused=True)
        found += [torch.zeros(()) if g is None or not g.any() else g for g in gradients]
    return found
