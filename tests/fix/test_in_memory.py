"""Rewriting in memory: what runs is the rewrite, the source and its lines stay."""

from __future__ import annotations

import importlib.util
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from compile_lint.linter import RewriteError, rewrite  # noqa: E402

TEXT = '''\
from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import torch
from torch import nn

from compile_lint.linter import rewrite

if TYPE_CHECKING:
    from nowhere import Nothing

log = logging.getLogger(__name__)


def clip(x: torch.Tensor, most: float = 1.0) -> torch.Tensor:
    # keeps it small
    if x.abs().max() > most:
        x = x / x.abs().max()
    return x + 1


def outer(x: torch.Tensor, *, scale: Nothing = 2.0):
    """Clip and scale."""
    y = clip(x)
    if y.sum() > 0:
        return y * scale
    return y


def caller(x: torch.Tensor):
    return clip(x, most=0.5)


@torch.no_grad()
def guarded(x: torch.Tensor):
    if x.sum() > 0:
        x = x * 2
    return x


def uses_guarded(x: torch.Tensor):
    y = guarded(x)
    if y.sum() > 0:
        y = y + 1
    return y


def fails(x: torch.Tensor, place: int):
    if x.sum() > 0:
        x = x * 2
    rows = [1, 2, 3]
    return x + rows[place]


def plain(x: torch.Tensor):
    return x * 2


def make(k):
    @rewrite
    def inner(x: torch.Tensor):
        if x.sum() > 0:
            return x * k
        return x - k

    return inner


def counting():
    count = 0

    def inner(x: torch.Tensor):
        nonlocal count
        count += 1
        if x.sum() > 0:
            return x * 2
        return x

    return inner


@torch.compile(backend="eager", fullgraph=True)
@rewrite
def decorated(x: torch.Tensor):
    if x.sum() > 0:
        x = x * 2
    return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.__most = 2.0

    def forward(self, x: torch.Tensor):
        y = self.lin(x)
        if y.sum() > 0:
            return clip(y) * self.__most
        return self.shrink(y)

    def shrink(self, y: torch.Tensor):
        while y.sum() < -1:
            y = y * 0.5
        return y


class Deeper(Net):
    def forward(self, x: torch.Tensor):
        x = super().forward(x)
        if x.max() > 2:
            x = x - 1
        return x


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Net(), nn.ReLU(), Net())

    def forward(self, x):
        return self.blocks(x)


class Marked(nn.Module):
    @rewrite
    def forward(self, x: torch.Tensor):
        if x.sum() > 0:
            x = x * 2
        return super().extra_repr() + "", x


class Scaler:
    scale = 3

    def method(self, x: torch.Tensor):
        if x.sum() > 0:
            return x * self.scale
        return x

    @staticmethod
    def double(x: torch.Tensor):
        if x.sum() > 0:
            return x * 2
        return x

    @classmethod
    def times(cls, x: torch.Tensor):
        if x.sum() > 0:
            return x * cls.scale
        return x
'''
INPUTS = [torch.randn(3, 4), -torch.rand(3, 4) * 3, torch.rand(3, 4) * 3]


