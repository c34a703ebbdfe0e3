"""Live names: what a statement takes in, hands out, and leaves unbound."""

from __future__ import annotations

import ast
import textwrap

from compile_lint.linter.analysis.liveness import boundary, liveness, read_names


def function(source: str) -> ast.FunctionDef:
    node = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def test_branch_hands_out_what_is_read_later() -> None:
    f = function(
        """
        def f(x, y, scale):
            before = x * 2
            if x.sum() > 0:
                x = x * scale
                tmp = x + 1
                y = tmp
            return x + y + before
        """
    )
    crossing = boundary(f, [f.body[1]])
    assert crossing.reads == {"x", "scale"}
    assert crossing.results == {"x", "y"}
    assert crossing.partial == {"x", "y"}  # the path without the arm keeps the old ones
    assert not crossing.exits


def test_both_arms_bind() -> None:
    f = function(
        """
        def f(x):
            if x.sum() > 0:
                y = x
            else:
                y = -x
            return y
        """
    )
    crossing = boundary(f, [f.body[0]])
    assert (crossing.reads, crossing.results, crossing.partial) == ({"x"}, {"y"}, set())


def test_an_arm_that_returns_does_not_make_a_name_partial() -> None:
    f = function(
        """
        def f(x):
            if x.sum() > 0:
                y = x
            else:
                return x
            return y
        """
    )
    crossing = boundary(f, [f.body[0]])
    assert crossing.partial == set()
    assert crossing.exits


def test_loops_carry_names_around() -> None:
    f = function(
        """
        def f(x, n):
            total = 0
            i = 0
            while i < n:
                total = total + x
                i += 1
                unused = i
            return total
        """
    )
    loop = f.body[2]
    facts = liveness(f)
    assert facts.before[loop] == {"total", "i", "n", "x"}
    assert facts.after[loop] == {"total"}
    crossing = boundary(f, [loop])
    assert crossing.results == {"total"}
    assert crossing.reads == {"total", "i", "n", "x"}


def test_break_and_continue_go_where_they_go() -> None:
    f = function(
        """
        def f(xs, flag):
            last = None
            for x in xs:
                if flag:
                    found = x
                    break
                if x:
                    continue
                last = x
            else:
                found = last
            return found
        """
    )
    loop = f.body[1]
    assert liveness(f).before[loop] == {"xs", "flag", "last"}
    assert not boundary(f, [loop]).exits  # they stay inside the loop
    inner = loop.body[0]  # type: ignore[attr-defined]
    assert boundary(f, [inner]).exits
    assert boundary(f, [inner]).results == {"found"}


def test_handlers_see_what_was_live_before_the_failure() -> None:
    f = function(
        """
        def f(x):
            y = 1
            try:
                y = x.risky()
                z = y
            except ValueError as error:
                log(error)
                z = y
            finally:
                done(x)
            return z
        """
    )
    before = liveness(f).before[f.body[1]]
    assert before >= {"x", "y", "log", "done", "ValueError"}
    assert "error" not in before


def test_closures_keep_names_alive() -> None:
    f = function(
        """
        def f(x):
            k = 1
            def g(v):
                return v + k
            k = 2
            return g(x)
        """
    )
    facts = liveness(f)
    assert "k" in facts.after[f.body[2]]
    assert read_names(f.body[1]) == {"k"}


def test_comprehension_variables_stay_inside() -> None:
    node = ast.parse("[a + b for a in xs if a]").body[0]
    assert read_names(node) == {"b", "xs"}
