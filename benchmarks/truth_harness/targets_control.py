"""Agents that act, arms that move, and equations that are integrated through."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from registry import add, each
from targets_bayes import _at, _get

R = torch.randn


class _Field(torch.nn.Module):
    """dx/dt of a small state."""

    def __init__(self, size: int = 3) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(size, size)

    def forward(self, t: torch.Tensor, x: torch.Tensor, args: object = None) -> torch.Tensor:
        return torch.tanh(self.layer(x))


def _odeint(solver: str, **kwargs: object) -> tuple:
    field, odeint = _Field(), _get("torchdyn.numerics.odeint")
    return (lambda x: odeint(field, x, torch.linspace(0, 1, 4), solver=solver, **kwargs)), (
        R(2, 3),
    )


def _small() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def _energy() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


def _noisy() -> torch.nn.Module:
    noise = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    trace = _get("torchdyn.models.cnf.hutch_trace")
    flow = _at("torchdyn.models.CNF", _small(), trace_estimator=trace, noise_dist=noise)
    flow.noise = noise.sample((3,))
    return flow


def _neural(**kwargs: object) -> tuple:
    kwargs = {"sensitivity": "autograd", "solver": "rk4"} | kwargs
    return _at("torchdyn.core.NeuralODE", _small(), **kwargs), (R(3, 2), torch.linspace(0, 1, 4))


for _solver in ("euler", "midpoint", "rk4", "tsit5", "dopri5", "ieuler"):
    add("torchdyn", f"odeint.{_solver}", lambda s=_solver: _odeint(s))
each("torchdyn", {
    "odeint.save_at": lambda: _odeint("tsit5", save_at=torch.tensor([0.5, 1.0])),
    "odeint.interpolated": lambda: _odeint("dopri5", interpolator="4th"),
    "odeint_mshooting": lambda: (lambda x: _get("torchdyn.numerics.odeint_mshooting")(_Field(), x, torch.linspace(0, 1, 4), "mszero"), (R(2, 3),)),
    "NeuralODE": lambda: _neural(),
    "NeuralODE.adjoint": lambda: _neural(sensitivity="adjoint"),
    "NeuralODE.tsit5": lambda: _neural(solver="tsit5"),
    "NeuralODE.trajectory": lambda: (_neural()[0].trajectory, (R(3, 2), torch.linspace(0, 1, 4))),
    "GalLinear": lambda: (torch.nn.Sequential(_at("torchdyn.nn.DepthCat", 1), _at("torchdyn.nn.GalLinear", 2, 3)), (R(5, 2),)),
    "Augmenter": lambda: (_at("torchdyn.nn.Augmenter", augment_dims=2), (R(3, 2),)),
    "HNN": lambda: (_at("torchdyn.models.HNN", _energy()), (R(3, 2),)),
    "GNF": lambda: (_at("torchdyn.models.GNF", _energy()), (R(3, 2),)),
    "LNN": lambda: (_at("torchdyn.models.LNN", _energy()), (R(3, 2),)),
    "CNF": lambda: (_at("torchdyn.models.CNF", _small(), trace_estimator=_get("torchdyn.models.cnf.autograd_trace")), (R(3, 3),)),
    "CNF.hutchinson": lambda: (_noisy(), (R(3, 3),)),
    "root_find": lambda: (lambda z: _get("torchdyn.numerics.solvers.root.root_find")(lambda y: y**3 - 1, z, maxiters=5, verbose=False), (R(3, 2),)),
}, grad=True)  # fmt: skip

_ARM = """<robot name="arm"><link name="base"/><link name="upper"/><link name="lower"/><link name="hand"/>
<joint name="j0" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.1" rpy="0 0 0"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="j1" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.3" rpy="0 0.2 0"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="j2" type="prismatic"><parent link="lower"/><child link="hand"/><origin xyz="0 0 0.2" rpy="0 0 0"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def _arm() -> Any:
    return _at("pytorch_kinematics.build_serial_chain_from_urdf", _ARM, "hand")


def _tree() -> Any:
    return _at("pytorch_kinematics.build_chain_from_urdf", _ARM)


def _turns(count: int = 4) -> torch.Tensor:
    return torch.linalg.qr(R(count, 3, 3))[0]


def _quats(count: int = 4) -> torch.Tensor:
    return torch.nn.functional.normalize(R(count, 4), dim=-1)


