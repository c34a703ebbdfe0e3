"""Metrics, and maps of points to the plane."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add, each

R = torch.randn


def _labels(count: int = 12, top: int = 3) -> torch.Tensor:
    return torch.randint(0, top, (count,))


_BINARY = "binary_accuracy binary_auprc binary_auroc binary_binned_auprc binary_binned_auroc binary_binned_precision_recall_curve binary_confusion_matrix binary_f1_score binary_normalized_entropy binary_precision binary_precision_recall_curve binary_recall".split()
_MULTI = "multiclass_accuracy multiclass_auprc multiclass_auroc multiclass_binned_auprc multiclass_binned_auroc multiclass_binned_precision_recall_curve multiclass_confusion_matrix multiclass_f1_score multiclass_precision multiclass_precision_recall_curve multiclass_recall".split()


def _metric(name: str, *args: object, **kwargs: object) -> tuple:
    return lambda *a: getattr(import_module("torcheval.metrics.functional"), name)(
        *a, **kwargs
    ), args


for _name in _BINARY:
    add(
        "torcheval",
        _name,
        lambda n=_name: _metric(
            n,
            torch.rand(12),
            torch.randint(0, 2, (12,)).to(torch.float if "entropy" in n else torch.long),
        ),
    )
for _name in _MULTI:
    add("torcheval", _name, lambda n=_name: _metric(n, torch.rand(12, 3), _labels(), num_classes=3))
each("torcheval", {
    "auc": lambda: _metric("auc", torch.rand(6), torch.rand(6), reorder=True),
    "multilabel_accuracy": lambda: _metric("multilabel_accuracy", torch.rand(6, 3), torch.randint(0, 2, (6, 3)), criteria="hamming"),
    "multilabel_auprc": lambda: _metric("multilabel_auprc", torch.rand(6, 3), torch.randint(0, 2, (6, 3)), num_labels=3),
    "multilabel_precision_recall_curve": lambda: _metric("multilabel_precision_recall_curve", torch.rand(6, 3), torch.randint(0, 2, (6, 3)), num_labels=3),
    "multilabel_recall_at_fixed_precision": lambda: _metric("multilabel_recall_at_fixed_precision", torch.rand(6, 3), torch.randint(0, 2, (6, 3)), num_labels=3, min_precision=0.4),
    "binary_recall_at_fixed_precision": lambda: _metric("binary_recall_at_fixed_precision", torch.rand(6), torch.randint(0, 2, (6,)), min_precision=0.4),
    "topk_multilabel_accuracy": lambda: _metric("topk_multilabel_accuracy", torch.rand(6, 4), torch.randint(0, 2, (6, 4)), k=2),
    "multiclass_f1.macro": lambda: _metric("multiclass_f1_score", torch.rand(12, 3), _labels(), num_classes=3, average="macro"),
    "multiclass_f1.weighted": lambda: _metric("multiclass_f1_score", torch.rand(12, 3), _labels(), num_classes=3, average="weighted"),
    "multiclass_precision.macro": lambda: _metric("multiclass_precision", torch.rand(12, 3), _labels(), num_classes=3, average="macro"),
    "multiclass_recall.weighted": lambda: _metric("multiclass_recall", torch.rand(12, 3), _labels(), num_classes=3, average="weighted"),
    "mean_squared_error": lambda: _metric("mean_squared_error", R(6, 2), R(6, 2), multioutput="raw_values"),
    "r2_score": lambda: _metric("r2_score", R(6), R(6)),
    "r2_score.weighted": lambda: _metric("r2_score", R(6, 2), R(6, 2), multioutput="variance_weighted", num_regressors=1),
    "psnr": lambda: _metric("peak_signal_noise_ratio", torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8)),
    "click_through_rate": lambda: _metric("click_through_rate", torch.randint(0, 2, (2, 6))),
    "frequency_at_k": lambda: _metric("frequency_at_k", torch.rand(6), 0.5),
    "hit_rate": lambda: _metric("hit_rate", torch.rand(6, 4), _labels(6, 4), k=2),
    "num_collisions": lambda: _metric("num_collisions", _labels()),
    "reciprocal_rank": lambda: _metric("reciprocal_rank", torch.rand(6, 4), _labels(6, 4), k=2),
    "retrieval_precision": lambda: _metric("retrieval_precision", torch.rand(6), torch.randint(0, 2, (6,)), k=2),
    "weighted_calibration": lambda: _metric("weighted_calibration", torch.rand(6), torch.randint(0, 2, (6,))),
    "perplexity": lambda: _metric("perplexity", torch.rand(2, 5, 7), torch.randint(0, 7, (2, 5)), ignore_index=1),
    "bleu_score": lambda: _metric("bleu_score", ["the cat sat on the mat"], [["the cat sat on a mat"]]),
    "word_error_rate": lambda: _metric("word_error_rate", ["hello world"], ["hello there"]),
    "throughput": lambda: _metric("throughput", 64, 2.0),
})  # fmt: skip


def _stateful(name: str, *args: torch.Tensor, **kwargs: object) -> tuple:
    metric = getattr(import_module("torcheval.metrics"), name)(**kwargs)

    def run(*inputs: torch.Tensor) -> object:
        metric.update(*inputs)
        return metric.compute()

    return run, args


for _name, _kwargs in {
    "MulticlassAccuracy": {},
    "MulticlassConfusionMatrix": {"num_classes": 3},
    "MulticlassAUROC": {"num_classes": 3},
}.items():
    add(
        "torcheval",
        _name,
        lambda n=_name, k=_kwargs: _stateful(n, torch.rand(12, 3), _labels(), **k),
    )
for _name in ("BinaryAUROC", "BinaryAccuracy", "BinaryPrecisionRecallCurve"):
    add(
        "torcheval", _name, lambda n=_name: _stateful(n, torch.rand(12), torch.randint(0, 2, (12,)))
    )
each("torcheval", {
    "Mean": lambda: _stateful("Mean", R(6)),
    "Covariance": lambda: _stateful("Covariance", R(6, 2)),
    "WindowedMeanSquaredError": lambda: _stateful("WindowedMeanSquaredError", R(6), R(6)),
    "MeanSquaredError": lambda: _stateful("MeanSquaredError", R(6), R(6)),
    "R2Score": lambda: _stateful("R2Score", R(6), R(6)),
})  # fmt: skip


def _ignite(name: str, *args: torch.Tensor, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        metric = getattr(import_module("ignite.metrics"), name)(**kwargs)

        def run(*inputs: torch.Tensor) -> object:
            metric.reset()
            metric.update(inputs)
            return metric.compute()

        return run, args

    return build


each("ignite", {
    "Accuracy": _ignite("Accuracy", torch.rand(12, 3), _labels()),
    "Accuracy.multilabel": _ignite("Accuracy", torch.randint(0, 2, (6, 3)), torch.randint(0, 2, (6, 3)), is_multilabel=True),
    "Precision": _ignite("Precision", torch.rand(12, 3), _labels()),
    "Recall": _ignite("Recall", torch.rand(12, 3), _labels(), average="macro"),
    "ConfusionMatrix": _ignite("ConfusionMatrix", torch.rand(12, 3), _labels(), num_classes=3),
    "TopK": _ignite("TopKCategoricalAccuracy", torch.rand(12, 6), _labels(12, 6), k=2),
    "MeanAbsoluteError": _ignite("MeanAbsoluteError", R(6, 1), R(6, 1)),
    "MeanPairwiseDistance": _ignite("MeanPairwiseDistance", R(6, 2), R(6, 2)),
    "RootMeanSquaredError": _ignite("RootMeanSquaredError", R(6), R(6)),
    "PSNR": _ignite("PSNR", torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8), data_range=1.0),
    "SSIM": _ignite("SSIM", torch.rand(2, 3, 16, 16), torch.rand(2, 3, 16, 16), data_range=1.0),
    "Entropy": _ignite("Entropy", torch.rand(6, 3), _labels(6)),
    "KLDivergence": _ignite("KLDivergence", torch.rand(6, 3), torch.rand(6, 3)),
    "JSDivergence": _ignite("JSDivergence", torch.rand(6, 3), torch.rand(6, 3)),
    "MutualInformation": _ignite("MutualInformation", torch.rand(6, 3), _labels(6)),
    "MaximumMeanDiscrepancy": _ignite("MaximumMeanDiscrepancy", R(6, 3), R(6, 3)),
    "HSIC": _ignite("HSIC", R(6, 3), R(6, 3)),
    "CosineSimilarity": _ignite("CosineSimilarity", R(6, 3), R(6, 3)),
    "Perplexity": _ignite("Perplexity", R(2, 7, 5), torch.randint(0, 7, (2, 5))),
    "HitRate": _ignite("HitRate", torch.rand(4, 6), torch.randint(0, 2, (4, 6)), top_k=[1, 2]),
    "NDCG": _ignite("NDCG", torch.rand(4, 6), torch.randint(0, 2, (4, 6)), top_k=[2]),
    "ROC_AUC": _ignite("ROC_AUC", torch.rand(12), torch.randint(0, 2, (12,))),
})  # fmt: skip


def _drop(name: str, **kwargs: object) -> tuple:
    return lambda x: getattr(import_module("torchdr"), name)(**kwargs)(x), (R(12, 4),)


def _fit(name: str, **kwargs: object) -> tuple:
    return lambda x: getattr(import_module("torchdr"), name)(**kwargs).fit_transform(x), (R(12, 4),)


each("torchdr", {
    **{f"affinity.{n}": (lambda n=n, k=k: _drop(n, **k)) for n, k in {
        "NormalizedGaussianAffinity": {}, "NormalizedStudentAffinity": {}, "EntropicAffinity": {"perplexity": 3, "max_iter": 5, "sparsity": False},
        "MAGICAffinity": {"K": 3}, "SelfTuningAffinity": {"K": 3}, "SinkhornAffinity": {"max_iter": 5},
        "SymmetricEntropicAffinity": {"perplexity": 3, "max_iter": 3}, "UMAPAffinity": {"n_neighbors": 4, "sparsity": False, "max_iter": 5}, "DoublyStochasticQuadraticAffinity": {"max_iter": 5}, "PHATEAffinity": {"k": 3, "t": 2},
    }.items()},
    "EntropicAffinity.sparse": lambda: _drop("EntropicAffinity", perplexity=2, max_iter=5, sparsity=True),
    **{f"fit.{n}": (lambda n=n, k=k: _fit(n, **k)) for n, k in {
        "PCA": {"n_components": 2}, "KernelPCA": {"n_components": 2}, "IncrementalPCA": {"n_components": 2, "batch_size": 6}, "ExactIncrementalPCA": {"n_components": 2},
        "TSNE": {"perplexity": 3, "max_iter": 2, "max_iter_affinity": 2}, "SNE": {"perplexity": 3, "max_iter": 2, "max_iter_affinity": 2}, "UMAP": {"n_neighbors": 4, "max_iter": 2, "max_iter_affinity": 2}, "LargeVis": {"perplexity": 3, "max_iter": 2, "max_iter_affinity": 2},
    }.items()},
    "pairwise": lambda: (lambda x: import_module("torchdr").pairwise_distances(x, metric="sqeuclidean", k=3), (R(12, 4),)),
    "pairwise.angular": lambda: (lambda x: import_module("torchdr").pairwise_distances(x, metric="angular", exclude_diag=True), (R(12, 4),)),
    "silhouette": lambda: (lambda x, y: import_module("torchdr").silhouette_score(x, y), (R(12, 4), _labels())),
    "neighborhood": lambda: (lambda x, y: import_module("torchdr").neighborhood_preservation(x, y, K=3), (R(12, 4), R(12, 2))),
    "knn_label": lambda: (lambda x, y: import_module("torchdr").knn_label_accuracy(x, y, k=3), (R(12, 4), _labels())),
    "kmeans_ari": lambda: (lambda x, y: import_module("torchdr").kmeans_ari(x, y, n_clusters=3), (R(12, 4), _labels())),
    "binary_search": lambda: (lambda: import_module("torchdr").binary_search(lambda x: x**2 - 2, 3, begin=torch.zeros(3), end=None, max_iter=5), ()),
    "false_position": lambda: (lambda: import_module("torchdr").false_position(lambda x: x**2 - 2, 3, begin=torch.zeros(3), end=None, max_iter=5), ()),
    "kmin": lambda: (lambda x: import_module("torchdr.utils").kmin(x, 3, dim=1), (R(6, 6),)),
    "center_kernel": lambda: (lambda x: import_module("torchdr.utils").center_kernel(x), (R(6, 6),)),
    "svd_flip": lambda: (lambda x: import_module("torchdr.utils").svd_flip(*torch.linalg.svd(x, full_matrices=False)[::2]), (R(6, 4),)),
})  # fmt: skip
