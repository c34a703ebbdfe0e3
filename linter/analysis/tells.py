"""What a function's body tells of its parameters: `x.unsqueeze(0)`, `F.relu(x)`, `x[:, None]`.

These are guesses, never sure: they stand in where there is no annotation and no caller.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    UNKNOWN,
    Array,
    BoundMethod,
    Extern,
    Fact,
    Instance,
    Origin,
    Sequence,
    Tensor,
    options,
)
from ...rules.base.walking import own_statements
from ..index import FunctionInfo
from .masks import indexes_as_mask, is_mask

if TYPE_CHECKING:
    from .analyzer import Analyzer
    from .frame import Frame

# Functions of torch whose first argument may as well be a number, a list or a callable.
_NOT_TELLING = frozenset(
    "tensor as_tensor zeros ones empty full arange linspace eye rand randn randint is_tensor "
    "device manual_seed jit compile no_grad set_grad_enabled autocast dtype save load cond "
    "while_loop vmap func Generator Size from_numpy asarray full_like logspace randperm "
    "is_storage typename set_default_dtype get_default_dtype numel result_type "
    "broadcast_shapes checkpoint to_tensor seed normal scalar_tensor finfo iinfo "
    "triu_indices tril_indices can_cast promote_types is_floating_point "
    "parametrize use_deterministic_algorithms".split()
)
_SEQUENCES = frozenset(
    "cat stack concat concatenate hstack vstack dstack meshgrid block_diag "
    "broadcast_tensors cartesian_prod pad_sequence column_stack".split()
)
# Tensor methods that nothing else in Python has.
TENSOR_METHODS = frozenset(
    "unsqueeze permute masked_fill masked_fill_ masked_select nonzero log_softmax "
    "expand_as view_as contiguous clamp clamp_ clamp_min clamp_max cumsum scatter_ scatter_add "
    "scatter_add_ index_select index_add_ index_add index_copy_ bmm logsumexp "
    "repeat_interleave requires_grad_ bfloat16 mul_ add_ div_ sub_ zero_ fill_ amax amin "
    "isnan isinf isfinite unbind new_zeros new_ones new_full new_tensor new_empty type_as "
    "bernoulli_ normal_ uniform_ detach softmax sigmoid numel transpose squeeze matmul "
    "data_ptr is_contiguous relu rsqrt argsort topk backward register_hook pow exp sqrt abs "
    "size dim view flatten narrow cuda half gather scatter tril triu detach_ is_floating_point "
    "untyped_storage mm tanh unfold chunk expand norm argmax argmin "
    "device_mesh item new requires_grad".split()
) - {"device_mesh", "requires_grad", "new", "item", "exp", "abs"}
BOTH = frozenset({"dtype", "device"})  # of which other things have one
_REDUCING = frozenset({"min", "max", "mean", "sum", "std", "var", "any", "all"})
_PROPERTIES = frozenset({"is_cuda", "mT", "grad_fn", "is_leaf", "is_sparse", "requires_grad"})


def use_tells(analyzer: Analyzer, info: FunctionInfo, names: set[str]) -> dict[str, Fact]:
    """Return Tensor guesses for parameters, by how the body uses them before rebinding them."""
    if not names:
        return {}
    rebound: dict[str, int] = {}
    uses: dict[str, list[ast.expr]] = {}
    strings: set[str] = set()
    reduced: dict[str, ast.expr] = {}
    aliases = _second_names(info, names)
    names = names | aliases.keys()
    for node in info.nodes:
        kind = type(node)
        if kind is ast.Name:
            if node.id in names and type(node.ctx) is ast.Store:  # type: ignore[attr-defined]
                if node.id in aliases and node.lineno == aliases[node.id][1]:  # type: ignore[attr-defined]
                    continue
                rebound[node.id] = min(node.lineno, rebound.get(node.id, node.lineno))  # type: ignore[attr-defined]
        elif kind is ast.Attribute or kind is ast.Subscript:
            part = node.value  # type: ignore[attr-defined]
            if type(part) is ast.Name and part.id in names:
                uses.setdefault(part.id, []).append(node)  # type: ignore[arg-type]
        elif kind is ast.Call or kind is ast.BinOp:
            for part in _concerned(node, kind):
                if type(part) is ast.Name and part.id in names:
                    uses.setdefault(part.id, []).append(node)  # type: ignore[arg-type]
            if kind is ast.Call and (name := _reduced(node)) in names:  # type: ignore[arg-type]
                first = reduced.setdefault(name, node)  # type: ignore[arg-type]
                reduced[name] = min(first, node, key=_line)  # type: ignore[type-var]
        elif kind is ast.Compare:
            strings.add(_compared_with_string(node))  # type: ignore[arg-type]
    result: dict[str, Fact] = {}
    for name, nodes in uses.items():
        if name in strings:
            continue
        last = rebound.get(name)
        nodes.sort(key=_line)
        told = [node for node in nodes if last is None or node.lineno <= last]
        found = next(filter(None, (_tell(analyzer, info, node) for node in told)), None)
        if found is not None:
            result[name] = found
        elif {getattr(node, "attr", "") for node in nodes} >= BOTH:
            result[name] = Tensor(role="input", sure=False)
    for name, node in reduced.items():
        if name not in result and name not in strings and node.lineno <= rebound.get(name, 1 << 30):
            result[name] = _tensor(info, node)
    for alias, (name, line) in aliases.items():
        told = result.pop(alias, None)
        if told is not None and name not in strings and line <= rebound.get(name, 1 << 30):
            result.setdefault(name, told)
    return result


def _second_names(info: FunctionInfo, names: set[str]) -> dict[str, tuple[str, int]]:
    """Return the parameter, and the line, of every local name that is first given one's value."""
    found: dict[str, tuple[str, int]] = {}
    for node in own_statements(info.node):
        if type(node) is ast.Assign and type(node.value) is ast.Name and node.value.id in names:
            target = node.targets[0]
            if type(target) is ast.Name and target.id not in names:
                held = found.get(target.id)
                if held is None or node.lineno < held[1]:
                    found[target.id] = node.value.id, node.lineno
    return found


