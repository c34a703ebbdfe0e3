"""Transformers with memories, experts and sparse attention: titans_pytorch,
recurrent_memory_transformer_pytorch, simple_hierarchical_transformer,
native_sparse_attention_pytorch, mixture_of_experts.
"""

from __future__ import annotations

import torch
from registry import add, of

R = torch.randn
IDS = torch.randint


# --- titans_pytorch --------------------------------------------------------------------------

_TITANS = "titans_pytorch"

for _name, _kwargs in {
    "plain": {},
    "heads": {"heads": 2, "dim_head": 8, "qk_rmsnorm": True, "post_rmsnorm": True},
    "pooled": {"attn_pool_chunks": True, "max_grad_norm": 1.0},
    "momentum2": {"momentum_order": 2, "learned_momentum_combine": True},
    "spectral": {"spectral_norm_surprises": True, "gated_transition": True, "batch_size": 8},
    "modulated": {"per_parameter_lr_modulation": True, "num_kv_per_token": 2},
}.items():
    add(
        _TITANS,
        f"NeuralMemory.{_name}",
        lambda k=_kwargs: (
            of(_TITANS, "NeuralMemory", dim=16, chunk_size=4, **k),
            (R(1, 16, 16),),
        ),
        modes=("eval",) if _name != "plain" else ("eval", "train"),
    )
for _name in ("MemoryAttention", "FactorizedMemoryMLP", "MemorySwiGluMLP"):
    add(
        _TITANS,
        f"NeuralMemory.{_name}",
        lambda n=_name: (
            of(
                _TITANS,
                "NeuralMemory",
                dim=16,
                chunk_size=4,
                model=of(_TITANS, n, 16, **({} if n == "MemoryAttention" else {"depth": 1})),
            ),
            (R(1, 16, 16),),
        ),
        modes=("eval",),
    )


def _mac(**kwargs: object) -> torch.nn.Module:
    return of(
        _TITANS, "MemoryAsContextTransformer", num_tokens=30, dim=16, depth=2, segment_len=8,
        dim_head=8, heads=2, num_residual_streams=2, **kwargs,
    )  # fmt: skip


for _name, _kwargs in {
    "plain": {"num_persist_mem_tokens": 2, "num_longterm_mem_tokens": 2},
    "gated": {"neural_mem_gate_attn_output": True, "neural_mem_weight_residual": True},
    "sliding": {"sliding_window_attn": True, "neural_memory_qkv_receives_diff_views": True},
}.items():
    add(
        _TITANS,
        f"MemoryAsContextTransformer.{_name}",
        lambda k=_kwargs: (_mac(**k), (IDS(0, 30, (1, 17)),), {"return_loss": True}),
        modes=("train",),
    )
add(
    _TITANS,
    "MemoryAsContextTransformer.sample",
    lambda: (_mac().eval().sample, (IDS(0, 30, (1, 4)), 8)),
)
add(
    _TITANS,
    "NestedAttention",
    lambda: (
        of("titans_pytorch.nested_attention", "NestedAttention", 16, dim_head=8, heads=2),
        (R(1, 8, 16),),
    ),
    modes=("eval",),
)

# --- recurrent_memory_transformer_pytorch ----------------------------------------------------

_RMT = "recurrent_memory_transformer_pytorch"


def _rmt(**kwargs: object) -> torch.nn.Module:
    settings = {"num_tokens": 30, "depth": 2, "num_memory_tokens": 2, "seq_len": 8}
    return of(
        _RMT, "RecurrentMemoryTransformer", 16, dim_head=8, heads=2, **(settings | kwargs)
    )  # fmt: skip


for _name, _kwargs in {
    "plain": {},
    "rotary": {"rotary_pos_emb": True, "abs_pos_emb": False},
    "enhanced": {"enhanced_xl_recurrence": True, "xl_mem_len": 4},
    "no_xl": {"use_xl_memories": False, "always_have_read_memories": False},
    "write": {"add_write_to_next_write_mem": True, "num_residual_streams": 1},
}.items():
    add(
        _RMT,
        f"RecurrentMemoryTransformer.{_name}",
        lambda k=_kwargs: (_rmt(**k), (IDS(0, 30, (1, 8)),)),
    )
for _name, _kwargs in {
    "Wrapper.loss": {"return_loss": True},
    "Wrapper.logits": {},
    "Wrapper.truncated": {"return_loss": True, "truncate_at_step": 1},
    "Wrapper.replay": {"memory_replay_backprop": True},
}.items():
    add(
        _RMT,
        _name,
        lambda k=_kwargs: (
            of(_RMT, "RecurrentMemoryTransformerWrapper", _rmt()),
            (IDS(0, 30, (1, 25)),),
            k,
        ),
        modes=("train",),
    )
add(
    _RMT,
    "Wrapper.generate",
    lambda: (
        of(_RMT, "RecurrentMemoryTransformerWrapper", _rmt()).generate,
        (IDS(0, 30, (1, 10)),),
        {"length": 14},
    ),
)

