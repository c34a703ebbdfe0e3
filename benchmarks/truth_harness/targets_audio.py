"""torchaudio, julius, encodec, torch_audiomentations."""

from __future__ import annotations

import math
from importlib import import_module

import torch
from registry import add

R = torch.randn


def _wave() -> tuple:
    return (R(1, 1600) * 0.1,)


_RATE = 8000
for _name, _kwargs in {
    "allpass_biquad": {"sample_rate": _RATE, "central_freq": 500.0},
    "bass_biquad": {"sample_rate": _RATE, "gain": 3.0},
    "lowpass_biquad": {"sample_rate": _RATE, "cutoff_freq": 500.0},
    "compute_deltas": {},
    "contrast": {},
    "dcshift": {"shift": 0.1, "limiter_gain": 0.05},
    "detect_pitch_frequency": {"sample_rate": _RATE, "freq_low": 200},
    "dither": {"noise_shaping": True},
    "dither+gpdf": {"density_function": "GPDF"},
    "flanger": {"sample_rate": _RATE},
    "gain": {},
    "loudness": {"sample_rate": _RATE},
    "mu_law_encoding": {"quantization_channels": 16},
    "overdrive": {},
    "phaser": {"sample_rate": _RATE},
    "pitch_shift": {"sample_rate": _RATE, "n_steps": 2, "n_fft": 64},
    "resample": {"orig_freq": 8, "new_freq": 5},
    "sliding_window_cmn": {},
    "speed": {"orig_freq": _RATE, "factor": 1.1},
    "vad": {"sample_rate": _RATE},
    "preemphasis": {},
    "deemphasis": {},
    "amplitude_to_DB": {"multiplier": 10.0, "amin": 1e-8, "db_multiplier": 0.0, "top_db": 80.0},
    "riaa_biquad": {"sample_rate": 44100},
    "spectral_centroid": {
        "sample_rate": _RATE,
        "pad": 0,
        "window": torch.hann_window(64),
        "n_fft": 64,
        "hop_length": 32,
        "win_length": 64,
    },
}.items():
    add(
        "torchaudio",
        f"functional.{_name}",
        lambda n=_name, k=_kwargs: (
            getattr(import_module("torchaudio.functional"), n.split("+")[0]),
            (R(1, 8, 20),) if n == "sliding_window_cmn" else _wave(),
            k,
        ),
    )
for _name, _args in {
    "lfilter": lambda: (
        R(1, 100) * 0.1,
        torch.tensor([1.0, 0.2, 0.1]),
        torch.tensor([0.5, 0.2, 0.1]),
    ),
    "filtfilt": lambda: (
        R(1, 100) * 0.1,
        torch.tensor([1.0, 0.2, 0.1]),
        torch.tensor([0.5, 0.2, 0.1]),
    ),
    "fftconvolve": lambda: (R(2, 20), R(2, 5)),
    "convolve": lambda: (R(2, 20), R(2, 5)),
    "add_noise": lambda: (R(2, 20), R(2, 20), torch.tensor([3.0, 5.0]), torch.tensor([20, 11])),
    "mask_along_axis": lambda: (R(1, 8, 20), 4, 0.0, 1),
    "mask_along_axis_iid": lambda: (R(2, 1, 8, 20), 4, 0.0, 2),
    "edit_distance": lambda: (torch.tensor([1, 2, 3]), torch.tensor([1, 3, 3])),
    "frechet_distance": lambda: (R(4), torch.eye(4), R(4), torch.eye(4)),
    "phase_vocoder": lambda: (
        torch.randn(1, 33, 10, dtype=torch.cfloat),
        1.3,
        torch.linspace(0, math.pi * 16, 33)[:, None],
    ),
    "rtf_power": lambda: (
        torch.randn(5, 3, 3, dtype=torch.cfloat),
        torch.randn(5, 3, 3, dtype=torch.cfloat),
        0,
    ),
    "mvdr_weights_souden": lambda: (
        torch.randn(5, 3, 3, dtype=torch.cfloat),
        torch.randn(5, 3, 3, dtype=torch.cfloat),
        0,
    ),
    "melscale_fbanks": lambda: (33, 0.0, 4000.0, 8, 8000),
    "create_dct": lambda: (4, 8, "ortho"),
    "griffinlim": lambda: (
        torch.rand(1, 33, 10),
        torch.hann_window(64),
        64,
        32,
        64,
        1.0,
        2,
        0.9,
        None,
        True,
    ),
}.items():
    add(
        "torchaudio",
        f"functional.{_name}",
        lambda n=_name, a=_args: (getattr(import_module("torchaudio.functional"), n), a()),
    )
for _name, _kwargs in {
    "MFCC": {
        "sample_rate": _RATE,
        "n_mfcc": 4,
        "log_mels": True,
        "melkwargs": {"n_fft": 64, "n_mels": 8},
    },
    "LFCC": {"sample_rate": _RATE, "n_filter": 8, "n_lfcc": 4, "speckwargs": {"n_fft": 64}},
    "MelSpectrogram": {"sample_rate": _RATE, "n_fft": 64, "n_mels": 8},
    "Spectrogram": {"n_fft": 64},
    "Fade": {"fade_in_len": 20, "fade_out_len": 20},
    "Vol": {"gain": 2.0, "gain_type": "db"},
    "SpeedPerturbation": {"orig_freq": 8, "factors": [0.9, 1.1]},
    "Loudness": {"sample_rate": _RATE},
    "PitchShift": {"sample_rate": _RATE, "n_steps": 2, "n_fft": 64},
    "Vad": {"sample_rate": _RATE},
}.items():
    add(
        "torchaudio",
        f"transforms.{_name}",
        lambda n=_name, k=_kwargs: (
            getattr(import_module("torchaudio.transforms"), n)(**k),
            _wave(),
        ),
        modes=("eval",),
    )
