"""The source of one function, as rewrites ask for it (see `rules.base.rewriting.Code`)."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from ..rules.base.finding import Edit, Fix, Safety, Span
from ..rules.base.reading import place
from ..rules.base.rewriting import Boundary, Declined, Effects, Names
from ..rules.base.scopes import parameters
from .analysis.effects import Aliases, effects
from .analysis.frame import Frame
from .analysis.liveness import (
    Liveness,
    bound_in_target,
    bound_names,
    boundary,
    liveness,
    surely_bound,
)
from .context import FrameContext
from .index.modules import Imported
from .layout import line_width, step
from .lexical import lexical

_TOOL_COMMENT = re.compile(
    r"#\s*(noqa|type:|pyright:|mypy:|pylint:|ruff:|fmt:|isort:|pragma|nosec|compile-lint:)"
)
_KEPT = "\0"  # stands before a line that must not be moved: it starts inside a string


class FrameCode:
    """Source, names and flow of the function of a finished frame."""

    def __init__(self, frame: Frame, ctx: FrameContext) -> None:
        self._frame = frame
        self._module = frame.module
        self._function = ctx.function
        self._closure = frozenset(name.partition(".")[0] for name in frame.closure)
        self._ctx = ctx
        self._text = frame.module.text
        self._imports: dict[str, None] = {}
        self._made: set[str] = set()

    # -- text -------------------------------------------------------------------------------

    def text(self, node: ast.AST, changes: Mapping[ast.AST, str] | None = None) -> str:
        """Return the source of a node, with the text of some nodes below it replaced."""
        start, end = self._range(node)
        return self._spliced(start, end, changes or {}, ()).replace(_KEPT, "")

    def block(
        self,
        statements: Sequence[ast.stmt],
        indent: str,
        changes: Mapping[ast.AST, str] | None = None,
    ) -> list[str]:
        """Return the lines of consecutive statements, moved to `indent`."""
        start = self._range(_head(statements[0]))[0]
        end = self._range(statements[-1])[1]
        rest = self._text[end : self._line_end(end)]
        if not rest.strip().startswith(";"):
            end = self._line_end(end)  # with the comment behind it
        old = self._text[self._line_start(start) : start]
        if not old.strip():
            start = self._comments_above(start, old)
        else:
            old = re.match(r"\s*", old)[0]  # type: ignore[index]
        keyword = self._range(_head(statements[0]))[0]
        if self._text.startswith("elif", keyword) and isinstance(statements[0], ast.If):
            text = self._text[start:keyword]  # on its own it is an `if`
            text += self._spliced(keyword + 2, end, changes or {}, lexical(self._text).strings)
        else:
            text = self._spliced(start, end, changes or {}, lexical(self._text).strings)
        lines = []
        for number, line in enumerate(text.split("\n")):
            if line.startswith(_KEPT):
                lines.append(line[1:])
            elif number == 0:
                lines.append((indent + line.strip()) if line.strip() else "")
            else:
                body = line[len(old) :] if line.startswith(old) else line.lstrip()
                lines.append((indent + body).rstrip() if body.strip() else "")
        return lines

    def indent(self, stmt: ast.stmt) -> str:
        """Return the white space a statement starts with."""
        return re.match(r"\s*", self._module.line(stmt.lineno))[0]  # type: ignore[index]

    @property
    def step(self) -> str:
        """One level of indentation as this file writes it."""
        return step(self._module.tree, self._text)

    # -- edits ------------------------------------------------------------------------------

    def lines(self, first: ast.stmt, text: Sequence[str], last: ast.stmt | None = None) -> Edit:
        """Return the edit that puts whole lines in place of statements."""
        start = self._range(_head(first))[0]
        end = self._range(last or first)[1]
        begin, finish = self._line_start(start), self._line_end(end)
        behind = self._text[end:finish].strip()
        if self._text[begin:start].strip() or (behind and not behind.startswith("#")):
            raise Declined("the statement shares its line with others")
        text = self._with_comments(first, last or first, text)
        if text and not text[0] and self._text[:begin].endswith("\n\n"):
            text = text[1:]  # one blank line is enough
        if not text and finish < len(self._text):
            finish += 1
        return Edit(self._span(begin, finish), "\n".join(text))

    def _with_comments(self, first: ast.stmt, last: ast.stmt, text: Sequence[str]) -> list[str]:
        """Return the lines with the comments of the statements that they would lose."""
        lines = list(text)
        kept = "\n".join(lines)
        comments = lexical(self._text).comments
        numbers = range(_head(first).lineno, (last.end_lineno or last.lineno) + 1)  # type: ignore[attr-defined]
        lost = [
            (number, comment)
            for number in numbers
            if (comment := comments.get(number)) is not None
            and comment not in kept
            and not _TOOL_COMMENT.match(comment)
        ]
        if not lost:
            return lines
        place = 1 if lines and lines[0].strip() == "else:" else 0
        model = lines[place] if place < len(lines) else self._module.line(first.lineno)
        number, comment = lost[0]
        beside = not self._module.line(number).lstrip().startswith("#")
        if len(lost) == 1 and beside and len(lines) == place + 1:
            line = f"{lines[place]}  {comment}"
            if len(line) <= self.width:
                return [*lines[:place], line]
        indent = re.match(r"\s*", model)[0]  # type: ignore[index]
        return [*lines[:place], *(indent + comment for _, comment in lost), *lines[place:]]

    def replace(self, node: ast.AST, text: str) -> Edit:
        """Return the edit that puts text in place of a node."""
        return Edit(self._span(*self._range(node)), text)

    def insert(self, before: ast.stmt, text: Sequence[str], above: bool = False) -> Edit:
        """Return the edit that puts whole lines before a statement."""
        start = self._range(_head(before))[0]
        begin = self._line_start(start)
        if self._text[begin:start].strip():
            raise Declined("the statement shares its line with others")
        if above:
            begin = self._comments_above(start, self._text[begin:start])
        return Edit(self._span(begin, begin), "".join(line + "\n" for line in text))

    def anew(self) -> FrameCode:
        """Return a fresh view of the same function."""
        return FrameCode(self._frame, self._ctx)

    def append(self, after: ast.stmt, text: Sequence[str]) -> Edit:
        """Return the edit that puts whole lines behind a statement."""
        end = self._range(after)[1]
        finish = self._line_end(end)
        behind = self._text[end:finish].strip()
        if behind and not behind.startswith("#"):
            raise Declined("the statement shares its line with others")
        return Edit(self._span(finish, finish), "".join("\n" + line for line in text))

    def fix(
        self,
        title: str,
        edits: Iterable[Edit],
        safety: Safety = Safety.NEEDS_PROOF,
        unused: Iterable[str] = (),
    ) -> Fix:
        """Return the fix of these edits, with imports that are missing and those that may go."""
        ordered = tuple(sorted(edits, key=lambda edit: edit.span))
        going = dict.fromkeys(line for name in unused for line in self._imports_of(name))
        return Fix(title, ordered, safety, tuple(self._imports), tuple(going))

    @property
    def width(self) -> int:
        """Columns that this file's formatter fills."""
        return line_width(self._text, self._module.path)

    @property
    def module(self) -> ast.Module:
        """The module that the function stands in."""
        return self._module.tree

    def _imports_of(self, name: str) -> Iterator[str]:
        """Yield the import statements by which the module may have spelled a canonical name."""
        for bound, binding in self._module.bindings.items():
            if not isinstance(binding, Imported):
                continue
            known = ".".join(part for part in (binding.module, binding.name) if part)
            if (name + ".").startswith(known + "."):
                alias = "" if bound == (binding.name or binding.module) else f" as {bound}"
                if binding.name:
                    yield f"from {binding.module} import {binding.name}{alias}"
                else:
                    yield f"import {binding.module}{alias}"

    # -- names ------------------------------------------------------------------------------

    def spell(self, name: str) -> str:
        """Return how this module writes a canonical dotted name."""
        best = ""
        found = ""
        for bound, binding in self._module.bindings.items():
            if not isinstance(binding, Imported) or bound in self._hiding:
                continue
            known = ".".join(part for part in (binding.module, binding.name) if part)
            if (name + ".").startswith(known + ".") and len(known) > len(best):
                best, found = known, bound + name[len(known) :]
        if found:
            return found
        top = name.partition(".")[0]
        if top in self._hiding or top in self._module.bindings:
            raise Declined(f"`{top}` is the name of something else here")
        self._imports[f"import {top}"] = None
        return name

    def fresh(self, base: str) -> str:
        """Return a name like `base` that nothing in the module mentions."""
        number = 1
        name = base
        while name in self._words or name in self._made:
            number += 1
            name = f"{base}_{number}"
        self._made.add(name)
        return name

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(re.findall(r"\w+", self._text))

    @cached_property
    def _hiding(self) -> Names:
        """Names of the function, and of those around it, that hide the module's."""
        return frozenset((*bound_names_of(self._function), *self._closure))

    # -- flow -------------------------------------------------------------------------------

    def boundary(self, statements: Sequence[ast.stmt]) -> Boundary:
        """Return what crosses the border of consecutive statements of one block."""
        return boundary(self._function, list(statements))

    def effects(self, nodes: Iterable[ast.AST]) -> Effects:
        """Return the joint effects of statements or expressions."""
        return effects(nodes, self._ctx)

    @cached_property
    def _liveness(self) -> Liveness:
        return liveness(self._function)

    def live_after(self, stmt: ast.stmt) -> Names:
        """Return the names that are read after a statement."""
        return self._liveness.after.get(stmt, frozenset())

    def bound_before(self, stmt: ast.stmt) -> Names:
        """Return the local names that are surely bound where a statement starts."""
        names = set(parameters(self._function))
        child: ast.AST = stmt
        for parent in (*self._ctx.ancestors(stmt), self._function):
            block = _block_with(parent, child)
            if block is not None:
                names |= surely_bound(block[: block.index(child)])  # type: ignore[arg-type]
            if isinstance(parent, (ast.For, ast.AsyncFor)) and block is parent.body:
                names |= set(bound_in_target(parent.target))
            elif isinstance(parent, (ast.With, ast.AsyncWith)):
                names |= {n for item in parent.items for n in bound_names(item)}
            elif isinstance(parent, ast.ExceptHandler) and parent.name:
                names.add(parent.name)
            child = parent
        return frozenset(names)

    @cached_property
    def _aliases(self) -> Aliases:
        return Aliases(self._function, self._ctx)

    def may_alias(self, left: str, right: str) -> bool:
        """Say whether two names or dotted paths may share storage."""
        return self._aliases.may_alias(left, right)

    def shared(self, name: str) -> bool:
        """Say whether what is written to a name's tensor in place may be seen elsewhere."""
        if "." in name or name in parameters(self._function) or name in self._closure:
            return True
        return any(
            other != name and other.partition(".")[0] != name for other in self._aliases.of(name)
        )

    def block_of(self, stmt: ast.stmt) -> Sequence[ast.stmt]:
        """Return the block that a statement is one of."""
        parent = self._ctx.parent(stmt) or self._function
        block = _block_with(parent, stmt)
        if block is None:
            raise Declined("the code isn't a statement of a block")
        return block

    def uses(self, name: str) -> Sequence[ast.Name]:
        """Return the places where the function reads a local name, in source order."""
        found = [
            node
            for node in ast.walk(self._function)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        ]
        return sorted(found, key=place)

    # -- places -----------------------------------------------------------------------------

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self._text))]

    def _offset(self, line: int, column: int) -> int:
        """Return the offset in the text of a 1-based line and a 0-based UTF-8 column."""
        return self._starts[line - 1] + self._module.column(line, column) - 1

    def _range(self, node: ast.AST) -> tuple[int, int]:
        return (
            self._offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self._offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def _line_start(self, offset: int) -> int:
        return self._text.rfind("\n", 0, offset) + 1

    def _line_end(self, offset: int) -> int:
        end = self._text.find("\n", offset)
        return len(self._text) if end < 0 else end

    def _span(self, start: int, end: int) -> Span:
        return Span(*self._place(start), *self._place(end))

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def _comments_above(self, start: int, indent: str) -> int:
        """Return where the comment lines directly above a statement start."""
        begin = self._line_start(start)
        while begin:
            above = self._line_start(begin - 1)
            line = self._text[above : begin - 1]
            if not line.startswith(indent + "#"):
                break
            begin = above
        return begin

    def _spliced(
        self, start: int, end: int, changes: Mapping[ast.AST, str], kept: Iterable[int]
    ) -> str:
        """Return a range of the source with changes made, lines inside strings marked."""
        marked = {self._starts[line - 1] for line in kept}
        parts = []
        for first, last, text in sorted((*self._range(n), text) for n, text in changes.items()):
            parts += [self._marked(start, first, marked), text]
            start = last
        return "".join([*parts, self._marked(start, end, marked)])

    def _marked(self, start: int, end: int, marked: set[int]) -> str:
        parts = []
        for stop in sorted(offset for offset in marked if start < offset <= end):
            parts.append(self._text[start:stop] + _KEPT)
            start = stop
        return "".join([*parts, self._text[start:end]])


def bound_names_of(function: ast.AST) -> Iterator[str]:
    """Yield the parameters of a function and the names its body binds."""
    yield from parameters(function)
    body = getattr(function, "body", [])
    for stmt in body if isinstance(body, list) else []:
        if not isinstance(function, ast.Module):
            yield from bound_names(stmt)


def _head(stmt: ast.AST) -> ast.AST:
    """Return where a statement starts: at its first decorator, if it has any."""
    decorators = getattr(stmt, "decorator_list", None)
    if not decorators:
        return stmt
    first = decorators[0]
    mark = ast.copy_location(ast.Pass(), first)
    mark.col_offset -= 1  # the @
    return mark


def _block_with(parent: ast.AST, child: ast.AST) -> list[ast.stmt] | None:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and child in block:
            return block
    return None
