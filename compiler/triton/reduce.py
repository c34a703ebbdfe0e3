"""Reductions and scans as Triton text: whole, or by a running accumulator."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import LoweringError
from ..ir.values import Value
from .scalar import TL_NAMES, constant_text

BLOCK = "[XBLOCK, RBLOCK]"
LAST_PLACE = 9223372036854775807  # loses every tie
Text = Callable[[Value, str], str]


@dataclass(frozen=True, slots=True)
class Row:
    """How one kind is reduced.

    Attributes:
        identity: What masked elements are, by dtype.
        combine: Text of a step: (value, accumulator, element).
        across: Text of the reduction along the inner axis of a block.
    """

    identity: Callable[[torch.dtype], Any]
    combine: Callable[[Value, str, str], str]
    across: Text


def _lowest(dtype: torch.dtype) -> Any:
    return -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _highest(dtype: torch.dtype) -> Any:
    return math.inf if dtype.is_floating_point else torch.iinfo(dtype).max


def _nan(value: Value) -> str:
    return ", tl.PropagateNan.ALL" if value.dtype.is_floating_point else ""


def _extreme(name: str) -> Text:
    def text(value: Value, block: str) -> str:
        if value.dtype.is_floating_point:
            return f"tl.reduce({block}, 1, library.{name}_nan)"
        return f"tl.{name}({block}, 1)"

    return text


ROWS: dict[str, Row] = {
    "sum": Row(
        lambda dtype: 0, lambda v, a, x: f"{a} + {x}", lambda v, block: f"tl.sum({block}, 1)"
    ),
    "prod": Row(
        lambda dtype: 1,
        lambda v, a, x: f"{a} * {x}",
        lambda v, block: f"tl.reduce({block}, 1, library.multiply)",
    ),
    "max": Row(_lowest, lambda v, a, x: f"tl.maximum({a}, {x}{_nan(v)})", _extreme("max")),
    "min": Row(_highest, lambda v, a, x: f"tl.minimum({a}, {x}{_nan(v)})", _extreme("min")),
    "any": Row(
        lambda dtype: 0,
        lambda v, a, x: f"tl.maximum({a}, {x})",
        lambda v, block: f"tl.max({block}, 1)",
    ),
    "all": Row(
        lambda dtype: 1,
        lambda v, a, x: f"tl.minimum({a}, {x})",
        lambda v, block: f"tl.min({block}, 1)",
    ),
}
ARG = {"argmax": ("larger_at", _lowest), "argmin": ("smaller_at", _highest)}


def _row(value: Value) -> Row:
    row = ROWS.get(value.attrs[0])
    if row is None:
        raise LoweringError(f"no Triton for the reduction {value.attrs[0]}")
    return row


def _held(value: Value) -> torch.dtype:
    """What a block of the reduction is held as: booleans as small integers."""
    return torch.int32 if value.attrs[0] in ("any", "all") else value.args[0].dtype


def _element(value: Value, name: str) -> str:
    return f"{name}.to(tl.int32)" if value.attrs[0] in ("any", "all") else name


def _result(value: Value, text: str) -> str:
    if value.attrs[0] in ("any", "all"):
        return f"({text} != 0)[:, None]"
    return f"{text}.to({TL_NAMES[value.dtype]})[:, None]"


def whole(value: Value, name: str, operands: list[str]) -> list[str]:
    """The reduction of one block that holds every element."""
    kind = value.attrs[0]
    if kind in ARG:
        function, worst = ARG[kind]
        dtype = value.args[0].dtype
        return [
            f"{name}_x = tl.where(rmask, {_wide(operands[0])}, "
            f"{constant_text(worst(dtype), dtype)})",
            f"{name}_i = tl.where(rmask, {_wide(operands[1])}, {LAST_PLACE})",
            f"{name}_x, {name}_i = tl.reduce(({name}_x, {name}_i), 1, library.{function})",
            f"{name} = {name}_i[:, None]",
        ]
    row = _row(value)
    dtype = _held(value)
    neutral = constant_text(row.identity(dtype), dtype)
    block = f"tl.where(rmask, {_wide(_element(value, operands[0]))}, {neutral})"
    return [f"{name} = {_result(value, row.across(value, block))}"]


def _wide(operand: str) -> str:
    return f"tl.broadcast_to({operand}, {BLOCK})"


def begin(value: Value, accumulator: str) -> list[str]:
    """The accumulator before the loop."""
    kind = value.attrs[0]
    if kind in ARG:
        dtype = value.args[0].dtype
        worst = constant_text(ARG[kind][1](dtype), dtype)
        return [
            f"{accumulator} = tl.broadcast_to({worst}, {BLOCK})",
            f"{accumulator}_i = tl.full({BLOCK}, {LAST_PLACE}, tl.int64)",
        ]
    dtype = _held(value)
    neutral = constant_text(_row(value).identity(dtype), dtype)
    return [f"{accumulator} = tl.broadcast_to({neutral}, {BLOCK})"]


def step(value: Value, accumulator: str, operands: list[str]) -> list[str]:
    """The accumulator after one more block."""
    kind = value.attrs[0]
    if kind in ARG:
        x, i = _wide(operands[0]), _wide(operands[1])
        return [
            f"{accumulator}_x, {accumulator}_j = library.{ARG[kind][0]}"
            f"({accumulator}, {accumulator}_i, {x}, {i})",
            f"{accumulator} = tl.where(rmask, {accumulator}_x, {accumulator})",
            f"{accumulator}_i = tl.where(rmask, {accumulator}_j, {accumulator}_i)",
        ]
    element = _wide(_element(value, operands[0]))
    combined = _row(value).combine(value, accumulator, element)
    return [f"{accumulator} = tl.where(rmask, {combined}, {accumulator})"]


def end(value: Value, accumulator: str, name: str) -> list[str]:
    """The result, from the accumulator."""
    kind = value.attrs[0]
    if kind in ARG:
        return [
            f"{name}_x, {name} = tl.reduce(({accumulator}, {accumulator}_i), 1, "
            f"library.{ARG[kind][0]})",
            f"{name} = {name}[:, None]",
        ]
    return [f"{name} = {_result(value, _row(value).across(value, accumulator))}"]


# How each kind is scanned: the function, and what masked elements are.
SCANS: dict[str, tuple[str, Callable[[torch.dtype], Any]]] = {
    "sum": ("add", lambda dtype: 0),
    "prod": ("multiply", lambda dtype: 1),
    "max": ("max", _lowest),
    "min": ("min", _highest),
    "logsumexp": ("log_add_exp", _lowest),
    "argmax": ("last_larger_at", _lowest),
    "argmin": ("last_smaller_at", _highest),
}


def scan(value: Value, name: str, operands: list[str]) -> list[str]:
    """Running results along the inner axis of one block."""
    kind = value.attrs[0]
    if kind not in SCANS:
        raise LoweringError(f"no Triton for the scan {kind}")
    function, neutral = SCANS[kind]
    dtype = value.args[0].dtype
    if kind in ("max", "min"):
        function += "_nan" if dtype.is_floating_point else "_int"
    block = f"tl.where(rmask, {_wide(operands[0])}, {constant_text(neutral(dtype), dtype)})"
    if kind in ARG:
        places = _wide(f"{operands[1]}.to(tl.int64)")
        return [
            f"{name}_x, {name} = tl.associative_scan(({block}, {places}), 1, library.{function})"
        ]
    return [f"{name} = tl.associative_scan({block}, 1, library.{function})"]
