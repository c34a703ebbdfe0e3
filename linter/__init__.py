"""How compile-lint looks: files → regions → facts → findings → reports and repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fix.in_memory import RewriteError, rewrite

__all__ = ["RewriteError", "rewrite"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # linting needs none of it
        from .fix import in_memory

        return getattr(in_memory, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