def _solve(kind: str, **kwargs: object) -> tuple:
    chain = _arm()
    limits = torch.tensor(chain.get_joint_limits()).T
    solver = _at(
        f"pytorch_kinematics.{kind}",
        chain,
        max_iterations=3,
        num_retries=4,
        joint_limits=limits,
        **kwargs,
    )
    goal = chain.forward_kinematics(torch.tensor([[0.1, 0.2, 0.1], [0.0, 0.3, 0.2]]))
    return (
        lambda matrix: solver.solve(_at("pytorch_kinematics.Transform3d", matrix=matrix)).solutions
    ), (goal.get_matrix(),)


_PK = "pytorch_kinematics.transforms.rotation_conversions."
each("pytorch_kinematics", {
    "forward": lambda: (lambda th, c=_arm(): c.forward_kinematics(th).get_matrix(), (R(4, 3),)),
    "forward.tree": lambda: (lambda th, c=_tree(): c.forward_kinematics(th)["hand"].get_matrix(), (R(4, 3),)),
    "forward.dict": lambda: (lambda a, b, d, c=_tree(): c.forward_kinematics({"j0": a, "j1": b, "j2": d})["hand"].get_matrix(), (R(4), R(4), R(4))),
    "jacobian": lambda: (lambda th, c=_arm(): c.jacobian(th), (R(4, 3),)),
    "jacobian.locations": lambda: (lambda th, at, c=_arm(): c.jacobian(th, locations=at), (R(4, 3), R(4, 3))),
    "clamp": lambda: (lambda th, c=_arm(): c.clamp(th), (R(4, 3),)),
    "PseudoInverseIK": lambda: _solve("PseudoInverseIK"),
    "transform_points": lambda: (lambda m, p: _at("pytorch_kinematics.Transform3d", matrix=m).transform_points(p), (torch.eye(4).expand(2, 4, 4).contiguous(), R(2, 5, 3))),
    "transform_normals": lambda: (lambda m, p: _at("pytorch_kinematics.Transform3d", matrix=m).inverse().transform_normals(p), (torch.eye(4).expand(2, 4, 4).contiguous(), R(2, 5, 3))),
    "compose": lambda: (lambda p, r: _at("pytorch_kinematics.Transform3d", pos=p, rot=r).translate(1.0, 2.0, 3.0).rotate_axis_angle(30.0, "Z").get_matrix(), (R(4, 3), _quats())),
    "Rotate": lambda: (lambda r: _at("pytorch_kinematics.Rotate", r).get_matrix(), (_turns(),)),
    "Scale": lambda: (lambda s: _at("pytorch_kinematics.Scale", s).get_matrix(), (torch.rand(4, 3),)),
    "matrix_to_quaternion": lambda: (_get(_PK + "matrix_to_quaternion"), (_turns(),)),
    "matrix_to_axis_angle": lambda: (_get(_PK + "matrix_to_axis_angle"), (_turns(),)),
    "axis_angle_to_matrix": lambda: (_get(_PK + "axis_angle_to_matrix"), (R(4, 3),)),
    "euler": lambda: (lambda m: _get(_PK + "euler_angles_to_matrix")(_get(_PK + "matrix_to_euler_angles")(m, "XYZ"), "XYZ"), (_turns(),)),
    "rotation_6d": lambda: (_get(_PK + "rotation_6d_to_matrix"), (R(4, 6),)),
    "quaternion_slerp": lambda: (_get("pytorch_kinematics.transforms.math.quaternion_slerp"), (_quats(), _quats(), 0.3)),
    "quaternion_close": lambda: (_get("pytorch_kinematics.transforms.math.quaternion_close"), (_quats(), _quats())),
    "quaternion_apply": lambda: (_get(_PK + "quaternion_apply"), (_quats(), R(4, 3))),
    "so3_exp_map": lambda: (_get("pytorch_kinematics.transforms.so3.so3_exp_map"), (R(4, 3),)),
    "so3_log_map": lambda: (_get("pytorch_kinematics.transforms.so3.so3_log_map"), (_turns(),)),
    "so3_relative_angle": lambda: (_get("pytorch_kinematics.transforms.so3.so3_relative_angle"), (_turns(), _turns())),
    "acos": lambda: (_get("pytorch_kinematics.transforms.math.acos_linear_extrapolation"), (torch.rand(5) * 2 - 1,)),
    "random_rotations": lambda: (_get(_PK + "random_rotations"), (4,)),
})  # fmt: skip


def _space(size: int = 3) -> object:
    spaces, numpy = import_module("gymnasium.spaces"), import_module("numpy")
    return spaces.Box(-1.0, 1.0, (size,), dtype=numpy.float32)


