"""The lattice of facts: what the analysis knows about a value, from source alone.

Every fact is a frozen value; two facts are equal when they say the same, wherever they come from
(`origin` never takes part in comparison). `join` is the least upper bound that both sides of a
branch agree on; it has finite height: constants widen to `Static`, sequences of different length
to one element fact, and a `Union` holds at most one fact of each class.

Rules never fire on `Unknown`: it means that the analysis does not know, not that it suspects.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from .origin import Origin
from .valueclass import valueclass


@valueclass
class Fact:
    """Base of all facts. `sure` is False when the fact rests on a guess, such as a use tell.

    `rare` says that the value is only this where the usual configuration isn't (see
    `linter.analysis.usual`), and a plain number or flag otherwise.
    """

    origin: Origin | None = field(default=None, compare=False, repr=False, kw_only=True)
    sure: bool = field(default=True, kw_only=True)
    rare: bool = field(default=False, compare=False, repr=False, kw_only=True)


@valueclass
class Unknown(Fact):
    """Nothing is known."""


@valueclass
class Const(Fact):
    """A Python constant whose value is known: None, bool, int, float, str, bytes, Ellipsis."""

    value: Any
    kind: str = ""  # type name, so that 1, True and 1.0 stay apart in comparisons


@valueclass
class Static(Fact):
    """A Python value that Dynamo specialises on: configuration, flags, dtypes, devices.

    `kind` is the type's name where known ("int", "bool", "str", "dtype", "device", …), else "".
    """

    kind: str = ""


@valueclass
class ShapeInt(Fact):
    """An int or bool computed from tensor sizes: guarded on, possibly dynamic, never a break."""

    kind: str = "int"


@valueclass
class Tensor(Fact):
    """A torch.Tensor.

    rank    number of dimensions, None when unknown
    dtype   "bool", "int", "float", "complex" or "" when unknown
    single  True when it surely holds exactly one element
    ragged  True when some size depends on data (nonzero, masks, unique, …)
    role    "" computed, "input" of the region, "param", "buffer", "constant" (made of one known
            Python number), "resumed" (returned by a call that broke the graph: from there on it is
            an input)
    """

    rank: int | None = None
    dtype: str = ""
    single: bool = False
    ragged: bool = False
    role: str = ""


@valueclass
class Array(Fact):
    """A numpy.ndarray or numpy scalar made inside the region: Dynamo traces it as a tensor.

    `constant` is True for NumPy scalars made of Python numbers only: Dynamo knows their values
    where `int()` or an index asks, but not where a condition does. `stored` are those that an
    object holds from before the region: Dynamo knows them, too, but not what is computed of them.
    """

    rank: int | None = None
    dtype: str = ""
    constant: bool = False
    stored: bool = False

    @property
    def carried(self) -> bool:
        """Whether Dynamo knows the value of what is computed of it and of Python numbers."""
        return self.constant and not self.stored


@valueclass
class FromTensor(Fact):
    """A Python value that depends on tensor data.

    kind  "int", "float", "bool", "complex", "str", "list" (of such values), or ""
    how   "item" (read out: .item(), int(t), tolist), "size" (a data-dependent size, such as
          nonzero(x).numel()), "random" (a Python random number that Dynamo wraps as a tensor),
          "call" (what gave it breaks in every mode, such as torch.equal: nothing that reads it
          later adds a break)
    """

    kind: str = ""
    how: str = "item"


@valueclass
class Sequence(Fact):
    """list, tuple, set, frozenset, deque, generator, range, dict view, iterator.

    `items` holds the element facts when their number is known, else None and `elem` joins them;
    `head` are then the first ones, where they are known, as of results with optional parts.
    """

    kind: str = "list"
    items: tuple[Fact, ...] | None = None
    elem: Fact = Unknown()
    head: tuple[Fact, ...] = ()

    def element(self) -> Fact:
        """Return one fact that covers every element (Unknown when surely empty)."""
        if self.items is None:
            return self.elem
        return join_all(self.items)


@valueclass
class Mapping(Fact):
    """dict, OrderedDict, ModelOutput-like. `items`: (key constant, fact) pairs known to be there.

    `exact` says that there are no other keys; `key`/`elem` cover the others.
    """

    kind: str = "dict"
    items: tuple[tuple[Any, Fact], ...] = ()
    key: Fact = Unknown()
    elem: Fact = Unknown()
    exact: bool = False

    def get(self, key: Any) -> Fact | None:
        """Return the fact stored for the constant `key`, None when it isn't among `items`."""
        for name, fact in self.items:
            if name == key and type(name) is type(key):
                return fact
        return None

    def element(self) -> Fact:
        """Return one fact that covers every value.

        Where tensors stand beside other things in an open mapping, as in `**kwargs`, code that
        takes any of them tells them apart first, by key or by type: then nothing is known.
        """
        known = [fact for _, fact in self.items]
        if self.exact:
            return join_all(known)
        joined = join_all([*known, self.elem])
        kinds = {type(o) for o in options(joined) if not (isinstance(o, Const) and not o.value)}
        return UNKNOWN if Tensor in kinds and kinds - {Tensor} else joined

    def other(self) -> Fact:
        """Return the fact of a key that isn't among `items`: nothing is known if one isn't."""
        unknown = any(isinstance(option, Unknown) for option in options(self.elem))
        return UNKNOWN if unknown else self.elem


