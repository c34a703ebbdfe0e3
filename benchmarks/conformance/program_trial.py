"""Random programs, compiled and compared; a failing one is shrunk."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import torch
from compile_lint.compiler.settings import Settings
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as hypothesis_settings
from hypothesis.errors import Flaky

from .compare import Checks
from .program_strategy import Program, branch, programs
from .trial import EQUAL, ERROR, MISMATCH, Tried, attempt, run

UNSTABLE = "unstable"
# Enough to shrink to a few lines; hypothesis alone may go on for minutes.
SHRINKS = 150


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing program in its shortest known form."""

    program: str
    outcome: str
    reason: str


def try_program(program: Program, settings: Settings, dynamic: bool = False) -> Tried:
    """One program, forward and gradient, against eager.

    Kernels round in another order than eager does. A program whose result moves as much as the
    difference when its inputs move by a rounding error says nothing, and is "unstable".
    """
    fn = program.function(cond=torch.cond)
    reference = program.function(cond=branch)
    inputs = [made.make() for made in program.inputs]
    strides = not settings.interpret  # a generated kernel may lay its results out anew
    tried = attempt(
        fn,
        inputs,
        settings,
        checks=Checks(strides=strides),
        dynamic=dynamic,
        reference=reference,
    )
    if tried.outcome == MISMATCH and settings.interpret and _unstable(program, inputs):
        return Tried(UNSTABLE, tried.reason)
    return tried


def _unstable(program: Program, inputs: list[torch.Tensor]) -> bool:
    """Whether rounding decides the result: it differs in float64, or from slightly moved inputs."""
    wanted = run(program.function(cond=branch), inputs, grad=True, strict=False)
    moved = [_moved(x) for x in inputs]
    wide = re.sub(r"torch\.(b?float16|float32)", "torch.float64", program.source)
    precise = Program(wide, program.inputs).function(cond=branch)
    for fn, args in ((program.function(cond=branch), moved), (precise, [_wide(x) for x in inputs])):
        try:
            other = run(fn, args, grad=True, strict=False)
        except RuntimeError:  # it may refuse a mix of dtypes, and says nothing then
            continue
        for want, have in zip(
            [*wanted.outputs, *wanted.gradients], [*other.outputs, *other.gradients]
        ):
            if want is None or have is None:
                continue
            have = have.detach().to(want.dtype)
            if not torch.allclose(want.detach(), have, equal_nan=True):
                return True
    return False


def _moved(x: torch.Tensor) -> torch.Tensor:
    if not x.is_floating_point():
        return x
    step = 4 * torch.finfo(x.dtype).eps
    return (x.detach() * (1 + step)).requires_grad_(x.requires_grad)


def _wide(x: torch.Tensor) -> torch.Tensor:
    if not x.is_floating_point():
        return x
    return x.detach().double().requires_grad_(x.requires_grad)


def check_programs(
    count: int,
    number: int,
    settings: Settings,
    halves: bool = True,
    dynamic: bool = False,
    longest: int = 10,
) -> tuple[Counter[str], Failure | None]:
    """Try `count` programs drawn from seed `number`: outcomes, and a failing program if any."""
    outcomes: Counter[str] = Counter()
    failures: list[Failure] = []
    seen: set[str] = set()
    tries = 0

    @seed(number)
    @hypothesis_settings(
        max_examples=4 * count,  # many are variants of one another, some the same
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(programs(halves=halves, longest=longest))
    def equal_to_eager(program: Program) -> None:
        nonlocal tries
        if failures:
            tries += 1
            if tries > SHRINKS:
                return
        elif len(seen) >= count or str(program) in seen:
            return
        seen.add(str(program))
        tried = try_program(program, settings, dynamic)
        if not failures:
            outcomes[tried.outcome] += 1
        if tried.outcome in (MISMATCH, ERROR):
            failures.append(Failure(str(program), tried.outcome, tried.reason))
            raise AssertionError(tried.reason)

    try:
        equal_to_eager()
    except (AssertionError, Flaky):
        return outcomes, min(failures, key=lambda failure: len(failure.program))
    if failures:  # it was given up as flaky
        return outcomes, min(failures, key=lambda failure: len(failure.program))
    return outcomes, None


__all__ = ["EQUAL", "UNSTABLE", "Failure", "check_programs", "try_program"]
