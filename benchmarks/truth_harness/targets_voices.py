"""Speech, sound synthesis and their measures: diffsptk, whisper, torchsynth, fast_bss_eval,
torch_dct.
"""

from __future__ import annotations

import sys
from importlib import import_module

import torch
from registry import add, of

R = torch.randn
IDS = torch.randint


# --- diffsptk --------------------------------------------------------------------------------

_SPTK = "diffsptk"


def _pitches() -> torch.Tensor:
    return torch.tensor([[0.0, 100.0, 110.0, 0.0, 120.0, 90.0]])


def _lpc() -> torch.Tensor:
    return torch.tensor([[1.0, -0.3, 0.2, -0.1, 0.05]])


for _name, (_args, _kwargs, _inputs) in {
    "DynamicTimeWarping": ((), {}, lambda: (R(1, 5, 3), R(1, 6, 3))),
    "LindeBuzoGrayAlgorithm": ((2, 4), {"n_iter": 3}, lambda: (R(24, 3),)),
    "GaussianMixtureModeling": ((2, 2), {"n_iter": 2}, lambda: (R(24, 3),)),
    "PrincipalComponentAnalysis": ((2, 2), {}, lambda: (R(24, 3),)),
    "IndependentComponentAnalysis": ((2, 2), {"n_iter": 3}, lambda: (R(24, 3),)),
    "NonnegativeMatrixFactorization": ((8, 4, 2), {"n_iter": 3}, lambda: (R(8, 5).abs(),)),
    "ExcitationGeneration": ((8,), {}, lambda: (_pitches(),)),
    "MagicNumberInterpolation": ((0,), {}, lambda: (_pitches()[..., None],)),
    "MedianFilter": ((3,), {"magic_number": 0}, lambda: (_pitches()[..., None],)),
    "LinearPredictiveCoefficientsStabilityCheck": ((4,), {}, lambda: (_lpc(),)),
    "LinearPredictiveCoefficientsToLineSpectralPairs": ((4,), {}, lambda: (_lpc(),)),
    "LineSpectralPairsStabilityCheck": ((4,), {}, lambda: (torch.rand(1, 5).sort()[0] * 3,)),
    "GriffinLim": ((16, 8, 16), {"n_iter": 3}, lambda: (R(6, 9).abs(),)),
    "MelCepstralAnalysis": ((), {"fft_length": 16, "cep_order": 4, "n_iter": 2},
                            lambda: (R(2, 9).abs() + 0.1,)),
    "MelGeneralizedCepstralAnalysis": (
        (), {"fft_length": 16, "cep_order": 4, "gamma": -0.5, "n_iter": 2},
        lambda: (R(2, 9).abs() + 0.1,)),
    "PseudoMGLSADigitalFilter": ((4, 8), {"mode": "multi-stage", "cep_order": 9, "n_fft": 16},
                                 lambda: (R(1, 32), R(1, 4, 5) * 0.1)),
    "PseudoMGLSADigitalFilter.freq": (
        (4, 4), {"mode": "freq-domain", "frame_length": 16, "fft_length": 16, "n_fft": 16},
        lambda: (R(1, 32), R(1, 8, 5) * 0.1)),
    "AllPoleDigitalFilter": ((4, 4), {}, lambda: (R(1, 8), R(1, 2, 5) * 0.1)),
    "AllZeroDigitalFilter": ((4, 4), {}, lambda: (R(1, 8), R(1, 2, 5) * 0.1)),
    "PolynomialToRoots": ((4,), {}, lambda: (_lpc(),)),
    "MLSADigitalFilterStabilityCheck": ((4,), {"alpha": 0.1}, lambda: (R(2, 5),)),
    "MLSADigitalFilterStabilityCheck.slow": ((4,), {"fast": False, "mod_type": "clip"},
                                             lambda: (R(2, 5) * 9,)),
    "DynamicRangeCompression": ((), {"sample_rate": 8000}, lambda: (R(1, 40),)),
    "Phase": ((16,), {"unwrap": True}, lambda: (R(2, 4), _lpc()[:, :4].repeat(2, 1))),
    "ZeroCrossingAnalysis": ((8,), {}, lambda: (R(2, 32),)),
    "VectorQuantization": ((2, 4), {}, lambda: (R(2, 3),)),
    "Yingram": ((64,), {"sample_rate": 8000, "lag_max": 40}, lambda: (R(2, 64),)),
    "LevinsonDurbin": ((4,), {}, lambda: (torch.tensor([[5.0, 2.0, 1.0, 0.5, 0.1]]),)),
}.items():  # fmt: skip
    add(
        _SPTK,
        _name,
        lambda n=_name, a=_args, k=_kwargs, i=_inputs: (
            of(_SPTK, n.split(".")[0], *a, **k),
            i(),
        ),
        modes=("eval",),
    )

