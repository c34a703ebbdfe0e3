"""Models for tables and recommendation."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

R = torch.randn


for _name, _more in (("TabTransformer", {"mlp_act": torch.nn.ReLU()}), ("FTTransformer", {})):
    add(
        "tab_transformer_pytorch",
        _name,
        lambda n=_name, m=_more: (
            getattr(import_module("tab_transformer_pytorch"), n)(
                categories=(4, 5), num_continuous=3, dim=16, depth=1, heads=2, dim_out=1, **m
            ),
            (torch.randint(0, 4, (6, 2)), R(6, 3)),
        ),
    )
_TABNET = {
    "input_dim": 6,
    "output_dim": 3,
    "n_d": 4,
    "n_a": 4,
    "n_steps": 2,
    "virtual_batch_size": 4,
}
for _name, _kwargs in {
    "plain": {},
    "entmax": {"mask_type": "entmax"},
    "embedded": {"cat_idxs": [0], "cat_dims": [5], "cat_emb_dim": [2]},
}.items():
    add(
        "pytorch_tabnet",
        f"TabNet.{_name}",
        lambda k=_kwargs: (
            import_module("pytorch_tabnet.tab_network").TabNet(
                **_TABNET, **{"group_attention_matrix": torch.eye(6), **k}
            ),
            (torch.randint(0, 4, (8, 6)).float(),),
        ),
    )
add(
    "pytorch_tabnet",
    "pretraining",
    lambda: (
        import_module("pytorch_tabnet.tab_network").TabNetPretraining(
            6,
            group_attention_matrix=torch.eye(6),
            n_d=4,
            n_a=4,
            n_steps=2,
            virtual_batch_size=4,
            n_shared_decoder=1,
            n_indep_decoder=1,
        ),
        (R(8, 6),),
    ),
)
add(
    "pytorch_tabnet",
    "pretraining.loss",
    lambda: (
        import_module("pytorch_tabnet.metrics").UnsupervisedLoss,
        (R(8, 6), R(8, 6), torch.ones(8, 6)),
    ),
)


def _deepctr(name: str, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        inputs = import_module("deepctr_torch.inputs")
        columns = [
            inputs.SparseFeat("a", 5, embedding_dim=4),
            inputs.SparseFeat("b", 6, embedding_dim=4),
            inputs.DenseFeat("c", 1),
        ]
        columns.append(
            inputs.VarLenSparseFeat(
                inputs.SparseFeat("h", 7, embedding_dim=4), maxlen=3, combiner="mean"
            )
        )
        data = torch.cat(
            [torch.randint(1, 5, (8, 2)).float(), R(8, 1), torch.randint(0, 6, (8, 3)).float()], 1
        )
        model = getattr(import_module("deepctr_torch.models"), name)
        both = () if name in ("PNN", "DIN") else (columns,)
        extra = (
            {"task_types": ["binary", "binary"], "task_names": ["x", "y"]}
            if name in ("MMOE", "SharedBottom", "PLE", "ESMM")
            else {}
        )
        if name in ("MMOE", "SharedBottom", "PLE", "ESMM"):
            both = ()
        return model(*both, columns, **extra, **kwargs), (data,)

    return build


for _name in "AFM AFN AutoInt CCPM DCN DCNMix DIFM DeepFM FiBiNET IFM MLR NFM ONN PNN WDL MMOE SharedBottom PLE ESMM xDeepFM".split():
    add(
        "deepctr_torch",
        _name,
        _deepctr(_name),
        modes=("eval",) if _name not in ("AFM", "DeepFM") else ("eval", "train"),
    )
