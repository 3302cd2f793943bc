"""Volumes of scanners: NIfTI and DICOM files as grids with the size of their voxels, and grids as NIfTI files.

Axes are those of the grid, slices first: (slices, rows, columns). The position and orientation in the scanner are not
kept.
"""

from __future__ import annotations

import math
import mmap
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from staf._extras import need
from staf.kinds.grid.files import DEFLATE_RATIO, check_size
from staf.kinds.grid.signal import Grid
from staf.kinds.limits import check_not_padded, check_ratio
from staf.signals.atomic import atomic_path
from staf.signals.errors import SignalError, damage_named

if TYPE_CHECKING:
    from collections.abc import Sequence

NIFTI = (".nii", ".nii.gz")
# How far the distances between slices may differ from their mean.
UNEVEN = 0.05
DEFLATED = b"1.2.840.10008.1.2.1.99"
SIZES: list[int | str] = ["NumberOfFrames", "Rows", "Columns", "SamplesPerPixel"]


def read_nifti(path: Path, limit: int) -> Grid:
    """A volume, or a slice, with its values scaled as the file says."""
    nibabel = need("medical", "nibabel")
    with damage_named("NIfTI"):
        image = nibabel.Nifti1Image.from_filename(path)
        shape = tuple(int(size) for size in image.shape)
        check_size(shape, limit)
        decoded = math.prod(shape) * image.get_data_dtype().itemsize
        check_ratio(decoded, path.stat().st_size, DEFLATE_RATIO, f"{'x'.join(map(str, shape))} voxels")
        sides = [float(side) for side in image.header.get_zooms()]
        array = np.asarray(image.dataobj)
    # Trailing axes of one entry say nothing.
    while array.ndim > 2 and array.shape[-1] == 1:
        array = array[..., 0]
    return Grid(array.T, channels=False, spacing=_spacing(sides[: array.ndim][::-1]))


def read_dicom(path: Path, limit: int) -> Grid:
    """One DICOM file: a slice, or a volume of several frames; computed tomography in Hounsfield units."""
    with damage_named("DICOM"):
        array, sides, _ = _frames(path, limit)
    return Grid(array, channels=False, spacing=_spacing(sides[-array.ndim :]))


def read_dicom_series(folder: str | os.PathLike[str], limit: int = 2**31) -> Grid:
    """The DICOM files of a folder as one volume, its slices ordered by their position.

    Slices must have the same size and lie evenly.
    """
    paths = sorted(path for path in Path(folder).iterdir() if path.is_file())
    found: list[tuple[float, np.ndarray, list[float]]] = []
    for path in paths:
        with path.open("rb") as file:
            if file.read(132)[128:] != b"DICM":
                continue
        with damage_named("DICOM"):
            array, sides, position = _frames(path, limit // max(1, len(found)))
        if array.ndim != 2 or position is None:
            raise SignalError(f"a series must hold slices with a position, and {path.name} is none")
        found.append((position, array, sides))
    if len(found) < 2:
        raise SignalError(f"a series must hold at least two DICOM files, got {len(found)} in {str(folder)!r}")
    found.sort(key=lambda slice: slice[0])
    if len({array.shape for _, array, _ in found}) > 1:
        raise SignalError(f"the slices of {str(folder)!r} must have the same size")
    between = np.diff([position for position, _, _ in found])
    if not between.min() > 0 or np.abs(between - between.mean()).max() > UNEVEN * between.mean():
        raise SignalError(f"the slices of {str(folder)!r} must lie evenly, got distances from {between.min():g} to "
                          f"{between.max():g}")  # fmt: skip
    spacing = _spacing([float(between.mean()), *found[0][2][-2:]])
    return Grid(np.stack([array for _, array, _ in found]), channels=False, spacing=spacing, name=Path(folder).name)


def _frames(path: Path, limit: int) -> tuple[np.ndarray, list[float], float | None]:
    """The values of a file, the sides of its cells (slices, rows, columns), and where a slice lies along its normal."""
    pydicom = need("medical", "pydicom")
    with path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(DEFLATED) >= 0:
            # It would be unfolded whole before its header can be read.
            raise SignalError("it is a deflated DICOM file: save it without this compression")
        # Elements that are not asked for are skipped, whatever their length.
        _check_announced(pydicom.dcmread(content, stop_before_pixels=True, specific_tags=SIZES), len(content), limit)
        content.seek(0)
        file: Any = pydicom.dcmread(content)
    _check_announced(file, path.stat().st_size, limit)
    array = file.pixel_array.astype(np.float32)
    array = array * float(file.get("RescaleSlope", 1)) + float(file.get("RescaleIntercept", 0))
    rows, columns = (float(side) for side in file.get("PixelSpacing", [1.0, 1.0]))
    sides = [float(file.get("SpacingBetweenSlices", 0) or file.get("SliceThickness", 1) or 1), rows, columns]
    position = None
    if "ImagePositionPatient" in file and "ImageOrientationPatient" in file:
        turn = np.array([float(number) for number in file.ImageOrientationPatient])
        position = float(np.cross(turn[:3], turn[3:]) @ np.array([float(n) for n in file.ImagePositionPatient]))
    return array, sides, position


def _check_announced(file: Any, stored: int, limit: int) -> None:
    """Refuses what its header announces too much of, or more than its `stored` bytes can hold."""
    size = (int(file.get("NumberOfFrames", 1) or 1), int(file.Rows), int(file.Columns))
    check_size(size, limit)
    decoded = 4 * math.prod(size)
    check_ratio(decoded, stored, DEFLATE_RATIO, f"{'x'.join(map(str, size))} pixels")
    check_not_padded(stored, decoded)
    if int(file.get("SamplesPerPixel", 1)) != 1:
        raise SignalError("it holds colours: save it as an image")


def write_nifti(path: str | os.PathLike[str], array: np.ndarray, spacing: Sequence[float] | None) -> Path:
    """Writes an array (slices, rows, columns) with the size of its voxels, whole or not at all."""
    nibabel = need("medical", "nibabel")
    sides = list(spacing or [1.0] * array.ndim)[::-1]
    values = array.astype(np.float32) if array.dtype.kind in "fb" else array
    image = nibabel.Nifti1Image(np.ascontiguousarray(values.T), np.diag([*sides, *[1.0] * (3 - len(sides)), 1.0]))
    image.header.set_zooms(sides)
    ending = next(suffix for suffix in reversed(NIFTI) if str(path).lower().endswith(suffix))
    with atomic_path(path) as temporary:
        # nibabel tells the format by the suffix.
        named = temporary.with_name(temporary.name + ending)
        try:
            nibabel.save(image, named)
            named.replace(temporary)
        finally:
            named.unlink(missing_ok=True)
    return Path(path)


def _spacing(sides: Sequence[float]) -> tuple[float, ...] | None:
    return tuple(sides) if sides and all(math.isfinite(side) and side > 0 for side in sides) else None
