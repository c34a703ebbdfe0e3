"""Branches on tensors: what they become, that it says the same, and what is left alone."""

from __future__ import annotations

import copy
import types
from pathlib import Path
from typing import Any

import pytest

from .branch_pairs import PAIRS
from .branch_rewriting import declined, findings, rewritten

HEAD = "import torch\n\n\n"
BY_NAME = {name: (before, after, inputs) for name, before, after, inputs in PAIRS}
# A root whose arm not taken poisons the gradient, unless its operand is made safe.
POISONED = """\
def f(x: torch.Tensor):
    if (x > 0).all():
        return x.sqrt()
    return x * 0
"""


@pytest.mark.parametrize("name", BY_NAME)
def test_rewrite(name: str) -> None:
    before, after, _ = BY_NAME[name]
    assert rewritten(HEAD + before) == HEAD + after


@pytest.mark.truth
@pytest.mark.parametrize("name", BY_NAME)
def test_rewrite_says_the_same(name: str, tmp_path: Path) -> None:
    before, after, inputs = BY_NAME[name]
    for number, arguments in enumerate(_inputs(inputs)):
        want = _outcome(_target(HEAD + before, tmp_path / "before.py"), arguments, compiled=False)
        got = _outcome(_target(HEAD + after, tmp_path / "after.py"), arguments, compiled=True)
        assert _alike(want, got), f"inputs {number}: {want} != {got}"


def test_second_alternative_guards_the_gradient() -> None:
    found = [f for f in findings(HEAD + POISONED) if f.code == "CL101"]
    assert [fix.title for fix in found[0].fixes] == [
        "compute both arms and pick with `torch.where`",
        "compute both arms and pick with `torch.where`, with operands of the arm not taken made "
        "safe",
        "run the arm that is taken with `torch.cond`",
    ]
    assert rewritten(HEAD + POISONED, 1).endswith(
        """\
    pred = (x > 0).all()
    return torch.where(pred, torch.where(pred, x, 1).sqrt(), x * 0)
"""
    )


def test_what_an_early_return_leaves_is_guarded() -> None:
    text = rewritten(
        HEAD
        + """\
def f(pred: torch.Tensor, mask: torch.Tensor):
    if mask.sum() == 0:
        return pred.sum() * 0
    return (pred * mask).sum() / mask.sum()
""",
        1,
    )
    assert text.endswith(
        """\
    taken = mask.sum() == 0
    return torch.where(
        taken, pred.sum() * 0, (pred * mask).sum() / torch.where(taken, 1, mask.sum())
    )
"""
    )


@pytest.mark.truth
@pytest.mark.parametrize(("alternative", "poisoned"), [(0, True), (1, False), (2, False)])
def test_gradient_of_the_arm_not_taken(alternative: int, poisoned: bool, tmp_path: Path) -> None:
    import torch

    after = _target(rewritten(HEAD + POISONED, alternative), tmp_path / "after.py")
    outcome = _outcome(after, (torch.zeros(3),), compiled=True)
    assert bool(outcome[2][0].isnan().any()) is poisoned


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "    if x.sum() > 0:\n        x.add_(1)\n        return None\n    return x\n",
            "one arm gives None",
        ),
        (
            "    if x.sum() > 0:\n        mode = 'a'\n    else:\n        mode = 'b'\n"
            "    return x, mode\n",
            "one arm gives a str",
        ),
        (
            "    if x.sum() > 0:\n        y = x * 2\n    return x + y\n",
            "`y` is unbound when the other arm is taken",
        ),
        (
            "    kept = [t for t in (x, x + 1) if t.sum() > 0]\n    return x, kept\n",
            "how many elements are kept depends on data",
        ),
        (
            "    try:\n        if x.sum() > 0:\n            raise ValueError('bad')\n"
            "    except ValueError:\n        x = x * 2\n    return x\n",
            "the function catches what is raised",
        ),
        (
            "    if x.sum() > 0 and x.unknown_method() > 2:\n        x = x * 2\n    return x\n",
            "nothing is known of `x.unknown_method() > 2`, which comes after a tensor",
        ),
        (
            "    if x.sum() > 0:\n        x = x * 2\n    if len(x) > 3:\n        x *= 3\n"
            "    return x\n",
            "`x` is written in place behind it, and seen elsewhere",
        ),
        (
            "    for _ in range(3):\n        x.add_(1)\n        if x.sum() > 0:\n"
            "            x = x * 2\n    return x\n",
            "`x` is written in place behind it, and seen elsewhere",
        ),
    ],
)
def test_declined(body: str, reason: str) -> None:
    text = HEAD + "def f(x: torch.Tensor):\n" + body
    assert rewritten(text) == text
    assert reason in declined(text)


