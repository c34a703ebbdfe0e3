"""What a boolean mask selects, followed through row-wise code to where it is reduced or stored.

A value "selected" by a mask has one row per true element. As long as only element-wise and
row-wise code works on it, the same code may run on all rows, and the mask is applied at the end.
`x[idx]` with `idx` from `nonzero` or one-argument `where` selects as the mask itself does.

Declined: code that mixes rows (BatchNorm, softmax over rows, reshapes), dropout and other draws,
values that leave as they are, masks or tensors that change between the read and its end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..base.context import Context
from ..base.facts import Tensor
from ..base.reading import module_of, shown, tensor_of
from ..base.rewriting import Declined
from ..base.scopes import own, root
from .editing import Changes
from .ownership import written_at

_MIXING = (
    "BatchNorm",
    "InstanceNorm",
    "GroupNorm",
    "Dropout",
    "Conv",
    "LSTM",
    "GRU",
    "RNN",
    "Pool",
)
_MIXING += ("MultiheadAttention", "Transformer", "Softmax", "LogSoftmax", "Flatten", "Loss")
_ELEMENTWISE = frozenset(
    "float double half bfloat16 long int bool to type detach clone contiguous logsigmoid "
    "nan_to_num where masked_fill type_as".split()
)
_ROWWISE = frozenset({"linear", "layer_norm", "rms_norm", "embedding", "glu"})
_LAST = frozenset(
    "softmax log_softmax normalize sum mean amax amin norm logsumexp cumsum any all argmax argmin "
    "cosine_similarity prod std var".split()
)
_PAIRWISE = frozenset(
    "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy cross_entropy nll_loss "
    "binary_cross_entropy_with_logits".split()
)


@dataclass
class Selection:
    """The reads of one mask, and where what they select ends.

    mask     the mask expression
    keys     index texts that select by it
    rows     whether some code needs a dimension behind those of the mask
    risky    whether some code gives NaN or inf for values outside of its domain
    ends     (node, value) of the expressions and statements that end it; `value` is selected
    """

    mask: ast.expr
    keys: frozenset[str]
    ctx: Context
    changes: Changes
    rows: bool = False
    risky: bool = False
    ends: dict[ast.AST, ast.expr] = field(default_factory=dict)
    reads: dict[ast.expr, ast.expr] = field(default_factory=dict)
    _seen: set[ast.AST] = field(default_factory=set)

    def base(self, node: ast.AST) -> ast.expr | None:
        """Return the tensor that a read selects from, None for other nodes."""
        if isinstance(node, ast.Subscript):
            return node.value if self.keyed(node.slice) else None
        if isinstance(node, ast.Call):
            callee = self.ctx.callee(node)
            if callee.name in ("torch.masked_select", "torch.Tensor.masked_select"):
                method = isinstance(node.func, ast.Attribute) and callee.receiver is not None
                given = [node.func.value, *node.args] if method else node.args  # type: ignore[attr-defined]
                if len(given) == 2 and self.keyed(given[1]):
                    return given[0]
        return None

    def keyed(self, index: ast.expr) -> bool:
        """Say whether an index selects by the mask."""
        return ast.unparse(index).strip("()") in self.keys

    def read(self, node: ast.expr) -> None:
        """Follow a read of the mask to its end."""
        base = self.base(node)
        if base is None:
            raise Declined(f"`{shown(node)}` isn't selected by one mask alone")
        if node not in self.reads:
            self.reads[node] = base
            self._follow(node)

    def _follow(self, node: ast.expr) -> None:
        """Follow a selected value upwards."""
        if node in self._seen:
            return
        self._seen.add(node)
        parent = self.ctx.parent(node)
        if isinstance(parent, ast.keyword):
            parent = self.ctx.parent(parent)
        if isinstance(parent, ast.BinOp):
            self._operator(parent, node)
        elif isinstance(parent, ast.UnaryOp) and not isinstance(parent.op, ast.Not):
            self._follow(parent)
        elif isinstance(parent, ast.Compare) and len(parent.ops) == 1:
            self._beside([parent.left, *parent.comparators], node)
            self._follow(parent)
        elif isinstance(parent, ast.Attribute):
            self._attribute(parent, node)
        elif isinstance(parent, ast.Call) and parent.func is not node:
            self._argument(parent, node)
        elif isinstance(parent, ast.Subscript) and parent.slice is node:
            self.rows = True
            self._follow(parent)  # rows of a table
        elif isinstance(parent, ast.Subscript) and _within_rows(parent.slice):
            self._follow(parent)
        elif isinstance(parent, (ast.Assign, ast.AugAssign)):
            self._stored(parent, node)
        else:
            what = shown(parent) if parent is not None else shown(node)
            raise Declined(f"what the mask selects leaves as it is, in `{what}`")

    def _operator(self, parent: ast.BinOp, node: ast.expr) -> None:
        if isinstance(parent.op, ast.MatMult):
            if parent.left is not node:
                raise Declined(f"`{shown(parent)}` mixes rows")
            self.rows = True
        elif isinstance(parent.op, (ast.Div, ast.FloorDiv, ast.Mod)):
            self.risky = self.risky or parent.right is node
        elif isinstance(parent.op, ast.Pow):
            whole = isinstance(parent.right, ast.Constant) and isinstance(parent.right.value, int)
            self.risky = self.risky or not whole
        self._beside([parent.left, parent.right], node)
        self._follow(parent)

    def _beside(self, operands: list[ast.expr], node: ast.expr) -> None:
        """What stands beside a selected value: selected by the same mask, or the same for all."""
        for other in operands:
            if other is node or self.keyed(other):
                continue
            found = [part for part in ast.walk(other) if self.base(part) is not None]
            for part in found:
                assert isinstance(part, ast.expr)
                self.read(part)
            fact = tensor_of(self.ctx.fact(other))
            named = self.read_named(other)
            if fact is not None and fact.ragged and not found and not named:
                raise Declined(f"`{shown(other)}` is selected by something else")

    def read_named(self, node: ast.expr) -> bool:
        """Say whether a name in an expression holds what this mask selects, and follow it."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                made = definition(part.id, self.ctx)
                if made is not None and any(self.base(n) is not None for n in ast.walk(made.value)):
                    for read in ast.walk(made.value):
                        if self.base(read) is not None:
                            assert isinstance(read, ast.expr)
                            self.read(read)
                    return True
        return False

    def _attribute(self, parent: ast.Attribute, node: ast.expr) -> None:
        call = self.ctx.parent(parent)
        if isinstance(call, ast.Call) and call.func is parent:
            last = self.ctx.callee(call).name.rpartition(".")[2] or parent.attr
            self._called(call, node, last, [*call.args, *(k.value for k in call.keywords)])
        elif parent.attr == "shape" and isinstance(call, ast.Subscript):
            self.ends[call] = node
        else:
            raise Declined(f"`{shown(parent)}` is asked of what the mask selects")

    def _argument(self, call: ast.Call, node: ast.expr) -> None:
        name = self.ctx.callee(call).name
        given = [*call.args, *(k.value for k in call.keywords)]
        if isinstance(call.func, ast.Attribute) and self.ctx.callee(call).receiver is not None:
            given.append(call.func.value)
        if name == "builtins.len":
            self.ends[call] = node
        elif name.startswith(("torch.nn.modules", "torch.nn.")) and self._module(call):
            self._layer(call, name)
        elif name.startswith("torch."):
            self._called(call, node, name.rpartition(".")[2], given)
        elif self.ctx.callee(call).project is not None or self._module(call):
            if _may_mix(self.ctx.callee(call).project):
                raise Declined(f"`{shown(call)}` may mix rows")
            self.rows = True
            self._beside(given, node)
            self._follow(call)
        else:
            raise Declined(f"`{shown(call)}` gets what the mask selects")

    def _module(self, call: ast.Call) -> bool:
        return module_of(self.ctx.fact(call.func)) is not None

    def _layer(self, call: ast.Call, name: str) -> None:
        if any(word in name.rpartition(".")[2] for word in _MIXING):
            raise Declined(f"`{shown(call)}` mixes rows, or draws at random")
        self.rows = True
        self._follow(call)

    def _called(self, call: ast.Call, node: ast.expr, last: str, given: list[ast.expr]) -> None:
        """A torch function or method of a selected value."""
        tags = self.ctx.torch.tags(self.ctx.callee(call).name)
        along = axis(call, self.ctx)
        if last in ("index_add", "index_add_", "scatter_add", "scatter_add_"):
            method = self.ctx.callee(call).receiver is not None
            self._beside(call.args[0 if method else 1 :], node)
            self.ends[call] = node
        elif last in _ROWWISE or (last in _LAST and along == -1):
            self.rows = True
            self._beside(given, node)
            self._follow(call)
        elif last in _PAIRWISE:
            self._beside(given, node)
            if keyword(call, "reduction") == "none":
                self._follow(call)
            else:
                self.ends[call] = node
        elif "nondeterministic_seeded" in tags or (last.endswith("_") and last[-2:] != "__"):
            raise Declined(f"`{shown(call)}` draws at random, or writes what the mask selects")
        elif "pointwise" in tags or last in _ELEMENTWISE:
            self.risky = self.risky or last in _RISKY
            self._beside(given, node)
            self._follow(call)
        else:
            self.ends[call] = node

    def _stored(self, stmt: ast.Assign | ast.AugAssign, node: ast.expr) -> None:
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        (target, *others) = targets
        if isinstance(target, ast.Subscript) and self.keyed(target.slice) and not others:
            self.ends[stmt] = node
        elif isinstance(target, ast.Name) and isinstance(stmt, ast.Assign) and not others:
            if definition(target.id, self.ctx) is not stmt:
                raise Declined(f"`{target.id}` is assigned more than once")
            inside = set(self.ctx.inside(self.ctx.function))
            for use in self.changes.code.uses(target.id):
                if use not in inside:
                    raise Declined(f"`{target.id}` is used by a function inside")
                self._follow(use)
        else:
            raise Declined(f"what the mask selects is stored in `{shown(target)}`")

    def steady(self) -> None:
        """Raise Declined where mask or tensors are written between a read and its end."""
        names = {root(base) for base in self.reads.values()}
        names |= {n.id for n in ast.walk(self.mask) if isinstance(n, ast.Name)}
        ends = [self.ctx.statement(end).lineno for end in self.ends]
        first = min([*ends, *(self.ctx.statement(read).lineno for read in self.reads)])
        last = max([*ends, *(read.lineno for read in self.reads)])
        ended = {self.ctx.statement(end) for end in self.ends}
        for node, name in _written(self.ctx):
            line = getattr(node, "lineno", 0)
            within = first <= line <= last and self.ctx.statement(node) not in ended
            if name in names and within and line != first:
                raise Declined(f"`{name}` changes before what was selected is used")


