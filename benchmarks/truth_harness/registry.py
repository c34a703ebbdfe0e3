"""The registry of targets: what gets measured, and of which package."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Import name -> distribution name, of every package whose lines the truth may hold.
PACKAGES = {
    "adabelief_pytorch": "adabelief-pytorch",
    "antialiased_cnns": "antialiased-cnns",
    "asteroid": "asteroid",
    "audio_diffusion_pytorch": "audio-diffusion-pytorch",
    "audiotools": "descript-audiotools",
    "batchgeneratorsv2": "batchgeneratorsv2",
    "bayesian_torch": "bayesian-torch",
    "birder": "birder",
    "blitz": "blitz-bayesian-pytorch",
    "block_recurrent_transformer_pytorch": "block-recurrent-transformer-pytorch",
    "brevitas": "brevitas",
    "byol_pytorch": "byol-pytorch",
    "came_pytorch": "came-pytorch",
    "cellpose": "cellpose",
    "chgnet": "chgnet",
    "chronos": "chronos-forecasting",
    "clip": "clip-anytorch",
    "colt5_attention": "CoLT5-attention",
    "compressai": "compressai",
    "coral_pytorch": "coral-pytorch",
    "curated_transformers": "curated-transformers",
    "d3rlpy": "d3rlpy",
    "dac": "descript-audio-codec",
    "dadaptation": "dadaptation",
    "dalle2_pytorch": "dalle2-pytorch",
    "deepctr_torch": "deepctr-torch",
    "deepinv": "deepinv",
    "deepxde": "DeepXDE",
    "demucs": "demucs",
    "denoising_diffusion_pytorch": "denoising-diffusion-pytorch",
    "diffsptk": "diffsptk",
    "DISTS_pytorch": "dists-pytorch",
    "doctr": "python-doctr",
    "dynamic_network_architectures": "dynamic-network-architectures",
    "e3nn": "e3nn",
    "effdet": "effdet",
    "efficientnet_pytorch": "efficientnet-pytorch",
    "egnn_pytorch": "egnn-pytorch",
    "ema_pytorch": "ema-pytorch",
    "encodec": "encodec",
    "entmax": "entmax",
    "equiformer_pytorch": "equiformer-pytorch",
    "evotorch": "evotorch",
    "facenet_pytorch": "facenet-pytorch",
    "facexlib": "facexlib",
    "fast_bss_eval": "fast-bss-eval",
    "flowtorch": "flowtorch",
    "foolbox": "foolbox",
    "FrEIA": "FrEIA",
    "fvcore": "fvcore",
    "g_mlp_pytorch": "g-mlp-pytorch",
    "geomloss": "geomloss",
    "geotorch": "geotorch",
    "gigagan_pytorch": "gigagan-pytorch",
    "gliner": "gliner",
    "gluonts": "gluonts",
    "h_transformer_1d": "h-transformer-1d",
    "hiera": "hiera-transformer",
    "holocron": "pylocron",
    "hqq": "hqq",
    "hypll": "hypll",
    "ignite": "pytorch-ignite",
    "julius": "julius",
    "k_diffusion": "k-diffusion",
    "kan": "pykan",
    "kymatio": "kymatio",
    "labml_nn": "labml-nn",
    "laplace": "laplace-torch",
    "libauc": "libauc",
    "lightly": "lightly",
    "linformer": "linformer",
    "lion_pytorch": "lion-pytorch",
    "local_attention": "local-attention",
    "lpips": "lpips",
    "mace": "mace-torch",
    "madgrad": "madgrad",
    "mixture_of_experts": "mixture-of-experts",
    "muse_maskgit_pytorch": "muse-maskgit-pytorch",
    "native_sparse_attention_pytorch": "native-sparse-attention-pytorch",
    "ncps": "ncps",
    "neuralforecast": "neuralforecast",
    "neuralop": "neuraloperator",
    "neurodiffeq": "neurodiffeq",
    "nflows": "nflows",
    "nngeometry": "nngeometry",
    "normflows": "normflows",
    "nystrom_attention": "nystrom-attention",
    "opacus": "opacus",
    "open_clip": "open-clip-torch",
    "openunmix": "openunmix",
    "optimum": "optimum-quanto",
    "penn": "penn",
    "perceiver_pytorch": "perceiver-pytorch",
    "performer_pytorch": "performer-pytorch",
    "pfrl": "pfrl",
    "piqa": "piqa",
    "pomegranate": "pomegranate",
    "pretrainedmodels": "pretrainedmodels",
    "ptlflow": "ptlflow",
    "pycox": "pycox",
    "pyiqa": "pyiqa",
    "pykeen": "pykeen",
    "pypose": "pypose",
    "pypots": "pypots",
    "pytorch_adapt": "pytorch-adapt",
    "pytorch_grad_cam": "grad-cam",
    "pytorch_kinematics": "pytorch-kinematics",
    "pytorch_lattice": "pytorch-lattice",
    "pytorch_ood": "pytorch-ood",
    "pytorch_optimizer": "pytorch-optimizer",
    "pytorch_tabnet": "pytorch-tabnet",
    "pytorch_toolbelt": "pytorch-toolbelt",
    "pytorch_wavelets": "pytorch-wavelets",
    "pytorchcv": "pytorchcv",
    "pytorchvideo": "pytorchvideo",
    "qpth": "qpth",
    "recbole": "recbole",
    "rectified_flow_pytorch": "rectified-flow-pytorch",
    "recurrent_memory_transformer_pytorch": "recurrent-memory-transformer-pytorch",
    "reformer_pytorch": "reformer-pytorch",
    "roma": "roma",
    "romatch": "romatch",
    "rotary_embedding_torch": "rotary-embedding-torch",
    "s3prl": "s3prl",
    "sam2": "sam2",
    "sbi": "sbi",
    "schnetpack": "schnetpack",
    "se3_transformer_pytorch": "se3-transformer-pytorch",
    "segment_anything": "segment-anything",
    "sentence_transformers": "sentence-transformers",
    "simple_hierarchical_transformer": "simple-hierarchical-transformer",
    "sinkhorn_transformer": "sinkhorn-transformer",
    "skrl": "skrl",
    "snac": "snac",
    "snntorch": "snntorch",
    "soft_moe_pytorch": "soft-moe-pytorch",
    "spandrel": "spandrel",
    "spikingjelly": "spikingjelly",
    "st_moe_pytorch": "st-moe-pytorch",
    "stable_baselines3": "stable-baselines3",
    "super_image": "super-image",
    "tab_transformer_pytorch": "tab-transformer-pytorch",
    "taming": "taming-transformers",
    "tensorly": "tensorly",
    "tianshou": "tianshou",
    "timm": "timm",
    "titans_pytorch": "titans-pytorch",
    "tltorch": "tensorly-torch",
    "tntorch": "tntorch",
    "torch_audiomentations": "torch-audiomentations",
    "torch_cubic_spline_grids": "torch-cubic-spline-grids",
    "torch_dct": "torch-dct",
    "torch_ema": "torch-ema",
    "torch_fidelity": "torch-fidelity",
    "torch_frame": "pytorch-frame",
    "torch_geometric": "torch-geometric",
    "torch_harmonics": "torch-harmonics",
    "torch_pesq": "torch-pesq",
    "torch_pitch_shift": "torch-pitch-shift",
    "torch_rechub": "torch-rechub",
    "torch_stoi": "torch-stoi",
    "torch_uncertainty": "torch-uncertainty",
    "torchani": "torchani",
    "torchattacks": "torchattacks",
    "torchaudio": "torchaudio",
    "torchaug": "torchaug",
    "torchbnn": "torchbnn",
    "torchcde": "torchcde",
    "torchcfm": "torchcfm",
    "torchcrepe": "torchcrepe",
    "torchcrf": "pytorch-crf",
    "torchdr": "torchdr",
    "torchdyn": "torchdyn",
    "torcheval": "torcheval",
    "torchgeo": "torchgeo",
    "torchjd": "torchjd",
    "torchkbnufft": "torchkbnufft",
    "torchkin": "torchkin",
    "torchlibrosa": "torchlibrosa",
    "torchlie": "torchlie",
    "torchmetrics": "torchmetrics",
    "torchmin": "pytorch-minimize",
    "torchode": "torchode",
    "torchopt": "torchopt",
    "torchphysics": "torchphysics",
    "torchquad": "torchquad",
    "torchscale": "torchscale",
    "torchsde": "torchsde",
    "torchseg": "torchseg",
    "torchsurv": "torchsurv",
    "torchsynth": "torchsynth",
    "torchvision": "torchvision",
    "torchxrayvision": "torchxrayvision",
    "transformer_lens": "transformer-lens",
    "transfusion_pytorch": "transfusion-pytorch",
    "trl": "trl",
    "tsai": "tsai",
    "ttach": "ttach",
    "ultralytics": "ultralytics",
    "vector_quantize_pytorch": "vector-quantize-pytorch",
    "vit_pytorch": "vit-pytorch",
    "vocos": "vocos",
    "whisper": "openai-whisper",
    "x_clip": "x-clip",
    "x_transformers": "x-transformers",
    "xitorch": "xitorch",
    "zennit": "zennit",
    "zuko": "zuko",
}


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to run. `build()` returns (callable, args) or (callable, args, kwargs).

    A module is run in each of `modes`; any other callable once, as "eval". `grad` leaves
    gradients on in eval mode, as a loss or an optimizer's step needs.
    """

    package: str
    name: str
    build: Callable[[], tuple]
    modes: tuple[str, ...]
    grad: bool

    @property
    def id(self) -> str:
        return f"{self.package}::{self.name}"


TARGETS: dict[str, Target] = {}


def add(
    package: str,
    name: str,
    build: Callable[[], tuple],
    *,
    modes: tuple[str, ...] = ("eval", "train"),
    grad: bool = False,
) -> None:
    """Register a target; a second one of the same id is a mistake."""
    if package not in PACKAGES:
        raise ValueError(f"{package} is not in PACKAGES")
    target = Target(package, name, build, modes, grad)
    if target.id in TARGETS:
        raise ValueError(f"two targets named {target.id}")
    TARGETS[target.id] = target


def each(package: str, builds: dict[str, Callable[[], tuple]], *, grad: bool = False) -> None:
    """Register a table of targets: name -> build."""
    for name, build in builds.items():
        add(package, name, build, grad=grad)


def of(module: str, name: str, *args: object, **kwargs: object) -> Any:
    """What the class or function of that name in a module makes of the arguments."""
    return getattr(importlib.import_module(module), name)(*args, **kwargs)


def load_targets() -> None:
    """Import every targets_*.py beside this file. A target imports its package when built."""
    for file in sorted(Path(__file__).parent.glob("targets_*.py")):
        importlib.import_module(file.stem)