def without_strangers(
    analyzer: Analyzer, info: FunctionInfo, documented: dict[str, Fact]
) -> dict[str, Fact]:
    """Return what is documented, but for tensors of which the body reads what torch's have not.

    A `Tensor` of the documentation may be a class of the package: `t.cores` tells. Arrays have
    what NumPy's have, such as `copy` and `astype`.
    """
    if not documented:
        return documented
    torch = analyzer.torch
    arrays = {name for name, fact in documented.items() if isinstance(fact, Array)}
    strangers = {
        node.value.id
        for node in info.nodes
        if type(node) is ast.Attribute
        and type(node.value) is ast.Name
        and node.value.id in documented
        and node.attr[:1] != "_"
        and torch.method(node.attr) is None
        and torch.attribute(node.attr) is None
        and (node.value.id not in arrays or torch.ndarray(node.attr) is None)
    }
    kept = {name: fact for name, fact in documented.items() if name not in strangers}
    return kept if strangers else documented


def asked_for(info: FunctionInfo) -> set[str]:
    """Return the names of which a function asks `isinstance`: they may be of several types."""
    return {
        node.args[0].id
        for node in info.nodes
        if type(node) is ast.Call
        and type(node.func) is ast.Name
        and node.func.id == "isinstance"
        and node.args
        and type(node.args[0]) is ast.Name
    }


def _reduced(node: ast.Call) -> str:
    """Return the name that is reduced: `x.min()`, which only tensors and arrays have."""
    func = node.func
    if type(func) is ast.Attribute and func.attr in _REDUCING and type(func.value) is ast.Name:
        return func.value.id
    return ""


def _compared_with_string(node: ast.Compare) -> str:
    """Return the name that is compared with string constants: `device in ("cpu", "cuda")`."""
    if type(node.left) is not ast.Name:
        return ""
    right = node.comparators[0]
    values = right.elts if isinstance(right, (ast.Tuple, ast.List, ast.Set)) else [right]
    text = any(isinstance(v, ast.Constant) and isinstance(v.value, str) for v in values)
    return node.left.id if text else ""


def _line(node: ast.expr) -> int:
    return node.lineno


def _concerned(node: ast.AST, kind: type[ast.AST]) -> list[ast.expr]:
    """Return the operands of a call or an operator whose type it may tell."""
    if kind is ast.Call:
        return node.args[:1]  # type: ignore[attr-defined]
    if type(node.op) is ast.MatMult:  # type: ignore[attr-defined]
        return [node.left, node.right]  # type: ignore[attr-defined]
    return []


