"""What a function's body tells of its parameters: `x.unsqueeze(0)`, `F.relu(x)`, `x[:, None]`.

These are guesses, never sure: they stand in where there is no annotation and no caller.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    Extern,
    Fact,
    Instance,
    Origin,
    Sequence,
    Tensor,
    options,
)
from ..index import FunctionInfo

if TYPE_CHECKING:
    from .analyzer import Analyzer

# Functions of torch whose first argument may as well be a number, a list or a callable.
_NOT_TELLING = frozenset(
    "tensor as_tensor zeros ones empty full arange linspace eye rand randn randint is_tensor "
    "device manual_seed jit compile no_grad set_grad_enabled autocast dtype save load cond "
    "while_loop vmap func Generator Size from_numpy asarray full_like logspace randperm "
    "is_storage typename set_default_dtype get_default_dtype numel result_type "
    "broadcast_shapes checkpoint to_tensor seed normal scalar_tensor finfo iinfo "
    "can_cast promote_types is_floating_point parametrize use_deterministic_algorithms".split()
)
_SEQUENCES = frozenset(
    "cat stack concat concatenate hstack vstack dstack meshgrid block_diag "
    "broadcast_tensors cartesian_prod pad_sequence column_stack".split()
)
# Tensor methods that nothing else in Python has.
_METHODS = frozenset(
    "unsqueeze permute masked_fill masked_fill_ masked_select nonzero log_softmax "
    "expand_as view_as contiguous clamp clamp_ clamp_min clamp_max cumsum scatter_ scatter_add "
    "scatter_add_ index_select index_add_ index_add index_copy_ bmm logsumexp "
    "repeat_interleave requires_grad_ bfloat16 mul_ add_ div_ sub_ zero_ fill_ amax amin "
    "isnan isinf isfinite unbind new_zeros new_ones new_full new_tensor new_empty type_as "
    "bernoulli_ normal_ uniform_ detach softmax sigmoid numel transpose squeeze matmul "
    "data_ptr is_contiguous relu rsqrt argsort topk backward register_hook pow exp sqrt abs "
    "size dim view flatten narrow cuda half gather scatter tril triu detach_ is_floating_point "
    "mm tanh unfold chunk expand norm argmax argmin "
    "device_mesh item new requires_grad".split()
) - {"device_mesh", "requires_grad", "new", "item", "exp", "abs"}
_PROPERTIES = frozenset({"is_cuda", "mT", "grad_fn", "is_leaf", "is_sparse", "requires_grad"})
_WEAK = frozenset({"shape", "ndim", "dtype", "device"})


def use_tells(analyzer: Analyzer, info: FunctionInfo) -> dict[str, Fact]:
    """Return Tensor guesses for parameters, by how the body uses them before rebinding them."""
    spec = info.node.args
    names = {p.arg for p in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
    if info.cls is not None:
        names.discard((spec.posonlyargs + spec.args)[0].arg if spec.posonlyargs + spec.args else "")
    if not names:
        return {}
    rebound: dict[str, int] = {}
    told: dict[str, tuple[int, Fact]] = {}
    weak: dict[str, set[str]] = {}
    for node in info.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names:
            rebound[node.id] = min(node.lineno, rebound.get(node.id, node.lineno))
        for name, fact in _tell(analyzer, info, node):
            if name in names:
                line = getattr(node, "lineno", 0)
                if name not in told or line < told[name][0]:
                    told[name] = (line, fact)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in _WEAK:
                weak.setdefault(node.value.id, set()).add(node.attr)
    result = {
        name: fact
        for name, (line, fact) in told.items()
        if name not in rebound or line <= rebound[name]
    }
    for name, attrs in weak.items():
        if name in names and name not in result and len(attrs & {"dtype", "device"}) == 2:
            result[name] = Tensor(role="input", sure=False)
    return result


def _tensor(info: FunctionInfo, node: ast.AST) -> Tensor:
    text = f"used as a tensor: `{info.module.segment(node)}`"
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    origin = Origin(info.module.path, line, column, text)
    return Tensor(role="input", origin=origin, sure=False)


def _tell(analyzer: Analyzer, info: FunctionInfo, node: ast.AST) -> list[tuple[str, Fact]]:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.attr in _METHODS or node.attr in _PROPERTIES:
            return [(node.value.id, _tensor(info, node))]
    elif isinstance(node, ast.Call):
        return _call_tell(analyzer, info, node)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        sides = (node.left, node.right)
        return [(s.id, _tensor(info, node)) for s in sides if isinstance(s, ast.Name)]
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        if _tensor_index(node.slice):
            return [(node.value.id, _tensor(info, node))]
    return []


def _tensor_index(key: ast.expr) -> bool:
    return isinstance(key, ast.Tuple) and any(
        isinstance(part, ast.Slice)
        or (isinstance(part, ast.Constant) and (part.value is Ellipsis or part.value is None))
        for part in key.elts
    )


def _call_tell(analyzer: Analyzer, info: FunctionInfo, node: ast.Call) -> list[tuple[str, Fact]]:
    if not node.args or not isinstance(node.args[0], ast.Name):
        return []
    name = node.args[0].id
    if _own_module(analyzer, info, node.func):
        return [(name, _tensor(info, node))]
    if not isinstance(node.func, (ast.Name, ast.Attribute)):
        return []
    root = node.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id not in info.module.bindings:
        return []
    target = analyzer.static_value(info.module, node.func)
    if not isinstance(target, Extern) or not target.name.startswith("torch."):
        return []
    last = target.name.rpartition(".")[2]
    if last in _SEQUENCES:
        return [(name, Sequence("list", None, _tensor(info, node), sure=False))]
    kind = analyzer.torch.function(target.name)
    if last in _NOT_TELLING or kind is None or not last[:1].islower():
        return []
    if target.name.count(".") > 1 and not target.name.startswith(
        ("torch.nn.functional.", "torch.linalg.", "torch.fft.", "torch.special.")
    ):
        return []
    return [(name, _tensor(info, node))]


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
