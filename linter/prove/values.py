"""Values of any kind: leaves found and replaced, kept as they are now, and compared."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

_DEPTH = 12
_MANY = 20_000
# torch.testing's tolerances: (relative, absolute)
TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_QUIET = frozenset(
    "_parameters _buffers _modules _backward_hooks _backward_pre_hooks _forward_hooks "
    "_forward_pre_hooks _state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks "
    "_load_state_dict_post_hooks _non_persistent_buffers_set _is_full_backward_hook "
    "_compiled_call_impl _forward_hooks_with_kwargs _forward_hooks_always_called "
    "_forward_pre_hooks_with_kwargs call_super_init dump_patches".split()
)


@dataclass(frozen=True, slots=True)
class Kept:
    """A value as it was: `kind` of node, its type's name, and what it holds by path."""

    kind: str
    type: str
    value: Any = None
    items: tuple[tuple[Any, Any], ...] = ()


def is_array(value: Any) -> bool:
    """Whether it is a NumPy array or scalar."""
    return type(value).__module__ == "numpy" and hasattr(value, "__array_interface__")


def replace(value: Any, change: Callable[[str, Any], Any], path: str = "") -> Any:
    """Return the value with every leaf given to `change`, with its path ("0.mask", "1[2]").

    Containers are made anew; other objects are changed in place. What is the same object in two
    places is changed once.
    """
    return _replace(value, change, path, {}, 0)


def _replace(
    value: Any, change: Any, path: str, done: dict[int, Any], depth: int, every: bool = False
) -> Any:
    if isinstance(value, _PLAIN):
        return change(path, value)
    if every and isinstance(value, torch.Tensor):
        return change(path, value)
    if id(value) in done:
        return done[id(value)][1]

    def again(part: Any, name: str) -> Any:
        return _replace(part, change, f"{path}.{name}" if path else name, done, depth + 1, every)

    new = value
    if isinstance(value, torch.Tensor) or is_array(value):
        new = change(path, value)
    elif depth > _DEPTH or isinstance(value, (type, types.ModuleType, types.FunctionType)):
        pass
    elif type(value) in (list, set, frozenset):
        new = type(value)(again(part, str(i)) for i, part in enumerate(value))
    elif isinstance(value, tuple):
        parts = [again(part, str(i)) for i, part in enumerate(value)]
        new = type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    elif type(value) in (dict, collections.OrderedDict, collections.defaultdict):
        for key in list(value):
            value[key] = again(value[key], str(key))
    elif hasattr(value, "__dict__") and not isinstance(value, torch.nn.Module):
        for key, part in list(vars(value).items()):
            if isinstance(part, (torch.Tensor, *_PLAIN, list, tuple, dict)) and key[:2] != "__":
                fresh = again(part, key)
                if fresh is not part:
                    try:
                        setattr(value, key, fresh)
                    except (AttributeError, TypeError):  # frozen: it stays as it is
                        continue
    done[id(value)] = (value, new)  # with the value, so that its id stays its own
    return new


def leaves(value: Any, every: bool = False) -> list[tuple[str, Any]]:
    """Return (path, leaf) of tensors, arrays and plain values.

    `every`: a tensor that is in several places is listed for each.
    """
    found: list[tuple[str, Any]] = []

    def note(path: str, leaf: Any) -> Any:
        found.append((path, leaf))
        return leaf

    _replace(value, note, "", {}, 0, every)
    return found


def tensors(value: Any) -> list[torch.Tensor]:
    """Return the tensors in a value."""
    return [leaf for _, leaf in leaves(value) if isinstance(leaf, torch.Tensor)]


