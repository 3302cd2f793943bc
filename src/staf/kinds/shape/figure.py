"""Reconstructed surfaces beside their target: shaded, magnified where they differ, and painted by their error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from staf._documents import Document
from staf._extras import need
from staf.figures.comparison import busiest_box
from staf.figures.style import bare, new_figure
from staf.kinds.shape.measures import distances
from staf.kinds.shape.mesh import Mesh
from staf.kinds.shape.picture import camera_of, draw, look, magnification, paint
from staf.kinds.shape.signal import Shape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN_INCHES = 2.9
PIXELS = 560
ZOOM = 4.0
# Light where the surface is right, so that errors stand out on a shaded shape.
ERRORS = "YlOrRd"


class Viewpoint(NamedTuple):
    """Where a shape is looked at from: degrees around its `up` axis and above its horizon."""

    azimuth: float = 30.0
    elevation: float = 15.0
    up: str = "y"


def shape_comparison(
    target: Shape, reconstructions: Mapping[str, Shape], *, view: Viewpoint | None = None, pixels: int = PIXELS
) -> Figure:
    """One column for the target and one for each reconstruction (title -> shape), all in the target's frame.

    The rows are the whole shape, the part where the shaded pictures differ most, magnified 4 times, and the distance
    of every point of the reconstruction to the target's surface, in voxels of the target's grid, on one scale up to
    its 99th percentile.

    >>> ball = Shape.sphere(subdivisions=2, resolution=16)
    >>> len(shape_comparison(ball, {"voxels": ball.voxel_surface()}, pixels=48).axes)
    7
    """
    if not reconstructions:
        raise ValueError("reconstructions must hold at least one shape, got none")
    view = view or Viewpoint()
    bounds = target.mesh.bounds
    how: Document = {**view._asdict(), "size": pixels, "bounds": bounds}
    shapes = [("target", target), *reconstructions.items()]
    seen = [look(shape.mesh, **how) for _, shape in shapes]
    whole = [_on_white(paint(shape.mesh, each)) for (_, shape), each in zip(shapes, seen, strict=True)]
    how_close = {**how, "zoom": ZOOM, "look_at": _where_different(whole, bounds, view)}
    voxel = 2 * target.frame.half / target.resolution
    errors = [distances(shape.mesh.vertices, target.mesh)[0] / voxel for shape in reconstructions.values()]
    top = max(max(float(np.quantile(error, 0.99)) for error in errors), 1e-3)

    need("plot", "matplotlib")
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    palette = colormaps[ERRORS]
    columns = len(reconstructions) + 1
    figure = new_figure(COLUMN_INCHES * columns, COLUMN_INCHES * 3 + 0.7)
    grid = figure.subplots(3, columns, squeeze=False)
    for axes in grid.flat:
        bare(axes)
    for column, (title, shape) in enumerate(shapes):
        grid[0, column].imshow(whole[column])
        grid[0, column].set_title(title, fontsize=10)
        grid[1, column].imshow(_on_white(draw(shape.mesh, **how_close)))
        if column:
            painted = palette(np.clip(errors[column - 1] / top, 0, 1))[:, :3]
            grid[2, column].imshow(_on_white(paint(shape.mesh, seen[column], painted)))
    grid[2, 0].set_visible(False)
    scale = ScalarMappable(Normalize(0, top), palette)
    figure.colorbar(scale, ax=list(grid[2]), location="bottom", label="distance, voxels", shrink=0.5, extend="max")
    return figure


def shape_picture(mesh: Mesh, *, view: Viewpoint | None = None, pixels: int = PIXELS) -> np.ndarray:
    """The mesh on white, uint8 (pixels, pixels, 3).

    >>> shape_picture(Shape.sphere(subdivisions=1).mesh, pixels=16).shape
    (16, 16, 3)
    """
    return _on_white(draw(mesh, size=pixels, **(view or Viewpoint())._asdict()))


def _on_white(picture: np.ndarray) -> np.ndarray:
    share = picture[..., 3:] / 255
    return np.rint(picture[..., :3] * share + 255 * (1 - share)).astype(np.uint8)


def _where_different(pictures: list[np.ndarray], bounds: tuple[np.ndarray, np.ndarray], view: Viewpoint) -> np.ndarray:
    """The point, in the plane through the middle of the box, where the pictures differ most from the first."""
    first = pictures[0].astype(np.float32)
    difference = np.mean([np.abs(picture - first).mean(-1) for picture in pictures[1:]], axis=0)
    rows, columns = busiest_box(difference, share=1 / ZOOM)
    camera = camera_of(*view)
    width = 1 / magnification(*bounds, camera)
    size = len(first)
    right = ((columns.start + columns.stop) / 2 / size - 0.5) * width
    up = (0.5 - (rows.start + rows.stop) / 2 / size) * width
    return (bounds[0] + bounds[1]) / 2 + right * camera[0] + up * camera[1]
