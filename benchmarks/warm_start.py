"""How much sooner a second process is ready: its first call, against the first process's.

    python -m benchmarks.warm_start
    python -m benchmarks.warm_start --interpret

Each work is compiled and called once in a process that finds an empty cache, and once in another
that finds what the first one left; medians of several such pairs. Kernels are built for `--target`,
on any machine, or run under the interpreter. Imports and the making of inputs are not counted.
Capture by Dynamo and AOTAutograd is, and no cache of ours spares it, so what this compiler itself
takes is told apart.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.nn.functional as F
from compile_lint.compiler import cache_info
from compile_lint.compiler.capture import backend as capturing
from compile_lint.compiler.settings import Settings
from torch import nn

PAIRS = 3


def function() -> tuple[Callable, tuple[torch.Tensor, ...]]:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.gelu(F.layer_norm(x, x.shape[-1:]) @ w).softmax(-1)

    return f, (torch.randn(16, 64), torch.randn(64, 32))


def model() -> tuple[Callable, tuple[torch.Tensor, ...]]:
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), (torch.randn(2, 8, 32),)


WORKS = {"a function": function, "a transformer of four layers, training step": model}


def first_call(work: str, settings: Settings) -> dict[str, float]:
    """Seconds of the first call in this process, backward too, ours among them; cache counts."""
    ours = 0.0
    compile_graph = capturing.compile_graph

    def timed(*args: Any, **kwargs: Any) -> Any:
        nonlocal ours
        began = time.perf_counter()
        compiled = compile_graph(*args, **kwargs)
        ours += time.perf_counter() - began
        return compiled

    capturing.compile_graph = timed
    torch.manual_seed(0)
    f, inputs = WORKS[work]()
    inputs = tuple(x.requires_grad_() for x in inputs)
    run = torch.compile(f, backend=capturing.Backend(settings), fullgraph=True)
    # What any first compilation in a process pays for: imports that Dynamo puts off.
    torch.compile(lambda x: x + 1, backend="aot_eager")(torch.ones(2))
    began = time.perf_counter()
    run(*inputs).sum().backward()
    whole = time.perf_counter() - began
    info = cache_info()
    return {"whole": whole, "ours": ours, "hits": info.hits, "misses": info.misses}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--interpret", action="store_true", help="kernels under the interpreter")
    parser.add_argument("--target", default="cuda:90", help="build kernels for this device")
    parser.add_argument("--work", choices=list(WORKS), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        target = None if asked.interpret else asked.target
        settings = Settings(interpret=asked.interpret, target=target)
        print(json.dumps(first_call(asked.work, settings)))
        return 0
    for work in WORKS:
        runs: list[tuple[dict[str, float], dict[str, float]]] = []
        for _ in range(PAIRS):
            with tempfile.TemporaryDirectory() as folder:
                runs.append((_in_a_process(work, folder), _in_a_process(work, folder)))
        for part in ("whole", "ours"):
            first, second = (statistics.median(pair[k][part] for pair in runs) for k in (0, 1))
            print(f"{work}, {part}: {first:.2f} s, then {second:.2f} s ({second / first:.0%})")
        warm = runs[0][1]
        print(f"{work}: then {warm['hits']} hits, {warm['misses']} misses", flush=True)
    return 0


def _in_a_process(work: str, folder: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.warm_start", *sys.argv[1:], "--work", work]
    # Triton's own cache would make the first process warm.
    folders = {"COMPILE_LINT_CACHE_DIR": folder, "TRITON_CACHE_DIR": f"{folder}/triton"}
    ran = subprocess.run(command, env={**os.environ, **folders}, stdout=subprocess.PIPE, check=True)
    return json.loads(ran.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())
