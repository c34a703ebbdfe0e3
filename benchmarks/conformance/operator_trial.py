"""Every sample of one entry of torch's operator database, tried; a row that is JSON."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from compile_lint.compiler.settings import Settings
from torch.testing._internal import common_methods_invocations
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.hop_db import hop_db
from torch.testing._internal.opinfo import core

from .compare import Checks, tensors
from .trial import DYNAMO, EAGER, EQUAL, MISMATCH, UNDEFINED, Tried, attempt
from .undefined import undefined

DTYPES = (torch.float32, torch.int64, torch.bool)
# Samples compiled together, as one graph: about four times as fast as one by one.
BATCH = 16
# These return memory as they found it: their values mean nothing.
UNINITIALISED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}
KINDS = (
    (core.UnaryUfuncInfo, "pointwise, unary"),
    (core.BinaryUfuncInfo, "pointwise, binary"),
    (core.ReductionOpInfo, "reduction"),
    (core.SpectralFuncInfo, "spectral"),
    (core.ShapeFuncInfo, "shape"),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which samples: all, or `samples` of each dtype with at most `numel` items in all."""

    device: str = "cpu"
    samples: int | None = None
    numel: int | None = None


@dataclass
class Row:
    """What became of one operator. `outcomes` counts samples by dtype and outcome.

    `reasons` counts (outcome, Dynamo's id, reason); `kernels` counts those of forward graphs,
    `forward` and `backward` calls to ATen in the graphs of equal samples, `lowered` the equal
    samples that made none, `rounded` those that float64 told from a mismatch.
    """

    name: str
    kind: str
    outcomes: dict[str, dict[str, int]] = field(default_factory=dict)
    graded: int = 0
    reasons: list[dict[str, Any]] = field(default_factory=list)
    kernels: int = 0
    equal: int = 0
    rounded: int = 0
    lowered: int = 0
    lowered_forward: int = 0
    forward: dict[str, int] = field(default_factory=dict)
    backward: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


def _unseeded(op: Callable, *args: Any, **kwargs: Any) -> Any:
    return op(*args, **kwargs)


def entries() -> dict[str, Any]:
    """The database, by a name for each entry that is its own.

    Its random operators seed and restore the generator around each call, which Dynamo can't
    capture; trials seed theirs, so the operators are called bare.
    """
    setattr(common_methods_invocations, "wrapper_set_seed", _unseeded)  # noqa: B010 (no export)
    named: dict[str, Any] = {}
    for info in [*op_db, *hop_db]:
        name = ".".join(filter(None, (info.name, info.variant_test_name)))
        if info in hop_db:
            name = f"hop: {name}"
        while name in named:
            name += "'"
        named[name] = info
    return named


def kind_of(name: str, info: Any) -> str:
    """The class of an entry, from the class that describes it."""
    if name.startswith("hop: "):
        return "higher-order"
    return next((kind for cls, kind in KINDS if isinstance(info, cls)), "other")


def samples(info: Any, dtype: torch.dtype, grad: bool, choice: Choice) -> list[tuple]:
    """Samples as (input, args, kwargs); with a choice, spread evenly over those small enough."""
    torch.manual_seed(0)
    made = info.sample_inputs(choice.device, dtype, requires_grad=grad)
    every = [(s.input, tuple(s.args), dict(s.kwargs)) for s in made]
    if choice.numel is not None:
        limit = choice.numel
        every = [s for s in every if sum(x.numel() for x in tensors(s)) <= limit]
    if choice.samples is not None and len(every) > choice.samples:
        step = len(every) / choice.samples
        every = [every[int(k * step)] for k in range(choice.samples)]
    return every


def try_operator(name: str, info: Any, settings: Settings, choice: Choice) -> Row:
    """Every chosen sample of one operator through our backend."""
    began = time.perf_counter()
    tally = _Tally(Row(name, kind_of(name, info)))
    checks = Checks(values=info.name not in UNINITIALISED)
    takes = [dtype for dtype in DTYPES if info.supports_dtype(dtype, choice.device)]
    if not takes and info.supports_dtype(torch.complex64, choice.device):
        takes = [torch.complex64]
    for dtype in takes:
        grad = bool(
            (dtype.is_floating_point or dtype.is_complex)
            and info.supports_autograd
            and dtype in info.supported_backward_dtypes(torch.device(choice.device).type)
        )
        try:
            chosen = samples(info, dtype, grad, choice)
        except (ValueError, RuntimeError, TypeError) as error:
            tally.add(dtype, Tried(EAGER, f"no samples: {error}"[:160]))
            continue
        op = info.op
        for group in _groups(chosen, BATCH):
            outcomes = _try_group(op, group, settings, grad, checks, tally)
            for sample, tried in zip(group, outcomes, strict=True):
                why = undefined(name, sample, choice.device)
                if tried.outcome == MISMATCH and why:
                    tried = Tried(UNDEFINED, why)
                tally.add(dtype, tried)
    row = tally.finish()
    row.seconds = round(time.perf_counter() - began, 2)
    return row


def _groups(items: Sequence, size: int) -> Iterable[Sequence]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _call_all(op: Callable) -> Callable:
    def call_all(samples: list) -> list:
        return [op(value, *args, **kwargs) for value, args, kwargs in samples]

    return call_all


def _try_group(
    op: Callable,
    group: Sequence[tuple],
    settings: Settings,
    grad: bool,
    checks: Checks,
    tally: _Tally,
) -> Iterable[Tried]:
    """One graph for all of them, and only if that isn't equal, one by one.

    Grouping stops for an operator that Dynamo refuses; with kernels every sample stands alone, so
    that what is lowered is known for each.
    """
    alone = settings.interpret or settings.target is not None or tally.refused
    fn = _call_all(op)
    if len(group) > 1 and not alone:
        together = attempt(fn, [list(group)], settings, grad, checks, diagnose=False)
        if together.outcome == EQUAL:
            yield from [together] * len(group)
            return
    for sample in group:
        yield attempt(fn, [[sample]], settings, grad, checks, known=tally.known)


class _Tally:
    """Counts outcomes into a row."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.known: set[str] = set()
        self.refused = False
        self._reasons: Counter[tuple[str, str, str]] = Counter()
        self._forward: Counter[str] = Counter()
        self._backward: Counter[str] = Counter()

    def add(self, dtype: torch.dtype, tried: Tried) -> None:
        counts = self.row.outcomes.setdefault(str(dtype).removeprefix("torch."), {})
        counts[tried.outcome] = counts.get(tried.outcome, 0) + 1
        if tried.outcome != EQUAL:
            self._reasons[tried.outcome, tried.break_id, tried.reason] += 1
            if tried.outcome == DYNAMO:
                self.refused = True
                self.known.add(tried.reason)
            return
        row, made = self.row, tried.made
        row.equal += 1
        row.graded += tried.graded
        row.rounded += tried.rounded
        row.kernels += made.forward_kernels
        row.lowered_forward += not made.forward
        row.lowered += not made.forward and not made.backward
        self._forward += made.forward
        self._backward += made.backward

    def finish(self) -> Row:
        self.row.forward = dict(self._forward.most_common())
        self.row.backward = dict(self._backward.most_common())
        self.row.reasons = [
            {"outcome": outcome, "id": id_, "reason": text, "samples": count}
            for (outcome, id_, text), count in self._reasons.most_common(12)
        ]
        return self.row


def as_json(row: Row) -> dict[str, Any]:
    return asdict(row)
