"""Run targets under torch.compile and write down where Dynamo broke the graph.

    python measure.py list [-k REGEX]
    python measure.py one TARGET                      # in this process, JSON to stdout
    python measure.py all --results FILE [-k REGEX]   # each in a forked child, appended to FILE

`collect.py` turns the results into the truth files. See README.md.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import logging
import os
import re
import signal
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import torch._dynamo as dynamo
import vision_ops
from recorder import Recorder, relative
from registry import TARGETS, Target, load_targets

# Families of breaks that the capture flags may turn into plain graph nodes.
CAPTURABLE = re.compile(r"\.item\(|ata.dependent operator|ynamic shape|onzero|tolist")


def clone(value: object) -> object:
    """Fresh tensors for each run, so that an in-place write can't leak into the next."""
    if isinstance(value, torch.Tensor) and value.is_leaf:
        return value.detach().clone().requires_grad_(value.requires_grad)
    if type(value) in (list, tuple):
        return type(value)(clone(item) for item in value)
    if type(value) is dict:
        return {key: clone(item) for key, item in value.items()}
    return value


def ranges(lines: set[int]) -> list[list[int]]:
    """[[first, last], ...] of a set of line numbers."""
    out: list[list[int]] = []
    for number in sorted(lines):
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return out


def build(target: Target, mode: str) -> tuple[Callable, Callable[[Callable], object]]:
    """The callable, and what calls it (or a compiled form of it) with fresh arguments."""
    torch.manual_seed(0)
    function, args, *rest = target.build()
    kwargs = rest[0] if rest else {}
    if isinstance(function, torch.nn.Module):
        function.train(mode == "train")
    return function, lambda f: f(*clone(args), **clone(kwargs))  # pyright: ignore


def compiled(recorder: Recorder, target: Target, mode: str, fullgraph: bool) -> str | None:
    """Run once under torch.compile, from a fresh start; the error, if it raised."""
    function, call = build(target, mode)
    dynamo.reset()
    recorder.reset()
    try:
        call(torch.compile(function, backend="eager", fullgraph=fullgraph))
    except Exception as exc:
        return f"{type(exc).__name__}: {exc}"[:300]
    return None


def measure(target: Target, mode: str, recorder: Recorder) -> dict:
    """One row of results for one mode of one target."""
    row: dict = {"package": target.package, "target": target.name, "mode": mode}
    try:
        function, call = build(target, mode)
        call(function)  # eager first: what fails here says nothing about compiling
    except Exception as exc:
        return row | {"status": "eager-failed", "error": f"{type(exc).__name__}: {exc}"[:300]}
    error = compiled(recorder, target, mode, fullgraph=False)
    breaks = list(recorder.breaks.values())
    row |= {
        "status": "compile-error" if error else "ok",
        "error": error,
        "breaks": breaks,
        "traced": {relative(file): ranges(lines) for file, lines in recorder.traced.items()},
    }
    if any(CAPTURABLE.search(item["type"]) for item in breaks):
        # fullgraph also turns the capture flags on, so ask what breaks first there, and what
        # else still breaks with the flags alone.
        compiled(recorder, target, mode, fullgraph=True)
        row["fullgraph_breaks"] = list(recorder.breaks.values())
        flags = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
        with dynamo.config.patch(flags):
            compiled(recorder, target, mode, fullgraph=False)
        row["breaks_with_capture"] = list(recorder.breaks.values())
    return row


def run(target: Target) -> Iterator[dict]:
    """Rows of every mode of a target."""
    recorder = Recorder()
    recorder.install()
    dynamo.config.recompile_limit = 64
    dynamo.config.accumulated_recompile_limit = 4096
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for mode in target.modes:
        with torch.set_grad_enabled(mode == "train" or target.grad):
            try:
                is_module = isinstance(target.build()[0], torch.nn.Module)
            except Exception as exc:
                error = f"{type(exc).__name__}: {exc}"[:300]
                yield {
                    "package": target.package, "target": target.name, "mode": mode,
                    "status": "build-failed", "error": error,
                }  # fmt: skip
                return
            if mode == "train" and not is_module:
                return
            yield measure(target, mode, recorder)


