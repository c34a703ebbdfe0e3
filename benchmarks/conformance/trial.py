"""One function, run by eager and through a backend: equal, or whose failure it is."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch._dynamo as dynamo
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.settings import Settings
from torch._dynamo.exc import Unsupported
from torch.utils._pytree import tree_flatten

from .compare import Checks, Result, differences, first_line, fresh, tensors, widened
from .exact import as_exact

EQUAL = "equal"
EAGER = "eager raises"
DYNAMO = "not captured"
AOT = "not by AOTAutograd"
MISMATCH = "mismatch"
UNDEFINED = "undefined in eager"
ERROR = "error"
NARROW = {torch.float64: torch.float32, torch.complex128: torch.complex64}
BREAK_ID = re.compile(r"gb(\d{4})\.html|\bGB(\d{4})\b")


@dataclass(frozen=True, slots=True)
class Made:
    """What our backend made of a function: kernels, and calls left to ATen, by stage.

    Dynamo's reset empties the backend: read it before.
    """

    graphs: int = 0
    kernels: int = 0
    forward_kernels: int = 0
    calls: int = 0
    forward: Counter[str] = field(default_factory=Counter)
    backward: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, backend: Backend) -> Made:
        forward: Counter[str] = Counter()
        backward: Counter[str] = Counter()
        kernels = forward_kernels = calls = 0
        for graph in backend.graphs:
            kernels += len(graph.kernels)
            forward_kernels += len(graph.kernels) if graph.stage != "backward" else 0
            called = [str(n.target) for n in graph.gm.graph.nodes if n.op == "call_function"]
            calls += sum(map(_computes, called))
            by_aten = filter(_computes, graph.fallbacks)
            (backward if graph.stage == "backward" else forward).update(by_aten)
        return cls(len(backend.graphs), kernels, forward_kernels, calls, forward, backward)

    def __add__(self, other: Made) -> Made:
        return Made(
            self.graphs + other.graphs,
            self.kernels + other.kernels,
            self.forward_kernels + other.forward_kernels,
            self.calls + other.calls,
            self.forward + other.forward,
            self.backward + other.backward,
        )


def _computes(name: str) -> bool:
    """Whether an operator computes on tensors: not sizes, and not items of a tuple."""
    return not name.startswith(("<built-in function", "aten.sym_", "aten._assert_scalar"))


@dataclass(frozen=True, slots=True)
class Tried:
    """The outcome of one trial.

    `reason` is one line: why Dynamo or AOTAutograd gave up, or what differs; `break_id` is Dynamo's
    ("GB0170"), if it named one. `graded` says whether gradients were compared, `rounded` whether
    it took a run in float64 to tell a rounding from a difference.
    """

    outcome: str
    reason: str = ""
    break_id: str = ""
    graded: bool = False
    rounded: bool = False
    made: Made = field(default_factory=Made)


@contextlib.contextmanager
def configured() -> Iterator[None]:
    """What every trial runs under: Dynamo captures scalars and data-dependent sizes too."""
    captures = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
    with dynamo.config.patch(captures), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
        dynamo.reset()


def lowers(settings: Settings) -> bool:
    """Whether these settings give kernels here, for the simplest graph there is."""
    backend = Backend(settings)
    dynamo.reset()
    torch.compile(lambda x: x.sin() + 1, backend=backend, fullgraph=True)(torch.ones(4))
    return any(graph.kernels for graph in backend.graphs)


def run(
    fn: Callable,
    args: Sequence[Any],
    grad: bool,
    seed: int = 0,
    strict: bool = True,
    wide: bool = False,
) -> Result:
    """Call `fn` on copies of `args` with a seed; gradients with random cotangents.

    `strict=False` leaves gradients out where autograd refuses, as the reference run may. With
    `wide` float32 tensors are float64 ones of the same values, the cotangents too.
    """
    mine = widened(list(args)) if wide else fresh(list(args))
    leaves = tensors(mine)
    torch.manual_seed(seed)
    with torch.set_grad_enabled(grad):
        out = fn(*mine)
    outputs = tuple(tree_flatten(out)[0])
    gradients: tuple[torch.Tensor | None, ...] = ()
    wanted = [x for x in leaves if x.requires_grad and x.is_leaf]
    given = [x for x in outputs if isinstance(x, torch.Tensor) and x.requires_grad]
    if grad and wanted and given:
        torch.manual_seed(seed + 1)
        along = [_cotangent(x, wide) for x in given]
        try:
            gradients = torch.autograd.grad(given, wanted, along, allow_unused=True)
        except RuntimeError:
            if strict:
                raise
    return Result(outputs, gradients, tuple(leaves))


def _cotangent(x: torch.Tensor, wide: bool) -> torch.Tensor:
    drawn = NARROW.get(x.dtype, x.dtype) if wide else x.dtype
    return torch.randn(x.shape, dtype=drawn, device=x.device).to(x.dtype)


def attempt(
    fn: Callable,
    args: Sequence[Any],
    settings: Settings,
    grad: bool = True,
    checks: Checks = Checks(),  # noqa: B008 (frozen)
    dynamic: bool | None = False,
    diagnose: bool = True,
    known: Collection[str] = (),
    reference: Callable | None = None,
) -> Tried:
    """Eager against `torch.compile(fn, backend=ours, fullgraph=True)`, outputs and gradients.

    Torch's own backends are asked whose a failure is, unless `diagnose` is False (then it counts as
    an error) or Dynamo's reason is among the `known` ones. `reference` stands for `fn` in eager.
    """
    try:
        wanted = run(reference or fn, args, grad, strict=False)
    except Exception as error:  # any operator may refuse its sample in its own way
        return Tried(EAGER, first_line(error))
    graded = bool(wanted.gradients)
    dynamo.reset()
    backend = Backend(settings)
    try:
        got = run(torch.compile(fn, backend=backend, fullgraph=True, dynamic=dynamic), args, grad)
    except Exception as error:
        if not diagnose:
            return Tried(ERROR, first_line(error))
        if isinstance(error, Unsupported) and reason_of(error) in known:
            return Tried(DYNAMO, reason_of(error), break_id(str(error)))
        return _blame(fn, args, grad, checks, dynamic, wanted, error)
    # The reference may have been refused gradients that the compiled function has.
    got = got if graded else Result(got.outputs, (), got.inputs)
    text = differences(wanted, got, checks)
    made = Made.of(backend)
    if not text or _as_exact(reference or fn, args, grad, wanted, got, checks):
        return Tried(EQUAL, graded=graded, rounded=bool(text), made=made)
    if diagnose and _peer(fn, args, grad, checks, dynamic, "aot_eager", wanted):
        whose = _peer(fn, args, grad, checks, dynamic, "eager", wanted)
        return Tried(DYNAMO if whose else AOT, text, graded=graded, made=made)
    return Tried(MISMATCH, text, graded=graded, made=made)


def _as_exact(
    fn: Callable, args: Sequence[Any], grad: bool, wanted: Result, got: Result, checks: Checks
) -> bool:
    """Whether only rounding is between them, by the same call in float64."""
    try:
        exact = run(fn, args, grad, strict=False, wide=True)
        return as_exact(exact, wanted, got, checks)
    except Exception:  # float64 may be refused where float32 isn't, a layout may not compare
        return False


def _peer(
    fn: Callable,
    args: Sequence[Any],
    grad: bool,
    checks: Checks,
    dynamic: bool | None,
    backend: str,
    wanted: Result,
) -> str:
    """How a backend of torch's own fails on the same call; empty when it is equal to eager."""
    dynamo.reset()
    try:
        got = run(torch.compile(fn, backend=backend, fullgraph=True, dynamic=dynamic), args, grad)
    except Exception as error:
        return first_line(error)
    got = got if wanted.gradients else Result(got.outputs, (), got.inputs)
    return differences(wanted, got, checks)


def _blame(
    fn: Callable,
    args: Sequence[Any],
    grad: bool,
    checks: Checks,
    dynamic: bool | None,
    wanted: Result,
    error: Exception,
) -> Tried:
    """Whose failure it is: the same call with torch's own backends says so."""
    if text := _peer(fn, args, grad, checks, dynamic, "eager", wanted):
        shown = error if isinstance(error, Unsupported) else None
        return Tried(DYNAMO, reason_of(shown) if shown else text, break_id(str(error)))
    if text := _peer(fn, args, grad, checks, dynamic, "aot_eager", wanted):
        return Tried(AOT, text)
    return Tried(ERROR, first_line(error))


def reason_of(error: Exception) -> str:
    """Dynamo's reason in one line: its headline and its explanation."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("Explanation:")]
    return " — ".join([lines[0], *(line[len("Explanation: ") :] for line in told[:1])])[:240]


def break_id(text: str) -> str:
    """The id of a graph break in Dynamo's message, "GB0170"."""
    found = BREAK_ID.search(text)
    return f"GB{found.group(1) or found.group(2)}" if found else ""
