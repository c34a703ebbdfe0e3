"""Every rule: its docs are whole, its examples lint as marked, and Dynamo agrees with them."""

from __future__ import annotations

import importlib.metadata
import inspect
import linecache
import re
from collections.abc import Iterator

import pytest
from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.rules.base import HEADINGS, Example, Finding, Mode, Rule, Severity, all_rules

from tests.dynamo.measure import Measured, Snippet, measure

MARK = re.compile(r"#\s*error:\s*([A-Z]{2}\d{3}(?:\s*,\s*[A-Z]{2}\d{3})*)")
RULES = all_rules()
CASES = [(rule, index) for rule in RULES for index in range(len(rule.examples))]
IDS = [f"{rule.code}-{index}" for rule, index in CASES]
TRUTH_VERSION = "2.13"


def torch_version() -> str:
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return ""


def lint(source: str, entry: str) -> list[Finding]:
    text = source.lstrip("\n")
    options = AnalysisOptions(entry=entry, entry_points=("example:f",), target_torch=TRUTH_VERSION)
    file = SourceFile("example.py", text, "utf-8", False, "\n", str(hash(text)))
    return list(Linter(options).lint(file).findings)


def marks(source: str) -> set[tuple[int, str]]:
    found = set()
    for number, line in enumerate(source.lstrip("\n").split("\n"), 1):
        hit = MARK.search(line)
        if hit:
            found.update((number, code.strip()) for code in hit[1].split(","))
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_docs_have_the_fixed_headings(rule: Rule) -> None:
    text = inspect.cleandoc(type(rule).__doc__ or "")
    headings = tuple(re.findall(r"^## (.+)$", text, re.M))
    assert headings == HEADINGS
    assert rule.examples, "a rule shows what it means"
    assert re.fullmatch(r"CL[1-7]\d\d", rule.code)
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", rule.name)
    for section in re.split(r"^## .+$", text, flags=re.M)[1:]:
        assert section.strip(), "a heading without text"


def test_there_are_enough_rules() -> None:
    assert len(RULES) >= 45


@pytest.mark.parametrize(("rule", "index"), CASES, ids=IDS)
def test_examples_lint_as_marked(rule: Rule, index: int) -> None:
    example = rule.examples[index]
    bad = {(f.span.line, f.code) for f in lint(example.bad, example.entry)}
    expected = marks(example.bad)
    assert any(code == rule.code for _, code in expected), "nothing is marked for this rule"
    assert bad == expected
    good = lint(example.good, example.entry)
    assert not [f for f in good if f.code == rule.code]
    assert not [f for f in good if f.severity is Severity.ERROR]


@pytest.fixture(scope="session")
def verdicts(request: pytest.FixtureRequest) -> dict[tuple[str, int], tuple[Measured, Measured]]:
    """Dynamo's verdicts on the bad and good example of every selected case, from one worker."""
    chosen = [
        item.callspec.params
        for item in request.session.items
        if getattr(item, "originalname", "") == "test_dynamo_agrees"
    ]
    wanted = [(p["rule"], p["index"]) for p in chosen if not missing(p["rule"], p["index"])]
    wanted = [(r, i) for r, i in wanted if r.examples[i].truth != "witness"]
    snippets = [
        Snippet(
            source.lstrip("\n"),
            target="f",
            inputs=rule.examples[index].inputs,
            fresh=rule.examples[index].truth != "recompile",
            name=f"{rule.code}-{index}",
        )
        for rule, index in wanted
        for source in (rule.examples[index].bad, rule.examples[index].good)
    ]
    results = list(measure(snippets))
    pairs = zip(results[::2], results[1::2], strict=True)
    return {(r.code, i): pair for (r, i), pair in zip(wanted, pairs, strict=True)}


def missing(rule: Rule, index: int) -> str:
    """Why an example's truth can't be measured here, "" when it can."""
    version = torch_version()
    if not version.startswith(TRUTH_VERSION):
        return f"truth is torch {TRUTH_VERSION}; installed: {version or 'none'}"
    for name in rule.examples[index].requires:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return f"needs {name}"
    return ""


@pytest.mark.truth
@pytest.mark.parametrize(("rule", "index"), CASES, ids=IDS)
def test_dynamo_agrees(
    rule: Rule, index: int, verdicts: dict[tuple[str, int], tuple[Measured, Measured]]
) -> None:
    reason = missing(rule, index)
    if reason:
        pytest.skip(reason)
    example = rule.examples[index]
    if example.truth == "witness":
        problems = list(_witness(example.bad.lstrip("\n"), example.good.lstrip("\n")))
    else:
        problems = list(disagreements(rule, example, *verdicts[rule.code, index]))
    assert not problems, "\n".join(problems)


def disagreements(rule: Rule, example: Example, bad: Measured, good: Measured) -> Iterator[str]:
    for label, measured in (("bad", bad), ("good", good)):
        if measured.crash:
            yield f"{label} example doesn't run: {measured.crash}"
            return
    if example.truth == "recompile":
        counts = [m.modes[Mode.DEFAULT.value].graphs for m in (bad, good)]
        if not counts[0] > counts[1]:
            yield f"graphs compiled: bad {counts[0]}, good {counts[1]}"
        return
    lines = {line for line, code in marks(example.bad) if code == rule.code}
    predicted = _predicted_modes(rule, example)
    for mode in Mode:
        outcome = bad.modes[mode.value]
        blamed = set(outcome.lines)
        breaks = not outcome.captured
        if breaks != (mode in predicted):
            yield f"bad, {mode.value}: predicted {mode in predicted}, Dynamo {outcome}"
        elif breaks and blamed and mode in rule.breaks and not (blamed & lines):
            yield f"bad, {mode.value}: Dynamo blames {sorted(blamed)}, marked {sorted(lines)}"
        if not good.modes[mode.value].captured:
            yield f"good, {mode.value}: Dynamo breaks: {good.modes[mode.value]}"


def _predicted_modes(rule: Rule, example: Example) -> set[Mode]:
    """The modes that all findings in the bad example predict together."""
    return {mode for f in lint(example.bad, example.entry) for mode in f.breaks}


def _witness(bad: str, good: str) -> Iterator[str]:
    for label, source, expected in (("bad", bad, True), ("good", good, False)):
        space: dict[str, object] = {"__name__": "example"}
        name = f"<{label} example>"
        lines = source.splitlines(keepends=True)
        linecache.cache[name] = (len(source), None, lines, name)  # TorchScript reads sources
        exec(compile(source, name, "exec"), space)
        seen = space["witness"]()  # type: ignore[operator]
        if bool(seen) is not expected:
            yield f"witness() of the {label} example is {seen!r}"