_RISKY = frozenset(
    "log log2 log10 log1p sqrt rsqrt reciprocal pow div divide acos asin atanh acosh logit "
    "true_divide float_power xlogy lgamma digamma".split()
)


def _may_mix(function: Any) -> bool:
    """Say whether code of the project shows signs of mixing rows; the proof sees the rest."""
    if function is None:
        return True
    words = {node.attr for node in own(function.node) if isinstance(node, ast.Attribute)}
    shapes = any(
        isinstance(node, ast.Subscript) and any(_is_none(part) for part in ast.walk(node.slice))
        for node in own(function.node)
    )
    made = function.cls.methods.get("__init__") if function.cls is not None else None
    layers = ast.unparse(made.node) if made is not None else ""
    return shapes or bool(words & _SHAPING) or any(word in layers for word in _MIXING)


def _within_rows(index: ast.expr) -> bool:
    """Say whether an index keeps all rows: `[:, None]`, `[:, 0]`, `[:, :3]`."""
    if not isinstance(index, ast.Tuple):
        return False
    first, *others = index.elts
    whole = isinstance(first, ast.Slice) and not (first.lower or first.upper or first.step)
    return whole and all(isinstance(part, (ast.Slice, ast.Constant)) for part in others)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Constant) and node.value is None)


_SHAPING = frozenset(
    "view reshape flatten permute transpose T mT unsqueeze squeeze sort argsort topk cumsum cat "
    "cumprod stack bmm matmul einsum softmax log_softmax roll flip triu tril dropout batch_norm "
    "var std sum mean max min amax amin norm item tolist shape size conv1d conv2d cdist".split()
)


