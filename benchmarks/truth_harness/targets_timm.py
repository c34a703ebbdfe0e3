"""timm: models, layers, losses, augmentation, and the steps of optimizers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

R = torch.randn


TIMM_MODELS = """
resnet18 resnetv2_50 resnest14d res2net50_26w_4s efficientnet_b0 tf_efficientnetv2_b0
mobilenetv3_small_050 mobilenetv4_conv_small_035 ghostnet_050 repvgg_a0 convnext_atto
convnextv2_atto densenet121 dla34 dpn48b hrnet_w18_small regnetx_002 selecsls42 vovnet39a
xception41 inception_v4 nfnet_f0 cspresnet50 rexnet_100 tinynet_e edgenext_xx_small
mobilevit_xxs mobilevitv2_050 fastvit_t8 efficientvit_b0 efficientvit_m0 efficientformer_l1
efficientformerv2_s0 levit_128s poolformer_s12 caformer_s18 pvt_v2_b0 twins_svt_small
swin_tiny_patch4_window7_224 swinv2_tiny_window8_256 maxvit_nano_rw_256 coatnet_nano_rw_224
coat_tiny crossvit_tiny_240 cait_xxs24_224 deit_tiny_patch16_224 deit_tiny_distilled_patch16_224
vit_tiny_patch16_224 vit_relpos_small_patch16_224 vit_small_patch16_rope_224
eva02_tiny_patch14_224 beit_base_patch16_224 mixer_s32_224 resmlp_12_224 gmlp_ti16_224
convmixer_768_32 volo_d1_224 xcit_nano_12_p16_224 visformer_tiny tnt_s_patch16_224 pit_ti_224
nest_tiny focalnet_tiny_srf davit_tiny hiera_tiny_224 mvitv2_tiny inception_next_tiny starnet_s1
repvit_m0_9 tiny_vit_5m_224 nextvit_small sequencer2d_s rdnet_tiny mambaout_femto botnet26t_256
halonet26t lambda_resnet26t eca_botnext26ts_256 skresnet18 gernet_s hardcorenas_a fbnetc_100
hgnet_tiny shvit_s1 swiftformer_xs ghostnetv3_050 naflexvit_base_patch16_gap samvit_base_patch16
vitamin_small_224 gcvit_xxtiny csatv2 convit_tiny
""".split()


def _timm_model(name: str) -> Callable[[], tuple]:
    def build() -> tuple:
        timm = import_module("timm")
        model = timm.create_model(name, pretrained=False, num_classes=10)
        size = model.default_cfg.get("input_size", (3, 224, 224))[1]
        fixed = model.default_cfg.get("fixed_input_size")
        return model, (R(2, 3, size if fixed or size < 160 else 160, size if fixed else 160),)

    return build


def _timm_attr(
    module: str, name: str, make: Callable[[Callable], Callable], args: Callable[[], tuple]
):
    def build() -> tuple:
        return make(getattr(import_module(module), name)), args()

    return build


def _classes() -> tuple:
    return R(8, 5), torch.randint(0, 5, (8,))


def _multilabel() -> tuple:
    return R(8, 5), torch.randint(0, 2, (8, 5)).float()


for _name in TIMM_MODELS:
    add("timm", _name, _timm_model(_name), modes=("eval",))
for _name in "resnet18 vit_tiny_patch16_224 efficientnet_b0 swin_tiny_patch4_window7_224".split():
    add("timm", _name + "+train", _timm_model(_name), modes=("train",))
for _name in """AsymmetricLossMultiLabel ZlprLoss TwoWayLoss BinaryCrossEntropy
    PolyBinaryCrossEntropy""".split():
    add(
        "timm",
        _name,
        _timm_attr("timm.loss", _name, lambda c: c(), _multilabel),
        modes=("eval",),
        grad=True,
    )
for _name in "AsymmetricLossSingleLabel LabelSmoothingCrossEntropy PolyCrossEntropy".split():
    add(
        "timm",
        _name,
        _timm_attr("timm.loss", _name, lambda c: c(), _classes),
        modes=("eval",),
        grad=True,
    )
add(
    "timm",
    "BinaryCrossEntropy+dense",
    _timm_attr(
        "timm.loss",
        "BinaryCrossEntropy",
        lambda c: c(target_threshold=0.2, sum_classes=True),
        _classes,
    ),
    modes=("eval",),
)
add(
    "timm",
    "JsdCrossEntropy",
    _timm_attr(
        "timm.loss", "JsdCrossEntropy", lambda c: c(), lambda: (R(9, 5), torch.randint(0, 5, (9,)))
    ),
    modes=("eval",),
)
for _mode in "batch pair elem".split():

    def _make(c: Callable, mode: str = _mode) -> Callable:
        return c(mixup_alpha=0.8, cutmix_alpha=1.0, mode=mode, num_classes=5)

    add(
        "timm",
        f"Mixup.{_mode}",
        _timm_attr(
            "timm.data",
            "Mixup",
            _make,
            lambda: (torch.rand(4, 3, 16, 16), torch.randint(0, 5, (4,))),
        ),
    )
add(
    "timm",
    "RandomErasing",
    _timm_attr(
        "timm.data.random_erasing",
        "RandomErasing",
        lambda c: c(probability=1.0, mode="pixel", device="cpu"),
        lambda: (torch.rand(2, 3, 24, 24),),
    ),
)
for _name in """BlurPool2d SelectAdaptivePool2d PatchDropout DropBlock2d DropPath SplitAttn EcaModule GatherExcite
    GlobalContext HaloAttn LambdaLayer BottleneckAttn NonLocalAttn BatchNonLocalAttn CbamModule SEModule
    RotAttentionPool2d AttentionPool2d CondConv2d MixedConv2d""".split():

    def _layer(c: Callable, name: str = _name) -> Callable:
        if name in (
            "BlurPool2d",
            "EcaModule",
            "GatherExcite",
            "GlobalContext",
            "NonLocalAttn",
            "BatchNonLocalAttn",
            "CbamModule",
            "SEModule",
        ):
            return c(16)
        if name in ("SplitAttn", "CondConv2d", "MixedConv2d"):
            return c(16, 16, 3)
        if name in ("HaloAttn", "LambdaLayer", "BottleneckAttn"):
            return c(
                16,
                feat_size=(8, 8),
                **(
                    {"block_size": 4, "halo_size": 1, "num_heads": 2, "dim_head": 8}
                    if name == "HaloAttn"
                    else {"dim_head": 8, "num_heads": 2}
                ),
            )
        if name.endswith("Pool2d") and name != "SelectAdaptivePool2d":
            return c(16, 16, 8, num_heads=2)
        return c(0.5) if name in ("PatchDropout", "DropPath", "DropBlock2d") else c()

    add(
        "timm",
        f"layers.{_name}",
        _timm_attr(
            "timm.layers",
            _name,
            _layer,
            lambda n=_name: (R(2, 9, 16),) if n == "PatchDropout" else (R(2, 16, 8, 8),),
        ),
    )


def optimizer_step(make: Callable[[list], torch.optim.Optimizer]) -> Callable[[], tuple]:
    """Two steps on a matrix and a vector; gradients are already there."""

    def build() -> tuple:
        params = [torch.nn.Parameter(R(6, 4)), torch.nn.Parameter(R(4))]
        for param in params:
            param.grad = R(param.shape)
        optimizer = make(params)

        def step() -> torch.Tensor:
            optimizer.step()
            return params[0].detach() * 2

        step()
        return step, ()

    return build


def _timm_optimizer(name: str) -> Callable[[], tuple]:
    def make(params: list) -> torch.optim.Optimizer:
        optim = import_module("timm.optim")
        info = optim.get_optimizer_class(name, bind_defaults=True)
        return info(params, lr=0.01)

    return optimizer_step(make)


for _name in """adabelief adafactor adafactorbv adahessian adamp adan adopt cadamw clamb clion kron lamb laprop
    larc lars lion madgrad mars muon nadamw novograd radamlegacy rmsproptf sgdp sgdw adamuon""".split():
    add("timm", f"optim.{_name}", _timm_optimizer(_name))
