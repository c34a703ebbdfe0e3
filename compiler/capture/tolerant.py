"""Traces on behind a graph break, without running anything.

Dynamo interprets bytecode symbolically, and under fullgraph it stops at the first instruction that
it can't interpret. Here it goes on behind two kinds of these:

- a call whose result is dropped (`print(x)`, `log.info(…)`, `time.sleep(1)`): its result is None;
- a jump on tensor data: one side is taken, and the other one in a later trace, until each side of
  each jump has been seen, or PASSES traces were made.

What follows is traced with the true shapes and types, so the breaks found there are real. A trace
ends at a call whose result is used: what that would be nobody knows without running it. The graph
is thrown away before the function returns, and no code of the user has run.
"""

from __future__ import annotations

import dis
import functools
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo
from torch._dynamo.exc import BackendCompilerFailed, Unsupported, UserError

from .recorder import RAISED, Recorder

PASSES = 32


class Finished(Unsupported):
    """The function is traced to its end. Dynamo takes it for a break, and cleans up."""

    def __init__(self) -> None:
        super().__init__("traced to its end")


class Sides:
    """Which side of which jump a trace takes, so that in the end each side was taken.

    A trace follows a plan as far as that goes, and then its own way. Each jump on that way whose
    other side nobody took yet gives a new plan.
    """

    def __init__(self) -> None:
        self._plans: list[tuple[bool, ...]] = [()]
        self._known: set[tuple[Any, bool]] = set()
        self._plan: tuple[bool, ...] = ()
        self._way: list[bool] = []
        self._last: dict[Any, bool] = {}

    def start(self) -> bool:
        """Begin a trace; False if each side was taken."""
        if not self._plans:
            return False
        self._plan, self._way, self._last = self._plans.pop(0), [], {}
        return True

    def open(self) -> bool:
        return bool(self._plans)

    def choose(self, jump: Any) -> bool:
        """True: jump."""
        at = len(self._way)
        if at < len(self._plan):
            side = self._plan[at]
        else:
            side = not self._last[jump] if jump in self._last else False  # a loop has to end
            self._known.add((jump, side))
            if (jump, not side) not in self._known:
                self._known.add((jump, not side))
                self._plans.append((*self._way, not side))
        self._way.append(side)
        self._last[jump] = side
        return side


def explore(
    fn: Callable,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic: bool | None,
    recorder: Recorder,
) -> bool:
    """Trace `fn` on these arguments and tell `recorder` of every break met.

    Returns whether every side of every jump was traced to its end: then there are no others.
    """
    from torch._dynamo import symbolic_convert

    translator = getattr(symbolic_convert, "InstructionTranslatorBase", None)
    root = getattr(symbolic_convert, "InstructionTranslator", None)
    if translator is None or root is None or not recorder.complete:
        return False
    sides, owner, to_the_end = Sides(), threading.get_ident(), True
    step = translator.step

    @functools.wraps(step)
    def tolerant(tx: Any) -> Any:
        if threading.get_ident() != owner:
            return step(tx)
        inst, stack = tx.instructions[tx.instruction_pointer], list(tx.stack)
        if isinstance(tx, root) and inst.opname.startswith("RETURN_"):
            raise Finished
        try:
            return step(tx)
        except (Unsupported, UserError) as error:
            if isinstance(error, Finished) or not _pass(tx, inst, stack, sides):
                raise
            recorder.add(error, "", tx.f_code.co_filename, tx.lineno or 0)
            return True

    translator.step = tolerant
    try:
        for _ in range(PASSES):
            if not sides.start():
                break
            to_the_end &= _trace(fn, args, kwargs, dynamic)
    finally:
        translator.step = step
    return to_the_end and not sides.open()


def _trace(
    fn: Callable, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: bool | None
) -> bool:
    """Whether one trace reached the end of `fn`, or a `raise` of its own."""
    compiled = torch.compile(fn, backend=_never, fullgraph=True, dynamic=dynamic)
    try:
        compiled(*args, **kwargs)
    except (Finished, BackendCompilerFailed):
        return True
    except Exception as error:
        return str(error).startswith(RAISED)
    return False


def _never(_gm: torch.fx.GraphModule, _inputs: Any) -> Callable:
    """The backend of a trace: where Dynamo calls it the graph is whole."""
    raise Finished


def _pass(tx: Any, inst: Any, stack: list[Any], sides: Sides) -> bool:
    """Bring `tx` behind `inst`, at which it failed with `stack`; False if that can't be done."""
    from torch._dynamo.variables import ConstantVariable

    after = tx.instructions[tx.instruction_pointer]
    name = inst.opname
    if name.startswith("CALL") and after.opname == "POP_TOP" and not name.startswith("CALL_INTR"):
        # 3.11 counts the arguments of CALL with PRECALL, which Dynamo passes over.
        effect = -inst.arg - 1 if name == "CALL" else dis.stack_effect(inst.opcode, inst.arg or 0)
        left = len(stack) + effect
        if left < 1:
            return False
        tx.stack[:] = [*stack[: left - 1], ConstantVariable.create(None)]
        return True
    if "JUMP" in name and "_IF_" in name and "NONE" not in name:
        jump = sides.choose((tx.f_code.co_filename, tx.lineno, tx.indexof[inst]))
        keeps = name.endswith("_OR_POP") and jump
        tx.stack[:] = stack if keeps else stack[:-1]
        if jump:
            tx.jump(inst)
        return True
    return False
