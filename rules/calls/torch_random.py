"""CL319: seeding torch, and generator objects."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache

from ..base import (
    Callee,
    Certainty,
    Code,
    Const,
    Context,
    Declined,
    Example,
    Extern,
    Fix,
    Instance,
    Rule,
    Severity,
    Sighting,
    options,
)
from .seen import call_seen, shown

_SEEDS = frozenset(
    {
        "manual_seed",
        "initial_seed",
        "get_rng_state",
        "set_rng_state",
        "manual_seed_all",
        "seed_all",
        "get_rng_state_all",
        "set_rng_state_all",
    }
)
_PLACES = frozenset(
    {
        "torch",
        "torch.random",
        "torch.cuda",
        "torch.cuda.random",
        "torch.mps",
        "torch.xpu",
        "torch.mtia",
    }
)
_IDS = {"initial_seed": "GB0208"}
_GENERATOR = "torch.Generator"


def touches_state(name: str) -> bool:
    """Say whether a function reads or sets the state of torch's random numbers."""
    module, _, last = name.rpartition(".")
    return module in _PLACES and last in _SEEDS


@cache
def concerns_state(name: str) -> bool:
    """Say whether a function touches the global state, or makes or is of a generator."""
    return touches_state(name) or name == _GENERATOR or name.rpartition(".")[0] == _GENERATOR


class TorchRandom(Rule):
    """torch is seeded, or a torch.Generator is used, inside compiled code.

    ## What it does
    Flags `torch.manual_seed`, `get_rng_state`, `set_rng_state` and their device
    versions, `torch.Generator()`, its methods, and a generator passed to a random function.

    ## Why it matters
    The state of a generator is not something a graph can read or set, and a generator object can't
    be an argument of a captured operation: the graph ends there. Also, compiled random numbers
    follow a generator of their own on some backends, so seeding inside wouldn't give what eager
    gives.

    ## Example
    See the bad and good modules below.

    ## Fix
    Seed before the compiled function is called. Draw the noise outside and pass it in where it has
    to be reproducible from a generator of your own.

    ## When it is safe
    `generator=None` is captured. What may be None is advice: it breaks on the calls that pass one.
    """

    code = "CL319"
    name = "torch-generator"
    summary = "seeding torch, or using a torch.Generator"
    nodes = (ast.Call,)
    callees = ("torch.",)
    graph_breaks = ("GB0007", "GB0055", "GB0363", "GB7650", "GB0208")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    torch.manual_seed(0)  # error: CL319
    return x + torch.rand(3)
""",
            good="""
import torch

def f(x):
    return x + torch.rand(3)
""",
        ),
        Example(
            bad="""
import torch

def f(x, generator: torch.Generator):
    return x + torch.rand(3, generator=generator)  # error: CL319
""",
            good="""
import torch

def f(x, noise):
    return x + torch.rand(3)
""",
            inputs="[(torch.randn(3), torch.Generator())]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterable[Sighting]:
        """Yield a sighting for seeding, and for every use of a generator."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if concerns_state(callee.name):
            return self._touched(node, callee, ctx)
        if callee.project is None and "generator" in [k.arg for k in node.keywords]:
            return _passed(node, ctx)
        return ()

    def _touched(self, node: ast.Call, callee: Callee, ctx: Context) -> Iterator[Sighting]:
        module, _, last = callee.name.rpartition(".")
        if touches_state(callee.name):
            text = f"`{shown(node)}` touches the state of a generator, which a graph can't hold"
            yield call_seen(node, callee, text, _IDS.get(last, "GB0007"))
        elif callee.name == _GENERATOR:
            yield call_seen(node, callee, "a generator can't be made inside a graph", "GB0363")
        elif module == _GENERATOR:
            yield call_seen(node, callee, f"`{shown(node)}` changes a generator", "GB7650")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: the numbers must stay what the seed says."""
        raise Declined("seed before the compiled call, or draw outside and pass the numbers in")


def _passed(node: ast.Call, ctx: Context) -> Iterator[Sighting]:
    for keyword in node.keywords:
        if keyword.arg != "generator":
            continue
        facts = options(ctx.fact(keyword.value))
        given = [fact for fact in facts if _is_generator(fact)]
        if given:
            maybe = any(isinstance(fact, Const) for fact in facts)
            text = f"`{shown(keyword.value)}` is a generator, which can't be put in a graph"
            yield Sighting(
                node,
                f"{text}, only where one is passed" if maybe else text,
                given[0],
                certainty=Certainty.LIKELY if maybe else None,
                breaks=() if maybe else None,
                severity=Severity.INFO if maybe else None,
                graph_breaks=("GB0055",),
            )


def _is_generator(fact: object) -> bool:
    if isinstance(fact, Extern):
        return fact.name == "torch.default_generator"
    return isinstance(fact, Instance) and fact.cls == _GENERATOR
