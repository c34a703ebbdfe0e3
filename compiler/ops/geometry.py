"""Which convolutions have kernels of ours, by their sizes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sympy import Expr

from ..errors import LoweringError
from ..ir import index as ix
from ..triton.contraction import LARGEST

SHORTEST = 16  # terms, rows and pixels that a tensor core takes at once
# Of images channels-last. With more, cuDNN is faster; by measurement on an H200, layers of
# DenseNet-121 and ResNet-50.
MOST_PRODUCTS = 620_000_000
MOST_ROWS_OF_WINDOWS = 64


def window_side(x: Sequence[Expr], weight: Sequence[Expr], geometry: Sequence[Any]) -> int:
    """The side of a window that moves a pixel at a time and leaves the images' size as it is.

    `geometry` is what follows the bias in a convolution's arguments.

    Raises:
        LoweringError: It's another convolution, or one whose sizes aren't known.
    """
    stride, padding, dilation, transposed, _, groups = geometry
    if len(x) != 4 or not ix.is_static((*x, *weight)):
        raise LoweringError("a convolution of another rank, or of sizes that aren't known")
    side = int(weight[2])
    square = side == int(weight[3]) and side in (1, 3)
    plain = all(s == 1 for s in (*stride, *dilation)) and all(p == side // 2 for p in padding)
    if not (square and plain) or transposed or groups != 1:
        raise LoweringError("a convolution with another window")
    rows, channels, pixels = products_of(x, weight)
    if min(channels, rows, pixels) < SHORTEST or max(channels, rows) * pixels > LARGEST:
        raise LoweringError("a convolution too small or too large for 32-bit addresses")
    return side


def products_of(x: Sequence[Expr], weight: Sequence[Expr]) -> tuple[int, int, int]:
    """(rows, channels, pixels): a tap of the window multiplies so many numbers in all."""
    count, channels, height, width = (int(n) for n in x)
    return int(weight[0]), channels, count * height * width


def image_side(x: Sequence[Expr], weight: Sequence[Expr], geometry: Sequence[Any]) -> int:
    """The side of the window where kernels for images channels-last are faster than cuDNN.

    Raises:
        LoweringError: They aren't, or there is none.
    """
    side = window_side(x, weight, geometry)
    rows, channels, pixels = products_of(x, weight)
    if rows * channels * pixels * side**2 > MOST_PRODUCTS:
        raise LoweringError("a convolution that cuDNN does faster")
    if side > 1 and rows > MOST_ROWS_OF_WINDOWS:
        raise LoweringError("a convolution that cuDNN does faster")
    return side
