"""Runs the rules on a text, and applies what they offer, round by round."""

from __future__ import annotations

import copy
import importlib.util
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compile_lint.linter.engine import Linter
from compile_lint.linter.fix.edits import apply_fixes, overlap
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.rules.base import Finding, Fix, Safety

from .rule_fixes import of_rules

ROUNDS = 6


def findings(text: str, entry: str = "all") -> tuple[Finding, ...]:
    """Return what is found in a text, with fixes."""
    options = AnalysisOptions(entry=entry, fixes=True, target_torch="2.13")  # type: ignore[arg-type]
    digest = str(hash(text))
    file = SourceFile("m.py", text, "utf-8", False, "\n", digest)
    return of_rules(Linter(options).lint(file).findings)


def rewritten(text: str, codes: Sequence[str] = (), worst: Safety = Safety.UNSAFE) -> str:
    """Return a text with the first fixes of findings (of some rules) applied, to a fixed point."""
    order = list(Safety)
    for _ in range(ROUNDS):
        chosen: list[Fix] = []
        for finding in findings(text):
            for fix in finding.fixes[:1]:
                wanted = not codes or finding.code.startswith(tuple(codes))
                if wanted and order.index(fix.safety) <= order.index(worst):
                    if not any(overlap(fix.edits, other.edits) for other in chosen):
                        chosen.append(fix)
        if not chosen:
            return text
        text = apply_fixes(text, chosen)
    return text


def declined(text: str, code: str) -> list[str]:
    """Return why findings of a rule have no rewrite."""
    return [f.declined for f in findings(text) if f.code == code]


def module(text: str, path: Path) -> types.ModuleType:
    """Return a text as a module, imported from a file."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    spec.loader.exec_module(made)
    return made


def outcome(text: str, path: Path, arguments: tuple[Any, ...], compiled: bool) -> list[Any]:
    """Return what `f` of a module gives, and the gradients of its arguments."""
    import torch
    from torch.utils._pytree import tree_leaves

    torch.manual_seed(0)
    target = module(text, path).f
    function = target() if isinstance(target, type) else target
    if compiled:
        torch._dynamo.reset()
        function = torch.compile(function, fullgraph=True, backend="eager")
    given = copy.deepcopy(arguments)
    result = function(*given)
    leaves = [v for v in tree_leaves(result) if isinstance(v, torch.Tensor)]
    tracked = [v for v in leaves if v.requires_grad]
    if tracked:
        torch.stack([v.sum() for v in tracked]).sum().backward()
    inputs = [v for v in tree_leaves(given) if isinstance(v, torch.Tensor)]
    return [*(v.detach() for v in leaves), *inputs, *(v.grad for v in inputs)]
