"""`staf fit-windows FILE`: a recording of any length, a small network for each window, joined without clicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from staf._documents import Document
from staf._messages import counted
from staf.cli.errors import UserError, edge
from staf.cli.many_options import ManyOptions, kept_when_stopped
from staf.cli.options import Count, check_counts, check_positive
from staf.cli.outputs import MEBIBYTE, default_folder, prepare_folder
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from staf.windows import WindowedFit

RECONSTRUCTION, METRICS, FIGURE = "reconstruction.wav", "metrics.json", "comparison.png"


@dataclass(frozen=True, kw_only=True)
class FitWindows(ManyOptions):
    """Fit a recording of any length in windows, each with its own small network.

    The folder (runs/NAME-windows unless --out names another) gets fields/ and windows.json, which staf.load_windows
    opens, reconstruction.wav, metrics.json and comparison.png. Ctrl-C keeps finished windows; --resume continues with
    the others.
    """

    steps: Count = None
    """Number of optimiser steps for each network."""
    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """The recording: WAV, FLAC, OGG or MP3."""
    window: Annotated[float, arg(metavar="SECONDS")] = 0.25
    """Approximate length of a window."""
    overlap: Annotated[float, arg(metavar="SECONDS")] = 0.01
    """Overlap of neighbouring windows, over which they are cross-faded."""
    rate: Count = None
    """Sample rate of reconstruction.wav (default: that of the recording)."""


def options_for(words: Sequence[str]) -> type[object]:
    return FitWindows


def run(options: FitWindows, terminal: Terminal) -> int:
    """Fit the windows, join them, measure the whole."""
    check_counts(rate=options.rate, steps=options.steps)
    check_positive(window=options.window, overlap=options.overlap)
    from staf.kinds import Audio
    from staf.kinds import open as open_signal
    from staf.windows import fit_windows

    audio = open_signal(options.file)
    if not isinstance(audio, Audio):
        raise UserError(f"recordings are fitted in windows, and {options.file} is of kind {audio.kind}")
    out = Path(options.out or default_folder(audio.name, "windows"))
    arguments = options.arguments(out)
    prepare_folder(out, 8 * MEBIBYTE + 8 * audio.array.nbytes)
    with kept_when_stopped(terminal), edge():
        fit = fit_windows(audio, seconds=options.window, overlap=options.overlap, steps=options.steps, **arguments)
    _write(options, out, fit)
    for note in fit.notes:
        terminal.note(f"note: {note}")
    terminal.say(
        f"{fit.metrics['psnr']:.2f} dB PSNR, log-spectral distance {fit.metrics['log_spectral_distance']:.2f} dB, "
        f"{counted(len(fit.field.windows), 'window')}"
    )
    terminal.say(str(out / RECONSTRUCTION))
    terminal.finish({"verb": "fit-windows", "file": str(options.file), "out": str(out), **_document(fit)})
    return 0


def _document(fit: WindowedFit) -> Document:
    return {
        "metrics": fit.metrics,
        "windows": [
            {"start": start, "stop": stop, "metrics": metrics}
            for (start, stop), metrics in zip(fit.field.windows, fit.window_metrics, strict=True)
        ],
        "notes": list(fit.notes),
    }


def _write(options: FitWindows, out: Path, fit: WindowedFit) -> None:
    """The reconstruction, the measures, and a picture of both waveforms."""
    import json

    from staf._files import atomic_path, atomic_write
    from staf._jsonable import jsonable
    from staf.kinds.audio.figure import audio_comparison

    drawn = fit.reconstruction if options.rate is None else fit.render(rate=options.rate)
    drawn.save(out / RECONSTRUCTION)
    atomic_write(
        out / METRICS, json.dumps(jsonable(_document(fit)), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    )
    peak = fit.signal.peak
    name = f"{counted(len(fit.field.windows), 'window')}  {fit.metrics['psnr']:.1f} dB"
    figure = audio_comparison(fit.signal.array / peak, {name: fit.reconstruction.array / peak}, fit.signal.rate)
    with atomic_path(out / FIGURE) as temporary:
        figure.savefig(temporary, dpi=110)
