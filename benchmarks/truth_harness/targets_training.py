"""adabelief_pytorch, rectified_flow_pytorch, torch_ema: what a training loop calls."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add

R = torch.randn

# --- optimizers and averages -------------------------------------------------------------------


def _model() -> torch.nn.Module:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))
    with torch.enable_grad():
        model(R(3, 4)).sum().backward()
    return model


def _adabelief(**kwargs: object) -> tuple:
    optimizer = import_module("adabelief_pytorch").AdaBelief(
        _model().parameters(), print_change_log=False, **kwargs
    )
    optimizer.step()
    return optimizer.step, ()


for _name, _kwargs in {
    "default": {},
    "plain": {"rectify": False, "weight_decouple": False, "weight_decay": 0.1},
    "amsgrad": {"rectify": False, "amsgrad": True},
    "fixed_decay": {"weight_decay": 0.1, "fixed_decay": True},
}.items():
    add("adabelief_pytorch", f"step.{_name}", lambda k=_kwargs: _adabelief(**k), grad=True)


def _average(method: str, *, explicit: bool = False, **kwargs: object) -> tuple:
    model = _model()
    ema = import_module("torch_ema").ExponentialMovingAverage(
        model.parameters(), decay=0.9, **kwargs
    )
    ema.store()

    def call() -> None:
        # The average only holds weak references to the parameters.
        if explicit:
            getattr(ema, method)(list(model.parameters()))
        else:
            getattr(ema, method)()

    return call, ()


for _method in ("update", "copy_to", "store", "restore"):
    add("torch_ema", _method, lambda m=_method: _average(m))
add("torch_ema", "update.explicit", lambda: _average("update", explicit=True))
add("torch_ema", "update.constant", lambda: _average("update", use_num_updates=False))


def _averaged() -> tuple:
    model = _model()
    ema = import_module("torch_ema").ExponentialMovingAverage(model.parameters(), decay=0.9)

    def evaluate(x: torch.Tensor) -> torch.Tensor:
        with ema.average_parameters():
            return model(x)

    return evaluate, (R(2, 4),)


add("torch_ema", "average_parameters", _averaged)

# --- flows -------------------------------------------------------------------------------------

_RF = "rectified_flow_pytorch"


def _unet(**kwargs: object) -> torch.nn.Module:
    return import_module(_RF).Unet(dim=8, dim_mults=(1, 2), **kwargs)


def _flow(name: str, method: str | None = None, unet: dict | None = None, **kwargs: object):
    flow = getattr(import_module(_RF), name)(_unet(**(unet or {})), **kwargs)
    return getattr(flow, method) if method else flow


def _images() -> tuple:
    return (torch.rand(2, 3, 16, 16),)


for _name, _kwargs in {
    "RectifiedFlow": {},
    "RectifiedFlow+noise": {"predict": "noise"},
    "RectifiedFlow+clean": {"predict": "clean"},
    "RectifiedFlow+huber": {"loss_fn": "pseudo_huber"},
    "RectifiedFlow+cosmap": {"noise_schedule": "cosmap", "immiscible": True},
    "RectifiedFlow+consistency": {"use_consistency": True},
    "RectifiedFlow+variance": {"unet": {"mean_variance_net": True}},
    "NanoFlow": {"times_cond_kwarg": "times"},
    "NanoFlow+clean": {"times_cond_kwarg": "times", "predict_clean": True},
    "MeanFlow": {"unet": {"accept_cond": True, "dim_cond": 1}},
    "EquilibriumMatching": {},
    "UAFlow": {"times_cond_kwarg": "times", "unet": {"mean_variance_net": True}},
}.items():
    add(
        _RF,
        _name,
        lambda n=_name, k=_kwargs: (_flow(n.split("+")[0], **k), _images()),
        modes=("train",),
    )
for _name, _kwargs in {
    "RectifiedFlow": {"odeint_kwargs": {"atol": 1e-2, "rtol": 1e-2, "method": "midpoint"}},
    "NanoFlow": {"times_cond_kwarg": "times"},
    "EquilibriumMatching": {},
}.items():
    add(
        _RF,
        f"{_name}.sample",
        lambda n=_name, k=_kwargs: (
            _flow(n, "sample", **k),
            (1,),
            {"data_shape": (3, 16, 16), **({"steps": 2} if n != "EquilibriumMatching" else {})},
        ),
    )
add(_RF, "Unet", lambda: (_unet(), (R(1, 3, 16, 16), torch.rand(1))))
add(
    _RF,
    "FiT",
    lambda: (
        import_module(_RF).FiT(dim=16, patch_size=4, depth=1, heads=2, dim_head=8),
        (R(1, 3, 16, 16), torch.rand(1)),
    ),
)


def _reflow() -> tuple:
    flow = _flow("RectifiedFlow")
    flow(torch.rand(2, 3, 16, 16))
    return import_module(_RF).Reflow(flow, batch_size=1), ()


add(_RF, "Reflow", _reflow, modes=("train",))
