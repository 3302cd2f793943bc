"""What a kind of signal may ask on the command line: the base classes of its options, and the types they are made of.

A kind's `options.py` has dataclasses named `Fit`, `Render` and `Export` that derive from these; the command line joins
them with the options that all kinds share. This module loads neither torch nor numpy, so that help is quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import FlagCreatePairsOff, arg

from staf._documents import Document

if TYPE_CHECKING:
    from staf.signals.base import Signal
    from staf.signals.grid import Convention
    from staf.training.task import Task

# A flag that is off unless given, and options whose absence the help text explains better than "default: None".
Flag = Annotated[bool, FlagCreatePairsOff, arg(help_behavior_hint="")]
Count = Annotated[int | None, arg(metavar="N", help_behavior_hint="")]
Number = Annotated[float | None, arg(metavar="X", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class FitKind:
    """Fit a field to a signal.

    The folder (runs/NAME-MODEL unless --out names another) gets model.safetensors, the reconstruction, history.csv,
    metrics.json, config.json and report.html. Ctrl-C stops the training and writes the fit so far and
    a checkpoint, from which --resume continues; a second Ctrl-C exits at once.
    """

    def open(self, path: Path) -> Signal:
        """The signal in a file, with what the options say of it."""
        from staf.kinds import open as open_signal

        return open_signal(path)

    def problem(self, signal: Signal, seed: int) -> tuple[Signal | Task, str | None]:
        """What is fitted, the signal itself or a task, and a sentence about it for the plan's reasons."""
        return signal, None

    def resume_hint(self) -> str | None:
        """Which options must be as they were, where another choice of them means other data."""
        return None


@dataclass(frozen=True, kw_only=True)
class RenderKind:
    """Draw a fitted field."""

    def how(self, out: Path | None) -> Document:
        """The arguments of the view's `write`, checked before torch is loaded."""
        return {}

    def ending(self, signal: Signal, how: Document, convention: Convention) -> str:
        """How the file name ends, after the field's own, where the user gives none."""
        return f"-rendered{signal.view.suffix}"


@dataclass(frozen=True, kw_only=True)
class ExportKind:
    """Write a fitted field as a file that other programs open, in the format of the file's suffix.

    FIELD is the file of a field, a run folder, or a folder of fit-many, whose fields are all exported.
    """

    def how(self) -> Document:
        """The arguments of the view's `write`, checked before torch is loaded."""
        return {}
