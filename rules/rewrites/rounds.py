"""The body of a loop as the body of a function that runs one round.

`break` and `continue` become flags: what stands behind them keeps the old value where the flag is
set, `x = torch.where(done, x, …)`. Writes in place become new tensors, `x += 1` → `x = x + 1`, and
items of carried tensors are read and written with the index as a tensor (`index_select`,
`index_copy`).

Declined: `break` and `continue` that stand deeper than in an `if` of the loop's own body, writes in
place to what others see, and items at several indices that change.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..base.context import Context
from ..base.facts import Tensor, options
from ..base.reading import tensor_of
from ..base.rewriting import Code, Declined
from ..base.scopes import root
from .carries import Carry, Loop, assigned, in_place
from .jumps import Jump, jump_of, leaves, statements
from .layout import SIGNS, flat, operand, receiver, statement
from .loop_effects import has_twin, shares
from .predicates import tensor_test
from .truths import is_static, negated

_BINDS = (ast.Assign, ast.AnnAssign)


def test_text(node: ast.expr, ctx: Context, code: Code) -> str:
    """Return a test as one boolean tensor. Python parts of it are numbers that are carried."""
    if not is_static(node, ctx):
        return tensor_test(node, ctx, code).whole().text
    if isinstance(node, ast.BoolOp):
        sign = " & " if isinstance(node.op, ast.And) else " | "
        return sign.join(operand(test_text(value, ctx, code)) for value in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return negated(test_text(node.operand, ctx, code), node.operand)
    if isinstance(node, (ast.Compare, ast.Name)):
        return flat(code.text(node))
    raise Declined("the test isn't one of a carried value")


def not_done(carried: Sequence[Carry], code: Code) -> str:
    """Return the flag of `break` before the first round."""
    return f"{code.spell('torch.tensor')}(False{beside(carried)})"


def beside(carried: Sequence[Carry]) -> str:
    """Return the argument that puts a new tensor on the device of what is carried."""
    tensor = next((c.name for c in carried if not c.number), "")
    return f", device={tensor}.device" if tensor else ""


@dataclass
class Round:
    """Writes the lines of one round.

    names     the carried names, `numbers` those of them that are numbers in the source
    indices   numbers that index tensors: they need operators that take a tensor as index
    done      the flag that `break` sets, "" until one is met
    unrolled  whether Python still runs the loop: writes to items may stay
    old       names whose value may now be a tensor that existed before the round, or that has two
              names
    """

    ctx: Context
    code: Code
    loop: Loop
    names: tuple[str, ...]
    numbers: frozenset[str]
    indices: frozenset[str]
    done: str = ""
    unrolled: bool = False
    old: dict[str, bool] = field(default_factory=dict)

    def lines(self, body: Sequence[ast.stmt], indent: str, mask: str = "") -> list[str]:
        """Return the lines of statements, which keep old values where `mask` is set."""
        plain: list[ast.stmt] = []
        lines: list[str] = []
        for number, stmt in enumerate(body):
            jump = jump_of(stmt)
            if jump is None:
                plain.append(stmt)
                continue
            if plain:
                lines += self._plain(plain, indent, mask)
            return [*lines, *self._jump(jump, body[number + 1 :], indent, mask)]
        return [*lines, *self._plain(plain, indent, mask)] if plain else lines

    # -- jumps ------------------------------------------------------------------------------

    def _jump(self, jump: Jump, rest: Sequence[ast.stmt], indent: str, mask: str) -> list[str]:
        when = self.value(jump.test, test=True)
        if jump.inverse:
            when = negated(when, jump.test)
        stops = isinstance(jump.kind, ast.Break)
        again = bool(self.done)
        if stops and not again:
            self.done = self.code.fresh("done")
        lines: list[str] = []
        flag = self.done if stops else self.code.fresh("skip")
        hit = flag
        if mask and (jump.before or (stops and mask != self.done)):
            hit = self.code.fresh("leaves")
            lines += self._assign(hit, f"~{mask} & {operand(when)}", indent)
            when = hit
        if stops and again:
            when = f"{self.done} | {operand(when)}"
        elif mask and not stops:
            when = f"{mask} | {operand(when)}"
        lines += self._assign(flag, when, indent)
        if jump.before:
            lines += self.lines(jump.before, indent, f"~{hit}")
        if mask and stops and mask != self.done:
            flag = self.code.fresh("skip")
            lines += self._assign(flag, f"{mask} | {self.done}", indent)
        return [*lines, *self.lines([*jump.other, *rest], indent, flag)]

    def _assign(self, name: str, text: str, indent: str) -> list[str]:
        return statement(f"{name} = ", text, indent, self.code.width, self.code.step)

    # -- plain statements -------------------------------------------------------------------

    def _plain(self, body: Sequence[ast.stmt], indent: str, mask: str) -> list[str]:
        changes: dict[ast.AST, str] = {}
        lines: list[str] = []
        run: list[ast.stmt] = []
        for stmt in body:
            one = self._one(stmt, indent, mask)
            self._follow(stmt, one is not None and bool(mask))
            if one is None:
                self._collect(stmt, changes, mask)
                run.append(stmt)
                continue
            if run:
                lines += self.code.block(run, indent, changes)
                run = []
            lines += one
        return [*lines, *self.code.block(run, indent, changes)] if run else lines

    def _one(self, stmt: ast.stmt, indent: str, mask: str) -> list[str] | None:
        """Return the lines of a statement that is written anew, None where its text is kept."""
        parts = self._anew(stmt, mask)
        if parts is None:
            return None
        name, text = parts
        return self._assign(name, text, indent)

    def _follow(self, stmt: ast.stmt, masked: bool) -> None:
        """Note which names a statement leaves with a tensor that has another name as well."""
        for inner in statements(stmt):
            nested = inner is not stmt
            for name in self.names:
                for value in assigned(name, [inner]) if isinstance(inner, _BINDS) else ():
                    shared = not masked and shares(value, self.ctx)
                    self.old[name] = shared or (nested and self.old.get(name, True))
            if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
                self.old[inner.target.id] = nested and self.old.get(inner.target.id, True)
            elif isinstance(inner, _BINDS):
                for target in getattr(inner, "targets", ()):
                    for part in getattr(target, "elts", [target]):
                        name = root(part)
                        if name and (part is not target or not isinstance(part, ast.Name)):
                            self.old.setdefault(name, False)
                            if isinstance(part, ast.Subscript):
                                self.old[name] = False
            elif isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call):
                if in_place(inner.value):
                    self.old[root(inner.value.func)] = False

    def _anew(self, stmt: ast.stmt, mask: str) -> tuple[str, str] | None:
        """Return (target, value) of a statement that becomes another assignment."""
        if isinstance(stmt, ast.AugAssign):
            return self._augmented(stmt, mask)
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
            return self._method(stmt.value, mask)
        if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
            return None
        target = stmt.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            return self._item(target, self.value(stmt.value), stmt.value, mask)
        if isinstance(target, ast.Name) and target.id in self.names:
            if mask or self._reset(target.id, stmt.value):
                return target.id, self._kept(target.id, self._number(target.id, stmt.value), mask)
        if isinstance(target, ast.Tuple) and mask:
            return self._tuple(target, stmt.value, mask)
        return None

    def _augmented(self, stmt: ast.AugAssign, mask: str) -> tuple[str, str] | None:
        sign = SIGNS[type(stmt.op)]
        value = self.value(stmt.value)
        if not isinstance(stmt.value, ast.Constant):
            value = operand(value)
        target = stmt.target
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            read = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
            old = self._selected(target) or flat(self.code.text(read))
            return self._item(target, f"{old} {sign} {value}", None, mask)
        if not isinstance(target, ast.Name):
            raise Declined(f"the loop writes `{ast.unparse(target)}`")
        if target.id in self.names:
            if target.id not in self.numbers:
                self._owned(target.id)
            return target.id, self._kept(target.id, f"{target.id} {sign} {value}", mask)
        return None

    def _method(self, call: ast.Call, mask: str) -> tuple[str, str] | None:
        if not in_place(call):
            return None
        assert isinstance(call.func, ast.Attribute)
        name = call.func.value
        if not isinstance(name, ast.Name) or name.id not in self.names:
            raise Declined(f"`{ast.unparse(call.func)}` writes in place")
        self._owned(name.id)
        text = flat(self.code.text(call, self._reads(call)))
        old = f"{name.id}.{call.func.attr}("
        new = f"{name.id}.{call.func.attr[:-1]}("
        if not text.startswith(old) or not has_twin(call.func.attr[:-1], self.ctx):
            raise Declined(f"`{ast.unparse(call.func)}` writes in place")
        return name.id, self._kept(name.id, new + text[len(old) :], mask)

    def _item(
        self, target: ast.Subscript, text: str, value: ast.expr | None, mask: str
    ) -> tuple[str, str]:
        """`out[i] = v` of a carried tensor as a new tensor, or as a write where Python loops."""
        assert isinstance(target.value, ast.Name)
        name = target.value.id
        fact = tensor_of(self.ctx.fact(value)) if value is not None else Tensor()
        mask_fact = tensor_of(self.ctx.fact(target.slice))
        by_mask = mask_fact is not None and mask_fact.dtype == "bool"
        if self.unrolled and not by_mask:
            own = flat(self.code.text(target))
            return own, self._kept(own, text, mask)
        if name not in self.names:
            raise Declined(f"the loop writes `{ast.unparse(target)}`")
        self._owned(name)
        if by_mask:
            chosen = flat(self.code.text(target.slice, self._reads(target.slice)))
            where = self.code.spell("torch.where")
            if fact is None:
                return name, self._kept(name, f"{name}.masked_fill({chosen}, {text})", mask)
            return name, self._kept(name, f"{where}({chosen}, {text}, {name})", mask)
        dim, index = self._position(target)
        if fact is None:
            new = f"{name}.index_fill({dim}, {index}, {text})"
        else:
            part = f"{receiver(text)}.unsqueeze({dim})"
            new = f"{name}.index_copy({dim}, {receiver(index)}.view(1), {part})"
        return name, self._kept(name, new, mask)

    def _position(self, target: ast.Subscript) -> tuple[int, str]:
        """Return the dimension and the tensor that index whole slices of what is written."""
        parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        at = [number for number, part in enumerate(parts) if not _is_whole(part)]
        if len(at) == 1:
            index = parts[at[0]]
            fact = tensor_of(self.ctx.fact(index))
            counts = isinstance(index, ast.Name) and index.id in self.indices
            if counts or (fact is not None and fact.rank == 0 and fact.dtype == "int"):
                return at[0], flat(self.code.text(index))
        raise Declined(f"the loop writes `{ast.unparse(target)}`")

    def _tuple(self, target: ast.Tuple, value: ast.expr, mask: str) -> tuple[str, str] | None:
        names = [part.id if isinstance(part, ast.Name) else "" for part in target.elts]
        if not set(names) & set(self.names):
            return None
        if not isinstance(value, ast.Tuple) or len(value.elts) != len(names):
            raise Declined("several values are assigned at once behind `break` or `continue`")
        parts = [
            self._kept(name, self._number(name, part), mask if name in self.names else "")
            for name, part in zip(names, value.elts)
        ]
        return ", ".join(flat(self.code.text(part)) for part in target.elts), ", ".join(parts)

    def _kept(self, name: str, text: str, mask: str) -> str:
        """Return a new value, or the old one where the mask is set."""
        if not mask:
            return text
        where = self.code.spell("torch.where")
        if mask.startswith("~"):
            return f"{where}({mask[1:]}, {text}, {name})"
        return f"{where}({mask}, {name}, {text})"

    def _number(self, name: str, value: ast.expr) -> str:
        if self._reset(name, value):
            return f"{self.code.spell('torch.full_like')}({name}, {self.value(value)})"
        return self.value(value)

    def _reset(self, name: str, value: ast.expr) -> bool:
        """Say whether a carried number is given a value that stays a Python number."""
        if name not in self.numbers or any(
            isinstance(o, Tensor) for o in options(self.ctx.fact(value))
        ):
            return False
        read = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
        return not read & self.numbers

    def _owned(self, name: str) -> None:
        if self.code.shared(name):
            raise Declined(f"`{name}` is written in place, and seen elsewhere")

    # -- expressions ------------------------------------------------------------------------

    def value(self, node: ast.expr, test: bool = False) -> str:
        """Return an expression with items of carried indices read by operators."""
        changes = self._reads(node)
        if not test:
            return flat(self.code.text(node, changes)) if node not in changes else changes[node]
        if changes:
            raise Declined("the test reads an item at an index that changes")
        return test_text(node, self.ctx, self.code)

    def _collect(self, stmt: ast.stmt, changes: dict[ast.AST, str], mask: str) -> None:
        """Add the changes inside a statement whose text is kept."""
        if leaves([stmt]):
            raise Declined("`break` or `continue` stands too deep in the loop")
        for inner in statements(stmt):
            if inner is not stmt:
                parts = self._anew(inner, mask)
                if parts is not None:
                    changes[inner] = f"{parts[0]} = {parts[1]}"
        covered = tuple(changes)
        for node, text in self._reads(stmt, covered).items():
            changes[node] = text

    def _reads(self, node: ast.AST, covered: Sequence[ast.AST] = ()) -> dict[ast.AST, str]:
        changes: dict[ast.AST, str] = {}
        stack: list[ast.AST] = [node]
        while stack:
            inner = stack.pop()
            if inner in covered:
                continue
            if isinstance(inner, ast.Subscript) and isinstance(inner.ctx, ast.Load):
                text = self._selected(inner)
                if text:
                    changes[inner] = text
                    continue
            stack.extend(ast.iter_child_nodes(inner))
        return changes

    def _selected(self, node: ast.Subscript) -> str:
        """`x[i]` → a row by `index_select`, "" where no carried number is the index.

        Of one dimension, the index, as torch spells the backward pass out for no other.
        """
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        at = [k for k, part in enumerate(parts) if self._index(part)]
        if not at:
            return ""
        others = [part for k, part in enumerate(parts) if k != at[0]]
        if len(at) > 1 or not all(map(_is_whole, others)):
            raise Declined(f"`{ast.unparse(node)}` mixes an index that changes with others")
        base = receiver(flat(self.code.text(node.value, self._reads(node.value))))
        index = receiver(flat(self.code.text(parts[at[0]])))
        return f"{base}.index_select({at[0]}, {index}.reshape(1)).squeeze({at[0]})"

    def _index(self, node: ast.AST) -> bool:
        if isinstance(node, (ast.Slice, ast.Constant)):
            return False
        return any(isinstance(n, ast.Name) and n.id in self.indices for n in ast.walk(node))


def _is_whole(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step)