def _tensor(info: FunctionInfo, node: ast.AST) -> Tensor:
    text = f"used as a tensor: `{info.module.segment(node)}`"
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    origin = Origin(info.module.path, line, column, text)
    return Tensor(role="input", origin=origin, sure=False)


def _tell(analyzer: Analyzer, info: FunctionInfo, node: ast.expr) -> Fact | None:
    if isinstance(node, ast.Attribute):
        telling = node.attr in TENSOR_METHODS or node.attr in _PROPERTIES
        return _tensor(info, node) if telling else None
    if isinstance(node, ast.Call):
        return _call_tell(analyzer, info, node)
    if isinstance(node, ast.Subscript):
        key = node.slice
        told = _tensor_index(key) or is_mask(key) or indexes_as_mask(info, key)
        return _tensor(info, node) if told else None
    return _tensor(info, node)


def _tensor_index(key: ast.expr) -> bool:
    return isinstance(key, ast.Tuple) and any(
        isinstance(part, ast.Slice)
        or (isinstance(part, ast.Constant) and (part.value is Ellipsis or part.value is None))
        for part in key.elts
    )


def _call_tell(analyzer: Analyzer, info: FunctionInfo, node: ast.Call) -> Fact | None:
    if _own_module(analyzer, info, node.func):
        return _tensor(info, node)
    if not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    root = node.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id not in info.module.bindings:
        return None
    target = analyzer.static_value(info.module, node.func)
    if not isinstance(target, Extern) or not target.name.startswith("torch."):
        return None
    last = target.name.rpartition(".")[2]
    if last in _SEQUENCES:
        return Sequence("list", None, _tensor(info, node), sure=False)
    kind = analyzer.torch.function(target.name)
    if last in _NOT_TELLING or kind is None or not last[:1].islower():
        return None
    if target.name.count(".") > 1 and not target.name.startswith(
        ("torch.nn.functional.", "torch.linalg.", "torch.fft.", "torch.special.")
    ):
        return None
    return _tensor(info, node)


def _own_module(analyzer: Analyzer, info: FunctionInfo, func: ast.expr) -> bool:
    """`self.linear(x)` where `__init__` made an nn.Linear."""
    if info.cls is None or not isinstance(func, ast.Attribute):
        return False
    if not (isinstance(func.value, ast.Name) and func.value.id == "self"):
        return False
    fact = analyzer.layer_of(info.cls, func.attr)
    return any(
        isinstance(option, Instance)
        and option.module
        and isinstance(option.cls, str)
        and not option.cls.endswith(("Identity", "Sequential", "ModuleList", "ModuleDict"))
        for option in options(fact)
    )


_OF_NUMBERS = (ast.Sub, ast.Div, ast.Pow, ast.MatMult)


def of_slices(frame: Frame, node: ast.BinOp) -> Fact:
    """`ends[1:] - ends[:-1]`: lists and strings have slices, but no difference."""
    if isinstance(node.op, _OF_NUMBERS) and (_sliced(node.left) or _sliced(node.right)):
        origin = frame.origin(node, f"`{frame.module.segment(node)}`: slices are subtracted")
        return Tensor(origin=origin, sure=False)
    return UNKNOWN


def _sliced(node: ast.expr) -> bool:
    return type(node) is ast.Subscript and type(node.slice) is ast.Slice


def told_by_use(frame: Frame, holder: ast.Name, method: BoundMethod) -> None:
    """`loss = closure()`, then `loss.backward()`: from there on it is taken for a tensor."""
    env = frame.env
    if env is not None and holder.id in env and method.name in TENSOR_METHODS:
        origin = frame.origin(holder, f"used as a tensor: `{holder.id}.{method.name}`")
        env[holder.id] = replace(method.receiver, origin=origin)


def told_by_both(frame: Frame, holder: ast.Name) -> None:
    """`y.dtype` and `y.device` of one name: it is taken for a tensor, as a parameter would be."""
    env, info = frame.env, frame.function
    if env is None or info is None or holder.id not in env:
        return
    read = {
        node.attr
        for node in info.nodes
        if type(node) is ast.Attribute
        and type(node.value) is ast.Name
        and node.value.id == holder.id
    }
    if read >= BOTH:
        origin = frame.origin(
            holder, f"used as a tensor: `{holder.id}.dtype`, `{holder.id}.device`"
        )
        env[holder.id] = Tensor(origin=origin, sure=False)
