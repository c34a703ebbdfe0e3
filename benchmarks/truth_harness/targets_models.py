"""Transformers, quantizers, diffusion, tabular models, self-supervision, optimizers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add
from targets_vision import optimizer_step

R = torch.randn


def tokens(batch: int = 2, length: int = 16, top: int = 50) -> torch.Tensor:
    return torch.randint(1, top, (batch, length))


# --- x_transformers -----------------------------------------------------------------------------


def _xt(wrapper: str | None = None, method: str | None = None, lengths: bool = False, **layers: object):
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
        return (getattr(net, method) if method else net), (tokens(2, 17),) if not method else (tokens(2, 4), 6)

    return build


for _name, _options in {
    "decoder": {}, "rotary": {"rotary_pos_emb": True}, "alibi": {"alibi_pos_bias": True},
    "rel_pos": {"rel_pos_bias": True}, "dynamic_pos": {"dynamic_pos_bias": True, "dynamic_pos_bias_log_distance": False},
    "flash": {"attn_flash": True}, "talking_heads": {"attn_pre_talking_heads": True}, "kv_heads": {"attn_kv_heads": 1},
    "qk_norm": {"attn_qk_norm": True}, "sparse_topk": {"attn_sparse_topk": 4}, "macaron": {"macaron": True},
    "layer_dropout": {"layer_dropout": 0.2, "attn_dropout": 0.1, "ff_dropout": 0.1}, "shift_tokens": {"shift_tokens": 1},
    "memory": {"wrap_num_memory_tokens": 4}, "emb_dropout": {"wrap_emb_dropout": 0.1}, "xpos": {"rotary_xpos": True},
    "hyper_connections": {"num_residual_streams": 2}, "residual_attn": {"residual_attn": True}, "gate": {"attn_gate_values": True},
    "resi_dual": {"resi_dual": True}, "sandwich": {"sandwich_norm": True}, "value_residual": {"learned_value_residual_mix": True, "attn_add_value_residual": True},
    "one_kv_head": {"attn_one_kv_head": True}, "cog": {"attn_cog_signed": True}, "softclamp": {"attn_softclamp_logits": True},
    "scaled_sin": {"wrap_scaled_sinu_pos_emb": True}, "data_dep_alibi": {"attn_data_dependent_alibi": True},
    "reinject": {"reinject_input": True}, "polar": {"polar_pos_emb": True}, "laser": {"attn_laser": True},
}.items():
    add("x_transformers", _name, _xt(**dict(_options)), modes=("eval",))
    if "drop" in _name:
        add("x_transformers", _name + "+train", _xt(**dict(_options)), modes=("train",))
add("x_transformers", "mask", _xt(lengths=True), modes=("eval",))
add("x_transformers", "autoregressive", _xt("AutoregressiveWrapper"))
add("x_transformers", "autoregressive.generate", _xt("AutoregressiveWrapper", "generate"))
add("x_transformers", "nonautoregressive", lambda: (import_module("x_transformers").NonAutoregressiveWrapper(import_module("x_transformers").TransformerWrapper(num_tokens=51, max_seq_len=16, attn_layers=import_module("x_transformers").Encoder(dim=32, depth=1, heads=2)), mask_id=50), (tokens(),)))
add("x_transformers", "xl", lambda: (import_module("x_transformers").XLAutoregressiveWrapper(import_module("x_transformers").TransformerWrapper(num_tokens=50, max_seq_len=8, max_mem_len=8, attn_layers=import_module("x_transformers").Decoder(dim=32, depth=1, heads=2, rel_pos_bias=True))), (tokens(2, 17),)))
add("x_transformers", "xtransformer", lambda: (import_module("x_transformers").XTransformer(dim=32, enc_num_tokens=50, enc_depth=1, enc_heads=2, enc_max_seq_len=16, dec_num_tokens=50, dec_depth=1, dec_heads=2, dec_max_seq_len=16), (tokens(), tokens())))
add("x_transformers", "continuous", lambda: (import_module("x_transformers").ContinuousTransformerWrapper(dim_in=8, dim_out=8, max_seq_len=16, attn_layers=import_module("x_transformers").Encoder(dim=32, depth=1, heads=2)), (R(2, 16, 8),), {"lens": torch.tensor([16, 9])}))
add("x_transformers", "vit", lambda: (import_module("x_transformers").ViTransformerWrapper(image_size=32, patch_size=8, num_classes=5, attn_layers=import_module("x_transformers").Encoder(dim=32, depth=1, heads=2)), (R(2, 3, 32, 32),)))
add("x_transformers", "xval", lambda: (import_module("x_transformers").XValAutoregressiveWrapper(import_module("x_transformers").XValTransformerWrapper(num_tokens=50, numerical_token_id=3, max_seq_len=16, attn_layers=import_module("x_transformers").Decoder(dim=32, depth=1, heads=2))), (tokens(2, 10), R(2, 10))))

# --- vector_quantize_pytorch --------------------------------------------------------------------


def _vq(name: str, args: Callable[[], tuple] = lambda: (R(2, 12, 16),), **kwargs: object) -> Callable[[], tuple]:
    return lambda: (getattr(import_module("vector_quantize_pytorch"), name)(**kwargs), args())


_MASK = torch.arange(12)[None] < torch.tensor([12, 7])[:, None]
for _name, _class, _kwargs in [
    ("plain", "VectorQuantize", {}), ("kmeans", "VectorQuantize", {"kmeans_init": True, "kmeans_iters": 2}),
    ("cosine", "VectorQuantize", {"use_cosine_sim": True}), ("dead", "VectorQuantize", {"threshold_ema_dead_code": 2}),
    ("projected", "VectorQuantize", {"codebook_dim": 4}), ("heads", "VectorQuantize", {"heads": 2, "separate_codebook_per_head": True}),
    ("gumbel", "VectorQuantize", {"stochastic_sample_codes": True, "sample_codebook_temp": 1.0}),
    ("learnable", "VectorQuantize", {"learnable_codebook": True, "ema_update": False}),
    ("orthogonal", "VectorQuantize", {"orthogonal_reg_weight": 1.0, "orthogonal_reg_max_codes": 8}),
    ("diversity", "VectorQuantize", {"codebook_diversity_loss_weight": 1.0}), ("rotation", "VectorQuantize", {"rotation_trick": True}),
    ("affine", "VectorQuantize", {"affine_param": True}), ("residual", "ResidualVQ", {"num_quantizers": 2}),
    ("residual-dropout", "ResidualVQ", {"num_quantizers": 3, "quantize_dropout": True}),
    ("residual-kmeans", "ResidualVQ", {"num_quantizers": 2, "kmeans_init": True, "kmeans_iters": 2, "shared_codebook": True}),
    ("residual-beam", "ResidualVQ", {"num_quantizers": 2, "beam_size": 2}),
    ("grouped", "GroupedResidualVQ", {"num_quantizers": 2, "groups": 2}), ("sim", "SimVQ", {}),
    ("residual-sim", "ResidualSimVQ", {"num_quantizers": 2}),
]:
    _size = {"codebook_size": 16, "dim": 16}
    add("vector_quantize_pytorch", f"{_class}.{_name}", _vq(_class, **_size, **_kwargs))
add("vector_quantize_pytorch", "VectorQuantize.mask", lambda: (import_module("vector_quantize_pytorch").VectorQuantize(dim=16, codebook_size=16), (R(2, 12, 16),), {"mask": _MASK}))
add("vector_quantize_pytorch", "VectorQuantize.mask+lens", lambda: (import_module("vector_quantize_pytorch").VectorQuantize(dim=16, codebook_size=16, kmeans_init=True), (R(2, 12, 16),), {"lens": torch.tensor([12, 7])}))
for _name, _class, _kwargs in [
    ("plain", "LFQ", {"codebook_size": 16, "dim": 16}), ("sampled", "LFQ", {"codebook_size": 16, "dim": 16, "frac_per_sample_entropy": 0.5}),
    ("spherical", "LFQ", {"codebook_size": 16, "dim": 16, "spherical": True}), ("residual", "ResidualLFQ", {"codebook_size": 16, "dim": 16, "num_quantizers": 2, "quantize_dropout": True}),
    ("plain", "FSQ", {"levels": [4, 3], "dim": 16}), ("noise", "FSQ", {"levels": [4, 3], "dim": 16, "noise_dropout": 0.5}), ("symmetric", "FSQ", {"levels": [4, 3], "dim": 16, "preserve_symmetry": True}),
    ("residual", "ResidualFSQ", {"levels": [4, 3], "dim": 16, "num_quantizers": 2, "quantize_dropout": True}), ("grouped", "GroupedResidualFSQ", {"levels": [4, 3], "dim": 16, "num_quantizers": 2, "groups": 2}),
    ("plain", "RandomProjectionQuantizer", {"dim": 16, "codebook_size": 8, "codebook_dim": 4, "num_codebooks": 2}),
]:
    add("vector_quantize_pytorch", f"{_class}.{_name}", _vq(_class, **_kwargs))
add("vector_quantize_pytorch", "LatentQuantize", _vq("LatentQuantize", lambda: (R(2, 8, 4, 4),), levels=[4, 4], dim=8))
add("vector_quantize_pytorch", "BinaryMapper", _vq("BinaryMapper", lambda: (R(2, 8, 4),), bits=4))

# --- vit_pytorch --------------------------------------------------------------------------------

_VIT = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 32, "depth": 2, "heads": 2, "mlp_dim": 32}


def _vit(module: str, name: str, size: int = 32, **kwargs: object) -> Callable[[], tuple]:
    return lambda: (getattr(import_module(f"vit_pytorch.{module}"), name)(**kwargs), (R(2, 3, size, size),))


for _module, _name, _extra in [
    ("vit", "ViT", {"dropout": 0.1}), ("simple_vit", "SimpleViT", {}), ("deepvit", "DeepViT", {}),
    ("cait", "CaiT", {"cls_depth": 1, "layer_dropout": 0.3}), ("vit_for_small_dataset", "ViT", {}), ("parallel_vit", "ViT", {"num_parallel_branches": 2}),
    ("rvt", "RvT", {}), ("ats_vit", "ViT", {"max_tokens_per_depth": (8, 4)}), ("vit_with_patch_dropout", "ViT", {"patch_dropout": 0.25}),
    ("vit_with_patch_merger", "ViT", {"patch_merge_layer": 1, "patch_merge_num_tokens": 4}), ("simple_vit_with_register_tokens", "SimpleViT", {"num_register_tokens": 2}),
    ("simple_vit_with_qk_norm", "SimpleViT", {}), ("simple_vit_with_patch_dropout", "SimpleViT", {"patch_dropout": 0.5}), ("xcit", "XCiT", {"cls_depth": 1, "layer_dropout": 0.3}),
    ("normalized_vit", "nViT", {}), ("simple_flash_attn_vit", "SimpleViT", {}), ("simple_vit_with_value_residual", "SimpleViT", {}), ("simple_vit_with_hyper_connections", "SimpleViT", {"num_residual_streams": 2}),
    ("vit_5", "ViT", {}), ("vit_with_decorr", "ViT", {}), ("vit_with_keel_post_ln", "ViT", {}), ("learnable_memory_vit", "ViT", {}), ("look_vit", "LookViT", {}), ("simple_vit_with_sparse_gating", "SimpleViT", {}), ("looped_vit", "LoopedViT", {}),
]:
    add("vit_pytorch", f"{_module}.{_name}", _vit(_module, _name, **_VIT, **_extra), modes=("eval", "train") if "drop" in str(_extra) or "ats" in _module else ("eval",))
add("vit_pytorch", "levit", _vit("levit", "LeViT", 64, image_size=64, num_classes=5, stages=2, dim=(16, 32), depth=1, heads=(2, 2), mlp_mult=2), modes=("eval",))
add("vit_pytorch", "cct", _vit("cct", "CCT", img_size=32, embedding_dim=32, n_conv_layers=1, kernel_size=3, num_layers=2, num_heads=2, num_classes=5))
add("vit_pytorch", "mobile_vit", _vit("mobile_vit", "MobileViT", 64, image_size=(64, 64), dims=[16, 24, 32], channels=[8, 8, 16, 16, 16, 16, 16, 16, 16, 16, 32], num_classes=5), modes=("eval",))
add("vit_pytorch", "crossformer", _vit("crossformer", "CrossFormer", 224, num_classes=5, dim=(16, 32, 32, 32), depth=(1, 1, 1, 1), global_window_size=(8, 4, 2, 1), local_window_size=7), modes=("eval",))
add("vit_pytorch", "cvt", _vit("cvt", "CvT", 32, num_classes=5, s1_emb_dim=8, s2_emb_dim=16, s3_emb_dim=16, s3_depth=1), modes=("eval",))
add("vit_pytorch", "twins", _vit("twins_svt", "TwinsSVT", 224, num_classes=5, s1_emb_dim=8, s2_emb_dim=8, s3_emb_dim=8, s4_emb_dim=8, s3_depth=1), modes=("eval",))
add("vit_pytorch", "max_vit", _vit("max_vit", "MaxViT", 64, num_classes=5, dim_conv_stem=8, dim=8, dim_head=4, depth=(1, 1), window_size=4), modes=("eval",))
add("vit_pytorch", "na_vit", lambda: (import_module("vit_pytorch.na_vit").NaViT(**{**_VIT, "token_dropout_prob": 0.1}), ([[R(3, 16, 32), R(3, 32, 32)], [R(3, 32, 16)]],)))
add("vit_pytorch", "mae", lambda: (import_module("vit_pytorch.mae").MAE(encoder=import_module("vit_pytorch").ViT(**_VIT), masking_ratio=0.75, decoder_dim=32, decoder_depth=1), (R(2, 3, 32, 32),)))
add("vit_pytorch", "simmim", lambda: (import_module("vit_pytorch.simmim").SimMIM(encoder=import_module("vit_pytorch").ViT(**_VIT), masking_ratio=0.5), (R(2, 3, 32, 32),)))
add("vit_pytorch", "mpp", lambda: (import_module("vit_pytorch.mpp").MPP(transformer=import_module("vit_pytorch").ViT(**_VIT), patch_size=8, dim=32), (torch.rand(2, 3, 32, 32),)))
add("vit_pytorch", "dino", lambda: (import_module("vit_pytorch.dino").Dino(import_module("vit_pytorch").ViT(**_VIT), image_size=32, hidden_layer="to_latent", projection_hidden_size=16, projection_layers=2, num_classes_K=32), (torch.rand(2, 3, 32, 32),)))
add("vit_pytorch", "distill", lambda: (import_module("vit_pytorch.distill").DistillWrapper(student=import_module("vit_pytorch.distill").DistillableViT(**_VIT), teacher=torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 5))), (torch.rand(2, 3, 32, 32), torch.tensor([1, 2]))))
add("vit_pytorch", "recorder", lambda: (import_module("vit_pytorch.recorder").Recorder(import_module("vit_pytorch").ViT(**_VIT)), (torch.rand(2, 3, 32, 32),)), modes=("eval",))
add("vit_pytorch", "extractor", lambda: (import_module("vit_pytorch.extractor").Extractor(import_module("vit_pytorch").ViT(**_VIT)), (torch.rand(2, 3, 32, 32),)), modes=("eval",))

# --- denoising_diffusion_pytorch ----------------------------------------------------------------


def _unet(**kwargs: object) -> torch.nn.Module:
    return import_module("denoising_diffusion_pytorch").Unet(dim=8, dim_mults=(1, 2), **kwargs)


def _diffusion(name: str, method: str | None, unet: dict, args: Callable[[], tuple], **kwargs: object):
    def build() -> tuple:
        module = getattr(import_module("denoising_diffusion_pytorch"), name)(_unet(**unet), image_size=16, **kwargs)
        return (getattr(module, method) if method else module), args()

    return build


def _image() -> tuple:
    return (torch.rand(2, 3, 16, 16),)


_DDPM = "denoising_diffusion_pytorch"
for _objective in ("pred_noise", "pred_v", "pred_x0"):
    add(_DDPM, f"ddpm.{_objective}", _diffusion("GaussianDiffusion", None, {}, _image, timesteps=4, objective=_objective), modes=("train",))
add(_DDPM, "ddpm.self_condition", _diffusion("GaussianDiffusion", None, {"self_condition": True}, _image, timesteps=4), modes=("train",))
add(_DDPM, "ddpm.offset_noise", _diffusion("GaussianDiffusion", None, {}, _image, timesteps=4, offset_noise_strength=0.1, min_snr_loss_weight=True), modes=("train",))
add(_DDPM, "ddpm.sample", _diffusion("GaussianDiffusion", "sample", {}, lambda: (2,), timesteps=3))
add(_DDPM, "ddim.sample", _diffusion("GaussianDiffusion", "sample", {}, lambda: (2,), timesteps=4, sampling_timesteps=2))
add(_DDPM, "learned", _diffusion("LearnedGaussianDiffusion", None, {"learned_variance": True}, _image, timesteps=4), modes=("train",))
add(_DDPM, "continuous", _diffusion("ContinuousTimeGaussianDiffusion", None, {"random_fourier_features": True}, _image, num_sample_steps=3), modes=("train",))
add(_DDPM, "continuous.learned", _diffusion("ContinuousTimeGaussianDiffusion", None, {"learned_sinusoidal_cond": True}, _image, noise_schedule="learned", num_sample_steps=3), modes=("train",))
add(_DDPM, "vparam", _diffusion("VParamContinuousTimeGaussianDiffusion", None, {"random_fourier_features": True}, _image, num_sample_steps=3), modes=("train",))
add(_DDPM, "vparam.sample", _diffusion("VParamContinuousTimeGaussianDiffusion", "sample", {"random_fourier_features": True}, lambda: (2,), num_sample_steps=2))
add(_DDPM, "elucidated", _diffusion("ElucidatedDiffusion", None, {"random_fourier_features": True}, _image, num_sample_steps=3), modes=("train",))
add(_DDPM, "elucidated.sample", _diffusion("ElucidatedDiffusion", "sample", {"random_fourier_features": True}, lambda: (2,), num_sample_steps=2))
add(_DDPM, "elucidated.dpmpp", _diffusion("ElucidatedDiffusion", "sample_using_dpmpp", {"random_fourier_features": True}, lambda: (2,), num_sample_steps=3))
add(_DDPM, "weighted", _diffusion("WeightedObjectiveGaussianDiffusion", None, {"out_dim": 8}, _image, timesteps=4), modes=("train",))
add(_DDPM, "1d", lambda: (import_module(_DDPM).GaussianDiffusion1D(import_module(_DDPM).Unet1D(dim=8, dim_mults=(1, 2), channels=4), seq_length=16, timesteps=4), (torch.rand(2, 4, 16),)), modes=("train",))
add(_DDPM, "1d.sample", lambda: (import_module(_DDPM).GaussianDiffusion1D(import_module(_DDPM).Unet1D(dim=8, dim_mults=(1, 2), channels=4), seq_length=16, timesteps=4, sampling_timesteps=2).sample, (2,)))
add(_DDPM, "karras_unet", lambda: (import_module(_DDPM).KarrasUnet(image_size=16, dim=16, dim_max=32, num_downsamples=1, num_blocks_per_stage=1, attn_dim_head=8, fourier_dim=8, attn_res=(8,)), (R(2, 4, 16, 16),), {"time": torch.rand(2)}))

for _name, _args in {"classifier_free_guidance": lambda g: (R(2, 3, 16, 16), torch.randint(0, 4, (2,)))}.items():
    add(_DDPM, _name, lambda: ((lambda m: m.GaussianDiffusion(m.Unet(dim=8, dim_mults=(1, 2), num_classes=4, cond_drop_prob=0.5), image_size=16, timesteps=4))(import_module(_DDPM + ".classifier_free_guidance")), (torch.rand(2, 3, 16, 16),), {"classes": torch.tensor([1, 2])}), modes=("train",))
add(_DDPM, "classifier_free_guidance.sample", lambda: ((lambda m: m.GaussianDiffusion(m.Unet(dim=8, dim_mults=(1, 2), num_classes=4, cond_drop_prob=0.5), image_size=16, timesteps=3))(import_module(_DDPM + ".classifier_free_guidance")).sample, (torch.tensor([1, 2]),)))
add(_DDPM, "repaint", lambda: ((lambda m: m.GaussianDiffusion(m.Unet(dim=8, dim_mults=(1, 2)), image_size=16, timesteps=3))(import_module(_DDPM + ".repaint")).sample, (2,), {"gt": torch.rand(2, 3, 16, 16), "mask": torch.ones(2, 3, 16, 16), "resample": True, "resample_iter": 2, "resample_jump": 1, "resample_every": 1}))
add(_DDPM, "guided", lambda: ((lambda m: m.GaussianDiffusion(m.Unet(dim=8, dim_mults=(1, 2)), image_size=16, timesteps=3))(import_module(_DDPM + ".guided_diffusion")).sample, (2,)))

# --- other transformers -------------------------------------------------------------------------

add("performer_pytorch", "PerformerLM", lambda: (import_module("performer_pytorch").PerformerLM(num_tokens=50, max_seq_len=32, dim=32, depth=1, heads=2, dim_head=16, causal=False, nb_features=8), (tokens(2, 32),)))
add("performer_pytorch", "PerformerLM.redraw", lambda: (import_module("performer_pytorch").PerformerLM(num_tokens=50, max_seq_len=32, dim=32, depth=1, heads=2, dim_head=16, causal=False, nb_features=8, feature_redraw_interval=1, generalized_attention=False), (tokens(2, 32),)), modes=("train",))
add("performer_pytorch", "Performer.reversible", lambda: (import_module("performer_pytorch").Performer(dim=32, depth=1, heads=2, dim_head=16, reversible=True, nb_features=8, generalized_attention=True), (R(1, 16, 32),)))
add("performer_pytorch", "Performer.local", lambda: (import_module("performer_pytorch").Performer(dim=32, depth=1, heads=2, dim_head=16, local_attn_heads=1, local_window_size=8, nb_features=8), (R(1, 16, 32),), {"mask": torch.ones(1, 16, dtype=torch.bool)}))
add("performer_pytorch", "PerformerLM.loss", lambda: (import_module("performer_pytorch").AutoregressiveWrapper(import_module("performer_pytorch").PerformerLM(num_tokens=50, max_seq_len=32, dim=32, depth=1, heads=2, dim_head=16, nb_features=8)), (tokens(2, 33),)))
add("local_attention", "LocalTransformer", lambda: (import_module("local_attention").LocalTransformer(num_tokens=50, dim=32, depth=1, heads=2, dim_head=16, max_seq_len=32, causal=True, local_attn_window_size=8), (tokens(2, 32),)))
add("local_attention", "LocalTransformer.loss", lambda: (import_module("local_attention").LocalTransformer(num_tokens=50, dim=32, depth=1, heads=2, dim_head=16, max_seq_len=32, causal=True, local_attn_window_size=8, use_dynamic_pos_bias=True), (tokens(2, 33),), {"return_loss": True}))
add("local_attention", "LocalTransformer.generate", lambda: (import_module("local_attention").LocalTransformer(num_tokens=50, dim=32, depth=1, heads=2, dim_head=16, max_seq_len=32, causal=True, local_attn_window_size=8).generate, (tokens(2, 3), 4)))
add("local_attention", "LocalAttention.mask", lambda: (import_module("local_attention").LocalAttention(dim=16, window_size=8, autopad=True, exact_windowsize=True, use_xpos=True, causal=True), (R(2, 20, 16), R(2, 20, 16), R(2, 20, 16)), {"mask": torch.ones(2, 20, dtype=torch.bool)}))
for _name, _kwargs in {"lang": {}, "xpos": {"use_xpos": True}, "pixel": {"freqs_for": "pixel"}, "learned": {"learned_freq": True}, "interpolate": {"interpolate_factor": 2.0}}.items():
    def _rotary(k: dict = _kwargs) -> tuple:
        rotary = import_module("rotary_embedding_torch").RotaryEmbedding(dim=16, **k)
        if k.get("use_xpos"):
            return rotary.rotate_queries_and_keys, (R(1, 2, 12, 16), R(1, 2, 12, 16))
        return rotary.rotate_queries_or_keys, (R(1, 2, 12, 16),)
    add("rotary_embedding_torch", _name, _rotary)
add("rotary_embedding_torch", "cached", lambda: (import_module("rotary_embedding_torch").RotaryEmbedding(dim=16).rotate_queries_with_cached_keys, (R(1, 2, 1, 16), R(1, 2, 12, 16))))
add("rotary_embedding_torch", "axial", lambda: (import_module("rotary_embedding_torch").RotaryEmbedding(dim=8, freqs_for="pixel").get_axial_freqs, (4, 5)))

# --- tabular ------------------------------------------------------------------------------------

for _name in ("TabTransformer", "FTTransformer"):
    add("tab_transformer_pytorch", _name, lambda n=_name: (getattr(import_module("tab_transformer_pytorch"), n)(categories=(4, 5), num_continuous=3, dim=16, depth=1, heads=2, dim_out=1), (torch.randint(0, 4, (6, 2)), R(6, 3))))
_TABNET = {"input_dim": 6, "output_dim": 3, "n_d": 4, "n_a": 4, "n_steps": 2, "virtual_batch_size": 4}
for _name, _kwargs in {"plain": {}, "entmax": {"mask_type": "entmax"}, "embedded": {"cat_idxs": [0], "cat_dims": [5], "cat_emb_dim": 2}}.items():
    add("pytorch_tabnet", f"TabNet.{_name}", lambda k=_kwargs: (import_module("pytorch_tabnet.tab_network").TabNet(**_TABNET, **{"group_attention_matrix": torch.eye(6), **k}), (torch.randint(0, 4, (8, 6)).float(),)))
add("pytorch_tabnet", "pretraining", lambda: (import_module("pytorch_tabnet.tab_network").TabNetPretraining(6, group_attention_matrix=torch.eye(6), n_d=4, n_a=4, n_steps=2, virtual_batch_size=4, n_shared_decoder=1, n_indep_decoder=1), (R(8, 6),)))
add("pytorch_tabnet", "pretraining.loss", lambda: (import_module("pytorch_tabnet.metrics").UnsupervisedLoss, (R(8, 6), R(8, 6), torch.ones(8, 6))))


def _deepctr(name: str, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        inputs = import_module("deepctr_torch.inputs")
        columns = [inputs.SparseFeat("a", 5, embedding_dim=4), inputs.SparseFeat("b", 6, embedding_dim=4), inputs.DenseFeat("c", 1)]
        columns.append(inputs.VarLenSparseFeat(inputs.SparseFeat("h", 7, embedding_dim=4), maxlen=3, combiner="mean"))
        data = torch.cat([torch.randint(1, 5, (8, 2)).float(), R(8, 1), torch.randint(0, 6, (8, 3)).float()], 1)
        model = getattr(import_module("deepctr_torch.models"), name)
        both = () if name in ("PNN", "DIN") else (columns,)
        extra = {"task_types": ["binary", "binary"], "task_names": ["x", "y"]} if name in ("MMOE", "SharedBottom", "PLE", "ESMM") else {}
        if name in ("MMOE", "SharedBottom", "PLE", "ESMM"):
            both = ()
        return model(*both, columns, **extra, **kwargs), (data,)

    return build


for _name in "AFM AFN AutoInt CCPM DCN DCNMix DIFM DeepFM FiBiNET IFM MLR NFM ONN PNN WDL MMOE SharedBottom PLE ESMM xDeepFM".split():
    add("deepctr_torch", _name, _deepctr(_name), modes=("eval",) if _name not in ("AFM", "DeepFM") else ("eval", "train"))

# --- lightly ------------------------------------------------------------------------------------


def _views(n: int = 2, size: tuple = (6, 8)) -> tuple:
    return tuple(R(*size) for _ in range(n))


for _name, _kwargs, _args in [
    ("NTXentLoss", {}, _views), ("NTXentLoss", {"memory_bank_size": (16, 8)}, _views), ("BarlowTwinsLoss", {}, _views),
    ("NegativeCosineSimilarity", {}, _views), ("DCLLoss", {}, _views), ("DCLWLoss", {}, _views), ("VICRegLoss", {}, _views),
    ("TiCoLoss", {}, _views), ("MMCRLoss", {}, lambda: (R(6, 2, 8), R(6, 2, 8))), ("EMPSSLLoss", {}, lambda: ([R(6, 8), R(6, 8)],)),
    ("KoLeoLoss", {}, lambda: (R(6, 8),)), ("DirectCLRLoss", {"loss_dim": 4}, _views), ("WMSELoss", {"w_size": 4, "embedding_dim": 2}, lambda: (R(16, 2), R(16, 2))),
    ("DINOLoss", {"output_dim": 8}, lambda: ([R(4, 8)] * 2, [R(4, 8)] * 4, )), ("DINOLoss", {"output_dim": 8}, lambda: ([R(4, 8)] * 2, [R(4, 8)] * 4, None, None, 5)),
    ("SwaVLoss", {}, lambda: ([R(6, 8)] * 2, [R(6, 8)] * 2)), ("SwaVLoss", {"sinkhorn_iterations": 2}, lambda: ([R(6, 8)] * 2, [R(6, 8)] * 2, R(6, 8))),
    ("MSNLoss", {}, lambda: (R(8, 8), R(4, 8), R(5, 8))), ("PMSNLoss", {}, lambda: (R(8, 8), R(4, 8), R(5, 8))),
    ("FroSSLLoss", {}, _views), ("MACLLoss", {}, _views), ("IBOTPatchLoss", {"output_dim": 8}, lambda: (R(5, 8), R(5, 8), torch.rand(2, 3, 3) > 0.5)),
    ("DetConSLoss", {}, lambda: (R(2, 3, 8), R(2, 3, 8), torch.randint(0, 3, (2, 3)), torch.randint(0, 3, (2, 3)))),
    ("VICRegLLoss", {}, lambda: ([(R(4, 8), R(4, 3, 3, 8))] * 2, [(R(4, 8), R(4, 3, 3, 8))] * 2, [torch.rand(4, 3, 3, 2)] * 2, [torch.rand(4, 3, 3, 2)] * 2)),
    ("LeJEPALoss", {}, lambda: (R(4, 6, 8), R(4, 6, 8))), ("SIGReg", {}, lambda: (R(6, 8),)), ("VISRegLoss", {}, _views), ("PatchKernelAlignmentLoss", {}, lambda: (R(2, 6, 8), R(2, 6, 8))),
]:
    _id = _name + "".join(f"+{key}" for key in _kwargs if key in ("memory_bank_size", "sinkhorn_iterations")) + ("+epoch" if _name == "DINOLoss" and len(_args()) > 2 else "") 
    add("lightly", _id, lambda n=_name, k=_kwargs, a=_args: (getattr(import_module("lightly.loss"), n)(**k), a()), modes=("train",))
for _name, _args in {
    "DINOProjectionHead": lambda m: (m.DINOProjectionHead(8, 8, 4, 8), (R(4, 8),)), "SwaVPrototypes": lambda m: (m.SwaVPrototypes(8, 6, 1), (R(4, 8),)),
    "SMoGPrototypes": lambda m: (m.SMoGPrototypes(R(5, 8), 0.9), (R(4, 8), R(5, 8))), "NNMemoryBankModule": lambda m: (m.NNMemoryBankModule((16, 8)), (R(4, 8),), {"update": True}),
    "MaskedVisionTransformerTorchvision": lambda m: (m.MaskedVisionTransformerTorchvision(import_module("torchvision.models").vit_b_32(image_size=64)), (R(2, 3, 64, 64),), {"idx_keep": torch.tensor([[0, 1, 2], [0, 2, 4]])}),
}.items():
    add("lightly", f"modules.{_name}", lambda a=_args: a(import_module("lightly.models.modules")))
for _name, _args in {
    "random_token_mask": lambda: ((2, 9),), "random_block_mask": lambda: ((2, 8, 8),), "random_prefix_mask": lambda: ((2, 9), 5), "nearest_neighbors": lambda: (R(2, 4, 6), R(2, 5, 6), 3), "most_similar_index": lambda: (R(2, 4, 6), R(2, 5, 6)),
    "select_most_similar": lambda: (R(2, 4, 6), R(2, 5, 6), R(2, 5, 3)), "batch_shuffle": lambda: (R(6, 4),), "patchify": lambda: (R(2, 3, 8, 8), 4), "get_at_index": lambda: (R(2, 6, 3), torch.tensor([[0, 1], [2, 3]])),
    "set_at_index": lambda: (R(2, 6, 3), torch.tensor([[0, 1], [2, 3]]), R(2, 2, 3)), "pool_masked": lambda: (R(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))), "mask_at_index": lambda: (R(2, 6, 3), torch.tensor([[0, 1], [2, 3]]), R(1, 1, 3)), "normalize_mean_var": lambda: (R(2, 6),),
}.items():
    add("lightly", f"utils.{_name}", lambda n=_name, a=_args: (getattr(import_module("lightly.models.utils"), n), a()))

# --- optimizers, averages -----------------------------------------------------------------------

for _kwargs in ({}, {"cautious_factor": 0.5}, {"decoupled_weight_decay": True}):
    add("lion_pytorch", "Lion" + "".join(f"+{key}" for key in _kwargs), optimizer_step(lambda p, k=_kwargs: import_module("lion_pytorch").Lion(p, lr=1e-3, weight_decay=0.1, **k)))


def _pytorch_optimizer(name: str) -> Callable[[list], torch.optim.Optimizer]:
    return lambda params: import_module("pytorch_optimizer").load_optimizer(name)(params, lr=1e-3)


for _name in """a2grad accsgd adabelief adabound adafactor adahessian adai adalite adam adamax adamg adammini adamod adamp
    adams adan adanorm adapnm adasmooth adatam ademamix adopt aggmo aida amos apollodqn avagrad came dadaptadam dadaptsgd diffgrad
    exadam fadam focus fromage ftrl grams gravity kate kron lamb laprop lars lion madgrad mars msvag nero novograd padam pid
    pnm prodigy qhadam racs ranger21 schedulefreeadamw scion sgdsai shampoo signsgd sm3 soap sophiah spam splus srmm
    stableadamw stablespam swats tam tiger vsgd yogi dash emonavi""".split():
    add("pytorch_optimizer", _name, optimizer_step(_pytorch_optimizer(_name)))
for _name in "BCEFocalLoss BinaryBiTemperedLogisticLoss BiTemperedLogisticLoss DiceLoss FocalCosineLoss FocalLoss FocalTverskyLoss JaccardLoss LovaszHingeLoss SoftF1Loss TverskyLoss".split():
    def _loss(n: str = _name) -> tuple:
        module = import_module("pytorch_optimizer")
        if n in ("BiTemperedLogisticLoss",):
            return module.BiTemperedLogisticLoss(t1=0.8, t2=1.2), (R(6, 4), torch.nn.functional.one_hot(torch.randint(0, 4, (6,)), 4).float())
        if n == "BinaryBiTemperedLogisticLoss":
            return module.BinaryBiTemperedLogisticLoss(t1=0.8, t2=1.2), (R(6, 1), torch.randint(0, 2, (6, 1)).float())
        if n == "FocalCosineLoss":
            return module.FocalCosineLoss(), (R(6, 4), torch.randint(0, 4, (6,)))
        if n in ("DiceLoss", "JaccardLoss"):
            return getattr(module, n)(mode="binary"), (torch.rand(2, 1, 8, 8), torch.randint(0, 2, (2, 1, 8, 8)))
        if n == "LovaszHingeLoss":
            return module.LovaszHingeLoss(), (R(2, 8, 8), torch.randint(0, 2, (2, 8, 8)))
        return getattr(module, n)(), (torch.rand(6, 4), torch.randint(0, 2, (6, 4)).float())
    add("pytorch_optimizer", f"loss.{_name}", _loss, modes=("eval",), grad=True)


def _ema(name: str, warm: int, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
        average = getattr(import_module("ema_pytorch"), name)(net, **kwargs)
        for _ in range(warm):
            average.update()
        return average.update, ()

    return build


for _name, _kwargs in {"plain": {}, "warm": {"update_after_step": 1, "update_every": 1}, "switch": {"update_after_step": 0, "update_every": 1, "update_model_with_ema_every": 2}, "foreach": {"update_after_step": 0, "update_every": 1, "use_foreach": True}}.items():
    add("ema_pytorch", f"EMA.{_name}", _ema("EMA", 4, **_kwargs))
add("ema_pytorch", "KarrasEMA", _ema("KarrasEMA", 4, gamma=5.0, update_every=1))
