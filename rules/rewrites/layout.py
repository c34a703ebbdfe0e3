"""Text of new code: parentheses where they are needed, long lines split as formatters split them.

Source slices are put on one line first (`flat`) and split again where they don't fit, so that a
formatter finds nothing to change. Slices that hold a comment or a string over several lines are
declined: they can't be put on one line.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize

from ..base.rewriting import Declined
from .formatting import Layout, value_lines

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
    return value_lines(prefix, flat(expression), "", indent, Layout(width, step))
