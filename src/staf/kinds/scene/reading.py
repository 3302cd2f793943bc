"""Posed photos from a folder: Blender's transforms_train.json and nerfstudio's transforms.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from staf.kinds.scene.cameras import Cameras
from staf.kinds.scene.intrinsics import Frame, cameras_of
from staf.signals.errors import SignalError

SPLITS = ("train", "val", "test")
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")
# A file of poses is text of a few hundred bytes a photo.
MOST_BYTES = 2**26
MOST_PHOTOS = 100_000
# Every photo of a nerfstudio scene that this divides is kept for testing where the file names no split.
HELD_OUT_EVERY = 8


@dataclass(frozen=True)
class Views:
    """Photos and their cameras: pixels (v, h, w, c) as uint8, with c 3, or 4 where photos are transparent.

    Rendered views also have their depths (v, h, w), in the scene's own units; 0 where there is nothing.
    """

    names: list[str]
    pixels: Tensor
    cameras: Cameras
    depths: Tensor | None = None

    def __len__(self) -> int:
        return len(self.names)

    def first(self, count: int) -> Views:
        """The first views."""
        some = list(range(min(count, len(self))))
        depths = None if self.depths is None else self.depths[some]
        return Views([self.names[i] for i in some], self.pixels[some], self.cameras.subset(some), depths)

    def smaller(self, factor: int) -> Views:
        """The photos made `factor` times smaller, by area means."""
        pixels = np.stack([_smaller(picture, factor) for picture in self.pixels.numpy()])
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


def read_views(folder: Path, *, downscale: int = 1, max_pixels: int = 400_000_000) -> dict[str, Views]:
    """The photos of each split of a scene's folder.

    A file without splits may name them (`train_filenames`, `test_filenames`); otherwise every eighth photo is for
    testing. `max_pixels` bounds the pixels of all photos together, as read, before any is decoded.
    """
    files = find_transforms(folder)
    if not files:
        raise SignalError(
            "it has neither transforms_train.json (Blender) nor transforms.json (nerfstudio): a scene's folder holds "
            "photos and one of these"
        )
    if "train" not in files and "all" not in files:
        raise SignalError("it has no transforms_train.json: there are no photos to fit")
    if downscale < 1:
        raise SignalError(f"downscale must be a whole number of at least 1, got {downscale}")
    splits: dict[str, tuple[Mapping[str, object], list[Frame]]] = {}
    for split, path in files.items():
        document = _document(path)
        frames = _frames(document, path, folder)
        if split == "all":
            for name, part in _split(document, frames).items():
                splits[name] = (document, part)
        else:
            splits[split] = (document, frames)
    left = max_pixels
    views: dict[str, Views] = {}
    for split, (described, listed) in splits.items():
        if listed:
            views[split], left = _load(described, listed, folder, downscale, left)
    return views


def read_cameras(path: Path, *, height: int, width: int) -> Cameras:
    """The cameras of a transforms.json, whose photos need not exist; pictures have its own `h` and `w`, if any."""
    try:
        if not path.is_file():
            raise SignalError("there is no such file")
        document = _document(path)
        frames = _frames(document, path, None)
        if not frames:
            raise SignalError("its list of frames is empty")
        high, wide = document.get("h"), document.get("w")
        if isinstance(high, (int, float)) and isinstance(wide, (int, float)) and min(high, wide) >= 1:
            height, width = int(high), int(wide)
        return cameras_of(document, frames, height, width)
    except (OSError, ValueError) as error:
        raise SignalError(f"cannot read cameras from {str(path)!r}: {error}") from error


def bounds(folder: Path, cameras: Cameras) -> tuple[Tensor, float]:
    """Centre and half side of the box that holds a scene, in its own units.

    Blender's synthetic scenes lie within 1.5 of the origin. Of other scenes the box is around the point that the
    cameras look at, and reaches half-way to the nearer ones of them (their first quartile).
    """
    from staf.kinds.scene.cameras import nearest_to_axes

    if "train" in find_transforms(folder):
        return torch.zeros(3), 1.5
    centre = nearest_to_axes(cameras)
    distances = (cameras.positions - centre).norm(dim=1)
    return centre, max(1e-6, float(distances.quantile(0.25)) / 2)


def _document(path: Path) -> dict[str, object]:
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SignalError(f"{path.name} has {size:,} bytes, more than the {MOST_BYTES:,} that a file of poses may have")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
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
        frames.append(Frame(photo, pose, entry))
    return frames


def _matrix(value: object, where: str) -> np.ndarray:
    try:
        matrix = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.shape not in ((4, 4), (3, 4)):
        raise SignalError(f"{where}: transform_matrix must be 4x4 or 3x4 numbers, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise SignalError(f"{where}: transform_matrix must be finite")
    if abs(np.linalg.det(matrix[:3, :3])) < 1e-9:
        raise SignalError(f"{where}: transform_matrix must be a rotation and a position; its rotation is singular")
    return matrix[:3]


def _photo_path(name: str, folder: Path, where: str) -> Path:
    """The photo of a frame, with or without its suffix; never outside of the scene's folder."""
    root = folder.resolve()
    try:
        base = (root / name).resolve()
    except (OSError, ValueError, RuntimeError):
        raise SignalError(f"{where}: file_path is not a path: {name[:100]!r}") from None
    if not base.is_relative_to(root):
        raise SignalError(f"{where}: file_path leaves the scene's folder: {name[:100]!r}")
    candidates = [base, *(base.with_name(base.name + suffix) for suffix in SUFFIXES)]
    found = next((candidate for candidate in candidates if candidate.is_file()), None)
    if found is None:
        raise SignalError(f"{where}: the photo {name[:100]!r} does not exist")
    return found


