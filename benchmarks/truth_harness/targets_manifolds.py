"""Lie groups, filters and trust regions; hyperbolic layers."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add, each
from torch import nn

R = torch.randn


def _pose() -> object:
    return import_module("pypose")


for _group in ("SO3", "SE3", "Sim3", "RxSO3"):
    each("pypose", {
        f"{_group}.log": lambda g=_group: (lambda x: x.Log().tensor(), (getattr(_pose(), f"randn_{g}")(2),)),
        f"{_group}.mul": lambda g=_group: (lambda x: (x @ x.Inv()).tensor(), (getattr(_pose(), f"randn_{g}")(2),)),
        f"{_group}.act": lambda g=_group: (lambda x, p: x.Act(p), (getattr(_pose(), f"randn_{g}")(2), R(2, 3))),
        f"{_group}.matrix": lambda g=_group: (lambda x: x.matrix(), (getattr(_pose(), f"randn_{g}")(2),)),
        f"{_group}.exp": lambda g=_group: (lambda x: x.Exp().tensor(), (getattr(_pose(), f"randn_{g.lower() if g != 'RxSO3' else 'rxso3'}")(2),)),
        f"{_group}.from": lambda g=_group: (lambda d: getattr(_pose(), g)(d).Inv().tensor(), (getattr(_pose(), f"randn_{g}")(2).tensor(),)),
    }, grad=True)  # fmt: skip


def _robot() -> nn.Module:
    class Inverse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pose = nn.Parameter(R(2, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.pose * self.pose + x

    return Inverse()


def _optimizer(name: str, **kwargs: object) -> tuple:
    optim = import_module("pypose.optim")
    solver = getattr(import_module("pypose.optim.solver"), kwargs.pop("solver", "PINV"))()
    optimizer = getattr(optim, name)(_robot(), solver=solver, **kwargs)
    return lambda x: optimizer.step(x), (R(2, 3),)


def _lti() -> object:
    module = import_module("pypose.module")
    return module.LTI(R(3, 3) * 0.1, R(3, 2), R(2, 3), R(2, 2))


class _System:
    """Made when built, since its base class is pypose's."""

    @staticmethod
    def make() -> nn.Module:
        class Pendulum(_pose().module.NLS):
            def state_transition(
                self, state: torch.Tensor, input: torch.Tensor, t: object = None
            ) -> torch.Tensor:
                return state.cos() + input

            def observation(
                self, state: torch.Tensor, input: torch.Tensor, t: object = None
            ) -> torch.Tensor:
                return state.sin() + input

        return Pendulum()


def _filter(name: str) -> tuple:
    model = _System.make()
    eye = torch.eye(2)
    kwargs = {"particles": 10} if name == "PF" else {}
    kalman = getattr(_pose().module, name)(model, eye, eye, **kwargs)
    return lambda x, y, u: kalman(x, y, u, eye), (R(2), R(2), R(2))


