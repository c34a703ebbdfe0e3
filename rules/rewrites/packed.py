"""A recurrent layer over packed sequences runs over the padded batch, masked by the lengths.

`pack_padded_sequence` → `nn.GRU`, `nn.LSTM` or `nn.RNN` → `pad_packed_sequence`: what a layer that
only looks back gives up to a sequence's end doesn't depend on what comes behind it. So the layer
runs over the whole batch, results behind each length are set to zero, and the last state is the
result at each length. The layer, its parameters and its checkpoints stay as they are; that Dynamo
traces it takes a setting, which is offered beside. The batch stays as long as it is, where
unpacking cuts it to the longest sequence: the proof must show that this can't be seen.

Declined: layers that look ahead (`bidirectional`), that drop at random between layers, the state of
an LSTM's cells and of lower layers, packed values that something else reads, code in loops.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..base import Code, Context, Declined, Fix
from ..base.scopes import dotted, own
from .layout import receiver, statement

_PACK = "torch.nn.utils.rnn.pack_padded_sequence"
_UNPACK = "torch.nn.utils.rnn.pad_packed_sequence"
_LAYERS = ("torch.nn.GRU", "torch.nn.LSTM", "torch.nn.RNN")
_SIZES = {"input_size", "hidden_size", "bias", "batch_first", "nonlinearity", "device", "dtype"}


@dataclass(frozen=True, slots=True)
class _Run:
    """A layer's call on a packed batch: the names of its results ("" where nothing reads them)."""

    call: ast.Call
    stmt: ast.stmt
    packed: ast.Name
    out: str
    last: str


