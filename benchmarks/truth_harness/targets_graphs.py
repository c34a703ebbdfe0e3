"""torch_geometric."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

R = torch.randn


_EDGES = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2, 4], [1, 2, 3, 4, 5, 0, 3, 5, 1]])
_BATCH = torch.tensor([0, 0, 0, 1, 1, 1])
_PYG = "torch_geometric"


def _pyg(
    name: str, module: str, args: Callable[[], tuple], *inits: object, **kwargs: object
) -> Callable[[], tuple]:
    return lambda: (
        getattr(import_module(f"torch_geometric.{module}"), name)(*inits, **kwargs),
        args(),
    )


def _graph() -> tuple:
    return R(6, 8), _EDGES


for _name, _inits, _kwargs in [
    ("GCNConv", (8, 8), {}),
    ("GATConv", (8, 8), {"heads": 2}),
    ("GATv2Conv", (8, 8), {}),
    ("SAGEConv", (8, 8), {}),
    ("SAGEConv", (8, 8), {"aggr": "median"}),
    ("GraphConv", (8, 8), {}),
    ("ChebConv", (8, 8), {"K": 2}),
    ("ARMAConv", (8, 8), {}),
    ("TAGConv", (8, 8), {}),
    ("SGConv", (8, 8), {"K": 2, "cached": True}),
    ("APPNP", (), {"K": 2, "alpha": 0.1}),
    ("LEConv", (8, 8), {}),
    ("TransformerConv", (8, 8), {"beta": True}),
    ("SuperGATConv", (8, 8), {}),
    ("ClusterGCNConv", (8, 8), {}),
    ("FAConv", (8,), {}),
    ("MFConv", (8, 8), {}),
    ("FeaStConv", (8, 8), {}),
    ("EGConv", (8, 8), {"num_heads": 2}),
    ("GENConv", (8, 8), {}),
    ("ResGatedGraphConv", (8, 8), {}),
    ("AntiSymmetricConv", (8,), {}),
    ("GatedGraphConv", (8, 2), {}),
    ("PANConv", (8, 8, 2), {}),
    ("HypergraphConv", (8, 8), {}),
    ("MixHopConv", (8, 8), {}),
    ("GCN", (8, 8, 2), {"dropout": 0.1}),
    ("GAT", (8, 8, 2), {}),
    ("PMLP", (8, 8, 4, 2), {}),
    ("GraphUNet", (8, 8, 4, 2), {}),
    ("LightGCN", (6, 8, 2), {}),
    ("SAGPooling", (8,), {}),
    ("TopKPooling", (8,), {}),
    ("ASAPooling", (8,), {}),
    ("EdgePooling", (8,), {}),
    ("ClusterPooling", (8,), {}),
    ("PANPooling", (8,), {}),
]:

    def _args(n: str = _name) -> tuple:
        if n == "LightGCN":
            return (_EDGES,)
        if n == "FAConv":
            return R(6, 8), R(6, 8), _EDGES
        if n in ("EdgePooling", "ClusterPooling"):
            return R(6, 8), _EDGES, _BATCH
        return _graph()

    _id = f"nn.{_name}" + ("+median" if "aggr" in _kwargs else "")
    add(
        _PYG,
        _id,
        _pyg(_name, "nn", _args, *_inits, **_kwargs),
        modes=("eval", "train")
        if _name in ("PMLP", "SuperGATConv", "GraphUNet", "ASAPooling")
        else ("eval",),
    )
add(
    _PYG,
    "nn.RGCNConv",
    _pyg("RGCNConv", "nn", lambda: (R(6, 8), _EDGES, torch.randint(0, 2, (9,))), 8, 8, 2),
    modes=("eval",),
)
add(
    _PYG,
    "nn.HGTConv",
    lambda: (
        import_module("torch_geometric.nn").HGTConv(
            8, 8, (["a", "b"], [("a", "to", "b")]), heads=2
        ),
        ({"a": R(6, 8), "b": R(6, 8)}, {("a", "to", "b"): _EDGES}),
    ),
    modes=("eval",),
)
add(
    _PYG,
    "nn.NNConv",
    lambda: (
        import_module("torch_geometric.nn").NNConv(8, 8, torch.nn.Linear(3, 64)),
        (*_graph(), R(9, 3)),
    ),
    modes=("eval",),
)
for _name, _inits, _kwargs in [
    ("MeanAggregation", (), {}),
    ("MaxAggregation", (), {}),
    ("SoftmaxAggregation", (), {"learn": True}),
    ("MedianAggregation", (), {}),
    ("QuantileAggregation", (0.5,), {}),
    ("StdAggregation", (), {}),
    ("SortAggregation", (3,), {}),
    ("LSTMAggregation", (8, 8), {}),
    ("GRUAggregation", (8, 8), {}),
    ("Set2Set", (8, 2), {}),
    ("MultiAggregation", (["mean", "max", "std"],), {}),
    ("GraphMultisetTransformer", (8, 2), {"heads": 2}),
    ("SetTransformerAggregation", (8,), {}),
    ("PowerMeanAggregation", (), {}),
    ("LCMAggregation", (8, 8), {"project": True}),
    ("EquilibriumAggregation", (8, 4, [8]), {"grad_iter": 2}),
    ("MulAggregation", (), {}),
    ("MLPAggregation", (8, 8, 4), {"num_layers": 1}),
]:
    add(
        _PYG,
        f"aggr.{_name}",
        _pyg(_name, "nn.aggr", lambda: (R(6, 8), _BATCH), *_inits, **_kwargs),
        modes=("eval",),
        grad=_name == "EquilibriumAggregation",
    )
for _name, _inits in [
    ("GraphNorm", (8,)),
    ("InstanceNorm", (8,)),
    ("PairNorm", ()),
    ("DiffGroupNorm", (8, 2)),
    ("GraphSizeNorm", ()),
    ("MeanSubtractionNorm", ()),
    ("LayerNorm", (8,)),
]:
    add(
        _PYG,
        f"norm.{_name}",
        _pyg(
            _name,
            "nn.norm",
            lambda n=_name: (R(6, 8),) if n == "DiffGroupNorm" else (R(6, 8), _BATCH),
            *_inits,
        ),
        modes=("eval",),
    )
for _name, _args in {
    "to_dense_batch": lambda: (R(6, 8), _BATCH),
    "to_dense_adj": lambda: (_EDGES, _BATCH),
    "dense_to_sparse": lambda: (torch.rand(4, 4).round(),),
    "add_self_loops": lambda: (_EDGES,),
    "remove_self_loops": lambda: (_EDGES,),
    "to_undirected": lambda: (_EDGES,),
    "coalesce": lambda: (_EDGES,),
    "degree": lambda: (_EDGES[0],),
    "softmax": lambda: (R(9), _EDGES[0]),
    "is_undirected": lambda: (_EDGES,),
    "contains_self_loops": lambda: (_EDGES,),
    "contains_isolated_nodes": lambda: (_EDGES,),
    "dropout_edge": lambda: (_EDGES,),
    "dropout_node": lambda: (_EDGES,),
    "k_hop_subgraph": lambda: (0, 2, _EDGES),
    "subgraph": lambda: (torch.tensor([0, 1, 2, 3]), _EDGES),
    "negative_sampling": lambda: (_EDGES,),
    "get_laplacian": lambda: (_EDGES,),
    "unbatch": lambda: (R(6, 8), _BATCH),
    "remove_isolated_nodes": lambda: (_EDGES,),
    "to_scipy_sparse_matrix": lambda: (_EDGES,),
    "homophily": lambda: (_EDGES, torch.tensor([0, 1, 0, 1, 1, 0])),
    "mask_feature": lambda: (R(6, 8), 0.5),
    "cumsum": lambda: (_BATCH,),
    "index_to_mask": lambda: (torch.tensor([0, 2]),),
    "mask_to_index": lambda: (torch.tensor([True, False, True]),),
    "one_hot": lambda: (_BATCH,),
    "select": lambda: (R(6, 8), _BATCH == 1, 0),
    "assortativity": lambda: (_EDGES,),
    "shuffle_node": lambda: (R(6, 8), _BATCH),
    "random_walk_pe": lambda: (_EDGES,),
    "lexsort": lambda: ([_EDGES[0], _EDGES[1]],),
    "sort_edge_index": lambda: (_EDGES,),
    "scatter": lambda: (R(6, 8), _BATCH, 0, None, "max"),
    "segment": lambda: (R(6, 8), torch.tensor([0, 3, 6])),
    "group_argsort": lambda: (R(6), _BATCH),
    "to_torch_coo_tensor": lambda: (_EDGES,),
    "bipartite_subgraph": lambda: ((torch.tensor([0, 1]), torch.tensor([1, 2])), _EDGES),
}.items():
    if _name != "random_walk_pe":
        add(
            _PYG,
            f"utils.{_name}",
            lambda n=_name, a=_args: (getattr(import_module("torch_geometric.utils"), n), a()),
        )
add(
    _PYG,
    "SchNet",
    lambda: (
        import_module("torch_geometric.nn").SchNet(
            hidden_channels=8,
            num_filters=8,
            num_interactions=1,
            num_gaussians=6,
            interaction_graph=lambda pos, batch: (
                _EDGES,
                (pos[_EDGES[0]] - pos[_EDGES[1]]).norm(dim=-1),
            ),
        ),
        (torch.randint(1, 9, (6,)), R(6, 3), _BATCH),
    ),
    modes=("eval",),
)
add(
    _PYG,
    "LabelPropagation",
    lambda: (
        import_module("torch_geometric.nn").LabelPropagation(2, 0.9),
        (torch.tensor([0, 1, 0, 1, 1, 0]), _EDGES),
        {"mask": torch.tensor([True, True, False, True, False, False])},
    ),
    modes=("eval",),
)
add(
    _PYG,
    "KGE.TransE",
    lambda: (
        import_module("torch_geometric.nn").TransE(6, 2, 8),
        (torch.tensor([0, 1]), torch.tensor([0, 1]), torch.tensor([2, 3])),
    ),
    modes=("train",),
)
add(
    _PYG,
    "KGE.DistMult.loss",
    lambda: (
        import_module("torch_geometric.nn").DistMult(6, 2, 8).loss,
        (torch.tensor([0, 1]), torch.tensor([0, 1]), torch.tensor([2, 3])),
    ),
)
add(
    _PYG,
    "GAE.recon_loss",
    lambda: (
        import_module("torch_geometric.nn").GAE(torch.nn.Identity()).recon_loss,
        (R(6, 8), _EDGES),
    ),
)
for _name in "AddSelfLoops NormalizeFeatures ToUndirected Constant OneHotDegree LocalDegreeProfile Distance Cartesian RandomJitter Center NormalizeScale LargestConnectedComponents AddRandomWalkPE RemoveIsolatedNodes".split():

    def _transform(n: str = _name) -> tuple:
        data = import_module("torch_geometric.data").Data(
            x=R(6, 8).abs(), edge_index=_EDGES, pos=R(6, 3)
        )
        inits = {"OneHotDegree": (6,), "RandomJitter": (0.1,), "AddRandomWalkPE": (2,)}.get(n, ())
        return getattr(import_module("torch_geometric.transforms"), n)(*inits), (data,)

    add(_PYG, f"transforms.{_name}", _transform)
