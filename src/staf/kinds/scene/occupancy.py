"""Which cells of a scene's box hold matter, learnt while a radiance field is trained, so that rays skip the others."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from staf._typing import Bool, Float

Density = Callable[[Tensor], Tensor]
# Cells along a side, at most, by type of device. Of lego's photos at 800x800 that were left out, 38 s on an H200 show
# 34.96 dB with 128 cells, 35.53 dB with 256 and 35.35 dB with 512; at 400x400, 12 s, 35.45 dB with 128 and 35.59 dB
# with 256 (benchmarks/results/scene-cells-h200-2026-11-18.json).
MOST_CELLS = {"cpu": 64, "cuda": 256}
# Points whose density is computed together.
CHUNK = {"cpu": 2**16, "cuda": 2**20}


class OccupancyGrid:
    """Density in the cells of a grid over [-1, 1]^3, a running maximum, and which cells count as occupied.

    A cell is occupied if its density takes more than `threshold` of the light on a step of a ray, or more than
    the mean cell's does, whichever is less. All are occupied before the first update. By default a cell is two to
    four steps long.

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
        resolution = resolution or cells_for(step, device)
        shape = (resolution, resolution, resolution)
        self.resolution, self.step, self.threshold, self.decay = resolution, step, threshold, decay
        self.density = torch.zeros(shape, device=device)
        self.occupied = torch.ones(shape, device=device, dtype=torch.bool)
        self.updates = 0
        self._generator = torch.Generator(device).manual_seed(seed)

    @torch.no_grad()
    def update(self, density: Density, *, parts: int = 1, block: int = 1) -> None:
        """Look at the density somewhere in each cell of one part of `parts`, another part each time, and decide.

        What a cell was found to hold counts less at each look, by `decay` to the power of `parts`. With a `block`, one
        point is looked at for all cells of a cube with so many a side. Nothing here waits for the device.
        """
        if self.resolution % block:
            raise ValueError(f"block must divide {self.resolution}, the cells along a side, got {block}")
        size, device = self.resolution // block, self.density.device
        cells = self.density.view(size, block, size, block, size, block)
        chunk = CHUNK.get(device.type, CHUNK["cuda"]) * parts
        for start in range(self.updates % parts, size**3, chunk):
            index = torch.arange(start, min(start + chunk, size**3), parts, device=device)
            x, y, z = index // size**2, index // size % size, index % size
            inside = torch.rand((len(index), 3), generator=self._generator, device=device)
            points = (torch.stack([x, y, z], -1) + inside) * (2 / size) - 1
            # A field that diverges must not empty the grid for the weights that are kept.
            found = density(points).to(self.density).nan_to_num(nan=0.0)
            held = cells[x, :, y, :, z] * self.decay**parts
            cells[x, :, y, :, z] = torch.maximum(held, found[:, None, None, None])
        self.updates += 1
        self.decide()

    def decide(self) -> None:
        """Set `occupied` from the densities."""
        torch.gt(self.density, self.least(), out=self.occupied)

    def least(self) -> Float[Tensor, ""]:
        """The density above which a cell is occupied."""
        return self.density.mean().clamp(max=self.threshold / self.step)

    def around(self) -> Bool[Tensor, "x y z"]:
        """The occupied cells and their neighbours: where to look for thin matter that the last looks have missed."""
        matter = self.occupied[None, None].float()
        return torch.nn.functional.max_pool3d(matter, 3, stride=1, padding=1)[0, 0] > 0

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


def cells_for(step: float, device: torch.device | str) -> int:
    """Cells along a side of [-1, 1]^3, a power of two, each two to four steps long where a device has time for so many.

    >>> cells_for(2 * 3**0.5 / 1024, "cuda"), cells_for(2 * 3**0.5 / 256, "cuda"), cells_for(2 * 3**0.5 / 1024, "cpu")
    (256, 64, 64)
    """
    most = MOST_CELLS.get(torch.device(device).type, MOST_CELLS["cuda"])
    return min(most, 2 ** max(0, int(math.log2(1 / step))))


def occupancy_of(
    density: Density, *, resolution: int | None = None, step: float, device: torch.device | str
) -> OccupancyGrid:
    """The grid of a trained field, looked at twice in every cell."""
    grid = OccupancyGrid(resolution=resolution, step=step, decay=1.0, device=device)
    for _ in range(2):
        grid.update(density)
    return grid
