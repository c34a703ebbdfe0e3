"""torchsde, torchcde."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

R = torch.randn


class _Sde(torch.nn.Module):
    def __init__(self, noise: str, kind: str) -> None:
        super().__init__()
        self.noise_type, self.sde_type = noise, kind
        self.drift = torch.nn.Linear(3, 3)
        self.spread = torch.nn.Linear(3, 9 if noise == "general" else 3)

    def f(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.drift(y)

    def g(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.sigmoid(self.spread(y))
        return (
            {"general": out.view(-1, 3, 3), "scalar": out[..., None]}.get(self.noise_type, out)
            if self.noise_type != "diagonal"
            else out
        )


def _sde(solver: str, noise: str, kind: str, method: str, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        torchsde = import_module("torchsde")
        sde, ts = _Sde(noise, kind), torch.linspace(0, 1, 3)
        return (
            lambda y: getattr(torchsde, solver)(sde, y, ts, dt=0.25, method=method, **kwargs)
        ), (R(2, 3),)

    return build


for _solver, _noise, _kind, _method, _kwargs in [
    ("sdeint", "diagonal", "ito", "euler", {}),
    ("sdeint", "diagonal", "ito", "milstein", {}),
    ("sdeint", "diagonal", "ito", "srk", {}),
    ("sdeint", "general", "stratonovich", "midpoint", {}),
    ("sdeint", "general", "stratonovich", "heun", {}),
    ("sdeint", "diagonal", "stratonovich", "reversible_heun", {}),
    ("sdeint", "diagonal", "ito", "euler", {"adaptive": True}),
    ("sdeint", "general", "stratonovich", "log_ode", {}),
    ("sdeint_adjoint", "diagonal", "stratonovich", "midpoint", {}),
    ("sdeint_adjoint", "diagonal", "ito", "euler", {}),
]:
    add(
        "torchsde",
        f"{_solver}.{_method}.{_noise}" + "".join(f"+{k}" for k in _kwargs),
        _sde(_solver, _noise, _kind, _method, **_kwargs),
        grad="adjoint" in _solver,
    )
add(
    "torchsde",
    "BrownianInterval",
    lambda: (
        (lambda b: lambda: b(0.2, 0.6) + b(0.1, 0.3))(
            import_module("torchsde").BrownianInterval(0.0, 1.0, size=(2, 3), entropy=3)
        ),
        (),
    ),
)
add(
    "torchsde",
    "BrownianTree",
    lambda: (
        (lambda b: lambda: b(0.2, 0.6))(
            import_module("torchsde").BrownianTree(0.0, torch.zeros(2, 3), t1=1.0, entropy=3)
        ),
        (),
    ),
)
add(
    "torchsde",
    "BrownianPath",
    lambda: (
        (lambda b: lambda: b(0.2, 0.6))(
            import_module("torchsde").BrownianPath(0.0, torch.zeros(2, 3))
        ),
        (),
    ),
)


def _cde(method: str) -> Callable[[], tuple]:
    def build() -> tuple:
        torchcde = import_module("torchcde")
        coeffs = torchcde.hermite_cubic_coefficients_with_backward_differences(R(2, 6, 3))
        spline = torchcde.CubicSpline(coeffs)
        layer = torch.nn.Linear(4, 12)
        return (
            lambda z: torchcde.cdeint(
                spline,
                lambda t, x: layer(x).view(2, 4, 3),
                z,
                spline.interval,
                method=method,
                adjoint=False,
                options={"step_size": 1.0},
            )
        ), (R(2, 4),)

    return build


def _gaps() -> torch.Tensor:
    x = R(2, 6, 3)
    x[0, 2, 1] = math.nan
    return x


add("torchcde", "cdeint", _cde("euler"))
for _name, _args in {
    "natural_cubic_coeffs": lambda: (R(2, 6, 3),),
    "natural_cubic_coeffs+gaps": lambda: (_gaps(),),
    "linear_interpolation_coeffs": lambda: (R(2, 6, 3),),
    "linear_interpolation_coeffs+gaps": lambda: (_gaps(),),
    "linear_interpolation_coeffs+rectilinear": lambda: (_gaps(), None, 0),
    "hermite_cubic_coefficients_with_backward_differences": lambda: (R(2, 6, 3),),
}.items():
    add(
        "torchcde",
        _name,
        lambda n=_name, a=_args: (getattr(import_module("torchcde"), n.split("+")[0]), a()),
    )
add(
    "torchcde",
    "CubicSpline.evaluate",
    lambda: (
        (lambda m: m.CubicSpline(m.natural_cubic_coeffs(R(2, 6, 3))).evaluate)(
            import_module("torchcde")
        ),
        (torch.tensor(2.5),),
    ),
)
add(
    "torchcde",
    "LinearInterpolation.derivative",
    lambda: (
        (lambda m: m.LinearInterpolation(m.linear_interpolation_coeffs(R(2, 6, 3))).derivative)(
            import_module("torchcde")
        ),
        (torch.tensor(2.5),),
    ),
)
