"""What a proof calls, and with what: targets made of a module, argument tuples made of sources."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from .build import Plan, construct, plans
from .calls import SEED, seed_all
from .loading import lookup
from .model import Trial
from .mutate import Change, apply_changes
from .recorded import RecordedInputs, by_owner, calls_of, owner_of

Call = tuple[tuple[Any, ...], dict[str, Any]]


class NoInputs(Exception):
    """A source has nothing usable for this trial. Says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is called, and the object whose state it may change (None for a function)."""

    fn: Callable[..., Any]
    owner: Any = None


@dataclass(frozen=True)
class Drive:
    """A source of inputs for one target.

    source  as in `Verdict.source`; `name`: qualified name of what is called
    calls   makes the argument tuples in a module; called with generators seeded
    found   whether the inputs were made up, so that unfit ones are no surprise
    other   whether they are of kinds that no drive before had, to be judged whatever they reach
    """

    source: str
    name: str
    calls: Callable[[types.ModuleType], list[Call]]
    found: bool = False
    owner: Callable[[types.ModuleType], Any] | None = None  # makes the object of a method
    other: bool = False

    def target(self, module: types.ModuleType) -> Target:
        """Make the target anew. Raises NoInputs when it can't be made."""
        seed_all(SEED)
        return make_target(module, self.name, self.owner)


@dataclass(frozen=True)
class Case:
    """One argument tuple: the `index`th of a drive, with changes."""

    drive: Drive
    index: int
    changes: tuple[Change, ...] = field(default=())

    def make(self, module: types.ModuleType) -> Call:
        """Make the arguments anew: the same values for every module of the same meaning."""
        seed_all(SEED)
        args, kwargs = self.drive.calls(module)[self.index]
        return apply_changes(args, kwargs, self.changes)


def make_target(
    module: types.ModuleType, name: str, make: Callable[[types.ModuleType], Any] | None = None
) -> Target:
    """Return what `name` is, ready to be called: classes are instantiated.

    Args:
        make: Makes the instance, if that is known; None from it leaves that to us.

    Raises:
        NoInputs: There is no such thing, or no instance can be made.
    """
    try:
        found = lookup(module, name)
    except AttributeError:
        raise NoInputs(f"`{name}` can't be reached by its name") from None
    given = make(module) if make is not None else None
    holder, _, last = name.rpartition(".")
    if holder:
        try:
            cls = lookup(module, holder)
        except AttributeError:
            raise NoInputs(f"`{holder}` can't be reached by its name") from None
        static = inspect.getattr_static(cls, last, None) if isinstance(cls, type) else None
        if isinstance(static, (staticmethod, classmethod)) or not isinstance(cls, type):
            return Target(unwrap(found))
        owner = given if given is not None else instance_of(module, cls)
        if isinstance(owner, torch.nn.Module) and last in ("forward", "__call__"):
            return Target(owner, owner)
        return Target(unwrap(getattr(owner, last)), owner)
    if isinstance(found, type):
        owner = given if given is not None else instance_of(module, found)
        if not callable(owner):
            raise NoInputs(f"instances of `{name}` can't be called")
        return Target(owner, owner)
    found = unwrap(found)
    if not callable(found):
        raise NoInputs(f"`{name}` can't be called")
    return Target(found, found if isinstance(found, torch.nn.Module) else None)


def instance_of(module: types.ModuleType, cls: type) -> Any:
    """Return a new instance, of its defaults if it has them. Raises NoInputs."""
    try:
        return construct(module, cls)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        raise NoInputs(f"can't make an instance of `{cls.__qualname__}`: {said}") from None


def unwrap(fn: Any) -> Any:
    """Return the function or module that a compiled one stands for."""
    while True:
        inner = getattr(fn, "_orig_mod", None) or getattr(fn, "_torchdynamo_orig_callable", None)
        if inner is None or inner is fn:
            return fn
        fn = inner


def as_calls(value: Any) -> list[Call]:
    """Return argument tuples from a list of tuples, one tuple, or single arguments."""
    rows = value if isinstance(value, list) else [value]
    return [(row if isinstance(row, tuple) else (row,), {}) for row in rows]


