"""Text of new code: parentheses where they are needed, long lines split as formatters split them.

Source slices are put on one line first (`flat`) and split again where they don't fit, so that a
formatter finds nothing to change. Slices that hold a comment or a string over several lines are
declined: they can't be put on one line.
"""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.rewriting import Declined

SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.List, ast.Dict)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SPLIT = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp)


def parsed(text: str) -> ast.expr:
    """Return the expression that a text is."""
    return ast.parse(f"({text}\n)", mode="eval").body


def operand(text: str) -> str:
    """Return an expression as an operand: in parentheses unless it binds tighter than any."""
    if text.startswith("~") and isinstance(parsed(text), ast.UnaryOp):
        return text
    return text if receiver(text) == text or text.isdigit() else f"({text})"


def receiver(text: str) -> str:
    """Return an expression as the object of an attribute or call."""
    node = parsed(text)
    number = isinstance(node, ast.Constant) and not isinstance(node.value, str)
    whole = isinstance(node, _ATOMS) or (isinstance(node, ast.Tuple) and text.startswith("("))
    return text if whole and not (number and text.isdigit()) else f"({text})"


def flat(text: str) -> str:
    """Return an expression on one line. Raises Declined when a comment or string is in the way."""
    if "\n" not in text:
        return text
    for token in tokenize.generate_tokens(io.StringIO(f"({text}\n)").readline):
        kind = tokenize.tok_name[token.type]
        if kind == "COMMENT":
            raise Declined("a comment stands inside the expression")
        if kind in ("STRING", "FSTRING_MIDDLE") and token.start[0] != token.end[0]:
            raise Declined("a string over several lines stands inside the expression")
    text = re.sub(r"[ \t]*\\?\n[ \t]*", " ", text)
    text = re.sub(r"([(\[{]) ", r"\1", text)
    return re.sub(r",? ([)\]}])", r"\1", text)


def tidy(text: str) -> str:
    """Return an expression without parentheses that only hold a call."""
    while True:
        raw = f"({text}".encode()
        for node in ast.walk(parsed(text)):
            if not isinstance(node, ast.Call):
                continue
            start, end = node.col_offset - 1, node.end_col_offset or 0
            around = raw[start : start + 1] == b"(" and raw[end : end + 1] == b")" and start > 0
            if around and not raw[start - 1 : start].isalnum() and raw[start - 1] not in b"_)]":
                raw = raw[:start] + raw[start + 1 : end] + raw[end + 1 :]
                break
        else:
            return text
        text = raw[1:].decode()


def statement(prefix: str, expression: str, indent: str, width: int, step: str) -> list[str]:
    """Return the lines of `prefix expression`, such as "x = " or "return " before a value."""
    text = flat(expression)
    if len(indent) + len(prefix) + len(text) <= width:
        return [indent + prefix + text]
    return _Splitter(text, width, step).whole(prefix, indent)


