"""Entries on disk: bytes under a kind and a key, shared by all processes of a user.

Layout: `<directory>/compiler-1/<kind>/<first two digits of the key>/<key>`. A file is a header
(magic, length, SHA-256) and the data. The digest covers kind, key, length and data: a file that
was cut, changed or renamed is recognised, removed and counted, and its entry computed anew.

- Writing goes to a temporary file and then `os.replace`: nobody reads half an entry, and of two
  writers the last one wins with equal content. There is no fsync: what a power cut tears, the
  digest tells.
- Nothing is locked. A file's mtime is the time of its last use; whoever wrote enough looks at the
  folder and unlinks the least recently used files. A reader that has one of them open keeps it.
- A disk that is full or can't be written costs speed and one line in the log, never a compile.

Why not a library: `diskcache` keeps an SQLite index, so writers queue for one lock (which network
file systems, where home folders often live, don't keep), it unpickles any value whose row says so,
and it has no digests; values as large as a cubin lie in files beside the index anyway. `fasteners`
and `filelock` give locks, and atomic renames leave nothing to lock. This file imports only the
standard library (and platformdirs) so that it can be tested, and used, without loading torch.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import struct
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

KINDS = ("program", "binary", "autotune")
DEFAULT_LIMIT = 2 * 1024**3

logger = logging.getLogger("compile_lint.cache")

_FOLDER = "compiler-1"
_MAGIC = b"CLCACHE1"
_HEADER = struct.Struct("<8sQ32s")
_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", re.ASCII | re.IGNORECASE)
_TEMP = ".tmp-"
# A temporary file this old belongs to a process that died.
_STALE_SECONDS = 3600
# Eviction goes this far below the limit, so that it isn't due again at the next write.
_GOAL = 0.8
# A process looks at the folder again when it wrote this share of the limit: others write too.
_LOOK_EVERY = 16


def default_directory() -> str:
    """COMPILE_LINT_CACHE_DIR, else the user's cache folder of this platform."""
    chosen = os.environ.get("COMPILE_LINT_CACHE_DIR")
    if chosen:
        return chosen
    from platformdirs import user_cache_dir

    return user_cache_dir("compile-lint", appauthor=False)


def parse_size(text: str) -> int | None:
    """Bytes meant by "2147483648", "500MB" or "2 GiB" (powers of 1024); None for other text."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    power = " kmgt".index(match[2].lower() or " ")
    return int(float(match[1]) * 1024**power)


def default_limit() -> int:
    """COMPILE_LINT_CACHE_SIZE in bytes, else 2 GiB. 0 keeps nothing on disk."""
    return _limit_of(os.environ.get("COMPILE_LINT_CACHE_SIZE") or str(DEFAULT_LIMIT))


@lru_cache
def _limit_of(text: str) -> int:
    size = parse_size(text)
    if size is None:
        logger.warning("COMPILE_LINT_CACHE_SIZE=%r isn't a size: 2 GiB it is", text)
        return DEFAULT_LIMIT
    return size


def check_name(kind: object, key: object) -> None:
    """Refuse a kind that doesn't exist and a key that isn't 64 lower-case hexadecimal digits.

    Raises:
        ValueError: One of the two is wrong.
    """
    if kind not in KINDS:
        raise ValueError(f"no entries of kind {kind!r}: choose from {', '.join(KINDS)}")
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:
        raise ValueError(f"{key!r} isn't a key: a SHA-256 in lower-case hexadecimal is")


class Counts:
    """Named counts that any thread may raise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, name: str) -> None:
        """Count one more."""
        with self._lock:
            self._counts[name] += 1

    def read(self) -> dict[str, int]:
        """All counts that aren't zero."""
        with self._lock:
            return dict(self._counts)

    def reset(self) -> None:
        """Start from zero."""
        with self._lock:
            self._counts.clear()


