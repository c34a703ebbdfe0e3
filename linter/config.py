"""Configuration: `[tool.compile-lint]` of pyproject.toml, or compile-lint.toml, nearest first.

Every linted file has the settings of the nearest configuration above it; options of the command
line override all of them. Unknown keys and bad values raise `ConfigError`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from difflib import get_close_matches
from typing import Any

from ..rules.base.finding import Severity
from ..rules.base.valueclass import valueclass
from .model import AnalysisOptions

OUTPUT_FORMATS = ("full", "concise", "json", "sarif", "github", "gitlab", "junit")
ENTRIES = ("explicit", "auto", "all")
DEFAULT_EXCLUDE = (
    ".bzr .direnv .eggs .git .git-rewrite .hg .ipynb_checkpoints .mypy_cache .nox .pants.d .pyenv "
    ".pytest_cache .pytype .ruff_cache .svn .tox .venv .vscode __pycache__ __pypackages__ _build "
    "buck-out dist node_modules site-packages venv"
)
_PROJECT_MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


class ConfigError(Exception):
    """A configuration that can't be used; says where and why in one line."""

    def __init__(self, message: str, path: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.line = line


@valueclass
class Settings:
    """All settings that hold for a file.

    root      folder that patterns, `src` and baselines are relative to
    config    path of the configuration file, "" when there is none
    inputs    `[tool.compile-lint.inputs]`: "package.module:qualified.name" to an expression, which
              a proof evaluates in that module for a list of argument tuples
    The rest are the keys of the configuration, with defaults filled in; `select` holds "ALL" for
    every rule, `target_torch` is "" when the environment decides, `jobs` 0 for all processors.
    """

    root: str
    config: str = ""
    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: Severity = Severity.INFO
    target_torch: str = ""
    entry: str = "auto"
    training: bool = False
    entry_points: tuple[str, ...] = ()
    src: tuple[str, ...] = (".", "src")
    follow: tuple[str, ...] = ()
    exclude: tuple[str, ...] = tuple(DEFAULT_EXCLUDE.split())
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    baseline: str = ""
    cache_dir: str = ""
    output_format: str = "full"
    jobs: int = 0
    inputs: Mapping[str, str] = field(default_factory=dict, hash=False)

    def analysis_options(self) -> AnalysisOptions:
        """Return what the engine needs to know."""
        places = (os.path.normpath(os.path.join(self.root, folder)) for folder in self.src)
        roots = tuple(dict.fromkeys(place for place in places if os.path.isdir(place)))
        target = self.target_torch or default_target()
        return AnalysisOptions(
            self.entry,  # type: ignore[arg-type]
            self.entry_points,
            roots,
            self.follow,
            target,
            self.training,
        )


def default_target() -> str:
    """Return the minor version of the torch of this environment, else the newest known one."""
    from ..rules import torch_facts

    installed = torch_facts.installed_torch()
    return parse_target(installed) if installed else torch_facts.known_versions()[-1]


def parse_target(value: str) -> str:
    """Return "major.minor" of a torch version. Raises ValueError."""
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:[.+].*)?", value.strip())
    if not match:
        raise ValueError(f"{value!r} isn't a torch version such as '2.13'")
    return f"{match[1]}.{match[2]}"


class SettingsFinder:
    """Finds the settings of files; asks the file system once per folder.

    config    use this file for everything instead of looking for one
    isolated  use no configuration file at all
    override  puts the options of the command line over what a file says
    """

    def __init__(
        self,
        config: str | None = None,
        isolated: bool = False,
        override: Callable[[Settings], Settings] = lambda settings: settings,
    ) -> None:
        self._override = override
        self._isolated = isolated
        self._by_folder: dict[str, Settings | None] = {}
        self._plain: dict[str, Settings] = {}
        self._fixed = None if config is None else override(load_file(os.path.abspath(config)))

    def for_folder(self, folder: str, start: str) -> Settings:
        """Return the settings that hold in an absolute folder. Raises ConfigError.

        `start` is the root of a project that neither a configuration nor a marker file tells:
        the folder that the user named.
        """
        if self._fixed is not None:
            return self._fixed
        return self._nearest(folder) or self._without_file(start)

    def _nearest(self, folder: str) -> Settings | None:
        if folder in self._by_folder:
            return self._by_folder[folder]
        path = None if self._isolated else config_in(folder)
        parent = os.path.dirname(folder)
        found = self._nearest(parent) if path is None and parent != folder else None
        if path is not None:
            found = self._override(load_file(path))
        elif (found is None or not found.config) and any(
            os.path.lexists(os.path.join(folder, marker)) for marker in _PROJECT_MARKERS
        ):
            found = self._without_file(folder)
        self._by_folder[folder] = found
        return found

    def _without_file(self, root: str) -> Settings:
        if root not in self._plain:
            self._plain[root] = self._override(Settings(root))
        return self._plain[root]