def padded(ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that runs a packed layer of this function padded. Raises Declined."""
    calls = [part for part in own(ctx.function) if isinstance(part, ast.Call)]
    pack = _one(_PACK, calls, ctx)
    stmt = ctx.statement(pack)
    if any(isinstance(parent, (ast.For, ast.While)) for parent in ctx.ancestors(stmt)):
        raise Declined("sequences are packed in a loop")
    run = _run(pack, stmt, ctx, code)
    first = _batch_first(pack, 2, ctx)
    kind = ctx.callee(run.call).name.rpartition(".")[2]
    _looks_back(run, first, ctx, code)
    batch, given = pack.args[0], ctx.argument(pack, 1, "lengths")
    if given is None:
        raise Declined("the lengths aren't in sight")
    writer = _Writer(code, run, stmt, given, first)
    edits = [code.lines(stmt, [])]
    after = writer.run(code.text(batch))
    if run.out:
        unpack = _unpack(run, first, calls, ctx, code)
        target = ctx.statement(unpack)
        edits.append(code.lines(target, writer.mask(_pair(unpack, ctx)[0])))
    edits.append(code.lines(run.stmt, after))
    title = f"run the {kind} over the padded batch, and mask what lies behind each length"
    yield code.fix(title, edits, unused=[_PACK, _UNPACK])


class _Writer:
    """Makes the lines of the padded run."""

    def __init__(
        self, code: Code, run: _Run, packed: ast.stmt, lengths: ast.expr, first: bool
    ) -> None:
        self.code, self.made, self.first = code, run, first
        self.indent = code.indent(run.stmt)
        self.out = run.out or code.fresh("out")
        self.length = code.fresh("length")
        self.lengths = lengths

    def run(self, batch: str) -> list[str]:
        """Return the lines of the layer's call, the lengths and the last state."""
        call = self.code.text(self.made.call, {self.made.packed: batch})
        lines = self._lines(f"{self.out}, _ = ", call)
        text = receiver(self.code.text(_unmoved(self.lengths)))
        lines += self._lines(f"{self.length} = ", f"{text}.to({self.out}.device)")
        if self.made.last:
            at, dim = ("[:, None, None]", 1) if self.first else ("[None, :, None]", 0)
            state = f"{self.out}.take_along_dim(({self.length} - 1){at}, {dim})"
            state += ".transpose(0, 1)" if self.first else ""
            lines += self._lines(f"{self.made.last} = ", state)
        return lines

    def mask(self, result: str) -> list[str]:
        """Return the lines that set to zero what lies behind each length."""
        spell, out = self.code.spell, self.out
        inside = self.code.fresh("inside")
        steps = f"{spell('torch.arange')}({out}.shape[{int(self.first)}], device={out}.device)"
        if self.first:
            test = f"{steps} < {self.length}[:, None]"
        else:
            test = f"{steps}[:, None] < {self.length}"
        return [
            *self._lines(f"{inside} = ", test),
            *self._lines(f"{result} = ", f"{spell('torch.where')}({inside}[..., None], {out}, 0)"),
        ]

    def _lines(self, head: str, text: str) -> list[str]:
        return statement(head, text, self.indent, self.code.width, self.code.step)


def _unmoved(lengths: ast.expr) -> ast.expr:
    """Return the lengths without their move to the CPU, where packing wants them."""
    if isinstance(lengths, ast.Call) and isinstance(lengths.func, ast.Attribute):
        to_cpu = [getattr(arg, "value", None) for arg in lengths.args] == ["cpu"]
        if lengths.func.attr == "cpu" or (lengths.func.attr == "to" and to_cpu):
            return lengths.func.value
    return lengths


def _one(name: str, calls: Sequence[ast.Call], ctx: Context) -> ast.Call:
    found = [call for call in calls if ctx.callee(call).name == name]
    if len(found) != 1:
        raise Declined("sequences aren't packed, run and unpacked once each")
    return found[0]


def _run(pack: ast.Call, stmt: ast.stmt, ctx: Context, code: Code) -> _Run:
    """Return the call that alone reads the packed batch."""
    target = stmt.targets[0] if isinstance(stmt, ast.Assign) and stmt.value is pack else None
    if not isinstance(target, ast.Name):
        raise Declined("the packed batch isn't a variable of its own")
    reads = _reads(target.id, stmt, code)
    call = ctx.parent(reads[0]) if len(reads) == 1 else None
    if not isinstance(call, ast.Call) or not call.args or call.args[0] is not reads[0]:
        raise Declined("the packed batch isn't just passed to the layer")
    if ctx.callee(call).name not in _LAYERS:
        raise Declined(f"`{code.text(call.func)}` isn't known to be a recurrent layer")
    block, then = code.block_of(stmt), ctx.statement(call)
    if then not in block:
        raise Declined("packing and running are in different blocks")
    out, last = _pair(call, ctx)
    if isinstance(last, tuple):
        last, cells = last
        if cells and _reads(cells, then, code):
            raise Declined("the state of the cells is read, which is only known at the end")
    elif ctx.callee(call).name == "torch.nn.LSTM" and last and _reads(last, then, code):
        raise Declined("the state of the cells may be read, which is only known at the end")
    used = [name if name and _reads(name, then, code) else "" for name in (out, last)]
    return _Run(call, then, reads[0], used[0], used[1])


def _reads(name: str, made: ast.stmt, code: Code) -> list[ast.Name]:
    """Return the reads of a name that a statement binds, up to where its block binds it anew."""
    block = list(code.block_of(made))
    end = float("inf")
    for stmt in block[block.index(made) + 1 :]:
        stores = (n for n in ast.walk(stmt) if isinstance(n, ast.Name) and n.id == name)
        if any(isinstance(node.ctx, ast.Store) for node in stores):
            end = stmt.end_lineno or stmt.lineno
            break
    start = made.end_lineno or made.lineno
    return [use for use in code.uses(name) if start < use.lineno <= end]


def _pair(call: ast.Call, ctx: Context) -> tuple[str, str | tuple[str, str]]:
    """Return the names of the two results of a call, of which the second may be a pair."""
    stmt = ctx.statement(call)
    target = stmt.targets[0] if isinstance(stmt, ast.Assign) and stmt.value is call else None
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        first, second = target.elts
        if isinstance(first, ast.Name) and isinstance(second, ast.Name):
            return first.id, second.id
        if isinstance(first, ast.Name) and isinstance(second, ast.Tuple):
            inner = [e.id for e in second.elts if isinstance(e, ast.Name)]
            if len(inner) == len(second.elts) == 2:
                return first.id, (inner[0], inner[1])
    raise Declined("the results aren't two variables")


def _unpack(
    run: _Run, first: bool, calls: Sequence[ast.Call], ctx: Context, code: Code
) -> ast.Call:
    """Return the call that alone reads the packed result."""
    unpack = _one(_UNPACK, calls, ctx)
    reads = _reads(run.out, run.stmt, code)
    if len(reads) != 1 or not unpack.args or unpack.args[0] is not reads[0]:
        raise Declined(f"`{run.out}` isn't just unpacked")
    if _batch_first(unpack, 1, ctx) != first:
        raise Declined("the batch comes first on one side only")
    if len(unpack.args) > 2 or any(k.arg == "padding_value" for k in unpack.keywords):
        raise Declined("what is padded isn't zero")
    stmt = ctx.statement(unpack)
    if stmt not in code.block_of(run.stmt):
        raise Declined("running and unpacking are in different blocks")
    _, sizes = _pair(unpack, ctx)
    if isinstance(sizes, tuple) or _reads(sizes, stmt, code):
        raise Declined("the lengths that unpacking gives are used")
    return unpack


def _batch_first(call: ast.Call, place: int, ctx: Context) -> bool:
    given = ctx.argument(call, place, "batch_first")
    if given is None:
        return False
    if not (isinstance(given, ast.Constant) and isinstance(given.value, bool)):
        raise Declined("whether the batch comes first isn't in sight")
    return given.value


def _looks_back(run: _Run, first: bool, ctx: Context, code: Code) -> None:
    """Raise Declined unless the layer is known to be one that only looks back."""
    path = dotted(run.call.func)
    owner = next((s for s in _classes(code.module) if ctx.function in s.body), code.module)
    made = [
        part.value
        for part in ast.walk(owner)
        if isinstance(part, ast.Assign) and [ast.unparse(t) for t in part.targets] == [path]
    ]
    if len(made) != 1 or not isinstance(made[0], ast.Call):
        raise Declined("how the layer is made isn't known")
    options = {k.arg: k.value for k in made[0].keywords}
    layers = made[0].args[2] if len(made[0].args) > 2 else options.pop("num_layers", None)
    one = layers is None or (isinstance(layers, ast.Constant) and layers.value == 1)
    if run.last and not one:
        raise Declined("the states of lower layers are only known at the end")
    flag = options.get("batch_first")
    layout = flag.value if isinstance(flag, ast.Constant) else None if flag else False
    if layout != first or len(made[0].args) > 3:
        raise Declined("whether the layer takes the batch first isn't in sight")
    for name, value in options.items():
        off = isinstance(value, ast.Constant) and not value.value
        if name not in _SIZES and not (off and name in ("bidirectional", "dropout")):
            what = f"`{name}=`" if name else "options that aren't in sight"
            raise Declined(f"the layer has {what}: it may look ahead, or drop at random")


def _classes(module: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(module) if isinstance(node, ast.ClassDef))


__all__ = ["padded"]
