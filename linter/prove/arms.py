"""Which ways through the changed lines ran: recorder calls in every arm, on a copy of the tree."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .literals import literals

_HITS = 10_000
_PREFIX = "__compile_lint_"  # ends in two underscores, too: classes don't mangle such names
_READS = frozenset("item tolist int nonzero unique argwhere unique_consecutive".split())
_MAKERS = frozenset(
    "ones zeros tensor full ones_like zeros_like full_like new_ones new_zeros new_full as_tensor "
    "bool int float".split()
)


class Endless(Exception):
    """A run turned its loops so often that its input is taken for one on which they never end."""


@dataclass(slots=True)
class Arm:
    """One outcome, or (`code`) just that changed code ran at all.

    `needed`: a proof must have seen it (known only at run time for some loops).
    """

    line: int
    missing: str  # what to say when it was never seen, "the branch at line 3 was never taken"
    needed: bool = True
    seen: bool = False
    code: bool = False


class Arms:
    """The arms of the changed lines of a text, and the code that records them.

    Args:
        text: The original. `path`: its file.
        changed: (first, last) lines.
    """

    def __init__(self, text: str, path: str, changed: Iterable[tuple[int, int]]) -> None:
        self.arms: list[Arm] = []
        tree = ast.parse(text)
        self.literals = literals(tree, changed)
        tree = _Instrument(self, tuple(changed)).visit(tree)
        self.code: types.CodeType = compile(
            ast.fix_missing_locations(tree), path, "exec", dont_inherit=True
        )
        self._now: set[int] = set()
        self._hits = 0
        self._log: list[int] = []

    def install(self, module: types.ModuleType) -> None:
        """Give a module that is to be made of `code` the functions it calls."""
        for name in ("hit", "left", "test", "range"):
            setattr(module, _name(name), getattr(self, f"_{name}"))

    def start(self) -> None:
        """Forget what the last run reached."""
        self._now.clear()
        self._hits = 0

    def reached(self) -> set[int]:
        """The numbers of the arms that ran since `start`."""
        return set(self._now)

    def accept(self, reached: Iterable[int]) -> None:
        """Count these as seen."""
        for number in reached:
            self.arms[number].seen = True

    def unseen(self) -> list[Arm]:
        """Needed arms that no accepted run reached."""
        return [arm for arm in self.arms if arm.needed and not arm.seen]

    def count(self) -> tuple[int, int]:
        """Return how many of the needed outcomes were seen, and how many there are."""
        needed = [arm for arm in self.arms if arm.needed and not arm.code]
        return sum(arm.seen for arm in needed), len(needed)

    def add(self, line: int, missing: str, needed: bool = True) -> int:
        """Return the number of a new arm."""
        self.arms.append(Arm(line, missing, needed))
        return len(self.arms) - 1

    def _hit(self, number: int) -> None:
        self._now.add(number)
        self._hits += 1
        if self._hits > _HITS:
            self._hits = 0
            raise Endless(f"a loop turned {_HITS} times")

    def _left(self, stopped: int, stops_on: bool, value: Any) -> Any:
        """The operand of `and`/`or`: the expression ends with it when its truth is `stops_on`."""
        if bool(value) is stops_on:
            self._now.add(stopped)
        return value

    def _test(self, yes: int, no: int, value: Any) -> bool:
        truth = bool(value)
        self._now.add(yes if truth else no)
        return truth

    def _range(self, skipped: int, *bounds: Any) -> range:
        """A loop over range(tensor): how often it runs depends on data."""
        if any(not isinstance(bound, int) for bound in bounds):
            self.arms[skipped].needed = True
        return range(*bounds)


def _name(what: str) -> str:
    return f"{_PREFIX}{what}__"


def _call(what: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(_name(what), ast.Load()), list(arguments), [])


def _hit(number: int) -> ast.Expr:
    return ast.Expr(_call("hit", ast.Constant(number)))


def _then(number: int, value: ast.expr) -> ast.expr:
    """`value`, after its arm was recorded."""
    pair = ast.Tuple([_call("hit", ast.Constant(number)), value], ast.Load())
    return ast.Subscript(pair, ast.Constant(1), ast.Load())


class _Instrument(ast.NodeTransformer):
    def __init__(self, arms: Arms, changed: tuple[tuple[int, int], ...]) -> None:
        self.arms, self.changed = arms, changed
        self.loops = 0
        self.before: list[ast.stmt] = []  # statements of the same block, ahead of this one
        self.depth = 0  # of functions
        self.entered: set[tuple[int, int]] = set()  # changed ranges that a recorder stands in

    def counts(self, node: ast.AST) -> bool:
        line = getattr(node, "lineno", 0)
        return any(first <= line <= last for first, last in self.changed)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                setattr(node, name, self.block(block))
        for name, value in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody") and isinstance(value, list):
                continue
            if isinstance(value, list):
                value[:] = [self.visit(x) if isinstance(x, ast.AST) else x for x in value]
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        outer = self.before
        for place, statement in enumerate(statements):
            self.before = [*outer, *statements[:place]]
            out += self.entry(statement)
            done: Any = self.visit(statement)
            out += done if isinstance(done, list) else [done]
        self.before = outer
        return out

    def entry(self, statement: ast.stmt) -> list[ast.stmt]:
        """A recorder before the first statement of a changed range."""
        if not self.depth or isinstance(getattr(statement, "value", None), ast.Constant):
            return []
        line = statement.lineno
        new = [r for r in self.changed if r[0] <= line <= r[1] and r not in self.entered]
        if not new:
            return []
        self.entered.update(new)
        number = self.arms.add(line, f"line {line} never ran")
        self.arms.arms[number].code = True
        return [ast.copy_location(_hit(number), statement)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        here, line = self.counts(node) and not isinstance(node.test, ast.Constant), node.lineno
        self.generic_visit(node)
        if here:
            taken = self.arms.add(line, f"the branch at line {line} was never taken")
            other = self.arms.add(line, f"the branch at line {line} was always taken")
            node.body = [_hit(taken), *node.body]
            node.orelse = [_hit(other), *node.orelse]
        return node

    def visit_While(self, node: ast.While) -> Any:
        here, line = self.counts(node), node.lineno
        fixed = isinstance(node.test, ast.Constant) or _starts_fixed(node.test, self.before)
        self.generic_visit(node)
        return self.loop(node, line, fixed) if here else node

    def visit_For(self, node: ast.For) -> Any:
        here, line = self.counts(node), node.lineno
        reads = any(_called(x) in _READS for x in ast.walk(node.iter))
        over = _called(node.iter) == "range" and not getattr(node.iter, "keywords", [])
        self.generic_visit(node)
        if not here:
            return node
        made = self.loop(node, line, not reads)
        if (
            over
            and isinstance(node.iter, ast.Call)
            and not isinstance(node.iter.func, ast.Subscript)
        ):
            skipped = len(self.arms.arms) - 1
            node.iter = _call("range", ast.Constant(skipped), *node.iter.args)
        return made

    def loop(self, node: ast.For | ast.While, line: int, fixed: bool) -> list[ast.stmt]:
        entered = self.arms.add(line, f"the loop at line {line} was never entered")
        skipped = self.arms.add(line, f"the loop at line {line} was always entered", not fixed)
        self.loops += 1
        flag = _name(f"loop_{self.loops}")
        start = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(False))
        mark = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(True))
        unless = ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load()))
        node.body = [mark, _hit(entered), *node.body]
        node.orelse = [ast.If(unless, [_hit(skipped)], []), *node.orelse]
        return [ast.copy_location(start, node), node]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        here, line = self.counts(node), node.lineno
        self.generic_visit(node)
        if here and not isinstance(node.test, ast.Constant):
            taken = self.arms.add(line, f"the branch at line {line} was never taken")
            other = self.arms.add(line, f"the branch at line {line} was always taken")
            node.body, node.orelse = _then(taken, node.body), _then(other, node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        here, line = self.counts(node), node.lineno
        self.generic_visit(node)
        if here:
            word = "and" if isinstance(node.op, ast.And) else "or"
            last = len(node.values) - 1
            for place, value in enumerate(node.values):
                if place < last:
                    ends = self.arms.add(
                        line, f"operand {place + 1} of `{word}` at line {line} never decided"
                    )
                    stop = ast.Constant(word == "or")
                    value = _call("left", ast.Constant(ends), stop, value)
                if place:
                    text = f"operand {place + 1} of `{word}` at line {line} was never evaluated"
                    value = _then(self.arms.add(line, text), value)
                node.values[place] = value
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        here, line = self.counts(node), node.lineno
        self.generic_visit(node)
        if here:
            node.test = self.condition(
                node.test,
                f"the assertion at line {line} never held",
                f"the assertion at line {line} never failed",
                line,
            )
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        lines = [(test, self.counts(test), test.lineno) for test in node.ifs]
        self.generic_visit(node)
        for place, (_, here, line) in enumerate(lines):
            if here:
                node.ifs[place] = self.condition(
                    node.ifs[place],
                    f"the condition at line {line} never held",
                    f"the condition at line {line} always held",
                    line,
                )
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        here, line = self.counts(node), node.lineno
        self.generic_visit(node)
        if here:
            for case in node.cases:
                at = getattr(case.pattern, "lineno", line)
                number = self.arms.add(at, f"the case at line {at} was never taken")
                case.body = [_hit(number), *case.body]
            last = node.cases[-1]
            if last.guard or not (
                isinstance(last.pattern, ast.MatchAs) and not last.pattern.pattern
            ):
                number = self.arms.add(line, f"a case at line {line} always matched")
                node.cases.append(ast.match_case(ast.MatchAs(None, None), None, [_hit(number)]))
        return node

    def condition(self, test: ast.expr, never: str, always: str, line: int) -> ast.expr:
        yes, no = self.arms.add(line, never), self.arms.add(line, always)
        return _call("test", ast.Constant(yes), ast.Constant(no), test)


def _called(node: ast.AST) -> str:
    """The last part of the name that a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _starts_fixed(test: ast.expr, before: list[ast.stmt]) -> bool:
    """Whether a loop's test is made of names that were just set to constants: no input skips it.

    Attributes of `self` are no inputs.
    """
    known: dict[str, bool] = {}
    for statement in before:
        if isinstance(statement, ast.Assign):
            fixed = _is_fixed(statement.value)
            for target in statement.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        known[name.id] = fixed and isinstance(target, ast.Name)
        else:
            for name in ast.walk(statement):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    known[name.id] = False
    given = ("torch", "len", "self")
    names = [x.id for x in ast.walk(test) if isinstance(x, ast.Name) and x.id not in given]
    return bool(names) and all(known.get(name, False) for name in names)


def _is_fixed(value: ast.expr) -> bool:
    """A constant, or a call that makes a tensor of one (whatever its shape)."""
    if isinstance(value, ast.Call) and _called(value) in _MAKERS:
        like = _called(value).endswith("_like") or _called(value).startswith(
            ("ones", "zeros", "new")
        )
        return like or all(_is_fixed(a) for a in value.args)
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
