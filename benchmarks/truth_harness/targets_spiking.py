"""Spiking nets, sparse activations, a CRF."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

R = torch.randn


def _crf(method: str | None, masked: bool) -> Callable[[], tuple]:
    def build() -> tuple:
        crf = import_module("torchcrf").CRF(4, batch_first=True)
        mask = torch.ones(2, 5, dtype=torch.bool if method else torch.uint8)
        mask[1, 3:] = 0
        kwargs = {"mask": mask} if masked else {}
        return (
            (crf.decode if method else crf),
            (R(2, 5, 4),) if method else (R(2, 5, 4), torch.randint(0, 4, (2, 5))),
            kwargs,
        )

    return build


for _method in (None, "decode"):
    for _masked in (False, True):
        add("torchcrf", f"{_method or 'loss'}{'+mask' if _masked else ''}", _crf(_method, _masked))
for (
    _name
) in "sparsemax entmax15 sparsemax_bisect entmax_bisect normmax_bisect budget_bisect".split():
    add(
        "entmax",
        _name,
        lambda n=_name: (
            getattr(import_module("entmax"), n),
            (R(4, 6),),
            {"budget": 2} if n == "budget_bisect" else {},
        ),
    )
    if _name in ("sparsemax", "entmax15"):
        add(
            "entmax",
            _name + "+k",
            lambda n=_name: (getattr(import_module("entmax"), n), (R(4, 6),), {"k": 3}),
        )
for (
    _name
) in "SparsemaxLoss Entmax15Loss SparsemaxBisectLoss EntmaxBisectLoss NormmaxBisectLoss".split():
    add(
        "entmax",
        _name,
        lambda n=_name: (
            getattr(import_module("entmax"), n)(),
            (R(4, 6), torch.randint(0, 6, (4,))),
        ),
        modes=("train",),
    )
for _name, _kwargs in {
    "Leaky": {"beta": 0.9},
    "Lapicque": {"beta": 0.9},
    "Synaptic": {"alpha": 0.9, "beta": 0.8},
    "Alpha": {"alpha": 0.9, "beta": 0.8},
    "RLeaky": {"beta": 0.9, "linear_features": 4},
    "RSynaptic": {"alpha": 0.9, "beta": 0.8, "linear_features": 4},
    "LeakyParallel": {"input_size": 4, "hidden_size": 4},
    "StateLeaky": {"beta": 0.9, "channels": 4},
    "DeltaLeaky": {"beta": 0.9},
}.items():
    for _reset in ("subtract", "zero"):
        for _init in (False, True):
            if _name in ("LeakyParallel", "StateLeaky", "DeltaLeaky") and (
                _reset == "zero" or _init
            ):
                continue
            _extra = (
                {}
                if _name in ("LeakyParallel", "StateLeaky", "DeltaLeaky")
                else {"reset_mechanism": _reset, "init_hidden": _init}
            )
            add(
                "snntorch",
                f"{_name}+{_reset}{'+hidden' if _init else ''}",
                lambda n=_name, k={**_kwargs, **_extra}: (
                    getattr(import_module("snntorch"), n)(**k),
                    (torch.rand(*((3, 2, 4) if n in ("LeakyParallel", "StateLeaky") else (2, 4))),),
                ),
                modes=("eval",),
            )
add(
    "snntorch",
    "Leaky+graded+inhibition",
    lambda: (import_module("snntorch").Leaky(beta=0.9, inhibition=True), (torch.rand(2, 4) * 3,)),
    modes=("eval",),
)
for _name in "rate latency delta".split():
    add(
        "snntorch",
        f"spikegen.{_name}",
        lambda n=_name: (
            getattr(import_module("snntorch.spikegen"), n),
            (torch.rand(5, 4),),
            {} if n == "delta" else {"num_steps": 4},
        ),
    )
for _name in "ce_rate_loss ce_count_loss ce_max_membrane_loss mse_count_loss ce_temporal_loss mse_temporal_loss mse_membrane_loss l1_rate_sparsity".split():
    add(
        "snntorch",
        f"functional.{_name}",
        lambda n=_name: (
            getattr(import_module("snntorch.functional"), n)(),
            (torch.rand(5, 3, 4).round(),)
            if "sparsity" in n
            else (torch.rand(5, 3, 4).round(), torch.randint(0, 4, (3,))),
        ),
    )
add(
    "snntorch",
    "functional.accuracy_rate",
    lambda: (
        import_module("snntorch.functional").accuracy_rate,
        (torch.rand(5, 3, 4).round(), torch.randint(0, 4, (3,))),
    ),
)
for _name in "IFNode LIFNode ParametricLIFNode QIFNode EIFNode IzhikevichNode KLIFNode LIAFNode GatedLIFNode AdaptBaseNode".split():
    for _step in "sm":
        if _name == "AdaptBaseNode" or (_name == "GatedLIFNode" and _step == "s"):
            continue
        add(
            "spikingjelly",
            f"{_name}+{_step}",
            lambda n=_name, s=_step: (
                getattr(import_module("spikingjelly.activation_based.neuron"), n)(
                    **(
                        {"step_mode": s}
                        if n not in ("LIAFNode", "GatedLIFNode")
                        else {"act": torch.relu, "threshold_related": True, "step_mode": s}
                        if n == "LIAFNode"
                        else {"T": 3}
                    )
                ),
                (torch.rand(*((3, 2, 4) if s == "m" else (2, 4))),),
            ),
        )
for _name, _inits in {
    "SeqToANNContainer": (torch.nn.Linear(4, 4),),
    "SynapseFilter": (),
    "Dropout": (0.5,),
    "NeuNorm": (3, 4, 4),
}.items():
    add(
        "spikingjelly",
        f"layer.{_name}",
        lambda n=_name, i=_inits: (
            getattr(import_module("spikingjelly.activation_based.layer"), n)(*i),
            (torch.rand(2, 3, 4, 4),),
        ),
    )
for _name in "PoissonEncoder LatencyEncoder WeightedPhaseEncoder".split():
    add(
        "spikingjelly",
        f"encoding.{_name}",
        lambda n=_name: (
            getattr(import_module("spikingjelly.activation_based.encoding"), n)(
                *(() if n == "PoissonEncoder" else (4,))
            ),
            (torch.rand(2, 4) * 0.8,),
        ),
        modes=("eval",),
    )
