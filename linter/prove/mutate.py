"""Arguments changed to drive other branches: values of tensors and plain values, never shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch

from .literals import FLOATING, Literals
from .values import leaves, replace

# (path of a leaf, "*" for all tensors, "self" for the target's weights, "flag" for an attribute of
# it or "mode" for what the call stands in; what to do, or the attribute; number or value)
Change = tuple[str, str, Any]

_FLOATS = (
    "zero one neg abs minus_abs tiny huge random nan_one inf_one minus_inf_one nan half_zero "
    "sorted mixed large_one"
).split()
_INTS = "zero one neg random shuffle sorted plus minus large".split()
_BOOLS = "all none one_true one_false random flip".split()
_STATES = "flip zero one neg huge tiny nan_one abs minus_abs plus large".split()
NANS = ("nan", "nan_one")
FINITE = ("neg", "random", "tiny")
_DTYPES = {name: getattr(torch, name) for name in FLOATING}
SPECIAL = frozenset(("nan_one", "inf_one", "minus_inf_one", "nan"))


def apply_changes(
    args: tuple[Any, ...], kwargs: dict[str, Any], changes: Sequence[Change]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with changes made, other than those of "self", "flag" and "mode"."""
    for number, change in enumerate(changes):
        if change[0] not in ("self", "flag", "mode"):
            args, kwargs = replace((args, kwargs), partial(_changed, change, number))
    return args, kwargs


def _changed(change: Change, number: int, path: str, leaf: Any) -> Any:
    where, what, value = change
    if isinstance(leaf, torch.Tensor):
        return _tensor(leaf, what, value, number) if where in ("*", path) else leaf
    return value if path == where and what == "value" else leaf


def change_state(owner: torch.nn.Module, changes: Sequence[Change]) -> None:
    """Make the changes of "self" and "flag": parameters and buffers are changed in place."""
    for number, (where, what, value) in enumerate(changes):
        if where == "flag":
            setattr(owner, what, value)
        if where == "self":
            for tensor in [*owner.parameters(), *owner.buffers()]:
                if what in _DTYPES:
                    tensor.data = _tensor(tensor.data, what, None, number)
                elif what in _kinds(tensor):
                    with torch.no_grad():
                        tensor.copy_(_tensor(tensor.detach(), what, value, number))


def candidates(
    call: tuple[Any, Any], literals: Literals, owner: Any
) -> Iterator[tuple[Change, ...]]:
    """Yield changes worth trying, the likeliest first: all tensors, then each leaf by itself.

    Args:
        literals: What the code compares with.
        owner: The object called; a module has weights and modes.
    """
    found = leaves(call)
    numbers, strings = literals.numbers, literals.strings
    near = list(dict.fromkeys(x for n in numbers for x in (n, n + 1, n - 1, -n, n * 2, n * 0.5)))
    some = [leaf for _, leaf in found if isinstance(leaf, torch.Tensor)]
    if some:
        floats = any(t.is_floating_point() for t in some)
        kinds = _FLOATS if floats else []
        if any(t.dtype == torch.bool for t in some):
            kinds = [*kinds, *_BOOLS]
        if any(not t.is_floating_point() and t.dtype != torch.bool for t in some):
            kinds = [*kinds, *_INTS]
        for kind in dict.fromkeys(kinds):
            yield (("*", kind, None),)
    for name in literals.dtypes:
        changed = ("*", name, None)
        yield (changed, ("self", name, None)) if owner_state(owner) else (changed,)
    for path, leaf in found:
        if isinstance(leaf, torch.Tensor):
            for kind in _kinds(leaf):
                yield ((path, kind, None),)
            for number in near:
                if leaf.is_floating_point() or number == int(number):
                    if leaf.dtype != torch.bool and not leaf.is_complex():
                        yield ((path, "fill", number),)
        else:
            for value in _plain(leaf, numbers, strings):
                yield ((path, "value", value),)
    if isinstance(owner, torch.nn.Module):
        yield from ((("mode", kind, None),) for kind in ("eval", "train"))
        for name in literals.flags:
            flag = getattr(owner, name, None)
            if isinstance(flag, bool) and name != "training":
                yield (("flag", name, not flag),)
    yield from ((("mode", kind, None),) for kind in ("no_grad", "inference"))
    if owner_state(owner):
        known = {kind for t in (*owner.parameters(), *owner.buffers()) for kind in _kinds(t)}
        yield from ((("self", kind, None),) for kind in _STATES if kind in known)


def _kinds(leaf: torch.Tensor) -> Sequence[str]:
    if leaf.dtype == torch.bool:
        return _BOOLS
    return _FLOATS if leaf.is_floating_point() else () if leaf.is_complex() else _INTS


