"""Write ``rules/torch_facts/data/<minor>.json``: what the installed torch says about itself.

    python .ci/generate_torch_facts.py [--output DIR]

Run it once per supported torch minor version, each in an environment of its own that holds
torch and numpy. It is the only part of the linter's tool chain that imports torch; the linter
reads the JSON. Sections, with the part of torch they are read from:

``functions``      public callables: return kind (type stubs ``_C/_VariableFunctions.pyi`` and
                   ``nn/functional.pyi``, else annotations, else the docstring's arrow, else the
                   ATen schema), Dynamo's verdict (``torch._dynamo.trace_rules`` and the special
                   cases of ``torch._dynamo.variables``), tags (ATen operator tags and alias
                   annotations, and calls under ``FakeTensorMode``). Where every call that can be
                   made up breaks under ``fullgraph=True``, the graph-break id is the verdict.
``methods``        the same for ``torch.Tensor`` (``TensorBase`` stub, ``_tensor.py``).
``aliases``        other names of the same object, and names documented as "Alias for".
``overloads``      signatures of the stubs, where overloads return different kinds.
``modules``        ``nn.Module`` subclasses: what ``forward`` returns, whether it is an RNN.
``numpy``          names of numpy, and whether ``torch._numpy`` stands in for them.
``ndarray``, ``python``  attributes of arrays, builtins and standard library calls: measured, by
                   compiling a one-line function with ``fullgraph=True`` (see the probes module).
``graph_breaks``   ``torch/_dynamo/graph_break_registry.json``: id and type.
``skip_modules``, ``inline_modules``  the module lists of ``trace_rules``.

An entry is ``kind;dynamo;tags`` with trailing empty fields dropped.
"""

from __future__ import annotations

import argparse
import enum
import importlib
import inspect
import json
import pkgutil
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch._dynamo
import torch_facts_calls as calls
import torch_facts_kinds as kinds
import torch_facts_overloads as overloads
import torch_facts_probes as probes
from torch._dynamo import trace_rules
from torch._dynamo import variables as dynamo_variables

DATA = Path(__file__).resolve().parent.parent / "rules" / "torch_facts" / "data"

# torch.hub shows progress with tqdm where that is installed, and with a class of its own where not:
# the tables would differ by what else the environment holds.
torch.hub.tqdm = torch.hub._Faketqdm

# Packages that code inside a compiled region could name. Tools that only ever run outside of one
# (onnx, ao, testing, package, ...) are left out: they would double the table.
ROOTS = (
    "torch", "torch.accelerator", "torch.amp", "torch.autograd", "torch.backends", "torch.compiler",
    "torch.cpu", "torch.cuda", "torch.distributed", "torch.distributions", "torch.export",
    "torch.fft", "torch.func", "torch.functional", "torch.futures", "torch.fx", "torch.hub",
    "torch.jit", "torch.library", "torch.linalg", "torch.masked", "torch.mps", "torch.mtia",
    "torch.multiprocessing", "torch.nested", "torch.nn", "torch.optim", "torch.overrides",
    "torch.profiler", "torch.quasirandom", "torch.random", "torch.serialization", "torch.signal",
    "torch.sparse", "torch.special", "torch.storage", "torch.utils", "torch.xpu",
)  # fmt: skip
WHOLE = ("torch.autograd", "torch.backends", "torch.cuda", "torch.distributions", "torch.nn",
         "torch.optim", "torch.signal", "torch.nested", "torch.amp", "torch.cpu")  # fmt: skip
EXTRA = (
    "torch._dynamo", "torch.distributed.nn.functional", "torch.distributed.tensor",
    "torch.distributed.fsdp", "torch.distributed.device_mesh", "torch.utils.checkpoint",
    "torch.utils.data", "torch.utils.dlpack", "torch.utils.hooks", "torch.utils._pytree",
    "torch.utils.cpp_extension", "torch._higher_order_ops", "torch.multiprocessing.reductions",
    "torch.profiler.profiler", "torch.jit.annotations", "torch.nn.attention.flex_attention",
    "torch.distributed._functional_collectives", "torch.distributed.distributed_c10d",
)  # fmt: skip
# Where functions without arguments may be called to see whether Dynamo captures them.
MEASURED = ("torch.accelerator.", "torch.backends.", "torch.cpu.", "torch.cuda.", "torch.get_",
            "torch.is_", "torch.overrides.", "torch.xpu.", "torch.seed", "torch.initial_seed",
            "torch.are_", "torch.autograd.graph.")  # fmt: skip
NO_IMPORT = re.compile(r"\._|\.quantiz|\.qat|\.intrinsic|\.xeon|\.tests?\b|torch\.optim\._")
# Underscored names of ``torch`` itself that libraries do call.
PRIVATE_BUT_USED = re.compile(r"_(check|assert|foreach_|scaled_|weight_norm|shape_as_tensor)")


