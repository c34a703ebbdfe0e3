"""Which files are linted."""

from __future__ import annotations

import os
import socket

import pytest
from compile_lint.linter import discover as discovery


def files(run, *arguments):
    return run(*arguments, "--show-files").lines()


def test_suffixes_and_default_exclusions(run, write):
    for name in ("a.py", "b.pyi", "c.ipynb", "d.txt", "build/e.py", ".venv/f.py", "env/g.py"):
        write(name)
    write("env/pyvenv.cfg")
    write("node_modules/h.py")
    assert files(run) == ["a.py", "b.pyi", "build/e.py", "c.ipynb"]
    assert files(run, ".venv/f.py", "d.txt") == [".venv/f.py", "d.txt"]
    assert files(run, ".venv") == [".venv/f.py"]
    assert files(run, ".venv/f.py", "a.py", "--force-exclude") == ["a.py"]


def test_exclude_patterns(run, write):
    for name in ("a.py", "gen/b.py", "pkg/gen/c.py", "pkg/d_pb2.py", ".venv/e.py"):
        write(name)
    assert files(run, "--exclude", "gen") == [".venv/e.py", "a.py", "pkg/d_pb2.py"]
    assert files(run, "--extend-exclude", "pkg/**/c.py,*_pb2.py") == ["a.py", "gen/b.py"]
    assert files(run, "--extend-exclude", "./pkg/") == ["a.py", "gen/b.py"]
    assert files(run, "--extend-exclude", "[ag]*") == ["pkg/d_pb2.py"]


def test_gitignore(run, write):
    for name in ("a.py", "out/b.py", "pkg/c.py", "pkg/keep.py", "pkg/sub/d.py", "e_tmp.py"):
        write(name)
    write(".gitignore", "# comment\nout/\n*_tmp.py\n/pkg/*.py\n")
    write("pkg/.gitignore", "!keep.py\n/sub/d.py\n")
    assert files(run) == ["a.py", "pkg/keep.py"]
    assert files(run, "pkg") == ["pkg/keep.py"]
    assert files(run, "out/b.py") == ["out/b.py"]
    assert len(files(run, "--no-respect-gitignore")) == 6


def test_info_exclude(run, write, project):
    write("a.py")
    write("b.py")
    write(".git/info/exclude", "b.py\n")
    assert files(run) == ["a.py"]


def test_links(run, write, project):
    write("pkg/a.py")
    (project / "pkg" / "loop").symlink_to(project)
    (project / "linked.py").symlink_to("pkg/a.py")
    (project / "broken.py").symlink_to("nowhere.py")
    (project / "self.py").symlink_to("self.py")
    (project / ".#edited.py").symlink_to("user@host.1")
    (project / "folder.py").symlink_to("pkg")
    result = run("--show-files")
    assert result.lines() == ["linked.py", "pkg/a.py"]
    assert result.code == 2
    assert sorted(result.err.splitlines()) == [
        "broken.py: error: broken symbolic link",
        "self.py: error: too many levels of symbolic links",
    ]


def test_special_files_are_skipped(run, write, project):
    os.mkfifo(project / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.py")
        write("a.py")
        assert files(run) == ["a.py"]
        result = run("pipe.py", "socket.py")
    assert result.code == 2
    assert result.err.splitlines() == [
        "pipe.py: error: not a regular file",
        "socket.py: error: not a regular file",
    ]


def test_folder_that_vanishes(run, write, monkeypatch):
    write("a.py")
    write("gone/b.py")
    scandir = os.scandir

    def vanish(path):
        if str(path).endswith("gone"):
            raise FileNotFoundError(2, "No such file or directory", path)
        return scandir(path)

    monkeypatch.setattr(discovery.os, "scandir", vanish)
    result = run("--show-files")
    assert result.lines() == ["a.py"]
    assert (result.code, result.err) == (2, "gone: error: no such file or directory\n")


def test_unreadable_folder_and_file(run, write, monkeypatch):
    write("a.py", "if x: pass  # BREAK CL101\n")
    write("closed/b.py")
    write("secret.py")
    scandir, opened = os.scandir, open

    def refuse_folder(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    def refuse_file(path, *arguments, **options):
        if str(path).endswith("secret.py"):
            raise PermissionError(13, "Permission denied", path)
        return opened(path, *arguments, **options)

    monkeypatch.setattr(discovery.os, "scandir", refuse_folder)
    monkeypatch.setattr("builtins.open", refuse_file)
    result = run()
    assert result.code == 2
    assert result.err.splitlines() == [
        "closed: error: permission denied",
        "secret.py: error: can't read: permission denied",
    ]
    assert result.lines()[0].startswith("a.py:1:1: CL101")


def test_names_that_are_not_text(run, project):
    path = os.fsencode(project) + b"/caf\xe9.py"
    try:
        with open(path, "w") as file:
            file.write("if x: pass  # BREAK CL101\n")
    except OSError:
        pytest.skip("this file system takes text only")
    for form in ("concise", "json", "sarif", "github", "gitlab", "junit", "full"):
        assert run("--output-format", form).code == 1


def test_null_byte_in_path(run):
    result = run("a\0b.py")
    assert (result.code, len(result.err.splitlines())) == (2, 1)


def test_nothing_to_lint(run):
    result = run()
    assert (result.code, result.out) == (0, "No findings; 0 files checked\n")
    assert result.err == "warning: no Python files found\n"
