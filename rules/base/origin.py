"""Where a value was made: the steps of its story."""

from __future__ import annotations

from collections.abc import Iterator

from .valueclass import valueclass


@valueclass
class Origin:
    """A step in the story of a value: where it was made, and from what.

    `line` and `column` are 1-based; `parent` is the step before, nearest first.
    """

    path: str
    line: int
    column: int
    message: str
    parent: Origin | None = None

    def chain(self, limit: int = 6) -> Iterator[Origin]:
        """Yield this step and those before it, at most `limit`."""
        step: Origin | None = self
        while step is not None and limit:
            yield step
            step, limit = step.parent, limit - 1
