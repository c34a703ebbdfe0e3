"""Objects and draws of the standard library, and of packages that regions often hold objects of."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    UNKNOWN,
    ClassRef,
    Const,
    Extern,
    Fact,
    FromTensor,
    Function,
    Instance,
    Sequence,
    Static,
)
from . import expressions
from .frame import Frame

if TYPE_CHECKING:
    from .calls import Arguments

# Functions that make an object of a class with another name.
FACTORIES = {
    "builtins.open": "io.TextIOWrapper",
    "io.open": "io.TextIOWrapper",
    "pathlib.Path.open": "io.TextIOWrapper",
    "logging.getLogger": "logging.Logger",
    "threading.Lock": "threading.Lock",
    "threading.RLock": "threading.RLock",
    "contextvars.ContextVar": "contextvars.ContextVar",
    "datetime.datetime.now": "datetime.datetime",
    "datetime.datetime.utcnow": "datetime.datetime",
    "PIL.Image.open": "PIL.Image.Image",
    "PIL.Image.new": "PIL.Image.Image",
    "PIL.Image.fromarray": "PIL.Image.Image",
    "pathlib.Path.joinpath": "pathlib.Path",
    "pathlib.Path.absolute": "pathlib.Path",
    "pathlib.Path.with_suffix": "pathlib.Path",
    "pathlib.Path.expanduser": "pathlib.Path",
    **{
        f"PIL.Image.Image.{method}": "PIL.Image.Image"
        for method in ("resize", "convert", "crop", "rotate", "transpose", "filter", "copy")
    },
    "re.compile": "re.Pattern",
    **{
        f"re.{holder}{method}": "re.Match"
        for holder in ("", "Pattern.")
        for method in ("match", "search", "fullmatch")
    },
    "tqdm.tqdm": "tqdm.tqdm",
    "tqdm.auto.tqdm": "tqdm.tqdm",
}
# Classes whose objects an annotation or a factory brings in, and that rules speak of.
OBJECTS = frozenset(FACTORIES.values()) | {
    "random.Random",
    "numpy.random.RandomState",
    "numpy.random.Generator",
    "torch.Generator",
    "torch.nn.utils.rnn.PackedSequence",
}


NAMED_TUPLE = "collections.namedtuple"


def made(frame: Frame, node: ast.Call, name: str) -> Fact | None:
    """Return the object that a factory function gives, None when `name` isn't one."""
    cls = FACTORIES.get(name)
    if cls is not None:
        return Instance(cls, origin=frame.origin(node, f"`{frame.module.segment(node)}`"))
    if name.rpartition(".")[2] in ("get_logger", "getLogger"):
        # transformers, diffusers, accelerate, …: each gives a logging.Logger or its like
        return Instance("logging.Logger", sure=False)
    return None


_DISABLE = frozenset(
    {
        "torch.compiler.disable",
        "torch._dynamo.disable",
        "torch._dynamo.eval_frame.disable",
        "torch._disable_dynamo",
    }
)


def wraps(name: str) -> bool:
    """Say whether `wrapped` may have something to say about calls of that name."""
    return name in _DISABLE or name.startswith("torch.jit.")


def wrapped(name: str, args: list[Fact]) -> Fact | None:
    """Return the object that torch.compiler.disable(f), torch.jit.script(m) and the like give."""
    first = args[0] if args else UNKNOWN
    if name in _DISABLE and isinstance(first, (Function, ClassRef, Instance, Extern)):
        return Instance("torch.compiler.disabled")
    if name == "torch.jit.load" or (
        name in ("torch.jit.script", "torch.jit.trace", "torch.jit.freeze")
        and isinstance(first, Instance)
        and first.module
    ):
        return Instance("torch.jit.ScriptModule")
    return None


def named_tuple(args: list[Fact]) -> Fact:
    """Return the class that `collections.namedtuple(name, fields)` makes, kept as an object."""
    spec = args[1] if len(args) > 1 else UNKNOWN
    names: list[object] = []
    if isinstance(spec, Const) and isinstance(spec.value, str):
        names = [*spec.value.replace(",", " ").split()]
    elif isinstance(spec, Sequence) and spec.items is not None:
        names = [getattr(item, "value", None) for item in spec.items]
    if not names or not all(isinstance(name, str) for name in names):
        return UNKNOWN
    return Instance(NAMED_TUPLE, attrs=tuple((str(name), UNKNOWN) for name in names))


def new_named_tuple(made: Instance, args: list[Fact], kwargs: dict[str, Fact]) -> Fact:
    """Return what calling a class of `collections.namedtuple` gives."""
    fields = [name for name, _ in made.attrs]
    values = dict(zip(fields, args)) | kwargs
    items = tuple(values.get(name, UNKNOWN) for name in fields)
    return Sequence("named:" + ",".join(fields), items)


def random_draw(frame: Frame, node: ast.Call, last: str, given: Arguments, method: bool) -> Fact:
    """Return what a function of `random` gives, or with `method` the same on a `random.Random`.

    Dynamo captures a few of them, as a tensor drawn at each call; the others break where they are
    called, and what they give is an ordinary number.
    """
    origin = frame.origin(node, f"`{frame.module.segment(node)}`")
    if last in ("choice", "sample", "choices"):
        population = given.args[0] if given.args else UNKNOWN
        elem = expressions.element_of(frame, population, node)
        return elem if last == "choice" else Sequence("list", None, elem)
    if last in ("shuffle", "seed", "setstate"):
        return Static("NoneType")
    kind = "int" if last in ("randint", "randrange", "getrandbits") else "float"
    wrapped = last in ("randint", "randrange", "uniform") or (method and last == "random")
    return FromTensor(kind, "random" if wrapped else "call", origin=origin)


__all__ = ["FACTORIES", "OBJECTS", "made", "random_draw", "wrapped"]
