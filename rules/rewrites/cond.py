"""An `if` on a tensor → `torch.cond`: only the arm that is taken runs.

Arms become functions of the tensors they read; numbers, modules and configuration come in by
closure. What an arm would return as it got it is cloned, numbers become tensors.

Declined: arms that write to what others see or call what nothing is known of; Python numbers that
an arm rebinds; `None`, strings and other values that are no tensors; names one arm leaves unbound.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.context import Context
from ..base.facts import Fact, Tensor, options
from ..base.finding import Fix
from ..base.hops import operator_of
from ..base.reading import module_of, place
from ..base.rewriting import Code, Declined
from .arm_reader import ArmReader
from .arms import Branch, alike, before, is_number, pairs
from .fresh import is_fresh
from .layout import flat, receiver, statement
from .predicates import Test
from .where import Form
from .writes import stored

_COMPUTED = ast.BinOp(ast.Constant(0), ast.Add(), ast.Constant(0))  # a value made by computing


def cond_fix(branch: Branch, test: Test, ctx: Context, code: Code) -> Fix:
    """Return the fix that runs the arm that is taken. Raises Declined."""
    lines = Cond(branch, test, ctx, code).lines()
    edits = [code.lines(branch.stmt, lines, branch.last), *test.edits]
    return code.fix("run the arm that is taken with `torch.cond`", edits)


def cond_call(test: ast.IfExp, predicate: str, ctx: Context, code: Code) -> str:
    """Return a conditional expression as one `torch.cond` expression. Raises Declined."""
    arms = [Arm((), (value,)) for value in (test.body, test.orelse)]
    for arm in arms:
        check(arm, ctx, code)
    alike(ctx.fact(test.body), ctx.fact(test.orelse), promotes=False)
    names = tensors_read(arms, ctx, code, ctx.statement(test))
    texts = [_lambda(arm, names, ctx, code) for arm in arms]
    given = f", {_tuple(_apart(names, code))}" if names else ""
    return f"{code.spell('torch.cond')}({predicate}, {', '.join(texts)}{given})"


@dataclass(frozen=True, slots=True)
class Arm:
    """Statements, and the values or names they hand on."""

    statements: tuple[ast.stmt, ...]
    values: tuple[ast.expr | str, ...]

    @property
    def nodes(self) -> list[ast.AST]:
        """All code of the arm."""
        return [*self.statements, *(v for v in self.values if isinstance(v, ast.expr))]

    def binds(self) -> set[str]:
        """Return the names that the arm binds."""
        return {name for stmt in self.statements for name in stored(stmt)}

    def made(self, name: str) -> ast.expr | None:
        """Return the last plain value of a name in the arm, None where it has none."""
        for stmt in reversed(self.statements):
            if name in stored(stmt):
                if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
                    target, value = stmt.targets[0], stmt.value
                    if isinstance(target, ast.Name):
                        return value
                    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                        named = [getattr(t, "id", "") for t in target.elts]
                        return value.elts[named.index(name)] if name in named else _COMPUTED
                return _COMPUTED
        return None


class Cond(Form):
    """The form that runs one arm."""

    def _picked(self, indent: str, predicate: str) -> list[str]:
        branch, code, ctx = self.branch, self.code, self.ctx
        prefix, arms = self._arms()
        for arm in arms:
            check(arm, ctx, code)
        bound = code.bound_before(branch.stmt)
        names = tensors_read(arms, ctx, code, branch.stmt)
        cond = code.spell("torch.cond")
        short = [self._short(arm) for arm in arms]
        given = f", {_tuple(_apart(names, code))}" if names else ""
        if all(arm is not None for arm in short):
            texts = [_lambda(arm, names, ctx, code) for arm in short if arm is not None]
            call = f"{cond}({predicate}, {', '.join(texts)}{given})"
            return self._statement(prefix, call, indent)
        holder = ctx.parent(branch.stmt) or ctx.function
        opens = isinstance(holder, (ast.FunctionDef, ast.AsyncFunctionDef)) and not self.test.guard
        first = opens and code.block_of(branch.stmt)[0] is branch.stmt and not self.test.before
        lines = [] if first else [""]
        functions = []
        for arm, word in zip(arms, ("true_branch", "false_branch")):
            for value in arm.values:
                if isinstance(value, str) and value not in arm.binds() and value not in bound:
                    raise Declined(f"`{value}` is unbound when the other arm is taken")
            functions.append(code.fresh(word))
            lines += self._function(arm, functions[-1], names, indent)
            lines.append("")
        call = f"{cond}({predicate}, {', '.join(functions)}{given})"
        return [*lines, *self._statement(prefix, call, indent)]

    def _arms(self) -> tuple[str, list[Arm]]:
        """Return what stands before the call, and the arms."""
        branch, code = self.branch, self.code
        if branch.values is not None:
            _same_layout(branch.values, self.ctx)
            one, two = branch.values
            return "return ", [Arm(branch.then, (one,)), Arm(branch.other, (two,))]
        alive = code.live_after(branch.stmt)
        keys = sorted({k for s in (*branch.then, *branch.other) for k in stored(s)} & alive)
        if not keys:
            raise Declined("neither arm computes anything that is read later")
        bound = code.bound_before(branch.stmt)
        for arm in (branch.then, branch.other):
            for key in keys:
                if key not in bound and not any(key in stored(s) for s in arm):
                    raise Declined(f"`{key}` is unbound when the other arm is taken")
        arms = [Arm(tuple(arm), tuple(keys)) for arm in (branch.then, branch.other)]
        for key in keys:
            facts = []
            for arm in arms:
                made = arm.made(key)
                old = before(key, branch.stmt, self.ctx, code)
                facts.append(old if made is None else self.ctx.fact(made))
            alike(facts[0], facts[1], promotes=False)
        return ", ".join(keys) + " = ", arms

    def _short(self, arm: Arm) -> Arm | None:
        """Return an arm as one expression, None where it takes statements."""
        statements = [s for s in arm.statements if not isinstance(s, ast.Pass)]
        if not statements:
            return Arm((), arm.values) if len(arm.values) == 1 else None
        only = statements[0]
        plain = len(statements) == 1 and isinstance(only, ast.Assign) and len(only.targets) == 1
        if not plain or len(arm.values) != 1 or not isinstance(arm.values[0], str):
            return None
        assert isinstance(only, ast.Assign)
        named = isinstance(only.targets[0], ast.Name) and only.targets[0].id == arm.values[0]
        return Arm((), (only.value,)) if named else None

    def _function(self, arm: Arm, name: str, names: list[str], indent: str) -> list[str]:
        code, inner = self.code, indent + self.code.step
        lines = [f"{indent}def {name}({', '.join(names)}):"]
        reader = ArmReader(
            arm.statements, None, frozenset(), self.branch.stmt, inner, self.ctx, code, ""
        )
        run: list[ast.stmt] = []
        for stmt in reader.statements:
            write = reader.write(stmt)
            plain = write is None or not (write.operator or write.method)
            if plain or not isinstance(self.ctx.fact(_target(stmt)), Tensor):
                run.append(stmt)
                continue
            assert write is not None
            if write.in_place or not write.key.isidentifier():
                raise Declined(f"an arm writes `{write.key}` in place")
            lines += code.block(run, inner) if run else []
            run = []
            lines += statement(f"{write.key} = ", reader.new(write), inner, code.width, code.step)
        lines += code.block(run, inner) if run else []
        texts = [handed(value, arm, names, self.ctx, code) for value in arm.values]
        return [*lines, *statement("return ", ", ".join(texts), inner, code.width, code.step)]


def check(arm: Arm, ctx: Context, code: Code) -> None:
    """Decline arms that `torch.cond` can't run."""
    found = code.effects(arm.nodes)
    written = (found.mutates - arm.binds()) | found.stores
    if written:
        raise Declined(f"an arm writes `{sorted(written)[0]}`")
    for name in sorted(found.mutates):
        if code.shared(name):
            raise Declined(f"an arm writes `{name}` in place, which others see")
    if found.raises:
        raise Declined("an arm raises")
    for node in (inner for root in arm.nodes for inner in ast.walk(root)):
        if isinstance(node, (ast.Global, ast.Nonlocal, ast.Await, ast.Yield, ast.YieldFrom)):
            raise Declined("an arm does what a function of its own can't")
        if isinstance(node, ast.Name) and node.id == "super":
            raise Declined("an arm calls `super()`")
        if isinstance(node, ast.expr) and any(
            isinstance(o, Tensor) and o.ragged for o in options(ctx.fact(node))
        ):
            raise Declined("an arm has sizes that depend on data")
        if isinstance(node, ast.Call) and code.effects([node]).unknown:
            module = module_of(ctx.fact(node.func)) is not None
            callee = ctx.callee(node)
            nested = operator_of(callee.name) in ("cond", "while_loop") or _handed(node, arm, ctx)
            if callee.project is None and not module and not nested:
                what = flat(code.text(node.func))
                raise Declined(f"an arm calls `{what}`, of which nothing is known")


