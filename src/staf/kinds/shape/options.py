"""What the command line asks about shapes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

from staf._documents import Document
from staf.kinds.options import Count, ExportKind, FitKind, Flag, Number, RenderKind
from staf.signals.errors import SignalError

if TYPE_CHECKING:
    from staf.kinds.shape.signal import Shape
    from staf.signals.base import Signal
    from staf.signals.grid import Convention
    from staf.training.task import Task

# Formats of a shape's picture, which is transparent around the shape.
PICTURES = (".png", ".tif", ".tiff", ".webp")


@dataclass(frozen=True, kw_only=True)
class Fit(FitKind):
    """Fit a field to the inside of a watertight mesh.

    The folder (runs/NAME-MODEL unless --out names another) gets model.safetensors, reconstruction.ply, history.csv,
    metrics.json, config.json and report.html. Ctrl-C stops the training and writes the fit so far and
    a checkpoint, from which --resume continues; a second Ctrl-C exits at once.
    """

    resolution: Count = None
    """Number of voxels along the longest side (default: 256)."""
    repair: Flag = False
    """Weld seams, drop repeated faces and close holes before the fit."""
    allow_open: Flag = False
    """Use a surface with holes unchanged; its winding number decides what is inside."""
    near_surface: Annotated[float | None, arg(metavar="SHARE", help_behavior_hint="")] = None
    """Share of the fitted voxels that lie near the surface, between 0 and 1; metrics include all voxels."""
    band: Count = None
    """With --near-surface: the largest distance from the surface, in voxels (default: 2)."""
    signed_distance: Flag = False
    """Fit the signed distance to 100,000 points on the mesh, by the eikonal equation, instead of inside and outside."""

    def open(self, path: Path) -> Shape:
        if self.near_surface is None and self.band is not None:
            raise SignalError("--band is how far --near-surface reaches: give both")
        from staf.kinds import open as open_signal

        shape: Shape = open_signal(path)
        try:
            shape = shape.repaired() if self.repair else shape
            return shape.sampled(self.resolution, allow_open=self.allow_open)
        except ValueError as error:
            raise SignalError(str(error)) from error

    def problem(self, signal: Signal, seed: int) -> tuple[Signal | Task, str | None]:
        """The shape itself, or the task that prefers voxels near its surface, and a sentence about it."""
        if self.signed_distance:
            return self._signed_distance(signal, seed)
        if self.near_surface is None:
            return signal, None
        import torch

        from staf.kinds.shape.signal import Shape
        from staf.kinds.shape.task import Occupancy

        assert isinstance(signal, Shape)
        band = 2 if self.band is None else self.band
        generator = torch.Generator().manual_seed(seed)
        task = Occupancy(signal, near_surface=self.near_surface, band=band, generator=generator)
        said = f"{task.points:,} of {signal.points:,} voxels are fitted: all within {band} of the surface, "
        said += "others by chance"
        if task.points == signal.points:
            said = f"all voxels are fitted: {self.near_surface:g} of them or more are within {band} of the surface"
        return task, said + "; measures see every voxel"

    def _signed_distance(self, signal: Signal, seed: int) -> tuple[Task, str]:
        from staf.kinds.cloud.signal import PointCloud
        from staf.kinds.cloud.task import SignedDistance
        from staf.kinds.shape.signal import Shape

        if self.near_surface is not None:
            raise SignalError("--near-surface is of voxels, which --signed-distance has none of: give one of them")
        assert isinstance(signal, Shape)
        truth = signal if signal.watertight or signal.allow_open else None
        chosen = {} if self.resolution is None else {"resolution": self.resolution}
        cloud = PointCloud.sampled(signal, seed=seed, **chosen)
        said = f"the signed distance is fitted to {cloud.count:,} points on the mesh"
        return SignedDistance(cloud, truth=truth, seed=seed), said

    def resume_hint(self) -> str | None:
        return (
            "the interrupted fit was started with other voxels: give the same mesh, and --near-surface, --band, "
            "--resolution, --repair and --allow-open as they were then"
        )


@dataclass(frozen=True, kw_only=True)
class Render(RenderKind):
    """Extract the surface of a fitted shape as a mesh, at any resolution, or draw a picture of it.

    The mesh is in the frame and scale of the original. If --out ends in .png, .tif, .tiff or .webp, a shaded picture is
    drawn; this needs no screen.
    """

    resolution: Count = None
    """Number of voxels along the longest side (default: as in the fit)."""
    pixels: Count = None
    """For a picture: its side in pixels (default: 512)."""
    azimuth: Number = None
    """For a picture: the viewing angle around the upward axis, in degrees (default: 30)."""
    elevation: Number = None
    """For a picture: the viewing angle from above, in degrees (default: 15)."""
    up: Annotated[Literal["x", "y", "z"] | None, arg(metavar="{x,y,z}", help_behavior_hint="")] = None
    """For a picture: the upward axis (default: y)."""

    def how(self, out: Path | None) -> Document:
        check_resolution(self.resolution)
        if self.pixels is not None and self.pixels < 8:
            raise SignalError(f"--pixels must be at least 8, got {self.pixels}")
        named = {"size": self.pixels, "azimuth": self.azimuth, "elevation": self.elevation, "up": self.up}
        camera = {name: value for name, value in named.items() if value is not None}
        if camera and (out is None or out.suffix.lower() not in PICTURES):
            raise SignalError(
                f"--pixels, --azimuth, --elevation and --up are of a picture: name one with --out, ending in "
                f"{', '.join(PICTURES)}"
            )
        return {"resolution": self.resolution, "camera": camera}

    def ending(self, signal: Signal, how: Document, convention: Convention) -> str:
        from staf.kinds.shape.signal import Shape

        assert isinstance(signal, Shape)
        return f"-{self.resolution or signal.resolution}.ply"


@dataclass(frozen=True, kw_only=True)
class Export(ExportKind):
    """Write a fitted shape as PLY, OBJ, STL, GLB or OFF, in the frame and scale of the original.

    FIELD is the file of a field or a run folder. Memory depends on the surface, not on the volume.
    """

    resolution: Count = None
    """Number of voxels along the longest side (default: as in the fit)."""

    def how(self) -> Document:
        check_resolution(self.resolution)
        return {"resolution": self.resolution}


def check_resolution(resolution: int | None) -> None:
    """Voxels along the longest side, where they are given."""
    if resolution is not None and resolution < 2:
        raise SignalError(f"--resolution must be at least 2, got {resolution}")
