"""Posed photos from a folder: Blender's transforms_train.json and nerfstudio's transforms.json."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from staf.kinds.scene.cameras import Cameras
from staf.kinds.scene.checks import whole
from staf.kinds.scene.intrinsics import LARGEST, Frame, cameras_of, picture_size
from staf.kinds.scene.loading import check_pixels, load_photos, smaller
from staf.kinds.scene.splits import SPLITS, check_apart, split_frames
from staf.signals.errors import SignalError

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")
# A file of poses is text of a few hundred bytes a photo.
MOST_BYTES = 2**26
MOST_PHOTOS = 100_000
MOST_TOGETHER = 400_000_000
# How far the columns of a pose may be from unit vectors across each other: poses are rounded, some to two digits.
LOOSEST = 0.02


@dataclass(frozen=True)
class Views:
    """Photos and their cameras: pixels (v, h, w, c) as uint8, with c 3, or 4 where photos are transparent.

    Rendered views also have their depths (v, h, w), in the scene's own units; 0 where there is nothing.
    """

    names: list[str]
    pixels: Tensor
    cameras: Cameras
    depths: Tensor | None = None
    # Sentences about what was found in the file of poses.
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def first(self, count: int) -> Views:
        """The first views."""
        some = list(range(min(count, len(self))))
        depths = None if self.depths is None else self.depths[some]
        return Views([self.names[i] for i in some], self.pixels[some], self.cameras.subset(some), depths)

    def digest(self) -> str:
        """What the photos and their cameras are, in a few letters."""
        cameras, digest = self.cameras, hashlib.sha256()
        for tensor in (self.pixels, cameras.poses.float(), cameras.focal, cameras.centre, cameras.distortion):
            digest.update(b"" if tensor is None else tensor.contiguous().numpy().tobytes())
        return digest.hexdigest()[:16]

    def smaller(self, factor: int) -> Views:
        """The photos made `factor` times smaller, by area means."""
        pixels = np.stack([smaller(picture, factor) for picture in self.pixels.numpy()])
        return Views(self.names, torch.from_numpy(pixels), self.cameras.scaled(factor))


def find_transforms(folder: Path) -> dict[str, Path]:
    """The files of poses of a scene's folder, by split; `all` stands for one file without splits.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "transforms_train.json").write_text("{}")
    >>> list(find_transforms(folder))
    ['train']
    """
    found = {split: folder / f"transforms_{split}.json" for split in SPLITS}
    found = {split: path for split, path in found.items() if path.is_file()}
    if not found and (folder / "transforms.json").is_file():
        return {"all": folder / "transforms.json"}
    return found


def read_views(
    folder: Path,
    *,
    splits: Sequence[str] | None = None,
    downscale: int = 1,
    max_pixels: int | None = None,
    skip_missing: bool = False,
) -> dict[str, Views]:
    """The photos of some `splits` of a scene's folder; by default `train` and `test`, or `val` where no test is.

    A file without splits may name them (`train_filenames`, `test_filenames`); otherwise every eighth photo is for
    testing. `max_pixels` bounds the pixels of each photo as it is read, and of all together as they are kept,
    `downscale` times smaller; it is compared with their headers before any is decoded. Photos that do not exist are
    refused, or left out with `skip_missing`.
    """
    most = MOST_TOGETHER if max_pixels is None else max_pixels
    files = find_transforms(folder)
    if not files:
        raise SignalError(
            "it has neither transforms_train.json (Blender) nor transforms.json (nerfstudio): a scene's folder holds "
            "photos and one of these"
        )
    if "train" not in files and "all" not in files:
        raise SignalError("it has no transforms_train.json: there are no photos to fit")
    whole("downscale", downscale)
    found: dict[str, list[Frame]] = {}
    documents: dict[str, Mapping[str, object]] = {}
    for split, path in files.items():
        document = _document(path)
        frames = _frames(document, path, folder)
        if not frames and split in ("train", "all"):
            raise SignalError(f"there are no photos to fit: the list of frames of {path.name} is empty")
        parts = split_frames(document, frames, folder) if split == "all" else {split: frames}
        found.update(parts)
        documents.update(dict.fromkeys(parts, document))
    found = {split: frames for split, frames in found.items() if frames}
    if "train" not in found:
        raise SignalError("there are no photos to fit: all that transforms.json lists are held out")
    check_apart(found, folder)
    wanted = splits or ("train", "test" if "test" in found else "val")
    found = {split: frames for split, frames in found.items() if split in wanted}
    found, missing = _present(found, skip_missing=skip_missing)
    check_pixels([frame for part in found.values() for frame in part], folder, downscale=downscale, most=most)
    views: dict[str, Views] = {}
    for split, frames in found.items():
        pixels, size = load_photos(frames, folder, downscale=downscale, most=most)
        cameras = cameras_of(documents[split], frames, *size).scaled(downscale)
        names = [frame.path.relative_to(folder.resolve()).as_posix() for frame in frames]
        views[split] = Views(names, torch.from_numpy(pixels), cameras, notes=(*missing, *_notes(frames)))
    return views


def _present(splits: Mapping[str, Sequence[Frame]], *, skip_missing: bool) -> tuple[dict[str, list[Frame]], list[str]]:
    """The frames whose photos exist, by split, and a sentence on the others; an error unless `skip_missing`."""
    present = {split: [frame for frame in frames if frame.path.is_file()] for split, frames in splits.items()}
    absent = [frame for frames in splits.values() for frame in frames if not frame.path.is_file()]
    if not absent:
        return present, []
    first, total = absent[0], sum(map(len, splits.values()))
    named = f"{first.where}: the photo {str(first.numbers['file_path'])[:100]!r} does not exist"
    count = f"{len(absent)} of {total} photos {'is' if len(absent) == 1 else 'are'} missing"
    if not skip_missing:
        raise SignalError(
            f"{named} ({count}): add it, or leave out the frames without photos by --skip-missing "
            "(staf.Scene.read(folder, skip_missing=True))"
        )
    if not present.get("train", True):
        raise SignalError(f"there are no photos to fit: {named} ({count})")
    return {split: frames for split, frames in present.items() if frames}, [f"{named} ({count} and left out)"]


def _notes(frames: Sequence[Frame]) -> tuple[str, ...]:
    """Sentences on frames with masks, because what those leave out is fitted too, and on photos listed repeatedly."""
    notes = []
    masked = [frame for frame in frames if frame.numbers.get("mask_path")]
    if masked:
        notes.append(
            f"{len(masked)} of {len(frames)} photos have a mask (mask_path of {masked[0].where}), which is not used: "
            "make what it leaves out transparent in the photos"
        )
    first: dict[Path, Frame] = {}
    repeated = [frame for frame in frames if first.setdefault(frame.path, frame) is not frame]
    if repeated:
        notes.append(
            f"{len(repeated)} of {len(frames)} frames list a photo again ({repeated[0].where} and "
            f"{first[repeated[0].path].where}), which then counts more than others: list each photo once"
        )
    return tuple(notes)


def read_cameras(path: Path, *, height: int, width: int) -> Cameras:
    """The cameras of a transforms.json, whose photos need not exist; pictures have its own `h` and `w`, if any."""
    try:
        if path.is_dir():
            raise SignalError("it is a folder: name a file of poses, such as its transforms.json")
        if not path.is_file():
            raise SignalError("there is no such file")
        document = _document(path)
        frames = _frames(document, path, None)
        if not frames:
            raise SignalError("its list of frames is empty")
        return cameras_of(document, frames, *(picture_size(document, frames) or (height, width)))
    except (OSError, ValueError) as error:
        raise SignalError(f"cannot read cameras from {str(path)!r}: {error}") from error


def _document(path: Path) -> dict[str, object]:
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SignalError(f"{path.name} has {size:,} bytes, more than the {MOST_BYTES:,} that a file of poses may have")
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SignalError(f"{path.name} is not JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("frames"), list):
        raise SignalError(f"{path.name} has no list of frames")
    return document


def _frames(document: Mapping[str, object], path: Path, folder: Path | None) -> list[Frame]:
    """The frames of a document, with the photos that they name in `folder`, if one is given."""
    listed = document["frames"]
    assert isinstance(listed, list)
    if len(listed) > MOST_PHOTOS:
        raise SignalError(f"{path.name} lists {len(listed):,} photos, more than the {MOST_PHOTOS:,} allowed")
    frames = []
    for number, entry in enumerate(listed):
        where = f"frame {number} of {path.name}"
        if not isinstance(entry, dict):
            raise SignalError(f"{where} is no dictionary")
        if folder is not None and not isinstance(entry.get("file_path"), str):
            raise SignalError(f"{where} has no file_path")
        pose = _matrix(entry.get("transform_matrix"), where)
        photo = path if folder is None else _photo_path(entry["file_path"], folder, where)
        frames.append(Frame(photo, pose, entry, where))
    return frames


def _matrix(value: object, where: str) -> np.ndarray:
    if value is None:
        raise SignalError(f"{where} has no transform_matrix")
    try:
        matrix = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    except OverflowError:
        # Digits of JSON make whole numbers of any size.
        matrix = np.full((4, 4), np.inf)
    if matrix.shape not in ((4, 4), (3, 4)):
        found = f"shape {matrix.shape}" if matrix.size else repr(str(value)[:40])
        raise SignalError(f"{where}: transform_matrix must be 4x4 or 3x4 numbers, got {found}")
    beyond = matrix[~(np.abs(matrix) < LARGEST)]
    if len(beyond):
        raise SignalError(
            f"{where}: numbers of transform_matrix must be finite and below {LARGEST:g}, got {beyond[0]:g}"
        )
    if len(matrix) == 4 and not np.allclose(matrix[3], (0, 0, 0, 1), atol=LOOSEST):
        last = ", ".join(f"{value:.3g}" for value in matrix[3])
        raise SignalError(
            f"{where}: the last row of transform_matrix must be 0, 0, 0, 1, got {last}: the position is its last column"
        )
    rotation = matrix[:3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        off, determinant = np.abs(rotation.T @ rotation - np.eye(3)).max(), np.linalg.det(rotation)
    if not off <= LOOSEST or determinant < 0:
        lengths = ", ".join(f"{length:.3g}" for length in np.linalg.norm(rotation, axis=0))
        raise SignalError(
            f"{where}: transform_matrix must be a rotation and a position: its first three columns must be unit "
            f"vectors at right angles with determinant 1, got lengths {lengths} and determinant {determinant:.3g}"
        )
    return matrix[:3]


def _photo_path(name: str, folder: Path, where: str) -> Path:
    """The photo of a frame, with or without its suffix, whether it exists or not; never outside of the folder."""
    root = folder.resolve()
    try:
        # A file that Windows wrote may have backslashes.
        base = (root / name.replace("\\", "/")).resolve()
    except (OSError, ValueError, RuntimeError):
        raise SignalError(f"{where}: file_path is not a path: {name[:100]!r}") from None
    if not base.is_relative_to(root):
        raise SignalError(f"{where}: file_path leaves the scene's folder: {name[:100]!r}")
    suffixes = (*SUFFIXES, *(suffix.upper() for suffix in SUFFIXES))
    candidates = [base, *(base.with_name(base.name + suffix) for suffix in suffixes)]
    # Names whose suffix is written small in one place and large in the other are the same where files were made.
    candidates += [base.with_name(base.stem + change(base.suffix)) for change in (str.lower, str.upper)]
    try:
        found = next((candidate for candidate in candidates if candidate.is_file()), None)
    except OSError as error:
        raise SignalError(f"{where}: cannot look for the photo {name[:100]!r}: {error.strerror}") from None
    return base if found is None else found
