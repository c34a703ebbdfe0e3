"""Bundles: whole and fitting, or refused in one line with nothing kept."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile

import pytest
import torch
from compile_lint.compiler.errors import ArtifactError
from compile_lint.compiler.runtime import artifacts, store
from compile_lint.compiler.runtime.artifacts import load_cache_artifacts, save_cache_artifacts
from compile_lint.compiler.runtime.store import Entry, Store

SEAL = 71


def key(name):
    return hashlib.sha256(str(name).encode()).hexdigest()


ENTRIES = (
    Entry("autotune", key(3), "cpu", b'{"XBLOCK": 64}'),
    Entry("binary", key(2), "cpu", bytes(range(40))),
    Entry("program", key(1), "cpu", b"{}"),
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A machine with an empty cache; call it to start another process on it."""
    monkeypatch.setenv("COMPILE_LINT_CACHE_DIR", str(tmp_path / "cache"))

    def start():
        fresh = Store()
        monkeypatch.setattr(artifacts, "STORE", fresh)
        return fresh

    start()
    return start


def written(tmp_path):
    return [name for _, _, names in os.walk(tmp_path) for name in names]


def seal(body):
    """A bundle with this body and the digest that fits it: what a forger can always make."""
    return body + f"sha256:{hashlib.sha256(body).hexdigest()}".encode()


def forge(members, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
        archive.comment = bytes(SEAL)
    return seal(buffer.getvalue()[:-SEAL])


def take_apart(bundle):
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    return json.loads(members[0][1]), members[1:]


def refused(bundle, says="."):
    with pytest.raises(ArtifactError, match=says) as caught:
        load_cache_artifacts(bundle)
    assert "\n" not in str(caught.value)


def test_load_run_save_writes_the_whole_bundle_again(here):
    made = here()
    made.take(ENTRIES[:2])
    made.put("program", key(1), b"{}", "cpu")
    bundle = save_cache_artifacts()
    assert bundle == artifacts.pack(ENTRIES)
    made.clear()

    loaded = here()
    info = load_cache_artifacts(bundle)
    assert info == artifacts.ArtifactInfo(1, 1, 1, 14 + 40 + 2, ("cpu",))
    assert loaded.get("binary", key(2), "cpu") == bytes(range(40))
    assert save_cache_artifacts() == bundle

    disk_only = here()
    for entry in ENTRIES:
        assert disk_only.get(entry.kind, entry.key, entry.target) == entry.data
    assert save_cache_artifacts() == bundle
    disk_only.put("autotune", key(9), b"new", "cpu")
    assert len(save_cache_artifacts()) > len(bundle)


def test_a_bundle_of_nothing_loads(here):
    assert load_cache_artifacts(save_cache_artifacts()).size == 0


def test_a_bundle_is_a_plain_zip_without_pickles(here):
    manifest, members = take_apart(artifacts.pack(ENTRIES))
    assert manifest["made_with"]["torch"] == str(torch.__version__).split("+")[0]
    assert [name for name, _ in members] == [f"{e.kind}/{e.key}" for e in ENTRIES]
    assert [data for _, data in members] == [entry.data for entry in ENTRIES]
    for module in (artifacts, store):
        with open(module.__file__) as file:
            assert not re.search(r"import.*(pickle|marshal|shelve)|torch\.(load|save)", file.read())


def test_every_flipped_byte_is_refused(here, tmp_path):
    bundle = artifacts.pack(ENTRIES)
    for place in range(len(bundle)):
        for bit in (0x01, 0x20, 0x80):
            changed = bytearray(bundle)
            changed[place] ^= bit
            refused(bytes(changed))
    assert written(tmp_path) == []


def test_every_cut_and_every_tail_is_refused(here, tmp_path):
    bundle = artifacts.pack(ENTRIES)
    for length in range(len(bundle)):
        refused(bundle[:length])
        refused(bundle[length + 1 :])
    for tail in (b"\0", b"sha256:", bundle):
        refused(bundle + tail)
    assert written(tmp_path) == []


def test_a_flipped_byte_with_a_forged_digest_is_refused_or_changes_nothing(here, tmp_path):
    bundle = artifacts.pack(ENTRIES)
    accepted = 0
    for place in range(len(bundle) - SEAL):
        for bit in (0x01, 0x10, 0x80):
            changed = bytearray(bundle[:-SEAL])
            changed[place] ^= bit
            try:
                entries = artifacts.unpack(seal(bytes(changed)))
            except ArtifactError:
                continue
            # A date in the zip's own records, say, or the spaces of the manifest. The target is
            # the one word of a row that nothing else in the bundle fixes.
            accepted += 1
            same = [(entry.kind, entry.key, entry.data) for entry in entries]
            assert same == [(entry.kind, entry.key, entry.data) for entry in ENTRIES]
    assert accepted < len(bundle)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("compile-lint", "0.0.1"),
        ("sources", "0" * 64),
        ("torch", "2.0.0"),
        ("triton", "2.0.0"),
        ("torch", None),
    ],
)
def test_other_versions_are_refused(here, tmp_path, name, version):
    manifest, members = take_apart(artifacts.pack(ENTRIES))
    manifest["made_with"][name] = version
    refused(forge([("manifest.json", json.dumps(manifest)), *members]), "made with")
    assert written(tmp_path) == []


def test_a_build_without_cuda_fits_one_with_it_and_two_cudas_do_not_mix(here, monkeypatch):
    ahead = artifacts.pack(ENTRIES)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    load_cache_artifacts(ahead)
    bundle = artifacts.pack(ENTRIES)
    monkeypatch.setattr(torch.version, "cuda", "12.6")
    if artifacts.made_with()["hip"] is None:
        refused(bundle, r"made with cuda 13\.0; this is cuda 12\.6")


