"""Potentials of molecules and crystals, equivariant transformers and Lie groups."""

from __future__ import annotations

import typing
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from registry import add, each

R = torch.randn
_T_co = typing.TypeVar("_T_co", covariant=True)


def _schnetpack(module: str = "") -> Any:
    # What the package's data loader imports; newer versions of torch don't have it.
    vars(import_module("torch.utils.data.dataloader")).setdefault("T_co", _T_co)
    return import_module("schnetpack" + module)


def _atoms(**more: torch.Tensor) -> dict[str, torch.Tensor]:
    first, second = torch.tensor([[i, j] for i in range(5) for j in range(5) if i != j]).T
    place = torch.rand(5, 3) * 2
    return {
        "_atomic_numbers": torch.tensor([6, 1, 1, 8, 1]), "_positions": place,
        "_Rij": place[second] - place[first], "_idx_i": first, "_idx_j": second,
        "_idx_m": torch.tensor([0, 0, 0, 1, 1]), "_n_atoms": torch.tensor([3, 2]),
        "_cell": torch.eye(3).repeat(2, 1, 1) * 6, "_offsets": torch.zeros(20, 3),
        "_pbc": torch.zeros(6, dtype=torch.bool), **more,
    }  # fmt: skip


def _representation(name: str, **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        nn = _schnetpack(".nn")
        net = getattr(_schnetpack(".representation"), name)(
            n_atom_basis=8, n_interactions=2, radial_basis=nn.GaussianRBF(6, 5.0),
            cutoff_fn=nn.CosineCutoff(5.0), **kwargs,
        )  # fmt: skip
        return net, (_atoms(),)

    return build


def _atomistic(name: str, *args: Any, **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        module = getattr(_schnetpack(".atomistic"), name)(*args, **kwargs)
        more = {"scalar_representation": R(5, 8), "vector_representation": R(5, 3, 8)}
        more |= {"energy": R(2), "partial_charges": R(5), "charges": R(5)}
        more |= {"_idx_i_lr": _atoms()["_idx_i"], "_idx_j_lr": _atoms()["_idx_j"]}
        return module, (_atoms(**more, _Rij_lr=_atoms()["_Rij"]),)

    return build


def _potential() -> tuple:
    spk = _schnetpack()
    nn, atomistic = _schnetpack(".nn"), _schnetpack(".atomistic")
    net = spk.model.NeuralNetworkPotential(
        representation=_representation("PaiNN")()[0],
        input_modules=[atomistic.PairwiseDistances()],
        output_modules=[atomistic.Atomwise(n_in=8, output_key="energy"), atomistic.Forces()],
    )
    del nn
    return net, (_atoms(),)


each("schnetpack", {
    "SchNet": _representation("SchNet"),
    "PaiNN": _representation("PaiNN"),
    "PaiNN.shared": _representation("PaiNN", shared_interactions=True, shared_filters=True),
    "SO3net": _representation("SO3net", lmax=2),
    "FieldSchNet": lambda: (_representation("FieldSchNet", external_fields=["electric_field"])()[0], (_atoms(electric_field=R(2, 3)),)),
    "Atomwise": _atomistic("Atomwise", n_in=8),
    "DipoleMoment": _atomistic("DipoleMoment", n_in=8, predict_magnitude=True, use_vector_representation=True),
    "Polarizability": _atomistic("Polarizability", n_in=8),
    "EnergyCoulomb": lambda: (_schnetpack(".atomistic").EnergyCoulomb("kcal/mol", "Ang", _schnetpack(".atomistic").CoulombPotential(), output_key="e", use_neighbors_lr=False), (_atoms(partial_charges=R(5)),)),
    "EnergyEwald": lambda: (_schnetpack(".atomistic").EnergyEwald(0.5, 3, "kcal/mol", "Ang", output_key="e", use_neighbors_lr=False), (_atoms(partial_charges=R(5)),)),
    "ZBLRepulsionEnergy": lambda: (_schnetpack(".atomistic").ZBLRepulsionEnergy("eV", "Ang", "zbl", cutoff_fn=_schnetpack(".nn").CosineCutoff(5.0)), (_atoms(),)),
    "FilterShortRange": _atomistic("FilterShortRange", 1.5),
    "NuclearEmbedding": lambda: (_schnetpack(".nn").embedding.NuclearEmbedding(101, 8), (torch.tensor([1, 6, 8]),)),
    "ElectronicEmbedding": lambda: (_schnetpack(".nn").embedding.ElectronicEmbedding("spin_multiplicity", 8, is_charged=False), (R(5, 8), _atoms(spin_multiplicity=torch.tensor([1.0, 3.0]), _idx=torch.arange(2)))),
})  # fmt: skip
each("schnetpack", {
    "NeuralNetworkPotential.forces": _potential,
}, grad=True)  # fmt: skip


def _mace(
    name: str = "ScaleShiftMACE", inter: str = "RealAgnosticResidual", **kwargs: Any
) -> tuple:
    modules, o3 = import_module("mace.modules"), import_module("e3nn.o3")
    numpy = import_module("numpy")
    cls = getattr(modules, inter + "InteractionBlock")
    kwargs = {"r_max": 5.0, "num_bessel": 4, "num_polynomial_cutoff": 5, "max_ell": 2, "interaction_cls": cls,
        "interaction_cls_first": cls, "num_interactions": 2, "num_elements": 3, "hidden_irreps": o3.Irreps("4x0e + 4x1o"),
        "MLP_irreps": o3.Irreps("4x0e"), "gate": torch.nn.functional.silu, "atomic_energies": numpy.zeros(3),
        "avg_num_neighbors": 4.0, "atomic_numbers": [1, 6, 8], "correlation": 2, "radial_type": "bessel", **kwargs}  # fmt: skip
    if name == "ScaleShiftMACE":
        kwargs |= {"atomic_inter_scale": 1.0, "atomic_inter_shift": 0.0}
    if "Dipole" in name:
        kwargs["atomic_energies"] = (
            None if name == "AtomicDipolesMACE" else kwargs["atomic_energies"]
        )
    model = getattr(modules, name)(**kwargs)
    atoms = _atoms()
    data = {
        "positions": atoms["_positions"], "node_attrs": torch.eye(3)[[1, 0, 0, 2, 0]], "batch": atoms["_idx_m"],
        "ptr": torch.tensor([0, 3, 5]), "edge_index": torch.stack([atoms["_idx_i"], atoms["_idx_j"]]),
        "shifts": torch.zeros(20, 3), "unit_shifts": torch.zeros(20, 3), "cell": torch.eye(3).repeat(2, 1) * 6,
        "head": torch.zeros(2, dtype=torch.long), "charges": R(5), "forces": R(5, 3), "energy": R(2),
    }  # fmt: skip
    return model, (data,)


each("mace", {
    "ScaleShiftMACE": _mace,
    "MACE.density": lambda: _mace("MACE", "RealAgnosticDensity"),
    "MACE.zbl": lambda: _mace("ScaleShiftMACE", pair_repulsion=True, distance_transform="Agnesi"),
    "AtomicDipolesMACE": lambda: _mace("AtomicDipolesMACE"),
}, grad=True)  # fmt: skip


class _Batch:
    """Reads by attribute and by key, as the package's batches do."""

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


def _mace_loss(name: str, **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        ref = _Batch(
            energy=R(2), forces=R(5, 3) * 200, stress=R(2, 3, 3), virials=R(2, 3, 3), dipole=R(2, 3), ptr=torch.tensor([0, 3, 5]),
            batch=torch.tensor([0, 0, 0, 1, 1]), weight=torch.ones(2), energy_weight=torch.ones(2), forces_weight=torch.ones(2),
            stress_weight=torch.ones(2), virials_weight=torch.ones(2), dipole_weight=torch.ones(2, 3), num_graphs=2,
        )  # fmt: skip
        pred = {
            "energy": R(2),
            "forces": R(5, 3),
            "stress": R(2, 3, 3),
            "virials": R(2, 3, 3),
            "dipole": R(2, 3),
        }
        return getattr(import_module("mace.modules"), name)(**kwargs), (ref, pred)

    return build


each("mace", {f"loss.{name}": _mace_loss(name) for name in (
    "WeightedEnergyForcesStressLoss", "WeightedHuberEnergyForcesStressLoss", "UniversalLoss", "WeightedEnergyForcesDipoleLoss", "WeightedEnergyForcesL1L2Loss"
)})  # fmt: skip
each("mace", {
    "AgnesiTransform": lambda: (import_module("mace.modules.radial").AgnesiTransform(), (torch.rand(6, 1) + 1, torch.eye(2)[[0, 1, 0]], torch.tensor([[0, 1, 2, 0, 1, 2], [1, 2, 0, 2, 0, 1]]), torch.tensor([1, 8]))),
    "conditional_huber": lambda: (lambda a, b: import_module("mace.modules.loss").conditional_huber_forces(a, b, huber_delta=0.01), (R(4, 3) * 200, R(4, 3))),
})  # fmt: skip


def _crystal() -> tuple:
    model = import_module("chgnet.model.model")
    lattice, place = torch.eye(3) * 4, torch.rand(3, 3)
    graph = import_module("chgnet.graph.crystalgraph").CrystalGraph(
        atomic_number=torch.tensor([3, 8, 8]), atom_frac_coord=place, lattice=lattice,
        atom_graph=torch.tensor([[0, 1], [1, 0], [0, 2], [2, 0]]), atom_graph_cutoff=6.0,
        neighbor_image=torch.zeros(4, 3), directed2undirected=torch.tensor([0, 0, 1, 1]), undirected2directed=torch.tensor([0, 2]),
        bond_graph=torch.tensor([[0, 0, 0, 1, 2], [0, 1, 2, 0, 0]]), bond_graph_cutoff=4.0,
    )  # fmt: skip
    del lattice, place
    net = model.CHGNet(atom_fea_dim=8, bond_fea_dim=8, angle_fea_dim=8, num_radial=5, num_angular=5, n_conv=2, atom_conv_hidden_dim=8, bond_conv_hidden_dim=8, mlp_hidden_dims=[8, 8])  # fmt: skip
    return net, graph


each("chgnet", {
    "CHGNet.energy": lambda: (_crystal()[0], ([_crystal()[1]],), {"task": "e"}),
    "CHGNet.forces": lambda: (_crystal()[0], ([_crystal()[1]],), {"task": "efsm"}),
    "aggregate": lambda: (lambda x, o: import_module("chgnet.model.functions").aggregate(x, o, average=True, num_owner=3), (R(5, 4), torch.tensor([0, 0, 1, 1, 2]))),
    "RadialBessel": lambda: (import_module("chgnet.model.basis").RadialBessel(num_radial=5, learnable=True, smooth_cutoff=5), (torch.rand(6) + 1,)),
    "Fourier": lambda: (import_module("chgnet.model.basis").Fourier(order=4), (R(6),)),
    "AngleEncoder": lambda: (import_module("chgnet.model.encoders").AngleEncoder(num_angular=7), (R(6, 3), R(6, 3))),
    "AttentionReadOut": lambda: (import_module("chgnet.model.layers").GraphAttentionReadOut(8, num_head=2), (R(5, 8), torch.tensor([0, 0, 1, 1, 1]))),
    "GatedMLP": lambda: (import_module("chgnet.model.functions").GatedMLP(8, 8, hidden_dim=[8, 8], dropout=0.1), (R(5, 8),)),
}, grad=True)  # fmt: skip
each("equiformer_pytorch", {
    "Equiformer": lambda: (import_module("equiformer_pytorch").Equiformer(num_tokens=6, dim=(8, 4), dim_head=(4, 4), heads=(2, 2), depth=1, num_degrees=2, num_neighbors=3), (torch.randint(0, 6, (1, 6)), R(1, 6, 3), torch.ones(1, 6, dtype=torch.bool))),
    "Equiformer.mlp": lambda: (import_module("equiformer_pytorch").Equiformer(num_tokens=6, dim=(8, 4), dim_head=(4, 4), heads=(2, 2), depth=1, num_degrees=2, l2_dist_attention=False, reduce_dim_out=True), (torch.randint(0, 6, (1, 6)), R(1, 6, 3), torch.ones(1, 6, dtype=torch.bool))),
    "Equiformer.sparse": lambda: (import_module("equiformer_pytorch").Equiformer(num_tokens=6, dim=(8, 4), dim_head=(4, 4), heads=(2, 2), depth=1, num_degrees=2, attend_sparse_neighbors=True, num_neighbors=0, num_adj_degrees_embed=2, max_sparse_neighbors=3), (torch.randint(0, 6, (1, 6)), R(1, 6, 3), torch.ones(1, 6, dtype=torch.bool)), {"adj_mat": torch.eye(6).roll(1, 0).bool()}),
})  # fmt: skip


def _se3(**kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        net = import_module("se3_transformer_pytorch").SE3Transformer(dim=8, heads=2, dim_head=4, depth=1, num_degrees=2, valid_radius=10, **kwargs)  # fmt: skip
        call: dict = {"return_type": 0}
        if kwargs.get("attend_sparse_neighbors"):
            call["adj_mat"] = torch.eye(6).roll(1, 0).bool()
        feats = torch.randint(0, 6, (1, 6)) if "num_tokens" in kwargs else R(1, 6, 8)
        return net, (feats, R(1, 6, 3), torch.ones(1, 6, dtype=torch.bool)), call

    return build


each("se3_transformer_pytorch", {
    "plain": _se3(num_neighbors=3),
    "tokens": _se3(num_tokens=6, num_neighbors=3, use_null_kv=True, output_degrees=1),
    "sparse": _se3(attend_sparse_neighbors=True, num_neighbors=0, num_adj_degrees=2, adj_dim=2, max_sparse_neighbors=3),
    "egnn": _se3(use_egnn=True, num_neighbors=3),
    "rotary": _se3(rotary_position=True, rotary_rel_dist=True, num_neighbors=3),
    "causal": _se3(causal=True, fourier_encode_dist=True, one_headed_key_values=True, num_neighbors=3, norm_out=True),
})  # fmt: skip


def _group(name: str, function: str, *shapes: tuple[int, ...] | None) -> Callable[[], tuple]:
    """None stands for elements of the group."""

    def build() -> tuple:
        group = getattr(import_module("torchlie.functional"), name)
        args = [group.rand(3) if shape is None else R(*shape) for shape in shapes]
        return getattr(group, function), tuple(args)

    return build


for _name, _size in {"SO3": 3, "SE3": 6}.items():
    each("torchlie", {
        f"{_name}.exp": _group(_name, "exp", (3, _size)),
        f"{_name}.log": _group(_name, "log", None),
        f"{_name}.compose": _group(_name, "compose", None, None),
        f"{_name}.transform": _group(_name, "transform", None, (3, 3)),
    }, grad=True)  # fmt: skip
each("torchlie", {
    "SO3.normalize": _group("SO3", "normalize", (3, 3, 3)),
    "rand": lambda: (lambda: import_module("torchlie.functional").SE3.rand(4), ()),
}, grad=True)  # fmt: skip

_ROBOT = """<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
<joint name="ab" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1" rpy="0 0.1 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="bc" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="1 0 0"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def _kinematics(which: int) -> Callable[[], tuple]:
    def build() -> tuple:
        import tempfile

        kin = import_module("torchkin")
        with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
            file.write(_ROBOT)
            file.flush()
            robot = kin.Robot.from_urdf_file(file.name, torch.float32)
        return kin.get_forward_kinematics_fns(robot, ["c"])[which], (R(3, 2),)

    return build


for _which, _name in enumerate(("fk", "jfk_b", "jfk_s")):
    add("torchkin", _name, _kinematics(_which), grad=True)
