"""Eager, Inductor and our compiler side by side on one GPU.

    python benchmarks/gpu.py --sections pointwise,norms --ways eager,inductor,ours --json out.json

For each work: correctness on fresh inputs first, against eager in float64: right is what errs no
more than twice as much as eager in the work's own precision does. Then the first call, the steady
state (median), kernels a call and peak memory. `--tiny --device cpu` runs every section small, by
the interpreter, for this script's own test.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from gpu_workloads import Work, workloads

WAYS = {
    "eager": {},
    "inductor": {"backend": "inductor"},
    "inductor-ro": {"backend": "inductor", "mode": "reduce-overhead"},
    "inductor-ma": {"backend": "inductor", "mode": "max-autotune"},
    "ours": {"mode": "default"},
    "ours-ro": {"mode": "reduce-overhead"},
    "ours-ma": {"mode": "max-autotune"},
}


def compiled(work: Work, way: str, interpret: bool) -> tuple[Callable, Any]:
    """(what is called, the module or None)."""
    made = work.make()
    module = made if isinstance(made, torch.nn.Module) else None
    choice = WAYS[way]
    if way == "eager":
        return made, module
    torch._dynamo.reset()
    if choice.get("backend") == "inductor":
        return torch.compile(made, fullgraph=True, **choice), module
    from compile_lint.compiler.capture.backend import Backend
    from compile_lint.compiler.settings import Settings

    backend = Backend(Settings(mode=choice["mode"], interpret=interpret))
    run = torch.compile(made, backend=backend, fullgraph=True)
    run._graphs = backend.graphs  # type: ignore[attr-defined]
    return run, module


def step_of(work: Work, run: Callable, module: Any) -> Callable[..., Any]:
    """One call, or one training step: forward and backward."""
    if not work.train:

        def forward(*inputs: torch.Tensor) -> Any:
            with torch.no_grad():
                return run(*inputs)

        return forward

    def train(*inputs: torch.Tensor) -> Any:
        for p in [*(module.parameters() if module else ()), *inputs]:
            p.grad = None
        out = run(*inputs)
        out.backward(tangent(out))
        return out

    return train


_TANGENTS: dict[tuple, torch.Tensor] = {}


def tangent(out: torch.Tensor) -> torch.Tensor:
    """The gradient that comes from behind: random, the same for every way."""
    key = (tuple(out.shape), out.dtype, out.device)
    if key not in _TANGENTS:
        seeded = torch.Generator(device=out.device).manual_seed(2)
        drawn = torch.randn(out.shape, device=out.device, generator=seeded)
        _TANGENTS[key] = drawn.to(out.dtype)
    return _TANGENTS[key]


def results(work: Work, run: Callable, module: Any, inputs: tuple) -> list[torch.Tensor]:
    """Outputs and gradients of one call."""
    if module is not None:  # batch norm's statistics are part of the state
        state = {k: v.clone() for k, v in module.state_dict().items()}
    out = step_of(work, run, module)(*inputs)
    found = [out.detach().clone()]
    if work.train:
        grads = [x.grad for x in inputs] + [p.grad for p in (module.parameters() if module else ())]
        found += [g.detach().clone() for g in grads if g is not None]
    if module is not None:
        module.load_state_dict(state)
    return found


def in_float64(work: Work, inputs: tuple) -> list[torch.Tensor]:
    """What the work computes when nothing is rounded: eager, all in float64."""
    made = work.make()
    module = made.double() if isinstance(made, torch.nn.Module) else None
    wide = tuple(
        x.detach().double().requires_grad_(x.requires_grad) if x.is_floating_point() else x
        for x in inputs
    )
    found = results(work, module or made, module, wide)
    torch.cuda.empty_cache()
    return found


def error(got: list[torch.Tensor], wanted: list[torch.Tensor]) -> float:
    """The larger relative error by norm, of the output and of all gradients together.

    Together, since a single gradient may be nothing but rounding: that of a scale before batch
    norm. Infinite if the results don't even match in number, or hold NaN.
    """
    if len(got) != len(wanted):
        return float("inf")
    worst = 0.0
    for part in (slice(0, 1), slice(1, None)):
        g = torch.cat([x.double().flatten() for x in got[part]] or [torch.zeros(1)])
        w = torch.cat([x.double().flatten() for x in wanted[part]] or [torch.zeros(1)])
        value = float((g - w).norm()) / (float(w.norm()) or 1.0)
        worst = max(worst, value if value == value else float("inf"))
    return worst


def steady(step: Callable, inputs: tuple, device: str, host: bool) -> float:
    """Milliseconds: the median, by events on a GPU; for small calls the host's time."""
    if device != "cuda" or host:
        for _ in range(20):
            step(*inputs)
        times = []
        for _ in range(7):
            _sync(device)
            start = time.perf_counter()
            for _ in range(200 if host else 5):
                step(*inputs)
            _sync(device)
            times.append((time.perf_counter() - start) / (200 if host else 5))
        return statistics.median(times) * 1e3
    from triton.testing import do_bench

    return float(do_bench(lambda: step(*inputs), warmup=50, rep=200, return_mode="median"))


