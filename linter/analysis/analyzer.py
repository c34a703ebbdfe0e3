"""The interprocedural part: names across modules, function summaries, objects being built.

A function is analysed once for every distinct set of argument facts (up to a limit, then with
widened ones), so a helper called with a tensor here and a number there gets both its stories.
The result is a `Summary`: what it returns, what the rules saw in it, which functions it called.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from ...rules.base.facts import (
    UNKNOWN,
    ClassRef,
    Const,
    Extern,
    Fact,
    Function,
    Instance,
    Sequence,
    Static,
    Unknown,
    join,
    join_all,
)
from ...rules.base.finding import Finding
from ...rules.torch_facts import TorchFacts
from ..index import Assigned, ClassInfo, FunctionInfo, Imported, ModuleInfo, Project
from . import annotations, classes, imports, parameters, stores
from .constants import EXTERN_VALUES, Constants
from .expressions import evaluate
from .frame import Env, Frame, resumable, resumed, storyless, widen
from .statements import run_body
from .summary import Ledger, Summary

MAX_DEPTH = 24
MAX_SIGNATURES = 6
MAX_STARS = 32
DECORATOR_DEPTH = 3
_BUILTINS = frozenset(dir(builtins))
T = TypeVar("T")


class Analyzer:
    """Facts about a project, gathered on demand. One per worker process."""

    def __init__(
        self, project: Project, torch: TorchFacts, inspect: Callable[[Frame], tuple[Finding, ...]]
    ) -> None:
        self.project = project
        self.max_depth = MAX_DEPTH
        self.torch, self.inspect = torch, inspect  # the latter runs the rules on a finished frame
        self.attribute_tables: dict[ClassInfo, dict[str, Fact]] = {}
        self.guesses: dict[FunctionInfo, Env] = {}
        self.aliases: dict[ast.expr, Fact] = {}
        self.constants = Constants()
        self.compiled_paths: dict[FunctionInfo | ModuleInfo, dict[str, list[ast.Call]]] = {}
        self.mode_tests: dict[ast.expr, bool] = {}
        self.validating: dict[ModuleInfo, bool] = {}
        self.plain: set[str] = set()  # functions of torch that call, wrap and construct nothing
        self.ledger = Ledger()
        self._values: dict[tuple[ModuleInfo, str], Fact] = {}
        self._layers: dict[ClassInfo, dict[str, ast.Call]] = {}
        self._made: dict[ast.Call, Fact] = {}  # by those of `_layers` that were asked for
        self._learnt: dict[object, Summary] = {}
        self.named_tuples: dict[ClassInfo, dict[str, Fact]] = {}
        self._nested: dict[ast.AST, FunctionInfo] = {}
        self._wrappers: dict[FunctionInfo, Function | None] = {}
        self._outside: dict[ModuleInfo, Frame] = {}
        self._externs: dict[str, Fact] = {}
        self._free: dict[ast.AST, frozenset[str]] = {}

    def begin(self) -> None:
        """Forget function summaries: a file's result must not depend on the files before it.

        Summaries hold the stories of values (where they come from), which are those of the first
        caller, and how many argument facts were told apart. What is known of modules, classes and
        parameters depends on nothing but the source, and stays.
        """
        self.ledger = Ledger()

    def apart(self, learn: Callable[[], T]) -> T:
        """Return what `learn` returns, which neither sees summaries from outside nor leaves any.

        For what is kept between files: it is the same whichever file asks for it first. No region
        runs that code, constructors and the top level of modules, so no rule is asked.
        """
        outside, self.ledger = self.ledger, Ledger(regions=False)
        try:
            return learn()
        finally:
            self.ledger = outside

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
            return imports.imported_name(self, module, bound.module, bound.name)
        if isinstance(bound, FunctionInfo):
            return Function(bound)
        if isinstance(bound, ClassInfo):
            return self.class_ref(bound)
        return self._assigned(module, bound)

    def _assigned(self, module: ModuleInfo, bound: Assigned) -> Fact:
        fact = stores.at_rest(join_all(self.static_value(module, v) for v in bound.values))
        if bound.annotation is not None and isinstance(fact, Unknown):
            fact = self.annotation(module, bound.annotation)
        if bound.partial or "sys.modules[__name__]" in module.text:  # or sets what it likes
            fact = Static(fact.kind) if isinstance(fact, Const) else join(fact, UNKNOWN)
        return fact

    def extern(self, name: str) -> Fact:
        """Return the fact of an external name, under its canonical spelling."""
        known = self._externs.get(name)
        if known is None:
            canonical = "numpy" if name == "np" else name
            if name.startswith("torch"):
                canonical = self.torch.canonical(name)
            known = self._externs[name] = EXTERN_VALUES.get(canonical) or Extern(canonical)
        return known

    def static_value(self, module: ModuleInfo, node: ast.expr) -> Fact:
        """Evaluate an expression at module scope."""
        if isinstance(node, ast.Name):
            return self.module_value(module, node.id)
        if isinstance(node, ast.Constant):
            return self.constants[node]
        if isinstance(node, ast.Attribute):  # `nn.Linear`: leaves nothing in the frame
            frame = self._outside.get(module)
            if frame is None:
                frame = self._outside[module] = Frame(self, module, None, {})
            return evaluate(frame, node)
        return self._followed(module, node, 0)

    def _followed(self, module: ModuleInfo, node: ast.expr, depth: int) -> Fact:
        frame = Frame(self, module, None, {}, depth=depth, stored_only=True)
        return self.apart(partial(evaluate, frame, node))

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
            info = FunctionInfo(frame.module, node, f"{outer}{name}", cls, frame.function)
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
        closure = function.closure
        if frame.function is not None and info.definer is frame.function:
            closure = self.capture(frame, info)  # variables may have been bound since the `def`
        summary = self.summary(info, bound, dict(closure), frame.depth + 1)
        if summary is None:
            return self.declared_return(info)
        if summary not in frame.children:
            frame.children.append(summary)
        if not summary.done:  # recursion: the outer call is still under way
            return self.declared_return(info)
        if summary.stores:
            self._apply_stores(frame, node, function, summary)
        returns = summary.returns
        if isinstance(returns, Unknown) or parameters.misread(info, returns):
            return self.declared_return(info)
        captured = self.ledger.regions and resumable(returns)
        return resumed(returns) if captured and summary.breaks() else returns

    def wrapper(self, info: FunctionInfo) -> Function | None:
        """Return the project function that decorators of the project put around a function.

        Decorators from elsewhere (functools.wraps, torch.no_grad, unknown ones) are taken to
        call the function as it is.
        """
        if info in self._wrappers:
            return self._wrappers[info]
        self._wrappers[info] = None  # a decorator that uses what it decorates ends here
        if info.decorators:
            self._wrappers[info] = self.apart(partial(self._decorated, info))
        return self._wrappers[info]

    def _decorated(self, info: FunctionInfo) -> Function | None:
        fact: Fact = Function(info, raw=True)
        # Decorators run at import, not in the region: only what they return matters here.
        frame = Frame(self, info.module, None, {}, depth=MAX_DEPTH - DECORATOR_DEPTH)
        for deco in reversed(info.decorators):
            applied = evaluate(frame, deco)
            if isinstance(applied, Function):
                made = self.inline(frame, deco, applied, [fact], {}, False)
                if isinstance(made, Function):
                    fact = made
        return fact if isinstance(fact, Function) and fact.function is not info else None

    def around(self, info: FunctionInfo, params: Env) -> Summary | None:
        """Analyse the project decorators around an entry point; None when there are none."""
        if (wrapped := self.wrapper(info)) is None:
            return None
        bound = parameters.entered(self, wrapped.function, params)
        return self.summary(wrapped.function, bound, dict(wrapped.closure), 0)

    def _apply_stores(
        self, frame: Frame, node: ast.AST, function: Function, summary: Summary
    ) -> None:
        """What a method stored on its `self` is now known of the caller's object."""
        if frame.env is None or function.bound is None:
            return
        target = (
            node.func.value
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            else None
        )
        if not isinstance(target, ast.Name):
            return
        for path, fact in summary.stores.items():
            first, _, rest = path.partition(".")
            if first == "self" and "." not in rest:
                own = f"{target.id}.{rest}"
                old = frame.env.get(own)
                if old is None and path in summary.maybe:
                    kept = ast.Attribute(target, rest, ast.Load())
                    old = evaluate(frame, ast.copy_location(kept, target))
                known = fact if old is None else join(old, fact)
                frame.put(own, known)
                frame.stores[own] = known

    def summary(
        self, info: FunctionInfo, params: Env, closure: Env, depth: int, **entry: object
    ) -> Summary | None:
        """Return the summary for these argument facts; None where the limits cut off."""
        ledger = self.ledger
        if info.definer is not None:
            ledger.handed_on.pop(info, None)
        if not ledger.regions and MAX_DEPTH - stores.FOLLOWED < depth <= MAX_DEPTH:
            if all(map(storyless, (*params.values(), *closure.values()))):
                return self._learnt_call(info, params, closure, depth)
        key = (info, tuple(params.items()), tuple(closure.items()), tuple(entry.items()))
        known = ledger.summaries.get(key)
        if known is not None:
            return known
        if depth > MAX_DEPTH:
            return None
        # What a decorator put around one function says nothing of the next one it wraps.
        held = tuple([pair for pair in closure.items() if isinstance(pair[1], Function)])
        seen = ledger.signatures.get((info, held), 0)
        if seen >= MAX_SIGNATURES and not entry:
            params = {name: widen(fact) for name, fact in params.items()}
            key = (info, tuple(params.items()), held, ())
            known = ledger.summaries.get(key)
            if known is not None:
                return known
            if seen >= 3 * MAX_SIGNATURES:
                return None
        ledger.signatures[info, held] = seen + 1
        summary = ledger.summaries[key] = Summary(info)
        self._run(summary, params, closure, depth, **entry)
        return summary

    def _learnt_call(self, info: FunctionInfo, params: Env, closure: Env, depth: int) -> Summary:
        """Return the summary of a call that any constructor makes, without stories to tell."""
        key = (info, tuple(params.items()), tuple(closure.items()), depth)
        summary = self._learnt.get(key)
        if summary is None:
            summary = self._learnt[key] = Summary(info)
            self.apart(partial(self._run, summary, params, closure, depth))
        return summary

    def _run(
        self, summary: Summary, params: Env, closure: Env, depth: int, **entry: object
    ) -> None:
        info, seen = summary.function, self.ledger.regions
        frame = Frame(self, info.module, info, dict(params), closure, depth, **entry)  # type: ignore[arg-type]
        frame.parameters, frame.stored_only = params, not seen
        returns = run_body(frame, info.node)
        if info.generator:
            returns = Sequence("generator", None, join_all(frame.yields))
        summary.finish(frame, returns)
        if seen:
            summary.seen = self.inspect(frame)

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
                table = self._layers[owner] = stores.constructor_calls(owner)
            call = table.get(name)
            if call is not None:
                known = self._made.get(call)
                if known is None:
                    depth = MAX_DEPTH - stores.FOLLOWED
                    known = self._made[call] = self._followed(owner.module, call, depth)
                return known
        return UNKNOWN

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


def _first_of(pair: tuple[str, Fact]) -> str:
    return pair[0]


__all__ = ["Analyzer", "Summary"]
