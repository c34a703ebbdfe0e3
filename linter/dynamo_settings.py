"""Settings of Dynamo that lift a graph break: read off a project's modules, and offered as fixes.

A module that says `torch._dynamo.config.allow_rnn = True` at its top level says it for the whole
process: breaks that the setting lifts aren't reported in regions that reach the module. Where no
rewrite is known the setting itself is offered, as the messages of torch do. It speaks for the whole
process, so it is only offered where nothing else would stay broken, and the title says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..rules.base.finding import Edit, Finding, Fix, Mode, Safety, Span
from ..rules.base.scopes import dotted
from .index import ModuleInfo
from .index.modules import Imported

_CONFIG = "torch._dynamo.config."
_READS = "capture_scalar_outputs"
_SIZES = "capture_dynamic_output_shape_ops"
# What each setting does, the graph breaks it lifts, and whether in both modes or (as
# `fullgraph=True` sets it by itself) only by default.
_LIFTS = {
    "allow_rnn": ("trace recurrent layers", frozenset({"GB0014"}), True),
    "trace_autograd_ops": ("trace the backward pass", frozenset({"GB0123", "GB9186"}), True),
    _READS: ("capture numbers read from tensors", frozenset({"GB0124", "GB0033"}), False),
    _SIZES: ("capture sizes that depend on data", frozenset({"GB0036"}), False),
}


# A leaf that is made inside may stay where its gradient is taken inside as well.
_LEAF = frozenset({"GB8985", "GB7324"})


def settings_of(module: ModuleInfo) -> frozenset[str]:
    """Return the settings that a module turns on at its top level."""
    if "_dynamo" not in module.text:
        return frozenset()
    found = set()
    for stmt in module.tree.body:
        if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Constant):
            if stmt.value.value is True:
                names = (_canonical(dotted(target), module) for target in stmt.targets)
                found.update(n.removeprefix(_CONFIG) for n in names if n.startswith(_CONFIG))
    return frozenset(found)


def _canonical(path: str, module: ModuleInfo) -> str:
    top, _, rest = path.partition(".")
    binding = module.bindings.get(top)
    if not rest or not isinstance(binding, Imported):
        return ""
    if not binding.name and binding.module.partition(".")[0] == top:
        return path  # `import torch._dynamo` binds `torch`
    return ".".join(part for part in (binding.module, binding.name, rest) if part)


def left(findings: Sequence[Finding], settings: frozenset[str]) -> list[Finding]:
    """Return the findings of a region without those that settings lift."""
    consumed = "trace_autograd_ops" in settings and _differentiates(findings)
    return [
        finding
        for finding in findings
        if not ((needed := _needed(finding)) and needed <= settings)
        and not (consumed and _is_leaf(finding))
    ]


def _differentiates(findings: Iterable[Finding]) -> bool:
    return any("trace_autograd_ops" in _needed(finding) for finding in findings)


def _is_leaf(finding: Finding) -> bool:
    return bool(finding.graph_breaks) and _LEAF.issuperset(finding.graph_breaks)


def _needed(finding: Finding) -> frozenset[str]:
    """Return the settings that a finding goes by; none where no setting is enough."""
    needed = set()
    if not finding.breaks:
        return frozenset()
    for id in finding.graph_breaks:
        able = [name for name, (_, ids, _) in _LIFTS.items() if id in ids]
        if not able:
            return frozenset()
        needed.update(able)
    both = all(_LIFTS[name][2] for name in needed)
    return frozenset(needed) if both or finding.breaks == (Mode.DEFAULT,) else frozenset()


def offered(findings: Sequence[Finding], modules: Iterable[ModuleInfo]) -> Iterator[Finding]:
    """Yield the findings of a region; those that settings lift with that as their last fix."""
    consumed = _differentiates(findings)
    whole = all(
        not f.breaks or _needed(f) or _rewritable(f) or (consumed and _is_leaf(f)) for f in findings
    )
    by_path = {module.path: module for module in modules}
    for finding in findings:
        module = by_path.get(finding.path)
        needed = _needed(finding)
        if whole and module is not None and needed and finding.site is not None:
            fix = _setting(finding, needed, module)
            if fix is not None:
                finding = replace(finding, fixes=(*finding.fixes, fix))
        yield finding


def _rewritable(finding: Finding) -> bool:
    return any(fix.safety is not Safety.UNSAFE for fix in finding.fixes)


def _setting(finding: Finding, needed: frozenset[str], module: ModuleInfo) -> Fix | None:
    """Return the fix that turns on what a finding goes by, behind the module's imports."""
    on = settings_of(module)
    names = [name for name in _LIFTS if name in needed - on]
    last = _last_import(module.tree.body)
    if last is None or not names:
        return None
    if _SIZES in names and _READS not in names and _READS not in on:
        names.insert(0, _READS)  # what is made of such a size is a number that was read
    line, end = last.end_lineno or last.lineno, last.end_col_offset or 0
    column = len(module.line(line)) + 1
    if module.line(line)[module.column(line, end) - 1 :].lstrip().startswith(";"):
        return None
    torch = next((name for name, bound in module.bindings.items() if _names_torch(bound)), "")
    lines = [f"\n{torch or 'torch'}._dynamo.config.{name} = True" for name in names]
    does, _, whatever_mode = _LIFTS[names[-1]]
    why = f" ({finding.declined})" if finding.declined and not whatever_mode else ""
    return Fix(
        f"{does}, by a setting of the whole process{why}",
        (Edit(Span(line, column, line, column), "\n" + "".join(lines)),),
        Safety.NEEDS_PROOF,
        () if torch else ("import torch",),
        setting=True,
    )


def _names_torch(binding: object) -> bool:
    return isinstance(binding, Imported) and binding.module == "torch" and not binding.name


def _last_import(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the last import of the head of a module."""
    found = None
    for stmt in body:
        if isinstance(stmt, (ast.Import, ast.ImportFrom)):
            found = stmt
        elif isinstance(stmt, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            break
    return found


__all__ = ["left", "offered", "settings_of"]