def load(text: str, folder: Path, name: str = "in_memory_subject") -> types.ModuleType:
    path = folder / f"{name}.py"
    path.write_text(dedent(text), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> types.ModuleType:
    return load(TEXT, tmp_path_factory.mktemp("subject"))


def same(old: Callable[..., Any], new: Any, **more: Any) -> None:
    """Assert that the rewrite is captured whole, and gives what the original gives."""
    assert new is not old
    torch._dynamo.reset()
    compiled = torch.compile(new, backend="eager", fullgraph=True)
    for x in INPUTS:
        torch.testing.assert_close(compiled(x, **more), old(x, **more))


def test_a_function_with_what_it_calls(subject):
    new = rewrite(subject.outer)
    same(subject.outer, new)
    same(subject.outer, new, scale=3.0)
    assert (new.__name__, new.__doc__) == ("outer", "Clip and scale.")
    assert new.__rewrites__.titles == ("compute both arms and pick with `torch.where`",) * 2
    assert new.__rewrites__.left == ()
    with pytest.raises(torch._dynamo.exc.Unsupported):  # others call the helper as it was
        torch.compile(subject.clip, backend="eager", fullgraph=True)(INPUTS[0])


def test_a_function_that_only_calls_what_is_rewritten(subject):
    same(subject.caller, rewrite(subject.caller))


def test_what_a_decorator_stands_before_is_left(subject):
    new = rewrite(subject.uses_guarded)
    for x in INPUTS:
        torch.testing.assert_close(new(x), subject.uses_guarded(x))
    y = new(INPUTS[2].clone().requires_grad_())
    assert not y.requires_grad


def test_closures(subject):
    for k in (5, 7):
        same(lambda x, k=k: x * k if x.sum() > 0 else x - k, subject.make(k))


def test_below_torch_compile(subject):
    for x in INPUTS:
        torch.testing.assert_close(subject.decorated(x), x * 2 if x.sum() > 0 else x)


def test_under_our_compile(subject):
    from compile_lint.compiler import compile

    compiled = compile(rewrite(subject.outer))
    for x in INPUTS:
        torch.testing.assert_close(compiled(x), subject.outer(x))


def test_methods(subject):
    scaler = subject.Scaler()
    same(scaler.method, rewrite(scaler.method))
    same(scaler.times, rewrite(subject.Scaler.times))
    same(scaler.double, rewrite(subject.Scaler.double))
    made = rewrite(subject.Scaler)()
    assert isinstance(made, subject.Scaler)
    for name in ("method", "double", "times"):
        same(getattr(scaler, name), getattr(made, name))


@pytest.mark.parametrize("name", ["Net", "Deeper", "Stack"])
def test_modules_share_their_state(subject, name):
    net = getattr(subject, name)()
    new = rewrite(net)
    same(net, new)
    assert isinstance(new, type(net))
    assert [p.data_ptr() for p in new.parameters()] == [p.data_ptr() for p in net.parameters()]
    assert list(new.state_dict()) == list(net.state_dict())
    new(INPUTS[0]).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_a_class(subject):
    net = subject.Net()
    new = rewrite(subject.Net)()
    new.load_state_dict(net.state_dict())
    same(net, new)
    assert type(new).__rewrites__.titles


def test_in_a_class_body(subject):
    for x in INPUTS:
        torch.testing.assert_close(subject.Marked()(x)[1], x * 2 if x.sum() > 0 else x)


def test_tracebacks_point_at_the_file(subject):
    with pytest.raises(IndexError) as raised:
        rewrite(subject.fails)(torch.ones(3), 9)
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert last.filename == subject.__file__
    assert last.line == "return x + rows[place]"
    assert last.name == "fails"


def test_tracebacks_of_closures_point_at_the_file(tmp_path):
    text = """\
    import torch


    def make(rows):
        def inner(x: torch.Tensor, place: int):
            if x.sum() > 0:
                x = x * 2
            return x + rows[place]

        return inner
    """
    new = rewrite(load(text, tmp_path, "closure_lines").make([1]))
    with pytest.raises(IndexError) as raised:
        new(torch.ones(3), 9)
    assert traceback.extract_tb(raised.value.__traceback__)[-1].lineno == 8


def test_what_needs_no_rewrite_is_itself(subject):
    assert rewrite(subject.plain) is subject.plain
    assert rewrite(plain := torch.nn.Linear(2, 2)) is plain
    assert rewrite(torch.nn.Linear) is torch.nn.Linear


def test_proved(tmp_path):
    text = """\
    import torch


    def right(x: torch.Tensor):
        if x.sum() > 0:
            x = x * 2
        return x


    def guarded(x: torch.Tensor, w: torch.Tensor):
        if x.square().sum() < 0:
            x = x * w
        return x
    """
    module = load(text, tmp_path, "proved_subject")
    same(module.right, rewrite(module.right, prove=True))
    assert rewrite(module.guarded, prove=True) is module.guarded  # an arm that nothing reaches


def test_imports_that_a_rewrite_needs(tmp_path):
    text = """\
    from torch import Tensor


    def f(x: Tensor):
        if x.sum() > 0:
            x = x * 2
        return x
    """
    module = load(text, tmp_path, "needs_import")
    same(module.f, rewrite(module.f))


def test_imports_that_a_rewrite_moves(tmp_path):
    (tmp_path / "moved_helper.py").write_text("def twice(x):\n    return x * 2\n")
    text = """\
    import torch


    def f(x: torch.Tensor):
        try:
            import moved_helper
        except ImportError:
            moved_helper = None
        if moved_helper is not None:
            x = moved_helper.twice(x)
        if x.sum() > 0:
            x = x * 2
        return x
    """
    sys.path.insert(0, str(tmp_path))
    try:
        module = load(text, tmp_path, "moves_import")
        new = rewrite(module.f)
        for x in INPUTS:
            torch.testing.assert_close(new(x), module.f(x))
        same(module.f, new)
    finally:
        sys.path.remove(str(tmp_path))


def _nameless() -> Callable[..., Any]:
    space: dict[str, Any] = {}
    exec("def f(x):\n    return x\n", space)
    return space["f"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (lambda m: lambda x: x * 2 if x.sum() > 0 else x, "a lambda has no statements"),
        (lambda m: m.guarded, "`guarded` is decorated: put rewrite below"),
        (lambda m: m.decorated, "`decorated` is decorated: put rewrite below"),
        (lambda m: m.counting(), "writes to variables of the function around it"),
        (lambda m: _nameless(), "`f` has no source that can be read"),
        (lambda m: len, "a builtin_function_or_method is neither a function nor a module"),
        (lambda m: 3, "a int is neither a function nor a module"),
    ],
)
def test_what_cannot_be_rewritten_says_why(subject, target: Callable[..., Any], reason: str):
    with pytest.raises(RewriteError, match=reason):
        rewrite(target(subject))
