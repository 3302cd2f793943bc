"""Options that several verbs share: the same words as in Python."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from staf._networks import network_names
from staf.cli.errors import UserError
from staf.kinds.options import Count, Flag, Number

if TYPE_CHECKING:
    from staf.planning import Budget

# For help texts, which must not wait for torch.
MODEL_NAMES = tuple(network_names())

__all__ = ["MODEL_NAMES", "BudgetOptions", "Count", "Device", "FitOptions", "Flag", "Number", "OutFile", "OutFolder"]

Device = Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")]
OutFolder = Annotated[Path | None, arg(aliases=["-o"], metavar="DIR", help_behavior_hint="")]
OutFile = Annotated[Path | None, arg(aliases=["-o"], metavar="FILE", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """When to stop: the first limit reached ends a fit."""

    steps: Count = None
    """Stop after this many optimiser steps."""
    seconds: Number = None
    """Stop after this many seconds of training; the learning rate schedule spans them."""
    target_db: Number = None
    """Stop when this PSNR over all points is reached."""

    def budget(self) -> Budget:
        """The same for a plan."""
        from staf.planning import Budget

        check_positive(seconds=self.seconds, target_db=self.target_db)
        check_counts(steps=self.steps)
        return Budget(self.steps, self.seconds, self.target_db)


@dataclass(frozen=True, kw_only=True)
class FitOptions(BudgetOptions):
    """How a fit is run and where it goes."""

    seed: Count = None
    """Seed of all random numbers (default: 0); the same seed on the same machine gives the same result."""
    device: Device = None
    """cpu, cuda or cuda:N (default: a GPU if there is one)."""
    out: OutFolder = None
    """The folder to write to."""
    overwrite: Flag = False
    """Replace an earlier run in the folder."""
    resume: Flag = False
    """Continue an interrupted run in the folder."""
    json: Flag = False
    """Print one JSON document on stdout and nothing else."""
    explain: Flag = False
    """Print the choices of the plan and their reasons."""
    progress: Annotated[bool, arg(help_behavior_hint="")] = True
    """Show progress on stderr, or not (default: show it)."""

    def device_name(self) -> str:
        """The device as torch spells it."""
        return device_name(self.device)


def check_counts(**counts: int | None) -> None:
    """Refuse options that count something and are below 1."""
    for name, value in counts.items():
        if value is not None and value < 1:
            raise UserError(f"--{name.replace('_', '-')} must be at least 1, got {value}")


def check_positive(**numbers: float | None) -> None:
    """Refuse options that are given and are no positive numbers."""
    for name, value in numbers.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise UserError(f"--{name.replace('_', '-')} must be a positive number, got {value:g}")


def device_name(device: str | None) -> str:
    """A device the user may have named, checked; a GPU if there is one and nothing was named."""
    from staf._device import choose_device

    try:
        return str(choose_device(device))
    except ValueError as error:
        raise UserError(f"--{error}") from None
