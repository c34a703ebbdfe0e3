"""The version of compile-lint."""

from __future__ import annotations


def version() -> str:
    """Return the installed version, "0+unknown" when run from a tree that isn't installed."""
    from importlib import metadata

    try:
        return metadata.version("compile-lint")
    except metadata.PackageNotFoundError:
        return "0+unknown"
