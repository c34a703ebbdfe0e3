"""Calls of torch's functions and tensor methods with arguments made up from ATen schemas.

A part of ``generate_torch_facts.py``. What no table of torch says is measured on these calls:
the tags of composite operators (they stop under ``FakeTensorMode`` where the operators they are
made of would) and whether Dynamo really captures what its rules send to the graph.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch._dynamo
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)

DATA_TAGS = ("data_dependent_output", "dynamic_output_shape")
SHAPES: tuple[tuple[int, ...], ...] = ((3, 3), (3,), (), (2, 3, 4, 4), (2, 3, 4))
# What the tensor parameters are, in order; the last one holds for the rest.
DTYPES = ("f", "fi", "fb", "i", "b", "bf", "if", "ffi", "fbf", "fif", "c")
# Functions that end or wait for something, or change the process that measures.
UNSAFE = re.compile(r"set_|reset|init|fork|sync|compile|wait|start|stop|destroy|barrier|freeze")


def tensor(letter: str, shape: tuple[int, ...]) -> torch.Tensor:
    if letter == "i":
        return torch.ones(shape, dtype=torch.int64)
    if letter == "b":
        return torch.ones(shape, dtype=torch.bool)
    if letter == "c":
        return torch.ones(shape, dtype=torch.complex64)
    return torch.eye(3) + 0.1 if shape == (3, 3) else torch.full(shape, 0.5)


def value(kind: str, name: str, shape: tuple[int, ...], letter: str, number: int) -> Any:
    """A value for a schema parameter; raises KeyError for types no plain call can give."""
    if kind == "Tensor":
        return tensor(letter, shape)
    if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
        return [tensor(letter, shape), tensor(letter, shape)]
    if kind in ("List[int]", "List[SymInt]"):
        sizes = {"dim": [0], "dims": [0], "permute": [*range(len(shape))][::-1]}
        if name in ("size", "sizes", "shape", "output_size") or "size" in name:
            return list(shape) if "kernel" not in name else [1] * max(len(shape) - 2, 1)
        if name == "dims":
            return [*range(len(shape))]
        return sizes.get(name, [1] * max(len(shape), 1))
    if kind in ("int", "SymInt"):
        return 0 if "dim" in name or "axis" in name else number
    return {
        "number": 1, "Scalar": 1, "float": 0.5, "bool": False, "str": "mean",
        "Device": torch.device("cpu"), "ScalarType": torch.float32, "Layout": torch.strided,
    }[kind]  # fmt: skip


def calls(schema: Any, optional: bool = False) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Arguments to try for one overload: the required ones, or the optional numbers as well.

    An option can be what keeps an operator from looking at the data (``num_classes``).
    """
    needed = [a for a in schema.arguments if not a.has_default_value() and not a.is_out]
    options = [a for a in schema.arguments if a.has_default_value() and number_type(a)]
    seen = set()
    for shape in SHAPES:
        for pattern in DTYPES:
            letters = iter(pattern)
            letter = pattern[-1]
            args: list[Any] = []
            kwargs: dict[str, Any] = {}
            used = ""
            try:
                for a in needed:
                    if "Tensor" in str(a.type):
                        letter = next(letters, letter)
                        used += letter
                    made = value(str(a.type), a.name, shape, letter, 1)
                    if a.kwarg_only:
                        kwargs[a.name] = made
                    else:
                        args.append(made)
            except KeyError:
                return
            if optional:
                kwargs.update(
                    (a.name, value(number_type(a), a.name, shape, "", 3)) for a in options
                )
            if (shape, used) not in seen:
                seen.add((shape, used))
                yield args, kwargs


def number_type(argument: Any) -> str:
    """``int`` for ``int`` and ``Optional[int]``; empty for what is no whole number."""
    found = re.fullmatch(r"(?:Optional\[)?(int|SymInt)\]?", str(argument.type))
    return found.group(1) if found else ""


def ways(overload: Any) -> tuple[bool, ...]:
    """Values of ``optional`` that make a difference for ``calls``."""
    some = any(a.has_default_value() and number_type(a) for a in overload._schema.arguments)
    return (False, True) if some else (False,)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def working_calls(
    fn: Callable[..., Any], found: list[Any]
) -> Iterator[tuple[list[Any], dict[str, Any], Any]]:
    """For each overload, and with and without options, the first call of ``fn`` that runs."""
    for overload in found:
        for optional in ways(overload):
            for args, kwargs in calls(overload._schema, optional):
                try:
                    with torch.no_grad(), quiet():
                        result = fn(*copied(args), **kwargs)
                except Exception:  # the guess at the arguments was wrong
                    continue
                yield args, kwargs, result
                break


