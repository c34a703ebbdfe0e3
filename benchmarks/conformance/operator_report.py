"""The page about operators, from stored results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .trial import AOT, DYNAMO, EAGER, EQUAL, ERROR, MISMATCH, UNDEFINED

KINDS = (
    "pointwise, unary",
    "pointwise, binary",
    "reduction",
    "shape",
    "spectral",
    "other",
    "higher-order",
)
HEAD = """# Operators

Every entry of torch's own operator database (`op_db` and `hop_db` of `torch.testing`), called with
the database's samples in float32, int64 and bool (complex64 where it takes none of these), as one
graph through this compiler's backend with `fullgraph=True`. Outputs, strides of dense outputs,
inputs changed in place and, in floating point, gradients are compared with eager's, within
`torch.testing`'s tolerances; or else, where a float32 result is outside them, with the same call in
float64: each tensor must then be within the tolerance of that, or at most twice as far from it as
eager is ("told by float64"). Random operators run from the same seed. Dynamo runs with
`capture_scalar_outputs` and `capture_dynamic_output_shape_ops`.

Written by `python -m benchmarks.operators --docs docs/operators.md …`; don't edit.
"""


def read(path: Path | None) -> dict[str, dict[str, Any]]:
    """Rows by operator; the last one counts."""
    if path is None or not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
    return {row["name"]: row for row in rows}


def counts(row: dict[str, Any] | None) -> Counter[str]:
    """Samples by outcome."""
    total: Counter[str] = Counter()
    for part in (row or {}).get("outcomes", {}).values():
        total.update(part)
    return total


def page(results: Path, lowered: Path | None, cuda: Path | None) -> str:
    """The whole page; tables of kernels and of a GPU only where there are such results."""
    by_aten, kernels, gpu = read(results), read(lowered), read(cuda)
    parts = [HEAD, _totals(by_aten, kernels, gpu)]
    if kernels:
        parts.append(_lowered(kernels))
    parts.append(_refused(by_aten))
    parts.extend(_table(kind, by_aten, kernels, gpu) for kind in KINDS)
    return "\n".join(parts)


def _totals(*tables: dict[str, dict[str, Any]]) -> str:
    names = ("CPU, by ATen", "CPU, kernels interpreted", "CUDA, kernels")
    columns = [EQUAL, DYNAMO, AOT, MISMATCH, ERROR, UNDEFINED, EAGER]
    lines = [
        "\n## In all\n",
        f"| run | operators | samples | with gradients | {' | '.join(columns)} | told by float64 |",
        "|---|" + "---:|" * (len(columns) + 4),
    ]
    for name, rows in zip(names, tables):
        if not rows:
            continue
        total: Counter[str] = Counter()
        for row in rows.values():
            total.update(counts(row))
        graded = sum(row.get("graded", 0) for row in rows.values())
        shown = " | ".join(f"{total[column]:,}" for column in columns)
        rounded = sum(row.get("rounded", 0) for row in rows.values())
        told = f"{len(rows)} | {total.total():,} | {graded:,} | {shown} | {rounded:,}"
        lines.append(f"| {name} | {told} |")
    died = [
        f"`{name}` ({row['failed']})"
        for rows in tables
        for name, row in rows.items()
        if row.get("failed")
    ]
    told = (
        f"\n“{DYNAMO}” and “{AOT}”: torch's own backends `eager` and `aot_eager` fail on that "
        f"sample too, before any code of this compiler has run. “{EAGER}”: there is nothing to "
        "compare with.\n"
    )
    told += "".join(f"\n“{UNDEFINED}”, `{name}`: {why}.\n" for name, why in _undefined(tables))
    return "\n".join([*lines, told, *([f"Died or hung: {', '.join(died)}.\n"] if died else [])])


def _undefined(tables: Sequence[dict[str, dict[str, Any]]]) -> list[tuple[str, str]]:
    """Operators with samples whose result eager doesn't define, with the reason."""
    return sorted(
        {
            (name, reason["reason"])
            for rows in tables
            for name, row in rows.items()
            for reason in row.get("reasons", ())
            if reason["outcome"] == UNDEFINED
        }
    )


