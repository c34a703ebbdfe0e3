"""Bad input: one clear line each, the rest is linted."""

from __future__ import annotations

import pytest
from compile_lint.linter.source import UnreadableSource, decode, parse_source, read_source

OTHER = "if x: pass  # BREAK CL101\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x = 1\ndef f(:\n", "a.py:2: error: syntax error: "),
        (b"x = 1\nprint 'hello'\n", "a.py:2: error: syntax error: Missing parentheses"),
        (b"if x:\n    raise E, 'text'\n", "a.py:2: error: syntax error: "),
        (b"x = 1\r\ny = (\r\n", "a.py:2: error: syntax error: '(' was never closed"),
        (b"x = 1\ny = '\xe9'\n", "a.py:2: error: not valid UTF-8 (byte 0xe9); declare the file's"),
        (b"# coding: ascii\ny = '\xe9'\n", "a.py:2: error: not valid ASCII (byte 0xe9)"),
        (b"# coding: nonsense\n", "a.py:1: error: unknown encoding: nonsense"),
        (b"# coding: hex\n6162\n", "a.py:1: error: can't decode as hex"),
        (b"x = 1\n\ny = '\0'\n", "a.py:3: error: source contains null bytes"),
        (b"\0" * 5000, "a.py:1: error: source contains null bytes"),
        (b"\xff\xfex\x00=\x001\x00", "a.py:1: error: not valid UTF-8 (byte 0xff)"),
        (b"x = " + b"(" * 1000 + b")" * 1000, "a.py:1: error: syntax error: too many nested"),
        (
            b"".join(b" " * i + b"if x:\n" for i in range(1000)),
            "a.py:101: error: syntax error: too",
        ),
        (b"x = " + b"-" * 200_000 + b"1", "a.py: error: nested too deeply"),
        (b"<<<<<<< HEAD\nx = 1\n", "a.py:1: error: syntax error: "),
        (b"\x80PNG\r\n\x1a\n\x00", "a.py:1: error: not valid UTF-8"),
    ],
)
def test_one_clear_line(run, write, content, message):
    write("a.py", content)
    write("b.py", OTHER)
    result = run("--no-cache")
    assert result.code == 2
    assert result.err.startswith(message)
    assert len(result.err.splitlines()) == 1
    assert result.lines()[0].startswith("b.py:1:1: CL101")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"# only a comment",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf# coding: utf-8\nx = 1\n",
        b"# coding: latin-1\nx = '\xe9'\n",
        b"# -*- coding: cp1252 -*-\r\nx = '\x80'\r\n",
        b"x = '\\d'\n",
        b"x = 1 if 1is 1 else 2\n",
        b"x = '" + b"a" * 1_000_000 + b"'\n",
        b"x = [" + b"1, " * 300_000 + b"]\n",
        b"x = " + b" + ".join([b"1"] * 1500) + b"\n",
        b"x = a" + b".b" * 1000 + b"\n",
        b"x = a" + b"(1)" * 1000 + b"\n",
        b"x = 1\n" * 100_000,
        b"x = 1\x0c\ny = 2\x0b\n"[:6],
    ],
)
def test_unusual_but_fine(run, write, content):
    write("a.py", content)
    result = run("--no-cache")
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_keep_line_numbers(run, write, end):
    lines = [
        b"x = 1",
        b'y = """a',
        b"b\x0cc\xe2\x80\xa8d",
        b'"""',
        b"if x: pass  # BREAK CL101",
        b"",
    ]
    write("a.py", end.join(lines))
    assert run().lines()[0].startswith("a.py:5:1:")


def test_mixed_line_ends(run, write):
    write("a.py", b"x = 1\r\ny = 2\rz = 3\n\r\nif x: pass  # BREAK CL101\n")
    assert run().lines()[0].startswith("a.py:5:1:")


def test_source_file_remembers_how_to_write_it_back(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\ny = 2\r\nz = 3\n")
    source = read_source(str(path))
    assert (source.text, source.bom, source.newline) == ("x = 1\ny = 2\nz = 3\n", True, "\r\n")
    assert source.encoding == "utf-8"
    assert decode("b.py", b"# coding: latin-1\n").encoding == "iso-8859-1"


def test_parse_error_has_its_line():
    with pytest.raises(UnreadableSource, match="never closed") as caught:
        parse_source(decode("a.py", b"\n\nf(\n"))
    assert caught.value.line == 3


def test_missing_file_raises(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_source(str(tmp_path / "none.py"))
    with pytest.raises(OSError, match="is a directory"):
        read_source(str(tmp_path))
