"""Expressions as documents: where `ruff format` and Black may break them.

What is given stands on one line, with the commas at the ends of brackets that keep them open. Text
is kept as it is but for line breaks and these commas.
"""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass, field

from .documents import SOFT, SPACE, Doc, Group, IfOpen, Indent, group, joined

BINARY = (ast.BinOp, ast.BoolOp, ast.Compare)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DISPLAYS = (ast.Tuple, ast.List, ast.Set, ast.Dict, *COMPREHENSIONS)
_LEVELS: tuple[tuple[type[ast.operator], ...], ...] = (
    (ast.BitOr,),
    (ast.BitXor,),
    (ast.BitAnd,),
    (ast.LShift, ast.RShift),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.MatMult),
    (ast.Pow,),
)


def in_parentheses(content: Doc, opened: bool = False) -> Group:
    """Return a document in parentheses, on lines of its own where it is broken."""
    return group("(", Indent((SOFT, group(content))), SOFT, ")", opened=opened)


@dataclass
class Expression:
    """One expression on one line."""

    source: str
    node: ast.expr = field(init=False)
    _raw: bytes = field(init=False)

    def __post_init__(self) -> None:
        try:
            self._raw = f"_={self.source}".encode()
            (stmt,) = ast.parse(self._raw.decode()).body
            assert isinstance(stmt, ast.Assign)
            self.node = stmt.value
        except SyntaxError:  # a named expression
            self._raw = f"({self.source})".encode()
            self.node = ast.parse(self._raw.decode(), mode="eval").body

    # -- text -------------------------------------------------------------------------------

    def text(self, node: ast.AST) -> str:
        """Return the source of a node."""
        return self._slice(node.col_offset, node.end_col_offset)  # type: ignore[attr-defined]

    def _slice(self, start: int, end: int) -> str:
        return self._raw[start:end].decode()

    def around(self, node: ast.AST, low: int, high: int) -> tuple[int, int]:
        """Return the range of a node with the parentheses around it, between two columns."""
        start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        while self._raw[low:start].rstrip().endswith(b"("):
            behind = self._raw[end:high].lstrip()
            if not behind.startswith(b")"):
                break
            start = low + self._raw[low:start].rindex(b"(")
            end = self._raw.index(b")", end) + 1
        return start, end

    def is_bare(self, node: ast.expr, low: int, high: int) -> bool:
        return self.around(node, low, high)[0] == node.col_offset

    # -- documents --------------------------------------------------------------------------

    def child(self, node: ast.expr, low: int, high: int, inside: bool = True) -> Doc:
        """Return a node below another, with its parentheses if it has any."""
        if self.is_bare(node, low, high):
            return self.doc(node, inside)
        return in_parentheses(self.doc(node, inside=True))

    def _element(self, node: ast.expr, low: int, high: int) -> Doc:
        return group(self.child(node, low, high))

    def doc(self, node: ast.expr, inside: bool) -> Doc:
        """Return a node, `inside` brackets where it may be broken at its operators."""
        if isinstance(node, BINARY):
            return self._binary(node, inside)
        if isinstance(node, ast.IfExp):
            return self._choice(node, inside)
        if isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)):
            return self._trailers(node, inside)
        if isinstance(node, COMPREHENSIONS):
            text = self.text(node)
            inner = self._clauses(node, node.col_offset + 1, (node.end_col_offset or 0) - 1)
            return group(text[0], Indent((SOFT, group(inner))), SOFT, text[-1])
        if isinstance(node, DISPLAYS):
            text = self.text(node)
            bare = isinstance(node, ast.Tuple) and not self.is_bracketed(node)
            return self.display(node, *(("", "") if bare else (text[0], text[-1])))
        if isinstance(node, ast.Lambda):
            return self._lambda(node)
        if isinstance(node, ast.Slice):
            return self._range(node)
        head = operand_of(node)
        if head is not None:
            low, high = node.col_offset, node.end_col_offset or 0
            start = self.around(head, low, high)[0]
            return (self._slice(low, start), self.child(head, low, high, inside))
        return self._strings(node, inside)

    def _strings(self, node: ast.expr, inside: bool) -> Doc:
        text = self.text(node)
        parts = pieces(text) if inside and isinstance(node, (ast.Constant, ast.JoinedStr)) else []
        return group(joined(list(parts), SPACE)) if len(parts) > 1 else text

    def _lambda(self, node: ast.Lambda) -> Doc:
        low, high = node.col_offset, node.end_col_offset or 0
        start, _ = self.around(node.body, low, high)
        head = self._slice(low, start)
        if start != node.body.col_offset:
            return (head, self.child(node.body, low, high))
        body = self.doc(node.body, inside=True)
        return (head, group(IfOpen("("), Indent((SOFT, body)), SOFT, IfOpen(")")))

    def _range(self, node: ast.Slice) -> Doc:
        low, high = node.col_offset, node.end_col_offset or 0
        docs: list[Doc] = []
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                start, end = self.around(part, low, high)
                docs += [self._slice(low, start), self._element(part, low, high)]
                low = end
        return (*docs, self._slice(low, high))

    def _binary(self, node: ast.expr, inside: bool) -> Doc:
        low, high = node.col_offset, node.end_col_offset or 0
        parts = self._operands(node)
        docs: list[Doc] = []
        end = low
        for number, part in enumerate(parts):
            start, stop = self.around(part, low, high)
            between = self._slice(end, start)
            tight = isinstance(part, BINARY) and start == part.col_offset
            doc = self.child(part, low, high, inside)
            if number:
                space = SPACE if inside else " "
                sign = between.strip()
                docs += [space, sign + " "] if between != sign else [sign]
            docs.append(group(doc) if tight else doc)
            end = stop
        return group(*docs)

    def _operands(self, node: ast.expr) -> list[ast.expr]:
        """Return the operands between the operators of one precedence, left to right."""
        if isinstance(node, ast.BoolOp):
            found: list[ast.expr] = []
            for value in node.values:
                nested = isinstance(value, ast.BoolOp) and self.is_bare(
                    value, node.col_offset, node.end_col_offset or 0
                )
                found += self._operands(value) if nested else [value]
            return found
        if isinstance(node, ast.Compare):
            return [node.left, *node.comparators]
        assert isinstance(node, ast.BinOp)
        left = node.left
        bare = left.col_offset == node.col_offset
        if isinstance(left, ast.BinOp) and bare and level(left.op) == level(node.op):
            return [*self._operands(left), node.right]
        return [left, node.right]

    def _choice(self, node: ast.IfExp, inside: bool) -> Doc:
        space = SPACE if inside else " "
        docs: list[Doc] = []
        low, high = node.col_offset, node.end_col_offset or 0
        while True:
            docs += [self.child(node.body, low, high, inside), space, "if "]
            docs += [self.child(node.test, low, high, inside), space, "else "]
            other = node.orelse
            if not isinstance(other, ast.IfExp) or not self.is_bare(other, low, high):
                return group(*docs, self.child(other, low, high, inside))
            node, low = other, other.col_offset

    # -- calls, attributes, items -----------------------------------------------------------

    def _trailers(self, node: ast.expr, inside: bool) -> Doc:
        split = inside and self.is_chain(node)
        docs: list[Doc] = []
        while True:
            low, high = node.col_offset, node.end_col_offset or 0
            if isinstance(node, ast.Call):
                inner = node.func
                docs.append(self._arguments(node, self.around(inner, low, high)[1]))
            elif isinstance(node, ast.Subscript):
                inner = node.value
                docs.append(self._items(node, self.around(inner, low, high)[1]))
            elif isinstance(node, ast.Attribute):
                inner = node.value
                docs.append("." + node.attr)
                parted = isinstance(inner, (ast.Call, ast.Subscript))
                if split and (parted or not self.is_bare(inner, low, high)):
                    docs.append(SOFT)
            else:
                docs.append(self.doc(node, inside))
                break
            if not self.is_bare(inner, low, high):
                docs.append(self.child(inner, low, high))
                break
            node = inner
        docs.reverse()
        return group(*docs) if split else tuple(docs)

    def is_chain(self, node: ast.expr) -> bool:
        """Say whether two or more attributes are read of what calls or items give."""
        count = 0
        while isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)):
            inner = node.func if isinstance(node, ast.Call) else node.value
            bare = self.is_bare(inner, node.col_offset, node.end_col_offset or 0)
            if isinstance(node, ast.Attribute):
                count += isinstance(inner, (ast.Call, ast.Subscript)) or not bare
            if not bare:
                break
            node = inner
        return count >= 2

    def _arguments(self, node: ast.Call, opened: int) -> Doc:
        low, high = self._raw.index(b"(", opened) + 1, (node.end_col_offset or 0) - 1
        given = sorted([*node.args, *node.keywords], key=lambda part: part.col_offset)
        if not given:
            return "()"
        only = given[0]
        if len(given) == 1 and isinstance(only, ast.GeneratorExp) and only.col_offset < low:
            inner = self._clauses(only, low, high)
            return group("(", Indent((SOFT, group(inner))), SOFT, ")")
        docs: list[Doc] = []
        for part in given:
            if isinstance(part, ast.keyword):
                start, end = part.col_offset, part.end_col_offset or 0
                first = self.around(part.value, start, end)[0]
                docs.append((self._slice(start, first), self._element(part.value, start, end)))
            else:
                docs.append(self._element(part, low, high))
        return self._packed("(", docs, ")", low, high)

    def _items(self, node: ast.Subscript, opened: int) -> Doc:
        low, high = self._raw.index(b"[", opened) + 1, (node.end_col_offset or 0) - 1
        item = node.slice
        if isinstance(item, ast.Tuple) and item.elts and not self.is_bracketed(item):
            docs = [self._element(part, low, high) for part in item.elts]
            if len(docs) == 1:
                return ("[", docs[0], ",]")
            return self._packed("[", docs, "]", low, high)
        return group("[", Indent((SOFT, self._element(item, low, high))), SOFT, "]")

    def _packed(self, first: str, docs: list[Doc], last: str, low: int, high: int) -> Doc:
        """Return brackets whose contents may stand on one line of their own."""
        magic = self._magic(low, high)
        comma = IfOpen(",") if magic or len(docs) > 1 else ""
        inner = group(joined(docs, (",", SPACE)), comma, opened=magic)
        return group(first, Indent((SOFT, inner)), SOFT, last)

    def _magic(self, low: int, high: int) -> bool:
        return self._raw[low:high].rstrip().endswith(b",")

    # -- displays ---------------------------------------------------------------------------

    def display(self, node: ast.expr, first: str, last: str) -> Doc:
        """Return a list, set, dictionary or tuple, between these brackets."""
        low, high = node.col_offset, node.end_col_offset or 0
        bracketed = not isinstance(node, ast.Tuple) or self.is_bracketed(node)
        if bracketed:
            low, high = low + 1, high - 1
        if isinstance(node, ast.Dict):
            docs = [
                self._entry(key, value, low, high) for key, value in zip(node.keys, node.values)
            ]
        else:
            assert isinstance(node, (ast.Tuple, ast.List, ast.Set))
            docs = [self._element(part, low, high) for part in node.elts]
        if not docs:
            return first + last
        magic = self._magic(low, high)
        comma: Doc = IfOpen(",") if magic or len(docs) > 1 else ""
        if isinstance(node, ast.Tuple) and len(docs) == 1:
            comma, magic = ",", False
        if not first:
            return (joined(docs, ", "), comma if comma == "," else "")
        content = (joined(docs, (",", SPACE)), comma)
        return group(first, Indent((SOFT, content)), SOFT, last, opened=magic)

    def _entry(self, key: ast.expr | None, value: ast.expr, low: int, high: int) -> Doc:
        if key is None:
            return ("**", self._element(value, low, high))
        start = self.around(key, low, value.col_offset)[0]
        first = self.around(value, low, high)[0]
        end = self.around(key, low, value.col_offset)[1]
        colon = self._slice(end, first)
        return (self._element(key, start, end), colon, self._element(value, low, high))

    def is_bracketed(self, node: ast.Tuple) -> bool:
        """Say whether the parentheses of a tuple are its own."""
        low, high = node.col_offset, node.end_col_offset or 0
        raw = self._raw[low:high]
        if not raw.startswith(b"(") or not raw.endswith(b")"):
            return False
        return not node.elts or self.around(node.elts[0], low, high)[0] > low

    def _clauses(self, node: ast.expr, low: int, high: int) -> Doc:
        """Return the inside of a comprehension: the element, then each `for` and `if`."""
        assert isinstance(node, COMPREHENSIONS)
        if isinstance(node, ast.DictComp):
            docs: list[Doc] = [self._entry(node.key, node.value, low, high)]
        else:
            docs = [self._element(node.elt, low, high)]
        for generator in node.generators:
            word = "async for" if generator.is_async else "for"
            target = self.text(generator.target)
            low = generator.target.end_col_offset or 0
            docs += [SPACE, f"{word} {target} in ", self._element(generator.iter, low, high)]
            for test in generator.ifs:
                docs += [SPACE, "if ", self._element(test, low, high)]
        return tuple(docs)


def operand_of(node: ast.expr) -> ast.expr | None:
    """Return what stands behind the words or signs that an expression starts with."""
    if isinstance(node, ast.UnaryOp):
        return node.operand
    if isinstance(node, (ast.Starred, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
        return node.value
    return None


def level(op: ast.operator) -> int:
    return next(i for i, kinds in enumerate(_LEVELS) if isinstance(op, kinds))


def pieces(text: str) -> list[str]:
    """Return the strings that stand side by side, if that is what an expression is."""
    found: list[str] = []
    opened = start = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING" and not opened:
            found.append(token.string)
        elif kind in ("FSTRING_START", "TSTRING_START"):
            start = start if opened else token.start[1]
            opened += 1
        elif kind in ("FSTRING_END", "TSTRING_END"):
            opened -= 1
            if not opened:
                found.append(text[start : token.end[1]])
    return found
