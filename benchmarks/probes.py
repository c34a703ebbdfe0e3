"""How the rules' predictions compare with what Dynamo did on every probe.

    python benchmarks/probes.py [--family NAME] [--list]

A probe is predicted to break in a mode when some finding in it says so; the table counts probes,
by family and mode, and `--list` prints the disagreements. Needs no torch: the verdicts are stored.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.rules.base import Finding, Mode

PROBES = Path(__file__).resolve().parents[1] / "fixtures" / "probes"
HEADER = (
    "import torch, math; import torch.nn.functional as F; import numpy as np; from torch import nn"
)
MODES = {
    "both": {"default", "fullgraph"},
    "default": {"default"},
    "fullgraph": {"fullgraph"},
    "captured": set(),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """A probe, the modes in which Dynamo breaks and those that the findings predict."""

    family: str
    probe: dict[str, Any]
    truth: frozenset[str]
    predicted: frozenset[str]
    findings: tuple[Finding, ...]


def source(probe: dict[str, Any]) -> str:
    """The probe as a module that names its entry and shows its inputs."""
    code = probe["code"]
    target = "M" if "class M(" in code and "def f(" not in code else "f"
    text = probe["inputs"].strip().rstrip(",")
    calls = text if text.startswith("[") else f"[({text},)]" if text else "[()]"
    example = f"def example_inputs():\n    return {calls}\n"
    return f"{HEADER}\n{code}\n\n\n{example}\n\nTARGET = {target!r}\n"


def judge(family: str | None = None) -> Iterator[Judged]:
    """Lint every stored probe that has a verdict."""
    linter = Linter(AnalysisOptions(entry="explicit", target_torch="2.13"))
    for path in sorted(PROBES.glob("*.jsonl")):
        if family and path.stem != family:
            continue
        for line in path.read_text().splitlines():
            probe = json.loads(line)
            if probe.get("verdict") not in MODES:
                continue
            text = source(probe)
            name = f"probe_{path.stem}_{probe['id']}.py"
            file = SourceFile(name, text, "utf-8", False, "\n", name)
            last = 1 + probe["code"].count("\n") + 1
            found = tuple(f for f in linter.lint(file).findings if f.span.line <= last)
            predicted = frozenset(m.value for f in found for m in f.breaks)
            truth = frozenset(MODES[probe["verdict"]])
            yield Judged(path.stem, probe, truth, predicted, found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--family")
    parser.add_argument("--list", action="store_true", help="print every disagreement")
    args = parser.parse_args()
    counts: Counter[tuple[str, str, str]] = Counter()
    for judged in judge(args.family):
        for mode in (m.value for m in Mode):
            hit = (mode in judged.truth, mode in judged.predicted)
            kind = {(True, True): "hit", (True, False): "missed", (False, True): "false"}.get(hit)
            counts[judged.family, mode, kind or "quiet"] += 1
        if args.list and judged.truth != judged.predicted:
            print(describe(judged))
    families = sorted({family for family, _, _ in counts})
    counted = f"{'hit':>6}{'missed':>8}{'false':>7}{'quiet':>7}"
    print(f"{'family':16}{'mode':11}{counted}  recall precision")
    for family in [*families, ""]:
        for mode in (m.value for m in Mode):
            row = {
                kind: sum(
                    n
                    for (f, m, k), n in counts.items()
                    if m == mode and k == kind and family in ("", f)
                )
                for kind in ("hit", "missed", "false", "quiet")
            }
            recall = row["hit"] / max(1, row["hit"] + row["missed"])
            precision = row["hit"] / max(1, row["hit"] + row["false"])
            numbers = f"{row['hit']:6}{row['missed']:8}{row['false']:7}{row['quiet']:7}"
            print(f"{family or 'all':16}{mode:11}{numbers}  {recall:6.1%} {precision:9.1%}")


def describe(judged: Judged) -> str:
    """Return a disagreement in a few words."""
    probe = judged.probe
    code = probe["code"].replace("\n", " ⏎ ")
    found = ", ".join(f"{f.code}@{f.span.line - 1}" for f in judged.findings) or "nothing"
    ids = sorted({i for m in ("default", "fullgraph") for i in probe.get(m, {}).get("ids", ())})
    truth = probe["verdict"]
    predicted = "+".join(sorted(judged.predicted)) or "captured"
    return (
        f"{judged.family}/{probe['id']}: Dynamo {truth} {ids}, we {predicted} ({found})\n"
        f"    {code[:300]}   «{probe['inputs'][:80]}»"
    )


if __name__ == "__main__":
    main()
