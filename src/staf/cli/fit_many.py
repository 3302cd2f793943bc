"""`staf fit-many DIR`: a network for each image of a folder, trained together."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from staf.cli.errors import Stopped, UserError
from staf.cli.options import Count, Device, Flag, OutFolder, device_name
from staf.cli.outputs import MEBIBYTE, prepare_folder
from staf.cli.terminal import Terminal

INDEX = "index.json"


@dataclass(frozen=True, kw_only=True)
class FitMany:
    """Fit a network of its own to each image in a folder, many at once.

    The folder (runs/NAME-many unless --out names another) gets fields/NAME.safetensors for each image and index.json,
    as they finish. A file that cannot be read is reported and loses no other. Ctrl-C keeps what is finished, and
    --resume goes on with the rest.
    """

    folder: Annotated[Positional[Path], arg(metavar="DIR")]
    """The images, taken in the order of their names."""
    steps: Count = None
    """Optimiser steps of each fit."""
    seed: Count = None
    """Every network starts from this seed (0 if not given), so that their weights can be compared."""
    at_once: Count = None
    """How many networks train together; by default as many as memory holds."""
    device: Device = None
    """cpu, cuda or cuda:N; by default a GPU if there is one."""
    out: OutFolder = None
    """Folder for what is made."""
    overwrite: Flag = False
    """Fit again what an earlier run has left in the folder."""
    resume: Flag = False
    """Skip what an earlier run in the folder has finished."""
    json: Flag = False
    """Print one JSON document on stdout, and nothing else there."""
    progress: Annotated[bool, arg(help_behavior_hint="")] = True
    """Show progress on stderr, which is the default, or not."""


def options_for(words: Sequence[str]) -> type[Any]:
    return FitMany


def run(options: FitMany, terminal: Terminal) -> int:
    """Fit all, list them, name what failed."""
    for flag, value in (("--steps", options.steps), ("--at-once", options.at_once)):
        if value is not None and value < 1:
            raise UserError(f"{flag} must be at least 1, got {value}")
    files = _files(options.folder)
    device = device_name(options.device)
    out = options.out or Path("runs") / f"{options.folder.resolve().name}-many"
    _check_out(options, out)
    prepare_folder(out, MEBIBYTE * len(files))
    from staf.many import fit_many

    try:
        outcome = fit_many(
            files,
            steps=options.steps,
            seed=options.seed or 0,
            device=device,
            out=out,
            resume=options.resume,
            overwrite=options.overwrite,
            at_once=options.at_once,
            progress=None if options.progress else False,
        )
    except KeyboardInterrupt as stop:
        raise _stopped(stop, terminal) from None
    rows = [(name, *_measures(measures)) for name, measures in sorted(outcome.metrics.items())]
    terminal.table(f"{len(rows)} fits in {out}", ("name", "PSNR", "SSIM"), rows)
    if rows:
        terminal.say(f"mean PSNR {outcome.mean_psnr:.2f} dB")
    for name, message in outcome.failures.items():
        terminal.note(f"{name} failed: {message}")
    terminal.finish(
        {
            "verb": "fit-many",
            "folder": str(options.folder),
            "out": str(out),
            "index": str(out / INDEX),
            "fits": {
                name: {"file": str(path), "metrics": outcome.metrics[name]} for name, path in outcome.files.items()
            },
            "mean_psnr": outcome.mean_psnr,
            "failed": outcome.failures,
        }
    )
    return 1 if outcome.failures else 0


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: name one that holds images, or fit one image with staf fit")
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise UserError(f"{folder} holds no files")
    return files


def _check_out(options: FitMany, out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: name a folder with --out")
    if options.resume and options.overwrite:
        raise UserError("--resume goes on with a run and --overwrite starts anew: give one of them")
    if (out / INDEX).exists() and not (options.resume or options.overwrite):
        raise UserError(f"{out} already holds fits: --resume goes on, --overwrite starts anew, or another --out")


def _measures(measures: dict[str, float]) -> tuple[str, str]:
    return f"{measures['psnr']:.2f}", f"{measures['ssim']:.4f}" if "ssim" in measures else "-"


def _stopped(stop: KeyboardInterrupt, terminal: Terminal) -> Stopped:
    words = [word for word in terminal.command if word not in ("--resume", "--overwrite")]
    line = f"{words[0]} {shlex.join([*words[1:], '--resume'])}"
    message = f"stopped; what is finished is kept, and this goes on with the rest:\n{line}"
    number = stop.exit_code - 128 if isinstance(stop, Stopped) else getattr(stop, "signal_number", signal.SIGINT)
    return Stopped(message, number)
