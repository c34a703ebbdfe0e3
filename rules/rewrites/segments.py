"""Tensors split where the data says, worked on part by part and joined again → all at once.

`parts = x.split(sizes.tolist())` and what is made of the parts keep their shape where each row
knows its segment: `searchsorted` of the running sum of the sizes. Attention within each part
becomes one attention under a block-diagonal mask; sums and means of the parts, stacked, become
`index_add`; element-wise code on parts that are joined again never needed the split.

Declined: parts that go elsewhere, other dimensions than the sequence's, masks and dropout given to
the attention already.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..base.context import Context
from ..base.finding import Fix
from ..base.reading import shown
from ..base.rewriting import Code, Declined
from .editing import Changes
from .layout import flat, receiver, statement
from .selection import definition, keyword, rank_of

_SPLIT = "torch.Tensor.split"
_ATTENTION = "torch.nn.functional.scaled_dot_product_attention"


@dataclass(frozen=True, slots=True)
class _Split:
    """`base.split(sizes, dim)`: one tensor cut into parts."""

    base: ast.expr
    dim: int


def segments(tolist: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Rewrite what is split by `sizes.tolist()`; yield nothing where no split is in sight."""
    for node in ctx.inside(ctx.function):
        if isinstance(node, ast.Call) and ctx.callee(node).name in ("torch.cat", "torch.stack"):
            found = _Parts(tolist, ctx, code).joined(node)
            if found is not None:
                yield found
                return


