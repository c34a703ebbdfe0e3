"""One model: inference, and a training step, through our backend and by eager."""

from __future__ import annotations

import copy
import time
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch._dynamo as dynamo
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.settings import Settings
from torch import nn
from torch._dynamo.exc import Unsupported, UserError
from torch.utils._pytree import tree_leaves

from .compare import Checks, Result, differences, first_line, fresh
from .model_zoo import Model
from .trial import Made, break_id, reason_of


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a model.

    `outcome` is "equal", "not captured", "mismatch" or "error"; `error` the largest difference,
    relative to the largest value of its tensor where that is above 1; `calls` and `fallbacks` count
    the graphs' calls and those that run by ATen.
    """

    family: str
    package: str
    what: str
    outcome: str
    reason: str = ""
    note: str = ""
    break_id: str = ""
    error: float = 0.0
    graphs: int = 0
    kernels: int = 0
    calls: int = 0
    fallbacks: int = 0
    by_aten: tuple[tuple[str, int], ...] = ()
    seconds: float = 0.0


def step(model: nn.Module, call: Any, inputs: dict[str, Any], train: bool) -> Result:
    """A forward, and with `train` the gradients of all parameters: outputs, gradients, buffers."""
    given = fresh(inputs)
    args = [given.pop("")] if "" in given else []
    torch.manual_seed(3)
    with torch.set_grad_enabled(train):
        outputs = tuple(tree_leaves(call(*args, **given)))
    gradients: tuple[torch.Tensor | None, ...] = ()
    if train:
        torch.manual_seed(4)
        made = [x for x in outputs if isinstance(x, torch.Tensor) and x.requires_grad]
        # drawn in float32, so that a run in float64 has the same ones
        along = [torch.randn(x.shape, device=x.device).to(x.dtype) for x in made]
        wanted = [p for p in model.parameters() if p.requires_grad]
        gradients = torch.autograd.grad(made, wanted, along, allow_unused=True)
    return Result(outputs, gradients, tuple(model.buffers()))


def judge(model: Model, settings: Settings) -> Judged:
    """Both passes against eager; never raises for what the model or a compiler does."""
    began = time.perf_counter()
    told = (model.family, model.package, model.what)
    doing = "inference"
    backend = Backend(settings)
    worst = 0.0
    made = Made()
    try:
        torch.manual_seed(1)
        eager, inputs = model.build()
        checks = Checks(strides=not settings.interpret, rtol=1e-4, atol=1e-5)
        for train in (False, True):
            doing = "training" if train else "inference"
            mine = copy.deepcopy(eager.train(train and model.mode == "train"))
            dynamo.reset()
            wanted = step(eager, eager, inputs, train)
            # dynamic=False: a size of the one call that is made is never a symbol
            call = torch.compile(mine, backend=backend, fullgraph=True, dynamic=False)
            got = step(mine, call, inputs, train)
            worst = max(worst, _error(wanted, got))
            made += Made.of(backend)
            text = differences(wanted, got, checks)
            if text and not _as_exact(eager, inputs, train, wanted, got):
                return Judged(*told, "mismatch", f"{doing}: {text}", error=worst)
    except (Unsupported, UserError) as error:
        return Judged(
            *told, "not captured", f"{doing}: {reason_of(error)}", "", break_id(str(error))
        )
    except Exception as error:  # a model's own failure is a row like any other
        return Judged(*told, "error", f"{doing}: {first_line(error)}")
    by_aten = made.forward + made.backward
    return Judged(
        *told,
        "equal",
        note=model.note,
        error=worst,
        graphs=made.graphs,
        kernels=made.kernels,
        calls=made.calls,
        fallbacks=by_aten.total(),
        by_aten=tuple(by_aten.most_common(8)),
        seconds=round(time.perf_counter() - began, 1),
    )


def as_json(judged: Judged) -> dict[str, Any]:
    return asdict(judged)


def _as_exact(
    eager: nn.Module, inputs: dict[str, Any], train: bool, wanted: Result, got: Result
) -> bool:
    """Whether `got` is about as near to float64 as eager is, or eager with inputs a rounding away.

    Operators spelt out in simpler ones round otherwise, and normalising small batches amplifies it.
    """
    wide = {k: x.double() if x.is_floating_point() else x for k, x in inputs.items()}
    try:
        precise = copy.deepcopy(eager).double()
        exact = step(precise, precise, wide, train)
    except RuntimeError:  # it mixes dtypes of its own with the inputs'
        return False
    distance = _error(exact, got)
    near = {
        k: x * (1 + torch.finfo(x.dtype).eps) if x.is_floating_point() else x
        for k, x in inputs.items()
    }
    twin = copy.deepcopy(eager)
    own = _error(exact, wanted), _error(exact, step(twin, twin, near, train))
    return any(error < 1e-2 and distance < 3 * error + 1e-6 for error in own)


def _error(wanted: Result, got: Result) -> float:
    pairs = zip([*wanted.outputs, *wanted.gradients], [*got.outputs, *got.gradients])
    worst = 0.0
    for want, have in pairs:
        if not (isinstance(want, torch.Tensor) and isinstance(have, torch.Tensor)):
            continue
        if want.is_floating_point() and want.numel() and want.shape == have.shape:
            largest = max(float(want.abs().max()), 1.0)
            worst = max(worst, float((want - have).abs().max()) / largest)
    return worst
