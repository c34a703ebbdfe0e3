"""Uses of torch.compile that compile too often, or that another form serves better.

What a loop or a function compiles anew is compiled once, before the loop, in `__init__` or at
module level; `model = torch.compile(model)` is `model.compile()`; TorchScript is dropped or becomes
torch.compile; clocks wait for the device. No proof stands behind these (they stand outside of
compiled regions), so what could be noticed is unsafe.

Declined: functions that are defined in the loop, what isn't bound before it, classes without an
`__init__`, TorchScript that is saved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Edit, Fix, Safety, Span
from ..base.reading import module_of
from ..base.scopes import bound, dotted, own, parameters
from .autograd import gone
from .hoist import CLAIM, holder
from .moved import bare, call_text

_SAVED = frozenset({"save", "save_to_buffer", "graph", "code", "_save_for_lite_interpreter"})


def before_loop(call: ast.AST, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that compiles before a loop what each pass compiles. Raises Declined."""
    loop = ctx.loop(call)
    if loop is None or not isinstance(call, ast.Call):
        raise Declined("the function is defined in the loop")
    ready = code.bound_before(loop)
    local = {*bound(ctx.function), *parameters(ctx.function)}
    for part in ast.walk(call):
        if isinstance(part, ast.Name) and part.id in local and part.id not in ready:
            raise Declined(f"`{part.id}` isn't bound before the loop")
    stmt = ctx.statement(call)
    indent = code.indent(loop)
    if getattr(stmt, "value", None) is call and stmt in loop.body and _once(stmt, ctx):
        edits = [code.insert(loop, bare(code.block([stmt], indent))), gone(stmt, code)]
    else:
        name = _name(call, code)
        edits = [
            code.insert(loop, [f"{indent}{name} = {code.text(call)}"]),
            code.replace(call, name),
        ]
    yield code.fix("compile before the loop", edits, Safety.SAFE)


def marked_dynamic(
    call: ast.Call, path: str, joining: ast.Call, ctx: Context, code: Code
) -> Iterator[Fix]:
    """Yield the fix that marks the dimension dynamic along which `joining` lengthens a tensor.

    Marked by `maybe_mark_dynamic`, which asks and never raises. Raises Declined.
    """
    stmt = ctx.statement(call)
    if not isinstance(stmt, (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)):
        raise Declined("the call is part of a compound statement")
    last = ctx.callee(joining).name.rpartition(".")[2]
    if not last.startswith(("cat", "concat")):
        raise Declined("which dimension grows isn't in sight")
    given = ctx.argument(joining, 1, "dim")
    axis = ast.unparse(given) if given is not None else "0"
    if not axis.lstrip("-").isdigit():
        raise Declined("which dimension grows isn't in sight")
    if axis.startswith("-"):
        axis = f"{path}.ndim - {axis[1:]}"
    mark = f"{code.spell('torch._dynamo.maybe_mark_dynamic')}({path}, {axis})"
    edits = [code.insert(stmt, [code.indent(stmt) + mark])]
    yield code.fix(f"mark the growing dimension of `{path}` dynamic", edits, Safety.SAFE)


def _once(stmt: ast.stmt, ctx: Context) -> bool:
    """Say whether a statement binds nothing, or a variable that nothing else binds."""
    if isinstance(stmt, ast.Expr):
        return True
    targets = stmt.targets if isinstance(stmt, ast.Assign) else []
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return False
    name = targets[0].id
    stores = [
        part
        for part in own(ctx.function)
        if isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
    ]
    return len(stores) == 1


def _name(call: ast.Call, code: Code) -> str:
    """Return a name for what `torch.compile(target)` gives."""
    target = call.args[0] if call.args else call
    last = dotted(target).rpartition(".")[2]
    return code.fresh(f"compiled_{last}" if last else "compiled")


