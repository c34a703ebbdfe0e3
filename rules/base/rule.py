"""The contract of a rule, and how rules are found.

A rule is one class in one file under one of the family folders. It is data (codes, docs, truth
examples) and one method, `check`, that is given a syntax node the analysis reached and yields
sightings. Rules keep no state.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from typing import ClassVar, Literal

from ..torch_facts import TorchFacts
from .context import Context
from .facts import Fact, Origin
from .finding import Certainty, Fix, Mode, Severity
from .rewriting import Code
from .valueclass import valueclass

HEADINGS = ("What it does", "Why it matters", "Example", "Fix", "When it is safe")
BOTH = (Mode.DEFAULT, Mode.FULLGRAPH)
DEFAULT_ONLY = (Mode.DEFAULT,)
FAMILIES = ("branches", "loops", "calls", "escapes", "effects", "recompiles", "usage")


@valueclass
class Example:
    """Source that is test, documentation and truth check at once.

    bad, good   modules whose compiled entry is `f`, a function (or an nn.Module instance or class
                named `f`). Lines of `bad` that the rule must report carry `# error: CLxxx`.
    inputs      Python expression: a list of argument tuples for `f`, evaluated after the module
    truth       what Dynamo must do with `bad` and not with `good`:
                "break"      the graph breaks (in exactly the rule's modes, on a marked line)
                "recompile"  more graphs are compiled for `bad` than for `good` on the same inputs
                "witness"    the module defines `witness()`, True where the harm is seen
    requires    distributions that must be installed for the truth check, such as "scipy"
    note        what this example shows, for the docs
    entry       lint setting the example needs ("all" lints `f` whether or not it is compiled)
    """

    bad: str
    good: str
    inputs: str = "[(torch.randn(3),)]"
    truth: Literal["break", "recompile", "witness"] = "break"
    requires: tuple[str, ...] = ()
    note: str = ""
    entry: Literal["explicit", "auto", "all"] = "all"


@valueclass
class Sighting:
    """What `check` yields. None means: as the rule says.

    `fact` is the value whose story becomes the trail (origin chain), and whose sureness decides
    certainty. `node` is what the finding underlines. `local` says that it only breaks because the
    graph itself makes the tensor: after another break it is an input, and reading it is captured.
    """

    node: ast.AST
    message: str
    fact: Fact | None = None
    origin: Origin | None = None
    certainty: Certainty | None = None
    breaks: tuple[Mode, ...] | None = None
    severity: Severity | None = None
    graph_breaks: tuple[str, ...] | None = None
    local: bool = False


class Rule:
    """Base of all rules. The class docstring holds the docs under the fixed `HEADINGS`."""

    code: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    nodes: ClassVar[tuple[type[ast.AST], ...]]
    breaks: ClassVar[tuple[Mode, ...]] = BOTH
    graph_breaks: ClassVar[tuple[str, ...]] = ()
    severity: ClassVar[Severity | None] = None  # None: follows from `breaks`
    scope: ClassVar[Literal["region", "file"]] = "region"
    callees: ClassVar[tuple[str, ...] | None] = None  # prefixes of callee names; None: any call
    triggers: ClassVar[tuple[str, ...]] = ()  # words of which the file must hold one, or, with
    # scope "region", any file of the project that was read
    examples: ClassVar[tuple[Example, ...]] = ()

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether `check` may have something to say of calls of a callee of that name.

        Asked once for each name ("" where the callee is unknown, or the project's), so that the
        hundreds of thousands of calls of other names cost nothing. By default `callees` decides.
        """
        return self.callees is None or name.startswith(self.callees)

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether `check` may have something to say of a node, by its syntax alone.

        Asked once for each node of the rule's types, while `check` is called for every caller.
        """
        return True

    def check(self, node: ast.AST, ctx: Context) -> Iterable[Sighting]:
        """Yield a sighting for everything in `node` itself (not its children) that breaks.

        With scope "region" the node is one that a compiled region reaches and facts are known;
        with scope "file" (misuse of torch.compile in ordinary code) every function body and the
        module body are analysed, whether compiled or not.
        """
        raise NotImplementedError

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield rewrites of what was sighted, best first.

        Nothing means that the rule has no rewrite at all. Raises Declined where this sighting has
        none. Only asked when fixes are wanted.
        """
        return iter(())


def severity_of(breaks: tuple[Mode, ...]) -> Severity:
    """Return the severity that follows from the modes in which something breaks."""
    return Severity.ERROR if Mode.FULLGRAPH in breaks else Severity.WARNING


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return one instance of every rule in the family folders, sorted by code.

    Raises ValueError when two rules share a code or a name.
    """
    root = importlib.import_module(__name__.rpartition(".")[0].rpartition(".")[0])
    found: dict[str, Rule] = {}
    names: set[str] = set()
    for cls in _rule_classes(root):
        rule = cls()
        if rule.code in found or rule.name in names:
            raise ValueError(f"two rules are called {rule.code} or {rule.name}")
        found[rule.code] = rule
        names.add(rule.name)
    return tuple(found[code] for code in sorted(found))


def _rule_classes(root: object) -> Iterator[type[Rule]]:
    for family in FAMILIES:
        package = importlib.import_module(f"{root.__name__}.{family}")  # type: ignore[attr-defined]
        for info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            for value in vars(module).values():
                if isinstance(value, type) and issubclass(value, Rule):
                    if value.__module__ == module.__name__ and "code" in vars(value):
                        yield value
