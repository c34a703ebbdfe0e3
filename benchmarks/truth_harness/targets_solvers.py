"""Differential equations, integrals and minimizers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add, each

R = torch.randn


def _ode(method: str, controller: str) -> Callable[[], tuple]:
    def build() -> tuple:
        to = import_module("torchode")
        term = to.ODETerm(lambda t, y: -0.5 * y)
        step = {"dopri5": to.Dopri5, "tsit5": to.Tsit5, "heun": to.Heun, "euler": to.Euler}[method](
            term
        )
        control = {
            "integral": lambda: to.IntegralController(1e-3, 1e-3, term=term),
            "pid": lambda: to.PIDController(1e-3, 1e-3, 0.2, 0.5, 0.0, term=term),
            "fixed": lambda: to.FixedStepController(),
        }[controller]()
        solver = to.AutoDiffAdjoint(step, control)
        times = torch.linspace(0, 1, 4).repeat(3, 1)
        dt = torch.full((3,), 0.1) if controller == "fixed" else None
        return lambda y: solver.solve(to.InitialValueProblem(y, t_eval=times), dt0=dt).ys, (
            R(3, 2),
        )

    return build


for _method, _controller in [
    ("dopri5", "integral"),
    ("tsit5", "pid"),
    ("heun", "integral"),
    ("euler", "fixed"),
]:
    add("torchode", f"{_method}.{_controller}", _ode(_method, _controller))
add(
    "torchode",
    "solve_ivp",
    lambda: (
        lambda y: (
            import_module("torchode").solve_ivp(lambda t, y: -y, y, torch.linspace(0, 1, 4)).ys
        ),
        (R(3, 2),),
    ),
)


def _integral(name: str, count: int, dim: int = 2, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        rule = getattr(import_module("torchquad"), name)()
        domain = torch.tensor([[0.0, 1.0]] * dim)
        return lambda d: rule.integrate(
            lambda x: torch.sin(x).sum(1), dim=dim, N=count, integration_domain=d, **kwargs
        ), (domain,)

    return build


for _name, _count, _kwargs in [
    ("MonteCarlo", 100, {"seed": 3}),
    ("Trapezoid", 121, {}),
    ("Simpson", 121, {}),
    ("Boole", 625, {}),
    ("GaussLegendre", 121, {}),
    ("VEGAS", 2000, {"seed": 3, "max_iterations": 3}),
]:
    add("torchquad", _name, _integral(_name, _count, **_kwargs))
add("torchquad", "Trapezoid.list", lambda: (
    lambda: import_module("torchquad").Trapezoid().integrate(torch.exp, dim=1, N=51, integration_domain=[[0, 1]], backend="torch"), ()
))  # fmt: skip


def _rosen(x: torch.Tensor) -> torch.Tensor:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


for (
    _method
) in "bfgs l-bfgs cg newton-cg newton-exact dogleg trust-ncg trust-exact trust-krylov".split():
    add("torchmin", f"minimize.{_method}", lambda m=_method: (
        lambda x: import_module("torchmin").minimize(_rosen, x, method=m, max_iter=4).x, (torch.rand(4),)
    ), grad=True)  # fmt: skip
add("torchmin", "minimize.bfgs.fixed", lambda: (
    lambda x: import_module("torchmin").minimize(_rosen, x, method="bfgs", max_iter=3, options={"line_search": "none", "lr": 1e-3}).x, (torch.rand(4),)
), grad=True)  # fmt: skip
add("torchmin", "least_squares", lambda: (
    lambda x: import_module("torchmin").least_squares(lambda p: p**2 - 2.0, x, max_nfev=5).x, (torch.rand(4) + 1,)
), grad=True)  # fmt: skip
for _method in ("cg", "lsmr"):
    add("torchmin", f"linear.{_method}", lambda m=_method: (
        (lambda a, b: import_module("torchmin.lstsq.lsmr").lsmr(a, b)) if m == "lsmr"
        else (lambda a, b: import_module("torchmin.lstsq.cg").cg(a @ a.T + torch.eye(3), b)),
        (R(3, 3), R(3)),
    ))  # fmt: skip
for _method in ("bfgs", "newton-cg"):

    def _minimizer(method: str = _method) -> tuple:
        weight = torch.nn.Parameter(torch.rand(4))
        optimizer = import_module("torchmin").Minimizer([weight], method=method, max_iter=2)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            return _rosen(weight)

        return lambda: optimizer.step(closure), ()

    add("torchmin", f"Minimizer.{_method}", _minimizer, grad=True)
each("torchmin", {
    "constr.frankwolfe": lambda: (
        lambda x: import_module("torchmin").minimize_constr(lambda w: (w**2).sum(), x, method="frank-wolfe", constr={"type": "tracenorm", "t": 1.0}).x,
        (R(3, 3),),
    ),
}, grad=True)  # fmt: skip
