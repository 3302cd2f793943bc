"""Which cells of a scene's box hold matter, learnt while a radiance field is trained, so that rays skip the others."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from staf._typing import Bool, Float

Density = Callable[[Tensor], Tensor]
# Cells along a side, by type of device.
RESOLUTION = {"cpu": 64, "cuda": 128}
# Points whose density is computed together.
CHUNK = {"cpu": 2**16, "cuda": 2**20}


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
        resolution: int | None = None,
        step: float,
        threshold: float = 0.01,
        decay: float = 0.95,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        resolution = resolution or RESOLUTION.get(torch.device(device).type, RESOLUTION["cuda"])
        shape = (resolution, resolution, resolution)
        self.resolution, self.step, self.threshold, self.decay = resolution, step, threshold, decay
        self.density = torch.zeros(shape, device=device)
        self.occupied = torch.ones(shape, device=device, dtype=torch.bool)
        self.updates = 0
        self._generator = torch.Generator(device).manual_seed(seed)

    @torch.no_grad()
    def update(self, density: Density, *, parts: int = 1) -> None:
        """Look at the density somewhere in each cell of one part of `parts`, another part each time, and decide.

        Nothing here waits for the device.
        """
        flat = self.density.view(-1)
        flat.mul_(self.decay)
        chunk = CHUNK.get(flat.device.type, CHUNK["cuda"]) * parts
        for start in range(self.updates % parts, flat.numel(), chunk):
            index = torch.arange(start, min(start + chunk, flat.numel()), parts, device=flat.device)
            # A field that diverges must not empty the grid for the weights that are kept.
            found = density(self._points(index)).to(flat).nan_to_num(nan=0.0)
            flat[index] = torch.maximum(flat[index], found)
        self.updates += 1
        self.decide()

    def decide(self) -> None:
        """Set `occupied` from the densities."""
        enough = self.density.mean().clamp(max=self.threshold / self.step)
        torch.gt(self.density, enough, out=self.occupied)

    def around(self) -> Bool[Tensor, "x y z"]:
        """The occupied cells and their neighbours: where to look for thin matter that the last looks have missed."""
        matter = self.occupied[None, None].float()
        return torch.nn.functional.max_pool3d(matter, 3, stride=1, padding=1)[0, 0] > 0

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
        try:
            self._generator.set_state(tensors["generator"].cpu())
        except RuntimeError as error:
            raise ValueError(f"the occupancy grid was kept on another kind of device: {error}") from None
        if self.updates:
            self.decide()


def occupancy_of(
    density: Density, *, resolution: int | None = None, step: float, device: torch.device | str
) -> Bool[Tensor, "x y z"]:
    """The occupied cells of a trained field, looked at twice in every cell, with their neighbours."""
    grid = OccupancyGrid(resolution=resolution, step=step, decay=1.0, device=device)
    for _ in range(2):
        grid.update(density)
    return grid.around()
