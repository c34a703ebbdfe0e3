"""An `if` on a tensor → `torch.where`: both arms are computed, the test picks.

Assignments that only one arm needs become plain statements before; what both disagree on is picked
by one `torch.where` a name. The guarded form gives roots, logarithms and divisors of an arm a safe
value where the other arm is taken, so that the arm not taken can't poison the gradient.

Declined: arms that draw random numbers, call what nothing is known of, or write to what others
see, other than one attribute, item or tensor each whose old value can be kept by writing it back;
names that one arm leaves unbound; values that are no tensors or numbers, or of different dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..base.context import Context
from ..base.facts import UNKNOWN, Fact
from ..base.finding import Fix
from ..base.rewriting import Code, Declined
from .arm_reader import ArmReader, Outcome, names_in
from .arms import Branch, alike, before, pairs
from .by_element import elements, joined
from .guarded import Guard
from .guards import reports_only
from .layout import flat, operand, parsed, receiver, statement
from .predicates import Test
from .truths import negated
from .writes import place_of

PREDICATE = "pred"


def where_fix(branch: Branch, test: Test, ctx: Context, code: Code, guarded: bool = False) -> Fix:
    """Return the fix that computes both arms. Raises Declined."""
    lines = Where(branch, test, ctx, code, guarded).lines()
    title = "compute both arms and pick with `torch.where`"
    if guarded:
        title += ", with operands of the arm not taken made safe"
    return code.fix(title, [code.lines(branch.stmt, lines, branch.last), *test.edits])


class Form:
    """A branch rewritten around the part of its test that stays Python."""

    def __init__(self, branch: Branch, test: Test, ctx: Context, code: Code) -> None:
        self.branch, self.test, self.ctx, self.code = branch, test, ctx, code

    def lines(self) -> list[str]:
        """Return the lines that replace the branch."""
        branch, test = self.branch, self.test
        lines = [*branch.header, *(branch.indent + line for line in test.before), *self._body()]
        if branch.header:
            lines[0] = self.code.indent(branch.stmt) + "else:"
        return lines

    def _body(self) -> list[str]:
        branch, test = self.branch, self.test
        if not test.guard:
            return self._picked(branch.indent, test.text)
        if test.plain:
            return self._as_it_was()
        if branch.values is None:
            untaken = branch.then if test.otherwise else branch.other
            return self._beside(untaken)
        simple = not branch.other and not test.otherwise
        if test.otherwise or simple:
            inner = self._picked(branch.indent + self.code.step, test.text)
            untaken = branch.then if test.otherwise else branch.other
            value = branch.values[0 if test.otherwise else 1]
            tail = [*self._kept(untaken, branch.indent), *self._return(value, branch.indent)]
            return [f"{branch.indent}if {test.guard}:", *inner, *tail]
        return self._picked(branch.indent, test.whole().text)

    def _as_it_was(self) -> list[str]:
        """Return both forms: of a tensor, and as it was for what the guard tells from one."""
        branch, test = self.branch, self.test
        if len(branch.then) + len(branch.other) > 4:
            raise Declined(f"the branch would have to be written twice, for `{test.guard}`")
        indent, inner = branch.indent, branch.indent + self.code.step
        lines = [f"{indent}if {test.guard}:", *self._picked(inner, test.text)]
        word = "elif" if branch.values is None else "if"
        lines += [f"{indent}{word} {test.plain}:", *self._kept(branch.then, inner)]
        if branch.values is not None:
            lines += self._return(branch.values[0], inner)
            return [
                *lines,
                *self._kept(branch.other, indent),
                *self._return(branch.values[1], indent),
            ]
        return (
            [*lines, f"{indent}else:", *self._kept(branch.other, inner)] if branch.other else lines
        )

    def _beside(self, untaken: Sequence[ast.stmt]) -> list[str]:
        indent = self.branch.indent
        inner = self._picked(indent + self.code.step, self.test.text)
        lines = [f"{indent}if {self.test.guard}:", *inner]
        if untaken:
            if len(untaken) > 3:
                raise Declined("an arm would have to be written twice")
            lines += [f"{indent}else:", *self._kept(untaken, indent + self.code.step)]
        return lines

    def _kept(self, statements: Sequence[ast.stmt], indent: str) -> list[str]:
        return self.code.block(list(statements), indent) if statements else []

    def _return(self, value: ast.expr, indent: str) -> list[str]:
        return self._statement("return ", flat(self.code.text(value)), indent)

    def _statement(self, prefix: str, text: str, indent: str) -> list[str]:
        return statement(prefix, text, indent, self.code.width, self.code.step)

    def _picked(self, indent: str, predicate: str) -> list[str]:
        """Return the lines of both arms, chosen by a tensor."""
        raise NotImplementedError


class Where(Form):
    """The form that computes both arms."""

    def __init__(self, branch: Branch, test: Test, ctx: Context, code: Code, guarded: bool) -> None:
        super().__init__(branch, test, ctx, code)
        self.guarded = guarded
        self.where = code.spell("torch.where")

    def _picked(self, indent: str, predicate: str) -> list[str]:
        branch, code = self.branch, self.code
        alive = code.live_after(branch.stmt) if branch.values is None else frozenset()
        then, other = (
            ArmReader(arm, value, alive, branch.stmt, indent, self.ctx, code, suffix)
            for arm, value, suffix in zip(
                (branch.then, branch.other), branch.values or (None, None), ("then", "else")
            )
        )
        keys = list(dict.fromkeys((*then.keys(), *other.keys())))
        lines: list[str] = []
        name = "" if _plain(predicate) else _name(code)
        text = predicate
        told = any(reports_only(s, self.ctx) for s in (*branch.then, *branch.other))
        if name and (self.guarded or told or self._many(keys)):
            predicate = name
        then.taken, other.taken = predicate, f"not {receiver(predicate)}"
        guards = (Guard(predicate, True, self.ctx, code, self.where), None)
        if self.guarded:
            guards = (guards[0], Guard(predicate, False, self.ctx, code, self.where))
            then.guard, other.guard = guards
        then.read(frozenset({*other.reads(), *keys}))
        other.read(frozenset())
        then.settle(other.binds())
        if name and names_in(text) & (then.rebound | other.rebound):
            predicate = name
        if predicate == name:
            lines += self._statement(f"{name} = ", text, indent)
        lines += [*then.lines, *other.lines]
        merges = [(key, *self._both(key, then, other)) for key in keys]
        lines += self._assigned(merges, predicate, indent)
        if branch.values is not None:
            text = self._merged(branch.values, (then, other), predicate)
            lines += self._statement("return ", text, indent)
        if self.guarded and not any(guard is not None and guard.used for guard in guards):
            raise Declined("no operand has to be made safe")
        return lines or [indent + "pass"]

    def _many(self, keys: Sequence[str]) -> bool:
        """Say whether the predicate is needed more than once."""
        values = self.branch.values
        written = (*self.branch.then, *self.branch.other)
        if any(isinstance(getattr(stmt, "value", None), ast.ListComp) for stmt in written):
            return True  # once for each element
        if values is None:
            return len(keys) > 1
        parts = pairs(*values)
        same = [self.code.text(a) == self.code.text(b) for a, b in parts or ()]
        return len(same) - sum(same) > 1

    def _both(self, key: str, then: ArmReader, other: ArmReader) -> tuple[Outcome, Outcome]:
        outcomes = []
        for arm in (then, other):
            found = arm.values.get(key)
            if found is None:
                if key.isidentifier() and key not in self.code.bound_before(self.branch.stmt):
                    raise Declined(f"`{key}` is unbound when the other arm is taken")
                fact: Fact = UNKNOWN
                if key.isidentifier():
                    fact = before(key, self.branch.stmt, self.ctx, self.code)
                found = Outcome(key, fact)
            outcomes.append(found)
        if elements(outcomes[0], outcomes[1]) is None:
            alike(outcomes[0].fact, outcomes[1].fact)
        return outcomes[0], outcomes[1]

    def _assigned(
        self, merges: list[tuple[str, Outcome, Outcome]], predicate: str, indent: str
    ) -> Iterator[str]:
        """Yield the picking assignments, each before its target is read as it was no more."""
        left = list(merges)
        while left:
            free = [m for m in left if not any(_spoils(m, o) for o in left if o is not m)]
            if not free:
                targets = ", ".join(m[0] for m in left)
                texts = ", ".join(self._chosen(predicate, m[1], m[2]) for m in left)
                yield from self._statement(f"{targets} = ", texts, indent)
                return
            key, one, two = free[0]
            left.remove(free[0])
            text = self._chosen(predicate, one, two)
            if one.in_place or two.in_place:
                yield from self._statement("", f"{key}.copy_({text})", indent)
            else:
                yield from self._statement(f"{key} = ", text, indent)

    def _merged(
        self,
        values: tuple[ast.expr, ast.expr],
        arms: tuple[ArmReader, ArmReader],
        predicate: str,
    ) -> str:
        """Return one expression for what both arms return."""
        parts = pairs(*values)
        if parts is None:
            texts = [arm.text(value) for arm, value in zip(arms, values)]
            facts = [self.ctx.fact(value) for value in values]
            if texts[0] != texts[1]:
                alike(facts[0], facts[1])
            return self._pick(predicate, texts[0], texts[1])
        inner = [self._merged(part, arms, predicate) for part in parts]
        if isinstance(values[0], ast.Dict):
            keys = [self.code.text(key) for key in values[0].keys if key is not None]
            return "{" + ", ".join(f"{k}: {v}" for k, v in zip(keys, inner)) + "}"
        if isinstance(values[0], ast.List):
            return f"[{', '.join(inner)}]"
        text = ", ".join(inner) + ("," if len(inner) == 1 else "")
        nested = self.branch.values is None or values[0] is not self.branch.values[0]
        return f"({text})" if nested else text

    def _chosen(self, predicate: str, one: Outcome, two: Outcome) -> str:
        found = elements(one, two)
        if found is None:
            return self._pick(predicate, one.text, two.text)
        return joined(found, lambda a, b: self._pick(predicate, a, b))

    def _pick(self, predicate: str, one: str, two: str) -> str:
        return pick(predicate, one, two, self.where)


def _name(code: Code) -> str:
    """Return a name for the predicate; `pred` is what losses call their predictions."""
    name = code.fresh(PREDICATE)
    return name if name == PREDICATE else code.fresh("taken")


def _spoils(one: tuple[str, Outcome, Outcome], two: tuple[str, Outcome, Outcome]) -> bool:
    """Say whether an arm that gives the target of `one` a value reads its old value for `two`."""
    key = one[0]
    place = place_of(parsed(key)) or key
    return any(new.text != key and place in names_in(o.text) for new, o in zip(one[1:], two[1:]))


def pick(predicate: str, one: str, two: str, where: str) -> str:
    """Return the expression that is `one` where the predicate holds, else `two`."""
    if one == two:
        return one
    if (one, two) == ("True", "False"):
        return predicate
    if (one, two) == ("False", "True"):
        return negated(predicate)
    return f"{where}({predicate}, {one}, {two})"


def _plain(predicate: str) -> bool:
    return predicate.replace(".", "").replace("_", "").isalnum() and operand(predicate) == (
        receiver(predicate)
    )
