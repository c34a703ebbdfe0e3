"""Statements as `ruff format` and Black lay them out in the width there is."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass

from .documents import SOFT, Doc, IfOpen, Indent, group, is_opened, printed
from .expressions import DISPLAYS, Expression, in_parentheses, level, operand_of, pieces

_STRINGS = ("STRING", "FSTRING_MIDDLE", "TSTRING_MIDDLE")
_BLANK = ("NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER")


@dataclass(frozen=True, slots=True)
class Layout:
    """How wide lines are, and how deep one level of indentation is."""

    width: int
    step: str


def value_lines(
    prefix: Doc, text: str, suffix: str, indent: str, layout: Layout, reserved: int = 0
) -> list[str]:
    """Return the lines of `prefix value suffix`, such as "return ", a value and nothing.

    The value stands on one line. `reserved` columns are left free behind it, for a comment.
    """
    expression = Expression(text)
    node = expression.node
    own = expression.text(node)
    width, step = layout.width, layout.step

    def lines(doc: Doc) -> list[str]:
        return printed((prefix, doc, suffix), indent, width, step, reserved)

    bare = expression.doc(node, inside=False)
    line = printed((prefix, own, suffix), indent, width, step, reserved)
    if not is_opened(bare) and len(line[-1]) + reserved <= width:
        return line
    need = _Need(expression)
    listed = isinstance(node, ast.Tuple) and not expression.is_bracketed(node)
    if listed:
        within = expression.display(node, "(", ")")
    else:
        within = in_parentheses(expression.doc(node, inside=True), opened=True)
    if need.is_atom(node):
        return lines(within if len(indent + step + own) <= width else bare)
    if not need.never(node) and (not need.omits(node) or (listed and prefix != "return ")):
        return lines(within)
    without = lines(bare)
    if _fit(without, width):
        return without
    others = lines(within)
    if need.never(node) and not _fit(others, width):
        return others if len(without[0]) > width >= len(others[1]) else without
    return others


def statement_lines(
    source: str, indent: str, layout: Layout, reserved: int = 0
) -> list[str] | None:
    """Return the lines of a simple statement, or of the head of a compound one, up to its ":".

    The source starts without indentation. None where a comment or a string over several lines
    stands inside, or where the layout of such a statement isn't known.
    """
    text = one_line(source)
    if text is None:
        return None
    skipped = 2 if text.startswith("elif") else 0
    body = text[skipped:] + (" pass" if text.endswith(":") else "")
    (stmt,) = ast.parse(body).body
    if isinstance(stmt, ast.Assert) and stmt.msg is not None:
        return _assert(stmt, body, indent, layout, reserved)
    value = _value(stmt)
    if value is None:
        return None
    raw = body.encode().removesuffix(b" pass" if text.endswith(":") else b"")
    start, end = value.col_offset, value.end_col_offset
    prefix, suffix = raw[:start].decode(), raw[end:].decode()
    while prefix.rstrip().endswith("(") and suffix.lstrip().startswith(")"):
        prefix, suffix = prefix.rstrip()[:-1], suffix.lstrip()[1:]
    if prefix and not prefix.endswith(" "):
        return None  # such as `return(x)`
    room = layout.width - len(indent)
    if isinstance(stmt, ast.AnnAssign) and len(text) + reserved > room:
        return None  # the annotation may be what is broken
    opening = _targets(stmt, prefix, room) if isinstance(stmt, ast.Assign) else prefix
    if skipped:
        opening = text[:2] + prefix
    return value_lines(opening, raw[start:end].decode(), suffix, indent, layout, reserved)


def one_line(source: str) -> str | None:
    """Return a statement's source on one line, with the commas at the ends of brackets.

    None where a comment or a string over several lines stands inside.
    """
    parts: list[str] = []
    lines = source.split("\n")
    last, previous = (1, 0), ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        row, column = token.start
        if kind == "COMMENT" or (kind in _STRINGS and token.end[0] != row):
            return None
        if kind in _BLANK:
            continue
        if row == last[0]:
            parts.append(lines[row - 1][last[1] : column])
        elif previous not in tuple("([{") and token.string not in tuple(")]}"):
            parts.append(" ")
        parts.append(lines[row - 1][column : token.end[1]])
        last, previous = token.end, token.string
    return "".join(parts)


def _assert(stmt: ast.Assert, text: str, indent: str, layout: Layout, reserved: int) -> list[str]:
    """Return the lines of an assert with a message: the test is broken after the message is."""
    raw = text.encode()
    assert stmt.msg is not None
    docs: list[Doc] = []
    for part in (stmt.test, stmt.msg):
        made = Expression(raw[part.col_offset : part.end_col_offset].decode())
        never = _Need(made).never(made.node)
        doc = made.doc(made.node, inside=not never)
        docs.append(doc if never else group(IfOpen("("), Indent((SOFT, doc)), SOFT, IfOpen(")")))
    return printed(("assert ", docs[0], ", ", docs[1]), indent, layout.width, layout.step, reserved)


def _targets(stmt: ast.Assign, prefix: str, room: int) -> Doc:
    """Return the targets of an assignment: broken where a comma at their end, or the room, asks."""
    target = stmt.targets[0]
    if len(stmt.targets) > 1 or not isinstance(target, (ast.Tuple, ast.List, ast.Subscript)):
        return prefix
    expression = Expression(prefix.rstrip()[:-1].rstrip())
    doc = expression.doc(expression.node, inside=False)
    if not is_opened(doc) and len(prefix) <= room:
        return prefix
    if isinstance(target, ast.Tuple) and not prefix.startswith("("):
        doc = expression.display(expression.node, "(", ")")
    return (doc, " = ")


def _value(stmt: ast.stmt) -> ast.expr | None:
    """Return the value at which a statement, or the head of one, is broken."""
    if isinstance(stmt, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)):
        return stmt.value
    if isinstance(stmt, ast.Raise):
        return stmt.exc
    if isinstance(stmt, (ast.If, ast.While, ast.Assert)):
        return stmt.test
    if isinstance(stmt, ast.For):
        return stmt.iter
    if isinstance(stmt, ast.With) and len(stmt.items) == 1:
        return stmt.items[0].context_expr
    return None


def _fit(lines: list[str], width: int) -> bool:
    return all(len(line) <= width for line in lines)


@dataclass(frozen=True, slots=True)
class _Need:
    """Whether a value that is too long for its line needs parentheses around it."""

    expression: Expression

    def is_atom(self, node: ast.expr) -> bool:
        """Say whether nothing in it can be broken: it is put in parentheses if it fits there."""
        if isinstance(node, ast.Attribute) and self._is_bare(node.value, node):
            return self.is_atom(node.value)
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return len(pieces(self.expression.text(node))) < 2
        return isinstance(node, ast.Name)

    def never(self, node: ast.expr) -> bool:
        """Say whether it is broken in brackets of its own."""
        if isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)):
            if self.expression.is_chain(node):
                return False
            inner = node.func if isinstance(node, ast.Call) else node.value
            bare = self._is_bare(inner, node)
            return not bare or self.is_atom(inner) or self.never(inner)
        return isinstance(node, (*DISPLAYS, ast.Lambda)) and not self._is_listed(node)

    def omits(self, node: ast.expr) -> bool:
        """Say whether it may be broken in brackets that it starts or ends with."""
        rank, count, brackets = self._loosest(node)
        if not brackets or count > 1:
            return False
        return rank == _ATTRIBUTE or self._starts(node) or self._ends(node)

    def _is_bare(self, child: ast.expr, node: ast.expr) -> bool:
        return self.expression.is_bare(child, node.col_offset, node.end_col_offset or 0)

    def _loosest(self, node: ast.expr) -> tuple[int, int, bool]:
        """Return the rank of the loosest operator outside of brackets, and how many there are.

        And whether there are brackets.
        """
        if isinstance(node, (ast.Call, ast.Subscript)):
            inner = node.func if isinstance(node, ast.Call) else node.value
            rank, count, _ = self._below(inner, node)
            return rank, count, True
        closed = isinstance(node, DISPLAYS) and not self._is_listed(node)
        found = [(*self._rank(node), closed)]
        if not closed:
            found += [self._below(child, node) for child in _parts(node)]
        rank = max(rank for rank, _, _ in found)
        count = sum(count for other, count, _ in found if other == rank)
        return rank, count, any(brackets for _, _, brackets in found)

    def _is_listed(self, node: ast.expr) -> bool:
        """Say whether it is a tuple without parentheses of its own."""
        return isinstance(node, ast.Tuple) and not self.expression.is_bracketed(node)

    def _below(self, child: ast.expr, node: ast.expr) -> tuple[int, int, bool]:
        return self._loosest(child) if self._is_bare(child, node) else (0, 0, True)

    def _rank(self, node: ast.expr) -> tuple[int, int]:
        """Return how loose the operator of an expression is, and how often it stands there."""
        if isinstance(node, ast.Tuple) and self._is_listed(node):
            return 21, len(node.elts) - 1
        if isinstance(node, ast.IfExp):
            return 20, 2
        if isinstance(node, ast.BoolOp):
            return 19, len(node.values) - 1
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            more = len(pieces(self.expression.text(node))) - 1
            return (18, more) if more > 0 else (0, 0)
        if isinstance(node, ast.Compare):
            return 17, len(node.ops)
        if isinstance(node, ast.BinOp):
            return 16 - level(node.op), 1
        if isinstance(node, ast.Attribute):
            inner = node.value
            brackets = isinstance(inner, (ast.Call, ast.Subscript, *DISPLAYS))
            return (_ATTRIBUTE, 1) if brackets or not self._is_bare(inner, node) else (0, 0)
        return 0, 0

    def _starts(self, node: ast.expr) -> bool:
        """Say whether an expression starts with brackets."""
        if isinstance(node, DISPLAYS) and not self._is_listed(node):
            return True
        if isinstance(node, ast.Call):
            first = node.func
        elif isinstance(node, ast.IfExp):
            first = node.body
        elif isinstance(node, ast.Subscript) or (_parts(node) and operand_of(node) is None):
            first = node.value if isinstance(node, ast.Subscript) else _parts(node)[0]
        else:
            return False
        return self._starts(first) if self._is_bare(first, node) else True

    def _ends(self, node: ast.expr) -> bool:
        """Say whether an expression ends with brackets that aren't empty."""
        if isinstance(node, ast.Call):
            return bool(node.args or node.keywords)
        if isinstance(node, DISPLAYS) and not self._is_listed(node):
            return bool(self.expression.text(node)[1:-1].strip())
        parts = _parts(node)
        if not parts or isinstance(node, ast.Attribute):
            return False
        return self._ends(parts[-1]) if self._is_bare(parts[-1], node) else True


_ATTRIBUTE = 1


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return the operands of an expression, as they stand."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.IfExp):
        return [node.body, node.test, node.orelse]
    if isinstance(node, ast.Attribute):
        return [node.value]
    if isinstance(node, ast.Tuple):
        return node.elts
    operand = operand_of(node)
    return [] if operand is None else [operand]


__all__ = ["Layout", "one_line", "statement_lines", "value_lines"]
