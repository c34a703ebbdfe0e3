"""`compile-lint rule` and `compile-lint rules`: what a rule or a graph-break id means."""

from __future__ import annotations

import json
import os
import sys
from difflib import get_close_matches
from typing import Any

import click

from ..rules import torch_facts
from ..rules.base.rule import Example
from .catalog import RuleInfo, catalog
from .cli import fail
from .config import default_target
from .overrides import target_version

_MODES = {
    ("default", "fullgraph"): "breaks the graph by default; fails under fullgraph=True",
    ("default",): "breaks the graph by default; is captured under fullgraph=True",
    ("fullgraph",): "fails under fullgraph=True; is captured by default",
    (): "doesn't break the graph",
}


def explain(what: str, output_format: str, target_torch: str | None, no_color: bool) -> int:
    """Print the docs of a rule, or of a graph-break id, and return the exit status."""
    facts = torch_facts.load(target_version(target_torch) if target_torch else default_target())
    wanted = what.strip()
    if wanted.upper().startswith("GB") and wanted[2:].isdigit():
        return _explain_break(wanted.upper(), facts, output_format)
    rules = catalog()
    info = rules.get(wanted.upper()) or next(
        (rule for rule in rules.values() if rule.name == wanted), None
    )
    if info is None:
        known = [*rules, *(rule.name for rule in rules.values())]
        near = get_close_matches(wanted, known, 1) or get_close_matches(wanted.upper(), known, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return fail(f"unknown rule {wanted!r}{hint}")
    breaks = [_graph_break(id, facts) for id in info.graph_breaks]
    if output_format == "json":
        click.echo(json.dumps({**rule_row(info), **_details(info, breaks)}, indent=2))
    else:
        _print_markdown(markdown(info, breaks), no_color)
    return 0


def list_rules(output_format: str) -> int:
    """Print all rules, one a line, and return the exit status."""
    rules = catalog().values()
    if output_format == "json":
        click.echo(json.dumps([rule_row(info) for info in rules], indent=2))
        return 0
    width = max(len(info.name) for info in rules)
    for info in rules:
        click.echo(f"{info.code}  {info.name:<{width}}  {info.severity.value:<7}  {info.summary}")
    return 0


def rule_row(info: RuleInfo) -> dict[str, Any]:
    """Return what `rules --output-format json` says of a rule."""
    return {
        "code": info.code,
        "name": info.name,
        "summary": info.summary,
        "severity": info.severity.value,
        "breaks": list(info.breaks),
        "graph_breaks": list(info.graph_breaks),
    }


def _details(info: RuleInfo, breaks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "docs": info.docs,
        "graph_break_meanings": breaks,
        "examples": [
            {"bad": example.bad, "good": example.good, "note": example.note}
            for example in info.examples
        ],
    }


def _graph_break(id: str, facts: torch_facts.TorchFacts) -> dict[str, Any]:
    known = facts.graph_break(id)
    return {
        "id": id,
        "type": None if known is None else known.type,
        "meaning": None if known is None else known.meaning,
    }


def page(info: RuleInfo) -> str:
    """Return the docs of a rule as Markdown, by the newest torch that there are tables for."""
    facts = torch_facts.load(None)
    return markdown(info, [_graph_break(id, facts) for id in info.graph_breaks])


def markdown(info: RuleInfo, breaks: list[dict[str, Any]]) -> str:
    """Return the docs of a rule as Markdown."""
    parts = [
        f"# {info.code}: {info.name}",
        info.docs,
        "## How torch.compile treats it",
        f"Severity **{info.severity.value}**: it {_MODES.get(info.breaks, 'breaks the graph')}.",
    ]
    if breaks:
        parts.append("\n".join(_break_line(row) for row in breaks))
    for number, example in enumerate(info.examples, start=1):
        parts.append(_example(example, number if len(info.examples) > 1 else None))
    return "\n\n".join(parts) + "\n"


def _break_line(row: dict[str, Any]) -> str:
    if row["type"] is None:
        return f"- {row['id']}: not known to this version of torch"
    meaning = f" – {row['meaning']}" if row["meaning"] else ""
    return f"- {row['id']}: {row['type']}{meaning}"


def _example(example: Example, number: int | None) -> str:
    heading = "## Tested example" if number is None else f"## Tested example {number}"
    note = f"{example.note}\n\n" if example.note else ""
    return (
        f"{heading}\n\n{note}Reported:\n\n```python\n{example.bad.strip()}\n```\n\n"
        f"Not reported:\n\n```python\n{example.good.strip()}\n```"
    )


def _explain_break(id: str, facts: torch_facts.TorchFacts, output_format: str) -> int:
    known = facts.graph_break(id)
    if known is None:
        near = get_close_matches(id, facts.graph_break_ids(), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return fail(f"torch {facts.version} has no graph break {id}{hint}")
    rules = [info for info in catalog().values() if id in info.graph_breaks]
    if output_format == "json":
        row = {
            "id": id,
            "type": known.type,
            "meaning": known.meaning,
            "torch": facts.version,
            "rules": [rule_row(info) for info in rules],
        }
        click.echo(json.dumps(row, indent=2))
        return 0
    click.echo(f"{id}: {known.type} (torch {facts.version})")
    if known.meaning:
        click.echo(f"\n{known.meaning}")
    if not rules:
        click.echo("\nNo rule predicts it.")
        return 0
    click.echo("\nPredicted by:")
    for info in rules:
        click.echo(f"  {info.code}  {info.name}: {info.summary}")
    return 0


def _print_markdown(text: str, no_color: bool) -> None:
    """Render on a terminal; what goes into a pipe stays Markdown."""
    if not sys.stdout.isatty() or no_color or os.environ.get("NO_COLOR"):
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))
