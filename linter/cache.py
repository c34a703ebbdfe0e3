"""What earlier runs found, kept as JSON and trusted only while every file it read is unchanged.

Layout: `<cache dir>/<project>/<key>-<shard>.json`. The key covers everything but the files: our
own sources, the version of Python and the analysis options. Files fall into shards by the hash of
their path, so that a run over one file reads little and a run over thousands reads few. A shard is

    {"checksum": …, "states": [[path, digest, size, mtime_ns], …],
     "entries": {path: [[state, …], payload], …}}

where a state says what a file held when it was read (digest "" for a file that was looked for and
wasn't there), and an entry lists the states that its payload rests on, the file's own first. The
checksum is of the bytes after it: a damaged file counts as none.
Writing is atomic and runs may share the folder: the last one wins, nobody reads half a file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from functools import cache
from typing import Any

from .digest import blake2b
from .model import AnalysisOptions
from .source import content_digest, read_bytes

_SHARDS = 16
# A file written within this time before it was looked at may change again without a new mtime.
_RACY_NS = 2_000_000_000
_KEEP_SECONDS = 30 * 24 * 3600


def default_cache_dir() -> str:
    """Return COMPILE_LINT_CACHE_DIR, else the user's cache folder of this platform."""
    chosen = os.environ.get("COMPILE_LINT_CACHE_DIR")
    if chosen:
        return chosen
    from platformdirs import user_cache_dir

    return user_cache_dir("compile-lint", appauthor=False)


@cache
def own_digest() -> str:
    """Return a hash of compile-lint's own sources and tables, and of the Python that runs them."""
    digest = blake2b(f"{sys.version_info[:3]}".encode(), digest_size=16)
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for part in (os.path.dirname(os.path.abspath(__file__)), _rules_folder(package)):
        for folder, folders, names in os.walk(part):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(names):
                if name.endswith((".py", ".json")):
                    digest.update(name.encode())
                    with open(os.path.join(folder, name), "rb") as file:
                        digest.update(file.read())
    return digest.hexdigest()


def _rules_folder(package: str) -> str:
    from .. import rules

    return next(iter(rules.__path__), os.path.join(package, "rules"))


class FileStates:
    """What files hold now, asked of the file system at most once a run."""

    def __init__(self) -> None:
        self._stat: dict[str, tuple[int, int]] = {}
        self._digest: dict[str, str] = {}
        self.now_ns = time.time_ns()

    def know(self, path: str, size: int, mtime_ns: int) -> None:
        """Take over what a walk of the folders has seen."""
        self._stat[path] = (size, mtime_ns)

    def stat(self, path: str) -> tuple[int, int]:
        """Return (size, mtime_ns), (-1, 0) for a path where no file is."""
        known = self._stat.get(path)
        if known is None:
            try:
                status = os.stat(path)
                known = (status.st_size, status.st_mtime_ns)
            except (OSError, ValueError):
                known = (-1, 0)
            self._stat[path] = known
        return known

    def digest(self, path: str) -> str:
        """Return the content hash, "" for a path where no readable file is."""
        known = self._digest.get(path)
        if known is None:
            try:
                known = content_digest(read_bytes(path))
            except (OSError, ValueError):
                known = ""
            self._digest[path] = known
        return known

    def state(self, path: str, digest: str) -> list[Any]:
        """Return the row that records a file; its mtime is 0 when it can't be relied on."""
        size, mtime = self.stat(path)
        return [path, digest, size, 0 if mtime > self.now_ns - _RACY_NS else mtime]

    def holds(self, row: list[Any]) -> bool:
        """Say whether a recorded state is still true; refreshes the row's size and mtime."""
        path, digest, size, mtime = row
        now = self.stat(path)
        if digest == "":
            return now[0] < 0
        if now == (size, mtime):
            return True
        if now[0] != size or self.digest(path) != digest:
            return False
        row[2:] = self.state(path, digest)[2:]
        return True