each("pypose", {
    "mat2SO3": lambda: (lambda m: _pose().mat2SO3(m).tensor(), (_pose().randn_SO3(2).matrix(),)),
    "mat2SO3.check": lambda: (lambda m: _pose().mat2SO3(m, check=False).tensor(), (_pose().randn_SO3(2).matrix(),)),
    "mat2SE3": lambda: (lambda m: _pose().mat2SE3(m).tensor(), (_pose().randn_SE3(2).matrix(),)),
    "from_matrix": lambda: (lambda m: _pose().from_matrix(m, _pose().Sim3_type).tensor(), (_pose().randn_Sim3(2).matrix(),)),
    "euler2SO3": lambda: (lambda e: _pose().euler2SO3(e).tensor(), (R(2, 3),)),
    "euler": lambda: (lambda x: _pose().euler(x), (_pose().randn_SO3(2),)),
    "quat2unit": lambda: (lambda x: _pose().quat2unit(x), (R(2, 4),)),
    "vec2skew": lambda: (lambda x: _pose().vec2skew(x), (R(2, 3),)),
    "cumprod": lambda: (lambda x: _pose().cumprod(x, 0).tensor(), (_pose().randn_SO3(4),)),
    "GaussNewton": lambda: _optimizer("GaussNewton"),
    "GaussNewton.lstsq": lambda: _optimizer("GaussNewton", solver="LSTSQ"),
    "LevenbergMarquardt": lambda: _optimizer("LevenbergMarquardt"),
    "LevenbergMarquardt.cholesky": lambda: _optimizer("LevenbergMarquardt", solver="Cholesky", strategy=import_module("pypose.optim.strategy").Adaptive()),
    "LevenbergMarquardt.trust": lambda: _optimizer("LevenbergMarquardt", strategy=import_module("pypose.optim.strategy").TrustRegion()),
    "solver.CG": lambda: (import_module("pypose.optim.solver").CG(), (torch.eye(3)[None] * 2, R(1, 3, 1))),
    "kernel.Huber": lambda: (import_module("pypose.optim.kernel").Huber(), (torch.rand(6),)),
    "kernel.Cauchy": lambda: (import_module("pypose.optim.kernel").Cauchy(), (torch.rand(6),)),
    "kernel.Tolerant": lambda: (import_module("pypose.optim.kernel").Tolerant(), (torch.rand(6),)),
    "corrector.Triggs": lambda: (import_module("pypose.optim.corrector").Triggs(import_module("pypose.optim.kernel").Huber()), (R(4, 2), R(8, 3))),
    "corrector.FastTriggs": lambda: (import_module("pypose.optim.corrector").FastTriggs(import_module("pypose.optim.kernel").Huber()), (R(4, 2), R(8, 3))),
    "EKF": lambda: _filter("EKF"),
    "UKF": lambda: _filter("UKF"),
    "PF": lambda: _filter("PF"),
    "ICP": lambda: (_pose().module.ICP(), (R(1, 8, 3), R(1, 8, 3))),
    "EPnP": lambda: (_pose().module.EPnP(), (R(1, 6, 3), torch.rand(1, 6, 2), torch.eye(3)[None])),
    "LTI": lambda: (_lti(), (R(3), R(2))),
    "LQR": lambda: (_pose().module.LQR(_lti(), torch.eye(5).repeat(1, 4, 1, 1), R(1, 4, 5), 4), (R(1, 3),)),
    "IMUPreintegrator": lambda: (_pose().module.IMUPreintegrator(), (torch.rand(1, 4, 1), R(1, 4, 3), R(1, 4, 3))),
    "knn": lambda: (lambda a, b: _pose().knn(a, b, k=2), (R(6, 3), R(5, 3))),
    "svdtf": lambda: (lambda a, b: _pose().svdtf(a, b).tensor(), (R(6, 3), R(6, 3))),
    "svdstf": lambda: (lambda a, b: _pose().svdstf(a, b).tensor(), (R(6, 3), R(6, 3))),
    "nbr_filter": lambda: (lambda a: _pose().nbr_filter(a, 2, 1.0), (R(8, 3),)),
    "knn_filter": lambda: (lambda a: _pose().knn_filter(a, 2, radius=1.0), (R(8, 3),)),
    "voxel_filter": lambda: (lambda a: _pose().voxel_filter(a, [1.0, 1.0, 1.0]), (R(8, 3),)),
    "random_filter": lambda: (lambda a: _pose().random_filter(a, 4), (R(8, 3),)),
    "point2pixel": lambda: (lambda p, k: _pose().point2pixel(p, k), (R(6, 3), torch.eye(3))),
    "reprojerr": lambda: (lambda p, x, k: _pose().reprojerr(p, x, k, reduction="norm"), (R(6, 3), R(6, 2), torch.eye(3))),
    "chspline": lambda: (lambda p: _pose().chspline(p, 0.2), (R(5, 3),)),
    "bspline": lambda: (lambda p: _pose().bspline(p, 0.2).tensor(), (_pose().randn_SE3(5),)),
    "geodesic_loss": lambda: (lambda a, b: _pose().geodesic_loss(a, b), (_pose().randn_SO3(3), _pose().randn_SO3(3))),
    "hasnan": lambda: (lambda a: _pose().hasnan([a]), (R(3),)),
    "ape": lambda: (lambda a, b: _pose().metric.ape(torch.arange(5.0), a, torch.arange(5.0), b), (_pose().randn_SE3(5), _pose().randn_SE3(5))),
    "rpe": lambda: (lambda a, b: _pose().metric.rpe(torch.arange(5.0), a, torch.arange(5.0), b), (_pose().randn_SE3(5), _pose().randn_SE3(5))),
}, grad=True)  # fmt: skip