def _split(document: Mapping[str, object], frames: Sequence[Frame]) -> dict[str, list[Frame]]:
    parts: dict[str, list[Frame]] = {}
    for split in SPLITS:
        listed = document.get(f"{split}_filenames")
        if isinstance(listed, list):
            names = {Path(str(name)).name for name in listed}
            parts[split] = [frame for frame in frames if frame.path.name in names]
    if parts.get("train"):
        return parts
    if len(frames) < HELD_OUT_EVERY:
        return {"train": list(frames)}
    return {
        "train": [frame for i, frame in enumerate(frames) if i % HELD_OUT_EVERY],
        "test": [frame for i, frame in enumerate(frames) if i % HELD_OUT_EVERY == 0],
    }


def _load(
    document: Mapping[str, object], frames: Sequence[Frame], folder: Path, downscale: int, most: int
) -> tuple[Views, int]:
    """The photos of one split, all of one size, and how many pixels may still be read."""
    from staf.kinds.image.signal import Image
    from staf.kinds.opening import open as open_signal

    pictures: list[np.ndarray] = []
    for frame in frames:
        photo = open_signal(frame.path, max_pixels=max(1, most))
        if not isinstance(photo, Image):
            raise SignalError(f"{frame.path.name} is no photo")
        most -= photo.height * photo.width
        pictures.append(_eight_bits(photo.array))
        if pictures[-1].shape != pictures[0].shape:
            raise SignalError(
                f"photos of a scene must have the same size and channels: {frames[0].path.name} is "
                f"{_shape(pictures[0])}, {frame.path.name} is {_shape(pictures[-1])}"
            )
    pixels = torch.from_numpy(np.stack([_smaller(picture, downscale) for picture in pictures]))
    cameras = cameras_of(document, frames, *pictures[0].shape[:2])
    names = [frame.path.relative_to(folder.resolve()).as_posix() for frame in frames]
    return Views(names, pixels, cameras.scaled(downscale)), most


def _eight_bits(array: np.ndarray) -> np.ndarray:
    """Pixels (h, w, 3 or 4) as uint8; grey becomes colour."""
    if array.dtype == np.uint16:
        array = ((array.astype(np.uint32) * 255 + 32767) // 65535).astype(np.uint8)
    elif array.dtype.kind == "f":
        array = np.rint(np.clip(array, 0, 1) * 255).astype(np.uint8)
    channels = array.shape[2]
    if channels < 3:
        colour = np.repeat(array[..., :1], 3, axis=2)
        return colour if channels == 1 else np.concatenate([colour, array[..., 1:]], axis=2)
    return array


def _smaller(picture: np.ndarray, factor: int) -> np.ndarray:
    """Area means of factor x factor pixels; colour counts as much as it covers."""
    if factor == 1:
        return picture
    height, width = picture.shape[0] // factor, picture.shape[1] // factor
    if height < 1 or width < 1:
        raise SignalError(f"downscale {factor} leaves no pixel of a photo of {_shape(picture)}")
    blocks = picture[: height * factor, : width * factor].reshape(height, factor, width, factor, -1).astype(np.float32)
    if picture.shape[2] == 3:
        return np.rint(blocks.mean((1, 3))).astype(np.uint8)
    cover = blocks[..., 3:]
    total = cover.sum((1, 3))
    colour = (blocks[..., :3] * cover).sum((1, 3)) / np.maximum(total, 1e-6)
    return np.rint(np.concatenate([colour, total / factor**2], -1)).astype(np.uint8)


def _shape(picture: np.ndarray) -> str:
    return f"{picture.shape[1]}x{picture.shape[0]} with {picture.shape[2]} channels"
