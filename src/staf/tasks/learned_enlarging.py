"""A picture enlarged by a small network that was trained on other photos."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from staf._typing import Float
from staf.tasks.classical import lanczos
from staf.tasks.non_local import back_projected
from staf.tasks.picture_network import Body, contrast, in_three_channels, last, load, turned, turned_back

FACTORS = (2, 3, 4)
# Mirrored and turned ways whose results are averaged; larger pictures are seen in one way.
WAYS, MOST_PIXELS = 8, 2**16


class EnlargingNetwork(nn.Module):
    """Area means y of a colour picture enlarged: u + s P g((y - m) / s), u by Lanczos with its area means made y.

    m and s are the mean and spread of y. P takes the area means off, so that those of the result are what is observed.
    All factors share all layers but the last, which makes factor^2 pixels of the features of a cell.

    >>> EnlargingNetwork()(torch.ones(1, 3, 8, 9), 2).shape
    torch.Size([1, 3, 16, 18])
    """

    def __init__(self) -> None:
        super().__init__()
        self.body = Body(3)
        self.last = nn.ModuleDict({str(factor): last(3 * factor**2) for factor in FACTORS})

    def forward(self, observed: Float[Tensor, "n 3 h w"], factor: int) -> Float[Tensor, "n 3 H W"]:
        count, _, height, width = observed.shape
        planes = observed.flatten(0, 1)
        base = back_projected(lanczos(planes, factor), planes, factor)
        mean, spread = contrast(observed)
        features = self.body((observed - mean) / spread)
        change = functional.pixel_shuffle(self.last[str(factor)](features), factor).to(observed.dtype)
        off = functional.interpolate(functional.avg_pool2d(change, factor), scale_factor=factor, mode="nearest")
        return base.reshape(count, 3, factor * height, factor * width) + spread * (change - off)


def enlarged_by_network(observed: Float[Tensor, "c h w"], factor: int) -> Float[Tensor, "c H W"]:
    """What the trained network makes of area means; `factor` is 2, 3 or 4.

    >>> ramp = torch.linspace(0, 1, 24).expand(1, 24, 24)
    >>> found = enlarged_by_network(ramp, 4)
    >>> bool((torch.nn.functional.avg_pool2d(found, 4) - ramp).abs().max() < 1e-5)
    True
    """
    if factor not in FACTORS:
        raise ValueError(f"factor must be one of {', '.join(map(str, FACTORS))}, got {factor}")
    network = trained()
    ways = range(WAYS) if observed[0].numel() <= MOST_PIXELS else range(1)

    def estimate(picture: Tensor) -> Tensor:
        return torch.stack([turned_back(network(turned(picture, way), factor), way) for way in ways]).mean(0)

    return in_three_channels(estimate, observed.float()).to(observed.dtype)


@cache
def trained() -> nn.Module:
    """The network with the weights of the package."""
    return load(EnlargingNetwork(), "enlarging.safetensors")
