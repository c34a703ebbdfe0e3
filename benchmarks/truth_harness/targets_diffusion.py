"""denoising_diffusion_pytorch: losses and samplers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

R = torch.randn


def _unet(**kwargs: object) -> torch.nn.Module:
    return import_module("denoising_diffusion_pytorch").Unet(dim=8, dim_mults=(1, 2), **kwargs)


def _diffusion(
    name: str, method: str | None, unet: dict, args: Callable[[], tuple], **kwargs: object
):
    def build() -> tuple:
        module = getattr(import_module("denoising_diffusion_pytorch"), name)(
            _unet(**unet), image_size=16, **kwargs
        )
        return (getattr(module, method) if method else module), args()

    return build


def _image() -> tuple:
    return (torch.rand(2, 3, 16, 16),)


_DDPM = "denoising_diffusion_pytorch"
for _objective in ("pred_noise", "pred_v", "pred_x0"):
    add(
        _DDPM,
        f"ddpm.{_objective}",
        _diffusion("GaussianDiffusion", None, {}, _image, timesteps=4, objective=_objective),
        modes=("train",),
    )
add(
    _DDPM,
    "ddpm.self_condition",
    _diffusion("GaussianDiffusion", None, {"self_condition": True}, _image, timesteps=4),
    modes=("train",),
)
add(
    _DDPM,
    "ddpm.offset_noise",
    _diffusion(
        "GaussianDiffusion",
        None,
        {},
        _image,
        timesteps=4,
        offset_noise_strength=0.1,
        min_snr_loss_weight=True,
    ),
    modes=("train",),
)
add(_DDPM, "ddpm.sample", _diffusion("GaussianDiffusion", "sample", {}, lambda: (2,), timesteps=3))
add(
    _DDPM,
    "ddim.sample",
    _diffusion("GaussianDiffusion", "sample", {}, lambda: (2,), timesteps=4, sampling_timesteps=2),
)
add(
    _DDPM,
    "learned",
    _diffusion("LearnedGaussianDiffusion", None, {"learned_variance": True}, _image, timesteps=4),
    modes=("train",),
)
add(
    _DDPM,
    "continuous",
    _diffusion(
        "ContinuousTimeGaussianDiffusion",
        None,
        {"random_fourier_features": True},
        _image,
        num_sample_steps=3,
    ),
    modes=("train",),
)
add(
    _DDPM,
    "continuous.learned",
    _diffusion(
        "ContinuousTimeGaussianDiffusion",
        None,
        {"learned_sinusoidal_cond": True},
        _image,
        noise_schedule="learned",
        num_sample_steps=3,
    ),
    modes=("train",),
)
add(
    _DDPM,
    "vparam",
    _diffusion(
        "VParamContinuousTimeGaussianDiffusion",
        None,
        {"random_fourier_features": True},
        _image,
        num_sample_steps=3,
    ),
    modes=("train",),
)
add(
    _DDPM,
    "vparam.sample",
    _diffusion(
        "VParamContinuousTimeGaussianDiffusion",
        "sample",
        {"random_fourier_features": True},
        lambda: (2,),
        num_sample_steps=2,
    ),
)
add(
    _DDPM,
    "elucidated",
    _diffusion(
        "ElucidatedDiffusion", None, {"random_fourier_features": True}, _image, num_sample_steps=3
    ),
    modes=("train",),
)
add(
    _DDPM,
    "elucidated.sample",
    _diffusion(
        "ElucidatedDiffusion",
        "sample",
        {"random_fourier_features": True},
        lambda: (2,),
        num_sample_steps=2,
    ),
)
add(
    _DDPM,
    "elucidated.dpmpp",
    _diffusion(
        "ElucidatedDiffusion",
        "sample_using_dpmpp",
        {"random_fourier_features": True},
        lambda: (2,),
        num_sample_steps=3,
    ),
)
add(
    _DDPM,
    "weighted",
    _diffusion("WeightedObjectiveGaussianDiffusion", None, {"out_dim": 8}, _image, timesteps=4),
    modes=("train",),
)
add(
    _DDPM,
    "1d",
    lambda: (
        import_module(_DDPM).GaussianDiffusion1D(
            import_module(_DDPM).Unet1D(dim=8, dim_mults=(1, 2), channels=4),
            seq_length=16,
            timesteps=4,
        ),
        (torch.rand(2, 4, 16),),
    ),
    modes=("train",),
)
add(
    _DDPM,
    "1d.sample",
    lambda: (
        import_module(_DDPM)
        .GaussianDiffusion1D(
            import_module(_DDPM).Unet1D(dim=8, dim_mults=(1, 2), channels=4),
            seq_length=16,
            timesteps=4,
            sampling_timesteps=2,
        )
        .sample,
        (2,),
    ),
)
add(
    _DDPM,
    "karras_unet",
    lambda: (
        import_module(_DDPM).KarrasUnet(
            image_size=16,
            dim=16,
            dim_max=32,
            num_downsamples=1,
            num_blocks_per_stage=1,
            attn_dim_head=8,
            fourier_dim=8,
            attn_res=(8,),
        ),
        (R(2, 4, 16, 16),),
        {"time": torch.rand(2)},
    ),
)


def _guided(steps: int) -> torch.nn.Module:
    module = import_module(_DDPM + ".classifier_free_guidance")
    net = module.Unet(dim=8, dim_mults=(1, 2), num_classes=4, cond_drop_prob=0.5)
    return module.GaussianDiffusion(net, image_size=16, timesteps=steps)


add(
    _DDPM,
    "classifier_free_guidance",
    lambda: (_guided(4), (torch.rand(2, 3, 16, 16),), {"classes": torch.tensor([1, 2])}),
    modes=("train",),
)
add(
    _DDPM,
    "classifier_free_guidance.sample",
    lambda: (_guided(3).sample, (torch.tensor([1, 2]),)),
)
add(
    _DDPM,
    "repaint",
    lambda: (
        (
            lambda m: m.GaussianDiffusion(
                m.Unet(dim=8, dim_mults=(1, 2)), image_size=16, timesteps=3
            )
        )(import_module(_DDPM + ".repaint")).sample,
        (2,),
        {
            "gt": torch.rand(2, 3, 16, 16),
            "mask": torch.ones(2, 3, 16, 16),
            "resample": True,
            "resample_iter": 2,
            "resample_jump": 1,
            "resample_every": 1,
        },
    ),
)
add(
    _DDPM,
    "guided",
    lambda: (
        (
            lambda m: m.GaussianDiffusion(
                m.Unet(dim=8, dim_mults=(1, 2)), image_size=16, timesteps=3
            )
        )(import_module(_DDPM + ".guided_diffusion")).sample,
        (2,),
    ),
)
