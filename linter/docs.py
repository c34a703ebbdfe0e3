"""Reading rule docs, which stand under fixed Markdown headings, and writing them as pages.

python -m compile_lint.linter.docs [FOLDER]   writes docs/rules anew.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from .catalog import RuleInfo, catalog

FAMILIES = {
    "0": "Suppression comments",
    "1": "Branches on tensor data",
    "2": "Loops over tensors",
    "3": "Calls that can't be captured",
    "4": "Values that escape from tensors",
    "5": "Side effects",
    "6": "Recompilation",
    "7": "Use of torch.compile and control-flow operators",
}


def sections(docs: str) -> dict[str, str]:
    """Return the text under each heading, whatever its level."""
    found: dict[str, str] = {}
    parts = re.split(r"^#{1,4}\s+(.+?)\s*#*$", docs, flags=re.MULTILINE)
    for heading, body in zip(parts[1::2], parts[2::2]):
        found[heading] = body.strip()
    return found


def advice(code: str) -> str:
    """Return the first sentence of a rule's Fix heading, "" when there is none."""
    info = catalog().get(code)
    if info is None:
        return ""
    text = sections(info.docs).get("Fix", "")
    paragraph = " ".join(text.split("\n\n")[0].split("```")[0].split())
    sentence = re.match(r".+?[.!?:](?=\s|$)", paragraph)
    return (sentence.group() if sentence else paragraph).rstrip(":")


def pages() -> Iterator[tuple[str, str]]:
    """Yield (file name, Markdown) for an index and a page for each rule."""
    from . import explain  # with the whole command line: only where pages are written

    yield "index.md", _index(list(catalog().values()))
    for info in catalog().values():
        yield f"{info.code}.md", explain.page(info)


def _index(rules: list[RuleInfo]) -> str:
    lines = ["# Rules", "", "Written by `python -m compile_lint.linter.docs`.", ""]
    for digit, title in FAMILIES.items():
        lines += [f"## CL{digit}xx · {title}", "", "| code | name | severity | what it finds |"]
        lines.append("|---|---|---|---|")
        lines += [
            f"| [{r.code}]({r.code}.md) | {r.name} | {r.severity.value} | {_cell(r.summary)} |"
            for r in rules
            if r.code[2] == digit
        ]
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: list[str]) -> None:
    """Write the pages into a folder; pages of rules that are gone are removed."""
    folder = Path(arguments[0] if arguments else "docs/rules")
    folder.mkdir(parents=True, exist_ok=True)
    written = dict(pages())
    for old in folder.glob("*.md"):
        if old.name not in written:
            old.unlink()
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
