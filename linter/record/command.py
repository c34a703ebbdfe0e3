"""`compile-lint record -- COMMAND…`: run a command and keep what the regions were called with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..atomic import replace_file
from ..cli import fail
from ..config import SettingsFinder
from ..discover import discover
from ..run import Request, lint

VERSION = 1
_SITE = """import importlib.util, json, os, sys
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != _here]
_self = sys.modules.pop("sitecustomize", None)
if importlib.util.find_spec("sitecustomize"):
    import sitecustomize
elif _self is not None:
    sys.modules["sitecustomize"] = _self
_spec = importlib.util.spec_from_file_location("_compile_lint_recorder", _here + "/recorder.py")
_recorder = importlib.util.module_from_spec(_spec)
sys.modules["_compile_lint_recorder"] = _recorder
_spec.loader.exec_module(_recorder)
with open(_here + "/wanted.json", encoding="utf-8") as _file:
    _recorder.start(json.load(_file), _here + "/seen")
"""


def record(paths: Sequence[str], command: Sequence[str], output: str, entry: str | None) -> int:
    """Run the command with recording on, write the file, and return the command's exit status."""
    wanted = _wanted(paths, entry)
    if not wanted:
        return fail("nothing is compiled in these files: there is nothing to record")
    with tempfile.TemporaryDirectory(prefix="compile-lint-record-") as folder:
        place = Path(folder)
        (place / "seen").mkdir()
        (place / "wanted.json").write_text(json.dumps(wanted), encoding="utf-8")
        (place / "sitecustomize.py").write_text(_SITE, encoding="utf-8")
        shutil.copy(Path(__file__).with_name("recorder.py"), place / "recorder.py")
        before = os.environ.get("PYTHONPATH")
        search = folder + (os.pathsep + before if before else "")
        try:
            done = subprocess.run(list(command), env={**os.environ, "PYTHONPATH": search})
        except OSError as error:
            return fail(f"can't run {command[0]}: {error.strerror}")
        seen = [json.loads(part.read_text(encoding="utf-8")) for part in place.glob("seen/*.json")]
    calls = _merged(seen)
    text = json.dumps({"version": VERSION, "calls": calls}, indent=1, sort_keys=True) + "\n"
    replace_file(output, text.encode())
    count = sum(map(len, calls.values()))
    names = sum(map(len, wanted.values()))
    click.echo(f"Recorded {count} calls of {len(calls)} of {names} regions in {output}", err=True)
    return done.returncode


def _wanted(paths: Sequence[str], entry: str | None) -> dict[str, list[str]]:
    """Return the functions that regions reach, by real path of their file."""
    finder = SettingsFinder(
        override=lambda settings: replace(settings, entry=entry) if entry else settings
    )
    found = discover(tuple(paths) or (".",), finder)
    if not found.targets:
        return {}
    request = Request(found.targets[0].settings, use_cache=False, regions=True)
    wanted: dict[str, dict[str, None]] = {}
    for region in lint(found.targets, (), request).outcome.regions:
        for path, _, name in region.functions:
            if "<" not in name:
                wanted.setdefault(os.path.realpath(path), {})[name] = None
    return {path: list(names) for path, names in wanted.items()}


def _merged(parts: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    merged: dict[str, dict[str, Any]] = {}
    for part in parts:
        for key, calls in part.items():
            for call in calls:
                merged.setdefault(key, {})[json.dumps(call, sort_keys=True)] = call
    return {key: list(calls.values()) for key, calls in sorted(merged.items())}
