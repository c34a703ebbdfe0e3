"""What is to be proved, and what a proof found: the values between fixer and prover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ...rules.base.finding import Site


@dataclass(frozen=True, slots=True)
class Trial:
    """A rewrite of one module to be proved.

    path      absolute path of the file; `before` and `after` are its two texts
    module    dotted name it is imported under, and `root`, the folder that imports start from
    sites     functions that the rewrite changed, by their names and lines in `before`
    changed   (first, last) lines of `before` that the rewrite replaces: every branch outcome in
              them, and every loop's entering and skipping, must be seen to happen
    entries   qualified names of compiled entry points of this module that reach the sites
    inputs    `[tool.compile-lint.inputs]`: "module:qualified.name" to an expression, evaluated
              in the module, for a list of argument tuples
    recorded  folder or file of inputs that `compile-lint record` wrote, "" for none
    """

    path: str
    module: str
    root: str
    before: str
    after: str
    sites: tuple[Site, ...]
    changed: tuple[tuple[int, int], ...]
    entries: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    recorded: str = ""


class Status(str, Enum):
    """proved: everything held · refuted: a difference was seen · unproved: not enough was seen.

    mended: the original raises on every input, as torch refuses to compile an arm of its
    control flow operators; the fix was compared with what those mean in plain Python, and held.
    """

    PROVED = "proved"
    MENDED = "mended"
    REFUTED = "refuted"
    UNPROVED = "unproved"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a proof found.

    reason   one line; empty when proved, what the original raises when mended
    site     qualified name of the function whose proof decided, "" when no one function did
    source   where inputs came from: "example_inputs()", "configuration", "recorded", "search"
    inputs   how many argument tuples were compared
    arms     (seen, in all) branch outcomes of the changed lines
    breaks   (before, after) graph breaks in default mode over all inputs
    graphs   (before, after) graphs compiled over all inputs in turn
    gradients  whether gradients were compared
    kernels  (generated, interpreted, built) Triton kernels of the rewrite
    seconds  (eager, before, after) of one warm call; the last two as Dynamo captured them, run
             without a compiler's help, so that they show what the breaks cost
    notes    what a reader of the verdict should know besides, such as what could not be checked
    """

    status: Status
    reason: str = ""
    site: str = ""
    source: str = ""
    inputs: int = 0
    arms: tuple[int, int] = (0, 0)
    breaks: tuple[int, int] = (0, 0)
    graphs: tuple[int, int] = (0, 0)
    gradients: bool = False
    kernels: tuple[int, int, int] = (0, 0, 0)
    seconds: tuple[float, float, float] = (0.0, 0.0, 0.0)
    notes: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether the fix may be applied: it was compared, and nothing differed."""
        return self.status in (Status.PROVED, Status.MENDED)
