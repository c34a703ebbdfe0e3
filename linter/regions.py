"""Where captured code starts: compile entries of a file, and what is known of their inputs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from ..rules.base.context import RegionOptions
from ..rules.base.facts import (
    UNKNOWN,
    ClassRef,
    Const,
    Fact,
    FromTensor,
    Function,
    Instance,
    Mapping,
    Sequence,
    Static,
    Tensor,
    Union,
    join,
    join_all,
    options,
)
from ..rules.base.valueclass import valueclass
from ..rules.base.walking import all_nodes
from .analysis import parameters
from .analysis.analyzer import MAX_DEPTH, Analyzer
from .analysis.callees import ENDING, machine_code
from .analysis.classes import find_method, is_module_class, resolve_ancestry
from .analysis.frame import NO_OPTIONS, Env, Frame
from .analysis.statements import run_body
from .analysis.summary import Summary
from .index import ClassInfo, FunctionInfo, ModuleInfo
from .model import AnalysisOptions
from .tensor_code import handles_tensors, speaks_of_tensors

COMPILERS = frozenset({"torch.compile", "compile_lint.compiler.compile", "torch._dynamo.optimize"})


@valueclass
class Entry:
    """A callable that torch.compile captures, why, and with which options.

    `this` is the object for methods; `params` what is known of the parameters.
    """

    function: FunctionInfo
    reason: str
    options: RegionOptions
    params: tuple[tuple[str, Fact], ...]

    @property
    def name(self) -> str:
        """Qualified name for reports."""
        return self.function.qualname


def entries(analyzer: Analyzer, module: ModuleInfo, settings: AnalysisOptions) -> list[Entry]:
    """Return the entries that start in a module, each function at most once per set of options."""
    found: dict[tuple[FunctionInfo, RegionOptions], Entry] = {}
    inherited: list[Entry] = []

    def add(entry: Entry) -> None:
        function = entry.function
        if ENDING.isdisjoint(function.decorator_names) and not machine_code(analyzer, function):
            found.setdefault((function, entry.options), entry)

    for entry in _explicit(analyzer, module):
        add(entry)
    for entry in _configured(analyzer, module, settings.entry_points):
        add(entry)
    for entry in _with_examples(analyzer, module):
        add(entry)
    compiled = {function for function, _ in found}
    if settings.entry != "explicit":
        for cls in module.classes:
            inherited += _inherited(analyzer, cls, settings.entry == "all")
            forward = cls.methods.get("forward")
            if forward is None or forward in compiled or not is_module_class(analyzer, cls):
                continue
            add(_entry(analyzer, forward, "nn.Module.forward"))
            compiled.add(forward)
    if settings.entry == "all" and ("torch" in module.text or "numpy" in module.text):
        for function in module.functions:
            if function not in compiled and handles_tensors(analyzer, function):
                add(_entry(analyzer, function, "handles tensors or arrays (--entry all)"))
    return [*found.values(), *inherited]


def _inherited(analyzer: Analyzer, cls: ClassInfo, everything: bool) -> Iterator[Entry]:
    """Yield methods that a class inherits and that call methods of its own.

    What is passed to an override is only known there: `step` of a solver, called by the base
    class's `integrate`. Without `everything` only `forward` counts.
    """
    bases = resolve_ancestry(analyzer, cls).classes[1:]
    if not bases or not cls.methods:
        return
    seen = set(cls.methods)
    for base in bases:
        for name, method in base.methods.items():
            if name in seen:
                continue
            seen.add(name)
            if name != "forward" and not everything:
                continue
            if not ENDING.isdisjoint(method.decorator_names) or not _calls_own(method, cls):
                continue
            if handles_tensors(analyzer, method):
                this: Env = {parameters.first_name(method): analyzer.own(cls)}
                yield _entry(analyzer, method, f"{name}, inherited by {cls.name}", known=this)


def _calls_own(method: FunctionInfo, cls: ClassInfo) -> bool:
    """Say whether a method calls one that the class defines, as `self.name(...)`."""
    this = parameters.first_name(method)
    return any(
        type(node) is ast.Call
        and type(node.func) is ast.Attribute
        and node.func.attr in cls.methods
        and getattr(node.func.value, "id", "") == this
        for node in method.nodes
    )


def _entry(
    analyzer: Analyzer,
    function: FunctionInfo,
    reason: str,
    given: RegionOptions = NO_OPTIONS,
    known: Env | None = None,
) -> Entry:
    params = dict(parameters.guess(analyzer, function))
    for name, fact in (known or {}).items():
        params[name] = fact
    return Entry(function, reason, given, tuple(params.items()))


def closure(summary: Summary) -> Iterator[Summary]:
    """Yield a summary and all it reaches, each once, callers first."""
    seen = {id(summary)}
    stack = [summary]
    while stack:
        current = stack.pop()
        yield current
        for child in reversed(current.children):
            if id(child) not in seen:
                seen.add(id(child))
                stack.append(child)


def handed_on(analyzer: Analyzer, reached: list[Summary]) -> Iterator[Summary]:
    """Yield what nested functions reach that nothing in sight calls, as whoever got them would.

    `LinearOperator(matvec=product)`: they are called with what their own code says of it.
    """
    functions = {part.function for part in reached}
    for info, fact in list(analyzer.ledger.handed_on.items()):
        if info.definer not in functions or not ENDING.isdisjoint(info.decorator_names):
            continue
        params = parameters.guess(analyzer, info)
        told = any(isinstance(o, Tensor) for known in params.values() for o in options(known))
        if not told and not any(map(speaks_of_tensors, info.nodes)):
            continue
        summary = analyzer.summary(info, dict(params), dict(fact.closure), 1)
        if summary is not None:
            yield from closure(summary)


# -- torch.compile in the source -----------------------------------------------------------------


def _explicit(analyzer: Analyzer, module: ModuleInfo) -> Iterator[Entry]:
    lines = _compile_lines(module)
    if not lines:
        return
    for function in _all_functions(analyzer, module):
        for deco in function.decorators:
            given = compile_decorator(analyzer, module, deco)
            if given is not None:
                yield _entry(analyzer, function, f"@torch.compile, line {deco.lineno}", given)
    for frame in file_frames(analyzer, module, lines):
        for call, callee in frame.callees.items():
            name = callee.name
            if name in COMPILERS and call.args:
                target = frame.facts.get(call.args[0], UNKNOWN)
            elif name.endswith(".compile") and isinstance(callee.receiver, Instance):
                target = callee.receiver
                if not target.module:
                    continue
            else:
                continue
            yield from _target_entries(analyzer, target, call)


_COMPILE = re.compile(r"torch\.compile\b|(?<!\bre)\.compile\(|(?<![\w.])compile\(|@compile\b")


def _compile_lines(module: ModuleInfo) -> list[int]:
    """Return the lines that may compile something; `re.compile(` doesn't count."""
    if "compile" not in module.text:
        return []
    found = [
        n for n, line in enumerate(module.lines, 1) if "compile" in line and _COMPILE.search(line)
    ]
    return found if found and speaks_of(module, "compile") else []


