"""How what a mask selected ends: stored, reduced, counted or added, over all rows instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from ..base.context import Context
from ..base.facts import Tensor
from ..base.finding import Fix
from ..base.reading import shown, tensor_of
from ..base.rewriting import Code, Declined
from ..base.scopes import root
from .editing import Changes, beside
from .layout import SIGNS, operand, receiver
from .ownership import cloned_before, owned
from .selection import Selection, axis, keyword, rank_of, same_shape
from .uses import Uses

_FILLS = {"sum": "0", "mean": "0", "norm": "0", "any": "0", "count_nonzero": "0", "prod": "1"}
_FILLS |= {"all": "1", "max": "-inf", "amax": "-inf", "min": "inf", "amin": "inf"}


def key_of(mask: ast.expr) -> str:
    """Return the text that an index must have to select by this mask."""
    return ast.unparse(mask).strip("()")


@dataclass
class Masking:
    """One rewrite: a selection, and how its ends are written."""

    mask: ast.expr
    keys: frozenset[str]
    ctx: Context
    code: Code
    extra: int = 0
    removed: ast.Assign | None = None
    mask_rank: int | None = None
    mask_text: str = ""
    behind: bool = False
    changes: Changes = field(init=False)
    selection: Selection = field(init=False)

    def __post_init__(self) -> None:
        self.changes = Changes(self.ctx, self.code)
        self.selection = Selection(self.mask, self.keys, self.ctx, self.changes)
        if self.mask_rank is None:
            self.mask_rank = self.mask_rank

    @property
    def shown(self) -> str:
        """How titles call the mask."""
        return shown(self.mask, 40)

    def fixes(self, reads: list[ast.expr]) -> Iterator[Fix]:
        """Yield the fix in the forms that the ranks allow, likeliest first."""
        for read in reads:
            self.selection.read(read)
        if not self.selection.ends:
            raise Declined("what the mask selects isn't used")
        self.selection.steady()
        for extra in self._extras():
            for guarded in (True, False) if self.selection.risky else (False,):
                self.extra = extra
                self.changes.made.clear()
                self.changes.statements.clear()
                self._write(guarded)
                yield self.code.fix(self._title(guarded), self.changes.edits())

    def _title(self, guarded: bool) -> str:
        title = f"all rows, masked by `{self.shown}`"
        if self.extra:
            title += ", which stands for whole rows"
        return title + ", with harmless operands elsewhere" if guarded else title

    def _extras(self) -> list[int]:
        """Return how many dimensions may stand behind those of the mask, likeliest first."""
        rows = self.selection.rows
        for base in self._bases() if not self.behind else ():
            rank, own = rank_of(base, self.ctx), self.mask_rank
            if rank is not None and own is not None and not rows:
                return [rank - own] if rank >= own else []
            if same_shape(self.mask, base, self.ctx):
                return [0]
        return [1, 0] if rows or self.behind or self._deep() else [0, 1]

    def _deep(self) -> bool:
        """Say whether some use of this mask shows that it stands for rows of several elements."""
        if any(
            isinstance(end, ast.Call) and axis(end, self.ctx) is not None
            for end in self.selection.ends
        ):
            return True
        text = ast.unparse(self.mask)
        for node in self.ctx.inside(self.ctx.function):
            if self.selection.base(node) is not None:
                parent = self.ctx.parent(node)
                call = self.ctx.parent(parent) if isinstance(parent, ast.Attribute) else None
                if isinstance(call, ast.Call) and axis(call, self.ctx) is not None:
                    return True
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == text:
                if any(isinstance(n, ast.Constant) and n.value is None for n in ast.walk(node)):
                    return True
        return False

    def _bases(self) -> Iterator[ast.expr]:
        yield from self.selection.reads.values()
        for end in self.selection.ends:
            if isinstance(end, (ast.Assign, ast.AugAssign)):
                target = end.targets[0] if isinstance(end, ast.Assign) else end.target
                assert isinstance(target, ast.Subscript)
                yield target.value

    # -- writing ----------------------------------------------------------------------------

    def _write(self, guarded: bool) -> None:
        for read, base in self.selection.reads.items():
            floats = (tensor_of(self.ctx.fact(base)) or Tensor()).dtype != "int"
            self.changes.made[read] = partial(self._whole, base, guarded and floats)
        for end, value in self.selection.ends.items():
            self._end(end, value)
        if self.removed is not None:
            stmt = self.removed
            if len(self.code.block_of(stmt)) == 1:
                raise Declined("nothing would be left of the block")
            self.changes.statements[stmt] = list

    def _whole(self, base: ast.expr, guarded: bool) -> str:
        """Return all rows of what is read, harmless ones outside of the mask if `guarded`."""
        text = self.changes.text(base)
        return self._where(text, "1") if guarded else text

    def _plain_mask(self) -> str:
        return self.mask_text or self.changes.text(self.mask)

    def _mask(self) -> str:
        text = self._plain_mask()
        if not self.extra:
            return text
        rank = self.mask_rank
        behind = ", ".join(["None"] * self.extra)
        return f"{receiver(text)}[{':' if rank == 1 else '...'}, {behind}]"

    def _where(self, value: str, other: str) -> str:
        return f"{self.code.spell('torch.where')}({self._mask()}, {value}, {other})"

    def _end(self, end: ast.AST, value: ast.expr) -> None:
        if isinstance(end, (ast.Assign, ast.AugAssign)):
            self._store(end, value)
        elif isinstance(end, ast.Subscript):
            if ast.unparse(end.slice) != "0":
                raise Declined(f"`{shown(end)}` asks for more than the number of rows")
            self._counted(end, value)
        else:
            assert isinstance(end, ast.Call)
            self._call(end, value)

    def _call(self, call: ast.Call, value: ast.expr) -> None:
        last = self.ctx.callee(call).name.rpartition(".")[2]
        if last == "len" or last == "numel" or (last == "size" and axis(call, self.ctx) == 0):
            self._counted(call, value)
        elif last in ("index_add", "index_add_", "scatter_add", "scatter_add_"):
            self._added(call, last)
        elif last in ("cross_entropy", "nll_loss"):
            self._classified(call, last)
        elif last.endswith("_loss") or last.startswith("binary_cross_entropy"):
            self._loss(call)
        elif last in _FILLS:
            self._reduced(call, value, last)
        else:
            raise Declined(f"`{shown(call)}` needs the selected rows alone")

    def _counted(self, end: ast.expr, value: ast.expr) -> None:
        """How many are selected: a number that becomes a tensor."""
        uses = Uses(self.ctx, self.changes)
        uses.follow(end)
        mask = receiver(self._plain_mask())
        numel = isinstance(end, ast.Call) and "numel" in ast.unparse(end.func)
        if numel and self.extra:
            self.changes.made[end] = lambda: f"{mask}.sum() * {self._width(value)}"
        else:
            self.changes.made[end] = lambda: f"{mask}.sum()"

    def _width(self, value: ast.expr) -> str:
        """Return the number of elements in a row: those of the last dimension, if it's one."""
        text = self.changes.text(value)
        sizes = [f"{receiver(text)}.shape[{-n}]" for n in range(self.extra, 0, -1)]
        return " * ".join(sizes)

    def _reduced(self, call: ast.Call, value: ast.expr, last: str) -> None:
        along = axis(call, self.ctx)
        along = along[0] if isinstance(along, (tuple, list)) and len(along) == 1 else along
        if along not in (None, 0) or any(k.arg not in ("dim", "axis") for k in call.keywords):
            raise Declined(f"`{shown(call)}` keeps what the mask selects")
        if last in ("max", "min") and (along is not None or len(call.args) > 1):
            raise Declined(f"`{shown(call)}` gives indices into what the mask selects")
        if last == "norm" and (call.args or call.keywords):
            raise Declined(f"`{shown(call)}`: only the plain norm is known to ignore zeros")
        fact = tensor_of(self.ctx.fact(value)) or Tensor()
        fill = _FILLS[last]

        def written() -> str:
            text = self.changes.text(value)
            if fact.dtype == "bool" and last in ("any", "all"):
                mask = operand(self._mask())
                pair = f"({operand(text)} & {mask})" if last == "any" else ""
                whole = pair or f"({operand(text)} | ~{mask})"
            else:
                whole = self._where(text, self._limit(fill, fact, value))
            inner = "" if along is None else self._dims()
            if last != "mean":
                return f"{whole}.{last}({inner})"
            count = f"{receiver(self._plain_mask())}.sum()"
            if along is None and self.extra:
                count = f"({count} * {self._width(value)})"
            return f"{whole}.sum({inner}) / {count}"

        self.changes.made[call] = written

    def _dims(self) -> str:
        rank = self.mask_rank or 1
        return "0" if rank == 1 else f"dim={tuple(range(rank))}"

    def _limit(self, fill: str, fact: Tensor, value: ast.expr) -> str:
        if not fill.endswith("inf"):
            return fill
        if fact.dtype == "int":
            info = self.code.spell("torch.iinfo")
            end = "min" if fill == "-inf" else "max"
            return f"{info}({receiver(self.changes.text(value))}.dtype).{end}"
        return f'float("{fill}")'

    def _loss(self, call: ast.Call) -> None:
        """A loss of pairs of selected values: of all pairs, then masked."""
        reduction = keyword(call, "reduction") or "mean"
        wrong = [k for k in call.keywords if k.arg in ("weight", "size_average", "reduce")]
        if reduction not in ("mean", "sum") or wrong or len(call.args) > 2:
            raise Declined(f"`{shown(call)}` isn't a plain mean or sum")

        def written() -> str:
            text = self.changes.text
            parts = [text(arg) for arg in call.args]
            parts += [f"{k.arg}={text(k.value)}" for k in call.keywords if k.arg != "reduction"]
            every = f'{text(call.func)}({", ".join(parts)}, reduction="none")'
            total = f"{self._where(every, '0')}.sum()"
            if reduction == "sum":
                return total
            count = f"{receiver(self._plain_mask())}.sum()"
            if self.extra:
                count = f"({count} * {self._width(call.args[0])})"
            return f"{total} / {count}"

        self.changes.made[call] = written

    def _classified(self, call: ast.Call, last: str) -> None:
        """`cross_entropy(logits[m], labels[m])`: labels outside of the mask are ignored."""
        wrong = keyword(call, "reduction") not in (None, "mean", "sum")
        if wrong or any(k.arg is None for k in call.keywords) or len(call.args) != 2:
            raise Declined(f"`{shown(call)}` isn't a plain mean or sum")
        logits, labels = call.args
        ignored = next((k.value for k in call.keywords if k.arg == "ignore_index"), None)
        made = self.changes.made.get(labels)
        if labels not in self.selection.reads or made is None:
            raise Declined(f"the labels of `{shown(call)}` aren't selected by the mask there")
        rank = self.mask_rank
        deep = (rank is not None and rank > 1) or (rank is None and self.extra == 0)

        def written_labels() -> str:
            other = "-100" if ignored is None else self.changes.text(ignored)
            mask = self._plain_mask()
            base = self.changes.text(self.selection.reads[labels])
            text = f"{self.code.spell('torch.where')}({mask}, {base}, {other})"
            return text + ".flatten()" if deep else text

        self.changes.made[labels] = written_labels
        if deep:
            plain = self.changes.made.get(logits)
            self.changes.made[logits] = lambda: (
                receiver(plain() if plain is not None else self.changes.inner(logits))
                + ".flatten(0, -2)"
            )

    def _added(self, call: ast.Call, last: str) -> None:
        """Rows that aren't selected add zero, to wherever their index says."""
        method = self.ctx.callee(call).receiver is not None
        given = call.args if method else call.args[1:]
        if len(given) != 3 or call.keywords or ast.unparse(given[0]) not in ("0", "-1"):
            raise Declined(f"`{shown(call)}` doesn't add whole rows")
        text = self.changes.text
        source = given[2]
        if key_of(given[1]) in self.keys:  # at the places that the mask selects from
            if not method or last.startswith("scatter"):
                raise Declined(f"`{shown(call)}` doesn't add whole rows")
            assert isinstance(call.func, ast.Attribute)
            out = call.func.value
            name = "add_" if last.endswith("_") else "add"
            self.changes.made[call] = lambda: (
                f"{receiver(text(out))}.{name}({self._where(text(source), '0')})"
            )
            return
        if given[1] not in self.selection.reads:
            raise Declined(f"the index of `{shown(call)}` isn't selected by the mask there")
        inner = self.changes.made.get(source)
        self.changes.made[source] = lambda: self._where(
            inner() if inner is not None else self.changes.inner(source), "0"
        )

    def _store(self, stmt: ast.Assign | ast.AugAssign, value: ast.expr) -> None:
        """`x[m] = value` and `x[m] op= value`: rebound where only this function sees `x`."""
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target
        assert isinstance(target, ast.Subscript)
        out = target.value
        name = out.id if isinstance(out, ast.Name) else ""
        free = bool(name) and owned(name, stmt, self.ctx, self.code)
        clone = cloned_before(name, stmt, self.ctx, self.code) if free else None
        if clone is not None and any(root(b) == name for b in self._operands(stmt)):
            clone = clone if self._only_reads(name, stmt) else None

        def lines() -> list[str]:
            whole = self.changes.text(out)
            source = whole if clone is None else clone.source
            if clone is not None:
                for read, base in self.selection.reads.items():
                    if ast.unparse(base) == name:
                        self.changes.made[read] = partial(str, source)
            text = self.changes.text(value)
            if isinstance(stmt, ast.AugAssign):
                text = (
                    f"{operand(source)} {SIGNS[type(stmt.op)]} {beside(text, stmt.op, left=False)}"
                )
            chosen = self._where(text, source)
            if free:
                return self.changes.lines(stmt, chosen, f"{whole} = ")
            return self.changes.lines(stmt, f"{receiver(whole)}.copy_({chosen})", "")

        self.changes.statements[stmt] = lines
        if clone is not None:
            self.changes.statements[clone.stmt] = list

    def _operands(self, stmt: ast.Assign | ast.AugAssign) -> list[ast.expr]:
        return [n for n in ast.walk(stmt.value) if isinstance(n, ast.Name)]

    def _only_reads(self, name: str, stmt: ast.Assign | ast.AugAssign) -> bool:
        """Say whether a statement mentions a name only where its mask reads from it."""
        covered = {id(n) for base in self.selection.reads.values() for n in ast.walk(base)}
        return all(
            id(n) in covered
            for n in ast.walk(stmt.value)
            if isinstance(n, ast.Name) and n.id == name
        )
