"""The cache on disk: whole entries or none, in a bounded folder, whatever others do to it."""

import hashlib
import importlib.util
import logging
import os
import subprocess
import sys
import textwrap
import threading

import pytest
from compile_lint.compiler.runtime import cache, store
from compile_lint.compiler.runtime.cache import DiskCache, parse_size
from compile_lint.compiler.runtime.store import CacheInfo, Store
from hypothesis import given, settings
from hypothesis import strategies as st


def key(name):
    return hashlib.sha256(str(name).encode()).hexdigest()


def files(disk):
    return [os.path.join(top, name) for top, _, names in os.walk(disk.directory) for name in names]


@pytest.fixture
def disk(tmp_path):
    return DiskCache(str(tmp_path), limit=1 << 20)


def test_what_was_put_is_got(disk):
    assert disk.get("program", key(1)) is None
    assert disk.put("program", key(1), b"text")
    assert disk.put("binary", key(1), b"")
    assert disk.get("program", key(1)) == b"text"
    assert disk.get("binary", key(1)) == b""
    assert disk.get("autotune", key(1)) is None
    disk.put("program", key(1), b"other")
    assert DiskCache(disk.directory[: -len("compiler-1")]).get("program", key(1)) == b"other"
    assert disk.size() == sum(map(os.path.getsize, files(disk)))
    disk.remove("program", key(1))
    disk.remove("program", key(1))
    assert disk.get("program", key(1)) is None
    disk.clear()
    assert disk.size() == 0


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("program", "../" + key(1)[3:]),
        ("program", key(1).upper()),
        ("program", key(1) + "\n"),
        ("program", key(1)[:-1]),
        ("program", None),
        ("..", key(1)),
        ("pickle", key(1)),
    ],
)
def test_names_that_are_not_names_are_refused(disk, kind, name):
    for call in (disk.get, disk.remove, lambda k, n: disk.put(k, n, b"")):
        with pytest.raises(ValueError, match=r"kind|key"):
            call(kind, name)


def test_every_flipped_byte_and_every_cut_is_noticed_removed_and_counted(disk):
    disk.put("binary", key(1), b"some bytes")
    (path,) = files(disk)
    with open(path, "rb") as file:
        whole = file.read()
    flips = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(len(whole))]
    cuts = [whole[:i] for i in range(len(whole))]
    for bad in [*flips, *cuts, whole + b"\0"]:
        with open(path, "wb") as file:
            file.write(bad)
        assert disk.get("binary", key(1)) is None
        assert not os.path.exists(path)
    assert disk.counts.read()["corrupt"] == 2 * len(whole) + 1


def test_a_file_under_another_name_is_not_its_entry(disk):
    disk.put("binary", key(1), b"one")
    disk.put("binary", key(2), b"two")
    os.replace(disk._path("binary", key(1)), disk._path("binary", key(2)))
    assert disk.get("binary", key(2)) is None


def test_the_least_recently_used_goes_first_and_the_newest_stays(tmp_path):
    disk = DiskCache(str(tmp_path), limit=10_000)
    for number in range(9):
        disk.put("binary", key(number), bytes(1000))
        os.utime(disk._path("binary", key(number)), (1000 + number, 1000 + number))
    assert disk.get("binary", key(0))
    disk.put("binary", key(9), bytes(1000))
    assert disk.size() <= 10_000
    left = [number for number in range(10) if disk.get("binary", key(number))]
    assert {0, 8, 9} <= set(left)
    assert 1 not in left
    assert disk.counts.read()["evicted"] == 10 - len(left)


def test_an_entry_larger_than_the_limit_is_not_kept(tmp_path):
    disk = DiskCache(str(tmp_path), limit=1000)
    assert not disk.put("binary", key(1), bytes(1000))
    assert disk.put("binary", key(1), bytes(900))
    assert not DiskCache(str(tmp_path), limit=0).put("binary", key(2), b"")


def test_temporary_files_of_the_dead_are_removed_and_those_of_the_living_stay(disk):
    disk.put("binary", key(1), b"1")
    folder = os.path.dirname(disk._path("binary", key(1)))
    for name, age in [(".tmp-dead", 1), (".tmp-alive", None), ("not-ours", 1)]:
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write("x")
        if age:
            os.utime(path, (age, age))
    DiskCache(disk.directory[: -len("compiler-1")], limit=1 << 20).put("binary", key(2), b"2")
    assert {"not-ours", ".tmp-alive"} <= set(os.listdir(folder)) >= {key(1)}
    assert ".tmp-dead" not in os.listdir(folder)
    disk.clear()
    assert {*os.listdir(folder)} == {"not-ours", ".tmp-alive"}


def test_a_disk_that_cannot_be_written_is_told_once(tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    disk = DiskCache(str(blocked))
    with caplog.at_level(logging.WARNING, "compile_lint.cache"):
        for number in range(3):
            assert disk.get("binary", key(number)) is None
            assert not disk.put("binary", key(number), b"data")
    disk.clear()
    assert disk.size() == 0
    assert disk.counts.read() == {"failed": 3}
    assert [r.getMessage().split(" the cache")[0] for r in caplog.records].count("can't write") == 1


def test_a_full_disk_leaves_no_file(disk, monkeypatch):
    def full(handle, mode):
        os.close(handle)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "fdopen", full)
    assert not disk.put("binary", key(1), b"data")
    assert files(disk) == []