def config_in(folder: str) -> str | None:
    """Return the path of the configuration file that a folder itself holds."""
    own = os.path.join(folder, "compile-lint.toml")
    if os.path.isfile(own):
        return own
    shared = os.path.join(folder, "pyproject.toml")
    try:
        with open(shared, "rb") as file:
            mentioned = b"compile-lint" in file.read()
    except OSError:  # most folders hold none, and one that can't be read isn't ours to report
        return None
    return shared if mentioned and _table(read_toml(shared), shared) is not None else None


def load_file(path: str) -> Settings:
    """Return the settings of a configuration file. Raises ConfigError."""
    document = read_toml(path)
    table = _table(document, path)
    return from_table({} if table is None else table, path)


def from_table(table: Mapping[str, Any], path: str) -> Settings:
    """Return the settings that a TOML table states. Raises ConfigError."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ConfigError(f"unknown key {key!r}{hint}", path, _line_of(path, key))
        try:
            values[key.replace("-", "_")] = _KEYS[key](value)
        except ValueError as error:
            raise ConfigError(f"{key}: {error}", path, _line_of(path, key)) from error
    return Settings(os.path.dirname(path), path, **values)


def read_toml(path: str) -> dict[str, Any]:
    """Return what a TOML file holds. Raises ConfigError when it can't be read."""
    if sys.version_info >= (3, 11):  # many projects have no configuration
        import tomllib
    else:
        import tomli as tomllib  # pyright: ignore[reportMissingImports]
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"can't read: {reason.lower()}", path) from error
    except UnicodeDecodeError as error:
        raise ConfigError("not valid UTF-8", path) from error
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        message = str(error)[: place.start()] if place else str(error)
        line = int(place[1]) if place else None
        raise ConfigError(f"not valid TOML: {message}", path, line) from error


def _table(document: dict[str, Any], path: str) -> dict[str, Any] | None:
    """Return our table: of `[tool]` in a pyproject.toml, the whole of any other file."""
    table: Any = document
    if os.path.basename(path) == "pyproject.toml":
        tool = document.get("tool", {})
        table = tool.get("compile-lint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError("tool.compile-lint must be a table", path)
    return table


def _line_of(path: str, key: str) -> int | None:
    """Return the line that sets a key in our table, for messages; None when it can't be told."""
    inside = os.path.basename(path) != "pyproject.toml"
    pattern = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[.=]""")
    header = re.compile(rf"""\s*\[\s*(?:tool\.)?(?:["']?compile-lint["']?\.)?{re.escape(key)}\b""")
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if line.lstrip().startswith("["):
                inside = "compile-lint" in line or os.path.basename(path) != "pyproject.toml"
                if inside and header.match(line):
                    return number
            elif inside and pattern.match(line):
                return number
    return None


def _strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError("must be a list of strings")


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("must be a string")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("must be true or false")


def _jobs(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError("must be a whole number, 0 for all processors")


def one_of(value: Any, choices: tuple[str, ...]) -> str:
    """Return the value when it is one of the choices. Raises ValueError with a suggestion."""
    if value in choices:
        return value
    near = get_close_matches(str(value), choices, 1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; choose from {', '.join(choices)}"
    raise ValueError(f"unknown value {value!r}{hint}")


def parse_entry_point(value: str) -> str:
    """Return "package.module:qualified.name" unchanged. Raises ValueError."""
    if re.fullmatch(r"[^\W\d]\w*(\.\w+)*:[^\W\d]\w*(\.\w+)*", value):
        return value
    raise ValueError(f"{value!r} isn't of the form 'package.module:qualified.name'")


def _per_file_ignores(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ValueError("must be a table of pattern = [codes]")
    return tuple((pattern, _strings(codes)) for pattern, codes in value.items())


def _inputs(value: Any) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise ValueError('must be a table of "package.module:qualified.name" = "expression"')
    for key, expression in value.items():
        parse_entry_point(key)
        try:
            compile(_string(expression), key, "eval", dont_inherit=True)
        except SyntaxError as error:
            raise ValueError(f"{key}: not a Python expression: {expression!r}") from error
    return value


_KEYS: dict[str, Callable[[Any], Any]] = {
    "select": _strings,
    "ignore": _strings,
    "extend-select": _strings,
    "per-file-ignores": _per_file_ignores,
    "severity": lambda value: Severity(one_of(value, tuple(s.value for s in Severity))),
    "target-torch": lambda value: parse_target(_string(value)),
    "entry": lambda value: one_of(value, ENTRIES),
    "training": _boolean,
    "entry-points": lambda value: tuple(parse_entry_point(item) for item in _strings(value)),
    "src": _strings,
    "follow": _strings,
    "exclude": _strings,
    "extend-exclude": _strings,
    "force-exclude": _boolean,
    "respect-gitignore": _boolean,
    "baseline": _string,
    "cache-dir": _string,
    "output-format": lambda value: one_of(value, OUTPUT_FORMATS),
    "jobs": _jobs,
    "inputs": _inputs,
}
