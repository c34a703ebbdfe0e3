"""Hooks inside Dynamo that write down every graph break, hard error and recompilation."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import torch
import torch._dynamo.convert_frame as convert_frame
import torch._dynamo.exc as dynamo_exc
import torch._dynamo.symbolic_convert as symbolic_convert

GLUE = "*** While handling this graph break, another graph break occurred: ***"
SITE = f"{Path(torch.__file__).parents[1]}/"


class Recorder:
    """Collects every graph break, every hard error and every recompilation Dynamo reports.

    Dynamo's counters are not enough: they never count a data-dependent jump, nor what resumed
    frames do, so this hooks ``log_graph_break`` and ``_compile`` themselves.
    """

    def __init__(self) -> None:
        self.path = ""
        self.breaks: list[dict[str, Any]] = []
        self.recompiles: list[str] = []
        self.skips: list[str] = []

    def start(self, path: str) -> None:
        self.path, self.breaks, self.recompiles, self.skips = path, [], [], []

    def line_of(self, exc: BaseException) -> int | None:
        """Innermost line of the snippet that the error speaks of."""
        stack = getattr(exc, "real_stack", None) or []
        for frame in reversed(list(stack)):
            if frame.filename == self.path:
                return frame.lineno
        text = str(exc)
        if "from user code:" in text:
            hits = re.findall(
                rf'File "{re.escape(self.path)}", line (\d+)', text.split("from user code:")[-1]
            )
            if hits:
                return int(hits[-1])
        return None

    def add(self, exc: BaseException, how: str, fallback: int | None) -> None:
        if getattr(exc, "_recorded", False):
            return
        exc._recorded = True  # type: ignore[attr-defined]
        msg = (getattr(exc, "msg", None) or str(exc)).replace(SITE, "")
        parts = [p.strip() for p in msg.split(GLUE)]
        first = parts[0].splitlines()[0].strip() if parts[0] else ""
        context = re.search(r"Developer debug context: (.*)", parts[0])
        line = self.line_of(exc)
        self.breaks.append(
            {
                "line": line if line is not None else fallback,
                "ids": list(dict.fromkeys("GB" + n for n in re.findall(r"/gb(\d{4})\.html", msg))),
                "type": first[:160] or type(exc).__name__,
                "exc": type(exc).__name__,
                "context": context[1][:120] if context else "",
                "how": how,
            }
        )

    def install(self) -> None:
        log = symbolic_convert.InstructionTranslatorBase.log_graph_break
        compile_frame = convert_frame._compile
        reasons = convert_frame.get_and_maybe_log_recompilation_reasons

        @functools.wraps(log)
        def log_graph_break(tx, code_options, reason, exc):
            how = "resume"
            if reason.startswith("Encountered graph break that we cannot resume"):
                how = "skip-rest"
            elif reason.startswith("Failed to handle"):
                how = "skip-frame"
            self.add(exc, how, tx.lineno if tx.f_code.co_filename == self.path else None)
            return log(tx, code_options, reason, exc)

        @functools.wraps(compile_frame)
        def _compile(code, *args, **kwargs):
            own = code.co_filename == self.path
            try:
                result = compile_frame(code, *args, **kwargs)
            except (dynamo_exc.TorchDynamoException, AssertionError, IndexError) as exc:
                self.add(exc, "error", code.co_firstlineno if own else None)
                raise
            returned = result[0] if isinstance(result, tuple) else result
            reason = getattr(returned, "skip_reason", None)
            if own and reason:
                self.skips.append(f"{code.co_name}: {str(reason).splitlines()[0]}"[:160])
            return result

        @functools.wraps(reasons)
        def recompilation_reasons(*args, **kwargs):
            found = reasons(*args, **kwargs)
            first = str(found[0] if found else "unknown").splitlines()[0]
            self.recompiles.append(re.sub(r"\s+# .*", "", first)[:160])
            return found

        symbolic_convert.InstructionTranslatorBase.log_graph_break = log_graph_break
        convert_frame._compile = _compile
        convert_frame.get_and_maybe_log_recompilation_reasons = recompilation_reasons