@dataclass
class _Parts:
    """One rewrite of a split, what is done with the parts, and the join."""

    tolist: ast.Call
    ctx: Context
    code: Code

    def joined(self, join: ast.Call) -> Fix | None:
        """Return the fix for `torch.cat([f(part) for part in x.split(sizes)])`, None for others."""
        if not join.args:
            return None
        sizes = self._named()
        if sizes is not None and any(not self._splitting(use) for use in self.code.uses(sizes)):
            return None
        listed, used = self._resolved(join.args[0])
        if not isinstance(listed, (ast.ListComp, ast.GeneratorExp)) or len(listed.generators) != 1:
            return None
        (loop,) = listed.generators
        found, more = self._splits(loop.iter)
        if not found or loop.ifs or len({split.dim for split in found}) != 1:
            return None
        names = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
        if len(names) != len(found) or not isinstance(listed.elt, ast.Call):
            return None
        parts = dict(zip(names, found))
        name = self.ctx.callee(listed.elt).name
        if name == _ATTENTION:
            return self._attention(join, listed.elt, parts, [*used, *more])
        if name in ("torch.Tensor.sum", "torch.Tensor.mean") and len(parts) == 1:
            return self._reduced(join, listed.elt, found[0], [*used, *more])
        return None

    # -- what is there ------------------------------------------------------------------------

    def _resolved(self, node: ast.expr) -> tuple[ast.expr, list[ast.stmt]]:
        """Return what a name stands for, with the statement that says so."""
        if isinstance(node, ast.Name):
            made = definition(node.id, self.ctx)
            if made is not None and len(self.code.uses(node.id)) == 1:
                return made.value, [made]
        return node, []

    def _splits(self, node: ast.expr) -> tuple[list[_Split], list[ast.stmt]]:
        """Return the splits that a loop runs over in step, and the statements that made them."""
        if not (isinstance(node, ast.Call) and self.ctx.callee(node).name == "builtins.zip"):
            inner, used = self._resolved(node)
            split = self._split(inner)
            return ([split], used) if split is not None else ([], [])
        if len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
            inner, used = self._resolved(node.args[0].value)
            return self._listed(inner), used
        splits: list[_Split] = []
        statements: list[ast.stmt] = []
        for arg in node.args:
            inner, used = self._resolved(arg)
            split = self._split(inner)
            if split is None:
                return [], []
            splits.append(split)
            statements += used
        return splits, statements

    def _listed(self, node: ast.expr) -> list[_Split]:
        """`[t.split(sizes, dim=1) for t in (q, k, v)]`"""
        if not isinstance(node, ast.ListComp) or len(node.generators) != 1:
            return []
        (loop,) = node.generators
        split = self._split(node.elt)
        target = loop.target
        if not isinstance(target, ast.Name) or not isinstance(loop.iter, (ast.Tuple, ast.List)):
            return []
        if split is None or loop.ifs or ast.unparse(split.base) != target.id:
            return []
        return [_Split(base, split.dim) for base in loop.iter.elts]

    def _split(self, node: ast.expr) -> _Split | None:
        if not isinstance(node, ast.Call):
            return None
        name = self.ctx.callee(node).name
        method = node.func.attr == "split" if isinstance(node.func, ast.Attribute) else False
        if isinstance(node.func, ast.Attribute) and method and name in ("", _SPLIT):
            base, given = node.func.value, node.args
        elif name.rpartition(".")[2] == "split" and node.args:
            base, given = node.args[0], node.args[1:]
        else:
            return None
        sizes = given[0] if given else None
        along = given[1] if len(given) > 1 else None
        along = along or next((k.value for k in node.keywords if k.arg == "dim"), None)
        if sizes is None or not self._is_list(sizes):
            return None
        try:
            dim = 0 if along is None else ast.literal_eval(along)
        except ValueError:
            return None
        return _Split(base, dim) if isinstance(dim, int) else None

    def _splitting(self, use: ast.Name) -> bool:
        call = self.ctx.parent(use)
        while isinstance(call, ast.keyword):
            call = self.ctx.parent(call)
        return isinstance(call, ast.Call) and self._split(call) is not None

    def _is_list(self, node: ast.expr) -> bool:
        if node is self.tolist or ast.unparse(node) == ast.unparse(self.tolist):
            return True
        made = definition(node.id, self.ctx) if isinstance(node, ast.Name) else None
        return made is not None and made.value is self.tolist

    # -- what it becomes ----------------------------------------------------------------------

    def _attention(
        self, join: ast.Call, call: ast.Call, parts: dict[str, _Split], used: list[ast.stmt]
    ) -> Fix | None:
        dim = next(iter(parts.values())).dim
        given = [split for arg in call.args if (split := parts.get(ast.unparse(arg))) is not None]
        if len(given) != 3 or len(call.args) != 3 or _cat_dim(join) != dim:
            return None
        rank = rank_of(given[0].base, self.ctx)
        if dim != -2 and not (rank is None and dim > 0) and rank != dim + 2:
            raise Declined(f"`{shown(call)}` doesn't run along the dimension that is split")
        extra = []
        causal = keyword(call, "is_causal") is True
        for word in call.keywords:
            if word.arg in ("scale", "enable_gqa"):
                extra.append(f"{word.arg}={self.code.text(word.value)}")
            elif word.arg != "is_causal" and not _is_nothing(word.value):
                raise Declined(f"`{shown(call)}` has a mask or dropout of its own")
        texts = [self.code.text(split.base) for split in given]
        before, segment = self._segment(join, texts[0], dim)
        mask = f"{segment}[:, None] == {segment}"
        if causal:
            mask = f"({mask}).tril()"
        arguments = ", ".join([*texts, f"attn_mask={mask}", *extra])
        whole = f"{self.code.text(call.func)}({arguments})"
        return self._fix("one attention under a block-diagonal mask", join, whole, before, used)

    def _reduced(
        self, join: ast.Call, call: ast.Call, split: _Split, used: list[ast.stmt]
    ) -> Fix | None:
        along = self.ctx.argument(call, 0, "dim")
        plain = along is not None and ast.unparse(along) == "0" and split.dim == 0
        stacked = self.ctx.callee(join).name == "torch.stack" and _cat_dim(join) == 0
        if not plain or not stacked or any(k.arg != "dim" for k in call.keywords):
            return None
        base = self.code.text(split.base)
        before, segment = self._segment(join, base, 0)
        rank = rank_of(split.base, self.ctx)
        sizes = self._sizes()
        text = receiver(base)
        rows = f"{text}.new_zeros({sizes}.shape[0], *{text}.shape[1:])"
        whole = f"{rows}.index_add(0, {segment}, {base})"
        if self.ctx.callee(call).name.endswith("mean"):
            whole += f" / {sizes}" + ("" if rank == 1 else "[:, None]")
        return self._fix("`index_add` of the rows of each part", join, whole, before, used)

    def _segment(self, join: ast.Call, base: str, dim: int) -> tuple[list[str], str]:
        """Return the statement that tells each row its part, and the name of what it tells."""
        stmt = self.ctx.statement(join)
        sizes = self._sizes()
        segment, text = self.code.fresh("segment"), receiver(base)
        rows = f"{self.code.spell('torch.arange')}({text}.shape[{dim}], device={text}.device)"
        search = self.code.spell("torch.searchsorted")
        value = f"{search}({sizes}.cumsum(0), {rows}, right=True)"
        indent = self.code.indent(stmt)
        lines = statement(f"{segment} = ", flat(value), indent, self.code.width, self.code.step)
        return lines, segment

    def _fix(
        self, title: str, join: ast.Call, whole: str, before: list[str], used: list[ast.stmt]
    ) -> Fix:
        stmt = self.ctx.statement(join)
        changes = Changes(self.ctx, self.code)
        changes.made[join] = lambda: whole
        value = changes.text(stmt.value)  # type: ignore[attr-defined]
        changes.statements[stmt] = lambda: [*before, *changes.lines(stmt, value)]
        named = self._named()
        if named is not None and named == self._sizes():
            changes.made[self.tolist] = self._source
        elif named is not None:
            changes.statements[self.ctx.statement(self.tolist)] = list
        for gone in dict.fromkeys(used):
            changes.statements[gone] = list
        return self.code.fix(title, changes.edits())

    def _source(self) -> str:
        return self.code.text(self.tolist.func.value)  # type: ignore[attr-defined]

    def _named(self) -> str | None:
        """Return the name that the list of sizes has, if nothing but the splits uses it."""
        made = self.ctx.parent(self.tolist)
        target = made.targets[0] if isinstance(made, ast.Assign) else None
        if not isinstance(target, ast.Name) or definition(target.id, self.ctx) is not made:
            return None
        return target.id

    def _sizes(self) -> str:
        """Return the sizes as a tensor, by their name if they have one."""
        source = self._source()
        return source if source.isidentifier() else self._named() or receiver(source)


def _cat_dim(join: ast.Call) -> int | None:
    given = join.args[1] if len(join.args) > 1 else None
    given = given or next((k.value for k in join.keywords if k.arg == "dim"), None)
    try:
        value = 0 if given is None else ast.literal_eval(given)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (None, 0, 0.0, False)