class Keeper:
    """Makes `Kept` values.

    Args:
        own: Whether a class belongs to the project: instances of others are only compared by type.
        base: Clones of tensors, by id, as they once were: those that still are so needn't be
            copied, which saves a model's weights at every call. (Version counters don't tell:
            batch normalisation writes its buffers without.)
    """

    def __init__(
        self,
        own: Callable[[type], bool] = lambda cls: False,
        base: Mapping[int, tuple[torch.Tensor, Kept]] | None = None,
    ) -> None:
        self.own, self.base = own, base or {}
        self.seen: dict[int, int] = {}
        self.hold: list[Any] = []

    def keep(self, value: Any, depth: int = 0) -> Kept:
        """Return the value as it is now; tensors are copied."""
        name = _type_name(value)
        if isinstance(value, _PLAIN):
            return Kept("plain", name, value)
        if id(value) in self.seen:
            return Kept("seen", name, self.seen[id(value)])
        if depth > _DEPTH or len(self.seen) > _MANY:
            return Kept("opaque", name)
        self.seen[id(value)] = len(self.seen)
        self.hold.append(value)
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if is_array(value):
            return Kept("array", name, value.copy())
        return Kept(*self.parts(value, name, depth + 1))

    def tensor(self, value: torch.Tensor) -> Kept:
        """A tensor and, for a leaf, its gradient."""
        known = self.base.get(id(value))
        grad = value.grad if value.is_leaf else None
        if known is not None and grad is None and _equal(value, known[1].value):
            return known[1]
        items = () if grad is None else (("grad", Kept("tensor", "Tensor", _copy(grad))),)
        return Kept("tensor", _type_name(value), _copy(value), items)

    def parts(self, value: Any, name: str, depth: int) -> tuple[str, str, Any, Any]:
        if isinstance(value, (types.GeneratorType, map, filter, zip)):
            return "opaque", name, None, ()
        if isinstance(value, (list, tuple, collections.deque)):
            items = tuple((i, self.keep(part, depth)) for i, part in enumerate(value))
            return "items", name, len(items), items
        if isinstance(value, (set, frozenset)):
            if all(isinstance(part, _PLAIN) for part in value):
                return "plain", name, frozenset(value), ()
            return "items", name, len(value), ()
        if isinstance(value, dict):
            items = tuple((key, self.keep(part, depth)) for key, part in value.items())
            return "mapping", name, len(items), items
        if isinstance(value, (torch.dtype, torch.device, torch.Size)):
            return "plain", name, str(value), ()
        if isinstance(value, torch.Generator):
            return "tensor", name, value.get_state(), ()
        if isinstance(value, torch.nn.Module):
            return "object", name, None, tuple(self.module(value, depth))
        if callable(value) or not (self.own(type(value)) or hasattr(value, "__dataclass_fields__")):
            return "opaque", name, None, ()
        slots = [s for cls in type(value).__mro__ for s in getattr(cls, "__slots__", ())]
        names = [*getattr(value, "__dict__", ()), *(s for s in slots if hasattr(value, s))]
        items = tuple((n, self.keep(getattr(value, n, None), depth)) for n in names)
        return "object", name, None, items

    def module(self, module: torch.nn.Module, depth: int) -> Iterator[tuple[Any, Kept]]:
        for group in (module._parameters, module._buffers, module._modules):
            for key, part in group.items():
                yield key, self.keep(part, depth)
        for key, part in vars(module).items():
            if key not in _QUIET:
                yield key, self.keep(part, depth)


def steady(first: Kept, second: Kept) -> Kept:
    """Return `first`, with plain values that a second run gave otherwise (clocks) left open."""
    if first.kind == second.kind == "plain":
        a, b = first.value, second.value  # what is computed is the same to the last bit
        return first if a == b or (a != a and b != b) else Kept("open", first.type)
    others = dict(second.items)
    items = tuple((k, steady(part, others[k]) if k in others else part) for k, part in first.items)
    return Kept(first.kind, first.type, first.value, items)


def recast(left: Kept, right: Kept) -> Kept:
    """Return `left`, tensors in the wider types that `right` has in their places."""
    if left.kind == right.kind == "tensor":
        a, b = left.value, right.value
        wider = torch.promote_types(a.dtype, b.dtype) == b.dtype or a.is_floating_point()
        fits = wider and b.is_floating_point()
        return Kept("tensor", left.type, a.to(b.dtype), left.items) if fits else left
    others = dict(right.items)
    items = tuple((k, recast(part, others[k]) if k in others else part) for k, part in left.items)
    return Kept(left.kind, left.type, left.value, items)


