"""What a lint run reports: findings, their places and their fixes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from .valueclass import valueclass


class Mode(str, Enum):
    """How torch.compile was asked to treat what it can't capture."""

    DEFAULT = "default"  # the graph breaks and the rest runs eagerly
    FULLGRAPH = "fullgraph"  # compilation raises


class Severity(str, Enum):
    """error: breaks under fullgraph · warning: only by default, or recompiles · info: advice."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Certainty(str, Enum):
    """certain: follows from types the source states · likely: rests on how values are used."""

    CERTAIN = "certain"
    LIKELY = "likely"


class Safety(str, Enum):
    """safe by construction · proved only once compiled and compared · unsafe."""

    SAFE = "safe"
    NEEDS_PROOF = "needs-proof"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of source text. Lines and columns are 1-based, columns count characters."""

    line: int
    column: int
    end_line: int
    end_column: int


@valueclass
class Note:
    """One step of a reason trail."""

    path: str
    line: int
    message: str


@valueclass
class Edit:
    """Replace the text of `span` with `text`."""

    span: Span
    text: str


@valueclass
class Fix:
    """A repair: sorted, disjoint edits of one file.

    imports  statements that the module must have besides, such as "import torch"
    unused   import statements that go, unless something else in the module uses what they bind
    setting  whether it turns on a setting of the whole process
    """

    title: str
    edits: tuple[Edit, ...]
    safety: Safety
    imports: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    setting: bool = False


@valueclass
class Site:
    """Where a fix stands: what a proof starts from.

    function    qualified name of the function in its module
    line        where the function starts
    parameters  (name, what is known of it as JSON values) of every parameter
    """

    function: str
    line: int
    parameters: tuple[tuple[str, Any], ...] = ()


@valueclass
class Finding:
    """Something torch.compile can't capture, or that will cost a recompile.

    `statement` is the span of the (header of the) statement that holds the finding: suppression
    comments work on any of its lines. `region` names the compiled entry point that reaches it.
    `cell` is the 1-based notebook cell that line numbers count from, None for plain files.
    `fixes` are the rewrites that were found, best first, `declined` says why there is none, and
    `site` where they stand; all three are only there when fixes were asked for.
    """

    code: str
    name: str
    path: str
    span: Span
    statement: Span
    message: str
    severity: Severity
    breaks: tuple[Mode, ...]
    graph_breaks: tuple[str, ...]
    certainty: Certainty
    trail: tuple[Note, ...] = ()
    region: str = ""
    fixes: tuple[Fix, ...] = ()
    declined: str = ""
    site: Site | None = None
    cell: int | None = None

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Order for reports: by file, cell, place and code."""
        return (self.path, self.cell or 0, self.span, self.code)
