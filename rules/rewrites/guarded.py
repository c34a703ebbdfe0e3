"""The double where: operands of an arm that would be NaN or infinite where it isn't taken.

`torch.where(p, x.sqrt(), 0)` gives NaN gradients wherever x is 0, taken or not; with
`torch.where(p, x, 1).sqrt()` inside it doesn't.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..base.context import Context
from ..base.reading import data_in
from ..base.rewriting import Code
from .layout import flat, tidy

# Functions of one operand, with a value where they and their derivatives are finite.
_SAFE = {
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log2", "log10", "reciprocal", "digamma"), "1"),
    **dict.fromkeys(("asin", "acos", "atanh", "arcsin", "arccos", "arctanh", "log1p", "exp"), "0"),
    **dict.fromkeys(("tan", "sinh", "cosh", "expm1", "exp2", "erfinv"), "0"),
    **dict.fromkeys(("acosh", "arccosh"), "2"),
    "logit": "0.5",
}


class Guard:
    """Makes operands safe for one arm.

    predicate  the text of the test, `taken` where the arm is its first
    """

    def __init__(self, predicate: str, taken: bool, ctx: Context, code: Code, where: str) -> None:
        self._predicate, self._taken, self._where = predicate, taken, where
        self._ctx, self._code = ctx, code
        self.used = False

    def operands(
        self, node: ast.AST, names: Mapping[str, str], changes: dict[ast.AST, str]
    ) -> None:
        """Put the safe text of dangerous operands below a node into `changes`."""
        risky = self._risky(node)
        for child in ast.iter_child_nodes(node):
            if risky is None or child is not risky[0]:
                self.operands(child, names, changes)
        if risky is None:
            return
        operand, safe = risky
        inner: dict[ast.AST, str] = {}
        self.operands(operand, names, inner)
        inside = {below for changed in inner for below in ast.walk(changed)}
        for below in ast.walk(operand):
            if isinstance(below, ast.Name) and below.id in names and below not in inside:
                inner[below] = names[below.id]
        text = flat(self._code.text(operand, {k: v for k, v in inner.items() if k is not operand}))
        if operand in inner:
            text = inner[operand]
        text = tidy(text)
        pair = (text, safe) if self._taken else (safe, text)
        changes[operand] = f"{self._where}({self._predicate}, {pair[0]}, {pair[1]})"
        self.used = True

    def _risky(self, node: ast.AST) -> tuple[ast.expr, str] | None:
        """Return the operand of an operation that may fail on it, and a safe value."""
        found: tuple[ast.expr, str] | None = None
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)):
                found = (node.right, "1")
            elif isinstance(node.op, ast.Pow) and not _whole(node.right):
                found = (node.left, "1")
        elif isinstance(node, ast.Call):
            name = self._ctx.callee(node).name
            last = name.rpartition(".")[2]
            method = name.startswith("torch.Tensor.") and isinstance(node.func, ast.Attribute)
            own = node.func.value if method else None  # type: ignore[attr-defined]
            given = [*([own] if own is not None else []), *node.args]
            if name.startswith("torch.") and given:
                if last in _SAFE:
                    found = (given[0], _SAFE[last])
                elif last in ("div", "true_divide", "remainder", "fmod") and len(given) > 1:
                    found = (given[1], "1")
                elif last == "pow" and len(given) > 1 and not _whole(given[1]):
                    found = (given[0], "1")
        if found is None or data_in(self._ctx.fact(found[0])) is None:
            return None
        return None if self._padded(found[0]) else found

    def _padded(self, node: ast.expr) -> bool:
        """Say whether an operand is kept from zero already: `norm + eps`."""
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
            return False
        return any(data_in(self._ctx.fact(side)) is None for side in (node.left, node.right))


def _whole(exponent: ast.expr) -> bool:
    """Say whether an exponent is a positive integer: powers of anything are fine then."""
    value = getattr(exponent, "value", None)
    return isinstance(exponent, ast.Constant) and isinstance(value, int) and value > 0
