"""SignedDistance: fit the distance to a surface, negative inside, from points on it and the eikonal equation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from staf._documents import Document
from staf.kinds.cloud.sides import known_sides
from staf.kinds.cloud.signal import PointCloud
from staf.kinds.hashed_numbers import hashed_uniform
from staf.kinds.shape.measures import distances, surface_measures
from staf.kinds.shape.mesh import Mesh
from staf.kinds.shape.signal import Shape
from staf.metrics.iou import overlap
from staf.nn.derivatives import evaluated
from staf.signals.errors import SignalError
from staf.signals.grid import Convention
from staf.training.task import Batch, Predict

if TYPE_CHECKING:
    from staf.training.state import State

# How much each part of the loss counts: the distance and the normal at the points, the slope and the bounds elsewhere.
# Distances are in units of a cube of side 2.
AT_POINTS, NORMAL, SLOPE, BOUND = 100.0, 1.0, 0.2, 100.0
# Places that are neither on the surface nor near it repel it: exp(-SHARPNESS |f|), REPELLED times.
REPELLED, SHARPNESS = 0.02, 50.0
# Places near the surface are from a point's own spacing to this far from it.
FARTHEST = 0.3
# Points whose distance to the fitted surface is measured.
MEASURED = 100_000
LEAST_POINTS = 2**20


class SignedDistance:
    """Minimise, for a field f, points p with normals n, and positions x near them and anywhere in the cube,

        100 f(p)^2 + |grad f(p) - n|^2 + (|grad f(x)| - 1)^2 / 5 + 100 (what f(x) exceeds its bounds by)^2
        + exp(-50 |f(x)|) / 50, or log(1 + exp(-+50 f(x))) / 50 where the side is known

    The third term is the eikonal equation |grad f| = 1, which distances satisfy. The bounds are exact: at the distance
    r from a point of the cloud |f| <= r; outside of the cloud's box f is at least the distance to the box; and the sign
    of f is known in cells that are certainly on one side (`known_sides`). Positions are drawn again in every step: the
    task has each point of the cloud many times, with different positions. Gradients of the loss need second derivatives
    of the field.

    Args:
        signal: a point cloud with normals.
        truth: the shape itself, if it is known; only used to measure.

    >>> task = SignedDistance(PointCloud.sampled(Shape.sphere(), 100))
    >>> task.batch(torch.arange(8)).coordinates.shape
    torch.Size([3, 8, 3])
    """

    in_features = 3
    out_features = 1

    def __init__(
        self, signal: PointCloud, convention: Convention = "centres", *, truth: Shape | None = None, seed: int = 0
    ) -> None:
        if not isinstance(signal, PointCloud):
            raise TypeError(f"signal must be a PointCloud, got {type(signal).__name__}; PointCloud.sampled makes one")
        self.signal, self.truth, self.seed = signal, truth, seed
        self.convention: Convention = convention
        self.normals = torch.from_numpy(signal.normals.astype(np.float32))
        self.places = signal.coordinates(convention)
        self.low, self.high = self.places.amin(0), self.places.amax(0)
        sides = known_sides(self.places.numpy().astype(np.float64), signal.normals)
        self.cells, self.sides = len(sides), torch.from_numpy(sides.ravel())
        # About the distance of two neighbours, if points were spread evenly over a sphere in the cube.
        self.spacing = min(FARTHEST / 4, math.sqrt(4 * math.pi / len(self.places)))
        self.draws = torch.zeros((), dtype=torch.long)
        self._salts = (seed * 8 + torch.arange(7)) * 277803737
        self._surface: Shape | None = None

    @property
    def points(self) -> int:
        """Points of the cloud, each as often as makes a million: no batch is ever the whole."""
        return len(self.places) * -(-LEAST_POINTS // len(self.places))

    @property
    def observation(self) -> Tensor:
        """Points and normals, (6, n)."""
        return torch.cat([self.places, self.normals], 1).T

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        """Coordinates (3, n, 3): points of the cloud, a place near each, and one anywhere; the target is the normal."""
        if index is None:
            index = torch.arange(self.points, device=self.places.device)
        point = index % len(self.places)
        on = self.places[point]
        self.draws += 1
        drawn = hashed_uniform(index, self.draws, self._salts)
        reach = self.spacing * (FARTHEST / self.spacing) ** drawn[:, :1]
        near = (on + reach * (2 * drawn[:, 1:4] - 1)).clamp(-1, 1)
        anywhere = 2 * drawn[:, 4:] - 1
        if weight is None:
            weight = torch.full((len(index),), 1.0 / len(index), device=index.device)
        return Batch(torch.stack([on, near, anywhere]), self.normals[point], weight)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        count = batch.coordinates.shape[1]
        # A batch is not part of any graph, so that its places may be asked for their slopes.
        x = batch.coordinates.reshape(3 * count, 3).detach().requires_grad_()
        with torch.enable_grad():
            values = evaluated(field, x)[:, 0]
            (slopes,) = torch.autograd.grad(values.sum(), x, create_graph=True)
        on, near, anywhere = values.split(count)
        places, near_places, far_places = x.detach().split(count)
        slope_on, slope_near, slope_far = slopes.split(count)
        error = AT_POINTS * on.square() + NORMAL * (slope_on - batch.target).square().sum(-1)
        for slope in (slope_near, slope_far):
            error = error + SLOPE * (slope.square().sum(-1) + 1e-12).sqrt().sub(1).square()
        most = (near_places - places).norm(dim=-1)
        outside = torch.maximum(self.low - far_places, far_places - self.high).clamp(min=0).norm(dim=-1)
        row = ((far_places + 1) * (self.cells / 2)).long().clamp(0, self.cells - 1)
        side = self.sides[(row[:, 0] * self.cells + row[:, 1]) * self.cells + row[:, 2]]
        short = (outside - anywhere).clamp(min=0) * (outside > 0) + (-side * anywhere).clamp(min=0)
        error = error + BOUND * ((near.abs() - most).clamp(min=0).square() + short.square())
        known = functional.softplus(-SHARPNESS * side * anywhere)
        repelled = torch.where(side == 0, torch.exp(-SHARPNESS * anywhere.abs()), known)
        error = error + REPELLED * repelled
        return torch.dot(error, batch.weight.to(error.dtype))

    def callbacks(self) -> list[Callable[[State], None]]:
        """What a trainer calls: it keeps the number of draws in checkpoints."""
        return [_Draws(self)]

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """How far the fitted surface is from what is known, from one fresh pass over the grid of the cloud's cube.

        With a truth: IoU over its voxels, and Chamfer distance and normal consistency of the two surfaces, as
        `Occupancy` has them. Without: the root mean square distance of the cloud's points to the surface, as a share of
        the longest side of their box, and the mean of |n.m| for the normals there. Infinity and 0 if there is no
        surface.
        """
        half = self.signal.frame.half
        device = self.places.device
        try:
            self._surface = self.signal.render(
                lambda x: predict(x.to(device)) * half, convention=self.convention, device=device
            )
        except SignalError:
            self._surface = None
        if self.truth is not None:
            return self._against_truth(predict, self.truth)
        if self._surface is None:
            return {"cloud_distance": math.inf, "normal_consistency": 0.0}
        mesh = self._surface.mesh
        step = max(1, len(self.places) // MEASURED)
        points = self.signal.array[::step]
        found, face = distances(points, mesh)
        agree = np.abs((mesh.face_normals()[face] * self.signal.normals[::step]).sum(1)).mean()
        side = float((self.signal.array.max(0) - self.signal.array.min(0)).max())
        return {
            "cloud_distance": float(np.sqrt(np.square(found).mean())) / side,
            "normal_consistency": float(agree),
        }

    def _against_truth(self, predict: Predict, truth: Shape) -> dict[str, float]:
        iou = self._iou(predict, truth)
        if self._surface is None:
            return {"iou": iou, "chamfer": math.inf, "normal_consistency": 0.0}
        first, second = (Mesh(truth.frame.to_cube(m.vertices), m.faces) for m in (self._surface.mesh, truth.mesh))
        return {"iou": iou, **surface_measures(first, second)}

    def _iou(self, predict: Predict, truth: Shape) -> float:
        """Of the voxels that the field says to be inside and those that are, plane by plane."""
        shared = union = 0
        a, b, c = truth.shape
        rest = np.stack(np.meshgrid(np.arange(b), np.arange(c), indexing="ij"), -1).reshape(-1, 2)
        for plane in range(a):
            index = np.concatenate([np.full((len(rest), 1), plane), rest], 1)
            points = self.signal.frame.to_field(truth.frame.from_index(index), self.convention)
            inside = predict(torch.from_numpy(points.astype(np.float32)).to(self.places.device)).cpu() < 0
            both, either = overlap(inside.reshape(b, c), torch.from_numpy(truth.volume.slab(plane, plane + 1)[0]))
            shared, union = shared + both, union + either
        return shared / union

    @property
    def reconstruction(self) -> Shape | None:
        """The surface that the last `evaluate` measured; None if there is none."""
        return self._surface

    def metadata(self) -> Document:
        drawn = None if self.signal.drawn_from is None else list(self.signal.drawn_from)
        return {
            "task": "signed_distance",
            "convention": self.convention,
            "places_seed": self.seed,
            "drawn_from_mesh": drawn,
            "signal": self.signal.metadata(),
        }

    def to(self, device: torch.device | str) -> Self:
        for name in ("normals", "places", "low", "high", "sides", "draws", "_salts"):
            setattr(self, name, getattr(self, name).to(device))
        return self


class _Draws:
    """A callback that keeps in checkpoints how often places were drawn."""

    def __init__(self, task: SignedDistance) -> None:
        self.task = task

    def __call__(self, state: State) -> None:
        pass

    def tensors(self) -> dict[str, Tensor]:
        return {"draws": self.task.draws}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        self.task.draws.copy_(tensors["draws"])
