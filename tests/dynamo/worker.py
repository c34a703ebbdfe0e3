"""The process that runs snippets under Dynamo. Speaks JSON lines on stdin and stdout.

One parent process imports torch once and forks a child on demand; the child runs snippets, one
after another, until it dies (crash, time limit) or has served ``RECYCLE`` of them, so state that a
snippet leaks can't reach far and a restart costs a fork instead of an import of torch.

Request:  {"source", "target", "inputs" (expression or null), "limit", "fresh", "aot"}
Reply:    {"eager", "modes": {mode: {...}}, "aot", "torch"} or {"crash": why}
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

os.environ.update(CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1")

import random

import numpy
import torch
import torch._dynamo as dynamo
from torch.utils._pytree import tree_flatten

from .recorder import Recorder

RECYCLE = 60
MODES = ("default", "fullgraph")
OWN_CONFIG = (  # what a snippet may set for itself
    "allow_rnn",
    "capture_dynamic_output_shape_ops",
    "capture_scalar_outputs",
    "trace_autograd_ops",
)
KEPT_CONFIG = (
    *OWN_CONFIG,
    "recompile_limit",
    "assume_static_by_default",
    "suppress_errors",
)


RECORDER = Recorder()
RECORDER.install()


def settle(config: dict[str, Any], validate: bool) -> None:
    """Undo the global state a snippet may have changed, and seed every generator.

    ``validate``: the default of torch.distributions. It is True while a user's module loads, and
    the first use of torch.compile in a process turns it off for good.
    """
    dynamo.reset()
    for key, value in config.items():
        setattr(dynamo.config, key, value)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    torch.use_deterministic_algorithms(False)
    torch.autograd.set_detect_anomaly(False)
    torch.distributions.Distribution.set_default_validate_args(validate)
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)


def load(path: Path, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return module


def same(a: Any, b: Any) -> bool:
    """Values equal within tolerance, for the leaves that can be compared."""
    left, right = tree_flatten(a)[0], tree_flatten(b)[0]
    if len(left) != len(right):
        return False
    for x, y in zip(left, right):
        if isinstance(x, torch.Tensor) != isinstance(y, torch.Tensor):
            return False
        if isinstance(x, torch.Tensor):
            if x.shape != y.shape or x.dtype != y.dtype:
                return False
            plain = type(x) in (torch.Tensor, torch.nn.Parameter) and x.layout == torch.strided
            if not plain or x.is_quantized or x.is_meta:
                continue
            if not torch.allclose(
                x.detach().to(torch.complex128),
                y.detach().to(torch.complex128),
                atol=1e-5,
                equal_nan=True,
            ):
                return False
        elif isinstance(x, float):
            if abs(x - y) > 1e-5 and not (x != x and y != y):
                return False
        elif isinstance(x, (int, str, bool, type(None))) and x != y:
            return False
    return True


def say(exc: BaseException) -> str:
    lines = str(exc).strip().splitlines()
    return f"{type(exc).__name__}: {lines[0][:160] if lines else ''}"


class Job:
    """One snippet on disk, with fresh copies of its target and inputs on demand."""

    def __init__(self, request: dict[str, Any], path: Path) -> None:
        self.request, self.path = request, path
        self.config = {k: getattr(dynamo.config, k) for k in KEPT_CONFIG}

    def fresh(self) -> tuple[Any, list[tuple[Any, ...]]]:
        settle(self.config, validate=True)
        module = load(self.path, self.path.stem)
        target = getattr(module, self.request["target"] or getattr(module, "TARGET", "f"))
        if isinstance(target, type):
            target = target()
        inputs = self.request["inputs"]
        calls = eval(inputs, module.__dict__) if inputs else module.example_inputs()
        if not isinstance(calls, list):
            calls = [calls]
        settle({k: v for k, v in self.config.items() if k not in OWN_CONFIG}, validate=False)
        return target, [c if isinstance(c, tuple) else (c,) for c in calls]

    def eager(self) -> list[tuple[str, Any]]:
        """What every call gives without compilation, each on a fresh target."""
        out, index, count = [], 0, 1
        while index < count:
            target, calls = self.fresh()
            count = len(calls)
            try:
                out.append(("ok", target(*calls[index])))
            except Exception as exc:
                out.append(("raise", say(exc)))
            index += 1
        return out

    def compiled(self, mode: str, wanted: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {"breaks": [], "error": None, "matches": True}
        # Each call on a fresh target first: what an earlier call made dynamic blurs the verdict.
        rounds = [[i] for i in range(len(wanted))] if self.request["fresh"] else []
        if len(wanted) > 1:
            rounds.append(list(range(len(wanted))))
        for turn in rounds or [[0]]:
            together = len(turn) > 1
            target, calls = self.fresh()
            graphs: list[int] = []

            def backend(gm, _example_inputs, graphs=graphs):
                graphs.append(sum(n.op.startswith("call") for n in gm.graph.nodes))
                return gm.forward

            fn = torch.compile(target, backend=backend, fullgraph=mode == "fullgraph")
            RECORDER.start(str(self.path))
            for index in turn:
                try:
                    value = fn(*calls[index])
                except Exception as exc:
                    self.failed(exc, wanted[index], result)
                    continue
                raised = wanted[index][0] == "raise"
                if raised or not (together or same(value, wanted[index][1])):
                    result["matches"] = False
            result["graphs"], result["ops"] = len(graphs), sum(graphs)
            result["recompiles"] = list(RECORDER.recompiles)
            result["skips"] = list(RECORDER.skips)
            if not (together and self.request["fresh"]):
                result["breaks"] += RECORDER.breaks
        return result

    def failed(self, exc: Exception, wanted: tuple[str, Any], result: dict[str, Any]) -> None:
        """A compiled call raised: Dynamo's refusal, or just what the program does in eager too?"""
        known = getattr(exc, "_recorded", False)
        ours = type(exc).__module__.startswith("torch._dynamo")
        if wanted[0] == "raise" and not ours and not known:
            return
        result["error"] = say(exc)
        if not known:
            line, trace = None, exc.__traceback__
            while trace is not None:
                if trace.tb_frame.f_code.co_filename == str(self.path):
                    line = trace.tb_lineno
                trace = trace.tb_next
            RECORDER.add(exc, "error", line)

    def aot(self) -> str:
        """First error under backend="aot_eager" (what passes Dynamo may still fail below it)."""
        target, calls = self.fresh()
        try:
            torch.compile(target, backend="aot_eager", fullgraph=True)(*calls[0])
        except Exception as exc:
            return say(exc)
        return "ok"


