"""What torch is, per torch minor version: return kinds, tags, Dynamo's rules, graph-break ids.

The tables are JSON files in ``data/``, written from torch itself by
``.ci/generate_torch_facts.py`` (its docstring names the source of each section). Nothing here
imports torch. Kinds of values are ``tensor``, ``tensors:N`` (a tuple of N), ``tensors`` (a
sequence of unknown length), ``bool``, ``int``, ``float``, ``number``, ``str``, ``dtype``,
``device``, ``size``, ``layout``, ``generator``, ``list``, ``array``, ``none`` and ``any``;
``a|b`` is either of them, ``a,b`` (modules only) a tuple of both.

    facts = load("2.13")
    facts.function("torch.nn.functional.relu")  # 'tensor'
    "dynamic_output_shape" in facts.tags("torch.nonzero")  # True
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .overloads import matching

__all__ = [
    "NUMPY_COUNTING",
    "GraphBreak",
    "TorchFacts",
    "installed_torch",
    "known_versions",
    "load",
]

SKIPPED = "GB0007"  # "Attempted to call function marked as skipped", in every version so far
_DATA = Path(__file__).parent / "data"
_TENSOR = ("torch.Tensor.", "torch._tensor.Tensor.", "torch._C.TensorBase.")
_ATEN = "torch.ops.aten."
# ``torch-2.13.0+cpu.dist-info``, ``torch-2.13.0-py3.11.egg-info``
_METADATA = re.compile(r"torch-(\d[^-]*?)(?:-py[\d.]+)?\.(?:dist|egg)-info$")

# NumPy functions that end the graph whatever goes in (Dynamo makes a tensor of a list, too), since
# how many elements or rows come out depends on it; with the rank of the arrays they give.
NUMPY_COUNTING = {
    "numpy.where": 1,
    "numpy.nonzero": 1,
    "numpy.flatnonzero": 1,
    "numpy.argwhere": 2,
    "numpy.unique": 1,
}

# kind, what Dynamo does, tags, those that `tags` tells of
Row = tuple[str, str, frozenset[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """One entry of Dynamo's registry: ``GB0170``, its type, and what it means in our words."""

    id: str
    type: str
    meaning: str | None


