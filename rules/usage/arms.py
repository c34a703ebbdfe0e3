"""What the rules on control-flow operators share: the functions they are given, and aliasing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..base import Context, Fact, Function, Instance, Sequence, Tensor, Unknown, options
from ..base.hops import operator_of
from ..base.valueclass import valueclass

# (position, name) of the functions each operator takes
FUNCTIONS = {
    "cond": ((1, "true_fn"), (2, "false_fn")),
    "while_loop": ((0, "cond_fn"), (1, "body_fn")),
    "scan": ((0, "combine_fn"),),
    "associative_scan": ((0, "combine_fn"),),
    "map": ((0, "f"),),
}
_COPY_MAYBE = frozenset({"reshape", "flatten", "contiguous", "ravel"})  # a view when it can be
_VIEW_PROPERTIES = frozenset({"T", "mT", "H", "mH", "real", "imag", "data"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@valueclass
class Alias:
    """A value that shares storage with `root`; `sure` is False where torch may copy."""

    root: str
    sure: bool = True


@valueclass
class Arm:
    """A function handed to an operator.

    text     how the call names it
    node     its definition
    path     file of the definition
    params   names of its parameters, without a bound `self`
    fact     what the call passes
    outer    facts of the enclosing function's variables
    """

    text: str
    node: Any
    path: str
    params: tuple[str, ...]
    fact: Fact
    outer: dict[str, Fact]

    def returned(self) -> list[ast.expr]:
        """Return the expressions it returns."""
        if isinstance(self.node, ast.Lambda):
            return [self.node.body]
        return [n.value for n in body_nodes(self.node) if isinstance(n, ast.Return) and n.value]

    def assigned(self) -> dict[str, list[ast.expr | None]]:
        """Return what each local name is bound to; None for other bindings than `name = value`."""
        found: dict[str, list[ast.expr | None]] = {}
        simple: set[ast.Name] = set()
        for node in body_nodes(self.node):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Name):
                    simple.add(target)
                    found.setdefault(target.id, []).append(node.value)
        for node in body_nodes(self.node):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                if node not in simple:
                    found.setdefault(node.id, []).append(None)
        return found

    def alias(self, node: ast.expr, ctx: Context, depth: int = 4) -> Alias | None:
        """Return the operand or captured tensor that an expression is, or is a view of."""
        if isinstance(node, ast.Name):
            values = self.assigned().get(node.id)
            if values is None:
                return Alias(node.id) if self._foreign_tensor(node.id) else None
            if len(values) == 1 and values[0] is not None and depth:
                return self.alias(values[0], ctx, depth - 1)
            return None
        if isinstance(node, ast.Subscript):
            return self.alias(node.value, ctx, depth) if _plain_index(node.slice) else None
        if isinstance(node, ast.Attribute) and node.attr in _VIEW_PROPERTIES:
            return self.alias(node.value, ctx, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name != "to" and "view" in ctx.torch.tags(f"torch.Tensor.{name}"):
                found = self.alias(node.func.value, ctx, depth)
                return Alias(found.root, found.sure and name not in _COPY_MAYBE) if found else None
        return None

    def _foreign_tensor(self, name: str) -> bool:
        if name in self.params:
            return True
        fact = self.outer.get(name)
        return fact is not None and any(isinstance(o, Tensor) for o in options(fact))


def operator(call: ast.Call, ctx: Context) -> str:
    """Return which control-flow operator a call is, "" for other calls."""
    return operator_of(ctx.callee(call).name)


def arms(call: ast.Call, ctx: Context) -> Iterator[Arm]:
    """Yield the functions that a control-flow call is given, as far as they are known."""
    for position, name in FUNCTIONS.get(operator(call, ctx), ()):
        given = ctx.argument(call, position, name)
        arm = None if given is None else arm_of(given, ctx)
        if arm is not None:
            yield arm


def arm_of(given: ast.expr, ctx: Context) -> Arm | None:
    """Return the function that an expression is; None when it isn't one known function."""
    fact = ctx.fact(given)
    function = fact.function if isinstance(fact, Function) else None
    bound = isinstance(fact, Function) and fact.bound is not None
    outer = dict(fact.closure) if isinstance(fact, Function) else {}
    if isinstance(fact, Instance) and not isinstance(fact.cls, str):
        function, bound = fact.cls.methods.get("forward"), True
    if function is None:
        return None
    args = function.node.args
    params = tuple(p.arg for p in (*args.posonlyargs, *args.args))[1 if bound else 0 :]
    text = "lambda" if isinstance(given, ast.Lambda) else ast.unparse(given)
    return Arm(text, function.node, function.module.path, params, fact, outer)


def operands(given: ast.expr | None, ctx: Context) -> list[Fact] | None:
    """Return the facts of a tuple of operands; None when their number isn't known.

    Operators take tensors: an operand of which nothing else is known is one.
    """
    fact = Sequence("tuple", ()) if given is None else ctx.fact(given)
    if not isinstance(fact, Sequence) or fact.items is None:
        return None
    return [Tensor(sure=False) if isinstance(item, Unknown) else item for item in fact.items]


def parts(node: ast.expr) -> list[ast.expr]:
    """Return the elements of a tuple, list or dict display, else the expression itself."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return node.elts
    return node.values if isinstance(node, ast.Dict) else [node]


def body_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, not those of functions nested in it."""
    body = getattr(function, "body", [])
    stack: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))


def _plain_index(index: ast.expr) -> bool:
    """Say whether an index takes a view: numbers, slices, None, not masks or index tensors."""
    if isinstance(index, ast.Tuple):
        return all(_plain_index(part) for part in index.elts)
    if isinstance(index, ast.UnaryOp):
        return isinstance(index.operand, ast.Constant)
    return isinstance(index, (ast.Slice, ast.Constant))
