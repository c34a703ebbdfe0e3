"""What the analysis knows: `reveal(value)  # fact` in small programs, as type checkers test theirs.

A fact is written `Tensor[dtype,rank]`, with `~` in front when it is a guess, `!` behind when its
size depends on data; unions join with ` | `.
"""

from __future__ import annotations

import ast
import textwrap

import pytest
from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.rules.base import (
    Array,
    Const,
    Fact,
    FromTensor,
    Instance,
    Mapping,
    Rule,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    Union,
    options,
)


def show(fact: Fact) -> str:
    if isinstance(fact, Union):
        return " | ".join(sorted(show(option) for option in options(fact)))
    guess = "" if fact.sure else "~"
    if isinstance(fact, Tensor):
        rank = "?" if fact.rank is None else str(fact.rank)
        return f"{guess}Tensor[{fact.dtype or '?'},{rank}]{'!' if fact.ragged else ''}"
    if isinstance(fact, Const):
        return repr(fact.value)
    if isinstance(fact, FromTensor):
        return f"{guess}From[{fact.kind or '?'},{fact.how}]"
    if isinstance(fact, (Static, ShapeInt)):
        return f"{type(fact).__name__}[{fact.kind}]"
    if isinstance(fact, Array):
        return "Array" if not fact.constant else "ConstArray"
    if isinstance(fact, Sequence):
        if fact.items is not None:
            return f"{fact.kind}({', '.join(map(show, fact.items))})"
        return f"{fact.kind}[{show(fact.elem)}]"
    if isinstance(fact, Mapping):
        inside = ", ".join(f"{key!r}: {show(value)}" for key, value in fact.items)
        return "{" + inside + ("" if fact.exact else ", …") + "}"
    if isinstance(fact, Instance):
        return fact.cls if isinstance(fact.cls, str) else fact.cls.name
    return type(fact).__name__


class Reveal(Rule):
    """Collects facts of what `reveal` is called with."""

    code, name, summary = "CL999", "reveal", ""
    nodes = (ast.Call,)

    def __init__(self) -> None:
        self.seen: dict[int, list[str]] = {}

    def check(self, node, ctx):  # type: ignore[no-untyped-def]
        if getattr(node.func, "id", "") == "reveal":
            self.seen.setdefault(node.lineno, []).append(show(ctx.fact(node.args[0])))
        return ()


def revealed(source: str) -> dict[int, str]:
    rule = Reveal()
    text = textwrap.dedent(source).lstrip("\n")
    file = SourceFile("m.py", text, "utf-8", False, "\n", "x")
    Linter(AnalysisOptions(entry="auto", target_torch="2.13"), (rule,)).lint(file)
    return {line: " & ".join(sorted(set(shown))) for line, shown in rule.seen.items()}


def expected(source: str) -> dict[int, str]:
    text = textwrap.dedent(source).lstrip("\n")
    rows = (line.split("  # ") for line in text.split("\n"))
    return {n: row[1] for n, row in enumerate(rows, 1) if "reveal(" in row[0] and len(row) == 2}


