"""What Triton's interpreter lacks or gets wrong, mended in the interpreting process.

Only `interpreter_process` calls `apply`. Mended, each because generated kernels meet it:

- bfloat16 (kept by the interpreter as its 16 bits): conversions rounded half away from even and
  lost the carry into the exponent; arithmetic, comparisons and products worked on the bits.
- comparisons gave values that named their operands' type instead of int1.
- unordered comparisons (`not (a < b)` after lowering) were false on NaN; they are true.
- `minimum`/`maximum`/`clamp` without `propagate_nan` gave NaN for one NaN; GPUs give the other.
- float → small or unsigned integer: undefined in NumPy, differs by CPU; goes by int64, as ATen.
- `fma` rounded twice; an arithmetic shift changed its operand's type for later uses.
- erf by Python's `math` for each element; transcendental functions now are ATen's, as in eager.
- `reduce` and `associative_scan` with a combine function of one's own ran it per element, and
  sums and products accumulated one by one in the operand's precision.
- every call of a `@triton.jit` function looked through all of triton.language again.
- atomic additions to bfloat16, and to float16, added bits.
- loads and stores went item by item: `interpreter_memory`. A scalar spread over a block was
  copied to each item.
- libdevice: `interpreter_libdevice`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.runtime import interpreter

from . import interpreter_libdevice, interpreter_memory
from .interpreter_memory import memory
from .interpreter_reduce import reduce, scan
from .interpreter_values import atomic_float_rmw, cast, decode, dense, encode, numpy_type

Handle = interpreter.TensorHandle
_builder = interpreter.interpreter_builder
_UNPATCHED_FP_TO_FP = interpreter.InterpreterBuilder.create_fp_to_fp
_UNPATCHED_CAS = interpreter.InterpreterBuilder.create_atomic_cas
_UNPATCHED_RMW = interpreter.InterpreterBuilder.create_atomic_rmw


def apply() -> None:
    """Mend the interpreter, for good: this process does nothing else."""
    builder = interpreter.InterpreterBuilder
    for name, method in _methods().items():
        setattr(builder, name, method)
    # The scope that is returned would undo it; nobody asks it to.
    interpreter._patch_lang(types.SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
    # Triton 3.6 hands int() an array of one item, which numpy no longer takes.
    setattr(tl.core.tensor, "__index__", lambda self: int(self.handle.data.item()))  # noqa: B010
    for module in (tl, tl.core):
        setattr(module, "reduce", reduce)  # noqa: B010 (no attribute that a module declares)
        setattr(module, "associative_scan", scan)  # noqa: B010
    _supply_libdevice()
    interpreter._patch_lang = lambda fn: None
    interpreter._get_np_dtype = numpy_type
    interpreter.InterpretedFunction.__call__ = _call


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self.rewrite()(*args, **kwargs)


def _supply_libdevice() -> None:
    """Put CUDA's libdevice, with its own choice by types, where kernels import libdevice from."""

    # The scope would undo it; nobody asks it to.
    interpreter._patch_builtin(cuda_libdevice, _builder, interpreter._LangPatchScope())
    for name in vars(cuda_libdevice):
        if not name.startswith("_") and name != "core":
            setattr(libdevice, name, getattr(cuda_libdevice, name))


def _methods() -> dict[str, Callable]:
    methods: dict[str, Callable] = {
        "binary_op": _binary,
        "create_ashr": _arithmetic_shift,
        "create_clampf": _clamp,
        "create_fma": _fma,
        "create_dot": _dot,
        "create_atomic_rmw": _atomic_rmw,
        "create_atomic_cas": _atomic_cas,
        "create_fp_to_fp": _fp_to_fp,
        "cast_impl": lambda self, value, type_: cast(value, type_),
        "get_bf16": lambda self, value: Handle(encode(np.array([value], np.float32)), tl.bfloat16),
        "create_extern_elementwise": _extern,
        "create_load": interpreter_memory.load,
        "create_masked_load": interpreter_memory.masked_load,
        "create_store": interpreter_memory.store,
        "create_masked_store": interpreter_memory.masked_store,
        "create_splat": _splat,
    }
    for name in ("OLT", "OGT", "OLE", "OGE", "OEQ", "ONE"):
        methods[f"create_fcmp{name}"] = _compare(_COMPARISONS[name[1:]], ordered=True)
    for name in ("ULT", "UGT", "ULE", "UGE", "UEQ", "UNE"):
        methods[f"create_fcmp{name}"] = _compare(_COMPARISONS[name[1:]], ordered=False)
    for name in ("SLE", "SLT", "SGE", "SGT", "ULE", "ULT", "UGE", "UGT"):
        methods[f"create_icmp{name}"] = _compare(_COMPARISONS[name[1:]])
    methods["create_icmpEQ"] = _compare(np.equal)
    methods["create_icmpNE"] = _compare(np.not_equal)
    for name, op in (("minnumf", np.fmin), ("maxnumf", np.fmax)):
        methods[f"create_{name}"] = lambda self, lhs, rhs, op=op: self.binary_op(lhs, rhs, op)
    for name, function in _BY_ATEN.items():
        methods[f"create_{name}"] = lambda self, value, f=function: _unary(value, f)
    return methods


