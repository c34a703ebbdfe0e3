"""Settings of operators that are Python numbers: what a tensor there does, measured on torch 2.13.

`scale * (1 - mix)` of `torch.add(x, y, alpha=…)` is read out of the tensor, as by `.item()`. Of
most settings the operator then asks what the number is, which breaks under fullgraph as well.
"""

from __future__ import annotations

# name: (keyword, position in the function, position in the method); "-" is no position.
_TESTED = """
addmm: beta - -
conv1d: stride 3 -, padding 4 -, dilation 5 -, groups 6 -
conv2d: stride 3 -, padding 4 -, dilation 5 -, groups 6 -
conv3d: stride 3 -, padding 4 -, dilation 5 -, groups 6 -
conv_transpose1d: stride 3 -, padding 4 -, output_padding 5 -, groups 6 -, dilation 7 -
conv_transpose2d: stride 3 -, padding 4 -, output_padding 5 -, groups 6 -, dilation 7 -
conv_transpose3d: stride 3 -, padding 4 -, output_padding 5 -, groups 6 -, dilation 7 -
max_pool1d: kernel_size 1 -, stride 2 -, padding 3 -, dilation 4 -
max_pool2d: kernel_size 1 -, stride 2 -, padding 3 -, dilation 4 -
max_pool3d: kernel_size 1 -, stride 2 -, padding 3 -, dilation 4 -
addmv: beta - -
addr: beta - -
sub: alpha - -
rsub: alpha - -
index_add: alpha - -
index_add_: alpha - -
elu: alpha 1 -
elu_: alpha 1 -
celu: alpha 1 -
hardshrink: lambd 1 0
softshrink: lambd 1 -
threshold: threshold 1 -, value 2 -
hardtanh: min_val 1 -, max_val 2 -
softplus: beta 1 -, threshold 2 -
huber_loss: delta - -
layer_norm: eps 4 -
group_norm: eps 4 -
instance_norm: eps - -, momentum - -
batch_norm: momentum 6 -, eps 7 -
rms_norm: eps - -
normalize: p 1 -
cosine_similarity: eps 3 -
pairwise_distance: p 2 -, eps 3 -
cdist: p 2 -
vector_norm: ord 1 -
matrix_norm: ord 1 -
logit: eps 1 0
renorm: p 1 0, maxnorm 3 2
trapezoid: dx - -
trapz: dx - -
cumulative_trapezoid: dx - -
gradient: spacing - -
histc: min 2 1, max 3 2
std: correction - -
var: correction - -
std_mean: correction - -
var_mean: correction - -
cov: correction - -
round: decimals - -
exponential_: lambd - 0
geometric_: p - 0
log_normal_: mean - 0, std - 1
cauchy_: median - 0, sigma - 1
scaled_dot_product_attention: dropout_p - -, scale - -
triplet_margin_loss: margin - -
margin_ranking_loss: margin - -
cosine_embedding_loss: margin - -
hinge_embedding_loss: margin - -
gaussian_nll_loss: eps - -
poisson_nll_loss: eps - -
embedding: max_norm - -
"""
# These only scale by it: fullgraph captures the number. `add_`, `addcmul_` and `addcdiv_` are
# rewritten to what takes a tensor.
_SCALING = """
add: alpha - -
sub_: alpha - -
addmm: alpha - -
addmm_: alpha - -, beta - -
addmv: alpha - -
addmv_: alpha - -, beta - -
addr: alpha - -
addr_: alpha - -, beta - -
addbmm: alpha - -, beta - -
baddbmm: alpha - -, beta - -
addcmul: value - -
_foreach_add: alpha - -
_foreach_add_: alpha - -
_foreach_sub: alpha - -
_foreach_sub_: alpha - -
"""

Keyword = tuple[str, int | None, int | None]


def _read(table: str) -> dict[str, tuple[Keyword, ...]]:
    rows = [line.split(": ") for line in table.split("\n") if line]
    return {name: tuple(map(_keyword, given.split(", "))) for name, given in rows}


def _keyword(text: str) -> Keyword:
    name, function, method = text.split()
    return name, *(None if place == "-" else int(place) for place in (function, method))  # type: ignore[return-value]


TESTED = _read(_TESTED)
SCALING = _read(_SCALING)
