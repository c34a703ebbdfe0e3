"""CL306: numpy's random numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Array, Code, Context, Example, Fix, Rule, Sequence, Sighting
from .seen import call_seen, shown


class NumpyRandom(Rule):
    """A draw of `numpy.random` that Dynamo can't trace.

    ## What it does
    Flags draws of one number (`np.random.rand()`), `np.random.choice`, `np.random.shuffle` of a
    list, functions without a twin in torch (`permutation`, `beta`, …), and every method of
    `RandomState`, `Generator` and `SeedSequence` objects.

    ## Why it matters
    Dynamo traces `np.random.rand(3)` as a torch operation, but a single number has to come back to
    Python, which needs its value. Generator objects can't be traced at all. Where it is traced, the
    numbers come from torch's generator: `np.random.seed` has no effect on them.

    ## Example
    See the bad and good modules below.

    ## Fix
    Draw with torch: `torch.rand(())`, `torch.randperm(n)`, `torch.distributions.Beta(a, b)`.

    ## When it is safe
    When the draw belongs outside of the graph, such as choosing layers to skip while training, and
    two graphs are good enough.
    """

    code = "CL306"
    name = "numpy-random"
    summary = "a numpy draw ends the graph"
    nodes = (ast.Call,)
    callees = ("numpy.random.",)
    graph_breaks = ("GB0033", "GB0294", "GB0156", "GB0008", "GB0087")
    examples = (
        Example(
            bad="""
import numpy as np
import torch

def f(x):
    keep = np.random.uniform(0, 1)  # error: CL306
    return x * keep
""",
            good="""
import torch

def f(x):
    keep = torch.rand(())
    return x * keep
""",
        ),
        Example(
            bad="""
import numpy as np
import torch

def f(x):
    order = np.random.permutation(3)  # error: CL306
    return x[torch.from_numpy(order)]
""",
            good="""
import numpy as np
import torch

def f(x):
    return x + torch.from_numpy(np.random.rand(3))
""",
        ),
        Example(
            bad="""
import numpy as np
import torch

rng = np.random.default_rng(0)

def f(x):
    return x + rng.normal()  # error: CL306
""",
            good="""
import torch

def f(x):
    return x + torch.randn(())
""",
        ),
        Example(
            bad="""
import numpy as np
import torch

seeds = np.random.SeedSequence(7)

def f(x):
    seeds.generate_state(2)  # error: CL306
    return x + 1
""",
            good="""
import numpy as np
import torch

first, second = np.random.SeedSequence(7).generate_state(2)

def f(x):
    return x + 1
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a draw that breaks."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        if not name.startswith("numpy.random."):
            return
        if name.startswith(("numpy.random.RandomState.", "numpy.random.Generator.")):
            text = f"`{shown(node)}` draws from a numpy generator, which Dynamo can't trace"
            yield call_seen(node, callee, text, "GB0156")
        elif name.startswith("numpy.random.SeedSequence."):
            yield call_seen(node, callee, f"`{shown(node)}` is numpy's own code", "GB0008")
        elif name == "numpy.random.shuffle" and any(_is_list(arg, ctx) for arg in node.args):
            text = f"`{shown(node)}` shuffles a list, which Dynamo would have to see as a tensor"
            yield call_seen(node, callee, text, "GB0087")
        elif ctx.torch.numpy(name) == "no":
            text = f"`{shown(node)}` has no twin in torch: the graph ends here"
            yield call_seen(node, callee, text, "GB0294")
        elif name == "numpy.random.choice" or (
            ctx.torch.numpy(name) == "random" and not isinstance(ctx.fact(node), Array)
        ):
            text = f"`{shown(node)}` gives a number that depends on what was drawn"
            yield call_seen(node, callee, text, "GB0033")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the draw of torch."""
        from ..rewrites.draws import drawn

        assert isinstance(sighting.node, ast.Call)
        yield from drawn(sighting.node, ctx.callee(sighting.node).name, ctx, code)


def _is_list(node: ast.expr, ctx: Context) -> bool:
    return isinstance(ctx.fact(node), Sequence)
