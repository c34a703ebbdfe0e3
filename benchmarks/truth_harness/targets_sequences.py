"""Language models and losses: block_recurrent_transformer_pytorch, curated_transformers,
sentence_transformers, sinkhorn_transformer, x_clip.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np
import torch
from registry import add

R = torch.randn
IDS = torch.randint

# --- sentence_transformers -------------------------------------------------------------------

_ST = "sentence_transformers"
_WORDS = [f"w{number}" for number in range(20)]


def _model(*more: torch.nn.Module, pooling: str = "mean") -> torch.nn.Module:
    parts = import_module(f"{_ST}.models")
    words = import_module(f"{_ST}.sentence_transformer.modules.tokenizer").WhitespaceTokenizer(
        _WORDS
    )
    embeddings = parts.WordEmbeddings(words, np.random.default_rng(0).normal(size=(20, 8)), True)
    modules = [embeddings, *more, parts.Pooling(8, pooling)]
    return import_module(_ST).SentenceTransformer(modules=modules, device="cpu")


def _features(count: int = 4, length: int = 5) -> dict:
    return {
        "input_ids": IDS(0, 20, (count, length)),
        "attention_mask": torch.ones(count, length, dtype=torch.long),
        "sentence_lengths": torch.full((count,), length),
    }


for _pooling in ("mean", "max", "mean_sqrt_len_tokens", "lasttoken", "weightedmean"):
    add(
        _ST,
        f"SentenceTransformer.{_pooling}",
        lambda p=_pooling: (_model(pooling=p), (_features(),)),
        modes=("eval",) if _pooling != "mean" else ("eval", "train"),
    )


def _part(name: str, *args: object, **kwargs: object) -> torch.nn.Module:
    return getattr(import_module(f"{_ST}.models"), name)(*args, **kwargs)


add(_ST, "LSTM", lambda: (_model(_part("LSTM", 8, 4)), (_features(),)))
add(_ST, "CNN", lambda: (_part("CNN", 8, 4), ({"token_embeddings": R(2, 5, 8)},)))
add(_ST, "Dense", lambda: (_part("Dense", 8, 4), ({"sentence_embedding": R(2, 8)},)))
add(
    _ST,
    "WeightedLayerPooling",
    lambda: (
        _part("WeightedLayerPooling", 8, num_hidden_layers=4, layer_start=2),
        (
            {
                "all_layer_embeddings": [R(2, 5, 8) for _ in range(5)],
                "cls_token_embeddings": R(2, 8),
            },
        ),
    ),
)
add(
    _ST,
    "WordWeights",
    lambda: (
        _part("WordWeights", _WORDS, {"w1": 2.0}),
        (_features() | {"token_embeddings": R(4, 5, 8), "token_weights_sum": torch.ones(4)},),
    ),
)


def _loss(name: str, columns: int, labels: torch.Tensor | None, **kwargs: object) -> tuple:
    loss = getattr(import_module(f"{_ST}.losses"), name)(_model(), **kwargs)
    return loss, ([_features() for _ in range(columns)], labels)


for _name, (_columns, _labels) in {
    "MultipleNegativesRankingLoss": (2, None),
    "MultipleNegativesSymmetricRankingLoss": (2, None),
    "CosineSimilarityLoss": (2, torch.rand(4)),
    "CoSENTLoss": (2, torch.rand(4)),
    "AnglELoss": (2, torch.rand(4)),
    "ContrastiveLoss": (2, torch.tensor([1, 0, 1, 0])),
    "OnlineContrastiveLoss": (2, torch.tensor([1, 0, 1, 0])),
    "TripletLoss": (3, None),
    "BatchAllTripletLoss": (1, torch.tensor([1, 0, 1, 0])),
    "BatchHardTripletLoss": (1, torch.tensor([1, 0, 1, 0])),
    "BatchHardSoftMarginTripletLoss": (1, torch.tensor([1, 0, 1, 0])),
    "BatchSemiHardTripletLoss": (1, torch.tensor([1, 0, 1, 0])),
    "MarginMSELoss": (3, torch.rand(4)),
    "MSELoss": (1, R(4, 8)),
    "ContrastiveTensionLossInBatchNegatives": (2, torch.tensor([1, 0, 1, 0])),
    "DistillKLDivLoss": (3, torch.rand(4, 2)),
    "GlobalOrthogonalRegularizationLoss": (2, None),
    "MegaBatchMarginLoss": (2, None),
}.items():
    add(
        _ST,
        _name,
        lambda n=_name, c=_columns, y=_labels: _loss(n, c, y),
        modes=("train",),
    )
add(
    _ST,
    "SoftmaxLoss",
    lambda: _loss(
        "SoftmaxLoss", 2, torch.tensor([0, 1, 2, 0]), embedding_dimension=8, num_labels=3
    ),
    modes=("train",),
)


def _matryoshka() -> tuple:
    losses = import_module(f"{_ST}.losses")
    model = _model()
    inner = losses.MultipleNegativesRankingLoss(model)
    loss = losses.MatryoshkaLoss(model, inner, matryoshka_dims=[8, 4])
    return loss, ([_features(), _features()], None)


add(_ST, "MatryoshkaLoss", _matryoshka, modes=("train",))


for _name, _args in {
    "cos_sim": lambda: (R(3, 8), R(4, 8)),
    "pairwise_cos_sim": lambda: (R(3, 8), R(3, 8)),
    "dot_score": lambda: (R(3, 8), R(4, 8)),
    "euclidean_sim": lambda: (R(3, 8), R(4, 8)),
    "manhattan_sim": lambda: (R(3, 8), R(4, 8)),
    "pairwise_angle_sim": lambda: (R(3, 8), R(3, 8)),
    "semantic_search": lambda: (R(2, 8), R(6, 8)),
    "community_detection": lambda: (R(12, 8), 0.1, 2),
}.items():
    add(
        _ST,
        f"util.{_name}",
        lambda n=_name, a=_args: (getattr(import_module(f"{_ST}.util"), n), a()),
    )
for _name, _args in {
    "normalize_embeddings": lambda: (R(3, 8),),
    "select_max_active_dims": lambda: (R(3, 8), 4),
    "truncate_embeddings": lambda: (R(3, 8), 4),
}.items():
    add(
        _ST,
        f"util.{_name}",
        lambda n=_name, a=_args: (getattr(import_module(f"{_ST}.util.tensor"), n), a()),
    )

# --- curated_transformers ----------------------------------------------------------------------

_CT = "curated_transformers"


def _mask(count: int, length: int) -> object:
    mask = torch.ones(count, length, dtype=torch.bool)
    return import_module(f"{_CT}.layers").AttentionMask(mask)


_SMALL = {"hidden_width": 16, "n_hidden_layers": 1, "n_pieces": 30}
for _name, _kwargs in {
    "BERT": {"embedding_width": 16, "intermediate_width": 16, "n_attention_heads": 2},
    "ALBERT": {"embedding_width": 8, "intermediate_width": 16, "n_attention_heads": 2},
    "RoBERTa": {"embedding_width": 16, "intermediate_width": 16, "n_attention_heads": 2},
}.items():
    add(
        _CT,
        f"{_name}Encoder",
        lambda n=_name, k=_kwargs: (
            getattr(import_module(f"{_CT}.models"), f"{n}Encoder")(
                getattr(import_module(f"{_CT}.models"), f"{n}Config")(**k, **_SMALL)
            ),
            (IDS(0, 30, (2, 6)), _mask(2, 6)),
        ),
    )
for _name, _kwargs in {
    "Llama": {"intermediate_width": 16, "n_query_heads": 2, "n_key_value_heads": 1},
    "GPTNeoX": {"intermediate_width": 16, "n_attention_heads": 2},
    "Falcon": {"n_query_heads": 2, "n_key_value_heads": 1},
    "MPT": {"intermediate_width_multiplier": 2, "n_attention_heads": 2},
}.items():
    add(
        _CT,
        f"{_name}CausalLM",
        lambda n=_name, k=_kwargs: (
            getattr(import_module(f"{_CT}.models"), f"{n}CausalLM")(
                getattr(import_module(f"{_CT}.models"), f"{n}Config")(
                    dtype=torch.float32, **k, **_SMALL
                )
            ),
            (IDS(0, 30, (2, 6)), _mask(2, 6)),
            {"store_cache": True},
        ),
    )
add(
    _CT,
    "SinusoidalPositionalEmbedding",
    lambda: (
        import_module(f"{_CT}.layers").SinusoidalPositionalEmbedding(width=8, max_len=10),
        (R(2, 5, 8),),
    ),
)
add(
    _CT,
    "RotaryEmbeddings.longer",
    lambda: (
        import_module(f"{_CT}.layers").RotaryEmbeddings(8, seq_len=4),
        (R(2, 2, 8, 8),),
        {"positions": torch.arange(8).repeat(2, 1)},
    ),
    modes=("eval",),
)

# --- lucidrains ----------------------------------------------------------------------------------

_SINK = {"dim": 16, "depth": 1, "heads": 2, "bucket_size": 4, "max_seq_len": 16}
for _name, _kwargs in {
    "plain": {},
    "causal": {"causal": True},
    "sortcut": {"n_sortcut": 2},
    "simple_sort_net": {"use_simple_sort_net": True, "ff_glu": True},
    "reversible": {"reversible": True, "ff_chunks": 2},
    "local": {"n_local_attn_heads": 1, "causal": True},
}.items():
    add(
        "sinkhorn_transformer",
        f"SinkhornTransformer.{_name}",
        lambda k=_kwargs: (
            import_module("sinkhorn_transformer").SinkhornTransformer(**_SINK, **k),
            (R(1, 16, 16),),
        ),
    )


def _sinkhorn_lm(wrap: str) -> torch.nn.Module:
    package = import_module("sinkhorn_transformer")
    model = package.SinkhornTransformerLM(num_tokens=30, causal=True, **_SINK)
    return getattr(package, wrap)(model)


add(
    "sinkhorn_transformer",
    "AutoregressiveWrapper",
    lambda: (_sinkhorn_lm("AutoregressiveWrapper"), (IDS(1, 30, (1, 17)),), {"return_loss": True}),
)
add(
    "sinkhorn_transformer",
    "generate",
    lambda: (_sinkhorn_lm("AutoregressiveWrapper").generate, (IDS(1, 30, (1, 4)), 2)),
)
add(
    "sinkhorn_transformer",
    "Autopadder",
    lambda: (_sinkhorn_lm("Autopadder"), (IDS(1, 30, (1, 10)),)),
)

_BRT = "block_recurrent_transformer_pytorch"


def _block(**kwargs: object) -> torch.nn.Module:
    return import_module(_BRT).BlockRecurrentTransformer(
        num_tokens=30, dim=16, depth=2, dim_head=8, heads=2, max_seq_len=16, block_width=8,
        num_state_vectors=4, recurrent_layers=(2,), **kwargs,
    )  # fmt: skip


add(_BRT, "forward", lambda: (_block(), (IDS(0, 30, (1, 16)),)))
add(_BRT, "loss", lambda: (_block(), (IDS(0, 30, (1, 16)),), {"return_loss": True}))
add(_BRT, "compressed", lambda: (_block(use_compressed_mem=True), (IDS(0, 30, (1, 16)),)))
add(
    _BRT,
    "trainer",
    lambda: (import_module(_BRT).RecurrentTrainerWrapper(_block()), (IDS(0, 30, (1, 33)),)),
)
add(
    _BRT,
    "generate",
    lambda: (
        import_module(_BRT).RecurrentTrainerWrapper(_block()).generate,
        (IDS(0, 30, (1, 4)), 6),
    ),
)

_CLIP = {"dim_text": 16, "dim_image": 16, "dim_latent": 8, "num_text_tokens": 30,
         "text_enc_depth": 1, "text_seq_len": 8, "text_heads": 2, "text_dim_head": 8,
         "visual_enc_depth": 1, "visual_heads": 2, "visual_dim_head": 8, "visual_image_size": 16,
         "visual_patch_size": 8}  # fmt: skip


def _clip(**kwargs: object) -> torch.nn.Module:
    return import_module("x_clip").CLIP(**_CLIP, **kwargs)


def _pairs() -> tuple:
    return IDS(1, 30, (4, 8)), R(4, 3, 16, 16)


for _name, _kwargs in {
    "plain": {},
    "filip": {"use_all_token_embeds": True},
    "decoupled": {"decoupled_contrastive_learning": True, "extra_latent_projection": True},
    "mlm": {"use_mlm": True},
    "simclr": {"use_visual_ssl": True, "visual_ssl_type": "simclr"},
    "simsiam": {"use_visual_ssl": True, "visual_ssl_type": "simsiam"},
    "patch_dropout": {"visual_patch_dropout": 0.5, "text_rotary_pos_emb": True},
    "checkpoint": {"checkpoint_during_training": True, "text_causal_mask": False},
}.items():
    add(
        "x_clip",
        f"CLIP.{_name}",
        lambda k=_kwargs: (_clip(**k), _pairs(), {"return_loss": True}),
        modes=("train",),
    )
add("x_clip", "CLIP.similarity", lambda: (_clip(), _pairs()), modes=("eval",))
add(
    "x_clip",
    "CLIP.frozen",
    lambda: (_clip(), _pairs(), {"return_loss": True, "freeze_image_encoder": True}),
    modes=("train",),
)
