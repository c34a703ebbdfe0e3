"""torchmetrics: functional metrics on small inputs, and the update and compute of modules."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

N, C, L = 24, 4, 3


def _binary() -> tuple:
    return torch.rand(N), torch.randint(0, 2, (N,))


def _classes() -> tuple:
    return torch.randn(N, C).softmax(-1), torch.randint(0, C, (N,))


def _labels() -> tuple:
    return torch.rand(N, L), torch.randint(0, 2, (N, L))


def _reals() -> tuple:
    return torch.rand(N) + 0.1, torch.rand(N) + 0.1


def _vectors() -> tuple:
    return torch.randn(N, 5), torch.randn(N, 5)


def _images() -> tuple:
    return torch.rand(2, 3, 48, 48), torch.rand(2, 3, 48, 48)


def _audio() -> tuple:
    return torch.randn(2, 400), torch.randn(2, 400)


def _clusters() -> tuple:
    return torch.randint(0, C, (N,)), torch.randint(0, C, (N,))


def _embedded() -> tuple:
    return torch.randn(N, 3), torch.randint(0, C, (N,))


def _retrieval() -> tuple:
    return torch.rand(N), torch.randint(0, 2, (N,))


def _ratings() -> tuple:
    return (torch.randint(0, 5, (10, 4)),)


def _distributions() -> tuple:
    return torch.rand(N, C).softmax(-1), torch.rand(N, C).softmax(-1)


def _boxes() -> tuple:
    a, b = torch.rand(5, 4) * 10, torch.rand(6, 4) * 10
    return torch.cat([a[:, :2], a[:, :2] + a[:, 2:]], 1), torch.cat(
        [b[:, :2], b[:, :2] + b[:, 2:]], 1
    )


def _detections() -> tuple:
    boxes = _boxes()
    found = {"boxes": boxes[0], "scores": torch.rand(5), "labels": torch.randint(0, 2, (5,))}
    return [found], [{"boxes": boxes[1], "labels": torch.randint(0, 2, (6,))}]


def _masks() -> tuple:
    return torch.randint(0, 2, (2, C, 12, 12)), torch.randint(0, 2, (2, C, 12, 12))


# module below torchmetrics.functional, names, inputs, keyword arguments
FUNCTIONS: list[tuple[str, str, Callable[[], tuple], dict]] = [
    (
        "classification",
        "binary_accuracy binary_auroc binary_average_precision binary_calibration_error "
        "binary_cohen_kappa binary_confusion_matrix binary_eer binary_f1_score binary_hinge_loss "
        "binary_jaccard_index binary_logauc binary_matthews_corrcoef binary_precision_recall_curve "
        "binary_roc binary_specificity binary_stat_scores binary_hamming_distance",
        _binary,
        {},
    ),
    (
        "classification",
        "binary_precision_recall_curve binary_roc binary_auroc",
        _binary,
        {"thresholds": 5},
    ),
    (
        "classification",
        "binary_recall_at_fixed_precision",
        _binary,
        {"min_precision": 0.5},
    ),
    ("classification", "binary_precision_at_fixed_recall", _binary, {"min_recall": 0.5}),
    ("classification", "binary_specificity_at_sensitivity", _binary, {"min_sensitivity": 0.5}),
    ("classification", "binary_sensitivity_at_specificity", _binary, {"min_specificity": 0.5}),
    ("classification", "binary_fairness", lambda: (*_binary(), torch.randint(0, 2, (N,))), {}),
    (
        "classification",
        "multiclass_accuracy multiclass_auroc multiclass_average_precision "
        "multiclass_calibration_error multiclass_cohen_kappa multiclass_confusion_matrix "
        "multiclass_exact_match multiclass_f1_score multiclass_hinge_loss multiclass_jaccard_index "
        "multiclass_matthews_corrcoef multiclass_precision_recall_curve multiclass_roc "
        "multiclass_stat_scores multiclass_specificity",
        _classes,
        {"num_classes": C},
    ),
    (
        "classification",
        "multiclass_accuracy multiclass_confusion_matrix multiclass_stat_scores",
        _classes,
        {"num_classes": C, "ignore_index": 0},
    ),
    ("classification", "multiclass_roc", _classes, {"num_classes": C, "thresholds": 5}),
    (
        "classification",
        "multilabel_accuracy multilabel_auroc multilabel_average_precision "
        "multilabel_confusion_matrix multilabel_coverage_error multilabel_exact_match "
        "multilabel_f1_score multilabel_ranking_average_precision multilabel_ranking_loss "
        "multilabel_precision_recall_curve multilabel_jaccard_index multilabel_matthews_corrcoef",
        _labels,
        {"num_labels": L},
    ),
    (
        "classification",
        "multilabel_average_precision",
        _labels,
        {"num_labels": L, "ignore_index": 0},
    ),
    (
        "classification",
        "binary_group_stat_rates",
        lambda: (*_binary(), torch.randint(0, 2, (N,))),
        {"num_groups": 2},
    ),
    (
        "regression",
        "concordance_corrcoef explained_variance kendall_rank_corrcoef log_cosh_error "
        "mean_absolute_error mean_absolute_percentage_error mean_squared_error "
        "mean_squared_log_error minkowski_distance pearson_corrcoef r2_score relative_squared_error "
        "spearman_corrcoef symmetric_mean_absolute_percentage_error tweedie_deviance_score "
        "weighted_mean_absolute_percentage_error critical_success_index "
        "normalized_root_mean_squared_error",
        _reals,
        {},
    ),
    ("regression", "minkowski_distance", _reals, {"p": 3}),
    ("regression", "critical_success_index", _reals, {"threshold": 0.5}),
    ("regression", "kendall_rank_corrcoef", _reals, {"t_test": True, "alternative": "two-sided"}),
    ("regression", "tweedie_deviance_score", _reals, {"power": 1.5}),
    ("regression", "tweedie_deviance_score", _reals, {"power": 1.0}),
    ("regression", "cosine_similarity explained_variance r2_score", _vectors, {}),
    ("regression", "kl_divergence jensen_shannon_divergence", _distributions, {}),
    (
        "image",
        "error_relative_global_dimensionless_synthesis peak_signal_noise_ratio "
        "relative_average_spectral_error root_mean_squared_error_using_sliding_window "
        "spectral_angle_mapper spectral_distortion_index structural_similarity_index_measure "
        "universal_image_quality_index visual_information_fidelity "
        "spatial_correlation_coefficient",
        _images,
        {},
    ),
    ("image", "total_variation image_gradients", lambda: (torch.rand(2, 3, 16, 16),), {}),
    ("image", "peak_signal_noise_ratio", _images, {"data_range": (0.0, 1.0)}),
    (
        "image",
        "structural_similarity_index_measure",
        _images,
        {"gaussian_kernel": False, "data_range": 1.0},
    ),
    (
        "image",
        "multiscale_structural_similarity_index_measure",
        lambda: (torch.rand(1, 1, 180, 180), torch.rand(1, 1, 180, 180)),
        {"data_range": 1.0},
    ),
    (
        "image",
        "peak_signal_noise_ratio_with_blocked_effect",
        lambda: (torch.rand(1, 1, 16, 16),) * 2,
        {},
    ),
    (
        "audio",
        "scale_invariant_signal_distortion_ratio scale_invariant_signal_noise_ratio "
        "signal_noise_ratio signal_distortion_ratio",
        _audio,
        {},
    ),
    (
        "audio",
        "source_aggregated_signal_distortion_ratio",
        lambda: (torch.randn(2, 2, 400),) * 2,
        {},
    ),
    (
        "clustering",
        "adjusted_mutual_info_score adjusted_rand_score completeness_score fowlkes_mallows_index "
        "homogeneity_score mutual_info_score normalized_mutual_info_score rand_score "
        "v_measure_score",
        _clusters,
        {},
    ),
    ("clustering", "calinski_harabasz_score davies_bouldin_score dunn_index", _embedded, {}),
    ("clustering", "cluster_accuracy", _clusters, {"num_classes": C}),
    (
        "retrieval",
        "retrieval_average_precision retrieval_auroc retrieval_fall_out retrieval_hit_rate "
        "retrieval_normalized_dcg retrieval_precision retrieval_precision_recall_curve "
        "retrieval_r_precision retrieval_recall retrieval_reciprocal_rank",
        _retrieval,
        {},
    ),
    ("nominal", "cramers_v pearsons_contingency_coefficient theils_u tschuprows_t", _clusters, {}),
    ("nominal", "fleiss_kappa", _ratings, {}),
    (
        "detection",
        "intersection_over_union generalized_intersection_over_union "
        "distance_intersection_over_union complete_intersection_over_union",
        _boxes,
        {},
    ),
    ("segmentation", "dice_score generalized_dice_score mean_iou", _masks, {"num_classes": C}),
    ("segmentation", "hausdorff_distance", _masks, {"num_classes": C}),
    (
        "pairwise",
        "pairwise_cosine_similarity pairwise_euclidean_distance pairwise_linear_similarity "
        "pairwise_manhattan_distance",
        _vectors,
        {},
    ),
    (
        "text",
        "perplexity",
        lambda: (torch.randn(2, 6, C), torch.randint(0, C, (2, 6))),
        {"ignore_index": 1},
    ),
]

# module below torchmetrics, names, inputs, keyword arguments of the constructor
MODULES: list[tuple[str, str, Callable[[], tuple], dict]] = [
    (
        "classification",
        "BinaryAccuracy BinaryAUROC BinaryCalibrationError BinaryF1Score",
        _binary,
        {},
    ),
    (
        "classification",
        "MulticlassAccuracy MulticlassConfusionMatrix",
        _classes,
        {"num_classes": C},
    ),
    ("classification", "MultilabelRankingLoss MultilabelF1Score", _labels, {"num_labels": L}),
    (
        "regression",
        "MeanSquaredError PearsonCorrCoef SpearmanCorrCoef R2Score ExplainedVariance "
        "ConcordanceCorrCoef LogCoshError",
        _reals,
        {},
    ),
    (
        "aggregation",
        "MeanMetric SumMetric MaxMetric CatMetric RunningMean",
        lambda: (torch.rand(N),),
        {},
    ),
    ("image", "PeakSignalNoiseRatio StructuralSimilarityIndexMeasure TotalVariation", _images, {}),
    ("audio", "ScaleInvariantSignalDistortionRatio", _audio, {}),
    ("clustering", "RandScore", _clusters, {}),
    ("detection", "IntersectionOverUnion", _detections, {}),
    (
        "retrieval",
        "RetrievalMRR RetrievalNormalizedDCG",
        lambda: (*_retrieval(), torch.arange(N) // 6),
        {},
    ),
]


def _function(
    module: str, name: str, inputs: Callable[[], tuple], kwargs: dict
) -> Callable[[], tuple]:
    def build() -> tuple:
        function = getattr(import_module(f"torchmetrics.functional.{module}"), name)
        return function, inputs(), kwargs

    return build


def _step(
    module: str, name: str, inputs: Callable[[], tuple], kwargs: dict, whole: bool
) -> Callable[[], tuple]:
    def build() -> tuple:
        metric = getattr(import_module(f"torchmetrics.{module}"), name)(**kwargs)

        def update(*args: object) -> object:
            metric.update(*args)
            return metric.compute()

        return (metric if whole else update), inputs()

    return build


for _module, _names, _inputs, _kwargs in FUNCTIONS:
    for _name in _names.split():
        _options = "".join(f"+{key}={value}" for key, value in _kwargs.items() if "num_" not in key)
        _id = f"{_name}{_options}({_inputs.__name__.strip('_<>')})"
        add("torchmetrics", _id, _function(_module, _name, _inputs, _kwargs))
for _module, _names, _inputs, _kwargs in MODULES:
    for _name in _names.split():
        add(
            "torchmetrics",
            f"{_name}.update+compute",
            _step(_module, _name, _inputs, _kwargs, False),
        )
        add(
            "torchmetrics",
            f"{_name}.forward",
            _step(_module, _name, _inputs, _kwargs, True),
            modes=("eval",),
        )
