"""Which rewrites are kept: a stand-in for the linter offers them, one for the prover judges."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import pytest
from compile_lint.linter.discover import Target
from compile_lint.linter.fix.model import Repair
from compile_lint.linter.fix.repair import MAX_TRIALS, Policy, changed_lines, repair
from compile_lint.linter.model import SourceFile
from compile_lint.linter.prove.model import Status, Trial, Verdict
from compile_lint.rules.base import (
    Certainty,
    Edit,
    Finding,
    Fix,
    Mode,
    Safety,
    Severity,
    Site,
    Span,
)

# A finding is a name that starts with `bad_`; what it may become is written here.
OFFERS: dict[str, list[str | tuple[str, Safety]]] = {
    "bad_a": ["good_a"],
    "bad_b": ["wrong_b", "good_b"],
    "bad_choice": ["good_first", "good_second"],
    "bad_c": ["bad_d"],  # a second round is needed
    "bad_d": ["good_d"],
    "bad_e": ["wrong_e"],
    "bad_safe": [("good_safe", Safety.SAFE)],
    "bad_unsafe": [("good_unsafe", Safety.UNSAFE)],
    "bad_lock": [("good_lock", Safety.SAFE)],
    "bad_open": ["good_lock\n    pass\n    pass\n    pass"],
    "bad_locked": ["wrong_locked"],  # once the text has a `good_lock`
    "bad_locked_worse": ["bad_x + bad_x"],
    "bad_locked_choice": ["wrong_choice", "good_choice"],
    "bad_setting": ["set_on"],  # a setting, which is needed unless the text has a `good_cover`
    "bad_cover": [("good_cover", Safety.SAFE)],
    "bad_syntax": ["good ("],
    "bad_worse": ["bad_x + bad_x"],
    "bad_half": ["need_other"],
    "bad_other": ["has_other"],
}


@dataclass
class Subject:
    """Finds `bad_…` in a text."""

    text: str
    target: Any = field(default_factory=lambda: Target("/m.py", "m.py", None, 0, 0))  # type: ignore[arg-type]

    @property
    def source(self) -> SourceFile:
        return SourceFile("/m.py", self.text, "utf-8", False, "\n", "")

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.lint(self.text)

    def entries(self, functions: Collection[str]) -> tuple[str, ...]:
        return tuple(functions)

    def lint(self, text: str) -> tuple[Finding, ...]:
        found, function = [], ""
        for number, line in enumerate(text.split("\n"), 1):
            if named := re.match(r"def (\w+)", line):
                function = named[1]
            for match in re.finditer(r"bad_\w+", line):
                span = Span(number, match.start() + 1, number, match.end() + 1)
                if match[0] == "bad_setting" and "good_cover" in text:
                    continue
                locked = match[0].startswith("bad_locked") and "good_lock" not in text
                found.append(self._finding("locked" if locked else match[0], span, function))
        return tuple(found)

    def _finding(self, word: str, span: Span, function: str) -> Finding:
        fixes = []
        for offer in OFFERS.get(word, []):
            new, safety = (offer, Safety.NEEDS_PROOF) if isinstance(offer, str) else offer
            fixes.append(
                Fix(f"{word} to {new}", (Edit(span, new),), safety, setting=new == "set_on")
            )
        return Finding(
            "CL101",
            "tensor-if",
            "m.py",
            span,
            span,
            word,
            Severity.ERROR,
            (Mode.DEFAULT,),
            (),
            Certainty.CERTAIN,
            region=function,
            fixes=tuple(fixes),
            declined="" if fixes else "there is no way",
            site=Site(function, 1),
        )


class Prover:
    """Refutes a text that holds `wrong_`; `need_` needs `has_` in the same text."""

    def __init__(self, judge: Callable[[str], Verdict] | None = None) -> None:
        self.trials: list[Trial] = []
        self._judge = judge or self._plain

    def prove(self, trial: Trial) -> Verdict:
        self.trials.append(trial)
        return self._judge(trial.after)

    @staticmethod
    def _plain(text: str) -> Verdict:
        if "wrong_" in text:
            return Verdict(Status.REFUTED, "values differ")
        if ("need_other" in text) != ("has_other" in text):
            return Verdict(Status.UNPROVED, "still breaks")
        return Verdict(Status.PROVED)


def repaired(text: str, policy: Policy | None = None, prover: Any = None) -> Repair:
    return repair(Subject(text), prover or Prover(), policy or Policy())  # type: ignore[arg-type]


def test_what_is_proved_is_kept_with_one_proof() -> None:
    prover = Prover()
    made = repaired("def f():\n    bad_a\n    bad_a\n", prover=prover)
    assert made.text == "def f():\n    good_a\n    good_a\n"
    assert len(prover.trials) == 1
    assert all(judged.proved and judged.applied for judged in made.judged)
    assert not made.left


def test_a_refuted_rewrite_gives_way_to_its_next_alternative() -> None:
    made = repaired("def f():\n    bad_b\n")
    assert made.text == "def f():\n    good_b\n"


def test_what_one_rewrite_needs_the_others_do_without() -> None:
    """Together they are tried at one level; then each may have its first alternative."""
    made = repaired("def f():\n    bad_b\n    bad_choice\n")
    assert made.text == "def f():\n    good_b\n    good_first\n"
    assert all(judged.proved for judged in made.judged)


def test_one_bad_rewrite_does_not_spoil_the_others() -> None:
    made = repaired("def f():\n    bad_a\n    bad_e\n\ndef g():\n    bad_b\n")
    assert made.text == "def f():\n    good_a\n    bad_e\n\ndef g():\n    good_b\n"
    lost = [judged for judged in made.judged if not judged.applied]
    assert [judged.change.finding.message for judged in lost] == ["bad_e"]
    assert lost[0].reason == "values differ"
    assert [finding.message for finding in made.left] == ["bad_e"]


def test_a_rewrite_may_need_another_in_another_function() -> None:
    made = repaired("def f():\n    bad_half\n\ndef g():\n    bad_other\n")
    assert made.text == "def f():\n    need_other\n\ndef g():\n    has_other\n"


def test_rounds_go_on_until_nothing_is_left() -> None:
    made = repaired("def f():\n    bad_c\n")
    assert made.text == "def f():\n    good_d\n"
    assert [judged.change.round for judged in made.judged] == [1, 2]


def test_a_rewrite_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OFFERS, "bad_loop", ["bad_loop"])
    made = repaired("def f():\n    bad_loop\n")
    assert made.text == "def f():\n    bad_loop\n"


def test_broken_text_and_new_findings_are_withdrawn_and_told() -> None:
    made = repaired("def f():\n    bad_syntax\n    bad_worse\n    bad_a\n")
    assert made.text == "def f():\n    bad_syntax\n    bad_worse\n    good_a\n"
    assert len(made.problems) == 2
    assert "isn't Python" in made.problems[0]


def test_without_proofs_only_what_is_safe_is_applied() -> None:
    text = "def f():\n    bad_a\n    bad_safe\n    bad_unsafe\n"
    made = repair(Subject(text), None, Policy())  # type: ignore[arg-type]
    assert made.text == "def f():\n    bad_a\n    good_safe\n    bad_unsafe\n"


def test_unsafe_rewrites_are_applied_only_when_asked_for() -> None:
    text = "def f():\n    bad_unsafe\n    bad_e\n"
    assert repaired(text).text == text
    made = repaired(text, Policy(unproved=True, unsafe=True))
    assert made.text == "def f():\n    good_unsafe\n    wrong_e\n"
    proved = {judged.change.finding.message: judged.proved for judged in made.judged}
    assert proved == {"bad_unsafe": True, "bad_e": False}


def test_what_is_safe_stays_when_nothing_could_be_proved() -> None:
    prover = Prover(lambda text: Verdict(Status.UNPROVED, "no inputs"))
    made = repaired("def f():\n    bad_safe\n    bad_a\n", prover=prover)
    assert made.text == "def f():\n    good_safe\n    bad_a\n"


def test_a_refuted_safe_rewrite_is_dropped() -> None:
    prover = Prover(lambda text: Verdict(Status.REFUTED, "values differ"))
    text = "def f():\n    bad_safe\n"
    assert repaired(text, prover=prover).text == text


def test_declined_findings_are_told() -> None:
    made = repaired("def f():\n    bad_unknown\n")
    assert [finding.declined for finding in made.declined] == ["there is no way"]


def test_the_number_of_proofs_is_limited() -> None:
    prover = Prover(lambda text: Verdict(Status.REFUTED, "values differ"))
    text = "".join(f"def f{i}():\n    bad_b\n    bad_e\n" for i in range(40))
    assert repaired(text, prover=prover).text == text
    assert len(prover.trials) <= MAX_TRIALS


def test_changed_lines_are_those_of_the_old_text() -> None:
    before, after = "a\nb\nc\nd", "a\nB\nc\nnew\nd"
    assert changed_lines(before, after) == ((2, 2), (4, 4))


def test_what_a_later_round_rewrites_was_not_declined() -> None:
    """`bad_wait` has no rewrite until its neighbour is rewritten."""

    class Waiting(Subject):
        def _finding(self, word: str, span: Span, function: str) -> Finding:
            if word == "bad_wait" and "good_a" in self.current:
                OFFERS["bad_wait"] = ["good_wait"]
            made = super()._finding(word, span, function)
            OFFERS.pop("bad_wait", None)
            return made

        def lint(self, text: str) -> tuple[Finding, ...]:
            self.current = text
            return super().lint(text)

    made = repair(Waiting("def f():\n    bad_a\n    bad_wait\n"), Prover(), Policy())  # type: ignore[arg-type]
    assert made.text == "def f():\n    good_a\n    good_wait\n"
    assert not made.declined


def test_a_file_whose_proofs_take_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100_000, 200))  # each proof takes 200 s
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    prover = Prover()
    made = repaired("".join(f"def f{n}():\n    bad_e\n\n" for n in range(4)), prover=prover)
    assert len(prover.trials) == 2
    assert made.judged[-1].reason == "proofs of this file take too long"


def test_what_a_safe_rewrite_makes_possible_is_not_applied_unproved() -> None:
    for refuse in (Status.REFUTED, Status.UNPROVED):

        def judge(text: str, refuse: Status = refuse) -> Verdict:
            return Verdict(refuse if "wrong_" in text else Status.PROVED)

        text = "def f():\n    bad_lock\n    bad_locked\n    bad_a\n"
        made = repaired(text, prover=Prover(judge))
        assert made.text == "def f():\n    good_lock\n    bad_locked\n    good_a\n"


def test_what_a_later_round_offers_has_alternatives_of_its_own() -> None:
    made = repaired("def f():\n    bad_lock\n    bad_choice\n    bad_locked_choice\n")
    assert made.text == "def f():\n    good_lock\n    good_first\n    good_choice\n"


def test_no_setting_where_a_safe_rewrite_will_do() -> None:
    def judge(text: str) -> Verdict:
        return Verdict(Status.UNPROVED if "good_cover" in text else Status.PROVED)

    made = repaired("def f():\n    bad_setting\n    bad_cover\n", prover=Prover(judge))
    assert made.text == "def f():\n    bad_setting\n    good_cover\n"


def test_what_is_not_proved_is_never_applied() -> None:
    """Whatever the verdicts: what is written was proved, or differs from that by what is safe."""

    def without_safe(text: str) -> str:
        return re.sub("good_(safe|lock|cover)", r"bad_\1", text)

    for seed in range(60):
        verdicts = random.Random(seed)
        held: set[str] = set()

        def judge(text: str, verdicts: random.Random = verdicts, held: set[str] = held) -> Verdict:
            verdict = Verdict(verdicts.choice(list(Status)))
            held |= {text} if verdict.held else set()
            return verdict

        words = verdicts.sample(sorted(set(OFFERS) - {"bad_syntax", "bad_unsafe"}), 5)
        text = "".join(f"def f{n}():\n    {word}\n    bad_c\n\n" for n, word in enumerate(words))
        made = repaired(text, prover=Prover(judge))
        assert without_safe(made.text) in map(without_safe, {text, *held}), seed


def test_what_a_later_round_makes_worse_is_withdrawn_there() -> None:
    """Its edits are for the later text: in the first one they would cut into what follows."""
    text = "def f():\n    bad_open\n    bad_locked_worse\n\n\ndef g():\n    good\n"
    made = repaired(text)
    assert made.text == text.replace("bad_open", OFFERS["bad_open"][0])  # type: ignore[arg-type]
    assert len(made.problems) == 1
