"""An image that a library resizes on the host is resized by `F.interpolate`, in the graph.

Pillow: `torch.from_numpy(np.asarray(Image.fromarray(x.numpy()).resize((w, h), Image.BILINEAR)))`
becomes `F.interpolate(…, size=(h, w), mode="bilinear", antialias=True)` of the same uint8 tensor,
whose kernels follow Pillow's: at some sizes a rare pixel is one level off. OpenCV:
`cv2.resize(x.numpy(), (w, h))` is the same without antialiasing. The steps may stand in variables
of their own; channels come last there and first in torch, so `permute`s that undo each other go.

Declined: filters that torch lacks (Lanczos, box; OpenCV's area), scales in place of sizes, parts of
an image, images or arrays that something else reads, results that aren't made a tensor again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..base import Code, Context, Declined, Fix
from ..base.reading import tensor_of
from ..base.scopes import assignments, own
from .arrays import WRAPS
from .editing import Changes
from .layout import flat, receiver
from .moved import broken

_ARRAYS = frozenset({"numpy.asarray", "numpy.array", "numpy.ascontiguousarray"})
_PILLOW = {"BILINEAR": "bilinear", "BICUBIC": "bicubic", "NEAREST": "nearest-exact"}
_OPENCV = {"INTER_LINEAR": "bilinear", "INTER_CUBIC": "bicubic", "INTER_NEAREST": "nearest"}
_MOVES = frozenset({"cpu", "detach", "contiguous"})
_SMOOTH = frozenset({"bilinear", "bicubic"})


@dataclass
class _Chain:
    """From `torch.from_numpy(…)` back to the tensor whose array is resized."""

    wrap: ast.Call
    ctx: Context
    code: Code
    steps: list[ast.AST] = field(default_factory=list)
    gone: list[ast.stmt] = field(default_factory=list)
    resize: ast.Call | None = None
    array: ast.Call | None = None  # `x.numpy()`
    named: str = ""  # the variable that holds it

    def read(self) -> bool:
        """Follow the chain; say whether a library's resizing lies on it."""
        value = self._made(self.wrap.args[0])
        while isinstance(value, ast.Call) and value is not self.resize:
            self.steps.append(value)
            name = self.ctx.callee(value).name
            method = value.func.attr if isinstance(value.func, ast.Attribute) else ""
            if method == "copy" and not value.args:
                value = self._made(value.func.value)  # type: ignore[attr-defined]
            elif name in _ARRAYS and len(value.args) == 1 and not value.keywords:
                value = self._made(value.args[0])
            elif name == "cv2.resize":
                self.resize = value
            elif method == "resize":
                self.resize = value
                value = self._made(value.func.value)  # type: ignore[attr-defined]
                if not isinstance(value, ast.Call):
                    return False
                self.steps.append(value)
                if self.ctx.callee(value).name != "PIL.Image.fromarray" or len(value.args) != 1:
                    return False
                break
            else:
                return False
        if self.resize is None or not isinstance(value, ast.Call) or not value.args:
            return False
        before = len(self.gone)
        array = self._made(value.args[0])
        method = array.func if isinstance(array, ast.Call) else None
        if isinstance(array, ast.Call) and isinstance(method, ast.Attribute):
            if method.attr == "numpy" and not array.args:
                self.array = array
                if len(self.gone) > before:  # its statement stays, and holds the tensor
                    self.named = _target(self.gone.pop())
        return True

    def _made(self, value: ast.expr) -> ast.expr:
        """Return what a variable that is bound and read once was made of; its statement goes."""
        if not isinstance(value, ast.Name) or len(self.code.uses(value.id)) != 1:
            return value
        bound = assignments(value.id, self.ctx.function)
        if len(bound) != 1:
            return value
        self.gone.append(bound[0])
        return bound[0].value


