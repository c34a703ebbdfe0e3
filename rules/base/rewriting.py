"""What a rule may ask about the source around a node, to write a better one.

A rule's `fix` yields rewrites, best first: the fixer takes the first one that is proved; where
there is none it raises `Declined`. Text that is kept is sliced from the source, so comments, quotes
and layout stay as they were; only what changes is written anew (docs/decisions/0006).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from .finding import Edit, Fix, Safety
from .valueclass import valueclass

Names = frozenset[str]


class Declined(Exception):
    """There is no rewrite. The reason reads after "not rewritten: "."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@valueclass
class Boundary:
    """What crosses the border of a run of statements.

    reads    names that must be bound before: read inside before they are bound inside
    results  names bound inside that are read afterwards
    partial  results that some path through the statements leaves unbound
    exits    whether some path leaves by return, break, continue or raise
    """

    reads: Names
    results: Names
    partial: Names
    exits: bool


@valueclass
class Effects:
    """What running some code may do besides computing values.

    mutates  names or dotted paths whose object it may write in place
    stores   attributes or items it assigns ("self.cache", "out[...]")
    random   whether it draws random numbers
    raises   whether it contains a raise or assert
    unknown  source of calls of which nothing is known
    """

    mutates: frozenset[str] = frozenset()
    stores: frozenset[str] = frozenset()
    random: bool = False
    raises: bool = False
    unknown: tuple[str, ...] = ()

    @property
    def pure(self) -> bool:
        """Whether running it twice, or when it would not have run, is unobservable."""
        return not (self.mutates or self.stores or self.random or self.raises or self.unknown)


class Code(Protocol):
    """The source of one function, for one rewrite. Made anew for every call of `Rule.fix`.

    Methods raise `Declined` where the source's layout is in the way, such as statements that share
    a line.
    """

    def text(self, node: ast.AST, changes: Mapping[ast.AST, str] | None = None) -> str:
        """Return the source of a node, with the text of some nodes below it replaced.

        Parentheses around the node itself aren't part of it; `changes` must not overlap.
        """
        ...

    def block(
        self,
        statements: Sequence[ast.stmt],
        indent: str,
        changes: Mapping[ast.AST, str] | None = None,
    ) -> list[str]:
        """Return the lines of consecutive statements, comments between and beside them included.

        They are moved to `indent`; the inside of strings over several lines stays where it is.
        """
        ...

    def indent(self, stmt: ast.stmt) -> str:
        """Return the white space a statement starts with."""
        ...

    @property
    def step(self) -> str:
        """One level of indentation as this file writes it, such as four spaces."""
        ...

    def lines(self, first: ast.stmt, text: Sequence[str], last: ast.stmt | None = None) -> Edit:
        """Return the edit that puts whole lines in place of the statements `first` to `last`.

        Comments of the statements that the lines don't repeat are kept above them (beside a single
        line, if one stood beside its statement), except those that speak to tools (`noqa`,
        `type: ignore`). No lines remove the statements (the caller sees to it that a block isn't
        left empty).
        """
        ...

    def replace(self, node: ast.AST, text: str) -> Edit:
        """Return the edit that puts text in place of an expression or a one-line statement."""
        ...

    def insert(self, before: ast.stmt, text: Sequence[str], above: bool = False) -> Edit:
        """Return the edit that puts whole lines before a statement (and its decorators).

        With `above`, comments that stand directly above the statement stay with it.
        """
        ...

    def spell(self, name: str) -> str:
        """Return how this module writes a canonical dotted name, such as "torch.where".

        `import torch as t` makes it "t.where", `from torch import where` "where". A module that
        isn't imported is imported by the fix (once, beside the other imports); local variables
        that hide a name are respected.
        """
        ...

    def fresh(self, base: str) -> str:
        """Return a name like `base` that nothing in the function or its module binds."""
        ...

    def boundary(self, statements: Sequence[ast.stmt]) -> Boundary:
        """Return what crosses the border of consecutive statements of one block."""
        ...

    def effects(self, nodes: Iterable[ast.AST]) -> Effects:
        """Return the joint effects of statements or expressions."""
        ...

    def live_after(self, stmt: ast.stmt) -> Names:
        """Return the names that are read after a statement."""
        ...

    def bound_before(self, stmt: ast.stmt) -> Names:
        """Return the local names that are surely bound where a statement starts."""
        ...

    def may_alias(self, left: str, right: str) -> bool:
        """Say whether two names or dotted paths may share storage."""
        ...

    def shared(self, name: str) -> bool:
        """Say whether what is written to a name's tensor in place may be seen under another name.

        Parameters belong to the caller as well; attributes are always shared.
        """
        ...

    def block_of(self, stmt: ast.stmt) -> Sequence[ast.stmt]:
        """Return the block (body, orelse, …) that a statement is one of."""
        ...

    def uses(self, name: str) -> Sequence[ast.Name]:
        """Return the places where the function reads a local name, in source order."""
        ...

    def anew(self) -> Code:
        """Return a fresh view of the same function, for another rewrite of the same sighting."""
        ...

    @property
    def width(self) -> int:
        """Columns that this file's formatter fills: 88, 100 or 120, by its longest line of code."""
        ...

    @property
    def module(self) -> ast.Module:
        """The module that the function stands in; its statements may be given to `insert`."""
        ...

    def append(self, after: ast.stmt, text: Sequence[str]) -> Edit:
        """Return the edit that puts whole lines behind a statement (and the comment beside it)."""
        ...

    def fix(
        self,
        title: str,
        edits: Iterable[Edit],
        safety: Safety = Safety.NEEDS_PROOF,
        unused: Iterable[str] = (),
    ) -> Fix:
        """Return the fix of these edits, sorted, with the imports that `spell` found missing.

        `unused` are canonical names, such as "copy.deepcopy", that the edits take out: imports
        that only they needed are removed.
        """
        ...
