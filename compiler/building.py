"""`build`: every kernel of a function, compiled ahead of time for a GPU that need not be here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .capture.backend import Backend
from .runtime.build import Built, check_target
from .settings import Settings
from .triton.kernel import Kernel


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What `build` made.

    Attributes:
        target: The device that the kernels are for, "cuda:90".
        kernels: The generated kernels, of the forward graph and, if there is one, the backward.
        built: Each kernel compiled: `binary`, `assembly`, `registers`, `spills`, `shared`.
        fallbacks: Operators left to ATen, once for each call.
    """

    target: str
    kernels: tuple[Kernel, ...]
    built: tuple[Built, ...]
    fallbacks: tuple[str, ...]

    def __str__(self) -> str:
        rows = [f"{len(self.built)} kernels for {self.target}"]
        for made in self.built:
            rows.append(
                f"  {made.name}: {made.registers} registers, {made.spills} spilled, "
                f"{made.shared} bytes shared, {len(made.binary)} bytes of code"
            )
        if self.fallbacks:
            rows.append(f"by ATen: {', '.join(self.fallbacks)}")
        return "\n".join(rows)


def build(
    fn: Callable,
    example_inputs: Sequence[Any],
    target: str,
    *,
    example_kwargs: Mapping[str, Any] | None = None,
    dynamic: bool | None = None,
    options: Mapping[str, Any] | None = None,
) -> BuildReport:
    """Capture `fn`, lower it and build every kernel for `target`, with no GPU needed.

    The function runs once on the example inputs, by ATen; where they require gradients, the
    backward graph is captured and built too. The kernels go to the cache, so that
    `save_cache_artifacts` can carry them to the machine that has the GPU.

    Args:
        fn: A function or a module.
        example_inputs: Its arguments: shapes, strides and dtypes count, values don't.
        target: "cuda:80", "cuda:90", "cuda:100", "cuda:120", "hip:gfx942" …
        dynamic: As for `compile`.
        options: Further fields of `Settings`.

    Raises:
        UnsupportedTarget: Kernels can't be built for `target`.
        CaptureError, BuildError: As for `compile`.
    """
    check_target(target)
    backend = Backend(Settings.of(target=target, options=options))
    run = torch.compile(fn, backend=backend, fullgraph=True, dynamic=dynamic)
    result = run(*example_inputs, **(example_kwargs or {}))
    _backward(result)
    graphs = tuple(backend.graphs)
    return BuildReport(
        target=target,
        kernels=tuple(k for g in graphs for k in g.kernels),
        built=tuple(b for g in graphs for b in g.built),
        fallbacks=tuple(name for g in graphs for name in g.fallbacks),
    )


def _backward(result: Any) -> None:
    """Make AOTAutograd compile the backward graph, which it does at the first backward."""
    leaves = pytree.tree_leaves(result)
    outputs = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
    if not outputs:
        return
    inputs = _leaves_of(outputs)
    torch.autograd.grad(outputs, inputs, [torch.ones_like(x) for x in outputs], allow_unused=True)


def _leaves_of(outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors that gradients would be accumulated into, found by walking back."""
    found: dict[int, torch.Tensor] = {}
    seen: set[Any] = set()
    stack = [x.grad_fn for x in outputs]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if isinstance(variable, torch.Tensor):
            found[id(variable)] = variable
        stack.extend(following for following, _ in node.next_functions)
    return list(found.values())
