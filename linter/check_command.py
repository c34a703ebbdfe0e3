"""`compile-lint [PATHS…]`: from options to a run, from its outcome to output and exit status."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence

import click

from .baseline import DEFAULT_FILE, write_baseline
from .catalog import UnknownRule
from .cli import fail
from .config import ConfigError, Settings, SettingsFinder
from .discover import SUFFIXES, Discovery, Target, discover, is_excluded, start_of
from .model import Diagnostic
from .outcome import Outcome, statistics, summary
from .overrides import Options, overriding
from .progress import Progress
from .report import render
from .report.json import render_json
from .run import Request, lint
from .source import reason


def run(paths: tuple[str, ...], options: Options) -> int:
    """Lint the paths and return the exit status. Raises ConfigError and click.UsageError."""
    if options["version"]:
        from .version import version

        click.echo(f"compile-lint {version()}")
        return 0
    paths, options = _sort_out_baseline(paths, options)
    finder = SettingsFinder(options["config"], options["isolated"], overriding(options))
    data: dict[str, bytes] = {}
    if options["stdin_filename"] or "-" in paths:
        if len(paths) > 1 or (paths and paths[0] != "-"):
            raise click.UsageError("standard input can't be linted together with other paths")
        found = _standard_input(options, finder, data)
    else:
        found = discover(paths or (".",), finder)
    settings = run_settings(found, finder)
    if options["show_settings"]:
        target = found.targets[0].settings if found.targets else settings
        emit(show_settings(target), options)
        return report_problems(found.diagnostics)
    if options["show_files"]:
        emit("".join(f"{target.shown}\n" for target in found.targets), options)
        return report_problems(found.diagnostics)
    if not found.targets and not found.diagnostics and not data:
        click.echo("warning: no Python files found", err=True)
    try:
        if options["fix"] or options["diff"] or options["fix_only"]:
            return _fix(found, settings, options, data)
        return _lint(found, settings, options, data)
    except UnknownRule as error:
        return fail(str(error))


def _fix(found: Discovery, settings: Settings, options: Options, data: Mapping[str, bytes]) -> int:
    from .fix import command, report
    from .prove.prover import ProverError

    try:
        fixed = command.fix(found, settings, options, data)
    except ProverError as error:
        return fail(str(error))
    outcome = fixed.outcome()
    report_problems(outcome.diagnostics)
    text = ""
    if options["diff"] and settings.output_format == "json":
        text = render_json(fixed.found, fixed.verdicts)
    elif options["diff"]:
        text = report.diff(fixed.repairs)
    elif data:
        text = fixed.repairs[0].text if fixed.repairs else next(iter(data.values())).decode()
    elif not options["fix_only"]:
        text = render(outcome, settings.output_format, _color(options), not options["quiet"])
    emit(text, options)
    command.tell(fixed, options)
    if options["diff"]:
        return 2 if outcome.diagnostics else int(fixed.written > 0)
    return outcome.exit_code(options["exit_zero"] or options["fix_only"])


def _lint(found: Discovery, settings: Settings, options: Options, data: Mapping[str, bytes]) -> int:
    output_format = settings.output_format
    writing = options["write_baseline"]
    gc.disable()  # many small values that all live until the end
    with Progress() as progress:
        result = lint(
            found.targets,
            found.diagnostics,
            Request(
                settings,
                data,
                use_cache=not options["no_cache"],
                use_baseline=writing is None,
                excerpts=output_format == "full" and not options["statistics"],
                regions=options["show_regions"],
                progress=progress,
            ),
        )
    outcome = result.outcome
    report_problems(outcome.diagnostics)
    if options["show_regions"]:
        emit(show_regions(outcome), options)
        return outcome.exit_code(exit_zero=True)
    if writing is not None:
        place = writing or settings.baseline or DEFAULT_FILE
        marks = [result.fingerprint(located, place) for located in result.located]
        try:
            count = write_baseline(place, marks)
        except OSError as error:
            raise ConfigError(f"can't write: {reason(error)}", place) from error
        if not options["quiet"]:
            click.echo(f"Wrote {count} findings to {place}", err=True)
        return outcome.exit_code(exit_zero=True)
    if options["statistics"]:
        text = statistics(outcome.findings)
        if not options["quiet"]:
            text += summary(outcome) + "\n"
    else:
        text = render(outcome, output_format, _color(options), not options["quiet"])
    emit(text, options)
    return outcome.exit_code(options["exit_zero"])


def _sort_out_baseline(paths: tuple[str, ...], options: Options) -> tuple[tuple[str, ...], Options]:
    """Take back a path that `--write-baseline` swallowed as its FILE."""
    file = options["write_baseline"]
    if file and (os.path.isdir(file) or file.endswith(SUFFIXES)):
        return (file, *paths), {**options, "write_baseline": ""}
    return paths, options


def _standard_input(options: Options, finder: SettingsFinder, data: dict[str, bytes]) -> Discovery:
    """Return standard input as a file of the name that `--stdin-filename` gives."""
    shown = options["stdin_filename"] or "<stdin>"
    path = os.path.abspath(shown)
    settings = finder.for_folder(os.path.dirname(path), start_of(path))
    if settings.force_exclude and is_excluded(path, settings):
        return Discovery((), ())
    data[path] = sys.stdin.buffer.read()
    target = Target(path, shown.replace(os.sep, "/"), settings, len(data[path]), 0, True)
    return Discovery((target,), ())


def run_settings(found: Discovery, finder: SettingsFinder) -> Settings:
    """Return the settings of the run: of the working directory, else of the first file."""
    current = os.getcwd()
    settings = finder.for_folder(current, current)
    return found.targets[0].settings if found.targets and not settings.config else settings


def report_problems(problems: Sequence[Diagnostic]) -> int:
    """Print what could not be linted, one line each; return the exit status."""
    for problem in problems:
        fail(problem.message, problem.path, problem.line)
    return 2 if problems else 0


def _color(options: Options) -> bool:
    if options["no_color"] or options["output_file"] or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def emit(text: str, options: Options) -> None:
    """Write to the output file, else to standard output. Raises ConfigError."""
    place = options["output_file"]
    if place:
        try:
            with open(place, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            raise ConfigError(f"can't write: {reason(error)}", place) from error
    else:
        sys.stdout.write(text)


def show_settings(settings: Settings) -> str:
    """Return settings as the TOML that would state them, with the file they come from."""
    import json

    lines = [f"# {settings.config or 'no configuration file'}", f"# root: {settings.root}"]
    for name in Settings.__dataclass_fields__:
        if name in ("root", "config"):
            continue
        value = getattr(settings, name)
        if name == "severity":
            value = value.value
        elif name == "per_file_ignores":
            value = {pattern: list(codes) for pattern, codes in value}
        elif name == "inputs":
            value = dict(value)
        if isinstance(value, dict):
            pairs = [f"{json.dumps(key)} = {json.dumps(item)}" for key, item in value.items()]
            text = "{ " + ", ".join(pairs) + " }" if pairs else "{}"
        else:
            text = json.dumps(value)
        lines.append(f"{name.replace('_', '-')} = {text}")
    return "\n".join(lines) + "\n"


def show_regions(outcome: Outcome) -> str:
    """Return every compiled region with the functions that it reaches."""
    lines = []
    for region in outcome.regions:
        options = f" ({region.options})" if region.options else ""
        lines.append(f"{region.path}:{region.line}: {region.name}: {region.reason}{options}")
        lines += [f"    {path}:{line}: {name}" for path, line, name in region.functions]
    lines.append(f"{len(outcome.regions)} regions in {outcome.checked} files")
    return "\n".join(lines) + "\n"
