"""The surfaces of fitted shapes beside that of their voxels (Figure "3D shape representation comparison")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper.data.shapes import open_shape
from paper.measures.shape_surfaces import mesh_of
from paper.runner.result import RunResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from staf.kinds import Shape

# How the file of a shape's voxels, which its results share, begins.
VOXELS = "voxels-"
# Where a scan is seen from the front; others from the usual place.
VIEWS: dict[str, dict[str, Any]] = {
    "armadillo": {"azimuth": 160}, "bunny": {"azimuth": 0}, "lucy": {"azimuth": 0, "up": "z"},
}  # fmt: skip
# The scans of the paper's table, by how their files begin in the repository they come from.
SCANS = {"armadillo": "armadillo", "dragon": "dragon", "lucy": "lucy", "thai": "thai", "xyzrgb_statuette": "thai"}
MOST_SURFACES = 6
PIXELS = 300


def scan_of(name: str) -> str:
    """The scan that a file's name begins with, or the name itself.

    >>> [scan_of(name) for name in ("dragon_vrip", "xyzrgb_statuette", "Lucy", "bunny")]
    ['dragon', 'thai', 'lucy', 'bunny']
    """
    return next((scan for start, scan in SCANS.items() if name.lower().startswith(start)), name)


def surface_figures(results: Sequence[RunResult]) -> Iterator[tuple[str, Figure]]:
    """A figure for each shape and resolution whose fits have surfaces: the first run of each network and protocol.

    The best IoU is first. Nothing is drawn without the libraries of `pip install 'staf[shape,plot]'`.
    """
    from staf._extras import MissingExtra
    from staf.kinds.shape.figure import Viewpoint, shape_comparison

    groups: dict[tuple[str, int], dict[tuple[str, str], RunResult]] = {}
    for result in results:
        c = result.configuration
        rows = groups.setdefault((str(c["shape"]), int(c["resolution"])), {})
        rows.setdefault((str(c["model"]), str(c["protocol"])), result)
    several = len({resolution for _, resolution in groups}) > 1
    for (name, resolution), rows in groups.items():
        best = sorted(rows.values(), key=lambda result: -result.metrics["iou"])
        try:
            target, columns = surfaces_of(best)
            if columns:
                view = Viewpoint(**VIEWS.get(scan_of(name), {}))
                title = f"{name}-{resolution}" if several else name
                yield title, shape_comparison(target, columns, view=view, pixels=PIXELS)
        except MissingExtra:
            return


def surfaces_of(results: Sequence[RunResult]) -> tuple[Any, dict[str, Shape]]:
    """The surface of the voxels of one shape, and those of the first fits that have one, by title."""
    target: Shape | None = None
    columns: dict[str, Shape] = {}
    for result in results:
        voxels = voxels_of(result)
        if voxels is None or len(columns) == MOST_SURFACES:
            continue
        shape = open_shape(str(voxels), int(result.configuration["resolution"]))
        mesh = mesh_of(result.arrays(), shape)
        if mesh is not None:
            target = target or shape.voxel_surface()
            title = f"{result.configuration['model']}, {result.configuration['protocol']}"
            columns[f"{title}\nIoU {result.metrics['iou']:.4f}"] = shape.with_mesh(mesh)
    return target, columns


def voxels_of(result: RunResult) -> Path | None:
    """The file of a result's voxels; None for results of earlier versions, and where it was left on another machine."""
    names = [str(name) for name in result.document["arrays"] if str(name).startswith(VOXELS)]
    found = [result.path.parent / name for name in names]
    return found[0] if found and found[0].exists() else None
