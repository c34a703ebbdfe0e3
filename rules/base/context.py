"""What a rule may ask about the node it is given."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Protocol

from ..torch_facts import TorchFacts
from .facts import Fact
from .valueclass import valueclass


@valueclass
class Callee:
    """What a call calls.

    name      canonical dotted name: "torch.nonzero", "torch.Tensor.item", "builtins.print",
              "logging.Logger.info", "numpy.ndarray.tolist", "list.append"; "" when unknown.
              For nn.Module objects of torch it is the class, such as "torch.nn.LSTM".
    receiver  the fact of the object for a method call
    project   the project's FunctionInfo that runs, None for code outside the project
    sure      False when the receiver's type is a guess
    inner     what a function passed to a builtin gives (`key=` of sorted, filter's predicate)
    """

    name: str = ""
    receiver: Fact | None = None
    project: Any = None
    sure: bool = True
    inner: Fact | None = None


@valueclass
class RegionOptions:
    """Options of the torch.compile call that makes a region; None where not given."""

    fullgraph: bool | None = None
    dynamic: bool | None = None
    mode: str | None = None
    backend: str | None = None


class Context(Protocol):
    """Facts about one function, as one compiled region reaches it."""

    @property
    def path(self) -> str:
        """The path of the file."""
        ...

    @property
    def torch(self) -> TorchFacts:
        """The tables of the torch version that is linted for."""
        ...

    @property
    def options(self) -> RegionOptions:
        """Options of the compile call, for entry points."""
        ...

    def fact(self, node: ast.expr) -> Fact:
        """Return what is known of the expression's value (Unknown when not reached)."""
        ...

    def usual(self, node: ast.expr) -> bool | None:
        """Return the truth of the expression where flags have their defaults and modules the
        usual mode; None where nothing says."""
        ...

    def validates(self) -> bool:
        """Say whether the project has torch's distributions check their arguments by default."""
        ...

    def reached(self, node: ast.AST) -> bool:
        """Say whether captured code can run this node (False under is_compiling() guards)."""
        ...

    def callee(self, call: ast.Call) -> Callee:
        """Return what the call calls."""
        ...

    def apply(self, call: ast.Call, function: Fact, args: list[Fact]) -> Fact:
        """Return what the callee of `call` gets when it calls `function` with these arguments."""
        ...

    def is_global(self, name: str) -> bool:
        """Say whether a name that the function doesn't bind is one of its module's."""
        ...

    def compiled(self, call: ast.Call) -> RegionOptions | None:
        """Return the options of the torch.compile that made the callee; None if it wasn't."""
        ...

    def argument(self, call: ast.Call, position: int, name: str) -> ast.expr | None:
        """Return the expression passed for a parameter, by position or keyword."""
        ...

    def truth(self, node: ast.expr) -> Fact | None:
        """Return the tensor-dependent fact that bool(node) would read, None if there is none.

        `Tensor`, `Array` and `FromTensor` options count, as do objects whose `__bool__` or
        `__len__` read one; sequences, None and static values don't.
        """
        ...

    def above(self, node: ast.Attribute) -> str:
        """Return what `super().name` is: "property", "method", "slot" for one of Python's own.

        "" where that isn't known.
        """
        ...

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the syntactic parent inside the function (None at its top)."""
        ...

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement that holds the node."""
        ...

    def ancestors(self, node: ast.AST) -> list[ast.AST]:
        """Return the parents of the node, innermost first, up to the function."""
        ...

    def inside(self, holder: ast.AST) -> tuple[ast.AST, ...]:
        """Return the nodes of the body of this function or of a statement in it, in no order.

        Nested functions and classes are among them, their bodies aren't.
        """
        ...

    def loop(self, node: ast.AST) -> ast.For | ast.While | None:
        """Return the innermost loop statement of this function that repeats the node."""
        ...

    @property
    def function(self) -> ast.AST:
        """The FunctionDef, Lambda or Module that is being checked."""
        ...

    @property
    def given(self) -> Mapping[str, Fact]:
        """What the parameters of the function are where it starts."""
        ...

    @property
    def entry(self) -> bool:
        """Whether the function is itself the compiled entry point."""
        ...
