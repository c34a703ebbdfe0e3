"""Small graphs as recordings of their own: the calls are real, the recording is played here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from compile_lint.compiler.runtime import replay
from compile_lint.compiler.runtime.replay import Replay, is_little
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx


class Played:
    """In place of a GPU: a recording is the call, made again on the memory that it was made on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stream, self.capturing, self.recordings, self.replays = 1, False, 0, 0
        monkeypatch.setattr(replay, "stream_of", lambda device: self.stream)
        monkeypatch.setattr(replay, "record", self.record)
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: self.capturing)

    def record(self, run: Callable, args: list, device: int) -> tuple[Callable, list]:
        self.recordings += 1
        given = list(args)
        results = [torch.full_like(r, float("nan")) for r in run(list(args))]  # nothing has run yet

        def again() -> None:
            self.replays += 1
            for result, new in zip(results, run(list(given)), strict=True):
                result.copy_(new)

        return again, results


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    return Played(monkeypatch)


def total(args: list) -> list:
    x, weight = args
    args.clear()
    return [x * weight + 1]


def by_trees(args: list) -> list:
    return ["by trees"]


def runner(run: Callable = total) -> Replay:
    return Replay(run, [1], 0, lambda: by_trees)


def test_operands_that_stay_are_read_where_they_are(played: Played) -> None:
    run, x, weight = runner(), torch.ones(3), torch.tensor([1.0, 2.0, 3.0])
    kept = []
    for k in range(4):
        x.fill_(k)
        weight[0] = k + 5
        kept.append((run([x, weight])[0], x * weight + 1))
    for got, wanted in kept:  # each call's results are its own
        torch.testing.assert_close(got, wanted)
    assert (played.recordings, played.replays) == (1, 3)
    assert not run._operands


def test_operands_that_move_are_copied(played: Played) -> None:
    run, weight, kept = runner(), torch.tensor([1.0, 2.0, 3.0]), []
    for k in range(5):
        x = torch.full((3,), float(k))
        kept.append(x)
        args = [x, weight]
        torch.testing.assert_close(run(args)[0], x * weight + 1)
        assert not args
    assert (played.recordings, played.replays) == (1, 4)


def test_an_operand_that_moves_late_and_a_parameter_that_moves(played: Played) -> None:
    run, x, weight = runner(), torch.ones(3), torch.ones(3)
    for _ in range(3):
        run([x, weight])
    other, moved = torch.full((3,), 7.0), torch.full((3,), 2.0)
    torch.testing.assert_close(run([other, weight])[0], torch.full((3,), 8.0))
    torch.testing.assert_close(run([x, weight])[0], torch.full((3,), 2.0))
    assert played.recordings == 2
    torch.testing.assert_close(run([x, moved])[0], torch.full((3,), 3.0))
    moved.fill_(3)
    torch.testing.assert_close(run([other, moved])[0], torch.full((3,), 22.0))
    assert played.recordings == 3


def test_parameters_that_never_stay_are_left_to_trees(played: Played) -> None:
    run, x, kept = runner(), torch.ones(3), []
    results = []
    for k in range(replay.MOST_RECORDINGS + 3):
        kept.append(torch.full((3,), float(k)))
        results.append(run([x, kept[-1]])[0])
    assert results[-1] == "by trees"
    torch.testing.assert_close(results[2], torch.full((3,), 3.0))


def test_many_bytes_that_move_are_left_to_trees(played: Played) -> None:
    big = [torch.ones(replay.MOST_BYTES) for _ in range(3)]
    run = runner(lambda args: [args[0].sum() * args[1]])
    weight = torch.ones(1)
    assert float(run([big[0], weight])[0]) == replay.MOST_BYTES
    assert run([big[1], weight]) == ["by trees"]
    run = runner(lambda args: [args[0].sum() * args[1]])
    for _ in range(3):
        assert float(run([big[0], weight])[0]) == replay.MOST_BYTES
    assert run([big[1], weight]) == ["by trees"]


def test_another_stream_and_a_recording_around_it_run_as_they_are(played: Played) -> None:
    run, x, weight = runner(), torch.ones(3), torch.ones(3)
    for _ in range(3):
        run([x, weight])
    played.stream = 2
    torch.testing.assert_close(run([x, weight])[0], torch.full((3,), 2.0))
    played.stream, played.capturing = 1, True
    torch.testing.assert_close(run([x, weight])[0], torch.full((3,), 2.0))
    assert played.replays == 2


def graph(f: Callable, *sizes: tuple[int, ...]) -> torch.fx.GraphModule:
    with FakeTensorMode():
        return make_fx(f)(*(torch.empty(size, device="cuda") for size in sizes))


@pytest.mark.parametrize(
    ("f", "little"),
    [
        (lambda x: [x + 1], True),
        (lambda x: [x.sum(), x + 1], True),
        (lambda x: [x.t().clone() + 1], True),
        (lambda x: [x], False),
        (lambda x: [x + torch.rand_like(x)], False),
        (lambda x: [(x + 1).expand(4096, 4, 4)], False),
        (lambda x: [(x + 1).repeat(4096, 16)], False),
        (lambda x: [x + k for k in range(9)], False),
    ],
)
def test_which_graphs_are_little(f: Any, little: bool) -> None:
    assert is_little(graph(f, (4, 4))) == little


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: not recorded")
def test_recordings_on_a_gpu() -> None:
    from compile_lint.compiler import compile

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 8))
    net = net.cuda().eval()
    run = compile(net, mode="reduce-overhead")
    with torch.no_grad():
        kept = []
        for k in range(8):
            x = torch.randn(16, 64, device="cuda")
            if k == 4:
                net[0].weight.mul_(2)
            if k == 6:
                net[2].weight.data = net[2].weight.detach() + 1
            kept.append((run(x), net(x), x))
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            kept.append((run(x), net(x), x))
        torch.cuda.current_stream().wait_stream(side)
    for got, wanted, _ in kept:
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
