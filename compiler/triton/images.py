"""A `Convolution` as a Triton kernel: images whose channels are neighbours, times weights.

A program works out [PIXELS, ROWS] outputs, DEPTH channels at a time. Where outputs are few, SPLIT
groups of warps each add up their share of the channels, which are summed at the end: more of a
long sum is under way at once, with no second kernel. Sizes and strides are arguments, so that all
the convolutions of a network share a few kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from sympy import Expr, Integer

from ..ir import index as ix
from ..ir.nodes import Buffer, Convolution
from ..ir.values import Value, Values
from .contraction import LARGEST, up
from .emit import HEADER, Emitted
from .kernel import Argument, Config, Kernel
from .scalar import TYPE_NAMES, constant, operation

# What may stand between a load and the product, or between the product and the store.
SCALARS = frozenset(
    "add sub mul neg abs maximum minimum where cast sqrt rsqrt div to_tf32 "
    "eq ne lt le gt ge logical_and logical_or logical_not".split()
)


@dataclass(frozen=True, slots=True)
class Tile:
    """The outputs [pixels, rows] of one program, and how many channels it adds up at a time."""

    pixels: int
    rows: int
    depth: int
    split: int
    num_warps: int
    num_stages: int


# By measurement on an H200, layers of DenseNet-121: the largest that gives enough programs.
ONE = (
    (64, Tile(64, 128, 32, 1, 4, 4)),
    (64, Tile(32, 32, 32, 4, 4, 3)),
    (0, Tile(16, 16, 64, 4, 4, 3)),
)
WINDOW = (
    (256, Tile(64, 32, 64, 1, 4, 4)),
    (128, Tile(32, 32, 32, 4, 4, 3)),
    (0, Tile(16, 16, 32, 4, 4, 3)),
)


@dataclass(frozen=True, slots=True)
class ImageLoad:
    """Where a load reads: `step` a pixel (0: it's a number for each channel), then `offset`."""

    step: int
    offset: int


def image_load(position: Expr, size: Sequence[Expr]) -> ImageLoad | None:
    """A position in images [count, channels, height, width], in loop variables d0 … d3.

    None unless channels are neighbours, pixels follow one another in equal steps, and all that can
    be told in 32 bits.
    """
    variables = [ix.Loop(f"d{d}") for d in range(4)]
    affine = ix.coefficients(position, variables)
    if affine is None or not ix.is_static((*affine[0], affine[1], *size)):
        return None
    image, channel, line, column = (int(step) for step in affine[0])
    count, channels, height, width = (int(n) for n in size)
    if channel != 1 and channels > 1:
        return None
    steps = [(column, 1, width), (line, width, height), (image, width * height, count)]
    found = {step // pixels for step, pixels, n in steps if n > 1}
    exact = all(step % pixels == 0 for step, pixels, n in steps if n > 1)
    if len(found) > 1 or not exact:
        return None
    load = ImageLoad(found.pop() if found else 0, int(affine[1]))
    last = load.step * count * height * width + load.offset + channels
    return load if load.step >= 0 and last <= LARGEST else None


def tile_of(pixels: int, rows: int, window: int) -> Tile:
    """The tile for so many outputs."""
    for enough, tile in WINDOW if window > 1 else ONE:
        if up(pixels, tile.pixels) * up(rows, tile.rows) >= enough:
            return tile
    raise AssertionError("the last tile is for all")


def emit_convolution(
    node: Convolution,
    values: Values,
    buffers: Mapping[str, Buffer],
    unaligned: frozenset[str],
    tf32: bool,
) -> Emitted:
    """Write a convolution as a kernel named "kernel"; see `Emitter` for its contract."""
    return _Writer(node, values, buffers, unaligned, tf32).run()


class _Writer:
    def __init__(
        self,
        node: Convolution,
        values: Values,
        buffers: Mapping[str, Buffer],
        unaligned: frozenset[str],
        tf32: bool,
    ) -> None:
        self.node = node
        self.values = values
        self.buffers = buffers
        self.unaligned = unaligned
        self.tf32 = tf32
        count, rows, height, width = (int(n) for n in node.size)
        self.tile = tile_of(count * height * width, rows, node.window)
        self.pointers: dict[str, str] = {}
        self.sizes: dict[str, int] = {
            "pixels": count * height * width,
            "rows": rows,
            "terms": int(node.channels),
            "height": height,
            "width": width,
        }
        self.whole = int(node.channels) % (self.tile.depth * self.tile.split) == 0
        self.all_rows = rows % self.tile.rows == 0
        self.lines: list[str] = []

    def run(self) -> Emitted:
        split, taps = self.tile.split, self.node.window**2
        across = "[None, :, None]" if split > 1 else "[:, None]"
        along = "[:, None, :]" if split > 1 else "[None, :]"
        self._add(
            "pixel = tl.program_id(0) * PIXELS + tl.arange(0, PIXELS)",
            "row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)",
        )
        if split > 1:
            self._add(
                "term = tl.arange(0, SPLIT)[:, None] * DEPTH + tl.arange(0, DEPTH)[None, :]",
                "total = tl.zeros([SPLIT, PIXELS, ROWS], tl.float32)",
            )
        else:
            self._add("term = tl.arange(0, DEPTH)", "total = tl.zeros([PIXELS, ROWS], tl.float32)")
        if taps > 1:
            self._add(
                "x = pixel % width",
                "y = pixel // width % height",
                "blocks = tl.cdiv(terms, DEPTH * SPLIT)",
                f"for step in range(0, {taps} * blocks):",
                "    tap = step // blocks",
                "    k = step % blocks * (DEPTH * SPLIT) + term",
                f"    tx = tap % {self.node.window} - {self.node.window // 2}",
                f"    ty = tap // {self.node.window} - {self.node.window // 2}",
                "    inside = (x + tx >= 0) & (x + tx < width) & (y + ty >= 0) & (y + ty < height)"
                " & (pixel < pixels)",
                "    near = pixel + ty * width + tx",
            )
            pixel, mask, place = "near", ["inside" + across], " + tap * terms"
        else:
            self._add("for start in range(0, terms, DEPTH * SPLIT):", "    k = start + term")
            pixel, mask, place = "pixel", ["(pixel < pixels)" + across], ""
        known = [] if self.whole else [f"(k < terms){along}"]
        operand = self._expression(
            self.node.operand, "    ", (pixel + across, "k" + along), (mask, known), "a"
        )
        needed = [*(mask if taps > 1 else []), *known]
        if self.node.operand.op != "load" and needed:
            self._add(f"    {operand} = tl.where({' & '.join(needed)}, {operand}, 0.0)")
        step = self._size("weight_step", int(self.node.weights.stride[0]))
        weights = self._pointer(self.node.weights.buffer.name)
        offset = int(self.node.weights.offset)
        start = f" + {self._size('weight_start', offset)}" if offset else ""
        where = known + ([] if self.all_rows else [f"(row < rows){across}"])
        guard = f", {' & '.join(where)}, other=0.0" if where else ""
        self._add(
            f"    b = tl.load({weights} + (row * {step}){across} + (k{place}){along}{start}{guard})"
        )
        turned = "tl.permute({}, 0, 2, 1)" if split > 1 else "tl.trans({})"
        left = operand if self.node.rounded or not self.tf32 else f"library.to_tf32({operand})"
        right = "library.to_tf32(b)" if self.tf32 else "b"
        precision = "tf32" if self.tf32 else "tf32x3"
        self._add(
            f"    total = tl.dot({left}, {turned.format(right)}, total,"
            f" input_precision='{precision}')"
        )
        if split > 1:
            self._add("total = tl.sum(total, 0)")
        return self._stored()

    def _stored(self) -> Emitted:
        store = self.node.store
        rows = [] if self.all_rows else ["(row < rows)[None, :]"]
        result = self._expression(
            store.value,
            "",
            ("pixel[:, None]", "row[None, :]"),
            (["(pixel < pixels)[:, None]"], rows),
            "r",
        )
        out = self._pointer(store.buffer.name, "out")
        place = self._place(store.position, "pixel[:, None]", "row[None, :]")
        mask = " & ".join(["(pixel < pixels)[:, None]", *rows])
        self._add(f"tl.store({out} + {place}, {result}, {mask})")
        return self._emitted(store.buffer.name)

    def _expression(
        self,
        root: Value,
        indent: str,
        axes: tuple[str, str],
        masks: tuple[list[str], list[str]],
        letter: str,
    ) -> str:
        """Lines that work a value out at a tile of (pixels, channels); the name of the result."""
        names: dict[int, str] = {}
        for n, value in enumerate(self.values.ordered([root])):
            if value.op == "product":
                names[id(value)] = "total"
                continue
            operands = [names[id(a)] for a in value.args]
            if value.op == "const":
                text = constant(value)
            elif value.op == "load":
                text = self._load(value, axes, masks)
            elif value.op == "to_tf32" and not self.tf32:
                text = operands[0]
            else:
                text = operation(value, operands)
            names[id(value)] = f"{letter}{n}"
            self._add(f"{indent}{letter}{n} = {text}")
        return names[id(root)]

    def _load(self, value: Value, axes: tuple[str, str], masks: tuple[list[str], list[str]]) -> str:
        name, position = value.attrs
        load = image_load(position, self.node.size)
        assert load is not None
        mask = [*(masks[0] if load.step else []), *masks[1]]
        guard = f", {' & '.join(mask)}, other=0.0" if mask else ""
        text = f"tl.load({self._pointer(name)} + {self._place(position, *axes)}{guard})"
        half = self.buffers[name].dtype in (torch.float16, torch.bfloat16)
        return text + (".to(tl.float32)" if half else "")

    def _place(self, position: Expr, pixel: str, channel: str) -> str:
        load = image_load(position, self.node.size)
        assert load is not None
        parts = [channel]
        if load.step:
            name, _, axis = pixel.partition("[")
            parts.insert(0, f"({name} * {self._size('step', load.step)})[{axis}")
        if load.offset:
            parts.append(self._size("offset", load.offset))
        return " + ".join(parts)

    def _size(self, kind: str, number: int) -> str:
        """The name of a size that the kernel is given."""
        name = f"{kind}{sum(known.startswith(kind) for known in self.sizes)}"
        self.sizes[name] = number
        return name

    def _pointer(self, buffer: str, kind: str = "in") -> str:
        return self.pointers.setdefault(buffer, f"{kind}{len(self.pointers)}")

    def _add(self, *lines: str) -> None:
        self.lines += lines

    def _emitted(self, out: str) -> Emitted:
        grid = ("cdiv(pixels, PIXELS)", "cdiv(rows, ROWS)")
        text = "\n".join([*self.lines, *grid])
        sizes = {name: n for name, n in self.sizes.items() if name in text}
        arguments = [
            Argument(
                name,
                "*" + TYPE_NAMES[self.buffers[buffer].dtype],
                buffer not in self.unaligned,
                buffer == out,
            )
            for buffer, name in self.pointers.items()
        ]
        arguments += [Argument(name, "i32", n % 16 == 0) for name, n in sizes.items()]
        blocks = ("PIXELS", "ROWS", "DEPTH", "SPLIT")
        names = [a.name for a in arguments] + [f"{n}: tl.constexpr" for n in blocks]
        head = ["", "", "@triton.jit", f"def kernel({', '.join(names)}):"]
        # No comment on the user's line: kernels are shared where their texts are one.
        source = HEADER + "\n".join([*head, *(f"    {line}" for line in self.lines)]) + "\n"
        kernel = Kernel(
            "kernel",
            source,
            tuple(arguments),
            self._configs(),
            grid,
            self.node.origins,
        )
        return Emitted(kernel, tuple(self.pointers), tuple(Integer(n) for n in sizes.values()))

    def _configs(self) -> tuple[Config, ...]:
        """The tile, and for max-autotune those for which the text is the same."""
        tiles = [self.tile, *(tile for _, tile in (WINDOW if self.node.window > 1 else ONE))]
        alike = [
            tile
            for tile in dict.fromkeys(tiles)
            if (tile.split > 1) == (self.tile.split > 1)
            and (int(self.node.channels) % (tile.depth * tile.split) == 0) == self.whole
            and (self.sizes["rows"] % tile.rows == 0) == self.all_rows
        ]
        return tuple(
            Config(
                (("PIXELS", t.pixels), ("ROWS", t.rows), ("DEPTH", t.depth), ("SPLIT", t.split)),
                t.num_warps,
                t.num_stages,
            )
            for t in alike
        )
