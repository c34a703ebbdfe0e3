"""The interprocedural part: names across modules, function summaries, objects being built.

A function is analysed once for every distinct set of argument facts (up to a limit, then with
widened ones), so a helper called with a tensor here and a number there gets both its stories.
The result is a `Summary`: what it returns, what the rules saw in it, which functions it called.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ...rules.base.facts import (
    UNKNOWN,
    ClassRef,
    Const,
    Extern,
    Fact,
    Function,
    Instance,
    Mapping,
    ModuleRef,
    Sequence,
    Static,
    Tensor,
    Unknown,
    join,
    join_all,
    options,
)
from ...rules.torch_facts import TorchFacts
from ..index import Assigned, ClassInfo, FunctionInfo, Imported, ModuleInfo, Project
from ..index.modules import absolute_import
from . import annotations, classes, parameters
from .calls import CONSTANT_CALLS
from .expressions import evaluate
from .frame import Env, Frame
from .statements import run_body

MAX_DEPTH = 24
MAX_SIGNATURES = 8
MAX_STARS = 32
_BUILTINS = frozenset(dir(builtins))


@dataclass(eq=False, slots=True)
class Summary:
    """The result of analysing one function with one set of argument facts."""

    function: FunctionInfo
    returns: Fact = UNKNOWN
    stores: dict[str, Fact] = field(default_factory=dict)
    children: list[Summary] = field(default_factory=list)
    sightings: tuple = ()
    done: bool = False


class Analyzer:
    """Facts about a project, gathered on demand. One per worker process."""

    def __init__(
        self, project: Project, torch: TorchFacts, inspect: Callable[[Frame], tuple]
    ) -> None:
        self.project = project
        self.torch = torch
        self.inspect = inspect  # runs the rules on a finished frame
        self.attribute_tables: dict[ClassInfo, dict[str, Fact]] = {}
        self.guesses: dict[FunctionInfo, Env] = {}
        self.compiled_paths: dict[FunctionInfo | ModuleInfo, dict[str, list[ast.Call]]] = {}
        self._summaries: dict[object, Summary] = {}
        self._signatures: dict[FunctionInfo, int] = {}
        self._values: dict[tuple[ModuleInfo, str], Fact] = {}
        self._layers: dict[ClassInfo, dict[str, ast.Call]] = {}
        self._named: dict[ClassInfo, dict[str, Fact]] = {}
        self._nested: dict[ast.AST, FunctionInfo] = {}
        self._wrappers: dict[FunctionInfo, Function | None] = {}
        self._free: dict[ast.AST, frozenset[str]] = {}

    # -- names ------------------------------------------------------------------------------

    def module_value(self, module: ModuleInfo, name: str) -> Fact:
        """Return what a global name of a module is."""
        key = (module, name)
        known = self._values.get(key)
        if known is None:
            self._values[key] = UNKNOWN  # a value that is defined by itself ends here
            known = self._values[key] = self._module_value(module, name)
        return known

    def _module_value(self, module: ModuleInfo, name: str) -> Fact:
        bound = module.bindings.get(name)
        if bound is None:
            if name in _BUILTINS:
                return Extern(f"builtins.{name}")
            # A package that re-exports everything there is would have us parse it all.
            for star in module.stars if len(module.stars) <= MAX_STARS else ():
                source = self.project.find(star, module)
                if source is None:
                    if star.partition(".")[0] in ("torch", "math", "numpy"):
                        return self.extern(f"{star}.{name}")
                elif name in source.bindings or source.stars:
                    found = self.module_value(source, name)
                    if not isinstance(found, Unknown):
                        return found
            return UNKNOWN
        if isinstance(bound, Imported):
            return self.imported_name(module, bound.module, bound.name)
        if isinstance(bound, FunctionInfo):
            return Function(bound)
        if isinstance(bound, ClassInfo):
            return self.class_ref(bound)
        return self._assigned(module, bound)

    def _assigned(self, module: ModuleInfo, bound: Assigned) -> Fact:
        facts = [self.static_value(module, value) for value in bound.values]
        fact = classes.at_rest(join_all(facts))
        if bound.annotation is not None and isinstance(fact, Unknown):
            fact = self.annotation(module, bound.annotation)
        if bound.partial:
            fact = Static(fact.kind) if isinstance(fact, Const) else join(fact, UNKNOWN)
        return fact

    def imported_name(self, module: ModuleInfo, source: str, name: str) -> Fact:
        """Return what `from source import name` (or `import source`, name "") binds."""
        found = self.project.find(source, module)
        if not name:
            return self.extern(source) if found is None else ModuleRef(found)
        if found is None:
            inner = self.project.find(f"{source}.{name}", module)
            return self.extern(f"{source}.{name}") if inner is None else ModuleRef(inner)
        return self.member(found, name, module)

    def member(self, source: ModuleInfo, name: str, importer: ModuleInfo) -> Fact:
        """Return `source.name`: a global of the module, or a submodule of the package."""
        if name not in source.bindings and source.package:
            inner = self.project.find(f"{source.name}.{name}", importer)
            if inner is not None:
                return ModuleRef(inner)
        if name in source.bindings or source.stars:
            return self.module_value(source, name)
        return UNKNOWN

    def extern(self, name: str) -> Fact:
        """Return the fact of an external name, under its canonical spelling."""
        if name.startswith("torch"):
            name = self.torch.canonical(name)
        elif name == "np":
            name = "numpy"
        return _EXTERN_VALUES.get(name) or Extern(name)

    def imported(
        self, module: ModuleInfo, stmt: ast.Import | ast.ImportFrom
    ) -> Iterator[tuple[str, Fact]]:
        """Yield (name, fact) for an import statement inside a function."""
        if isinstance(stmt, ast.Import):
            for alias in stmt.names:
                source = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or source, self.imported_name(module, source, "")
            return
        source = absolute_import(module, stmt)
        for alias in stmt.names:
            yield alias.asname or alias.name, self.imported_name(module, source, alias.name)

    def static_value(self, module: ModuleInfo, node: ast.expr) -> Fact:
        """Evaluate an expression at module scope."""
        return evaluate(Frame(self, module, None, {}), node)

    def annotation(self, module: ModuleInfo, node: ast.expr | None) -> Fact:
        """Return the fact that an annotation states."""
        return annotations.annotation_fact(self, module, node)

    # -- functions --------------------------------------------------------------------------

    def nested(
        self, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    ) -> FunctionInfo:
        """Return the one FunctionInfo of a nested function or lambda."""
        info = self._nested.get(node)
        if info is None:
            outer = frame.function.qualname + "." if frame.function is not None else ""
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            cls = frame.function.cls if frame.function is not None else None
            info = FunctionInfo(frame.module, node, f"{outer}{name}", cls)
            self._nested[node] = info
        return info

    def capture(self, frame: Frame, info: FunctionInfo) -> tuple[tuple[str, Fact], ...]:
        """Return facts of the enclosing function's variables that a nested one reads."""
        free = self._free.get(info.node)
        if free is None:
            loads = {n.id for n in ast.walk(info.node) if isinstance(n, ast.Name)}
            free = self._free[info.node] = frozenset(loads)
        seen = {**frame.closure, **(frame.env or {})}
        kept = [pair for pair in seen.items() if pair[0].partition(".")[0] in free]
        return tuple(sorted(kept, key=_first_of))

    def this(self, frame: Frame) -> Fact | None:
        """Return the fact of `self` (or `cls`) in a method."""
        function = frame.function
        if function is None or isinstance(function.node, ast.Lambda) or function.cls is None:
            return None
        params = [*function.node.args.posonlyargs, *function.node.args.args]
        if not params:
            return frame.closure.get("self")
        env = frame.env or {}
        return env.get(params[0].arg) or frame.closure.get("self")

    def declared_return(self, info: FunctionInfo) -> Fact:
        """Return the fact of a function's return annotation."""
        if isinstance(info.node, ast.Lambda):
            return UNKNOWN
        return self.annotation(info.module, info.node.returns)

    def inline(
        self,
        frame: Frame,
        node: ast.AST,
        function: Function,
        args: list[Fact],
        kwargs: dict[str, Fact],
        unknown_rest: bool,
    ) -> Fact:
        """Analyse a call of a project function, as Dynamo traces into it."""
        info: FunctionInfo = function.function
        wrapped = None if function.raw else self.wrapper(info)
        if wrapped is not None:
            given = ([function.bound] if function.bound is not None else []) + args
            return self.inline(frame, node, wrapped, given, kwargs, unknown_rest)
        given = [*function.partial, *args]
        if function.bound is not None:
            given.insert(0, function.bound)
        bound = parameters.bind(self, info, given, kwargs, unknown_rest)
        summary = self.summary(info, bound, dict(function.closure), frame.depth + 1)
        if summary is None:
            return self.declared_return(info)
        if summary not in frame.children:
            frame.children.append(summary)
        if not summary.done:  # recursion: the outer call is still under way
            return self.declared_return(info)
        self._apply_stores(frame, node, function, summary)
        if isinstance(summary.returns, Unknown):
            return self.declared_return(info)
        return summary.returns

    def wrapper(self, info: FunctionInfo) -> Function | None:
        """Return the project function that decorators of the project put around a function.

        Decorators from elsewhere (functools.wraps, torch.no_grad, unknown ones) are taken to
        call the function as it is.
        """
        if not info.decorators:
            return None
        if info in self._wrappers:
            return self._wrappers[info]
        self._wrappers[info] = None  # a decorator that uses what it decorates ends here
        fact: Fact = Function(info, raw=True)
        frame = Frame(self, info.module, None, {})
        for deco in reversed(info.decorators):
            applied = evaluate(frame, deco)
            if isinstance(applied, Function):
                made = self.inline(frame, deco, applied, [fact], {}, False)
                if isinstance(made, Function):
                    fact = made
        if isinstance(fact, Function) and fact.function is not info:
            self._wrappers[info] = fact
        return self._wrappers[info]

    def around(self, info: FunctionInfo, params: Env) -> Summary | None:
        """Analyse the project decorators around an entry point; None when there are none."""
        wrapped = self.wrapper(info)
        if wrapped is None:
            return None
        bound = parameters.bind(self, wrapped.function, list(params.values()), {}, False)
        return self.summary(wrapped.function, bound, dict(wrapped.closure), 0)

    def _apply_stores(
        self, frame: Frame, node: ast.AST, function: Function, summary: Summary
    ) -> None:
        """What a method stored on its `self` is now known of the caller's object."""
        if not summary.stores or frame.env is None or function.bound is None:
            return
        target = node.func.value if isinstance(node, ast.Call) and isinstance(
            node.func, ast.Attribute
        ) else None
        if not isinstance(target, ast.Name):
            return
        for path, fact in summary.stores.items():
            first, _, rest = path.partition(".")
            if first == "self" and "." not in rest:
                own = f"{target.id}.{rest}"
                old = frame.env.get(own)
                frame.env[own] = fact if old is None else join(old, fact)
                frame.stores[own] = frame.env[own]

    def summary(
        self, info: FunctionInfo, params: Env, closure: Env, depth: int, **entry: object
    ) -> Summary | None:
        """Return the summary for these argument facts; None where the limits cut off."""
        key = (info, tuple(params.items()), tuple(closure.items()), tuple(entry.items()))
        known = self._summaries.get(key)
        if known is not None:
            return known
        if depth > MAX_DEPTH:
            return None
        seen = self._signatures.get(info, 0)
        if seen >= MAX_SIGNATURES and not entry:
            params = {name: widen(fact) for name, fact in params.items()}
            key = (info, tuple(params.items()), (), ())
            known = self._summaries.get(key)
            if known is not None:
                return known
            if seen >= 3 * MAX_SIGNATURES:
                return None
        self._signatures[info] = seen + 1
        summary = self._summaries[key] = Summary(info)
        frame = Frame(self, info.module, info, dict(params), closure, depth, **entry)  # type: ignore[arg-type]
        returns = run_body(frame, info.node)
        if info.generator:
            returns = Sequence("generator", None, join_all(frame.yields))
        summary.returns = returns
        summary.stores = frame.stores
        summary.children = frame.children
        summary.sightings = self.inspect(frame)
        summary.done = True
        return summary

    # -- objects ----------------------------------------------------------------------------

    def class_ref(self, cls: ClassInfo) -> ClassRef:
        """Return the fact of a class, its ancestry resolved."""
        classes.resolve_ancestry(self, cls)
        return ClassRef(cls)

    def own(self, cls: ClassInfo) -> Instance:
        """Return the fact of `self` in a class's methods."""
        return Instance(cls, module=classes.is_module_class(self, cls))

    def layer_of(self, cls: ClassInfo, name: str) -> Fact:
        """Return what `__init__` assigns to an attribute by a plain constructor call.

        Cheap and local on purpose: it is asked while attribute tables are being built.
        """
        for owner in classes.resolve_ancestry(self, cls).classes:
            table = self._layers.get(owner)
            if table is None:
                table = self._layers[owner] = _constructor_calls(owner)
            if name in table:
                return self.static_value(owner.module, table[name])
        return UNKNOWN

    def instance(self, ref: ClassRef) -> Fact:
        """Return the fact of some object of a class, as an annotation means it."""
        cls = ref.cls
        if self.named_fields(cls) is not None:
            fields = self.named_fields(cls) or {}
            return Sequence("named:" + ",".join(fields), tuple(fields.values()))
        return Instance(cls, module=classes.is_module_class(self, cls))

    def external_base(self, cls: ClassInfo) -> str:
        """Return the first external base class that says what instances do, "" if there is none."""
        found = classes.resolve_ancestry(self, cls).external
        return found[0] if found else ""

    def inherited(self, cls: ClassInfo, name: str) -> str | None:
        """Return the external base that may define an attribute the project doesn't."""
        for base in classes.resolve_ancestry(self, cls).external:
            if base not in ("abc.ABC", "typing.Protocol"):
                return base
        return None

    def named_fields(self, cls: ClassInfo) -> dict[str, Fact] | None:
        """Return the fields of a NamedTuple class, None for other classes."""
        if "typing.NamedTuple" not in classes.resolve_ancestry(self, cls).external:
            return None
        known = self._named.get(cls)
        if known is None:
            hints = {n: a.annotation for n, a in cls.attributes.items() if a.annotation is not None}
            self._named[cls] = dict.fromkeys(hints, UNKNOWN)  # a field of its own type ends here
            known = {name: self.annotation(cls.module, hint) for name, hint in hints.items()}
            self._named[cls] = known
        return known

    def construct(
        self,
        frame: Frame,
        node: ast.AST,
        ref: ClassRef,
        args: list[Fact],
        kwargs: dict[str, Fact],
        unknown_rest: bool,
    ) -> Fact:
        """Make an object: run `__init__` with the arguments, keep what it stores."""
        cls: ClassInfo = ref.cls
        fields = self.named_fields(cls)
        if fields is not None:
            values = dict(zip(fields, args)) | kwargs
            items = tuple(values.get(name, UNKNOWN) for name in fields)
            return Sequence("named:" + ",".join(fields), items)
        module = classes.is_module_class(self, cls)
        this = Instance(cls, module=module, origin=frame.origin(node, f"`{cls.name}` object"))
        method = classes.find_method(self, cls, "__init__")
        if method is None:
            return self._dataclass(cls, this, args, kwargs)
        if module:
            return this  # modules are built once, outside: their attribute table says more
        bound = parameters.bind(self, method, [this, *args], kwargs, unknown_rest)
        summary = self.summary(method, bound, {}, frame.depth + 1)
        if summary is None or not summary.done:
            return this
        if summary not in frame.children:
            frame.children.append(summary)
        name = parameters.first_name(method)
        attrs = {}
        for path, fact in summary.stores.items():
            first, _, rest = path.partition(".")
            if first == name and rest and "." not in rest:
                attrs[rest] = fact
        return Instance(cls, attrs=tuple(sorted(attrs.items())), origin=this.origin)

    def _dataclass(
        self, cls: ClassInfo, this: Instance, args: list[Fact], kwargs: dict[str, Fact]
    ) -> Fact:
        names: list[str] = []
        defaults: dict[str, Fact] = {}
        for owner in reversed(classes.resolve_ancestry(self, cls).classes):
            for name, assigned in owner.attributes.items():
                if assigned.annotation is not None:
                    names = [n for n in names if n != name] + [name]
                    if assigned.values:
                        defaults[name] = self.static_value(owner.module, assigned.values[-1])
        if not names:
            return this
        given = dict(zip(names, args)) | {k: v for k, v in kwargs.items() if k in names}
        attrs = {name: given.get(name, defaults.get(name, UNKNOWN)) for name in names}
        if self._is_output(cls):
            items = tuple((n, attrs[n]) for n in names if not _none(attrs[n]))
            return Mapping("output", items, exact=False)
        return Instance(cls, attrs=tuple(sorted(attrs.items())), origin=this.origin)

    def _is_output(self, cls: ClassInfo) -> bool:
        """ModelOutput-like: a dataclass that is an OrderedDict as well."""
        found = classes.resolve_ancestry(self, cls)
        return "collections.OrderedDict" in found.external

    def contained(self, this: Instance) -> Fact:
        """Return the join of the elements of a module container."""
        attrs = dict(this.attrs)
        if "*" not in attrs and isinstance(this.cls, ClassInfo):
            attrs = classes.attributes(self, this.cls)
        layers = attrs.get("*")
        return layers.element() if isinstance(layers, Sequence) and layers.items != () else UNKNOWN

    def constructor_stores(self, cls: ClassInfo, owner: ClassInfo) -> dict[str, Fact]:
        """Return what `owner`'s constructor stores on `self`, for attribute tables."""
        table: dict[str, Fact] = {}
        for name in ("__init__", "__post_init__", "build", "setup"):
            method = owner.methods.get(name)
            if method is None:
                continue
            params = parameters.constructor_guess(self, method, cls)
            frame = Frame(self, owner.module, method, params, depth=MAX_DEPTH - 2)
            run_body(frame, method.node)
            this = parameters.first_name(method)
            table |= _stored_on(this, frame.stores)
            for key, fact in _registered(frame, method, this):
                table[key] = fact
        return table

    def other_stores(
        self, cls: ClassInfo, owner: ClassInfo, table: dict[str, Fact]
    ) -> dict[str, Fact]:
        """Return what other methods assign to attributes, as far as one expression tells."""
        found: dict[str, Fact] = {}
        for name, method in owner.methods.items():
            if name in ("__init__", "__post_init__", "build", "setup"):
                continue
            this = parameters.first_name(method)
            frame: Frame | None = None
            for node in method.nodes:
                for attr, value in _attribute_assignments(node, this):
                    if frame is None:
                        env = parameters.constructor_guess(self, method, cls)
                        frame = Frame(self, owner.module, method, env, depth=MAX_DEPTH - 1)
                    fact = UNKNOWN if value is None else evaluate(frame, value)
                    found[attr] = join(found[attr], fact) if attr in found else fact
        return found


