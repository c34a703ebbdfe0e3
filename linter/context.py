"""What rules may ask, answered from a finished frame."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from ..rules.base.context import Callee, RegionOptions
from ..rules.base.facts import UNKNOWN, Array, Const, Fact, FromTensor, Tensor, options
from ..rules.base.walking import own_nodes, parents_of
from ..rules.torch_facts import TorchFacts
from .analysis.frame import Frame
from .analysis.higher_order import apply
from .analysis.members import kind_above
from .analysis.usual import usual_truth
from .analysis.validation import validates
from .compiled import compiled_by


class FrameContext:
    """Facts about one function, as one compiled region reaches it."""

    def __init__(self, frame: Frame, node: ast.AST) -> None:
        self._frame = frame
        self._facts, self._callees = frame.facts, frame.callees
        self._node = node
        self._parents: dict[ast.AST, ast.AST] | None = None

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._frame.path

    @property
    def torch(self) -> TorchFacts:
        """The tables of the torch version that is linted for."""
        return self._frame.analyzer.torch

    @property
    def options(self) -> RegionOptions:
        """Options of the compile call, for entry points."""
        return self._frame.options

    @property
    def function(self) -> ast.AST:
        """The FunctionDef, Lambda or Module that is being checked."""
        return self._node

    @property
    def given(self) -> Mapping[str, Fact]:
        """What the parameters of the function are where it starts."""
        return self._frame.parameters

    @property
    def entry(self) -> bool:
        """Whether the function is itself the compiled entry point."""
        return self._frame.entry

    def fact(self, node: ast.expr) -> Fact:
        """Return what is known of the expression's value."""
        return self._facts.get(node, UNKNOWN)

    def usual(self, node: ast.expr) -> bool | None:
        """Return what a test gives in the usual configuration, None where nothing says."""
        return usual_truth(self._frame, node)

    def validates(self) -> bool:
        """Say whether the project has distributions check their arguments."""
        return validates(self._frame.analyzer, self._frame.module)

    def reached(self, node: ast.AST) -> bool:
        """Say whether captured code can run this node."""
        frame = self._frame
        if node is self._node:
            return True
        if isinstance(node, ast.expr):
            return node in frame.facts
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            return node in frame.visited
        parent = self.parent(node)
        return parent is None or self.reached(parent)

    def callee(self, call: ast.Call) -> Callee:
        """Return what the call calls."""
        return self._callees.get(call, NOTHING)

    def apply(self, call: ast.Call, function: Fact, args: list[Fact]) -> Fact:
        """Return what the callee of `call` gets when it calls `function` with these arguments."""
        return apply(self._frame, call, function, args)

    def is_global(self, name: str) -> bool:
        """Say whether a name that the function doesn't bind is one of its module's."""
        return name in self._frame.module.bindings and name not in self._frame.closure

    def compiled(self, call: ast.Call) -> RegionOptions | None:
        """Return the options of the torch.compile that made the callee; None if it wasn't."""
        return compiled_by(self._frame, call)

    def argument(self, call: ast.Call, position: int, name: str) -> ast.expr | None:
        """Return the expression passed for a parameter, by position or keyword."""
        for keyword in call.keywords:
            if keyword.arg == name:
                return keyword.value
        plain = [arg for arg in call.args[: position + 1] if not isinstance(arg, ast.Starred)]
        return plain[position] if position < len(plain) == position + 1 else None

    def truth(self, node: ast.expr) -> Fact | None:
        """Return the tensor-dependent fact that bool(node) would read.

        It isn't sure when the value may also be something else than a tensor or None.
        """
        choices = options(self.fact(node))
        for option in choices:
            # NumPy scalars of known value as well: only int() and its like look at that value
            if isinstance(option, (Tensor, FromTensor, Array)):
                others = [o for o in choices if o is not option and not _is_none(o)]
                if option.sure and not all(isinstance(o, _DATA) for o in others):
                    return replace(option, sure=False)
                return option
        return None

    def above(self, node: ast.Attribute) -> str:
        """Return what `super().name` is: "property", "method", "slot" for one of Python's own.

        "" where that isn't known.
        """
        return kind_above(self._frame, node.attr)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the syntactic parent inside the function."""
        if self._parents is None:
            function = self._frame.function
            if function is not None:
                self._parents = function.parents
            else:
                self._parents = parents_of(own_nodes(self._node))
        return self._parents.get(node)

    def ancestors(self, node: ast.AST) -> list[ast.AST]:
        """Return the parents of the node, innermost first."""
        found = []
        parent = self.parent(node)
        while parent is not None:
            found.append(parent)
            parent = self.parent(parent)
        return found

    def inside(self, holder: ast.AST) -> tuple[ast.AST, ...]:
        """Return the nodes of the body of this function or of a statement in it."""
        function = self._frame.function
        if function is None:
            return tuple(own_nodes(holder))
        return function.nodes if holder is function.node else function.inside(holder)

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement that holds the node."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.parent(current)
        if current is None:
            body = getattr(self._node, "body", None)
            if isinstance(body, list) and body:
                return body[0]
            return ast.copy_location(ast.Expr(self._node.body), self._node)  # type: ignore[attr-defined]
        return current

    def loop(self, node: ast.AST) -> ast.For | ast.While | None:
        """Return the innermost loop statement that repeats the node."""
        child = node
        for parent in self.ancestors(node):
            if isinstance(parent, ast.For) and child is not parent.iter:
                if child in parent.body:
                    return parent
            elif isinstance(parent, ast.While) and (child is parent.test or child in parent.body):
                return parent
            child = parent
        return None


NOTHING = Callee()
_DATA = (Tensor, FromTensor, Array)


def _is_none(fact: Fact) -> bool:
    return isinstance(fact, Const) and fact.value is None
