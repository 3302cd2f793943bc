"""Draw docs/img/shapes.png: a knot, its voxels, and a field fitted to them. `python docs/make_shapes.py`, a minute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import staf
from staf.kinds.shape.figure import Viewpoint, shape_comparison

VOXELS = 64


def knot(around: int = 480, across: int = 48) -> staf.Shape:
    """A tube along the trefoil knot, with ridges that wind around it."""
    t = 2 * np.pi * np.arange(around)[:, None] / around
    angle = 2 * np.pi * np.arange(across)[None] / across
    curve = lambda t: np.concatenate([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], 1)  # noqa: E731
    along = curve(t + 1e-4) - curve(t - 1e-4)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    side = np.cross(along, curve(t))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    radius = 0.52 + 0.045 * np.cos(6 * angle + 24 * t)
    ring = np.cos(angle)[..., None] * side[:, None] + np.sin(angle)[..., None] * np.cross(along, side)[:, None]
    vertices = (curve(t)[:, None] + radius[..., None] * ring).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    name = lambda i, j: (i % around) * across + j % across  # noqa: E731
    p, q, r, s = (corner.ravel() for corner in (name(i, j), name(i + 1, j), name(i + 1, j + 1), name(i, j + 1)))
    faces = np.concatenate([np.stack([p, q, r], 1), np.stack([p, r, s], 1)])
    return staf.Shape.from_arrays(vertices, faces, resolution=VOXELS, name="knot")


def main() -> None:
    shape = knot()
    field = staf.staf(3, 1, width=96, depth=3, omega0=30.0, generator=torch.Generator().manual_seed(0))
    fit = staf.fit(shape, field, staf.recipes.default(steps=500, batch=8192).replace(rate=1.5e-3, matrix_rate=1.5e-3))
    voxels, fitted = shape.voxel_surface(), fit.render(resolution=3 * VOXELS)
    columns = {f"{VOXELS} voxels a side": voxels, f"STAF fitted to them, IoU {fit.metrics['iou']:.4f}": fitted}
    figure = shape_comparison(shape, columns, view=Viewpoint(azimuth=0, elevation=60))
    figure.savefig(Path(__file__).parent / "img" / "shapes.png", dpi=100)


if __name__ == "__main__":
    main()
