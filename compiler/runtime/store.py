"""The process's view of the cache: memory in front of the disk, and the counts.

Everything that this process made or used stays in memory: a second lookup reads no file, an entry
survives a full disk or an eviction until the process ends, and `save_cache_artifacts` can write
all of it. That is a few kilobytes a graph and some tens of kilobytes a kernel.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from .cache import Counts, DiskCache, check_name, default_directory, default_limit

_TARGET = re.compile(r"[a-z]+(:[A-Za-z0-9_.\-]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Entry:
    """One cached value. `target` says which device it is for: "cuda:90", "cpu"."""

    kind: str
    key: str
    target: str
    data: bytes

    def __post_init__(self) -> None:
        check_name(self.kind, self.key)
        if not isinstance(self.target, str) or _TARGET.fullmatch(self.target) is None:
            raise ValueError(f"{self.target!r} isn't a target such as 'cuda:90' or 'cpu'")
        if not isinstance(self.data, bytes):
            raise TypeError(f"an entry holds bytes, not {type(self.data).__name__}")


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Counts since the process started or `clear_cache` was called.

    Attributes:
        hits: Lookups answered, from memory or from disk.
        misses: Lookups with no answer.
        stores: Entries written to disk.
        corrupt: Damaged entries found (removed, and computed anew).
        evicted: Entries removed to keep the folder within its limit.
        failed: Entries that couldn't be written; they live until the process ends.
    """

    hits: int = 0
    misses: int = 0
    stores: int = 0
    corrupt: int = 0
    evicted: int = 0
    failed: int = 0


class Store:
    """Memory before disk. The disk follows the environment's variables as they are at each call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = Counts()
        self._held: dict[tuple[str, str], Entry] = {}
        self._disks: dict[tuple[str, int], DiskCache] = {}

    def get(self, kind: str, key: str, target: str) -> bytes | None:
        """The data under (kind, key), made for `target`; None if there is none.

        Raises:
            ValueError: A kind, key or target that isn't one.
        """
        held = self._held.get((kind, key))
        data = held.data if held else self._disk().get(kind, key)
        self._counts.add("misses" if data is None else "hits")
        if data is not None and held is None:
            entry = Entry(kind, key, target, data)
            with self._lock:
                self._held[kind, key] = entry
        return data

    def put(self, kind: str, key: str, data: bytes, target: str) -> None:
        """Keep `data` in memory and, if that can be, on disk.

        Raises:
            ValueError: A kind, key or target that isn't one.
        """
        self.take([Entry(kind, key, target, data)])

    def take(self, entries: Iterable[Entry]) -> None:
        """Keep entries in memory and on disk, in place of those that are there."""
        disk = self._disk()
        for entry in entries:
            with self._lock:
                self._held[entry.kind, entry.key] = entry
            disk.put(entry.kind, entry.key, entry.data)

    def discard(self, kind: str, key: str) -> None:
        """Forget an entry whose bytes are whole but can't be used; counted as corrupt."""
        with self._lock:
            self._held.pop((kind, key), None)
        self._counts.add("corrupt")
        self._disk().remove(kind, key)

    def entries(self) -> tuple[Entry, ...]:
        """All that this process made, used or loaded, sorted by kind and key."""
        with self._lock:
            return tuple(self._held[name] for name in sorted(self._held))

    def info(self) -> CacheInfo:
        """The counts."""
        return CacheInfo(**self._counts.read())

    def clear(self) -> None:
        """Empty memory and disk, and count from zero."""
        self._disk().clear()
        with self._lock:
            self._held.clear()
        self._counts.reset()

    def _disk(self) -> DiskCache:
        place = default_directory(), default_limit()
        with self._lock:
            if place not in self._disks:
                self._disks[place] = DiskCache(*place, counts=self._counts)
            return self._disks[place]


STORE = Store()


def cache_info() -> CacheInfo:
    """How often the compiler's cache answered, in this process."""
    return STORE.info()


def clear_cache() -> None:
    """Empty the compiler's cache, on disk and in this process, and its counts."""
    STORE.clear()