class DiskCache:
    """Bytes under (kind, key) in a folder of limited size.

    Args:
        directory: Where to keep the folder; `default_directory()` if None.
        limit: Bytes that the files may take; `default_limit()` if None. Each writing process may
            overshoot it by a sixteenth before it looks again.
        counts: Where to count "corrupt", "evicted", "stores" and "failed"; its own if None.

    Every method may be called from many threads and processes; none raises OSError.
    """

    def __init__(
        self,
        directory: str | None = None,
        limit: int | None = None,
        counts: Counts | None = None,
    ) -> None:
        self.directory = os.path.join(directory or default_directory(), _FOLDER)
        self.limit = default_limit() if limit is None else limit
        self.counts = Counts() if counts is None else counts
        self._lock = threading.Lock()
        self._known: int | None = None  # bytes in the folder when last looked at
        self._written = 0  # bytes written since
        self._said: set[str] = set()

    def get(self, kind: str, key: str) -> bytes | None:
        """The entry's data; None if there is none or it was damaged (and is now removed).

        Raises:
            ValueError: `kind` or `key` isn't one.
        """
        path = self._path(kind, key)
        try:
            with open(path, "rb") as file:
                raw = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._say_once("read", error)
            return None
        data = _unframe(kind, key, raw)
        if data is None:
            self.counts.add("corrupt")
            logger.warning("%s is damaged: removed", path)
            with suppress(OSError):
                os.unlink(path)
            return None
        with suppress(OSError):
            os.utime(path)
        return data

    def put(self, kind: str, key: str, data: bytes) -> bool:
        """Keep `data`, in place of what was there. False if it's too large or can't be written.

        Raises:
            ValueError: `kind` or `key` isn't one.
        """
        path = self._path(kind, key)
        raw = _frame(kind, key, data)
        if len(raw) > self.limit:
            return False
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            _write(path, raw)
        except OSError as error:
            self.counts.add("failed")
            self._say_once("write", error)
            return False
        self.counts.add("stores")
        with self._lock:
            self._written += len(raw)
            due = (
                self._known is None
                or self._known + self._written > self.limit
                or self._written > self.limit // _LOOK_EVERY
            )
        if due:
            self._evict()
        return True

    def remove(self, kind: str, key: str) -> None:
        """Forget one entry, if it's there.

        Raises:
            ValueError: `kind` or `key` isn't one.
        """
        with suppress(OSError):
            os.unlink(self._path(kind, key))

    def clear(self) -> None:
        """Remove every entry. Folders, and files that aren't ours, stay."""
        old = time.time() - _STALE_SECONDS
        for path, _, used in self._files():
            if _is_temporary(path) and used > old:  # another process is about to rename it
                continue
            with suppress(OSError):
                os.unlink(path)
        with self._lock:
            self._known, self._written = None, 0

    def size(self) -> int:
        """Bytes that the entries take now, headers included."""
        return sum(size for _, size, _ in self._files())

    def _path(self, kind: str, key: str) -> str:
        check_name(kind, key)
        return os.path.join(self.directory, kind, key[:2], key)

    def _files(self) -> Iterator[tuple[str, int, float]]:
        """Path, size and time of last use of every file of ours, temporary ones included."""
        for kind in KINDS:
            for shard in _entries(os.path.join(self.directory, kind)):
                for entry in _entries(shard.path):
                    if not (entry.name.startswith(_TEMP) or _KEY.fullmatch(entry.name)):
                        continue
                    try:
                        state = entry.stat(follow_symlinks=False)
                    except OSError:  # another process removed it
                        continue
                    yield entry.path, state.st_size, state.st_mtime

    def _evict(self) -> None:
        """Look at the folder, and unlink the least recently used files if it's over the limit."""
        old = time.time() - _STALE_SECONDS
        total = 0
        files: list[tuple[float, int, str]] = []
        for path, size, used in self._files():
            if _is_temporary(path):
                if used < old:
                    with suppress(OSError):
                        os.unlink(path)
                continue
            total += size
            files.append((used, size, path))
        if total > self.limit:
            files.sort()
            for _, size, path in files[:-1]:  # what was just written stays
                if total <= self.limit * _GOAL:
                    break
                total -= size  # gone, whoever removed it
                try:
                    os.unlink(path)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    total += size
                    self._say_once("evict", error)
                    continue
                self.counts.add("evicted")
        with self._lock:
            self._known, self._written = total, 0

    def _say_once(self, doing: str, error: OSError) -> None:
        with self._lock:
            if doing in self._said:
                return
            self._said.add(doing)
        logger.warning("can't %s the cache in %s: %s", doing, self.directory, error)


def _digest(kind: str, key: str, data: bytes) -> bytes:
    digest = hashlib.sha256(f"{kind}/{key}/{len(data)}\0".encode())
    digest.update(data)
    return digest.digest()


def _frame(kind: str, key: str, data: bytes) -> bytes:
    return _HEADER.pack(_MAGIC, len(data), _digest(kind, key, data)) + data


def _unframe(kind: str, key: str, raw: bytes) -> bytes | None:
    """The data of a file's content, or None if a byte of it is wrong."""
    if len(raw) < _HEADER.size:
        return None
    magic, length, digest = _HEADER.unpack_from(raw)
    data = raw[_HEADER.size :]
    if magic != _MAGIC or length != len(data) or digest != _digest(kind, key, data):
        return None
    return data


def _write(path: str, raw: bytes) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=_TEMP, dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _is_temporary(path: str) -> bool:
    return os.path.basename(path).startswith(_TEMP)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What a folder holds; nothing for one that isn't there or can't be read."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []
