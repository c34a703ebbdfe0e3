"""Recommenders, knowledge graphs and tables."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar

import torch
from registry import each

R = torch.randn
_USERS, _ITEMS, _LONG = 6, 11, 5


class _Interactions:
    """What the models ask of a dataset."""

    uid_field, iid_field = "user_id", "item_id"
    user_num, item_num = _USERS, _ITEMS
    field2seqlen: ClassVar = {"item_id_list": _LONG}

    def num(self, field: str) -> int:
        return {"user_id": _USERS, "item_id": _ITEMS}[field]

    @property
    def inter_feat(self) -> dict[str, torch.Tensor]:
        users = torch.arange(1, _USERS).repeat_interleave(2)
        return {"user_id": users, "item_id": torch.arange(len(users)) % (_ITEMS - 1) + 1}

    def inter_matrix(self, form: str = "coo", value_field: str | None = None) -> Any:
        feat, numpy = self.inter_feat, import_module("numpy")
        row, col = feat["user_id"].numpy(), feat["item_id"].numpy()
        table = import_module("scipy.sparse").coo_matrix((numpy.ones(len(row)), (row, col)), shape=(_USERS, _ITEMS))  # fmt: skip
        return table.asformat(form)

    def history_item_matrix(self, value_field: str | None = None, max_history_len: int | None = None) -> tuple:  # fmt: skip
        items = torch.randint(1, _ITEMS, (_USERS, 4))
        return items, torch.ones(_USERS, 4), torch.full((_USERS,), 4)

    def history_user_matrix(self, value_field: str | None = None) -> tuple:
        users = torch.randint(1, _USERS, (_ITEMS, 3))
        return users, torch.ones(_ITEMS, 3), torch.full((_ITEMS,), 3)


def _recbole(name: str, what: str = "calculate_loss", **settings: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        given = {"use_gpu": False, "MAX_ITEM_LIST_LENGTH": _LONG, "train_batch_size": 3, "embedding_size": 8, "hidden_size": 8, **settings}  # fmt: skip
        given |= {"train_neg_sample_args": None} if settings.get("loss_type") == "CE" else {}
        # Names that the package reads, and that NumPy 2 took away.
        names = vars(import_module("numpy"))
        names |= {"float_": names["float64"], "complex_": names["complex128"], "unicode_": names["str_"]}  # fmt: skip
        config = import_module("recbole.config").Config(model=name, dataset="toy", config_dict=given)  # fmt: skip
        torch.manual_seed(0)
        model = import_module("recbole.utils").get_model(name)(config, _Interactions())
        model.train()
        batch = import_module("recbole.data.interaction").Interaction({
            "user_id": torch.tensor([1, 2, 3]), "item_id": torch.tensor([4, 5, 6]), "neg_item_id": torch.tensor([7, 8, 9]),
            "item_id_list": torch.tensor([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8], [9, 0, 0, 0, 0]]), "item_length": torch.tensor([3, 5, 1]), "label": torch.tensor([1.0, 0.0, 1.0]),
        })  # fmt: skip
        return getattr(model, what), (batch,)

    return build


each("recbole", {
    name: _recbole(name, loss_type="CE") for name in ("SASRec", "GRU4Rec", "SRGNN", "NARM", "STAMP", "Caser", "NextItNet", "CORE", "LightSANs", "HGN", "SINE", "RepeatNet", "GCSAN")
}, grad=True)  # fmt: skip
each("recbole", {
    f"{name}.predict": _recbole(name, "full_sort_predict", loss_type="CE") for name in ("SASRec", "SRGNN", "RepeatNet")
})  # fmt: skip
each("recbole", {
    name: _recbole(name) for name in ("BPR", "NeuMF", "MultiVAE", "MacridVAE", "SimpleX", "ENMF", "DMF", "SGL", "DiffRec", "NAIS")
}, grad=True)  # fmt: skip
each("recbole", {
    "SequenceAttLayer": lambda: (import_module("recbole.model.layers").SequenceAttLayer(torch.arange(4)[None], att_hidden_size=(16, 8), activation="dice"), (R(3, 4), R(3, 4, 4), torch.tensor([1, 2, 4]))),
    "CNNLayers": lambda: (import_module("recbole.model.layers").CNNLayers([1, 2, 2], [3, 3], [1, 1]), (R(2, 1, 8, 8),)),
    "RegLoss": lambda: (import_module("recbole.model.loss").RegLoss(), ([R(3, 2), R(4)],)),
    "EmbLoss": lambda: (import_module("recbole.model.loss").EmbLoss(), (R(3, 2), R(4, 2)), {"require_pow": True}),
    "EmbMarginLoss": lambda: (import_module("recbole.model.loss").EmbMarginLoss(), (R(3, 2), R(4, 2))),
    "SparseDropout": lambda: (import_module("recbole.model.layers").SparseDropout(0.5), (torch.eye(4).to_sparse(),)),
})  # fmt: skip


def _triples(**kwargs: bool) -> Any:
    numpy = import_module("numpy")
    triples = numpy.array([["a", "r", "b"], ["b", "s", "c"], ["c", "r", "a"], ["a", "s", "d"], ["d", "r", "b"]])  # fmt: skip
    # torchvision's operators are missing where the factory imports torchvision's models.
    return import_module("pykeen.triples").TriplesFactory.from_labeled_triples(triples, **kwargs)


def _pykeen(name: str, what: str = "score_hrt", **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        factory = _triples(create_inverse_triples=name in ("CompGCN", "NodePiece"))
        model = getattr(import_module("pykeen.models"), name)(triples_factory=factory, random_seed=0, **kwargs)  # fmt: skip
        batch = factory.mapped_triples[:4]  # pyright: ignore[reportAttributeAccessIssue]
        part = {"score_t": batch[:, :2], "score_h": batch[:, 1:], "score_r": batch[:, [0, 2]]}
        return getattr(model, what), (part.get(what, batch),)

    return build


each("pykeen", {
    "TransE": _pykeen("TransE", embedding_dim=8),
    "RotatE.t": _pykeen("RotatE", "score_t", embedding_dim=8),
    "ConvE.t": _pykeen("ConvE", "score_t", embedding_dim=16, output_channels=2),
    "BoxE": _pykeen("BoxE", embedding_dim=8),
    "KG2E.h": _pykeen("KG2E", "score_h", embedding_dim=8),
    "NTN": _pykeen("NTN", embedding_dim=8),
    "TransD": _pykeen("TransD", embedding_dim=8),
    "TransH": _pykeen("TransH", embedding_dim=8),
    "RGCN": _pykeen("RGCN", embedding_dim=8, num_layers=1),
    "CompGCN": _pykeen("CompGCN", embedding_dim=8),
    "NodePiece": _pykeen("NodePiece", embedding_dim=8, num_tokens=2),
    "TuckER.r": _pykeen("TuckER", "score_r", embedding_dim=8),
    "TransE.predict": _pykeen("TransE", "predict_hrt", embedding_dim=8),
}, grad=True)  # fmt: skip


def _pykeen_loss(name: str, method: str, *args: Any, **kwargs: Any) -> Callable[[], tuple]:  # fmt: skip
    def build() -> tuple:
        loss = getattr(import_module("pykeen.losses"), name)()
        return getattr(loss, method), args, kwargs

    return build


each("pykeen", {
    "loss.MarginRanking.slcwa": _pykeen_loss("MarginRankingLoss", "process_slcwa_scores", R(4, 1), R(4, 3)),
    "loss.NSSA.slcwa": _pykeen_loss("NSSALoss", "process_slcwa_scores", R(4, 1), R(4, 3), num_entities=5),
    "loss.InfoNCE.slcwa": _pykeen_loss("InfoNCELoss", "process_slcwa_scores", R(4, 1), R(4, 3)),
    "loss.DoubleMargin.lcwa": _pykeen_loss("DoubleMarginLoss", "process_lcwa_scores", R(4, 5), torch.randint(0, 2, (4, 5)).float()),
    "loss.CrossEntropy.lcwa": _pykeen_loss("CrossEntropyLoss", "process_lcwa_scores", R(4, 5), torch.randint(0, 2, (4, 5)).float(), label_smoothing=0.1),
    "loss.MarginRanking.lcwa": _pykeen_loss("MarginRankingLoss", "process_lcwa_scores", R(4, 5), torch.randint(0, 2, (4, 5)).float()),
    "loss.Focal": _pykeen_loss("FocalLoss", "forward", R(4, 5), torch.randint(0, 2, (4, 5)).float()),
    "sampling.bernoulli": lambda: ((import_module("pykeen.sampling").BernoulliNegativeSampler(mapped_triples=(f := _triples()).mapped_triples, num_negs_per_pos=2)).sample, (f.mapped_triples,)),
    "sampling.basic.filtered": lambda: ((import_module("pykeen.sampling").BasicNegativeSampler(mapped_triples=(f := _triples()).mapped_triples, filtered=True)).sample, (f.mapped_triples,)),
    "sampling.pseudo": lambda: ((import_module("pykeen.sampling").PseudoTypedNegativeSampler(mapped_triples=(f := _triples()).mapped_triples)).sample, (f.mapped_triples,)),
    "TensorTrain": lambda: (import_module("pykeen.nn.representation").TensorTrainRepresentation(max_id=12, shape=(4,), num_cores=2), (torch.tensor([0, 3, 7]),)),
    "LowRank": lambda: (import_module("pykeen.nn.representation").LowRankRepresentation(max_id=12, shape=(4,), num_bases=2), (torch.tensor([0, 3, 7]),)),
    "TokenUnique": lambda: (import_module("pykeen.nn.representation").Embedding(max_id=12, shape=(4,), unique=True, constrainer="normalize", dropout=0.1), (torch.tensor([0, 3, 3]),)),
    "ranks": lambda: (lambda t, s: import_module("pykeen.evaluation.ranks").Ranks.from_scores(t, s), (R(4, 1), R(4, 6))),
})  # fmt: skip


def _frame() -> Any:
    frame = import_module("torch_frame")
    return frame.TensorFrame(
        {frame.numerical: R(4, 3), frame.categorical: torch.randint(0, 3, (4, 2))},
        {frame.numerical: ["a", "b", "c"], frame.categorical: ["d", "e"]}, torch.tensor([0, 1, 1, 0]),
    )  # fmt: skip


def _table(name: str, numerical: bool = False, **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        frame, stat = import_module("torch_frame"), import_module("torch_frame.data.stats").StatType
        numbers = {stat.MEAN: 0.0, stat.STD: 1.0, stat.QUANTILES: [-2.0, -1.0, 0.0, 1.0, 2.0]}
        stats: dict = dict.fromkeys("abc", numbers)
        stats |= {key: {stat.COUNT: (["x", "y", "z"], [5, 4, 3])} for key in "de"}
        data: Any = _frame()
        names = dict(data.col_names_dict)
        if numerical:
            data = frame.TensorFrame({frame.numerical: R(4, 3)}, {frame.numerical: ["a", "b", "c"]}, torch.tensor([0, 1, 1, 0]))  # fmt: skip
            names = {frame.numerical: ["a", "b", "c"]}
            stats = dict.fromkeys("abc", numbers)
        net = getattr(import_module("torch_frame.nn"), name)(out_channels=2, num_layers=2, col_stats=stats, col_names_dict=names, **kwargs)  # fmt: skip
        return net, (data,)

    return build


each("torch_frame", {
    "MLP": _table("MLP", channels=8),
    "ResNet": _table("ResNet", channels=8),
    "FTTransformer": _table("FTTransformer", channels=8),
    "TabTransformer": _table("TabTransformer", channels=8, num_heads=2, encoder_pad_size=2, attn_dropout=0.1, ffn_dropout=0.1),
    "TabNet": _table("TabNet", split_feat_channels=4, split_attn_channels=4, gamma=1.2),
    "ExcelFormer": _table("ExcelFormer", numerical=True, in_channels=8, num_cols=3, num_heads=2),
    "Trompt": _table("Trompt", channels=8, num_prompts=4),
    "feature_mixup": lambda: (lambda x, y: import_module("torch_frame.nn.models.excelformer").feature_mixup(x, y, num_classes=2, mixup_type="feature", mi_scores=torch.rand(3)), (R(4, 3, 8), torch.tensor([0, 1, 1, 0]))),
    "index": lambda: (lambda i, x: import_module("torch_frame").TensorFrame({import_module("torch_frame").numerical: x}, {import_module("torch_frame").numerical: ["a", "b"]})[i], (torch.tensor([0, 2]), R(4, 2))),
    "cat": lambda: (lambda a, b: import_module("torch_frame").cat([a, b], dim=0), (_frame(), _frame())),
})  # fmt: skip


def _multi(what: str) -> Callable[[], tuple]:
    def build() -> tuple:
        data = import_module("torch_frame.data").MultiNestedTensor.from_tensor_mat([[R(2), R(3)], [R(1), R(2)], [R(0), R(4)]])  # fmt: skip
        call = {
            "rows": lambda i: data[i].values,
            "mask": lambda i: data[i > 0].values,
            "fill": lambda i: data.to_dense(fill_value=0.0),
            "slice": lambda i: data[1:].values,
        }[what]
        return call, (torch.tensor([0, 2, 1]),)

    return build


each("torch_frame", {f"MultiNestedTensor.{what}": _multi(what) for what in ("rows", "mask", "fill", "slice")})  # fmt: skip


def _lattice(name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(import_module("pytorch_lattice.layers"), name)(*args, **kwargs)


def _points() -> Any:
    return import_module("numpy").linspace(0.0, 1.0, 5)


def _enum(name: str) -> Any:
    return getattr(import_module("pytorch_lattice.enums"), name)


def _fitted(name: str) -> tuple:
    config = import_module("pytorch_lattice.models.features")
    features = [
        config.NumericalFeature("a", import_module("numpy").linspace(0.0, 1.0, 9), num_keypoints=5, monotonicity=_enum("Monotonicity").INCREASING),
        config.CategoricalFeature("b", ["x", "y", "z"], monotonicity_pairs=[("x", "y")]),
    ]  # fmt: skip
    return getattr(import_module("pytorch_lattice.models"), name)(features), (torch.stack([torch.rand(4), torch.tensor([0.0, 1, 2, 1])], 1),)  # fmt: skip


each("pytorch_lattice", {
    "NumericalCalibrator": lambda: (_lattice("NumericalCalibrator", _points(), missing_input_value=-1.0, monotonicity=_enum("Monotonicity").INCREASING), (torch.rand(6, 1),)),
    "NumericalCalibrator.learned": lambda: (_lattice("NumericalCalibrator", _points(), input_keypoints_type=_enum("InputKeypointsType").LEARNED), (torch.rand(6, 1),)),
    "CategoricalCalibrator": lambda: (_lattice("CategoricalCalibrator", 3, missing_input_value=-1.0, output_min=0.0, output_max=1.0), (torch.tensor([[0.0], [2.0], [-1.0]]),)),
    "Lattice": lambda: (_lattice("Lattice", [2, 3], output_min=0.0), (torch.rand(4, 2),)),
    "Lattice.simplex": lambda: (_lattice("Lattice", [2, 2, 2], interpolation=_enum("Interpolation").SIMPLEX), (torch.rand(4, 3),)),
    "Linear": lambda: (_lattice("Linear", 3, weighted_average=True), (torch.rand(4, 3).double(),)),
    "RTL": lambda: (_lattice("RTL", [_enum("Monotonicity").INCREASING, None, None], 2, 2), (torch.rand(4, 3),)),
    "CalibratedLinear": lambda: _fitted("CalibratedLinear"),
    "CalibratedLattice": lambda: _fitted("CalibratedLattice"),
    "constrain.calibrator": lambda: (_lattice("NumericalCalibrator", _points(), output_min=0.0, output_max=1.0, monotonicity=_enum("Monotonicity").INCREASING).apply_constraints, ()),
    "constrain.lattice": lambda: (_lattice("Lattice", [2, 3], monotonicities=[_enum("Monotonicity").INCREASING, None], output_min=0.0, output_max=1.0).apply_constraints, ()),
    "assert.lattice": lambda: (_lattice("Lattice", [2, 3], monotonicities=[_enum("Monotonicity").INCREASING, None], output_min=0.0, output_max=1.0).assert_constraints, ()),
    "assert.calibrator": lambda: (_lattice("NumericalCalibrator", _points(), output_min=0.0, monotonicity=_enum("Monotonicity").INCREASING).assert_constraints, ()),
    "constrain.categorical": lambda: (_lattice("CategoricalCalibrator", 3, output_min=0.0, monotonicity_pairs=[(0, 1)]).apply_constraints, ()),
})  # fmt: skip
