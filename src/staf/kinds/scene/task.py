"""Radiance: fit the photos of a scene by volume rendering, measured on held-out views."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn

from staf.kinds.scene.occupancy import OccupancyGrid
from staf.kinds.scene.photos import MOST_BYTES, PhotoPool
from staf.kinds.scene.reading import Views
from staf.kinds.scene.rendering import depth_of, on_background, render_views, sample_coordinates
from staf.kinds.scene.room import Room
from staf.kinds.scene.updates import UpdateScene, density_of
from staf.metrics import psnr, ssim
from staf.ops.squared_error import weighted_squared_error
from staf.ops.volume_rendering import Samples, composite, march, ray_box, visible
from staf.training.processes import current
from staf.training.task import Batch, Pieces, Predict

if TYPE_CHECKING:
    from staf.kinds.scene.signal import Scene
    from staf.training.state import State

# Samples of one step: for each of its pixels, and on each type of device at least and at most, times the rays of a
# pixel. Rays that do not fit are left out of that step. So many times as many are looked at, to see which of them light
# reaches: behind the first surface lie two thirds of them.
SAMPLES_OF_PIXEL = 8
SAMPLES = {"cpu": (2**14, 2**16), "cuda": (2**17, 2**19)}
LOOKED_AT = 4
# Samples that less light than this reaches are not trained on.
STOP = 1e-3
# Steps through the rays of a batch, one of which has no divisor in common with their number.
STRIDES = (7919, 7907, 7901, 7883)
# Photos of the training set that are measured where none were held out, and to see whether a target is reached.
MEASURED = 8


class Radiance:
    """Minimise the squared error of rendered against photographed pixels.

    A field maps positions in [-1, 1]^3 and unit directions (n, 6) to density and colour (n, 4). A batch is a set of
    pixels, whose rays are sampled in occupied cells: coordinates (n, 6) are origin and direction, targets (n, 3 or 4)
    the pixels between 0 and 1. In every step, the samples of each ray are shifted randomly, and transparent photos are
    shown on another random colour, so that empty space is learnt as empty. With more than one of the scene's
    `subpixels`, a pixel is the mean of rays through the centres of equal parts of its area; its coordinates (n, 12)
    then end with the change of the direction by a row and by a column. Pixels whose samples do not fit into the buffers
    have no weight in that step. The sizes of the buffers follow the need of the last steps (`Room`).

    Args:
        scene: photos, cameras and box.
        samples: the largest number of samples in a step; by default 8 for each of its rays, for 2^14 to 2^16 pixels on
            a GPU, or 2^11 to 2^13 on a CPU.
        resolution: cells along a side of the occupancy grid; by default `occupancy.cells_for` of the step.
        most_bytes: if the photos need more bytes than this, the device holds a part of them and exchanges it.
    """

    in_features = 6
    out_features = 4

    def __init__(
        self,
        scene: Scene,
        *,
        samples: int | None = None,
        resolution: int | None = None,
        most_bytes: int = MOST_BYTES,
        seed: int = 0,
    ) -> None:
        self.signal = scene
        self.step = scene.step
        self.resolution, self.seed = resolution, seed
        self.background = torch.tensor(scene.background)
        self.cameras = scene.in_box(scene.train.cameras)
        self.photos = PhotoPool(scene.train.pixels, most_bytes=most_bytes, seed=seed)
        self.draws = torch.zeros((), dtype=torch.long)
        side = scene.subpixels or 1
        self.rays = side * side
        # Where each ray starts, and the colour behind the pixel.
        self._salts = (seed * 32 + torch.arange(self.rays + 3)) * 277803737
        along = (torch.arange(side) + 0.5) / side - 0.5
        self._places = torch.cartesian_prod(along, along)
        self.grid = OccupancyGrid(resolution=resolution, step=self.step, seed=seed)
        self._samples = samples
        self.looked_at, self.trained_on = self._rooms("cpu")
        self._rendered: Views | None = None
        # Views that have been measured, and of how many.
        self._views = (0, 1)

    @property
    def points(self) -> int:
        """Pixels of the photos that are on the device."""
        return len(self.photos) * self.cameras.height * self.cameras.width

    @property
    def points_of_step(self) -> int:
        """Points at which a step computes the field, with gradients; as many fit in memory without."""
        return self.trained_on.most

    @property
    def step_shape(self) -> tuple[int, int]:
        """What the shapes of a step's tensors depend on."""
        return self.looked_at.size, self.trained_on.size

    @property
    def observation(self) -> Tensor:
        """The first photo on the background, channels first."""
        photo = self.signal.train.pixels[0].to(self.background.device)
        return on_background(photo, self.background).movedim(-1, 0)

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        if index is None:
            index = torch.arange(self.points, device=self.photos.device)
        width = self.cameras.width
        slot, inside = index // (self.cameras.height * width), index % (self.cameras.height * width)
        centres = (self.photos.view[slot], (inside // width) + 0.5, (inside % width) + 0.5)
        parts = self.cameras.rays(*centres) if self.rays == 1 else self.cameras.pixels(*centres)
        if weight is None:
            weight = torch.full((len(index),), 1.0 / len(index), device=index.device)
        coordinates = torch.cat([part.flatten(1) for part in parts], -1)
        return Batch(coordinates, self.photos.at(slot, inside).float() / 255, weight)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        drawn, order = self._draw(len(batch.weight))
        offset, colour_behind = drawn.tensor_split([self.rays], -1)
        origin, direction = self._rays(batch.coordinates[order])
        target, behind = batch.target[order], self.background.expand(len(order), 3)
        if target.shape[1] == 4:
            behind = colour_behind
            target = target[:, :3] * target[:, 3:] + (1 - target[:, 3:]) * behind
        found, looked_at = self._visible(field, origin, direction, offset.flatten())
        values = field(sample_coordinates(origin, direction, found.distance, found.ray))
        width = torch.full_like(found.distance, self.step)
        density, colour = values[:, 0].contiguous(), values[:, 1:].contiguous()
        black = torch.zeros_like(self.background)
        shown = composite(density, colour, found.distance, width, found.start, found.samples, black)
        whole = (looked_at & self.trained_on.has(found)).view(-1, self.rays).all(-1)
        seen = torch.cat([shown.colour, shown.opacity[:, None]], -1).view(-1, self.rays, 4).mean(1)
        weight = batch.weight[order] * whole
        weight = weight * (batch.weight.sum() / weight.sum().clamp(min=1e-12))
        return weighted_squared_error(seen[:, :3] + (1 - seen[:, 3:]) * behind, target, weight)

    def _rays(self, coordinates: Tensor) -> tuple[Tensor, Tensor]:
        """Origins and directions of the rays of pixels, those of one pixel one after the other."""
        origin, direction = coordinates[:, :3], coordinates[:, 3:6]
        if self.rays == 1:
            return origin, direction
        down, right = coordinates[:, 6:].view(-1, 2, 1, 3).unbind(1)
        direction = direction[:, None] + self._places[:, :1] * down + self._places[:, 1:] * right
        return (
            origin[:, None].expand_as(direction).reshape(-1, 3),
            torch.nn.functional.normalize(direction, dim=-1).view(-1, 3),
        )

    @torch.no_grad()
    def _visible(self, field: nn.Module, origin: Tensor, direction: Tensor, offset: Tensor) -> tuple[Samples, Tensor]:
        """The samples of rays that light reaches, by the field's present density, and which rays were looked at."""
        found = march(
            origin,
            direction,
            *ray_box(origin, direction),
            self.grid.occupied,
            step=self.step,
            budget=self.looked_at.size,
            offset=offset,
        )
        positions = sample_coordinates(origin, direction, found.distance, found.ray)[:, :3]
        width = torch.full_like(found.distance, self.step)
        seen = visible(found, density_of(field, positions), width, stop=STOP, budget=self.trained_on.size)
        self.looked_at.note(found)
        self.trained_on.note(seen)
        return seen, self.looked_at.has(found)

    def callbacks(self) -> list[Callable[[State], None]]:
        """What a trainer calls between steps: occupied cells are updated, and photos on the device are exchanged."""
        return [UpdateScene(self)]

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """PSNR and SSIM, means over the held-out views, each rendered whole and clamped, peak 1.

        Without held-out views, over the first photos of the training set.
        """
        views = self.signal.test
        return self._measured(predict, self.signal.train.first(MEASURED) if views is None else views, keep=True)

    def pieces(self) -> Pieces:
        """How many of the views that are measured have been."""
        return "view", *self._views

    def confirm(self, predict: Predict) -> dict[str, float]:
        """The same over some photos of the training set, to see whether a target is reached."""
        return self._measured(predict, self.signal.train.first(MEASURED), keep=False)

    @property
    def reconstruction(self) -> Scene | None:
        """The views that the last `evaluate` rendered."""
        return None if self._rendered is None else self.signal.with_views(self._rendered)

    def _measured(self, predict: Predict, views: Views, *, keep: bool) -> dict[str, float]:
        device = self.background.device
        cameras = self.signal.in_box(views.cameras).to(device)
        levels, similarities, pictures, depths = [], [], [], []
        self._views = (0, len(views))
        side = self.signal.subpixels or 1
        shown = render_views(predict, cameras, self.grid, self.background, step=self.step, subpixels=side)
        for view, picture in enumerate(shown):
            self._views = (view + 1, len(views))
            target = on_background(views.pixels[view].to(device), self.background).movedim(-1, 0)
            found = picture.colour.clamp(0, 1).movedim(-1, 0)
            levels.append(float(psnr(found, target, data_range=1.0)))
            similarities.append(float(ssim(found, target, data_range=1.0)))
            pictures.append((found.movedim(0, -1) * 255).round().to("cpu", torch.uint8))
            depths.append(depth_of(picture, self.signal.half).cpu())
        if keep:
            self._rendered = Views(views.names, torch.stack(pictures), views.cameras, torch.stack(depths))
        return {"psnr": sum(levels) / len(levels), "ssim": sum(similarities) / len(levels)}

    def metadata(self) -> dict[str, Any]:
        return {"task": "radiance", "convention": "centres", "signal": self.signal.metadata()}

    def to(self, device: torch.device | str) -> Self:
        own = (self.background, self.draws, self._salts, self._places)
        self.background, self.draws, self._salts, self._places = (tensor.to(device) for tensor in own)
        self.cameras, self.photos = self.cameras.to(device), self.photos.to(device)
        self.looked_at, self.trained_on = self._rooms(device)
        grid = OccupancyGrid(resolution=self.resolution, step=self.step, device=device, seed=self.seed)
        if self.grid.updates and grid.resolution == self.grid.resolution:
            grid.density.copy_(self.grid.density)
            grid.updates = self.grid.updates
            grid.decide()
        self.grid = grid
        return self

    def _rooms(self, device: torch.device | str) -> tuple[Room, Room]:
        """Room for the samples that are looked at, and for those that are trained on."""
        least, limit = SAMPLES.get(torch.device(device).type, SAMPLES["cuda"])
        wanted = SAMPLES_OF_PIXEL * (self.signal.pixels_of_step or 0)
        most = self._samples or min(max(least, wanted), limit) * self.rays
        return Room(LOOKED_AT * most, device), Room(most, device)

    def _draw(self, pixels: int) -> tuple[Tensor, Tensor]:
        """An order of the pixels, and numbers in [0, 1) for each, others in each step, which can be captured.

        The numbers are hashes of pixel and step, in that order. The order matters where every step has the same pixels,
        of which those that come last may have no room.
        """
        self.draws += 1
        row = torch.arange(pixels, device=self.draws.device)
        # Of several processes that share a batch, each has the numbers of its own pixels.
        mixed = (
            ((row + current().rank * pixels) * 747796405)[:, None] + (self.draws * 2891336453 + self._salts)
        ) & 0xFFFFFFFF
        for _ in range(2):
            mixed = (((mixed >> 16) ^ mixed) * 73244475) & 0xFFFFFFFF
        mixed = (mixed >> 16) ^ mixed
        stride = next(prime for prime in STRIDES if pixels % prime)
        order = (row * stride + mixed[0, 0]) % pixels
        return (mixed.float() / 2**32 * (1 - 2**-20))[order], order
