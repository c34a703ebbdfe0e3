"""A `Contraction` as a Triton kernel: a matrix product whose operand is addressed as an image.

Sizes and strides are arguments, so that all the convolutions of a network share a few kernels.
Float32 operands go through the tensor cores in three passes of TF32 (big·big + big·small +
small·big), which is as accurate as float32 itself, or in one where TF32 is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sympy import Integer

from ..ir.nodes import Contraction, View
from .emit import HEADER, Emitted
from .kernel import Argument, Config, Kernel

ENOUGH_PROGRAMS = 256  # on a GPU of some 130 multiprocessors
MOST_PARTS = 4
MOST_PARTS_OF_WINDOWS = 9
LARGEST = (1 << 31) - 1  # addresses are 32 bits wide


@dataclass(frozen=True, slots=True)
class Tile:
    """The outputs [rows, columns] of one program, and how much it adds up at a time."""

    rows: int
    columns: int
    depth: int
    num_warps: int
    num_stages: int = 4


# By measurement on an H200: shapes of DenseNet-121, the fastest or within 3 % of it.
WIDE = Tile(32, 64, 32, 2)
NARROW = Tile(16, 32, 64, 2)  # few pixels: more programs
WINDOW = Tile(32, 32, 32, 4)
WEIGHTS = Tile(32, 32, 32, 2)
OTHERS = (Tile(64, 32, 32, 2), Tile(64, 64, 32, 4, 3), Tile(32, 64, 64, 4, 3))


def tile_of(kind: str, rows: int, columns: int, window: int) -> Tile:
    """The tile for a product of so many rows and columns."""
    if kind == "weights":
        return WEIGHTS
    if window > 1:
        return WINDOW
    return WIDE if _programs(WIDE, rows, columns) >= ENOUGH_PROGRAMS // 8 else NARROW


def parts_of(kind: str, rows: int, columns: int, length: int, window: int) -> int:
    """Into how many sums to cut a sum of `length` terms (a window's taps counted as one)."""
    tile = tile_of(kind, rows, columns, window)
    steps = up(length, tile.depth) * window**2
    enough = ENOUGH_PROGRAMS
    if window > 1:  # four warps to a program, not two
        most, enough = MOST_PARTS_OF_WINDOWS, ENOUGH_PROGRAMS // 2
    else:
        most = ENOUGH_PROGRAMS if kind == "weights" else MOST_PARTS
    parts = 1
    while parts < most and parts * _programs(tile, rows, columns) < enough:
        parts = min(2 * parts, most)
    return max(1, min(parts, steps // 2))


def _programs(tile: Tile, rows: int, columns: int) -> int:
    return up(rows, tile.rows) * up(columns, tile.columns)


def up(n: int, size: int) -> int:
    """The quotient, rounded up."""
    return (n + size - 1) // size


def emit_contraction(node: Contraction, unaligned: frozenset[str], tf32: bool) -> Emitted:
    """Write a contraction as a kernel named "kernel"; see `Emitter` for its contract."""
    return (_weights if node.kind == "weights" else _pixels)(node, unaligned, tf32)


def _pixels(node: Contraction, unaligned: frozenset[str], tf32: bool) -> Emitted:
    images, weights, window = node.right, node.left, node.window
    count, channels, height, width = (int(n) for n in images.size)
    rows = int(weights.size[1] if node.transposed else weights.size[0])
    row_step, term_step = (int(weights.stride[k]) for k in ((1, 0) if node.transposed else (0, 1)))
    pixels, area = count * height * width, height * width
    tile = tile_of(node.kind, rows, pixels, window)
    sizes = {
        "pixels": pixels,
        "area": area,
        "width": width,
        "height": height,
        "terms": channels,
        "rows": rows,
        "image_step": int(images.stride[0]),
        "channel_step": int(images.stride[1]),
        "line_step": int(images.stride[2]),
        "row_step": row_step,
        "term_step": term_step,
        "out_image_step": rows * area,
        "part_step": rows * pixels,
        "steps": up(up(channels, tile.depth) * window**2, node.parts),
    }
    vector = 4 if window == 1 and area % 4 == 0 and sizes["image_step"] % 4 == 0 else 1
    row, term = (_times(name, sizes) for name in ("row_step", "term_step"))
    body = [
        "program = tl.program_id(0)",
        "part = tl.program_id(1)",
        "row_blocks = tl.cdiv(rows, ROWS)",
        "row = (program % row_blocks) * ROWS + tl.arange(0, ROWS)",
        "pixel = (program // row_blocks) * COLUMNS + tl.arange(0, COLUMNS)",
        "image = pixel // area",
        "place = pixel % area",
        "row_mask = (row < rows)[:, None]",
        "pixel_mask = pixel < pixels",
        "term = tl.arange(0, DEPTH)",
        f"left = in0 + (row{row})[:, None]",
        "blocks = tl.cdiv(terms, DEPTH)",
        "total = tl.zeros([ROWS, COLUMNS], tl.float32)",
    ]
    if window == 1:
        flat = "image * image_step + place"
        body += [
            f"start = tl.max_contiguous(tl.multiple_of({flat}, {vector}), {vector})",
            "for step in range(part * steps, tl.minimum(part * steps + steps, blocks)):",
            "    k = step * DEPTH + term",
            f"    a = tl.load(left + (k{term})[None, :],"
            " row_mask & (k < terms)[None, :], other=0.0)",
            "    b = tl.load(in1 + (k * channel_step)[:, None] + start[None, :],"
            " (k < terms)[:, None] & pixel_mask[None, :], other=0.0)",
        ]
    else:
        taps, margin = window**2, window // 2
        tap = f"{taps - 1} - tap" if node.transposed else "tap"  # its gradient turns a window round
        body += [
            f"y = place // width - {margin}",
            f"x = place % width - {margin}",
            "start = image * image_step + y * line_step + x",
            f"last = tl.minimum(part * steps + steps, blocks * {taps})",
            "for step in range(part * steps, last):",
            "    tap = step // blocks",
            "    k = (step % blocks) * DEPTH + term",
            f"    ty = tap // {window}",
            f"    tx = tap % {window}",
            "    inside = (y + ty >= 0) & (y + ty < height) & (x + tx >= 0) & (x + tx < width)",
            f"    a = tl.load(left + (k{term})[None, :] + ({tap}),"
            " row_mask & (k < terms)[None, :], other=0.0)",
            "    at = start + ty * line_step + tx",
            "    b = tl.load(in1 + (k * channel_step)[:, None] + at[None, :],"
            " (k < terms)[:, None] & (pixel_mask & inside)[None, :], other=0.0)",
        ]
    body += [
        _dot("a", "b", tf32),
        "at = out2 + part * part_step + (row * area)[:, None]"
        " + (image * out_image_step + place)[None, :]",
        "tl.store(at, total, row_mask & pixel_mask[None, :])",
    ]
    grid = ("cdiv(rows, ROWS) * cdiv(pixels, COLUMNS)", str(node.parts))
    return _emitted(node, (weights, images), body, sizes, tile, grid, unaligned)


def _weights(node: Contraction, unaligned: frozenset[str], tf32: bool) -> Emitted:
    left, right = node.left, node.right
    count, rows, height, width = (int(n) for n in left.size)
    columns, area = int(right.size[1]), height * width
    tile = tile_of(node.kind, rows, columns, 1)
    sizes = {
        "pixels": count * area,
        "area": area,
        "rows": rows,
        "columns": columns,
        "left_image_step": int(left.stride[0]),
        "left_step": int(left.stride[1]),
        "right_image_step": int(right.stride[0]),
        "right_step": int(right.stride[1]),
        "part_step": rows * columns,
        "steps": up(up(count * area, tile.depth), node.parts),
    }
    steps = (area, sizes["left_image_step"], sizes["right_image_step"])
    vector = 4 if all(step % 4 == 0 for step in steps) else 1

    def start(side: str) -> str:
        flat = f"image * {side}_image_step + place"
        return f"tl.max_contiguous(tl.multiple_of({flat}, {vector}), {vector})"

    body = [
        "program = tl.program_id(0)",
        "part = tl.program_id(1)",
        "row_blocks = tl.cdiv(rows, ROWS)",
        "row = (program % row_blocks) * ROWS + tl.arange(0, ROWS)",
        "column = (program // row_blocks) * COLUMNS + tl.arange(0, COLUMNS)",
        "row_mask = (row < rows)[:, None]",
        "column_mask = column < columns",
        "total = tl.zeros([ROWS, COLUMNS], tl.float32)",
        "last = tl.minimum(part * steps + steps, tl.cdiv(pixels, DEPTH))",
        "for step in range(part * steps, last):",
        "    pixel = step * DEPTH + tl.arange(0, DEPTH)",
        "    image = pixel // area",
        "    place = pixel % area",
        "    known = (pixel < pixels)[None, :]",
        f"    a = tl.load(in0 + (row * left_step)[:, None] + {start('left')}[None, :],"
        " row_mask & known, other=0.0)",
        f"    b = tl.load(in1 + (column * right_step)[:, None] + {start('right')}[None, :],"
        " column_mask[:, None] & known, other=0.0)",
        _dot("a", "tl.trans(b)", tf32),
        "at = out2 + part * part_step + (row * columns)[:, None] + column[None, :]",
        "tl.store(at, total, row_mask & column_mask[None, :])",
    ]
    grid = ("cdiv(rows, ROWS) * cdiv(columns, COLUMNS)", str(node.parts))
    return _emitted(node, (left, right), body, sizes, tile, grid, unaligned)


def _dot(a: str, b: str, tf32: bool) -> str:
    if tf32:
        a, b = f"library.to_tf32({a})", f"library.to_tf32({b})"
    return f"    total = tl.dot({a}, {b}, total, input_precision='{'tf32' if tf32 else 'tf32x3'}')"


def _times(name: str, sizes: dict[str, int]) -> str:
    """` * name` where it isn't one; a step of one in the text lets Triton load whole lines."""
    if sizes[name] == 1:
        del sizes[name]
        return ""
    return f" * {name}"


def _emitted(
    node: Contraction,
    operands: Sequence[View],
    body: Sequence[str],
    sizes: dict[str, int],
    tile: Tile,
    grid: tuple[str, str],
    unaligned: frozenset[str],
) -> Emitted:
    (_, out), *_ = node.outputs
    text = "\n".join(body)
    sizes = {name: n for name, n in sizes.items() if name in text}
    arguments = [
        Argument(f"in{k}", "*fp32", view.buffer.name not in unaligned)
        for k, view in enumerate(operands)
    ]
    arguments.append(Argument("out2", "*fp32", True, True))
    arguments += [Argument(name, "i32", n % 16 == 0) for name, n in sizes.items()]
    names = [a.name for a in arguments] + [
        f"{n}: tl.constexpr" for n in ("ROWS", "COLUMNS", "DEPTH")
    ]
    head = ["", "", "@triton.jit", f"def kernel({', '.join(names)}):"]
    # No comment on the user's line: kernels are shared where their texts are one.
    lines = [f"    {line}" for line in body]
    configs = tuple(
        Config(
            (("ROWS", t.rows), ("COLUMNS", t.columns), ("DEPTH", t.depth)),
            t.num_warps,
            t.num_stages,
        )
        for t in dict.fromkeys((tile, *(o for o in OTHERS if o.depth == tile.depth)))
    )
    source = HEADER + "\n".join([*head, *lines]) + "\n"
    kernel = Kernel("kernel", source, tuple(arguments), configs, grid, node.origins)
    buffers = (*(view.buffer.name for view in operands), out.name)
    return Emitted(kernel, buffers, tuple(Integer(n) for n in sizes.values()))
