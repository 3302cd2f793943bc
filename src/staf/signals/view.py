"""View: how reports, run folders, notebooks and the command line show a signal of one kind."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from staf._documents import Document, Entries

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from staf.signals.base import Signal
    from staf.signals.grid import Convention
    from staf.signals.rendering import Predict

S = TypeVar("S", bound="Signal")


class View(ABC, Generic[S]):
    """How a signal is shown; each kind derives its own view.

    Attributes:
        noun: the word for a fitted signal of this kind in messages.
        default_task: the name, in a field's metadata, of the task that `Signal.task` makes.
        main_measure: the metric that is shown first.
    """

    noun: ClassVar[str] = "signal"
    default_task: ClassVar[str] = "reconstruction"
    main_measure: ClassVar[str] = "psnr"

    def __init__(self, signal: S) -> None:
        self.signal = signal

    @property
    def measured_over(self) -> str:
        """What the metrics of a fit are measured on, in words."""
        return "all points"

    def describe(self) -> str:
        """The signal in a few words, without its name, as in its repr."""
        signal = self.signal
        return repr(signal).removeprefix(f"{type(signal).__name__}({signal.name!r}").strip(", ").removesuffix(")")

    @property
    @abstractmethod
    def suffix(self) -> str:
        """The suffix of a file that keeps the samples of the signal exactly."""

    @abstractmethod
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes with which a signal of this kind can be saved."""

    def rendered_suffixes(self) -> tuple[str, ...]:
        """The suffixes that `write` supports: those of files, and of pictures if the kind can draw some."""
        return self.suffixes()

    def exported_suffixes(self) -> tuple[str, ...]:
        """The suffixes of files that contain the fitted signal, not pictures of it."""
        return self.suffixes()

    def report_section(self, reconstruction: S) -> str:
        """HTML of the report's section with target and reconstruction side by side; nothing by default."""
        return ""

    def notebook_figures(self, reconstruction: S) -> str:
        """HTML that a notebook shows below the metrics; nothing by default."""
        return ""

    def picture(self, reconstruction: S | None = None) -> np.ndarray | None:
        """A picture (h, w, c) of the signal, or of its reconstruction, for comparisons; None if there is none."""
        return None

    def comparison(self, reconstructions: Mapping[str, S]) -> Figure | None:
        """A figure of the signal beside reconstructions, by title, for kinds that have no `picture`; None otherwise."""
        return None

    def baseline(self) -> tuple[str, float] | None:
        """A trivial baseline for a fit, in words, with its PSNR; None if a kind has none."""
        return None

    def more_measures(
        self, predict: Predict, convention: Convention, saved: Path | None
    ) -> dict[str, Callable[[], float]]:
        """Metrics that are too slow for `Signal.measures`, by name; `saved` is the file of the reconstruction."""
        return {}

    def command_options(self, metadata: Entries) -> list[str] | None:
        """What `staf fit FILE` needs besides the common options to repeat a fit with these `metadata`.

        None if no command repeats it.
        """
        return []

    def python(self, metadata: Entries) -> str:
        """Python code for the argument of `staf.fit`, for a fit with these `metadata`."""
        return "your_signal" if self.signal.source is None else repr(str(self.signal.source))

    def page(self, convention: Convention) -> Document:
        """How a page shows the field: `type` names the view, and the rest is what that view needs.

        The default depends on the number of coordinates: a `trace`, a `picture` or `slices`.
        """
        return {"type": {1: "trace", 2: "picture"}.get(self.signal.in_features, "slices")}

    def finish_work(self) -> tuple[str, int]:
        """The work after the training, to measure and write the result, in words, and its number of points."""
        points = math.prod(self.signal.shape)
        return f"all {points:,} points are computed once more", points

    def render_points(self, how: Entries, convention: Convention) -> int:
        """How many points a rendering with the arguments `how` evaluates; wrong arguments are errors."""
        return self.signal.points

    def write(
        self, predict: Predict, path: Path, how: Entries, *, convention: Convention, device: str
    ) -> dict[str, int]:
        """Render with the arguments `how`, save, and return the size of what was written, by name."""
        drawn = self.signal.render(predict, convention=convention, device=device, **how)
        drawn.save(path)
        return {"points": drawn.points}

    def size_in_words(self, size: Mapping[str, int]) -> str:
        """What `write` returned, for people."""
        return ", ".join(f"{value:,} {name}" for name, value in size.items())
