"""The surface of a fitted shape in a small file, measured later on a machine that has the mesh and mesh libraries.

    python -m paper.measures.shape_surfaces results/shapes armadillo.ply lucy.ply

fills Chamfer distance and normal consistency into result files that a machine with torch and numpy alone has written.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paper.runner.result import RunResult, load_results, write_result

if TYPE_CHECKING:
    from staf.kinds import Shape
    from staf.kinds.shape.mesh import Mesh

LEVELS = 65535
# A field with more voxels at its surface is noise, and its file would be as large as the volume.
MOST_NEAR = 4_000_000


def kept_surface(values: np.ndarray) -> dict[str, np.ndarray]:
    """What marching cubes at 1/2 needs of a field (a, b, c) clamped to [0, 1]: signs, and values beside the surface.

    `inside` has one bit a voxel, and `near` the values, in 16 bits, of the voxels with one of the other kind next to
    them, diagonals included, in C order. Nothing is kept of noise.

    >>> values = np.zeros((4, 4, 4), np.float32)
    >>> values[1:3, 1:3, 1:3] = 0.75
    >>> kept = kept_surface(values)
    >>> bool(np.abs(surface_values(kept) - values).max() < 1e-4)
    True
    """
    from staf.kinds.shape.voxels import PackedVolume

    volume = PackedVolume.pack(values > 0.5)
    index = volume.near_surface(1)
    if len(index) > MOST_NEAR:
        return {}
    near = np.rint(np.clip(values.ravel()[index], 0, 1) * LEVELS).astype(np.uint16)
    return {"grid": np.array(values.shape), "inside": volume.bits, "near": near}


def surface_values(kept: Mapping[str, np.ndarray]) -> np.ndarray:
    """A field (a, b, c) with the surface of the one that was kept: 0 and 1 away from it."""
    from staf.kinds.shape.voxels import PackedVolume

    a, b, c = (int(size) for size in kept["grid"])
    volume = PackedVolume((a, b, c), kept["inside"])
    values = volume.array().ravel().astype(np.float32)
    values[volume.near_surface(1)] = kept["near"].astype(np.float32) / LEVELS
    return values.reshape(a, b, c)


def mesh_of(kept: Mapping[str, np.ndarray], shape: Shape) -> Mesh | None:
    """The kept surface in the frame of the shape's mesh; None where the field has none."""
    from staf.kinds.shape.marching import march
    from staf.kinds.shape.mesh import Mesh

    found = march(surface_values(kept)) if kept else None
    return None if found is None else Mesh(shape.frame.from_index(found.vertices), found.faces)


def measured(kept: Mapping[str, np.ndarray], shape: Shape) -> dict[str, float]:
    """Chamfer distance and normal consistency to the shape's mesh in the cube; infinity and 0 without a surface."""
    from staf.kinds.shape.measures import surface_measures
    from staf.kinds.shape.mesh import Mesh

    mesh = mesh_of(kept, shape)
    if mesh is None:
        return {"chamfer": math.inf, "normal_consistency": 0.0}
    frame = shape.frame
    own, target = (Mesh(frame.to_cube(m.vertices), m.faces) for m in (mesh, shape.mesh))
    return surface_measures(own, target)


def fill(folder: Path, meshes: Sequence[str]) -> list[RunResult]:
    """Measure the kept surfaces of the results in `folder` that have no measures yet, and write them back.

    Results whose arrays are not there, because they were left on the machine that ran them, stay as they are.
    """
    from paper.data.images import named_paths
    from paper.data.shapes import open_shape

    paths = named_paths(meshes)
    filled = []
    for result in load_results(folder, "shapes"):
        name = str(result.configuration["shape"])
        here = all((result.path.parent / file).exists() for file in result.document["arrays"])
        if "chamfer" in result.metrics or name not in paths or not here:
            continue
        shape = open_shape(paths[name], int(result.configuration["resolution"]))
        kept = {key: array for key, array in result.arrays().items() if key in ("grid", "inside", "near")}
        metrics = {**result.document["metrics"], **measured(kept, shape)}
        filled.append(write_result(result.path, {**result.document, "metrics": metrics}))
    return filled


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0."""
    parser = argparse.ArgumentParser(prog="python -m paper.measures.shape_surfaces", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("meshes", nargs="+", metavar="MESH")
    arguments = parser.parse_args(argv)
    for result in fill(arguments.folder, arguments.meshes):
        print(f"{result.document['label']}: Chamfer {result.metrics['chamfer']:.3g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