def public_modules() -> dict[str, ModuleType]:
    """Importable modules by dotted name, in a fixed order."""
    names = set(ROOTS) | set(EXTRA)
    for root in WHOLE:
        package = importlib.import_module(root)
        names.update(
            m.name
            for m in pkgutil.walk_packages(package.__path__, root + ".", onerror=lambda _: None)
            if not NO_IMPORT.search(m.name)
        )
    found: dict[str, ModuleType] = {}
    for name in sorted(names):
        try:
            found[name] = importlib.import_module(name)
        except (ImportError, RuntimeError, AttributeError, OSError):
            continue  # a module of another platform or device, or of another torch version
    return found


def public_callables(modules: dict[str, ModuleType]) -> Iterator[tuple[str, Any]]:
    for module_name, module in modules.items():
        for name in sorted(set(dir(module)) | set(getattr(module, "__all__", ()))):
            if name.startswith("_") and not (module is torch and PRIVATE_BUT_USED.match(name)):
                continue
            obj = getattr(module, name, None)
            home = getattr(obj, "__module__", None) or "torch"
            if isinstance(obj, ModuleType) or not callable(obj) or not home.startswith("torch"):
                continue
            if inspect.isclass(obj) and issubclass(obj, (BaseException, enum.Enum)):
                continue
            # Submodules are full of names they only imported.
            exported = getattr(module, "__all__", None)
            if module_name not in ROOTS and exported and name not in exported:
                continue
            yield f"{module_name}.{name}", obj


