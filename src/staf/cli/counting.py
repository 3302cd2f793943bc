"""Progress of work that is counted in points: a bar where someone can see it, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sized
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

Points = TypeVar("Points", bound=Sized)
Values = TypeVar("Values")

# Seconds before the first line, and between lines: what is done sooner needs none.
LINE_SECONDS = 10.0


class Counting:
    """Shows how much of `total` is done. `watched(predict)` is `predict`, counted by the points it is asked for.

    >>> with Counting("render", 4, show=False) as count:
    ...     _ = count.watched(lambda points: points)([1, 2, 3])
    >>> count.done
    3
    """

    def __init__(self, title: str, total: int, *, show: bool) -> None:
        self.title, self.total, self.show = title, max(1, total), show
        self.done = 0
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        self._started = self._last = time.monotonic()
        if self.show and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self.title, total=self.total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add(self, count: int) -> None:
        """`count` more are done."""
        self.done += count
        # The total is an estimate where only some places of a scene are asked for.
        over = self.done > self.total
        if self._bar is not None:
            title = f"{self.title}, more work than expected" if over else self.title
            self._bar.update(self._task, completed=self.done, description=title)
        elif self.show and time.monotonic() - self._last >= LINE_SECONDS:
            from staf.training.progress import duration

            self._last = time.monotonic()
            took, part = self._last - self._started, self.done / self.total
            left = f"more work than expected, {duration(took)} so far"
            if not over:
                left = f"{part:.0%}, {duration(took * (1 - part) / part)} left"
            print(f"{self.title}: {left}", file=sys.stderr, flush=True)

    def watched(self, predict: Callable[[Points], Values]) -> Callable[[Points], Values]:
        """The same function, counted."""

        def counted(points: Points) -> Values:
            values = predict(points)
            self.add(len(points))
            return values

        return counted
