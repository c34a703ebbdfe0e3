"""Listens to Dynamo while it captures, and writes down every graph break.

Dynamo's counters don't know of data-dependent jumps, and its log drops repetitions and is text
only. So two of its functions are wrapped while we listen, in the thread that listens. Where a
version of torch lacks them, nothing is heard and `complete` is False.
"""

from __future__ import annotations

import copy
import functools
import threading
from types import CodeType
from typing import Any

from . import breaks
from .breaks import OURS, GraphBreak

# How Dynamo starts the reason that it logs.
OUTCOMES = (
    ("Encountered graph break that we cannot resume", "skip-rest"),
    ("Failed to handle", "skip-frame"),
)
# The program's own `raise`, on a side that it may never take.
RAISED = "Observed exception"
_LISTENING = threading.RLock()


class Recorder:
    """A context manager that collects what Dynamo reports in this thread.

    Args:
        home: File, line and name of the function looked at, for breaks that come without a place.
        ignored: Exceptions that are no breaks.

    Attributes:
        breaks: Every break, in the order of their discovery, each once.
        fresh: The code objects that Dynamo had compiled nothing of before.
        complete: Whether this version of torch could be listened to.
    """

    def __init__(
        self, home: tuple[str, int, str], ignored: tuple[type[BaseException], ...] = ()
    ) -> None:
        self.home = home
        self.ignored = ignored
        self.breaks: dict[tuple[str, int, str], GraphBreak] = {}
        self.fresh: dict[CodeType, bool] = {}
        self.complete = False
        self.breaking = True  # whether Dynamo is let go on after a break
        self._undo: list[tuple[Any, str, Any]] = []
        self._sizes: Any = None

    def add(self, error: BaseException, how: str, file: str = "", line: int = 0) -> None:
        if isinstance(error, self.ignored):
            return
        if not file or file.startswith(OURS):
            file, line, function = self.home
        else:
            function = ""
        found = breaks.of(error, how, file, line, function)
        if self.breaks and not self.breaking and found.type.startswith(RAISED):
            return
        known = self.breaks.get(found.place)
        # A break met in an inlined function is met again when that function is tried by itself.
        if known is None or (known.how in ("", "resume") and how not in ("", "resume")):
            self.breaks[found.place] = found

    def __enter__(self) -> Recorder:
        from torch._dynamo import convert_frame, exc, symbolic_convert

        _LISTENING.acquire()
        self._sizes = copy.deepcopy(_sizes_seen())
        owner = threading.get_ident()
        translator = getattr(symbolic_convert, "InstructionTranslatorBase", None)
        log = getattr(translator, "log_graph_break", None)
        compile_frame = getattr(convert_frame, "_compile", None)
        self.complete = log is not None and compile_frame is not None
        if log is None or compile_frame is None:
            return self

        @functools.wraps(log)
        def log_graph_break(tx: Any, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == owner:
                given = (*args, *kwargs.values())
                reason = next((a for a in given if isinstance(a, str)), "")
                how = next((o for start, o in OUTCOMES if reason.startswith(start)), "resume")
                for error in given:
                    if isinstance(error, BaseException):
                        self.add(error, how, tx.f_code.co_filename, tx.lineno or 0)
            return log(tx, *args, **kwargs)

        @functools.wraps(compile_frame)
        def _compile(code: CodeType, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != owner:
                return compile_frame(code, *args, **kwargs)
            if code not in self.fresh:
                self.fresh[code] = not compiled_before(code)
            try:
                return compile_frame(code, *args, **kwargs)
            except exc.TorchDynamoException as error:
                skipped = getattr(error, "skip_frame", False)
                how = ("skip-frame" if skipped else "error") if self.breaking else ""
                self.add(error, how, code.co_filename, code.co_firstlineno)
                raise

        self._replace(translator, "log_graph_break", log_graph_break)
        self._replace(convert_frame, "_compile", _compile)
        return self

    def __exit__(self, *_: object) -> None:
        while self._undo:
            owner, name, value = self._undo.pop()
            setattr(owner, name, value)
        _LISTENING.release()

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def forget(self) -> None:
        """Undo what Dynamo has decided about code that it first saw while we listened.

        A function that it gave up on (a break in a loop) would otherwise never be tried again, and
        sizes seen in a trial run would count as seen: Dynamo makes a size that changes a symbol.
        """
        from torch._dynamo import eval_frame

        reset = getattr(eval_frame, "reset_code", None)
        if reset is not None:
            for code, fresh in self.fresh.items():
                if fresh:
                    reset(code)
        seen = _sizes_seen()
        if seen is not None:
            seen.clear()
            seen.update(self._sizes)


def _sizes_seen() -> Any:
    """Which sizes Dynamo has seen, by function; None where torch doesn't tell."""
    from torch._dynamo import pgo

    read = getattr(pgo, "get_code_state", None)
    return read() if read is not None else None


def compiled_before(code: CodeType) -> bool:
    """Whether Dynamo holds compiled versions of `code`."""
    from torch._C._dynamo import eval_frame

    entries = getattr(eval_frame, "_debug_get_cache_entry_list", None)
    return bool(entries(code)) if entries is not None else True