def kernels_of(step: Callable, inputs: tuple, device: str) -> int:
    """Kernels (and copies) that one call runs on the GPU."""
    if device != "cuda":
        return 0
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        step(*inputs)
        torch.cuda.synchronize()
    return sum(1 for e in seen.events() if e.device_type == torch.autograd.DeviceType.CUDA)


def _sync(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


@contextmanager
def precision(work: Work):
    """TF32 for float32 matrix products and convolutions, or not."""
    torch.backends.cuda.matmul.allow_tf32 = work.tf32
    torch.backends.cudnn.allow_tf32 = work.tf32
    torch.backends.cudnn.benchmark = True
    yield


def row(work: Work, way: str, args: argparse.Namespace) -> dict[str, Any]:
    """One cell of the table."""
    device = args.device
    record: dict[str, Any] = {"work": work.name, "way": way}
    # Eager on a CPU rounds nothing to TF32, our interpreted kernels do.
    tolerance = 1e-3 if work.tf32 and device == "cpu" else work.tolerance
    with precision(work):
        torch.manual_seed(1)
        inputs = work.inputs()
        wanted = in_float64(work, inputs)
        eager, module = compiled(work, "eager", args.interpret)
        record["eager_error"] = error(results(work, eager, module, inputs), wanted)
        del eager, module
        run, module = compiled(work, way, args.interpret)
        if device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        got = results(work, run, module, inputs)
        _sync(device)
        record["first_s"] = round(time.perf_counter() - start, 2)
        record["error"] = error(got, wanted)
        record["right"] = record["error"] <= max(tolerance, 2 * record["eager_error"])
        for _ in range(3):
            results(work, run, module, inputs)
        step = step_of(work, run, module)
        record["ms"] = round(steady(step, inputs, device, work.facts.get("host", False)), 5)
        record["kernels"] = kernels_of(step, inputs, device)
        if device == "cuda":
            record["peak_mb"] = round(torch.cuda.max_memory_allocated() / 1e6, 1)
        graphs = getattr(run, "_graphs", None)
        if graphs:
            record["generated"] = sum(len(g.kernels) for g in graphs)
            record["fallbacks"] = sum(len(g.fallbacks) for g in graphs)
        if work.bytes and args.bandwidth:
            record["floor_ms"] = round(work.bytes / args.bandwidth * 1e3, 5)
            record["copy_ms"] = round(copy_time(work.bytes), 5)
    return record


def copy_time(moved: int) -> float:
    """Milliseconds that a copy takes which reads and writes `moved` bytes together.

    The floor as this script measures: a short kernel doesn't reach a large copy's bandwidth.
    """
    from triton.testing import do_bench

    x = torch.empty(moved // 8, device="cuda")
    y = torch.empty_like(x)
    return float(do_bench(lambda: y.copy_(x), warmup=50, rep=200, return_mode="median"))


def bandwidth(device: str) -> float:
    """Bytes a second of a large copy, read and written."""
    if device != "cuda":
        return 0.0
    from triton.testing import do_bench

    x = torch.empty(1 << 28, device=device)
    y = torch.empty_like(x)
    ms = do_bench(lambda: y.copy_(x), return_mode="median")
    return 2 * x.numel() * 4 / (ms / 1e3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sections", default="pointwise,norms,small,control")
    parser.add_argument("--ways", default="eager,inductor,inductor-ro,ours,ours-ro")
    parser.add_argument("--works", default="", help="only those whose name contains this")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--interpret", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    args.bandwidth = bandwidth(args.device)
    if args.bandwidth:
        print(f"{torch.cuda.get_device_name()}  copy {args.bandwidth / 1e9:.0f} GB/s", flush=True)
    sections = workloads(args.device, args.tiny)
    found = []
    for section in args.sections.split(","):
        for work in (w for w in sections[section] if args.works in w.name):
            for way in args.ways.split(","):
                try:
                    record = row(work, way, args)
                except Exception as failure:
                    text = f"{type(failure).__name__}: {failure}".splitlines()[0][:300]
                    record = {"work": work.name, "way": way, "failed": text}
                found.append(record)
                print(_line(record), flush=True)
                with open(args.json, "w") if args.json else nullcontext(sys.stderr) as out:
                    if args.json:
                        json.dump(found, out, indent=1)
                if args.device == "cuda":
                    torch.cuda.empty_cache()
    return 0 if all(r.get("right") for r in found) else 1


def _line(record: dict[str, Any]) -> str:
    if "failed" in record:
        return f"{record['work']:38} {record['way']:12} FAILED {record['failed']}"
    extra = "".join(
        f"  {k} {record[k]}"
        for k in ("floor_ms", "copy_ms", "generated", "fallbacks")
        if k in record
    )
    return (
        f"{record['work']:38} {record['way']:12} {record['ms']:10.4f} ms"
        f"  first {record['first_s']:6.2f} s"
        f"  error {record['error']:.1e}{'' if record['right'] else ' WRONG'}"
        f" (eager {record['eager_error']:.1e})"
        f"  kernels {record['kernels']}  peak {record.get('peak_mb', 0)} MB{extra}"
    )


if __name__ == "__main__":
    sys.exit(main())
