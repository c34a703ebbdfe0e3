"""One arm of a branch, made free of conditions: statements that may always run, and its results.

A result that nothing in the arm reads again stays an expression; others get a name of their own, so
that the old value is still there for the other arm.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..base.context import Context
from ..base.facts import Fact, Tensor, options
from ..base.rewriting import Code, Declined, Names
from ..base.scopes import dotted
from .fresh import is_fresh
from .guarded import Guard
from .guards import reports_only
from .layout import flat, parsed, receiver, statement, tidy
from .writes import Write, is_empty, place_of, stored, targets_of, write_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an arm gives a target. `in_place` says that others see the target's storage."""

    text: str
    fact: Fact
    in_place: bool = False


def names_in(text: str) -> set[str]:
    """Return the names an expression mentions, dotted paths and items by strings too."""
    nodes = list(ast.walk(parsed(text)))
    return {place_of(n) for n in nodes if isinstance(n, _NAMING)} | {
        n.id for n in nodes if isinstance(n, ast.Name)
    }


class ArmReader:
    """Reads one arm.

    alive  names that are read after the branch
    start  the statement of the branch
    """

    def __init__(
        self,
        statements: Sequence[ast.stmt],
        returned: ast.expr | None,
        alive: Names,
        start: ast.stmt,
        indent: str,
        ctx: Context,
        code: Code,
        suffix: str,
    ) -> None:
        self.statements, self.returned = [s for s in statements if not is_empty(s)], returned
        self.alive, self.start, self.indent = alive, start, indent
        self.ctx, self.code, self.suffix = ctx, code, suffix
        self.guard: Guard | None = None
        self.taken = ""  # the test that this arm is taken, where that is known
        self.lines: list[str] = []
        self.values: dict[str, Outcome] = {}
        self.rebound: set[str] = set()  # names that the lines bind as they are
        self._names: dict[str, str] = {}
        self._pending: list[ast.stmt] = []

    # -- what is known before reading -------------------------------------------------------

    def keys(self) -> Iterator[str]:
        """Yield the targets whose value depends on which arm is taken."""
        for number, stmt in enumerate(self.statements):
            write = self.write(stmt)
            if write is not None and self._own(number, write):
                continue
            if write is not None and (write.in_place or not write.key.isidentifier()):
                yield write.key
            elif write is not None and write.method:
                yield from {write.key} & self.alive
            else:
                yield from sorted(stored(stmt) & self.alive)

    def binds(self) -> set[str]:
        """Return the names that the arm's statements bind."""
        return {name for stmt in self.statements for name in stored(stmt)} - set(self.values)

    def reads(self) -> Names:
        """Return the names whose value from before the arm reads."""
        found = self.code.boundary(self.statements).reads if self.statements else frozenset()
        if self.returned is None:
            return found
        bound = {name for stmt in self.statements for name in stored(stmt)}
        return found | (names_in(flat(self.code.text(self.returned))) - bound)

    # -- reading ----------------------------------------------------------------------------

    def read(self, needed: Names) -> None:
        """Sort statements into lines and values; the old values of `needed` names survive."""
        if self.returned is not None:
            self._pure([self.returned])
        for number, stmt in enumerate(self.statements):
            write = self.write(stmt)
            if self.taken and reports_only(stmt, self.ctx):
                self._aside(stmt)
            elif write is None or self._own(number, write):
                self._other(stmt, needed, write)
            else:
                self._write(number, write, needed)
        self._flush()

    def _write(self, number: int, write: Write, needed: Names) -> None:
        self._pure(write.given)
        key = write.key
        result = not key.isidentifier() or write.in_place or key in self.alive
        if result and self._last(number, write):
            self.values[key] = Outcome(self.new(write), self._fact(write), write.in_place)
        elif not key.isidentifier() or write.in_place:
            self._held_back(number, write)
        elif result or key in needed:
            self._renamed(write)
        else:
            self._private(write)

    def _aside(self, stmt: ast.If) -> None:
        """Let what is left out of compiled runs ask by itself whether the arm is taken."""
        self._flush()
        test = f"{flat(self.code.text(stmt.test))} and {self.taken}"
        self.lines.append(f"{self.indent}if {test}:")
        changes = {node: text for part in stmt.body for node, text in self._changes(part).items()}
        self.lines += self.code.block(stmt.body, self.indent + self.code.step, changes)

    def _own(self, number: int, write: Write) -> bool:
        """Say whether a write goes into a tensor that the arm has made itself."""
        root = write.key.partition("[")[0].partition(".")[0]
        plain = write.key.isidentifier() and not (write.operator or write.method)
        made = [s for s in self.statements[:number] if root in stored(s)]
        if plain or not made:
            return False
        values = [s.value if isinstance(s, ast.Assign) else None for s in made]
        return values[-1] is not None and is_fresh(values[-1], self.ctx)

    def settle(self, bound: set[str]) -> None:
        """Give values names of their own where they read what the other arm's statements bind."""
        for key, outcome in list(self.values.items()):
            if names_in(outcome.text) & bound and key.isidentifier():
                name = self.code.fresh(f"{key}_{self.suffix}")
                self.lines += self._statement(f"{name} = ", outcome.text)
                self.values[key] = Outcome(name, outcome.fact, outcome.in_place)
        if self.returned is not None:
            text = self.text(self.returned)
            if names_in(text) & bound:
                if isinstance(self.returned, (ast.Tuple, ast.List, ast.Dict)):
                    raise Declined("the arms share names of what they return")
                name = self.code.fresh("early")
                self.lines += self._statement(f"{name} = ", text)
                self._settled = name

    _settled = ""

    def text(self, node: ast.expr) -> str:
        """Return an expression of the arm, with the names that were given."""
        if self._settled and node is self.returned:
            return self._settled
        changes = self._changes(node)
        if node in changes:
            return changes[node]
        text = flat(self.code.text(node, changes))
        return tidy(text) if self.guard is not None and changes else text

    def _changes(self, node: ast.AST) -> dict[ast.AST, str]:
        changes: dict[ast.AST, str] = {}
        if self.guard is not None:
            self.guard.operands(node, self._names, changes)
        inside = {inner for changed in changes for inner in ast.walk(changed)}
        for inner in ast.walk(node):
            if not isinstance(inner, _NAMING) or inner in inside:
                continue
            item = isinstance(inner, ast.Subscript)
            if place_of(inner) in self._names and not (item and isinstance(inner.ctx, ast.Store)):
                changes[inner] = self._names[place_of(inner)]
        return changes

    def _statement(self, prefix: str, text: str) -> list[str]:
        return statement(prefix, text, self.indent, self.code.width, self.code.step)

    def new(self, write: Write) -> str:
        """Return the value that a write gives its target."""
        value = self.text(write.value)
        old = self._names.get(_place(write.key), write.key)
        if write.operator:
            node = parsed(value)
            loose = isinstance(node, (ast.BinOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda))
            return f"{old} {write.operator} {f'({value})' if loose else value}"
        if write.method:
            return self._twin(write, old)
        return value

    def _twin(self, write: Write, old: str) -> str:
        """Return the out-of-place calls for in-place methods."""
        text = old
        for call in (*write.earlier, write.value):
            assert isinstance(call, ast.Call)
            assert isinstance(call.func, ast.Attribute)
            given = [*call.args, *call.keywords]
            texts = [flat(self.code.text(part, self._changes(part))) for part in given]
            method = call.func.attr[:-1]
            if method == "copy":
                text = texts[0]
            elif method == "zero":
                text = f"{self.code.spell('torch.zeros_like')}({old})"
            elif method == "fill":
                text = f"{self.code.spell('torch.full_like')}({old}, {texts[0]})"
            else:
                text = f"{receiver(text)}.{method}({', '.join(texts)})"
        return text

    def _fact(self, write: Write) -> Fact:
        if write.operator or write.method:
            target = write.stmt.target if isinstance(write.stmt, ast.AugAssign) else write.value
            return self.ctx.fact(target)
        return self.ctx.fact(write.value)

    def _last(self, number: int, write: Write) -> bool:
        """Say whether a value may stay an expression: nothing later reads or changes it."""
        later = self.statements[number + 1 :]
        read = names_in(flat(self.code.text(write.value))) - {write.key}
        root = write.key.partition("[")[0]
        for node in [*later, *([self.returned] if self.returned is not None else [])]:
            for inner in ast.walk(node):
                if not isinstance(inner, (ast.Name, ast.Attribute)):
                    continue
                name = dotted(inner)
                if name == root and self._other_item(inner, write.key):
                    continue
                if name == root and not (write.key != root and inner in targets_of(node)):
                    return False
                if name in read and not isinstance(inner.ctx, ast.Load):
                    if name in stored(node) and name not in self.alive:
                        return False
        return True

    def _other_item(self, holder: ast.expr, key: str) -> bool:
        """Say whether a dict is mentioned for another item of it than the one of a key."""
        item = self.ctx.parent(holder)
        if not isinstance(item, ast.Subscript) or item.value is not holder or "[" not in key:
            return False
        mine, its = _place(key), place_of(item)
        return "[" in mine and "[" in its and mine != its

    def _renamed(self, write: Write) -> None:
        self._flush()
        name = self.code.fresh(f"{write.key}_{self.suffix}")
        self.lines += self._statement(f"{name} = ", self.new(write))
        self._names[write.key] = name
        if write.key in self.alive:
            self.values[write.key] = Outcome(name, self._fact(write))

    def _held_back(self, number: int, write: Write) -> None:
        """Give a new value of what others see a name, which the rest of the arm reads instead."""
        key = write.key
        rest = [*self.statements[number:], *([self.returned] if self.returned else [])]
        calls = [n for node in rest for n in ast.walk(node) if isinstance(n, ast.Call)]
        strange = any(not self.ctx.callee(call).name.startswith("torch.") for call in calls)
        place = _place(key)
        held = place.partition("[")[0]
        others = self._read_later(number) - {key, held}
        aliased = any(self.code.may_alias(held, other) for other in others)
        if "[" in key and any(self._whole(n, held) for node in rest for n in ast.walk(node)):
            aliased = True
        if ("[" in key) != ("[" in place) or strange or aliased:
            raise Declined(f"`{key}` is written and read again in one arm")
        self._flush()
        word = place.replace("'", "").rstrip("]").replace("[", ".").rpartition(".")[2]
        word = word if word.isidentifier() else held.rpartition(".")[2]
        name = self.code.fresh(f"{word}_{self.suffix}")
        self.lines += self._statement(f"{name} = ", self.new(write))
        self._names[place] = name
        self.values[key] = Outcome(name, self._fact(write), write.in_place)

    def _whole(self, node: ast.AST, holder: str) -> bool:
        """Say whether a dict is mentioned as a whole, or for an item that isn't told."""
        if not isinstance(node, (ast.Name, ast.Attribute)) or dotted(node) != holder:
            return False
        item = self.ctx.parent(node)
        named = isinstance(item, ast.Subscript) and item.value is node and place_of(item)
        return not named

    def _read_later(self, number: int) -> set[str]:
        later = [*self.statements[number + 1 :], *([self.returned] if self.returned else [])]
        nodes = [inner for node in later for inner in ast.walk(node)]
        return {dotted(n) for n in nodes if isinstance(n, (ast.Name, ast.Attribute))} - {""}

    def _private(self, write: Write) -> None:
        self.rebound.add(write.key)
        changes = self._changes(write.value)
        if not changes and write.key not in self._names:
            self._pending.append(write.stmt)
            return
        self._flush()
        name = self._names.pop(write.key, write.key)
        text = self.new(write) if write.operator else flat(self.code.text(write.value, changes))
        self.lines += self._statement(f"{name} = ", text)
        if name != write.key:
            self._names[write.key] = name

    def _other(self, stmt: ast.stmt, needed: Names, write: Write | None) -> None:
        """Take over a statement that isn't one plain assignment, or writes to the arm's own."""
        self._pure([stmt] if write is None else write.given)
        touched = stored(stmt) & (self.alive | needed)
        plain = isinstance(stmt, (ast.Assign, ast.AnnAssign))
        self.rebound |= stored(stmt) - touched
        changes: dict[ast.AST, str] = dict(self._changes(stmt))
        if touched:
            self._flush()
        for name in sorted(touched):
            new = self._names.get(name) or self.code.fresh(f"{name}_{self.suffix}")
            if not plain and name not in self._names:
                self.lines += self._statement(f"{new} = ", name)
            for node in ast.walk(stmt):
                if isinstance(node, ast.Name) and node.id == name:
                    if not plain or not isinstance(node.ctx, ast.Load):
                        changes[node] = new
            self._names[name] = new
            if name in self.alive:
                self.values[name] = Outcome(new, _NOTHING)
        if changes:
            self._flush()
            self.lines += self.code.block([stmt], self.indent, changes)
        else:
            self._pending.append(stmt)

    def _flush(self) -> None:
        """Write out statements that stay as they are, with what stands between them."""
        run: list[ast.stmt] = []
        for stmt in self._pending:
            if run and self._follows(run[-1], stmt):
                run.append(stmt)
            else:
                self.lines += self.code.block(run, self.indent) if run else []
                run = [stmt]
        self.lines += self.code.block(run, self.indent) if run else []
        self._pending.clear()

    def _follows(self, one: ast.stmt, two: ast.stmt) -> bool:
        block = list(self.code.block_of(one))
        return two in block and block.index(two) == block.index(one) + 1

    def _pure(self, nodes: Sequence[ast.AST]) -> None:
        found = self.code.effects(nodes)
        if found.random:
            raise Declined("an arm draws random numbers, which must not happen in vain")
        if found.unknown:
            raise Declined(f"an arm calls `{found.unknown[0]}`, of which nothing is known")
        if found.raises:
            raise Declined("an arm raises")
        written = sorted(found.mutates | found.stores)
        if written:
            raise Declined(f"an arm writes `{written[0]}` in place")

    def write(self, stmt: ast.stmt) -> Write | None:
        """Return a statement as one write, None for other statements."""
        return write_of(stmt, self._seen, self.ctx, self.code)

    def _seen(self, target: ast.expr) -> bool:
        """Say whether others see what is written to a target in place."""
        tensor = any(isinstance(o, Tensor) for o in options(self.ctx.fact(target)))
        path = dotted(target)
        return bool(path) and tensor and self.code.shared(path) and not self._made_here(path)

    def _made_here(self, name: str) -> bool:
        """Say whether a name was last bound to a tensor that nothing else refers to."""
        block = list(self.code.block_of(self.start))
        for earlier in reversed(block[: block.index(self.start)]):
            if name not in stored(earlier):
                continue
            plain = isinstance(earlier, ast.Assign) and len(earlier.targets) == 1
            if not plain or not is_fresh(earlier.value, self.ctx):  # type: ignore[attr-defined]
                return False
            others = {n.id for n in ast.walk(self.ctx.function) if isinstance(n, ast.Name)} - {name}
            return not any(self.code.may_alias(name, other) for other in others)
        return False


def _place(key: str) -> str:
    """Return the one spelling of a target; what isn't a place stays as it is."""
    return place_of(parsed(key)) or key


_NOTHING = Fact()
_NAMING = (ast.Name, ast.Attribute, ast.Subscript)
