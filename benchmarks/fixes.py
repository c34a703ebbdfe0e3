"""What `--fix` makes of real-world code that breaks, judged by Dynamo and by eager.

    python -m benchmarks.fixes [--cases FOLDER] [--only 001 …] [--markdown docs/fixes.md]

A case is a module with `TARGET` and `example_inputs()`; `truth.json` beside the cases says what
Dynamo does with it and which remedy its report named. A copy of every case is repaired as a user
would, `compile-lint --fix`. Then, independently of the proofs: Dynamo captures the new text
fullgraph on every input and breaks nowhere in default mode, and eager gives the old values.

Code that raises on every input in eager, too, because torch refuses an arm of its `torch.cond` or
`while_loop`, has no old values. What it means is what those operators mean in plain Python: the
predicate chooses an arm, the loop turns while its test holds. Such a case is compared with that,
dtypes left out (arms that differ in dtype are one reason to refuse), and counted apart as mended.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.dynamo.measure import Snippet, measure  # noqa: E402

FORMS = ("where", "cond", "while_loop")
EQUAL = """
import copy, importlib.util, sys, torch

def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    torch.manual_seed(0)
    spec.loader.exec_module(module)
    return module

def outcome(module):
    torch.manual_seed(1)
    target = getattr(module, module.TARGET)
    target = target() if isinstance(target, type) else target
    torch.manual_seed(2)
    results = []
    for args in module.example_inputs():
        try:
            results.append(("value", target(*copy.deepcopy(args))))
        except Exception as error:
            results.append(("error", error))
    return results

def cond(pred, true_fn, false_fn, operands=()):
    return (true_fn if pred else false_fn)(*operands)

def while_loop(cond_fn, body_fn, carried_inputs, additional_inputs=()):
    state = tuple(carried_inputs)
    while cond_fn(*state, *additional_inputs):
        state = tuple(body_fn(*state, *additional_inputs))
    return state

def plainly(module):
    import torch._higher_order_ops as ops
    from torch._higher_order_ops.while_loop import while_loop as real_loop
    for real, ours in ((torch.cond, cond), (real_loop, while_loop)):
        for home in (torch, ops, module):
            for name in [name for name, value in vars(home).items() if value is real]:
                setattr(home, name, ours)
    return outcome(module)

after = outcome(load("after", sys.argv[2]))
module = load("before", sys.argv[1])
before = outcome(module)
mended = all(isinstance(v, torch._dynamo.exc.TorchDynamoException) for _, v in before)
if mended:
    before = plainly(module)
    print("mended")
assert len(before) == len(after)
for (kind, old), (other, new) in zip(before, after):
    assert kind == other, (kind, other)
    if kind == "value":
        torch.testing.assert_close(new, old, equal_nan=True, check_dtype=not mended)
"""


@dataclass(frozen=True)
class Case:
    """One repaired case. `group` is "form", "other" or "none": what kind of remedy was named."""

    name: str
    group: str
    remedy: str
    changed: bool
    captured: bool
    default_clean: bool
    equal: bool
    mended: bool
    note: str

    @property
    def fixed(self) -> bool:
        """Whether the new text is captured in both modes and means the same."""
        return self.changed and self.captured and self.default_clean and self.equal

    @property
    def wrong(self) -> bool:
        """Whether something was applied that changes values."""
        return self.changed and not self.equal


def group_of(remedy: str) -> str:
    """Return which of the wanted shares a remedy counts for."""
    text = remedy.strip()
    if text.startswith("none"):
        rest = text.removeprefix("none").lstrip(" :/")
        named = any(form in rest.split(";")[0].split() for form in FORMS)
        if text.startswith("none/") and named:
            return "form"
        return "other" if rest and not rest.startswith("(") else "none"
    return "form" if any(form in text for form in FORMS) else "other"


def repaired(cases: Path, names: list[str]) -> Iterator[Case]:
    """Yield every case that breaks, after `compile-lint --fix`."""
    truth = json.loads((cases / "truth.json").read_text(encoding="utf-8"))["cases"]
    with tempfile.TemporaryDirectory(prefix="fixes-") as place:
        folder = Path(place)
        chosen = [n for n, c in truth.items() if c["verdict"] != "captured" and _wanted(n, names)]
        for name in chosen:
            shutil.copy(cases / name, folder / name)
        command = [sys.executable, "-m", "compile_lint.linter", "--fix", "--show-fixes"]
        command += ["--entry", "all", "--isolated", "--output-format", "concise", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
        print(done.stderr, file=sys.stderr)
        texts = {name: (folder / name).read_text(encoding="utf-8") for name in chosen}
        snippets = [Snippet(text, name=name) for name, text in texts.items()]
        for measured in measure(snippets):
            name = measured.snippet.name
            changed = texts[name] != (cases / name).read_text(encoding="utf-8")
            equal = subprocess.run(
                [sys.executable, "-c", EQUAL, str(cases / name), str(folder / name)],
                capture_output=True,
                text=True,
                check=False,
            )
            modes = measured.modes
            yield Case(
                name,
                group_of(truth[name]["fix"] or ""),
                truth[name]["fix"] or "",
                changed,
                bool(modes) and modes["fullgraph"].captured and modes["fullgraph"].matches,
                bool(modes) and modes["default"].captured and modes["default"].matches,
                equal.returncode == 0,
                changed and "mended" in equal.stdout,
                (measured.crash or (equal.stderr or "").strip().split("\n")[-1])[:120],
            )


def _wanted(name: str, names: list[str]) -> bool:
    return not names or any(name.startswith(prefix) for prefix in names)


def table(cases: list[Case]) -> str:
    """Return the cases and the shares as Markdown."""
    lines = ["| case | remedy named | rewritten | fullgraph | default | equal |"]
    lines.append("|---|---|---|---|---|---|")
    for case in cases:
        marks = (case.changed, case.captured, case.default_clean, case.equal)
        words = " | ".join("yes" if mark else "no" for mark in marks)
        words += " (plain-Python meaning)" if case.mended and case.equal else ""
        lines.append(f"| {case.name.removesuffix('.py')} | {case.remedy} | {words} |")
    lines.append("")
    for group, words in (
        ("form", "where, cond or while_loop named"),
        ("other", "another remedy named"),
        ("none", "no remedy named"),
    ):
        mine = [case for case in cases if case.group == group]
        fixed = sum(case.fixed for case in mine)
        mended = sum(case.fixed and case.mended for case in mine)
        apart = f", {mended} of them mended: as written they raise in eager" if mended else ""
        lines.append(f"- {words}: {fixed} of {len(mine)} fixed and captured{apart}")
    lines.append(f"- wrongly rewritten: {sum(case.wrong for case in cases)}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Repair, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=Path, default=ROOT / "fixtures" / "cases")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    cases = []
    for case in repaired(options.cases, options.only):
        print(f"{case.name}: {'fixed' if case.fixed else 'not fixed'} {case.note}", flush=True)
        cases.append(case)
    text = table(cases)
    print(text)
    if options.markdown:
        options.markdown.write_text("# What --fix makes of reported code\n\n" + text)


if __name__ == "__main__":
    main()
