"""Arguments made up from what the linter knows of parameters, and objects made of their classes."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

_TRIES = 1500
_SECONDS = 20.0  # for finding arguments on which a function runs
_PLANS = 3
_OTHERS = 4  # plans besides those, for parameters that take tensors and other things
_RANKS = (2, 1, 3, 4, 0)
_SIZES = {0: (), 1: (5,), 2: (3, 5), 3: (2, 3, 5), 4: (2, 3, 5, 5), 5: (2, 3, 2, 5, 5)}
_DTYPES = {str(d)[6:]: d for d in (torch.float16, torch.bfloat16, torch.float32, torch.float64)}
_DTYPES |= {str(d)[6:]: d for d in (torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)}
_DTYPES |= {"uint8": torch.uint8, "float": torch.float32, "long": torch.int64, "int": torch.int32}
_WIDTH = 4  # what required sizes of constructors are set to: equal ones fit each other


@dataclass(frozen=True, slots=True)
class Want:
    """One parameter's candidates: ("tensor", shape, dtype) or ("value", anything).

    `several` says that it is known to take tensors and other things: then both are to be tried.
    """

    name: str
    options: tuple[tuple[Any, ...], ...]
    positional: bool = True
    several: bool = False


@dataclass(frozen=True)
class Plan:
    """A choice for every parameter."""

    picks: tuple[tuple[str, tuple[Any, ...], bool], ...]
    other: bool = False  # the same arguments as another plan's, but one is of another kind

    def make(self, module: types.ModuleType) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Make the arguments; draws from torch's generator."""
        args, kwargs = [], {}
        for name, pick, positional in self.picks:
            value = _made(pick, module)
            if positional:
                args.append(value)
            else:
                kwargs[name] = value
        return tuple(args), kwargs


def plans(
    module: types.ModuleType, fn: Callable[..., Any], owner: Any, specs: dict[str, Any]
) -> Iterator[Plan]:
    """Yield choices on which `fn` runs eagerly, of different shapes where several do."""
    wants = wanted(fn, owner, specs)
    shown: set[Any] = set()
    ranked = sorted(
        itertools.islice(itertools.product(*(range(len(w.options)) for w in wants)), 40 * _TRIES),
        key=lambda pick: (_spread(wants, pick), sum(pick)),
    )
    deadline = time.monotonic() + _SECONDS
    for pick in ranked[:_TRIES]:
        if time.monotonic() > deadline:
            return
        plan = Plan(tuple((w.name, w.options[i], w.positional) for w, i in zip(wants, pick)))
        kinds = tuple(o[1] if o[0] == "tensor" else None for _, o, _ in plan.picks)
        if kinds in shown:
            continue
        if not _runs(plan, module, fn):
            continue
        shown.add(kinds)
        yield plan
        if len(shown) == 1:
            others = _others(plan, wants)
            yield from itertools.islice((p for p in others if _runs(p, module, fn)), _OTHERS)
        if len(shown) >= _PLANS:
            return


def _runs(plan: Plan, module: types.ModuleType, fn: Callable[..., Any]) -> bool:
    """Whether a function runs, or means not to."""
    torch.manual_seed(0)
    try:
        args, kwargs = plan.make(module)
        with torch.no_grad():
            fn(*args, **kwargs)
    except (Exception, SystemExit) as error:
        return _deliberate(error, fn)
    return True


def _others(plan: Plan, wants: list[Want]) -> Iterator[Plan]:
    """A plan with a tensor in place of something else, and something else of a tensor."""
    for place, want in enumerate(wants):
        if not want.several:
            continue
        name, pick, positional = plan.picks[place]
        seen = {_class(pick)}
        for option in want.options:
            if _class(option) not in seen:
                seen.add(_class(option))
                changed = (name, option, positional)
                yield Plan((*plan.picks[:place], changed, *plan.picks[place + 1 :]), True)


def _class(pick: tuple[Any, ...]) -> str:
    return type(pick[1]).__name__ if pick[0] in ("value", "default") else pick[0]


