"""What declarations, names and uses tell where values come by ways that can't be followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.linter.source import read_source

OPTIONS = AnalysisOptions(entry="all", target_torch="2.13")


def found(text: str) -> list[tuple[str, int]]:
    file = SourceFile("m.py", "import torch\n" + text, "utf-8", False, "\n", "x")
    return [(f.code, f.span.line) for f in Linter(OPTIONS).lint(file).findings if f.breaks]


def test_a_tensor_where_one_is_declared_is_not_what_stands_beside_it_in_args() -> None:
    text = """
def wrapped(*args):
    rows = [a if isinstance(a, list) else torch.as_tensor(a) for a in args]
    return pick(*rows)

def pick(x: torch.Tensor, y: torch.Tensor):
    return x[y.argsort()]

def f(x: torch.Tensor, senses: list):
    return wrapped(x, senses)
"""
    assert not found(text)


def test_a_tensor_picks_rows_of_what_may_be_a_tensor() -> None:
    text = """
def f(x: list | torch.Tensor, i: torch.Tensor):
    return x[i + 1]
"""
    assert not found(text)
    assert found(text.replace("list | torch.Tensor", "list")) == [("CL426", 4)]


@pytest.mark.parametrize(("one", "code"), [("x", []), ("x, y", [("CL426", 4)])])
def test_atleast_of_one_tensor_is_a_tensor(one: str, code: list) -> None:
    text = f"""
def f(x: torch.Tensor, y: torch.Tensor, head: torch.Tensor):
    return torch.atleast_1d({one})[head + 1]
"""
    assert found(text) == code


def test_what_a_factory_returns_is_compiled() -> None:
    text = """
def clip(limit: float):
    def update(updates, state):
        norm = torch.norm(torch.stack([torch.norm(p) for p in updates]))
        return limit / float(norm)

    return init, update
"""
    assert found(text) == [("CL402", 6)]


def test_a_callback_that_declares_tensors_gets_some() -> None:
    text = """
def correct(moment, decay, count):
    def one(t: torch.Tensor, c: torch.Tensor):
        return t.div(1 - pow(decay, c))

    return over(one, moment, count)
"""
    assert found(text) == [("CL402", 5)]


def test_what_has_a_dtype_and_a_device_is_a_tensor() -> None:
    text = """
def walk(density, x0, n):
    y = density(x0)
    noise = torch.rand(n, dtype=y.dtype, device=y.device)
    if y > 0:
        y = y + noise
    return y
"""
    assert found(text) == [("CL101", 6)]
    assert not found(text.replace(", device=y.device", ""))


def test_a_dict_of_tensors_holds_tensors_whatever_is_put_in() -> None:
    text = """
class Head(torch.nn.Module):
    def __init__(self, net, key):
        super().__init__()
        self.net, self.key = net, key

    def forward(self, inputs: dict[str, torch.Tensor]):
        inputs[self.key] = self.net(inputs["x"])
        return int(inputs["index"][-1]) + 1
"""
    assert found(text) == [("CL402", 10)]


def test_names_that_a_package_sets_at_run_time(tmp_path: Path) -> None:
    package = tmp_path / "pk"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "backend.py").write_text(
        "import sys\n\ndef load(name):\n    setattr(sys.modules[__name__], 'chosen', name)\n"
        "    setattr(sys.modules[__name__], name, __import__(name))\n\nchosen = None\n"
    )
    core = package / "core.py"
    core.write_text(
        "from .backend import chosen, torch\n\n"
        "def f(x):\n    if chosen == 'torch':\n        return int(torch.relu(x))\n    return x\n"
    )
    findings = Linter(OPTIONS).lint(read_source(str(core))).findings
    assert [(f.code, f.span.line) for f in findings] == [("CL402", 5)]


def test_a_method_backward_of_several_things_is_no_tensors() -> None:
    text = """
def around(find, module):
    def hook(grads: torch.Tensor):
        rule = find()
        return rule.backward(module, grads)

    module.register_hook(hook)
"""
    assert not [code for code, _ in found(text) if code == "CL501"]
    assert ("CL501", 6) in found(text.replace("(module, grads)", "(grads)"))


def test_tensor_subclasses_and_operators_that_functions_define() -> None:
    text = """
class Packed(torch.Tensor):
    @staticmethod
    def __new__(cls, data):
        return torch.Tensor._make_wrapper_subclass(cls, data.shape)

def solver(eps=1e-6):
    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + eps

    return Solve.apply
"""
    assert found(text) == [("CL325", 6), ("CL321", 9)]


def test_the_storage_of_what_has_one() -> None:
    text = """
def pointer(x):
    return x.untyped_storage().data_ptr()
"""
    assert found(text) == [("CL419", 4)]


def test_rows_of_a_tensor_subclass_through_super() -> None:
    text = """
class Rows(torch.Tensor):
    def __getitem__(self, index):
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        super().__setitem__(index, value)

    def __neg__(self):
        return super().__neg__()
"""
    assert found(text) == [("CL331", 5), ("CL331", 8)]
    assert not found(text.replace("torch.Tensor", "dict"))


def test_a_number_is_believed_where_one_of_several_things_is_a_tensor() -> None:
    text = """
def f(x: torch.Tensor, place: torch.Tensor | int, n: int):
    return narrow(x, place if n else 3)

def narrow(x: torch.Tensor, start: int):
    return x if start == 0 else x[1:]
"""
    assert not found(text)
    assert found(text.replace("start: int", "start")) == [("CL103", 7)]
