"""Which parameters of torch's operators take Python numbers, and what a tensor there does.

Measured on torch 2.13. A tensor that is passed where a number is wanted is read, as `.item()`
would read it; what happens under fullgraph depends on what the operator then asks of the number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ..base import Callee, Const, Context, Fact, ShapeInt, Static, Tensor, join_all, options
from ..base.valueclass import valueclass
from .data import is_method, operation
from .number_keywords import SCALING, TESTED


@valueclass
class Parameter:
    """A parameter by keyword and by position in the function and in the method.

    tensor   a tensor there breaks in "default" mode only, or in "both"
    number   a number that was read out of a tensor breaks there under fullgraph
    rest     the parameter takes all positional arguments from `position` on
    """

    keyword: str
    function: int | None
    method: int | None
    tensor: str = "both"
    number: bool = False
    rest: bool = False


def _size(function: int | None, method: int | None, keyword: str = "size") -> Parameter:
    return Parameter(keyword, function, method, "default", rest=True)


_CREATED = (_size(0, None),)
SIZES: dict[str, tuple[Parameter, ...]] = {
    **dict.fromkeys(("zeros", "ones", "empty", "rand", "randn"), _CREATED),
    **dict.fromkeys(("new_zeros", "new_ones", "new_empty"), (_size(None, 0),)),
    **dict.fromkeys(("view", "expand", "repeat", "tile"), (_size(None, 0),)),
    "reshape": (_size(1, 0, "shape"),),
    "full": (Parameter("size", 0, None, "default"),),
    "new_full": (Parameter("size", None, 0, "default"),),
    "eye": (Parameter("n", 0, None, "default"), Parameter("m", 1, None, "default")),
    "randperm": (Parameter("n", 0, None, "default"),),
    "randint": (Parameter("size", 2, None, "default"),),
    "arange": (
        Parameter("start", 0, None, "default"),
        Parameter("end", 1, None, "default"),
        Parameter("step", 2, None, "both", True),
    ),
    "linspace": (Parameter("steps", 2, None, "both", True),),
    "logspace": (Parameter("steps", 2, None, "both", True),),
    "narrow": (Parameter("start", 2, 1), Parameter("length", 3, 2, "default")),
    "topk": (Parameter("k", 1, 0, "default"),),
    "multinomial": (Parameter("num_samples", 1, 0, "default"),),
    "interpolate": (Parameter("size", 1, None, "default"),),
    "pad": (Parameter("pad", 1, None), Parameter("value", 3, None, "both", True)),
    "unfold": (Parameter("size", None, 1, "both", True), Parameter("step", None, 2, "both", True)),
}
_NUMPY = frozenset(
    f"numpy.{name}" for name in ("zeros", "ones", "empty", "full", "eye", "arange", "linspace")
)
_DIM = Parameter("dim", None, None, "both", True)
NUMBERS: dict[str, tuple[Parameter, ...]] = {
    "select": (Parameter("index", 2, 1),),
    "roll": (Parameter("shifts", 1, 0),),
    "sort": (Parameter("descending", 2, 1, "both", True),),
    "argsort": (Parameter("descending", 2, 1, "both", True),),
    "interpolate": (Parameter("scale_factor", 2, None, "both", True),),
    "kthvalue": (Parameter("k", 1, 0),),
    "tril": (Parameter("diagonal", 1, 0),),
    "triu": (Parameter("diagonal", 1, 0),),
    "randint": (Parameter("high", 1, None), Parameter("low", None, None)),
    "new_full": (Parameter("fill_value", None, 1),),
    "full_like": (Parameter("fill_value", 1, None),),
    "dropout": (Parameter("p", 1, None, "both", True),),
    "leaky_relu": (Parameter("negative_slope", 1, None),),
    "isclose": (Parameter("rtol", 2, 1, "both", True), Parameter("atol", 3, 2, "both", True)),
    "nan_to_num": (Parameter("nan", 1, 0, "both", True),),
    "bernoulli": (Parameter("p", 1, 0, "both", True),),
    "uniform_": (Parameter("from", None, 0, "both", True), Parameter("to", None, 1, "both", True)),
    "normal_": (Parameter("mean", None, 0, "both", True), Parameter("std", None, 1, "both", True)),
    "smooth_l1_loss": (Parameter("beta", None, None, "both", True),),
    "norm": (Parameter("p", 1, 0, "both", True),),
    "permute": (Parameter("dims", 1, 0, "both", True, rest=True),),
    "transpose": (Parameter("dim0", 1, 0, "both", True), Parameter("dim1", 2, 1, "both", True)),
    "unsqueeze": (Parameter("dim", 1, 0, "both", True),),
    "flatten": (Parameter("start_dim", 1, 0, "both", True),),
    "avg_pool1d": (Parameter("kernel_size", 1, None, "both", True),),
    "avg_pool2d": (Parameter("kernel_size", 1, None, "both", True),),
    "adaptive_avg_pool1d": (Parameter("output_size", 1, None, "both", True),),
    "adaptive_avg_pool2d": (Parameter("output_size", 1, None, "both", True),),
    **dict.fromkeys(
        (
            "sum",
            "mean",
            "softmax",
            "log_softmax",
            "cat",
            "stack",
            "amax",
            "amin",
            "argmax",
            "argmin",
            "cumsum",
            "gather",
            "scatter",
            "index_select",
        ),
        (_DIM,),
    ),
}

for _name, _keywords in TESTED.items():
    NUMBERS[_name] = (*NUMBERS.get(_name, ()), *(Parameter(*k, "both", True) for k in _keywords))
for _name, _keywords in SCALING.items():
    NUMBERS[_name] = (*NUMBERS.get(_name, ()), *(Parameter(*k, "default") for k in _keywords))


# Both bounds are numbers, or both are tensors.
BOUNDS = frozenset({"clamp", "clamp_", "clip", "clip_"})


def mixed_bound(call: ast.Call, callee: Callee, ctx: Context) -> ast.expr | None:
    """Return the bound of a clamp that is a tensor where the other one is a number."""
    if operation(callee.name) not in BOUNDS:
        return None
    first = 0 if is_method(callee) else 1
    low, high = ctx.argument(call, first, "min"), ctx.argument(call, first + 1, "max")
    if low is None or high is None:
        return None
    for bound, other in ((low, high), (high, low)):
        plain = all(
            isinstance(o, (Static, ShapeInt)) or _number(o) for o in options(ctx.fact(other))
        )
        if plain and any(isinstance(o, Tensor) for o in options(ctx.fact(bound))):
            return bound
    return None


def _number(fact: Fact) -> bool:
    return isinstance(fact, Const) and isinstance(fact.value, (int, float))


def passed(given: ast.expr, ctx: Context) -> Fact:
    """Return the fact of an argument: of `*sizes` with a tensor, that of an element of it."""
    fact = ctx.fact(given)
    if not isinstance(ctx.parent(given), ast.Starred):
        return fact
    rows = [
        replace(o, rank=None if o.rank is None else max(o.rank - 1, 0), role="")
        if isinstance(o, Tensor)
        else o
        for o in options(fact)
    ]
    return join_all(rows)


def arguments(
    call: ast.Call, callee: Callee, ctx: Context, table: dict[str, tuple[Parameter, ...]]
) -> Iterator[tuple[Parameter, ast.expr]]:
    """Yield (parameter, argument) for the operator's numbers that the call gives."""
    if not callee.name.startswith("torch.") and callee.name not in _NUMPY:
        return
    method = is_method(callee)
    for parameter in table.get(operation(callee.name), ()):
        position = parameter.method if method else parameter.function
        if parameter.rest and position is not None:
            for arg in call.args[position:]:
                yield parameter, arg.value if isinstance(arg, ast.Starred) else arg
        given = None
        if position is not None and (call.keywords or not parameter.rest):
            given = ctx.argument(call, position, parameter.keyword)
        if given is None and call.keywords:
            given = next((k.value for k in call.keywords if k.arg == parameter.keyword), None)
        if given is not None and not (parameter.rest and given in call.args):
            yield parameter, given
