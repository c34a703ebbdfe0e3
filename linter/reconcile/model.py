"""The values of a reconciliation: what a log says, and how findings compare with it."""

from __future__ import annotations

from dataclasses import dataclass

from ...rules.base.finding import Finding


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of a break's stack. `code` is its source line as logged, "" where it isn't."""

    file: str
    line: int
    name: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class LoggedBreak:
    """A graph break that a run reported.

    reason       Dynamo's name of it, such as "Data-dependent branching"
    explanation  its first sentence on why, "" when the log has none
    ids          ids of the registry, such as "GB0170", the break's own first, what followed after
    frames       user stack, outermost first; at least one
    traced       how many of the innermost frames Dynamo certainly traced; the others may have
                 run eagerly
    eager        whether Dynamo gave up on the whole function
    count        how often it was reported
    """

    reason: str
    explanation: str
    ids: tuple[str, ...]
    frames: tuple[Frame, ...]
    traced: int = 1
    eager: bool = False
    count: int = 1


@dataclass(frozen=True, slots=True)
class Completed:
    """A function that was captured from a line to its end: its first, or where it resumed."""

    file: str
    line: int
    resumed: bool


@dataclass(frozen=True, slots=True)
class RunLog:
    """What a run reported. Files are named as in the log.

    breaks     in order of their first report
    lines      (file, line) that Dynamo traced, as far as the log says
    completed  functions captured without a break
    torch      version of torch, "" when the log doesn't say
    """

    breaks: tuple[LoggedBreak, ...] = ()
    lines: frozenset[tuple[str, int]] = frozenset()
    completed: tuple[Completed, ...] = ()
    torch: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A statement: absolute path, first and last line (of the header, when it has a body)."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """A break, the innermost of its frames that lies in a linted file, and its findings.

    path      of that frame's file as the user named it
    findings  on the statement of that frame, else of a frame that called it; none when missed
    at_call   whether they lie on a frame that called it
    rules     codes of the rules that predict such breaks
    """

    logged: LoggedBreak
    frame: Frame
    path: str
    findings: tuple[Finding, ...]
    at_call: bool
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The result.

    predicted, missed  breaks with and without a finding
    over_reported      findings on statements that were traced without a break
    not_exercised      number of findings on statements of which the log proves nothing
    outside            number of breaks without a frame in a linted file
    changed            frames whose line isn't what it was when the log was written
    """

    predicted: tuple[Prediction, ...]
    missed: tuple[Prediction, ...]
    over_reported: tuple[Finding, ...]
    not_exercised: int
    outside: int
    changed: tuple[Frame, ...]
