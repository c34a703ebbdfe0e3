"""Files and statements that a log speaks of, here and now."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable
from functools import cache

from ..source import UnreadableSource, load_source, parse_source, read_bytes
from .model import Frame, Place, RunLog
from .statements import Lines, after, before, statement_lines

_LIBRARY = re.compile(r"[/\\](?:site-packages|dist-packages|lib[/\\]python3\.\d+)[/\\]")


def local_path(
    logged: str, folder: str, is_file: Callable[[str], bool] = os.path.isfile
) -> str | None:
    """Return the absolute path of the file that a log calls `logged`; None when it isn't here.

    A log of another machine is understood where its files have the same names below `folder`:
    "/home/ci/build/src/model.py" is "src/model.py" of a checkout.
    """
    path = os.path.normpath(os.path.join(folder, logged))
    if is_file(path):
        return path
    if logged.startswith("<") or _LIBRARY.search(logged):
        return None
    parts = [part for part in re.split(r"[/\\]", logged) if part]
    for start in range(1, len(parts)):
        path = os.path.join(folder, *parts[start:])
        if is_file(path):
            return path
    return None


def files_below(log: RunLog, folder: str) -> list[str]:
    """Return the files that a log names and that lie below a folder, relative to it, sorted."""
    frames = (frame for item in log.breaks for frame in item.frames)
    named = {frame.file for frame in frames}
    named.update(file for file, _ in log.lines)
    named.update(item.file for item in log.completed)
    paths = {local_path(file, folder) for file in named}
    below = [os.path.relpath(path, folder) for path in paths if path and _is_below(path, folder)]
    return sorted(below)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)


class Sources:
    """The linted files, by the names that a log gives them. Reads each file once.

    paths   absolute paths of the linted files
    folder  what names in the log are relative to
    """

    def __init__(self, paths: Iterable[str], folder: str) -> None:
        self._real = {os.path.realpath(path): path for path in paths}
        self._folder = folder
        self.find = cache(self._find)
        self._read = cache(self._parse)

    def _find(self, logged: str) -> str | None:
        """Return the path of the linted file that a log names, None when it is none of them."""
        path = local_path(logged, self._folder)
        return None if path is None else self._real.get(os.path.realpath(path))

    def place(self, path: str, line: int) -> Place:
        """Return the statement over a line; the bare line where there is none."""
        return Place(path, *self._read(path)[1].get(line, (line, line)))

    def before(self, path: str, line: int) -> set[Place]:
        """Return the statements that a function ran to come to this line."""
        return self._places(path, before(self._read(path)[0], line))

    def after(self, path: str, line: int, resumed: bool) -> set[Place]:
        """Return the statements that a function runs from this line to its end."""
        return self._places(path, after(self._read(path)[0], line, resumed))

    def changed(self, path: str, frame: Frame) -> bool:
        """Say whether the line of a frame isn't what it was when the log was written."""
        lines = self._read(path)[2]
        here = lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""
        return bool(frame.code) and frame.code != here

    def _places(self, path: str, spans: Iterable[Lines]) -> set[Place]:
        return {Place(path, *span) for span in spans}

    def _parse(self, path: str) -> tuple[ast.Module, dict[int, Lines], list[str]]:
        """Return tree, statements and lines; empty when the file can't be read: lint says so."""
        try:
            source, _ = load_source(path, read_bytes(path))
            tree = parse_source(source)
        except (OSError, UnreadableSource):
            return ast.Module([], []), {}, []
        return tree, statement_lines(tree), source.text.split("\n")