@dataclass(frozen=True, slots=True, eq=False)
class TorchFacts:
    """The tables of one torch version. Names are dotted and absolute: ``torch.linalg.svd``.

    ``torch.ops.aten.relu`` is looked up as the function or method of that name.
    """

    version: str
    _sections: Mapping[str, Any]
    _rows: dict[tuple[str, str], Row | None] = field(default_factory=dict, repr=False)
    _functions: dict[str, Row | None] = field(default_factory=dict, repr=False)
    _modules: dict[str, str | None] = field(default_factory=dict, repr=False)

    def canonical(self, dotted: str) -> str:
        """``torch.functional.einsum`` -> ``torch.einsum``; unknown names come back unchanged."""
        return self._sections["aliases"].get(dotted, dotted)

    def function(self, dotted: str) -> str | None:
        """The kind of value that calling ``dotted`` gives; None when torch has no such name."""
        row = self._function_row(dotted)
        return None if row is None else row[0]

    def call(
        self, dotted: str, positional: Sequence[str], keywords: Mapping[str, str]
    ) -> str | None:
        """The kind that this one call gives, where overloads differ; else as ``function``.

        Arguments are kinds; ``any`` for what is not known, ``true`` and ``false`` for literals.
        Methods are spelled ``torch.Tensor.max`` and get no argument for ``self``:
        ``call("torch.Tensor.max", ["int"], {})`` is ``tensors:2``, without arguments ``tensor``.
        """
        rows = self._sections["overloads"]
        overloads = rows.get(dotted) or rows.get(self.canonical(dotted)) or ()
        kinds = {kind for row in overloads for kind in matching(row, positional, keywords)}
        return "|".join(sorted(kinds)) if kinds else self.function(dotted)

    def method(self, name: str) -> str | None:
        """The kind of value that ``tensor.name(...)`` gives; None for properties and unknowns."""
        row = self._row("methods", name)
        return None if row is None or "property" in row[2] else row[0]

    def attribute(self, name: str) -> str | None:
        """The kind of value that ``tensor.name`` is, for properties; None for methods."""
        row = self._row("methods", name)
        return row[0] if row is not None and "property" in row[2] else None

    def tags(self, dotted: str) -> frozenset[str]:
        """Tags of a function, or of a method spelled ``torch.Tensor.nonzero``.

        ``data_dependent_output``, ``dynamic_output_shape``, ``pointwise``, ``inplace_view``,
        ``nondeterministic_seeded``, ``view`` (may alias its input), ``inplace`` (writes to an
        argument), ``constructor`` (makes a tensor out of no tensor). With the prefix ``maybe_``
        only some ways to call it have the tag.
        """
        row = self._function_row(dotted)
        return frozenset() if row is None else row[3]

    def dynamo(self, dotted: str) -> str | None:
        """What Dynamo does with a call: ``graph``, ``inline``, ``constant``, ``skip`` or ``break``.

        ``skip`` is Dynamo's rule not to trace it and breaks the graph; ``break`` was measured:
        the rules send it to the graph, yet every call tried breaks under ``fullgraph=True`` (see
        ``break_id``). None is "no rule": a class, or a name torch does not have.
        """
        row = self._function_row(dotted)
        if row is None or not row[1]:
            return None
        return "break" if row[1].startswith("GB") else row[1]

    def break_id(self, dotted: str) -> str | None:
        """The graph-break id of a call that ``dynamo`` calls ``skip`` or ``break``."""
        row = self._function_row(dotted)
        if row is None:
            return None
        return SKIPPED if row[1] == "skip" else row[1] if row[1].startswith("GB") else None

    def skipped_module(self, dotted: str) -> bool:
        """Is ``dotted`` (or a package it is in) on Dynamo's list of modules never traced?"""
        skipped = self._sections["skip_modules"]
        while dotted and dotted not in skipped:
            dotted = dotted.rpartition(".")[0]
        return bool(dotted)

    def python(self, dotted: str) -> str | None:
        """``ok``, or the graph-break id, of a call to a builtin or the standard library.

        Measured on one plain call (``builtins.print``, ``time.time``, ``os.path.join``). None
        for names that were not measured.
        """
        return self._sections["python"].get(dotted)

    def numpy(self, dotted: str) -> str | None:
        """``yes``, ``no``, ``constant`` or ``random`` for a name of numpy; None if unknown.

        ``random``: arrays of draws are traced, a single draw breaks as ``.item()`` would.
        """
        return self._sections["numpy"].get(dotted)

    def numpy_covered(self, dotted: str) -> bool | None:
        """Does Dynamo trace ``numpy.linalg.norm``? None for names numpy does not have."""
        coverage = self.numpy(dotted)
        return None if coverage is None else coverage != "no"

    def ndarray(self, name: str) -> str | None:
        """``ok``, or the graph-break id, of an attribute or method of an array under Dynamo."""
        return self._sections["ndarray"].get(name)

    def module(self, dotted: str) -> str | None:
        """What calling an instance of this ``nn.Module`` class gives; None if it is not one."""
        try:
            return self._modules[dotted]
        except KeyError:
            row = self._sections["modules"].get(self.canonical(dotted))
            kind = self._modules[dotted] = None if row is None else row.split(";")[0]
            return kind

    def is_rnn(self, dotted: str) -> bool:
        """Is it ``nn.LSTM``, ``nn.GRU`` or ``nn.RNN``, which Dynamo breaks on by default?"""
        return self._sections["modules"].get(self.canonical(dotted), "").endswith(";rnn")

    def graph_break(self, id: str) -> GraphBreak | None:
        """The registry's entry for ``GB0170``; None when this version has no such id."""
        kind = self._sections["graph_breaks"].get(id)
        return None if kind is None else GraphBreak(id, kind, _meanings().get(id))

    def graph_break_ids(self) -> tuple[str, ...]:
        return tuple(self._sections["graph_breaks"])

    def _function_row(self, dotted: str) -> Row | None:
        try:
            return self._functions[dotted]
        except KeyError:
            row = self._functions[dotted] = self._find_function(dotted)
            return row

    def _find_function(self, dotted: str) -> Row | None:
        for prefix in _TENSOR:
            if dotted.startswith(prefix):
                return self._row("methods", dotted[len(prefix) :])
        if dotted.startswith(_ATEN):
            name = dotted[len(_ATEN) :].split(".")[0]
            return self._row("functions", f"torch.{name}") or self._row("methods", name)
        return self._row("functions", dotted) or self._row("functions", self.canonical(dotted))

    def _row(self, section: str, name: str) -> Row | None:
        key = (section, name)
        try:
            return self._rows[key]
        except KeyError:
            row = self._rows[key] = self._read_row(section, name)
            return row

    def _read_row(self, section: str, name: str) -> Row | None:
        text = self._sections[section].get(name)
        if text is None:
            return None
        kind, dynamo, tags, *_ = (*text.split(";"), "", "")
        known = frozenset(tags.split(",") if tags else ())
        return kind, dynamo, known, known - {"property"}


@functools.cache
def known_versions() -> tuple[str, ...]:
    """The torch minor versions there are tables for, oldest first: ``("2.11", "2.13")``."""
    found = (path.stem for path in _DATA.glob("[0-9]*.[0-9]*.json"))
    return tuple(sorted(found, key=_as_numbers))


def installed_torch() -> str | None:
    """The version of torch in this environment, from package metadata; None without torch.

    Reads folder names only: importing ``importlib.metadata`` takes longer than a small lint run.
    """
    for entry in sys.path:
        for folder in sorted(Path(entry).glob("torch-*-info")):
            found = _METADATA.match(folder.name)
            if found:
                return found.group(1)
    return None


def load(target: str | None) -> TorchFacts:
    """The newest tables that are not newer than ``target`` (``2.13``, ``2.13.0+cpu``).

    The oldest known ones for an older target, the newest known ones for None. Raises ValueError
    when ``target`` does not start with ``major.minor``.
    """
    known = known_versions()
    if target is None:
        return _load(known[-1])
    wanted = _as_numbers(target)
    fitting = [version for version in known if _as_numbers(version) <= wanted]
    return _load(fitting[-1] if fitting else known[0])


@functools.cache
def _load(version: str) -> TorchFacts:
    text = (_DATA / f"{version}.json").read_text(encoding="utf-8")
    return TorchFacts(version, json.loads(text))


@functools.cache
def _meanings() -> Mapping[str, str]:
    return json.loads((_DATA / "graph_break_meanings.json").read_text(encoding="utf-8"))


def _as_numbers(version: str) -> tuple[int, int]:
    try:
        major, minor = version.split(".")[:2]
        return int(major), int(minor)
    except ValueError:
        raise ValueError(f"not a torch version: {version!r} (expected e.g. '2.13')") from None
