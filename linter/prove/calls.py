"""One call of one version, and all that can be seen of it afterwards."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import sys
import time
import types
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from .values import Keeper, Kept, differs, leaves, replace, steady, tensor_differs

SEED = 20231
PARTS = ("none", "even", "odd")  # which of the floating tensors given require gradients
_PIECES = 1000  # of a generator's values


@dataclass(slots=True)
class Outcome:
    """What a call did. `error` is None when it returned."""

    output: Kept | None = None
    error: BaseException | None = None
    arguments: Kept | None = None
    state: Kept | None = None
    globals: Kept | None = None
    random: tuple[Any, ...] = ()
    aliases: frozenset[tuple[str, str]] = frozenset()  # (output, argument or output) in one memory
    gradients: dict[str, torch.Tensor | None] = field(default_factory=dict)
    unfit: str = ""  # why gradients can't be asked of this input
    mutable: bool = False  # gradients are those that autograd refuses, as saved tensors changed
    seconds: float = 0.0

    @property
    def is_unfit(self) -> bool:
        """Whether it tells nothing of gradients."""
        return self.error is not None or bool(self.unfit)


def seed_all(seed: int = SEED) -> None:
    """Seed every generator that code is likely to draw from."""
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % (1 << 32))


def random_state() -> tuple[Any, ...]:
    """The state of the generators, for comparison by `==`."""
    numpy = sys.modules.get("numpy")
    of_numpy = numpy.random.get_state()[1:3] if numpy else ((), 0)
    return (
        torch.get_rng_state().numpy().tobytes(),
        random.getstate(),
        (bytes(of_numpy[0]), of_numpy[1]),
    )


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Put torch's global switches back afterwards."""
    grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    validate = torch.distributions.Distribution._validate_args
    try:
        yield
    finally:
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
        torch.set_default_device(None)
        torch.use_deterministic_algorithms(False)
        torch.distributions.Distribution.set_default_validate_args(validate)


def call(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    owner: torch.nn.Module | object | None,
    module: types.ModuleType,
    keeper: Callable[[], Keeper],
    gradients: bool,
    nonleaf: bool = False,
    part: str = "",
    mutable: bool = False,
) -> Outcome:
    """Call `fn`, keep what it returned and what it changed.

    Args:
        owner: The object that the function belongs to, whose state counts.
        module: Its module, whose globals count.
        keeper: Makes what copies values.
        gradients: Ask for gradients of every floating argument and parameter.
        nonleaf: Hand over results of an operation in place of leaves, so that functions that
            write to their arguments work while gradients are asked.
        part: Ask for gradients of some arguments only, one of `PARTS`, and of all parameters.
        mutable: Compute gradients even where a tensor was written to that autograd had saved.
    """
    # `allow_mutation_on_saved_tensors` overlooks what is written through a view.
    hooks = torch.autograd.graph.saved_tensors_hooks(_apart, _itself)
    with hooks if mutable else contextlib.nullcontext():
        outcome = Outcome(mutable=mutable)
        wanted: dict[str, torch.Tensor] = {}
        if gradients:
            wanted = _ask(args, kwargs, part)
            if nonleaf:
                args, kwargs = replace((args, kwargs), lambda _, leaf: _step(leaf))
        seed_all(SEED + 1)
        started = time.perf_counter()
        output = None
        with settled():
            try:
                output = fn(*args, **kwargs)
                if isinstance(output, types.GeneratorType):
                    output = list(itertools.islice(output, _PIECES))
            except (Exception, SystemExit) as error:
                outcome.error = error
        outcome.seconds = time.perf_counter() - started
        outcome.random = random_state()
        if gradients and outcome.error is None:
            if isinstance(owner, torch.nn.Module):
                for name, parameter in owner.named_parameters():
                    if parameter.requires_grad:
                        wanted[f"self.{name}"] = parameter
            _differentiate(outcome, output, (args, kwargs), wanted)
        outcome.output = keeper().keep(output)
        outcome.arguments = keeper().keep((args, kwargs))
        outcome.aliases = aliases(output, args, kwargs)
        if owner is not None:
            outcome.state = keeper().keep(owner)
        outcome.globals = keeper().keep(_globals(module))
        return outcome


