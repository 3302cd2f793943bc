"""What the verbs that fit one field share: when a fit is resumed, and what is printed and kept when it is stopped."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING

from staf.cli.errors import Stopped, UserError, sentence
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
            raise UserError(
                f"{folder} already holds {holds}: name another folder with --out, or replace it with --overwrite"
            )


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
    assert stop.checkpoint is not None
    where = _where(stop.checkpoint, checkpoint)
    message = f"stopped after step {stop.step}; {where}; resume it with:\n{terminal.resume_command()}"
    return Stopped(message, stop.signal_number)


def left_at_once(stop: KeyboardInterrupt, checkpoint: Path, terminal: Terminal) -> Stopped:
    """What to say when a fit was left within a step, by a second Ctrl-C: the last checkpoint is kept, if any."""
    message = f"{str(stop) or 'stopped by Ctrl-C'}; "
    if checkpoint.exists():
        message += f"{_where(checkpoint, checkpoint)}, up to when it was written; resume it with:\n"
        message += terminal.resume_command()
    else:
        message += "nothing was saved"
    return Stopped(message, getattr(stop, "signal_number", SIGINT))


@contextlib.contextmanager
def finishing(fit: Fit, folder: Path, terminal: Terminal) -> Iterator[None]:
    """Around what follows a fit: what is missing is said if it is stopped, and a model that cannot be written is saved
    elsewhere. The checkpoint goes, unless the training was stopped and can be resumed.
    """
    from staf.reports.errors import RunError

    checkpoint = folder / CHECKPOINT
    try:
        yield
    except KeyboardInterrupt as stop:
        # Files are written whole or not at all, the model first.
        message = f"stopped while the folder was written; {folder} holds what was ready, and this makes "
        # A fit of less than a minute may have left no checkpoint.
        message += (
            f"the rest:\n{terminal.resume_command()}"
            if checkpoint.exists()
            else f"all of it again:\n{terminal.rerun_command(folder.with_name(folder.name + '-2'))}"
        )
        raise Stopped(message, getattr(stop, "signal_number", SIGINT)) from None
    except BrokenPipeError:
        # The reader of stdout has left, after everything was written.
        raise
    except (OSError, RunError, MemoryError) as error:
        message, model = sentence(error) or type(error).__name__, rescued(fit, folder)
        if str(model) not in message:
            message += f"; the fitted model is in {model}"
        if fit.result.checkpoint is not None:
            raise Stopped(f"{message}; {_where(fit.result.checkpoint, checkpoint)}", SIGINT) from error
        raise UserError(message) from error
    if fit.result.checkpoint is None:
        checkpoint.unlink(missing_ok=True)
        return
    kept = _where(fit.result.checkpoint, checkpoint)
    message = f"stopped after step {fit.result.steps}; {folder} holds the result so far; {kept}; resume it with:\n"
    raise Stopped(message + terminal.resume_command(), SIGINT)


def rescued(fit: Fit, folder: Path) -> Path:
    """Save the model of a fit where it can be: in its folder, in a new one beside it, or among temporary files."""
    from staf.storage import FileError, read_header

    model = folder / "model.safetensors"
    with contextlib.suppress(OSError, FileError):
        saved, own = read_header(model).metadata, json.loads(json.dumps(fit.field.metadata))
        if all(saved.get(name) == value for name, value in own.items()):
            return model
    reasons = []
    for parent in (folder.parent, Path(tempfile.gettempdir()), Path.home()):
        try:
            prefix = f"{folder.name[:60]}-" if parent == folder.parent else "staf-"
            # From Python 3.12 on, mkdtemp returns an absolute path also for a relative folder.
            new = parent / Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).name
            try:
                return fit.save(new / model.name)
            except OSError:
                shutil.rmtree(new, ignore_errors=True)
                raise
        except OSError as error:
            reasons.append(sentence(error))
    raise UserError(f"the fitted model cannot be saved anywhere: {'; '.join(reasons)}")


def _where(saved: Path, usual: Path) -> str:
    """Where the training so far is, and what to do if that is not where it is looked for."""
    return f"the training so far is in {saved}" + (
        "" if saved == usual else f" (move it to {usual} once there is room)"
    )
