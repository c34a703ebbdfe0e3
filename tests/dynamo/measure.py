"""Ask TorchDynamo where a piece of source breaks, in both of torch.compile's modes.

    python -m tests.dynamo.measure FILE [--target NAME] [--inputs EXPR]

``measure`` feeds snippets to a worker process that imports torch once (this module itself never
imports torch), so many small snippets run at a rate of more than ten a second.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODES = ("default", "fullgraph")


@dataclass(frozen=True)
class Snippet:
    """Source text and how to call it.

    ``target`` names a function, or a class that is instantiated without arguments (None: the
    module's ``TARGET``, else ``f``). ``inputs`` is an expression, evaluated in the snippet's
    module, for a list of argument tuples (None: call ``example_inputs()``). ``fresh``: judge every
    call on a new target, so that calls don't blur each other; False only runs the calls in turn,
    which is what recompilation needs. ``aot`` also tries backend="aot_eager".
    """

    source: str
    target: str | None = None
    inputs: str | None = None
    name: str = "snippet"
    limit: float = 120.0
    fresh: bool = True
    aot: bool = False


@dataclass(frozen=True)
class Break:
    """One graph break: the line of the snippet that Dynamo blames, and why.

    ``ids`` lists registry ids from the first cause to what that led to; ``how`` says what Dynamo
    did: ``resume``, ``skip-rest``, ``skip-frame`` (the frame runs in eager), ``error`` (raised).
    """

    line: int | None
    ids: tuple[str, ...]
    type: str
    exc: str
    context: str
    how: str


@dataclass(frozen=True)
class Outcome:
    """One mode's verdict; ``graphs``, ``recompiles`` count over all calls in turn."""

    captured: bool
    breaks: tuple[Break, ...]
    graphs: int
    ops: int
    recompiles: tuple[str, ...]
    skips: tuple[str, ...]
    error: str | None
    matches: bool

    @property
    def lines(self) -> list[int]:
        return sorted({b.line for b in self.breaks if b.line is not None})

    @property
    def gb_ids(self) -> list[str]:
        return sorted({i for b in self.breaks for i in b.ids})

    @property
    def gb_types(self) -> list[str]:
        return list(dict.fromkeys(b.type for b in self.breaks))


@dataclass(frozen=True)
class Measured:
    """``crash`` tells why there is no verdict (doesn't load, timeout, died); then modes is empty.

    ``eager_error``: the first error that the calls raise without compilation.
    """

    snippet: Snippet
    modes: dict[str, Outcome] = field(default_factory=dict)
    eager_error: str | None = None
    aot: str | None = None
    crash: str | None = None

    @property
    def verdict(self) -> str:
        """``captured``, ``crash``, or which modes break: ``both``, ``default``, ``fullgraph``."""
        if self.crash:
            return "crash"
        bad = [m for m in MODES if not self.modes[m].captured]
        return "both" if len(bad) == 2 else bad[0] if bad else "captured"


def _outcome(raw: dict[str, Any]) -> Outcome:
    breaks = tuple(dict.fromkeys(Break(**{**b, "ids": tuple(b["ids"])}) for b in raw["breaks"]))
    return Outcome(
        captured=not breaks and raw["error"] is None,
        breaks=breaks,
        graphs=raw["graphs"],
        ops=raw["ops"],
        recompiles=tuple(raw["recompiles"]),
        skips=tuple(dict.fromkeys(raw["skips"])),
        error=raw["error"],
        matches=raw["matches"],
    )


def measure(snippets: Iterable[Snippet]) -> Iterator[Measured]:
    """Yield a verdict for each snippet, in order. Raises RuntimeError if the worker can't start."""
    worker = subprocess.Popen(
        [sys.executable, "-m", "tests.dynamo.worker"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        for snippet in snippets:
            request = {
                "source": snippet.source,
                "target": snippet.target,
                "inputs": snippet.inputs,
                "limit": snippet.limit,
                "fresh": snippet.fresh,
                "aot": snippet.aot,
            }
            worker.stdin.write(json.dumps(request) + "\n")
            worker.stdin.flush()
            reply = worker.stdout.readline()
            if not reply:
                raise RuntimeError(f"the worker ended (exit {worker.wait()}) at {snippet.name}")
            raw = json.loads(reply)
            if "crash" in raw:
                yield Measured(snippet, crash=raw["crash"])
                continue
            modes = {mode: _outcome(raw["modes"][mode]) for mode in MODES}
            yield Measured(snippet, modes, raw["eager"], raw["aot"])
    finally:
        worker.stdin.close()
        worker.stdout.close()
        worker.wait()


def report(measured: Measured) -> str:
    """A few lines for a person."""
    if measured.crash:
        return f"{measured.snippet.name}: no verdict: {measured.crash}"
    rows = [f"{measured.snippet.name}: {measured.verdict}"]
    if measured.eager_error:
        rows.append(f"  eager raises: {measured.eager_error}")
    for mode, out in measured.modes.items():
        rows.append(
            f"  {mode}: {'captured' if out.captured else 'breaks'} · {out.graphs} graphs · "
            f"{out.ops} ops · {len(out.recompiles)} recompiles"
            + ("" if out.matches else " · DIFFERS from eager")
            + (f" · error {out.error}" if out.error else "")
        )
        rows += [f"    L{b.line} {','.join(b.ids)} {b.type} [{b.how}]" for b in out.breaks]
        rows += [f"    recompiled: {reason}" for reason in out.recompiles]
        rows += [f"    skipped: {reason}" for reason in out.skips]
    if measured.aot:
        rows.append(f"  aot_eager: {measured.aot}")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--target")
    parser.add_argument("--inputs", help="expression for the list of argument tuples")
    parser.add_argument("--aot", action="store_true")
    args = parser.parse_args()
    snippets = [
        Snippet(path.read_text(encoding="utf-8"), args.target, args.inputs, str(path), aot=args.aot)
        for path in args.files
    ]
    failed = False
    for measured in measure(snippets):
        print(report(measured), flush=True)
        failed |= measured.crash is not None
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
