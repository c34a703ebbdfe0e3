"""A GRU over packed sequences runs over the padded batch, step by step, masked by the lengths.

`pack_padded_sequence` → `nn.GRU` → `pad_packed_sequence` becomes one call of a module that is
written in front of the class: outputs behind a sequence's length are zero and its state stays, as
with packing, and nothing depends on the values of the lengths. Dynamo refuses nn.GRU even as an
object, so the module is one of its own, with the same parameters under the same names (checkpoints
load, and a seed gives the same weights). The batch stays as long as it is, where unpacking cuts it
to the longest sequence: the proof must show that this can't be seen.

Declined: more layers or directions, `nn.LSTM` and `nn.RNN`, batches with time first, a state that
is passed in, packed values that something else reads, layers that something else uses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Edit, Fix
from ..base.scopes import dotted, own
from .hoist import CLAIM, holder
from .moved import call_text

_PACK = "torch.nn.utils.rnn.pack_padded_sequence"
_UNPACK = "torch.nn.utils.rnn.pad_packed_sequence"
_BODY = '''class {name}({nn}.Module):
{s}"""A GRU of one layer over padded batches; its parameters are those of nn.GRU."""

{s}def __init__(self, input_size, hidden_size):
{s}{s}super().__init__()
{s}{s}self.hidden_size = hidden_size
{s}{s}scale = hidden_size**-0.5
{s}{s}sizes = {{
{s}{s}{s}"weight_ih_l0": (3 * hidden_size, input_size),
{s}{s}{s}"weight_hh_l0": (3 * hidden_size, hidden_size),
{s}{s}{s}"bias_ih_l0": (3 * hidden_size,),
{s}{s}{s}"bias_hh_l0": (3 * hidden_size,),
{s}{s}}}
{s}{s}for name, size in sizes.items():
{s}{s}{s}weight = {torch}.empty(size).uniform_(-scale, scale)
{s}{s}{s}self.register_parameter(name, {nn}.Parameter(weight))

{s}def forward(self, x, lengths):
{s}{s}lengths = lengths.to(x.device)
{s}{s}state = x.new_zeros(x.shape[0], self.hidden_size)
{s}{s}weights = (self.weight_ih_l0, self.weight_hh_l0)
{s}{s}biases = (self.bias_ih_l0, self.bias_hh_l0)
{s}{s}outputs = []
{s}{s}for step in range(x.shape[1]):
{s}{s}{s}new = {torch}.gru_cell(x[:, step], state, *weights, *biases)
{s}{s}{s}inside = (step < lengths)[:, None]
{s}{s}{s}state = {torch}.where(inside, new, state)
{s}{s}{s}outputs.append({torch}.where(inside, new, 0.0))
{s}{s}return {torch}.stack(outputs, 1), state[None]'''


def padded(ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that runs a packed GRU of this function padded. Raises Declined."""
    calls = [part for part in own(ctx.function) if isinstance(part, ast.Call)]
    pack = _one(_PACK, calls, ctx)
    packed = _target(pack, ctx)
    _batch_first(pack, 2, ctx)
    runs = [c for c in map(ctx.parent, code.uses(packed)) if isinstance(c, ast.Call)]
    if len(runs) != 1 or len(code.uses(packed)) != 1 or len(runs[0].args) != 1:
        raise Declined("the packed batch isn't just passed to the layer")
    (run,) = runs
    if ctx.callee(run).name != "torch.nn.GRU":
        raise Declined(f"`{code.text(run.func)}` isn't known to be an nn.GRU")
    made = _plain(run, code)
    out, last = _pair(run, ctx)
    edits = [_gone(ctx.statement(pack), code)]
    result = out
    if code.uses(out):
        unpack = _one(_UNPACK, calls, ctx)
        _batch_first(unpack, 1, ctx)
        if len(code.uses(out)) != 1 or not unpack.args or unpack.args[0] is not code.uses(out)[0]:
            raise Declined(f"`{out}` isn't just unpacked")
        result, sizes = _pair(unpack, ctx)
        if code.uses(sizes):
            raise Declined(f"the lengths `{sizes}` are used")
        edits.append(_gone(ctx.statement(unpack), code))
    name = code.fresh("PaddedGRU")
    batch, lengths = pack.args[0], pack.args[1] if len(pack.args) > 1 else None
    if lengths is None:
        raise Declined("the lengths aren't the second argument")
    if isinstance(lengths, ast.Call) and isinstance(lengths.func, ast.Attribute):
        if lengths.func.attr == "cpu":
            lengths = lengths.func.value
    given = f"{code.text(run.func)}({code.text(batch)}, {code.text(lengths)})"
    names = {"torch": code.spell("torch"), "nn": code.spell("torch.nn")}
    body = _BODY.format(name=name, s=code.step, **names).split("\n")
    top = holder(ctx.function, code.module)
    edits.append(code.replace(ctx.statement(run), f"{result}, {last} = {given}"))
    edits.append(code.replace(made, call_text(made, code, name, without=("batch_first",))))
    edits += [CLAIM, code.insert(top, [*body, "", ""], above=True)]
    yield code.fix("run the GRU over the padded batch", edits, unused=[_PACK, _UNPACK])


def _one(name: str, calls: list[ast.Call], ctx: Context) -> ast.Call:
    found = [call for call in calls if ctx.callee(call).name == name]
    if len(found) != 1:
        raise Declined("sequences aren't packed, run and unpacked once each")
    return found[0]


def _target(call: ast.Call, ctx: Context) -> str:
    stmt = ctx.statement(call)
    if isinstance(stmt, ast.Assign) and stmt.value is call:
        if len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Name):
            return stmt.targets[0].id
    raise Declined("the packed batch isn't a variable of its own")


def _pair(call: ast.Call, ctx: Context) -> tuple[str, str]:
    """Return the names of the two results of a call."""
    stmt = ctx.statement(call)
    target = stmt.targets[0] if isinstance(stmt, ast.Assign) and stmt.value is call else None
    if isinstance(target, ast.Tuple):
        names = [e.id for e in target.elts if isinstance(e, ast.Name)]
        if len(names) == len(target.elts) == 2:
            return names[0], names[1]
    raise Declined("the results aren't two variables")


def _batch_first(call: ast.Call, place: int, ctx: Context) -> None:
    given = ctx.argument(call, place, "batch_first")
    if not (isinstance(given, ast.Constant) and given.value is True):
        raise Declined("time comes first in the batch")


def _plain(run: ast.Call, code: Code) -> ast.Call:
    """Return the call that makes the layer. Raises Declined unless it is as simple as can be."""
    path = dotted(run.func)
    mentions = [p for p in ast.walk(code.module) if path and dotted(p) == path]
    if len(mentions) != 2:
        raise Declined(f"`{path}` is used elsewhere in the module, too")
    made = [
        part.value
        for part in ast.walk(code.module)
        if isinstance(part, ast.Assign) and [ast.unparse(t) for t in part.targets] == [path]
    ]
    if len(made) != 1 or not isinstance(made[0], ast.Call):
        raise Declined("how the layer is made isn't known")
    options = {k.arg: k.value for k in made[0].keywords}
    first = options.pop("batch_first", None)
    others = set(options) - {"input_size", "hidden_size"}
    if others or len(made[0].args) > 2:
        raise Declined("the layer has options besides its sizes")
    if not (isinstance(first, ast.Constant) and first.value is True):
        raise Declined("the layer wants time first")
    return made[0]


def _gone(stmt: ast.stmt, code: Code) -> Edit:
    return code.lines(stmt, [])


__all__ = ["padded"]
