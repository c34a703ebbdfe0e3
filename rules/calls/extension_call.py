"""CL310: packages made of C code, or that Dynamo doesn't trace."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ..base import Certainty, Code, Context, Example, Fix, Instance, Rule, Sighting, options
from ..torch_facts import TorchFacts
from .packages import CAPTURED, PACKAGES
from .seen import call_seen, shown, top

# Owned by other rules, or replaced by Dynamo.
_ARRAYS = ("numpy.asarray", "numpy.array")
_PARTLY = frozenset({"scipy"})
_ELSEWHERE = frozenset({"numpy", "random", "re", "abc", "importlib", "linecache", "tqdm"})


class ExtensionCall(Rule):
    """A call into a package of compiled code, or one that Dynamo is told to skip.

    ## What it does
    Flags calls into SciPy, Pillow, OpenCV, PyWavelets, scikit-image, matplotlib, … and into the
    packages on Dynamo's skip list (pandas, scikit-learn, networkx, onnx, …); also `np.asarray` of a
    Pillow image.

    ## Why it matters
    Dynamo traces Python bytecode. Behind a C function it sees nothing, and packages on the skip
    list it leaves alone: the graph ends, tensors are handed over as arrays on the host, and a new
    graph starts with what comes back.

    ## Example
    See the bad and good modules below.

    ## Fix
    Do it before or after the compiled function; use a torch version where there is one
    (`F.interpolate` for resizing, `torch.special`, `torch.fft`); or wrap the call in a custom
    operator (`torch.library.custom_op`), which becomes one node of the graph.

    ## When it is safe
    When the graph break is accepted, as in matching and post-processing steps; then put
    `torch.compiler.disable` on the function to say so.
    """

    code = "CL310"
    name = "extension-call"
    summary = "calls into C extensions and skipped packages"
    nodes = (ast.Call,)
    graph_breaks = ("GB0007", "GB0156", "GB0157", "GB4841", "GB6012", "GB0008")
    examples = (
        Example(
            bad="""
import torch
from scipy.optimize import linear_sum_assignment

def f(cost):
    rows, cols = linear_sum_assignment(cost.numpy())  # error: CL310
    return cost[torch.as_tensor(rows), torch.as_tensor(cols)]
""",
            good="""
import torch

def f(cost):
    cols = cost.argmin(dim=1)
    return cost.gather(1, cols[:, None])
""",
            inputs="[(torch.rand(3, 3),)]",
            requires=("scipy",),
        ),
        Example(
            bad="""
import numpy as np
import torch
from PIL import Image

def f(x):
    image = Image.fromarray(x.numpy())  # error: CL310
    small = image.resize((2, 2))  # error: CL310
    return torch.from_numpy(np.asarray(small).copy())  # error: CL310
""",
            good="""
import torch
import torch.nn.functional as F

def f(x):
    return F.interpolate(x[None, None].float(), size=(2, 2))
""",
            inputs="[(torch.zeros(4, 4, dtype=torch.uint8),)]",
            requires=("pillow",),
        ),
        Example(
            bad="""
import cv2
import torch

def f(x):
    return torch.from_numpy(cv2.GaussianBlur(x.numpy(), (3, 3), 0))  # error: CL310
""",
            good="""
import torch
import torch.nn.functional as F

def f(x):
    return F.avg_pool2d(x[None], 3, stride=1, padding=1)[0]
""",
            inputs="[(torch.rand(4, 4),)]",
            requires=("opencv-python-headless",),
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee's package leaves Python, or isn't traced."""
        package = top(name)
        if not name or package in _ELSEWHERE or name in CAPTURED:
            return name in _ARRAYS
        return package in PACKAGES or torch.skipped_module(name)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call that leaves Python or is never traced."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        package = top(name)
        if name in _ARRAYS and node.args:
            if any(_foreign(option) for option in options(ctx.fact(node.args[0]))):
                text = f"`{shown(node)}` converts an object that Dynamo can't follow"
                yield call_seen(node, callee, text, "GB0055", fact=ctx.fact(node.args[0]))
            return
        if name in _ARRAYS or callee.project is not None:
            return
        made = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(made, ast.Call) and top(ctx.callee(made).name) == package:
            return  # the call that made the object is reported already
        id = PACKAGES.get(package, "")
        if id:
            text = f"`{shown(node)}` runs code that Dynamo can't trace"
            seen = call_seen(node, callee, text, id)
            # Some of what is written in Python there is traced, until it calls what isn't.
            yield replace(seen, certainty=Certainty.LIKELY) if package in _PARTLY else seen
        elif ctx.torch.skipped_module(name):
            text = f"`{shown(node)}`: `{package}` is on the list of packages that are never traced"
            yield call_seen(node, callee, text, "GB0007")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield what torch has for it, else a custom operator, where its results are known."""
        from ..rewrites.custom_op import as_operator
        from ..rewrites.resized import resized

        assert isinstance(sighting.node, ast.Call)
        found = list(resized(sighting.node, ctx, code))
        yield from found or as_operator(sighting.node, ctx, code)


def _foreign(fact: object) -> bool:
    return isinstance(fact, Instance) and isinstance(fact.cls, str) and top(fact.cls) == "PIL"
