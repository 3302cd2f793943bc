"""Images as experiments use them: by name, from .npy arrays where nothing but numpy is installed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from paper.runner.experiment import Data
from staf.comparison.result_file import array_hash

if TYPE_CHECKING:
    from staf.kinds import Image


@lru_cache(maxsize=4)
def open_image(path: str) -> Image:
    """An image file, opened by what it is; arrays saved by numpy need no image library."""
    from staf.kinds import open as open_signal

    found = open_signal(path)
    if found.kind != "image":
        raise ValueError(f"--images must be images, got {path!r} of kind {found.kind}")
    return found


@lru_cache(maxsize=1024)
def image_data(path: str) -> Data:
    """An image's name and the hash of its pixels: (shape, type, samples), so that PNG and NPY of one image agree."""
    image = open_image(path)
    return Data(image.name, array_hash(image.array))


def named_paths(paths: Iterable[str | Path]) -> dict[str, str]:
    """Each file's name without its suffix -> the file; folders stand for the images in them.

    >>> named_paths(["a/kodim03.png"])
    {'kodim03': 'a/kodim03.png'}
    """
    found: dict[str, str] = {}
    suffixes = {".png", ".npy", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"}
    for entry in map(Path, paths):
        inside = sorted(p for p in entry.iterdir() if p.suffix.lower() in suffixes) if entry.is_dir() else [entry]
        if not inside:
            raise ValueError(f"the folder {str(entry)!r} holds no images")
        for path in inside:
            if path.stem in found:
                raise ValueError(f"images must differ in name, got {found[path.stem]!r} and {str(path)!r}")
            found[path.stem] = str(path)
    return found