def copied(args: list[Any]) -> list[Any]:
    return [a.clone() if isinstance(a, torch.Tensor) else a for a in args]


def zero_argument_call(fn: Callable[..., Any], dotted: str) -> bool:
    """Can ``fn()`` be called here, safely and with success?"""
    if UNSAFE.search(dotted.rpartition(".")[2]) or inspect.isclass(fn):
        return False
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        if not (fn.__doc__ or "").lstrip().startswith(f"{dotted.rpartition('.')[2]}()"):
            return False
        parameters = ()
    if any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
           for p in parameters):  # fmt: skip
        return False
    try:
        with quiet():
            fn()
    except Exception:  # needs a device, a process group, arguments after all
        return False
    return True


def captured(fn: Callable[..., Any], args: list[Any], kwargs: Mapping[str, Any]) -> str | None:
    """None when ``fn(*args)`` compiles with ``fullgraph=True``, else the error's first line.

    Some in-place operators break on what was given to the graph, not on what was made in it, so
    both are tried.
    """

    def given(x: Any, *rest: Any) -> Any:
        result = fn(*rest, **kwargs)
        # Handing another object out of the graph is a question of its own.
        return result if isinstance(result, torch.Tensor) else x

    def made(x: Any, *rest: Any) -> Any:
        result = fn(*[r.clone() if isinstance(r, torch.Tensor) else r for r in rest], **kwargs)
        return result if isinstance(result, torch.Tensor) else x

    error = None
    for call in (given, made):
        torch._dynamo.reset()
        try:
            with torch.no_grad(), quiet():
                torch.compile(call, backend="eager", fullgraph=True)(torch.ones(2), *copied(args))
        except Exception as caught:  # any failure to capture counts
            error = error or str(caught).split("\n", 1)[0].strip() or type(caught).__name__
        else:
            return None
    return error


def measured_break(
    fn: Callable[..., Any], dotted: str, found: list[Any], types: Mapping[str, str]
) -> str | None:
    """The graph-break id that *every* working call of ``fn`` stops with under fullgraph."""
    first = None
    for args, kwargs, _ in working_calls(fn, found):
        error = captured(fn, args, kwargs)
        if error is None:
            return None
        first = first or error
    if not found and zero_argument_call(fn, dotted):
        first = captured(fn, [], {})
    return None if first is None else types.get(first)


def measured_member_break(name: str, is_property: bool, types: Mapping[str, str]) -> str | None:
    """The same for a property, or a method that stands for no ATen operator."""
    expression = f"x.{name}" if is_property else f"x.{name}(*rest)"
    member = eval(f"lambda x, *rest: {expression}")  # names of torch.Tensor
    first = None
    for letter in "fi":
        for rest in ((), (0,), (torch.ones(3, 3),), ("cpu",), (torch.float64,), ((3, 3),)):
            args = [tensor(letter, (3, 3)), *rest]
            try:
                with torch.no_grad(), quiet():
                    member(*copied(args))
            except Exception:  # the guess at the arguments was wrong
                continue
            error = captured(member, args, {})
            if error is None:
                return None
            first = first or error
            break
    return None if first is None else types.get(first)


def method_function(name: str) -> Callable[..., Any]:
    """``lambda x, *args: x.name(*args)``: Dynamo treats the unbound method differently."""
    return eval(f"lambda x, *args, **kwargs: x.{name}(*args, **kwargs)")


def with_traced_tags(tags: set[str], fn: Callable[..., Any], found: list[Any]) -> set[str]:
    """``tags`` and those that calls on fake tensors show; ``maybe_`` when other calls get through.

    An operator may be tagged for the sake of its default options (``one_hot``).
    """
    outcomes = {
        traced_outcome(fn, overload, optional) for overload in found for optional in ways(overload)
    } - {"none"}
    sure = {t for t in tags if t in DATA_TAGS} | (outcomes - {"passed"})
    if "passed" not in outcomes:
        return tags | sure
    return (tags - sure) | {"maybe_" + tag for tag in sure}


def traced_outcome(fn: Callable[..., Any], overload: Any, optional: bool) -> str:
    """``passed``, a tag, or ``none`` when no guess at the arguments was right."""
    for args, kwargs in calls(overload._schema, optional):
        try:
            with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad(), quiet():
                fn(*[fake(mode, a) for a in args], **kwargs)
            return "passed"
        except DynamicOutputShapeException:
            return "dynamic_output_shape"
        except DataDependentOutputException:
            return "data_dependent_output"
        except Exception:  # the guess at the arguments was wrong
            continue
    return "none"


def fake(mode: FakeTensorMode, given: Any) -> Any:
    if isinstance(given, list):
        return [fake(mode, element) for element in given]
    return mode.from_tensor(given) if isinstance(given, torch.Tensor) else given
