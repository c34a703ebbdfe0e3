"""Control flow in host programs: what they call for cond, while_loop, scan and map.

The subgraphs come as boxed functions (a list of arguments in, a list of results out), compiled like
the graph around them. No result shares memory with an operand, as torch promises of these
operators, so a caller may write into either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Boxed = Callable[[list], Sequence]


def boxed(gm: torch.fx.GraphModule) -> Boxed:
    """A subgraph that no kernels could be written for, run by ATen."""

    def call(args: list) -> Sequence:
        result = gm(*args)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    return call


def cond(pred: Any, true: Boxed, false: Boxed, operands: Sequence = ()) -> list:
    """One of two arms; a predicate on a GPU is waited for."""
    return _unshared((true if pred else false)(list(operands)), operands)


def while_loop(
    test: Boxed, body: Boxed, carried: Sequence, additional: Sequence = (), *_: Any
) -> list:
    """The state after the last round; the state given, copied, if there is none."""
    state = list(carried)
    while test([*state, *additional])[0]:
        state = list(body([*state, *additional]))
    return _unshared(state, [*carried, *additional])


def while_loop_stack_output(
    test: Boxed, body: Boxed, carried: Sequence, additional: Sequence = (), *_: Any
) -> list:
    """The state after every round, stacked; the state given, as one row, if there is none."""
    state = list(carried)
    rows: list[list] = []
    while test([*state, *additional])[0]:
        state = list(body([*state, *additional]))
        rows.append(state)
    if not rows:
        return [v.unsqueeze(0).clone() if isinstance(v, torch.Tensor) else v for v in state]
    return [torch.stack(column) for column in zip(*rows, strict=True)]


def scan(combine: Boxed, init: Sequence, xs: Sequence, additional: Sequence = ()) -> list:
    """The last carry, then every round's other results stacked along a new first dimension."""
    count = xs[0].shape[0]
    carry = list(init)
    outs: list = []
    for k in range(count):
        results = combine([*carry, *(x.select(0, k) for x in xs), *additional])
        carry = list(results[: len(init)])
        _keep(outs, results[len(init) :], k, count)
    return [*_unshared(carry, [*init, *xs, *additional]), *outs]


def map_impl(body: Boxed, xs: Sequence, additional: Sequence = ()) -> list:
    """The body's results for each row of `xs`, stacked along a new first dimension."""
    count = xs[0].shape[0]
    outs: list = []
    for k in range(count):
        _keep(outs, body([*(x.select(0, k) for x in xs), *additional]), k, count)
    return outs


def associative_scan(combine: Boxed, xs: Sequence, additional: Sequence = ()) -> list:
    """Running combinations along the first dimension, one row after the other."""
    count = xs[0].shape[0]
    outs = [torch.empty_like(x) for x in xs]
    if count == 0:
        return outs
    running = [x.select(0, 0) for x in xs]
    for k in range(count):
        if k > 0:
            running = combine([*running, *(x.select(0, k) for x in xs), *additional])
        _keep(outs, running, k, count)
    return outs


def _keep(outs: list, rows: Sequence, k: int, count: int) -> None:
    """Put one round's results into their stacks, which the first round makes."""
    if not outs:
        outs.extend(
            torch.empty((count, *row.shape), dtype=row.dtype, device=row.device)
            if isinstance(row, torch.Tensor)
            else None
            for row in rows
        )
    for out, row in zip(outs, rows, strict=True):
        if out is not None:
            out.select(0, k).copy_(row)


def _unshared(results: Sequence, operands: Sequence) -> list:
    """The results, copied where they lie in an operand's memory or in an earlier result's."""
    taken = {t.untyped_storage()._cdata for t in operands if isinstance(t, torch.Tensor)}
    kept = []
    for result in results:
        if isinstance(result, torch.Tensor):
            if result.untyped_storage()._cdata in taken:
                result = result.clone()
            taken.add(result.untyped_storage()._cdata)
        kept.append(result)
    return kept


HOSTED = {
    function.__name__: function
    for function in (cond, while_loop, while_loop_stack_output, scan, map_impl, associative_scan)
}
