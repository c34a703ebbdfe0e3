"""Calls recorded as CUDA graphs and replayed: no host work between kernels.

torch's own CUDA graph trees record, warm up, share memory between graphs, copy changing inputs and
keep outputs that are still in use. Here it's decided what may be recorded, and what is so little
that a graph of its own is quicker (`replay`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import torch
from torch._guards import TracingContext

from .replay import Replay, is_little

log = logging.getLogger("compile_lint.kernels")


class Recorder:
    """Wraps the stages of one captured function; forward and backward go together."""

    def __init__(self) -> None:
        self._recorded = True
        self._device = 0

    def wrap(
        self, run: Callable[[list], Sequence], gm: torch.fx.GraphModule, inputs: list, stage: str
    ) -> Callable[[list], Sequence]:
        """`run`, recorded; or as it is, with the reason logged, where that can't be."""
        from torch._dynamo.backends.cudagraphs import (
            check_for_skip,
            find_input_mutations,
            get_device_index,
            get_stack_traces,
        )
        from torch._inductor.cudagraph_trees import cudagraphify_impl, get_manager
        from torch._inductor.cudagraph_utils import get_placeholder_info
        from torch._inductor.utils import count_tangents

        backward = stage == "backward"
        if backward and not self._recorded:
            return run
        fixed = list(range(count_tangents(gm))) if backward else _static_inputs()
        # torch's check knows static inputs as the first ones only; ours may stand anywhere.
        reason = check_for_skip(gm, len(inputs))
        if find_input_mutations(gm.graph) - set(fixed):
            reason = "it writes into an input whose memory changes from call to call"
        if reason is not None:
            log.info("the %s graph isn't recorded: %s", stage, reason)
            if not backward:
                self._recorded = False
                return run
            manager = get_manager(self._device, create_if_none_exists=False)

            def unrecorded(args: list) -> Sequence:
                if manager is not None:
                    manager.set_to_running_backward()
                return run(args)

            return unrecorded
        self._device = get_device_index(gm)
        log.info("the %s graph is recorded at its second call", stage)

        def trees() -> Callable[[list], Sequence]:
            return cudagraphify_impl(
                run,  # pyright: ignore[reportArgumentType]
                inputs,
                fixed,
                device_index=self._device,
                is_backward=backward,
                is_inference=stage == "inference",
                stack_traces=get_stack_traces(gm),
                placeholders=get_placeholder_info(gm.graph),
                mutated_input_idxs=find_input_mutations(gm.graph),
            )

        if stage == "inference" and is_little(gm):
            return Replay(run, fixed, self._device, trees)
        return trees()


def _static_inputs() -> list[int]:
    """Inputs whose memory stays where it is: parameters and buffers."""
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    return list(metadata.static_input_indices) if metadata is not None else []
