"""julius, encodec, torch_audiomentations."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add

R = torch.randn

for _name, _args in {
    "lowpass_filter": (0.2,),
    "highpass_filter": (0.2,),
    "bandpass_filter": (0.1, 0.3),
    "resample_frac": (4, 5),
    "split_bands": (8000, 3),
}.items():
    add(
        "julius",
        _name,
        lambda n=_name, a=_args: (getattr(import_module("julius"), n), (R(1, 400), *a)),
    )
add(
    "julius",
    "fft_conv1d",
    lambda: (import_module("julius").fft_conv1d, (R(1, 2, 400), R(3, 2, 60))),
)
add(
    "julius",
    "SplitBands",
    lambda: (import_module("julius").SplitBands(8000, 4), (R(1, 400),)),
    modes=("eval",),
)


def _encodec(causal: bool) -> torch.nn.Module:
    m = import_module("encodec")
    norm = "weight_norm" if causal else "time_group_norm"
    encoder = m.modules.SEANetEncoder(
        channels=1, norm=norm, causal=causal, dimension=16, n_filters=4, ratios=[4, 2]
    )
    decoder = m.modules.SEANetDecoder(
        channels=1, norm=norm, causal=causal, dimension=16, n_filters=4, ratios=[4, 2]
    )
    quantizer = m.quantization.ResidualVectorQuantizer(dimension=16, n_q=4, bins=16)
    model = m.EncodecModel(
        encoder,
        decoder,
        quantizer,
        [6.0, 12.0],
        8000,
        1,
        normalize=not causal,
        segment=None if causal else 0.05,
    )
    model.set_target_bandwidth(6.0)
    return model


for _causal in (True, False):
    add(
        "encodec",
        "EncodecModel" + ("" if _causal else "+segments"),
        lambda c=_causal: (_encodec(c), (R(1, 1, 800),)),
    )
    add(
        "encodec",
        "encode" + ("" if _causal else "+segments"),
        lambda c=_causal: (_encodec(c).eval().encode, (R(1, 1, 800),)),
    )
add(
    "encodec",
    "quantizer.kmeans",
    lambda: (
        import_module("encodec.quantization").ResidualVectorQuantizer(
            dimension=8, n_q=2, bins=8, kmeans_iters=2
        ),
        (R(2, 8, 30), 100),
    ),
)
add(
    "encodec",
    "msstftd",
    lambda: (
        import_module("encodec.msstftd").MultiScaleSTFTDiscriminator(
            filters=4, n_ffts=[64, 32], hop_lengths=[16, 8], win_lengths=[64, 32]
        ),
        (R(1, 1, 800),),
    ),
    modes=("eval",),
)
for _name, _kwargs in {
    "Gain": {},
    "PolarityInversion": {},
    "PeakNormalization": {},
    "Shift": {},
    "ShuffleChannels": {},
    "AddColoredNoise": {},
    "LowPassFilter": {},
    "HighPassFilter": {},
    "BandPassFilter": {},
    "BandStopFilter": {},
    "TimeInversion": {},
    "SpliceOut": {},
    "PitchShift": {"sample_rate": 16000},
}.items():
    for _mode in ("per_example", "per_batch"):
        if _mode == "per_batch" and _name not in (
            "Gain",
            "Shift",
            "SpliceOut",
            "PeakNormalization",
        ):
            continue
        add(
            "torch_audiomentations",
            f"{_name}+{_mode}",
            lambda n=_name, k=_kwargs, m=_mode: (
                getattr(import_module("torch_audiomentations"), n)(
                    p=1.0, mode=m, output_type="tensor", **k
                ),
                (R(2, 2, 4000) * 0.1,),
                {"sample_rate": 16000},
            ),
            modes=("train",),
        )
for _name in ("Compose", "SomeOf", "OneOf"):
    add(
        "torch_audiomentations",
        _name,
        lambda n=_name: (
            (
                lambda m: getattr(m, n)(
                    **({"num_transforms": 1} if n == "SomeOf" else {}),
                    transforms=[
                        m.Gain(p=0.5, output_type="tensor"),
                        m.PolarityInversion(p=0.5, output_type="tensor"),
                    ],
                    output_type="tensor",
                )
            )(import_module("torch_audiomentations")),
            (R(2, 1, 800),),
            {"sample_rate": 16000},
        ),
        modes=("train",),
    )
