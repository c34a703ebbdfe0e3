"""Reading rule docs, which stand under fixed Markdown headings."""

from __future__ import annotations

import re

from .catalog import catalog


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