def _actor(mixin: str, outputs: int, action: object, **kwargs: object) -> Any:
    """A model as skrl's users write one: their network under a mixin that acts."""
    models = import_module("skrl.models.torch")
    kind = getattr(models, mixin)

    class Actor(kind, models.Model):
        def __init__(self) -> None:
            models.Model.__init__(
                self, observation_space=_space(), action_space=action, device="cpu"
            )
            kind.__init__(self, **kwargs)
            self.net = torch.nn.Linear(3, outputs)
            self.spread = torch.nn.Parameter(torch.zeros(outputs))

        def compute(self, inputs: dict, role: str = "") -> tuple:
            return self.net(inputs["observations"]), {"log_std": self.spread}

    return Actor()


def _act(model: torch.nn.Module) -> tuple:
    return (lambda x: model.act({"observations": x})), (R(4, 3),)


def _memory() -> tuple:
    memory = _at("skrl.memories.torch.RandomMemory", memory_size=8, num_envs=2)
    memory.create_tensor("observations", size=3)
    memory.create_tensor("rewards", size=1)
    for _ in range(8):
        memory.add_samples(observations=R(2, 3), rewards=R(2, 1))
    return memory, (R(2, 3), R(2, 1))


def _update(name: str, config: str, models: dict[str, torch.nn.Module], **kwargs: object) -> Any:
    module = import_module(f"skrl.agents.torch.{name.lower()}")
    config_class = getattr(module, config)
    memory = _at("skrl.memories.torch.RandomMemory", memory_size=8, num_envs=2)
    agent = getattr(module, name)(
        models=models, memory=memory, observation_space=_space(), action_space=kwargs.pop("action"),
        device="cpu", cfg=config_class(**kwargs),
    )  # fmt: skip
    agent.init()
    return agent


_GAE = "skrl.agents.torch.ppo.ppo.compute_gae"
each("skrl", {
    "GaussianMixin": lambda: _act(_actor("GaussianMixin", 2, _space(2))),
    "GaussianMixin.clip": lambda: _act(_actor("GaussianMixin", 2, _space(2), clip_actions=True, clip_mean_actions=True)),
    "DeterministicMixin": lambda: _act(_actor("DeterministicMixin", 2, _space(2), clip_actions=True)),
    "CategoricalMixin": lambda: _act(_actor("CategoricalMixin", 3, import_module("gymnasium.spaces").Discrete(3))),
    "MultiCategoricalMixin": lambda: _act(_actor("MultiCategoricalMixin", 5, import_module("gymnasium.spaces").MultiDiscrete([2, 3]))),
    "MultivariateGaussianMixin": lambda: _act(_actor("MultivariateGaussianMixin", 2, _space(2))),
    "random_act": lambda: ((lambda m: lambda x: m.random_act({"observations": x}))(_actor("GaussianMixin", 2, _space(2))), (R(4, 3),)),
    "update_parameters": lambda: ((lambda a, b: lambda x: a.update_parameters(b, polyak=0.1))(_actor("GaussianMixin", 2, _space(2)), _actor("GaussianMixin", 2, _space(2))), (R(1),)),
    "RunningStandardScaler": lambda: (_at("skrl.resources.preprocessors.torch.RunningStandardScaler", 3), (R(4, 3),)),
    "RunningStandardScaler.train": lambda: (_at("skrl.resources.preprocessors.torch.RunningStandardScaler", 3), (R(4, 3),), {"train": True}),
    "RunningStandardScaler.inverse": lambda: (_at("skrl.resources.preprocessors.torch.RunningStandardScaler", 3), (R(4, 3),), {"inverse": True}),
    "GaussianNoise": lambda: (_at("skrl.resources.noises.torch.GaussianNoise", mean=0.0, std=0.1).sample_like, (R(4, 2),)),
    "OrnsteinUhlenbeck": lambda: (_at("skrl.resources.noises.torch.OrnsteinUhlenbeckNoise", theta=0.1, sigma=0.2, base_scale=0.5).sample_like, (R(4, 2),)),
    "memory.add": lambda: ((lambda m: lambda o, r: m[0].add_samples(observations=o, rewards=r))(_memory()), (R(2, 3), R(2, 1))),
    "memory.sample": lambda: ((lambda m: lambda n: m[0].sample(["observations", "rewards"], batch_size=n, mini_batches=2))(_memory()), (6,)),
    "memory.sample_all": lambda: ((lambda m: lambda n: m[0].sample_all(["observations", "rewards"], mini_batches=n))(_memory()), (2,)),
    "compute_gae": lambda: (_gae, (R(6, 2, 1), torch.zeros(6, 2, 1, dtype=torch.bool), R(6, 2, 1), R(2, 1))),
    "flatten_space": lambda: (_get("skrl.utils.spaces.torch.flatten_tensorized_space"), ({"a": R(4, 3), "b": R(4, 2, 2)},)),
    "unflatten_space": lambda: (lambda x: _get("skrl.utils.spaces.torch.unflatten_tensorized_space")(import_module("gymnasium.spaces").Dict({"a": _space(3), "b": _space(2)}), x), (R(4, 5),)),
    "KLAdaptiveLR": lambda: ((lambda s: lambda kl: s.step(kl))(_at("skrl.resources.schedulers.torch.KLAdaptiveLR", torch.optim.Adam([torch.nn.Parameter(R(2))], lr=1e-3))), (torch.tensor(0.1),)),
    "PPO.act": lambda: ((lambda a: lambda x: a.act(x, None, timestep=1, timesteps=20))(_update("PPO", "PPO_CFG", {"policy": _actor("GaussianMixin", 2, _space(2)), "value": _actor("DeterministicMixin", 1, _space(2))}, action=_space(2))), (R(4, 3),)),
    "DQN.act": lambda: ((lambda a: lambda x: a.act(x, None, timestep=1, timesteps=20))(_update("DQN", "DQN_CFG", {"q_network": _actor("DeterministicMixin", 3, import_module("gymnasium.spaces").Discrete(3)), "target_q_network": _actor("DeterministicMixin", 3, import_module("gymnasium.spaces").Discrete(3))}, action=import_module("gymnasium.spaces").Discrete(3))), (R(4, 3),)),
})  # fmt: skip