PROGRAMS = {
    "recursive alias": """
        import torch
        from typing import Union

        Nested = Union[list["Nested"], torch.Tensor]

        @torch.compile
        def f(x: Nested):
            reveal(x)  # Tensor[?,?] | list[Unknown]
        """,
    "objects that take other arguments": """
        import torch

        class One(torch.nn.Module):
            def forward(self, x):
                return x

        class Two(torch.nn.Module):
            def forward(self, shape, dtype):
                reveal(shape)  # Unknown & size[ShapeInt[int]]
                return torch.zeros(shape, dtype=dtype)

        @torch.compile
        class Net(torch.nn.Module):
            def __init__(self, kind):
                super().__init__()
                if kind:
                    self.coder = One()
                else:
                    self.coder = Two()

            def forward(self, x: torch.Tensor):
                y = self.coder(x)
                reveal(y)  # Tensor[?,?]
                return y + self.coder(x.shape, x.dtype)
        """,
    "annotations": """
        import torch
        from torch import Tensor
        from typing import Optional

        @torch.compile
        def f(
            x: Tensor, n: int, mask: Optional[Tensor] = None, flag=False,
            pair: tuple[Tensor, int] = None,
        ):
            reveal(x)  # Tensor[?,?]
            reveal(n)  # Static[int]
            reveal(mask)  # None | Tensor[?,?]
            reveal(flag)  # Static[bool]
            if mask is not None:
                reveal(mask)  # Tensor[?,?]
            a, b = pair
            reveal(a)  # Tensor[?,?]
            reveal(b)  # Static[int]
        """,
    "reads": """
        import torch

        @torch.compile
        def f(x: torch.Tensor, ids: torch.LongTensor):
            reveal(x.sum().item())  # From[?,item]
            reveal(ids.max().item())  # From[int,item]
            reveal(int(x.max()) + 1)  # From[int,item]
            reveal(x.shape[0])  # ShapeInt[int]
            reveal(x.shape[0] * 2 > 3)  # ShapeInt[bool]
            reveal(x.dtype == torch.float32)  # Static[bool]
            reveal(x > 0)  # Tensor[bool,?]
            reveal((x > 0).any())  # Tensor[bool,0]
            reveal(x is None)  # False
            reveal(float(x.mean()) > 0.5)  # From[bool,item]
            reveal([v for v in ids.tolist()])  # list[From[int,item] | list[From[int,item]]]
        """,
    "ragged": """
        import torch

        @torch.compile
        def f(x: torch.Tensor):
            idx = torch.nonzero(x)
            reveal(idx)  # Tensor[int,2]!
            reveal(idx.shape[0])  # From[int,size]
            reveal(idx.shape[1])  # ShapeInt[int]
            reveal(idx.numel() > 0)  # From[bool,size]
            kept = x[x > 0]
            reveal(kept)  # Tensor[?,?]!
            reveal(len(kept))  # From[int,size]
            reveal(kept.sum())  # Tensor[?,0]
            reveal(torch.where(x > 0, x, -x))  # Tensor[?,?]
        """,
    "flow": """
        import torch

        @torch.compile
        def f(x: torch.Tensor, flag: bool):
            if flag:
                y = x.relu()
                n = 1
            else:
                y = None
                n = x.shape[0]
            reveal(y)  # None | Tensor[?,?]
            reveal(n)  # ShapeInt[int]
            total = 0
            for row in x:
                total = total + row
            reveal(total)  # 0 | Tensor[?,?]
            k = 0
            while k < 3:
                k += 1
            reveal(k)  # Static[int]
            z = y if y is not None else x
            reveal(z)  # Tensor[?,?]
            try:
                w = x @ x
            except RuntimeError:
                w = None
            reveal(w)  # None | Tensor[?,?]
            v = x.sum() + 1
            reveal(v)  # Tensor[?,0]
            v = v * unknown
            reveal(v)  # Tensor[?,?]
        """,
    "containers": """
        import torch

        @torch.compile
        def f(x: torch.Tensor):
            parts = [x, x + 1]
            reveal(parts[0])  # Tensor[?,?]
            parts.append(3)
            reveal(parts[-1])  # 3
            out = []
            for i in range(4):
                out.append(x * i)
            reveal(out)  # list[Tensor[?,?]]
            d = {"a": x, "n": 3}
            reveal(d["a"])  # Tensor[?,?]
            d["b"] = x.item()
            reveal(d["b"])  # From[?,item]
            a, (b, *rest) = x, (1, x, 2)
            reveal(b)  # 1
            reveal(rest)  # list(Tensor[?,?], 2)
            values, indices = x.max(dim=0)
            reveal(indices)  # Tensor[int,?]
            for i, (u, v) in enumerate(zip(parts, out)):
                reveal(v)  # Tensor[?,?]
            reveal([p for p in out if p is not None])  # list[Tensor[?,?]]
            reveal({k: v for k, v in d.items()}["q"])  # Unknown
            same = {"p": x, "q": x + 1}
            reveal({k: v for k, v in same.items()}["q"])  # Tensor[?,?]
        """,
    "functions": """
        import torch

        def helper(t, scale=2, *, shift=None):
            reveal(scale)  # 2 & Static[float]
            return t * scale

        def identity(v):
            return v

        @torch.compile
        def f(x: torch.Tensor, s: float):
            reveal(helper(x))  # Tensor[?,?]
            reveal(helper(x, scale=s))  # Tensor[?,?]
            reveal(identity(3))  # 3
            reveal(identity(x.shape))  # size[ShapeInt[int]]
            g = lambda t: t.sum().item()
            reveal(g(x))  # From[?,item]
            def inner(y):
                return y + x
            reveal(inner(1))  # Tensor[?,?]
            if (m := x.max()) is not None:
                reveal(m)  # Tensor[?,0]
            reveal(max(x.shape[0], 3))  # ShapeInt[int]
            reveal(sum(p.sum() for p in [x, x]))  # Tensor[?,0]
            reveal(all(s > 1 for s in x.shape))  # ShapeInt[bool]
        """,
    "modules": """
        import torch
        from torch import nn

        class Block(nn.Module):
            def __init__(self, dim, norm_layer=nn.LayerNorm):
                super().__init__()
                self.lin = nn.Linear(dim, dim)
                self.norm = norm_layer(dim)
                self.act = nn.Sequential(nn.ReLU(), nn.Linear(dim, dim))
                self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(3)])
                self.register_buffer("steps", torch.zeros(1, dtype=torch.long))
                self.weight = nn.Parameter(torch.ones(dim))
                self.count = 0
                self.cache = None

            @property
            def scale(self):
                return self.weight.abs().max()

            def fill(self, t):
                self.cache = torch.zeros(3)

            def forward(self, x, mask=None):
                reveal(x)  # Tensor[float,?] & ~Tensor[?,?]
                h = self.lin(x)
                reveal(self.norm(h))  # Tensor[float,?]
                reveal(self.act(h))  # Tensor[float,?]
                for layer in self.layers:
                    h = layer(h)
                reveal(h)  # Tensor[float,?]
                reveal(self.steps)  # Tensor[int,1]
                reveal(self.weight)  # Tensor[float,?]
                reveal(self.scale)  # Tensor[float,0]
                reveal(self.count)  # Static[int]
                reveal(self.training)  # Static[bool]
                reveal(self.cache)  # None | Tensor[float,1]
                return h

        class Outer(Block):
            def __init__(self):
                super().__init__(4)
                self.inner = Block(4)

            def forward(self, x):
                y = super().forward(x)
                reveal(y)  # Tensor[float,?]
                z = self.inner(y)
                reveal(z)  # Tensor[float,?]
                return z
        """,
    "guards": """
        import torch

        @torch.compile
        def f(x: torch.Tensor, y):
            if not torch.compiler.is_compiling():
                reveal(x)
            if torch.jit.is_scripting():
                reveal(x)
            if isinstance(y, torch.Tensor):
                reveal(y)  # Tensor[?,?]
            if isinstance(x, (list, tuple)):
                reveal(x)
            reveal(y)  # Tensor[?,?] | Unknown
        """,
    "deciding_operand": """
        import torch

        @torch.compile
        def f(x: torch.Tensor, mask: torch.Tensor | None):
            if torch.compiler.is_exporting() or (
                mask is not None and torch.compiler.is_compiling()
            ):
                reveal(mask)  # Tensor[?,?]
                return x
            reveal(mask)  # None
            return x + 1
        """,
    "optional_parts": """
        import torch

        def layer(x: torch.Tensor, more: bool):
            out = (x, (2, 3))
            if more:
                out += (x.mean(),)
            return out

        @torch.compile
        def f(x: torch.Tensor, more: bool):
            out = layer(x, more)
            reveal(out[0])  # Tensor[?,?]
            reveal(out[1])  # tuple(2, 3)
            return out
        """,
    "guessed_tensor": """
        import torch

        @torch.compile
        def f(x, y: torch.Tensor):
            if isinstance(x, list):
                reveal(x)  # list[Unknown]
            else:
                reveal(x)  # ~Tensor[?,?]
                return x.unsqueeze(0) + y
        """,
    "declared_rest": """
        import torch

        def pad(size: int):
            reveal(size)  # ShapeInt[int]
            return size

        @torch.compile
        def f(x: torch.Tensor, other, flag: bool):
            return pad(x.shape[0] if flag else other.limit)
        """,
    "named_tuple": """
        import collections
        import torch

        State = collections.namedtuple("State", "value, step")

        @torch.compile
        def f(x: torch.Tensor):
            state = State(x * 2, 3)
            reveal(state.value)  # Tensor[?,?]
            reveal(state.step)  # 3
            return x
        """,
    "mask_by_making": """
        import torch

        @torch.compile
        def f(values, other, limit: float):
            keep = other > limit
            reveal(values[keep])  # ~Tensor[?,?]!
            return values
        """,
    "alias_of_annotation": """
        from typing import Union
        import numpy as np
        import torch

        Data = Union[torch.Tensor, np.ndarray]

        @torch.compile
        def f(x: Data):
            reveal(x)  # Array | Tensor[?,?]
            return x
        """,
    "annotation_rules_out": """
        import torch

        def helper(cache: dict | None):
            reveal(cache)  # None | {, …}
            return cache

        @torch.compile
        def f(x: torch.Tensor, flag: bool, cache: dict | None = None):
            return helper(x if flag else cache)
        """,
    "guess_refuted": """
        import torch

        @torch.compile
        def f(n):
            if isinstance(n, torch.Tensor):
                return n.unsqueeze(0)
            reveal(n)  # Unknown
            return n
        """,
    "own_is_compiling": """
        import torch

        asks = getattr(torch.compiler, "is_compiling", None)

        def compiling():
            return bool(asks()) if asks is not None else False

        @torch.compile
        def f(x: torch.Tensor):
            reveal(compiling() | bool(x.shape[0]))  # True
            return x
        """,
    "many_choices": """
        import torch

        def one(t): return t + 1
        def two(t): return t + 2
        def three(t): return t + 3
        def four(t): return t + 4
        def five(t): return t + 5
        def six(t): return t + 6
        def seven(t): return t + 7

        TABLE = {"1": one, "2": two, "3": three, "4": four, "5": five, "6": six, "7": seven}

        @torch.compile
        def f(x: torch.Tensor, name: str):
            reveal(TABLE[name])  # Unknown
            return x
        """,
    "difference_of_slices": """
        import torch

        @torch.compile
        def f(table):
            ends = table["ends"]
            reveal(ends[1:] - ends[:-1])  # ~Tensor[?,?]
            reveal(ends[1:] + ends[:-1])  # Unknown
            return ends
        """,
    "stored_on_some_paths": """
        import torch

        class Noise:
            def __init__(self, rng: torch.Generator = None):
                self.rng = rng
                self.seen = None

            def seed(self, seed):
                self.seen = torch.ones(3)
                if seed is not None:
                    self.rng = self.rng.manual_seed(seed)

            def draw(self, x: torch.Tensor, seed=None):
                self.seed(seed)
                reveal(self.rng)  # None | Unknown | torch.Generator
                reveal(self.seen)  # Tensor[float,1]
                return x

        @torch.compile
        def f(x: torch.Tensor, noise: Noise):
            return noise.draw(x)
        """,
    "told_by_use": """
        import torch

        @torch.compile
        def f(closure, table):
            loss = closure()
            reveal(loss)  # Unknown
            loss.backward()
            reveal(loss)  # ~Tensor[?,?]
            names = table.find()
            names.append(1)
            reveal(names)  # Unknown
        """,
    "one_for_each_part": """
        import numpy as np
        import torch

        @torch.compile
        def f(x: torch.Tensor, sizes, values):
            if isinstance(sizes, (list, tuple, np.ndarray)):
                reveal(sizes)  # list[Unknown] | tuple[Unknown]
            if isinstance(values, (np.ndarray, torch.Tensor)):
                reveal(values)  # Array | Tensor[?,?]
            return x
        """,
    "a_second_name_of_a_method": """
        import torch

        class Operator:
            def matvec(self, x):
                return x.unsqueeze(0)

            mv = matvec

        @torch.compile
        def f(x: torch.Tensor):
            reveal(Operator().mv(x))  # Tensor[?,?]
            return x
        """,
    "bound_after_the_def": """
        import torch

        @torch.compile
        def f(x: torch.Tensor):
            def scaled(y):
                reveal(factor)  # Tensor[?,0]
                return y * factor

            factor = x.max()
            return scaled(x)
        """,
    "types_of_their_own": """
        from typing import NewType
        import torch
        from torchtyping import TensorType

        Points = NewType("Points", torch.Tensor)

        class Data(TensorType["batch", "time"]):
            pass

        @torch.compile
        def f(p: Points, d: Data, t: TensorType[2, 3]):
            reveal(p)  # Tensor[?,?]
            reveal(d)  # Tensor[?,?]
            reveal(t)  # Tensor[?,?]
            return p
        """,
    "a_tensor_of_another_library": """
        import torch

        @torch.compile
        def f(t, x):
            '''Sum over all dimensions.

            :param Tensor t: a train of cores
            :param Tensor x: what is added
            '''
            reveal(t)  # Unknown
            if t.batch:
                raise ValueError
            reveal(x)  # ~Tensor[?,?]
            return t.cores
        """,
    "an_object_is_no_tensor": """
        import torch

        class Operator:
            def dim(self):
                return 2

        @torch.compile
        def f(a: Operator, b: dict[str, torch.Tensor]):
            reveal(isinstance(a, torch.Tensor))  # False
            reveal(b["x"])  # ~Tensor[?,?]
            return a
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_facts(name: str) -> None:
    source = PROGRAMS[name]
    assert revealed(source) == expected(source)