def _handed(call: ast.Call, arm: Arm, ctx: Context) -> bool:
    """Say whether a call stands in a function inside the arm, which an operator there is given."""
    inside = [node for root in arm.nodes for node in ast.walk(root)]
    given = (n for n in inside if isinstance(n, (ast.Lambda, ast.FunctionDef)))
    if not any(call is node for function in given for node in ast.walk(function)):
        return False
    calls = (n for n in inside if isinstance(n, ast.Call))
    return any(operator_of(ctx.callee(n).name) in ("cond", "while_loop") for n in calls)


def tensors_read(arms: Sequence[Arm], ctx: Context, code: Code, stmt: ast.stmt) -> list[str]:
    """Return the operands: local tensors that the arms read, and locals that they rebind."""
    bound = code.bound_before(stmt)
    rebound = set().union(*(arm.binds() for arm in arms))
    found: dict[str, None] = {}
    for arm in arms:
        reads = code.boundary(arm.statements).reads if arm.statements else frozenset()
        for value in arm.values:
            if isinstance(value, str) and value not in arm.binds():
                found[value] = None
        for name in (*found, *(reads & rebound)):
            if is_number(before(name, stmt, ctx, code)):
                raise Declined(f"`{name}` is a Python number that an arm changes")
        for node in sorted(_loads(arm), key=place):
            if node.id not in bound or node.id in found:
                continue
            fact = ctx.fact(node)
            early = node.id in reads or not any(node.id in stored(s) for s in arm.statements)
            if any(isinstance(o, Tensor) for o in options(fact)) and early:
                if any(getattr(o, "kind", "") == "NoneType" for o in options(fact)):
                    continue
                found[node.id] = None
            elif early and node.id in rebound:
                if is_number(fact):
                    raise Declined(f"`{node.id}` is a Python number that an arm changes")
                found[node.id] = None
    return list(found)