def _plain(leaf: Any, numbers: Sequence[float], strings: Sequence[str]) -> Iterator[Any]:
    if isinstance(leaf, bool):
        yield not leaf
    elif isinstance(leaf, int):
        whole = [int(n) for n in numbers if n == int(n)]
        tries = dict.fromkeys([0, 1, 2, 3, 5, -1, *whole, *(n + 1 for n in whole)])
        yield from (n for n in tries if n != leaf and abs(n) < 64)
    elif isinstance(leaf, float):
        tries = [0.0, 1.0, 0.5, -1.0, 10.0, 1e-3, *map(float, numbers)]
        tries += [float(n) + 1 for n in numbers] + [float(n) - 1 for n in numbers]
        yield from (n for n in dict.fromkeys(tries) if n != leaf)
    elif isinstance(leaf, str):
        yield from (text for text in strings if text != leaf)


def _tensor(old: torch.Tensor, what: str, value: Any, number: int) -> torch.Tensor:
    """A tensor of the same kind with other values; the same one where `what` isn't for it."""
    if what in _DTYPES:
        if not old.is_floating_point():
            return old
        return old.detach().to(_DTYPES[what]).requires_grad_(old.requires_grad)
    if what not in _kinds(old) and what != "fill":
        return old
    new = old.detach().clone(memory_format=torch.preserve_format)
    generator = torch.Generator().manual_seed(number + 7)
    flat = new.reshape(-1)
    made = _of(flat, what, value, generator)
    if made is None:
        return old
    new.copy_(made.reshape(new.shape))
    if isinstance(old, torch.nn.Parameter):
        return torch.nn.Parameter(new, old.requires_grad)
    return new.requires_grad_(old.requires_grad) if new.is_floating_point() else new


def _of(flat: torch.Tensor, what: str, value: Any, g: torch.Generator) -> torch.Tensor | None:
    count = flat.numel()
    if what == "fill":
        return torch.full_like(flat, value)
    if count == 0:
        return None
    if flat.dtype == torch.bool:
        return _bools(flat, what, g)
    if not flat.is_floating_point():
        return _ints(flat, what, g)
    noise = torch.randn(count, generator=g).to(flat)
    at = int(torch.randint(count, (), generator=g))
    one = flat.clone()
    one[at] = {"inf_one": float("inf"), "minus_inf_one": float("-inf"), "large_one": 1e4}.get(
        what, float("nan")
    )
    simple = {
        "zero": lambda: torch.zeros_like(flat),
        "one": lambda: torch.ones_like(flat),
        "neg": lambda: -flat,
        "abs": flat.abs,
        "minus_abs": lambda: -flat.abs(),
        "tiny": lambda: flat * 1e-3,
        "huge": lambda: flat * 1e3,
        "random": lambda: noise,
        "nan": lambda: torch.full_like(flat, float("nan")),
        "half_zero": lambda: torch.where(noise > 0, flat, torch.zeros_like(flat)),
        "sorted": lambda: flat.sort()[0],
        "mixed": lambda: noise * torch.logspace(-3, 3, count).to(flat),
    }
    return simple[what]() if what in simple else one


def _bools(flat: torch.Tensor, what: str, g: torch.Generator) -> torch.Tensor:
    at = int(torch.randint(flat.numel(), (), generator=g))
    if what == "random":
        return torch.rand(flat.numel(), generator=g).to(flat.device) > 0.5
    if what == "flip":
        return ~flat
    made = torch.full_like(flat, what in ("all", "one_false"))
    if what in ("one_true", "one_false"):
        made[at] = what == "one_true"
    return made


def _ints(flat: torch.Tensor, what: str, g: torch.Generator) -> torch.Tensor:
    low, high = int(flat.min()), int(flat.max())
    order = torch.randperm(flat.numel(), generator=g).to(flat.device)
    simple = {
        "zero": lambda: torch.zeros_like(flat),
        "one": lambda: torch.ones_like(flat),
        "neg": lambda: -flat,
        "random": lambda: torch.randint(low, high + 1, (flat.numel(),), generator=g).to(flat),
        "shuffle": lambda: flat[order],
        "sorted": lambda: flat.sort()[0],
        "plus": lambda: flat + 1,
        "minus": lambda: flat - 1,
        "large": lambda: flat * 7 + 3,
    }
    return simple[what]()


def is_finite(call: Any) -> bool:
    """Whether every floating value among the arguments is finite."""
    for _, leaf in leaves(call):
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and not leaf.is_meta:
            if not bool(torch.isfinite(leaf).all()):
                return False
    return True


def owner_state(owner: Any) -> bool:
    """Whether a target has weights or buffers that `change_state` could change."""
    if not isinstance(owner, torch.nn.Module):
        return False
    return any(True for _ in owner.parameters()) or any(True for _ in owner.buffers())


def owner_weights(owner: Any) -> bool:
    """Whether a target has weights."""
    return isinstance(owner, torch.nn.Module) and any(True for _ in owner.parameters())
