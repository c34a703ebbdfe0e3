"""Samplers, flow matching, liquid nets, routed and reversible attention, boxes, pitch."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add, each

R = torch.randn


def _sampler(name: str, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        sampling = import_module("k_diffusion.sampling")
        net = torch.nn.Linear(4, 4)

        def model(x: torch.Tensor, sigma: torch.Tensor) -> torch.Tensor:
            return net(x) / sigma[:, None]

        def run(x: torch.Tensor, sigmas: torch.Tensor) -> object:
            return getattr(sampling, name)(model, x, sigmas, disable=True, **kwargs)

        return run, (R(2, 4), sampling.get_sigmas_karras(4, 0.1, 5.0))

    return build


for _name, _kwargs in {
    "sample_euler": {"s_churn": 1.0},
    "sample_euler_ancestral": {},
    "sample_heun": {},
    "sample_dpm_2": {},
    "sample_dpm_2_ancestral": {},
    "sample_lms": {},
    "sample_dpmpp_2s_ancestral": {},
    "sample_dpmpp_2m": {},
}.items():
    add("k_diffusion", _name, _sampler(_name, **_kwargs))


def _adaptive(name: str, **kwargs: object) -> tuple:
    sampling = import_module("k_diffusion.sampling")
    return (
        lambda x: getattr(sampling, name)(
            lambda y, s: y / s[:, None], x, 0.1, 5.0, disable=True, **kwargs
        ),
        (R(2, 4),),
    )


each("k_diffusion", {
    "dpm_fast": lambda: _adaptive("sample_dpm_fast", n=5),
    "dpm_adaptive": lambda: _adaptive("sample_dpm_adaptive", rtol=0.5),
    "sigmas.karras": lambda: (lambda: import_module("k_diffusion.sampling").get_sigmas_karras(4, 0.1, 5.0), ()),
    "sigmas.vp": lambda: (lambda: import_module("k_diffusion.sampling").get_sigmas_vp(4), ()),
    "rand_log_normal": lambda: (lambda: import_module("k_diffusion.utils").rand_log_normal((4,)), ()),
    "rand_split_log_normal": lambda: (lambda: import_module("k_diffusion.utils").rand_split_log_normal((4,), 0.0, 1.0, 2.0), ()),
    "rand_v_diffusion": lambda: (lambda: import_module("k_diffusion.utils").rand_v_diffusion((4,)), ()),
    "stratified": lambda: (lambda: import_module("k_diffusion.utils").rand_cosine_interpolated((4,), 32, 64, 64), ()),
})  # fmt: skip


def _flow_matching(name: str, **kwargs: object) -> tuple:
    matcher = getattr(import_module("torchcfm"), name)(sigma=0.1, **kwargs)
    return lambda a, b: matcher.sample_location_and_conditional_flow(a, b), (R(6, 3), R(6, 3))


for _name in "ConditionalFlowMatcher ExactOptimalTransportConditionalFlowMatcher TargetConditionalFlowMatcher SchrodingerBridgeConditionalFlowMatcher VariancePreservingConditionalFlowMatcher".split():
    add("torchcfm", _name, lambda n=_name: _flow_matching(n))
add("torchcfm", "wasserstein", lambda: (
    lambda a, b: import_module("torchcfm.optimal_transport").wasserstein(a, b), (R(6, 3), R(6, 3))
))  # fmt: skip


def _liquid(name: str, *args: object, **kwargs: object) -> tuple:
    return getattr(import_module("ncps.torch"), name)(*args, **kwargs), (R(2, 5, 3),)


def _wiring() -> object:
    return import_module("ncps.wirings").AutoNCP(8, 2)


each("ncps", {
    "CfC": lambda: _liquid("CfC", 3, 4),
    "CfC.pure": lambda: _liquid("CfC", 3, 4, mode="pure"),
    "CfC.memory": lambda: _liquid("CfC", 3, 4, mixed_memory=True, proj_size=2),
    "CfC.wired": lambda: _liquid("CfC", 3, _wiring()),
    "LTC": lambda: _liquid("LTC", 3, 4),
    "LTC.wired": lambda: _liquid("LTC", 3, _wiring(), return_sequences=False),
})  # fmt: skip
each("reformer_pytorch", {
    "ReformerLM": lambda: (import_module("reformer_pytorch").ReformerLM(num_tokens=20, dim=16, depth=1, heads=2, max_seq_len=32, bucket_size=4, n_hashes=2, causal=True), (torch.randint(0, 20, (1, 16)),)),
    "LSHSelfAttention": lambda: (import_module("reformer_pytorch").LSHSelfAttention(dim=16, heads=2, bucket_size=4, n_hashes=2), (R(1, 16, 16),)),
    "LSHAttention": lambda: (import_module("reformer_pytorch").LSHAttention(bucket_size=4, n_hashes=2, causal=True), (R(1, 16, 8), R(1, 16, 8))),
    "Autopadder": lambda: (import_module("reformer_pytorch").Autopadder(import_module("reformer_pytorch").ReformerLM(num_tokens=20, dim=16, depth=1, heads=2, max_seq_len=32, bucket_size=4)), (torch.randint(0, 20, (1, 11)),)),
})  # fmt: skip
each("perceiver_pytorch", {
    "Perceiver": lambda: (import_module("perceiver_pytorch").Perceiver(input_channels=3, input_axis=2, num_freq_bands=2, max_freq=4.0, depth=2, num_latents=4, latent_dim=8, num_classes=3, latent_heads=2, latent_dim_head=4), (R(1, 8, 8, 3),)),
    "PerceiverIO": lambda: (import_module("perceiver_pytorch").PerceiverIO(dim=8, queries_dim=8, logits_dim=4, depth=1, num_latents=4, latent_dim=8, latent_heads=2, latent_dim_head=4), (R(1, 6, 8), ), {"queries": R(5, 8)}),
})  # fmt: skip
each("colt5_attention", {
    "ConditionalRoutedFeedForward": lambda: (import_module("colt5_attention").ConditionalRoutedFeedForward(8, num_heavy_tokens=4), (R(1, 16, 8),)),
    "ConditionalRoutedAttention": lambda: (import_module("colt5_attention").ConditionalRoutedAttention(dim=8, num_heavy_tokens_q=4, num_heavy_tokens_kv=4, light_window_size=8), (R(1, 16, 8),)),
    "ConditionalRoutedTransformerBlock": lambda: (import_module("colt5_attention").ConditionalRoutedTransformerBlock(8, num_heavy_attn_tokens_q=4, num_heavy_attn_tokens_kv=4, num_heavy_ff_tokens=4, light_window_size=8), (R(1, 16, 8),)),
    "CoordinateDescentRouter": lambda: (import_module("colt5_attention").CoordinateDescentRouter(dim=8), (R(1, 16, 8), ), {"num_tokens": 4}),
    "coor_descent": lambda: (lambda s: import_module("colt5_attention").coor_descent(s, n_iters=3, k=2), (R(2, 8),)),
    "topk": lambda: (lambda s: import_module("colt5_attention").topk(s, 2, fused=False), (R(2, 8),)),
})  # fmt: skip


def _boxes(count: int = 6) -> torch.Tensor:
    corner = torch.rand(count, 2) * 20
    return torch.cat([corner, corner + torch.rand(count, 2) * 20 + 1], dim=1)


def _effdet() -> torch.nn.Module:
    config = import_module("effdet").get_efficientdet_config("tf_efficientdet_lite0")
    config.image_size, config.fpn_channels, config.fpn_cell_repeats, config.num_classes = (
        (64, 64),
        8,
        1,
        3,
    )
    return import_module("effdet").EfficientDet(config, pretrained_backbone=False)


each("effdet", {
    "soft_nms": lambda: (lambda b, s: import_module("effdet.soft_nms").soft_nms(b, s), (_boxes(), torch.rand(6))),
    "soft_nms.linear": lambda: (lambda b, s: import_module("effdet.soft_nms").soft_nms(b, s, method_gaussian=False), (_boxes(), torch.rand(6))),
    "batched_soft_nms": lambda: (lambda b, s, i: import_module("effdet.soft_nms").batched_soft_nms(b, s, i), (_boxes(), torch.rand(6), torch.randint(0, 2, (6,)))),
    "pairwise_iou": lambda: (lambda a, b: import_module("effdet.soft_nms").pairwise_iou(a, b), (_boxes(), _boxes(4))),
    "decode_box_outputs": lambda: (lambda r, a: import_module("effdet.anchors").decode_box_outputs(r, a, output_xyxy=True), (R(6, 4), _boxes())),
    "focal": lambda: (lambda x, y: import_module("effdet.loss").new_focal_loss(x, y, 0.25, 1.5, 2.0), (R(6, 3), torch.rand(6, 3))),
    "huber": lambda: (lambda x, y: import_module("effdet.loss").huber_loss(x, y, weights=torch.rand(6, 4)), (R(6, 4), R(6, 4))),
    "EfficientDet": lambda: (_effdet(), (torch.rand(1, 3, 64, 64),)),
    "DetBenchPredict": lambda: (import_module("effdet").DetBenchPredict(_effdet()), (torch.rand(1, 3, 64, 64),)),
    "DetBenchTrain": lambda: (
        import_module("effdet").DetBenchTrain(_effdet()),
        (torch.rand(1, 3, 64, 64), {"bbox": [_boxes(2)], "cls": [torch.tensor([1.0, 2.0])], "img_scale": torch.ones(1), "img_size": torch.tensor([[64.0, 64.0]])}),
    ),
})  # fmt: skip
each("torch_pitch_shift", {
    "pitch_shift": lambda: (lambda x: import_module("torch_pitch_shift").pitch_shift(x, 3, 8000), (R(1, 1, 4000),)),
    "ratio": lambda: (lambda x: import_module("torch_pitch_shift").pitch_shift(x, import_module("fractions").Fraction(3, 2), 8000, n_fft=256), (R(1, 2, 4000),)),
})  # fmt: skip
