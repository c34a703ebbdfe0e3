"""A sequence that grows as the compiler works, and prints its items for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")


class Listing(Sequence[Item]):
    """What `read` gives, read anew at each use; `print` shows each item's text."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], Iterable[Item]]) -> None:
        self._read = read

    def __getitem__(self, index: Any) -> Any:
        return tuple(self._read())[index]

    def __len__(self) -> int:
        return len(tuple(self._read()))

    def __str__(self) -> str:
        return "\n\n".join(str(item) for item in self._read())

    def __repr__(self) -> str:
        return f"<{len(self)} items; print shows them>"
