"""Which rules look at which node.

A rule is asked three times, each time about less: its `nodes` and `concerns` are looked at once for
each node of a function, `answers` once for each name that is called, and only what is left is
checked for every caller. Of some sixty rules about calls, most calls are left with none.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..rules.base.rule import Rule
from ..rules.torch_facts import TorchFacts


class ByName(dict[str, tuple[Rule, ...]]):
    """The rules for a call by the name of what is called: of `rules`, and of those for the name.

    `above` has what all rules for calls answer: calls are of many syntaxes, and of few names.
    """

    def __init__(
        self, rules: tuple[Rule, ...], torch: TorchFacts, above: ByName | None = None
    ) -> None:
        super().__init__()
        self._rules, self._torch, self._above = rules, torch, above

    def __missing__(self, name: str) -> tuple[Rule, ...]:
        if self._above is None:
            rules = tuple([rule for rule in self._rules if rule.answers(name, self._torch)])
        else:
            answering = self._above[name]
            rules = tuple([rule for rule in self._rules if rule in answering])
        self[name] = rules
        return rules


Chosen = list[tuple[ast.AST, tuple[Rule, ...] | ByName]]


@dataclass(eq=False, slots=True)
class _Column:
    """The rules for one type of node; `kept` are those left by what the `picky` ones said."""

    calls: bool
    rules: list[Rule] = field(default_factory=list)
    picky: list[Rule] = field(default_factory=list)
    asked: list[Callable[[ast.AST, TorchFacts], bool]] = field(default_factory=list)
    kept: dict[tuple[bool, ...], tuple[Rule, ...] | ByName] = field(default_factory=dict)


class Dispatch:
    """The rules of a run by node type and callee name."""

    def __init__(
        self, rules: Iterable[Rule], torch: TorchFacts, words: frozenset[str] | None = None
    ) -> None:
        """With `words`, rules that have triggers are left out unless one of them is there."""
        self._torch, self.words = torch, words
        self._columns: dict[type[ast.AST], _Column] = {}
        for rule in rules:
            if words is not None and rule.triggers and words.isdisjoint(rule.triggers):
                continue
            for kind in rule.nodes:
                column = self._columns.setdefault(kind, _Column(kind is ast.Call))
                column.rules.append(rule)
                if type(rule).concerns is not Rule.concerns:
                    column.picky.append(rule)
                    column.asked.append(rule.concerns)
        calls = self._columns.get(ast.Call)
        self._calls = ByName(() if calls is None else tuple(calls.rules), torch)

    def select(self, nodes: Iterable[ast.AST]) -> Chosen:
        """Return the nodes that rules look at, in the order of the source, with those rules."""
        chosen: Chosen = []
        columns, torch = self._columns, self._torch
        for node in nodes:
            column = columns.get(type(node))
            if column is None:
                continue
            said = tuple([concerns(node, torch) for concerns in column.asked])
            rules = column.kept.get(said)
            if rules is None:
                rules = column.kept[said] = self._kept(column, said)
            if rules or column.calls:
                chosen.append((node, rules))
        chosen.sort(key=_place)
        return chosen

    def _kept(self, column: _Column, said: tuple[bool, ...]) -> tuple[Rule, ...] | ByName:
        out = {rule for rule, concerned in zip(column.picky, said) if not concerned}
        kept = tuple(rule for rule in column.rules if rule not in out)
        return ByName(kept, self._torch, self._calls) if column.calls else kept


def _place(chosen: tuple[ast.AST, object]) -> tuple[int, int]:
    node = chosen[0]
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


__all__ = ["ByName", "Chosen", "Dispatch"]
