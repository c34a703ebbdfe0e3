"""Statements of whole packages, moved to other depths: laid out as `ruff format` has them?

    python -m benchmarks.fix_layout site-packages/transformers --width 119 --count 5000

Statements, and the heads of compound ones, are drawn from the files of a package, put on one line,
and laid out at a depth drawn at random: by `rules.rewrites.formatting`, which new lines of rewrites
are broken by, and by Ruff. Those with comments or strings over several lines are skipped, as
rewrites leave them as they are; so are strings side by side, which Ruff may join.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from compile_lint.linter.layout import statements
from compile_lint.rules.rewrites.formatting import Layout, one_line, statement_lines

DEPTHS = (1, 2, 2, 3, 4, 5, 6, 8)
RUFF = ["--isolated", "--no-cache", "--config", "format.quote-style='preserve'"]


def main() -> int:
    """Run, print how many differ, and the first of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("package", type=Path)
    parser.add_argument("--width", type=int, default=88)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3)
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    layout = Layout(asked.width, "    ")
    drawn: list[tuple[str, int, list[str]]] = []
    skipped = 0
    for source in drawn_statements(asked.package, asked.count, draw):
        depth = draw.choice(DEPTHS)
        made = statement_lines(source, "    " * depth, layout)
        flat = one_line(source)
        if made is None or flat is None:
            skipped += 1
        else:
            drawn.append((flat, depth, made))
    wanted = by_ruff([(flat, depth) for flat, depth, _ in drawn], asked.width)
    bad = [(made, want) for (_, _, made), want in zip(drawn, wanted) if made != want]
    several = sum(len(made) > 1 for _, _, made in drawn)
    print(
        f"{asked.package.name}, {asked.width} columns: {len(drawn)} statements ({several} of "
        f"several lines), {len(bad)} differ, {skipped} skipped"
    )
    for made, want in bad[: asked.show]:
        print("\n".join(["--- ruff", *want, "--- ours", *made]))
    return 1 if bad else 0


def drawn_statements(package: Path, count: int, draw: random.Random) -> Iterator[str]:
    """Yield the sources of statements of a package, without their indentation."""
    files = sorted(package.rglob("*.py"))
    draw.shuffle(files)
    found: list[str] = []
    for file in files:
        text = file.read_text("utf-8")
        found += [
            placed.source
            for placed in statements(text, ast.parse(text))
            if not placed.has_strings_side_by_side
            and len(placed.source) > 40
            and not placed.source.startswith(("elif", '"', "'", "r"))
        ]
        if len(found) > 3 * count:
            break
    yield from draw.sample(found, min(count, len(found)))


def by_ruff(given: list[tuple[str, int]], width: int) -> list[list[str]]:
    """Return the lines of statements at their depths, formatted in one file."""
    parts = []
    for number, (flat, depth) in enumerate(given):
        heads = [f"{'    ' * level}if 1:" for level in range(depth)]
        body = [f"{'    ' * (depth + 1)}pass"] if flat.endswith(":") else []
        parts += [f"MARK{number}", *heads, "    " * depth + flat, *body]
    command = [sys.executable, "-m", "ruff", "format", *RUFF, "--line-length", str(width), "-"]
    text = "\n".join([*parts, ""])
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    found = []
    chunks = re.split(r"^MARK\d+\n", done.stdout, flags=re.MULTILINE)[1:]
    for (flat, depth), chunk in zip(given, chunks):
        lines = chunk.rstrip().split("\n")[depth:]
        found.append(lines[:-1] if flat.endswith(":") else lines)
    return found


if __name__ == "__main__":
    sys.exit(main())
