"""Differentiable science: decompositions, linear operators, programs, evolution and physics."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from registry import each

R = torch.randn
os.environ.setdefault("DDE_BACKEND", "pytorch")


def _tensorly(module: str, name: str, *args: Any, **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        import_module("tensorly").set_backend("pytorch")
        function = getattr(import_module("tensorly." + module), name)
        return lambda *a: function(*a, **kwargs), args

    return build


def _cp() -> tuple:
    return (torch.ones(2), [torch.rand(3, 2), torch.rand(4, 2), torch.rand(5, 2)])


each("tensorly", {
    "parafac": _tensorly("decomposition", "parafac", torch.rand(3, 4, 5), rank=2, n_iter_max=3, init="random", random_state=0),
    "parafac.orthogonal": _tensorly("decomposition", "parafac", torch.rand(3, 4, 5), rank=2, n_iter_max=3, normalize_factors=True, orthogonalise=True, init="svd"),
    "non_negative_parafac": _tensorly("decomposition", "non_negative_parafac", torch.rand(3, 4, 5), rank=2, n_iter_max=3),
    "non_negative_parafac_hals": _tensorly("decomposition", "non_negative_parafac_hals", torch.rand(3, 4, 5), rank=2, n_iter_max=3),
    "tucker": _tensorly("decomposition", "tucker", torch.rand(3, 4, 5), rank=[2, 2, 2], n_iter_max=3),
    "non_negative_tucker": _tensorly("decomposition", "non_negative_tucker", torch.rand(3, 4, 5), rank=[2, 2, 2], n_iter_max=3),
    "tensor_train": _tensorly("decomposition", "tensor_train", torch.rand(3, 4, 5), rank=[1, 2, 2, 1]),
    "tensor_ring": _tensorly("decomposition", "tensor_ring", torch.rand(4, 4, 5), rank=[2, 2, 2, 2]),
    "parafac2": _tensorly("decomposition", "parafac2", [torch.rand(4, 5), torch.rand(5, 5)], rank=2, n_iter_max=3, random_state=0),
    "robust_pca": _tensorly("decomposition", "robust_pca", torch.rand(3, 4, 5), n_iter_max=3),
    "cp_to_tensor": _tensorly("cp_tensor", "cp_to_tensor", _cp()),
    "cp_normalize": _tensorly("cp_tensor", "cp_normalize", _cp()),
    "cp_norm": _tensorly("cp_tensor", "cp_norm", _cp()),
    "hals_nnls": _tensorly("solvers.nnls", "hals_nnls", torch.rand(3, 4), torch.eye(3) + 0.1),
    "fista": _tensorly("solvers.nnls", "fista", torch.rand(3, 4), torch.eye(3) + 0.1, n_iter_max=5),
    "active_set_nnls": _tensorly("solvers.nnls", "active_set_nnls", torch.rand(3), torch.eye(3) + 0.1, n_iter_max=5),
    "admm": _tensorly("solvers.admm", "admm", torch.rand(4, 3), torch.eye(3) + 0.1, torch.rand(4, 3), torch.rand(4, 3), n_iter_max=3, n_const=1, order=0, non_negative=True),
    "simplex_prox": _tensorly("tenalg.proximal", "simplex_prox", torch.rand(4, 3), parameter=1.0),
    "monotonicity_prox": _tensorly("tenalg.proximal", "monotonicity_prox", torch.rand(4, 3)),
    "unimodality_prox": _tensorly("tenalg.proximal", "unimodality_prox", torch.rand(4, 3)),
    "hard_thresholding": _tensorly("tenalg.proximal", "hard_thresholding", torch.rand(4, 3), number_of_non_zero=3),
    "randomized_svd": _tensorly("tenalg.svd", "randomized_svd", torch.rand(6, 5), n_eigenvecs=2, random_state=0),
    "svd_interface": _tensorly("tenalg.svd", "svd_interface", torch.rand(6, 5), n_eigenvecs=2, flip_sign=True, non_negative=True),
    "congruence": _tensorly("metrics.factors", "congruence_coefficient", torch.rand(4, 3), torch.rand(4, 3)),
    "correlation_index": _tensorly("metrics.similarity", "correlation_index", [torch.rand(4, 3)], [torch.rand(4, 3)]),
    "R2_score": _tensorly("metrics.regression", "R2_score", torch.rand(4, 3), torch.rand(4, 3)),
    "entropy": _tensorly("metrics.entropy", "vonneumann_entropy", torch.eye(3) / 3),
})  # fmt: skip


def _tl(name: str, *args: Any, **kwargs: Any) -> torch.nn.Module:
    import_module("tensorly").set_backend("pytorch")
    return getattr(import_module("tltorch"), name)(*args, **kwargs)


def _factorized(kind: str, hook: Callable[[], object] | None = None) -> Callable[[], tuple]:
    def build() -> tuple:
        import_module("tensorly").set_backend("pytorch")
        tensor = import_module("tltorch").FactorizedTensor.new((4, 4, 6), rank=3, factorization=kind)  # fmt: skip
        tensor.normal_(0, 0.1)
        return lambda: tensor.to_tensor(), ()

    return build


def _lasso(kind: str) -> tuple:
    call, _ = _factorized(kind)()
    tensor = call.__closure__[0].cell_contents
    lasso = import_module("tltorch.tensor_hooks").tensor_lasso(factorization=kind, penalty=0.1)
    lasso.apply(tensor)

    def run() -> Any:
        tensor(())
        return lasso.loss

    return run, ()


each("tltorch", {
    **{f"to_tensor.{kind}": _factorized(kind) for kind in ("CP", "Tucker", "TT")},
    "FactorizedLinear.tucker": lambda: (_tl("FactorizedLinear", (2, 3), (2, 2), rank=0.5, factorization="BlockTT"), (R(3, 6),)),
    "FactorizedLinear.factorized": lambda: (_tl("FactorizedLinear", (2, 3), (2, 2), rank=0.5, factorization="cp", implementation="factorized"), (R(3, 6),)),
    "FactorizedConv.cp": lambda: (_tl("FactorizedConv", 3, 4, 3, order=2, rank=2, factorization="cp", implementation="factorized"), (R(2, 3, 6, 6),)),
    "FactorizedConv.tucker": lambda: (_tl("FactorizedConv", 3, 4, 3, order=2, rank=0.5, factorization="tucker", implementation="factorized"), (R(2, 3, 6, 6),)),
    "FactorizedConv.tt": lambda: (_tl("FactorizedConv", 3, 4, 3, order=2, rank=0.5, factorization="tt", implementation="factorized"), (R(2, 3, 6, 6),)),
    "FactorizedEmbedding": lambda: (_tl("FactorizedEmbedding", 12, 8, auto_tensorize=True, n_tensorized_modes=2, rank=4), (torch.tensor([1, 5]),)),
    "TCL": lambda: (_tl("TCL", (4, 5), (2, 3)), (R(2, 4, 5),)),
    "TRL": lambda: (_tl("TRL", (4, 5), (3,), rank=2, factorization="cp"), (R(2, 4, 5),)),
    "lasso.CP": lambda: _lasso("CP"),
})  # fmt: skip


def _operator(matrix: torch.Tensor) -> Any:
    return import_module("xitorch").LinearOperator.m(matrix, is_hermitian=True)


def _positive(size: int = 4) -> torch.Tensor:
    root = R(size, size)
    return root @ root.T + torch.eye(size)


def _xitorch(module: str, name: str, *args: Any, **kwargs: Any) -> Callable[[], tuple]:
    return lambda: (lambda *a: getattr(import_module("xitorch." + module), name)(*a, **kwargs), args)  # fmt: skip


each("xitorch", {
    **{f"solve.{method}": (lambda m=method: (lambda a, b: import_module("xitorch.linalg").solve(_operator(a), b, method=m), (_positive(), R(4, 2)))) for method in ("exactsolve", "cg", "bicgstab", "gmres")},
    **{f"symeig.{method}": (lambda m=method: (lambda a: import_module("xitorch.linalg").symeig(_operator(a), neig=2, method=m), (_positive(6),))) for method in ("exacteig", "davidson")},
    "svd": lambda: (lambda a: import_module("xitorch.linalg").svd(_operator(a), k=2), (_positive(),)),
    **{f"rootfinder.{method}": _xitorch("optimize", "rootfinder", lambda y: y**2 - 2.0, torch.ones(3), method=method) for method in ("broyden1", "linearmixing")},
    "equilibrium": _xitorch("optimize", "equilibrium", lambda y: torch.cos(y) * 0.5, torch.ones(3), method="anderson_acc"),
    "minimize": _xitorch("optimize", "minimize", lambda y: ((y - 1.0) ** 2).sum(), torch.zeros(3), method="gd", maxiter=5, step=0.1),
    **{f"solve_ivp.{method}": _xitorch("integrate", "solve_ivp", lambda t, y: -y * t, torch.linspace(0, 1, 4), torch.ones(3), method=method) for method in ("rk4", "rk45", "euler")},
    "quad": _xitorch("integrate", "quad", lambda x: torch.exp(-x), torch.tensor(0.0), torch.tensor(1.0), n=20),
    "squad": lambda: (lambda x, y: import_module("xitorch.integrate").SQuad(x, method="cspline").integrate(y), (torch.linspace(0, 1, 6), R(6))),
    "mcquad": _xitorch("integrate", "mcquad", lambda x: x.sum(), lambda x: -(x**2).sum(), torch.zeros(2), method="mh", nsamples=20, nburnout=5, step_size=0.5),
    "interp.cspline": lambda: (lambda x, y, q: import_module("xitorch.interpolate").Interp1D(x, y, method="cspline")(q), (torch.linspace(0, 1, 6), R(6), torch.rand(4))),
    "interp.linear": lambda: (lambda x, y, q: import_module("xitorch.interpolate").Interp1D(x, y, method="linear", extrap="mirror")(q), (torch.linspace(0, 1, 6), R(6), torch.rand(4) * 2)),
}, grad=True)  # fmt: skip


def _program(equal: bool = True, verbose: int = 0) -> tuple:
    root = R(2, 4, 4)
    hessian = root @ root.mT + torch.eye(4)
    limits, bound = R(2, 6, 4), torch.rand(2, 6) + 1
    extra = (R(2, 1, 4), R(2, 1)) if equal else (torch.tensor([]), torch.tensor([]))
    return lambda *a: import_module("qpth.qp").QPFunction(verbose=verbose)(*a), (hessian, R(2, 4), limits, bound, *extra)  # fmt: skip


def _factored(*args: torch.Tensor) -> Any:
    solvers = import_module("qpth.solvers.pdipm.batch")
    return solvers.pre_factor_kkt(*args)


each("qpth", {
    "QPFunction": _program,
    "QPFunction.inequality": lambda: _program(False),
    "QPFunction.verbose": lambda: _program(True, 1),
    "forward": lambda: (lambda q, p, g, h: import_module("qpth.solvers.pdipm.batch").forward(q, p, g, h, torch.empty(0), torch.empty(0), *_factored(q, g, torch.empty(0)), maxIter=5), _program()[1][:4]),
    "get_step": lambda: (lambda v, d: import_module("qpth.solvers.pdipm.batch").get_step(v, d), (torch.rand(2, 4), R(2, 4))),
    "expandParam": lambda: (lambda x: import_module("qpth.util").expandParam(x, 2, 3), (R(4, 4),)),
    "extract_nBatch": lambda: (lambda *a: import_module("qpth.util").extract_nBatch(*a), _program()[1]),
    "bger": lambda: (lambda a, b: import_module("qpth.util").bger(a, b), (R(2, 3), R(2, 4))),
})  # fmt: skip


def _grid(name: str, *resolution: int) -> Callable[[], tuple]:
    def build() -> tuple:
        module = import_module("torch_cubic_spline_grids")
        size: object = resolution[0] if len(resolution) == 1 else resolution
        return getattr(module, name)(resolution=size, n_channels=2), (torch.rand(5, len(resolution)),)  # fmt: skip

    return build


each("torch_cubic_spline_grids", {
    f"{name}{len(shape)}d": _grid(f"{name}{len(shape)}d", *shape)
    for name in ("CubicBSplineGrid", "CubicCatmullRomGrid") for shape in ((4,), (3, 4), (3, 4, 3), (3, 3, 3, 3))
})  # fmt: skip
each("torch_cubic_spline_grids", {
    "from_grid_data": lambda: (lambda g, u: import_module("torch_cubic_spline_grids").CubicBSplineGrid2d.from_grid_data(g)(u), (R(1, 4, 4), torch.rand(3, 2))),
})  # fmt: skip


def _es(name: str, **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        functional = import_module("evotorch.algorithms.functional")

        def run(center: torch.Tensor) -> Any:
            state = getattr(functional, name)(center_init=center, stdev_init=1.0, objective_sense="min", **kwargs)  # fmt: skip
            values = getattr(functional, name + "_ask")(state, popsize=10)
            return getattr(functional, name + "_tell")(state, values, (values**2).sum(-1))

        return run, (R(4),)

    return build


def _operators(name: str, *args: Any, **kwargs: Any) -> Callable[[], tuple]:
    return lambda: (lambda *a: getattr(import_module("evotorch.operators.functional"), name)(*a, **kwargs), args)  # fmt: skip


def _distribution(name: str, **parameters: torch.Tensor) -> Callable[[], tuple]:
    def build() -> tuple:
        module = getattr(import_module("evotorch.distributions"), name)(parameters)

        def run() -> Any:
            samples = module.sample(10)
            return module.compute_gradients(samples, (samples**2).sum(-1), objective_sense="min", ranking_method="centered")  # fmt: skip

        return run, ()

    return build


def _search(name: str, **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        core, algorithms = import_module("evotorch.core"), import_module("evotorch.algorithms")
        import_module("logging").getLogger("evotorch").setLevel("ERROR")
        problem = core.Problem("min", lambda x: (x**2).sum(-1), solution_length=4, initial_bounds=(-1, 1), vectorized=True)  # fmt: skip
        searcher = getattr(algorithms, name)(problem, **kwargs)
        searcher.step()
        return searcher.step, ()

    return build


each("evotorch", {
    "cem": _es("cem", parenthood_ratio=0.5),
    "pgpe": _es("pgpe", center_learning_rate=0.1, stdev_learning_rate=0.1),
    "pgpe.adam": _es("pgpe", center_learning_rate=0.1, stdev_learning_rate=0.1, optimizer="adam", ranking_method="linear"),
    "tournament": _operators("tournament", R(6, 3), R(6), num_tournaments=4, tournament_size=2, objective_sense="min"),
    "two_point": _operators("two_point_cross_over", R(6, 4), R(6), tournament_size=2, objective_sense="max"),
    "sbx": _operators("simulated_binary_cross_over", R(6, 4), R(6), eta=8, tournament_size=2, objective_sense="max"),
    "utility": _operators("utility", R(6), objective_sense="min", ranking_method="centered"),
    "pareto_utility": _operators("pareto_utility", R(6, 2), objective_sense=["min", "max"]),
    "take_best": _operators("take_best", R(6, 3), R(6), 2, objective_sense="min"),
    "take_best.pareto": _operators("take_best", R(6, 3), R(6, 2), 3, objective_sense=["min", "max"]),
    "combine": _operators("combine", (R(3, 2), R(3)), (R(3, 2), R(3)), objective_sense="min"),
    "domination_counts": _operators("domination_counts", R(6, 2), objective_sense=["min", "max"]),
    "SeparableGaussian": _distribution("SeparableGaussian", mu=torch.zeros(3), sigma=torch.ones(3)),
    "ExpGaussian": _distribution("ExpGaussian", mu=torch.zeros(3), sigma=torch.eye(3)),
    "CMAES": _search("CMAES", stdev_init=1.0),
    "XNES": _search("XNES", stdev_init=1.0),
    "SNES": _search("SNES", stdev_init=1.0),
})  # fmt: skip


def _pinn(name: str, *args: Any, **kwargs: Any) -> torch.nn.Module:
    return getattr(import_module("deepxde").nn, name)(*args, **kwargs)


def _derivative(what: str, **kwargs: int) -> Callable[[], tuple]:
    def run(x: torch.Tensor) -> torch.Tensor:
        grad = import_module("deepxde").grad
        y = torch.stack([x[:, 0] ** 2 * x[:, 1], torch.sin(x[:, 1])], 1)
        out = getattr(grad, what)(y, x, **kwargs)
        grad.clear()
        return out

    return lambda: (run, (R(5, 2).requires_grad_(),))


def _boundary(name: str, *args: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        dde, numpy = import_module("deepxde"), import_module("numpy")
        geometry = dde.geometry.Interval(0, 1)
        condition = getattr(dde.icbc, name)(geometry, *args, lambda _, on: on)
        points = numpy.array([[0.0], [1.0]], dtype="float32")

        def run(x: torch.Tensor) -> torch.Tensor:
            return condition.error(points, x, x**2, 0, 2)

        return run, (torch.tensor([[0.0], [1.0]]).requires_grad_(),)

    return build


each("deepxde", {
    "FNN": lambda: (_pinn("FNN", [2, 8, 8, 1], "tanh", "Glorot uniform"), (R(5, 2),)),
    "FNN.dropout": lambda: (_pinn("FNN", [2, 8, 1], ["relu", "sin"], "He normal", regularization=["l2", 0.1]), (R(5, 2),)),
    "PFNN": lambda: (_pinn("PFNN", [2, [8, 8], [8, 8], 2], "tanh", "Glorot normal"), (R(5, 2),)),
    "DeepONet": lambda: (_pinn("DeepONet", [3, 8, 8], [2, 8, 8], "relu", "Glorot normal"), ((R(5, 3), R(5, 2)),)),
    "DeepONet.cartesian": lambda: (_pinn("DeepONetCartesianProd", [3, 8, 8], [2, 8, 8], "relu", "Glorot normal", num_outputs=2, multi_output_strategy="independent"), ((R(4, 3), R(5, 2)),)),
    "PODDeepONet": lambda: (_pinn("PODDeepONet", R(5, 8).numpy(), [3, 8, 8], "relu", "Glorot normal"), ((R(4, 3), R(5, 2)),)),
    "MIONet": lambda: (_pinn("MIONetCartesianProd", [3, 8], [3, 8], [2, 8, 8], "relu", "Glorot normal"), ((R(4, 3), R(4, 3), R(5, 2)),)),
    "jacobian": _derivative("jacobian", i=0, j=1),
    "jacobian.row": _derivative("jacobian", i=1),
    "hessian": _derivative("hessian", component=0, i=0, j=1),
    "Dirichlet": _boundary("DirichletBC", lambda x: x * 0),
    "Neumann": _boundary("NeumannBC", lambda x: x * 0),
    "Robin": _boundary("RobinBC", lambda x, y: y),
    "Periodic": _boundary("PeriodicBC", 0),
    "mean_l2_relative": lambda: (lambda a, b: import_module("deepxde.losses").mean_l2_relative_error(a, b), (R(4, 3), R(4, 3))),
    "rectangle.factor": lambda: (lambda x: import_module("deepxde").geometry.Rectangle([0, 0], [1, 1]).boundary_constraint_factor(x, smoothness="Cinf"), (torch.rand(5, 2),)),
    "disk.factor": lambda: (lambda x: import_module("deepxde").geometry.Disk([0, 0], 1).boundary_constraint_factor(x), (torch.rand(5, 2),)),
    "triangle.factor": lambda: (lambda x: import_module("deepxde").geometry.Triangle([0, 0], [1, 0], [0, 1]).boundary_constraint_factor(x), (torch.rand(5, 2),)),
}, grad=True)  # fmt: skip
