"""The hash that contents are told by."""

from __future__ import annotations

try:
    # `hashlib` loads OpenSSL, which takes a run on one file longer than parsing it; the module
    # that it has this from is there in every CPython so far.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b"]