def state(row: dict[str, Any] | None) -> str:
    """ "lowered", "partly" or "fallback", from the samples that were compiled into kernels."""
    if not row or row.get("failed") or not row["equal"]:
        return "—"
    if row["lowered_forward"] == row["equal"]:
        return "lowered"
    return "partly" if row["lowered_forward"] or row["kernels"] else "fallback"


def _lowered(kernels: dict[str, dict[str, Any]]) -> str:
    lines = [
        "\n## Lowered to kernels\n",
        "Lowered: no sample's forward graph calls ATen for a computation. Partly: some samples, or "
        "some of the operator's steps, do. Fallback: all of it runs by ATen.\n",
        "| class | operators captured | lowered | partly | fallback | lowered, share |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for kind in KINDS:
        states = Counter(state(row) for row in kernels.values() if row.get("kind") == kind)
        all_ = states["lowered"] + states["partly"] + states["fallback"]
        share = f"{states['lowered'] / all_:.0%}" if all_ else "—"
        middle = f"{states['lowered']} | {states['partly']} | {states['fallback']}"
        lines.append(f"| {kind} | {all_} | {middle} | {share} |")
    main = [
        state(row)
        for row in kernels.values()
        if row.get("kind", "").startswith("pointwise") or row.get("kind") == "reduction"
    ]
    judged = [s for s in main if s != "—"]
    if judged:
        share = judged.count("lowered") / len(judged)
        lines.append(f"\nPointwise and reduction operators together: **{share:.1%}** lowered.\n")
    return "\n".join(lines)


def _refused(rows: dict[str, dict[str, Any]]) -> str:
    """Each operator that torch itself doesn't capture, with its reason."""
    lines = [
        "\n## What torch itself doesn't capture\n",
        "| operator | samples | whose | id | reason |",
        "|---|---:|---|---|---|",
    ]
    for name, row in sorted(rows.items()):
        merged: Counter[tuple[str, str, str]] = Counter()
        for reason in row.get("reasons", ()):
            if reason["outcome"] in (DYNAMO, AOT):
                key = (reason["outcome"], reason["id"], _plain(reason["reason"]))
                merged[key] += reason["samples"]
        for (outcome, id_, text), samples in merged.items():
            whose = "Dynamo" if outcome == DYNAMO else "AOTAutograd"
            lines.append(f"| `{name}` | {samples} | {whose} | {id_} | {text} |")
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """A reason fit for a table's cell, with no value of one sample in it."""
    text = text.split(" FakeTensor(")[0]
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())[:180]


def _table(kind: str, *tables: dict[str, dict[str, Any]]) -> str:
    by_aten, kernels, gpu = tables
    heads = ["operator", "equal to eager, by ATen"]
    heads += ["state", "equal, interpreted", "ATen calls that remain"] if kernels else []
    heads += ["equal, CUDA"] if gpu else []
    lines = [f"\n## {kind.capitalize()}\n", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, row in sorted(by_aten.items()):
        if row.get("kind") != kind:
            continue
        cells = [f"`{name.removeprefix('hop: ')}`", _share(row)]
        if kernels:
            made = kernels.get(name)
            cells += [state(made), _share(made), _remaining(made)]
        if gpu:
            cells.append(_share(gpu.get(name)))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _share(row: dict[str, Any] | None) -> str:
    """Equal samples of those that eager runs."""
    if row is None:
        return "—"
    if row.get("failed"):
        return row["failed"]
    total = counts(row)
    runs = total.total() - total[EAGER] - total[UNDEFINED]
    if not runs:
        return "no sample"
    if total[EQUAL] == runs:
        return f"{runs} of {runs}"
    failing = [outcome for outcome in (DYNAMO, AOT, MISMATCH, ERROR) if total[outcome]]
    rest = ", ".join(f"{total[outcome]} {outcome}" for outcome in failing)
    return f"{total[EQUAL]} of {runs} ({rest})"


def _remaining(row: dict[str, Any] | None) -> str:
    """The operators that ATen still runs: in forward, and after a slash in backward."""
    if not row or row.get("failed"):
        return ""
    sides = []
    for side in ("forward", "backward"):
        names = [name.removeprefix("aten.") for name in list(row[side])[:4]]
        sides.append(", ".join(f"`{name}`" for name in names))
    return " / ".join(sides) if sides[1] else sides[0]
