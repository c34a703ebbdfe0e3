"""libdevice's functions on integers and on the bits of floats, by symbol."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def _unsigned(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view(np.dtype(f"u{x.dtype.itemsize}"))


def _bits(x: np.ndarray) -> np.ndarray:
    """The bits of each item, lowest first, along a new last axis."""
    width = x.dtype.itemsize * 8
    places = np.arange(width, dtype=_unsigned(x).dtype)
    return ((_unsigned(x)[..., None] >> places) & 1).astype(np.uint8)


def _from_bits(bits: np.ndarray, dtype: np.dtype) -> np.ndarray:
    unsigned = np.dtype(f"u{dtype.itemsize}")
    places = np.arange(bits.shape[-1], dtype=unsigned)
    return np.sum(bits.astype(unsigned) << places, axis=-1, dtype=unsigned).view(dtype)


def _leading_zeros(x: np.ndarray) -> np.ndarray:
    from_top = _bits(x)[..., ::-1]
    return np.where(from_top.any(-1), from_top.argmax(-1), from_top.shape[-1]).astype(np.int32)


def _first_set(x: np.ndarray) -> np.ndarray:
    bits = _bits(x)
    return np.where(bits.any(-1), bits.argmax(-1) + 1, 0).astype(np.int32)


def _population(x: np.ndarray) -> np.ndarray:
    return _bits(x).sum(-1).astype(np.int32)


def _reversed(x: np.ndarray) -> np.ndarray:
    return _from_bits(_bits(x)[..., ::-1], x.dtype)


def _wide(function: Callable[..., int]) -> Callable:
    """`function` of Python integers on each item, wrapped to the first argument's type."""

    def on_arrays(*arguments: np.ndarray) -> np.ndarray:
        width = arguments[0].dtype.itemsize * 8
        exact = np.frompyfunc(lambda *values: function(*map(int, values), width), len(arguments), 1)
        low = np.asarray(exact(*arguments), object) & ((1 << width) - 1)
        return low.astype(np.dtype(f"u{width // 8}")).view(arguments[0].dtype)

    return on_arrays


def _low_24(x: int, signed: bool) -> int:
    low = x & 0xFFFFFF
    return low - (1 << 24) if signed and low >> 23 else low


def _pick_bytes(x: int, y: int, selector: int, width: int) -> int:
    both = (x & 0xFFFFFFFF) | (y & 0xFFFFFFFF) << 32
    picked = 0
    for place in range(4):
        which = selector >> (4 * place)
        byte = (both >> (8 * (which & 7))) & 0xFF
        if which & 8:  # its sign, repeated
            byte = 0xFF if byte & 0x80 else 0
        picked |= byte << (8 * place)
    return picked


def _high(x: int, y: int, width: int) -> int:
    return (x * y) >> width


def _difference(x: int, y: int, z: int, width: int) -> int:
    return abs(x - y) + z


def _half(x: int, y: int, width: int) -> int:
    return (x + y) >> 1


def _half_up(x: int, y: int, width: int) -> int:
    return (x + y + 1) >> 1


INTEGER: dict[str, Callable] = {
    "abs": np.abs,
    "llabs": np.abs,
    **dict.fromkeys(("clz", "clzll"), _leading_zeros),
    **dict.fromkeys(("popc", "popcll"), _population),
    **dict.fromkeys(("brev", "brevll"), _reversed),
    **dict.fromkeys(("ffs", "ffsll"), _first_set),
    **dict.fromkeys(("mulhi", "umulhi", "mul64hi", "umul64hi"), _wide(_high)),
    "mul24": _wide(lambda x, y, width: _low_24(x, True) * _low_24(y, True)),
    "umul24": _wide(lambda x, y, width: _low_24(x, False) * _low_24(y, False)),
    "byte_perm": _wide(_pick_bytes),
    **dict.fromkeys(("sad", "usad"), _wide(_difference)),
    **dict.fromkeys(("hadd", "uhadd"), _wide(_half)),
    **dict.fromkeys(("rhadd", "urhadd"), _wide(_half_up)),
}


def _viewed(dtype: type) -> Callable:
    return lambda x: np.ascontiguousarray(x).view(dtype)


def _high_word(x: np.ndarray) -> np.ndarray:
    return (np.ascontiguousarray(x).view(np.uint64) >> np.uint64(32)).astype(np.uint32)


def _low_word(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view(np.uint64).astype(np.uint32)


def _joined(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    words = _unsigned(high).astype(np.uint64) << np.uint64(32) | _unsigned(low).astype(np.uint64)
    return words.view(np.float64)


BITS: dict[str, Callable] = {
    "float_as_int": _viewed(np.int32),
    "float_as_uint": _viewed(np.uint32),
    "int_as_float": _viewed(np.float32),
    "uint_as_float": _viewed(np.float32),
    "double_as_longlong": _viewed(np.int64),
    "longlong_as_double": _viewed(np.float64),
    "double2hiint": lambda x: _high_word(x).view(np.int32),
    "double2loint": lambda x: _low_word(x).view(np.int32),
    "hiloint2double": _joined,
}
