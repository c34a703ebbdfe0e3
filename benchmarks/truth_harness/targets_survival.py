"""How long things last, layers on manifolds, many losses at once, splines that learn, equations."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from registry import add, each
from targets_bayes import _at, _get

R = torch.randn


def _events() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([True, False, True, True, False, True, True, False]), torch.rand(8) * 10


def _surv(path: str, first: torch.Tensor, *more: object, **kwargs: object) -> tuple:
    return _get(f"torchsurv.{path}"), (first, *_events(), *more), kwargs


def _score(name: str, estimate: torch.Tensor, call: str = "", **kwargs: object) -> tuple:
    metric = _at(f"torchsurv.metrics.{name}")
    event, time = _events()

    def run(*inputs: torch.Tensor) -> object:
        value = metric(*inputs, **kwargs)
        return getattr(metric, call)() if call else value

    return run, (estimate, event, time)


def _curve(estimator: Any) -> Any:
    estimator(*_events())
    return estimator


each("torchsurv", {
    "cox": lambda: _surv("loss.cox.neg_partial_log_likelihood", R(8)),
    "cox.breslow": lambda: (_get("torchsurv.loss.cox.neg_partial_log_likelihood"), (R(8), _events()[0], torch.tensor([1.0, 1, 2, 2, 3, 3, 4, 5])), {"ties_method": "breslow"}),
    "cox.efron": lambda: (_get("torchsurv.loss.cox.neg_partial_log_likelihood"), (R(8), _events()[0], torch.tensor([1.0, 1, 2, 2, 3, 3, 4, 5]))),
    "cox.baseline": lambda: _surv("loss.cox.baseline_survival_function", R(8)),
    "weibull": lambda: _surv("loss.weibull.neg_log_likelihood_weibull", R(8, 2)),
    "weibull.survival": lambda: (_get("torchsurv.loss.weibull.survival_function_weibull"), (R(8, 2), torch.rand(4))),
    "weibull.log_hazard": lambda: (_get("torchsurv.loss.weibull.log_hazard"), (R(8, 2), torch.rand(8))),
    "survival": lambda: _surv("loss.survival.neg_log_likelihood", R(8, 4), torch.linspace(0, 10, 4)),
    "auc": lambda: _score("auc.Auc", R(8)),
    "auc.integral": lambda: _score("auc.Auc", R(8), "integral"),
    "brier": lambda: _score("brier_score.BrierScore", torch.rand(8, 8)),
    "cindex": lambda: _score("cindex.ConcordanceIndex", R(8)),
    "cindex.noether": lambda: _score("cindex.ConcordanceIndex", R(8), "confidence_interval"),
    "kaplan_meier": lambda: (lambda e, t: _at("torchsurv.stats.kaplan_meier.KaplanMeierEstimator")(e, t), _events()),
    "kaplan_meier.predict": lambda: (_curve(_at("torchsurv.stats.kaplan_meier.KaplanMeierEstimator")).predict, (torch.linspace(1, 5, 4),)),
    "ipcw": lambda: (_get("torchsurv.stats.ipcw.get_ipcw"), _events()),
    "momentum": lambda: (_at("torchsurv.loss.momentum.Momentum", torch.nn.Linear(3, 1), _get("torchsurv.loss.cox.neg_partial_log_likelihood"), batchsize=8), (R(8, 3), *_events())),
}, grad=True)  # fmt: skip

_INDEX, _DIED = torch.tensor([0, 1, 2, 3, 1, 2]), torch.tensor([1.0, 0, 1, 1, 0, 1])
for _name in ("nll_logistic_hazard", "nll_pmf", "nll_mtlr", "bce_surv_loss"):
    add(
        "pycox",
        _name,
        lambda n=_name: (_get(f"pycox.models.loss.{n}"), (R(6, 4), _INDEX, _DIED)),
        grad=True,
    )
each("pycox", {
    "nll_pc_hazard": lambda: (_get("pycox.models.loss.nll_pc_hazard_loss"), (R(6, 4), _INDEX, _DIED, torch.rand(6))),
    "deephit_rank": lambda: (_get("pycox.models.loss.rank_loss_deephit_single"), (R(6, 4), _INDEX, _DIED, torch.rand(6, 6), 0.1)),
    "nll_pmf_cr": lambda: (_get("pycox.models.loss.nll_pmf_cr"), (R(6, 2, 4), _INDEX, torch.tensor([1, 0, 2, 1, 0, 2]))),
    "deephit_rank_cr": lambda: (_get("pycox.models.loss.rank_loss_deephit_cr"), (R(6, 2, 4), _INDEX, torch.tensor([1, 0, 2, 1, 0, 2]), torch.rand(6, 6), 0.1)),
    "cox_cc": lambda: (_get("pycox.models.loss.cox_cc_loss"), (R(6), (R(6), R(6)))),
    "cox_cc_single": lambda: (_get("pycox.models.loss.cox_cc_loss_single_ctrl"), (R(6), R(6), 0.1)),
    "cox_ph": lambda: (_get("pycox.models.loss.cox_ph_loss"), (R(6), torch.rand(6), _DIED)),
    "DeepHitSingle": lambda: (_at("pycox.models.loss.DeepHitSingleLoss", 0.2, 0.1), (R(6, 4), _INDEX, _DIED, torch.rand(6, 6))),
}, grad=True)  # fmt: skip


def _on(name: str, *args: object, shape: tuple[int, ...] = (5, 5), **kwargs: object) -> tuple:
    return _at(f"geotorch.{name}", *args, **kwargs), (R(*shape),)


each("geotorch", {
    "Symmetric": lambda: _on("Symmetric"),
    "Skew": lambda: _on("Skew"),
    "SO.expm": lambda: _on("SO", (5, 5)),
    "SO.cayley": lambda: _on("SO", (5, 5), triv="cayley"),
    "Stiefel": lambda: _on("Stiefel", (5, 3), shape=(5, 3)),
    "Sphere": lambda: _on("Sphere", (5,), shape=(5,)),
    "SphereEmbedded": lambda: _on("SphereEmbedded", (5,), shape=(5,)),
    "LowRank": lambda: _on("LowRank", (5, 5), 2),
    "FixedRank": lambda: _on("FixedRank", (5, 5), 2),
    "PSD": lambda: _on("PSD", (5, 5)),
    "orthogonal": lambda: (_made("orthogonal", torch.nn.Linear(5, 5)), (R(2, 5),)),
    "low_rank": lambda: (_made("low_rank", torch.nn.Linear(5, 5), 2), (R(2, 5),)),
    "sphere": lambda: (_made("sphere", torch.nn.Linear(5, 5)), (R(2, 5),)),
})  # fmt: skip


def _made(name: str, layer: torch.nn.Module, *args: object) -> torch.nn.Module:
    getattr(import_module("geotorch"), name)(layer, "weight", *args)
    return layer


for _name in ("Mean", "Sum", "PCGrad", "MGDA", "IMTLG", "GradDrop", "Random", "AlignedMTL"):
    add(
        "torchjd",
        _name,
        lambda n=_name: (_at(f"torchjd.aggregation.{n}"), (R(3, 6),)),
        modes=("eval",),
    )
each("torchjd", {
    "TrimmedMean": lambda: (_at("torchjd.aggregation.TrimmedMean", 1), (R(5, 6),)),
    "Krum": lambda: (_at("torchjd.aggregation.Krum", 1), (R(5, 6),)),
    "Constant": lambda: (_at("torchjd.aggregation.Constant", torch.tensor([1.0, 2.0, 3.0])), (R(3, 6),)),
    "backward": lambda: (_backward, (R(4, 3),)),
}, grad=True)  # fmt: skip


def _backward(x: torch.Tensor) -> object:
    weight = torch.nn.Parameter(torch.ones(3, 2))
    losses = (x @ weight).square().mean(0)
    return import_module("torchjd.autojac").backward(losses)


_POINTS = {"num": 5, "k": 3}
each("kan", {
    "KANLayer": lambda: (_at("kan.KANLayer.KANLayer", in_dim=3, out_dim=2, **_POINTS), (R(6, 3),)),
    "KAN": lambda: (_at("kan.KAN", width=[3, 2, 1], grid=3, k=3, auto_save=False), (R(6, 3),)),
    "KAN.fast": lambda: (_at("kan.KAN", width=[3, 2, 1], grid=3, k=3, auto_save=False).speed(), (R(6, 3),)),
    "B_batch": lambda: (_get("kan.spline.B_batch"), (R(6, 3), torch.linspace(-1, 1, 8).expand(3, 8).contiguous()), {"k": 3}),
    "curve2coef": lambda: (_get("kan.spline.curve2coef"), (R(20, 3), R(20, 3, 2), torch.linspace(-1, 1, 8).expand(3, 8).contiguous(), 3)),
    "extend_grid": lambda: (_get("kan.spline.extend_grid"), (torch.linspace(-1, 1, 8).expand(3, 8).contiguous(), 3)),
    "Symbolic": lambda: (_at("kan.Symbolic_KANLayer.Symbolic_KANLayer", 3, 2), (R(6, 3),)),
    "update_grid": lambda: (_at("kan.KANLayer.KANLayer", in_dim=3, out_dim=2, **_POINTS).update_grid_from_samples, (R(20, 3),)),
    "regularize": lambda: ((lambda m: (m(R(6, 3)), m.get_reg("edge_forward_spline_n", 1.0, 2.0, 0.0, 0.0), lambda x: m.get_reg("edge_forward_spline_n", 1.0, 2.0, 0.0, 0.0) + x)[-1])(_at("kan.KAN", width=[3, 2, 1], grid=3, k=3, auto_save=False)), (R(1),)),
})  # fmt: skip


def _flow(x: torch.Tensor) -> torch.Tensor:
    return x.square().sum(-1, keepdim=True) * x


def _operator(name: str) -> tuple:
    run = _get(f"torchphysics.utils.{name}")

    def outer(x: torch.Tensor) -> object:
        x = x.requires_grad_()
        made = (
            _flow(x)
            if name in ("div", "rot", "jac", "sym_grad")
            else _flow(x).sum(-1, keepdim=True)
        )
        return run(made, x)

    return outer, (R(4, 3),)


for _name in ("laplacian", "grad", "div", "jac", "rot", "sym_grad"):
    add("torchphysics", _name, lambda n=_name: _operator(n), grad=True)


def _points() -> object:
    space = import_module("torchphysics").spaces.R2("x")
    return import_module("torchphysics").spaces.Points(R(5, 2), space)


def _model(name: str, **kwargs: object) -> tuple:
    physics = import_module("torchphysics")
    spaces = physics.spaces.R2("x"), physics.spaces.R1("u")
    return getattr(physics.models, name)(*spaces, **kwargs), (_points(),)


each("torchphysics", {
    "FCN": lambda: _model("FCN", hidden=(8, 8)),
    "QRES": lambda: _model("QRES", hidden=(8, 8)),
    "DeepRitzNet": lambda: _model("DeepRitzNet", width=8, depth=1),
    "Harmonic_FCN": lambda: _model("Harmonic_FCN", hidden=(8, 8), max_frequenz=2),
    "Polynomial_FCN": lambda: _model("Polynomial_FCN", hidden=(8, 8), polynomial_degree=2),
    "AdaptiveActivation": lambda: (_at("torchphysics.models.AdaptiveActivationFunction", torch.nn.Tanh()), (R(5, 3),)),
    "ReLUn": lambda: (_at("torchphysics.models.ReLUn", 2), (R(5, 3),)),
}, grad=True)  # fmt: skip

_IVP = {"t_0": 0.0, "u_0": 1.0}
each("neurodiffeq", {
    "FCNN": lambda: (_at("neurodiffeq.networks.FCNN", 2, 1, hidden_units=(8,)), (R(5, 2),)),
    "Resnet": lambda: (_at("neurodiffeq.networks.Resnet", 2, 1, hidden_units=(8,)), (R(5, 2),)),
    "MonomialNN": lambda: (_at("neurodiffeq.networks.MonomialNN", [1, 2, 3]), (R(5, 1),)),
    "SinActv": lambda: (_at("neurodiffeq.networks.SinActv"), (R(5, 1),)),
    "IVP": lambda: (lambda t, n=torch.nn.Linear(1, 1): _at("neurodiffeq.conditions.IVP", **_IVP).enforce(n, t), (R(5, 1),)),
    "DirichletBVP": lambda: (lambda t, n=torch.nn.Linear(1, 1): _at("neurodiffeq.conditions.DirichletBVP", 0.0, 1.0, 1.0, 2.0).enforce(n, t), (R(5, 1),)),
    "diff": lambda: (lambda t: (u := t.requires_grad_() ** 3, _get("neurodiffeq.diff")(u, t, order=2))[-1], (R(5, 1),)),
    "laplacian": lambda: (lambda x, y: (x.requires_grad_(), y.requires_grad_(), _get("neurodiffeq.operators.laplacian")(x**2 * y**3, x, y))[-1], (R(5, 1), R(5, 1))),
    "Generator1D": lambda: (lambda n: _at("neurodiffeq.generators.Generator1D", n, method="equally-spaced-noisy").get_examples(), (8,)),
    "Generator2D": lambda: (lambda n: _at("neurodiffeq.generators.Generator2D", (n, n), method="equally-spaced-noisy").get_examples(), (4,)),
    "GeneratorSpherical": lambda: (lambda n: _at("neurodiffeq.generators.GeneratorSpherical", n, 0.1, 1.0).get_examples(), (8,)),
    "to_spherical": lambda: (_get("neurodiffeq.operators.cartesian_to_spherical"), (R(5, 1), R(5, 1), R(5, 1))),
    "Legendre": lambda: (lambda x: _at("neurodiffeq.function_basis.LegendreBasis", 3)(x), (torch.rand(5, 1),)),
}, grad=True)  # fmt: skip