_COMPARISONS = {
    "LT": np.less,
    "GT": np.greater,
    "LE": np.less_equal,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
}
_BY_ATEN = {
    "cos": torch.cos,
    "sin": torch.sin,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "log": torch.log,
    "log2": torch.log2,
    "erf": torch.erf,
    "rsqrt": torch.rsqrt,
}


def _unary(value: Any, function: Callable) -> Any:
    result = function(torch.from_numpy(np.ascontiguousarray(decode(value)))).numpy()
    return Handle(_as(result, value.dtype.scalar), value.dtype.scalar)


def _as(data: np.ndarray, type_: Any) -> np.ndarray:
    """`data`, of a type that NumPy computes in, as `type_` is kept."""
    if type_ == tl.bfloat16:
        return encode(data)
    return data.astype(numpy_type(type_), copy=False)


def _binary(self: Any, lhs: Any, rhs: Any, op: Callable) -> Any:
    type_ = lhs.dtype.scalar
    return Handle(_as(op(decode(lhs), decode(rhs)), type_), type_)


def _splat(self: Any, type_: Any, value: Any) -> Any:
    return Handle(np.broadcast_to(value.data, tuple(type_.shape)), value.dtype.scalar)


def _compare(op: Callable, ordered: bool | None = None) -> Callable:
    def compare(self: Any, lhs: Any, rhs: Any) -> Any:
        left, right = decode(lhs), decode(rhs)
        result = op(left, right)
        if ordered is not None:
            unordered = np.isnan(left) | np.isnan(right)
            result = result & ~unordered if ordered else result | unordered
        return Handle(result, tl.int1)

    return compare


def _arithmetic_shift(self: Any, lhs: Any, rhs: Any) -> Any:
    signed = np.dtype(f"i{lhs.data.dtype.itemsize}")
    result = np.right_shift(lhs.data.view(signed), rhs.data.astype(signed))
    return Handle(result.view(lhs.data.dtype), lhs.dtype.scalar)


def _clamp(self: Any, value: Any, low: Any, high: Any, propagate_nans: Any) -> Any:
    data = np.fmin(np.fmax(decode(value), decode(low)), decode(high))
    if propagate_nans == interpreter._ir.PROPAGATE_NAN.ALL:
        data = np.where(np.isnan(decode(value)), decode(value), data)
    return Handle(_as(data, value.dtype.scalar), value.dtype.scalar)


def _fma(self: Any, x: Any, y: Any, z: Any) -> Any:
    # float64 holds a product of float32 exactly; for float64 itself two roundings remain.
    wide = [decode(each) for each in (x, y, z)]
    if wide[0].dtype.kind == "f":
        wide = [each.astype(np.float64, copy=False) for each in wide]
    return Handle(_as(wide[0] * wide[1] + wide[2], z.dtype.scalar), z.dtype.scalar)


def _dot(
    self: Any, a: Any, b: Any, accumulator: Any, input_precision: Any, max_imprecise: Any
) -> Any:
    left, right = decode(a), decode(b)
    if a.dtype.scalar.is_fp8():
        left = decode(_fp_to_fp(self, a, tl.float16, None))
    if b.dtype.scalar.is_fp8():
        right = decode(_fp_to_fp(self, b, tl.float16, None))
    type_ = accumulator.dtype.scalar
    product = np.matmul(left, right, dtype=accumulator.data.dtype)
    return Handle(product + accumulator.data, type_)


def _fp_to_fp(self: Any, value: Any, type_: Any, rounding: Any) -> Any:
    source, target = value.dtype.scalar, type_.scalar
    fp8 = source.is_fp8() or target.is_fp8()
    if fp8 or rounding == interpreter._ir.ROUNDING_MODE.RTZ:
        return _UNPATCHED_FP_TO_FP(self, value, type_, rounding)
    return cast(value, type_)


def _atomic_rmw(self: Any, operation: Any, pointer: Any, value: Any, mask: Any, *rest: Any) -> Any:
    type_ = value.dtype.scalar
    memory.places(pointer.data[mask.data], numpy_type(type_).itemsize, "adds")
    if type_ in (tl.bfloat16, tl.float16) and operation == interpreter._ir.ATOMIC_OP.FADD:
        return Handle(atomic_float_rmw(pointer.data, value, mask.data), type_)
    return _UNPATCHED_RMW(self, operation, *map(dense, (pointer, value, mask)), *rest)


def _atomic_cas(self: Any, pointer: Any, expected: Any, value: Any, *rest: Any) -> Any:
    memory.places(pointer.data, numpy_type(value.dtype.scalar).itemsize, "swaps")
    return _UNPATCHED_CAS(self, *map(dense, (pointer, expected, value)), *rest)


def _extern(
    self: Any, library: str, path: str, symbol: str, arguments: Any, type_: Any, pure: bool
) -> Any:
    result = interpreter_libdevice.call(symbol, [argument.data for argument in arguments])
    target = numpy_type(type_.scalar)
    return Handle(np.asarray(result).astype(target, copy=False), type_.scalar)
