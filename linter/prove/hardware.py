"""The rewrite as kernels: interpreted, built for a GPU, and run on one where there is one."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from ...compiler.settings import Settings
from .calls import SEED, random_state, seed_all
from .capture import Capture
from .ends import Different, Refused
from .model import Status
from .values import tensors

if TYPE_CHECKING:
    from .judge import Judge

COMPILED = 8.0  # times the tolerance: fused arithmetic rounds differently
_SMALL = 4096 * 4  # elements of arguments and weights together that the interpreter is given
_ON_GPU = 4  # inputs


def check_kernels(judge: Judge) -> None:
    """Run the kernels of one small input interpreted, and build them for a GPU."""
    case = next((i for i in range(judge.count) if _is_small(judge, i)), None)
    if case is None:
        judge.notes.append("kernels not checked: no input is small and floating")
        return
    if importlib.util.find_spec("triton") is None:
        judge.notes.append("kernels not checked: no triton here")
        return
    if not judge.whole:
        return
    judge.say("interpreting the kernels")
    cases, judge.cases = judge.cases, [judge.cases[case]]
    hows = [judge.hows[case]]
    try:
        want = judge.trials.run(judge.before, judge.cases, hows)  # state as it is at first
        settings = Settings(interpret=True, collect=False)
        interpreted = judge.fullgraph(hows, want, 1, settings=settings)
        number = sum(len(graph.kernels) for graph in interpreted.our_graphs())
        judge.say("building the kernels")
        settings = Settings(target="cuda:90", collect=False)
        target = judge.fullgraph(hows, want, 1, settings=settings)
        built = sum(len(graph.built) for graph in target.our_graphs())
    except Different as end:  # eager agrees: these kernels, not the rewrite, are at fault
        raise Different(Status.UNPROVED, f"as kernels, {end.reason}") from None
    except Refused as refused:
        raise Different(Status.UNPROVED, f"as kernels, {refused.reason}") from None
    finally:
        judge.cases = cases
    judge.found = replace(judge.found, kernels=(number, number, built))


def check_on_gpu(judge: Judge) -> None:
    """Run for real what was interpreted, where there is a GPU."""
    if not judge.whole or not torch.cuda.is_available():
        return
    judge.say("running on the GPU")
    fit = [i for i in range(judge.count) if judge.want_grads[i].error is None][:_ON_GPU]
    cases, hows = [judge.cases[i] for i in fit], [judge.hows[i] for i in fit]
    if _draws(judge, fit):
        judge.notes.append("not run on the GPU: it draws random numbers")
        return
    want = judge.trials.run(judge.before, cases, hows, device="cuda")
    if any(outcome.error is not None for outcome in want):
        judge.notes.append("not run on the GPU: the original raises there")
        return
    capture = Capture(Settings(collect=False))
    got = judge.trials.run(judge.after, cases, hows, wrap=capture.compiled, device="cuda")
    judge.equal(want, got, "on the GPU, ", compiled=True, slack=COMPILED)
    judge.notes.append(f"run on the GPU, too ({len(cases)} inputs)")


def _draws(judge: Judge, places: Sequence[int]) -> bool:
    """Whether calls draw random numbers: a GPU's generator gives a compiled call others."""
    seed_all(SEED + 1)
    fresh = random_state()
    return any(judge.want[place].random != fresh for place in places)


def _is_small(judge: Judge, place: int) -> bool:
    if judge.want_grads[place].error is not None:
        return False
    owner = judge.owner()
    state = list(owner.parameters()) if isinstance(owner, torch.nn.Module) else []
    found = [*tensors(judge.cases[place].make(judge.trials.watched)), *state]
    size = sum(t.numel() for t in found)
    return size <= _SMALL and any(t.is_floating_point() for t in found)
