"""Bundles of cache entries: built on one machine, carried to another.

A bundle is a zip file whose members are stored, not compressed, and never pickles:

    manifest.json          {"format": 1, "made_with": {versions}, "entries": [one for each member]}
    <kind>/<key>           the bytes of one entry, in the manifest's order
    (the zip's comment)    "sha256:" and the digest of every byte before it

An entry's row holds kind, key, target, size and SHA-256. `load_cache_artifacts` checks everything
before it keeps anything; names in the zip are compared with the rows and never used as paths.

The digests tell damage, not forgery: a program and a kernel are code, and whoever can write a
bundle can write its digests. Load only bundles from those whose code you would run.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import ArtifactError
from .store import STORE, Entry
from .versions import local_targets, own_digest, own_version, torch_release, triton_version

FORMAT = 1

_MANIFEST = "manifest.json"
_COMMENT = re.compile(rb"sha256:([0-9a-f]{64})")
_COMMENT_LENGTH = len("sha256:") + 64
_DATE = (1980, 1, 1, 0, 0, 0)  # equal entries make equal bundles
_ROW = ("kind", "key", "target", "size", "sha256")
# Programs that need no GPU fit every machine.
_ANYWHERE = frozenset({"cpu"})


@dataclass(frozen=True, slots=True)
class ArtifactInfo:
    """What a bundle held.

    Attributes:
        programs: Lowered graphs.
        binaries: Built kernels.
        autotunes: Chosen configurations.
        size: Bytes of all entries.
        targets: The devices that they are for, "cuda:90" or "cpu", sorted.
    """

    programs: int
    binaries: int
    autotunes: int
    size: int
    targets: tuple[str, ...]


def save_cache_artifacts() -> bytes:
    """Everything that this process compiled, took from the cache or loaded, as one bundle."""
    return pack(STORE.entries())


def load_cache_artifacts(data: bytes, *, target: str | None = None) -> ArtifactInfo:
    """Put a bundle's entries into this machine's cache, all of them or none.

    Args:
        data: What `save_cache_artifacts` returned.
        target: Take entries for this device too, though it isn't here: a machine without a GPU
            that builds for "cuda:90" goes on with what it built yesterday.

    Raises:
        ArtifactError: The bundle is damaged, or was made with other versions or for a device that
            this machine doesn't have. Nothing was kept.
    """
    entries = unpack(data)
    wanted = sorted({entry.target for entry in entries} - _ANYWHERE - {target})
    here = local_targets() if wanted else frozenset()
    for name in wanted:
        if name not in here:
            have = ", ".join(sorted(here)) or "no GPU"
            raise ArtifactError(f"the bundle is for {name}; this machine has {have}")
    STORE.take(entries)
    kinds = Counter(entry.kind for entry in entries)
    return ArtifactInfo(
        programs=kinds["program"],
        binaries=kinds["binary"],
        autotunes=kinds["autotune"],
        size=sum(len(entry.data) for entry in entries),
        targets=tuple(sorted({entry.target for entry in entries})),
    )


def pack(entries: tuple[Entry, ...]) -> bytes:
    """The bundle of these entries; the same bytes for the same entries and versions."""
    rows = [
        {
            "kind": entry.kind,
            "key": entry.key,
            "target": entry.target,
            "size": len(entry.data),
            "sha256": hashlib.sha256(entry.data).hexdigest(),
        }
        for entry in entries
    ]
    manifest = {"format": FORMAT, "made_with": made_with(), "entries": rows}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_MANIFEST, _DATE), json.dumps(manifest, indent=1))
        for entry in entries:
            archive.writestr(zipfile.ZipInfo(f"{entry.kind}/{entry.key}", _DATE), entry.data)
        archive.comment = b"sha256:" + b"0" * 64
    body = buffer.getvalue()[:-_COMMENT_LENGTH]
    return body + f"sha256:{hashlib.sha256(body).hexdigest()}".encode()


def unpack(data: bytes) -> tuple[Entry, ...]:
    """The entries of a bundle that is whole and was made with our versions, for whatever device.

    Raises:
        ArtifactError: It isn't.
    """
    if not isinstance(data, bytes):
        raise ArtifactError(f"a bundle is bytes, not {type(data).__name__}")
    comment = _COMMENT.fullmatch(data[-_COMMENT_LENGTH:])
    if comment is None:
        raise ArtifactError("not a bundle of cache artifacts, or cut short")
    if hashlib.sha256(data[:-_COMMENT_LENGTH]).hexdigest().encode() != comment[1]:
        raise ArtifactError("the bundle's bytes don't match its digest: damaged or changed")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read(archive, len(data))
    except ArtifactError:
        raise
    # zipfile and json raise many types for content that was made to break them.
    except Exception as error:
        raise ArtifactError(f"the bundle can't be read: {error}") from error


def made_with() -> dict[str, str | None]:
    """The versions that a bundle depends on."""
    return {
        "compile-lint": own_version(),
        "sources": own_digest(),
        "torch": torch_release(),
        "triton": triton_version(),
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
    }


def _read(archive: zipfile.ZipFile, length: int) -> tuple[Entry, ...]:
    members = archive.infolist()
    names = [member.filename for member in members]
    if not names or names[0] != _MANIFEST:
        raise ArtifactError("the bundle has no manifest")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ArtifactError("the bundle holds compressed members")
    if sum(member.file_size for member in members) > length:
        raise ArtifactError("the bundle's members are larger than the bundle")
    manifest = json.loads(archive.read(members[0]))
    _check_versions(manifest)
    rows = [_row(row) for row in manifest["entries"]]
    if names[1:] != [f"{row['kind']}/{row['key']}" for row in rows]:
        raise ArtifactError("the bundle's members aren't those that its manifest lists")
    if len(set(names)) != len(names):
        raise ArtifactError("the bundle holds an entry twice")
    return tuple(_entry(archive, member, row) for member, row in zip(members[1:], rows))


def _check_versions(manifest: Any) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ArtifactError(f"the bundle's format isn't {FORMAT}, which this version reads")
    theirs, ours = manifest.get("made_with"), made_with()
    if not isinstance(theirs, dict) or set(theirs) != set(ours):
        raise ArtifactError("the bundle doesn't say what it was made with")
    if not isinstance(manifest.get("entries"), list):
        raise ArtifactError("the bundle lists no entries")
    for name, version in ours.items():
        # A build for another device's target runs where torch itself has no CUDA or HIP.
        optional = name in ("cuda", "hip") and None in (version, theirs[name])
        if theirs[name] != version and not optional:
            what = "other compile-lint sources" if name == "sources" else f"{name} {theirs[name]}"
            have = "" if name == "sources" else f"; this is {name} {version}"
            raise ArtifactError(f"the bundle was made with {what}{have}")


def _row(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict) or set(row) != set(_ROW) or type(row["size"]) is not int:
        raise ArtifactError("the bundle's manifest has a row that describes no entry")
    return row


def _entry(archive: zipfile.ZipFile, member: zipfile.ZipInfo, row: dict[str, Any]) -> Entry:
    data = archive.read(member)
    if len(data) != row["size"] or hashlib.sha256(data).hexdigest() != row["sha256"]:
        raise ArtifactError(f"entry {member.filename} doesn't match its digest")
    try:
        return Entry(row["kind"], row["key"], row["target"], data)
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"the bundle's manifest names no entry: {error}") from error
