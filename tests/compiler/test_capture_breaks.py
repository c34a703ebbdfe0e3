"""CaptureError: every break, and nothing changed by looking for them."""

import random
import sys
import types
import warnings

import pytest
import torch
from compile_lint.compiler import CaptureError, compile
from torch import nn

CALLS = []
COUNT = 0
NOISY = False


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def line(text):
    """The number of the line of this file that ends in a comment `# text`."""
    with open(__file__, encoding="utf-8") as file:
        return next(n for n, row in enumerate(file, 1) if row.rstrip().endswith(f"# {text}"))


def refused(fn, *args, **options):
    with pytest.raises(CaptureError) as caught:
        compile(fn, **options)(*args)
    return caught.value


def helper(x):
    print("in helper")  # helper print
    return x + 1


def several(x):
    if x.sum() > 0:  # branch
        x = x * 2
    x = helper(x)
    print("at the end")  # end print
    return x


def test_lists_every_break_in_resumed_frames_and_callees():
    error = refused(several, torch.ones(3))
    found = {b.line: b for b in error.breaks}
    assert set(found) == {line("branch"), line("helper print"), line("end print")}
    assert all(b.file == __file__ for b in error.breaks)
    assert found[line("branch")].id == "GB0170"
    assert found[line("branch")].function == "several"
    assert found[line("helper print")].function == "helper"
    assert found[line("end print")].code.startswith("print(")


def test_message_reads_well():
    text = str(refused(several, torch.ones(3)))
    assert text.startswith("`several` can't be captured as one graph: 3 graph breaks.")
    assert f"1. GB0170  {__file__}:{line('branch')} in several" in text
    assert "`compile-lint rule GB0170` explains it." in text
    assert text.endswith("fullgraph=False runs it as several graphs.")


def codes(error):
    return [b.code for b in error.breaks]


def test_both_sides_of_a_branch_are_listed():
    def f(x):
        if x.sum() > 0:
            print("one side")
        else:
            if x.max() < 0:
                raise ValueError("the program's own error is no break")
            print("other side")
        return x

    wanted = ["if x.sum() > 0:", 'print("one side")', "if x.max() < 0:", 'print("other side")']
    for x in (torch.ones(2), -torch.ones(2)):
        error = refused(f, x)
        assert sorted(codes(error)) == sorted(wanted)
        assert "Note" not in str(error)


def test_loops_try_and_with_hide_nothing(capsys):
    def f(x):
        for _ in range(2):
            print("in a loop")
            while x.sum() < 10:
                x = x * 2
                print("deeper")
        try:
            print("in try")
        except ValueError:
            print("never")
        with torch.no_grad():
            print("in with")
        return x + 1

    assert codes(refused(f, torch.ones(2))) == [
        'print("in a loop")',
        "while x.sum() < 10:",
        'print("deeper")',
        'print("in try")',
        'print("in with")',
    ]
    assert capsys.readouterr().out == ""


def test_says_when_dynamo_gives_up_on_a_function():
    def f(x):
        for _ in range(2):
            x = x * len(input())
        print("behind the loop")
        return x + 1

    error = refused(f, torch.ones(2))
    assert error.breaks[0].how == "skip-frame"
    assert "gives up on all of `f`" in str(error)
    assert "ended in EOFError" in str(error)


def test_goes_on_behind_a_value_that_only_a_run_can_tell():
    def f(x):
        drawn = random.random()
        if x.sum() > 0:
            x = x * drawn
        print("behind")
        return x

    error = refused(f, torch.ones(2))
    assert len(error.breaks) == 3
    assert "Only the side of" in str(error)


def test_breaks_without_a_place_get_the_functions():
    def gen(x):  # the generator
        yield x

    (found,) = refused(gen, torch.ones(2)).breaks
    assert (found.file, found.line) == (__file__, line("the generator"))
    (found,) = refused(nn.LSTM(2, 2), torch.ones(1, 1, 2)).breaks
    assert found.file.endswith("rnn.py")
    assert found.function == "LSTM"


def test_scalars_and_masks_are_no_breaks_under_fullgraph():
    def f(x):
        print("only this")
        return x[x > 0] * x.sum().item()

    assert [b.code for b in refused(f, torch.ones(2)).breaks] == ['print("only this")']


def test_without_collecting():
    error = refused(several, torch.ones(3), options={"collect": False})
    assert len(error.breaks) == 1
    assert "Only the first break" in str(error)


