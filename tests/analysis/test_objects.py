"""What is known of objects from outside: modules, machine code, stored tensors, subclasses."""

from __future__ import annotations

from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.rules.base import Certainty

OPTIONS = AnalysisOptions(entry="all", target_torch="2.13")


def seen(text: str, options: AnalysisOptions = OPTIONS) -> list[tuple[str, int]]:
    file = SourceFile("m.py", text, "utf-8", False, "\n", "x")
    return [(found.code, found.span.line) for found in Linter(options).lint(file).findings]


def test_what_numba_compiles_is_not_traced() -> None:
    text = """import numba
import torch

@numba.njit(cache=True)
def along(a):
    if a.sum() > 0:
        return a
    return -a

def f(x: torch.Tensor):
    return torch.from_numpy(along(x.numpy()))
"""
    assert seen(text) == [("CL310", 11)]
    plain = text.replace("@numba.njit(cache=True)\n", "")
    assert ("CL310", 10) not in seen(plain)


def test_a_lightning_module_is_a_module() -> None:
    text = """import torch
import pytorch_lightning as pl

class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.LSTM(3, 3)

    def forward(self, x):
        return self.layer(x)

    def ordered(self, x: torch.Tensor):
        return [p + x for _, p in sorted(self.named_parameters())]
"""
    auto = AnalysisOptions(entry="auto", target_torch="2.13")
    assert seen(text, auto) == [("CL314", 10)]
    assert ("CL113", 13) in seen(text)


def test_a_number_stored_as_a_tensor_is_an_input() -> None:
    text = """import torch

class Config:
    def __init__(self, size: int):
        self.size = torch.tensor(size)
        self.rate = torch.tensor(0.5)

def f(x: torch.Tensor, config: Config):
    y = torch.zeros(config.size)
    y = y + torch.arange(config.size * 2)
    return y + x.clamp(0.0, config.rate)
"""
    assert seen(text) == [("CL415", 10), ("CL424", 11)]


def test_a_tensor_made_of_a_number_inside_is_known() -> None:
    text = """import torch

def f(x: torch.Tensor):
    size = torch.tensor(3)
    return x + torch.arange(size * 2)
"""
    assert seen(text) == []


def test_tensor_subclasses_have_what_tensors_have() -> None:
    text = """import torch

class Signal(torch.Tensor):
    @property
    def samples(self):
        return self.shape[1]

def f(signal: Signal, length: torch.Tensor):
    assert signal.samples > 2
    assert signal.shape == (2, length)
    return signal
"""
    file = SourceFile("m.py", text, "utf-8", False, "\n", "x")
    (found,) = Linter(OPTIONS).lint(file).findings
    assert (found.code, found.span.line) == ("CL115", 10)


def test_modules_beside_names_are_not_sorted() -> None:
    text = """import torch

def f(net: torch.nn.Module, x: torch.Tensor):
    for _, layer in sorted(net.named_children()):
        x = layer(x)
    for name in sorted(name for name, _ in net.named_children()):
        x = net.get_submodule(name)(x)
    return x
"""
    assert seen(text) == [("CL113", 4)]


def test_data_loaders_are_not_made_inside() -> None:
    text = """import torch
from torch.utils.data import DataLoader, TensorDataset

def f(x: torch.Tensor):
    rows = TensorDataset(x)
    return [row for row in DataLoader(rows)]
"""
    assert seen(text) == [("CL325", 5), ("CL325", 6)]


def test_a_clamp_whose_bound_has_no_known_rank_is_likely() -> None:
    text = """import torch

def f(x: torch.Tensor, top: torch.Tensor):
    return x.clamp(0, top * 2)
"""
    file = SourceFile("m.py", text, "utf-8", False, "\n", "x")
    (found,) = Linter(OPTIONS).lint(file).findings
    assert (found.code, found.certainty) == ("CL424", Certainty.LIKELY)


def test_what_only_tensors_have_reads_no_array() -> None:
    text = """import numpy as np
import torch

def f(cost: np.ndarray):
    if cost.numel() == 0 or cost.dim() > 2:
        return torch.zeros(0)
    if cost.sum() > 0:
        return torch.from_numpy(cost)
    return torch.ones(0)
"""
    assert seen(text) == [("CL101", 7)]


def test_some_module_is_the_one_that_isinstance_says() -> None:
    text = """import torch
from torch import nn

class Scaled(nn.Linear):
    pass

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = Scaled(3, 3)

def f(net: nn.Module, x: torch.Tensor):
    for layer in net.modules():
        if isinstance(layer, Head):
            layer.key.register_forward_hook(print)
    return net(x)
"""
    assert seen(text) == [("CL512", 15)]


def test_a_second_name_tells_of_a_parameter() -> None:
    text = """import torch

def f(x: torch.Tensor, weights):
    kept = weights
    total = kept.sum()
    return x / (total if total > 0 else 1)
"""
    assert seen(text) == [("CL103", 6)]
    assert seen(text.replace("kept = weights", "weights = list(weights)\n    kept = weights")) == []


def test_unique_gives_as_many_arrays_as_are_asked_for() -> None:
    text = """import numpy as np
import torch

def f(x: torch.Tensor, sizes: list):
    kept, counts = np.unique(sizes, return_counts=True)
    for number in range(1, counts[0] + 1):
        x = x * number
    return x
"""
    assert ("CL201", 6) in seen(text)