def drives(trial: Trial, module: types.ModuleType) -> Iterator[Drive | NoInputs]:
    """Yield the sources for a trial, best first, and why others give nothing."""
    yield from _configured(trial)
    yield from _example(trial, module)
    yield from _recorded(trial)
    for site in trial.sites:
        yield from _searched(module, site.function, dict(site.parameters))


def _configured(trial: Trial) -> Iterator[Drive | NoInputs]:
    for key, expression in trial.inputs.items():
        where, _, name = key.partition(":")
        if where != trial.module or not name:
            continue

        def make(module: types.ModuleType, expression: Any = expression) -> list[Call]:
            return as_calls(eval(str(expression), vars(module)))

        yield Drive("configuration", name, make)


def _example(trial: Trial, module: types.ModuleType) -> Iterator[Drive | NoInputs]:
    made = getattr(module, "example_inputs", None)
    if not callable(made):
        return

    def make(module: types.ModuleType) -> list[Call]:
        return as_calls(module.example_inputs())

    target = getattr(module, "TARGET", None)
    if target is not None:
        name = target if isinstance(target, str) else getattr(target, "__qualname__", "")
        yield Drive("example_inputs()", name, make)
        return
    try:
        seed_all(SEED)
        first = make(module)[0]
    except Exception as error:
        yield NoInputs(f"example_inputs() raises {type(error).__name__}: {error}"[:160])
        return
    wanted = list(dict.fromkeys([*trial.entries, *(site.function for site in trial.sites)]))
    fit = [name for name in wanted if _fits(module, name, first)]
    entries = [name for name in fit if name in trial.entries]
    if len(entries) == 1 or len(fit) == 1:
        yield Drive("example_inputs()", (entries or fit)[0], make)
    elif fit:
        yield NoInputs(f"example_inputs() fits {' and '.join(fit[:3])}: TARGET must name one")
    else:
        yield NoInputs("example_inputs() fits no entry point, and there is no TARGET")


def _fits(module: types.ModuleType, name: str, call: Call) -> bool:
    try:
        found = unwrap(lookup(module, name))
        if isinstance(found, type):
            found = found.forward if issubclass(found, torch.nn.Module) else found.__call__
            inspect.signature(found).bind(None, *call[0])
        elif "." in name:
            inspect.signature(found).bind(None, *call[0])  # type: ignore[arg-type]
        else:
            inspect.signature(found).bind(*call[0])  # type: ignore[arg-type]
    except (AttributeError, TypeError, ValueError):
        return False
    return True


def _recorded(trial: Trial) -> Iterator[Drive | NoInputs]:
    if not trial.recorded:
        return
    try:
        records = RecordedInputs.read(trial.recorded)
    except (OSError, ValueError) as error:
        yield NoInputs(f"recorded inputs can't be read: {error}")
        return
    # What was seen of the changed functions themselves; then of what reaches them.
    names = [*(site.function for site in trial.sites), *trial.entries]
    for name in dict.fromkeys(names):
        for rows in by_owner(records.of(trial.module, name)):
            yield Drive(
                "recorded",
                name,
                lambda module, rows=rows: calls_of(rows, module),
                owner=lambda module, rows=rows: owner_of(rows, module),
            )


def _planned(plan: Plan, module: types.ModuleType) -> list[Call]:
    return [plan.make(module)]


def _searched(
    module: types.ModuleType, name: str, specs: dict[str, Any]
) -> Iterator[Drive | NoInputs]:
    try:
        target = make_target(module, name)
    except NoInputs as why:
        yield why
        return
    found = False
    try:
        for plan in plans(module, target.fn, target.owner, specs):
            found = True
            make = partial(_planned, plan)
            yield Drive("search", name, make, True, other=plan.other)
    except (TypeError, ValueError) as error:
        yield NoInputs(f"arguments of `{name}` can't be made up: {error}")
        return
    if not found:
        yield NoInputs(f"no arguments were found on which `{name}` runs")
