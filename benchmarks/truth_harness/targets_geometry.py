"""Equivariance, rotations, potentials, spherical harmonics."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

R = torch.randn


for _name, _args in {
    "o3.Linear": lambda o3, nn: (o3.Linear("4x0e+2x1o", "2x0e+1x1o"), (R(5, 10),)),
    "o3.FullyConnectedTensorProduct": lambda o3, nn: (
        o3.FullyConnectedTensorProduct("2x0e+1x1o", "0e+1o", "2x0e+1x1o"),
        (R(5, 5), R(5, 4)),
    ),
    "o3.Norm": lambda o3, nn: (o3.Norm("2x0e+1x1o"), (R(5, 5),)),
    "o3.SphericalHarmonics": lambda o3, nn: (
        o3.SphericalHarmonics([0, 1, 2], normalize=True),
        (R(5, 3),),
    ),
    "nn.Gate": lambda o3, nn: (
        nn.Gate("4x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o"),
        (R(5, 12),),
    ),
    "nn.Activation": lambda o3, nn: (nn.Activation("4x0e", [torch.tanh]), (R(5, 4),)),
    "nn.BatchNorm": lambda o3, nn: (nn.BatchNorm("2x0e+1x1o"), (R(5, 5),)),
    "nn.Dropout": lambda o3, nn: (nn.Dropout("2x0e+1x1o", 0.5), (R(5, 5),)),
    "nn.S2Activation": lambda o3, nn: (nn.S2Activation("0e+1o", torch.tanh, 6), (R(5, 4),)),
    "nn.NormActivation": lambda o3, nn: (nn.NormActivation("2x0e+1x1o", torch.sigmoid), (R(5, 5),)),
    "nn.FullyConnectedNet": lambda o3, nn: (
        nn.FullyConnectedNet([4, 8, 2], torch.relu),
        (R(5, 4),),
    ),
    "o3.spherical_harmonics": lambda o3, nn: (
        lambda x: o3.spherical_harmonics("0e+1o+2e", x, True),
        (R(5, 3),),
    ),
    "o3.wigner_D": lambda o3, nn: (o3.wigner_D, (1, torch.rand(3), torch.rand(3), torch.rand(3))),
    "o3.rand_matrix": lambda o3, nn: (o3.rand_matrix, (2,)),
    "o3.matrix_to_angles": lambda o3, nn: (o3.matrix_to_angles, (o3.rand_matrix(2),)),
    "o3.matrix_to_quaternion": lambda o3, nn: (o3.matrix_to_quaternion, (o3.rand_matrix(2),)),
    "o3.xyz_to_angles": lambda o3, nn: (o3.xyz_to_angles, (R(4, 3),)),
    "o3.quaternion_to_axis_angle": lambda o3, nn: (
        o3.quaternion_to_axis_angle,
        (o3.rand_quaternion(2),),
    ),
    "o3.angles_to_axis_angle": lambda o3, nn: (
        o3.angles_to_axis_angle,
        (torch.rand(3), torch.rand(3), torch.rand(3)),
    ),
    "o3.wigner_3j": lambda o3, nn: (lambda: o3.wigner_3j(1, 1, 2), ()),
}.items():
    add("e3nn", _name, lambda a=_args: a(import_module("e3nn.o3"), import_module("e3nn.nn")))
add(
    "e3nn",
    "math.soft_one_hot_linspace",
    lambda: (
        lambda x: import_module("e3nn.math").soft_one_hot_linspace(
            x, 0.0, 1.0, 5, basis="cosine", cutoff=True
        ),
        (torch.rand(6),),
    ),
)
add(
    "egnn_pytorch",
    "EGNN",
    lambda: (
        import_module("egnn_pytorch").EGNN(dim=8, num_nearest_neighbors=2, norm_coors=True),
        (R(2, 5, 8), R(2, 5, 3)),
        {"mask": torch.ones(2, 5, dtype=torch.bool)},
    ),
)
add(
    "egnn_pytorch",
    "EGNN.sparse",
    lambda: (
        import_module("egnn_pytorch").EGNN(dim=8, only_sparse_neighbors=True),
        (R(2, 5, 8), R(2, 5, 3)),
        {"adj_mat": torch.eye(5).bool().roll(1, 0)},
    ),
)
add(
    "egnn_pytorch",
    "EGNN_Network",
    lambda: (
        import_module("egnn_pytorch").EGNN_Network(
            num_tokens=9,
            num_positions=5,
            dim=8,
            depth=1,
            num_nearest_neighbors=2,
            num_adj_degrees=2,
            adj_dim=4,
            global_linear_attn_every=1,
            global_linear_attn_heads=2,
            global_linear_attn_dim_head=4,
        ),
        (torch.randint(0, 9, (2, 5)), R(2, 5, 3)),
        {"adj_mat": torch.eye(5).bool().roll(1, 0), "mask": torch.ones(2, 5, dtype=torch.bool)},
    ),
)
for _name, _args in {
    "rotmat_to_unitquat": lambda m: (m.random_rotmat(3),),
    "unitquat_to_rotmat": lambda m: (m.random_unitquat(3),),
    "rotmat_to_rotvec": lambda m: (m.random_rotmat(3),),
    "rotvec_to_unitquat": lambda m: (m.random_rotvec(3),),
    "unitquat_to_rotvec": lambda m: (m.random_unitquat(3),),
    "rotvec_to_rotmat": lambda m: (m.random_rotvec(3),),
    "euler_to_rotmat": lambda m: ("xyz", torch.rand(3)),
    "rotmat_to_euler": lambda m: ("xyz", m.random_rotmat(3)),
    "special_procrustes": lambda m: (R(2, 3, 3),),
    "procrustes": lambda m: (R(2, 3, 3),),
    "rigid_points_registration": lambda m: (R(5, 3), R(5, 3)),
    "rotmat_slerp": lambda m: (m.random_rotmat(), m.random_rotmat(), torch.linspace(0, 1, 3)),
    "rotmat_cosine_angle": lambda m: (R(2, 3, 3),),
    "rotmat_geodesic_distance": lambda m: (m.random_rotmat(2), m.random_rotmat(2)),
    "special_gramschmidt": lambda m: (R(2, 3, 2),),
    "symmatrixvec_to_unitquat": lambda m: (R(2, 10),),
    "random_rotmat": lambda m: (3,),
    "quat_inverse": lambda m: (R(3, 4),),
    "is_rotation_matrix": lambda m: (m.random_rotmat(2),),
    "rotvec_slerp": lambda m: (m.random_rotvec(2), m.random_rotvec(2), torch.linspace(0, 1, 3)),
    "unitquat_slerp": lambda m: (
        m.random_unitquat(2),
        m.random_unitquat(2),
        torch.linspace(0, 1, 3),
        True,
    ),
}.items():
    add(
        "roma",
        _name,
        lambda n=_name, a=_args: (getattr(import_module("roma"), n), a(import_module("roma"))),
    )
for _name in ("RealSHT", "RealVectorSHT"):
    add(
        "torch_harmonics",
        _name,
        lambda n=_name: (getattr(import_module("torch_harmonics"), n)(8, 16), (R(1, 2, 8, 16),)),
        modes=("eval",),
    )
add(
    "torch_harmonics",
    "InverseRealSHT",
    lambda: (
        import_module("torch_harmonics").InverseRealSHT(8, 16),
        (torch.randn(1, 4, 4, dtype=torch.cfloat),),
    ),
    modes=("eval",),
)
add(
    "torch_harmonics",
    "ResampleS2",
    lambda: (import_module("torch_harmonics").ResampleS2(8, 16, 12, 24), (R(1, 2, 8, 16),)),
    modes=("eval",),
)
add(
    "torch_harmonics",
    "AttentionS2",
    lambda: (
        import_module("torch_harmonics").AttentionS2(8, 2, (8, 16), (8, 16)),
        (R(1, 8, 8, 16),),
    ),
    modes=("eval",),
)


def _ani(kind: str) -> Callable[[], tuple]:
    def build() -> tuple:
        symbols = ("H", "C", "N", "O")
        arch = import_module("torchani.arch")
        model = (
            arch.simple_ani(symbols, lot="wb97x-631gd", ensemble_size=1)
            if kind == "simple"
            else arch.simple_aniq(symbols, lot="wb97x-631gd", ensemble_size=1)
        )
        return model, ((torch.tensor([[6, 1, 1, 1, 1]]), R(1, 5, 3)),)

    return build


add("torchani", "simple_ani", _ani("simple"), modes=("eval",), grad=True)
add("torchani", "simple_aniq", _ani("q"), modes=("eval",), grad=True)
for _name in ("AllPairs", "CellList"):
    add(
        "torchani",
        f"neighbors.{_name}",
        lambda n=_name: (
            getattr(import_module("torchani.neighbors"), n)(),
            (3.0, torch.zeros(1, 12, dtype=torch.long), torch.rand(1, 12, 3) * 12),
            {"cell": torch.eye(3) * 12, "pbc": torch.ones(3, dtype=torch.bool)},
        ),
        modes=("eval",),
    )
add(
    "torchani",
    "SpeciesConverter",
    lambda: (
        import_module("torchani.nn").SpeciesConverter(["H", "C", "N", "O"]),
        ((torch.tensor([[6, 1, 1, 1, 1]]), R(1, 5, 3)),),
    ),
    modes=("eval",),
)