def _gae(
    rewards: torch.Tensor, done: torch.Tensor, values: torch.Tensor, last: torch.Tensor
) -> object:
    return _get(_GAE)(
        rewards=rewards, terminated=done, truncated=done, values=values, last_values=last
    )


def _value(kind: str, use: Callable, *args: object) -> tuple:
    make = _get(f"pfrl.action_value.{kind}")
    return (lambda *tensors: use(make(*tensors))), args


def _pair(action: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    return R(4, 3), R(4, action)


def _normal(seed: int) -> torch.distributions.Distribution:
    torch.manual_seed(seed)
    return torch.distributions.Categorical(logits=R(1, 3))


each("pfrl", {
    "LargeAtariCNN": lambda: (_at("pfrl.nn.LargeAtariCNN"), (R(1, 4, 84, 84),)),
    "MLPBN": lambda: (_at("pfrl.nn.MLPBN", 3, 2, (8,), normalize_output=True), (R(4, 3),)),
    "EmpiricalNormalization": lambda: (_at("pfrl.nn.EmpiricalNormalization", 3), (R(4, 3),)),
    "EmpiricalNormalization.clip": lambda: (_at("pfrl.nn.EmpiricalNormalization", 3, clip_threshold=2.0, until=100), (R(4, 3),)),
    "EmpiricalNormalization.inverse": lambda: (_at("pfrl.nn.EmpiricalNormalization", 3).inverse, (R(4, 3),)),
    "FactorizedNoisyLinear": lambda: (_at("pfrl.nn.FactorizedNoisyLinear", torch.nn.Linear(3, 2)), (R(4, 3),)),
    "BoundByTanh": lambda: (_at("pfrl.nn.BoundByTanh", -torch.ones(2), torch.ones(2)), (R(4, 2),)),
    "RecurrentSequential": lambda: (lambda x, m=_at("pfrl.nn.RecurrentSequential", torch.nn.Linear(3, 4), torch.nn.LSTM(4, 4), torch.nn.Linear(4, 2)): _get("pfrl.utils.recurrent.pack_and_forward")(m, [x[:3], x[3:]], None), (R(5, 3),)),
    "DuelingDQN": lambda: (lambda x, m=_at("pfrl.q_functions.DuelingDQN", 3): m(x).greedy_actions, (R(1, 4, 84, 84),)),
    "DistributionalDQN": lambda: (lambda x, m=_at("pfrl.q_functions.DistributionalFCStateQFunctionWithDiscreteAction", 3, 2, 5, -1.0, 1.0, 8, 1): m(x).max_as_distribution, (R(4, 3),)),
    "FCQuadratic": lambda: (lambda x, a, m=_at("pfrl.q_functions.FCQuadraticStateQFunction", 3, 2, 8, 1, import_module("gymnasium.spaces").Box(-1, 1, (2,))): m(x).evaluate_actions(a), _pair()),
    "FCQuadratic.max": lambda: (lambda x, m=_at("pfrl.q_functions.FCQuadraticStateQFunction", 3, 2, 8, 1, import_module("gymnasium.spaces").Box(-1, 1, (2,))): (m(x).max, m(x).greedy_actions), (R(4, 3),)),
    "FCSAQFunction": lambda: (_at("pfrl.q_functions.FCSAQFunction", 3, 2, 8, 1), _pair()),
    "FCBNLateAction": lambda: (_at("pfrl.q_functions.FCBNLateActionSAQFunction", 3, 2, 8, 2), _pair()),
    "DiscreteActionValue": lambda: _value("DiscreteActionValue", lambda v: (v.greedy_actions, v.max, v.compute_expectation(0.5)), R(4, 3)),
    "DiscreteActionValue.advantage": lambda: (lambda q, a: _at("pfrl.action_value.DiscreteActionValue", q).compute_advantage(a), (R(4, 3), torch.tensor([0, 2, 1, 0]))),
    "QuantileActionValue": lambda: _value("QuantileDiscreteActionValue", lambda v: (v.greedy_actions, v.max), R(4, 8, 3)),
    "SoftmaxHead": lambda: (lambda x, m=_at("pfrl.policies.SoftmaxCategoricalHead"): m(x).sample(), (R(4, 3),)),
    "GaussianHead": lambda: (lambda x, m=_at("pfrl.policies.GaussianHeadWithStateIndependentCovariance", 2): m(x).log_prob(x), (R(4, 2),)),
    "GaussianHead.diagonal": lambda: (lambda x, m=_at("pfrl.policies.GaussianHeadWithDiagonalCovariance"): m(x).rsample(), (R(4, 4),)),
    "DeterministicHead": lambda: (lambda x, m=_at("pfrl.policies.DeterministicHead"): m(x).sample(), (R(4, 2),)),
    "dqn.value_loss": lambda: (_get("pfrl.agents.dqn.compute_value_loss"), (R(4), R(4))),
    "dqn.weighted_loss": lambda: (_get("pfrl.agents.dqn.compute_weighted_value_loss"), (R(4), R(4), torch.rand(4))),
    "iqn.huber": lambda: (_get("pfrl.agents.iqn.compute_eltwise_huber_quantile_loss"), (R(4, 5), R(4, 6), torch.rand(4, 5))),
    "iqn.q_function": lambda: (lambda x, t, m=_at("pfrl.agents.iqn.ImplicitQuantileQFunction", torch.nn.Linear(3, 8), _at("pfrl.agents.iqn.CosineBasisLinear", 16, 8), torch.nn.Linear(8, 2)): m(x)(t).greedy_actions, (R(4, 3), torch.rand(4, 5))),
    "acer.importance": lambda: (lambda a: _get("pfrl.agents.acer.compute_importance")(_normal(0), _normal(1), a), (torch.tensor([1]),)),
    "acer.trust_region": lambda: (lambda x: _get("pfrl.agents.acer.compute_loss_with_kl_constraint")(torch.distributions.Categorical(logits=x), _normal(1), (x**2).sum(), 0.1), (R(1, 3).requires_grad_(),)),
    "categorical_projection": lambda: (_get("pfrl.agents.categorical_dqn._apply_categorical_projection"), (torch.rand(2, 4), torch.rand(2, 4).softmax(-1), torch.linspace(-1, 1, 4))),
    "conjugate_gradient": lambda: (lambda b: _get("pfrl.utils.conjugate_gradient")(lambda x: 2 * x, b), (R(4),)),
    "clip_l2_grad_norm": lambda: (lambda x, p=torch.nn.Parameter(R(4)): ((p * x).sum().backward(), _get("pfrl.utils.clip_l2_grad_norm_")([p], 0.1)), (R(4),)),
    "soft_copy_param": lambda: (lambda x, a=torch.nn.Linear(2, 2), b=torch.nn.Linear(2, 2): _get("pfrl.utils.copy_param.soft_copy_param")(a, b, 0.1), (R(1),)),
    "mode_of_distribution": lambda: (lambda x: _get("pfrl.utils.mode_of_distribution.mode_of_distribution")(torch.distributions.Categorical(logits=x)), (R(4, 3),)),
    "ortho_init": lambda: (lambda x, m=torch.nn.Linear(3, 2): _get("pfrl.initializers.init_chainer_default")(m), (R(1),)),
}, grad=True)  # fmt: skip