def test_devices_must_be_here_or_be_asked_for(here, tmp_path, monkeypatch):
    bundle = artifacts.pack((*ENTRIES, Entry("binary", key(5), "cuda:90", b"cubin")))
    monkeypatch.setattr(artifacts, "local_targets", frozenset)
    refused(bundle, "is for cuda:90; this machine has no GPU")
    monkeypatch.setattr(artifacts, "local_targets", lambda: frozenset({"cuda:80"}))
    refused(bundle, "is for cuda:90; this machine has cuda:80")
    assert written(tmp_path) == []
    with pytest.raises(ArtifactError, match="cuda:90"):
        load_cache_artifacts(bundle, target="cuda:100")
    assert load_cache_artifacts(bundle, target="cuda:90").targets == ("cpu", "cuda:90")
    monkeypatch.setattr(artifacts, "local_targets", lambda: frozenset({"cuda:80", "cuda:90"}))
    assert load_cache_artifacts(bundle).binaries == 2


FORGERIES = {
    "no manifest": lambda m, e: e,
    "empty zip": lambda m, e: [],
    "manifest last": lambda m, e: [*e, ("manifest.json", json.dumps(m))],
    "manifest is a list": lambda m, e: [("manifest.json", "[]"), *e],
    "manifest is no JSON": lambda m, e: [("manifest.json", "{"), *e],
    "manifest is no text": lambda m, e: [("manifest.json", b"\xff\xfe\x00"), *e],
    "deep manifest": lambda m, e: [("manifest.json", "[" * 200_000), *e],
    "format": lambda m, e: [("manifest.json", json.dumps({**m, "format": 2})), *e],
    "no versions": lambda m, e: [("manifest.json", json.dumps({**m, "made_with": {}})), *e],
    "no list": lambda m, e: [("manifest.json", json.dumps({**m, "entries": {}})), *e],
    "extra member": lambda m, e: [("manifest.json", json.dumps(m)), *e, ("extra", b"")],
    "missing member": lambda m, e: [("manifest.json", json.dumps(m)), *e[:-1]],
    "order": lambda m, e: [("manifest.json", json.dumps(m)), *e[::-1]],
    "changed data": lambda m, e: [("manifest.json", json.dumps(m)), (e[0][0], b"x"), *e[1:]],
    "folder": lambda m, e: [("manifest.json", json.dumps(m)), *e, ("binary/", b"")],
}
ROWS = {
    "twice": lambda r: r.append(r[0]),
    "row is a list": lambda r: r.__setitem__(0, []),
    "no size": lambda r: r[0].pop("size"),
    "more": lambda r: r[0].update(path="/etc/passwd"),
    "size": lambda r: r[0].update(size=1),
    "size is true": lambda r: r[0].update(size=True),
    "digest": lambda r: r[0].update(sha256="0" * 64),
    "kind": lambda r: r[0].update(kind="pickle"),
    "path in the key": lambda r: r[0].update(key="../../../../tmp/x"),
    "absolute key": lambda r: r[0].update(key="/tmp/x"),
    "key is a number": lambda r: r[0].update(key=7),
    "target": lambda r: r[0].update(target="cuda:90\n"),
    "target is a list": lambda r: r[0].update(target=["cpu"]),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", [*FORGERIES, *ROWS])
def test_forged_bundles_are_refused_whole(here, tmp_path, name):
    manifest, members = take_apart(artifacts.pack(ENTRIES))
    if name in FORGERIES:
        forged = FORGERIES[name](manifest, members)
    else:
        ROWS[name](manifest["entries"])
        listed = manifest["entries"]
        names = [f"{r['kind']}/{r['key']}" if isinstance(r, dict) else "x" for r in listed]
        datas = [data for _, data in members] + [members[0][1]]
        forged = [("manifest.json", json.dumps(manifest)), *zip(names, datas)]
    refused(forge(forged))
    assert written(tmp_path) == []
    assert artifacts.STORE.entries() == ()


def test_zip_bombs_are_refused_unread(here, tmp_path):
    manifest, members = take_apart(artifacts.pack(ENTRIES))
    bomb = [("manifest.json", json.dumps(manifest)), *members, ("big", bytes(50 << 20))]
    bundle = forge(bomb, zipfile.ZIP_DEFLATED)
    assert len(bundle) < 1 << 20
    refused(bundle, "compressed")
    # a stored member that claims to be larger than the bundle
    plain = artifacts.pack(ENTRIES)
    size = (40).to_bytes(4, "little") * 2
    huge = (1 << 30).to_bytes(4, "little") * 2
    assert plain.count(size) == 2
    refused(seal(plain[:-SEAL].replace(size, huge)), "larger")
    assert written(tmp_path) == []


@pytest.mark.parametrize("data", [b"", b"PK", bytes(1000), None, "text", bytearray(b"x" * 100)])
def test_what_is_no_bundle_is_refused(here, data):
    refused(data)


def test_another_process_starts_from_a_bundle(here, tmp_path):
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(artifacts.pack(ENTRIES))
    code = (
        "import sys\n"
        "from compile_lint.compiler.runtime.artifacts import *\n"
        "from compile_lint.compiler.runtime.store import cache_info\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "load_cache_artifacts(data)\n"
        "assert save_cache_artifacts() == data and cache_info().stores == 3\n"
    )
    environment = {**os.environ, "COMPILE_LINT_CACHE_DIR": str(tmp_path / "elsewhere")}
    subprocess.run([sys.executable, "-c", code, str(bundle)], check=True, env=environment)