def _constructor_calls(owner: ClassInfo) -> dict[str, ast.Call]:
    """Return `self.name = Something(...)` of a constructor, where Something is a global name."""
    method = owner.methods.get("__init__")
    table: dict[str, ast.Call] = {}
    if method is None:
        return table
    this = parameters.first_name(method)
    for node in method.nodes:
        for attr, value in _attribute_assignments(node, this):
            if not isinstance(value, ast.Call):
                continue
            target = value.func
            while isinstance(target, ast.Attribute):
                target = target.value
            if isinstance(target, ast.Name) and target.id in owner.module.bindings:
                table[attr] = value
    return table


def _attribute_assignments(node: ast.AST, this: str) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield (attribute, value) of `self.attr = value`; None for values of many shapes."""
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        pairs = [(node.target, node.value)]
    elif isinstance(node, ast.AugAssign):
        pairs = [(node.target, node.value)]
    else:
        return
    for target, value in pairs:
        if isinstance(target, (ast.Tuple, ast.List)):
            inner = value.elts if isinstance(value, ast.Tuple) else [None] * len(target.elts)
            for part, part_value in zip(target.elts, inner):
                if _is_own(part, this):
                    yield part.attr, part_value  # type: ignore[attr-defined]
        elif _is_own(target, this):
            yield target.attr, value  # type: ignore[attr-defined]


def _is_own(target: ast.AST, this: str) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == this
    )


def _stored_on(this: str, stores: dict[str, Fact]) -> dict[str, Fact]:
    table = {}
    for path, fact in stores.items():
        first, _, rest = path.partition(".")
        if first == this and rest and "." not in rest:
            table[rest] = fact
    return table


def _registered(frame: Frame, method: FunctionInfo, this: str) -> Iterator[tuple[str, Fact]]:
    """Yield attributes made by register_buffer, register_parameter and add_module calls."""
    for node in method.nodes:
        if not (isinstance(node, ast.Call) and _is_own(node.func, this) and node.args):
            continue
        name = node.args[0]
        kind = node.func.attr  # type: ignore[attr-defined]
        value = frame.facts.get(node.args[1]) if len(node.args) > 1 else None
        for keyword in node.keywords:
            if keyword.arg in ("tensor", "param", "module"):
                value = frame.facts.get(keyword.value)
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            continue
        if kind in ("register_buffer", "register_parameter"):
            yield name.value, _as_role(value, "buffer" if kind == "register_buffer" else "param")
        elif kind in ("add_module", "register_module") and value is not None:
            yield name.value, value


def _as_role(fact: Fact | None, role: str) -> Fact:
    if isinstance(fact, Tensor):
        return Tensor(fact.rank, fact.dtype, fact.single, role=role, origin=fact.origin)
    if isinstance(fact, Const) and fact.value is None:
        return join(fact, Tensor(role=role))
    return Tensor(role=role)


def _first_of(pair: tuple[str, Fact]) -> str:
    return pair[0]


def _none(fact: Fact) -> bool:
    return isinstance(fact, Const) and fact.value is None


def widen(fact: Fact) -> Fact:
    """Forget constants and lengths, so that many signatures become few."""
    if isinstance(fact, Const) and fact.value is not None:
        return Static(fact.kind)
    if isinstance(fact, Sequence) and fact.items is not None:
        return Sequence(fact.kind, None, widen(fact.element()), origin=fact.origin)
    if isinstance(fact, Tensor):
        return Tensor(None, fact.dtype, False, fact.ragged, origin=fact.origin, sure=fact.sure)
    parts = options(fact)
    return join_all(widen(option) for option in parts) if len(parts) > 1 else fact


_EXTERN_VALUES: dict[str, Fact] = {
    "typing.TYPE_CHECKING": Const(False, "bool"),
    "math.pi": Static("float"),
    "math.inf": Static("float"),
    "math.e": Static("float"),
    "math.nan": Static("float"),
    "numpy.pi": Static("float"),
    "numpy.inf": Static("float"),
    "numpy.newaxis": Const(None, "NoneType"),
    "torch.pi": Static("float"),
    "torch.inf": Static("float"),
    "torch.__version__": Static("str"),
    "sys.version_info": Static("tuple"),
    "sys.platform": Static("str"),
}

__all__ = ["CONSTANT_CALLS", "Analyzer", "Summary", "widen"]
