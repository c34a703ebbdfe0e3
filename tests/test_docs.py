"""docs/rules is what the rules say: written by `python -m compile_lint.linter.docs`."""

from __future__ import annotations

from pathlib import Path

from compile_lint.linter.docs import main

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "rules"


def test_pages_are_up_to_date(tmp_path: Path) -> None:
    main([str(tmp_path)])
    written = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert sorted(kept) == sorted(written)
    changed = [name for name, text in written.items() if kept[name] != text]
    assert not changed, "run `python -m compile_lint.linter.docs`"


def test_the_index_links_every_page() -> None:
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    pages = {path.name for path in FOLDER.iterdir()} - {"index.md"}
    assert {name for name in pages if f"({name})" not in index} == set()
