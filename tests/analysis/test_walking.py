"""Walking syntax trees: statements alone come in the order in which all nodes do."""

from __future__ import annotations

import ast
from pathlib import Path

from compile_lint.rules.base.walking import own_nodes, own_statements, parents_of

EVERY = """
async def f(a, *b, c=1, **d):
    global g
    for i in a:
        x = [j for j in i if j]
        if x:
            self.a = 1
        elif b:
            self.b += 1
        else:
            del self.c
    else:
        self.d: int = 2
    while True:
        try:
            with a as b, c:
                def inner(): self.hidden = 1
                class Inner: y = 2
        except E as e:
            raise
        else:
            assert a, b
        finally:
            match a:
                case {"k": v, **rest} if v:
                    return f"{v!r:>{i}}"
                case None:
                    lambda: (yield)
"""
STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def test_own_statements_are_those_of_own_nodes_in_their_order():
    here = Path(__file__).read_text(encoding="utf-8")
    for tree in (ast.parse(EVERY), ast.parse(here)):
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)):
                expected = [each for each in own_nodes(node) if isinstance(each, STATEMENTS)]
                assert own_statements(node) == expected


def test_nothing_but_nodes_is_met():
    function = ast.parse(EVERY).body[0]
    nodes = own_nodes(function)
    assert all(isinstance(node, ast.AST) for node in nodes)
    stored = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    assert stored == {"a", "b", "c", "d"}
    parents = parents_of(nodes)
    assert set(nodes) - set(function.body) <= set(parents)
    assert all(isinstance(node, ast.AST) for node in parents)