def once(call: ast.AST, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that compiles once what a function compiles on every call."""
    if not isinstance(call, ast.Call) or not call.args:
        raise Declined("the function is defined in the call")
    target = call.args[0]
    text = code.text(target)
    local = {*bound(ctx.function), *parameters(ctx.function)}
    given = [part for arg in (*call.args[1:], *call.keywords) for part in ast.walk(arg)]
    if any(isinstance(part, ast.Name) and part.id in local for part in given):
        raise Declined("options of torch.compile come from the call")
    if isinstance(target, ast.Name) and target.id not in local and ctx.is_global(target.id):
        name = _name(call, code)
        top = _after(target.id, ctx, code)
        line = f"{name} = {code.text(call)}"
        edits = [CLAIM, code.insert(top, [line, "", ""], above=True), code.replace(call, name)]
        yield code.fix("compile at module level", edits, Safety.SAFE)
        return
    first = parameters(ctx.function)[:1]
    if dotted(target).split(".")[:-1] != list(first):
        raise Declined(f"where `{text}` is made isn't known")
    init = _init(ctx, code)
    indent = code.indent(init.body[-1])
    if module_of(ctx.fact(target)) is not None:
        line = f"{indent}{text}{_dot_compile(call, code)}"
        edits, safety = [code.replace(call, text)], Safety.SAFE
    else:
        path = f"{first[0]}.{_name(call, code)}"
        line = f"{indent}{path} = {code.text(call)}"
        edits, safety = [code.replace(call, path)], Safety.UNSAFE
    edits.append(code.append(init.body[-1], [line]))
    yield code.fix("compile in `__init__`", edits, safety)


def _after(name: str, ctx: Context, code: Code) -> ast.stmt:
    """Return the statement of the module in front of which `name` is bound."""
    top = holder(ctx.function, code.module)
    body = code.module.body
    made = [i for i, s in enumerate(body) if getattr(s, "name", "") == name]
    if not made or made[-1] < body.index(top):
        return top
    if made[-1] + 1 == len(body):
        raise Declined(f"`{name}` is the last thing the module defines")
    return body[made[-1] + 1]


def _init(ctx: Context, code: Code) -> ast.FunctionDef:
    for cls in ast.walk(code.module):
        if isinstance(cls, ast.ClassDef) and ctx.function in cls.body:
            for stmt in cls.body:
                if isinstance(stmt, ast.FunctionDef) and stmt.name == "__init__":
                    if not isinstance(stmt.body[-1], ast.Return):
                        return stmt
    raise Declined("the class has no `__init__` to compile in")


def _dot_compile(call: ast.Call, code: Code) -> str:
    arguments = [code.text(part) for part in (*call.args[1:], *call.keywords)]
    return f".compile({', '.join(arguments)})"


def in_place(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that compiles a module in place rather than wrapping it."""
    if not call.args:
        raise Declined("the module is given by keyword")
    target = code.text(call.args[0])
    text = target + _dot_compile(call, code)
    stmt = ctx.statement(call)
    title = f"write `{target}.compile()`: keys of its state_dict stay as they are"
    if isinstance(stmt, ast.Return) and stmt.value is call and dotted(call.args[0]):
        indent = code.indent(stmt)
        lines = [indent + text, f"{indent}return {target}"]
        yield code.fix(title, [code.lines(stmt, lines)], Safety.UNSAFE)
    elif isinstance(stmt, ast.Assign) and [ast.unparse(t) for t in stmt.targets] == [target]:
        yield code.fix(title, [code.replace(stmt, text)], Safety.UNSAFE)
    else:
        raise Declined("the wrapper has a name of its own")


# -- TorchScript ---------------------------------------------------------------------------------


def unscripted(node: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that drops `@torch.jit.script`, or compiles what a call scripts or traces."""
    function = next((f for f in ast.walk(code.module) if _decorated(f, node)), None)
    if function is not None:
        yield _dropped(node, function, code)  # type: ignore[arg-type]
        return
    if not isinstance(node, ast.Call) or not node.args:
        raise Declined("what is scripted isn't known")
    if ctx.callee(node).name == "torch.jit.trace_module":
        raise Declined("several methods are traced: compile each of them")
    stmt = ctx.statement(node)
    names = [ast.unparse(t) for t in getattr(stmt, "targets", ())]
    parent = ctx.parent(node)
    if isinstance(parent, (ast.Call, ast.Attribute)) or _saved(names, code):
        raise Declined("the TorchScript itself is what is wanted")
    text = f"{code.spell('torch.compile')}({code.text(node.args[0])})"
    title = f"write `{text}` for TorchScript"
    used = [ctx.callee(node).name]
    yield code.fix(title, [code.replace(node, text)], Safety.UNSAFE, unused=used)


def _decorated(function: ast.AST, node: ast.expr) -> bool:
    return isinstance(function, ast.FunctionDef) and node in function.decorator_list


def _dropped(node: ast.expr, function: ast.FunctionDef, code: Code) -> Fix:
    if node.lineno != node.end_lineno:
        raise Declined("the decorator takes several lines")
    uses = [
        part
        for part in ast.walk(code.module)
        if isinstance(part, ast.Name) and part.id == function.name
    ]
    calls = [part.func for part in ast.walk(code.module) if isinstance(part, ast.Call)]
    if _saved([function.name], code):
        raise Declined("the TorchScript itself is what is wanted")
    safe = bool(uses) and all(use in calls for use in uses)
    edit = Edit(Span(node.lineno, 1, node.lineno + 1, 1), "")
    safety = Safety.SAFE if safe else Safety.UNSAFE
    return code.fix(f"drop `@{code.text(node)}`", [edit], safety, unused=["torch.jit.script"])


def _saved(names: list[str], code: Code) -> bool:
    """Say whether the module asks for what only TorchScript has, such as `.save`."""
    for part in ast.walk(code.module):
        if isinstance(part, ast.Attribute) and part.attr in _SAVED:
            if ast.unparse(part.value) in (*names, "torch.jit"):
                return True
    return False


# -- timing --------------------------------------------------------------------------------------


def warmed(call: ast.Call, clock: ast.stmt, code: Code) -> Iterator[Fix]:
    """Yield the fix that calls a compiled function once before the clock starts."""
    ready = code.bound_before(clock)
    stmts = [n.id for n in ast.walk(call) if isinstance(n, ast.Name)]
    late = [name for name in stmts if code.uses(name) and name not in ready and _local(name, code)]
    if late:
        raise Declined(f"`{late[0]}` isn't bound before the clock starts")
    line = f"{code.indent(clock)}{code.text(call)}  # compiles"
    yield code.fix(
        "call it once before the clock starts", [code.insert(clock, [line])], Safety.UNSAFE
    )


def _local(name: str, code: Code) -> bool:
    """Say whether a name isn't one of the module's."""
    top = {getattr(s, "name", "") for s in code.module.body}
    stored = {
        n.id
        for s in code.module.body
        if not isinstance(s, (ast.FunctionDef, ast.ClassDef))
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    imported = {
        (a.asname or a.name).partition(".")[0]
        for s in code.module.body
        if isinstance(s, (ast.Import, ast.ImportFrom))
        for a in s.names
    }
    return name not in top | stored | imported


def synchronised(clocks: list[ast.stmt], code: Code) -> Iterator[Fix]:
    """Yield the fix that waits for the device before each reading of the clock."""
    cuda = code.spell("torch.cuda")
    edits = []
    for stmt in clocks:
        indent = code.indent(stmt)
        lines = [f"{indent}if {cuda}.is_available():"]
        edits.append(code.insert(stmt, [*lines, f"{indent}{code.step}{cuda}.synchronize()"]))
    yield code.fix("wait for the device before reading the clock", edits, Safety.SAFE)


def option_gone(call: ast.Call, names: list[str], code: Code) -> Iterator[Fix]:
    """Yield the fix that leaves out options which do nothing."""
    text = call_text(call, code, without=names)
    shown = " and ".join(f"`{name}`" for name in names)
    yield code.fix(f"leave out {shown}", [code.replace(call, text)], Safety.SAFE)


__all__ = [
    "before_loop",
    "in_place",
    "once",
    "option_gone",
    "synchronised",
    "unscripted",
    "warmed",
]
