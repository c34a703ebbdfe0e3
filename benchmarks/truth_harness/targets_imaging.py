"""Inverse problems: losses, physics, denoisers, iterations, samplers."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import each

R = torch.randn


def _inv() -> object:
    return import_module("deepinv")


def _image(batch: int = 1, channels: int = 3, size: int = 16) -> torch.Tensor:
    return torch.rand(batch, channels, size, size)


def _metric(name: str, *args: torch.Tensor, **kwargs: object) -> tuple:
    module = import_module("deepinv.loss.metric")
    return getattr(module, name)(**kwargs), args or (_image(2, 3, 32), _image(2, 3, 32))


def _model(name: str, *args: object, **kwargs: object) -> tuple:
    return getattr(_inv().models, name)(**kwargs), args or (_image(), 0.1)


def _physics(name: str, size: int = 16, channels: int = 3, **kwargs: object) -> tuple:
    """A forward and an adjoint pass."""
    physics = getattr(_inv().physics, name)(**kwargs)
    return lambda x: physics.A_adjoint(physics.A(x)), (_image(1, channels, size),)


def _dagger(name: str, size: int = 16, channels: int = 3, **kwargs: object) -> tuple:
    physics = getattr(_inv().physics, name)(**kwargs)
    return lambda x: physics.A_dagger(physics.A(x)), (_image(1, channels, size),)


def _noise(name: str, **kwargs: object) -> tuple:
    return getattr(_inv().physics, name)(**kwargs), (_image(),)


def _solver(name: str, **kwargs: object) -> tuple:
    inv = _inv()
    physics = inv.physics.Inpainting(img_size=(3, 16, 16), mask=0.5)
    prior = inv.optim.PnP(inv.models.MedianFilter(3)) if name != "GD" else inv.optim.Tikhonov()
    model = getattr(inv.optim, name)(
        data_fidelity=inv.optim.L2(), prior=prior, max_iter=2, stepsize=1.0, **kwargs
    )
    return lambda y: model(y, physics), (_image(),)


def _transform(name: str, **kwargs: object) -> tuple:
    return getattr(import_module("deepinv.transform"), name)(**kwargs), (_image(2),)


def _loss(name: str, *args: object, **kwargs: object) -> tuple:
    inv = _inv()
    physics = inv.physics.Inpainting(
        img_size=(3, 16, 16), mask=0.5, noise_model=inv.physics.GaussianNoise(0.1)
    )
    loss = getattr(inv.loss, name)(*args, **kwargs)
    model = inv.models.ArtifactRemoval(inv.models.MedianFilter(3))
    return lambda x, y: loss(x_net=x, x=x, y=y, physics=physics, model=model), (_image(), _image())


def _prior(name: str, **kwargs: object) -> tuple:
    prior = getattr(_inv().optim, name)(**kwargs)
    return lambda x: (prior(x), prior.grad(x), prior.prox(x, gamma=0.1)), (_image(),)


def _fidelity(name: str, **kwargs: object) -> tuple:
    inv = _inv()
    fidelity = getattr(inv.optim, name)(**kwargs)
    physics = inv.physics.BlurFFT(img_size=(3, 16, 16), filter=torch.ones(1, 1, 3, 3) / 9)
    return lambda x, y: (fidelity(x, y, physics), fidelity.prox(x, y, physics, gamma=0.5)), (
        _image(),
        _image(),
    )


each("deepinv", {
    **{f"metric.{n}": (lambda n=n, k=k: _metric(n, **k)) for n, k in {
        "MSE": {}, "NMSE": {}, "NRMSE": {}, "PSNR": {"max_pixel": None}, "SNR": {}, "SSIM": {}, "LpNorm": {"p": 1, "onesided": True},
        "L1L2": {}, "MAE": {"complex_abs": True}, "SpectralAngleMapper": {}, "ERGAS": {"factor": 4}, "HaarPSI": {}, "CosineSimilarity": {},
        "GMSD": {}, "BlurStrength": {}, "SharpnessIndex": {}, "RecoveryCoefficient": {},
    }.items()},
    "metric.SSIM.multi": lambda: _metric("SSIM", _image(1, 1, 180), _image(1, 1, 180), multiscale=True),
    "metric.PSNR.norm": lambda: _metric("PSNR", norm_inputs="min_max", reduction="mean"),
    "model.MedianFilter": lambda: _model("MedianFilter", kernel_size=3),
    "model.TVDenoiser": lambda: _model("TVDenoiser", n_it_max=6),
    "model.TGVDenoiser": lambda: _model("TGVDenoiser", n_it_max=6),
    "model.TVL1Denoiser": lambda: _model("TVL1Denoiser", n_it_max=6),
    "model.DRUNet": lambda: _model("DRUNet", pretrained=None, nc=[4, 4, 4, 4], nb=1),
    "model.DRUNet.odd": lambda: _model("DRUNet", _image(1, 3, 20), torch.tensor([0.1]), pretrained=None, nc=[4, 4, 4, 4], nb=1),
    "model.DnCNN": lambda: _model("DnCNN", depth=3, nf=4, pretrained=None),
    "model.UNet": lambda: _model("UNet", scales=2, channels_per_scale=[4, 4]),
    "model.GSDRUNet": lambda: _model("GSDRUNet", nc=[4, 4, 4, 4], nb=1, pretrained=None),
    "model.SCUNet": lambda: _model("SCUNet", _image(1, 3, 64), 0.1, pretrained=None, config=[1] * 7, dim=8),
    "model.SwinIR": lambda: _model("SwinIR", img_size=16, depths=[2], num_heads=[2], embed_dim=8, window_size=4, pretrained=None, upsampler=""),
    "model.Restormer": lambda: _model("Restormer", dim=8, num_blocks=[1, 1, 1, 1], num_refinement_blocks=1, heads=[1, 1, 1, 1], pretrained=None),
    "model.DScCP": lambda: _model("DScCP", depth=2, n_channels_per_layer=4, pretrained=None),
    "model.ICNN": lambda: _model("ICNN", _image()),
    "model.FFDNet": lambda: _model("FFDNet", nc=4, nb=3, pretrained=None),
    "model.DiffUNet": lambda: _model("DiffUNet", _image(1, 3, 32), 0.1, pretrained=None),
    "model.EquivariantDenoiser": lambda: (_inv().models.EquivariantDenoiser(_inv().models.MedianFilter(3)), (_image(), 0.1)),
    "model.BilateralFilter": lambda: _model("BilateralFilter"),
    "model.AnscombeDenoiser": lambda: (_inv().models.AnscombeDenoiser(_inv().models.MedianFilter(3)), (_image(), 0.1, 0.2)),
    "model.WaveletNoiseEstimator": lambda: _model("WaveletNoiseEstimator", _image()),
    "model.PatchCovarianceNoiseEstimator": lambda: _model("PatchCovarianceNoiseEstimator", _image()),
    "model.ADMUNet": lambda: _model("ADMUNet", _image(1, 3, 16), 0.1, img_resolution=16, in_channels=3, out_channels=3, model_channels=16, channel_mult=[1, 2], num_blocks=1, attn_resolutions=[8], pretrained=None),
    "model.NCSNpp": lambda: _model("NCSNpp", _image(1, 3, 16), 0.1, img_resolution=16, in_channels=3, out_channels=3, model_channels=16, channel_mult=[1, 2], num_blocks=1, attn_resolutions=[8], pretrained=None),
    "model.RAM": lambda: (_inv().models.RAM(pretrained=False), (_image(1, 3, 16), _inv().physics.Denoising(_inv().physics.GaussianNoise(0.1)))),
    "physics.Inpainting": lambda: _dagger("Inpainting", img_size=(3, 16, 16), mask=0.5),
    "physics.Demosaicing": lambda: _dagger("Demosaicing", img_size=(3, 16, 16)),
    "physics.Blur": lambda: _physics("Blur", filter=torch.ones(1, 1, 3, 3) / 9, padding="circular"),
    "physics.Blur.valid": lambda: _dagger("Blur", filter=torch.ones(1, 1, 3, 3) / 9, padding="valid", max_iter=3),
    "physics.BlurFFT": lambda: _dagger("BlurFFT", img_size=(3, 16, 16), filter=torch.ones(1, 1, 3, 3) / 9),
    "physics.Downsampling": lambda: _dagger("Downsampling", img_size=(3, 16, 16), factor=2, filter="gaussian", padding="circular"),
    "physics.CompressedSensing": lambda: _dagger("CompressedSensing", channels=1, size=8, m=20, img_size=(1, 8, 8)),
    "physics.MRI": lambda: _dagger("MRI", channels=2, img_size=(2, 16, 16)),
    "physics.Tomography": lambda: _physics("Tomography", channels=1, angles=6, img_width=16),
    "physics.Tomography.dagger": lambda: _dagger("Tomography", channels=1, angles=6, img_width=16, circle=True),
    "physics.SinglePixelCamera": lambda: _dagger("SinglePixelCamera", channels=1, size=8, m=20, img_size=(1, 8, 8)),
    "physics.Decolorize": lambda: _dagger("Decolorize"),
    "physics.Haze": lambda: (lambda x: _inv().physics.Haze()(x), (_image(),)),
    "physics.Pansharpen": lambda: _physics("Pansharpen", img_size=(3, 16, 16), factor=2),
    "physics.PhaseRetrieval": lambda: (_inv().physics.RandomPhaseRetrieval(m=20, img_size=(1, 4, 4)), (torch.rand(1, 1, 4, 4),)),
    "physics.Lidar": lambda: (_inv().physics.SinglePhotonLidar(bins=8, sigma=1.0), (torch.rand(1, 2, 6, 6),)),
    "physics.SpaceVaryingBlur": lambda: (lambda x: _inv().physics.SpaceVaryingBlur(filters=torch.ones(1, 1, 2, 3, 3) / 9, multipliers=torch.ones(1, 1, 2, 16, 16), padding="circular")(x), (_image(),)),
    "physics.norm": lambda: (lambda x: _inv().physics.Blur(filter=torch.ones(1, 1, 3, 3) / 9).compute_norm(x, max_iter=3), (_image(),)),
    "physics.adjointness": lambda: (lambda x: _inv().physics.Inpainting(img_size=(3, 16, 16), mask=0.5).adjointness_test(x), (_image(),)),
    **{f"noise.{n}": (lambda n=n, k=k: _noise(n, **k)) for n, k in {
        "GaussianNoise": {"sigma": 0.1}, "PoissonNoise": {"gain": 0.1}, "PoissonGaussianNoise": {}, "UniformNoise": {"a": 0.1},
        "LogPoissonNoise": {}, "GammaNoise": {"l": 2.0}, "SaltPepperNoise": {"p": 0.1, "s": 0.1}, "UniformGaussianNoise": {}, "FisherTippettNoise": {"l": 1.0}, "RicianNoise": {"sigma": 0.1}, "LaplaceNoise": {},
    }.items()},
    **{f"transform.{n}": (lambda n=n, k=k: _transform(n, **k)) for n, k in {
        "Rotate": {}, "Shift": {"n_trans": 2}, "Scale": {}, "Reflect": {}, "Homography": {}, "RandomNoise": {},
    }.items()},
    **{f"loss.{n}": (lambda n=n, a=a, k=k: _loss(n, *a, **k)) for n, a, k in [
        ("MCLoss", (), {}), ("SupLoss", (), {}), ("TVLoss", (), {}), ("SureGaussianLoss", (0.1,), {}), ("SurePoissonLoss", (0.1,), {}),
        ("SplittingLoss", (), {"eval_split_input": False}), ("Neighbor2Neighbor", (), {}), ("R2RLoss", (), {}), ("JacobianSpectralNorm", (), {"max_iter": 2}),
    ]},
    **{f"prior.{n}": (lambda n=n, k=k: _prior(n, **k)) for n, k in {
        "Tikhonov": {}, "L1Prior": {}, "TVPrior": {"n_it_max": 4}, "WaveletPrior": {"p": 1, "level": 2}, "ZeroPrior": {}, "L12Prior": {"l2_axis": 1}, "SmoothedTVPrior": {}, "RDP": {},
    }.items()},
    **{f"fidelity.{n}": (lambda n=n, k=k: _fidelity(n, **k)) for n, k in {
        "L2": {}, "L1": {}, "IndicatorL2": {"radius": 0.1}, "PoissonLikelihood": {}, "AmplitudeLoss": {}, "LogPoissonLikelihood": {},
    }.items()},
    **{f"optim.{n}": (lambda n=n: _solver(n)) for n in ("PGD", "HQS", "ADMM", "DRS", "FISTA", "GD")},
    "optim.PGD.early": lambda: _solver("PGD", early_stop=True, crit_conv="residual", verbose=False),
    "optim.PGD.backtracking": lambda: _solver("GD", backtracking=True),
    "optim.DPIR": lambda: ((lambda m, p: lambda y: m(y, p))(_inv().optim.DPIR(sigma=0.1, denoiser=_inv().models.MedianFilter(3), device="cpu"), _inv().physics.Denoising()), (_image(),)),
    "optim.conjugate_gradient": lambda: (lambda b: _inv().optim.least_squares(lambda x: x * 2, lambda x: x * 2, b, solver="CG", max_iter=3), (_image(),)),
    "optim.lsqr": lambda: (lambda b: _inv().optim.least_squares(lambda x: x * 2, lambda x: x * 2, b, solver="lsqr", max_iter=3), (_image(),)),
    "optim.BiCGStab": lambda: (lambda b: _inv().optim.least_squares(lambda x: x * 2, lambda x: x * 2, b, solver="BiCGStab", max_iter=3), (_image(),)),
    "optim.minres": lambda: (lambda b: _inv().optim.least_squares(lambda x: x * 2, lambda x: x * 2, b, solver="minres", max_iter=3), (_image(),)),
    "sampling.ULA": lambda: (
        (lambda m, p: lambda y: m(y, p))(_inv().sampling.ULA(_inv().optim.ScorePrior(_inv().models.MedianFilter(3)), _inv().optim.L2(), max_iter=2, verbose=False), _inv().physics.Denoising()),
        (_image(),),
    ),
    "sampling.DiffPIR": lambda: ((lambda m, p: lambda y: m(y, p))(_inv().sampling.DiffPIR(_inv().models.MedianFilter(3), _inv().optim.L2(), max_iter=2), _inv().physics.Denoising()), (_image(),)),
    "sampling.DDRM": lambda: ((lambda m, p: lambda y: m(y, p))(_inv().sampling.DDRM(_inv().models.MedianFilter(3), [1.0, 0.1]), _inv().physics.Inpainting(img_size=(3, 16, 16), mask=0.5)), (_image(),)),
    "sampling.DPS": lambda: ((lambda m, p: lambda y: m(y, p))(_inv().sampling.DPS(_inv().models.DnCNN(depth=2, nf=4, pretrained=None), _inv().optim.L2(), max_iter=2), _inv().physics.Denoising()), (_image(),)),
    "anscombe": lambda: (lambda x: _inv().models.inverse_generalized_anscombe_transform(_inv().models.generalized_anscombe_transform(x, 0.1, 0.2), 0.1, 0.2), (_image(),)),
    "generator.GaussianMask": lambda: (lambda: _inv().physics.generator.GaussianMaskGenerator((2, 16, 16), acceleration=4).step(1), ()),
    "generator.Motion": lambda: (lambda: _inv().physics.generator.MotionBlurGenerator((7, 7), num_channels=1).step(2), ()),
    "generator.Diffraction": lambda: (lambda: _inv().physics.generator.DiffractionBlurGenerator((7, 7), num_channels=1).step(2), ()),
    "generator.Bernoulli": lambda: (lambda: _inv().physics.generator.BernoulliSplittingMaskGenerator((3, 16, 16), 0.5).step(2), ()),
    "functional.gaussian_blur": lambda: (lambda s: _inv().physics.functional.gaussian_blur(s, 0.3), (torch.tensor([1.0, 2.0]),)),
    "functional.conv2d": lambda: (lambda x: _inv().physics.functional.conv2d(x, torch.ones(1, 1, 3, 3), padding="reflect"), (_image(),)),
    "functional.histogram": lambda: (lambda x: _inv().physics.functional.histogram(x, bins=4), (_image(),)),
    "functional.histogramdd": lambda: (lambda x: _inv().physics.functional.histogramdd(x, bins=[3, 3], low=[0, 0], upp=[1, 1]), (torch.rand(20, 2),)),
    "utils.patches": lambda: (lambda x: _inv().utils.patch_extractor(x, 4, 3), (_image(),)),
}, grad=True)  # fmt: skip
