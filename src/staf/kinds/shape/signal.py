"""Shape: a mesh as inside (1) and outside (0) on a grid around it."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from staf._documents import Document, Entries, Record
from staf._extras import need
from staf.kinds.shape import rendering as shape_rendering
from staf.kinds.shape import volume_cache
from staf.kinds.shape.frame import Frame
from staf.kinds.shape.mesh import Closure, Mesh, checked_mesh, closure
from staf.kinds.shape.voxelise import grid_of, not_watertight, occupied_box
from staf.kinds.shape.voxels import PackedVolume
from staf.signals.base import Signal, as_array
from staf.signals.errors import NoSamples, SignalError
from staf.signals.grid import Convention
from staf.signals.rendering import Predict

if TYPE_CHECKING:
    from staf.kinds.image.signal import Image
    from staf.kinds.shape.task import Occupancy
    from staf.kinds.shape.view import ShapeView
    from staf.planning.situation import Rule

RESOLUTION = 256


class Shape(Signal):
    """A closed surface, sampled as occupancy on a grid of `resolution` voxels along the longest side of its box.

    The mesh is scaled so that its longest side spans [-1, 1]. A voxel is inside if its centre is. The grid is cropped
    to the box of the inside voxels, and each side of this box spans [-1, 1] in the coordinates of a field. Occupancy is
    computed when it is first needed, with one bit per voxel, and cached in the user's cache folder.

    `mesh` is a `Mesh`; for arrays use `Shape.from_arrays`. The occupancy of a surface with holes is an error, unless it
    is `repaired()`, or sampled with `allow_open`, which uses generalised winding numbers.

    >>> ball = Shape.sphere(resolution=16)
    >>> ball
    Shape('sphere', 642 vertices, 1,280 faces, 16 voxels along the longest side)
    >>> ball.shape, 0.5 < ball.volume.count() / 16**3 < 0.55
    ((16, 16, 16), True)
    """

    kind = "shape"
    in_features = 3
    out_features = 1

    def __init__(
        self,
        mesh: Mesh,
        *,
        resolution: int = RESOLUTION,
        allow_open: bool = False,
        name: str = "shape",
        source: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        if not isinstance(mesh, Mesh):
            raise SignalError(f"mesh must be a Mesh, got {type(mesh).__name__}; staf.Shape.from_arrays takes arrays")
        self._mesh: Mesh | None = mesh
        self._frame: Frame | None = None
        grid_of(mesh, resolution)
        self.resolution = resolution
        self.allow_open = allow_open
        self.name = name
        self.source = source
        self.mended = False
        self.notes = list(notes)
        if self.closure.rule == "parity":
            self.notes.append("faces disagree on which side is out: inside is told by the parity of crossings")

    @classmethod
    def from_arrays(
        cls,
        vertices: np.ndarray,
        faces: np.ndarray,
        *,
        resolution: int = RESOLUTION,
        allow_open: bool = False,
        name: str = "shape",
    ) -> Shape:
        """A shape from vertices (n, 3) and triangles (m, 3), which are checked and cleaned as those of a file."""
        mesh, notes = checked_mesh(vertices, faces)
        return cls(mesh, resolution=resolution, allow_open=allow_open, name=name, notes=notes)

    @classmethod
    def sphere(cls, *, subdivisions: int = 3, resolution: int = RESOLUTION) -> Shape:
        """The unit sphere as an icosahedron divided `subdivisions` times, for experiments."""
        trimesh = need("shape", "trimesh")

        ball = trimesh.creation.icosphere(subdivisions=subdivisions)
        return cls.from_arrays(ball.vertices, ball.faces, resolution=resolution, name="sphere")

    def __repr__(self) -> str:
        mesh, along = self._mesh, f"{self.resolution} voxels along the longest side"
        size = "no mesh" if mesh is None else f"{len(mesh.vertices):,} vertices, {len(mesh.faces):,} faces"
        return f"Shape({self.name!r}, {size}, {along})"

    @property
    def mesh(self) -> Mesh:
        """Vertices and faces in the file's own frame and scale."""
        if self._mesh is None:
            raise NoSamples(f"shape {self.name!r} was rebuilt from metadata and holds no mesh: it can only render")
        return self._mesh

    @cached_property
    def closure(self) -> Closure:
        """Whether the mesh is watertight, and the rule for what is inside."""
        return closure(self.mesh.faces)

    @property
    def watertight(self) -> bool:
        return self.closure.watertight

    def sampled(self, resolution: int | None = None, *, allow_open: bool | None = None) -> Shape:
        """The same mesh on another grid; `allow_open` accepts surfaces with holes."""
        result = self._with(self.mesh)
        result.resolution = self.resolution if resolution is None else resolution
        result.allow_open = self.allow_open if allow_open is None else allow_open
        grid_of(self.mesh, result.resolution)
        return result

    def repaired(self) -> Shape:
        """The shape with welded seams and closed holes, without repeated faces; `notes` say what was changed."""
        from staf.kinds.shape.mesh_repair import repaired

        mesh, said = repaired(self.mesh)
        result = self._with(mesh)
        result.mended, result.notes = True, result.notes + said
        return result

    def _with(self, mesh: Mesh) -> Shape:
        """A copy with another mesh, and nothing that was computed from this one's."""
        result = copy.copy(self)
        for computed in ("closure", "_sampled"):
            vars(result).pop(computed, None)
        result._mesh, result._frame, result.notes = mesh, None, list(self.notes)
        return result

    @cached_property
    def _sampled(self) -> tuple[PackedVolume, tuple[int, int, int]]:
        rule = self.closure.rule
        if rule == "open" and not self.allow_open:
            raise not_watertight(self.name, self.mesh, self.closure)
        return volume_cache.cached(volume_cache.key_of(self.mesh, self.resolution, rule), self._voxelised)

    def _voxelised(self) -> tuple[PackedVolume, tuple[int, int, int]]:
        return occupied_box(self.mesh, self.resolution, self.closure.rule, self.name)

    @property
    def volume(self) -> PackedVolume:
        """One bit per voxel of the cropped grid."""
        return self._sampled[0]

    @property
    def frame(self) -> Frame:
        """The relation between the coordinates of a field, the samples of the grid and the frame of the mesh."""
        if self._frame is None:
            centre, half = grid_of(self.mesh, self.resolution)
            volume, offset = self._sampled
            self._frame = Frame(tuple(centre.tolist()), half, self.resolution, offset, volume.shape)
        return self._frame

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.frame.shape

    @property
    def nbytes(self) -> int:
        return self.mesh.vertices.nbytes + self.mesh.faces.nbytes

    @property
    def value_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        """The occupancy, bool (a, b, c)."""
        return as_array(self.volume.array(), dtype, copy)

    def values(self, index: Tensor | None = None) -> Tensor:
        """Occupancy as float32 (n, 1), of every voxel or of those in a flat `index` (n,)."""
        inside = self.volume.array().ravel() if index is None else self.volume.at(index.cpu().numpy())
        return torch.from_numpy(inside.astype(np.float32))[:, None]

    def coordinate_units(self, convention: Convention = "centres") -> tuple[float, ...]:
        """The length, in the units of the mesh, of one unit of each coordinate.

        >>> Shape.sphere(resolution=8).coordinate_units()
        (1.0, 1.0, 1.0)
        """
        return self.frame.coordinate_units(convention)

    def from_values(self, values: Tensor, shape: Sequence[int] | None = None) -> Shape:
        """The surface at 1/2 of values (n, 1) on the grid `shape`, in this shape's own frame and scale."""
        a, b, c = self.shape if shape is None else shape
        if tuple(values.shape) != (a * b * c, 1):
            raise SignalError(f"values must have shape {(a * b * c, 1)} for {a}x{b}x{c}, got {tuple(values.shape)}")
        planes = values.detach().to("cpu", torch.float32).reshape(a, b, c).numpy()
        return self.with_mesh(shape_rendering.surface(planes, self.frame, (a, b, c), "centres"))

    def with_floats(self, values: Tensor, shape: Sequence[int] | None = None) -> Shape:
        raise SignalError("a shape holds a surface, and no values between inside and outside")

    def empty(self, shape: Sequence[int] | None = None) -> Shape:
        if shape is not None and tuple(shape) != self.shape:
            raise SignalError(f"a shape has the grid of its own box, {self.shape}, got {tuple(shape)}")
        return super().empty()

    def with_mesh(self, mesh: Mesh) -> Shape:
        """A shape of another surface with this one's name and resolution."""
        return Shape(mesh, resolution=self.resolution, name=self.name)

    def render(
        self,
        predict: Predict,
        *,
        resolution: int | None = None,
        level: float = 0.5,
        convention: Convention = "centres",
        device: torch.device | str | None = None,
    ) -> Shape:
        """The surface where the field `predict`, (n, 3) to (n, 1), is `level`, in this shape's own frame and scale.

        Values are clamped to [0, 1], as for the metrics.
        `resolution` is in voxels along the longest side, as in `Shape`, and can be any; memory grows with the planes
        of the grid and with the surface, not with the volume.

        >>> ball = Shape.sphere(resolution=12)
        >>> again = ball.render(lambda x: 1.5 - x.norm(dim=1, keepdim=True), resolution=40)
        >>> bool(np.abs(np.linalg.norm(again.mesh.vertices, axis=1) - 1).max() < 0.025)
        True
        """
        counts = self.frame.counts(resolution)
        on_device = predict if device is None else lambda points: predict(points.to(device))
        planes = (np.clip(p, 0, 1) for p in shape_rendering.field_planes(on_device, self.frame, counts, convention))
        return self.with_mesh(shape_rendering.surface(planes, self.frame, counts, convention, level))

    def voxel_surface(self) -> Shape:
        """The surface that marching cubes finds in the occupancy itself: the result of a perfect fit."""
        planes = (self.volume.slab(i, i + 1)[0] for i in range(self.shape[0]))
        return self.with_mesh(shape_rendering.surface(planes, self.frame, self.shape, "centres"))

    def plan_rules(self) -> Mapping[str, Rule]:
        """The changes of this kind of signal to the rules of planning, by topic."""
        from staf.kinds.shape.plan import RULES

        return RULES

    def metadata(self) -> Document:
        """JSON-able data from which `from_metadata` builds an empty shape that renders like this one."""
        content = volume_cache.key_of(self.mesh, self.resolution, self.closure.rule) if self._mesh else None
        return {
            "kind": self.kind,
            "name": self.name,
            "frame": self.frame.to_plain(),
            "content": content,
            "notes": list(self.notes),
        }

    @classmethod
    def from_metadata(cls, metadata: Entries) -> Shape:
        """The empty shape that `metadata` describes: its frame and grid, without the mesh.

        >>> Shape.from_metadata(Shape.sphere(resolution=8).metadata())
        Shape('sphere', no mesh, 8 voxels along the longest side)
        """
        try:
            record = Record(metadata)
            if record.get("kind") != cls.kind:
                raise SignalError(f"metadata must be of kind 'shape', got {metadata['kind']!r}")
            frame = Frame.from_plain(record.get("frame"))
            name, notes = record.text("name"), record.texts("notes")
        except ValueError as error:
            if isinstance(error, SignalError):
                raise
            raise SignalError(f"metadata of a shape is incomplete or malformed: {error}") from error
        shape = cls.__new__(cls)
        shape._mesh, shape._frame, shape.resolution, shape.allow_open = None, frame, frame.resolution, False
        shape.name, shape.source, shape.mended, shape.notes = name, None, False, notes
        return shape

    def task(self, convention: Convention = "centres") -> Occupancy:
        from staf.kinds.shape.task import Occupancy

        return Occupancy(self, convention)

    @property
    def view(self) -> ShapeView:
        from staf.kinds.shape.view import ShapeView

        return ShapeView(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the mesh as PLY, OBJ, STL, GLB or OFF, completely or not at all."""
        from staf.kinds.shape.mesh_writing import write_mesh

        return write_mesh(self.mesh, path)

    def picture(self, size: int = 512, *, azimuth: float = 30.0, elevation: float = 15.0, up: str = "y") -> Image:
        """A shaded picture of size x size pixels, drawn without a screen, transparent around the shape.

        It is seen from `azimuth` degrees around the axis `up` ("x", "y" or "z") and `elevation` degrees above.
        """
        from staf.kinds.image.signal import Image
        from staf.kinds.shape.picture import draw

        return Image(draw(self.mesh, size=size, azimuth=azimuth, elevation=elevation, up=up), name=self.name)

    def _repr_png_(self) -> bytes | None:
        """What notebooks show."""
        return None if self._mesh is None else self.picture(384)._repr_png_()
