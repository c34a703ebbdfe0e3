"""What torch.cond and torch.while_loop mean, as plain Python.

Run by themselves, these operators compile their arms. Where that fails (arms that differ in dtype,
that write to what they close over), there is no eager original to compare a repair with: then it is
this meaning that counts.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo.exc as dynamo_exc
import torch._higher_order_ops as higher_order_ops
from torch._higher_order_ops.cond import cond as torch_cond
from torch._higher_order_ops.while_loop import while_loop as torch_while_loop


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """As torch.cond."""
    return (true_fn if pred else false_fn)(*operands)


def while_loop(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carried_inputs: Any,
    additional_inputs: Any = (),
) -> Any:
    """As torch.while_loop."""
    state = tuple(carried_inputs)
    while cond_fn(*state, *additional_inputs):
        made = body_fn(*state, *additional_inputs)
        state = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    return state


_PLAIN = ((torch_cond, cond), (torch_while_loop, while_loop))


def is_refused(error: BaseException | None) -> bool:
    """Whether an eager run ended because an operator of control flow couldn't compile its arms."""
    return isinstance(error, dynamo_exc.TorchDynamoException)


@contextlib.contextmanager
def plain(module: types.ModuleType) -> Iterator[None]:
    """Give torch, and a module that imported them by name, the plain versions."""
    homes: list[Any] = [torch, higher_order_ops, module]
    undo: list[tuple[Any, str, Any]] = []
    for home in homes:
        for name, value in list(vars(home).items()):
            for real, ours in _PLAIN:
                if value is real:
                    undo.append((home, name, real))
                    setattr(home, name, ours)
    try:
        yield
    finally:
        for home, name, real in undo:
            setattr(home, name, real)