for _name, _kwargs in {
    "SpecAugment": {
        "n_time_masks": 1,
        "time_mask_param": 3,
        "n_freq_masks": 1,
        "freq_mask_param": 3,
    },
    "FrequencyMasking": {"freq_mask_param": 3},
    "TimeMasking": {"time_mask_param": 3, "p": 0.5},
    "AmplitudeToDB": {"top_db": 80.0},
    "InverseMelScale": {"n_stft": 33, "n_mels": 8, "sample_rate": _RATE},
}.items():
    add(
        "torchaudio",
        f"transforms.{_name}",
        lambda n=_name, k=_kwargs: (
            getattr(import_module("torchaudio.transforms"), n)(**k),
            (torch.rand(1, 8, 20),),
        ),
        modes=("eval",),
    )
_LENGTHS = torch.tensor([24, 17])
for _name, _args in {
    "Conformer": lambda m: (m.Conformer(8, 2, 16, 1, 3), (R(2, 24, 8), _LENGTHS)),
    "Emformer": lambda m: (
        m.Emformer(8, 2, 16, 1, 4, right_context_length=1),
        (R(2, 25, 8), _LENGTHS),
    ),
    "ConvTasNet": lambda m: (
        m.ConvTasNet(
            enc_num_feats=8,
            msk_num_feats=8,
            msk_num_hidden_feats=8,
            msk_num_layers=2,
            msk_num_stacks=1,
        ),
        (R(2, 1, 200),),
    ),
    "DeepSpeech": lambda m: (m.DeepSpeech(8, 16, 5), (R(2, 1, 10, 8),)),
    "Wav2Letter": lambda m: (m.Wav2Letter(5, "mfcc", 8), (R(1, 8, 200),)),
    "WaveRNN": lambda m: (
        m.WaveRNN(
            upsample_scales=[2, 2],
            n_classes=8,
            hop_length=4,
            n_res_block=1,
            n_rnn=8,
            n_fc=8,
            kernel_size=3,
            n_freq=8,
            n_hidden=8,
            n_output=8,
        ),
        (R(1, 1, 24), R(1, 1, 8, 8)),
    ),
    "Tacotron2": lambda m: (
        m.Tacotron2(
            n_symbol=20,
            n_mels=8,
            symbol_embedding_dim=16,
            encoder_embedding_dim=16,
            encoder_n_convolution=1,
            decoder_rnn_dim=16,
            attention_rnn_dim=16,
            attention_hidden_dim=8,
            prenet_dim=8,
            postnet_n_convolution=2,
            postnet_embedding_dim=8,
            attention_location_n_filter=4,
        ),
        (torch.randint(0, 20, (2, 6)), torch.tensor([6, 4]), R(2, 8, 5), torch.tensor([5, 3])),
    ),
    "Wav2Vec2": lambda m: (
        m.wav2vec2_model(
            extractor_mode="group_norm",
            extractor_conv_layer_config=[(8, 10, 5), (8, 3, 2)],
            extractor_conv_bias=False,
            encoder_embed_dim=16,
            encoder_projection_dropout=0.1,
            encoder_pos_conv_kernel=8,
            encoder_pos_conv_groups=2,
            encoder_num_layers=2,
            encoder_num_heads=2,
            encoder_attention_dropout=0.1,
            encoder_ff_interm_features=32,
            encoder_ff_interm_dropout=0.1,
            encoder_dropout=0.1,
            encoder_layer_norm_first=False,
            encoder_layer_drop=0.1,
            aux_num_out=5,
        ),
        (R(2, 400), torch.tensor([400, 300])),
    ),
    "SquimObjective": lambda m: (
        m.squim_objective_model(
            feat_dim=8,
            win_len=16,
            d_model=8,
            nhead=2,
            hidden_dim=8,
            num_blocks=1,
            rnn_type="LSTM",
            chunk_size=4,
        ),
        (R(1, 400),),
    ),
}.items():
    add(
        "torchaudio",
        f"models.{_name}",
        lambda a=_args: a(import_module("torchaudio.models")),
        modes=("eval", "train") if _name in ("Wav2Vec2", "Conformer", "Tacotron2") else ("eval",),
    )
add(
    "torchaudio",
    "kaldi.fbank",
    lambda: (
        import_module("torchaudio.compliance.kaldi").fbank,
        (R(1, 1600),),
        {"sample_frequency": 8000.0, "num_mel_bins": 8, "dither": 1.0},
    ),
)
add(
    "torchaudio",
    "kaldi.mfcc",
    lambda: (
        import_module("torchaudio.compliance.kaldi").mfcc,
        (R(1, 1600),),
        {"sample_frequency": 8000.0, "num_mel_bins": 8, "num_ceps": 4, "vtln_warp": 1.1},
    ),
)
add(
    "torchaudio",
    "RNNTBeamSearch",
    lambda: (
        (
            lambda m: m.RNNTBeamSearch(
                m.RNNT(
                    m._rnnt._EmformerEncoder(
                        input_dim=8,
                        output_dim=8,
                        segment_length=8,
                        right_context_length=4,
                        time_reduction_input_dim=4,
                        time_reduction_stride=2,
                        transformer_num_heads=2,
                        transformer_ffn_dim=8,
                        transformer_num_layers=1,
                    )
                    if hasattr(m, "_rnnt")
                    else None,
                    None,
                    None,
                ),
                0,
            )
        )(import_module("torchaudio.models.rnnt")),
        (R(1, 12, 8), torch.tensor([12]), 2),
    ),
    modes=("eval",),
)
