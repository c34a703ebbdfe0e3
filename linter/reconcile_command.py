"""`compile-lint reconcile LOG [PATHS…]`: from options to a report and an exit status."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import click

from .catalog import UnknownRule, catalog
from .check_command import emit, report_problems, run_settings
from .cli import fail
from .config import SettingsFinder
from .discover import discover
from .overrides import Options, overriding
from .progress import Progress
from .reconcile.judge import judge
from .reconcile.model import RunLog
from .reconcile.places import Sources, files_below
from .reconcile.read import UnreadableLog, read_log
from .reconcile.report import render_json, render_text
from .run import Request, lint


def run(place: str, paths: tuple[str, ...], options: Options) -> int:
    """Compare and return the exit status. Raises ConfigError and click.UsageError."""
    try:
        log = read_log(place)
    except UnreadableLog as error:
        return fail(str(error), place)
    current = os.getcwd()
    as_json = options["output_format"] == "json"
    options = _settled(options, log, bool(paths))
    named = paths or tuple(files_below(log, current))
    if not (log.breaks or log.lines or log.completed):
        click.echo(f"warning: {place}: no graph breaks; was TORCH_LOGS=graph_breaks set?", err=True)
    elif not named:
        return fail("no file of the log lies below the current folder: name PATHS", place)
    finder = SettingsFinder(options["config"], options["isolated"], overriding(options))
    found = discover(named, finder)
    settings = run_settings(found, finder)
    try:
        with Progress() as progress:
            request = Request(
                settings,
                use_cache=not options["no_cache"],
                use_baseline=False,  # what is known or silenced was predicted all the same
                use_comments=False,
                progress=progress,
            )
            result = lint(found.targets, found.diagnostics, request)
    except UnknownRule as error:
        return fail(str(error))
    status = report_problems(result.outcome.diagnostics)
    shown = {target.path: target.shown for target in found.targets}
    located = [(target.path, finding) for target, finding in result.located]
    sources = Sources(shown, current)
    compared = judge(log, located, sources, shown.__getitem__, _rules_for)
    for frame in compared.changed:
        text = f"warning: {frame.file}:{frame.line} has changed since the log was written"
        click.echo(text, err=True)
    if as_json:
        text = render_json(compared, log, settings.analysis_options().target_torch)
    else:
        text = render_text(compared, not options["quiet"])
    emit(text, options)
    return status or (1 if compared.missed else 0)


def _settled(options: Options, log: RunLog, paths_given: bool) -> Options:
    """Return the options with what the log settles put in.

    Users of libraries compile them, so every function counts as compiled unless said otherwise.
    Files that the log names are no wish of the user's: what is excluded stays so.
    """
    version = re.match(r"\d+\.\d+", log.torch)
    settled = dict(options, output_format=None, baseline=None)
    settled["entry"] = options["entry"] or "all"
    settled["target_torch"] = options["target_torch"] or (version[0] if version else None)
    if not paths_given:
        settled["force_exclude"] = True
    return settled


def _rules_for(ids: Sequence[str]) -> tuple[str, ...]:
    """Return the codes of the rules that predict one of these graph breaks."""
    wanted = set(ids)
    return tuple(code for code, info in catalog().items() if wanted & set(info.graph_breaks))
