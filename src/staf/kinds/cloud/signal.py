"""PointCloud: points on a surface with their normals, whose signed distance is fitted."""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from staf._documents import Document, Entries, Record
from staf.kinds.plain_arrays import plain_array
from staf.kinds.shape.extent import check_extent
from staf.kinds.shape.frame import Frame
from staf.kinds.shape.measures import surface_points
from staf.kinds.shape.rendering import field_planes, surface
from staf.kinds.shape.signal import Shape
from staf.signals.base import Signal, as_array
from staf.signals.errors import NoSamples, SignalError
from staf.signals.grid import Convention
from staf.signals.rendering import Predict

if TYPE_CHECKING:
    from staf.kinds.cloud.task import SignedDistance
    from staf.kinds.cloud.view import CloudView
    from staf.planning.situation import Rule

RESOLUTION = 128
# The cube of a field is this much larger than the cloud, so that the surface closes inside of it.
MARGIN = 1.15
# Points that are drawn on a mesh.
SAMPLED = 100_000


class PointCloud(Signal):
    """Points (n, 3) on a surface and their outward normals (n, 3), in any frame and scale.

    A field is the signed distance to the surface, negative inside, in the units of the point cloud. Its coordinates
    span [-1, 1] over a cube around the points that is 15% larger. `render` extracts the surface as a mesh, in the frame
    of the point cloud, on a grid of `resolution` voxels along each side of the cube.

    >>> ball = PointCloud.sampled(Shape.sphere(), 1000)
    >>> ball
    PointCloud('sphere', 1,000 points with normals)
    """

    kind = "cloud"
    in_features = 3
    out_features = 1

    def __init__(
        self,
        points: np.ndarray,
        normals: np.ndarray | None = None,
        *,
        resolution: int = RESOLUTION,
        name: str = "cloud",
        source: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self._points: np.ndarray | None
        self._normals: np.ndarray | None
        self._points, self._normals, said = checked_points(points, normals)
        self.resolution, self.name, self.source, self.notes = resolution, name, source, [*notes, *said]
        self.estimated = False
        self.drawn_from: tuple[int, int] | None = None
        # How the mesh was opened that the points were drawn from.
        self.mended, self.allow_open = False, False
        low, high = self._points.min(0), self._points.max(0)
        half = float((high - low).max()) / 2
        centre = ((low + high) / 2).tolist()
        self.count = len(self._points)
        self._frame = Frame((centre[0], centre[1], centre[2]), half * MARGIN, resolution, (0, 0, 0), (resolution,) * 3)
        self._frame.counts(resolution)

    @classmethod
    def sampled(cls, shape: Shape, count: int = SAMPLED, *, seed: int = 0, resolution: int = RESOLUTION) -> PointCloud:
        """Points spread evenly over a mesh, with the normals of its faces."""
        points, face = surface_points(shape.mesh, count, np.random.default_rng(seed))
        cloud = cls(points, shape.mesh.face_normals()[face], resolution=resolution, name=shape.name)
        cloud.drawn_from, cloud.source = (count, seed), shape.source
        cloud.mended, cloud.allow_open = shape.mended, shape.allow_open
        return cloud

    def __repr__(self) -> str:
        if self._points is None:
            return f"PointCloud({self.name!r}, no points)"
        normals = "with normals" if self._normals is not None else "without normals"
        return f"PointCloud({self.name!r}, {len(self._points):,} points {normals})"

    @property
    def array(self) -> np.ndarray:
        """The points, float64 (n, 3), in the file's own frame."""
        if self._points is None:
            raise NoSamples(f"cloud {self.name!r} was rebuilt from metadata and holds no points: it can only render")
        return self._points

    @property
    def normals(self) -> np.ndarray:
        """Unit normals (n, 3), outward."""
        if self._normals is None:
            raise SignalError(
                f"{self.name!r} has no normals, which say where outside is: save them with the points (nx, ny, nz), or "
                "estimate them with .with_estimated_normals() (staf fit: --estimate-normals)"
            )
        return self._normals

    def with_estimated_normals(self) -> PointCloud:
        """The same points with normals from their neighbours; outward if the surface is closed and evenly sampled."""
        from staf.kinds.cloud.normals import estimated_normals

        result = copy.copy(self)
        result._normals, result.estimated = estimated_normals(self.array), True
        result.notes = [
            *self.notes,
            "normals were estimated from neighbours: look whether inside and outside are right",
        ]
        return result

    def at_resolution(self, resolution: int) -> PointCloud:
        """The same cloud with another grid for its mesh."""
        result = copy.copy(self)
        frame = self._frame
        frame.counts(resolution)
        result._frame = Frame(frame.centre, frame.half, resolution, (0, 0, 0), (resolution,) * 3)
        result.resolution = resolution
        return result

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        return as_array(self.array, dtype, copy)

    @property
    def frame(self) -> Frame:
        """The relation between the coordinates of a field and the frame of the point cloud."""
        return self._frame

    @property
    def shape(self) -> tuple[int]:
        """The number of points; they are a list, not a grid."""
        return (self.count,)

    @property
    def nbytes(self) -> int:
        return 24 * self.count

    @property
    def value_range(self) -> tuple[float, float]:
        """Distances in the cube are no longer than its diagonal."""
        longest = float(2 * np.sqrt(3) * self._frame.half)
        return -longest, longest

    @property
    def value_offset_scale(self) -> tuple[float, float]:
        """A field fits distances in units of its coordinates."""
        return 0.0, self._frame.half

    def values(self) -> Tensor:
        """The signed distance at the points: zero."""
        return torch.zeros(self.count, 1)

    def coordinates(self, convention: Convention = "centres", index: Tensor | None = None) -> Tensor:
        points = self.array if index is None else self.array[index.cpu().numpy()]
        return torch.from_numpy(self._frame.to_field(points, convention).astype(np.float32))

    def coordinate_units(self, convention: Convention = "centres") -> tuple[float, ...]:
        return self._frame.coordinate_units(convention)

    def from_values(self, values: Tensor, shape: Sequence[int] | None = None) -> PointCloud:
        raise SignalError("a cloud has points and no values: render a field to get its surface")

    def with_floats(self, values: Tensor, shape: Sequence[int] | None = None) -> PointCloud:
        raise SignalError("a cloud has points and no values: render a field to get its surface")

    def metadata(self) -> Document:
        return {
            "kind": self.kind,
            "name": self.name,
            "points": self.count,
            "frame": self._frame.to_plain(),
            "content": None if self._points is None else self.digest(),
            "notes": list(self.notes),
        }

    def digest(self) -> str:
        """A hash of points and normals."""
        sha = hashlib.sha256(np.ascontiguousarray(self.array, "<f8").tobytes())
        if self._normals is not None:
            sha.update(np.ascontiguousarray(self._normals, "<f8").tobytes())
        return sha.hexdigest()

    @classmethod
    def from_metadata(cls, metadata: Entries) -> PointCloud:
        """The empty cloud that `metadata` describes: its frame, without the points.

        >>> PointCloud.from_metadata(PointCloud.sampled(Shape.sphere(), 100).metadata())
        PointCloud('sphere', no points)
        """
        try:
            record = Record(metadata)
            frame, count = Frame.from_plain(record.get("frame")), record.whole("points", least=1)
            name, notes = record.text("name"), record.texts("notes")
        except ValueError as error:
            raise SignalError(f"metadata of a cloud is incomplete or malformed: {error}") from error
        cloud = cls.__new__(cls)
        cloud._points = cloud._normals = None
        cloud._frame, cloud.resolution, cloud.count = frame, frame.resolution, count
        cloud.name, cloud.source, cloud.notes, cloud.estimated, cloud.drawn_from = name, None, notes, False, None
        cloud.mended, cloud.allow_open = False, False
        return cloud

    def render(  # type: ignore[override]
        self,
        predict: Predict,
        *,
        resolution: int | None = None,
        distance: float = 0.0,
        convention: Convention = "centres",
        device: torch.device | str | None = None,
    ) -> Shape:
        """The surface where the field `predict`, (n, 3) to (n, 1), is `distance`, as a mesh in the cloud's own frame.

        Distances are in the units of the point cloud: 0 is the surface, positive is outside.

        >>> ball = PointCloud.sampled(Shape.sphere(), 1000)
        >>> again = ball.render(lambda x: ball.frame.half * x.norm(dim=1, keepdim=True) - 0.5, resolution=40)
        >>> bool(np.abs(np.linalg.norm(again.mesh.vertices, axis=1) - 0.5).max() < 0.01)
        True
        """
        frame = self._frame
        counts = frame.counts(resolution)
        voxel = 2 * frame.half / counts[0]
        on_device = predict if device is None else lambda points: predict(points.to(device))
        # As an occupancy, one within two voxels of the surface: only the samples on both sides of it are looked at.
        planes = (
            np.clip(0.5 - (plane - distance) / (4 * voxel), 0, 1)
            for plane in field_planes(on_device, frame, counts, convention)
        )
        return Shape(surface(planes, frame, counts, convention), resolution=counts[0], name=self.name)

    def save(self, path: str | os.PathLike[str]) -> Path:
        raise SignalError("a cloud is not written: render a fitted one, and save its mesh")

    def task(self, convention: Convention = "centres") -> SignedDistance:
        from staf.kinds.cloud.task import SignedDistance

        return SignedDistance(self, convention)

    def plan_rules(self) -> Mapping[str, Rule | None]:
        """The changes of this kind of signal to the rules of planning, by topic."""
        from staf.kinds.cloud.plan import RULES

        return RULES

    @property
    def view(self) -> CloudView:
        from staf.kinds.cloud.view import CloudView

        return CloudView(self)


def cloud_from(source: object, name: str | None, layout: str | None) -> PointCloud | None:
    """Arrays (n, 3), or (n, 6) with normals, for kind="cloud"."""
    if not isinstance(source, (np.ndarray, Tensor)):
        return None
    rows = plain_array(source, "points")
    if rows.ndim != 2 or rows.shape[1] not in (3, 6):
        raise SignalError(f"points must have shape (n, 3), or (n, 6) with normals, got {rows.shape}")
    return PointCloud(rows[:, :3], rows[:, 3:] if rows.shape[1] == 6 else None, name="cloud" if name is None else name)


def checked_points(points: np.ndarray, normals: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """Valid points and unit normals, and sentences about what was left out."""
    points = plain_array(points, "points")
    if points.ndim != 2 or points.shape[1] != 3 or points.dtype.kind not in "fiu":
        raise SignalError(f"points must be numbers of shape (n, 3), got {points.dtype} {points.shape}")
    if len(points) == 0:
        raise SignalError("the cloud is empty: it has no points")
    points = points.astype(np.float64)
    bad = int((~np.isfinite(points)).any(1).sum())
    if bad:
        raise SignalError(f"{bad:,} of {len(points):,} points are NaN or infinite")
    check_extent(points, "points")
    if not (points.max(0) > points.min(0)).any():
        raise SignalError(f"points must be at two places or more, got {len(points):,} at one place")
    if normals is None:
        return points, None, []
    normals = plain_array(normals, "normals").astype(np.float64)
    if normals.shape != points.shape:
        raise SignalError(f"normals must have the shape {points.shape} of the points, got {normals.shape}")
    length = np.linalg.norm(normals, axis=1)
    kept = np.isfinite(length) & (length > 1e-12)
    if not kept.any():
        raise SignalError("every normal is zero or not a number: leave them out, and estimate them")
    notes = [] if kept.all() else [f"{int((~kept).sum()):,} points without a normal were left out"]
    return points[kept], normals[kept] / length[kept, None], notes
