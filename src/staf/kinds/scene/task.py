"""Radiance: fit the photos of a scene through volume rendering, and be measured on the views that were held out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor, nn

from staf.kinds.scene.cameras import Cameras
from staf.kinds.scene.occupancy import OccupancyGrid
from staf.kinds.scene.reading import Views
from staf.kinds.scene.rendering import STEP, render_views, sample_coordinates
from staf.metrics import psnr, ssim
from staf.ops.squared_error import weighted_squared_error
from staf.ops.volume_rendering import composite, march, ray_box
from staf.training.task import Batch, Predict

# Steps between two looks at which cells hold matter; all cells are looked at for the first UPDATE_ALL steps.
UPDATE_EVERY = 16
UPDATE_ALL = 256
# Samples of one step on each type of device; rays that do not fit are left out of that step.
BUDGET = {"cpu": 2**14, "cuda": 2**18}


class Radiance:
    """Minimise the squared error of rendered against photographed pixels.

    A field maps positions in [-1, 1]^3 and unit directions (n, 6) to density and colour (n, 4). A batch is a set of
    pixels, whose rays are sampled in the cells that hold matter; a batch's coordinates are origins, directions and a
    number in [0, 1) that says where in its first step each ray starts. Rays whose samples do not fit into the `budget`
    have no weight in that step.

    Args:
        train: photos to fit; transparent ones are put on `background`.
        test: views to be measured on; the first photos of `train` if there are none.
        centre, half: the box that holds the scene.
    """

    in_features = 6
    out_features = 4

    def __init__(
        self,
        train: Views,
        test: Views | None = None,
        *,
        centre: Tensor,
        half: float,
        background: tuple[float, float, float] = (1.0, 1.0, 1.0),
        budget: int | None = None,
        resolution: int = 128,
        step: float = STEP,
        seed: int = 0,
    ) -> None:
        self.train, self.test = train, test
        self.centre, self.half, self.step = centre, half, step
        self.background = torch.tensor(background)
        self.resolution, self.seed = resolution, seed
        self.cameras: Cameras = train.cameras.moved(centre, half)
        self.pixels = train.pixels
        self._budget = budget
        self.budget = budget or BUDGET["cpu"]
        self.grid = OccupancyGrid(resolution=resolution, step=step, seed=seed)
        self._draws = torch.zeros((), dtype=torch.long)

    @property
    def points(self) -> int:
        """Pixels of all photos."""
        return self.pixels[..., 0].numel()

    @property
    def observation(self) -> Tensor:
        """The first photo, channels first."""
        return self._shown(self.pixels[:1].reshape(-1, self.pixels.shape[-1])).T.reshape(3, *self.pixels.shape[1:3])

    def batch(self, index: Tensor | None, weight: Tensor | None = None) -> Batch:
        if index is None:
            index = torch.arange(self.points, device=self.pixels.device)
        height, width = self.cameras.height, self.cameras.width
        view, inside = index // (height * width), index % (height * width)
        origin, direction = self.cameras.rays(view, (inside // width) + 0.5, (inside % width) + 0.5)
        target = self._shown(self.pixels.reshape(-1, self.pixels.shape[-1])[index])
        if weight is None:
            weight = torch.full((len(index),), 1.0 / len(index), device=index.device)
        return Batch(torch.cat([origin, direction, self._offsets(index)[:, None]], -1), target, weight)

    def loss(self, field: nn.Module, batch: Batch) -> Tensor:
        origin, direction, offset = batch.coordinates.split([3, 3, 1], -1)
        near, far = ray_box(origin, direction)
        found = march(
            origin, direction, near, far, self.grid.occupied, step=self.step, budget=self.budget, offset=offset[:, 0]
        )
        values = field(sample_coordinates(origin, direction, found.distance, found.ray))
        width = torch.full_like(found.distance, self.step)
        density, colour = values[:, 0].contiguous(), values[:, 1:].contiguous()
        shown = composite(density, colour, found.distance, width, found.start, found.samples, self.background)
        # Where samples fill the budget, the ray that they end in may lack some, and those after it have none.
        whole = found.start + found.samples < self.budget
        weight = batch.weight * whole
        weight = weight * (batch.weight.sum() / weight.sum().clamp(min=1e-12))
        return weighted_squared_error(shown.colour, batch.target, weight)

    def callbacks(self) -> list[Callable[[Any], None]]:
        """What a trainer calls between steps: the cells that hold matter are looked at again."""
        return [UpdateOccupancy(self.grid)]

    def evaluate(self, predict: Predict) -> dict[str, float]:
        """PSNR and SSIM, means over the held-out views, each rendered whole and clamped, peak 1."""
        views = self.test if self.test is not None and len(self.test) else self.train
        count = len(views) if views is self.test else min(len(views), 8)
        cameras = views.cameras.moved(self.centre, self.half).subset(list(range(count))).to(self.pixels.device)
        levels, similarities = [], []
        for view, picture in enumerate(
            render_views(predict, cameras, self.grid.occupied, self.background, step=self.step)
        ):
            photo = views.pixels[view].to(self.pixels.device)
            target = self._shown(photo.reshape(-1, photo.shape[-1])).reshape(*photo.shape[:2], 3).movedim(-1, 0)
            shown = picture.colour.clamp(0, 1).movedim(-1, 0)
            levels.append(float(psnr(shown, target, data_range=1.0)))
            similarities.append(float(ssim(shown, target, data_range=1.0)))
        return {"psnr": sum(levels) / count, "ssim": sum(similarities) / count}

    def metadata(self) -> dict[str, Any]:
        return {"task": "radiance", "convention": "centres"}

    def to(self, device: torch.device | str) -> Self:
        self.pixels, self.background, self._draws = (
            tensor.to(device) for tensor in (self.pixels, self.background, self._draws)
        )
        self.cameras = self.cameras.to(device)
        kind = torch.device(device).type
        self.budget = self._budget or BUDGET.get(kind, BUDGET["cuda"])
        grid = OccupancyGrid(resolution=self.resolution, step=self.step, device=device, seed=self.seed)
        if self.grid.updates:
            grid.density.copy_(self.grid.density)
            grid.updates = self.grid.updates
            grid.decide()
        self.grid = grid
        return self

    def _shown(self, pixels: Tensor) -> Tensor:
        """Pixels (n, 3 or 4) of bytes as colours (n, 3) on the background."""
        colour = pixels[:, :3].float() / 255
        if pixels.shape[1] == 3:
            return colour
        cover = pixels[:, 3:].float() / 255
        return colour * cover + (1 - cover) * self.background

    def _offsets(self, index: Tensor) -> Tensor:
        """A number in [0, 1) for each ray, another each time: a hash of pixel and call, so that it can be captured."""
        self._draws += 1
        mixed = (index * 747796405 + self._draws * 2891336453 + self.seed * 277803737) & 0xFFFFFFFF
        mixed = (((mixed >> 16) ^ mixed) * 73244475) & 0xFFFFFFFF
        mixed = (((mixed >> 16) ^ mixed) * 73244475) & 0xFFFFFFFF
        return ((mixed >> 16) ^ mixed).float() / 2**32 * (1 - 2**-20)


class UpdateOccupancy:
    """A callback that looks at which cells hold matter, every 16 steps."""

    every = UPDATE_EVERY

    def __init__(self, grid: OccupancyGrid) -> None:
        self.grid = grid
        self._next = 0

    def __call__(self, state: Any) -> None:
        if state.step < self._next:
            return
        self._next = state.step + self.every
        cells = None if state.step <= UPDATE_ALL else self.grid.density.numel() // 4
        module = state.field
        with torch.no_grad():
            self.grid.update(lambda points: _density(module, points), cells=cells)

    def tensors(self) -> dict[str, Tensor]:
        return {**self.grid.tensors(), "next": torch.tensor(self._next)}

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        self.grid.load_tensors(tensors)
        self._next = int(tensors["next"])


def _density(module: nn.Module, points: Tensor) -> Tensor:
    """Density by the field's own short cut, or by a pass that looks along x."""
    own = getattr(module, "density", None)
    if own is not None:
        return own(points)
    along = torch.zeros_like(points)
    along[:, 0] = 1
    return module(torch.cat([points, along], -1))[:, 0]
