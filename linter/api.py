"""Linting from Python: for tests, editors and other tools.

    from compile_lint.linter.api import lint_paths, lint_text

    for finding in lint_paths(["src"]):
        print(finding.path, finding.span.line, finding.code, finding.message)

Nothing here prints, imports torch or runs the code that is linted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from ..rules.base.finding import Finding
from .catalog import UnknownRule
from .config import ConfigError, Settings, SettingsFinder, parse_entry_point, parse_target
from .discover import Discovery, Target, discover, start_of
from .model import Diagnostic, EntryMode
from .run import Request, lint
from .workers import EngineFactory, make_engine

__all__ = ["ConfigError", "LintError", "UnknownRule", "lint_paths", "lint_text"]


class LintError(Exception):
    """Something couldn't be linted; `diagnostics` say what and why, one for each file."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], findings: list[Finding]) -> None:
        super().__init__("; ".join(f"{d.path}: {d.message}" for d in diagnostics))
        self.diagnostics = diagnostics
        self.findings = findings


def lint_paths(
    paths: Sequence[str | os.PathLike[str]],
    *,
    entry: EntryMode | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    target_torch: str | None = None,
    jobs: int = 1,
    cache: bool = False,
    config: str | Literal[False] | None = None,
    entry_points: Sequence[str] = (),
    engine: EngineFactory = make_engine,
) -> list[Finding]:
    """Return the findings in files and folders, sorted by path and place.

    entry         "explicit", "auto" or "all"; None for what the configuration says, else "auto"
    select, ignore  codes, prefixes or names of rules; None for what the configuration says
    target_torch  version of torch to judge by; None for configuration, else environment
    jobs          worker processes, 0 for all processors
    cache         whether results are kept for the next run
    config        path of a configuration file; None for the nearest one, False for none
    entry_points  "package.module:qualified.name" of callables that are compiled elsewhere
    engine        makes the engine; for tests

    Raises LintError when a file couldn't be linted (it holds the findings of the others),
    ConfigError for a bad configuration, UnknownRule for a bad selection.
    """
    finder = _finder(config, entry, select, ignore, target_torch, entry_points)
    found = discover([os.fspath(path) for path in paths], finder)
    settings = found.targets[0].settings if found.targets else Settings(os.getcwd())
    return _findings(found, Request(replace(settings, jobs=jobs), use_cache=cache, factory=engine))


def lint_text(
    text: str,
    path: str = "<string>",
    *,
    entry: EntryMode | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    target_torch: str | None = None,
    config: str | Literal[False] | None = None,
    entry_points: Sequence[str] = (),
    engine: EngineFactory = make_engine,
) -> list[Finding]:
    """Return the findings in source text, as if it stood in a file at `path`.

    Imports are looked up from there. A path that ends in ".ipynb" makes it a notebook. Options
    and errors are those of `lint_paths`.
    """
    finder = _finder(config, entry, select, ignore, target_torch, entry_points)
    absolute = os.path.abspath(path)
    settings = finder.for_folder(os.path.dirname(absolute), start_of(absolute))
    target = Target(absolute, path.replace(os.sep, "/"), settings, len(text), 0, True)
    request = Request(
        replace(settings, jobs=1, baseline=""), {absolute: text}, use_cache=False, factory=engine
    )
    return _findings(Discovery((target,), ()), request)


def _finder(
    config: str | Literal[False] | None,
    entry: EntryMode | None,
    select: Sequence[str] | None,
    ignore: Sequence[str] | None,
    target_torch: str | None,
    entry_points: Sequence[str],
) -> SettingsFinder:
    changes: dict[str, Any] = {}
    if entry is not None:
        changes["entry"] = entry
    if select is not None:
        changes.update(select=tuple(select), extend_select=(), ignore=())
    if ignore is not None:
        changes["ignore"] = tuple(ignore)
    if target_torch is not None:
        changes["target_torch"] = parse_target(target_torch)
    if entry_points:
        changes["entry_points"] = tuple(parse_entry_point(point) for point in entry_points)
    return SettingsFinder(
        config or None, config is False, lambda settings: replace(settings, **changes)
    )


def _findings(found: Discovery, request: Request) -> list[Finding]:
    outcome = lint(found.targets, found.diagnostics, request).outcome
    if outcome.diagnostics:
        raise LintError(outcome.diagnostics, list(outcome.findings))
    return list(outcome.findings)