def _deliberate(error: BaseException, fn: Callable[..., Any]) -> bool:
    """Whether the program itself raised: its statement says so."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code = trace.tb_frame.f_code
    line = linecache.getline(code.co_filename, trace.tb_lineno).strip()
    return line.startswith(("raise", "assert")) and "site-packages" not in code.co_filename


def _spread(wants: list[Want], pick: tuple[int, ...]) -> int:
    """How unalike the shapes and kinds of a choice are: alike ones are the likeliest to fit."""
    shapes = {w.options[i][1:] for w, i in zip(wants, pick) if w.options[i][0] == "tensor"}
    return len(shapes)


def wanted(fn: Callable[..., Any], owner: Any, specs: dict[str, Any]) -> list[Want]:
    """Return what each parameter may be. Raises TypeError, ValueError without a signature."""
    call = fn.forward if isinstance(fn, torch.nn.Module) else fn
    signature = inspect.signature(call)
    widths = _widths(owner)
    found = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        options = list(_options(specs.get(name), parameter, widths))
        positional = parameter.kind is not parameter.KEYWORD_ONLY
        several = (specs.get(name) or ("",))[0] == "either"
        found.append(Want(name, tuple(options), positional, several))
    return found


def _options(
    spec: Any, parameter: inspect.Parameter, widths: list[int]
) -> Iterator[tuple[Any, ...]]:
    """Candidates for a parameter, the likeliest first."""
    kind = spec[0] if spec else "unknown"
    annotation = parameter.annotation
    said = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    said = "" if annotation is parameter.empty else said or str(annotation)
    if kind == "either":
        inner = list(spec[1])
        for one in sorted(inner, key=lambda s: s[0] != "tensor"):
            yield from _options(one, parameter, widths)
        return
    if kind == "tensor":
        yield from _tensors(spec[1], spec[2], spec[4], widths)
        return
    if kind in ("unknown", "static") and parameter.default is not parameter.empty:
        yield ("default", parameter.default)
        if "Tensor" in said and parameter.default is None:
            yield from _tensors(None, "", False, widths)
        return
    if kind == "unknown" and "Tensor" in said and "List" not in said and "list" not in said:
        yield from _tensors(None, "", False, widths)
        return
    yield from _plain(kind, spec, said, widths)


def _plain(kind: str, spec: Any, said: str, widths: list[int]) -> Iterator[tuple[Any, ...]]:
    if kind == "const":
        yield ("value", spec[1])
    elif kind == "array":
        yield ("array", _SIZES[spec[1] if spec[1] is not None else 2], spec[2])
    elif kind == "sequence":
        items = spec[2] if spec[2] is not None else [spec[3], spec[3]]
        inner = [next(_plain_or_tensor(item, widths)) for item in items]
        yield ("sequence", spec[1], tuple(inner))
    elif kind == "mapping":
        pairs = [(key, next(_plain_or_tensor(item, widths))) for key, item in spec[2]]
        yield ("mapping", tuple(pairs))
    elif kind in ("object", "extern"):
        name = spec[-1]
        if kind == "object" and not str(spec[1]).startswith("torch"):
            yield ("instance", spec[1], spec[2])
        elif "Linear" in str(name):
            yield ("linear",)
        else:
            yield ("identity",)
    elif kind == "size" or (kind == "static" and spec[1] in ("int", "size")) or said == "int":
        yield from (("value", n) for n in (3, 2, 5, 1))
    elif kind == "number":
        yield ("value", {"int": 2, "bool": True}.get(spec[1], 0.5))
    elif said in ("bool", "float", "str") or kind == "static":
        word = said if said in ("bool", "float", "str") else spec[1] if spec else ""
        values = {"bool": (False, True), "float": (0.5, 1.0), "str": ("mean", "sum")}
        yield from (("value", v) for v in values.get(word, (2, 0.5, True, None)))
    else:
        yield from _tensors(None, "", False, widths)
        yield from (("value", v) for v in (2, 0.5, None, True))


def _plain_or_tensor(spec: Any, widths: list[int]) -> Iterator[tuple[Any, ...]]:
    empty = inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    yield from _options(spec, empty, widths)


def _tensors(
    rank: int | None, dtype: str, single: bool | None, widths: list[int]
) -> Iterator[tuple[Any, ...]]:
    ranks = (0,) if single and rank is None else _RANKS if rank is None else (rank,)
    known = _DTYPES.get(str(dtype).removeprefix("torch."))
    kinds = (known,) if known else (torch.float32, torch.int64, torch.bool)
    if not known and dtype in ("integer", "floating", "bool"):
        kinds = (_DTYPES[{"integer": "int64", "floating": "float32", "bool": "bool"}[dtype]],)
    for kind in kinds:
        for count in ranks:
            shape = _SIZES.get(count, (2,) * count)
            for width in widths:
                if count:
                    yield ("tensor", (*shape[:-1], width), kind)
                if count > 2:
                    yield ("tensor", (shape[0], width, *shape[2:]), kind)
            yield ("tensor", shape, kind)
        for extra in ((3,), (5, 7), (5, 5), (5, 3)) if rank is None and not single else ():
            yield ("tensor", extra, kind)


def _widths(owner: Any) -> list[int]:
    """Sizes that the layers of an object expect."""
    found: dict[int, None] = {}
    if isinstance(owner, torch.nn.Module):
        for part in owner.modules():
            for name in ("in_features", "in_channels", "num_features", "embed_dim", "input_size"):
                value = getattr(part, name, None)
                if isinstance(value, int):
                    found[value] = None
            shape = getattr(part, "normalized_shape", None)
            if isinstance(shape, tuple) and shape:
                found[shape[-1]] = None
    return list(found)[:3]


def _made(pick: tuple[Any, ...], module: types.ModuleType) -> Any:
    kind = pick[0]
    if kind == "tensor":
        _, shape, dtype = pick
        if dtype == torch.bool:
            return torch.rand(shape) > 0.5
        return torch.randn(shape).to(dtype) if dtype.is_floating_point else _small(shape, dtype)
    if kind == "array":
        return torch.randn(pick[1]).numpy()
    if kind == "sequence":
        items = [_made(part, module) for part in pick[2]]
        return tuple(items) if pick[1] == "tuple" else set(items) if pick[1] == "set" else items
    if kind == "mapping":
        return {key: _made(part, module) for key, part in pick[1]}
    if kind == "linear":
        return torch.nn.Linear(5, 5)
    if kind == "identity":
        return torch.nn.Identity()
    if kind == "instance":
        home = module if pick[1] == module.__name__ else __import__(pick[1], fromlist=["_"])
        cls: Any = home
        for part in pick[2].split("."):
            cls = getattr(cls, part)
        return construct(module, cls)
    return pick[1]


def _small(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.randint(0, 3, shape).to(dtype)


def construct(module: types.ModuleType, cls: type) -> Any:
    """Make an instance: of defaults, of what the module itself passes, or of typical sizes.

    Raises:
        Exception: The last thing that the constructor said.
    """
    failure: BaseException | None = None
    for args, kwargs in _arguments(module, cls):
        try:
            return cls(*args, **kwargs)
        except Exception as error:
            failure = failure or error
    raise failure or TypeError("no arguments to try")


def _arguments(module: types.ModuleType, cls: type) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    yield [], {}
    yield from _seen_arguments(module, cls)
    try:
        signature = inspect.signature(cls)
    except (TypeError, ValueError):
        return
    for width in (_WIDTH, 8, 3, 1):
        kwargs: dict[str, Any] = {}
        for name, parameter in signature.parameters.items():
            variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if variadic or parameter.default is not parameter.empty:
                continue
            kwargs[name] = _argument(parameter, width)
        yield [], kwargs


def _argument(parameter: inspect.Parameter, width: int) -> Any:
    annotation = parameter.annotation
    said = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    name = parameter.name
    if said == "float" or name in ("eps", "p", "rate", "dropout", "lr", "momentum", "scale"):
        return 0.5
    if said == "bool":
        return True
    if said == "str":
        return "mean"
    if "Module" in said or name in ("module", "model", "net", "layer", "block", "backbone"):
        return torch.nn.Linear(width, width)
    if "Tensor" in said:
        return torch.randn(width)
    return width


def _seen_arguments(
    module: types.ModuleType, cls: type
) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Arguments that the module's own text passes to the class, where they are constants."""
    text = "".join(linecache.getlines(getattr(module, "__file__", "") or ""))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == cls.__name__ and (node.args or node.keywords):
                try:
                    args = [ast.literal_eval(a) for a in node.args]
                    yield args, {k.arg: ast.literal_eval(k.value) for k in node.keywords if k.arg}
                except ValueError:
                    continue
