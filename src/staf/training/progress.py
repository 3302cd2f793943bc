"""Progress for people: a live bar in terminals and notebooks, a line now and then in logs, nothing when asked."""

from __future__ import annotations

import math
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from staf.training.task import Pieces, Predict


def duration(seconds: float) -> str:
    """A time span in words short enough for a bar.

    >>> duration(7.2), duration(83), duration(4000)
    ('7s', '1m23s', '1h06m')
    """
    if not math.isfinite(seconds):
        return "?"
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


class Shown(Protocol):
    """Where a trainer shows how far it is."""

    def __enter__(self) -> Any: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def update(self, step: int, loss: float, psnr: float, elapsed: float, fraction: float) -> None: ...

    def say(self, sentence: str) -> None: ...


class Progress:
    """Shows step (or what else is `counted`), loss, dB and time left. `mode` is "bar", "lines" or "none".

    With `rate`, also how many are counted in a second.
    """

    def __init__(
        self,
        total: int | None,
        seconds: float | None,
        mode: str,
        title: str = "fit",
        counted: str = "step",
        rate: bool = False,
    ) -> None:
        self.total, self.seconds, self.mode, self.title, self.counted = total, seconds, mode, title, counted
        self.rate = rate
        self._bar: Any = None
        self._next_line = 0.0

    def __enter__(self) -> Self:
        if self.mode == "bar":
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as RichProgress

            self._bar = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[text]}"),
                console=Console(stderr=True),
                refresh_per_second=8,
            )
            self._bar.start()
            self._task = self._bar.add_task(self.title, total=1.0, text="starting")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, step: int, loss: float, psnr: float, elapsed: float, fraction: float) -> None:
        if self.mode == "none":
            return
        left = elapsed * (1 - fraction) / fraction if fraction > 0 else math.inf
        of = f"/{self.total}" if self.total else ""
        speed = f"  {step / elapsed:.3g} a second" if self.rate and step and elapsed > 0 else ""
        text = f"{self.counted} {step}{of}{speed}  loss {loss:.3g}  {psnr:.2f} dB  {duration(left)} left"
        if self._bar is not None:
            self._bar.update(self._task, completed=fraction, text=text)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + 10
            sys.stderr.write(f"{self.title}: {text}\n")
            sys.stderr.flush()

    def watched(self, predict: Predict, points: int, pieces: Callable[[], Pieces] | None = None) -> Predict:
        """The same function, which shows the progress of the measurement if it takes a while.

        By default that is the part of the `points` that has been asked for. A task may measure at more points than it
        has, as a scene does along its rays: its `pieces` say how many of its views are done.
        """
        began, done = time.monotonic(), 0
        self._next_line = began + 10

        def counted(coordinates: Tensor) -> Tensor:
            nonlocal done
            values = predict(coordinates)
            done += len(coordinates)
            elapsed = time.monotonic() - began
            if pieces is None:
                fraction = done / max(points, 1)
                self._measured(f"{fraction:.0%}", fraction, elapsed)
            else:
                name, whole, total = pieces()
                self._measured(f"{name} {min(whole + 1, total)}/{total}", whole / total, elapsed)
            return values

        return counted

    def _measured(self, place: str, fraction: float, elapsed: float) -> None:
        if self.mode == "none" or elapsed < 2:
            return
        text = f"{place}  {duration(elapsed * (1 - fraction) / fraction)} left" if fraction > 0 else place
        if fraction > 1:
            text = f"{duration(elapsed)} so far"
        if self._bar is not None:
            self._bar.update(self._task, description="measuring", completed=min(fraction, 1.0), text=text)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + 10
            sys.stderr.write(f"measuring: {text}\n")
            sys.stderr.flush()

    def say(self, sentence: str) -> None:
        """A sentence the user should read even if the bar moves on."""
        if self.mode == "none":
            return
        if self._bar is not None:
            self._bar.console.print(sentence, markup=False, highlight=False)
        else:
            sys.stderr.write(sentence + "\n")


def choose_mode(progress: bool | None) -> str:
    """True or False as asked; by default a bar where someone can see it, lines elsewhere."""
    if progress is False:
        return "none"
    in_notebook = "ipykernel" in sys.modules
    if not (sys.stderr.isatty() or in_notebook):
        return "lines"
    try:
        import rich  # noqa: F401
    except ImportError:
        return "lines"
    return "bar"