@valueclass
class Extern(Fact):
    """A name outside the project: module, function, class or constant, by canonical dotted name.

    Builtins are "builtins.print"; `torch.nn.functional.relu` whatever the local alias.
    """

    name: str


@valueclass
class Instance(Fact):
    """An object. `cls` is a project ClassInfo (compared by identity) or a dotted external name.

    Objects of nn.Module classes have `module` True: calling them calls `forward`.
    `attrs` holds facts of attributes stored on this very object inside the region
    (dataclass fields, constructor arguments); other attributes come from the class.
    """

    cls: Any
    module: bool = False
    attrs: tuple[tuple[str, Fact], ...] = ()


@valueclass
class ModuleRef(Fact):
    """A Python module of the project (ModuleInfo). External modules are `Extern`."""

    module: Any


@valueclass
class ClassRef(Fact):
    """A class of the project (ClassInfo). External classes are `Extern`."""

    cls: Any


@valueclass
class Function(Fact):
    """A function of the project (FunctionInfo), a nested function or lambda with its closure.

    `bound` is the fact of `self`/`cls` for a bound method. `partial` are facts that
    functools.partial put in front. `closure` maps free names to facts, sorted by name.
    `raw` is the function as written, below its decorators.
    """

    function: Any
    bound: Fact | None = None
    closure: tuple[tuple[str, Fact], ...] = ()
    partial: tuple[Fact, ...] = ()
    raw: bool = False


@valueclass
class BoundMethod(Fact):
    """A method of a value that isn't a project object: `x.item`, `log.info`, `names.append`."""

    receiver: Fact
    name: str


@valueclass
class Union(Fact):
    """One of several facts, at most one of each class, sorted by class name."""

    options: tuple[Fact, ...]


UNKNOWN = Unknown()
NONE = Const(None, "NoneType")
MAX_OPTIONS = 5


def const(value: Any, origin: Origin | None = None) -> Const:
    """Return the fact of a Python constant."""
    if value is None and origin is None:
        return NONE  # the same one, which compares at once
    return Const(value, type(value).__name__, origin=origin)


def options(fact: Fact) -> tuple[Fact, ...]:
    """Return the alternatives of a fact: those of a Union, else the fact alone."""
    return fact.options if type(fact) is Union else (fact,)


def join_all(facts: Any) -> Fact:
    """Join any number of facts; Unknown when there are none, or too many kinds of them."""
    result: Fact | None = None
    for fact in facts:
        if result is None or result is fact:
            result = fact
            continue
        joined = join(result, fact)
        if type(joined) is Unknown and Unknown not in (type(result), type(fact)):
            return joined  # too many kinds: one more must not make it known again
        result = joined
    return UNKNOWN if result is None else result


def join(left: Fact, right: Fact) -> Fact:
    """Return the least fact that covers both."""
    if left is right:
        return left
    kind, other = type(left), type(right)
    if kind is other and left == right:
        return left
    if kind is Union and other is not Union and right in left.options:  # type: ignore[attr-defined]
        known = left.options  # type: ignore[attr-defined]
        told = left.origin is _first(known) and not left.rare
        if told and left.sure is all(fact.sure for fact in known):
            return left
    if kind is not Union and other is not Union:
        slot = _SLOTS.get(kind) or _slot(left)
        beside = _SLOTS.get(other) or _slot(right)
        if slot == beside:
            return _merge(left, right)
        if kind not in _PLACED or other not in _PLACED:
            slot, beside = _place(left), _place(right)
        facts = (left, right) if slot <= beside else (right, left)
        told = left.origin and right.origin
        origin = _first(facts) if told else left.origin or right.origin
        return Union(facts, origin=origin, sure=left.sure and right.sure)
    merged: dict[object, Fact] = {}
    for fact in (*options(left), *options(right)):
        slot = _slot(fact)
        merged[slot] = _merge(merged[slot], fact) if slot in merged else fact
    if len(merged) == 1:
        return next(iter(merged.values()))
    if len(merged) > MAX_OPTIONS:  # a value of that many shapes is as good as unknown
        return Unknown(origin=left.origin or right.origin)
    facts = tuple(sorted(merged.values(), key=_place))
    return Union(facts, origin=_first(facts), sure=all(fact.sure for fact in facts))


_STORIES: dict[type[Fact], int] = {Tensor: 0, FromTensor: 1, Array: 2}


def _first(facts: tuple[Fact, ...]) -> Origin | None:
    told = [fact for fact in facts if fact.origin is not None]
    if len(told) > 1:  # stories of data come first
        told.sort(key=lambda fact: _STORIES.get(type(fact), 3))
    return told[0].origin if told else None


