"""Cheap, pure arms of `cond` become straight code: both run, and `where` picks.

A `cond` with its predicate on the GPU makes the host wait for it (some 20 µs, and the GPU idles
meanwhile) and cuts fusion at both ends. So a `cond` is spelt out as

    true results = arm(operands);  false results = arm(operands);  where(pred, true, false)

when both arms are

- pure: every operator is in our table of lowerings, none draws random numbers, writes, reads at
  places that are data (an arm that isn't taken must not be able to go out of bounds), checks what
  the graph around hasn't checked, or gives sizes that depend on data; matrix products are pure
  when they are small (`FLOPS`);
- cheap: at most `OPERATORS` operators in both arms together, and at most `BYTES` read and written
  by them at the arms' borders (sizes that aren't known count as their hint);
- alike: every result is a tensor, with the same dtype, shape and layout in both.

Nested conds go inside out. AOTAutograd has differentiated each arm by itself, so the gradient of
an arm that isn't taken never meets that of the other: `where` drops it, NaN or not.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..ops.lazy import SUPPORTED
from ..ops.table import lowering_of

log = logging.getLogger("compile_lint.lowering")
aten = torch.ops.aten

OPERATORS = 64
BYTES = 32 << 20
FLOPS = 4 << 20
UNKNOWN_SIZE = 8192  # stands for a size without a hint
PRODUCTS = frozenset("mm bmm addmm mv dot".split())
# Lowered, but reading or writing at places that are data.
AT_DATA = frozenset(
    "gather index index_select embedding scatter scatter_add scatter_reduce index_put "
    "_unsafe_index _unsafe_masked_index index_add index_copy index_fill take".split()
)
IMPURE = (
    torch.Tag.nondeterministic_seeded,
    torch.Tag.data_dependent_output,
    torch.Tag.dynamic_output_shape,
)


def predicate(gm: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The graph with its cheap conds spelt out; `gm` itself if it has none. `gm` isn't changed."""
    if not any(_is_cond(node) for node in gm.graph.nodes):
        return gm
    graph = torch.fx.Graph()
    new = torch.fx.GraphModule(gm, graph)
    env: dict[torch.fx.Node, Any] = {}
    changed = False
    for node in gm.graph.nodes:
        arms = _arms(gm, node) if _is_cond(node) else None
        if arms is not None and _refusal(node, arms) is None:
            env[node] = _spelt(new, node, arms, env)
            changed = True
        elif node.target is operator.getitem and isinstance(env[node.args[0]], tuple):
            env[node] = env[node.args[0]][node.args[1]]
        else:
            env[node] = _copied(new, gm, node, env)
    if not changed:
        return gm
    for node in reversed(graph.nodes):
        if node.op == "get_attr" and not node.users:
            graph.erase_node(node)
    new.recompile()
    return new


def _is_cond(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.HigherOrderOperator) and (
        node.target.__name__ == "cond"
    )


def _arms(gm: torch.fx.GraphModule, node: torch.fx.Node) -> list[torch.fx.GraphModule] | None:
    """Both arms, with the conds in them spelt out."""
    arms = [
        getattr(gm, str(arm.target)) for arm in node.args[1:3] if isinstance(arm, torch.fx.Node)
    ]
    if len(arms) != 2 or not all(isinstance(arm, torch.fx.GraphModule) for arm in arms):
        return None
    return [predicate(arm) for arm in arms]


def _refusal(node: torch.fx.Node, arms: list[torch.fx.GraphModule]) -> str | None:
    """Why a cond stays as it is; None if it needn't."""
    reason = _reason(node, arms)
    if reason is not None:
        log.info("cond stays a branch: %s", reason)
    return reason