@dataclass(frozen=True, slots=True)
class _Splitter:
    """One expression that is too long for a line."""

    text: str
    width: int
    step: str

    def whole(self, prefix: str, indent: str) -> list[str]:
        """Return the lines of a statement that ends with the expression."""
        node = parsed(self.text)
        if isinstance(node, _SPLIT):
            inner = self._element(node, indent + self.step, "")
            return [f"{indent}{prefix}(", *inner, f"{indent})"]
        if isinstance(node, ast.Tuple) and not self.text.startswith("("):
            return self._brackets(node, list(node.elts), (prefix + "(", ")"), indent, 0)
        return self._split(node, indent, prefix, "")

    def _slice(self, start: int, end: int) -> str:
        """Return the text between two columns; `parsed` put one parenthesis before it."""
        return f"({self.text}".encode()[start:end].decode()

    def _own(self, node: ast.AST) -> str:
        return self._slice(node.col_offset, node.end_col_offset)  # type: ignore[attr-defined]

    def _written(self, node: ast.AST, low: int, high: int) -> str:
        """Return the text of a node with the parentheses around it that stand between columns."""
        start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        while start > low and end < high:
            if self._slice(start - 1, start) != "(" or self._slice(end, end + 1) != ")":
                break
            start, end = start - 1, end + 1
        return self._slice(start, end)

    def _element(self, node: ast.expr, indent: str, suffix: str) -> list[str]:
        """Return the lines of a node that stands in brackets of its own or of a call."""
        text = self._own(node)
        if len(indent) + len(text) + len(suffix) <= self.width:
            return [indent + text + suffix]
        low, high = node.col_offset, node.end_col_offset or 0
        if isinstance(node, (ast.BinOp, ast.BoolOp, ast.Compare)):
            return self._operators(node, indent, suffix)
        if isinstance(node, ast.IfExp):
            test, other = (self._written(n, low, high) for n in (node.test, node.orelse))
            body = self._element(node.body, indent, "")
            return [*body, f"{indent}if {test}", f"{indent}else {other}{suffix}"]
        return self._split(node, indent, "", suffix)

    def _operators(self, node: ast.expr, indent: str, suffix: str) -> list[str]:
        """Split at the operators that bind least, each at the head of its line."""
        low, high = node.col_offset, node.end_col_offset or 0
        parts = self._operands(node)
        lines: list[str] = []
        for number, part in enumerate(parts):
            text = self._written(part, low, high)
            if number:
                before = parts[number - 1].end_col_offset or 0
                text = self._slice(before, part.col_offset).strip("() ") + " " + text
            lines.append(indent + text)
        return [*lines[:-1], lines[-1] + suffix]

    def _operands(self, node: ast.expr) -> list[ast.expr]:
        """Return the operands between the operators of one precedence, left to right."""
        if isinstance(node, ast.BoolOp):
            return list(node.values)
        if isinstance(node, ast.Compare):
            return [node.left, *node.comparators]
        assert isinstance(node, ast.BinOp)
        left = node.left
        bare = left.col_offset == node.col_offset
        if isinstance(left, ast.BinOp) and bare and _level(left.op) == _level(node.op):
            return [*self._operands(left), node.right]
        return [left, node.right]

    def _split(self, node: ast.expr, indent: str, prefix: str, suffix: str) -> list[str]:
        text = self._own(node)
        if isinstance(node, ast.Call):
            given = sorted([*node.args, *node.keywords], key=lambda part: part.col_offset)
            opened = text.index("(", len(self._own(node.func)))
            if not given or given[0].col_offset >= node.col_offset + len(
                text[: opened + 1].encode()
            ):
                ends = (prefix + text[: opened + 1], ")" + suffix)
                return self._brackets(node, given, ends, indent, opened + 1)
        elif isinstance(node, (ast.Tuple, ast.List)) and text[0] in "([":
            ends = (prefix + text[0], text[-1] + suffix)
            return self._brackets(node, list(node.elts), ends, indent, 1)
        elif isinstance(node, _COMPREHENSIONS):
            inner = indent + self.step
            lines = self._clauses(node, inner)
            if len(inner) + len(text) - 2 <= self.width:
                lines = [inner + text[1:-1]]
            if all(len(line) <= self.width for line in lines):
                return [indent + prefix + text[0], *lines, indent + text[-1] + suffix]
        elif isinstance(node, ast.Lambda):
            head = self._slice(node.col_offset, node.body.col_offset)
            body = indent + self.step + self._own(node.body)
            if not head.endswith("(") and len(body) <= self.width:
                return [f"{indent}{prefix}{head}(", body, f"{indent}){suffix}"]
        return [indent + prefix + text + suffix]

    def _clauses(self, node: ast.expr, indent: str) -> list[str]:
        """Return a comprehension's lines: the element, then each `for` and `if`."""
        assert isinstance(node, _COMPREHENSIONS)
        element = node.value if isinstance(node, ast.DictComp) else node.elt
        ends = [node.col_offset + 1]
        end = element.end_col_offset or 0
        for generator in node.generators:
            word = "async for" if generator.is_async else "for"
            parts: list[tuple[str, ast.expr]] = [(word, generator.target)]
            parts += [("if", test) for test in generator.ifs]
            for place, (word, part) in enumerate(parts):
                between = self._slice(end, part.col_offset)
                ends.append(end + len(between[: between.rindex(word)].encode()))
                last = part if place else generator.iter
                end = last.end_col_offset or 0
        ends.append((node.end_col_offset or 0) - 1)
        return [indent + self._slice(*pair).strip() for pair in itertools.pairwise(ends)]

    def _brackets(
        self,
        node: ast.expr,
        parts: Sequence[ast.expr | ast.keyword],
        ends: tuple[str, str],
        indent: str,
        opened: int,
    ) -> list[str]:
        low, high = node.col_offset + opened, (node.end_col_offset or 0) - bool(opened)
        inner = indent + self.step
        texts = [self._written(part, low, high) for part in parts]
        joined = ", ".join(texts)
        if not parts:
            return [indent + ends[0] + ends[1]]
        if len(inner) + len(joined) <= self.width:
            return [indent + ends[0], inner + joined, indent + ends[1]]
        lines = [line for part, text in zip(parts, texts) for line in self._part(part, text, inner)]
        if len(parts) == 1 and not isinstance(node, ast.Tuple):
            lines[-1] = lines[-1].removesuffix(",")
        return [indent + ends[0], *lines, indent + ends[1]]

    def _part(self, part: ast.expr | ast.keyword, text: str, indent: str) -> list[str]:
        if len(indent) + len(text) + 1 <= self.width or text != self._own(part):
            return [f"{indent}{text},"]
        if isinstance(part, ast.keyword):
            return self._split(part.value, indent, f"{part.arg}=" if part.arg else "**", ",")
        return self._element(part, indent, ",")


def _level(op: ast.operator) -> int:
    levels = ((ast.BitOr,), (ast.BitXor,), (ast.BitAnd,), (ast.LShift, ast.RShift))
    levels += ((ast.Add, ast.Sub),)
    return next((i for i, kinds in enumerate(levels) if isinstance(op, kinds)), len(levels))
