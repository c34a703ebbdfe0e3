"""Statements that a run must have gone through."""

from __future__ import annotations

import ast

from compile_lint.linter.reconcile.statements import after, before, statement_lines

SOURCE = """\
@torch.compile
def f(x):
    a = 1
    if a:
        b = 2
        c = 3
    elif x:
        d = 4
    with ctx():
        e = 5
    for row in x:
        g = 6
        if row:
            continue
        h = 7
    try:
        i = 8
        j = 9
    except E:
        k = 10
    match x:
        case 1:
            m = 11
            n = 12
        case _:
            o = 13
    return (
        x
    )
"""
TREE = ast.parse(SOURCE)


def lines(spans) -> list[int]:
    return sorted({start for start, _ in spans})


def test_statement_of_a_line() -> None:
    spans = statement_lines(TREE)
    assert (spans[1], spans[28], spans[13]) == ((1, 2), (27, 29), (13, 13))
    assert spans[7] == (7, 7)  # elif


def test_before() -> None:
    assert lines(before(TREE, 6)) == [3, 4, 5, 6]
    assert lines(before(TREE, 8)) == [3, 4, 7, 8]
    assert lines(before(TREE, 15)) == [3, 4, 9, 10, 11, 12, 13, 15]
    assert lines(before(TREE, 20)) == [3, 4, 9, 10, 11, 16, 20]
    assert lines(before(TREE, 24)) == [3, 4, 9, 10, 11, 16, 21, 23, 24]
    assert lines(before(TREE, 1)) == []


def test_after() -> None:
    assert lines(after(TREE, 1, resumed=False)) == [3, 4, 9, 10, 11]
    assert lines(after(TREE, 3, resumed=True)) == [4, 9, 10, 11]
    assert lines(after(TREE, 5, resumed=True)) == [6, 9, 10, 11]
    assert lines(after(TREE, 12, resumed=True)) == [13]  # what follows in a loop is not certain
    assert lines(after(TREE, 17, resumed=True)) == [18]  # nor what follows in a `try`
    assert lines(after(TREE, 20, resumed=True)) == []
    assert lines(after(TREE, 21, resumed=True)) == [27]


def test_nested_functions_stand_for_themselves() -> None:
    tree = ast.parse("def f(x):\n    a = 1\n    def g(y):\n        return y\n    b = 2\n")
    assert lines(before(tree, 4)) == [4]
    assert lines(before(tree, 5)) == [2, 3, 5]
    assert lines(after(tree, 1, resumed=False)) == [2, 3, 5]