# --- whisper ---------------------------------------------------------------------------------

_WHISPER = "whisper"


def _whisper(vocabulary: int = 30) -> torch.nn.Module:
    dims = of("whisper.model", "ModelDimensions", 80, 10, 8, 2, 1, vocabulary, 12, 8, 2, 2)
    return of("whisper.model", "Whisper", dims).eval()


def _tokenizer() -> object:
    """A tokenizer whose cached properties nobody has read before."""
    get = import_module("whisper.tokenizer").get_tokenizer
    get.cache_clear()
    return get(True)


def _cached() -> tuple:
    model = _whisper()
    cache, _ = model.install_kv_cache_hooks()
    audio = R(1, 10, 8)

    def step(tokens: torch.Tensor) -> torch.Tensor:
        model.decoder(tokens, audio, kv_cache=cache)
        return model.decoder(tokens[:, -1:], audio, kv_cache=cache)

    return step, (IDS(0, 30, (1, 4)),)


def _decoder(name: str, *args: object) -> object:
    return of("whisper.decoding", name, *args)


def _beam() -> tuple:
    inference = _decoder("PyTorchInference", _whisper(), 3)
    decoder = _decoder("BeamSearchDecoder", 2, 29, inference)
    tokens = IDS(0, 29, (2, 4))
    with torch.no_grad():
        inference.logits(tokens, R(2, 10, 8))
    return decoder.update, (tokens, R(2, 30), torch.zeros(2))


def _task(**options: object) -> object:
    _tokenizer()
    settings = _decoder("DecodingOptions")
    settings = type(settings)(language="en", fp16=False, sample_len=3, **options)
    return _decoder("DecodingTask", _whisper(51865), settings)


def _timestamps() -> tuple:
    tokenizer = _tokenizer()
    start = tokenizer.timestamp_begin
    rules = _decoder("ApplyTimestampRules", tokenizer, 1, 50)
    tokens = torch.tensor([[1, start + 2, 5, start + 9], [1, 4, start + 3, start + 3]])
    return rules.apply, (R(2, start + 1501), tokens)


for _name, _build in {
    "forward": lambda: (_whisper(), (R(1, 80, 20), IDS(0, 30, (1, 5)))),
    "cached": _cached,
    "log_mel_spectrogram": lambda: (
        import_module("whisper.audio").log_mel_spectrogram, (R(1600), 80, 160)),
    "pad_or_trim": lambda: (import_module("whisper.audio").pad_or_trim, (R(2, 30), 40)),
    "median_filter": lambda: (import_module("whisper.timing").median_filter, (R(2, 9), 3)),
    "dtw": lambda: (import_module("whisper.timing").dtw, (R(4, 6),)),
    "GreedyDecoder": lambda: (
        _decoder("GreedyDecoder", 0.0, 29).update,
        (IDS(0, 30, (2, 4)), R(2, 30), torch.zeros(2))),
    "GreedyDecoder.warm": lambda: (
        _decoder("GreedyDecoder", 0.7, 29).update,
        (IDS(0, 30, (2, 4)), R(2, 30), torch.zeros(2))),
    "BeamSearchDecoder": _beam,
    "ApplyTimestampRules": _timestamps,
    "SuppressTokens": lambda: (
        _decoder("SuppressTokens", [1, 2]).apply, (R(2, 30), IDS(0, 30, (2, 4)))),
    "detect_language": lambda: (
        import_module("whisper.decoding").detect_language,
        (_whisper(51865), R(1, 80, 20), _tokenizer())),
    "DecodingTask": lambda: (_task().run, (R(1, 80, 20),)),
    "DecodingTask.beam": lambda: (_task(beam_size=2).run, (R(1, 80, 20),)),
    "find_alignment": lambda: (
        import_module("whisper.timing").find_alignment,
        (_whisper(51865), _tokenizer(), [100, 200], R(80, 20), 20)),
    "find_alignment.again": lambda: (  # the tokenizer is that of the run in eager mode
        import_module("whisper.timing").find_alignment,
        (_whisper(51865), import_module("whisper.tokenizer").get_tokenizer(True), [100, 200],
         R(80, 20), 20)),
}.items():  # fmt: skip
    add(_WHISPER, _name, _build, modes=("eval",) if _name != "forward" else ("eval", "train"))

# --- torchsynth ------------------------------------------------------------------------------

_SYNTH = "torchsynth"


