"""nflows, normflows, zuko."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add

R = torch.randn


for _name in "AffineTransform LogTanh LeakyReLU Sigmoid Logit Tanh".split():
    add(
        "nflows",
        _name,
        lambda n=_name: (
            (getattr(import_module("nflows.transforms"), n)(), (torch.rand(4, 6) * 0.8 + 0.1,))
            if n != "AffineTransform"
            else (
                import_module("nflows.transforms").AffineTransform(
                    torch.tensor(1.0), torch.tensor(2.0)
                ),
                (R(4, 6),),
            )
        ),
        modes=("eval",),
    )
for _name, _inits in {
    "ActNorm": (6,),
    "BatchNorm": (6,),
    "LULinear": (6,),
    "QRLinear": (6, 2),
    "SVDLinear": (6, 2),
    "NaiveLinear": (6,),
    "HouseholderSequence": (6, 2),
    "RandomPermutation": (6,),
    "MaskedAffineAutoregressiveTransform": (6, 8),
    "MaskedPiecewiseLinearAutoregressiveTransform": (4, 6, 8),
    "MaskedPiecewiseRationalQuadraticAutoregressiveTransform": (6, 8),
    "PiecewiseLinearCDF": ((6,),),
    "PiecewiseQuadraticCDF": ((6,),),
    "PiecewiseCubicCDF": ((6,),),
    "PiecewiseRationalQuadraticCDF": ((6,),),
}.items():
    add(
        "nflows",
        _name,
        lambda n=_name, i=_inits: (
            getattr(import_module("nflows.transforms"), n)(*i),
            (torch.rand(4, 6) * 0.9,),
        ),
        modes=("eval", "train") if "Norm" in _name else ("eval",),
    )
    if "CDF" in _name or "MaskedPiecewiseR" in _name:
        add(
            "nflows",
            _name + ".inverse",
            lambda n=_name, i=_inits: (
                getattr(import_module("nflows.transforms"), n)(
                    *i, **({"tails": "linear"} if "CDF" in n else {})
                ).inverse,
                (torch.rand(4, 6) * 0.9,),
            ),
        )
for _name in ("AffineCouplingTransform", "PiecewiseRationalQuadraticCouplingTransform"):
    add(
        "nflows",
        _name,
        lambda n=_name: (
            getattr(import_module("nflows.transforms"), n)(
                [1, 0, 1, 0, 1, 0],
                lambda i, o: import_module("nflows.nn.nets").ResidualNet(i, o, hidden_features=8),
            ),
            (torch.rand(4, 6),),
        ),
        modes=("eval",),
    )
add(
    "nflows",
    "OneByOneConvolution",
    lambda: (import_module("nflows.transforms").OneByOneConvolution(3), (R(2, 3, 4, 4),)),
    modes=("eval",),
)
add(
    "nflows",
    "Flow.log_prob",
    lambda: (
        import_module("nflows.flows").MaskedAutoregressiveFlow(4, 8, 1, 1).log_prob,
        (R(3, 4),),
    ),
)
add(
    "nflows",
    "Flow.sample",
    lambda: (import_module("nflows.flows").SimpleRealNVP(4, 8, 1, 1).sample, (3,)),
)
for _name, _inits in {
    "Planar": ((4,),),
    "Radial": ((4,),),
    "MaskedAffineAutoregressive": (4, 8),
    "AutoregressiveRationalQuadraticSpline": (4, 1, 8),
    "CoupledRationalQuadraticSpline": (4, 1, 8),
    "CircularAutoregressiveRationalQuadraticSpline": (4, 1, 8, [0]),
    "LULinearPermute": (4,),
    "InvertibleAffine": (4,),
    "ActNorm": (4,),
    "BatchNorm": (),
}.items():
    add(
        "normflows",
        _name,
        lambda n=_name, i=_inits: (getattr(import_module("normflows").flows, n)(*i), (R(5, 4),)),
        modes=("eval",),
    )
add(
    "normflows",
    "Residual",
    lambda: (
        (
            lambda nf: nf.flows.Residual(
                nf.nets.LipschitzMLP([4, 8, 4], init_zeros=True, lipschitz_const=0.9),
                reduce_memory=False,
            )
        )(import_module("normflows")),
        (R(5, 4),),
    ),
)
add(
    "normflows",
    "GlowBlock",
    lambda: (import_module("normflows").flows.GlowBlock(4, 8), (R(2, 4, 4, 4),)),
    modes=("eval",),
)
for _name, _inits in {
    "GaussianMixture": (3, 2),
    "DiagGaussian": (2,),
    "TwoMoons": (),
    "RingMixture": (),
    "CircularGaussianMixture": (),
    "TwoModes": (2.0, 0.1),
    "Sinusoidal": (0.4, 4),
    "Smiley": (0.2,),
}.items():
    add(
        "normflows",
        f"{_name}.log_prob",
        lambda n=_name, i=_inits: (
            getattr(import_module("normflows").distributions, n)(*i).log_prob,
            (R(5, 2),),
        ),
    )
    if _name in ("GaussianMixture", "TwoMoons", "RingMixture"):
        add(
            "normflows",
            f"{_name}.sample",
            lambda n=_name, i=_inits: (
                getattr(import_module("normflows").distributions, n)(*i).sample,
                (4,),
            ),
        )
add(
    "normflows",
    "kld",
    lambda: (
        (
            lambda nf: (
                nf.NormalizingFlow(
                    nf.distributions.DiagGaussian(2),
                    [nf.flows.Planar((2,))],
                    nf.distributions.TwoMoons(),
                ).reverse_kld
            )
        )(import_module("normflows")),
        (8,),
    ),
)
for _name, _kwargs in {
    "MAF": {},
    "NSF": {},
    "NICE": {},
    "RealNVP": {},
    "SOSPF": {},
    "BPF": {},
    "GF": {},
    "NAF": {},
    "NCSF": {},
    "CNF": {},
    "GMM": {},
}.items():

    def _flow(n: str = _name, sample: bool = False) -> tuple:
        flow = getattr(import_module("zuko.flows"), n)(
            3, 2, **({} if n in ("GMM", "CNF") else {"transforms": 1})
        )
        return (
            (lambda c: flow(c).sample((2,))) if sample else (lambda x, c: flow(c).log_prob(x))
        ), (R(4, 2),) if sample else (R(4, 3), R(4, 2))

    add("zuko", f"{_name}.log_prob", _flow)
    add("zuko", f"{_name}.sample", lambda f=_flow: f(sample=True))
