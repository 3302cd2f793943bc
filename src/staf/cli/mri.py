"""`staf mri FILE`: a picture from part of its Fourier transform, or from a known one that is measured first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from staf._documents import Document
from staf.cli.errors import UserError, edge
from staf.cli.inverse import array_of, solve
from staf.cli.options import Count, Number
from staf.cli.outputs import default_folder
from staf.cli.restoration import FIGURE, METRICS, MODEL, REPORT, InverseOptions, check_held_out, started
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from staf.tasks.magnetic_resonance import MagneticResonance


@dataclass(frozen=True, kw_only=True)
class Mri(InverseOptions):
    """Reconstruct an image from a part of its Fourier transform (k-space), as an accelerated MRI scan measures it.

    FILE contains complex Fourier coefficients, as NPY of shape (rows, columns) or (coils, rows, columns), with
    frequency zero in the middle and zeros where nothing was measured. With --acceleration, FILE is the image instead: a
    part of its transform is measured first, and the result is compared with it. The folder (runs/NAME-mri unless --out
    names another) gets the reconstruction (.npy with a picture of it, or .png), model.safetensors, metrics.json and
    report.html. The reconstruction comes from the fitted field if that predicts held-out frequencies clearly better
    than zero filling, wavelet-L1 and total variation, otherwise from one of these; the command says which.
    """

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """The measured coefficients as NPY; with --acceleration an image."""
    sensitivities: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """The sensitivities of the coils, complex NPY of shape (coils, rows, columns)."""
    acceleration: Number = None
    """FILE is the image: measure one in X columns of its transform, reconstruct, and compare."""
    coils: Count = None
    """With --acceleration: the number of coils (default: 1)."""
    noise: Number = None
    """With --acceleration: the standard deviation of noise in each coefficient, where white is 1."""
    held_out: Annotated[float, arg(metavar="X")] = 0.05
    """The share of frequencies that is held out of the fit, to choose when to stop and which result to return."""


def options_for(words: Sequence[str]) -> type[object]:
    return Mri


def run(options: Mri, terminal: Terminal) -> int:
    """Fit the coefficients, write what they show."""
    check_held_out(options.held_out)
    known = options.acceleration is not None
    if not known and (options.coils is not None or options.noise is not None):
        raise UserError("--coils and --noise say how a known picture is measured: give --acceleration too")
    if known and options.sensitivities is not None:
        raise UserError("--acceleration makes its own coils (--coils): leave --sensitivities out")
    for flag, least in (("acceleration", 1), ("coils", 1), ("noise", 0)):
        if (value := getattr(options, flag)) is not None and not value >= least:
            raise UserError(f"--{flag} must be at least {least}, got {value:g}")
    name = "reconstruction.png" if known else "reconstruction.npy"
    files = [name, MODEL, METRICS, FIGURE, REPORT]
    start = started(options, default_folder(options.file.stem, "mri"), 16 * options.file.stat().st_size, files)
    import torch

    generator = torch.Generator().manual_seed(start.seed)
    with edge():
        task = _simulated(options, generator) if known else _measured(options, generator)
    operator: Any = task.operator
    about: Document = {
        "verb": "mri",
        "file": str(options.file),
        "acceleration": float(operator.mask.numel() / len(operator.index)),
        "coils": operator.coils,
        "noise": options.noise,
    }
    shown = None if task.truth is None else operator.A_adjoint(task.observation)
    return solve(options, terminal, start, task, name, about, shown)


def _simulated(options: Mri, generator: torch.Generator) -> MagneticResonance:
    import numpy as np

    from staf.kinds import Image
    from staf.kinds import open as open_signal
    from staf.operators import MaskedFourier, cartesian_mask
    from staf.tasks.magnetic_resonance import MagneticResonance, coil_sensitivities

    picture = open_signal(options.file)
    if not isinstance(picture, Image):
        raise UserError(f"--acceleration takes an image for the truth, and {options.file} is of kind {picture.kind}")
    grey = picture.values()[:, : min(3, picture.out_features)].mean(-1).reshape(picture.shape)
    truth = Image((grey.clamp(0, 1) * 255).round().numpy().astype(np.uint8), name=picture.name)
    height, width = truth.shape
    mask = cartesian_mask((height, width), options.acceleration or 1.0, generator=generator)
    coils = options.coils or 1
    seen = coil_sensitivities((height, width), coils) if coils > 1 else None
    operator = MaskedFourier(mask, seen)
    return MagneticResonance.simulated(
        truth, operator, noise=options.noise or 0.0, held_out=options.held_out, generator=generator
    )


def _measured(options: Mri, generator: torch.Generator) -> MagneticResonance:
    import torch

    from staf.kinds import Grid
    from staf.operators import MaskedFourier
    from staf.tasks.magnetic_resonance import MagneticResonance, estimated_range, with_phase

    kspace = _complex(options.file, "measured coefficients", "give --acceleration to measure a picture")
    if kspace.dim() == 2:
        kspace = kspace[None]
    seen = None if options.sensitivities is None else _complex(options.sensitivities, "--sensitivities")
    if seen is None and len(kspace) > 1:
        raise UserError(f"{len(kspace)} coils need their --sensitivities")
    if seen is not None and seen.shape != kspace.shape:
        raise UserError(f"--sensitivities must have the shape {tuple(kspace.shape)}, got {tuple(seen.shape)}")
    mask = (kspace.abs() > 0).any(0)
    if not bool(mask.any()):
        raise UserError(f"{options.file} holds zeros alone: nothing was measured")
    operator = MaskedFourier(mask, with_phase(kspace, seen))
    observation = torch.view_as_real(kspace.flatten(1)[:, operator.index].contiguous())[None]
    signal = Grid.blank(operator.input_shape, estimated_range(operator, observation), name=options.file.stem)
    return MagneticResonance(signal, operator, observation, held_out=options.held_out, generator=generator)


def _complex(path: Path, what: str, otherwise: str = "") -> Tensor:
    """A complex array of two or three axes."""
    import numpy as np
    import torch

    array = array_of(path, what, otherwise)
    if array.dtype.kind != "c" or array.ndim not in (2, 3):
        raise UserError(
            f"{path} must hold complex numbers of shape (rows, columns) or (coils, rows, columns), got {array.dtype} "
            f"{tuple(array.shape)}"
        )
    if not np.isfinite(array).all():
        raise UserError(f"{path} must hold numbers only, got NaN or infinity")
    return torch.from_numpy(array.astype(np.complex64))
