"""Steps of optimizers, losses that come with them, and averages of weights."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add
from targets_timm import optimizer_step

R = torch.randn


for _kwargs in ({}, {"decoupled_weight_decay": True}):
    add(
        "lion_pytorch",
        "Lion" + "".join(f"+{key}" for key in _kwargs),
        optimizer_step(
            lambda p, k=_kwargs: import_module("lion_pytorch").Lion(
                p, lr=1e-3, weight_decay=0.1, **k
            )
        ),
    )


def _pytorch_optimizer(name: str) -> Callable[[list], torch.optim.Optimizer]:
    return lambda params: import_module("pytorch_optimizer").load_optimizer(name)(params, lr=1e-3)


for _name in """a2grad accsgd adabelief adabound adafactor adahessian adai adalite adam adamax adamg adammini adamod adamp
    adams adan adanorm adapnm adasmooth adatam ademamix adopt aggmo aida amos apollodqn avagrad came dadaptadam dadaptsgd diffgrad
    exadam fadam focus fromage ftrl grams gravity kate kron lamb laprop lars lion madgrad mars msvag nero novograd padam pid
    pnm prodigy qhadam racs schedulefreeadamw scion sgdsai shampoo signsgd sm3 soap sophiah spam splus srmm
    stableadamw stablespam swats tam tiger vsgd yogi dash emonavi""".split():
    add("pytorch_optimizer", _name, optimizer_step(_pytorch_optimizer(_name)))
for _name in "BCEFocalLoss BinaryBiTemperedLogisticLoss BiTemperedLogisticLoss DiceLoss FocalCosineLoss FocalLoss FocalTverskyLoss JaccardLoss LovaszHingeLoss SoftF1Loss TverskyLoss".split():

    def _loss(n: str = _name) -> tuple:
        module = import_module("pytorch_optimizer")
        if n in ("BiTemperedLogisticLoss",):
            return module.BiTemperedLogisticLoss(t1=0.8, t2=1.2), (
                R(6, 4),
                torch.nn.functional.one_hot(torch.randint(0, 4, (6,)), 4).float(),
            )
        if n == "BinaryBiTemperedLogisticLoss":
            return module.BinaryBiTemperedLogisticLoss(t1=0.8, t2=1.2), (
                R(6, 1),
                torch.randint(0, 2, (6, 1)).float(),
            )
        if n == "FocalCosineLoss":
            return module.FocalCosineLoss(), (R(6, 4), torch.randint(0, 4, (6,)))
        if n in ("DiceLoss", "JaccardLoss"):
            return getattr(module, n)(mode="binary"), (
                torch.rand(2, 1, 8, 8),
                torch.randint(0, 2, (2, 1, 8, 8)),
            )
        if n == "LovaszHingeLoss":
            return module.LovaszHingeLoss(), (R(2, 8, 8), torch.randint(0, 2, (2, 8, 8)))
        return getattr(module, n)(), (torch.rand(6, 4), torch.randint(0, 2, (6, 4)).float())

    add("pytorch_optimizer", f"loss.{_name}", _loss, modes=("eval",), grad=True)


def _ema(name: str, warm: int, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
        average = getattr(import_module("ema_pytorch"), name)(net, **kwargs)
        for _ in range(warm):
            average.update()
        return average.update, ()

    return build


for _name, _kwargs in {
    "plain": {},
    "warm": {"update_after_step": 1, "update_every": 1},
    "switch": {"update_after_step": 0, "update_every": 1, "update_model_with_ema_every": 2},
    "foreach": {"update_after_step": 0, "update_every": 1, "use_foreach": True},
}.items():
    add("ema_pytorch", f"EMA.{_name}", _ema("EMA", 4, **_kwargs))
add("ema_pytorch", "KarrasEMA", _ema("KarrasEMA", 4, gamma=5.0, update_every=1))
