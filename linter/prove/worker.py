"""The process that proves: imports torch once, then forks a child for every proof.

Speaks JSON lines over two pipes that it is told the numbers of; its standard streams belong to the
project's code. Where there is no safe fork it proves one trial itself and ends.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

from .model import Status, Verdict
from .wire import Lines, decode_trial, encode_verdict, send


def main(setup: dict[str, Any]) -> None:
    """Serve until the other end closes the pipe."""
    receive, reply = setup["receive"], setup["send"]
    if os.name == "nt":
        import msvcrt

        receive = msvcrt.open_osfhandle(receive, os.O_RDONLY)  # type: ignore[attr-defined]
        reply = msvcrt.open_osfhandle(reply, 0)  # type: ignore[attr-defined]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Whether there is a GPU must be found out without touching it: forked children will.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    try:
        import torch
    except ImportError as error:
        send(reply, {"error": f"no torch ({error}); pip install 'compile-lint[compile]' there"})
        return
    try:
        prepare()
    except Exception as error:
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        why = f"torch {torch.__version__} can't be used for proofs ({text})"
        send(reply, {"error": f"{why}; pip install 'compile-lint[compile]' there"})
        return
    send(reply, {"torch": torch.__version__})
    _serve(receive, reply, setup["fork"])


def prepare() -> None:
    """Compile something small: what that imports and builds is then there for every child.

    Raises:
        Exception: This torch, or our compiler with it, doesn't work.
    """
    import torch

    from .capture import Capture

    torch.set_num_threads(1)
    x = torch.ones(3, 2)
    # With a GPU the first backward pass starts threads, which forked children would lack.
    x.requires_grad_(torch.cuda.device_count() == 0)
    out = Capture().compiled(lambda x: torch.where(x.sum() > 0, x.relu(), x.sqrt()).sum())(x)
    if out.requires_grad:
        out.backward()
    torch._dynamo.reset()


def _serve(receive: int, reply: int, fork: bool) -> None:
    lines = Lines(receive)
    if fork:
        from .jail import OwnerGone, adopt_orphans, kill_descendants

        adopt_orphans()
    while True:
        request = lines.take()
        if request is None:
            if not lines.fill():
                return
            continue
        if not fork:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)  # who knows how much the project prints
            os.dup2(null, 2)
            _prove(request, lambda value: None if "stage" in value else send(reply, value))
            return
        try:
            answer = _forked(request, receive)
        except OwnerGone:
            return
        finally:
            kill_descendants()
        send(reply, answer)


def _forked(request: dict[str, Any], owner: int) -> dict[str, Any]:
    from . import jail

    limits = jail.Limits(request["limit"], request["memory"], request["processes"])
    ended = jail.run(lambda say: _prove(request, say), limits, owner)
    if ended.reply is not None:
        return ended.reply
    verdict = Verdict(Status.UNPROVED, f"the proof {ended.reason}")
    return {"verdict": encode_verdict(verdict)}


def _prove(request: dict[str, Any], say: Callable[[Any], None]) -> None:
    from .proof import prove

    try:
        verdict = prove(decode_trial(request["trial"]), lambda stage: say({"stage": stage}))
    except BaseException as error:  # ours: no verdict is better than a wrong one
        traceback.print_exc()
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        place = f"{os.path.basename(where.filename)}:{where.lineno}"
        reason = f"the proof failed in compile-lint itself (please report it): {text} ({place})"
        verdict = Verdict(Status.UNPROVED, reason)
    say({"verdict": encode_verdict(verdict)})