class Cache:
    """The entries of one project under one set of options."""

    def __init__(
        self, folder: str, root: str, options: AnalysisOptions, states: FileStates
    ) -> None:
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in os.path.basename(root))
        self._folder = os.path.join(folder, f"{name or 'root'}-{_hash(root)[:16]}")
        self._key = _hash(own_digest(), repr(options))[:16]
        self._states = states
        self._shards: dict[int, _Shard] = {}

    def get(self, path: str) -> Any | None:
        """Return the payload of a file when it and all that it rests on are unchanged."""
        return self._shard(path).get(path)

    def put(
        self, path: str, digest: str, dependencies: Iterable[tuple[str, str]], payload: Any
    ) -> None:
        """Keep a payload that rests on the file's content and on the dependencies."""
        self._shard(path).put(path, [(path, digest), *dependencies], payload)

    def flush(self) -> None:
        """Write what is new. A folder that can't be written to costs speed, not the run."""
        changed = [shard for shard in self._shards.values() if shard.changed]
        if not changed:
            return
        try:
            os.makedirs(self._folder, exist_ok=True)
            for shard in changed:
                shard.write()
            self._forget_old()
        except OSError:
            return

    def _shard(self, path: str) -> _Shard:
        number = int(_hash(path)[:8], 16) % _SHARDS
        shard = self._shards.get(number)
        if shard is None:
            file = os.path.join(self._folder, f"{self._key}-{number:x}.json")
            shard = self._shards[number] = _Shard(file, self._states)
        return shard

    def _forget_old(self) -> None:
        """Remove what other versions and options left and nobody has used for a month."""
        limit = time.time() - _KEEP_SECONDS
        for name in os.listdir(self._folder):
            path = os.path.join(self._folder, name)
            if not name.startswith(self._key) and os.stat(path).st_mtime < limit:
                os.unlink(path)


class _Shard:
    """One file of the cache."""

    def __init__(self, path: str, files: FileStates) -> None:
        self._path = path
        self._files = files
        self._rows: list[list[Any]] = []
        self._entries: dict[str, list[Any]] = {}
        self.changed = False
        loaded = _load(path)
        if loaded is not None:
            self._rows, self._entries = loaded
        self._index: dict[tuple[str, str], int] = {}
        self._broken = self._check_all()

    def _check_all(self) -> set[int]:
        broken = set()
        for number, row in enumerate(self._rows):
            before = row[2:]
            if not self._files.holds(row):
                broken.add(number)
            elif row[2:] != before:
                self.changed = True
            self._index[row[0], row[1]] = number
        return broken

    def get(self, path: str) -> Any | None:
        entry = self._entries.get(path)
        if entry is None or not self._broken.isdisjoint(entry[0]):
            return None
        return entry[1]

    def put(self, path: str, rests_on: list[tuple[str, str]], payload: Any) -> None:
        numbers = []
        for key in dict.fromkeys(rests_on):
            number = self._index.get(key)
            if number is None:
                number = self._index[key] = len(self._rows)
                self._rows.append(self._files.state(*key))
            self._broken.discard(number)
            numbers.append(number)
        self._entries[path] = [numbers, payload]
        self.changed = True

    def write(self) -> None:
        """Replace the file, without the states and entries that no longer hold."""
        entries = {
            path: entry
            for path, entry in self._entries.items()
            if self._broken.isdisjoint(entry[0])
        }
        renumber: dict[int, int] = {}
        for numbers, _ in entries.values():
            for number in numbers:
                renumber.setdefault(number, len(renumber))
        document = {
            "states": [self._rows[number] for number in renumber],
            "entries": {
                path: [[renumber[number] for number in numbers], payload]
                for path, (numbers, payload) in entries.items()
            },
        }
        import tempfile  # only when something is new: it imports much

        body = json.dumps(document, separators=(",", ":")).encode()[1:]
        handle, temporary = tempfile.mkstemp(".tmp", "pack-", os.path.dirname(self._path))
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_head(body) + body)
            os.replace(temporary, self._path)
        except BaseException:
            os.unlink(temporary)
            raise
        self.changed = False


def _head(body: bytes) -> bytes:
    """Return the start of a shard whose bytes go on with `body`."""
    return b'{"checksum":"%s",' % content_digest(body).encode()


def _load(path: str) -> tuple[list[list[Any]], dict[str, list[Any]]] | None:
    """Return the content of a shard, None when there is none or it is damaged."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    length = len(_head(b""))
    if data[:length] != _head(data[length:]):
        return None
    document = json.loads(data)
    return document["states"], document["entries"]


def _hash(*parts: str) -> str:
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=16).hexdigest()


def dependency_states(
    dependencies: Iterable[tuple[str, str]], states: FileStates
) -> dict[str, str] | None:
    """Return absolute path → digest of what an analysis read and looked for in vain.

    None when a file changed after it was read: then the result must not be kept.
    """
    found: dict[str, str] = {}
    for path, digest in dependencies:
        absolute = os.path.abspath(path)
        there = states.stat(absolute)[0] >= 0
        found[absolute] = states.digest(absolute) if there else ""
        if digest and digest != found[absolute]:
            return None
    return found
