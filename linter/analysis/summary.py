"""What one analysis of a function gave."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...rules.base.facts import UNKNOWN, Fact, Function
from ...rules.base.finding import Finding, Mode
from ..index import FunctionInfo
from .frame import Frame


@dataclass(eq=False, slots=True)
class Summary:
    """The result of analysing one function with one set of argument facts.

    `seen` is what the rules see in the function itself. Many functions are only analysed to learn
    what a constructor stores, and rules never see them.
    """

    function: FunctionInfo
    returns: Fact = UNKNOWN
    stores: dict[str, Fact] = field(default_factory=dict)
    children: list[Summary] = field(default_factory=list)
    maybe: frozenset[str] = frozenset()  # of `stores`, those that some path leaves out
    done: bool = False
    open: tuple[Summary, ...] = ()  # children that weren't done when this one was: recursion
    seen: tuple[Finding, ...] = ()
    broken: bool | None = None

    def finish(self, frame: Frame, returns: Fact) -> None:
        """Take what a finished frame has gathered."""
        self.returns, self.stores, self.children = returns, frame.stores, frame.children
        if frame.env is not None and frame.stores:  # paths that return early aren't told apart
            self.maybe = frozenset(frame.stores).difference(frame.env)
        self.open = tuple([child for child in frame.children if not child.done])
        self.done = True

    def breaks(self) -> bool:
        """Say whether the graph ends in it, or in what it calls, in default mode."""
        if self.broken is None:
            own = any(Mode.DEFAULT in finding.breaks for finding in self.seen)
            inner = (child for child in self.children if child not in self.open)
            self.broken = own or any(child.breaks() for child in inner)
        return self.broken


@dataclass(eq=False, slots=True)
class Ledger:
    """What functions gave in the regions of one file, or while something was learnt apart.

    regions     whether rules see what functions do
    summaries   by function, argument facts and closure
    signatures  how many argument facts of a function were told apart, by what closes over it
    handed_on   nested functions that nothing called
    """

    regions: bool = True
    summaries: dict[object, Summary] = field(default_factory=dict)
    signatures: dict[object, int] = field(default_factory=dict)
    handed_on: dict[FunctionInfo, Function] = field(default_factory=dict)


__all__ = ["Ledger", "Summary"]
