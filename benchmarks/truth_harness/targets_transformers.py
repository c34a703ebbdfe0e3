"""x_transformers, and transformers with local, linear or rotary attention."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add

R = torch.randn


def tokens(batch: int = 2, length: int = 16, top: int = 50) -> torch.Tensor:
    return torch.randint(1, top, (batch, length))


def _xt(
    wrapper: str | None = None, method: str | None = None, lengths: bool = False, **layers: object
):
    def build() -> tuple:
        xt = import_module("x_transformers")
        options = {k[5:]: layers.pop(k) for k in list(layers) if k.startswith("wrap_")}
        decoder = xt.Decoder(dim=32, depth=2, heads=2, attn_dim_head=16, **layers)
        net = xt.TransformerWrapper(num_tokens=50, max_seq_len=24, attn_layers=decoder, **options)
        if wrapper is None:
            mask = torch.ones(2, 16, dtype=torch.bool)
            mask[1, 10:] = False
            return net, (tokens(),), {"mask": mask} if lengths else {}
        net = getattr(xt, wrapper)(net)
        return (getattr(net, method) if method else net), (tokens(2, 17),) if not method else (
            tokens(2, 4),
            6,
        )

    return build


for _name, _options in {
    "decoder": {},
    "rotary": {"rotary_pos_emb": True},
    "alibi": {"alibi_pos_bias": True},
    "rel_pos": {"rel_pos_bias": True},
    "dynamic_pos": {"dynamic_pos_bias": True, "dynamic_pos_bias_log_distance": False},
    "flash": {"attn_flash": True},
    "talking_heads": {"attn_pre_talking_heads": True},
    "kv_heads": {"attn_kv_heads": 1},
    "qk_norm": {"attn_qk_norm": True},
    "sparse_topk": {"attn_sparse_topk": 4},
    "macaron": {"macaron": True},
    "layer_dropout": {"layer_dropout": 0.2, "attn_dropout": 0.1, "ff_dropout": 0.1},
    "shift_tokens": {"shift_tokens": 1},
    "memory": {"wrap_num_memory_tokens": 4},
    "emb_dropout": {"wrap_emb_dropout": 0.1},
    "xpos": {"rotary_xpos": True},
    "hyper_connections": {"num_residual_streams": 2},
    "residual_attn": {"residual_attn": True},
    "gate": {"attn_gate_values": True},
    "resi_dual": {"resi_dual": True},
    "sandwich": {"sandwich_norm": True},
    "value_residual": {"learned_value_residual_mix": True, "attn_add_value_residual": True},
    "one_kv_head": {"attn_one_kv_head": True},
    "cog": {"attn_cog_signed": True},
    "softclamp": {"attn_softclamp_logits": True},
    "scaled_sin": {"wrap_scaled_sinu_pos_emb": True},
    "data_dep_alibi": {"attn_data_dependent_alibi": True},
    "reinject": {"reinject_input": True},
    "polar": {"polar_pos_emb": True},
    "laser": {"attn_laser": True},
}.items():
    add("x_transformers", _name, _xt(**dict(_options)), modes=("eval",))
    if "drop" in _name:
        add("x_transformers", _name + "+train", _xt(**dict(_options)), modes=("train",))
add("x_transformers", "mask", _xt(lengths=True), modes=("eval",))
add("x_transformers", "autoregressive", _xt("AutoregressiveWrapper"))
add("x_transformers", "autoregressive.generate", _xt("AutoregressiveWrapper", "generate"))
add(
    "x_transformers",
    "nonautoregressive",
    lambda: (
        import_module("x_transformers").NonAutoregressiveWrapper(
            import_module("x_transformers").TransformerWrapper(
                num_tokens=51,
                max_seq_len=16,
                attn_layers=import_module("x_transformers").Encoder(dim=32, depth=1, heads=2),
            ),
            mask_id=50,
        ),
        (tokens(),),
    ),
)
add(
    "x_transformers",
    "xl",
    lambda: (
        import_module("x_transformers").XLAutoregressiveWrapper(
            import_module("x_transformers").TransformerWrapper(
                num_tokens=50,
                max_seq_len=8,
                max_mem_len=8,
                attn_layers=import_module("x_transformers").Decoder(
                    dim=32, depth=1, heads=2, rel_pos_bias=True
                ),
            )
        ),
        (tokens(2, 17),),
    ),
)
add(
    "x_transformers",
    "xtransformer",
    lambda: (
        import_module("x_transformers").XTransformer(
            dim=32,
            enc_num_tokens=50,
            enc_depth=1,
            enc_heads=2,
            enc_max_seq_len=16,
            dec_num_tokens=50,
            dec_depth=1,
            dec_heads=2,
            dec_max_seq_len=16,
        ),
        (tokens(), tokens()),
    ),
)
add(
    "x_transformers",
    "continuous",
    lambda: (
        import_module("x_transformers").ContinuousTransformerWrapper(
            dim_in=8,
            dim_out=8,
            max_seq_len=16,
            attn_layers=import_module("x_transformers").Encoder(dim=32, depth=1, heads=2),
        ),
        (R(2, 16, 8),),
        {"lens": torch.tensor([16, 9])},
    ),
)
add(
    "x_transformers",
    "vit",
    lambda: (
        import_module("x_transformers").ViTransformerWrapper(
            image_size=32,
            patch_size=8,
            num_classes=5,
            attn_layers=import_module("x_transformers").Encoder(dim=32, depth=1, heads=2),
        ),
        (R(2, 3, 32, 32),),
    ),
)
add(
    "x_transformers",
    "xval",
    lambda: (
        import_module("x_transformers").XValAutoregressiveWrapper(
            import_module("x_transformers").XValTransformerWrapper(
                num_tokens=50,
                numerical_token_id=3,
                max_seq_len=16,
                attn_layers=import_module("x_transformers").Decoder(dim=32, depth=1, heads=2),
            )
        ),
        (tokens(2, 10), R(2, 10)),
    ),
)


add(
    "performer_pytorch",
    "PerformerLM",
    lambda: (
        import_module("performer_pytorch").PerformerLM(
            num_tokens=50,
            max_seq_len=32,
            dim=32,
            depth=1,
            heads=2,
            dim_head=16,
            causal=False,
            nb_features=8,
        ),
        (tokens(2, 32),),
    ),
)
add(
    "performer_pytorch",
    "PerformerLM.redraw",
    lambda: (
        import_module("performer_pytorch").PerformerLM(
            num_tokens=50,
            max_seq_len=32,
            dim=32,
            depth=1,
            heads=2,
            dim_head=16,
            causal=False,
            nb_features=8,
            feature_redraw_interval=1,
            generalized_attention=False,
        ),
        (tokens(2, 32),),
    ),
    modes=("train",),
)
add(
    "performer_pytorch",
    "Performer.reversible",
    lambda: (
        import_module("performer_pytorch").Performer(
            dim=32,
            depth=1,
            heads=2,
            dim_head=16,
            reversible=True,
            nb_features=8,
            generalized_attention=True,
        ),
        (R(1, 16, 32),),
    ),
)
add(
    "performer_pytorch",
    "Performer.local",
    lambda: (
        import_module("performer_pytorch").Performer(
            dim=32,
            depth=1,
            heads=2,
            dim_head=16,
            local_attn_heads=1,
            local_window_size=8,
            nb_features=8,
        ),
        (R(1, 16, 32),),
        {"mask": torch.ones(1, 16, dtype=torch.bool)},
    ),
)
add(
    "performer_pytorch",
    "PerformerLM.loss",
    lambda: (
        import_module("performer_pytorch").AutoregressiveWrapper(
            import_module("performer_pytorch").PerformerLM(
                num_tokens=50, max_seq_len=32, dim=32, depth=1, heads=2, dim_head=16, nb_features=8
            )
        ),
        (tokens(2, 33),),
    ),
)
add(
    "local_attention",
    "LocalTransformer",
    lambda: (
        import_module("local_attention").LocalTransformer(
            num_tokens=50,
            dim=32,
            depth=1,
            heads=2,
            dim_head=16,
            max_seq_len=32,
            causal=True,
            local_attn_window_size=8,
        ),
        (tokens(2, 32),),
    ),
)
add(
    "local_attention",
    "LocalTransformer.loss",
    lambda: (
        import_module("local_attention").LocalTransformer(
            num_tokens=50,
            dim=32,
            depth=1,
            heads=2,
            dim_head=16,
            max_seq_len=32,
            causal=True,
            local_attn_window_size=8,
            use_dynamic_pos_bias=True,
        ),
        (tokens(2, 33),),
        {"return_loss": True},
    ),
)
add(
    "local_attention",
    "LocalTransformer.generate",
    lambda: (
        import_module("local_attention")
        .LocalTransformer(
            num_tokens=50,
            dim=32,
            depth=1,
            heads=2,
            dim_head=16,
            max_seq_len=32,
            causal=True,
            local_attn_window_size=8,
        )
        .generate,
        (tokens(2, 3), 4),
    ),
)
add(
    "local_attention",
    "LocalAttention.mask",
    lambda: (
        import_module("local_attention").LocalAttention(
            dim=16, window_size=8, autopad=True, exact_windowsize=True, use_xpos=True, causal=True
        ),
        (R(2, 20, 16), R(2, 20, 16), R(2, 20, 16)),
        {"mask": torch.ones(2, 20, dtype=torch.bool)},
    ),
)
for _name, _kwargs in {
    "lang": {},
    "xpos": {"use_xpos": True},
    "pixel": {"freqs_for": "pixel"},
    "learned": {"learned_freq": True},
    "interpolate": {"interpolate_factor": 2.0},
}.items():

    def _rotary(k: dict = _kwargs) -> tuple:
        rotary = import_module("rotary_embedding_torch").RotaryEmbedding(dim=16, **k)
        if k.get("use_xpos"):
            return rotary.rotate_queries_and_keys, (R(1, 2, 12, 16), R(1, 2, 12, 16))
        return rotary.rotate_queries_or_keys, (R(1, 2, 12, 16),)

    add("rotary_embedding_torch", _name, _rotary)
add(
    "rotary_embedding_torch",
    "cached",
    lambda: (
        import_module("rotary_embedding_torch")
        .RotaryEmbedding(dim=16)
        .rotate_queries_with_cached_keys,
        (R(1, 2, 1, 16), R(1, 2, 12, 16)),
    ),
)
add(
    "rotary_embedding_torch",
    "axial",
    lambda: (
        import_module("rotary_embedding_torch")
        .RotaryEmbedding(dim=8, freqs_for="pixel")
        .get_axial_freqs,
        (4, 5),
    ),
)
