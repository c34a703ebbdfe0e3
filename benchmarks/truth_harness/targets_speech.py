"""asteroid, audio_diffusion_pytorch, dac, openunmix, torchlibrosa, vocos."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add, of

R = torch.randn


# --- asteroid: separation models, masks, losses ----------------------------------------------

for _name, _kwargs in {
    "ConvTasNet": {"n_src": 2, "n_blocks": 2, "n_repeats": 1, "bn_chan": 8, "hid_chan": 8,
                   "skip_chan": 8, "n_filters": 16},
    "DPRNNTasNet": {"n_src": 2, "bn_chan": 8, "hid_size": 8, "chunk_size": 10, "n_repeats": 1,
                    "n_filters": 8},
    "DPTNet": {"n_src": 2, "n_heads": 2, "ff_hid": 8, "chunk_size": 10, "n_repeats": 1,
               "n_filters": 8},
    "SuDORMRFNet": {"n_src": 2, "bn_chan": 8, "num_blocks": 1, "upsampling_depth": 2,
                    "n_filters": 16},
    "SuDORMRFImprovedNet": {"n_src": 2, "bn_chan": 8, "num_blocks": 1, "upsampling_depth": 2,
                            "n_filters": 16},
    "LSTMTasNet": {"n_src": 2, "n_layers": 1, "hid_size": 8, "n_filters": 8},
    "DeMask": {"hidden_dims": (8,), "n_filters": 32, "stride": 16, "kernel_size": 32},
    "DCCRNet": {"architecture": "DCCRN-CL", "stft_n_filters": 512},
}.items():  # fmt: skip
    add(
        "asteroid",
        _name,
        lambda n=_name, k=_kwargs: (of("asteroid.models", n, **k), (R(1, 3200) * 0.1,)),
    )
add(
    "asteroid",
    "FasNetTAC",
    lambda: (
        of("asteroid.models", "FasNetTAC", n_src=2, enc_dim=8, feature_dim=8, hidden_dim=8,
            n_layers=1, tac_hidden_dim=8),
        (R(1, 2, 3200) * 0.1, torch.tensor([2])),
    ),
)  # fmt: skip


def _pit(loss: str, pit_from: str) -> tuple:
    losses = import_module("asteroid.losses")
    wrapper = losses.PITLossWrapper(getattr(losses, loss), pit_from=pit_from)
    return wrapper, (R(2, 2, 100), R(2, 2, 100))


for _loss, _from in {
    "pairwise_neg_sisdr": "pw_mtx",
    "singlesrc_neg_sisdr": "pw_pt",
    "multisrc_neg_sisdr": "perm_avg",
    "pairwise_mse": "pw_mtx",
}.items():
    add(
        "asteroid",
        f"PITLossWrapper.{_loss}",
        lambda a=_loss, b=_from: _pit(a, b),
        modes=("train",),
    )
add(
    "asteroid",
    "MixITLossWrapper",
    lambda: (
        import_module("asteroid.losses").MixITLossWrapper(
            import_module("asteroid.losses").multisrc_neg_sisdr
        ),
        (R(2, 4, 100), R(2, 2, 100)),
    ),
    modes=("train",),
)
add(
    "asteroid",
    "SinkPITLossWrapper",
    lambda: (
        import_module("asteroid.losses").SinkPITLossWrapper(
            import_module("asteroid.losses").pairwise_neg_sisdr, n_iter=3
        ),
        (R(2, 3, 100), R(2, 3, 100)),
    ),
)
add(
    "asteroid",
    "deep_clustering_loss",
    lambda: (
        import_module("asteroid.losses").deep_clustering_loss,
        (R(2, 60, 4), torch.randint(0, 2, (2, 10, 6))),
    ),
    grad=True,
)
add(
    "asteroid",
    "SingleSrcMultiScaleSpectral",
    lambda: (
        of("asteroid.losses", "SingleSrcMultiScaleSpectral", n_filters=[64, 32],
            windows_size=[64, 32], hops_size=[16, 8]),
        (R(2, 400), R(2, 400)),
    ),
)  # fmt: skip
add(
    "asteroid",
    "SingleSrcPMSQE",
    lambda: (
        of("asteroid.losses", "SingleSrcPMSQE"),
        (R(2, 257, 20).abs(), R(2, 257, 20).abs()),
    ),
)
add(
    "asteroid",
    "ebased_vad",
    lambda: (import_module("asteroid.dsp.vad").ebased_vad, (R(1, 20, 30).abs(),)),
)
add(
    "asteroid",
    "SoudenMVDRBeamformer",
    lambda: (
        of("asteroid.dsp.beamforming", "SoudenMVDRBeamformer"),
        (R(1, 2, 5, 9) + 1j * R(1, 2, 5, 9),
         torch.eye(2, dtype=torch.cfloat)[None, ..., None].repeat(1, 1, 1, 5),
         torch.eye(2, dtype=torch.cfloat)[None, ..., None].repeat(1, 1, 1, 5)),
    ),
)  # fmt: skip
add(
    "asteroid",
    "LambdaOverlapAdd",
    lambda: (
        of("asteroid.dsp.overlap_add", "LambdaOverlapAdd", lambda x: torch.cat([x, x], 1), 2,
            window_size=100),
        (R(1, 1, 400),),
    ),
    modes=("eval",),
)  # fmt: skip

# --- audio_diffusion_pytorch ---------------------------------------------------------------

_ADP = "audio_diffusion_pytorch"
_NET = {"channels": [4, 8], "factors": [1, 2], "items": [1, 1], "attentions": [0, 1],
        "attention_heads": 2, "attention_features": 4, "resnet_groups": 2}  # fmt: skip


def _diffusion(name: str, **kwargs: object) -> torch.nn.Module:
    package = import_module(_ADP)
    return getattr(package, name)(net_t=package.UNetV0, **_NET, **kwargs)


add(
    _ADP,
    "DiffusionModel",
    lambda: (_diffusion("DiffusionModel", in_channels=2), (R(1, 2, 64),)),
)
add(
    _ADP,
    "DiffusionModel.sample",
    lambda: (_diffusion("DiffusionModel", in_channels=2).sample, (R(1, 2, 64),), {"num_steps": 2}),
)
add(
    _ADP,
    "DiffusionUpsampler",
    lambda: (_diffusion("DiffusionUpsampler", in_channels=2, upsample_factor=4), (R(1, 2, 64),)),
)
add(
    _ADP,
    "DiffusionUpsampler.sample",
    lambda: (
        _diffusion("DiffusionUpsampler", in_channels=2, upsample_factor=4).sample,
        (R(1, 2, 16),),
        {"num_steps": 2},
    ),
)
add(
    _ADP,
    "VInpainter",
    lambda: (
        import_module(_ADP).VInpainter(net=_diffusion("DiffusionModel", in_channels=2).net),
        (R(1, 2, 64), torch.rand(1, 2, 64) > 0.5),
        {"num_steps": 2, "num_resamples": 2},
    ),
    modes=("eval",),
)
add(
    _ADP,
    "MelSpectrogram",
    lambda: (
        of(_ADP, "MelSpectrogram", n_fft=64, hop_length=16, win_length=64, sample_rate=8000,
            n_mel_channels=8, normalize_log=True),
        (R(1, 2, 640),),
    ),
)  # fmt: skip

# --- dac -------------------------------------------------------------------------------------

_DAC = {"encoder_dim": 4, "encoder_rates": [2, 2], "decoder_dim": 8, "decoder_rates": [2, 2],
        "n_codebooks": 3, "codebook_size": 16}  # fmt: skip
add(
    "dac",
    "DAC",
    lambda: (of("dac.model.dac", "DAC", **_DAC), (R(1, 1, 401), 44100)),
)
add(
    "dac",
    "DAC.quantizer_dropout",
    lambda: (of("dac.model.dac", "DAC", quantizer_dropout=0.5, **_DAC), (R(2, 1, 400), 44100)),
)
add(
    "dac",
    "DAC.encode",
    lambda: (of("dac.model.dac", "DAC", **_DAC).eval().encode, (R(1, 1, 400), 2)),
)
add(
    "dac",
    "from_codes",
    lambda: (
        of("dac.nn.quantize", "ResidualVectorQuantize", 8, 3, 16, 4).from_codes,
        (torch.randint(0, 16, (1, 3, 10)),),
    ),
)
add(
    "dac",
    "from_latents",
    lambda: (
        of("dac.nn.quantize", "ResidualVectorQuantize", 8, 3, 16, 4).from_latents,
        (R(1, 12, 10),),
    ),
)
add(
    "dac",
    "Discriminator",
    lambda: (
        of("dac.model.discriminator", "Discriminator", rates=[2], periods=[2, 3],
            fft_sizes=[64, 32]),
        (R(1, 1, 800),),
    ),
)  # fmt: skip


def _signals() -> tuple:
    signal = import_module("audiotools").AudioSignal
    return signal(R(1, 1, 4000), 8000), signal(R(1, 1, 4000), 8000)


for _name, _kwargs in {
    "L1Loss": {},
    "SISDRLoss": {},
    "MultiScaleSTFTLoss": {"window_lengths": [128, 64]},
    "MelSpectrogramLoss": {"n_mels": [10, 8], "window_lengths": [128, 64]},
}.items():
    add(
        "dac",
        _name,
        lambda n=_name, k=_kwargs: (of("dac.nn.loss", n, **k), _signals()),
        modes=("train",),
    )

# --- openunmix -------------------------------------------------------------------------------

add(
    "openunmix",
    "OpenUnmix",
    lambda: (
        of("openunmix.model", "OpenUnmix", nb_bins=33, hidden_size=8, nb_layers=1, max_bin=20),
        (R(1, 2, 33, 6).abs(),),
    ),
)


def _separator(**kwargs: object) -> torch.nn.Module:
    one = of("openunmix.model", "OpenUnmix", nb_bins=33, hidden_size=8, nb_layers=1)
    two = of("openunmix.model", "OpenUnmix", nb_bins=33, hidden_size=8, nb_layers=1)
    return of("openunmix.model", "Separator", {"vocals": one, "drums": two}, n_fft=64, n_hop=16,
               **kwargs)  # fmt: skip


for _name, _kwargs in {
    "Separator": {},
    "Separator.wiener": {"niter": 1, "wiener_win_len": 20},
    "Separator.residual": {"niter": 1, "residual": True, "softmask": True},
}.items():
    add(
        "openunmix",
        _name,
        lambda k=_kwargs: (_separator(**k), (R(1, 2, 640) * 0.1,)),
        modes=("eval",),
    )
add(
    "openunmix",
    "filtering.wiener",
    lambda: (
        import_module("openunmix.filtering").wiener,
        (R(6, 9, 2, 2).abs(), R(6, 9, 2, 2)),
        {"iterations": 1},
    ),
)
add(
    "openunmix",
    "TorchSTFT",
    lambda: (of("openunmix.transforms", "TorchSTFT", n_fft=64, n_hop=16), (R(1, 2, 640),)),
)

# --- torchlibrosa ----------------------------------------------------------------------------

_STFT = {"n_fft": 64, "hop_length": 16}
add(
    "torchlibrosa",
    "Spectrogram",
    lambda: (of("torchlibrosa.stft", "Spectrogram", **_STFT), (R(2, 640),)),
)
add(
    "torchlibrosa",
    "LogmelFilterBank",
    lambda: (
        of("torchlibrosa.stft", "LogmelFilterBank", sr=8000, n_fft=64, n_mels=8),
        (R(2, 1, 40, 33).abs(),),
    ),
)
add(
    "torchlibrosa",
    "ISTFT",
    lambda: (
        of("torchlibrosa.stft", "ISTFT", **_STFT),
        (R(2, 1, 41, 33), R(2, 1, 41, 33), 640),
    ),
)
add(
    "torchlibrosa",
    "SpecAugmentation",
    lambda: (
        of("torchlibrosa.augmentation", "SpecAugmentation", 8, 2, 4, 2),
        (R(2, 1, 40, 16),),
    ),
)
add(
    "torchlibrosa",
    "STFT",
    lambda: (of("torchlibrosa.stft", "STFT", **_STFT), (R(2, 640),)),
)

# --- vocos -----------------------------------------------------------------------------------

_BACK = {"input_channels": 8, "dim": 8, "intermediate_dim": 16, "num_layers": 2}


def _vocos(head: str, **kwargs: object) -> torch.nn.Module:
    return of(
        "vocos.pretrained",
        "Vocos",
        of("vocos.feature_extractors", "MelSpectrogramFeatures", sample_rate=8000, n_fft=64,
            hop_length=16, n_mels=8),
        of("vocos.models", "VocosBackbone", **_BACK),
        of("vocos.heads", head, **kwargs),
    )  # fmt: skip


for _head, _kwargs in {
    "ISTFTHead": {"dim": 8, "n_fft": 64, "hop_length": 16},
    "ISTFTHead+center": {"dim": 8, "n_fft": 64, "hop_length": 16, "padding": "center"},
    "IMDCTSymExpHead": {"dim": 8, "mdct_frame_len": 32},
    "IMDCTCosHead": {"dim": 8, "mdct_frame_len": 32, "clip_audio": True},
}.items():
    add(
        "vocos",
        f"Vocos.{_head}",
        lambda h=_head, k=_kwargs: (_vocos(h.split("+")[0], **k), (R(1, 640) * 0.1,)),
    )
add(
    "vocos",
    "VocosBackbone.adanorm",
    lambda: (
        of("vocos.models", "VocosBackbone", adanorm_num_embeddings=4, **_BACK),
        (R(1, 8, 20),),
        {"bandwidth_id": torch.tensor([1])},
    ),
)
add(
    "vocos",
    "VocosResNetBackbone",
    lambda: (of("vocos.models", "VocosResNetBackbone", 8, 8, 2), (R(1, 8, 20),)),
)
add(
    "vocos",
    "MultiPeriodDiscriminator",
    lambda: (
        of("vocos.discriminators", "MultiPeriodDiscriminator", (2, 3)),
        (R(1, 401), R(1, 401)),
    ),
    modes=("train",),
)
add(
    "vocos",
    "MultiResolutionDiscriminator",
    lambda: (
        of("vocos.discriminators", "MultiResolutionDiscriminator", (64, 32)),
        (R(1, 400), R(1, 400)),
    ),
    modes=("train",),
)
add(
    "vocos",
    "MelSpecReconstructionLoss",
    lambda: (
        of("vocos.loss", "MelSpecReconstructionLoss", 8000, 64, 16, 8),
        (R(1, 640), R(1, 640)),
    ),
)
for _loss in ("GeneratorLoss", "DiscriminatorLoss", "FeatureMatchingLoss"):
    add(
        "vocos",
        _loss,
        lambda n=_loss: (
            of("vocos.loss", n),
            {
                "GeneratorLoss": ([R(1, 5), R(1, 5)],),
                "DiscriminatorLoss": ([R(1, 5), R(1, 5)], [R(1, 5), R(1, 5)]),
                "FeatureMatchingLoss": ([[R(1, 5)], [R(1, 5)]], [[R(1, 5)], [R(1, 5)]]),
            }[n],
        ),
        modes=("train",),
    )