def run_forked(target: Target, results: Path, timeout: int) -> list[dict]:
    """Run a target in a child of its own, so that no state of Dynamo's carries over."""
    began = results.stat().st_size if results.exists() else 0
    child = os.fork()
    if child == 0:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            with results.open("a", encoding="utf-8") as out:
                for row in run(target):
                    out.write(json.dumps(row) + "\n")
                    out.flush()
        finally:
            os._exit(0)
    deadline = time.monotonic() + timeout
    ended = 0
    while not ended and time.monotonic() < deadline:
        ended, _ = os.waitpid(child, os.WNOHANG)
        time.sleep(0.05)
    if not ended:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    rows: list[dict] = []
    if results.exists():
        with results.open(encoding="utf-8") as lines:
            lines.seek(began)
            rows = [json.loads(line) for line in lines]
    if not ended or not rows:
        status = "died" if ended else "timeout"
        row = {"package": target.package, "target": target.name, "mode": "-", "status": status}
        with results.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        rows.append(row)
    return rows


def shuffled(targets: list[Target], limit: int) -> list[Target]:
    """At most `limit` targets of a package, the same ones each time, the packages in turn."""
    by_package: dict[str, list[Target]] = {}
    for target in sorted(targets, key=lambda t: zlib.crc32(t.id.encode())):
        by_package.setdefault(target.package, []).append(target)
    turns = [(turn, t) for group in by_package.values() for turn, t in enumerate(group)]
    turns.sort(key=lambda pair: pair[0])
    return [target for turn, target in turns if not limit or turn < limit]


def run_all(targets: list[Target], results: Path, timeout: int) -> None:
    """Measure what `results` does not hold yet."""
    done = set()
    if results.exists():
        with results.open(encoding="utf-8") as lines:
            done = {f"{row['package']}::{row['target']}" for row in map(json.loads, lines)}
    # Import once what every child needs, Dynamo's own lazy imports included.
    for name in sorted({target.package for target in targets}):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    torch.compile(lambda x: torch.relu(x) + 1, backend="eager")(torch.ones(3))
    dynamo.reset()
    for number, target in enumerate(targets, 1):
        if target.id in done:
            continue
        began = time.monotonic()
        rows = run_forked(target, results, timeout)
        parts = []
        for row in rows:
            count = f" breaks={len(row['breaks'])}" if "breaks" in row else ""
            parts.append(f"{row['mode']}:{row['status']}{count} {row.get('error') or ''}".strip())
        seconds = time.monotonic() - began
        print(
            f"[{number}/{len(targets)}] {target.id} {seconds:.0f}s {'; '.join(parts)}", flush=True
        )


def main() -> None:
    cli = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    cli.add_argument("command", choices=["list", "one", "all"])
    cli.add_argument("target", nargs="?", help="id of the target, for `one`")
    cli.add_argument("-k", metavar="REGEX", default="", help="only targets whose id matches")
    cli.add_argument("--limit", type=int, default=0, help="at most so many targets of a package")
    cli.add_argument("--results", type=Path, default=Path("results.jsonl"))
    cli.add_argument("--timeout", type=int, default=120, help="seconds for one target")
    args = cli.parse_args()

    torch.set_num_threads(1)
    vision_ops.define_missing()
    load_targets()
    chosen = [t for t in TARGETS.values() if re.search(args.k, t.id)]
    if args.command == "list":
        print("\n".join(t.id for t in chosen))
    elif args.command == "one":
        if args.target not in TARGETS:
            sys.exit(f"no target {args.target}")
        for row in run(TARGETS[args.target]):
            print(json.dumps(row, indent=1))
    else:
        run_all(shuffled(chosen, args.limit), args.results, args.timeout)


if __name__ == "__main__":
    main()
