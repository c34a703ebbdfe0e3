"""How a comparison ends early."""

from __future__ import annotations

from .model import Status


class Different(Exception):
    """The proof ends here: status and reason."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Refused(Exception):
    """Dynamo can't capture the rewrite in one graph: its reason, the line, the input's number."""

    def __init__(self, reason: str, line: int, place: int) -> None:
        super().__init__(reason)
        self.reason, self.line, self.place = reason, line, place
