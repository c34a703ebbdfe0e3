"""CL315: packed sequences."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from .seen import call_seen, shown

RNN_UTILS = {
    "pack_padded_sequence": "GB0007",
    "pad_packed_sequence": "GB0007",
    "pack_sequence": "GB0007",
    "unpack_sequence": "GB0007",
    "unpad_sequence": "GB0148",
}


class PackedSequence(Rule):
    """Sequences are packed or unpacked inside compiled code.

    ## What it does
    Flags `pack_padded_sequence`, `pad_packed_sequence`, `pack_sequence`, `unpack_sequence` and
    `unpad_sequence` of `torch.nn.utils.rnn`.

    ## Why it matters
    How much is packed depends on the lengths, which are values of a tensor (and must be on the
    CPU). The functions are on Dynamo's skip list: each call ends a graph.

    ## Example
    See the bad and good modules below.

    ## Fix
    Run the padded batch and mask what lies behind each length; or pack before and unpack after the
    compiled part. `pad_sequence` is captured.

    ## When it is safe
    Around an `nn.LSTM` that breaks the graph anyway, packing adds little; see `recurrent-module`.
    """

    code = "CL315"
    name = "packed-sequence"
    summary = "packing sequences ends the graph"
    nodes = (ast.Call,)
    callees = ("torch.nn.utils.rnn.",)
    graph_breaks = ("GB0007", "GB0148")
    examples = (
        Example(
            bad="""
import torch
from torch.nn.utils.rnn import pack_padded_sequence

def f(x, lengths):
    packed = pack_padded_sequence(x, lengths, batch_first=True)  # error: CL315
    return packed.data * 2
""",
            good="""
import torch

def f(x, lengths):
    inside = torch.arange(x.shape[1]) < lengths[:, None]
    return x * inside[..., None] * 2
""",
            inputs="[(torch.randn(2, 4, 3), torch.tensor([4, 3]))]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call that packs or unpacks."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        module, _, last = callee.name.rpartition(".")
        id = RNN_UTILS.get(last, "") if module == "torch.nn.utils.rnn" else ""
        if id:
            text = f"`{shown(node)}` makes sizes from lengths that only the data knows"
            yield call_seen(node, callee, text, id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the layer run over the padded batch."""
        from ..rewrites.packed import padded

        yield from padded(ctx, code)
