"""The comparison: eager original against the rewrite, eager and compiled, call by call."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from ...compiler.settings import Settings
from .calls import Outcome, compare, differentiable_leaves, said, settle
from .capture import Break, Capture, is_refusal, line_of, reason_of
from .drives import Case
from .ends import Different, Refused
from .hardware import COMPILED, check_kernels, check_on_gpu
from .model import Status, Verdict
from .mutate import is_finite, owner_weights
from .trials import How, Trials
from .values import leaves, recast

_WITHOUT = 3  # inputs compiled once more without gradients
_OPERATORS = ("while_loop", "cond(", "scan(")
_ASSERTS = ("_assert_async", "torch._check", "_assert_tensor_metadata", "torch._assert")


class Judge:
    """Judges cases of one drive.

    Args:
        trials: Runs the versions.
        cases: What to compare, in turn; the first is called once more at the end.
        say: Is told what goes on.
    """

    def __init__(self, trials: Trials, cases: Sequence[Case], say: Callable[[str], None]) -> None:
        self.trials, self.say = trials, say
        self.count = len(cases)
        self.cases = [*cases, cases[0]]
        self.before, self.after = trials.trial.before, trials.trial.after
        added = _added(self.before, self.after)
        self.changed = {line for first, last in added for line in range(first, last + 1)}
        rows = self.after.splitlines()
        text = "\n".join(rows[line - 1] for line in sorted(self.changed) if line <= len(rows))
        self.softer = any(word in text for word in _ASSERTS)
        self.operators = any(word in text for word in _OPERATORS)
        self.some: list[tuple[list[How], list[Outcome]]] = []  # runs with some gradients only
        self.notes: list[str] = []
        self.whole = True  # the rewrite is captured in one graph
        drive = cases[0].drive
        self.found = Verdict(Status.PROVED, site=drive.name, source=drive.source)

    def verdict(self, compiled: bool = True) -> Verdict:
        """Compare until something differs; eager runs only, unless `compiled`."""
        try:
            self.eager()
            if compiled:
                self.breaks()
                self.compiled()
                check_kernels(self)
                check_on_gpu(self)
            if self.trials.plain:
                reason = f"the original raises {self.trials.plain}: compared with the plain-Python"
                reason += " meaning of its operators"
                self.found = replace(self.found, status=Status.MENDED, reason=reason)
        except Different as end:
            self.found = replace(self.found, status=end.status, reason=end.reason)
        return replace(self.found, inputs=self.count, notes=tuple(self.notes))

    def eager(self) -> None:
        """Compare eager with eager: values, effects, random numbers; then gradients."""
        self.say("running the original")
        plain = [How()] * len(self.cases)
        self.want = self.trials.run(self.before, self.cases, plain)
        if all(outcome.error is not None for outcome in self.want):
            error = self.want[0].error
            assert error is not None
            reason = f"{type(error).__name__}: {said(error)}"
            raise Different(Status.UNPROVED, f"the original raises on every input: {reason}")
        again = self.trials.run(self.before, self.cases, plain)
        for place, (a, b) in enumerate(zip(self.want, again)):
            settle(a, b)
            if found := compare(a, b):
                reason = f"the original isn't the same twice, at {self.at(place)}: {found}"
                raise Different(Status.UNPROVED, reason)
        self.say("running the rewrite")
        got = self.trials.run(self.after, self.cases, plain)
        self.equal(self.want, got, "")
        self.aliasing(self.want, got)
        self.eval_want: list[Outcome] = []
        if isinstance(self.owner(), torch.nn.Module):
            self.eval_want = self.trials.run(self.before, self.cases, plain, training=False)
            again = self.trials.run(self.before, self.cases, plain, training=False)
            for a, b in zip(self.eval_want, again):
                settle(a, b)
            got = self.trials.run(self.after, self.cases, plain, training=False)
            self.equal(self.eval_want, got, "in eval mode ")
        self.gradients()
        self.found = replace(self.found, seconds=(self.want[-1].seconds, 0.0, 0.0))

    def gradients(self) -> None:
        self.hows = self.how_to_differentiate()
        if not any(how.gradients for how in self.hows):
            self.want_grads = self.want
            return
        self.want_grads = self.reference()
        for a, b in zip(self.want_grads, self.reference()):
            settle(a, b)
        got = self.trials.run(self.after, self.cases, self.hows)
        self.equal(self.want_grads, got, "")
        for part in self.parts():
            self.part(part)
        some = any(g is not None for o in self.want_grads for g in o.gradients.values())
        self.found = replace(self.found, gradients=some)

    def reference(self, part: str = "") -> list[Outcome]:
        """The original's outcomes, with gradients where they are asked for."""
        hows = [replace(how, part=part) for how in self.hows]
        outcomes = self.trials.run(self.before, self.cases, hows)
        for case, outcome in zip(self.cases, outcomes):
            self.binding(case, outcome)
        return outcomes

    def parts(self) -> list[str]:
        """Which parts of the arguments may require gradients while the others don't.

        A model's input seldom does, its weights do; operators of control flow, in particular,
        may differentiate through what requires a gradient at the start only.
        """
        args, kwargs = self.cases[0].make(self.trials.watched)
        count = len(differentiable_leaves(args, kwargs))
        weights = count > 0 and owner_weights(self.owner())
        return [*(("none",) if weights else ()), *(("even", "odd") if count > 1 else ())]

    def part(self, part: str) -> None:
        """Compare where only some arguments require gradients, eagerly."""
        hows = [replace(how, part=part) for how in self.hows]
        want = self.reference(part)
        for a, b in zip(want, self.trials.run(self.before, self.cases, hows)):
            settle(a, b)
        got = self.trials.run(self.after, self.cases, hows)
        self.equal(want, got, "with gradients of some arguments only, ")
        if self.operators:
            self.some.append((hows, want))

    def how_to_differentiate(self) -> list[How]:
        """For each case, how the original can be run with gradients asked for."""
        self.say("running the original with gradients")
        # Results of an operation by preference: leaves can't be written to. What the original's
        # writing keeps from being differentiated is so in the rewrite on other inputs.
        plans = [How(True, nonleaf=True), How(True), How(True, nonleaf=True, mutable=True)]
        results: list[list[Outcome]] = []
        for plan in plans:
            results.append(self.trials.run(self.before, self.cases, [plan] * len(self.cases)))
            left = [n for n, plain in enumerate(self.want) if plain.error is None]
            if not any(all(row[n].is_unfit for row in results) for n in left):
                break
        hows = []
        for place, (case, plain) in enumerate(zip(self.cases, self.want)):
            fit = How()
            if plain.error is None:
                for plan, result in zip(plans, results):
                    if not result[place].is_unfit:
                        fit = plan if self.binding(case, result[place]) else fit
                        break
            hows.append(fit)
        return hows

    def binding(self, case: Case, outcome: Outcome) -> bool:
        """Keep the gradients of the original that bind the rewrite; whether there are any.

        Of made-up values that aren't finite only those that are: what a test for NaN keeps out of
        a gradient must stay out of it.
        """
        made_up = case.drive.found or bool(case.changes)
        if not made_up or is_finite(case.make(self.trials.watched)):
            return True
        kept = {name: g for name, g in outcome.gradients.items() if is_finite(g)}
        outcome.gradients = kept if any(g is not None for g in kept.values()) else {}
        return bool(outcome.gradients)

    def breaks(self) -> None:
        """Let Dynamo capture both by default: graph breaks, graphs, and what a call takes."""
        self.say("capturing the original")
        plain = [How()] * len(self.cases)
        captures = []
        seconds = [self.found.seconds[0]]
        for text, word in ((self.before, "original"), (self.after, "rewrite")):
            self.say(f"capturing the {word}")
            capture = Capture(backend="count", fullgraph=False)
            with capture:
                got = self.trials.run(text, self.cases, plain, wrap=capture.compiled)
            if text is self.after:
                self.equal(self.want, got, "compiled by default, ", compiled=True)
            captures.append(capture)
            seconds.append(got[-1].seconds)
        old, self.capture = captures
        self.left = [b for b in self.capture.breaks if self.is_changed(b)]
        self.fewer = len(self.capture.breaks) < len(old.breaks)
        self.found = replace(
            self.found,
            breaks=(len(old.breaks), len(self.capture.breaks)),
            graphs=(old.graphs, self.capture.graphs),
            seconds=tuple(seconds),  # type: ignore[arg-type]
        )
        signatures = len({self.signature(case) for case in self.cases})
        frames = 1 + len(self.capture.breaks)
        # Where the original compiles nothing, once more to settle in is no loss.
        allowed = max(old.recompiles, (signatures - 1) * frames + (old.graphs == 0))
        if self.capture.recompiles > allowed:
            reason = f"recompiles {self.capture.recompiles} times over these inputs"
            raise Different(Status.REFUTED, f"{reason}, the original {old.recompiles}")

    def is_changed(self, one: Break) -> bool:
        return one.file == self.trials.trial.path and one.line in self.changed

    def signature(self, case: Case) -> str:
        parts = []
        for _, leaf in leaves(case.make(self.trials.watched)):
            if isinstance(leaf, torch.Tensor):
                parts.append(f"{tuple(leaf.shape)}{leaf.stride()}{leaf.dtype}{leaf.requires_grad}")
            else:
                parts.append(repr(leaf))
        parts += [what for where, what, _ in case.changes if where in ("mode", "flag")]
        return ",".join(parts)

    def compiled(self) -> None:
        """Compile with fullgraph by our compiler, with gradients and without."""
        self.say("compiling the rewrite")
        try:
            self.fullgraph(self.hows, self.want_grads, len(self.cases))
        except Refused as refused:
            if refused.place == 0 or not self.singly():
                self.without_fullgraph(refused)
                return
            where = self.at(refused.place)
            self.notes.append(
                f"in turn, {where} isn't captured (by itself it is): {refused.reason}"
            )
        try:
            self.in_other_ways()
        except Refused as refused:
            self.without_fullgraph(refused)
            return
        if self.left:
            one = self.left[0]
            if not self.fewer:
                reason = f"the graph still breaks by default at line {one.line}: {one.reason}"
                raise Different(Status.UNPROVED, reason)
            self.notes.append(f"by default the graph breaks at line {one.line}: {one.reason}")

    def in_other_ways(self) -> None:
        """Compile without gradients, with some of them, and in eval mode. Raises as fullgraph."""
        if any(how.gradients for how in self.hows):
            self.fullgraph([How()] * _WITHOUT, self.want, _WITHOUT)
        for hows, want in self.some:
            self.fullgraph(hows, want, _WITHOUT)
        if self.eval_want and self.modes_differ():
            self.fullgraph([How()] * _WITHOUT, self.eval_want, _WITHOUT, training=False)

    def singly(self) -> bool:
        """Whether each input is captured where nothing was compiled before: no dynamic sizes."""
        cases, hows = self.cases, self.hows
        try:
            for place, case in enumerate(cases[: self.count]):
                self.cases, self.hows = [case], [hows[place]]
                self.fullgraph(self.hows, self.reference(), 1)  # state as it is at first
        except Refused:
            return False
        finally:
            self.cases, self.hows = cases, hows
        return True

    def modes_differ(self) -> bool:
        pairs = zip(self.want, self.eval_want)
        return any(compare(a, b, compiled=True) is not None for a, b in pairs)

    def fullgraph(
        self,
        hows: Sequence[How],
        want: Sequence[Outcome],
        count: int,
        training: bool | None = None,
        settings: Settings | None = None,
    ) -> Capture:
        """Run compiled in one graph. Raises Different, Refused."""
        settings = settings or Settings(collect=False)
        capture = Capture(settings)
        slack = COMPILED * (4 if settings.interpret else 1)

        def each(place: int, got: Outcome) -> bool:
            self.captured(place, got, want[place])
            where = "compiled, " if training is None else "compiled in eval mode, "
            self.equal([want[place]], [got], where, compiled=True, slack=slack, start=place)
            return True

        self.trials.run(
            self.after,
            self.cases[:count],
            hows,
            training=training,
            wrap=capture.compiled,
            each=each,
        )
        return capture

    def captured(self, place: int, got: Outcome, want: Outcome) -> None:
        """Tell what Dynamo or our compiler refuses from what the program raises."""
        error = got.error
        if error is None or want.error is not None:
            return
        if is_refusal(error):
            raise Refused(reason_of(error), line_of(error, self.trials.trial.path), place)
        ours = "compile_lint" in type(error).__module__
        if ours or type(error).__name__ in ("BackendCompilerFailed", "InternalTorchDynamoError"):
            reason = f"compile-lint's compiler fails at {self.at(place)}: {reason_of(error)}"
            raise Different(self.blame(), reason)

    def blame(self) -> Status:
        """Refuted if torch's own AOTAutograd fails as well: then it isn't our compiler's fault."""
        capture = Capture(backend="aot_eager")
        got = self.trials.run(self.after, self.cases, self.hows, wrap=capture.compiled)
        failed = any(g.error is not None and w.error is None for g, w in zip(got, self.want))
        return Status.REFUTED if failed else Status.UNPROVED

    def without_fullgraph(self, refused: Refused) -> None:
        """Accept a rewrite whose surroundings still break, if it removed breaks of its own."""
        place = f" (line {refused.line})" if refused.line else ""
        reason = f"torch.compile(fullgraph=True) fails{place}: {refused.reason}"
        if refused.line in self.changed or self.left or not self.fewer:
            raise Different(Status.REFUTED, reason)
        self.whole = False
        self.notes.append(f"other graph breaks remain{place}: {refused.reason}")
        self.say("compiling the rewrite by default")
        capture = Capture(Settings(collect=False), fullgraph=False)
        got = self.trials.run(self.after, self.cases, self.hows, wrap=capture.compiled)
        self.equal(self.want_grads, got, "compiled by default, ", compiled=True, slack=COMPILED)

    def owner(self) -> Any:
        return self.cases[0].drive.target(self.trials.watched).owner

    def equal(
        self,
        want: Sequence[Outcome],
        got: Sequence[Outcome],
        where: str,
        *,
        compiled: bool = False,
        slack: float = 1.0,
        start: int = 0,
    ) -> None:
        for place, (a, b) in enumerate(zip(want, got), start):
            if self.trials.plain and a.output is not None and b.output is not None:
                # Arms that differ in dtype are why torch refuses it: a repair must choose one.
                a.output = recast(a.output, b.output)
            found = compare(a, b, slack=slack, compiled=compiled, softer=self.softer)
            if found:
                raise Different(self.weight(a, b), f"{where}at {self.at(place)} {found}")

    def weight(self, want: Outcome, got: Outcome) -> Status:
        """A difference refutes, unless it may come of arguments that nobody would pass."""
        misfit = isinstance(got.error, (TypeError, AttributeError)) and want.error is None
        return Status.UNPROVED if misfit and self.cases[0].drive.found else Status.REFUTED

    def aliasing(self, want: Sequence[Outcome], got: Sequence[Outcome]) -> None:
        """A later write shows what shares memory with what.

        Sharing that the original has on some inputs only is nothing that a caller may count on;
        arguments of another kind are such inputs.
        """
        fine = [(a, b) for a, b in zip(want, got) if a.error is None and b.error is None]
        for place, (a, b) in enumerate(zip(want, got)):
            for output, other in sorted(b.aliases - a.aliases):
                reason = f"{output} now shares memory with {other}: a later write would show"
                raise Different(Status.REFUTED, f"at {self.at(place)} {reason}")
            if b.error is not None and a.error is None:
                return
        if len(fine) > 1 and not self.cases[0].drive.other:
            always = frozenset.intersection(*(a.aliases for a, _ in fine))
            never = frozenset.union(*(b.aliases for _, b in fine))
            for output, other in sorted(always - never):
                reason = f"{output} no longer shares memory with {other}: a later write would show"
                raise Different(Status.REFUTED, reason)

    def at(self, place: int) -> str:
        if place >= self.count:
            return "a second call with input 1"
        case = self.cases[place]
        changes = [f"{where or 'it'}: {what}" for where, what, _ in case.changes]
        return f"input {place + 1}" + (f" ({', '.join(changes)})" if changes else "")


def _added(before: str, after: str) -> list[tuple[int, int]]:
    """(first, last) lines of `after` that are not in `before`."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), False)
    return [(j + 1, k) for tag, _, _, j, k in matcher.get_opcodes() if tag != "equal"]