def _reason(node: torch.fx.Node, arms: list[torch.fx.GraphModule]) -> str | None:
    pred = _value(node.args[0])
    operands = pytree.tree_leaves(node.args[3] if len(node.args) > 3 else ())
    results = node.meta.get("val")
    if not isinstance(pred, torch.Tensor) or pred.dim() or pred.dtype != torch.bool:
        return "its predicate isn't a boolean tensor without dimensions"
    if not isinstance(results, (tuple, list)) or not all(
        isinstance(r, torch.Tensor) and r.dtype in SUPPORTED and r.device == pred.device
        for r in results
    ):
        return "it gives something else than tensors, or on another device than its predicate"
    outs = [_outputs(arm) for arm in arms]
    count = 0
    checked = _checked(node.graph)
    for arm, out in zip(arms, outs):
        inputs = [n for n in arm.graph.nodes if n.op == "placeholder"]
        if len(inputs) != len(operands) or len(out) != len(results):
            return "an arm takes or gives another number of values"
        if not all(_alike(_value(a), _value(b)) for a, b in zip(inputs, operands)):
            return "an arm's operand isn't what it was traced for"
        if not all(_alike(_value(a), b) for a, b in zip(out, results)):
            return "the arms' results differ in layout"
        for inner in arm.graph.nodes:
            if inner.op == "call_function":
                count += 1
                reason = None if _check(inner) in checked else _impure(inner)
                if reason is not None:
                    return reason
            elif inner.op == "get_attr" and not isinstance(_value(inner, arm), torch.Tensor):
                return "an arm holds a subgraph"
    if count > OPERATORS:
        return f"its arms have {count} operators"
    moved = sum(_bytes(_value(x)) for x in operands) + sum(map(_bytes, results))
    if moved > BYTES:
        return f"its arms move {moved >> 20} MiB"
    return None


def _check(node: torch.fx.Node) -> str | None:
    """The condition on sizes that a node asserts, if it asserts one."""
    if node.target is not aten._assert_scalar.default:
        return None
    return str(_expression(_value(node.args[0])))


def _checked(graph: torch.fx.Graph) -> set[str | None]:
    return {_check(node) for node in graph.nodes} - {None}


def _impure(node: torch.fx.Node) -> str | None:
    target, value = node.target, node.meta.get("val")
    if node.meta.get("unbacked_bindings"):
        return f"{target} gives a size that depends on data"
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)):
        return None  # arithmetic on sizes
    if target is operator.getitem:
        return None
    if not isinstance(target, torch._ops.OpOverload):
        return f"{target} isn't an operator"
    name = target._schema.name.partition("::")[2]
    if target._schema.is_mutable or any(tag in target.tags for tag in IMPURE) or name in AT_DATA:
        return f"{target} isn't pure"
    tensors = [v for v in pytree.tree_leaves(value) if isinstance(v, torch.Tensor)]
    if not all(t.dtype in SUPPORTED for t in tensors):
        return f"{target} gives a dtype that no kernel holds"
    if name in PRODUCTS:
        return None if _flops(node) <= FLOPS else f"{target} is large"
    return None if lowering_of(target) is not None else f"{target} runs by ATen"


def _flops(node: torch.fx.Node) -> int:
    shapes = [v.shape for v in (_value(a) for a in node.args) if isinstance(v, torch.Tensor)]
    a, b = shapes[-2:]
    return 2 * _count(a) * (_hint(b[-1]) if len(b) > 1 else 1)


