"""Loops that tensors decide: what they become, that it says the same, and what is left alone."""

from __future__ import annotations

import copy
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from .branch_rewriting import declined, findings, rewritten
from .loop_pairs import PAIRS

HEAD = "import torch\n\n\n"
BY_NAME = {name: (before, after, inputs) for name, before, after, inputs in PAIRS}


@pytest.mark.parametrize("name", BY_NAME)
def test_rewrite(name: str) -> None:
    before, after, _ = BY_NAME[name]
    assert rewritten(HEAD + before) == HEAD + after


@pytest.mark.truth
@pytest.mark.parametrize("name", BY_NAME)
def test_rewrite_says_the_same(name: str, tmp_path: Path) -> None:
    before, after, inputs = BY_NAME[name]
    old, new = _module(HEAD + before, tmp_path), _module(HEAD + after, tmp_path)
    for number, arguments in enumerate(_inputs(inputs)):
        want = _outcome(_target(old), arguments)
        got = _outcome(_compiled(_target(new), fullgraph=True), arguments)
        _same(want, got, f"fullgraph, inputs {number}")
    _outcome(_compiled(_target(new), fullgraph=False), _inputs(inputs)[0])
    assert not _breaks()
    _same(
        _outcome(_target(old), _inputs(inputs)[-1]),
        _outcome(_target(new), _inputs(inputs)[-1]),
        "eager",
    )


@pytest.mark.truth
@pytest.mark.parametrize("name", ["bounded", "rounds of unknown number, left early"])
def test_second_alternative_freezes(name: str, tmp_path: Path) -> None:
    before, _, inputs = BY_NAME[name]
    after = rewritten(HEAD + before, alternative=1)
    assert "while_loop" not in after
    old, new = _module(HEAD + before, tmp_path), _module(after, tmp_path)
    for arguments in _inputs(inputs):
        want = _outcome(_target(old), arguments)
        _same(want, _outcome(_compiled(_target(new), True), arguments), after)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "    while x.sum() < 9:\n        x = x + 1\n        print(x)\n    return x\n",
            "`print` may do more than compute",
        ),
        (
            "    kept = []\n    while x.sum() < 9:\n        x = x + 1\n        kept.append(x)\n"
            "    return kept\n",
            "`kept.append` changes a container every round",
        ),
        (
            "    while x.sum() < 9:\n        x = x + 1\n        if x.max() > 3:\n"
            "            return x\n    return -x\n",
            "the loop returns from inside",
        ),
        (
            "    while x.sum() < 9:\n        x = x + 1\n        y = x * 2\n    return y\n",
            "`y` has no value where the loop doesn't turn",
        ),
        (
            "    prev = None\n    while prev is None or (x - prev).norm() > 1:\n"
            "        prev = x\n        x = x.cos()\n    return x\n",
            "`prev`, which changes from round to round, is None at times",
        ),
        (
            "    while x.sum() < 9:\n        x += 1\n    return x\n",
            "`x` is written in place, and seen elsewhere",
        ),
        (
            "    n = 0\n    while x.sum() < 9:\n        x = x + 1\n        n += 1\n"
            "    return x, n\n",
            "`n`, a number, is returned or kept behind the loop",
        ),
        (
            "    n = 1\n    while x[:n].sum() < 9:\n        n += 1\n        x = x + 1\n"
            "    return x\n",
            "`n` is the bound of a slice, which a carried number can't be",
        ),
        (
            "    while x.sum() < 9:\n        x = torch.cat([x, x[-1:] + 1])\n    return x\n",
            "`x` doesn't grow by one column a round",
        ),
        (
            "    for c in torch.unique(x):\n        x = torch.where(x == c, x * 2, x)\n"
            "    return x\n",
            "how many different entries there are isn't known from the code",
        ),
    ],
)
def test_declined(body: str, reason: str) -> None:
    text = HEAD + "def f(x: torch.Tensor):\n" + body
    assert "while_loop" not in rewritten(text)
    assert reason in declined(text)


@pytest.mark.parametrize(
    ("code", "before", "after"),
    [
        ("CL718", "(i + 1, y + x), (torch.tensor(0), x))", "(torch.tensor(0), x.clone())"),
        ("CL716", "(i + 1, y * 2), (0, x))", "(torch.tensor(0), x)"),
        ("CL709", "(i + 1, y), (torch.tensor(0), x))", "(i + 1, y.clone())"),
        ("CL709", "(i * 0.5, y * 2), (4.0, x))", "(torch.tensor(4.0), x)"),
    ],
)
def test_calls_of_while_loop(code: str, before: str, after: str) -> None:
    call = f"torch.while_loop(lambda i, y: i < 3, lambda i, y: {before}"
    text = f"{HEAD}def f(x: torch.Tensor):\n    return {call}[1]\n"
    assert code in [found.code for found in findings(text)]
    assert after in rewritten(text)


def test_a_condition_that_is_a_number_is_compared() -> None:
    call = "torch.while_loop(lambda r: r.abs().mean(), lambda r: (r * 0.5,), (x,))"
    text = f"{HEAD}def f(x):\n    return {call}\n"
    assert "lambda r: r.abs().mean() != 0" in rewritten(text)


# -- running -------------------------------------------------------------------------------------


def _inputs(expression: str) -> list[tuple[Any, ...]]:
    import torch

    torch.manual_seed(0)
    return eval(expression, {"torch": torch})


def _module(text: str, folder: Path) -> Any:
    """Import a source: eager `while_loop` compiles, and looks its functions' module up."""
    name = f"loops_{abs(hash(text))}"
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _target(module: Any) -> Any:
    import torch

    torch.manual_seed(0)
    return module.f() if isinstance(module.f, type) else module.f


def _compiled(target: Any, fullgraph: bool) -> Any:
    import torch

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    backend = "aot_eager" if fullgraph else "eager"
    return torch.compile(target, backend=backend, fullgraph=fullgraph)


def _breaks() -> Any:
    import torch

    return torch._dynamo.utils.counters["graph_break"]


def _outcome(target: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """Return the results and the gradients of arguments and parameters, zeros for none."""
    import torch
    from torch.utils._pytree import tree_leaves

    given = copy.deepcopy(arguments)
    wanted = [t for t in given if isinstance(t, torch.Tensor) and t.is_floating_point()]
    for tensor in wanted:
        tensor.requires_grad_()
    wanted += list(target.parameters()) if isinstance(target, torch.nn.Module) else []
    result = tree_leaves(target(*given))
    outputs = [o for o in result if o.requires_grad]
    grads: list[Any] = [None] * len(wanted)
    if outputs:
        weighed = [(o * torch.arange(1, o.numel() + 1).view(o.shape)).sum() for o in outputs]
        total = torch.stack(weighed).sum()
        grads = list(torch.autograd.grad(total, wanted, allow_unused=True))
    zeros = [torch.zeros_like(t) if g is None else g for t, g in zip(wanted, grads)]
    return [*result, *zeros]


def _same(want: list[Any], got: list[Any], what: str) -> None:
    import torch

    assert len(want) == len(got), what
    for one, other in zip(want, got):
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-6, equal_nan=True, msg=None)
