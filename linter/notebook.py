"""Jupyter notebooks as source files: all code cells one after the other, magics blanked."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from .model import Diagnostic, SourceFile
from .source import UnreadableSource, content_digest, normalise_newlines

# Cell magics whose body is Python of the notebook's own process.
_PYTHON_MAGICS = {"capture", "memit", "mprun", "prun", "time", "timeit", "lprun"}
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_LINE_MAGIC = re.compile(r"(\s*)(?:[%!?]|,|;|/(?=\w))")
_ASSIGNED_MAGIC = re.compile(r"(\s*)[\w.,\s\[\]'\"]+=\s*[%!](?!=)")
_HELP = re.compile(r"(\s*)[%\w.*\[\]]+\?{1,2}\s*(?:#.*)?$")


def read_notebook(path: str, data: bytes) -> tuple[SourceFile, tuple[Diagnostic, ...]]:
    """Return the notebook's code as one text whose `cells` map lines back to cells.

    Cells that don't parse are left blank and get a diagnostic each; notebooks in other languages
    than Python are empty. Raises UnreadableSource when the file isn't a notebook.
    """
    document = _load(data)
    lines: list[str] = []
    cells: list[tuple[int, int]] = []
    diagnostics: list[Diagnostic] = []
    for number, source in _code_cells(document):
        body, _ = normalise_newlines(source)
        cell_lines = body.split("\n")
        code, error = _python(cell_lines)
        if error is not None:
            message = f"cell {number}: {error.msg}"
            diagnostics.append(Diagnostic(path, error.lineno, message))
        cells.append((len(lines) + 1, number))
        lines += code
    text = "\n".join(lines) + "\n" if lines else ""
    source_file = SourceFile(path, text, "utf-8", False, "\n", content_digest(data), tuple(cells))
    return source_file, tuple(diagnostics)


def _load(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UnreadableSource("notebook is not valid UTF-8") from error
    except json.JSONDecodeError as error:
        message = f"notebook is not valid JSON: {error.msg}"
        raise UnreadableSource(message, error.lineno) from error
    except RecursionError as error:
        raise UnreadableSource("notebook is nested too deeply") from error
    if not isinstance(document, dict) or not (
        isinstance(document.get("cells"), list) or isinstance(document.get("worksheets"), list)
    ):
        raise UnreadableSource("not a notebook: it has no list of cells")
    return document


def _code_cells(document: dict[str, Any]) -> list[tuple[int, str]]:
    """Return (1-based number among all cells, source) of every code cell."""
    if _language(document) not in ("python", ""):
        return []
    cells = document.get("cells")
    if not isinstance(cells, list):  # format 3 and older
        sheets = [sheet for sheet in document["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets for cell in sheet.get("cells") or ()]
    found = []
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input", ""))
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        if isinstance(source, str):
            found.append((number, source.replace("\0", "")))
    return found


def _language(document: dict[str, Any]) -> str:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(table)
        if isinstance(entry, dict) and isinstance(entry.get(key), str):
            name = entry[key].lower()
            return "python" if name in ("python", "ipython") else name
    return ""


def _python(lines: list[str]) -> tuple[list[str], SyntaxError | None]:
    """Return as many lines of plain Python, all blank with the error when there is none."""
    blank = [""] * len(lines)
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    magic = _CELL_MAGIC.match(lines[first])
    if magic:
        if magic[1] not in _PYTHON_MAGICS:
            return blank, None
        lines = [*lines[:first], "pass", *lines[first + 1 :]]
    # A line that starts with % may go on an expression, so magics are only looked for in cells
    # that aren't Python as they stand.
    if _syntax_error(lines) is None:
        return lines, None
    plain = [_without_magic(line) for line in lines]
    plain = _join_continued(lines, plain)
    error = _syntax_error(plain)
    return (plain, None) if error is None else (blank, error)


def _without_magic(line: str) -> str:
    for pattern in (_LINE_MAGIC, _ASSIGNED_MAGIC, _HELP):
        match = pattern.match(line)
        if match:
            return f"{match[1]}pass"
    return line


def _join_continued(lines: list[str], plain: list[str]) -> list[str]:
    """Blank the continuation lines of magics that end with a backslash."""
    result = list(plain)
    continued = False
    for i, line in enumerate(lines):
        if continued:
            result[i] = ""
        elif plain[i] is line:
            continue
        continued = line.rstrip().endswith("\\")
    return result


def _syntax_error(lines: list[str]) -> SyntaxError | None:
    try:
        ast.parse("\n".join(lines))
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(f"can't parse: {error}")
    return None
