"""Notebooks: cell by cell, positions within the cell."""

from __future__ import annotations

import json

import pytest

IF = "if x: pass  # BREAK CL101"


def notebook(*cells, **extra) -> str:
    rows = [
        {"cell_type": "markdown", "source": cell[1:]}
        if cell.startswith("#md")
        else {"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": []}
        for cell in cells
    ]
    return json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, **extra})


def test_positions_are_within_the_cell(run, write):
    write("a.ipynb", notebook("#md title", f"import torch\n{IF}\n", f"y = 1\n\n{IF}"))
    result = run("--output-format", "json")
    rows = json.loads(result.out)
    assert [(row["cell"], row["line"], row["end_line"]) for row in rows] == [(2, 2, 2), (3, 3, 3)]
    assert rows[1]["trail"] == [{"path": "a.ipynb", "line": 1, "message": "made here (cell 2)"}]
    assert run().lines()[1] == "a.ipynb:cell 3:3:1: CL101 [error] CL101 breaks here"
    full = run("--output-format", "full").out
    assert "a.ipynb:cell 3:3:1: CL101" in full
    assert "3 | if x: pass  # BREAK CL101" in full


@pytest.mark.parametrize(
    "cell",
    [
        "%matplotlib inline\n" + IF,
        "!pip install x \\\n   y\n" + IF,
        "x = !ls\n" + IF,
        "y = %timeit -o f()\n" + IF,
        "f?\n" + IF,
        "?f.g\n" + IF,
        "%%time\n" + IF,
        "\n%%capture out\n" + IF,
        "for i in y:\n    %time f(i)\n    !echo {i}\n" + IF,
        "z = (y\n  % 3)\n" + IF,
        "await f()\n" + IF,
        "plot();\n" + IF,
    ],
)
def test_magics(run, write, cell):
    write("a.ipynb", notebook(cell))
    line = cell.split("\n").index(IF) + 1
    result = run()
    assert result.err == ""
    assert result.lines()[0].startswith(f"a.ipynb:cell 1:{line}:1: CL101")


def test_cells_of_other_languages(run, write):
    write("a.ipynb", notebook("%%bash\nif [ -f x ]; then fi  # BREAK CL101\n", IF))
    assert [line.split(": ")[0] for line in run().lines()[:-1]] == ["a.ipynb:cell 2:1:1"]
    julia = {"metadata": {"kernelspec": {"language": "julia"}}}
    write("a.ipynb", notebook("x = [1 2 3]\nBREAK CL101", **julia))
    assert run().code == 0


def test_broken_cell_costs_that_cell(run, write):
    write("a.ipynb", notebook(IF, "def f(:\n", "x = 1\n" + IF))
    result = run()
    assert result.code == 2
    assert result.err.startswith("a.ipynb:1: error: cell 2: ")
    assert [line.split(": ")[0] for line in result.lines()[:-1]] == [
        "a.ipynb:cell 1:1:1",
        "a.ipynb:cell 3:2:1",
    ]


def test_suppression_in_a_cell(run, write):
    write("a.ipynb", notebook("x = 1", IF + "  # compile-lint: ignore[CL101]"))
    assert run().code == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.ipynb:1: error: notebook is not valid JSON: "),
        ('{"cells": [}', "a.ipynb:1: error: notebook is not valid JSON: "),
        ("[]", "a.ipynb: error: not a notebook: it has no list of cells"),
        ('{"cells": 3}', "a.ipynb: error: not a notebook: it has no list of cells"),
        (b"\xff", "a.ipynb: error: notebook is not valid UTF-8"),
        ("[" * 100_000, "a.ipynb: error: notebook is nested too deeply"),
    ],
)
def test_not_a_notebook(run, write, content, message):
    write("a.ipynb", content)
    result = run()
    assert result.code == 2
    assert result.err.startswith(message)
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    "content",
    [
        {"cells": []},
        {"cells": [None, 3, {}, {"cell_type": "code"}, {"cell_type": "code", "source": [1]}]},
        {"cells": [{"cell_type": "code", "source": None}], "metadata": []},
        {"cells": [{"cell_type": "code", "source": "\0"}], "metadata": {"kernelspec": 3}},
    ],
)
def test_odd_notebooks(run, write, content):
    write("a.ipynb", json.dumps(content))
    assert run().code == 0


def test_old_format(run, write):
    cells = [{"cell_type": "code", "input": [IF]}]
    write("a.ipynb", json.dumps({"worksheets": [{"cells": cells}]}))
    assert run().lines()[0].startswith("a.ipynb:cell 1:1:1")