@pytest.mark.skipif(sys.platform == "win32", reason="modes of folders")
def test_folders_are_the_user_s_own(disk):
    disk.put("binary", key(1), b"data")
    for path in (disk.directory, *files(disk)):
        assert os.stat(path).st_mode & 0o077 == 0


HAMMER = """
    import hashlib, importlib.util, os, random, sys

    path, folder, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    spec = importlib.util.spec_from_file_location("cache", path)
    cache = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cache)
    random.seed(seed)
    disk = cache.DiskCache(folder, limit=300_000)
    got = 0
    for turn in range(600):
        number = random.randrange(60)
        key = hashlib.sha256(str(number).encode()).hexdigest()
        want = bytes([number]) * (number * 300 + 1)
        data = disk.get("binary", key)
        assert data in (None, want), "a wrong entry"
        got += data is not None
        if data is None or random.random() < 0.2:
            assert disk.put("binary", key, want)
        if random.random() < 0.01:
            try:
                with open(disk._path("binary", key), "r+b") as file:
                    file.truncate(20)
            except FileNotFoundError:
                pass
        if random.random() < 0.002:
            disk.clear()
    assert got
    print(disk.counts.read())
"""


def test_eight_processes_at_once(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(HAMMER), cache.__file__, str(tmp_path)]
    running = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for seed in range(8)
    ]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
        assert b"can't" not in errors, errors.decode()
    disk = DiskCache(str(tmp_path), limit=300_000)
    assert not [path for path in files(disk) if ".tmp-" in path]
    assert disk.size() <= 300_000 * 1.5
    disk.put("binary", key("last"), b"")
    assert disk.size() <= 300_000


def test_many_threads_at_once(disk):
    errors = []

    def work(seed):
        for number in range(100):
            name = key((number * seed) % 17)
            disk.put("binary", name, name.encode() * 50)
            if disk.get("binary", name) not in (None, name.encode() * 50):
                errors.append(name)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert disk.counts.read()["stores"] == 800


def test_the_cache_loads_without_torch():
    code = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('cache', {cache.__file__!r})\n"
        "spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert importlib.util.find_spec("compile_lint.compiler.runtime.cache")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("123", 123),
        ("2 GiB", 2 << 30),
        ("500MB", 500 << 20),
        ("1.5k", 1536),
        ("0", 0),
        ("-1", None),
        ("many", None),
    ],
)
def test_sizes_are_read(text, size):
    assert parse_size(text) == size


def test_a_limit_that_is_no_size_is_told_and_ignored(monkeypatch, caplog):
    monkeypatch.setenv("COMPILE_LINT_CACHE_SIZE", "very big")
    with caplog.at_level(logging.WARNING, "compile_lint.cache"):
        assert cache.default_limit() == cache.default_limit() == cache.DEFAULT_LIMIT
    assert len(caplog.records) == 1
    monkeypatch.setenv("COMPILE_LINT_CACHE_SIZE", "1 KiB")
    assert cache.default_limit() == 1024


def test_the_store_counts_and_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPILE_LINT_CACHE_DIR", str(tmp_path / "one"))
    first = Store()
    assert first.get("program", key(1), "cpu") is None
    first.put("program", key(1), b"p", "cpu")
    assert first.get("program", key(1), "cpu") == b"p"
    assert first.info() == CacheInfo(hits=1, misses=1, stores=1)

    second = Store()
    assert second.get("program", key(1), "cpu") == b"p"
    assert [entry.data for entry in second.entries()] == [b"p"]
    monkeypatch.setenv("COMPILE_LINT_CACHE_DIR", str(tmp_path / "two"))
    assert Store().get("program", key(1), "cpu") is None
    assert second.get("program", key(1), "cpu") == b"p"

    monkeypatch.setenv("COMPILE_LINT_CACHE_DIR", str(tmp_path / "one"))
    second.discard("program", key(1))
    assert second.info() == CacheInfo(hits=2, corrupt=1)
    assert Store().get("program", key(1), "cpu") is None
    first.clear()
    assert first.info() == CacheInfo()
    assert first.entries() == ()


def test_a_store_without_a_disk_still_answers(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("COMPILE_LINT_CACHE_DIR", str(tmp_path / "file"))
    here = Store()
    here.put("program", key(1), b"p", "cpu")
    assert here.get("program", key(1), "cpu") == b"p"
    assert here.info() == CacheInfo(hits=1, failed=1)


@pytest.mark.parametrize("target", ["", "CUDA", "cuda:", "cuda:90\n", "../x", None])
def test_a_target_that_is_none_is_refused(target):
    with pytest.raises(ValueError, match="target"):
        store.Entry("program", key(1), target, b"")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "get", "remove", "clear"]), st.integers(0, 3)),
        max_size=12,
    )
)
def test_it_behaves_like_a_dictionary(tmp_path_factory, steps):
    disk = DiskCache(str(tmp_path_factory.mktemp("cache")), limit=1 << 20)
    model = {}
    for turn, (step, number) in enumerate(steps):
        if step == "put":
            model[number] = bytes([turn]) * number
            disk.put("autotune", key(number), model[number])
        elif step == "get":
            assert disk.get("autotune", key(number)) == model.get(number)
        elif step == "remove":
            model.pop(number, None)
            disk.remove("autotune", key(number))
        else:
            model.clear()
            disk.clear()
    assert {n: disk.get("autotune", key(n)) for n in model} == model
