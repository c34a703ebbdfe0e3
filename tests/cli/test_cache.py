"""The cache: never stale, never fatal."""

from __future__ import annotations

import json
import os
import threading

import pytest
from compile_lint.linter import cache as caching
from compile_lint.linter.cache import Cache, FileStates
from compile_lint.linter.model import AnalysisOptions

BAD = "if x: pass  # BREAK CL101\n"


@pytest.fixture
def again(run, fake_engine):
    """Run, and say which files were analysed."""

    def call(*arguments: str):
        fake_engine.analysed.clear()
        result = run("--jobs", "1", *arguments)
        return sorted(fake_engine.analysed), result.out

    return call


def age(*paths):
    """Make files look old enough for their mtime to be trusted."""
    for path in paths:
        os.utime(path, (1e9, 1e9))


def test_second_run_analyses_nothing(again, write):
    age(write("a.py", BAD), write("b.py", "x = 1  # compile-lint: ignore[CL101]\n"))
    first = again()
    assert first[0] == ["a.py", "b.py"]
    assert again() == ([], first[1])
    assert again("--no-cache")[0] == ["a.py", "b.py"]


def test_content_decides_not_mtime(again, write):
    path = write("a.py", BAD)
    again()
    os.utime(path, (1e9 + 7, 1e9 + 7))
    assert again()[0] == []
    write("a.py", BAD.replace("101", "102"))  # same size, perhaps the same mtime
    names, out = again()
    assert names == ["a.py"]
    assert "CL102" in out


def test_unchanged_files_are_not_read(again, write, monkeypatch):
    age(write("a.py", BAD))
    again()
    monkeypatch.setattr(caching, "read_bytes", None)
    assert again()[0] == []


def test_dependency_changes_appears_vanishes(again, write):
    write("a.py", f"import b\n{BAD}")
    assert again()[0] == ["a.py"]
    assert again()[0] == []
    path = write("b.py", "x = 1\n")
    assert again("a.py")[0] == ["a.py"]
    assert again("a.py")[0] == []
    path.write_text("x = 2\n")
    assert again("a.py")[0] == ["a.py"]
    path.unlink()
    assert again("a.py")[0] == ["a.py"]
    assert again("a.py")[0] == []


def test_options_have_entries_of_their_own(again, write):
    write("a.py", BAD)
    assert again()[0] == ["a.py"]
    assert again("--entry", "all")[0] == ["a.py"]
    assert again("--target-torch", "2.11")[0] == ["a.py"]
    assert again()[0] == []
    assert again("--select", "CL3")[0] == []


def test_shown_paths_follow_the_command_line(again, write, project):
    write("src/a.py", BAD)
    again("src")
    names, out = again(str(project / "src" / "a.py"))
    assert names == []
    assert out.startswith(f"{project}/src/a.py:1:1")


def test_own_sources_are_part_of_the_key(again, write, monkeypatch):
    write("a.py", BAD)
    again()
    monkeypatch.setattr(caching, "own_digest", lambda: "other")
    assert again()[0] == ["a.py"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"states": [], "entries": []}',
        '{"states": [[1]], "entries": {}}',
        '{"states": [["a", "b", 1, 2.5]], "entries": {}}',
        '{"states": [], "entries": {"a": [[0], {}]}}',
        '{"states": [], "entries": {"a": [[], {}]}}',
        "[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_damaged_files_are_recomputed(again, write, tmp_path, text):
    write("a.py", BAD)
    before = again()
    files = list((tmp_path / "cache").rglob("*.json"))
    assert files
    for file in files:
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    assert again() == before
    assert again() == ([], before[1])


def test_changed_payload_is_recomputed(again, write, tmp_path):
    write("a.py", BAD)
    before = again()
    (file,) = (tmp_path / "cache").rglob("*.json")
    file.write_text(file.read_text().replace("CL101", "CL301", 1))
    assert again() == before


def test_failures_are_not_kept(again, write):
    write("a.py", "def f(:\n")
    assert again()[0] == ["a.py"]
    assert again()[0] == ["a.py"]


def test_unwritable_folder_costs_speed_only(again, write, tmp_path):
    write("a.py", BAD)
    (tmp_path / "file").write_text("")
    assert "CL101" in again("--cache-dir", str(tmp_path / "file" / "inner"))[1]


def test_files_hold_json_only(again, write, tmp_path):
    write("a.py", BAD)
    again()
    names = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert names
    for path in names:
        json.loads(path.read_text())


def test_concurrent_runs(tmp_path):
    paths = []
    for number in range(40):
        path = tmp_path / f"{number}.py"
        path.write_text(str(number))
        paths.append(str(path))
    failures = []

    def work():
        try:
            for _ in range(5):
                states = FileStates()
                cache = Cache(str(tmp_path / "c"), str(tmp_path), AnalysisOptions(), states)
                for path in paths:
                    payload = cache.get(path)
                    if payload is not None and payload["is"] != path:
                        failures.append(payload)
                    cache.put(path, states.digest(path), [], {"is": path})
                cache.flush()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    cache = Cache(str(tmp_path / "c"), str(tmp_path), AnalysisOptions(), FileStates())
    assert all(cache.get(path) for path in paths)
    assert not list((tmp_path / "c").rglob("*.tmp"))
