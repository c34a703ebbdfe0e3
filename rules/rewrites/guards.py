"""Statements that only report (print, log, warn, time) are left out of compiled runs.

`if not torch.compiler.is_compiling():` goes around the statement, and around those beside it that
only report, too. Values that nothing else needs (`t0 = time.time()`, `norm = h.norm()`) go along,
wherever they are used. An `if` of which nothing else is left gets the guard in its own test.

Declined: a call whose result the function needs; arguments that write to something or draw random
numbers; times that are returned or compared; statements that share a line with others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

from ..base import Code, Context, Declined, Edit, Fix, Safety
from ..base.reading import place
from ..base.scopes import bound, dotted, own
from .moved import bare, wrapped

IS_COMPILING = "torch.compiler.is_compiling"
_REPORTS = (
    "builtins.print",
    "pprint.pprint",
    "sys.stdout.",
    "sys.stderr.",
    "rich.print",
    "click.echo",
    "tqdm.",
    "logging.",
    "loguru.logger.",
    "warnings.",
    "torch.Tensor.retain_grad",
    "torch._dynamo.mark_",
    "torch._dynamo.maybe_mark_",
    "torch.cuda.nvtx.",
)
_CLOCKS = ("time.", "datetime.", "timeit.")
_DEVICE = frozenset(
    f"torch.cuda.{name}"
    for name in (
        "synchronize empty_cache reset_peak_memory_stats reset_max_memory_allocated "
        "memory_allocated memory_reserved max_memory_allocated max_memory_reserved "
        "memory_summary memory_stats mem_get_info utilization device_count"
    ).split()
) | {f"torch.cuda.memory.{name}" for name in ("memory_allocated", "max_memory_allocated")}
_GROWS = frozenset({"append", "extend", "insert", "add", "update", "appendleft", "setdefault"})


def reports(name: str) -> bool:
    """Say whether a callee only tells somebody something, by its canonical name."""
    return name.startswith(_REPORTS) or observes(name)


def observes(name: str) -> bool:
    """Say whether a callee reads a clock, or what the device is doing."""
    return name.startswith(_CLOCKS) or name in _DEVICE


def guarded(
    node: ast.AST, ctx: Context, code: Code, what: str, safety: Safety = Safety.SAFE
) -> Iterator[Fix]:
    """Yield the fix that leaves out of compiled runs what a reporting call is part of.

    `what` names it in the title: "the printing". Raises Declined.
    """
    edits, sure = left_out([ctx.statement(node)], ctx, code)
    safety = safety if sure else Safety.NEEDS_PROOF
    yield code.fix(f"leave {what} out of compiled runs", edits, safety)


def left_out(
    statements: Iterable[ast.stmt], ctx: Context, code: Code
) -> tuple[tuple[Edit, ...], bool]:
    """Return the edits that leave statements out, and whether surely nothing else goes."""
    left = _Left(ctx, code)
    for stmt in statements:
        left.take(stmt)
    left.spread()
    edits = tuple(guard(run, code) for run in left.runs())
    return edits, not left.unsure


class _Left:
    """The statements that are left out, found from one of them."""

    def __init__(self, ctx: Context, code: Code) -> None:
        self.ctx = ctx
        self.code = code
        self.unsure = False  # whether calls go that may do something else
        self.statements: dict[ast.stmt, None] = {}

    def take(self, first: ast.stmt) -> None:
        """Add a statement and all that use what it binds. Raises Declined."""
        todo = [first]
        while todo:
            stmt = todo.pop()
            if self._holds(stmt) or not self.ctx.reached(stmt):
                continue  # what isn't reached has a guard already
            paths = list(self._bound(stmt))
            self.statements[stmt] = None
            for path in paths:
                todo.extend(self._users(path, stmt))

    def spread(self) -> None:
        """Add what goes along: values that nothing else reads, neighbours that report, `if`s."""
        size = 0
        while size != len(self.statements):
            size = len(self.statements)
            for stmt in self._candidates():
                if self._feeds(stmt) or self._idle(stmt):
                    self.statements[stmt] = None
            for stmt in list(self.statements):
                parent = self.ctx.parent(stmt)
                if isinstance(parent, ast.If) and not self._holds(parent) and self._idle(parent):
                    if not (parent.orelse and is_elif(parent, self.code)):
                        self.statements[parent] = None

    def runs(self) -> Iterator[list[ast.stmt]]:
        """Yield runs of neighbours, those inside of others left out."""
        tops = [s for s in self.statements if not self._inside(s)]
        tops.sort(key=place)
        run: list[ast.stmt] = []
        for stmt in tops:
            if run and self._next(run[-1]) is not stmt:
                yield run
                run = []
            run.append(stmt)
        if run:
            yield run

    # -- what may go ------------------------------------------------------------------------

    def _bound(self, stmt: ast.stmt, quiet: bool = False) -> Iterator[str]:
        """Yield the names and paths that a statement binds or grows, if it may be left out.

        `quiet` statements must be assignments of names that call nothing unknown.
        """
        if isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and stmt.value is not None:
            self._harmless([stmt.value], quiet)
            for target in stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]:
                yield from self._targets(target, quiet)
        elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and not quiet:
            yield from self._called(stmt.value)
        elif isinstance(stmt, ast.If) and not stmt.orelse and not quiet:
            self._harmless([stmt.test], strict=True)
            for inner in stmt.body:
                yield from self._bound(inner)
        elif isinstance(stmt, ast.Return):
            raise Declined("the result of the call is returned")
        else:
            raise Declined("the result of the call decides what else the function does")

    def _targets(self, target: ast.expr, quiet: bool) -> Iterator[str]:
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                yield from self._targets(element, quiet)
            return
        base = target.value if isinstance(target, ast.Subscript) else target
        path = dotted(base)
        if not path or (quiet and not isinstance(target, ast.Name)):
            raise Declined(f"`{self.code.text(target)}` is written")
        if isinstance(target, ast.Subscript):
            self.unsure = True
        yield path

    def _called(self, call: ast.Call) -> Iterator[str]:
        name = self.ctx.callee(call).name
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        self._harmless(arguments)
        if reports(name):
            return
        path = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if not path or call.func.attr not in _GROWS:  # type: ignore[attr-defined]
            raise Declined(f"`{self.code.text(call.func)}` may do more than report")
        yield path

    def _harmless(self, values: Iterable[ast.expr], strict: bool = False) -> None:
        """Raise Declined where leaving out expressions would leave out an effect."""
        values = list(values)
        found = self.code.effects(values)
        for value in values:
            for part in ast.walk(value):
                if isinstance(part, ast.NamedExpr):
                    raise Declined(f"`{part.target.id}` is bound on the way")
        written = sorted(found.mutates | found.stores)
        if written:
            raise Declined(f"`{written[0]}` is written on the way")
        if found.random:
            raise Declined("random numbers are drawn on the way")
        calls = [c for v in values for c in ast.walk(v) if isinstance(c, ast.Call)]
        known = {ast.unparse(c.func) for c in calls if reports(self.ctx.callee(c).name)}
        if set(found.unknown) - known:
            if strict:
                raise Declined(f"nothing is known of `{found.unknown[0]}`")
            self.unsure = True

    # -- who needs it -----------------------------------------------------------------------

    def _users(self, path: str, stmt: ast.stmt) -> Iterator[ast.stmt]:
        """Yield the statements that read a name or path, but for stores of other items of it."""
        inside = set(own(self.ctx.function))
        if "." not in path:
            if path not in bound(self.ctx.function):
                self.unsure = True  # an argument or a global: others read it
            for use in self.code.uses(path):
                if use not in inside:
                    raise Declined(f"a nested function reads `{path}`")
                if not self._store(use, stmt):
                    yield self.ctx.statement(use)
            return
        for part in inside:
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load):
                if dotted(part) == path and not self._store(part, stmt):
                    yield self.ctx.statement(part)

    def _store(self, part: ast.AST, stmt: ast.stmt) -> bool:
        """Say whether a container is read only to store an item, as in `stats["loss"] = loss`."""
        parent = self.ctx.parent(part)
        return (
            isinstance(parent, ast.Subscript)
            and parent.value is part
            and isinstance(parent.ctx, ast.Store)
            and self.ctx.statement(part) is not stmt
        )

    # -- places -----------------------------------------------------------------------------

    def _candidates(self) -> Iterator[ast.stmt]:
        """Yield statements beside a run, and those that read a clock."""
        for run in list(self.runs()):
            block = self.code.block_of(run[0])
            first, last = block.index(run[0]), block.index(run[-1])
            for stmt in (*block[max(first - 1, 0) : first], *block[last + 1 : last + 2]):
                if self.ctx.reached(stmt) and not self._holds(stmt):
                    yield stmt
        for part in own(self.ctx.function):
            if isinstance(part, ast.Call) and observes(self.ctx.callee(part).name):
                stmt = self.ctx.statement(part)
                if self.ctx.reached(stmt) and not self._holds(stmt):
                    yield stmt

    def _feeds(self, stmt: ast.stmt) -> bool:
        """Say whether only statements that are left out read the values of an assignment."""
        sure = self.unsure
        try:
            names = list(self._bound(stmt, quiet=True))
            if not set(names) <= set(bound(self.ctx.function)):
                return False  # a variable of the module: others read it
            users = [use for name in names for use in self._users(name, stmt)]
        except Declined:
            users = []
        found = bool(users) and all(self._holds(user) for user in users)
        self.unsure = self.unsure if found else sure
        return found

    def _idle(self, stmt: ast.stmt) -> bool:
        """Say whether a statement does nothing but report, or what is left out anyway."""
        if self._holds(stmt):
            return True
        sure = self.unsure
        try:
            if isinstance(stmt, ast.If):
                self._harmless([stmt.test], strict=True)
                if all(map(self._idle, (*stmt.body, *stmt.orelse))):
                    return True
            elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
                if reports(self.ctx.callee(stmt.value).name):
                    return not list(self._bound(stmt))
        except Declined:
            pass
        self.unsure = sure
        return False

    def _holds(self, stmt: ast.stmt) -> bool:
        return stmt in self.statements or self._inside(stmt)

    def _inside(self, stmt: ast.stmt) -> bool:
        return any(parent in self.statements for parent in self.ctx.ancestors(stmt))

    def _next(self, stmt: ast.stmt) -> ast.stmt | None:
        block = self.code.block_of(stmt)
        place = block.index(stmt) + 1
        return block[place] if place < len(block) else None


def guard(run: Sequence[ast.stmt], code: Code) -> Edit:
    """Return the edit that leaves consecutive statements out of compiled runs."""
    test = f"not {code.spell(IS_COMPILING)}()"
    only = run[0]
    if len(run) == 1 and isinstance(only, ast.If) and not only.orelse:
        old = code.text(only.test)
        loose = isinstance(only.test, (ast.IfExp, ast.Lambda)) or (
            isinstance(only.test, ast.BoolOp) and isinstance(only.test.op, ast.Or)
        )
        text = f"{test} and ({old})" if loose else f"{test} and {old}"
        first = code.indent(only) + "if " + text + ":"
        if is_elif(only, code) or ("\n" not in old and len(first) <= code.width):
            return code.replace(only.test, text)
    return code.lines(run[0], conditional(run, test, code), run[-1])


def untaken(call: ast.Call, ctx: Context, code: Code) -> Edit:
    """Return the edit that takes a question as answered by False in compiled runs."""
    text = f"not {code.spell(IS_COMPILING)}() and {code.text(call)}"
    parent = ctx.parent(call)
    bare_place = isinstance(parent, (ast.If, ast.While, ast.Return, ast.Assign)) or (
        isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And)
    )
    text = text if bare_place else f"({text})"
    stmt = ctx.statement(call)
    if isinstance(stmt, ast.If) and isinstance(stmt.test, ast.BoolOp):
        return code.replace(stmt.test, wrapped(stmt.test, {call: text}, code.indent(stmt), code))
    return code.replace(call, text)


def around(stmt: ast.stmt, ctx: Context) -> ast.stmt:
    """Return the `if` that does nothing but a statement, else the statement itself."""
    parent = ctx.parent(stmt)
    alone = isinstance(parent, ast.If) and parent.body == [stmt] and not parent.orelse
    return parent if alone else stmt  # type: ignore[return-value]


def is_elif(stmt: ast.If, code: Code) -> bool:
    """Say whether an `if` is written as the `elif` of another."""
    return code.text(stmt).startswith("elif")


def conditional(run: Sequence[ast.stmt], test: str, code: Code) -> list[str]:
    """Return the lines of consecutive statements, moved under an `if`."""
    indent = code.indent(run[0])
    lines = bare(code.block(run, indent + code.step))
    return [f"{indent}if {test}:", *lines]


def reports_only(stmt: ast.stmt, ctx: Context) -> TypeGuard[ast.If]:
    """Say whether a statement does nothing in compiled runs, nor binds names."""
    if not isinstance(stmt, ast.If) or stmt.orelse or bound(stmt):
        return False
    test = stmt.test.operand if isinstance(stmt.test, ast.UnaryOp) else None
    asks = isinstance(test, ast.Call) and ctx.callee(test).name == IS_COMPILING
    return asks and isinstance(stmt.test.op, ast.Not)  # type: ignore[attr-defined]


__all__ = [
    "IS_COMPILING",
    "around",
    "conditional",
    "guard",
    "guarded",
    "is_elif",
    "left_out",
    "observes",
    "reports",
    "reports_only",
    "untaken",
]