def _ball() -> object:
    balls = import_module("hypll.manifolds.poincare_ball")
    return balls.PoincareBall(c=balls.Curvature(value=1.0, requires_grad=True))


def _layer(name: str, shape: tuple[int, ...], man_dim: int = -1, **kwargs: object) -> tuple:
    ball, tensors = _ball(), import_module("hypll.tensors")
    layer = getattr(import_module("hypll.nn"), name)(manifold=ball, **kwargs)

    def run(x: torch.Tensor) -> torch.Tensor:
        inside = ball.expmap(tensors.TangentTensor(data=x * 0.1, man_dim=man_dim, manifold=ball))
        return layer(inside).tensor

    return run, (R(*shape),)


def _math(name: str, *shapes: tuple[int, ...], **kwargs: object) -> tuple:
    module = import_module("hypll.manifolds.poincare_ball.math.diffgeom")
    return lambda *a: getattr(module, name)(*a, c=torch.tensor(1.0), **kwargs), tuple(
        R(*s) * 0.1 for s in shapes
    )


each("hypll", {
    "HLinear": lambda: _layer("HLinear", (3, 4), in_features=4, out_features=5),
    "HReLU": lambda: _layer("HReLU", (3, 4)),
    "HConvolution2d": lambda: _layer("HConvolution2d", (1, 2, 6, 6), 1, in_channels=2, out_channels=3, kernel_size=3),
    "HBatchNorm": lambda: _layer("HBatchNorm", (6, 4), features=4),
    "HBatchNorm.midpoint": lambda: _layer("HBatchNorm", (6, 4), features=4, use_midpoint=True),
    "HBatchNorm2d": lambda: _layer("HBatchNorm2d", (2, 4, 3, 3), 1, features=4, use_midpoint=True),
    "HAvgPool2d": lambda: _layer("HAvgPool2d", (1, 2, 6, 6), 1, kernel_size=2, use_midpoint=True),
    "HMaxPool2d": lambda: _layer("HMaxPool2d", (1, 2, 6, 6), 1, kernel_size=2),
    "HEmbedding": lambda: (lambda e: (lambda i: e(i).tensor, (torch.tensor([0, 2]),)))(import_module("hypll.nn").HEmbedding(4, 3, manifold=_ball())),
    "frechet_mean": lambda: (lambda x: import_module("hypll.manifolds.poincare_ball.math.stats").frechet_mean(x, torch.tensor(1.0), 0, -1), (R(5, 3) * 0.1,)),
    "midpoint": lambda: (lambda x: import_module("hypll.manifolds.poincare_ball.math.stats").midpoint(x, torch.tensor(1.0), -1, 0), (R(5, 3) * 0.1,)),
    "project": lambda: _math("project", (3, 4)),
    "mobius_add": lambda: _math("mobius_add", (3, 4), (3, 4)),
    "logmap": lambda: _math("logmap", (3, 4), (3, 4)),
    "expmap": lambda: _math("expmap", (3, 4), (3, 4)),
    "transp": lambda: _math("transp", (3, 4), (3, 4), (3, 4)),
    "gyration": lambda: _math("gyration", (3, 4), (3, 4), (3, 4)),
    "cdist": lambda: _math("cdist", (3, 4), (2, 4)),
    "beta_func": lambda: (lambda a, b: import_module("hypll.utils.math").beta_func(a, b), (torch.rand(3), torch.rand(3))),
}, grad=True)  # fmt: skip


def _riemannian(name: str) -> tuple:
    ball, tensors = _ball(), import_module("hypll.tensors")
    param = tensors.ManifoldParameter(R(3, 4) * 0.1, manifold=ball, man_dim=-1)
    plain = nn.Parameter(R(3))
    param.grad = R(3, 4)
    plain.grad = R(3)
    optimizer = getattr(import_module("hypll.optim"), name)([param, plain], lr=0.1)
    return lambda: optimizer.step(), ()


for _name in ("RiemannianAdam", "RiemannianSGD"):
    add("hypll", _name, lambda n=_name: _riemannian(n))
