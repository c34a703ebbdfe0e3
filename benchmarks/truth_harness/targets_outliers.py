"""What isn't like the rest: detectors and their losses; flows, tables and agents beside them."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import each
from targets_bayes import _at, _get, _net

R = torch.randn


def _labels() -> torch.Tensor:
    return torch.tensor([0, 1, 2, 0, 1, 2, -1, -1, 0, 1, 2, 0])


def _known() -> torch.Tensor:
    return torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2])


def _ood(name: str, *inputs: object, **kwargs: object) -> tuple:
    return _at(f"pytorch_ood.loss.{name}", **kwargs), inputs


def _fitted(name: str, *args: object, **kwargs: object) -> tuple:
    detector = _at(f"pytorch_ood.detector.{name}", *args, **kwargs)
    detector.fit_features(R(12, 8), _known())
    return detector.predict_features, (R(5, 8),)


def _fit(name: str, *args: object, **kwargs: object) -> tuple:
    detector = _at(f"pytorch_ood.detector.{name}", *args, **kwargs)
    return detector.fit_features, (R(12, 8), _known())


def _logits(name: str, *args: object, **kwargs: object) -> tuple:
    return _at(f"pytorch_ood.detector.{name}", None, *args, **kwargs).predict_logits, (R(5, 3),)


def _maps(name: str, **kwargs: object) -> tuple:
    head = torch.nn.Sequential(
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 3)
    )
    detector = _at(f"pytorch_ood.detector.{name}", torch.nn.Identity(), head, **kwargs)
    return detector.predict_feature_maps, (torch.rand(2, 8, 4, 4),)


def _head() -> torch.nn.Linear:
    return torch.nn.Linear(8, 3)


_OOD = "pytorch_ood"
each(_OOD, {
    "CACLoss.distance": lambda: (_at("pytorch_ood.loss.CACLoss", n_classes=3).distance, (R(12, 3),)),
    "CenterLoss": lambda: _ood("CenterLoss", R(12, 3).abs(), _labels(), n_classes=3, n_dim=8),
    "ConfidenceLoss": lambda: _ood("ConfidenceLoss", R(12, 3), R(12, 1), _labels()),
    "EnergyRegularizedLoss": lambda: _ood("EnergyRegularizedLoss", R(12, 3), _labels()),
    "EntropicOpenSetLoss": lambda: _ood("EntropicOpenSetLoss", R(12, 3), _labels()),
    "IILoss": lambda: _ood("IILoss", R(12, 8), _labels(), n_classes=3, n_embedding=8),
    "LogitNorm": lambda: _ood("LogitNorm", R(12, 3), _labels()),
    "MCHADLoss": lambda: _ood("MCHADLoss", R(12, 3).abs(), _labels(), n_classes=3, n_dim=8),
    "ObjectosphereLoss": lambda: _ood("ObjectosphereLoss", R(12, 3), R(12, 8), _labels()),
    "OutlierExposureLoss": lambda: _ood("OutlierExposureLoss", R(12, 3), _labels()),
    "BackgroundClassLoss": lambda: _ood("BackgroundClassLoss", R(12, 4), _labels(), n_classes=3),
    "DeepSVDDLoss": lambda: _ood("DeepSVDDLoss", R(12, 8), _labels(), n_dim=8),
    "DeepSADLoss": lambda: _ood("DeepSADLoss", R(12, 8), _labels(), n_dim=8),
    "VOSRegLoss": lambda: _ood("VOSRegLoss", R(12, 3), _labels(), logistic_regression=torch.nn.Linear(1, 2), weights_energy=torch.nn.Linear(3, 1)),
    "ASH.b": lambda: _maps("ASH", variant="ash-b"),
    "ASH.s": lambda: _maps("ASH", variant="ash-s"),
    "ASH.p": lambda: _maps("ASH", variant="ash-p"),
    "SCALE": lambda: _maps("SCALE"),
    "ReAct": lambda: _maps("ReAct", threshold=0.5),
    "RankFeat": lambda: _maps("RankFeat"),
    "DICE": lambda: _fitted("DICE", None, R(3, 8), R(3), 0.7),
    "ViM": lambda: _fitted("ViM", None, 4, R(3, 8), R(3)),
    "Mahalanobis": lambda: _fitted("Mahalanobis", None),
    "Mahalanobis.fit": lambda: _fit("Mahalanobis", None),
    "RMD": lambda: _fitted("RMD", None),
    "RMD.fit": lambda: _fit("RMD", None),
    "SHE": lambda: _fitted("SHE", torch.nn.Identity(), _head()),
    "NNGuide": lambda: _fitted("NNGuide", torch.nn.Identity(), _head(), k=3),
    "fDBD": lambda: _fitted("fDBD", torch.nn.Identity(), _head()),
    "NCI": lambda: _fitted("NCI", torch.nn.Identity(), _head()),
    "PNML": lambda: _fitted("PNML", None, _head()),
    "GMM.fit": lambda: _fit("GMM", None),
    "GMM": lambda: _fitted("GMM", None),
    "LTS": lambda: (_at("pytorch_ood.detector.LTS", None, _head()).predict_features, (R(5, 8),)),
    "EnergyBased": lambda: _logits("EnergyBased"),
    "Entropy": lambda: _logits("Entropy"),
    "GEN": lambda: _logits("GEN", M=2),
    "MaxSoftmax": lambda: _logits("MaxSoftmax", t=2.0),
    "KLMatching.fit": lambda: (_at("pytorch_ood.detector.KLMatching", None).fit_logits, (R(12, 3), _known())),
    "TemperatureScaling.fit": lambda: (_at("pytorch_ood.detector.TemperatureScaling", None).fit_logits, (R(12, 3), _known())),
    "MCD": lambda: (lambda x, m=_net(8): _get("pytorch_ood.detector.MCD").run(m, x, 3), (R(5, 8),)),
    "ODIN": lambda: (lambda x, m=_net(8): _get("pytorch_ood.detector.ODIN")(m).predict(x), (R(5, 8),)),
    "GradNorm": lambda: (lambda x, m=_net(8): _get("pytorch_ood.detector.GradNorm")(m).predict(x), (R(5, 8),)),
    "drop_unknown": lambda: (_get("pytorch_ood.utils.drop_unknown"), (_labels(), R(12, 8))),
    "estimate_class_centers": lambda: (_get("pytorch_ood.utils.estimate_class_centers"), (R(12, 8), _known())),
    "contains": lambda: (_get("pytorch_ood.utils.contains_known_and_unknown"), (_labels(),)),
    "pairwise_distances": lambda: (_get("pytorch_ood.utils.pairwise_distances"), (R(5, 8), R(4, 8))),
    "temperature_calibration": lambda: (_get("pytorch_ood.utils.temperature_calibration"), (R(12, 3), _known())),
    "TensorBuffer": lambda: (lambda x: (b := _at("pytorch_ood.utils.TensorBuffer"), b.append("a", x), b.get("a"))[-1], (R(5, 8),)),
}, grad=True)  # fmt: skip


def _flow(name: str, **kwargs: object) -> tuple:
    base = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(3), 1.0), 1)
    flow = _at("flowtorch.distributions.Flow", base, _at(f"flowtorch.bijectors.{name}", **kwargs))
    return flow, (torch.rand(5, 3) * 0.8 + 0.1,)


def _compose() -> tuple:
    made = [_at("flowtorch.bijectors.AffineAutoregressive"), _at("flowtorch.bijectors.Tanh")]
    return _flow("Compose", bijectors=made)


for _name in (
    "Affine",
    "AffineAutoregressive",
    "SplineAutoregressive",
    "Spline",
    "Sigmoid",
    "Exp",
    "ELU",
    "Permute",
    "LeakyReLU",
):
    each("flowtorch", {
        f"{_name}.log_prob": lambda n=_name: ((lambda f, x: (f.log_prob, x))(*_flow(n))),
        f"{_name}.sample": lambda n=_name: ((lambda f, _: (lambda k: f.rsample(torch.Size([k])), (4,)))(*_flow(n))),
    })  # fmt: skip
each("flowtorch", {
    "Compose": lambda: (lambda f, x: (f.log_prob, x))(*_compose()),
    "NealsFunnel": lambda: (lambda x: _at("flowtorch.distributions.NealsFunnel").log_prob(x), (R(5, 2),)),
})  # fmt: skip

each("torchbnn", {
    "BayesLinear": lambda: (_at("torchbnn.BayesLinear", prior_mu=0, prior_sigma=0.1, in_features=4, out_features=3), (R(5, 4),)),
    "BayesConv2d": lambda: (_at("torchbnn.BayesConv2d", prior_mu=0, prior_sigma=0.1, in_channels=3, out_channels=4, kernel_size=3), (R(2, 3, 8, 8),)),
    "BayesConv2d.circular": lambda: (_at("torchbnn.BayesConv2d", prior_mu=0, prior_sigma=0.1, in_channels=3, out_channels=4, kernel_size=3, padding=1, padding_mode="circular"), (R(2, 3, 8, 8),)),
    "BayesBatchNorm2d": lambda: (_at("torchbnn.BayesBatchNorm2d", prior_mu=0, prior_sigma=0.1, num_features=3), (R(2, 3, 8, 8),)),
    "BKLLoss": lambda: (lambda x, m=torch.nn.Sequential(_at("torchbnn.BayesLinear", prior_mu=0, prior_sigma=0.1, in_features=4, out_features=3)), k=_at("torchbnn.BKLLoss"): m(x).sum() + k(m), (R(5, 4),)),
    "transform_model": lambda: (lambda x, m=_net(): _get("torchbnn.utils.freeze_model.freeze")(m) or m(x), (R(5, 4),)),
})  # fmt: skip


def _body(**kwargs: object) -> object:
    return _at("tianshou.utils.net.common.Net", state_shape=4, hidden_sizes=[8], **kwargs)


_C, _D, _N = (
    "tianshou.utils.net.continuous.",
    "tianshou.utils.net.discrete.",
    "tianshou.utils.net.common.",
)
each("tianshou", {
    "MLP": lambda: (_at(_N + "MLP", input_dim=4, output_dim=2, hidden_sizes=[8]), (R(5, 4),)),
    "MLP.numpy": lambda: (lambda x, m=_at(_N + "MLP", input_dim=4, output_dim=2, hidden_sizes=[8]): m(x.numpy()), (R(5, 4),)),
    "Net": lambda: (_body(action_shape=3), (R(5, 4),)),
    "Net.softmax": lambda: (_body(action_shape=3, softmax=True, num_atoms=4), (R(5, 4),)),
    "Net.dueling": lambda: (_body(action_shape=3, dueling_param=({"hidden_sizes": [8]}, {"hidden_sizes": [8]})), (R(5, 4),)),
    "Recurrent": lambda: (_at(_N + "Recurrent", layer_num=1, state_shape=4, action_shape=3, hidden_layer_size=8), (R(5, 6, 4),)),
    "BranchingNet": lambda: (_at(_N + "BranchingNet", state_shape=4, num_branches=2, action_per_branch=3, common_hidden_sizes=[8], value_hidden_sizes=[8], action_hidden_sizes=[8]), (R(5, 4),)),
    "EnsembleLinear": lambda: (_at(_N + "EnsembleLinear", 3, 4, 2), (R(3, 5, 4),)),
    "ContinuousActorDeterministic": lambda: (_at(_C + "ContinuousActorDeterministic", preprocess_net=_body(), action_shape=2), (R(5, 4),)),
    "ContinuousActorProbabilistic": lambda: (_at(_C + "ContinuousActorProbabilistic", preprocess_net=_body(), action_shape=2, conditioned_sigma=True), (R(5, 4),)),
    "ContinuousActor.fixed": lambda: (_at(_C + "ContinuousActorProbabilistic", preprocess_net=_body(), action_shape=2), (R(5, 4),)),
    "ContinuousCritic": lambda: (_at(_C + "ContinuousCritic", preprocess_net=_at(_N + "Net", state_shape=4, action_shape=2, hidden_sizes=[8], concat=True)), (R(5, 4), R(5, 2))),
    "RecurrentActorProb": lambda: (_at(_C + "RecurrentActorProb", layer_num=1, state_shape=[4], action_shape=[2], hidden_layer_size=8), (R(5, 6, 4),)),
    "RecurrentCritic": lambda: (_at(_C + "RecurrentCritic", layer_num=1, state_shape=[4], action_shape=[2], hidden_layer_size=8), (R(5, 6, 4), R(5, 2))),
    "VAE": lambda: (_at(_C + "VAE", encoder=torch.nn.Linear(6, 8), decoder=torch.nn.Linear(7, 2), hidden_dim=8, latent_dim=3, max_action=1.0), (R(5, 4), R(5, 2))),
    "DiscreteActor": lambda: (_at(_D + "DiscreteActor", preprocess_net=_body(), action_shape=3), (R(5, 4),)),
    "DiscreteCritic": lambda: (_at(_D + "DiscreteCritic", preprocess_net=_body()), (R(5, 4),)),
    "ImplicitQuantile": lambda: (_at(_D + "ImplicitQuantileNetwork", preprocess_net=_body(), action_shape=3, num_cosines=8), (R(5, 4), 6)),
    "FullQuantile": lambda: (_at(_D + "FullQuantileFunction", preprocess_net=_body(), action_shape=3, num_cosines=8), (R(5, 4), _at(_D + "FractionProposalNetwork", 4, 8))),
    "NoisyLinear": lambda: (_at(_D + "NoisyLinear", 4, 3), (R(5, 4),)),
    "IntrinsicCuriosity": lambda: (_at(_D + "IntrinsicCuriosityModule", feature_net=torch.nn.Linear(4, 6), feature_dim=6, action_dim=3, hidden_sizes=[8]), (R(5, 4), torch.randint(0, 3, (5,)), R(5, 4))),
    "tanh_correction": lambda: (_get("tianshou.algorithm.modelfree.sac.correct_log_prob_gaussian_tanh"), (R(5, 2), R(5, 2).tanh())),
    "polyak": lambda: (lambda x, a=torch.nn.Linear(2, 2), b=torch.nn.Linear(2, 2): import_module("tianshou.utils.lagged_network").polyak_parameter_update(a, b, 0.1), (R(1),)),
    "to_optional_float": lambda: (_get("tianshou.utils.conversion.to_optional_float"), (torch.tensor(2.0),)),
    "Batch": lambda: (lambda x: _at("tianshou.data.Batch", a=x, b=x * 2)[:2].a, (R(5, 4),)),
    "to_torch": lambda: (lambda x: _get("tianshou.data.to_torch")(_at("tianshou.data.Batch", a=x.numpy())).a, (R(5, 4),)),
    "to_torch_as": lambda: (lambda x, y: _get("tianshou.data.to_torch_as")(x.numpy(), y), (R(5, 4), R(2))),
    "gae": lambda: (lambda a, b, c, d: _get("tianshou.algorithm.algorithm_base._gae_return")(a.numpy(), b.numpy(), c.numpy(), d.numpy(), 0.99, 0.95), (R(6), R(6), R(6), torch.zeros(6, dtype=torch.bool))),
})  # fmt: skip
