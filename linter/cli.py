"""The command line."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import click

from .config import ENTRIES, OUTPUT_FORMATS, ConfigError

_CONTEXT = {"help_option_names": ["-h", "--help"]}


class Commands(click.Group):
    """Sub-commands; what isn't the name of one is linted. `./rule` is a path called "rule"."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `check` before arguments that start with no command."""
        completing_first_word = ctx.resilient_parsing and not args
        if not completing_first_word and (not args or args[0] not in self.commands):
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Offer commands, and what `check` takes."""
        check = self.commands["check"]
        offered = super().shell_complete(ctx, incomplete)
        inner = check.make_context("check", [], parent=ctx, resilient_parsing=True)
        offered += check.shell_complete(inner, incomplete)
        if not incomplete.startswith("-"):
            offered += click.Path().shell_complete(inner, check.params[0], incomplete)
        return offered


@click.group(cls=Commands, context_settings=_CONTEXT)
def cli() -> None:
    """Find, from source alone, what torch.compile can't capture, and repair it."""


def _codes(_ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Split comma lists of an option that may be repeated."""
    parts = (part.strip() for value in values for part in value.split(","))
    return tuple(part for part in parts if part)


def _multiple(name: str, text: str, metavar: str = "CODES") -> Any:
    return click.option(name, multiple=True, callback=_codes, metavar=metavar, help=text)


_EPILOG = """Commands besides: `compile-lint rule CODE` explains a rule or graph-break id,
`compile-lint rules` lists all rules, `compile-lint reconcile LOG` compares with a run of yours.
Exit status: 0 clean, 1 findings, 2 usage, configuration or unreadable input."""


# What both commands that lint understand, in the order of their help.
_CHOOSING = (
    _multiple(
        "--select", "Report only these rules: codes, prefixes or names, separated by commas."
    ),
    _multiple("--ignore", "Don't report these rules."),
    _multiple("--extend-select", "Report these rules besides those selected."),
    click.option(
        "--per-file-ignores",
        multiple=True,
        metavar="GLOB:CODES",
        help="Don't report these rules in files that match.",
    ),
    click.option(
        "--severity",
        type=click.Choice(["error", "warning", "info"]),
        help="Report only this severity and worse.",
    ),
    click.option("--target-torch", metavar="VERSION", help="Version of torch to judge by."),
    click.option(
        "--entry",
        type=click.Choice(ENTRIES),
        help="What counts as compiled: explicit uses of torch.compile, also every "
        "nn.Module.forward (auto, the default of check), or all code with tensors or arrays "
        "(all, the default of reconcile).",
    ),
    click.option(
        "--training/--no-training",
        default=None,
        help="Modules are compiled in training mode: what only that mode runs into is reported "
        "as a break, what only evaluation does as advice. Default: the other way round.",
    ),
)
_RUNNING = (
    click.option("--output-file", "-o", metavar="FILE", help="Write the report to this file."),
    click.option("--no-cache", is_flag=True, help="Neither read nor write the cache."),
    click.option("--cache-dir", metavar="DIR", help="Folder of the cache."),
    click.option("--jobs", "-j", type=click.IntRange(0), metavar="N", help="Worker processes."),
)
_FILES = (
    _multiple(
        "--exclude", "Leave out these files and folders instead of the defaults.", "PATTERNS"
    ),
    _multiple("--extend-exclude", "Leave out these besides.", "PATTERNS"),
    click.option(
        "--force-exclude/--no-force-exclude",
        default=None,
        help="Leave out excluded files also when they are named.",
    ),
    click.option(
        "--respect-gitignore/--no-respect-gitignore",
        default=None,
        help="Leave out what .gitignore files name (default).",
    ),
)
_CONFIGURATION = (
    click.option("--config", metavar="FILE", help="Use this configuration file for everything."),
    click.option("--isolated", is_flag=True, help="Use no configuration file."),
)
_FIXING = (
    click.option("--fix", is_flag=True, help="Rewrite what can be, and proved to be the same."),
    click.option("--diff", is_flag=True, help="Show what --fix would change; write nothing."),
    click.option("--fix-only", is_flag=True, help="As --fix, without a report of what is left."),
    click.option("--show-fixes", is_flag=True, help="List every rewrite with its proof."),
    click.option(
        "--unsafe-fixes", is_flag=True, help="Also rewrites that aren't proved, or change meaning."
    ),
    click.option(
        "--no-prove", is_flag=True, help="Compile nothing: only rewrites safe by construction."
    ),
    click.option("--python", metavar="PATH", help="Python that proofs run in, with torch."),
    click.option(
        "--prove-timeout",
        type=click.FloatRange(1),
        default=120.0,
        metavar="SECONDS",
        help="Time limit of one proof (120).",
    ),
    click.option("--recorded", metavar="FILE", help="Inputs that `compile-lint record` wrote."),
)


def _options(group: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Return a decorator that adds the options of a group in their order."""

    def decorate(command: Any) -> Any:
        for option in reversed(group):
            command = option(command)
        return command

    return decorate


@cli.command(context_settings=_CONTEXT, epilog=_EPILOG)
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@_options(_CHOOSING)
@click.option("--output-format", type=click.Choice(OUTPUT_FORMATS), help="Form of the report.")
@_options(_RUNNING)
@click.option("--statistics", is_flag=True, help="Count findings by rule instead.")
@click.option("--show-files", is_flag=True, help="List the files that would be linted.")
@click.option("--show-settings", is_flag=True, help="Show the settings of the first file.")
@click.option("--show-regions", is_flag=True, help="List the compiled regions, and stop.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 though there are findings.")
@_options(_FILES)
@click.option("--stdin-filename", metavar="PATH", help="Name of the file that `-` reads.")
@click.option("--baseline", metavar="FILE", help="Report only what this baseline doesn't hold.")
@click.option(
    "--write-baseline",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Take all present findings into the baseline.",
)
@_options(_CONFIGURATION)
@click.option("--no-color", is_flag=True, help="No colours, as with NO_COLOR set.")
@click.option("--quiet", "-q", is_flag=True, help="Print findings only.")
@_options(_FIXING)
@click.option("--version", "-V", is_flag=True, help="Print the version.")
def check(paths: tuple[str, ...], **options: Any) -> int:
    """Lint PATHS (files, folders, notebooks, or - for standard input; default: .)."""
    from . import check_command

    return check_command.run(paths, options)


_RECONCILE_EPILOG = """Exit status: 0 every break was predicted, 1 some were missed, 2 usage,
configuration or unreadable input."""


@cli.command(context_settings=_CONTEXT, epilog=_RECONCILE_EPILOG)
@click.argument("log")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@_options(_CHOOSING)
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text")
@_options(_RUNNING)
@_options(_FILES)
@_options(_CONFIGURATION)
@click.option("--quiet", "-q", is_flag=True, help="Leave out the line of sums.")
def reconcile(log: str, paths: tuple[str, ...], **options: Any) -> int:
    """Compare predictions with LOG: what a run wrote with TORCH_LOGS=graph_breaks, or a TORCH_TRACE
    folder (- reads standard input).

    Lints PATHS; default: the files that the log names, below the current folder.
    """
    from . import reconcile_command

    return reconcile_command.run(log, paths, options)


_RECORD_EPILOG = """Exit status: the command's, or 2 when nothing could be recorded."""


@cli.command(context_settings=_CONTEXT, epilog=_RECORD_EPILOG)
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Code to record (default: .).")
@click.option("--output-file", "-o", default="compile-lint-inputs.json", metavar="FILE")
@click.option(
    "--entry", type=click.Choice(ENTRIES), help="What counts as compiled (default: auto)."
)
def record(
    command: tuple[str, ...], paths: tuple[str, ...], output_file: str, entry: str | None
) -> int:
    """Run COMMAND, and note what the regions of the code are called with, for proofs.

    Shapes, dtypes and ranges of values are written, never the values of tensors.
    """
    from .record import command as recording

    return recording.record(paths, command, output_file, entry)


@cli.command(context_settings=_CONTEXT)
@click.argument("what", metavar="CODE|GBxxxx|NAME")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text")
@click.option("--target-torch", metavar="VERSION", help="Version of torch to judge by.")
@click.option("--no-color", is_flag=True, help="No colours, as with NO_COLOR set.")
def rule(what: str, output_format: str, target_torch: str | None, no_color: bool) -> int:
    """Explain a rule, or one of Dynamo's graph breaks."""
    from . import explain

    return explain.explain(what, output_format, target_torch, no_color)


@cli.command(context_settings=_CONTEXT)
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text")
def rules(output_format: str) -> int:
    """List all rules."""
    from . import explain

    return explain.list_rules(output_format)


def fail(message: str, path: str = "", line: int | None = None) -> int:
    """Print one line on standard error and return the exit status for bad input."""
    place = ":".join(str(part) for part in (path, line) if part)
    prefix = f"{place}: error: " if place else "error: "
    click.echo(prefix + " ".join(message.split()), err=True)
    return 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. Never shows a traceback unless COMPILE_LINT_DEBUG is set."""
    code = run(arguments)
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    # Python would take syntax trees and facts down one by one, and an interrupted analysis still
    # runs in its thread: that takes up to seconds, and the system frees memory at once.
    os._exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names and sources hold anything
    try:
        code = cli.main(arguments, prog_name="compile-lint", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.UsageError as error:
        return fail(error.format_message())
    except click.exceptions.Exit as error:
        return error.exit_code
    except ConfigError as error:
        return fail(error.message, error.path, error.line)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        # The reader has gone: what is still buffered must not fail again when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("COMPILE_LINT_DEBUG"):
            raise
        text = f"internal error: {type(error).__name__}: {error} (please report it)"
        return fail(text)