def _loads(arm: Arm) -> list[ast.Name]:
    return [
        node
        for root in arm.nodes
        for node in ast.walk(root)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    ]


def handed(value: ast.expr | str, arm: Arm, names: Sequence[str], ctx: Context, code: Code) -> str:
    """Return the text of a value as an arm may return it: a tensor of its own."""
    if isinstance(value, str):
        made = arm.made(value)
        if value not in arm.binds() or (made is not None and not is_fresh(made, ctx, arm.made)):
            return f"{value}.clone()"
        if made is not None and is_number(ctx.fact(made)):
            return _tensor(value, names, code)
        return value
    if isinstance(value, (ast.Tuple, ast.List)):
        parts = [handed(part, arm, names, ctx, code) for part in value.elts]
        ends = "()" if isinstance(value, ast.Tuple) else "[]"
        return (
            ends[0] + ", ".join(parts) + ("," if len(parts) == 1 and ends == "()" else "") + ends[1]
        )
    if isinstance(value, ast.Dict) and None not in value.keys:
        keys = [flat(code.text(key)) for key in value.keys if key is not None]
        given = [handed(part, arm, names, ctx, code) for part in value.values]
        return "{" + ", ".join(f"{k}: {v}" for k, v in zip(keys, given)) + "}"
    text = flat(code.text(value))
    if is_number(ctx.fact(value)):
        return _tensor(text, names, code)
    return text if is_fresh(value, ctx, arm.made) else f"{receiver(text)}.clone()"


def _tensor(text: str, names: Sequence[str], code: Code) -> str:
    if names:
        return f"{names[0]}.new_tensor({text})"
    return f"{code.spell('torch.tensor')}({text})"


def _same_layout(values: tuple[ast.expr, ast.expr], ctx: Context) -> None:
    parts = pairs(*values)
    for one, two in parts if parts is not None else [values]:
        if parts is not None:
            _same_layout((one, two), ctx)
            continue
        facts: list[Fact] = [ctx.fact(one), ctx.fact(two)]
        alike(facts[0], facts[1], promotes=False)


def _lambda(arm: Arm, names: Sequence[str], ctx: Context, code: Code) -> str:
    text = handed(arm.values[0], arm, names, ctx, code)
    return f"lambda {', '.join(names)}: {text}" if names else f"lambda: {text}"


def _apart(names: Sequence[str], code: Code) -> list[str]:
    """Return operands, those cloned that may share memory with one before: none may."""
    return [
        f"{name}.clone()" if any(code.may_alias(name, o) for o in names[:number]) else name
        for number, name in enumerate(names)
    ]


def _tuple(names: Sequence[str]) -> str:
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def _target(stmt: ast.stmt) -> ast.expr:
    if isinstance(stmt, ast.AugAssign):
        return stmt.target
    assert isinstance(stmt, ast.Expr)
    assert isinstance(stmt.value, ast.Call)
    assert isinstance(stmt.value.func, ast.Attribute)
    return stmt.value.func.value