def differs(
    left: Kept, right: Kept, what: str, slack: float = 1.0, extra: bool = False
) -> str | None:
    """Return how `right` differs from `left`, None if it doesn't.

    Args:
        what: How to name the value.
        slack: How many times the tolerance of its dtype a tensor may be off.
        extra: They are state: `right` may have what `left` has not, and numbers as tensors.
    """
    if left.kind == "open" and right.kind == "plain":
        return None
    if extra and left.kind == "plain" and right.kind == "tensor" and right.value.numel() == 1:
        # A counter that became a buffer: what it counts is what it counted.
        return _plain_differs(left.value, right.value.item(), what, slack)
    if left.kind != right.kind or left.type != right.type:
        numbers = {"plain", "tensor", "array"}
        if left.kind in numbers or right.kind in numbers or left.kind != right.kind:
            if "seen" in (left.kind, right.kind) and left.type == right.type:
                return None  # the same value in two places: aliasing is judged elsewhere
            return f"{what} is {_said(right)}, not {_said(left)}"
        return f"{what} is a {right.type}, not a {left.type}"
    if left.kind == "tensor":
        found = tensor_differs(left.value, right.value, what, slack)
        if found is None and left.items and right.items:
            grads = left.items[0][1].value, right.items[0][1].value
            return tensor_differs(*grads, f"{what}.grad", slack * 4)
        if found is None and bool(left.items) != bool(right.items):
            return f"{what}.grad is {'set' if right.items else 'not set'}"
        return found
    if left.kind == "plain":
        return _plain_differs(left.value, right.value, what, slack)
    if left.kind == "array":
        return tensor_differs(_of_array(left.value), _of_array(right.value), what, slack)
    if left.kind in ("items", "mapping") and left.value != right.value and not extra:
        return f"{what} has {right.value} items, not {left.value}"
    others = dict(right.items)
    for key, part in left.items:
        name = f"{what}.{key}" if left.kind == "object" else f"{what}[{key!r}]"
        if key not in others:
            if extra:
                continue
            return f"{name} is missing"
        if found := differs(part, others[key], name, slack, extra and left.kind == "object"):
            return found
    return None


def tensor_differs(
    left: Any, right: Any, what: str, slack: float = 1.0, noise: float = 0.0
) -> str | None:
    """Return how two tensors differ, None if they don't. NaN equals NaN.

    Args:
        noise: What elements may be off by in any case.
    """
    for name in ("dtype", "shape", "device", "layout"):
        a, b = getattr(left, name), getattr(right, name)
        if a != b:
            a, b = (tuple(a), tuple(b)) if name == "shape" else (a, b)
            return f"the {name} of {what} is {b}, not {a}"
    if left.is_meta:
        return None
    if left.layout != torch.strided or left.is_quantized:
        left, right = (t.dequantize() if t.is_quantized else t.to_dense() for t in (left, right))
    if torch.equal(left, right) or left.numel() == 0:
        return None
    if left.dtype not in TOLERANCES:
        if left.is_floating_point():  # the eight-bit kinds: compared exactly, as wider numbers
            return tensor_differs(left.float(), right.float(), what, slack, noise)
        bad = left != right
        return _worst(left, right, bad, what) if bool(bad.any()) else None
    relative, absolute = TOLERANCES[left.dtype]
    wide = torch.complex128 if left.is_complex() else torch.float64
    a, b = left.to(wide), right.to(wide)
    finite = torch.isfinite(a)
    scale = float(a[finite].abs().max()) if bool(finite.any()) else 1.0
    # Sums of large terms lose what is small beside them: for compiled code that is no difference.
    floor = absolute * max(1.0, scale) if slack > 1 else absolute
    close = (a - b).abs() <= slack * (floor + relative * a.abs()) + noise
    good = (close & finite) | (a == b) | (torch.isnan(a) & torch.isnan(b))
    return None if bool(good.all()) else _worst(a, b, ~good, what)


def _worst(a: torch.Tensor, b: torch.Tensor, bad: torch.Tensor, what: str) -> str:
    first = bad.flatten().nonzero()[0, 0]
    want, got = (t.flatten()[first].item() for t in (a, b))
    shown = f"{_number(got)} against {_number(want)}"
    count = int(bad.sum())
    if count > 1:
        shown += f", {count} of {bad.numel()} elements"
    return f"{what} differs: {shown}"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain_differs(left: Any, right: Any, what: str, slack: float) -> str | None:
    if left == right or (left != left and right != right):
        return None
    if isinstance(left, float) and isinstance(right, float):
        if abs(left - right) <= slack * (1e-5 + 1.3e-6 * abs(left)):
            return None
    return f"{what} is {right!r}, not {left!r}"[:200]


def _said(kept: Kept) -> str:
    return repr(kept.value)[:60] if kept.kind == "plain" else f"a {kept.type.rpartition('.')[2]}"


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a.detach(), b)


def _copy(value: torch.Tensor) -> torch.Tensor:
    return value.detach().clone()


def _of_array(value: Any) -> Any:
    return torch.tensor(value) if value.dtype.kind in "biufc" else torch.tensor(0)


def _type_name(value: Any) -> str:
    cls = type(value)
    return (
        cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    )
