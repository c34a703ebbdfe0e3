"""Replacing a file: readers and interrupted runs find the old one or the new one, whole."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile


def replace_file(place: str, data: bytes) -> None:
    """Put new content in place of a file, with the mode and owner it had. Raises OSError."""
    folder, name = os.path.split(os.path.abspath(place))
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(place):
            shutil.copymode(place, temporary)
            _copy_owner(place, temporary)
        os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _copy_owner(place: str, temporary: str) -> None:
    """Keep the owner where the system lets us; a file of our own is the normal case."""
    if hasattr(os, "chown"):
        before, now = os.stat(place), os.stat(temporary)
        if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
            with contextlib.suppress(PermissionError):
                os.chown(temporary, before.st_uid, before.st_gid)