def resized(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that resizes the image which a call is a step of, in torch; or nothing.

    Raises Declined where the call is part of resizing that torch can't do.
    """
    for wrap in own(ctx.function):
        if isinstance(wrap, ast.Call) and len(wrap.args) == 1 and not wrap.keywords:
            if ctx.callee(wrap).name in WRAPS:
                chain = _Chain(wrap, ctx, code)
                if chain.read() and call in chain.steps:
                    yield _rewritten(chain, ctx, code)
                    return


def _rewritten(chain: _Chain, ctx: Context, code: Code) -> Fix:
    resize, array = chain.resize, chain.array
    assert resize is not None
    if array is None:
        raise Declined("what is resized isn't the array of a tensor")
    pillow = ctx.callee(resize).name != "cv2.resize"
    size, mode = _size(resize, 0 if pillow else 1, code), _mode(resize, pillow, ctx)
    tensor = array.func.value  # type: ignore[attr-defined]
    swapped, moves = _swapped(tensor)
    known = tensor_of(ctx.fact(tensor))
    rank = 3 if swapped is not None else known.rank if known is not None else None
    if rank not in (2, 3):
        raise Declined("how many dimensions the image has isn't known")
    text = flat(code.text(tensor))
    if swapped is not None:
        text = flat(code.text(swapped))
        text = receiver(text) + moves if moves else text
    changes = Changes(ctx, code)
    kept = chain.named if not text.isidentifier() or len(_stores(text, ctx)) > 1 else ""
    if kept:
        changes.made[array] = lambda: text
    image = kept or receiver(text)
    wrap: ast.expr = chain.wrap
    if rank == 3:
        image += "[None]" if swapped is not None else ".permute(2, 0, 1)[None]"
        back, end = _permuting(wrap, "2, 0, 1", ctx), "[0]"
        if back is None:
            end += ".permute(1, 2, 0)"
        else:
            wrap = back
    else:
        image, end = f"{image}[None, None]", "[0, 0]"
    smooth = pillow and mode in _SMOOTH
    called = code.spell("torch.nn.functional.interpolate")
    arguments = [image, f"size={size}", f'mode="{mode}"', *(["antialias=True"] if smooth else [])]
    new = f"{called}({', '.join(arguments)}){end}"
    if chain.named and not kept:
        chain.gone.append(ctx.statement(array))
    first, *others = [*chain.gone, None]
    if first is None:
        changes.made[wrap] = lambda: new
    else:  # the image has a name, which is now the tensor's
        indent, head = code.indent(first), f"{_target(first)} = "
        call = [f"{indent}{head}{new}"]
        if len(call[0]) > code.width:
            call = broken(indent, f"{head}{called}", arguments, code)
            call[-1] += end
        changes.statements[first] = lambda: call
        changes.made[wrap] = lambda: _target(first)
    gone = [code.lines(stmt, []) for stmt in others if stmt is not None]
    edits = [*changes.edits(), *gone]
    library = "Pillow" if pillow else "OpenCV"
    note = " (at some sizes a rare pixel is one level off)" if smooth else ""
    unused = ["PIL.Image", "cv2.resize", *_ARRAYS]
    return code.fix(f"resize by `{called}`, not by {library}{note}", edits, unused=unused)


def _size(call: ast.Call, place: int, code: Code) -> str:
    """Return the source of (height, width); libraries say the width first."""
    if len(call.args) > place:
        given = call.args[place]
    else:
        named = [k.value for k in call.keywords if k.arg in ("size", "dsize")]
        if len(named) != 1:
            raise Declined("the size isn't in sight")
        given = named[0]
    if isinstance(given, (ast.Tuple, ast.List)) and len(given.elts) == 2:
        width, height = (flat(code.text(part)) for part in given.elts)
        return f"({height}, {width})"
    if isinstance(given, (ast.Name, ast.Attribute)):
        return f"{code.text(given)}[::-1]"
    raise Declined("the size isn't in sight")


def _mode(call: ast.Call, pillow: bool, ctx: Context) -> str:
    known, word = (_PILLOW, "resample") if pillow else (_OPENCV, "interpolation")
    for keyword in call.keywords:
        if keyword.arg not in (word, "size", "dsize"):
            raise Declined(f"`{keyword.arg}=` has no counterpart in torch")
    if len(call.args) > 2:
        raise Declined("the image is cut or scaled as well")
    given = ctx.argument(call, 1, "resample") if pillow else None
    given = given or next((k.value for k in call.keywords if k.arg == word), None)
    if given is None:
        return "bicubic" if pillow else "bilinear"
    name = ast.unparse(given).rpartition(".")[2]
    if name not in known:
        raise Declined(f"torch has no filter like `{name}`")
    return known[name]


def _target(stmt: ast.stmt) -> str:
    return stmt.targets[0].id  # type: ignore[attr-defined]


def _stores(name: str, ctx: Context) -> list[ast.Name]:
    names = (part for part in own(ctx.function) if isinstance(part, ast.Name) and part.id == name)
    return [part for part in names if not isinstance(part.ctx, ast.Load)]


def _swapped(node: ast.expr) -> tuple[ast.expr | None, str]:
    """Return x of `x.permute(1, 2, 0)`, and the source of moves behind it, as `.cpu()`."""
    moves = ""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in _MOVES or node.args or node.keywords:
            break
        moves = f".{node.func.attr}(){moves}" if node.func.attr != "contiguous" else moves
        node = node.func.value
    return _permuted(node, "1, 2, 0"), moves


def _permuted(node: ast.expr, order: str) -> ast.expr | None:
    """Return x of `x.permute(order)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "permute" and not node.keywords:
            given = ", ".join(ast.unparse(arg) for arg in node.args).strip("()")
            return node.func.value if given == order else None
    return None


def _permuting(node: ast.expr, order: str, ctx: Context) -> ast.expr | None:
    """Return the call `node.permute(order)` around a node."""
    outer = ctx.parent(ctx.parent(node) or node)
    if isinstance(outer, ast.Call) and _permuted(outer, order) is node:
        return outer
    return None


__all__ = ["resized"]
