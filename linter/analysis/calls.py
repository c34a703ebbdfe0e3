"""Calls: what is called, with what, and what comes back."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ...rules.base.context import Callee
from ...rules.base.facts import (
    UNKNOWN,
    Array,
    BoundMethod,
    ClassRef,
    Const,
    Extern,
    Fact,
    FromTensor,
    Function,
    Instance,
    Mapping,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    Union,
    Unknown,
    const,
    join_all,
    options,
)
from . import (
    builtin_calls,
    construction,
    containers,
    expressions,
    higher_order,
    library,
    objects,
    stdlib,
    tensors,
)
from .callees import ENDING, OPAQUE, callee_of, machine_code, tensor_method
from .classes import find_method
from .constants import CONSTANT_CALLS, HOOKS
from .frame import Frame


@dataclass(slots=True)
class Arguments:
    """Facts of a call's arguments; `open` when `*args` or `**kwargs` hide some."""

    args: list[Fact] = field(default_factory=list)
    kwargs: dict[str, Fact] = field(default_factory=dict)
    open: bool = False


def arguments(frame: Frame, node: ast.Call) -> Arguments:
    """Evaluate the arguments of a call in order."""
    evaluate = expressions.evaluate
    args: list[Fact] = []
    kwargs: dict[str, Fact] = {}
    more = False
    for arg in node.args:
        fact = evaluate(frame, arg)
        if type(arg) is not ast.Starred:
            args.append(fact)
        elif isinstance(fact, Sequence) and fact.items is not None and not more:
            args.extend(fact.items)
        else:
            more = True
            if isinstance(fact, (Sequence, Tensor)):
                args.append(expressions.element_of(frame, fact, arg))
    for keyword in node.keywords:
        fact = evaluate(frame, keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = fact
        elif isinstance(fact, Mapping):
            kwargs.update((k, v) for k, v in fact.items if isinstance(k, str))
            more = more or not fact.exact
        else:
            more = True
    return Arguments(args, kwargs, more)


def call(frame: Frame, node: ast.Call) -> Fact:
    """Evaluate a call expression."""
    function = expressions.evaluate(frame, node.func)
    if frame.stored_only and construction.told_by_class(frame.analyzer, function):
        given = Arguments()
    else:
        given = arguments(frame, node)
    if type(function) is not Union:
        name = node.func  # of a parameter that is called another caller may pass another function
        handed = type(name) is ast.Name and type(function) is Extern and name.id in frame.parameters
        return _call_one(frame, node, function, given, not handed)
    # calling None raises: the code knows that it isn't
    choices = [o for o in function.options if not isinstance(o, Const)]
    if len(choices) > 1:  # nor does the code mean an object that takes other arguments
        choices = [o for o in choices if _takes(frame, o, given)] or choices
    results = [_call_one(frame, node, option, given, len(choices) == 1) for option in choices]
    return join_all(results)


def _takes(frame: Frame, choice: Fact, given: Arguments) -> bool:
    """Say whether an object may be called with as many arguments, as far as its class tells."""
    if given.open or not isinstance(choice, Instance) or isinstance(choice.cls, str):
        return True
    method = find_method(frame.analyzer, choice.cls, "forward" if choice.module else "__call__")
    if method is None or method.decorator_names:
        return True
    takes = method.signature
    names = takes.positional[1:]
    if len(given.args) > len(names):
        return bool(takes.vararg)
    return all(n in takes.defaults or n in given.kwargs for n in names[len(given.args) :])


def _call_one(frame: Frame, node: ast.Call, function: Fact, given: Arguments, only: bool) -> Fact:
    callee = callee_of(frame, function)
    if callee.name or callee.project is not None:
        old = frame.callees.get(node)
        if old is None or (callee.sure and not old.sure):
            frame.callees[node] = (
                callee if only else Callee(callee.name, callee.receiver, callee.project, False)
            )
    kind = type(function)
    if kind is Extern:
        return _call_extern(frame, node, function.name, given)  # type: ignore[attr-defined]
    if kind is BoundMethod:
        return _call_method(frame, node, function, given)  # type: ignore[arg-type]
    if kind is Function or kind is Instance or kind is ClassRef:
        return call_function(frame, node, function, given.args, given.kwargs, given.open)
    return UNKNOWN


def call_function(
    frame: Frame,
    node: ast.AST,
    function: Fact,
    args: list[Fact],
    kwargs: dict[str, Fact],
    unknown_rest: bool = False,
) -> Fact:
    """Call a function, class, bound method or object of the project."""
    analyzer = frame.analyzer
    if isinstance(function, ClassRef):
        return construction.construct(frame, node, function, args, kwargs, unknown_rest)
    if isinstance(function, Instance):
        if isinstance(function.cls, str):
            return _call_external_object(frame, node, function, args, kwargs)
        return _call_object(frame, node, function, args, kwargs, unknown_rest)
    if not isinstance(function, Function):
        return UNKNOWN
    info = function.function
    if not ENDING.isdisjoint(info.decorator_names):
        declared = analyzer.declared_return(info)
        if isinstance(declared, Unknown) and not OPAQUE.isdisjoint(info.decorator_names):
            origin = frame.origin(node, f"`{frame.module.segment(node)}`")
            return Tensor(origin=origin, sure=False)
        return declared
    if machine_code(analyzer, info):
        return analyzer.declared_return(info)
    return analyzer.inline(frame, node, function, args, kwargs, unknown_rest)


def _call_object(
    frame: Frame,
    node: ast.AST,
    this: Instance,
    args: list[Fact],
    kwargs: dict[str, Fact],
    unknown_rest: bool,
) -> Fact:
    analyzer = frame.analyzer
    name = "forward" if this.module else "__call__"
    method = find_method(analyzer, this.cls, name) or find_method(analyzer, this.cls, "__call__")
    if method is not None:
        return call_function(frame, node, Function(method, this), args, kwargs, unknown_rest)
    base = analyzer.external_base(this.cls)
    if base and this.module:
        if base.endswith((".Sequential", ".ModuleList")):
            return _sequential(frame, node, this, args, kwargs)
        return objects.module_call(frame, node, base, args, kwargs)
    return UNKNOWN


def call_method_named(
    frame: Frame, node: ast.AST, this: Instance, name: str, args: list[Fact] | None = None
) -> Fact:
    """Call a method of a project object by name; Unknown when the project doesn't define it."""
    if isinstance(this.cls, str):
        return UNKNOWN
    method = find_method(frame.analyzer, this.cls, name)
    if method is None:
        return construction.contained(frame.analyzer, this) if name == "__getitem__" else UNKNOWN
    return call_function(frame, node, Function(method, this), args or [], {})


def _call_external_object(
    frame: Frame, node: ast.AST, this: Instance, args: list[Fact], kwargs: dict[str, Fact]
) -> Fact:
    if this.cls == stdlib.NAMED_TUPLE:
        return stdlib.new_named_tuple(this, args, kwargs)
    if not this.module:
        return UNKNOWN
    if this.cls.endswith(".Sequential"):
        return _sequential(frame, node, this, args, kwargs)
    return objects.module_call(frame, node, this.cls, args, kwargs)


def _sequential(
    frame: Frame, node: ast.AST, this: Instance, args: list[Fact], kwargs: dict[str, Fact]
) -> Fact:
    """A Sequential feeds each layer with what the one before gave."""
    layers = dict(this.attrs).get("*")
    fact = args[0] if args else UNKNOWN
    if not isinstance(layers, Sequence):
        return objects.module_call(frame, node, "torch.nn.Sequential", args, kwargs)
    known = layers.items if layers.items is not None else (layers.elem,)
    for layer in known:
        results = [call_function(frame, node, o, [fact], {}) for o in options(layer)]
        fact = join_all(results)
    return fact


def _call_extern(frame: Frame, node: ast.Call, name: str, given: Arguments) -> Fact:
    if name in CONSTANT_CALLS:
        return const(CONSTANT_CALLS[name])
    top = name.partition(".")[0]
    if top == "builtins":
        return builtin_calls.builtin(frame, node, name[9:], given)
    plain = frame.analyzer.plain
    if name in plain:
        return tensors.tensor_call(frame, node, name, None, given.args, given.kwargs)
    if top in ("torch", "functorch"):
        made = stdlib.wrapped(name, given.args)
        if made is not None:
            return made
        made = higher_order.higher_order(frame, node, name, given)
        if made is not None:
            return made
    if name == "torch.autograd.grad":  # the graph ends there: a new one starts with what it gave
        origin = frame.origin(node, f"`{frame.module.segment(node)}`")
        return Sequence("tuple", None, Tensor(role="resumed", origin=origin, sure=False))
    if name == "torch.is_tensor" and given.args:
        return builtin_calls.is_one_of(given.args[0], [Extern("torch.Tensor")])
    if top == "torch":
        made = objects.construct(frame, node, name, given.args, given.kwargs)
        if made is not None:
            return made
        if not stdlib.wraps(name) and not higher_order.concerns(name):
            plain.add(name)
        return tensors.tensor_call(frame, node, name, None, given.args, given.kwargs)
    if top == "numpy":
        return objects.numpy_call(frame, node, name, given.args, given.kwargs)
    return library.library(frame, node, name, given)


def _call_method(frame: Frame, node: ast.Call, method: BoundMethod, given: Arguments) -> Fact:
    receiver, name = method.receiver, method.name
    if isinstance(receiver, Tensor):
        full = tensor_method(name)
        return tensors.tensor_call(frame, node, full, receiver, given.args, given.kwargs)
    if isinstance(receiver, Array):
        return _array_method(frame, node, receiver, name, given)
    if isinstance(receiver, ClassRef):
        return _apply_function(frame, node, receiver, given)
    if isinstance(receiver, (Sequence, Mapping)):
        return containers.method(frame, node, receiver, name, given.args, given.kwargs)
    if isinstance(receiver, Instance):
        return _object_method(frame, node, receiver, name, given)
    if isinstance(receiver, (Const, Static)) and receiver.kind == "str":
        return containers.string_method(name)
    if isinstance(receiver, FromTensor):
        return FromTensor("", receiver.how, origin=receiver.origin, sure=receiver.sure)
    return ShapeInt() if isinstance(receiver, ShapeInt) else UNKNOWN


def _apply_function(frame: Frame, node: ast.Call, ref: ClassRef, given: Arguments) -> Fact:
    """`Fn.apply(...)` of an autograd.Function: Dynamo traces its `forward` and its `backward`."""
    find = frame.analyzer
    forward = find_method(find, ref.cls, "forward")
    if forward is None:
        return UNKNOWN
    split = find_method(find, ref.cls, "setup_context") is not None
    ctx = Instance("torch.autograd.FunctionCtx")
    args = given.args if split else [ctx, *given.args]
    result = call_function(frame, node, Function(forward), args, given.kwargs, given.open)
    backward = find_method(find, ref.cls, "backward")
    if backward is not None:
        number = len(result.items) if isinstance(result, Sequence) and result.items else 1
        origin = frame.origin(node, f"a gradient for `{frame.module.segment(node)}`")
        grads: list[Fact] = [Tensor(origin=origin)] * number
        call_function(frame, node, Function(backward), [ctx, *grads], {})
    return result


def _array_method(frame: Frame, node: ast.Call, array: Array, name: str, given: Arguments) -> Fact:
    origin = frame.origin(node, f"`{frame.module.segment(node)}`", array.origin)
    if name in ("item", "tolist") and not array.constant:
        kind = array.dtype if name == "item" else "list"
        return FromTensor(kind, origin=origin, sure=array.sure)
    if name in ("item", "tolist"):
        return Static()
    if name.startswith("is_"):  # of torch only: the value is a tensor on this path
        return Static("bool")
    if name in ("numel", "dim"):
        return ShapeInt()
    if name == "astype" and given.args:
        if objects.of_objects(given.args[0]):
            return Array(array.rank, "object", origin=origin)
        if array.constant and objects.of_integers(given.args[0]):  # no longer known by its value
            return Array(array.rank, "int", origin=origin, sure=array.sure)
    reduced = name in ("sum", "mean", "any", "all", "max", "min", "std", "prod", "argmax")
    rank = 0 if reduced and not given.args and not given.kwargs else None
    dtype = "bool" if name in ("any", "all") else array.dtype
    return Array(rank, dtype, array.constant, origin=origin, sure=array.sure)


def _inner(frame: Frame, this: Instance, name: str) -> Fact:
    """Return what a container of modules holds; what `modules()` gives is some module at least."""
    inner = construction.contained(frame.analyzer, this)
    if isinstance(inner, Unknown) and name not in ("items", "values"):
        return Instance("torch.nn.Module", module=True, sure=False)
    return inner


def _object_method(
    frame: Frame, node: ast.Call, this: Instance, name: str, given: Arguments
) -> Fact:
    cls = this.cls
    if not isinstance(cls, str):
        return UNKNOWN
    if cls.startswith(("torch.nn.", "torch.optim")) or this.module:
        if name in ("parameters", "buffers"):
            return Sequence("generator", None, Tensor(role="param"))
        if name in ("named_parameters", "named_buffers"):
            pair = Sequence("tuple", (Static("str"), Tensor(role="param")))
            return Sequence("generator", None, pair)
        if name in ("items", "named_children", "named_modules"):
            inner = _inner(frame, this, name)
            return Sequence("generator", None, Sequence("tuple", (Static("str"), inner)))
        if name in ("values", "children", "modules"):
            return Sequence("generator", None, _inner(frame, this, name))
        if name == "forward":
            return objects.module_call(frame, node, cls, given.args, given.kwargs)
        if name in ("to", "train", "eval", "cuda", "cpu", "requires_grad_"):
            return this
        if name in HOOKS and given.args:  # Dynamo traces them where the module is called
            module = Instance("torch.nn.Module", module=True) if name == "apply" else this
            higher_order.apply(frame, node, given.args[0], [module, *[UNKNOWN] * HOOKS[name]])
    if cls == "torch.Generator" and name in ("manual_seed", "set_state"):
        return this
    if cls.startswith("numpy.random."):
        origin = frame.origin(node, f"`{frame.module.segment(node)}`")
        if objects.draws_array(name, given.args, given.kwargs):
            return Array(origin=origin)
        return FromTensor("float", "call", origin=origin)
    if cls == "random.Random":
        return stdlib.random_draw(frame, node, name, given, True)
    return library.library(frame, node, f"{cls}.{name}", given)
