"""Edits are made together or not at all."""

from __future__ import annotations

import pytest
from compile_lint.linter.fix.edits import add_imports, apply_fixes, overlap
from compile_lint.rules.base import Edit, Fix, Safety, Span


def fix(*edits: tuple[tuple[int, int, int, int], str], imports: tuple[str, ...] = ()) -> Fix:
    made = tuple(Edit(Span(*span), text) for span, text in edits)
    return Fix("test", made, Safety.SAFE, imports)


def test_edits_of_several_fixes_are_made_in_one_go() -> None:
    text = "a = 1\nb = 2\n"
    both = [fix(((2, 5, 2, 6), "a + 1")), fix(((1, 5, 1, 6), "10"))]
    assert apply_fixes(text, both) == "a = 10\nb = a + 1\n"


def test_columns_count_characters() -> None:
    assert apply_fixes("é = 1; b = 2\n", [fix(((1, 12, 1, 13), "3"))]) == "é = 1; b = 3\n"


def test_a_span_past_the_end_reaches_the_end() -> None:
    assert apply_fixes("a = 1\nb = 2", [fix(((2, 1, 3, 1), ""))]) == "a = 1\n"


def test_what_no_longer_parses_is_refused() -> None:
    with pytest.raises(ValueError, match="isn't Python"):
        apply_fixes("a = 1\n", [fix(((1, 5, 1, 6), ")"))])


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply_fixes("abc = 1\n", [fix(((1, 1, 1, 4), "x")), fix(((1, 2, 1, 3), "y"))])


def test_neighbours_do_not_overlap_but_inserts_at_one_place_do() -> None:
    one, other = fix(((1, 1, 1, 4), "x")).edits, fix(((1, 4, 1, 5), "y")).edits
    assert not overlap(one, other)
    assert overlap(one, fix(((1, 1, 1, 1), "y")).edits)


def test_an_import_is_added_once_below_docstring_and_future() -> None:
    text = '"""Doc."""\nfrom __future__ import annotations\n\nimport copy\n\nx = 1\n'
    added = add_imports(text, ("import torch",))
    assert added.count("import torch") == 1
    assert add_imports(added, ("import torch",)) == added
    assert added.startswith('"""Doc."""\nfrom __future__ import annotations\n')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "import logging\nfrom .c import *\n\n\nx = 1\n",
            "import logging\n\nimport torch\n\nfrom .c import *\n\n\nx = 1\n",
        ),
        (
            "import os\n\nfrom a import b\n\nfrom .c import d\n",
            "import os\n\nimport torch\nfrom a import b\n\nfrom .c import d\n",
        ),
        (
            '"""Doc."""\nimport numpy as np\nimport torchvision\n',
            '"""Doc."""\nimport numpy as np\nimport torch\nimport torchvision\n',
        ),
        (
            "import os\n\n# ours\nfrom .a import b\n",
            "import os\n\nimport torch\n\n# ours\nfrom .a import b\n",
        ),
        (
            "#!/usr/bin/env python\nfrom .a import b\n",
            "#!/usr/bin/env python\nimport torch\n\nfrom .a import b\n",
        ),
        ("x = 1\n", "import torch\n\nx = 1\n"),
    ],
)
def test_an_import_stands_where_a_sorted_file_has_it(before: str, after: str) -> None:
    assert add_imports(before, ("import torch",)) == after
