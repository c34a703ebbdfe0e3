"""CL320: torch.distributions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ..base import (
    Callee,
    Certainty,
    Code,
    Const,
    Context,
    Example,
    Fix,
    Instance,
    Rule,
    Sighting,
    options,
)
from ..base.facts import Fact
from .seen import call_seen, shown

_PACKAGE = "torch.distributions."
_VALIDATED = frozenset({"log_prob", "cdf", "icdf"})
# Measured without validation: these branch on tensor values, or call what isn't traced.
_BREAKING = {"Wishart": "GB0170"}
_METHODS = {("VonMises", "sample"): "GB0116"}
# They have no arguments to check: what they are made of checks its own.
_UNCHECKED = frozenset({"Independent", "MixtureSameFamily", "TransformedDistribution"})
_KL = {"Binomial": "GB0170", "MultivariateNormal": "GB4315"}


class Distributions(Rule):
    """A distribution checks its arguments, or branches on tensors, inside compiled code.

    ## What it does
    Flags distributions made with `validate_args=True` and methods of such, those made without
    `validate_args=False` where an import turns validation on, the classes and
    methods of torch.distributions that break by themselves (`Wishart`, `VonMises.sample`,
    `kl_divergence` of two `Binomial` or `MultivariateNormal`), and
    `constraints.positive_definite.check`.

    ## Why it matters
    Validation asks whether all values satisfy a constraint, an `if` on a tensor. torch.compile
    turns validation off by default, but an explicit `validate_args=True` turns it on again. The
    break is inside torch, so the trace points at library code.

    ## Example
    See the bad and good modules below.

    ## Fix
    Leave `validate_args` out, or pass False; check inputs outside of the compiled function. Write
    the divergence or the density by hand where the library's version branches.

    ## When it is safe
    Other distributions, `rsample`, `log_prob` and `kl_divergence` are captured without validation.
    """

    code = "CL320"
    name = "distribution-check"
    summary = "torch.distributions checks or branches on tensor values"
    nodes = (ast.Call,)
    callees = (_PACKAGE,)
    graph_breaks = ("GB0007", "GB0170", "GB4315", "GB0116")
    examples = (
        Example(
            bad="""
import torch
from torch.distributions import Normal

def f(x):
    dist = Normal(x, 1.0, validate_args=True)  # error: CL320
    return dist.rsample()
""",
            good="""
import torch
from torch.distributions import Normal

def f(x):
    dist = Normal(x, 1.0)
    return dist.rsample()
""",
        ),
        Example(
            bad="""
import torch
from torch.distributions import Binomial, kl_divergence

def f(x):
    n = torch.tensor([5.0, 5.0])
    return kl_divergence(Binomial(n, probs=x), Binomial(n, probs=1 - x))  # error: CL320
""",
            good="""
import torch
from torch.distributions import Bernoulli, kl_divergence

def f(x):
    return 5.0 * kl_divergence(Bernoulli(x), Bernoulli(1 - x))
""",
            inputs="[(torch.tensor([0.2, 0.5]),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a distribution call that breaks."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = ctx.torch.canonical(callee.name)
        if not name.startswith(_PACKAGE):
            return
        last = name.rpartition(".")[2]
        if last == "set_default_validate_args":
            yield call_seen(node, callee, f"`{shown(node)}` isn't traced", "GB0467")
        elif last == "kl_divergence":
            for arg in node.args:
                for kind, id in _KL.items():
                    if any(_class(fact) == kind for fact in options(ctx.fact(arg))):
                        text = f"`kl_divergence` of a {kind} branches on tensor values"
                        yield call_seen(node, callee, text, id, fact=ctx.fact(arg))
                        return
        elif "positive_definite" in name and last == "check":
            text = f"`{shown(node)}` branches on tensor values"
            yield call_seen(node, callee, text, "GB0170")
        elif last == "_validate_sample":
            text = f"`{shown(node)}` validates a sample, an `if` on a tensor"
            yield call_seen(node, callee, text, "GB0170")
        elif isinstance(callee.receiver, Instance):
            kind = _class(callee.receiver)
            if last in _VALIDATED and _true(dict(callee.receiver.attrs).get("validate_args")):
                text = f"`{shown(node)}` validates its argument, an `if` on a tensor"
                yield call_seen(node, callee, text, "GB0170")
            elif last == "__init__":
                yield from _made(node, callee, ctx, kind)
            elif (kind, last) in _METHODS:
                text = f"`{shown(node)}` of a {kind} isn't traced"
                yield call_seen(node, callee, text, _METHODS[kind, last])
        elif last[:1].isupper():
            yield from _made(node, callee, ctx, last)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the distribution that leaves validation to the default."""
        from ..rewrites.replacements import unvalidated

        assert isinstance(sighting.node, ast.Call)
        yield from unvalidated(sighting.node, ctx, code)


def _made(node: ast.Call, callee: Callee, ctx: Context, kind: str) -> Iterator[Sighting]:
    flag = next((k.value for k in node.keywords if k.arg == "validate_args"), None)
    if flag is None and callee.receiver is not None:
        flag = ctx.argument(node, 2, "validate_args")  # of `super().__init__`
    given = ctx.fact(flag) if flag is not None else None
    if _true(given):
        text = f"`{shown(node)}` validates its arguments, an `if` on a tensor"
        yield call_seen(node, callee, text, "GB0007")
    elif kind in _BREAKING:
        text = f"`{shown(node)}` branches on tensor values"
        yield call_seen(node, callee, text, _BREAKING[kind])
    elif kind not in _UNCHECKED and not _false(given) and ctx.validates():
        text = f"`{shown(node)}` validates its arguments: an import turns that on"
        yield replace(call_seen(node, callee, text, "GB0007"), certainty=Certainty.LIKELY)


def _false(fact: Fact | None) -> bool:
    return isinstance(fact, Const) and fact.value is False


def _true(fact: Fact | None) -> bool:
    return isinstance(fact, Const) and fact.value is True


def _class(fact: Fact) -> str:
    if isinstance(fact, Instance) and isinstance(fact.cls, str) and fact.cls.startswith(_PACKAGE):
        return fact.cls.rpartition(".")[2]
    return ""
