"""What only the tokens of a source say: comments, and lines that start inside a string."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Lexical:
    """What one pass over the tokens of a text finds.

    comments  the comment on every line that has one
    strings   the lines that start inside a string
    """

    comments: Mapping[int, str]
    strings: frozenset[int]


@lru_cache(maxsize=4)
def lexical(text: str) -> Lexical:
    """Return the comments and string lines of a text; rewrites of one file ask many times."""
    comments: dict[int, str] = {}
    strings: set[int] = set()
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "COMMENT":
            comments[token.start[0]] = token.string
        elif kind == "STRING":
            strings.update(range(token.start[0] + 1, token.end[0] + 1))
        elif kind in ("FSTRING_START", "TSTRING_START"):
            opened.append(token.start[0])
        elif kind in ("FSTRING_END", "TSTRING_END"):
            strings.update(range(opened.pop() + 1, token.end[0] + 1))
    return Lexical(comments, frozenset(strings))
