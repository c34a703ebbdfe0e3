"""Generative images: dalle2_pytorch, muse_maskgit_pytorch, gigagan_pytorch, transfusion_pytorch."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from registry import each, of

R = torch.randn


# --- dalle2_pytorch ------------------------------------------------------------------------------

_D2 = "dalle2_pytorch.dalle2_pytorch"


def _prior(**kwargs: object) -> Any:
    network = of(
        _D2,
        "DiffusionPriorNetwork",
        16,
        num_timesteps=4,
        depth=1,
        dim_head=8,
        heads=2,
        max_text_len=6,
    )
    return of(
        _D2,
        "DiffusionPrior",
        network,
        image_embed_dim=16,
        timesteps=4,
        condition_on_text_encodings=False,
        **kwargs,
    )


def _unet(**kwargs: object) -> Any:
    options: dict[str, object] = {
        "image_embed_dim": 16,
        "cond_dim": 8,
        "dim_mults": (1, 2),
        "attn_dim_head": 8,
        "attn_heads": 2,
        "num_resnet_blocks": 1,
    }
    return of(_D2, "Unet", 8, **(options | kwargs))


def _decoder(method: str, **kwargs: object) -> tuple:
    decoder = of(_D2, "Decoder", _unet(), image_size=16, timesteps=4, **kwargs)
    if method == "loss":
        return decoder, (torch.rand(1, 3, 16, 16),), {"image_embed": R(1, 16)}
    return lambda e: decoder.eval().sample(image_embed=e), (R(1, 16),)


def _scheduler(method: str, *args: object) -> tuple:
    return getattr(
        of(
            _D2,
            "NoiseScheduler",
            beta_schedule="cosine",
            timesteps=10,
            loss_type="l2",
            p2_loss_weight_gamma=1.0,
        ),
        method,
    ), args


each("dalle2_pytorch", {
    "Prior.loss": lambda: (_prior(), (), {"text_embed": R(2, 16), "image_embed": R(2, 16)}),
    "Prior.sample": lambda: ((lambda p: lambda t: p.p_sample_loop((2, 16), text_cond={"text_embed": t}))(_prior()), (R(2, 16),)),
    "Prior.ddim": lambda: ((lambda p: lambda t: p.p_sample_loop((2, 16), text_cond={"text_embed": t}, timesteps=2))(_prior(sampling_final_clamp_l2norm=True)), (R(2, 16),)),
    "Unet": lambda: (_unet(), (R(2, 3, 16, 16), torch.tensor([1, 2])), {"image_embed": R(2, 16)}),
    "Unet.text": lambda: (_unet(cond_on_text_encodings=True, text_embed_dim=8, self_attn=True, cross_embed_downsample=True), (R(2, 3, 16, 16), torch.tensor([1, 2])), {"image_embed": R(2, 16), "text_encodings": R(2, 5, 8), "image_cond_drop_prob": 0.5, "text_cond_drop_prob": 0.5}),
    "Unet.lowres": lambda: (_unet(lowres_cond=True, memory_efficient=True, combine_upsample_fmaps=True, checkpoint_during_training=True), (R(2, 3, 16, 16), torch.tensor([1, 2])), {"image_embed": R(2, 16), "lowres_cond_img": R(2, 3, 16, 16)}),
    "Decoder.loss": lambda: _decoder("loss"),
    "Decoder.loss.x_start": lambda: _decoder("loss", predict_x_start=True, learned_variance=False, p2_loss_weight_gamma=1.0),
    "Decoder.sample": lambda: _decoder("sample"),
    "Decoder.sample.threshold": lambda: _decoder("sample", use_dynamic_thres=True, sample_timesteps=2),
    "NoiseScheduler.q_sample": lambda: _scheduler("q_sample", R(2, 3, 4, 4), torch.tensor([1, 2])),
    "NoiseScheduler.p2": lambda: _scheduler("p2_reweigh_loss", R(2), torch.tensor([1, 2])),
    "LowresConditioner": lambda: (of(_D2, "LowresConditioner", use_noise=True), (torch.rand(2, 3, 16, 16),), {"target_image_size": 16, "downsample_image_size": 8}),
    "VQGanVAE": lambda: (of("dalle2_pytorch.vqgan_vae", "VQGanVAE", dim=16, image_size=16, layers=1, vq_codebook_dim=4, vq_codebook_size=8, vq_kmeans_init=False, use_vgg_and_gan=False, resnet_groups=4), (torch.rand(2, 3, 16, 16),), {"return_loss": True}),
    "VQGanVAE.vit": lambda: (of("dalle2_pytorch.vqgan_vae", "VQGanVAE", dim=8, image_size=16, layers=1, vae_type="vit", patch_size=4, vq_codebook_dim=4, vq_codebook_size=8, use_vgg_and_gan=False), (torch.rand(2, 3, 16, 16),), {"return_loss": True}),
    "discretized_likelihood": lambda: (import_module(_D2).discretized_gaussian_log_likelihood, (R(2, 3, 4, 4),), {"means": R(2, 3, 4, 4), "log_scales": R(2, 3, 4, 4)}),
}, grad=True)  # fmt: skip

# --- muse_maskgit_pytorch ------------------------------------------------------------------------

_MM = "muse_maskgit_pytorch.muse_maskgit_pytorch"


def _named(builder: Any) -> Any:
    """Text encoders are known by name: tell the width instead of asking a hub for it."""
    module = import_module(_MM)
    module.get_encoded_dim = lambda name: 16  # pyright: ignore[reportAttributeAccessIssue]
    return builder(module)


def _transformer(kind: str = "MaskGitTransformer", **kwargs: object) -> Any:
    return _named(
        lambda m: getattr(m, kind)(
            num_tokens=8, dim=16, seq_len=16, depth=1, dim_head=8, heads=2, flash=False, **kwargs
        )
    )


def _maskgit(**kwargs: object) -> Any:
    return of(
        _MM, "MaskGit", image_size=8, transformer=_transformer(self_cond=True), vae=_vae(), **kwargs
    )


def _vae(**kwargs: object) -> Any:
    return of(
        "muse_maskgit_pytorch.vqgan_vae",
        "VQGanVAE",
        dim=16,
        layers=1,
        codebook_size=8,
        use_vgg_and_gan=False,
        resnet_groups=4,
        **kwargs,
    )


def _generate(**kwargs: object) -> tuple:
    beartype = import_module("beartype").beartype

    @beartype  # as the function is that it stands for
    def encode(texts: list[str]) -> torch.Tensor:
        return torch.ones(len(texts), 3, 16)

    model = _maskgit(**kwargs).eval()
    model.transformer.encode_text = encode
    return lambda: model.generate(["a", "b"], timesteps=2, fmap_size=4, cond_scale=2.0), ()


each("muse_maskgit_pytorch", {
    "Transformer.loss": lambda: (_transformer(), (torch.randint(0, 8, (2, 16)),), {"text_embeds": R(2, 3, 16), "labels": torch.randint(0, 8, (2, 16)), "cond_drop_prob": 0.5}),
    "Transformer.scale": lambda: (_transformer().forward_with_cond_scale, (torch.randint(0, 8, (2, 16)),), {"text_embeds": R(2, 3, 16)}),
    "TokenCritic": lambda: (_transformer("TokenCritic"), (torch.randint(0, 8, (2, 16)),), {"text_embeds": R(2, 3, 16), "labels": torch.rand(2, 16)}),
    "MaskGit.loss": lambda: (_maskgit(), (torch.randint(0, 8, (2, 4, 4)),), {"text_embeds": R(2, 3, 16)}),
    "MaskGit.critic": lambda: (_maskgit(self_token_critic=True, no_mask_token_prob=0.2), (torch.randint(0, 8, (2, 4, 4)),), {"text_embeds": R(2, 3, 16)}),
    "MaskGit.generate": lambda: _generate(),
    "MaskGit.generate.critic": lambda: _generate(self_token_critic=True),
    "VQGanVAE": lambda: (_vae(), (torch.rand(2, 3, 16, 16),), {"return_loss": True}),
    "gradient_penalty": lambda: (lambda x: import_module("muse_maskgit_pytorch.vqgan_vae").gradient_penalty(x, x.pow(2).mean((1, 2, 3))), (torch.rand(2, 3, 4, 4, requires_grad=True),)),
    "gumbel_sample": lambda: (import_module(_MM).gumbel_sample, (R(2, 8),)),
    "get_mask_subset_prob": lambda: (import_module(_MM).get_mask_subset_prob, (torch.rand(2, 8) > 0.5, 0.5)),
    "top_k": lambda: (import_module(_MM).top_k, (R(2, 3, 8),)),
}, grad=True)  # fmt: skip

# --- gigagan_pytorch -----------------------------------------------------------------------------

_GG = "gigagan_pytorch.gigagan_pytorch"


def _generator(**kwargs: object) -> Any:
    options: dict[str, object] = {
        "image_size": 16,
        "dim_capacity": 4,
        "dim_max": 8,
        "style_network": {"dim": 8, "depth": 1},
        "dim_latent": 8,
        "self_attn_resolutions": (8,),
        "self_attn_dim_head": 4,
        "self_attn_heads": 2,
        "cross_attn_resolutions": (),
        "num_skip_layers_excite": 1,
        "unconditional": True,
    }
    return of(_GG, "Generator", **(options | kwargs))


def _discriminator(**kwargs: object) -> Any:
    options: dict[str, object] = {
        "image_size": 16,
        "dim_capacity": 4,
        "dim_max": 8,
        "attn_resolutions": (8,),
        "attn_dim_head": 4,
        "attn_heads": 2,
        "multiscale_input_resolutions": (8,),
        "num_skip_layers_excite": 1,
        "unconditional": True,
    }
    return of(_GG, "Discriminator", **(options | kwargs))


def _judged() -> tuple:
    model = _discriminator()
    images = torch.rand(2, 3, 16, 16)
    return model, (images, model.real_images_to_rgbs(images)), {"real_images": images}


def _upsampler(**kwargs: object) -> tuple:
    model = of(
        "gigagan_pytorch.unet_upsampler",
        "UnetUpsampler",
        8,
        image_size=32,
        input_image_size=16,
        style_network={"dim": 8, "depth": 1},
        dim_mults=(1, 2),
        full_attn=(False, True),
        cross_attn=(False, False),
        flash_attn=False,
        self_attn_dim_head=4,
        self_attn_heads=2,
        attn_depths=(1, 1),
        temporal_attn_depths=(1, 1),
        unconditional=True,
        **kwargs,
    )
    return model, (torch.rand(1, 3, 16, 16),), {"noise": R(1, 8), "return_all_rgbs": True}


each("gigagan_pytorch", {
    "Generator": lambda: (_generator(), (), {"noise": R(2, 8), "batch_size": 2}),
    "Generator.rgbs": lambda: (_generator(pixel_shuffle_upsample=True, self_attn_dot_product=False), (), {"batch_size": 2, "return_all_rgbs": True}),
    "Discriminator": _judged,
    "UnetUpsampler": lambda: _upsampler(),
    "AdaptiveConv2DMod": lambda: (of(_GG, "AdaptiveConv2DMod", 4, 4, 3, num_conv_kernels=2), (R(2, 4, 8, 8),), {"mod": R(2, 4), "kernel_mod": R(2, 2)}),
    "DiffAugment": lambda: (of(_GG, "DiffAugment", prob=1.0, horizontal_flip=True), (torch.rand(2, 3, 16, 16), [torch.rand(2, 3, 8, 8)])),
    "SelfAttention": lambda: (of(_GG, "SelfAttention", 8, 4, 2), (R(1, 8, 4, 4),)),
    "CrossAttentionBlock": lambda: (of(_GG, "CrossAttentionBlock", 8, 6, 4, 2), (R(2, 8, 4, 4),), {"context": R(2, 5, 6), "mask": torch.ones(2, 5).bool()}),
    "TextEncoder.Transformer": lambda: (of(_GG, "Transformer", 8, 1, 4, 2), (R(2, 5, 8),), {"mask": torch.ones(2, 5).bool()}),
    "gradient_penalty": lambda: (lambda x: import_module(_GG).gradient_penalty(x, [x.pow(2).mean((1, 2, 3))]), (torch.rand(2, 3, 4, 4, requires_grad=True),)),
    "hinge": lambda: (lambda r, f: (import_module(_GG).discriminator_hinge_loss(r, f), import_module(_GG).generator_hinge_loss(f), import_module(_GG).aux_matching_loss(r, f)), (R(4), R(4))),
    "SimpleDecoder": lambda: (of(_GG, "SimpleDecoder", 8, dims=(3,), patch_dim=2, frac_patches=0.5), (R(2, 8, 4, 4), torch.rand(2, 3, 8, 8))),
}, grad=True)  # fmt: skip

# --- transfusion_pytorch -------------------------------------------------------------------------

_TF = "transfusion_pytorch.transfusion"


def _transfusion(**kwargs: object) -> Any:
    options: dict[str, object] = {
        "num_text_tokens": 16,
        "dim_latent": 8,
        "modality_default_shape": (4,),
        "transformer": {"dim": 16, "depth": 1, "dim_head": 8, "heads": 2},
    }
    return of(_TF, "Transfusion", **(options | kwargs))


def _tf(name: str, *args: object, **kwargs: object) -> tuple:
    return getattr(import_module(_TF), name), args, kwargs


def _spans() -> torch.Tensor:
    return torch.tensor([[[0, 2, 3]], [[0, 1, 4]]])


each("transfusion_pytorch", {
    "text": lambda: (_transfusion(), (torch.randint(0, 16, (2, 8)),)),
    "mixed": lambda: (_transfusion(), ([[torch.randint(0, 16, (4,)), R(4, 8), torch.randint(0, 16, (3,))], [torch.randint(0, 16, (5,)), R(2, 8)]],)),
    "modality": lambda: (_transfusion(), (R(2, 4, 8),)),
    "forward_modality": lambda: (_transfusion().forward_modality, (R(2, 4, 8),)),
    "generate_text": lambda: (lambda p: _transfusion().eval().generate_text_only(p, 6), (torch.randint(0, 16, (1, 3)),)),
    "generate_modality": lambda: (lambda: _transfusion().eval().generate_modality_only(batch_size=1, modality_steps=2), ()),
    "Transformer": lambda: (of(_TF, "Transformer", 16, depth=2, dim_head=8, heads=2, use_value_residual=True), (R(2, 6, 16),), {"times": torch.rand(2), "modality_positions": _spans()}),
    "Transformer.laser": lambda: (of(_TF, "Transformer", 16, depth=2, dim_head=8, heads=2, attn_laser=True), (R(2, 6, 16),), {"modality_only": True, "times": torch.rand(2)}),
    "naive_attn_mask": lambda: _tf("naive_attn_mask", 6, _spans()),
    "rotary_positions": lambda: _tf("derive_rotary_positions_from_modality_positions", 6, _spans()),
    "is_modality_mask": lambda: _tf("modality_positions_to_is_modality_mask", 6, _spans()),
    "order_positions": lambda: _tf("order_modality_positions_by_seq_offset", _spans()),
    "sample_text_token": lambda: _tf("sample_text_token", R(2, 16), temperature=0.8),
    "positions_to_tensor": lambda: _tf("modality_positions_to_tensor", [[(0, 2, 3)], [(0, 1, 4), (0, 6, 1)]]),
}, grad=True)  # fmt: skip
