"""How fast compile-lint is beside TorchFix, Fixit and ruff, on the same tree, in one run.

    python benchmarks/lint_speed.py --sources DIR --install    # once: timm and transformers sources
    python benchmarks/lint_speed.py --sources DIR --python .venv/bin/python

Three figures are wanted: cold on timm at least 50 times faster than TorchFix; one file of about
1,000 lines in less than twice `python -c "import libcst, rich"`; and transformers with a filled
cache and nothing changed in under a second.

Every peer runs in a virtual environment of its own under `--venvs`, made on first use. TorchFix
takes minutes on timm; `--only` picks sections. Times are wall seconds and CPU seconds (user and
system, of all processes), medians of `--runs` runs (one run for TorchFix and Fixit), output thrown
away. Beside other work wall seconds say little: then read the CPU seconds. TorchFix and
compile-lint both spread over two processes on two cores.

Every tool keeps its bytecode, as an installed package does: PYTHONDONTWRITEBYTECODE is taken out of
the environment, and a run that isn't counted comes first.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

SOURCES = ["timm==1.0.31", "transformers==5.24.0"]
PEERS = {"torchfix": "torchfix==0.7.0", "fixit": "fixit==2.2.1", "ruff": "ruff"}
SECTIONS = ["cold", "ruff", "torchfix", "fixit", "file", "warm"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the result: what ran, its seconds, and what the seconds mean."""

    what: str
    seconds: float
    cpu: float
    runs: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where things are; `python` is the interpreter that has compile-lint installed."""

    sources: Path
    venvs: Path
    python: str
    runs: int
    rows: list[Row]

    def add(self, what: str, command: list[str], runs: int, note: str = "") -> Row:
        times = [_seconds(command) for _ in range(runs)]
        row = Row(what, median(w for w, _ in times), median(c for _, c in times), runs, note)
        self.rows.append(row)
        print(f"{what:<44} {row.seconds:9.2f} s {row.cpu:9.2f} s CPU  {note}", flush=True)
        return row

    def linter(self, *arguments: object) -> list[str]:
        quiet = ["--output-format", "concise", "--exit-zero"]
        return [self.python, "-m", "compile_lint.linter", *quiet, *map(str, arguments)]

    def peer(self, name: str) -> str:
        """The peer's executable; its environment is made when it is missing."""
        home = self.venvs / name
        if not (home / "bin" / name).exists():
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            pip = [str(home / "bin" / "pip"), "install", "--quiet", PEERS[name]]
            subprocess.run(pip, check=True)
        return str(home / "bin" / name)


def _seconds(command: list[str]) -> tuple[float, float]:
    """Run a command; return its wall and its CPU seconds."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, began = _cpu(), time.perf_counter()
    # Outside any checkout, so that no tool picks up a configuration file from the way up.
    with tempfile.TemporaryDirectory() as cwd:
        done = subprocess.run(
            command, cwd=cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
    seconds = time.perf_counter() - began
    if done.returncode not in (0, 1):  # linters exit 1 when they find something
        tail = done.stderr.decode(errors="replace")[-2000:]
        raise SystemExit(f"exit status {done.returncode}: {' '.join(command)}\n{tail}")
    return seconds, _cpu() - before


def _cpu() -> float:
    """Return the CPU seconds of all processes that were waited for so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- sections -----------------------------------------------------------------------------------


def cold(bench: Bench) -> None:
    timm = bench.sources / "timm"
    _seconds(bench.linter("--no-cache", _nearest(timm, 1000)))
    bench.add("compile-lint, timm, no cache", bench.linter("--no-cache", timm), bench.runs)


def ruff(bench: Bench) -> None:
    options = ["check", "--isolated", "--select", "ALL", "--no-cache", "--exit-zero", "--quiet"]
    command = [bench.peer("ruff"), *options, str(bench.sources / "timm")]
    bench.add("ruff --select ALL, timm, no cache", command, bench.runs)


def torchfix(bench: Bench) -> None:
    _seconds([bench.peer("torchfix"), str(_nearest(bench.sources / "timm", 10))])
    bench.add("TorchFix, timm", [bench.peer("torchfix"), str(bench.sources / "timm")], 1)


def fixit(bench: Bench) -> None:
    bench.add("Fixit, timm", [bench.peer("fixit"), "lint", str(bench.sources / "timm")], 1)


