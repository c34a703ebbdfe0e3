"""Random programs, repaired, and judged by eager on inputs that no proof has seen.

The prover takes seconds for each. `Quick` takes a fraction: it runs both texts on a few inputs and
asks Dynamo. It sees less; where it let something wrong pass, the prover is asked, too, so that what
counts as wrong is what `--fix` would apply.
"""

from __future__ import annotations

import contextlib
import itertools
import linecache
import sys
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from compile_lint.linter.config import Settings
from compile_lint.linter.fix.model import Repair
from compile_lint.linter.fix.repair import Policy, Proves, repair
from compile_lint.linter.fix.subject import alone
from compile_lint.linter.prove.control import plain
from compile_lint.linter.prove.model import Status, Trial, Verdict
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as hypothesis_settings

from .programs import NAME, programs

FIXED = "fixed"
PARTLY = "fixed in part"
DECLINED = "declined"
UNPROVED = "not proved"
CLEAN = "nothing to fix"
WRONG = "wrong"
REFUSED = "not captured"  # what Dynamo's refusal starts with
_TRIES = 5
_COMPILED = 6  # fresh inputs on which the captured rewrite is compared, too
_NUMBER = itertools.count()
_SETTINGS = replace(Settings("/"), entry="all")
Arguments = tuple[torch.Tensor, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one program."""

    outcome: str
    before: str
    after: str = ""
    reason: str = ""


def attempt(text: str, quick: Proves, full: Proves) -> Tried:
    """Repair a program, and compare it with what it was on fresh inputs."""
    tried = _attempt(text, quick)
    return _attempt(text, full) if tried.outcome == WRONG and full is not quick else tried


def _attempt(text: str, prover: Proves) -> Tried:
    subject = alone(f"/generated/program_{next(_NUMBER)}.py", text, _SETTINGS)
    if not subject.findings:
        return Tried(CLEAN, text)
    made = repair(subject, prover, Policy())
    reason = "; ".join([*made.problems, *_reasons(made)])
    if any("isn't Python" in problem for problem in made.problems):
        return Tried(WRONG, text, made.text, reason)
    if not made.changed:
        offered = any(finding.fixes for finding in subject.findings)
        return Tried(UNPROVED if offered else DECLINED, text, "", reason)
    inputs = fresh_inputs()
    found = difference(text, made.text, inputs)
    whole = not made.left and all(judged.applied for judged in made.judged)
    if whole and not found:
        found = compiled_difference(text, made.text, inputs, _COMPILED)
        if found.startswith(REFUSED):  # other code is, which the linter doesn't see through
            whole, reason, found = False, found, ""
    if found:
        return Tried(WRONG, text, made.text, found)
    return Tried(FIXED if whole else PARTLY, text, made.text, reason)


def _reasons(made: Repair) -> list[str]:
    left = [f"{j.change.fix.title}: {j.reason}" for j in made.judged if not j.applied]
    return left + [finding.declined for finding in made.declined]


class Quick:
    """Proves by running both texts eagerly on a few inputs, and having Dynamo capture the second.

    After some rewrites of a program that don't hold it proves no more of it.
    """

    def __init__(self) -> None:
        self._tries: Counter[str] = Counter()

    def prove(self, trial: Trial) -> Verdict:
        """Return whether nothing differs and nothing breaks."""
        self._tries[trial.path] += 1
        if self._tries[trial.path] > _TRIES:
            return Verdict(Status.UNPROVED, "enough was tried")
        inputs = list(_inputs(range(100, 116)))
        found = difference(trial.before, trial.after, inputs)
        if found:
            return Verdict(Status.REFUTED, found)
        refusal = compiled_difference(trial.before, trial.after, inputs, 2)
        if refusal:
            return Verdict(Status.UNPROVED, refusal)
        return Verdict(Status.PROVED, inputs=len(inputs))


# -- running ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Results, arguments after the call and gradients; or what was raised."""

    values: tuple[torch.Tensor, ...] = ()
    gradients: tuple[torch.Tensor | None, ...] = ()
    error: Exception | None = None


def difference(before: str, after: str, inputs: Sequence[Arguments]) -> str:
    """Return how two texts differ on inputs: in values, arguments, gradients, exceptions.

    The second one runs eagerly. Gradients count on finite inputs: where an arm that isn't taken is
    computed along, a NaN of the input may reach them.
    """
    old, new = getattr(_module(before), NAME), _module(after)
    softer = "_assert_async" in after or "torch._check" in after
    for args, gradient in itertools.product(inputs, (False, True)):
        want = _outcome(old, args, gradient)
        if not _counts(want, args):
            continue
        with _plain(new) as fn:
            got = _outcome(fn, args, gradient)
        if found := _compared(want, got, softer):
            return f"{'with gradients, ' if gradient else ''}{found} for {_said(args)}"
    return ""


def compiled_difference(before: str, after: str, inputs: Sequence[Arguments], most: int) -> str:
    """Return how the second text, captured whole by Dynamo, differs; or why it isn't captured.

    The first inputs that bind the rewrite are compared, `most` of them.
    It runs with gradients asked for, as half of the compilations would be for nothing.
    """
    torch._dynamo.reset()
    dynamo = torch._dynamo.exc
    old = getattr(_module(before), NAME)
    compiled = torch.compile(getattr(_module(after), NAME), backend="eager", fullgraph=True)
    for args in inputs:
        want = _outcome(old, args, True)
        if want.error is not None or not _counts(want, args):
            continue
        got = _outcome(compiled, args, True)
        if found := _compared(want, got, False):
            # An operator that a rewrite calls is its own affair.
            own = isinstance(got.error, dynamo.UncapturedHigherOrderOpError)
            refused = isinstance(got.error, dynamo.TorchDynamoException) and not own
            return f"{REFUSED if refused else 'compiled'}, {found} for {_said(args)}"
        most -= 1
        if not most:
            break
    return ""


def _counts(want: _Outcome, args: Arguments) -> bool:
    """Whether an outcome of the original binds the rewrite, and its gradients too."""
    if want.error is not None:
        return isinstance(want.error, (ValueError, AssertionError))
    finite = all(bool(a.isfinite().all()) for a in args)
    return finite or not want.gradients


def _compared(want: _Outcome, got: _Outcome, softer: bool) -> str:
    if (want.error is None) != (got.error is None):
        return f"{want.error!r} became {got.error!r}"
    if want.error is not None:
        same = softer or type(want.error) is type(got.error)
        return "" if same else f"{want.error!r} became {got.error!r}"
    return _differs(want, got)


def _differs(want: _Outcome, got: _Outcome) -> str:
    for number, (a, b) in enumerate(zip(want.values, got.values)):
        try:
            torch.testing.assert_close(b, a, equal_nan=True, rtol=1e-4, atol=1e-5)
        except AssertionError as error:
            return f"value {number}: {' '.join(str(error).split())[:160]}"
    for number, (a, b) in enumerate(zip(want.gradients, got.gradients)):
        zero = torch.zeros(())
        a, b = (zero if g is None or not g.any() else g for g in (a, b))
        if a.shape != b.shape or not torch.allclose(b, a, rtol=1e-3, atol=1e-4, equal_nan=True):
            return f"gradient {number}: {b} is not {a}"
    return ""


def _outcome(fn: Callable[..., Any], args: Arguments, gradient: bool) -> _Outcome:
    leaves = [a.clone().requires_grad_(gradient and a.is_floating_point()) for a in args]
    given = [leaf * 1 for leaf in leaves]
    try:
        result = fn(*given)
        values = tuple(r.detach().clone() for r in (*result, *given))
        found: tuple[torch.Tensor | None, ...] = ()
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        total = [(r.double() ** 2).sum() for r in result if r.requires_grad]
        if wanted and total:
            found = torch.autograd.grad(sum(total), wanted, allow_unused=True)  # type: ignore[arg-type]
        elif wanted:
            found = (None,) * len(wanted)
        return _Outcome(values, found)
    except Exception as error:
        return _Outcome(error=error)


def _module(text: str) -> types.ModuleType:
    """Load a program as a module of its own, as Dynamo wants it: with source, and importable."""
    name = f"generated_program_{next(_NUMBER)}"
    path = f"/generated/{name}.py"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, path, "exec"), vars(module))
    return module


