"""Grids: a kernel's expressions for the number of programs, as Python code for its launcher."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..errors import BuildError
from ..triton.kernel import Config, Kernel


def grid_sources(kernel: Kernel, config: Config) -> tuple[str, str, str]:
    """The grid's three sizes as Python expressions over the kernel's integer arguments only.

    Block names are replaced by their sizes and `cdiv(a, b)` is written out, so that what is
    constant is folded when the expression is compiled.

    Raises:
        BuildError: An expression isn't Python, or names something else.
    """
    if not 1 <= len(kernel.grid) <= 3:
        raise BuildError(f"kernel {kernel.name} has a grid of {len(kernel.grid)} sizes")
    blocks = dict(config.blocks)
    known = {arg.name for arg in kernel.arguments if arg.type[0] in "iu"} | {"min", "max"}
    written = []
    for expression in kernel.grid:
        try:
            tree = _Written(blocks).visit(ast.parse(expression, mode="eval"))
        except SyntaxError as error:
            raise BuildError(f"kernel {kernel.name}: its grid {expression!r}: {error}") from None
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id not in known:
                raise BuildError(f"kernel {kernel.name}: its grid {expression!r} names {node.id}")
        written.append(ast.unparse(tree))
    return tuple((*written, "1", "1")[:3])  # type: ignore[return-value]


def grid_of(kernel: Kernel, config: Config, args: Mapping[str, int]) -> tuple[int, int, int]:
    """The grid for these integer arguments, by name. For what isn't launched often.

    Raises:
        BuildError: See `grid_sources`.
    """
    sizes = grid_sources(kernel, config)
    x, y, z = (eval(size, {"min": min, "max": max}, dict(args)) for size in sizes)
    return x, y, z


class _Written(ast.NodeTransformer):
    def __init__(self, blocks: Mapping[str, int]) -> None:
        self.blocks = blocks

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.blocks:
            return ast.Constant(self.blocks[node.id])
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "cdiv" and len(node.args) == 2:
            dividend, divisor = node.args
            negative = ast.UnaryOp(ast.USub(), dividend)
            return ast.UnaryOp(ast.USub(), ast.BinOp(negative, ast.FloorDiv(), divisor))
        return node
