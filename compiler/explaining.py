"""`explain(fn)(*args)`: what becomes of a function, as one value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch._dynamo
from torch.utils._pytree import tree_map_only

from .api import compilation_of, plain
from .capture.backend import Backend
from .capture.breaks import GraphBreak
from .capture.collect import AS_FULLGRAPH, limits, own_history, quiet
from .capture.compilation import Recompile, home_of, traceable
from .capture.graphs import GraphText
from .capture.recorder import Recorder
from .capture.snapshot import Snapshot
from .settings import Settings
from .triton.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Guard:
    """What has to hold for compiled code to be used again.

    Args:
        kind: Dynamo's name for the kind of check, "TENSOR_MATCH".
        of: The value, as Dynamo names it: "L['x']".
        checks: The checks as Python expressions, where Dynamo has them as such.
    """

    kind: str
    of: str
    checks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.of}".strip() + "".join(f"\n    {row}" for row in self.checks)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of one function on one set of arguments.

    Args:
        name: The function.
        graphs: The ATen graphs, in the order of their compilation.
        breaks: Every graph break found.
        guards: What has to hold for the compiled code to be used again, over all graphs.
        operators: ATen operators with the number of their calls, most frequent first.
        kernels: The generated kernels.
        fallbacks: Operators that run by ATen, with the number of their calls.
        recompiles: The recompilations of the function so far, if `compile` made it.
        notes: Where breaks may hide that these arguments don't show.
    """

    name: str
    graphs: tuple[GraphText, ...]
    breaks: tuple[GraphBreak, ...]
    guards: tuple[Guard, ...]
    operators: tuple[tuple[str, int], ...]
    kernels: tuple[Kernel, ...]
    fallbacks: tuple[tuple[str, int], ...]
    recompiles: tuple[Recompile, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        calls = sum(count for _, count in self.operators)
        by_aten = sum(count for _, count in self.fallbacks)
        rows = [
            f"{self.name}: {_many(len(self.graphs), 'graph')}, "
            f"{_many(len(self.breaks), 'graph break')}, {_many(calls, 'operator call')}, "
            f"{_many(len(self.kernels), 'kernel')}, {by_aten} by ATen, "
            f"{_many(len(self.guards), 'guard')}, {_many(len(self.recompiles), 'recompile')}"
        ]
        rows += _part("Graph breaks", [str(one) for one in self.breaks])
        rows += _part("Notes", list(self.notes))
        rows += _part("Operators", [f"{count:4} {name}" for name, count in self.operators])
        rows += _part("Run by ATen", [f"{count:4} {name}" for name, count in self.fallbacks])
        rows += _part("Kernels", [kernel.name for kernel in self.kernels])
        rows += _part("Recompiles", [str(one) for one in self.recompiles])
        rows += _part("Guards", [str(guard) for guard in self.guards])
        return "\n".join(rows)

    def __rich__(self) -> Any:
        from rich.text import Text

        return Text(str(self))


def explain(
    fn: Any,
    *,
    fullgraph: bool = True,
    mode: str = "default",
    dynamic: bool | None = None,
    target: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Explanation]:
    """Say what becomes of `fn`: `explain(fn)(*args, **kwargs)` gives an `Explanation`.

    The function runs once, with graph breaks allowed; what that changed in what it can reach is put
    back. `explain(f)` of a compiled `f` goes by the choices that it was compiled with.

    Args:
        fn: A function, method or module, compiled or not.
        fullgraph: Count breaks as `compile(fullgraph=True)` does: `.item()` and sizes that depend
            on data are no breaks then.
        mode, dynamic, target, options: As in `compile`.

    Raises:
        UnknownOption: A mode or option that doesn't exist.

    The function returned raises what `fn` itself raises, and TypeError for an argument that can be
    used only once (a generator).
    """
    known = compilation_of(fn)
    if known is not None:
        settings, fullgraph, dynamic = known.settings, known.fullgraph, known.dynamic
        inner = known.fn if isinstance(fn, torch.nn.Module) else plain(fn)
        name = known.name
    else:
        settings = Settings.of(mode=mode, target=target, options=options)
        inner = fn._call_impl if isinstance(fn, torch.nn.Module) else fn
        name = getattr(fn, "__qualname__", type(fn).__qualname__)
    past = tuple(known.recompiles) if known is not None else ()

    def on(*args: Any, **kwargs: Any) -> Explanation:
        # An instance of its own: nothing is served from what was compiled before.
        backend, guards = Backend(settings), []
        compiled = torch._dynamo.optimize(
            backend, nopython=False, dynamic=dynamic, guard_export_fn=guards.extend
        )(traceable(inner))
        args, kwargs = tree_map_only(torch.Tensor, own_history, (args, kwargs))
        before = Snapshot(inner, args, kwargs)
        if before.iterators:
            raise TypeError("explain runs the function, which would use up the generator given")
        with Recorder(home_of(inner, name)) as recorder:
            try:
                with quiet(), torch._dynamo.config.patch(AS_FULLGRAPH if fullgraph else {}):
                    compiled(*args, **kwargs)
            finally:
                before.restore()
                recorder.forget()
        found = tuple(recorder.breaks.values())
        graphs = tuple(GraphText.of(graph.stage, graph.gm) for graph in backend.graphs)
        return Explanation(
            name=name,
            graphs=graphs,
            breaks=found,
            guards=tuple(dict.fromkeys(_guard(guard) for guard in guards)),
            operators=_counted(op for graph in graphs for op in graph.operators),
            kernels=tuple(kernel for graph in backend.graphs for kernel in graph.kernels),
            fallbacks=_counted(op for graph in backend.graphs for op in graph.fallbacks),
            recompiles=past,
            notes=tuple(dict.fromkeys(limits(found))),
        )

    return on


def _guard(guard: Any) -> Guard:
    return Guard(guard.create_fn_name(), guard.name, tuple(guard.code_list or ()))


def _counted(names: Any) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(names).most_common())


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _part(title: str, texts: list[str]) -> list[str]:
    if not texts:
        return []
    return ["", f"{title}:", *(f"  {row}" for text in texts for row in text.splitlines())]
