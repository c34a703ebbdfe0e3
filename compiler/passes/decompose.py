"""Which ATen operators are spelt out in simpler ones before we lower them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, decomposition_table

from ..ops.table import lowering_of
from ..settings import Settings

# ATen's own kernels do these at least as well as what they would be spelt out in.
BY_ATEN = frozenset(
    "mm bmm addmm addmv addr addbmm baddbmm mv dot vdot _addmm_activation "
    "lstm gru rnn_relu rnn_tanh pdist _euclidean_dist bucketize take renorm grid_sampler_2d "
    "_scaled_dot_product_flash_attention_for_cpu max_pool2d_with_indices max_pool3d_with_indices "
    "max_unpool2d max_unpool3d adaptive_max_pool2d adaptive_max_pool3d cudnn_batch_norm "
    "cudnn_batch_norm_backward miopen_batch_norm_backward _fused_rms_norm _weight_norm_interface "
    # Its decomposition hands a real tensor back where AOTAutograd's fake ones are.
    "lift_fresh "
    # Theirs end in writes through views, which no functional graph has.
    "as_strided_scatter complex polar "
    # Random numbers are eager's own, draw by draw.
    "bernoulli uniform normal randn exponential cauchy geometric log_normal dropout alpha_dropout "
    "native_dropout _fused_dropout".split()
)


def will_lower(inputs: Sequence[Any], settings: Settings) -> bool:
    """Whether kernels are generated for a graph with these inputs.

    CPU tensors run by ATen, and then the graph stays as eager would run it, operator by operator.
    """
    if settings.interpret or settings.target is not None:
        return True
    return any(isinstance(x, torch.Tensor) and x.device.type == "cuda" for x in inputs)


def decompositions(inputs: Sequence[Any], settings: Settings) -> dict[Any, Callable]:
    """The decomposition table for AOTAutograd; empty where ATen runs the graph."""
    return dict(_table()) if will_lower(inputs, settings) else {}


@lru_cache(maxsize=1)
def _table() -> dict[Any, Callable]:
    whole = {**decomposition_table, **core_aten_decompositions()}
    table = {op: spelt for op, spelt in whole.items() if _wanted(op)}
    for op in (torch.ops.aten._softmax.default, torch.ops.aten._log_softmax.default):
        table[op] = _of_floats(table[op])
    for op in (torch.ops.aten.index_add.default, torch.ops.aten.index_copy.default):
        table[op] = _by_vector(table[op])
    return table


def _of_floats(spelt: Callable) -> Callable:
    """A decomposition for floating point alone; of whole numbers ATen takes none but no number."""

    def decomposed(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return spelt(x, *args, **kwargs) if x.is_floating_point() else NotImplemented

    return decomposed


def _by_vector(spelt: Callable) -> Callable:
    """A decomposition that takes an index of no dimension, too; torch's own drops that of `x`."""

    def decomposed(
        x: torch.Tensor, dim: int, index: torch.Tensor, *args: Any, **kwargs: Any
    ) -> Any:
        return spelt(x, dim, index.reshape(-1), *args, **kwargs)

    return decomposed


def _wanted(op: Any) -> bool:
    if not isinstance(op, torch._ops.OpOverload):
        return False
    name = op._schema.name.removeprefix("aten::")
    if name in BY_ATEN or name.startswith("fft_"):
        return False
    return lowering_of(op) is None
