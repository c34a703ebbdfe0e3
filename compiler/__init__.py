"""The compiler: Dynamo captures, our backend writes Triton.

    from compile_lint.compiler import compile

    @compile
    def f(x): ...

Names are loaded at their first use: a process that only needs kernels as text imports no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import compile, kernels
    from .building import BuildReport, build
    from .capture.breaks import GraphBreak
    from .capture.compilation import Recompile
    from .errors import (
        ArtifactError,
        BuildError,
        CaptureError,
        CompileLintError,
        InterpreterError,
        LoweringError,
        UnknownOption,
        UnsupportedTarget,
        VerifyError,
    )
    from .explaining import Explanation, explain
    from .logs import set_logs
    from .runtime.artifacts import ArtifactInfo, load_cache_artifacts, save_cache_artifacts
    from .runtime.store import CacheInfo, cache_info, clear_cache

_HOME = {
    "compile": "api",
    "kernels": "api",
    "build": "building",
    "BuildReport": "building",
    "cache_info": "runtime.store",
    "clear_cache": "runtime.store",
    "CacheInfo": "runtime.store",
    "save_cache_artifacts": "runtime.artifacts",
    "load_cache_artifacts": "runtime.artifacts",
    "ArtifactInfo": "runtime.artifacts",
    "explain": "explaining",
    "Explanation": "explaining",
    "GraphBreak": "capture.breaks",
    "Recompile": "capture.compilation",
    "set_logs": "logs",
    "CompileLintError": "errors",
    "CaptureError": "errors",
    "UnsupportedTarget": "errors",
    "UnknownOption": "errors",
    "LoweringError": "errors",
    "VerifyError": "errors",
    "BuildError": "errors",
    "InterpreterError": "errors",
    "ArtifactError": "errors",
}

__all__ = [
    "compile",
    "build",
    "explain",
    "kernels",
    "set_logs",
    "cache_info",
    "clear_cache",
    "save_cache_artifacts",
    "load_cache_artifacts",
    "ArtifactInfo",
    "BuildReport",
    "CacheInfo",
    "Explanation",
    "GraphBreak",
    "Recompile",
    "CompileLintError",
    "CaptureError",
    "UnsupportedTarget",
    "UnknownOption",
    "LoweringError",
    "VerifyError",
    "BuildError",
    "InterpreterError",
    "ArtifactError",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
