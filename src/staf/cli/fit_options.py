"""The options of `staf fit`, by kind of signal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from staf.cli.options import MODEL_NAMES, Count, FitOptions, Flag


@dataclass(frozen=True, kw_only=True)
class FitSignal(FitOptions):
    """Fit a field to a signal."""

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """The signal: an image (PNG, JPEG, TIFF, WebP, NPY), audio or a mesh."""
    model: Annotated[str, arg(metavar="NAME", help=f"The network: {', '.join(MODEL_NAMES)}.")] = "staf"


@dataclass(frozen=True, kw_only=True)
class FitImage(FitSignal):
    """Fit a field to an image.

    The folder (runs/NAME-MODEL unless --out names another) gets model.safetensors, the reconstruction, history.csv,
    metrics.json, config.json and report.html. Ctrl-C leaves a checkpoint there, and --resume goes on from it.
    """

    max_pixels: Count = None
    """Refuse files that announce more pixels than this; raise it for pictures of hundreds of megapixels."""


@dataclass(frozen=True, kw_only=True)
class FitAudio(FitSignal):
    """Fit a field to a recording.

    The folder (runs/NAME-MODEL unless --out names another) gets model.safetensors, reconstruction.wav, history.csv,
    metrics.json, config.json and report.html. Ctrl-C leaves a checkpoint there, and --resume goes on from it.
    """


@dataclass(frozen=True, kw_only=True)
class FitShape(FitSignal):
    """Fit a field to the inside of a watertight mesh.

    The folder (runs/NAME-MODEL unless --out names another) gets model.safetensors, reconstruction.ply, history.csv,
    metrics.json, config.json and report.html. Ctrl-C leaves a checkpoint there, and --resume goes on from it.
    """

    resolution: Count = None
    """Voxels along the longest side."""
    repair: Flag = False
    """Weld seams, drop repeated faces and close holes before fitting."""
    allow_open: Flag = False
    """Take a surface with holes as it is; the inside is where its winding number says."""
    near_surface: Annotated[float | None, arg(metavar="SHARE", help_behavior_hint="")] = None
    """Make voxels near the surface this share of those that are fitted, between 0 and 1; measures still see all."""
    band: Count = None
    """With --near-surface: how many voxels from the surface are near it (2 if not given)."""
