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
    cloud's own frame), history.csv, metrics.json, config.json and report.html. Ctrl-C writes a checkpoint, from which
    --resume continues.
    """

    signed_distance: Flag = False
    """For meshes: fit the signed distance instead of inside and outside. Point clouds are always fitted so."""
    estimate_normals: Flag = False
    """Estimate normals from neighbouring points if the file has none."""
    resolution: Count = None
    """Voxels along each side of the cube in which the mesh is extracted (default: 128)."""

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
    """Extract the surface of a fitted signed distance as a mesh, at any resolution, or draw a picture of it.

    The mesh is in the frame and scale of the point cloud. If --out ends in .png, .tif, .tiff or .webp, a shaded picture
    is drawn; this needs no screen.
    """

    distance: Number = None
    """Extract the surface at this distance instead, in the units of the point cloud; negative is inside."""

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

    FIELD is the file of a field or a run folder.
    """
