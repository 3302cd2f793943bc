"""`staf fit-many DIR`: a network for each image of a folder, trained together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from staf.cli.errors import UserError
from staf.cli.many_options import INDEX, ManyOptions, kept_when_stopped
from staf.cli.outputs import MEBIBYTE, prepare_folder
from staf.cli.terminal import Terminal


@dataclass(frozen=True, kw_only=True)
class FitMany(ManyOptions):
    """Fit a network of its own to each image in a folder, many at once.

    The folder (runs/NAME-many unless --out names another) gets fields/NAME.safetensors for each image and index.json,
    as they finish. A file that cannot be read is reported and loses no other. Ctrl-C keeps what is finished, and
    --resume goes on with the rest.
    """

    folder: Annotated[Positional[Path], arg(metavar="DIR")]
    """The images, taken in the order of their names."""


def options_for(words: Sequence[str]) -> type[Any]:
    return FitMany


def run(options: FitMany, terminal: Terminal) -> int:
    """Fit all, list them, name what failed."""
    files = _files(options.folder)
    out = options.out or Path("runs") / f"{options.folder.resolve().name}-many"
    arguments = options.arguments(out)
    prepare_folder(out, MEBIBYTE * len(files))
    from staf.many import fit_many

    with kept_when_stopped(terminal):
        outcome = fit_many(files, **arguments)
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


def _measures(measures: dict[str, float]) -> tuple[str, str]:
    return f"{measures['psnr']:.2f}", f"{measures['ssim']:.4f}" if "ssim" in measures else "-"