def _apart(saved: torch.Tensor) -> torch.Tensor:
    return saved.detach().clone()


def _itself(kept: torch.Tensor) -> torch.Tensor:
    return kept


def differentiable_leaves(args: Any, kwargs: Any) -> list[tuple[str, torch.Tensor]]:
    """Return (path, tensor) of the arguments that may require gradients."""
    found = leaves((args, kwargs))
    return [(path, t) for path, t in found if isinstance(t, torch.Tensor) and _smooth(t)]


def _smooth(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _ask(args: Any, kwargs: Any, part: str) -> dict[str, torch.Tensor]:
    """Make the floating tensors of a part require gradients; those that do by their names."""
    found: dict[str, torch.Tensor] = {}
    for place, (path, leaf) in enumerate(differentiable_leaves(args, kwargs)):
        asked = not part or part == ("even", "odd")[place % 2]
        if asked and not leaf.requires_grad and not leaf.is_inference():
            with contextlib.suppress(RuntimeError):
                leaf.requires_grad_(True)
        if leaf.requires_grad:
            found[path] = leaf
    return found


def _step(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, torch.Tensor) and leaf.requires_grad else leaf


def _differentiate(
    outcome: Outcome, output: Any, arguments: Any, wanted: dict[str, torch.Tensor]
) -> None:
    # Cotangents go by place, not by tensor: an output may be an argument in one version only.
    ends = [(f"output {p}", t) for p, t in leaves(output, every=True) if _differentiable(t)]
    for path, value in leaves(arguments, every=True):  # written to: later code differentiates it
        if _differentiable(value) and value.grad_fn is not None:
            ends.append((f"argument {path}", value))
    names = list(wanted)
    if not names or not ends:
        outcome.gradients = dict.fromkeys(names)
        return
    cotangents = []
    for place, end in ends:
        generator = torch.Generator().manual_seed(zlib.crc32(place.encode()))
        seed = torch.randn(end.shape, generator=generator, dtype=torch.float64)
        cotangents.append(seed.to(dtype=end.dtype, device=end.device))
    try:
        found = torch.autograd.grad(
            [end for _, end in ends],
            [wanted[name] for name in names],
            cotangents,
            allow_unused=True,
        )
    except (RuntimeError, NotImplementedError) as error:
        outcome.unfit = " ".join(str(error).split())[:160]
        return
    outcome.gradients = {
        name: None if grad is None else grad.detach().clone() for name, grad in zip(names, found)
    }


def _differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def aliases(output: Any, args: Any, kwargs: Any) -> frozenset[tuple[str, str]]:
    """Pairs of an output with an argument, or another output, that share memory."""
    given = [(f"argument {p}", t) for p, t in leaves((args, kwargs)) if _has_memory(t)]
    made = [(f"output {p}".strip(), t) for p, t in leaves(output) if _has_memory(t)]
    found = set()
    for place, (name, tensor) in enumerate(made):
        for other, its in [*given, *made[:place]]:
            if (_memory(tensor) == _memory(its) and tensor is not its) or tensor is its:
                found.add((name, other))
    return frozenset(found)


def _has_memory(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and not value.is_meta
        and value.numel() > 0
        and type(value) in (torch.Tensor, torch.nn.Parameter)
    )


def _memory(value: torch.Tensor) -> int:
    return value.untyped_storage().data_ptr()


def _globals(module: types.ModuleType) -> dict[str, Any]:
    """The module's data, and that of its classes."""
    found: dict[str, Any] = {}
    for name, value in vars(module).items():
        if name.startswith("__"):
            continue
        if isinstance(value, type):
            if value.__module__ == module.__name__:
                for key, part in vars(value).items():
                    if isinstance(part, (bool, int, float, str, list, dict, torch.Tensor)):
                        if not key.startswith("__"):
                            found[f"{name}.{key}"] = part
        elif isinstance(value, torch.nn.Module) or not callable(value):
            if not isinstance(value, types.ModuleType):
                found[name] = value
    return found


def settle(first: Outcome, second: Outcome) -> None:
    """Leave open in `first` what is otherwise each time: what a clock says, and what is made of it.

    Tensors are never left open.
    """
    for name in ("output", "arguments", "state", "globals"):
        a, b = getattr(first, name), getattr(second, name)
        if a is not None and b is not None:
            setattr(first, name, steady(a, b))


def compare(
    want: Outcome, got: Outcome, *, slack: float = 1.0, compiled: bool = False, softer: bool = False
) -> str | None:
    """Return how a call differs from the original's, None if it doesn't.

    Args:
        slack: As in `differs`.
        compiled: `got` was compiled: how exceptions are worded and random generators advance is
            not up to the rewrite.
        softer: The rewrite asserts inside the graph, which raises RuntimeError.
    """
    if want.error is not None:
        if got.error is None:
            return f"{_raised(want.error)} is not raised any more"
        same = _type(want.error) == _type(got.error)
        if not same and not compiled and not (softer and isinstance(got.error, RuntimeError)):
            return f"{_raised(got.error)} is raised, not {_raised(want.error)}"
        return None
    if got.error is not None:
        return f"{_raised(got.error)} is raised: {said(got.error)}"
    assert want.output is not None
    assert got.output is not None
    pairs = [
        (want.output, got.output, "the output", False),
        (want.arguments, got.arguments, "the arguments after the call", False),
        (want.state, got.state, "the state after the call", True),
        (want.globals, got.globals, "the module after the call", True),
    ]
    for a, b, what, extra in pairs:
        if a is not None and b is not None:
            if found := differs(a, b, what, slack, extra):
                return _tidy(found)
    if found := _gradients_differ(want, got, slack, compiled):
        return found
    if not compiled and want.random != got.random:
        return "random numbers are drawn differently: the generator's state after the call differs"
    return None


def _gradients_differ(want: Outcome, got: Outcome, slack: float, compiled: bool) -> str | None:
    """Compare gradients; those of compiled code in half precision up to its rounding.

    Terms that should add up to nothing leave a rest of the size that the largest ones are rounded
    by, and another rest where they are added in another order.
    """
    if want.unfit or (got.unfit and want.mutable):
        return None
    if got.unfit:
        return f"gradients can't be computed: {got.unfit}"
    noise = _rounding(want.gradients.values()) if compiled else {}
    for name, a in want.gradients.items():
        b = got.gradients.get(name)
        if a is None and b is None:
            continue
        if a is None or b is None:  # no path, or a path whose derivative is zero: the same
            some = b if a is None else a
            assert some is not None
            a = torch.zeros_like(some) if a is None else a
            b = torch.zeros_like(some) if b is None else b
        what, least = f"the gradient of `{_place(name)}`", noise.get(a.dtype, 0.0)
        if found := tensor_differs(a, b, what, slack * 4, least):
            return found
    return None


def _rounding(gradients: Iterable[torch.Tensor | None]) -> dict[torch.dtype, float]:
    """Return what the largest of the gradients of each half precision is rounded by."""
    found: dict[torch.dtype, float] = {}
    for gradient in gradients:
        if gradient is not None and gradient.dtype in (torch.float16, torch.bfloat16):
            finite = gradient[torch.isfinite(gradient)]
            if finite.numel():
                size = float(finite.abs().max()) * torch.finfo(gradient.dtype).eps
                found[gradient.dtype] = max(size, found.get(gradient.dtype, 0.0))
    return found


def _place(path: str) -> str:
    """A leaf's path, "0.1.mask" in (args, kwargs), in words."""
    kind, _, rest = path.partition(".")
    return {"0": f"argument {rest}", "1": rest}.get(kind, path)


def _tidy(text: str) -> str:
    return text.replace("after the call[0]", "after the call")


def _type(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


def said(error: BaseException) -> str:
    """What an exception says, in a line; of what Dynamo wraps around one, the inner one."""
    text = " ".join(str(error).split())
    inner = re.search(r"got (\w+\([\"'].*?[\"']\))", text)
    return (inner[1] if inner and type(error).__module__.startswith("torch._dynamo") else text)[
        :160
    ]


def _raised(error: BaseException) -> str:
    return type(error).__qualname__
