"""Kernel sources as importable modules.

`@triton.jit` reads a function's text by `inspect.getsource`, so the text has to stand in a file.
Files are named by the hash of their text and live in a directory of this process alone, which is
removed at exit: nobody else can put code there, and nothing is left behind.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType

_PREFIX = "compile_lint_kernels_"
_lock = threading.RLock()
_directories: dict[int, Path] = {}
_modules: dict[str, ModuleType] = {}


def source_key(source: str) -> str:
    """The name under which a source is kept: equal texts have equal keys."""
    return hashlib.sha256(source.encode()).hexdigest()[:32]


def load_source(source: str) -> ModuleType:
    """Import `source` as a module of its own; the same text gives the same module.

    Raises:
        Exception: Whatever the text raises when it is imported.
    """
    key = source_key(source)
    with _lock:
        module = _modules.get(key)
        if module is None:
            module = _modules[key] = _import(_PREFIX + key, _write(key, source))
        return module


def _write(key: str, source: str) -> Path:
    path = _directory() / f"{key}.py"
    # Whole or not at all: a reader never meets a half-written file.
    half = path.with_suffix(".part")
    half.write_text(source, encoding="utf-8")
    half.replace(path)
    return path


def _import(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} can't be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickling of, and look-ups by, functions' modules
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _directory() -> Path:
    """This process's directory; a forked child gets one of its own, so that exits don't collide."""
    pid = os.getpid()
    if pid not in _directories:
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
        _directories[pid] = directory
        atexit.register(_remove, pid)
    return _directories[pid]


def _remove(pid: int) -> None:
    if pid == os.getpid():
        shutil.rmtree(_directories[pid], ignore_errors=True)
