"""Shapes as experiments use them: mesh files, or packed voxels where no mesh library is installed."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paper.data.packed import packed_arrays_of
from paper.runner.experiment import write_arrays

if TYPE_CHECKING:
    from staf.kinds import Shape


def pack(mesh: str, path: str, resolution: int) -> None:
    """Write the voxels of a mesh file as `.npz`, for machines without mesh libraries."""
    pack_shape(open_shape(mesh, resolution), Path(path))


def pack_shape(shape: Shape, path: Path) -> None:
    """Write a shape's voxels as `.npz`."""
    write_arrays(path, packed_arrays(shape))


def packed_arrays(shape: Shape) -> dict[str, np.ndarray]:
    """A shape's voxels, and what is known of their frame, as `open_shape` reads them."""
    metadata = np.frombuffer(json.dumps(shape.metadata()).encode(), np.uint8)
    return {"bits": shape.volume.bits, "metadata": metadata}


@lru_cache(maxsize=4)
def open_shape(path: str, resolution: int) -> Shape:
    """A shape from a mesh file, or from what `pack` wrote, which holds no mesh."""
    from staf.kinds import Shape
    from staf.kinds import open as open_signal
    from staf.kinds.shape.voxels import PackedVolume

    if not path.endswith(".npz"):
        opened = open_signal(path)
        if opened.kind != "shape":
            raise ValueError(f"--shapes must be meshes, got {path!r} of kind {opened.kind}")
        return opened.sampled(resolution)
    file = packed_arrays_of(path, ("metadata", "bits"), "`paper.data.shapes.pack`")
    shape = Shape.from_metadata(json.loads(file["metadata"].tobytes()))
    volume = PackedVolume(shape.frame.shape, file["bits"])
    if shape.resolution != resolution:
        raise ValueError(f"--resolution must be {shape.resolution}, that of {path!r}, got {resolution}")
    # The voxels that a shape computes from its mesh when first asked.
    shape.__dict__["_sampled"] = (volume, shape.frame.offset)
    return shape
