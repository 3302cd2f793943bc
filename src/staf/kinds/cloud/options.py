"""What the command line asks about point clouds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from staf._documents import Document
from staf.kinds.options import Count, FitKind, Flag, Number
from staf.kinds.shape.options import Export as ShapeExport
from staf.kinds.shape.options import Render as ShapeRender
from staf.kinds.shape.options import check_resolution

if TYPE_CHECKING:
    from staf.kinds.cloud.signal import PointCloud
    from staf.signals.base import Signal
    from staf.signals.grid import Convention


@dataclass(frozen=True, kw_only=True)
class Fit(FitKind):
    """Fit the signed distance to the surface of a point cloud with normals, by the eikonal equation.

    The folder (runs/NAME-MODEL unless --out names another) gets model.safetensors, reconstruction.ply (a mesh in the
    cloud's own frame), history.csv, metrics.json, config.json and report.html. Ctrl-C leaves a checkpoint there,
    and --resume continues from it.
    """

    signed_distance: Flag = False
    """What is fitted to clouds in any case; to a mesh it is fitted in place of its inside."""
    estimate_normals: Flag = False
    """Find normals from neighbouring points, where the file has none."""
    resolution: Count = None
    """Voxels along each side of the cube in which the mesh is found (128 if not given)."""

    def open(self, path: Path) -> PointCloud:
        check_resolution(self.resolution)
        from staf.kinds import open as open_signal

        cloud: PointCloud = open_signal(path)
        if self.estimate_normals:
            cloud = cloud.with_estimated_normals()
        return cloud if self.resolution is None else cloud.at_resolution(self.resolution)

    def resume_hint(self) -> str | None:
        return (
            "the interrupted fit was started with other points: give the same file, and --estimate-normals and "
            "--resolution as they were then"
        )


@dataclass(frozen=True, kw_only=True)
class Render(ShapeRender):
    """Make a mesh of a fitted signed distance, at any resolution, in the frame and scale of the cloud, or a picture.

    An --out that ends in .png, .tif, .tiff or .webp is a shaded picture, drawn without a screen.
    """

    distance: Number = None
    """Not the surface itself but one at this distance from it, in the cloud's own units; negative is inside."""

    def how(self, out: Path | None) -> Document:
        own = {} if self.distance is None else {"distance": self.distance}
        return {**super().how(out), **own}

    def ending(self, signal: Signal, how: Document, convention: Convention) -> str:
        from staf.kinds.cloud.signal import PointCloud

        assert isinstance(signal, PointCloud)
        return f"-{self.resolution or signal.resolution}.ply"


@dataclass(frozen=True, kw_only=True)
class Export(ShapeExport):
    """Write the surface of a fitted signed distance as PLY, OBJ, STL, GLB or OFF, in the frame of the cloud.

    FIELD is the file of a field, or the folder of a run.
    """
