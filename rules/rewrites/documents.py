"""Text that may be broken into lines: a group stands on one line, or all its breaks are taken.

A document is a string, a tuple of documents, or one of the classes here. `printed` puts as much on
a line as fits: outer groups are opened before inner ones, the last of several before the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Line:
    """A place where a line may end; on one line it reads `flat`."""

    flat: str


@dataclass(frozen=True, slots=True)
class Indent:
    """What stands one level deeper, where it is broken."""

    content: Doc


@dataclass(frozen=True, slots=True)
class IfOpen:
    """What is written only where the group around it is opened, such as a comma at the end."""

    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """What stands on one line if it fits. `opened`: it is broken even if it would fit."""

    content: Doc
    opened: bool = False


Doc: TypeAlias = "str | Line | Indent | IfOpen | Group | tuple[Doc, ...]"
SOFT, SPACE = Line(""), Line(" ")


def group(*content: Doc, opened: bool = False) -> Group:
    """Return a group that is opened if it must be, or if anything in it must be."""
    return Group(content, opened or is_opened(content))


def is_opened(doc: Doc) -> bool:
    """Say whether something in a document must be broken."""
    if isinstance(doc, Group):
        return doc.opened
    if isinstance(doc, Indent):
        return is_opened(doc.content)
    return isinstance(doc, tuple) and any(is_opened(part) for part in doc)


def joined(parts: list[Doc], between: Doc) -> Doc:
    """Return documents with something between them."""
    return tuple(x for part in parts for x in (between, part))[1:]


_Item = tuple[int, bool, Doc]  # its level of indentation, whether lines break, and what it is


def printed(doc: Doc, indent: str, width: int, step: str, reserved: int = 0) -> list[str]:
    """Return the lines of a document, of at most `width` columns where that can be.

    `reserved` columns are left free where it ends.
    """
    lines = [indent]
    stack: list[_Item] = [(0, True, doc)]
    while stack:
        level, breaks, item = stack.pop()
        if isinstance(item, str):
            lines[-1] += item
        elif isinstance(item, tuple):
            stack += [(level, breaks, part) for part in reversed(item)]
        elif isinstance(item, Indent):
            stack.append((level + 1, breaks, item.content))
        elif isinstance(item, IfOpen):
            lines[-1] += item.text if breaks else ""
        elif isinstance(item, Group):
            left = width - len(lines[-1])
            flat = not item.opened and _fits(item.content, left, stack, reserved)
            stack.append((level, not flat, item.content))
        elif breaks:
            lines.append(indent + level * step)
        else:
            lines[-1] += item.flat
    return lines


def _fits(content: Doc, left: int, stack: list[_Item], reserved: int) -> bool:
    """Say whether something fits on one line with what follows it, up to the next break."""
    work: list[tuple[bool, Doc]] = [(False, content)]
    rest = len(stack)
    while left >= 0:
        if not work:
            if not rest:
                return left >= reserved
            rest -= 1
            work.append(stack[rest][1:])
        breaks, item = work.pop()
        if isinstance(item, str):
            left -= len(item)
        elif isinstance(item, tuple):
            work += [(breaks, part) for part in reversed(item)]
        elif isinstance(item, (Indent, Group)):
            work.append((breaks, item.content))
        elif isinstance(item, IfOpen):
            left -= len(item.text) if breaks else 0
        elif breaks:
            return True
        else:
            left -= len(item.flat)
    return False
