"""Which files a run looks at: one pass over the folders with `os.scandir`."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from ..rules.base.valueclass import valueclass
from . import ignore
from .config import Settings, SettingsFinder
from .model import Diagnostic
from .patterns import Patterns, compile_patterns
from .source import reason

SUFFIXES = (".py", ".pyi", ".ipynb")


@valueclass
class Target:
    """A file to lint.

    path      absolute, the identity of the file everywhere inside
    shown     as reports name it: what the user wrote, with "/" between folders
    size, mtime_ns  as found on the way, so that the cache needn't ask again
    explicit  named by the user, not found in a folder
    """

    path: str
    shown: str
    settings: Settings
    size: int
    mtime_ns: int
    explicit: bool = False


@valueclass
class Discovery:
    """The files of a run in order of their shown paths, and what stood in the way."""

    targets: tuple[Target, ...]
    diagnostics: tuple[Diagnostic, ...]


def discover(paths: Sequence[str], finder: SettingsFinder) -> Discovery:
    """Return the files under the paths that the user named. Raises ConfigError.

    Folders are walked without following links to folders, so loops can't occur. Explicitly named
    files are taken whatever they are called, and though excluded unless `force_exclude` is set.
    """
    walk = _Walk(finder)
    for path in paths:
        walk.add(path)
    targets = sorted(walk.targets.values(), key=lambda target: target.shown)
    return Discovery(tuple(targets), tuple(walk.diagnostics))


class _Walk:
    def __init__(self, finder: SettingsFinder) -> None:
        self.finder = finder
        self.targets: dict[str, Target] = {}
        self.diagnostics: list[Diagnostic] = []

    def add(self, named: str) -> None:
        """Take one path of the command line."""
        path = os.path.abspath(named)
        try:
            status = os.stat(path)
        except (OSError, ValueError) as error:
            self._fail(_shown(named), error)
            return
        if stat.S_ISDIR(status.st_mode):
            # An excluded folder that is named is walked, unless exclusion is forced.
            settings = self.finder.for_folder(path, start_of(path))
            if settings.force_exclude and is_excluded(path, settings):
                return
            rules = ignore.above(path) if settings.respect_gitignore else None
            prefix = "" if named in (".", "./", "") else _shown(named).rstrip("/") + "/"
            self._walk(path, prefix, start_of(path), rules)
        elif stat.S_ISREG(status.st_mode):
            settings = self.finder.for_folder(os.path.dirname(path), start_of(path))
            if not (settings.force_exclude and is_excluded(path, settings)):
                self._take(path, _shown(named), settings, status, True)
        else:
            self._fail(_shown(named), OSError("not a regular file"))

    def _walk(self, folder: str, prefix: str, start: str, rules: ignore.GitIgnore | None) -> None:
        stack = [(folder, prefix, rules)]
        while stack:
            folder, prefix, rules = stack.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = list(listing)
            except OSError as error:
                self._fail(prefix.rstrip("/") or ".", error)
                continue
            settings = self.finder.for_folder(folder, start)
            if not settings.respect_gitignore:
                rules = None
            for entry in entries:
                name = entry.name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if not _skips_folder(entry, settings, rules):
                            inner = rules
                            if settings.respect_gitignore:
                                inner = ignore.enter(entry.path, rules)
                            stack.append((entry.path, f"{prefix}{name}/", inner))
                    elif name.endswith(SUFFIXES):
                        self._file(entry, prefix + name, settings, rules)
                except OSError as error:
                    self._fail(prefix + name, error)

    def _file(
        self,
        entry: os.DirEntry[str],
        shown: str,
        settings: Settings,
        rules: ignore.GitIgnore | None,
    ) -> None:
        relative = relative_to(entry.path, settings.root)
        if exclusion(settings).cover(relative, entry.name):
            return
        if rules is not None and rules.ignores(entry.path, False):
            return
        # Editors mark open files with links called ".#name" that lead nowhere.
        if entry.is_symlink() and entry.name.startswith(".#"):
            return
        try:
            status = entry.stat()
        except FileNotFoundError:
            if not entry.is_symlink():
                return  # removed since it was listed
            raise OSError("broken symbolic link") from None
        if stat.S_ISREG(status.st_mode):
            self._take(entry.path, shown, settings, status, False)

    def _take(
        self, path: str, shown: str, settings: Settings, status: os.stat_result, explicit: bool
    ) -> None:
        if path not in self.targets:
            size, mtime = status.st_size, status.st_mtime_ns
            self.targets[path] = Target(path, shown, settings, size, mtime, explicit)

    def _fail(self, shown: str, error: Exception) -> None:
        if isinstance(error, FileNotFoundError):
            text = "no such file or directory"
        elif isinstance(error, OSError):
            text = reason(error)
        else:  # a path that holds a null byte
            text = str(error)
        self.diagnostics.append(Diagnostic(shown, None, text))


def _skips_folder(
    entry: os.DirEntry[str], settings: Settings, rules: ignore.GitIgnore | None
) -> bool:
    """Leave out what is excluded or ignored, and virtual environments whatever their name."""
    relative = relative_to(entry.path, settings.root)
    return (
        exclusion(settings).cover(relative, entry.name)
        or (rules is not None and rules.ignores(entry.path, True))
        or os.path.lexists(os.path.join(entry.path, "pyvenv.cfg"))
    )


def exclusion(settings: Settings) -> Patterns:
    """Return the patterns of what a walk leaves out."""
    return compile_patterns(settings.exclude + settings.extend_exclude)


def is_excluded(path: str, settings: Settings) -> bool:
    """Say whether an absolute path, or a folder that it lies in, is left out by patterns."""
    return exclusion(settings).cover_below(relative_to(path, settings.root))


def relative_to(path: str, root: str) -> str:
    """Return the posix path below a root; the absolute path when it lies elsewhere."""
    if path.startswith(root) and path[len(root) : len(root) + 1] in (os.sep, "/"):
        path = path[len(root) + 1 :]
    return path.replace(os.sep, "/") if os.sep != "/" else path


def start_of(path: str) -> str:
    """Return the root of a project that nothing else tells: the working directory, if above.

    Else a folder is its own, and a file's is the folder that holds its outermost package: files
    of one package, named one by one, are one project.
    """
    current = os.getcwd()
    if path == current or path.startswith(current.rstrip(os.sep) + os.sep):
        return current
    if os.path.isdir(path):
        return path
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


def _shown(named: str) -> str:
    return named.replace(os.sep, "/") if os.sep != "/" else named
