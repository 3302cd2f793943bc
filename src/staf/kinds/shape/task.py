"""Occupancy: fit inside (1) and outside (0) of a shape, voxel by voxel, from packed bits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from staf._documents import Document
from staf.kinds.shape.marching import TooManyFaces, march
from staf.kinds.shape.measures import surface_measures
from staf.kinds.shape.mesh import Mesh
from staf.kinds.shape.rendering import field_planes
from staf.kinds.shape.signal import Shape
from staf.metrics.iou import overlap
from staf.signals import grid
from staf.signals.errors import SignalError
from staf.signals.grid import Convention
from staf.training.task import Batch, Predict

# The longest side of the pooled volume that INCODE's harmoniser reads.
POOLED_SIDE = 128
# A surface with more faces is the noise of a field that was hardly trained; its distance is not worth its memory.
MAX_FACES = 20_000_000
# Voxels whose random numbers are drawn at once, so that no list of floats of the volume's size is made.
DRAWN_VOXELS = 2**22


class Occupancy:
    """Minimise the mean squared error between a field and 0 or 1 at the voxels of a shape.

    Voxels take one bit each; a batch reads the bits of its index. With `near_surface` = p in (0, 1), the points are all
    voxels within `band` voxels of the surface and a random part of the others, drawn once from `generator`, so that the
    first are a share p on average. If they already are, all voxels are used. Metrics always include every voxel.

    >>> task = Occupancy(Shape.sphere(resolution=16))
    >>> task.points, task.batch(torch.tensor([0, 16 * 16 * 8 + 16 * 8 + 8])).target.flatten().tolist()
    (4096, [0.0, 1.0])
    """

    in_features = 3
    out_features = 1

    def __init__(
        self,
        signal: Shape,
        convention: Convention = "centres",
        *,
        near_surface: float | None = None,
        band: int = 2,
        generator: torch.Generator | None = None,
    ) -> None:
        if not isinstance(signal, Shape):
            raise TypeError(f"signal must be a Shape, got {type(signal).__name__}")
        self.signal = signal
        self.convention: Convention = convention
        self.near_surface = near_surface
        self.band = band
        self.bits = torch.from_numpy(signal.volume.bits)
        self.axes = [grid.axis(size, convention) for size in signal.shape]
        self.chosen: Tensor | None = None
        self._surface: Mesh | None = None
        if near_surface is not None:
            if not 0 < near_surface < 1:
                raise ValueError(f"near_surface must lie between 0 and 1, got {near_surface}")
            generator = generator or torch.Generator().manual_seed(0)
            self.seed = generator.initial_seed()
            self.chosen = _near(signal, near_surface, band, generator)

    @property
    def points(self) -> int:
        return self.signal.points if self.chosen is None else len(self.chosen)

    @property
    def observation(self) -> Tensor:
        """The share of inside voxels, (1, a, b, c), pooled until no side is over 128."""
        return torch.from_numpy(self.signal.volume.pooled(POOLED_SIDE))[None].to(self.bits.device)

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        if index is None:
            index = torch.arange(self.points, device=self.bits.device)
        if self.chosen is not None:
            index = self.chosen[index]
        inside = (self.bits[index >> 3] >> (7 - (index & 7)).to(torch.uint8)) & 1
        if weight is None:
            weight = torch.full((len(index),), 1.0 / len(index), device=self.bits.device)
        return Batch(self.coordinates(index), inside.to(torch.float32)[:, None], weight)

    def coordinates(self, index: Tensor) -> Tensor:
        """`signals.grid.coordinates` of a flat index (n,), from axes that already lie on the device."""
        _, b, c = self.signal.shape
        rows = (index // (b * c), index // c % b, index % c)
        return torch.stack([axis[row] for axis, row in zip(self.axes, rows, strict=True)], dim=-1)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        error = (field(batch.coordinates) - batch.target).square().mean(-1)
        return torch.dot(error, batch.weight.to(error.dtype))

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """IoU at 1/2 and PSNR of the clamped values over all voxels, from one fresh pass, and `surface_measures`.

        Without a surface the Chamfer distance is infinite and the normal consistency 0.
        """
        counts = _Counts()
        planes = self._counted(predict, counts)
        try:
            found = march(planes, max_faces=MAX_FACES)
        except TooManyFaces:
            found = None
        for _ in planes:
            pass
        frame = self.signal.frame
        measures = {"psnr": counts.psnr, "iou": counts.iou}
        self._surface = None
        if found is None:
            return {**measures, "chamfer": math.inf, "normal_consistency": 0.0}
        # The grid's own samples: their places in the mesh's frame do not depend on the convention.
        self._surface = Mesh(frame.from_index(found.vertices), found.faces)
        mesh = Mesh(frame.to_cube(self._surface.vertices), found.faces)
        target = Mesh(frame.to_cube(self.signal.mesh.vertices), self.signal.mesh.faces)
        return {**measures, **surface_measures(mesh, target)}

    @property
    def reconstruction(self) -> Shape | None:
        """The surface that the last `evaluate` measured; None if there is none."""
        try:
            return None if self._surface is None else self.signal.with_mesh(self._surface)
        except SignalError:
            return None

    def _counted(self, predict: Predict, counts: _Counts) -> Iterator[np.ndarray]:
        shape = self.signal.shape
        for i, plane in enumerate(field_planes(self._on_device(predict), self.signal.frame, shape, self.convention)):
            counts.add(plane, self.signal.volume.slab(i, i + 1)[0])
            yield np.clip(plane, 0, 1)

    def _on_device(self, predict: Predict) -> Predict:
        return lambda coordinates: predict(coordinates.to(self.bits.device))

    def metadata(self) -> Document:
        sampling = None
        if self.near_surface is not None:
            sampling = {"near_surface": self.near_surface, "band": self.band, "seed": self.seed}
        return {
            "task": "occupancy",
            "convention": self.convention,
            "sampling": sampling,
            "signal": self.signal.metadata(),
        }

    def to(self, device: torch.device | str) -> Self:
        self.bits = self.bits.to(device)
        self.axes = [axis.to(device) for axis in self.axes]
        if self.chosen is not None:
            self.chosen = self.chosen.to(device)
        return self


class _Counts:
    """Running sums behind IoU and PSNR, exact at any size."""

    def __init__(self) -> None:
        self.shared = self.union = self.voxels = 0
        self.squares = 0.0

    def add(self, values: np.ndarray, inside: np.ndarray) -> None:
        shared, union = overlap(torch.from_numpy(values > 0.5), torch.from_numpy(inside))
        self.shared, self.union = self.shared + shared, self.union + union
        error = np.clip(values, 0, 1) - inside
        self.squares += float(np.square(error, dtype=np.float64).sum())
        self.voxels += inside.size

    @property
    def iou(self) -> float:
        return self.shared / self.union

    @property
    def psnr(self) -> float:
        return -10 * math.log10(self.squares / self.voxels) if self.squares else math.inf


def _near(signal: Shape, share: float, band: int, generator: torch.Generator) -> Tensor:
    """Flat indices in increasing order: all voxels near the surface, and the others by chance."""
    near = torch.from_numpy(signal.volume.near_surface(band))
    others = signal.points - len(near)
    wanted = len(near) * (1 - share) / share
    if wanted >= others:
        return torch.arange(signal.points)
    chosen = torch.empty(signal.points, dtype=torch.bool)
    for part in chosen.split(DRAWN_VOXELS):
        part.copy_(torch.rand(len(part), generator=generator, device=generator.device) < wanted / others)
    chosen[near] = True
    return chosen.nonzero().squeeze(1)
