"""What one analysis of a function gave."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...rules.base.facts import UNKNOWN, Fact
from ...rules.base.finding import Finding, Mode
from ..index import FunctionInfo
from .frame import Frame


@dataclass(eq=False, slots=True)
class Summary:
    """The result of analysing one function with one set of argument facts.

    Rules run on it when a region reaches it, or when a caller asks if the graph breaks in it. Many
    functions are only analysed to learn what a constructor stores, and rules never see them.
    """

    function: FunctionInfo
    returns: Fact = UNKNOWN
    stores: dict[str, Fact] = field(default_factory=dict)
    children: list[Summary] = field(default_factory=list)
    maybe: frozenset[str] = frozenset()  # of `stores`, those that some path leaves out
    done: bool = False
    frame: Frame | None = None  # until the rules have run
    open: tuple[Summary, ...] = ()  # children that weren't done when this one was: recursion
    seen: tuple[Finding, ...] = ()
    broken: bool | None = None

    def finish(self, frame: Frame, returns: Fact) -> None:
        """Take what a finished frame has gathered, and the frame itself for the rules."""
        self.returns, self.stores, self.children = returns, frame.stores, frame.children
        if frame.env is not None and frame.stores:  # paths that return early aren't told apart
            self.maybe = frozenset(frame.stores).difference(frame.env)
        self.open = tuple([child for child in frame.children if not child.done])
        self.frame, self.done = frame, True

    def sightings(self) -> tuple[Finding, ...]:
        """Return what the rules see in the function itself."""
        frame = self.frame
        if frame is not None:
            self.frame = None
            self.seen = frame.analyzer.inspect(frame)
        return self.seen

    def breaks(self) -> bool:
        """Say whether the graph ends in it, or in what it calls, in default mode."""
        if self.broken is None:
            own = any(Mode.DEFAULT in finding.breaks for finding in self.sightings())
            inner = (child for child in self.children if child not in self.open)
            self.broken = own or any(child.breaks() for child in inner)
        return self.broken


__all__ = ["Summary"]
