"""A graph of few results as one CUDA graph of its own, which the host replays by little more.

torch's CUDA graph trees copy no result, but what they check on the host for each call takes longer
than a short graph does. Here a call compares addresses, copies what has moved into the recording's
memory, replays, and copies the results, which are the caller's own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..ops.layout import dense_stride

MOST_BYTES = 1 << 20  # of results, or of operands copied: more costs the GPU what the host saves
MOST_RESULTS = 8
MOST_RECORDINGS = 4  # then operands move too often

log = logging.getLogger("compile_lint.kernels")
# By device and stream: graphs that are replayed one after the other take turns in the same memory.
_pools: dict[tuple[int, int], torch.cuda.CUDAGraph] = {}


def is_little(gm: torch.fx.GraphModule) -> bool:
    """Whether a graph without a backward returns little enough to be worth copying."""
    inputs = [node.meta.get("val") for node in gm.graph.nodes if node.op == "placeholder"]
    results = next(node for node in gm.graph.nodes if node.op == "output").args[0]
    if not results or len(results) > MOST_RESULTS:
        return False
    if any(r is None or r.op == "placeholder" for r in results):
        return False
    values = [node.meta.get("val") for node in results]
    if not all(isinstance(x, torch.Tensor) for x in inputs) or not all(map(_is_plain, values)):
        return False
    if any(map(_is_random, gm.graph.nodes)):
        return False
    return sum(map(_bytes, values)) <= MOST_BYTES


def _is_plain(x: object) -> bool:
    """Whether a copy with these strides is all that there is to copy."""
    if not isinstance(x, torch.Tensor):
        return False
    known = all(isinstance(n, int) for n in (*x.shape, *x.stride()))
    return known and x.device.type == "cuda" and dense_stride(x) is not None


def _is_random(node: torch.fx.Node) -> bool:
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags


def _bytes(x: torch.Tensor) -> int:
    return x.numel() * x.element_size()


class Replay:
    """Calls `run` once as it is, and from then on replays a recording of it.

    The recording reads operands where they lay in both calls before it; others are copied. Where
    one lies elsewhere later, it's recorded anew, a few times. On another stream, or in a recording
    of the user's own, a call runs as it is.

    Args:
        run: The compiled graph; it empties the list of arguments.
        fixed: Which arguments stay where they are: parameters and buffers.
        device: The GPU's number.
        trees: Makes what runs the graph by CUDA graph trees; called where operands that move are
            many bytes.
    """

    def __init__(
        self,
        run: Callable[[list], Sequence],
        fixed: Sequence[int],
        device: int,
        trees: Callable[[], Callable[[list], Sequence]],
    ) -> None:
        self._run = run
        self._fixed = frozenset(fixed)
        self._device = device
        self._trees = trees
        self._lock = threading.Lock()
        self._recordings = 0
        self._stream = 0
        self._places: list[int] | None = None  # of operands: at the first call, then as recorded
        self._bound: list[int] = []  # operands that are read where the caller has them
        self._moving: list[int] = []
        self._operands: list[torch.Tensor] = []
        self._results: list[torch.Tensor] = []
        self._replay: Callable[[], None] | None = None
        self._instead: Callable[[list], Sequence] | None = None

    def __call__(self, args: list) -> Sequence:
        with self._lock:
            if self._instead is not None:
                return self._instead(args)
            if self._places is None:  # loads kernels and lets libraries choose theirs
                self._places = [x.data_ptr() for x in args]
                return self._run(args)
            if torch.cuda.is_current_stream_capturing():
                return self._run(args)
            if self._replay is None or not same_places(args, self._places, self._bound):
                self._record(args, self._places)
                if self._instead is not None:
                    return self._instead(args)
            if stream_of(self._device) != self._stream:
                return self._run(args)
            for operand, k in zip(self._operands, self._moving):
                operand.copy_(args[k])
            args.clear()
            assert self._replay is not None
            self._replay()
            return [_copy(result) for result in self._results]

    def _record(self, args: list, places: list[int]) -> None:
        """A recording that fits these arguments; or something instead of it."""
        self._recordings += 1
        moved = [k for k, x in enumerate(args) if x.data_ptr() != places[k]]
        moving = sorted({*self._moving, *(k for k in moved if k not in self._fixed)})
        much = sum(_bytes(args[k]) for k in moving) > MOST_BYTES
        if much or self._recordings > MOST_RECORDINGS:
            log.info("recorded by trees: operands move")
            self._instead = self._trees()
            self._replay, self._operands, self._results = None, [], []
            return
        self._moving = moving
        self._bound = [k for k in range(len(args)) if k not in moving]
        self._places = [x.data_ptr() for x in args]
        self._stream = stream_of(self._device)
        given = list(args)
        self._operands = [_copy(args[k]) for k in moving]
        for operand, k in zip(self._operands, moving):
            given[k] = operand
        self._replay, self._results = record(self._run, given, self._device)


def record(
    run: Callable[[list], Sequence], args: list, device: int
) -> tuple[Callable[[], None], list[torch.Tensor]]:
    """(what runs a recorded call again, where that leaves its results)."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(device):
        pool = _pool(device)
        with torch.cuda.graph(graph, pool=pool):
            results = list(run(args))
    return graph.replay, results


def _pool(device: int) -> Any:
    """The memory of the current stream's recordings; one of them is kept, so that it stays."""
    key = (device, stream_of(device))
    if key not in _pools:
        kept = _pools[key] = torch.cuda.CUDAGraph()
        something = torch.zeros((), device="cuda")
        with torch.cuda.graph(kept):
            something.add_(1)
    return _pools[key].pool()


def _same_places(args: list, places: list[int], which: list[int]) -> bool:
    return all(args[k].data_ptr() == places[k] for k in which)


# Whether those of the arguments that `which` names lie where they did.
same_places = getattr(torch._C, "_tensors_data_ptrs_at_indices_equal", _same_places)


def stream_of(device: int) -> int:
    """The current stream of a GPU, as a number."""
    return torch._C._cuda_getCurrentRawStream(device)


def _copy(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x)
