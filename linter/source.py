"""Reading source files: bytes on disk → `SourceFile`, or the reason why not."""

from __future__ import annotations

import ast
import io
import os
import stat
import tokenize
import warnings

from .digest import blake2b
from .model import Diagnostic, SourceFile

_BOM = b"\xef\xbb\xbf"


class UnreadableSource(Exception):
    """A file that can't be decoded as Python source; `line` is None when no line is to blame."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def content_digest(data: bytes) -> str:
    """Return the hex content hash that `SourceFile.digest` and dependencies carry."""
    return blake2b(data, digest_size=16).hexdigest()


def read_source(path: str) -> SourceFile:
    """Read one file, a notebook when it is called `*.ipynb`.

    Raises OSError and UnreadableSource.
    """
    return load_source(path, read_bytes(path))[0]


def load_source(path: str, content: bytes | str) -> tuple[SourceFile, tuple[Diagnostic, ...]]:
    """Return the source in the content of a file, which may be decoded already.

    A notebook's broken cells are left out with a diagnostic each. Raises UnreadableSource.
    """
    if path.endswith(".ipynb"):
        from .notebook import read_notebook

        data = content.encode("utf-8", "replace") if isinstance(content, str) else content
        return read_notebook(path, data)
    if isinstance(content, bytes):
        return decode(path, content), ()
    if "\0" in content:
        raise UnreadableSource("source contains null bytes")
    text, newline = normalise_newlines(content.removeprefix("\ufeff"))
    digest = content_digest(content.encode("utf-8", "surrogatepass"))
    return SourceFile(path, text, "utf-8", False, newline, digest), ()


def parse_source(source: SourceFile) -> ast.Module:
    """Parse a source file. Raises UnreadableSource with the line of a syntax error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are the user's affair
            return ast.parse(source.text)
    except SyntaxError as error:
        raise UnreadableSource(f"syntax error: {error.msg}", error.lineno) from error
    except (RecursionError, MemoryError) as error:
        raise UnreadableSource("nested too deeply to be parsed") from error
    except ValueError as error:
        raise UnreadableSource(str(error)) from error


def read_bytes(path: str) -> bytes:
    """Return a regular file's content. Raises OSError, also for FIFOs, sockets and devices.

    The type is checked before opening: opening a FIFO would wait for a writer.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise OSError("is a directory" if stat.S_ISDIR(mode) else "not a regular file")
    with open(path, "rb") as file:
        return file.read()


def reason(error: OSError) -> str:
    """Return an OSError in words, without errno and path."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def decode(path: str, data: bytes) -> SourceFile:
    """Decode Python source as Python does: BOM, then PEP 263 comment, then UTF-8.

    Raises UnreadableSource. Newlines become "\\n", so that lines agree with `ast`, which ends
    lines at \\n, \\r and \\r\\n only (form feeds and the like don't).
    """
    bom = data.startswith(_BOM)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        if "encoding problem" in str(error) or "unknown encoding" in str(error):
            raise UnreadableSource(str(error), 1) from error
        raise UnreadableSource(*_bad_byte(data, "utf-8")) from error
    if encoding == "utf-8-sig":
        encoding = "utf-8"
    body = data[len(_BOM) :] if bom else data
    nul = body.find(b"\0")
    if nul >= 0 and not encoding.startswith(("utf-16", "utf-32")):
        raise UnreadableSource("source contains null bytes", _line_at(body, nul))
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableSource(*_bad_byte(body, encoding)) from error
    except (LookupError, ValueError) as error:  # codecs that aren't text, such as "hex"
        raise UnreadableSource(f"can't decode as {encoding}: {error}", 1) from error
    text, newline = normalise_newlines(text)
    return SourceFile(path, text, encoding, bom, newline, content_digest(data))


def normalise_newlines(text: str) -> tuple[str, str]:
    """Return the text with "\\n" line ends, and the line end that the text mostly uses."""
    if "\r" not in text:
        return text, "\n"
    crlf = text.count("\r\n")
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    newline = max(counts, key=lambda end: counts[end])
    return text.replace("\r\n", "\n").replace("\r", "\n"), newline


def _bad_byte(data: bytes, encoding: str) -> tuple[str, int | None]:
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        line = _line_at(data, error.start)
        byte = data[error.start]
        hint = "" if encoding != "utf-8" else "; declare the file's encoding (PEP 263)"
        return f"not valid {encoding.upper()} (byte 0x{byte:02x}){hint}", line
    return f"not valid {encoding.upper()}", None


def _line_at(data: bytes, offset: int) -> int:
    before = data[:offset].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return before.count(b"\n") + 1