def speaks_of(module: ModuleInfo, word: str) -> bool:
    """Say whether the code of a module, and not only its comments and messages, has a word.

    Of "jit.script" and "import script" the last part must begin a name. The word "compile" may be
    anywhere in one, but `torch.compiler.is_compiling()` and its like only ask, or keep out of it.
    """
    code = [line for line in module.lines if word in line and not line.lstrip().startswith("#")]
    if word == "compile":
        said = any("compile" in line.replace("compiler", "") for line in code)
        return said and any("compile" in n.replace("compiler", "") for n in module.identifiers)
    start = "." + word.replace(" ", ".").rpartition(".")[2]
    return bool(code) and any(start in f".{name}" for name in module.identifiers)


def _all_functions(analyzer: Analyzer, module: ModuleInfo) -> Iterator[FunctionInfo]:
    """Yield the functions of a module, nested ones as well."""
    yield from module.functions
    known = {function.node for function in module.functions}
    for node in all_nodes(module.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node not in known:
            if node.decorator_list:
                yield FunctionInfo(module, node, node.name, None)


def compile_decorator(
    analyzer: Analyzer, module: ModuleInfo, deco: ast.expr
) -> RegionOptions | None:
    """Return the options of a decorator that compiles; None when it is another one."""
    node = deco.func if isinstance(deco, ast.Call) else deco
    keywords = deco.keywords if isinstance(deco, ast.Call) else []
    target = analyzer.static_value(module, node)
    if getattr(target, "name", "") == "functools.partial" and isinstance(deco, ast.Call):
        target = analyzer.static_value(module, deco.args[0]) if deco.args else UNKNOWN
    if getattr(target, "name", "") not in COMPILERS:
        return None
    return compile_options(keywords)


def compile_options(keywords: list[ast.keyword]) -> RegionOptions:
    """Return the options that a torch.compile call is given."""
    values = {
        k.arg: k.value.value
        for k in keywords
        if k.arg is not None and isinstance(k.value, ast.Constant)
    }
    if values.get("disable") is True:
        return RegionOptions(backend="disabled")

    def flag(name: str) -> bool | None:
        value = values.get(name)
        return value if isinstance(value, bool) else None

    def text(name: str) -> str | None:
        value = values.get(name)
        return value if isinstance(value, str) else None

    return RegionOptions(flag("fullgraph"), flag("dynamic"), text("mode"), text("backend"))


def _target_entries(analyzer: Analyzer, target: Fact, call: ast.Call) -> Iterator[Entry]:
    given = compile_options(call.keywords)
    reason = f"torch.compile, line {call.lineno}"
    for option in options(target):
        if isinstance(option, Function):
            known: Env = {}
            if option.bound is not None:
                known[parameters.first_name(option.function)] = option.bound
            yield _entry(analyzer, option.function, reason, given, known)
        elif isinstance(option, (Instance, ClassRef)) and isinstance(option.cls, ClassInfo):
            forward = find_method(analyzer, option.cls, "forward")
            if forward is not None:
                this = analyzer.own(option.cls)
                yield _entry(
                    analyzer, forward, reason, given, {parameters.first_name(forward): this}
                )


def file_frames(
    analyzer: Analyzer, module: ModuleInfo, lines: list[int] | None = None
) -> list[Frame]:
    """Analyse the module body and every function by itself, without following calls.

    For rules about ordinary code around torch.compile, and to find what it is called on.
    With `lines`, only functions that hold one of them are analysed.
    """
    frames = []
    owners: list[FunctionInfo | None] = [None, *module.functions]
    for function in owners:
        if function is not None and lines is not None and not _holds(function, lines):
            continue
        env = dict(parameters.guess(analyzer, function)) if function is not None else {}
        frame = Frame(analyzer, module, function, env, depth=MAX_DEPTH)
        run_body(frame, module.tree if function is None else function.node)
        frames.append(frame)
    return frames


def _holds(function: FunctionInfo, lines: list[int]) -> bool:
    node = function.node
    return any(node.lineno <= line <= (node.end_lineno or node.lineno) for line in lines)


# -- other sources -------------------------------------------------------------------------------


def _configured(analyzer: Analyzer, module: ModuleInfo, points: tuple[str, ...]) -> Iterator[Entry]:
    for point in points:
        name, _, qualname = point.partition(":")
        if name != module.name or not qualname:
            continue
        yield from _named(analyzer, module, qualname, "named in the configuration", {})


def _named(
    analyzer: Analyzer, module: ModuleInfo, qualname: str, reason: str, known: Env
) -> Iterator[Entry]:
    for function in module.functions:
        if function.qualname == qualname:
            yield _entry(analyzer, function, reason, known=known)
    for cls in module.classes:
        if cls.qualname == qualname:
            forward = find_method(analyzer, cls, "forward") or find_method(
                analyzer, cls, "__call__"
            )
            if forward is not None:
                this = {parameters.first_name(forward): analyzer.own(cls)}
                yield _entry(analyzer, forward, reason, known={**known, **this})


def _with_examples(analyzer: Analyzer, module: ModuleInfo) -> Iterator[Entry]:
    """`TARGET = "name"` beside `example_inputs()` names an entry and shows its arguments."""
    target = module.bindings.get("TARGET")
    examples = module.bindings.get("example_inputs")
    if target is None or not isinstance(examples, FunctionInfo):
        return
    name = analyzer.module_value(module, "TARGET")
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return
    summary = analyzer.summary(examples, {}, {}, 1)
    calls = summary.returns if summary is not None else UNKNOWN
    for entry in _named(analyzer, module, name.value, "example_inputs()", {}):
        merged = dict(entry.params)
        merged.update(_example_params(entry.function, calls, merged))
        yield Entry(entry.function, entry.reason, entry.options, tuple(merged.items()))


def _example_params(function: FunctionInfo, calls: Fact, default: Env) -> Env:
    """Join the arguments of all example calls by parameter; calls may leave some at default."""
    if not isinstance(calls, Sequence):
        return {}
    rows = calls.items if calls.items is not None else (calls.elem,)
    names = list(function.signature.positional)
    if function.cls is not None and "staticmethod" not in function.decorator_names:
        names = names[1:]
    known: Env = {}
    for row in rows:
        if not isinstance(row, Sequence):
            return {}
        if row.items is None:
            return dict.fromkeys(names, _passed(row.elem))
        left_out = names[len(row.items) :]
        given = [*map(_passed, row.items), *(default.get(name, UNKNOWN) for name in left_out)]
        for name, fact in zip(names, given):
            known[name] = join(known[name], fact) if name in known else fact
    return known


def _passed(fact: Fact) -> Fact:
    """An argument made outside the region: its tensors are inputs, whatever they were made of."""
    if isinstance(fact, Tensor):
        return replace(fact, role="input", ragged=False)
    if isinstance(fact, FromTensor):
        return Static(fact.kind, origin=fact.origin)
    if isinstance(fact, Sequence):
        items = None if fact.items is None else tuple(map(_passed, fact.items))
        return replace(fact, items=items, elem=_passed(fact.elem))
    if isinstance(fact, Mapping):
        items = tuple((key, _passed(value)) for key, value in fact.items)
        return replace(fact, items=items, elem=_passed(fact.elem))
    if isinstance(fact, Union):
        return join_all(map(_passed, fact.options))
    return fact