def _spelt(
    new: torch.fx.GraphModule,
    node: torch.fx.Node,
    arms: list[torch.fx.GraphModule],
    env: Mapping[torch.fx.Node, Any],
) -> tuple[torch.fx.Node, ...]:
    """Both arms' operators in the new graph, equal ones once, and the results picked."""
    operands = pytree.tree_leaves(node.args[3] if len(node.args) > 3 else ())
    seen: dict[Any, torch.fx.Node] = {}
    outs = []
    for arm in arms:
        inner: dict[torch.fx.Node, Any] = {}
        given = iter(env[x] if isinstance(x, torch.fx.Node) else x for x in operands)
        for part in arm.graph.nodes:
            if part.op == "placeholder":
                inner[part] = next(given)
            elif part.op == "call_function" and _check(part) is None:
                args = pytree.tree_map_only(torch.fx.Node, inner.get, (part.args, part.kwargs))
                key = (part.target, _frozen(args))
                if key not in seen:
                    seen[key] = new.graph.node_copy(part, inner.__getitem__)
                inner[part] = seen[key]
            elif part.op == "get_attr":
                inner[part] = _copied(new, arm, part, inner)
        outs.append([inner[x] if isinstance(x, torch.fx.Node) else x for x in _outputs(arm)])
    picked = []
    for yes, no, result in zip(*outs, node.meta["val"]):
        if yes is no:
            picked.append(yes)
            continue
        chosen = new.graph.call_function(aten.where.self, (env[node.args[0]], yes, no))  # type: ignore[index]
        chosen.meta = {**node.meta, "val": result}
        picked.append(chosen)
    return tuple(picked)


def _copied(
    new: torch.fx.GraphModule,
    owner: torch.fx.GraphModule,
    node: torch.fx.Node,
    env: Mapping[torch.fx.Node, Any],
) -> torch.fx.Node:
    """A node in the new graph; what it names of its owner comes along."""
    if node.op != "get_attr":
        return new.graph.node_copy(node, env.__getitem__)
    value = operator.attrgetter(str(node.target))(owner)
    name = str(node.target).replace(".", "_")
    if not hasattr(new, name):
        setattr(new, name, value)
    elif getattr(new, name) is not value:
        k = 0
        while hasattr(new, f"_lifted_{k}"):
            k += 1
        name = f"_lifted_{k}"
        setattr(new, name, value)
    copy = new.graph.node_copy(node, env.__getitem__)
    copy.target = name
    return copy


def _outputs(gm: torch.fx.GraphModule) -> list[Any]:
    node = next(n for n in reversed(gm.graph.nodes) if n.op == "output")
    return pytree.tree_leaves(node.args[0], is_leaf=lambda x: x is None)


def _value(x: Any, owner: torch.fx.GraphModule | None = None) -> Any:
    """What torch has for a node: a fake tensor, a symbolic number; a constant is itself."""
    if not isinstance(x, torch.fx.Node):
        return x
    if owner is not None and x.op == "get_attr":
        return operator.attrgetter(str(x.target))(owner)
    return x.meta.get("val")


def _alike(a: Any, b: Any) -> bool:
    """The same dtype, shape and layout, or both numbers."""
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return isinstance(a, torch.Tensor) == isinstance(b, torch.Tensor) and a is not None
    if a.dtype != b.dtype or a.device != b.device or a.dim() != b.dim():
        return False
    return all(_same(m, n) for m, n in zip(a.shape, b.shape)) and all(
        _same(s, t) for n, s, t in zip(a.shape, a.stride(), b.stride()) if not _same(n, 1)
    )


def _same(m: Any, n: Any) -> bool:
    """Whether two sizes are equal for sure; no guard comes of asking."""
    return _expression(m) == _expression(n)


def _expression(n: Any) -> Any:
    return n.node.expr if isinstance(n, (torch.SymInt, torch.SymBool)) else n


def _hint(n: Any) -> int:
    if not isinstance(n, torch.SymInt):
        return int(n)
    hint = getattr(n.node, "_hint", None)
    return hint if isinstance(hint, int) else UNKNOWN_SIZE


def _count(shape: Any) -> int:
    total = 1
    for n in shape:
        total *= _hint(n)
    return total


def _bytes(value: Any) -> int:
    return _count(value.shape) * value.dtype.itemsize if isinstance(value, torch.Tensor) else 0


def _frozen(x: Any) -> Any:
    """Arguments as something hashable; 0 and 0.0 and False differ."""
    leaves, spec = pytree.tree_flatten(x)
    return (
        str(spec),
        *(
            (type(leaf), str(leaf), leaf) if not isinstance(leaf, torch.fx.Node) else leaf
            for leaf in leaves
        ),
    )