def run(request: dict[str, Any], path: Path) -> dict[str, Any]:
    path.write_text(request["source"], encoding="utf-8")
    job = Job(request, path)
    env, cwd = dict(os.environ), os.getcwd()
    try:
        with warnings.catch_warnings(), contextlib.suppress(SystemExit):
            warnings.simplefilter("ignore")
            try:
                wanted = job.eager()
            except Exception as exc:
                return {"crash": f"does not load: {say(exc)}"}
            first_bad = next((w[1] for w in wanted if w[0] == "raise"), None)
            return {
                "eager": first_bad,
                "modes": {mode: job.compiled(mode, wanted) for mode in MODES},
                "aot": job.aot() if request["aot"] else None,
                "torch": torch.__version__,
            }
        return {"crash": "the snippet called sys.exit"}
    finally:
        os.environ.clear()
        os.environ.update(env)
        os.chdir(cwd)
        sys.modules.pop(path.stem, None)
        path.unlink(missing_ok=True)


def child(requests: int, replies: int, where: Path) -> None:
    """Serve requests until the pipe closes. SIGALRM keeps its default action: it ends us."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    # New objects, not the parent's: a buffered write of a snippet must not reach the reply pipe.
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, m) for n, m in enumerate(("r", "w", "w")))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with os.fdopen(requests) as inbox, os.fdopen(replies, "w") as outbox:
        for number, text in enumerate(inbox):
            request = json.loads(text)
            signal.setitimer(signal.ITIMER_REAL, request["limit"])
            reply = run(request, where / f"snippet_{os.getpid()}_{number}.py")
            signal.setitimer(signal.ITIMER_REAL, 0)
            outbox.write(json.dumps(reply) + "\n")
            outbox.flush()


class Child:
    def __init__(self, where: Path) -> None:
        request_read, self.request = os.pipe()
        self.reply, reply_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.request)
            os.close(self.reply)
            try:
                child(request_read, reply_write, where)
            finally:
                os._exit(0)
        os.close(request_read)
        os.close(reply_write)
        self.outbox, self.inbox = os.fdopen(self.request, "w"), os.fdopen(self.reply)
        self.served = 0

    def ask(self, text: str) -> str | None:
        self.served += 1
        self.outbox.write(text)
        self.outbox.flush()
        return self.inbox.readline() or None

    def close(self) -> int:
        for end in (self.outbox, self.inbox):
            with contextlib.suppress(BrokenPipeError):
                end.close()
        return os.waitpid(self.pid, 0)[1]


def main() -> None:
    torch.set_num_threads(1)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.compile(lambda x: torch.nn.functional.relu(x) + 1, backend="eager")(torch.ones(3))
    dynamo.reset()
    server: Child | None = None
    with tempfile.TemporaryDirectory(prefix="dynamo-truth-") as where:
        for text in iter(sys.stdin.readline, ""):
            if server is not None and server.served >= RECYCLE:
                server.close()
                server = None
            server = server or Child(Path(where))
            reply = server.ask(text)
            if reply is None:
                status = server.close()
                server = None
                timed_out = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
                reply = json.dumps({"crash": "timeout" if timed_out else f"died ({status})"}) + "\n"
            out.write(reply)
            out.flush()
        if server is not None:
            server.close()


if __name__ == "__main__":
    main()
