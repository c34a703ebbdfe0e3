"""Distributions, mixtures, chains, transport between samples, invertible blocks, tensor trains."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add, each

R = torch.randn


def _fitted(name: str) -> Callable[[], object]:
    """A distribution that has seen data of its own kind."""

    def build() -> object:
        dist = getattr(import_module("pomegranate.distributions"), name)()
        dist.fit(_sample(name))
        return dist

    return build


def _sample(name: str) -> torch.Tensor:
    if name in ("Bernoulli",):
        return torch.randint(0, 2, (12, 3)).float()
    if name in ("Categorical",):
        return torch.cat([torch.randint(0, 3, (11, 3)), torch.full((1, 3), 2)])
    if name == "Poisson":
        return torch.randint(0, 5, (12, 3)).float() + 1
    return torch.rand(12, 3) + 0.1


for _name in "Bernoulli Categorical Exponential Gamma HalfNormal LogNormal Normal Poisson StudentT Uniform".split():
    for _method in ("log_probability", "fit", "summarize", "sample"):
        add("pomegranate", f"{_name}.{_method}", lambda n=_name, m=_method: (
            getattr(_fitted(n)(), m), (4,) if m == "sample" else (_sample(n),)
        ))  # fmt: skip


def _mixture(kind: str) -> object:
    dists = import_module("pomegranate.distributions")
    parts = [dists.Exponential([0.5, 1.0, 2.0]), dists.Exponential([2.0, 0.3, 1.0])]
    if kind == "gmm":
        return import_module("pomegranate.gmm").GeneralMixtureModel(parts, max_iter=2)
    if kind == "bayes":
        return import_module("pomegranate.bayes_classifier").BayesClassifier(parts)
    if kind == "kmeans":
        return import_module("pomegranate.kmeans").KMeans(2, max_iter=2)
    hmm = import_module("pomegranate.hmm")
    name = "DenseHMM" if kind == "dense" else "SparseHMM"
    edges = [[0.7, 0.3], [0.4, 0.6]]
    if kind == "sparse":
        edges = [[parts[0], parts[0], 0.7], [parts[0], parts[1], 0.3], [parts[1], parts[1], 1.0]]
        return getattr(hmm, name)(
            parts, edges=edges, starts=[0.5, 0.5], ends=[0.1, 0.1], max_iter=2
        )
    return getattr(hmm, name)(parts, edges=edges, starts=[0.5, 0.5], ends=[0.1, 0.1], max_iter=2)


for _kind, _methods in {
    "gmm": "log_probability predict predict_proba fit summarize",
    "bayes": "log_probability predict predict_log_proba",
    "kmeans": "fit summarize fit_predict",
    "dense": "log_probability predict viterbi forward backward forward_backward fit",
    "sparse": "log_probability predict forward backward",
}.items():
    for _method in _methods.split():

        def _build(kind: str = _kind, method: str = _method) -> tuple:
            data = (
                torch.rand(4, 5, 3) + 0.1
                if kind in ("dense", "sparse")
                else torch.rand(12, 3) + 0.1
            )
            model = _mixture(kind)
            return getattr(model, method), (data,)

        add("pomegranate", f"{_kind}.{_method}", _build)


def _samples(loss: str, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        return import_module("geomloss").SamplesLoss(loss, backend="tensorized", **kwargs), (
            R(2, 6, 2),
            R(2, 5, 2),
        )

    return build


each("geomloss", {
    "sinkhorn": _samples("sinkhorn", p=2, blur=0.1),
    "sinkhorn.diameter": _samples("sinkhorn", p=1, blur=0.1, diameter=2.0),
    "sinkhorn.reach": _samples("sinkhorn", p=2, blur=0.1, reach=0.5, debias=False),
    "sinkhorn.potentials": _samples("sinkhorn", p=2, blur=0.1, potentials=True),
    "gaussian": _samples("gaussian", blur=0.5),
    "laplacian": _samples("laplacian", blur=0.5),
    "energy": _samples("energy"),
    "images": lambda: (
        lambda a, b: import_module("geomloss").sinkhorn_divergence(a, b, p=2, blur=0.2),
        (torch.rand(1, 1, 8, 8), torch.rand(1, 1, 8, 8)),
    ),
}, grad=True)  # fmt: skip


def _subnet(inputs: int, outputs: int) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, 8), torch.nn.ReLU(), torch.nn.Linear(8, outputs)
    )


def _flow(
    name: str, dims: int = 4, shape: tuple = (), back: bool = False, **kwargs: object
) -> Callable[[], tuple]:
    def build() -> tuple:
        modules, framework = import_module("FrEIA.modules"), import_module("FrEIA.framework")
        shape_in = shape or (dims,)
        net = framework.SequenceINN(*shape_in)
        net.append(getattr(modules, name), **kwargs)
        if back:
            return lambda x: net(x, rev=True), (R(3, *net.shapes[-1]),)
        return net, (R(3, *shape_in),)

    return build


for _name, _kwargs in {
    "AllInOneBlock": {"subnet_constructor": _subnet, "permute_soft": True},
    "AllInOneBlock.learned": {"subnet_constructor": _subnet, "learned_householder_permutation": 2, "reverse_permutation": True},
    "NICECouplingBlock": {"subnet_constructor": _subnet},
    "RNVPCouplingBlock": {"subnet_constructor": _subnet},
    "GLOWCouplingBlock": {"subnet_constructor": _subnet},
    "GINCouplingBlock": {"subnet_constructor": _subnet},
    "AffineCouplingOneSided": {"subnet_constructor": _subnet},
    "PermuteRandom": {},
    "ActNorm": {},
    "InvertibleSigmoid": {},
    "HouseholderPerm": {"n_reflections": 2},
    "OrthogonalTransform": {},
    "InvAutoFC": {"dims_out": [(4,)]},
    "InvAutoAct": {},
    "IResNetLayer": {"hutchinson_terms": 2, "internal_size": 6},
}.items():  # fmt: skip
    for _back in (False, True):
        add("FrEIA", _name + ".rev" * _back, _flow(_name.split(".")[0], back=_back, **_kwargs))
for _name in (
    "IRevNetDownsampling",
    "IRevNetUpsampling",
    "HaarDownsampling",
    "HaarUpsampling",
    "Flatten",
):
    add("FrEIA", _name, _flow(_name, shape=(4, 8, 8)))


def _graph_inn() -> tuple:
    modules, ff = import_module("FrEIA.modules"), import_module("FrEIA.framework")
    entry = ff.InputNode(4, name="in")
    split = ff.Node(entry, modules.Split, {})
    one = ff.Node(split.out0, modules.InvertibleSigmoid, {})
    both = ff.Node([one, split.out1], modules.Concat, {})
    net = ff.GraphINN([entry, split, one, both, ff.OutputNode(both)])
    return net, (R(3, 4),)


add("FrEIA", "GraphINN", _graph_inn)
for _name in ("LinearSpline", "CubicSpline", "RationalQuadraticSpline"):
    add("FrEIA", _name, lambda n=_name: (
        _wrap(getattr(import_module("FrEIA.modules.splines"), n)([(4,)], subnet_constructor=_subnet, bins=4)), (R(3, 4),)
    ))  # fmt: skip


def _wrap(module: torch.nn.Module) -> Callable:
    return lambda x: module([x])


def _train() -> object:
    return import_module("tntorch")


def _tensor(rank: int = 2) -> object:
    return _train().rand([4, 5, 6], ranks_tt=rank)


each("tntorch", {
    "full": lambda: ((lambda t: lambda: t.torch())(_tensor()), ()),
    "add": lambda: ((lambda t: lambda: (t + t * 2).torch())(_tensor()), ()),
    "mul": lambda: ((lambda t: lambda: (t * t).torch())(_tensor()), ()),
    "dot": lambda: ((lambda t: lambda: _train().dot(t, t))(_tensor()), ()),
    "norm": lambda: ((lambda t: lambda: _train().norm(t))(_tensor()), ()),
    "dist": lambda: ((lambda t, u: lambda: _train().dist(t, u))(_tensor(), _tensor()), ()),
    "mean": lambda: ((lambda t: lambda: _train().mean(t))(_tensor()), ()),
    "var": lambda: ((lambda t: lambda: _train().var(t))(_tensor()), ()),
    "sum": lambda: ((lambda t: lambda: _train().sum(t, dim=1).torch())(_tensor()), ()),
    "round_tt": lambda: (lambda x: _train().round_tt(_train().Tensor(x), eps=1e-3).torch(), (R(4, 5, 6),)),
    "Tensor.ranks": lambda: (lambda x: _train().Tensor(x, ranks_tt=2).torch(), (R(4, 5, 6),)),
    "Tensor.tucker": lambda: (lambda x: _train().Tensor(x, ranks_tucker=2).torch(), (R(4, 5, 6),)),
    "Tensor.cp": lambda: (lambda x: _train().Tensor(x, ranks_cp=2).torch(), (R(4, 5, 6),)),
    "index": lambda: ((lambda t: lambda: t[1:3, :, 2].torch())(_tensor()), ()),
    "index.list": lambda: ((lambda t: lambda: t[[0, 1], :, [2, 3]].torch())(_tensor()), ()),
    "setitem": lambda: ((lambda t: lambda: t.__setitem__((0, slice(None), 1), 0))(_tensor()), ()),
    "partial": lambda: ((lambda t: lambda: _train().partial(t, 0).torch())(_tensor()), ()),
    "cumsum": lambda: ((lambda t: lambda: _train().cumsum(t, 0).torch())(_tensor()), ()),
    "cross": lambda: (lambda: _train().cross(lambda x, y: torch.sin(x + y), domain=[torch.linspace(0, 1, 5)] * 2, max_iter=2, verbose=False).torch(), ()),
    "orthogonalize": lambda: ((lambda t: lambda: t.orthogonalize(1))(_tensor()), ()),
    "reduce": lambda: ((lambda t: lambda: _train().reduce([t, t, t], lambda a, b: a + b).torch())(_tensor()), ()),
    "sobol": lambda: ((lambda t: lambda: _train().sobol(t, mask=_train().only(_train().symbols(3)[0])))(_tensor()), ()),
    "cat": lambda: ((lambda t: lambda: _train().cat([t, t], dim=0).torch())(_tensor()), ()),
    "transpose": lambda: ((lambda t: lambda: _train().transpose(t).torch())(_tensor()), ()),
    "sample": lambda: ((lambda t: lambda: _train().sample(t * t, 5))(_tensor()), ()),
    "argmax": lambda: ((lambda t: lambda: _train().argmax(t))(_tensor()), ()),
    "TTMatrix": lambda: (lambda x: _train().TTMatrix(x, ranks=[2], input_dims=[2, 3], output_dims=[2, 3]).torch(), (R(6, 6),)),
    "CPMatrix": lambda: (lambda x: _train().CPMatrix(x, rank=2, input_dims=[2, 3], output_dims=[2, 3]).torch(), (R(6, 6),)),
})  # fmt: skip
