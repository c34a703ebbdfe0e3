"""Changes inside expressions, nested ones included, → edits of the statements that hold them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ..base.context import Context
from ..base.finding import Edit
from ..base.rewriting import Code, Declined
from .layout import SIGNS, flat, operand, parsed, receiver, statement

_TIGHT = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Starred, ast.Await)


@dataclass
class Changes:
    """What some nodes are to become. A change may use the new text of nodes below its own.

    made        what makes the new text of an expression
    statements  what makes the new lines of a whole statement
    """

    ctx: Context
    code: Code
    made: dict[ast.AST, Callable[[], str]] = field(default_factory=dict)
    statements: dict[ast.stmt, Callable[[], list[str]]] = field(default_factory=dict)

    def text(self, node: ast.AST) -> str:
        """Return the new text of an expression."""
        if node in self.made:
            return self.made[node]()
        return self.inner(node)

    def inner(self, node: ast.AST) -> str:
        """Return the text of an expression with the changes below it only."""
        return self.code.text(node, self._below(node))

    def _below(self, node: ast.AST) -> Mapping[ast.AST, str]:
        """Return the outermost changes under a node (itself left out), in their places."""
        found: dict[ast.AST, str] = {}
        for child in ast.iter_child_nodes(node):
            if child in self.made:
                found[child] = self._placed(child, node)
            else:
                found.update(self._below(child))
        return found

    def _placed(self, node: ast.AST, parent: ast.AST) -> str:
        """Return the new text of a node, in parentheses where the parent would tear it apart."""
        text = self.made[node]()
        if isinstance(parent, ast.Attribute) or (
            isinstance(parent, (ast.Subscript, ast.Call)) and node in _heads(parent)
        ):
            return receiver(text)
        if isinstance(parent, ast.BinOp):
            return beside(text, parent.op, left=node is parent.left)
        return operand(text) if isinstance(parent, _TIGHT) else text

    def edits(self) -> list[Edit]:
        """Return the edits: statements that get too long are broken as formatters break them."""
        grouped: dict[ast.stmt, list[ast.AST]] = {}
        for node in self.made:
            stmt = self.ctx.statement(node)
            if stmt not in self.statements:
                grouped.setdefault(stmt, []).append(node)
        edits = [self.code.lines(stmt, lines()) for stmt, lines in self.statements.items()]
        for stmt, nodes in grouped.items():
            edits += self._statement(stmt, nodes)
        return edits

    def _statement(self, stmt: ast.stmt, nodes: list[ast.AST]) -> Iterator[Edit]:
        outer = [n for n in nodes if not any(a in self.made for a in self.ctx.ancestors(n))]
        below = {}
        for node in outer:
            parent = self.ctx.parent(node)
            below[node] = self._placed(node, parent) if parent is not None else self.text(node)
        head = _value(stmt)
        if head is not None and len(outer) == len(below):
            lines = self.code.indent(stmt) + self.code.text(stmt, below)
            # Other changes of the same line may come in the same round: leave them room.
            if max(len(line) for line in lines.split("\n")) > self.code.width * 0.75:
                yield self.code.lines(stmt, self.lines(stmt, self.text(head)))
                return
        for node in outer:
            yield self.code.replace(node, below[node])

    def lines(self, stmt: ast.stmt, value: str, prefix: str | None = None) -> list[str]:
        """Return the lines of an assignment, return or expression statement with another value."""
        if prefix is None:
            prefix = self._prefix(stmt)
        indent = self.code.indent(stmt)
        return statement(prefix, flat(value), indent, self.code.width, self.code.step)

    def _prefix(self, stmt: ast.stmt) -> str:
        if isinstance(stmt, ast.Return):
            return "return "
        if isinstance(stmt, ast.Assign):
            return "".join(f"{self.text(target)} = " for target in stmt.targets)
        if isinstance(stmt, ast.AugAssign):
            return f"{self.text(stmt.target)} {SIGNS[type(stmt.op)]}= "
        if isinstance(stmt, ast.Expr):
            return ""
        raise Declined("the statement is no assignment")


def beside(text: str, op: ast.operator, left: bool) -> str:
    """Return an expression as an operand of an operator: in parentheses where it binds less."""
    node = parsed(text)
    if isinstance(node, ast.Constant):
        return text
    if isinstance(node, ast.BinOp) and not isinstance(op, ast.Pow):
        mine, other = _BINDING.get(type(node.op), 9), _BINDING.get(type(op), 9)
        if mine > other or (left and mine == other):
            return text
    return operand(text)


def _heads(parent: ast.Subscript | ast.Call) -> tuple[ast.AST, ...]:
    return (parent.value,) if isinstance(parent, ast.Subscript) else (parent.func,)


def _value(stmt: ast.stmt) -> ast.expr | None:
    if isinstance(stmt, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)):
        return stmt.value
    return None


_BINDING: dict[type[ast.operator], int] = {
    ast.Add: 0,
    ast.Sub: 0,
    **dict.fromkeys((ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.MatMult), 1),
}