def test_tabs_and_long_names_survive() -> None:
    before = "def f(x: torch.Tensor):\n\tif x.sum() > 0:\n\t\tx = x * 2  # twice\n\treturn x\n"
    after = (
        "def f(x: torch.Tensor):\n\tx = torch.where(x.sum() > 0, x * 2, x)  # twice\n\treturn x\n"
    )
    assert rewritten(HEAD + before) == HEAD + after


# -- running -------------------------------------------------------------------------------------


def _inputs(expression: str) -> list[tuple[Any, ...]]:
    import torch

    torch.manual_seed(0)
    return eval(expression, {"torch": torch, "float": float})


def _target(text: str, path: Path) -> Any:
    import torch

    path.write_text(text, encoding="utf-8")
    module = types.ModuleType(path.stem)
    exec(compile(text, str(path), "exec"), module.__dict__)
    target = module.f
    torch.manual_seed(0)
    return target() if isinstance(target, type) else target


def _outcome(target: Any, arguments: tuple[Any, ...], compiled: bool) -> tuple[Any, ...]:
    """Return (what is returned, arguments after the call, gradients), or the failure."""
    import torch
    from torch.utils._pytree import tree_leaves, tree_map

    def fresh(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return copy.deepcopy(value)
        return value.detach().clone().requires_grad_(value.is_floating_point())

    given = tree_map(fresh, arguments)
    if compiled:
        torch._dynamo.reset()
        target = torch.compile(target, backend="aot_eager", fullgraph=True)
    try:
        result = target(*given)
    except Exception as error:
        return (
            "raised",
            "assert" in str(error).lower() or isinstance(error, (ValueError, RuntimeError)),
        )
    leaves = [leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor)]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    outputs = [o for o in tree_leaves(result) if isinstance(o, torch.Tensor) and o.requires_grad]
    grads: list[Any] = [torch.zeros_like(leaf) for leaf in wanted]
    if outputs:
        found = torch.autograd.grad(sum(o.sum() for o in outputs), wanted, allow_unused=True)
        grads = [zero if grad is None else grad for zero, grad in zip(grads, found)]
    return (tree_leaves(result), [leaf.detach() for leaf in leaves], grads)


def _alike(one: Any, other: Any) -> bool:
    import torch

    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        same = one.shape == other.shape and one.dtype == other.dtype
        return same and torch.allclose(one, other, rtol=1e-4, atol=1e-6, equal_nan=True)
    if isinstance(other, torch.Tensor):  # a truth value has become a tensor
        return other.numel() == 1 and other.item() == one
    return bool(one == other)


def test_what_the_code_around_says_is_none_is_no_arm() -> None:
    text = """\
import torch


def f(x: torch.Tensor, valid: torch.Tensor | None = None, place: torch.Tensor | None = None):
    if valid is None and place is not None:
        last = (place == -1).all(dim=-1)
        if last.any():
            valid = ~last
    if valid is not None:
        x = x * valid
    return x
"""
    assert "torch.where" not in rewritten(text)


@pytest.mark.parametrize(
    "body",
    [
        "    y = x * 1\n    if x.sum() > 0:\n        y = x * 2\n    y += 1\n    return y\n",
        "    if x.sum() > 0:\n        x = x * 2\n    x = x + 1\n    x += 1\n    return x\n",
    ],
)
def test_what_nobody_else_sees_may_be_written_behind_it(body: str) -> None:
    text = HEAD + "def f(x: torch.Tensor):\n" + body
    assert "torch.where" in rewritten(text)