def group_aliases(pairs: list[tuple[str, Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """One canonical name per object (fewest dots, then shortest) and the other names of it."""
    by_id: dict[int, list[tuple[str, Any]]] = {}
    for name, obj in pairs:
        by_id.setdefault(id(obj), []).append((name, obj))
    canonical: dict[str, Any] = {}
    aliases: dict[str, str] = {}
    for group in by_id.values():
        # The place a class or function is defined at is a name people import from, too.
        obj = group[0][1]
        names = {name for name, _ in group}
        best = min(names, key=lambda n: ("._" in n, n.count("."), len(n), n))
        home = f"{getattr(obj, '__module__', '')}.{getattr(obj, '__qualname__', '')}"
        if home.startswith("torch.") and "<" not in home and resolve(home) is obj:
            names.add(home)
        canonical[best] = obj
        aliases.update((name, best) for name in names if name != best)
    return canonical, aliases


def resolve(dotted: str) -> Any:
    parts = dotted.split(".")
    obj: Any = torch
    for part in parts[1:]:
        obj = getattr(obj, part, None)
        if obj is None:
            return None
    return obj


def documented_aliases(canonical: dict[str, Any], aliases: dict[str, str]) -> None:
    """Add ``torch.arccos -> torch.acos`` and the like; the shallower name stays canonical."""
    for name, obj in canonical.items():
        found = re.search(r"^\s*Alias (?:for|of) :func:`~?([\w.]+)`", kinds.doc_of(obj), re.M)
        if found is None:
            continue
        target = found.group(1)
        target = aliases.get(target, target)
        if target not in canonical or target == name:
            continue
        deep, shallow = (name, target) if target.count(".") <= name.count(".") else (target, name)
        if aliases.get(shallow) != deep:
            aliases[deep] = shallow


def dynamo_verdict(obj: Any) -> str:
    """``graph``, ``inline``, ``skip`` or ``constant``; empty for classes Dynamo has no rule on."""
    torch_variables = dynamo_variables.torch
    builder = dynamo_variables.builder
    is_checkpoint = getattr(builder, "is_utils_checkpoint", None)
    if isinstance(obj, torch._ops.HigherOrderOperator) or (is_checkpoint and is_checkpoint(obj)):
        return "graph"
    if dynamo_variables.functions.CollectiveFunctionRewriteVariable.can_rewrite(obj):
        return "graph"
    if torch_variables.TorchCtxManagerClassVariable.is_matching_cls(obj):
        return "graph"
    # Both are dicts (or lists in older versions) keyed by the function itself.
    if any(obj is fn for fn in torch_variables.constant_fold_functions):
        return "constant"
    if inspect.isclass(obj):
        return "graph" if issubclass(obj, torch.Tensor) else ""
    if inspect.getattr_static(obj, "_torchdynamo_disable", False):
        return "skip"
    rule = trace_rules.lookup_callable(obj)
    if rule is None:
        target = getattr(obj, "__wrapped__", obj) if hasattr(obj, "cache_info") else obj
        if not hasattr(target, "__name__"):
            return ""  # an instance with __call__
        rule = trace_rules.lookup(target)
    if rule is None:
        return ""
    if issubclass(rule, dynamo_variables.SkipFunctionVariable):
        return "skip"
    if issubclass(rule, dynamo_variables.TorchInGraphFunctionVariable):
        return "graph"
    return "inline"


def entry(kind: str, verdict: str, tags: set[str]) -> str:
    return ";".join((kind, verdict, ",".join(sorted(tags)))).rstrip(";")


def function_table(canonical: dict[str, Any], types: dict[str, str]) -> dict[str, str]:
    table = {}
    for name, obj in canonical.items():
        if inspect.isclass(obj) and issubclass(obj, torch.nn.Module):
            continue
        op = kinds.aten_name(name, obj)
        found = kinds.overloads(op)
        tags = kinds.declared_tags(found, name.rpartition(".")[2])
        tags = calls.with_traced_tags(tags, obj, found)
        verdict = dynamo_verdict(obj)
        if verdict in ("graph", "inline") and (found or name.startswith(MEASURED)):
            verdict = calls.measured_break(obj, name, found, types) or verdict
        table[name] = entry(kinds.function_kind(name, obj, op), verdict, tags)
    return table


def method_table(types: dict[str, str]) -> dict[str, str]:
    refused = kinds.methods_dynamo_refuses()
    table = {}
    for name, (kind, is_property) in kinds.tensor_members().items():
        member = inspect.getattr_static(torch.Tensor, name, None)
        found = [] if is_property else kinds.method_overloads(kinds.aten_name_of_method(name))
        tags = kinds.declared_tags(found, name)
        call = calls.method_function(name)
        tags = calls.with_traced_tags(tags, call, found)
        verdict = "graph"
        if not is_property and inspect.isfunction(member):
            verdict = dynamo_verdict(member)
        if name in refused:
            verdict = "skip"
        elif found:
            verdict = calls.measured_break(call, name, found, types) or verdict
        else:
            verdict = calls.measured_member_break(name, is_property, types) or verdict
        table[name] = entry(kind, verdict, tags | ({"property"} if is_property else set()))
    return table


def module_table(canonical: dict[str, Any]) -> dict[str, str]:
    table = {}
    for name, cls in canonical.items():
        if inspect.isclass(cls) and issubclass(cls, torch.nn.Module):
            rnn = issubclass(cls, torch.nn.RNNBase)
            table[name] = kinds.module_kind(name, cls) + (";rnn" if rnn else "")
    return table


def graph_breaks() -> dict[str, str]:
    text = Path(torch._dynamo.__file__).with_name("graph_break_registry.json").read_text("utf-8")
    # A registry entry is the list of its revisions, newest first.
    return {key: value[0]["Gb_type"] for key, value in json.loads(text).items()}


def skip_modules() -> list[str]:
    stdlib = (module.__name__ for module in trace_rules.BUILTIN_SKIPLIST)
    called = getattr(trace_rules, "BUILTIN_INLINE_WHEN_CALLED", ())
    traced = {Path(path).stem for path in called}
    return sorted(({*stdlib} - traced) | {*trace_rules.THIRDPARTY_SKIPLIST})


def collect() -> dict[str, Any]:
    """All sections, ready to be written."""
    canonical, aliases = group_aliases(list(public_callables(public_modules())))
    documented_aliases(canonical, aliases)
    types = {gb_type: key for key, gb_type in graph_breaks().items()}
    return {
        "versions": probes.versions(),
        "functions": function_table(canonical, types),
        "methods": method_table(types),
        "aliases": aliases,
        "overloads": overloads.signatures(),
        "modules": module_table(canonical),
        "numpy": probes.numpy_table(),
        "ndarray": probes.ndarray_table(types),
        "python": probes.python_table(types),
        "graph_breaks": graph_breaks(),
        "skip_modules": skip_modules(),
        "inline_modules": sorted({*trace_rules.MOD_INLINELIST, *trace_rules.LEGACY_MOD_INLINELIST}),
        "torch_skip_modules": sorted(trace_rules.MOD_SKIPLIST),
    }


def dump(facts: dict[str, Any]) -> str:
    """JSON with one entry a line, so that a diff between versions reads."""
    sections = []
    for name in sorted(facts):
        section = facts[name]
        if isinstance(section, dict):
            rows = [f"{json.dumps(k)}:{json.dumps(section[k])}" for k in sorted(section)]
            open_, close = "{}"
        else:
            rows = [json.dumps(row) for row in section]
            open_, close = "[]"
        sections.append(f"{json.dumps(name)}:{open_}\n" + ",\n".join(rows) + f"\n{close}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=DATA)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # deprecated modules warn when imported
    path = options.output / f"{minor(torch.__version__)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump(collect()), encoding="utf-8", newline="\n")
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