# --- simple_hierarchical_transformer ---------------------------------------------------------

_HIER = "simple_hierarchical_transformer"


def _hierarchical(**kwargs: object) -> torch.nn.Module:
    return of(
        _HIER, "HierarchicalTransformer", num_tokens=30, dim=16, depth=2, seq_len=16, dim_head=8,
        heads=2, **kwargs,
    )  # fmt: skip


for _name, _kwargs in {
    "plain": {},
    "two": {"hierarchies": (1, 2), "window_sizes": (8, None)},
    "merged": {"hierarchies": (1, 2), "hierarchy_merge_all": True},
    "all": {"hierarchies": (1, 4), "predict_use_all_hierarchy": True},
    "predict": {"hierarchies": (1, 2), "predict_hierarchy": 1, "hierarchical_stride": 1},
    "rollouts": {"hierarchies": (1, 2), "num_rollouts": 2},
}.items():
    add(
        _HIER,
        f"HierarchicalTransformer.{_name}",
        lambda k=_kwargs: (_hierarchical(**k), (IDS(1, 30, (1, 17)),), {"return_loss": True}),
        modes=("train",),
    )
add(
    _HIER,
    "HierarchicalTransformer.logits",
    lambda: (_hierarchical(hierarchies=(1, 2)), (IDS(1, 30, (1, 15)),)),
    modes=("eval",),
)
add(
    _HIER,
    "HierarchicalTransformer.generate",
    lambda: (_hierarchical(hierarchies=(1, 2)).generate, (IDS(1, 30, (1, 4)), 7)),
)

# --- native_sparse_attention_pytorch ---------------------------------------------------------

_NSA = "native_sparse_attention_pytorch"
_SPARSE = {
    "dim": 16, "dim_head": 8, "heads": 2, "sliding_window_size": 2, "compress_block_size": 4,
    "compress_block_sliding_stride": 2, "selection_block_size": 4, "num_selected_blocks": 2,
}  # fmt: skip

for _name, _kwargs in {
    "plain": {},
    "causal": {"causal": True},
    "gqa": {"causal": True, "kv_heads": 1, "query_heads_share_selected_kv": False},
    "diff_topk": {"causal": True, "use_diff_topk": True},
    "none_selected": {"causal": True, "num_selected_blocks": 0},
}.items():
    add(
        _NSA,
        f"SparseAttention.{_name}",
        lambda k=_kwargs: (of(_NSA, "SparseAttention", **(_SPARSE | k)), (R(1, 18, 16),)),
    )


def _sparse_step() -> tuple:
    attention = of(_NSA, "SparseAttention", causal=True, **_SPARSE)
    with torch.no_grad():
        _, cache = attention(R(1, 17, 16), return_cache=True)
    return attention, (R(1, 1, 16),), {"cache": cache, "return_cache": True}


add(_NSA, "SparseAttention.step", _sparse_step, modes=("eval",))


def _sparse_transformer(**kwargs: object) -> torch.nn.Module:
    settings = {key: value for key, value in _SPARSE.items() if "_" in key and key != "dim_head"}
    return of(
        f"{_NSA}.transformer", "Transformer", num_tokens=30, dim=16, depth=1, dim_head=8, heads=2,
        use_sparse_attn=True, sparse_attn_kwargs=settings, **kwargs,
    )  # fmt: skip


add(
    _NSA,
    "Transformer.loss",
    lambda: (_sparse_transformer(), (IDS(0, 30, (1, 17)),), {"return_loss": True}),
    modes=("train",),
)
add(
    _NSA,
    "Transformer.sample",
    lambda: (_sparse_transformer().sample, (IDS(0, 30, (1, 6)), 9), {"use_cache_kv": True}),
)
for _name in ("ConvLinearCompress", "GroupedMLP"):
    add(
        _NSA,
        _name,
        lambda n=_name: (
            of(f"{_NSA}.compress_networks", n, heads=2, dim_head=8, compress_window_size=4),
            (R(1, 2, 3, 4, 8),),
        ),
        modes=("eval",),
    )
add(
    _NSA,
    "AttentionPool",
    lambda: (of(f"{_NSA}.compress_networks", "AttentionPool", 8, 4), (R(1, 2, 3, 4, 8),)),
    modes=("eval",),
)

# --- mixture_of_experts ----------------------------------------------------------------------

for _policy in ("random", "all", "none"):
    add(
        "mixture_of_experts",
        f"MoE.{_policy}",
        lambda p=_policy: (
            of("mixture_of_experts", "MoE", 8, 4, second_policy_train=p, second_policy_eval=p),
            (R(2, 8, 8),),
        ),
    )
add(
    "mixture_of_experts",
    "HeirarchicalMoE",
    lambda: (of("mixture_of_experts", "HeirarchicalMoE", 8, (2, 2)), (R(2, 8, 8),)),
)
