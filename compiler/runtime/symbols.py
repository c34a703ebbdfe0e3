"""Symbolic sizes under names that are equal in every process.

ShapeEnv names a size after its source and its history: what is s77 here may be s3 there. A symbol
is renamed by the order in which the inputs and then the nodes mention it: s0, s1 … for sizes that
an input fixes, u0 … for those known only at run time, zf0 … for floats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy
import torch

_PREFIX = re.compile(r"[A-Za-z_]+")
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Unkeyable(Exception):
    """Part of a graph has no text that means the same in another process."""


def canonical_symbols(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> dict[sympy.Symbol, str]:
    """The canonical name of each symbol in `inputs` and in the nodes of `gm` and its subgraphs.

    Rename all of them at once: a symbol that is called s1 already may become s0.
    """
    return Symbols(gm, inputs).names


class Symbols:
    """The symbols of one graph: their names, what is known of them, and expressions as text."""

    def __init__(self, gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> None:
        self.names: dict[sympy.Symbol, str] = {}
        self._replacement: dict[sympy.Symbol, sympy.Symbol] = {}
        self._used: dict[str, int] = {}
        self._texts: dict[Any, str] = {}
        self._rank: dict[sympy.Symbol, int] = {}
        self.shape_env: Any = None
        for value in inputs:
            self._number_value(value)
        for node in _nodes(gm, set()):
            self._number_value(node.meta.get("val"))

    def text(self, expr: Any) -> str:
        """An integer, symbolic number or sympy expression, in canonical names."""
        if type(expr) is int:
            return str(expr)
        expr = _expression(expr)
        text = self._texts.get(expr)
        if text is None:
            self._number(expr)
            text = str(expr.xreplace(self._replacement)) if expr.free_symbols else str(expr)
            self._texts[expr] = text
        return text

    def rename_in(self, message: str) -> str:
        """A message in words, with the names that ShapeEnv gave replaced."""
        names = {str(symbol): name for symbol, name in self.names.items()}
        return re.sub(r"\b[A-Za-z_]+\d+\b", lambda m: names.get(m[0], m[0]), message)

    def facts(self) -> list[str]:
        """What ShapeEnv knows of the symbols: lowering may simplify by it, so it's in the key.

        A hint counts by its power of two: block sizes are chosen by magnitude, and a second batch
        size must not miss.
        """
        env = self.shape_env
        if env is None:
            return []
        renamed = hasattr(env, "backed_var_to_val")  # some versions warn of the former name
        hints: Mapping = getattr(env, "backed_var_to_val" if renamed else "var_to_val", {})
        overrides: Mapping = getattr(env, "var_to_hint_override", {})
        ranges: Mapping = getattr(env, "var_to_range", {})
        size_like = getattr(env, "size_like", ())
        lines = []
        for symbol, name in self.names.items():
            hint = overrides.get(symbol, hints.get(symbol))
            span = ranges.get(symbol)
            lines.append(
                f"symbol {name} integer={symbol.is_integer} sign={symbol.is_positive},"
                f"{symbol.is_nonnegative} size_like={symbol in size_like} "
                f"range={span and (str(span.lower), str(span.upper))} hint={_magnitude(hint)}"
            )
        asserts: Mapping = getattr(env, "deferred_runtime_asserts", {})
        known = [guard.expr for guard in getattr(env, "guards", ())]
        known += [check.expr for checks in asserts.values() for check in checks]
        other = sympy.Symbol("other", integer=True)
        relations = set()
        for expr in known:
            free = getattr(expr, "free_symbols", set())
            if any(symbol in self.names for symbol in free):
                ours = expr.xreplace({s: self._replacement.get(s, other) for s in free})
                relations.add(f"known {ours}")
        return lines + sorted(relations)

    def _number_value(self, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            if value.layout is torch.strided:
                for size in (*value.shape, *value.stride(), value.storage_offset()):
                    self._number_value(size)
        elif isinstance(value, _SYMBOLIC) and hasattr(value.node, "expr"):
            self.shape_env = self.shape_env or value.node.shape_env
            self._number(_expression(value))
        elif isinstance(value, (list, tuple)):
            for item in value:
                self._number_value(item)

    def _number(self, expr: Any) -> None:
        new = [symbol for symbol in expr.free_symbols if symbol not in self.names]
        if len(new) > 1:
            new.sort(key=self._creation)
        for symbol in new:
            match = _PREFIX.match(symbol.name)
            prefix = match[0] if match else "s"
            number = self._used.get(prefix, 0)
            self._used[prefix] = number + 1
            name = self.names[symbol] = f"{prefix}{number}"
            self._replacement[symbol] = sympy.Symbol(name, **symbol.assumptions0)

    def _creation(self, symbol: sympy.Symbol) -> tuple[int, str]:
        """Symbols that one expression brings in together count by when ShapeEnv made them."""
        if symbol not in self._rank:
            ranges = getattr(self.shape_env, "var_to_range", {})
            self._rank = {known: rank for rank, known in enumerate(ranges)}
        return self._rank.get(symbol, len(self._rank)), symbol.name


def _expression(value: Any) -> Any:
    """A symbolic number's sympy expression."""
    if not isinstance(value, _SYMBOLIC):
        return sympy.sympify(value)
    if not hasattr(value.node, "expr"):
        raise Unkeyable("the ragged size of a nested tensor")
    return sympy.sympify(value.node.expr)


def _magnitude(hint: Any) -> str:
    try:
        return str(int(hint).bit_length())
    except (TypeError, ValueError, OverflowError):  # none, or a float's or nested int's hint
        return "-" if hint is None else str(hint)


def _nodes(gm: torch.fx.GraphModule, seen: set[int]) -> Iterator[torch.fx.Node]:
    """The graph's nodes, those of a subgraph in the place where it's fetched."""
    seen.add(id(gm))
    for node in gm.graph.nodes:
        if node.op == "get_attr":
            child = getattr(gm, str(node.target), None)
            if isinstance(child, torch.fx.GraphModule) and id(child) not in seen:
                yield from _nodes(child, seen)
        yield node
