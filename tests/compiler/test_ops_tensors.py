"""Reductions, scans, indexing, scattering, pooling and joining against eager."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from .operator_checks import check

NAN, INF = math.nan, math.inf
torch.manual_seed(0)
X = torch.randn(4, 5, 6)
HARD = torch.tensor([[1.0, NAN, 3.0, -INF], [2.0, 2.0, -0.0, 0.0], [INF, 1.0, INF, NAN]])
WHOLE = torch.randint(-5, 5, (4, 5, 6))


def flat(results: dict) -> list:
    """The results alone, for a program to return."""
    return [part for r in results.values() for part in (r if isinstance(r, tuple) else (r,))]


def run(f: Callable[..., dict], *args: torch.Tensor) -> None:
    names = [
        f"{name}.{k}"
        for name, r in f(*args).items()
        for k in range(len(r) if isinstance(r, tuple) else 1)
    ]
    check(lambda *given: flat(f(*given)), names, *args)


def test_reductions_along_dimensions() -> None:
    def f(x: torch.Tensor) -> dict:
        return {
            "sum": x.sum(1),
            "all": x.sum(),
            "mean": x.mean((0, 2), keepdim=True),
            "prod": x.prod(2),
            "amax": x.amax((0, 1)),
            "amin": x.amin(),
            "max": tuple(x.max(1)),
            "min": tuple(x.min(2, keepdim=True)),
            "argmax": x.argmax(),
            "argmin": x.argmin(0),
            "var": torch.var_mean(x, (1, 2)),
            "std": x.std(0, correction=0),
            "norm": torch.linalg.vector_norm(x, 3, dim=1),
            "logsumexp": x.logsumexp(2),
            "softmax": x.softmax(1),
            "log_softmax": x.log_softmax(2),
            "aminmax": tuple(x.aminmax(dim=1)),
            "count_nonzero": x.count_nonzero(dim=1),
            "any": x.any(1),
            "every": (x > -3).all(),
        }

    run(f, X)
    run(f, X.permute(2, 0, 1))


def test_reductions_of_nan_infinity_and_ties() -> None:
    def f(x: torch.Tensor) -> dict:
        return {
            "amax": x.amax(1),
            "amin": x.amin(0),
            "max": tuple(x.max(1)),
            "min": tuple(x.min(0)),
            "argmax": x.argmax(1),
            "argmin": x.argmin(),
            "nansum": x.nansum(1),
            "nanmean": x.nanmean(0),
            "any": x.any(0),
            "all": x.all(1),
            "logsumexp": x.logsumexp(1),
            "softmax": x.softmax(1),
        }

    run(f, HARD)


def test_reductions_of_integers_booleans_and_nothing() -> None:
    def f(i: torch.Tensor, b: torch.Tensor, none: torch.Tensor, one: torch.Tensor) -> dict:
        return {
            "sum": i.sum(1),
            "prod": i.prod(2),
            "amax": i.amax(0),
            "argmin": i.argmin(1),
            "mean": i.mean(1, dtype=torch.float32),
            "any": i.any(2),
            "any of bytes": i.byte().any(1),
            "bsum": b.sum(0),
            "ball": b.all(1),
            "bmax": b.amax(1),
            "empty sum": none.sum(0),
            "empty all": none.all(0),
            "one": one.sum(),
            "one max": tuple(one.max(0)),
        }

    run(f, WHOLE, WHOLE > 0, torch.empty(0, 3), torch.tensor(2.0))


def test_scans() -> None:
    def f(x: torch.Tensor, i: torch.Tensor) -> dict:
        return {
            "cumsum": x.cumsum(1),
            "cumprod": x.cumprod(0),
            "cummax": tuple(x.cummax(1)),
            "cummin": tuple(x.cummin(0)),
            "logcumsumexp": x.logcumsumexp(1),
            "of integers": i.cumsum(2),
            "extremes of integers": tuple(i.cummax(0)),
            "of a slice": i[:, ::2].cumsum(1),
        }

    run(f, HARD, WHOLE)


def test_reads_and_writes_at_places_that_are_data() -> None:
    def f(x: torch.Tensor, j: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict:
        mask = x > 0
        return {
            "gather": x.gather(1, j),
            "index": x[:, k],
            "negative": x[k - 4, :, k],
            "apart": x[k, :, 1:][:, None],
            "select": x.index_select(2, k),
            "select one": x.index_select(2, k[0]),
            "take": x.take(j),
            "embedding": F.embedding(k, v),
            "scatter": x.scatter(1, j[:, :1], 2.0),
            "scatter_add": x.scatter_add(1, j, x),
            "put": x.index_put((k,), v[:, None, :6].expand(6, 5, 6), accumulate=True),
            "add": x.index_add(0, k[:4] % 4, x, alpha=2),
            "add one": x.index_add(1, k[0], x[:, :1]),
            "copy one": x.index_copy(1, k[0], x[:, 1:2]),
            "of booleans": mask.scatter_add(2, j, mask),
            "fill": x.index_fill(1, k[:2], -1.0),
            "where": x.masked_fill(mask, 7.0),
            "by mask": x.index_put((mask,), x.new_tensor(3.0)),
            "read again": x.scatter_add(1, j, x).sum(1),
        }

    j = torch.randint(0, 5, (4, 5, 6))
    k = torch.tensor([3, 0, 2, 1, 0, 3])
    run(f, X, j, k, torch.randn(6, 6))


def test_pooling() -> None:
    def f(x: torch.Tensor) -> dict:
        return {
            "max": F.max_pool2d(x, 3, 2, 1, return_indices=True),
            "dilated": F.max_pool2d(x, 2, 1, 0, dilation=2, return_indices=True),
            "ragged": F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
            "avg": F.avg_pool2d(x, 3, 2, 1),
            "inside": F.avg_pool2d(x, 3, 2, 1, count_include_pad=False, ceil_mode=True),
            "ragged avg": F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
            "adaptive": F.adaptive_avg_pool2d(x, (3, 4)),
            "nearest": F.interpolate(x, scale_factor=2),
            "bilinear": F.interpolate(x, size=(5, 9), mode="bilinear"),
        }

    x = torch.randn(2, 2, 7, 6)
    x[0, 0, 1, 1] = NAN
    run(f, x)
    run(f, x.contiguous(memory_format=torch.channels_last))


def test_gradients_of_pools_and_lookups() -> None:
    def f(x: torch.Tensor, w: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        pooled = [
            F.max_pool2d(x, 3, 2, 1).sin(),
            F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            F.adaptive_avg_pool2d(x, (3, 4)) ** 2,
            F.interpolate(x, size=(5, 9), mode="bilinear"),
        ]
        looked = F.embedding(k, w).sin().sum() + w[k].cumsum(0).mean()
        return sum((p.sum() for p in pooled), looked)

    x, w = torch.randn(2, 2, 7, 6), torch.randn(5, 4)
    k = torch.tensor([0, 3, 3, 1])
    run(
        lambda x, w: dict(zip("xw", torch.func.grad(f, (0, 1))(x, w, k))),
        x,
        w,
    )


def test_joins_pads_and_views() -> None:
    def f(x: torch.Tensor, i: torch.Tensor) -> dict:
        return {
            "cat": torch.cat([x, i, x[:, :2]], 1),
            "stack": torch.stack([x, i.float()], 2),
            "pad": F.pad(x, (1, 2, -1, 1), value=9.0),
            "padded views": F.pad(x.permute(2, 0, 1).reshape(8, 15), (1, 1, 1, 1)),
            "roll": x.roll((1, -2), (0, 2)),
            "flip": x.flip((0, 2)),
            "diagonal": torch.diagonal_scatter(x[0], x[1, 0, :5], 0),
            "below": torch.diagonal_scatter(x[0], x[1, 0, :4], -1),
            "tril": x.tril(1),
            "unfold": x.unfold(2, 3, 2),
            "repeat": x.repeat(2, 1, 2),
            "select": torch.select_scatter(x, x[:, 0], 1, -1),
            "slice": torch.slice_scatter(x, i[:, 1::2].float(), 1, 1, None, 2),
            "chunk": x.chunk(3, 2)[1].sin(),
        }

    run(f, X, WHOLE)