@contextlib.contextmanager
def _plain(module: types.ModuleType) -> Iterator[Callable[..., Any]]:
    """Run a program's control flow operators as what they mean: by themselves they compile."""
    with plain(module):
        yield getattr(module, NAME)


def _inputs(seeds: Sequence[int]) -> Iterator[Arguments]:
    for number in seeds:
        draw = torch.Generator().manual_seed(number)
        scale = (1.0, 0.2, 5.0, 30.0)[number % 4]
        x, y = (torch.randn(3, 4, generator=draw) * scale for _ in range(2))
        s = torch.randn((), generator=draw) * scale
        if number % 3 == 1:
            x, y, s = x.abs(), y.abs(), s.abs()
        elif number % 3 == 2:
            x, y, s = -x.abs(), -y.abs(), -s.abs()
        if number % 7 == 6:
            x[1, 2] = float("nan")
        if number % 7 == 5:
            x = torch.zeros(3, 4)
        if number % 5 == 4:
            y = x.clone()
        yield x, y, s, torch.tensor(number % 4)


def fresh_inputs() -> list[Arguments]:
    """Return inputs that no proof has seen."""
    return list(_inputs(range(1000, 1028)))


def _said(args: Arguments) -> str:
    return ", ".join(str(a.tolist()) for a in args)[:400]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """One thread, no warnings."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_num_threads(threads)
        torch._dynamo.reset()


def check_programs(
    count: int,
    number: int,
    quick: Proves,
    full: Proves,
    tell: Callable[[Tried], None] = lambda tried: None,
) -> tuple[Counter[str], Tried | None]:
    """Try `count` programs drawn from seed `number`: outcomes, and the first wrong one.

    `quick` proves them, and `full` those in which it let something wrong pass.
    """
    outcomes: Counter[str] = Counter()
    wrong: list[Tried] = []
    seen: set[str] = set()

    @seed(number)
    @hypothesis_settings(
        max_examples=4 * count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(programs())
    def equal_to_eager(text: str) -> None:
        if wrong or len(seen) >= count or text in seen:
            return
        seen.add(text)
        tried = attempt(text, quick, full)
        outcomes[tried.outcome] += 1
        tell(tried)
        if tried.outcome == WRONG:
            wrong.append(tried)

    equal_to_eager()
    return outcomes, wrong[0] if wrong else None
