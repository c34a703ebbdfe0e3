"""Every rewrite that the rules offer, applied to whole packages: the text must stay sound.

    python -m benchmarks.fix_corpus site-packages/timm site-packages/transformers --sample 400

Nothing is proved here, and code of a package is never run. Copies are fixed as a user would, with
`--fix --no-prove` (what is safe by construction) and then with `--unsafe-fixes` (all there is). A
third of the files is given "\\r\\n" line ends, and every other of these a byte-order mark. Then:

- the linter ended as it should, and what it wrote parses;
- line ends, byte-order mark and encoding are what they were;
- `ruff format --check` passes for each file that passed before, at its own line length;
- a second run over these files finds nothing more to rewrite, and none took all rounds there are.

Rewrites are withdrawn where they would leave more findings than there were.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from compile_lint.linter.fix.rewrite import ROUNDS

BOM = b"\xef\xbb\xbf"
WIDTHS = (88, 100, 119, 120)
STYLE = ["--isolated", "--no-cache", "--config", "format.quote-style='preserve'"]
MODES = {"safe": ["--no-prove"], "all": ["--no-prove", "--unsafe-fixes"]}


def main() -> int:
    """Run, print numbers and what failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("packages", type=Path, nargs="+")
    parser.add_argument("--sample", type=int, default=0, help="files of each package, 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--entry", default="all")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--keep", type=Path, help="leave the fixed copies in this new folder")
    asked = parser.parse_args()
    bad = 0
    for package in asked.packages:
        for mode in asked.modes:
            with tempfile.TemporaryDirectory(prefix="fix-corpus-") as place:
                copy = Path(place) / package.name
                shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
                names = sorted(copy.rglob("*.py"))
                if asked.sample and asked.sample < len(names):
                    names = sorted(random.Random(asked.seed).sample(names, asked.sample))
                run = _Run(copy, names, [*MODES[mode], "--entry", asked.entry])
                problems = run.problems()
                if asked.keep:
                    shutil.copytree(copy, asked.keep / f"{package.name}-{mode}")
            bad += len(problems)
            print(f"{package.name}, {mode}: {run.report()}", flush=True)
            for problem in problems:
                print(f"    {problem}", flush=True)
    return 1 if bad else 0


class _Run:
    """One package in one mode."""

    def __init__(self, package: Path, files: list[Path], options: list[str]) -> None:
        self.package, self.files, self.options = package, files, options
        self.numbers: Counter[str] = Counter()
        self.summary = ""

    def problems(self) -> list[str]:
        """Fix the files, check them, and return what is wrong, a line each."""
        for number, file in enumerate(self.files):
            if number % 3 == 0:
                _carriage(file, bom=number % 2 == 0)
        before = {file: file.read_bytes() for file in self.files}
        began = time.perf_counter()
        code, said = self._fixed(self.files, "--fix", "--fix-only", "--show-fixes")
        self.numbers["seconds"] = round(time.perf_counter() - began)
        found = [f"exit status {code}: {said[-300:]}"] if code else []
        self.summary = next((x for x in reversed(said.splitlines()) if x.startswith("Fixed ")), "")
        withdrawn = [line for line in said.splitlines() if "a rewrite was withdrawn" in line]
        self.numbers["withdrawn"] = len(withdrawn)
        found += [line.replace(str(self.package), "") for line in withdrawn if "isn't" in line]
        found += [
            f"round {number}: {line.replace(str(self.package), '')}"
            for line in said.splitlines()
            for number in re.findall(r" \(round (\d+)\): ", line)
            if int(number) >= ROUNDS
        ]
        changed = [file for file in self.files if file.read_bytes() != before[file]]
        self.numbers["files"], self.numbers["changed"] = len(self.files), len(changed)
        for file in changed:
            found += self._unsound(file, before[file])
            width = next((w for w in WIDTHS if _is_formatted(before[file], w)), 0)
            self.numbers["formatted"] += bool(width)
            if width and not _is_formatted(file.read_bytes(), width):
                found.append(f"{self._name(file)}: not formatted for {width} columns")
        if changed:
            _, said = self._fixed(changed, "--diff")
            again = re.findall(r"^--- a/(.*)$", said, re.MULTILINE)
            found += [f"{self._name(Path('/' + x))}: a second run changes more" for x in again]
        return found

    def report(self) -> str:
        n = self.numbers
        return (
            f"{n['files']} files, {n['changed']} changed ({n['formatted']} of them formatted "
            f"before); {self.summary}; {n['withdrawn']} withdrawn; {n['seconds']} s"
        )

    def _fixed(self, files: Iterable[Path], *how: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "compile_lint.linter", *how, *self.options]
        command += ["--isolated", "--no-respect-gitignore", "--jobs", "1", *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def _unsound(self, file: Path, before: bytes) -> list[str]:
        after, name = file.read_bytes(), self._name(file)
        found = []
        try:
            ast.parse(after)
        except (SyntaxError, ValueError) as error:
            found.append(f"{name}: doesn't parse: {error}")
        if after.startswith(BOM) != before.startswith(BOM):
            found.append(f"{name}: the byte-order mark changed")
        if _ends(after) != _ends(before):
            found.append(f"{name}: line ends changed: {_ends(before)} to {_ends(after)}")
        return found

    def _name(self, file: Path) -> str:
        return str(file.relative_to(self.package.parent))


def _carriage(file: Path, bom: bool) -> None:
    data = file.read_bytes()
    if b"\r" not in data and not data.startswith(BOM):
        file.write_bytes((BOM if bom else b"") + data.replace(b"\n", b"\r\n"))


def _ends(data: bytes) -> frozenset[bytes]:
    return frozenset(re.findall(rb"\r\n|\r|\n", data))


def _is_formatted(data: bytes, width: int) -> bool:
    data = data.removeprefix(BOM)
    command = [sys.executable, "-m", "ruff", "format", *STYLE, "--line-length", str(width), "-"]
    return subprocess.run(command, input=data, capture_output=True, check=False).stdout == data


if __name__ == "__main__":
    sys.exit(main())
