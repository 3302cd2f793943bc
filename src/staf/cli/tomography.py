"""`staf tomography FILE`: a picture or a volume from a sinogram, or from a known one that is scanned first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from staf._documents import Document
from staf.cli.errors import UserError, edge
from staf.cli.inverse import array_of, solve
from staf.cli.options import Count, Flag, Number
from staf.cli.outputs import default_folder
from staf.cli.restoration import FIGURE, METRICS, MODEL, REPORT, InverseOptions, check_held_out, started
from staf.cli.terminal import Terminal

if TYPE_CHECKING:
    from torch import Tensor

    from staf.kinds import Grid
    from staf.operators import BeamIntegrals
    from staf.tasks.tomography import Tomography

NAME = "reconstruction.npy"
VOLUME = "reconstruction.nii"
# Water at 70 keV, per millimetre: what white pixels of a photo stand for.
WATER = 0.02
VIEWS = 60
# There is a note if fewer than one photon is expected behind the object for this share of the rays.
OPAQUE = 0.01
POSITIVE = ("views", "span", "spacing", "detector_size", "source_distance", "size", "photons")


@dataclass(frozen=True, kw_only=True)
class Scan(InverseOptions):
    """Reconstruct a slice or a volume from its X-ray projections.

    FILE contains line integrals (the logarithm of the counts without the object divided by those with it), as NPY of
    shape (views, detectors), or (views, rows, columns) for a cone beam. With --evaluate, FILE is the object instead: it
    is scanned first, and the result is compared with it. The folder (runs/NAME-tomography unless --out names another)
    gets reconstruction.npy (.nii with the size of voxels if FILE is NIfTI or DICOM), in attenuation per unit of length,
    a picture of it, model.safetensors, metrics.json and report.html. The reconstruction comes from the fitted field if
    that predicts held-out views clearly better than filtered backprojection and SART with total variation, otherwise
    from one of these; the command says which.
    """

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """The sinogram as NPY; with --evaluate an image, or a volume as NPY, NIfTI or DICOM."""
    beam: Annotated[
        Literal["parallel", "fan", "cone"] | None, arg(metavar="{parallel,fan,cone}", help_behavior_hint="")
    ] = None
    """The scanner (default: parallel for a slice, cone for a volume)."""
    views: Count = None
    """With --evaluate: the number of views (default: 60)."""
    span: Number = None
    """The angle that all views cover together, in degrees (default: 180 for a parallel beam, 360 for the others)."""
    angles: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """The angle of each view in degrees, as NPY, instead of --span."""
    spacing: Number = None
    """The side of a pixel or voxel, in the unit of all lengths, usually mm (default: that of the file, or 1)."""
    detector_size: Number = None
    """The width of a detector (default: that of a pixel, times the magnification of the beam)."""
    source_distance: Number = None
    """For fan and cone beams: the distance from the source to the axis of rotation."""
    detector_distance: Number = None
    """For fan and cone beams: the distance from the axis of rotation to the detector."""
    size: Count = None
    """Number of pixels along each side of the result (default: the number of detectors in a row)."""
    photons: Number = None
    """With --evaluate: the number of photons per ray without the object (default: no noise)."""
    held_out: Annotated[float, arg(metavar="X")] = 0.05
    """The share of views that is held out of the fit, to choose when to stop and which result to return."""
    evaluate: Flag = False
    """FILE is the object: scan it, reconstruct it, and compare."""


def options_for(words: Sequence[str]) -> type[object]:
    return Scan


def run(options: Scan, terminal: Terminal) -> int:
    """Fit the projections, write what they show."""
    check_held_out(options.held_out)
    if not options.evaluate:
        for flag in ("views", "photons"):
            if getattr(options, flag) is not None:
                raise UserError(f"--{flag} says how a known object is scanned: give --evaluate too, or leave it out")
    for flag in POSITIVE:
        if (value := getattr(options, flag)) is not None and not value > 0:
            raise UserError(f"--{flag.replace('_', '-')} must be positive, got {value:g}")
    with edge():
        data = _truth(options) if options.evaluate else _sinogram(options)
    name = _name(options)
    files = [name, MODEL, METRICS, FIGURE, REPORT]
    start = started(options, default_folder(options.file.stem, "tomography"), 16 * data.nbytes, files)
    import torch

    generator = torch.Generator().manual_seed(start.seed)
    with edge():
        task = _task(options, data, generator)
    if options.photons is not None:
        _note_opaque(task, options.photons, terminal)
    about: Document = {
        "verb": "tomography",
        "file": str(options.file),
        "beam": _beam(options, len(task.signal.shape)),
        "views": task.views,
        "spacing": list(task.operator.spacing),  # type: ignore[attr-defined]
        "photons": options.photons,
    }
    return solve(options, terminal, start, task, name, about)


def _note_opaque(task: Tomography, photons: float, terminal: Terminal) -> None:
    """A note if the object absorbs all photons of many rays, which then say nothing about its inside."""
    assert task.truth is not None
    integrals = task.operator.A(task.truth.values().T.reshape(1, *task.truth.shape))
    empty = float((integrals > math.log(photons)).float().mean())
    if empty > OPAQUE:
        terminal.note(
            f"note: the object absorbs all photons of {empty:.0%} of the rays. Its values are attenuation per unit of "
            "length: divide them, or give a smaller --spacing"
        )


def _name(options: Scan) -> str:
    """The file of the result: NIfTI, which keeps the size of voxels, for what came from NIfTI or DICOM; NPY else."""
    medical = options.file.is_dir() or options.file.name.lower().endswith((".nii", ".nii.gz", ".dcm"))
    return VOLUME if options.evaluate and medical else NAME


def _truth(options: Scan) -> Grid:
    """The object of --evaluate as attenuation: the numbers of an array, and of a photo white as water."""
    from staf.kinds import Grid, Image
    from staf.kinds import open as open_signal

    if options.file.suffix.lower() == ".npy":
        return _array(options.file, "an object", "(rows, columns) or (slices, rows, columns)")
    if options.file.is_dir():
        from staf.kinds.grid.medical import read_dicom_series

        return read_dicom_series(options.file)
    signal = open_signal(options.file)
    if isinstance(signal, Image):
        grey = signal.values()[:, : min(3, signal.out_features)].mean(-1)
        return Grid(WATER * grey.reshape(signal.shape).numpy(), channels=False, name=signal.name)
    if not isinstance(signal, Grid) or signal.in_features not in (2, 3) or signal.out_features != 1:
        raise UserError(f"--evaluate takes an image, or an array of 2 or 3 axes, got {signal!r}")
    return signal


def _sinogram(options: Scan) -> Grid:
    return _array(options.file, "a sinogram", "(views, detectors) or (views, rows, columns)")


def _array(path: Path, what: str, shapes: str) -> Grid:
    from staf.kinds import Grid

    array = array_of(path, what, "give --evaluate to scan an object")
    if array.ndim not in (2, 3):
        raise UserError(f"{what} must have shape {shapes}, got {tuple(array.shape)}")
    return Grid(array, channels=False, name=path.stem)


def _task(options: Scan, data: Grid, generator: object) -> Tomography:
    from staf.kinds import Grid
    from staf.tasks.ray_batches import MOST_CELLS, RayTomography
    from staf.tasks.tomography import Tomography, estimated_range

    how: Document = {"held_out": options.held_out, "generator": generator}
    values = data.values().reshape(data.shape)
    if options.evaluate:
        operator = scanner(options, data.shape, _angles(options, options.views or VIEWS, data.in_features), None, data)
        kind = RayTomography if data.points > MOST_CELLS else Tomography
        return kind.simulated(data, operator, photons=options.photons, **how)
    views, *detectors = data.shape
    side = options.size or detectors[-1]
    shape = (side, side) if len(detectors) == 1 else (detectors[0], side, side)
    operator = scanner(options, shape, _angles(options, views, len(shape)), tuple(detectors), data)
    signal = Grid.blank(shape, estimated_range(operator, values), name=data.name, spacing=operator.spacing)
    kind = RayTomography if signal.points > MOST_CELLS else Tomography
    return kind(signal, operator, values, **how)


def _beam(options: Scan, axes: int) -> str:
    beam = options.beam or ("parallel" if axes == 2 else "cone")
    if (beam == "cone") != (axes == 3):
        raise UserError(f"--beam cone is for volumes and the others are for slices, got {beam} for {axes} axes")
    return beam


def _angles(options: Scan, views: int, axes: int) -> Tensor:
    """The angle of each view, in radians."""
    import torch

    if views < 2:
        raise UserError(f"there must be at least 2 views, because one is held out to choose the result, got {views}")
    if options.angles is not None:
        if options.span is not None:
            raise UserError("--angles and --span both say where the views are: give one of them")
        degrees = torch.from_numpy(array_of(options.angles, "--angles").astype("float64"))
        if tuple(degrees.shape) != (views,):
            raise UserError(f"--angles must hold one angle for each of the {views} views, got {tuple(degrees.shape)}")
        return degrees * math.pi / 180
    span = options.span or (180.0 if _beam(options, axes) == "parallel" else 360.0)
    return torch.arange(views, dtype=torch.float64) * (span / views) * math.pi / 180


def scanner(
    options: Scan, shape: tuple[int, ...], angles: Tensor, detectors: tuple[int, ...] | None, data: Grid
) -> BeamIntegrals:
    """The operator that the options describe; detectors that cover the object where their number is not known."""
    from staf.operators import cone_beam, fan_beam, parallel_beam

    beam = _beam(options, len(shape))
    sides = data.spacing or (1.0,) * data.in_features
    if options.spacing is None and abs(sides[-1] - sides[-2]) > 1e-3 * sides[-1]:
        raise UserError(f"pixels must be square, and those of the file are {sides[-2]:g} by {sides[-1]:g}: --spacing")
    side = options.spacing or sides[-1]
    plane: tuple[int, int] = (shape[-2], shape[-1])
    wide = math.hypot(*plane) * side
    if beam == "parallel":
        if options.source_distance is not None or options.detector_distance is not None:
            raise UserError("--source-distance and --detector-distance are for --beam fan and cone: leave them out")
        count = None if detectors is None else detectors[-1]
        return parallel_beam(plane, angles, detectors=count, detector_size=options.detector_size, spacing=side)
    source, far = options.source_distance or 3 * wide, options.detector_distance
    far = 1.5 * wide if far is None else far
    if source <= wide / 2:
        raise UserError(f"--source-distance must be beyond the object, {wide / 2:g} from the axis, got {source:g}")
    enlarged = (source + far) / source
    size = options.detector_size or side * enlarged
    # The ray that touches the object's circle meets the detector there.
    reach = math.ceil(2 * (source + far) * wide / 2 / math.sqrt(source**2 - (wide / 2) ** 2) / size) + 2
    columns = reach if detectors is None else detectors[-1]
    distances = {"source_distance": source, "detector_distance": far, "detector_size": size}
    if beam == "fan":
        return fan_beam(plane, angles, detectors=columns, spacing=side, **distances)
    tall = (sides[0] if options.spacing is None else side) * shape[0]
    near = (source + far) / (source - wide / 2)
    rows = math.ceil(tall * near / size) + 2 if detectors is None else detectors[0]
    spacing = (tall / shape[0], side, side)
    return cone_beam((shape[0], *plane), angles, detectors=(rows, columns), spacing=spacing, **distances)
