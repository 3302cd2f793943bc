"""Which photos of a scene are fitted, and which are held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from staf.kinds.scene.intrinsics import Frame
from staf.signals.errors import SignalError

SPLITS = ("train", "val", "test")
# Every photo of a nerfstudio scene that this divides is kept for testing where the file names no split.
HELD_OUT_EVERY = 8


def split_frames(document: Mapping[str, object], frames: Sequence[Frame], folder: Path) -> dict[str, list[Frame]]:
    """Frames by split, as `train_filenames` and the like name them; otherwise every eighth is for testing.

    Without `train_filenames`, what no other list names is for training.
    """
    lists = {split: document.get(f"{split}_filenames") for split in SPLITS}
    parts = {split: _named(f"{split}_filenames", names, frames, folder) for split, names in lists.items() if names}
    if parts:
        taken = {frame.path for part in parts.values() for frame in part}
        return {"train": [frame for frame in frames if frame.path not in taken], **parts}
    if len(frames) < HELD_OUT_EVERY:
        return {"train": list(frames)}
    return {
        "train": [frame for i, frame in enumerate(frames) if i % HELD_OUT_EVERY],
        "test": [frame for i, frame in enumerate(frames) if i % HELD_OUT_EVERY == 0],
    }


def check_apart(splits: Mapping[str, Sequence[Frame]], folder: Path) -> None:
    """Refuse a photo that is fitted and held out at once, or that has two poses."""
    fitted: dict[Path, Frame] = {}
    for frame in splits.get("train", ()):
        other = fitted.setdefault(frame.path, frame)
        if not np.array_equal(other.pose, frame.pose):
            name = frame.path.relative_to(folder.resolve()).as_posix()
            raise SignalError(
                f"{frame.where}: the photo {name!r} has another transform_matrix in {other.where}: one of them is wrong"
            )
    for split, frames in splits.items():
        both = next((frame for frame in frames if split != "train" and frame.path in fitted), None)
        if both is not None:
            name = both.path.relative_to(folder.resolve()).as_posix()
            raise SignalError(
                f"the photo {name!r} is in two splits, train ({fitted[both.path].where}) and {split} ({both.where}): "
                "it cannot be fitted and held out at once, so leave one of them out"
            )


def _named(what: str, names: object, frames: Sequence[Frame], folder: Path) -> list[Frame]:
    """The frames that a list names by paths in the folder, with or without suffix."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SignalError(f"{what} must be a list of file names, got {str(names)[:40]!r}")
    wanted = {_resolved(folder, name): name for name in names}
    known = [_names(frame, folder) for frame in frames]
    found = [frame for frame, own in zip(frames, known, strict=True) if not own.isdisjoint(wanted)]
    every = set().union(*known)
    strange = [name for path, name in wanted.items() if path not in every]
    if strange:
        raise SignalError(
            f"{what} has {len(strange)} of {len(names)} names that no frame has as file_path, such as "
            f"{strange[0][:100]!r}: write them as file_path is written"
        )
    return found


def _names(frame: Frame, folder: Path) -> set[Path | None]:
    """Paths by which a list may name a photo: its own, with or without suffix, and as its frame writes it."""
    return {frame.path, frame.path.with_suffix(""), _resolved(folder, str(frame.numbers["file_path"]))}


def _resolved(folder: Path, name: str) -> Path | None:
    try:
        return (folder / name.replace("\\", "/")).resolve()
    except (OSError, ValueError, RuntimeError):
        return None
