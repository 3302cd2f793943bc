"""What the verbs that fit one field share: when a fit is resumed, and what is said and kept when it is stopped."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING

from staf.cli.errors import Stopped, UserError
from staf.cli.options import FitOptions
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from staf.api import Fit
    from staf.planning import Budget
    from staf.training import Interrupted

CHECKPOINT = "checkpoint.safetensors"


def check_folder(options: FitOptions, folder: Path, holds: str | None) -> None:
    """Refuse to train towards a folder that may not be written, or to resume from nothing.

    `holds` names what of an earlier run is there.
    """
    checkpoint = folder / CHECKPOINT
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file: name a folder with --out")
    if options.resume:
        if options.overwrite:
            raise UserError("--resume continues a fit and --overwrite starts again: give one of them")
        if not checkpoint.exists():
            raise UserError(f"there is no interrupted fit in {folder} ({CHECKPOINT} is missing): leave --resume out")
    elif not options.overwrite:
        if checkpoint.exists():
            raise UserError(f"{folder} holds an interrupted fit: --resume continues it, another --out starts a new one")
        if holds is not None:
            raise UserError(f"{folder} already holds {holds}: name another folder with --out")


def resumed(options: FitOptions, model: str, checkpoint: Path) -> tuple[int, Budget]:
    """Seed and budget of the interrupted fit; options that contradict it are refused, not ignored."""
    from staf.nn.networks import model_of
    from staf.planning import Budget
    from staf.storage import FileError, read_header

    about = read_header(checkpoint).metadata
    try:
        recipe, seed = about["recipe"], about["seed"]
        fitted = model if not about["architecture"] else model_of(about["architecture"])
        saved = {"--seed": seed, **{f"--{n.replace('_', '-')}": recipe[n] for n in ("steps", "seconds", "target_db")}}
    except (KeyError, TypeError, AttributeError):
        raise FileError(f"{checkpoint} is not a complete checkpoint: start again with another --out") from None
    given = {
        "--seed": options.seed,
        "--steps": options.steps,
        "--seconds": options.seconds,
        "--target-db": options.target_db,
    }
    for flag, value in given.items():
        if value is not None and value != saved[flag]:
            was = "without it" if saved[flag] is None else f"with {saved[flag]:g}"
            raise UserError(f"{flag} {value:g} was given, and the interrupted fit was started {was}: leave {flag} out")
    if fitted != model:
        raise UserError(f"the interrupted fit is of {fitted}: pass --model {fitted}")
    return seed, Budget(saved["--steps"], saved["--seconds"], saved["--target-db"])


def interrupted(stop: Interrupted, checkpoint: Path, terminal: Terminal) -> Stopped:
    """What to say when a fit was stopped: where it is kept, and the command that resumes it."""
    where = f"the fit so far is in {stop.checkpoint}"
    if stop.checkpoint != checkpoint:
        where += f" (move it to {checkpoint} once there is room)"
    message = f"stopped after step {stop.step}; {where}; resume it with:\n{terminal.resume_command()}"
    return Stopped(message, stop.signal_number)


@contextlib.contextmanager
def finishing(fit: Fit, folder: Path, terminal: Terminal) -> Iterator[None]:
    """Around what follows a fit: if stopped, says what is missing; a model that does not fit is saved elsewhere."""
    from staf._files import WriteError

    try:
        yield
    except KeyboardInterrupt as stop:
        # Files are written whole or not at all, the model first.
        message = f"stopped while the folder was written; {folder} holds what was ready, and this makes "
        # A fit of less than a minute may have left no checkpoint.
        kept = (folder / CHECKPOINT).exists()
        message += (
            f"the rest:\n{terminal.resume_command()}"
            if kept
            else f"all of it again, with another --out:\n{terminal.rerun_command()}"
        )
        raise Stopped(message, getattr(stop, "signal_number", SIGINT)) from None
    except WriteError as error:
        rescue = Path(tempfile.mkdtemp(prefix="staf-")) / "model.safetensors"
        fit.save(rescue)
        raise UserError(f"{error.strerror or error}; the fitted model is in {rescue}") from error
    (folder / CHECKPOINT).unlink(missing_ok=True)
