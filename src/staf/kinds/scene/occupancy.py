"""Which cells of a scene's box hold matter, learnt while a radiance field is trained, so that rays skip the others."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from staf._typing import Bool, Float

Density = Callable[[Tensor], Tensor]


class OccupancyGrid:
    """Density in the cells of a grid over [-1, 1]^3, a running maximum, and which cells count as occupied.

    A cell is occupied if its density takes more than `threshold` of the light on a step of a ray, or more than
    the mean cell's does, whichever is less. All are occupied before the first update.

    >>> grid = OccupancyGrid(resolution=8, step=0.1)
    >>> grid.update(lambda x: 100.0 * (x[:, 0] > 0))
    >>> grid.occupied[:4].any().item(), grid.occupied[4:].all().item()
    (False, True)
    """

    def __init__(
        self,
        *,
        resolution: int = 128,
        step: float,
        threshold: float = 0.01,
        decay: float = 0.95,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        shape = (resolution, resolution, resolution)
        self.resolution, self.step, self.threshold, self.decay = resolution, step, threshold, decay
        self.density = torch.zeros(shape, device=device)
        self.occupied = torch.ones(shape, device=device, dtype=torch.bool)
        self.updates = 0
        self._generator = torch.Generator(device).manual_seed(seed)

    @torch.no_grad()
    def update(self, density: Density, *, cells: int | None = None, chunk: int = 2**20) -> None:
        """Look at the density somewhere in each of `cells` cells (by default all), and decide which are occupied.

        Half of the cells are drawn from all, half from the occupied ones.
        """
        flat = self.density.view(-1)
        index = self._choose(cells)
        flat.mul_(self.decay)
        for start in range(0, len(index), chunk):
            part = index[start : start + chunk]
            found = density(self._points(part)).to(flat)
            flat[part] = torch.maximum(flat[part], found)
        self.updates += 1
        self.decide()

    def decide(self) -> None:
        """Set `occupied` from the densities."""
        enough = min(self.threshold / self.step, float(self.density.mean()))
        torch.gt(self.density, enough, out=self.occupied)

    def _choose(self, cells: int | None) -> Tensor:
        total, device = self.density.numel(), self.density.device
        if cells is None or cells >= total:
            return torch.arange(total, device=device)
        anywhere = torch.randint(total, (cells // 2,), generator=self._generator, device=device)
        matter = self.occupied.view(-1).nonzero()[:, 0]
        if len(matter) == 0:
            return anywhere
        drawn = torch.randint(len(matter), (cells - cells // 2,), generator=self._generator, device=device)
        return torch.cat([anywhere, matter[drawn]])

    def _points(self, index: Tensor) -> Float[Tensor, "n 3"]:
        """A point somewhere in each cell."""
        size = self.resolution
        corner = torch.stack([index // size**2, index // size % size, index % size], -1)
        inside = torch.rand(corner.shape, generator=self._generator, device=index.device)
        return (corner + inside) * (2 / size) - 1

    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint keeps."""
        return {
            "density": self.density,
            "updates": torch.tensor(self.updates),
            "generator": self._generator.get_state(),
        }

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Continue from what `tensors` returned."""
        if tensors["density"].shape != self.density.shape:
            raise ValueError(f"the occupancy grid has shape {tuple(tensors['density'].shape)}")
        self.density.copy_(tensors["density"])
        self.updates = int(tensors["updates"])
        self._generator.set_state(tensors["generator"].cpu())
        if self.updates:
            self.decide()


def occupancy_of(
    density: Density, *, resolution: int = 128, step: float, device: torch.device | str
) -> Bool[Tensor, "x y z"]:
    """The occupied cells of a trained field, looked at twice in every cell, with their neighbours."""
    grid = OccupancyGrid(resolution=resolution, step=step, decay=1.0, device=device)
    for _ in range(2):
        grid.update(density)
    matter = grid.occupied[None, None].float()
    return torch.nn.functional.max_pool3d(matter, 3, stride=1, padding=1)[0, 0] > 0
