"""Options of the command line, put over the settings that configuration files state."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import click

from ..rules.base.finding import Severity
from .config import Settings, parse_target

Options = Mapping[str, Any]
_PLAIN = ("entry", "training", "output_format", "jobs", "force_exclude", "respect_gitignore")


def overriding(options: Options) -> Callable[[Settings], Settings]:
    """Return what puts the options over settings. Raises click.UsageError for bad values."""
    changes: dict[str, Any] = {name: options[name] for name in _PLAIN if options[name] is not None}
    if options["exclude"]:
        changes["exclude"] = options["exclude"]
    if options["severity"]:
        changes["severity"] = Severity(options["severity"])
    if options["target_torch"]:
        changes["target_torch"] = target_version(options["target_torch"])
    if options["select"]:  # chosen anew: what a configuration selects and ignores is void
        changes.update(select=options["select"], ignore=(), extend_select=())
    added = {name: options[name] for name in ("ignore", "extend_select", "extend_exclude")}
    added["per_file_ignores"] = tuple(_per_file_ignore(v) for v in options["per_file_ignores"])
    places = {name: options[name] for name in ("baseline", "cache_dir") if options[name]}

    def override(settings: Settings) -> Settings:
        values = dict(changes)
        for name, more in added.items():
            if more:
                values[name] = values.get(name, getattr(settings, name)) + more
        for name in ("baseline", "cache_dir"):
            if name in places:
                values[name] = os.path.abspath(places[name])
            elif getattr(settings, name):
                values[name] = os.path.join(settings.root, getattr(settings, name))
        return replace(settings, **values)

    return override


def target_version(value: str) -> str:
    """Return the minor version that `--target-torch` names. Raises click.UsageError."""
    try:
        return parse_target(value)
    except ValueError as error:
        raise click.UsageError(f"--target-torch: {error}") from error


def _per_file_ignore(value: str) -> tuple[str, tuple[str, ...]]:
    pattern, colon, codes = value.rpartition(":")
    names = tuple(part.strip() for part in codes.split(",") if part.strip())
    if not (colon and pattern and names):
        message = f"--per-file-ignores: {value!r} isn't of the form 'GLOB:CODE,…'"
        raise click.UsageError(message)
    return pattern, names
