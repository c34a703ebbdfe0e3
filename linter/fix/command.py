"""`compile-lint --fix`, `--diff`: from files to repairs to written files and a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

import click

from ..conclude import Run
from ..config import Settings
from ..discover import Discovery, Target
from ..model import Diagnostic, SourceFile
from ..outcome import Outcome
from ..overrides import Options
from ..prove.prover import Prover
from ..run import Request, lint
from ..source import UnreadableSource, load_source, read_bytes, reason
from ..workers import with_deep_stack
from . import report
from .model import Judged, Repair
from .repair import Policy, Proves, repair
from .subject import subjects
from .write import WriteError, write


def fix(found: Discovery, settings: Settings, options: Options, data: Mapping[str, bytes]) -> Fixed:
    """Repair the files and, unless only the differences are asked for, write them.

    Raises ConfigError, UnknownRule, and ProverError when proofs need what isn't installed.
    """
    request = Request(settings, data, use_cache=False, fixes=True)
    targets = [t for t in found.targets if not t.path.endswith(".ipynb")]
    run = lint(found.targets, found.diagnostics, replace(request, regions=True))
    problems: list[Diagnostic] = []
    repairable = {target.path for target, f in run.located if f.fixes or f.declined}
    touched = [target for target in targets if target.path in repairable]
    sources = dict(_sources(touched, data, problems))
    work = list(subjects(run.located, run.outcome.regions, sources, targets, request))
    unsafe = options["unsafe_fixes"]
    policy = Policy(unsafe, unsafe, settings.inputs, options["recorded"] or "")
    repairs = []
    with ExitStack() as stack:
        prover: Proves | None = None
        if not options["no_prove"] and any(f.fixes for s in work for f in s.findings):
            limit = options["prove_timeout"]
            prover = stack.enter_context(Prover(python=options["python"], limit=limit))
        for subject in work:
            repairs.append(with_deep_stack(lambda s=subject: repair(s, prover, policy)))
    written = 0
    for made in repairs:
        if made.changed and not options["diff"]:
            try:
                write(made.source, made.text)
                written += 1
            except WriteError as error:
                problems.append(Diagnostic(made.target.shown, None, str(error)))
    changed = sum(made.changed for made in repairs)
    return Fixed(run, tuple(repairs), written if not options["diff"] else changed, tuple(problems))


class Fixed:
    """The result of a run that repairs."""

    def __init__(
        self,
        run: Run,
        repairs: tuple[Repair, ...],
        written: int,
        problems: tuple[Diagnostic, ...],
    ) -> None:
        self._run = run
        self.repairs = repairs
        self.written = written
        self.problems = problems

    @property
    def found(self) -> Outcome:
        """What was found before anything was rewritten."""
        return self._run.outcome

    @property
    def verdicts(self) -> dict[tuple[object, ...], Judged]:
        """What became of the findings of the first round, by their `sort_key`."""
        judged = [j for made in self.repairs for j in made.judged if j.change.round == 1]
        return {j.change.finding.sort_key: j for j in judged}

    def outcome(self) -> Outcome:
        """Return what is left to report once files are written, without source excerpts."""
        mended = {made.target.path: made for made in self.repairs if made.changed}
        left = [f for t, f in self._run.located if t.path not in mended]
        left += [finding for made in mended.values() for finding in made.left]
        outcome = self._run.outcome
        return replace(
            outcome,
            findings=tuple(sorted(left, key=lambda finding: finding.sort_key)),
            diagnostics=(*outcome.diagnostics, *self.problems),
            excerpts=(),
        )


def tell(fixed: Fixed, options: Options) -> None:
    """Say on standard error what was done."""
    applied = "would fix" if options["diff"] else "fixed"
    if options["show_fixes"] or options["diff"]:
        click.echo(report.fixes(fixed.repairs, applied), nl=False, err=True)
    for made in fixed.repairs:
        for problem in made.problems:
            place = made.target.shown
            click.echo(f"{place}: note: a rewrite was withdrawn: {problem}", err=True)
    if not options["quiet"]:
        word = "Would fix" if options["diff"] else "Fixed"
        click.echo(report.summary(fixed.repairs, fixed.written, word), err=True)


def _sources(
    targets: Sequence[Target], data: Mapping[str, bytes], problems: list[Diagnostic]
) -> Iterator[tuple[str, SourceFile]]:
    for target in targets:
        try:
            content = data[target.path] if target.path in data else read_bytes(target.path)
            yield target.path, load_source(target.path, content)[0]
        except OSError as error:
            problems.append(Diagnostic(target.shown, None, f"can't read: {reason(error)}"))
        except UnreadableSource:
            continue  # the run has reported it
