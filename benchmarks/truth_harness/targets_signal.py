"""Wavelets, scattering, non-uniform Fourier transforms, source separation, intelligibility."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import each

R = torch.randn


def _wavelets() -> object:
    return import_module("pytorch_wavelets")


def _there_and_back(forward: str, inverse: str, x: torch.Tensor, **kwargs: object) -> tuple:
    there = getattr(_wavelets(), forward)(J=2, **kwargs)
    back = getattr(_wavelets(), inverse)(
        **{
            key: value
            for key, value in kwargs.items()
            if key in ("wave", "mode", "biort", "qshift")
        }
    )
    return torch.nn.Sequential(there, _Unpack(back)), (x,)


class _Unpack(torch.nn.Module):
    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, pair: tuple) -> torch.Tensor:
        return self.inner(pair)


each(
    "pytorch_wavelets",
    {
        "DWT1D": lambda: _there_and_back(
            "DWT1DForward", "DWT1DInverse", R(2, 3, 32), wave="db3", mode="zero"
        ),
        "DWT1D.periodization": lambda: _there_and_back(
            "DWT1DForward", "DWT1DInverse", R(2, 3, 32), wave="db2", mode="periodization"
        ),
        "DWT": lambda: _there_and_back(
            "DWTForward", "DWTInverse", R(1, 2, 16, 16), wave="db2", mode="symmetric"
        ),
        "DWT.odd": lambda: _there_and_back(
            "DWTForward", "DWTInverse", R(1, 2, 15, 17), wave="haar", mode="reflect"
        ),
        "DTCWT": lambda: _there_and_back("DTCWTForward", "DTCWTInverse", R(1, 2, 16, 16)),
        "DTCWT.odd": lambda: _there_and_back(
            "DTCWTForward", "DTCWTInverse", R(1, 2, 18, 22), biort="near_sym_b", qshift="qshift_b"
        ),
        "DTCWT.scales": lambda: (
            _wavelets().DTCWTForward(J=3, include_scale=True),
            (R(1, 1, 32, 32),),
        ),
        "SWT": lambda: (
            import_module("pytorch_wavelets.dwt.transform2d").SWTForward(
                J=2, wave="db2", mode="periodization"
            ),
            (R(1, 2, 16, 16),),
        ),
        "ScatLayer": lambda: (_wavelets().ScatLayer(), (R(1, 2, 16, 16),)),
        "ScatLayerj2": lambda: (_wavelets().ScatLayerj2(), (R(1, 2, 16, 16),)),
        "ScatLayer.color": lambda: (_wavelets().ScatLayer(combine_colour=True), (R(1, 3, 16, 16),)),
    },
)


def _scattering(dims: int, x: torch.Tensor, **kwargs: object) -> tuple:
    module = import_module(f"kymatio.scattering{dims}d.frontend.torch_frontend")
    shape = x.shape[-1] if dims == 1 else tuple(x.shape[-2:])
    return getattr(module, f"ScatteringTorch{dims}D")(2, shape=shape, **kwargs), (x,)


each(
    "kymatio",
    {
        "1d": lambda: _scattering(1, R(2, 64), Q=4),
        "1d.average": lambda: _scattering(1, R(2, 64), Q=2, T=0, out_type="list"),
        "1d.first": lambda: _scattering(1, R(64), Q=1, max_order=1, oversampling=1),
        "1d.list": lambda: _scattering(1, R(1, 64), Q=(4, 1), out_type="list"),
        "2d": lambda: _scattering(2, R(1, 3, 16, 16), L=4),
        "2d.list": lambda: _scattering(2, R(1, 16, 16), L=2, out_type="list"),
        "2d.padded": lambda: _scattering(2, R(1, 32, 32), L=2, pre_pad=True, max_order=1),
        "2d.long": lambda: _scattering(2, R(1, 16, 24), L=3),
    },
)


def _nufft(name: str, *args: object, **kwargs: object) -> tuple:
    return getattr(import_module("torchkbnufft"), name)(im_size=(8, 8), **kwargs), args


def _complex(*shape: int) -> torch.Tensor:
    return torch.complex(R(*shape), R(*shape))


def _omega(points: int = 20) -> torch.Tensor:
    return (torch.rand(2, points) * 2 - 1) * torch.pi


each(
    "torchkbnufft",
    {
        "KbNufft": lambda: _nufft("KbNufft", _complex(1, 2, 8, 8), _omega()),
        "KbNufft.smaps": lambda: _nufft("KbNufft", _complex(1, 1, 8, 8), _omega(), _complex(1, 2, 8, 8)),
        "KbNufft.batch": lambda: _nufft("KbNufft", _complex(2, 1, 8, 8), torch.stack([_omega(), _omega()])),
        "KbNufftAdjoint": lambda: _nufft("KbNufftAdjoint", _complex(1, 2, 20), _omega()),
        "KbNufftAdjoint.norm": lambda: (
            lambda y, o: import_module("torchkbnufft").KbNufftAdjoint(im_size=(8, 8))(y, o, norm="ortho"),
            (_complex(1, 2, 20), _omega()),
        ),
        "KbInterp": lambda: (import_module("torchkbnufft").KbInterp(im_size=(8, 8), grid_size=(16, 16)), (_complex(1, 2, 16, 16), _omega())),
        "KbInterpAdjoint": lambda: (import_module("torchkbnufft").KbInterpAdjoint(im_size=(8, 8), grid_size=(16, 16)), (_complex(1, 2, 20), _omega())),
        "ToepNufft": lambda: (
            import_module("torchkbnufft").ToepNufft(),
            (_complex(1, 2, 8, 8), import_module("torchkbnufft").calc_toeplitz_kernel(_omega(), (8, 8))),
        ),
        "calc_toeplitz_kernel": lambda: (lambda o: import_module("torchkbnufft").calc_toeplitz_kernel(o, (8, 8)), (_omega(),)),
        "density_compensation": lambda: (
            lambda o: import_module("torchkbnufft").calc_density_compensation_function(o, (8, 8), num_iterations=2),
            (_omega(),),
        ),
        "spmatrix": lambda: (
            lambda o: import_module("torchkbnufft").calc_tensor_spmatrix(o, (8, 8)),
            (_omega(),),
        ),
    },
)  # fmt: skip


def _demucs(module: str, name: str, length: int = 4096, **kwargs: object) -> tuple:
    model = getattr(import_module(f"demucs.{module}"), name)(sources=["a", "b"], **kwargs)
    return model, (R(1, 2, length),)


each(
    "demucs",
    {
        "Demucs": lambda: _demucs("demucs", "Demucs", channels=4, depth=2, lstm_layers=1),
        "Demucs.dconv": lambda: _demucs("demucs", "Demucs", channels=8, depth=3, dconv_mode=3, norm_starts=1),
        "HDemucs": lambda: _demucs("hdemucs", "HDemucs", 16384, channels=8, nfft=512, depth=4),
        "HDemucs.cac": lambda: _demucs("hdemucs", "HDemucs", 16384, channels=8, nfft=512, depth=4, cac=False, hybrid_old=False),
        "HTDemucs": lambda: _demucs("htdemucs", "HTDemucs", 16384, channels=8, nfft=512, depth=4, t_layers=2, t_heads=2, bottom_channels=16, segment=1, samplerate=16384, use_train_segment=False),
        "Wiener": lambda: (
            import_module("demucs.wiener").wiener,
            (torch.rand(5, 9, 2, 2), R(5, 9, 2, 2), 1),
        ),
        "augment.FlipSign": lambda: (import_module("demucs.augment").FlipSign(), (R(2, 2, 2, 64),)),
        "augment.FlipChannels": lambda: (import_module("demucs.augment").FlipChannels(), (R(2, 2, 2, 64),)),
        "augment.Remix": lambda: (import_module("demucs.augment").Remix(group_size=2), (R(2, 2, 2, 64),)),
        "augment.Scale": lambda: (import_module("demucs.augment").Scale(), (R(2, 2, 2, 64),)),
        "augment.Shift": lambda: (import_module("demucs.augment").Shift(8), (R(2, 2, 2, 64),)),
        "apply_model": lambda: (
            (lambda m: lambda x: import_module("demucs.apply").apply_model(m, x, shifts=1, split=True, overlap=0.25))(
                import_module("demucs.demucs").Demucs(["a"], channels=4, depth=2, lstm_layers=0, samplerate=1000, segment=1)
            ),
            (R(1, 2, 1500),),
        ),
        "transformer.CrossTransformerEncoder": lambda: (
            import_module("demucs.transformer").CrossTransformerEncoder(8, num_layers=2, num_heads=2),
            (R(1, 8, 4, 6), R(1, 8, 10)),
        ),
    },
)  # fmt: skip
each(
    "torch_stoi",
    {
        "NegSTOILoss": lambda: (import_module("torch_stoi").NegSTOILoss(sample_rate=10000), (R(2, 8000), R(2, 8000))),
        "NegSTOILoss.extended": lambda: (
            import_module("torch_stoi").NegSTOILoss(sample_rate=10000, extended=True, use_vad=False),
            (R(1, 8000), R(1, 8000)),
        ),
        "NegSTOILoss.resample": lambda: (import_module("torch_stoi").NegSTOILoss(sample_rate=16000), (R(1, 16000), R(1, 16000))),
    },
    grad=True,
)  # fmt: skip
