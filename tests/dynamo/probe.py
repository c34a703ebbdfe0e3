"""Measure the probes again: tiny snippets that map what Dynamo captures and what it doesn't.

    python -m tests.dynamo.probe [FAMILY …] [--check] [--digest FILE]

``fixtures/probes/<family>.jsonl`` holds one probe a line: ``id``, ``code`` (defines ``f``, or a
class ``M``), ``inputs`` (an expression for the argument tuple, or a list of them for calls in turn)
and the measured ``torch`` version, ``verdict``, ``default`` and ``fullgraph``. Lines count from the
first line of ``code``; the snippet that runs has HEADER as one line above it.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .measure import Measured, Outcome, Snippet, measure

PROBES = Path(__file__).resolve().parents[2] / "fixtures" / "probes"
HEADER = (
    "import torch, math; import torch.nn.functional as F; import numpy as np; from torch import nn"
)
GROUPS = {
    "both": "breaks in both modes",
    "default": "breaks in default mode only (captured under fullgraph=True)",
    "fullgraph": "breaks under fullgraph=True only",
    "captured": "captured in both modes",
    "crash": "no verdict",
}


def snippet(family: str, probe: dict[str, Any]) -> Snippet:
    """The runnable form of a stored probe. A list of inputs is run in turn, for recompilations."""
    return Snippet(
        source=f"{HEADER}\n{probe['code']}\n",
        target="M" if "class M(" in probe["code"] and "def f(" not in probe["code"] else "f",
        inputs=probe["inputs"],
        name=f"{family}/{probe['id']}",
        fresh=not probe["inputs"].startswith("["),
        aot=bool(probe.get("aot")),
    )


def steady(text: str) -> str:
    """Without addresses, object ids and file names that differ from run to run."""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x0", text)
    return re.sub(r"\b\d{12,}\b", "0", re.sub(r"snippet_\d+_\d+", "snippet", text))


def facts(out: Outcome) -> dict[str, Any]:
    """What is stored of one mode, leaving out what is empty."""
    stored = {
        "lines": [n - 1 for n in out.lines],
        "ids": out.gb_ids,
        "types": [
            steady(f"{b.type} ({b.context})" if b.context else b.type)[:140] for b in out.breaks
        ],
        "how": sorted({b.how for b in out.breaks}),
        "graphs": out.graphs,
        "ops": out.ops,
        "recompiles": [steady(reason) for reason in out.recompiles],
        "skips": [steady(reason) for reason in out.skips],
        "error": steady(out.error) if out.error else None,
        "differs": not out.matches,
    }
    return {k: v for k, v in stored.items() if v or k == "graphs"}


def measured_probe(probe: dict[str, Any], found: Measured) -> dict[str, Any]:
    new = {k: probe[k] for k in ("id", "code", "inputs", "aot") if k in probe}
    new["verdict"] = found.verdict
    if found.crash:
        new["crash"] = found.crash
        return new
    if found.eager_error:
        new["eager_error"] = steady(found.eager_error)
    if found.aot:
        new["aot"] = steady(found.aot)
    for mode, out in found.modes.items():
        new[mode] = facts(out)
    return new


def load(family: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in family.read_text(encoding="utf-8").splitlines() if text]


def remeasure(family: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Pairs of the stored probe and the same probe measured now."""
    probes = load(family)
    found = measure(snippet(family.stem, probe) for probe in probes)
    for probe, verdict in zip(probes, found):
        yield probe, measured_probe(probe, verdict)


def line_of(family: str, probe: dict[str, Any]) -> str:
    """One line of the digest."""
    code = probe["code"].strip().replace("\n", " ⏎ ")
    inputs = "" if probe["inputs"] == "torch.randn(3, 4)" else f"  «{probe['inputs']}»"
    notes = []
    for mode in ("default", "fullgraph"):
        out = probe.get(mode, {})
        ids, lines = ",".join(out.get("ids", [])), ",".join(map(str, out.get("lines", [])))
        if ids or lines or out.get("error"):
            why = "" if ids else " " + (out.get("error") or "; ".join(out.get("types", [])))[:90]
            notes.append(f"{mode[0]}:{ids}@{lines}{why}")
        if out.get("differs") and not probe.get("eager_error"):
            notes.append(f"{mode[0]}:DIFFERS-FROM-EAGER")
    default = probe.get("default", {})
    if default.get("recompiles"):
        again = default["recompiles"]
        notes.append(f"{default['graphs']} graphs, {len(again)} recompiles ({again[-1]})")
    elif probe["inputs"].startswith("["):
        notes.append(f"{default.get('graphs')} graphs, no recompile")
    if probe.get("crash") or probe.get("eager_error"):
        notes.append(
            f"{'crash' if probe.get('crash') else 'eager'}: "
            f"{probe.get('crash') or probe.get('eager_error')}"[:90]
        )
    if isinstance(probe.get("aot"), str) and probe["aot"] != "ok":
        notes.append(f"aot_eager: {probe['aot']}"[:120])
    row = f"- `{family}/{probe['id']}` {code}{inputs}"
    return f"{row}  → {' · '.join(notes)}" if notes else row


def digest(families: list[Path]) -> str:
    """The table for people: probes grouped by verdict, then by family."""
    rows: dict[str, list[str]] = {}
    for family in families:
        for probe in load(family):
            in_turn = probe["inputs"].startswith("[") and probe.get("verdict") == "captured"
            group = "recompiles" if in_turn else probe.get("verdict", "crash")
            rows.setdefault(group, []).append(line_of(family.stem, probe))
    out = [
        f"# {sum(map(len, rows.values()))} probes of Dynamo",
        "\nEach row: probe, code, «inputs», → mode:ids@lines (lines of the code shown).",
    ]
    for group, title in {**GROUPS, "recompiles": "captured, calls in turn: recompilations"}.items():
        out.append(f"\n## {title} ({len(rows.get(group, []))})\n")
        out += rows.get(group, [])
    return "\n".join(out) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", help="default: all")
    parser.add_argument("--check", action="store_true", help="report differences, write nothing")
    parser.add_argument("--digest", type=Path, help="also write the table for people there")
    args = parser.parse_args()
    chosen = [PROBES / f"{name}.jsonl" for name in args.families] or sorted(PROBES.glob("*.jsonl"))
    changed = 0
    for family in chosen:
        rows = []
        for old, new in remeasure(family):
            rows.append(json.dumps(new, ensure_ascii=False))
            if old.get("verdict") != new["verdict"]:
                changed += 1
                was = old.get("verdict")
                print(f"{family.stem}/{new['id']}: {was} → {new['verdict']}", flush=True)
        if not args.check:
            family.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"{changed} verdicts changed")
    if args.digest:
        args.digest.write_text(digest(sorted(PROBES.glob("*.jsonl"))), encoding="utf-8")
    return int(args.check and changed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
