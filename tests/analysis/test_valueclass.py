"""Values: what `valueclass` makes acts as a frozen dataclass does."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field, fields, replace

import pytest
from compile_lint.rules.base.valueclass import valueclass


@valueclass
class Base:
    """What others are made of."""

    origin: str | None = field(default=None, compare=False, repr=False, kw_only=True)
    sure: bool = field(default=True, kw_only=True)


@valueclass
class Leaf(Base):
    """A field without a default, one with, one that is made anew and one that isn't hashed."""

    name: str
    rank: int | None = None
    parts: list[int] = field(default_factory=list, compare=False)
    notes: dict[str, int] = field(default_factory=dict, hash=False)


@valueclass
class Empty:
    """No fields at all."""


def test_fields_defaults_and_keywords():
    leaf = Leaf("a", 2, origin="here")
    assert (leaf.name, leaf.rank, leaf.parts, leaf.notes) == ("a", 2, [], {})
    assert (leaf.origin, leaf.sure) == ("here", True)
    assert Leaf("a").parts is not Leaf("a").parts
    assert [each.name for each in fields(leaf)] == [
        "origin",
        "sure",
        "name",
        "rank",
        "parts",
        "notes",
    ]
    for wrong in ((), ("a", 1, [], {}, "here")):
        with pytest.raises(TypeError):
            Leaf(*wrong)
    with pytest.raises(AttributeError):
        leaf.other = 1  # type: ignore[attr-defined]


def test_values_that_say_the_same_are_equal():
    assert Leaf("a", origin="here") == Leaf("a", parts=[1])
    assert hash(Leaf("a", origin="here")) == hash(Leaf("a", notes={"x": 1}))
    assert Leaf("a") != Leaf("a", notes={"x": 1})
    assert Leaf("a") != Leaf("a", sure=False)
    assert Leaf("a") != "a"
    assert Base() != Empty()
    assert Empty() == Empty()
    assert len({Empty(), Empty(), Base(), Base(sure=False)}) == 3


def test_shown_as_a_dataclass_is():
    @dataclass
    class Plain:
        """The same by the standard library."""

        name: str
        rank: int | None = None

    assert repr(Plain("a")).rpartition(".")[2] == "Plain(name='a', rank=None)"
    assert repr(Leaf("a")) == "Leaf(sure=True, name='a', rank=None, parts=[], notes={})"


def test_copies_and_travels_between_processes():
    leaf = Leaf("a", 1, [3], {"x": 1}, origin="here", sure=False)
    for made in (copy.deepcopy(leaf), pickle.loads(pickle.dumps(leaf)), replace(leaf)):
        assert made == leaf
        assert (made.origin, made.parts) == (leaf.origin, leaf.parts)
    assert replace(leaf, name="b") == Leaf("b", 1, [3], {"x": 1}, sure=False)