def test_a_run_that_ends_early_is_told():
    def f(x):
        x = x * random.random()
        raise ValueError("no way on")

    error = refused(f, torch.ones(2))
    assert "ended in ValueError: no way on" in str(error)


def test_exit_input_and_debugger_do_no_harm(capsys):
    def f(x):
        print("loud")
        input()
        return x

    assert len(refused(f, torch.ones(2)).breaks) == 2

    def g(x):
        random.random()
        x = x * random.random()
        breakpoint()
        return sys.exit(3)

    assert "ended in SystemExit: 3" in str(refused(g, torch.ones(2)))
    assert capsys.readouterr().out == ""


def test_is_given_up_for_a_generator():
    def f(x, items):
        x = x * random.random()
        return x + next(items)

    items = (n for n in (1, 2))
    assert "generator" in str(refused(f, torch.ones(2), items))
    assert next(items) == 1


def test_works_after_the_cause_is_gone():
    def f(x):
        if NOISY:
            for _ in range(2):
                print("in a loop")
        return x + 1

    f.__globals__["NOISY"] = True
    compiled = compile(f)
    with pytest.raises(CaptureError):
        compiled(torch.ones(2))
    f.__globals__["NOISY"] = False
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
    assert len(compiled.graphs) == 1


def test_nothing_that_python_holds_is_changed():
    class Thing:
        made = 0

        def __init__(self):
            self.seen = []

    thing, box, held = Thing(), {"a": [1]}, types.SimpleNamespace(n=1)
    total = 0

    def f(x, box, held):
        nonlocal total
        global COUNT
        drawn = random.random()
        total += 1
        COUNT += 1
        CALLS.append(1)
        thing.seen.append(x)
        Thing.made += 1
        box["a"].append(2)
        box["b"] = 3
        held.n = 2
        return x + drawn

    state = random.getstate()
    refused(f, torch.ones(2), box, held)
    assert (total, COUNT, CALLS, thing.seen, Thing.made) == (0, 0, [], [], 0)
    assert (box, held.n) == ({"a": [1]}, 1)
    assert random.getstate() == state


def test_no_tensor_is_changed():
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([weight])

    def train(x, mask):
        x.add_(1)
        mask.requires_grad_(True)
        loss = (weight * x).sum()
        loss.backward()
        optimizer.step()
        torch.set_grad_enabled(False)
        return loss * torch.rand(())

    x, mask, drawn = torch.zeros(4, 3)[::2], torch.zeros(2), torch.get_rng_state()
    version = x._version
    refused(train, x, mask)
    assert torch.equal(x, torch.zeros(2, 3))
    assert x._version == version
    assert not mask.requires_grad
    assert weight.grad is None
    assert torch.equal(weight, torch.ones(3))
    assert not optimizer.state
    assert torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), drawn)


def test_the_callers_own_backward_still_works():
    def f(loss):
        loss.backward()
        return loss + 1

    leaf = torch.ones(3, requires_grad=True)
    loss = (leaf * leaf).sum()
    refused(f, loss)
    loss.backward()
    assert torch.equal(leaf.grad, torch.full((3,), 2.0))


def test_sizes_seen_while_looking_dont_count():
    def f(x):
        if NOISY:
            print("break")
        return x + 1

    f.__globals__["NOISY"] = True
    compiled = compile(f)
    with pytest.raises(CaptureError):
        compiled(torch.ones(2))
    f.__globals__["NOISY"] = False
    compiled(torch.ones(3))
    assert compiled.graphs[0].inputs == ("arg0_1: f32[3]",)


def test_broken_graphs_all_go_through_the_backend(capsys):
    compiled = compile(several, fullgraph=False)
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 3.0))
    assert capsys.readouterr().out == "in helper\nat the end\n"
    assert len(compiled.graphs) == 3


def test_errors_of_shape_are_told_as_dynamo_tells_them():
    def f(x, y):
        return x + y

    error = refused(f, torch.ones(3), torch.ones(4))
    assert "broadcast" in str(error)
    assert "ended at" in str(error)


def test_values_that_only_data_tells_are_refused_in_the_same_way():
    def f(x):
        return x * [1, 2, 3][x.argmax().item()]

    (found,) = refused(f, torch.ones(3)).breaks
    assert "data-dependent expression" in found.reason
    assert found.function == "f"


def test_breaks_inside_pythons_library_are_told_at_the_users_line():
    def f(x):
        warnings.filterwarnings("ignore")  # the user's line
        return x + 1

    (found,) = refused(f, torch.ones(3)).breaks
    assert found.line == line("the user's line")
