"""Policies and their distributions; steps without a learning rate."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add, each
from targets_timm import optimizer_step

R = torch.randn


def _box(size: int = 3, image: bool = False) -> object:
    spaces, numpy = import_module("gymnasium.spaces"), import_module("numpy")
    if image:
        return spaces.Box(0, 255, (3, 36, 36), dtype=numpy.uint8)
    return spaces.Box(-1.0, 1.0, (size,), dtype=numpy.float32)


def _discrete() -> object:
    return import_module("gymnasium.spaces").Discrete(3)


def _policy(
    module: str, name: str, action: object, space: object | None = None, **kwargs: object
) -> tuple:
    policies = import_module(f"stable_baselines3.{module}")
    policy = getattr(policies, name)(space or _box(), action, lambda _: 1e-3, **kwargs)
    return policy, (R(2, 3),)


def _distribution(name: str, dim: object, *args: torch.Tensor, **kwargs: object) -> tuple:
    module = import_module("stable_baselines3.common.distributions")

    def run(*inputs: torch.Tensor) -> object:
        dist = getattr(module, name)(dim, **kwargs).proba_distribution(*inputs)
        action = dist.sample()
        return action, dist.log_prob(action), dist.entropy(), dist.mode()

    return run, args


def _evaluate(action: object, given: torch.Tensor, **kwargs: object) -> tuple:
    policy, _ = _policy("common.policies", "ActorCriticPolicy", action, **kwargs)
    return policy.evaluate_actions, (R(2, 3), given)


def _sde(policy: torch.nn.Module) -> torch.nn.Module:
    policy.reset_noise(2)
    return policy


each("stable_baselines3", {
    "ActorCritic.box": lambda: _policy("common.policies", "ActorCriticPolicy", _box(2)),
    "ActorCritic.discrete": lambda: _policy("common.policies", "ActorCriticPolicy", _discrete()),
    "ActorCritic.multidiscrete": lambda: _policy("common.policies", "ActorCriticPolicy", import_module("gymnasium.spaces").MultiDiscrete([2, 3])),
    "ActorCritic.multibinary": lambda: _policy("common.policies", "ActorCriticPolicy", import_module("gymnasium.spaces").MultiBinary(2)),
    "ActorCritic.sde": lambda: (_sde(_policy("common.policies", "ActorCriticPolicy", _box(2), use_sde=True)[0]), (R(2, 3),)),
    "ActorCriticCnn": lambda: (_policy("common.policies", "ActorCriticCnnPolicy", _discrete(), _box(image=True))[0], (torch.randint(0, 255, (2, 3, 36, 36), dtype=torch.uint8),)),
    "ActorCritic.evaluate": lambda: _evaluate(_box(2), R(2, 2)),
    "ActorCritic.evaluate.discrete": lambda: _evaluate(_discrete(), torch.tensor([0, 2])),
    "ActorCritic.squashed": lambda: _evaluate(_box(2), R(2, 2).tanh(), use_sde=True, squash_output=True),
    "DQN": lambda: _policy("dqn.policies", "DQNPolicy", _discrete()),
    "SAC": lambda: _policy("sac.policies", "SACPolicy", _box(2)),
    "SAC.sde": lambda: (_sde(_policy("sac.policies", "SACPolicy", _box(2), use_sde=True)[0]), (R(2, 3),)),
    "SAC.critic": lambda: (_policy("sac.policies", "SACPolicy", _box(2))[0].critic, (R(2, 3), R(2, 2))),
    "SAC.log_prob": lambda: (_policy("sac.policies", "SACPolicy", _box(2))[0].actor.action_log_prob, (R(2, 3),)),
    "TD3": lambda: _policy("td3.policies", "TD3Policy", _box(2)),
    "MultiInput": lambda: (
        import_module("stable_baselines3.common.policies").MultiInputActorCriticPolicy(
            import_module("gymnasium.spaces").Dict({"a": _box(3), "b": _discrete()}), _box(2), lambda _: 1e-3
        ),
        ({"a": R(2, 3), "b": torch.tensor([0, 2])},),
    ),
    "dist.DiagGaussian": lambda: _distribution("DiagGaussianDistribution", 2, R(3, 2), R(2)),
    "dist.SquashedDiagGaussian": lambda: _distribution("SquashedDiagGaussianDistribution", 2, R(3, 2), R(2)),
    "dist.Categorical": lambda: _distribution("CategoricalDistribution", 3, R(3, 3)),
    "dist.MultiCategorical": lambda: _distribution("MultiCategoricalDistribution", [2, 3], R(3, 5)),
    "dist.Bernoulli": lambda: _distribution("BernoulliDistribution", 2, R(3, 2)),
    "polyak": lambda: (lambda a, b: import_module("stable_baselines3.common.utils").polyak_update([a], [b], 0.1), (R(3), R(3))),
    "quantile_huber": lambda: (lambda a, b: import_module("stable_baselines3.common.utils").explained_variance(a.numpy(), b.numpy()), (R(6), R(6))),
    "preprocess_obs": lambda: (lambda x: import_module("stable_baselines3.common.preprocessing").preprocess_obs(x, _box(image=True)), (torch.randint(0, 255, (2, 3, 36, 36), dtype=torch.uint8),)),
    "RMSpropTFLike": optimizer_step(lambda p: import_module("stable_baselines3.common.sb2_compat.rmsprop_tf_like").RMSpropTFLike(p, lr=1e-3, momentum=0.9, centered=True)),
})  # fmt: skip
for _name in ("DAdaptAdaGrad", "DAdaptAdam", "DAdaptSGD", "DAdaptAdan", "DAdaptLion"):
    for _log in (0, 1):
        add("dadaptation", _name + "+log" * _log, optimizer_step(
            lambda p, n=_name, k=_log: getattr(import_module("dadaptation"), n)(p, lr=1.0, log_every=k)
        ))  # fmt: skip
add("dadaptation", "DAdaptAdam+decoupled", optimizer_step(
    lambda p: import_module("dadaptation").DAdaptAdam(p, weight_decay=0.1, decouple=True, use_bias_correction=True)
))  # fmt: skip