def file(bench: Bench) -> None:
    """In place, where imports lead to the rest of timm, and alone, where they lead nowhere."""
    imports = [bench.python, "-c", "import libcst, rich"]
    # Start-up times scatter by tens of milliseconds; a few more runs settle the median.
    runs = 3 * bench.runs
    floor = bench.add("import libcst, rich", imports, runs)
    path = _nearest(bench.sources / "timm", 1000)
    name = path.relative_to(bench.sources)

    def ratio(what: str, target: Path) -> None:
        row = bench.add(what, bench.linter("--no-cache", target), runs)
        times, cpu = row.seconds / floor.seconds, row.cpu / floor.cpu
        note = f"{times:.2f} x import libcst, rich; CPU {cpu:.2f} x"
        bench.rows[-1] = replace(row, note=note)

    ratio(f"compile-lint, {name} in place", path)
    with tempfile.TemporaryDirectory() as alone:
        copy = Path(alone, path.name)
        copy.write_bytes(path.read_bytes())
        ratio("compile-lint, the same file alone", copy)


def warm(bench: Bench) -> None:
    with tempfile.TemporaryDirectory() as cache:
        command = bench.linter("--cache-dir", cache, bench.sources / "transformers")
        bench.add("compile-lint, transformers, empty cache", command, 1)
        bench.add("compile-lint, transformers, nothing changed", command, bench.runs)


def _nearest(tree: Path, lines: int) -> Path:
    """The module of the tree whose length is nearest to `lines`."""

    def distance(path: Path) -> tuple[int, str]:
        return abs(path.read_bytes().count(b"\n") - lines), str(path)

    return min(tree.rglob("*.py"), key=distance)


# --- report -------------------------------------------------------------------------------------


def report(rows: list[Row]) -> list[str]:
    """Ratios and the wanted figures, for the sections that ran."""
    named = {row.what: row for row in rows}
    ours = named.get("compile-lint, timm, no cache")
    lines = ["", "| what | seconds | CPU | runs | against compile-lint |", "|---|---|---|---|---|"]
    for row in rows:
        note = row.note
        if ours and row.what.endswith(("timm", "timm, no cache")):
            note = f"{row.seconds / ours.seconds:.2f} x, CPU {row.cpu / ours.cpu:.2f} x"
        lines.append(f"| {row.what} | {row.seconds:.2f} | {row.cpu:.2f} | {row.runs} | {note} |")

    lines += ["", "| wanted | measured | met |", "|---|---|---|"]

    def wanted(text: str, value: float, unit: str, met: bool) -> None:
        lines.append(f"| {text} | {value:.2f}{unit} | {'yes' if met else 'no'} |")

    slow = named.get("TorchFix, timm")
    if ours and slow:
        for unit, value in (
            (" x", slow.seconds / ours.seconds),
            (" x CPU", slow.cpu / ours.cpu),
        ):
            wanted("cold at least 50 x faster than TorchFix", value, unit, value >= 50)
    floor = named.get("import libcst, rich")
    for row in rows:
        if floor and row.what.startswith("compile-lint") and row.note:
            value = row.seconds / floor.seconds
            wanted(f"{row.what} under 2 x the imports", value, " x", value < 2)
    unchanged = named.get("compile-lint, transformers, nothing changed")
    if unchanged is not None:
        value = unchanged.seconds
        wanted("nothing changed on transformers under 1 s", value, " s", value < 1)
    return lines


def main() -> None:
    cli = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    cli.add_argument("--sources", type=Path, required=True, help="folder with timm, transformers")
    cli.add_argument("--install", action="store_true", help="fill --sources with pip, then stop")
    cli.add_argument("--venvs", type=Path, default=Path("~/.cache/compile-lint-peers"))
    cli.add_argument("--python", default=sys.executable, help="interpreter that has compile-lint")
    cli.add_argument("--runs", type=int, default=3)
    cli.add_argument("--only", action="append", choices=SECTIONS, help="run these sections only")
    args = cli.parse_args()

    sources = args.sources.resolve()
    if args.install:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
        subprocess.run([*pip, "--target", str(sources), *SOURCES], check=True)
        return
    # Each command runs in an empty folder, so a relative interpreter has to be made absolute;
    # not resolved: a virtual environment's python is a link that must stay one.
    python = os.path.abspath(args.python) if os.sep in args.python else args.python
    bench = Bench(sources, args.venvs.expanduser().resolve(), python, args.runs, [])
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}")
    sections: dict[str, Callable[[Bench], None]] = {
        "cold": cold, "ruff": ruff, "torchfix": torchfix, "fixit": fixit, "file": file,
        "warm": warm,
    }  # fmt: skip
    for name in SECTIONS:
        if not args.only or name in args.only:
            sections[name](bench)
    print("\n".join(report(bench.rows)))


if __name__ == "__main__":
    main()