def _config() -> object:
    return of(
        f"{_SYNTH}.config", "SynthConfig", 2, 4000, 0.2, 100, reproducible=False
    )  # fmt: skip


def _signal(*sizes: int) -> torch.Tensor:
    return torch.rand(*sizes).as_subclass(import_module(f"{_SYNTH}.signal").Signal)


def _voice() -> torch.nn.Module:
    # The module that this package imports has moved since.
    name = "pytorch_lightning.core.lightning"
    sys.modules.setdefault(name, import_module("pytorch_lightning.core.module"))
    return of(f"{_SYNTH}.synth", "Voice", _config())


def _synth(name: str, *args: object, **kwargs: object) -> torch.nn.Module:
    return of(f"{_SYNTH}.module", name, _config(), *args, **kwargs)


for _name, _build in {
    "ADSR": lambda: (_synth("ADSR"), (torch.tensor([0.05, 0.1]),)),
    "SineVCO": lambda: (_synth("SineVCO"), (torch.tensor([40.0, 60.0]), _signal(2, 800))),
    "FmVCO": lambda: (_synth("FmVCO"), (torch.tensor([40.0, 60.0]), _signal(2, 800))),
    "SquareSawVCO": lambda: (_synth("SquareSawVCO"), (torch.tensor([40.0, 60.0]), _signal(2, 800))),
    "VCA": lambda: (_synth("VCA"), (_signal(2, 800), _signal(2, 800))),
    "LFO": lambda: (_synth("LFO"), (_signal(2, 20),)),
    "Noise": lambda: (_synth("Noise", seed=3), ()),
    "ModulationMixer": lambda: (_synth("ModulationMixer", 2, 2), (_signal(2, 20), _signal(2, 20))),
    "AudioMixer": lambda: (_synth("AudioMixer", 2), (_signal(2, 800), _signal(2, 800))),
    "ControlRateUpsample": lambda: (_synth("ControlRateUpsample"), (_signal(2, 20),)),
    "MonophonicKeyboard": lambda: (_synth("MonophonicKeyboard"), ()),
    "SoftModeSelector": lambda: (_synth("SoftModeSelector", 3), ()),
    "HardModeSelector": lambda: (_synth("HardModeSelector", 3), ()),
    "Voice": lambda: (_voice(), ()),
    "Voice.batch": lambda: (_voice(), (1,)),
}.items():
    add(_SYNTH, _name, _build, modes=("eval",))

# --- fast_bss_eval ---------------------------------------------------------------------------

_BSS = "fast_bss_eval"

for _name, (_short, _kwargs) in {
    "sdr": (False, {"filter_length": 8}),
    "sdr.permuted": (False, {"filter_length": 8, "return_perm": True, "clamp_db": 30.0}),
    "sdr.cgd": (False, {"filter_length": 8, "use_cg_iter": 3}),
    "sdr_loss": (False, {"filter_length": 8, "zero_mean": True}),
    "sdr_loss.pairwise": (False, {"filter_length": 8, "pairwise": True, "load_diag": 1e-5}),
    "sdr_pit_loss": (False, {"filter_length": 8}),
    "bss_eval_sources": (False, {"filter_length": 8}),
    "bss_eval_sources.cgd": (False, {"filter_length": 8, "use_cg_iter": 2}),
    "bss_eval_sources.plain": (False, {"filter_length": 8, "compute_permutation": False}),
    "si_sdr": (True, {"return_perm": True}),
    "si_sdr_loss": (True, {"zero_mean": True}),
    "si_sdr_pit_loss": (True, {"clamp_db": 20.0}),
    "si_bss_eval_sources": (True, {}),
}.items():
    add(
        _BSS,
        _name,
        lambda n=_name, k=_kwargs: (
            lambda x, y: getattr(import_module(f"{_BSS}.torch"), n.split(".")[0])(x, y, **k),
            (R(2, 200), R(2, 200)),
        ),
        grad="loss" in _name,
    )

# --- torch_dct -------------------------------------------------------------------------------

for _name in ("dct", "idct", "dct1", "idct1", "dct_2d", "idct_2d", "dct_3d", "idct_3d"):
    add(
        "torch_dct",
        _name,
        lambda n=_name: (getattr(import_module("torch_dct"), n), (R(2, 3, 4, 5),)),
        grad=True,
    )
for _name in ("dct", "idct", "dct1", "idct1"):
    add(
        "torch_dct",
        f"LinearDCT.{_name}",
        lambda n=_name: (
            of("torch_dct", "LinearDCT", 5, n, **({"norm": "ortho"} if "1" not in n else {})),
            (R(2, 5),),
        ),
        modes=("eval",),
    )
