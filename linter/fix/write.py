"""Writing a repaired file: all of it or nothing, as it was written before."""

from __future__ import annotations

import os
import re
from difflib import SequenceMatcher

from ..atomic import replace_file
from ..model import SourceFile
from ..source import content_digest, read_bytes

_BOM = b"\xef\xbb\xbf"


class WriteError(Exception):
    """A file wasn't written; the old one is whole. The message is one line."""


def write(source: SourceFile, text: str) -> None:
    """Replace a file by its new text: same encoding, BOM, line ends and mode, through links.

    Raises WriteError when the file changed since it was read, can't be written, or can't hold the
    text in its encoding.
    """
    place = os.path.realpath(source.path)
    try:
        old = read_bytes(place)
        if content_digest(old) != source.digest:
            raise WriteError("changed while it was being fixed; not written")
        replace_file(place, encoded(source, old, text))
    except OSError as error:
        raise WriteError(f"can't write: {error.strerror or error}") from error


def encoded(source: SourceFile, old: bytes, text: str) -> bytes:
    """Return the bytes of the new text; lines that stay keep the line end they had."""
    body = old[len(_BOM) :] if source.bom else old
    before = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", body.decode(source.encoding))
    plain = [re.sub(r"\r\n?$", "\n", line) for line in before]
    after = re.findall(r"[^\n]*\n|[^\n]+$", text)
    lines: list[str] = []
    for tag, i, j, m, n in SequenceMatcher(None, plain, after, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += before[i:j]
        else:
            lines += [line.replace("\n", source.newline) for line in after[m:n]]
    try:
        data = "".join(lines).encode(source.encoding)
    except UnicodeEncodeError as error:
        raise WriteError(f"the fix can't be written as {source.encoding}") from error
    return (_BOM if source.bom else b"") + data
