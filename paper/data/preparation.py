"""What the paper does to images before they are fitted: crops, and area means to its sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paper.data.sources import Source, open_source, write_stack
from staf._jsonable import digest

# Brightness, by BT.601.
GREY = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class Preparation:
    """A centre crop to `crop` (height, width), then area means to `size`, or to 1/`divide` of the sides; `grey` first.

    Images that already have the size are left alone, and so are those too small to be cropped: a quick run's.

    >>> Preparation(crop=(512, 512), size=(256, 256))(np.zeros((512, 768, 3), np.uint8)).shape
    (256, 256, 3)
    >>> Preparation(divide=4)(np.zeros((1356, 2040, 3), np.uint8)).shape
    (339, 510, 3)
    """

    crop: tuple[int, int] | None = None
    size: tuple[int, int] | None = None
    divide: int = 1
    grey: bool = False
    # Sides that are long enough to be divided; smaller images are as they should be.
    divide_from: int = 1024

    @property
    def changes(self) -> bool:
        return self.crop is not None or self.size is not None or self.divide > 1 or self.grey

    def __call__(self, array: np.ndarray) -> np.ndarray:
        if self.grey and array.ndim == 3 and array.shape[2] == 3:
            array = np.rint(array @ GREY).astype(array.dtype)[..., None]
        if self.size is not None and array.shape[:2] == self.size:
            return array
        if self.crop is not None and all(have >= want for have, want in zip(array.shape, self.crop, strict=False)):
            top, left = ((have - want) // 2 for have, want in zip(array.shape, self.crop, strict=False))
            array = array[top : top + self.crop[0], left : left + self.crop[1]]
        if self.size is not None and all(have > want for have, want in zip(array.shape, self.size, strict=False)):
            return area_means(array, self.size)
        if self.divide > 1 and max(array.shape[:2]) >= self.divide_from:
            return area_means(array, (array.shape[0] // self.divide, array.shape[1] // self.divide))
        return array


def area_means(array: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The image at `size` (height, width), each pixel the mean over the area it covers, in the array's own type.

    >>> area_means(np.array([[0, 2, 4, 6]], np.uint8), (1, 2)).tolist()
    [[1, 5]]
    """
    values = array.astype(np.float64)
    for axis, count in enumerate(size):
        values = np.moveaxis(_along_first(np.moveaxis(values, axis, 0), count), 0, axis)
    if np.issubdtype(array.dtype, np.integer):
        # Half a level up, not to even: the mean of 0 and 1 is 1. The last bits of a sum do not decide that.
        values = np.floor(values + 0.5 + 1e-9)
    return values.astype(array.dtype)


def _along_first(values: np.ndarray, count: int) -> np.ndarray:
    """Means over `count` equal parts of the first axis, whose ends may lie within samples."""
    length = len(values)
    edges = np.linspace(0, length, count + 1)
    first, total = np.floor(edges[:-1]).astype(int), np.zeros((count, *values.shape[1:]))
    # The samples that a part touches, one after another: no product of matrices, whose threads would disturb training.
    for sample in (first + step for step in range(math.ceil(length / count) + 1)):
        overlap = np.minimum(edges[1:], sample + 1) - np.maximum(edges[:-1], sample)
        share = (np.maximum(overlap, 0) * count / length).reshape(-1, *[1] * (values.ndim - 1))
        total += share * values[np.minimum(sample, length - 1)]
    return total


def prepared(sources: Mapping[str, Source], preparation: Preparation, folder: Path) -> dict[str, Source]:
    """The images as the paper fits them; those that change are written to `folder`, as stacks by shape."""
    if not preparation.changes:
        return dict(sources)
    found: dict[str, Source] = {}
    changed: dict[tuple[int, ...], dict[str, np.ndarray]] = {}
    for name, source in sources.items():
        array = open_source(source, name).array
        new = preparation(array)
        if new is array:
            found[name] = source
        else:
            changed.setdefault(new.shape, {})[name] = new
    for shape, arrays in changed.items():
        path = folder / f"{'x'.join(map(str, shape))}-{digest(list(arrays))[:12]}.npy"
        folder.mkdir(parents=True, exist_ok=True)
        write_stack(path, arrays)
        found |= {name: Source(str(path), index) for index, name in enumerate(arrays)}
    return {name: found[name] for name in sources}
