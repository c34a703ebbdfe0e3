"""Files are replaced whole, and stay as they were in all that isn't rewritten."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from compile_lint.linter.fix.write import WriteError, write
from compile_lint.linter.source import read_source


def rewritten(path: Path, old: str, new: str) -> bytes:
    source = read_source(str(path))
    write(source, source.text.replace(old, new))
    return path.read_bytes()


def test_line_ends_stay_even_where_they_are_mixed(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"a = 1\r\nb = 2\nc = 3\r\n")
    assert rewritten(path, "b = 2", "b = 4\nd = 5") == b"a = 1\r\nb = 4\r\nd = 5\r\nc = 3\r\n"


def test_a_carriage_return_alone_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"a = 1\rb = 2\r")
    assert rewritten(path, "b = 2", "b = 4") == b"a = 1\rb = 4\r"


def test_no_end_of_the_last_line_stays_none(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"a = 1\nb = 2")
    assert rewritten(path, "a = 1", "a = 3") == b"a = 3\nb = 2"


def test_byte_order_mark_and_encoding_stay(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes("\ufeffname = 'é'\nb = 2\n".encode())
    assert rewritten(path, "b = 2", "b = 4") == "\ufeffname = 'é'\nb = 4\n".encode()
    path.write_bytes("# -*- coding: latin-1 -*-\nname = 'é'\nb = 2\n".encode("latin-1"))
    assert "é".encode("latin-1") in rewritten(path, "b = 2", "b = 4")


def test_text_that_the_encoding_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"# -*- coding: ascii -*-\nb = 2\n")
    with pytest.raises(WriteError, match="can't be written as ascii"):
        rewritten(path, "b = 2", "b = 'é'")
    assert path.read_bytes() == b"# -*- coding: ascii -*-\nb = 2\n"


def test_mode_bits_stay(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("b = 2\n")
    path.chmod(0o754)
    rewritten(path, "b = 2", "b = 4")
    assert stat.S_IMODE(path.stat().st_mode) == 0o754


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_text("b = 2\n")
    link.symlink_to(real)
    rewritten(link, "b = 2", "b = 4")
    assert link.is_symlink()
    assert real.read_text() == "b = 4\n"


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("b = 2\n")
    source = read_source(str(path))
    path.write_text("b = 3\n")
    with pytest.raises(WriteError, match="changed while"):
        write(source, "b = 4\n")
    assert path.read_text() == "b = 3\n"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.py"
    path.write_text("b = 2\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(WriteError, match="No space left"):
        rewritten(path, "b = 2", "b = 4")
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.py"]
    assert path.read_text() == "b = 2\n"