def written_in_place(name: str, after: ast.expr, ctx: Context) -> bool:
    """Say whether the function may write into the tensor that a name stood for at an expression."""
    writes = [n for n, found in _written(ctx) if found == name and not isinstance(n, ast.Name)]
    writes += [
        node
        for node in own(ctx.function)
        if isinstance(node, ast.AugAssign) and root(node.target) == name
    ]
    if ctx.loop(after) is not None:
        return bool(writes)
    bound = [
        n.lineno
        for n, found in _written(ctx)
        if found == name and isinstance(n, ast.Name) and n.lineno > after.lineno
    ]
    again = min(bound, default=10**9)
    return any(after.lineno <= getattr(node, "lineno", 0) < again for node in writes)


def _written(ctx: Context) -> Iterator[tuple[ast.AST, str]]:
    """Yield places where the function binds a name, or writes its object in place."""
    for node in own(ctx.function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node, node.id
        elif (name := written_at(node)) is not None:
            yield node, name


def definition(name: str, ctx: Context) -> ast.Assign | None:
    """Return the one assignment that binds a local name, None when there are others."""
    stores = [
        node
        for node in own(ctx.function)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    made = ctx.parent(stores[0]) if len(stores) == 1 else None
    return made if isinstance(made, ast.Assign) and made.targets == stores else None


def axis(call: ast.Call, ctx: Context) -> object:
    """Return the dimension that a call names: an int, a tuple, None for none, "?" unknown."""
    method = ctx.callee(call).receiver is not None
    given = ctx.argument(call, 0 if method else 1, "dim")
    try:
        return None if given is None else ast.literal_eval(given)
    except ValueError:
        return "?"


def keyword(call: ast.Call, name: str) -> object:
    """Return the constant that is passed by keyword, None without one."""
    value = next((k.value for k in call.keywords if k.arg == name), None)
    return value.value if isinstance(value, ast.Constant) else None


def same_shape(mask: ast.expr, base: ast.expr, ctx: Context) -> bool:
    """Say whether a mask is made of the tensor it indexes, element by element."""
    text = ast.unparse(base)
    node: ast.expr | None = mask
    for _ in range(3):
        if not isinstance(node, ast.Name):
            break
        made = definition(node.id, ctx)
        node = made.value if made is not None else None
    return node is not None and _made_of(node, text, ctx)


def _made_of(node: ast.expr, text: str, ctx: Context) -> bool:
    if ast.unparse(node) == text:
        return True
    if isinstance(node, ast.Compare):
        return any(_made_of(part, text, ctx) for part in (node.left, *node.comparators))
    if isinstance(node, ast.BinOp):
        return _made_of(node.left, text, ctx) or _made_of(node.right, text, ctx)
    if isinstance(node, ast.UnaryOp):
        return _made_of(node.operand, text, ctx)
    if isinstance(node, ast.Call) and "pointwise" in ctx.torch.tags(ctx.callee(node).name):
        given = [*node.args]
        if isinstance(node.func, ast.Attribute) and ctx.callee(node).receiver is not None:
            given.append(node.func.value)
        return any(_made_of(part, text, ctx) for part in given)
    return False


def rank_of(node: ast.expr, ctx: Context) -> int | None:
    """Return the number of dimensions of a tensor, None where it isn't known."""
    fact = tensor_of(ctx.fact(node))
    return fact.rank if isinstance(fact, Tensor) else None
