"""What `staf fit-many` and `staf fit-windows` share: options, the check of their folder, and how a signal ends them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT
from typing import Annotated

from tyro.conf import arg

from staf._documents import Document
from staf.cli.errors import Stopped, UserError
from staf.cli.options import Count, Device, Flag, check_counts, device_name
from staf.cli.terminal import Terminal

# Known here without importing torch, for help; a test holds them to `staf.storage` and `staf.windows`.
INDEX, WINDOWS, SET = "index.json", "windows.json", "set.json"

# A text, because a path would make one slash of the two in a URL.
OutPlace = Annotated[str | None, arg(aliases=["-o"], metavar="DIR", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class ManyOptions:
    """How networks that are trained together are fitted, and where they go."""

    seed: Count = None
    """Seed from which every network starts (default: 0), so that their weights can be compared."""
    at_once: Count = None
    """Number of networks that train together (default: as many as fit in memory)."""
    device: Device = None
    """cpu, cuda or cuda:N (default: a GPU if there is one)."""
    out: OutPlace = None
    """The folder to write to."""
    overwrite: Flag = False
    """Fit everything again, and replace an earlier run in the folder."""
    resume: Flag = False
    """Skip signals that an earlier run in the folder has finished."""
    json: Flag = False
    """Print one JSON document on stdout and nothing else."""
    progress: Annotated[bool, arg(help_behavior_hint="")] = True
    """Show progress on stderr, or not (default: show it)."""

    def arguments(self, out: Path) -> Document:
        """The options as `staf.fit_many` and `staf.fit_windows` take them; refused where `out` may not be written."""
        check_counts(at_once=self.at_once)
        if out.exists() and not out.is_dir():
            raise UserError(f"{out} is a file: name a folder with --out")
        if self.resume and self.overwrite:
            raise UserError("--resume continues a run and --overwrite starts again: give one of them")
        begun = any((out / name).exists() for name in (INDEX, WINDOWS, SET))
        if begun and not (self.resume or self.overwrite):
            raise UserError(
                f"{out} already holds fits: pass --resume to continue, --overwrite to fit again, or name another "
                "folder with --out"
            )
        return {
            "seed": self.seed or 0,
            "at_once": self.at_once,
            "device": device_name(self.device),
            "out": out,
            "overwrite": self.overwrite,
            "resume": self.resume,
            "progress": None if self.progress else False,
        }


@contextlib.contextmanager
def kept_when_stopped(terminal: Terminal) -> Iterator[None]:
    """Around the training: a signal ends it with a message on what is kept and how to continue."""
    try:
        yield
    except KeyboardInterrupt as stop:
        message = f"stopped; finished fits are kept. To fit the rest:\n{terminal.resume_command()}"
        raise Stopped(message, getattr(stop, "signal_number", SIGINT)) from None
