"""A progress bar on standard error, for work that takes long and only on a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

_PATIENCE = 1.0  # seconds without a bar


class Progress:
    """Call it with (done, total); the bar appears once a second has passed."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() - self._start < _PATIENCE or not sys.stderr.isatty():
                return
            self._bar = self._show(total)
        self._bar.update(self._task, completed=done)

    def _show(self, total: int) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("Linting"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._task = bar.add_task("lint", total=total)
        bar.start()
        return bar
