"""One file's regions → raw findings."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import replace

from ..rules.base.context import RegionOptions
from ..rules.base.facts import Origin
from ..rules.base.finding import Certainty, Finding, Fix, Mode, Note, Severity, Span
from ..rules.base.reading import made_at
from ..rules.base.rewriting import Declined
from ..rules.base.rule import Rule, Sighting, all_rules, severity_of
from ..rules.base.walking import own_nodes
from ..rules.torch_facts import load
from .after_break import Seen, settle
from .analysis.analyzer import Analyzer, Summary
from .analysis.frame import Frame
from .context import FrameContext
from .dispatch import ByName, Chosen, Dispatch
from .doubts import from_elsewhere, guarded, in_rare_block, of_several_kinds, rarely
from .dynamo_settings import left, offered, settings_of
from .index import ModuleInfo, Project
from .model import AnalysisOptions, FileResult, RegionReport, SourceFile
from .regions import Entry, closure, entries, file_frames, handed_on, speaks_of

# Syntax trees kept between files, in characters of source: about 1 GB of memory a process.
KEPT_SOURCE = 10_000_000
IN_LOOP = "inside a loop: the whole function runs eagerly, not just this line"


class Linter:
    """Analyses files one by one; what the source of shared modules says is kept between files."""

    def __init__(self, options: AnalysisOptions, rules: tuple[Rule, ...] | None = None) -> None:
        self.options = options
        self._given: SourceFile | None = None
        chosen = all_rules() if rules is None else rules
        self._torch = load(options.target_torch or None)
        self._region_candidates = [rule for rule in chosen if rule.scope == "region"]
        self._file_rules = [rule for rule in chosen if rule.scope == "file"]
        self._triggers = {word for rule in self._file_rules for word in rule.triggers}
        self._file_tables: dict[tuple[Rule, ...], Dispatch] = {}
        self._forget()

    def _forget(self) -> None:
        """Start with an empty project: nothing is known of any module."""
        self._settings: dict[ModuleInfo, frozenset[str]] = {}
        watched = {word for rule in self._region_candidates for word in rule.triggers}
        self.project = Project(self.options, watched)
        self._choose_rules()
        if self._given is not None:
            self.project.open(self._given)
        self.analyzer = Analyzer(self.project, self._torch, self._inspect)

    def read_as(self, source: SourceFile) -> None:
        """Take a file as given here, not as on disk, wherever it is imported; one at a time.

        What is known of modules that don't lead to it is kept.
        """
        for changed in (self._given, source):
            if changed is not None:
                self.project.forget(changed.path)
        self._given = source
        self.project.open(source)

    def _choose_rules(self) -> None:
        """Leave out the rules none of whose words any module has."""
        self._region_rules = Dispatch(self._region_candidates, self._torch, self.project.words)
        self._selected: dict[ast.AST, Chosen] = {}

    def lint(self, source: SourceFile) -> FileResult:
        """Analyse the regions that start in a file, and the file's own use of torch.compile.

        Raises UnreadableSource when it can't be parsed.
        """
        if self.project.size > KEPT_SOURCE:
            self._forget()
            gc.collect()
        self.analyzer.begin()
        module = self.project.open(source)
        findings: list[Finding] = []
        regions: list[RegionReport] = []
        for entry in entries(self.analyzer, module, self.options):
            if entry.options.backend == "disabled":
                continue
            summary = self.analyzer.summary(
                entry.function, dict(entry.params), {}, 0, entry=True, options=entry.options
            )
            assert summary is not None
            around = self.analyzer.around(entry.function, dict(entry.params))
            reached = [*closure(summary), *(closure(around) if around is not None else ())]
            if self.options.entry == "all":
                reached += handed_on(self.analyzer, reached)
            if self.options.regions:
                regions.append(_report(entry, reached))
            findings += self._of_region(entry, reached)
        findings.extend(self._file_scope(module))
        touched = self.project.dependencies(module) if self.options.dependencies else ()
        return FileResult(
            source.path,
            tuple(_merged(findings)),
            tuple(regions),
            tuple((path, self.project.digest(path)) for path in touched),
        )

    def _of_region(self, entry: Entry, reached: list[Summary]) -> Iterator[Finding]:
        modules = tuple(dict.fromkeys(part.function.module for part in reached))
        for module in modules:
            if module not in self._settings:
                self._settings[module] = settings_of(module)
        settings = frozenset().union(*(self._settings[module] for module in modules))
        found = [f for part in reached for f in _for_region(part.seen, entry)]
        if settings:
            found = left(found, settings)
        yield from offered(found, modules) if self.options.fixes else found

    # -- running rules ----------------------------------------------------------------------

    def _inspect(self, frame: Frame) -> tuple[Finding, ...]:
        function = frame.function
        if function is None:
            return ()
        if self._region_rules.words is not self.project.words:
            self._choose_rules()
        selected = self._selected.get(function.node)
        if selected is None:
            nodes = (*function.nodes, function.node)
            selected = self._selected[function.node] = self._region_rules.select(nodes)
        return tuple(self._check(frame, function.node, selected))

    def _check(self, frame: Frame, function: ast.AST, chosen: Chosen) -> list[Finding]:
        """Run rules on the selected nodes of a function, as far as captured code reaches them."""
        ctx = FrameContext(frame, function)
        facts, visited, callees = frame.facts, frame.visited, frame.callees
        found: list[Seen] = []
        for node, rules in chosen:
            if node not in facts and node not in visited and not ctx.reached(node):
                continue
            if isinstance(rules, ByName):
                callee = callees.get(node)  # type: ignore[arg-type]
                rules = rules["" if callee is None else callee.name]
            for rule in rules:
                for sighting in rule.check(node, ctx):
                    finding = _finding(rule, sighting, ctx, frame)
                    finding = self._with_fixes(finding, rule, sighting, ctx, frame)
                    made = made_at(sighting.fact, ctx) if sighting.local else 0
                    found.append(Seen(finding, sighting.node, sighting.local, made))
        return settle(found, ctx) if found else []

    def _with_fixes(
        self, finding: Finding, rule: Rule, sighting: Sighting, ctx: FrameContext, frame: Frame
    ) -> Finding:
        if not self.options.fixes:
            return finding
        from .rewriting import FrameCode  # most runs only report
        from .sites import site_of

        fixes: list[Fix] = []
        declined = ""
        try:
            fixes.extend(rule.fix(sighting, ctx, FrameCode(frame, ctx)))
        except Declined as reason:
            declined = reason.reason
        return replace(finding, fixes=tuple(fixes), declined=declined, site=site_of(frame))

    def _file_scope(self, module: ModuleInfo) -> Iterator[Finding]:
        text = module.text.replace("re.compile(", "")  # a word of its own in most files
        words = {word for word in self._triggers if word in text and speaks_of(module, word)}
        active = tuple(r for r in self._file_rules if not words.isdisjoint(r.triggers))
        if not active:
            return
        table = self._file_tables.get(active)
        if table is None:
            table = self._file_tables[active] = Dispatch(active, self._torch)
        for frame in file_frames(self.analyzer, module):
            function = frame.function
            node = module.tree if function is None else function.node
            nodes = own_nodes(node) if function is None else function.nodes
            yield from self._check(frame, node, table.select((*nodes, node)))


# -- findings ------------------------------------------------------------------------------------


def _finding(rule: Rule, sighting: Sighting, ctx: FrameContext, frame: Frame) -> Finding:
    breaks = rule.breaks if sighting.breaks is None else sighting.breaks
    severity = sighting.severity or rule.severity or severity_of(breaks)
    message = sighting.message
    seldom = rarely(sighting, ctx, frame) if breaks else ""
    if seldom:
        breaks, severity, message = (), Severity.INFO, f"{message}, {seldom}"
    certainty = sighting.certainty
    if certainty is None:
        sure = (sighting.fact is None or sighting.fact.sure) and not guarded(sighting.node, ctx)
        certainty = Certainty.CERTAIN if sure else Certainty.LIKELY
    if certainty is Certainty.CERTAIN and (
        in_rare_block(sighting.node, ctx)
        or of_several_kinds(sighting.node, ctx)
        or from_elsewhere(sighting, ctx)
    ):
        certainty = Certainty.LIKELY
    lines = frame.module
    statement = ctx.statement(sighting.node)
    origin = sighting.origin or (sighting.fact.origin if sighting.fact is not None else None)
    trail = list(_trail(origin, ctx.path, getattr(sighting.node, "lineno", 0)))
    if breaks and rule.scope == "region" and ctx.loop(sighting.node) is not None:
        trail.append(Note(ctx.path, getattr(sighting.node, "lineno", 1), IN_LOOP))
    return Finding(
        code=rule.code,
        name=rule.name,
        path=ctx.path,
        span=_span(lines, sighting.node),
        statement=_header(lines, statement),
        message=message,
        severity=severity,
        breaks=breaks,
        graph_breaks=rule.graph_breaks if sighting.graph_breaks is None else sighting.graph_breaks,
        certainty=certainty,
        trail=tuple(trail),
    )


def _trail(origin: Origin | None, path: str, line: int) -> Iterator[Note]:
    if origin is None:
        return
    seen: set[tuple[str, int]] = {(path, line)}
    for step in origin.chain(8):
        if (step.path, step.line) not in seen:
            seen.add((step.path, step.line))
            yield Note(step.path, step.line, step.message)


def _span(module: ModuleInfo, node: ast.AST) -> Span:
    line = getattr(node, "lineno", 1)
    end = getattr(node, "end_lineno", None) or line
    return Span(
        line,
        module.column(line, getattr(node, "col_offset", 0)),
        end,
        module.column(end, getattr(node, "end_col_offset", 0) or 0),
    )


def _header(module: ModuleInfo, stmt: ast.stmt) -> Span:
    """The span of a statement, of compound statements without their bodies."""
    body = getattr(stmt, "body", None)
    if isinstance(body, list) and body and isinstance(stmt, ast.stmt):
        last = stmt
        for field in ("test", "iter", "subject", "returns", "args"):
            part = getattr(stmt, field, None)
            if isinstance(part, ast.expr):
                last = part
        for item in getattr(stmt, "items", ()):
            last = item.optional_vars or item.context_expr
        if last is stmt:
            line = stmt.lineno
            return Span(
                line, module.column(line, stmt.col_offset), line, len(module.line(line)) + 1
            )
        whole, part = _span(module, stmt), _span(module, last)
        return Span(whole.line, whole.column, part.end_line, part.end_column)
    return _span(module, stmt)


def _for_region(findings: tuple[Finding, ...], entry: Entry) -> Iterator[Finding]:
    for finding in findings:
        if entry.options.fullgraph and finding.breaks and Mode.FULLGRAPH not in finding.breaks:
            continue  # fullgraph=True captures scalars and data-dependent shapes
        yield replace(finding, region=entry.name)


def _merged(findings: list[Finding]) -> list[Finding]:
    """One finding for each place and code: the surest one, of the first region.

    It is certain when in each mode that it breaks some region is certain of it.
    """
    best: dict[tuple[object, ...], Finding] = {}
    certain: dict[tuple[object, ...], set[Mode]] = {}
    for finding in findings:
        key = (finding.path, finding.span, finding.code)
        if finding.certainty is Certainty.CERTAIN:
            certain.setdefault(key, set()).update(finding.breaks)
        old = best.get(key)
        if old is None:
            best[key] = finding
            continue
        modes = tuple(m for m in Mode if m in old.breaks or m in finding.breaks)
        sure = finding.certainty is Certainty.CERTAIN and old.certainty is not Certainty.CERTAIN
        chosen = finding if sure or (finding.breaks and not old.breaks) else old
        severity = severity_of(modes) if modes else chosen.severity
        best[key] = replace(chosen, breaks=modes, severity=severity, region=old.region)
    for key, modes in certain.items():
        if not modes.issuperset(best[key].breaks):
            best[key] = replace(best[key], certainty=Certainty.LIKELY)
    return sorted(best.values(), key=lambda finding: finding.sort_key)


def _report(entry: Entry, reached: list[Summary]) -> RegionReport:
    functions = {
        (s.function.module.path, s.function.node.lineno, s.function.qualname): None for s in reached
    }
    given: RegionOptions = entry.options
    shown = [
        f"{n}={getattr(given, n)!r}"
        for n in ("fullgraph", "dynamic", "mode", "backend")
        if getattr(given, n) is not None
    ]
    return RegionReport(
        entry.function.module.path,
        entry.function.node.lineno,
        entry.name,
        entry.reason,
        ", ".join(shown),
        tuple(functions),
    )


__all__ = ["Linter"]
