"""Adversarial attacks: gradients of the input, searches, restarts."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import each

R = torch.randn


def _net() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(16, 4),
    ).eval()  # fmt: skip


def _images() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.rand(2, 3, 16, 16), torch.tensor([0, 1])


def _attack(name: str, **kwargs: object) -> tuple:
    attack = getattr(import_module("torchattacks"), name)(_net(), **kwargs)
    return lambda x, y: attack(x, y), _images()


def _targeted(name: str, **kwargs: object) -> tuple:
    attack = getattr(import_module("torchattacks"), name)(_net(), **kwargs)
    attack.set_mode_targeted_by_label(quiet=True)
    return lambda x, y: attack(x, y), _images()


def _normalized(name: str, **kwargs: object) -> tuple:
    attack = getattr(import_module("torchattacks"), name)(_net(), **kwargs)
    attack.set_normalization_used(mean=[0.5, 0.5, 0.5], std=[0.2, 0.2, 0.2])
    return lambda x, y: attack(attack.normalize(x), y), _images()


each("torchattacks", {
    **{n: (lambda n=n, k=k: _attack(n, **k)) for n, k in {
        "FGSM": {}, "PGD": {"steps": 2}, "PGDL2": {"steps": 2}, "BIM": {"steps": 2}, "CW": {"steps": 2}, "DeepFool": {"steps": 2},
        "DIFGSM": {"steps": 2}, "TIFGSM": {"steps": 2}, "VMIFGSM": {"steps": 2, "N": 2}, "Jitter": {"steps": 2}, "APGD": {"steps": 3},
        "JSMA": {}, "SPSA": {"nb_sample": 4}, "Square": {"n_queries": 3}, "EADL1": {"max_iterations": 10, "binary_search_steps": 2}, "SINIFGSM": {"steps": 2, "m": 2},
        "PIFGSM": {"num_iter_set": 2}, "TPGD": {"steps": 2}, "GN": {},
    }.items()},
    "PGD.targeted": lambda: _targeted("PGD", steps=2),
    "FGSM.normalized": lambda: _normalized("FGSM"),
}, grad=True)  # fmt: skip


def _foolbox(name: str, epsilon: float | None, **kwargs: object) -> tuple:
    foolbox = import_module("foolbox")
    model = foolbox.PyTorchModel(_net(), bounds=(0, 1), device="cpu")
    attack = getattr(import_module("foolbox.attacks"), name)(**kwargs)
    return lambda x, y: attack(model, x, y, epsilons=epsilon), _images()


def _distance(p: float) -> tuple:
    distance = import_module("foolbox.distances").LpDistance(p)
    return lambda x, y: (distance(x, y), distance.clip_perturbation(x, y, 0.1)), (
        _images()[0], _images()[0],
    )  # fmt: skip


each("foolbox", {
    **{n: (lambda n=n, e=e, k=k: _foolbox(n, e, **k)) for n, e, k in [
        ("LinfPGD", 0.1, {"steps": 2}), ("L2FastGradientAttack", 0.1, {}), ("L2CarliniWagnerAttack", None, {"steps": 2, "binary_search_steps": 2}),
        ("DDNAttack", None, {"steps": 2}), ("LinfDeepFoolAttack", None, {"steps": 2}), ("L2AdditiveGaussianNoiseAttack", 0.1, {}),
        ("LinfRepeatedAdditiveUniformNoiseAttack", 0.1, {"repeats": 2}), ("VirtualAdversarialAttack", 0.1, {"steps": 2}), ("NewtonFoolAttack", None, {"steps": 2}), ("SparseL1DescentAttack", 0.1, {"steps": 2}),
        ("InversionAttack", None, {}),
    ]},
    "LpDistance.2": lambda: _distance(2),
    "LpDistance.inf": lambda: _distance(float("inf")),
}, grad=True)  # fmt: skip
