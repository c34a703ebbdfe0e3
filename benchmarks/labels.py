"""How transformers' own label, `_can_compile_fullgraph`, relates to what compile-lint finds.

    python benchmarks/labels.py --packages DIR --write docs/fullgraph-labels.md

Model classes of transformers say whether generation may compile them with `fullgraph=True`. Each
`modeling_*.py` is linted with `--entry auto`. A class with the label speaks for itself and for the
classes of its file that inherit the label; their regions are what their `forward` methods reach,
also in other files. A finding counts where `fullgraph=True` would fail (its `breaks` holds
"fullgraph"). The label is about generation with a static cache in evaluation; a region is all that
`forward` may run, whatever the arguments.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions, FileResult
from compile_lint.linter.source import load_source
from compile_lint.rules.base import Certainty, Finding, Mode

LABEL = "_can_compile_fullgraph"


@dataclass(frozen=True, slots=True)
class Family:
    """A class with the label, and the classes of its file that it speaks for."""

    file: str
    name: str
    label: bool
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """What was found in the regions of a family.

    certain, likely, codes  of the findings in the model's own file
    shared                  findings in what all models share: attention, caches, utilities
    """

    family: Family
    regions: int
    certain: int
    likely: int
    codes: tuple[str, ...]
    shared: int


def families(file: str, tree: ast.Module) -> Iterator[Family]:
    """Yield the classes of a module that carry the label, with those that inherit it."""
    owner: dict[str, str] = {}
    labels: dict[str, bool] = {}
    for cls in tree.body:
        if not isinstance(cls, ast.ClassDef):
            continue
        label = _label(cls)
        bases = [base.id for base in cls.bases if isinstance(base, ast.Name)]
        above = next((owner[base] for base in bases if base in owner), None)
        if label is not None:
            labels[cls.name] = label
            owner[cls.name] = cls.name
        elif above is not None:
            owner[cls.name] = above
    for name, label in labels.items():
        yield Family(file, name, label, tuple(cls for cls, own in owner.items() if own == name))


def _label(cls: ast.ClassDef) -> bool | None:
    for stmt in cls.body:
        targets = stmt.targets if isinstance(stmt, ast.Assign) else ()
        if any(isinstance(t, ast.Name) and t.id == LABEL for t in targets):
            value = stmt.value  # type: ignore[attr-defined]
            return bool(value.value) if isinstance(value, ast.Constant) else None
    return None


def judged(family: Family, result: FileResult) -> Row:
    """Count the findings in all that the family's `forward` methods reach."""
    names = {f"{member}.forward" for member in family.members}
    regions = [r for r in result.regions if r.name in names and r.path == result.path]
    reached = {place[:2] for region in regions for place in region.functions}
    found = [f for f in result.findings if Mode.FULLGRAPH in f.breaks and _holder(f) in reached]
    own = [f for f in found if f.path == result.path]
    sure = sum(f.certainty is Certainty.CERTAIN for f in own)
    codes = tuple(sorted({f.code for f in own}))
    return Row(family, len(regions), sure, len(own) - sure, codes, len(found) - len(own))


def _holder(finding: Finding) -> tuple[str, int]:
    """Return the path and first line of the innermost function around a finding."""
    line = finding.span.line
    around = [span for span in _functions(finding.path) if span[0] <= line <= span[1]]
    return finding.path, max(around, default=(0, 0))[0]


@cache
def _functions(path: str) -> tuple[tuple[int, int], ...]:
    nodes = ast.walk(ast.parse(Path(path).read_bytes()))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return tuple((n.lineno, n.end_lineno or n.lineno) for n in nodes if isinstance(n, kinds))


def report(rows: list[Row], version: str) -> list[str]:
    """The page as lines of Markdown."""
    counts = Counter((row.family.label, _outcome(row)) for row in rows)
    lines = [
        "# transformers' `_can_compile_fullgraph`",
        "",
        f"Made by `benchmarks/labels.py` (its docstring says what counts), transformers {version}.",
        "A class whose label is True and that has findings is not a contradiction by itself: a",
        "region holds everything that `forward` may run, the label is about generation. Findings",
        "are those in the model's own file; most of the shared ones log or warn on paths that a",
        "compiled run doesn't take. Tests, loops and reads (CL1, CL2, CL4) depend on tensor data.",
        "",
        "| label | classes | no finding | others only | tests, loops and reads |",
        "|---|---|---|---|---|",
    ]
    for label in (True, False):
        cells = [counts[label, outcome] for outcome in ("none", "others", "data")]
        lines.append(f"| {label} | {sum(cells)} | " + " | ".join(map(str, cells)) + " |")
    lines += ["", "| class | model | label | regions | certain | likely | rules | shared |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: (row.family.label, row.family.name)):
        cells = (row.family.name, Path(row.family.file).parent.name, row.family.label)
        found = (row.regions, row.certain, row.likely, " ".join(row.codes), row.shared)
        lines.append("| " + " | ".join(map(str, (*cells, *found))) + " |")
    return lines


def _outcome(row: Row) -> str:
    if any(code.startswith(("CL1", "CL2", "CL4")) for code in row.codes):
        return "data"
    return "others" if row.codes else "none"


def main() -> None:
    cli = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    cli.add_argument("--packages", type=Path, required=True, help="folder that holds transformers")
    cli.add_argument("--write", type=Path, help="write the page to this file")
    args = cli.parse_args()

    root = args.packages.resolve()
    linter = Linter(AnalysisOptions(target_torch="2.13"))
    rows = []
    for path in sorted((root / "transformers").rglob("modeling_*.py")):
        source = load_source(str(path), path.read_bytes())[0]
        if LABEL not in source.text:
            continue
        mine = list(families(path.relative_to(root).as_posix(), ast.parse(source.text)))
        if mine:
            result = linter.lint(source)
            rows += [judged(family, result) for family in mine]
    found = [d.version for d in distributions(path=[str(root)]) if d.name == "transformers"]
    text = "\n".join(report(rows, found[0] if found else "of unknown version")) + "\n"
    if args.write:
        args.write.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