_SLOTS: dict[type[Fact], str] = {  # of facts that are told apart by their class alone
    **{kind: kind.__name__ for kind in (Unknown, Static, Tensor, Array, FromTensor, Mapping)},
    ShapeInt: "Static",
}
_PLACED = frozenset({*_SLOTS, Const, Sequence})  # those whose slots are their places too


def _slot(fact: Fact) -> str:
    """Facts of one slot merge into one; None keeps a slot of its own, as does each class."""
    if (plain := _SLOTS.get(type(fact))) is not None:
        return plain
    if isinstance(fact, Const):
        return "None" if fact.value is None else "Static"
    if isinstance(fact, Instance):
        return f"Instance {fact.cls if isinstance(fact.cls, str) else id(fact.cls)}"
    if isinstance(fact, (ClassRef, ModuleRef, Function, BoundMethod, Extern)):
        return f"{type(fact).__name__} {hash(fact)}"
    if isinstance(fact, Sequence):
        return f"Sequence {fact.kind}"
    return type(fact).__name__


def _place(fact: Fact) -> str:
    """Order the facts of a union by what they name, never by an address: every run agrees."""
    if type(fact) in _PLACED:
        return _slot(fact)
    if isinstance(fact, (BoundMethod, Extern)):
        return f"{type(fact).__name__} {fact.name} {_place(getattr(fact, 'receiver', NONE))}"
    named = getattr(fact, "cls", getattr(fact, "function", getattr(fact, "module", "")))
    if named and not isinstance(named, str):
        path = getattr(getattr(named, "module", named), "path", "")
        line = getattr(getattr(named, "node", None), "lineno", 0)
        named = f"{path} {line:06} {getattr(named, 'name', '')}"
    return f"{type(fact).__name__} {named}" if named else _slot(fact)


def _merge(a: Fact, b: Fact) -> Fact:
    """Merge two different facts of one slot."""
    if a == b:
        return a
    sure = a.sure and b.sure
    origin = a.origin or b.origin
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        rank = a.rank if a.rank == b.rank else None
        dtype = a.dtype if a.dtype == b.dtype else ""
        role = a.role if a.role == b.role else ""
        single, ragged = a.single and b.single, a.ragged or b.ragged
        return Tensor(rank, dtype, single, ragged, role, origin=origin, sure=sure)
    if isinstance(a, Array) and isinstance(b, Array):
        rank = a.rank if a.rank == b.rank else None
        dtype = a.dtype if a.dtype == b.dtype else ""
        constant, stored = a.constant and b.constant, a.stored or b.stored
        return Array(rank, dtype, constant, stored, origin=origin, sure=sure)
    if isinstance(a, FromTensor) and isinstance(b, FromTensor):
        kind = a.kind if a.kind == b.kind else ""
        how = a.how if a.how == b.how else "item"
        if {a.how, b.how} == {"call", "random"}:
            how = "random"  # neither was read from a tensor
        return FromTensor(kind, how, origin=origin, sure=sure)
    if isinstance(a, Sequence) and isinstance(b, Sequence):
        if a.items is not None and b.items is not None and len(a.items) == len(b.items):
            items = tuple(join(x, y) for x, y in zip(a.items, b.items))
            return Sequence(a.kind, items, origin=origin, sure=sure)
        known = [s.element() for s in (a, b) if s.items != ()]
        head: tuple[Fact, ...] = ()
        if a.kind == "tuple":
            firsts = [s.head if s.items is None else s.items for s in (a, b)]
            head = tuple(join(x, y) for x, y in zip(*firsts))
        return Sequence(a.kind, None, join_all(known), head, origin=origin, sure=sure)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return _merge_mappings(a, b, origin, sure)
    if isinstance(a, Instance) and isinstance(b, Instance):
        names = {n for n, _ in a.attrs} & {n for n, _ in b.attrs}
        left, right = dict(a.attrs), dict(b.attrs)
        attrs = tuple(sorted(((n, join(left[n], right[n])) for n in names), key=lambda kv: kv[0]))
        return replace(a, attrs=attrs, sure=sure)
    if isinstance(a, (Const, Static, ShapeInt)) and isinstance(b, (Const, Static, ShapeInt)):
        kind = a.kind if a.kind == b.kind else ""
        if isinstance(a, ShapeInt) or isinstance(b, ShapeInt):
            return ShapeInt(kind or "int", origin=origin, sure=sure)
        return Static(kind, origin=origin, sure=sure)
    return Unknown(origin=origin)


def _merge_mappings(a: Mapping, b: Mapping, origin: Origin | None, sure: bool) -> Fact:
    keys: dict[tuple[str, Any], Any] = {}
    for key, _ in (*a.items, *b.items):
        keys.setdefault((type(key).__name__, key), key)
    items = []
    for key in keys.values():
        left, right = a.get(key), b.get(key)
        items.append((key, join(left or right or UNKNOWN, right or left or UNKNOWN)))
    key, elem, exact = join(a.key, b.key), join(a.elem, b.elem), a.exact and b.exact
    return Mapping(a.kind, tuple(items), key, elem, exact, origin=origin, sure=sure)
