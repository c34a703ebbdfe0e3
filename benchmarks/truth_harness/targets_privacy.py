"""Private training, quantized layers, meta-optimizers and offline agents."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from registry import each
from targets_timm import optimizer_step

R = torch.randn


def _net() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))


def _private(name: str = "DPOptimizer", **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        net = import_module("opacus.grad_sample").GradSampleModule(_net())
        net(R(5, 4)).pow(2).sum().backward()
        wrapped = getattr(import_module("opacus.optimizers"), name)(
            torch.optim.SGD(net.parameters(), 0.1), noise_multiplier=1.0, expected_batch_size=5,
            **({"max_grad_norm": 1.0} | kwargs),
        )  # fmt: skip
        return wrapped.step, ()

    return build


def _sampled(layer: str, shape: tuple[int, ...], *args: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        module = getattr(torch.nn, layer)(*args)
        samplers = import_module("opacus.grad_sample").GradSampleModule.GRAD_SAMPLERS
        x = R(*shape) if layer != "Embedding" else torch.randint(0, 5, shape)
        grads = R(*module(x).shape)
        return lambda a, b: samplers[type(module)](module, [a], b), (x, grads)

    return build


def _recurrent(name: str, **kwargs: Any) -> Callable[[], tuple]:
    return lambda: (getattr(import_module("opacus.layers"), name)(4, 6, batch_first=True, **kwargs), (R(3, 5, 4),))  # fmt: skip


each("opacus", {
    "DPOptimizer": _private(),
    "DPPerLayerOptimizer": _private("DPPerLayerOptimizer", max_grad_norm=[1.0, 1.0, 1.0, 1.0]),
    "AdaClipDPOptimizer": _private("AdaClipDPOptimizer", target_unclipped_quantile=0.5, clipbound_learning_rate=0.2, max_clipbound=10.0, min_clipbound=0.1, unclipped_num_std=1.0),
    "GradSampleModule": lambda: (import_module("opacus.grad_sample").GradSampleModule(_net()), (R(5, 4),)),
    "DPLSTM": _recurrent("DPLSTM", num_layers=2, bidirectional=True),
    "DPGRU": _recurrent("DPGRU"),
    "DPRNN.packed": lambda: (
        lambda x: _recurrent("DPRNN")()[0](torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3, 2]), batch_first=True)), (R(3, 5, 4),)
    ),
    "DPMultiheadAttention": lambda: (import_module("opacus.layers").DPMultiheadAttention(8, 2), (R(5, 2, 8), R(5, 2, 8), R(5, 2, 8))),
    "DPMultiheadAttention.masked": lambda: (import_module("opacus.layers").DPMultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True), (R(5, 2, 8), R(5, 2, 8), R(5, 2, 8)), {"key_padding_mask": torch.zeros(2, 5, dtype=torch.bool), "attn_mask": torch.zeros(5, 5, dtype=torch.bool)}),
    "sample.Conv2d": _sampled("Conv2d", (2, 3, 6, 6), 3, 4, 3),
    "sample.Embedding": _sampled("Embedding", (2, 3), 5, 4),
    "sample.GroupNorm": _sampled("GroupNorm", (2, 4, 3), 2, 4),
    "clipping.embedding": lambda: (lambda x, g: import_module("opacus.grad_sample.embedding_norm_sample").compute_embedding_norm_sample(torch.nn.Embedding(6, 4), [x], g), (torch.tensor([[1, 2], [2, 3], [4, 4]]), R(3, 2, 4))),
}, grad=True)  # fmt: skip


def _hqq(**kwargs: Any) -> Callable[[], tuple]:
    return lambda: (
        lambda w: import_module("hqq.core.quantize").Quantizer.quantize(w, device="cpu", compute_dtype=torch.float32, **kwargs)[0], (R(16, 16),)
    )  # fmt: skip


def _hqq_linear(nbits: int) -> Callable[[], tuple]:
    def build() -> tuple:
        hqq = import_module("hqq.core.quantize")
        config = hqq.BaseQuantizeConfig(nbits=nbits, group_size=16)
        return hqq.HQQLinear(torch.nn.Linear(16, 16), config, compute_dtype=torch.float32, device="cpu"), (R(3, 16),)  # fmt: skip

    return build


each("hqq", {
    "quantize.4": _hqq(nbits=4, group_size=16),
    "quantize.3.axis1": _hqq(nbits=3, group_size=16, axis=1),
    "quantize.2.float": _hqq(nbits=2, group_size=16, view_as_float=True, round_zero=True),
    "quantize.tensor": _hqq(nbits=8, group_size=None, channel_wise=False),
    "HQQLinear.4": _hqq_linear(4),
    "HQQLinear.3": _hqq_linear(3),
    "pack.3bit": lambda: (lambda w: import_module("hqq.core.bitpack").BitPack.pack_3bit_32(w), (torch.randint(0, 8, (20, 4)),)),
    "optimize.legacy": lambda: (lambda w: import_module("hqq.core.optimize").optimize_weights_proximal_legacy(w, torch.ones(16, 1) * 3, torch.ones(16, 1), [0, 15], axis=1, device="cpu"), (R(16, 16),)),
    "scale.median": lambda: (lambda w: import_module("hqq.core.optimize").update_scale_inverse_median(w, torch.ones(16, 1) * 3, torch.ones(16, 1), 1, [0, 15]), (R(16, 16),)),
})  # fmt: skip


def _quanto(frozen: bool, **kwargs: str) -> Callable[[], tuple]:
    def build() -> tuple:
        quanto = import_module("optimum.quanto")
        net = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.LayerNorm(32), torch.nn.Linear(32, 8))  # fmt: skip
        quanto.quantize(net, **{key: getattr(quanto, name) for key, name in kwargs.items()})
        with quanto.Calibration():
            net(R(4, 32))
        if frozen:
            quanto.freeze(net)
        return net, (R(4, 32),)

    return build


each("optimum", {
    "qint8": _quanto(False, weights="qint8"),
    "qint8.frozen": _quanto(True, weights="qint8"),
    "qint8.activations": _quanto(True, weights="qint8", activations="qint8"),
    "qint4": _quanto(False, weights="qint4"),
    "quantize_weight.4": lambda: (lambda w: import_module("optimum.quanto").quantize_weight(w, import_module("optimum.quanto").qint4, 0, *import_module("optimum.quanto").MaxOptimizer()(w, import_module("optimum.quanto").qint4, 0, 16), group_size=16).dequantize(), (R(8, 32),)),
    "quantize_weight.8": lambda: (lambda w: import_module("optimum.quanto").quantize_weight(w, import_module("optimum.quanto").qint8, 0, import_module("optimum.quanto").AbsmaxOptimizer()(w, import_module("optimum.quanto").qint8, 0)).dequantize(), (R(8, 32),)),
    "HqqOptimizer": lambda: (lambda w: import_module("optimum.quanto.tensor.optimizers").HqqOptimizer()(w, import_module("optimum.quanto").qint4, 0, 16), (R(8, 32),)),
    "absmax_scale": lambda: (lambda w: import_module("optimum.quanto").absmax_scale(w, axis=0), (R(8, 32),)),
    "group": lambda: (lambda w: import_module("optimum.quanto.tensor.grouped").ungroup(import_module("optimum.quanto.tensor.grouped").group(w, 0, 16), 0, w.shape), (R(8, 32),)),
    "pack": lambda: (lambda w: import_module("optimum.quanto.tensor.packed").PackedTensor.pack(w, bits=4).unpack(), (torch.randint(0, 15, (8, 4), dtype=torch.uint8),)),
})  # fmt: skip


def _brevitas(name: str, *args: Any, quant: str | None = None, **kwargs: Any) -> Callable[[], Any]:  # fmt: skip
    def build() -> Any:
        if quant:
            key, module, what = quant.split(":")
            kwargs[key] = getattr(import_module("brevitas.quant." + module), what)
        return getattr(import_module("brevitas.nn"), name)(*args, **kwargs)

    return build


each("brevitas", {
    "QuantLinear": lambda: (_brevitas("QuantLinear", 4, 6)(), (R(3, 4),)),
    "QuantLinear.tensor": lambda: (_brevitas("QuantLinear", 4, 6, quant="input_quant:scaled_int:Int8ActPerTensorFloat", return_quant_tensor=True)(), (R(3, 4),)),
    "QuantConv2d.channel": lambda: (_brevitas("QuantConv2d", 3, 4, 3, quant="weight_quant:scaled_int:Int8WeightPerChannelFloat")(), (R(2, 3, 6, 6),)),
    "QuantLinear.fixed": lambda: (_brevitas("QuantLinear", 4, 6, quant="weight_quant:fixed_point:Int8WeightPerTensorFixedPoint")(), (R(3, 4),)),
    "QuantLinear.shifted": lambda: (_brevitas("QuantLinear", 4, 6, quant="weight_quant:shifted_scaled_int:ShiftedUint8WeightPerTensorFloat")(), (R(3, 4),)),
    "QuantReLU": lambda: (_brevitas("QuantReLU", bit_width=4)(), (R(3, 4),)),
    "QuantIdentity.tensor": lambda: (_brevitas("QuantIdentity", return_quant_tensor=True)(), (R(3, 4),)),
    "QuantLSTM": lambda: (_brevitas("QuantLSTM", 4, 6)(), (R(5, 2, 4),)),
    "QuantMultiheadAttention": lambda: (_brevitas("QuantMultiheadAttention", 8, 2, packed_in_proj=False)(), (R(5, 2, 8), R(5, 2, 8), R(5, 2, 8))),
    "TruncAvgPool2d": lambda: (torch.nn.Sequential(_brevitas("QuantIdentity", return_quant_tensor=True)(), _brevitas("TruncAvgPool2d", 2)()), (R(2, 3, 4, 4),)),
    "QuantEltwiseAdd": lambda: (_brevitas("QuantEltwiseAdd")(), (R(3, 4), R(3, 4))),
    "QuantEmbedding": lambda: (_brevitas("QuantEmbedding", 6, 4)(), (torch.tensor([1, 2]),)),
})  # fmt: skip


def _impl(name: str, **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        impl = getattr(import_module("torchopt"), name)(lr=0.1, **kwargs)
        params = (R(3, 4), R(5))
        state = impl.init(params)
        return lambda g: impl.update(g, state, params=params, inplace=False), ((R(3, 4), R(5)),)

    return build


def _meta(name: str, **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        net = _net()
        optimizer = getattr(import_module("torchopt"), name)(net, lr=0.1, **kwargs)
        return lambda x: optimizer.step(net(x).pow(2).sum()), (R(5, 4),)

    return build


each("torchopt", {
    **{name: _impl(name) for name in ("sgd", "adam", "adamw", "rmsprop", "adagrad", "radam")},
    "sgd.nesterov": _impl("sgd", momentum=0.9, nesterov=True, weight_decay=0.1),
    "adam.schedule": lambda: _impl("adam", weight_decay=0.1, maximize=True)(),
    "MetaSGD": _meta("MetaSGD", momentum=0.9),
    "MetaAdam": _meta("MetaAdam"),
    "Adam.step": optimizer_step(lambda p: import_module("torchopt").Adam(p, lr=0.1)),
    "clip_grad_norm": lambda: (lambda g: import_module("torchopt").clip.clip_grad_norm(1.0).update([g], (), inplace=False), (R(4),)),
    "clip.error": lambda: (lambda g: import_module("torchopt").clip.clip_grad_norm(1.0, error_if_nonfinite=True).update([g], (), inplace=False), (R(4),)),
    "exponential_decay": lambda: (lambda t: import_module("torchopt").schedule.exponential_decay(1.0, 0.5, 4, transition_begin=1, staircase=True)(t), (torch.tensor(3),)),
    "polynomial_schedule": lambda: (lambda t: import_module("torchopt").schedule.polynomial_schedule(1.0, 0.1, 2.0, 10)(t), (torch.tensor(3),)),
    "cg": lambda: (lambda b: import_module("torchopt").linalg.cg(lambda x: 2 * x, b, maxiter=4), (R(4),)),
    "ns_inv": lambda: (lambda a: import_module("torchopt").linalg.ns_inv(a, maxiter=5), (torch.eye(3) * 0.5,)),
    "zero_order": lambda: (lambda x: import_module("torchopt").diff.zero_order.zero_order(distribution=lambda shape: torch.randn(shape), method="naive", argnums=0, num_samples=3)(lambda p: (p**2).sum())(x), (R(4).requires_grad_(),)),
}, grad=True)  # fmt: skip
each("madgrad", {
    f"{name}{'+' * bool(kwargs)}{''.join(kwargs)}": optimizer_step(lambda p, n=name, k=kwargs: getattr(import_module("madgrad"), n)(p, lr=0.1, **k))
    for name in ("MADGRAD", "MirrorMADGRAD") for kwargs in ({}, {"weight_decay": 0.1}, {"momentum": 0.0})
})  # fmt: skip
each("came_pytorch", {
    f"CAME{'+' * bool(kwargs)}{''.join(kwargs)}": optimizer_step(lambda p, k=kwargs: import_module("came_pytorch").CAME(p, lr=0.1, **k))
    for kwargs in ({}, {"weight_decay": 0.1}, {"clip_threshold": 0.5})
})  # fmt: skip


def _q(kind: str, module: str, *sizes: int, **kwargs: Any) -> Any:
    encoders = import_module("d3rlpy.models.torch.encoders")
    functions = import_module(f"d3rlpy.models.torch.q_functions.{module}")
    if kind.startswith("Discrete"):
        return getattr(functions, kind)(encoders.VectorEncoder((4,), [8]), 8, 3, **kwargs)
    return getattr(functions, kind)(encoders.VectorEncoderWithAction((4,), 2, [8]), 8, **kwargs)


def _q_error(kind: str, module: str, discrete: bool, **kwargs: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        function = _q(kind, module, **kwargs)
        taus = kwargs.get("n_quantiles", 1)
        forwarder = getattr(import_module(f"d3rlpy.models.torch.q_functions.{module}"), kind + "Forwarder")(function, taus)  # fmt: skip
        action = torch.tensor([[0], [1], [2]]) if discrete else R(3, 2)
        return lambda *a: forwarder.compute_error(observations=a[0], actions=a[1], rewards=a[2], target=a[3], terminals=a[4], gamma=0.9), (R(3, 4), action, R(3, 1), R(3, int(str(taus))), torch.zeros(3, 1))  # fmt: skip

    return build


def _encoder(name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(import_module("d3rlpy.models.torch.encoders"), name)(*args, **kwargs)


def _decision() -> tuple:
    transformers = import_module("d3rlpy.models.torch.transformers")
    net = transformers.ContinuousDecisionTransformer(
        encoder=_encoder("VectorEncoder", (4,), [8]), embed_size=8, position_encoding=transformers.SimplePositionEncoding(8, 20),
        action_size=2, num_heads=2, context_size=5, num_layers=1, attn_dropout=0.1, resid_dropout=0.1, embed_dropout=0.1, activation=torch.nn.ReLU(),
    )  # fmt: skip
    return net, (R(2, 5, 4), R(2, 5, 2), R(2, 5, 1), torch.arange(5).repeat(2, 1), torch.ones(2, 5))


def _scaler(name: str, method: str, **kwargs: Any) -> Callable[[], tuple]:
    return lambda: (getattr(getattr(import_module("d3rlpy.preprocessing"), name)(**kwargs), method), (R(3, 4),))  # fmt: skip


each("d3rlpy", {
    "DiscreteMean": lambda: (_q("DiscreteMeanQFunction", "mean_q_function"), (R(3, 4),)),
    "ContinuousQR": lambda: (_q("ContinuousQRQFunction", "qr_q_function", n_quantiles=5), (R(3, 4), R(3, 2))),
    "DiscreteIQN": lambda: (_q("DiscreteIQNQFunction", "iqn_q_function", n_quantiles=5, n_greedy_quantiles=4, embed_size=6), (R(3, 4),)),
    "ContinuousIQN": lambda: (_q("ContinuousIQNQFunction", "iqn_q_function", n_quantiles=5, n_greedy_quantiles=4, embed_size=6), (R(3, 4), R(3, 2))),
    "DiscreteMean.error": _q_error("DiscreteMeanQFunction", "mean_q_function", True),
    "ContinuousQR.error": _q_error("ContinuousQRQFunction", "qr_q_function", False, n_quantiles=5),
    "NormalPolicy": lambda: (import_module("d3rlpy.models.torch.policies").NormalPolicy(_encoder("VectorEncoder", (4,), [8]), 8, 2, -5.0, 2.0, False), (R(3, 4),)),
    "CategoricalPolicy": lambda: (import_module("d3rlpy.models.torch.policies").CategoricalPolicy(_encoder("VectorEncoder", (4,), [8]), 8, 3), (R(3, 4),)),
    "Squashed.sample": lambda: (lambda m, s: import_module("d3rlpy.models.torch.distributions").SquashedGaussianDistribution(m, s).sample_n_with_log_prob(4), (R(3, 2), torch.rand(3, 2) + 0.1)),
    "ContinuousDecisionTransformer": _decision,
    "PixelEncoder": lambda: (_encoder("PixelEncoder", (3, 44, 44), feature_size=8, use_batch_norm=True), (torch.rand(2, 3, 44, 44),)),
    "SimBa": lambda: (_encoder("SimBaEncoder", (4,), 8, 16, 8, 1), (R(3, 4),)),
    "quantile_loss": lambda: (lambda q, r, t, d, u: import_module("d3rlpy.models.torch.q_functions.utility").compute_quantile_loss(q, r, t, d, u, 0.9), (R(3, 5), R(3, 1), R(3, 5), torch.zeros(3, 1), torch.rand(1, 5))),
    "max_with_n_actions": lambda: (lambda x, a: import_module("d3rlpy.models.torch.q_functions.ensemble_q_function").compute_max_with_n_actions(x, a, import_module("d3rlpy.models.torch.q_functions.ensemble_q_function").ContinuousEnsembleQFunctionForwarder([import_module("d3rlpy.models.torch.q_functions.mean_q_function").ContinuousMeanQFunctionForwarder(_q("ContinuousMeanQFunction", "mean_q_function"))], 2), 0.7), (R(3, 4), R(3, 5, 2))),
    "soft_sync": lambda: (lambda a, b: import_module("d3rlpy.torch_utility").soft_sync(a, b, 0.1), (_net(), _net())),
    "GEGLU": lambda: (import_module("d3rlpy.torch_utility").GEGLU(), (R(3, 4),)),
    "ClipReward": _scaler("ClipRewardScaler", "transform", low=-1.0, high=1.0, multiplier=2.0),
    "Standard": _scaler("StandardObservationScaler", "transform", mean=torch.zeros(4).numpy(), std=torch.ones(4).numpy()),
}, grad=True)  # fmt: skip


def _geometry(name: str, what: str, *args: Any) -> Callable[[], tuple]:
    def build() -> tuple:
        nn = import_module("nngeometry")
        layers, inputs = import_module("nngeometry.layercollection"), R(6, 4)
        net = _net()
        collection = layers.LayerCollection.from_model(net)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, torch.randint(0, 3, (6,))), batch_size=3)  # fmt: skip
        pspace = getattr(import_module("nngeometry.object.pspace"), name)
        fim = import_module("nngeometry.metrics").FIM(net, loader, pspace, variant="classif_logits")  # fmt: skip
        del nn, collection
        return getattr(fim, what), args

    return build


each("nngeometry", {
    "PMatDense.trace": _geometry("PMatDense", "trace"),
    "PMatDense.solve": lambda: (lambda f: f.get_diag(), (_geometry("PMatDense", "trace")()[0].__self__,)),
    "PMatDiag.norm": _geometry("PMatDiag", "frobenius_norm"),
    "PMatKFAC.inverse": _geometry("PMatKFAC", "inverse", 0.1),
    "PMatKFAC.trace": _geometry("PMatKFAC", "trace"),
    "PMatEKFAC.dense": _geometry("PMatEKFAC", "to_torch"),
    "PMatBlockDiag.dense": _geometry("PMatBlockDiag", "to_torch"),
    "PMatLowRank.dense": _geometry("PMatLowRank", "to_torch"),
    "FIM": lambda: (lambda: _geometry("PMatKFAC", "trace")()[0](), ()),
    "kronecker": lambda: (lambda a, b: import_module("nngeometry.maths").kronecker(a, b), (R(2, 2), R(3, 3))),
    "Affine1d": lambda: (import_module("nngeometry.layers").Affine1d(4), (R(3, 4),)),
    "Cosine1d": lambda: (import_module("nngeometry.layers").Cosine1d(4, 3), (R(3, 4),)),
    "WeightNorm1d": lambda: (import_module("nngeometry.layers").WeightNorm1d(4, 3), (R(3, 4),)),
}, grad=True)  # fmt: skip
