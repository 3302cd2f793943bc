"""Missing pixels by a small network that was trained on other photos."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from staf._typing import Bool, Float
from staf.tasks.filling import filled
from staf.tasks.picture_network import Body, contrast, in_three_channels, last, load, turned, turned_back

# Mirrored and turned ways whose results are averaged; larger pictures are seen in one way.
WAYS, MOST_PIXELS = 8, 2**17


class FillingNetwork(nn.Module):
    """A colour picture whose missing pixels were filled smoothly, corrected: u + s g((u - m) / s, known) there.

    m and s are the picture's mean and spread. The network g sees cells of 2x2 pixels as features.

    >>> FillingNetwork()(torch.zeros(1, 3, 9, 8), torch.ones(1, 1, 9, 8)).shape
    torch.Size([1, 3, 9, 8])
    """

    def __init__(self) -> None:
        super().__init__()
        self.body, self.last = Body(16), last(12)

    def forward(self, smooth: Float[Tensor, "n 3 h w"], known: Float[Tensor, "n 1 h w"]) -> Float[Tensor, "n 3 h w"]:
        mean, spread = contrast(smooth)
        height, width = smooth.shape[2:]
        given = torch.cat([(smooth - mean) / spread, known.expand(len(smooth), -1, -1, -1)], 1)
        given = functional.pad(given, (0, width % 2, 0, height % 2), mode="replicate")
        change = functional.pixel_shuffle(self.last(self.body(functional.pixel_unshuffle(given, 2))), 2)
        return smooth + spread * change[..., :height, :width].to(smooth.dtype) * (1 - known)


def filled_by_network(image: Float[Tensor, "c h w"], known: Bool[Tensor, "h w"]) -> Float[Tensor, "c h w"]:
    """`image` where `known`, and elsewhere what the trained network makes of the biharmonic filling.

    >>> ramp = torch.linspace(0, 1, 24).expand(1, 24, 24)
    >>> known = torch.rand(24, 24, generator=torch.Generator().manual_seed(0)) < 0.3
    >>> off = (filled_by_network(ramp * known, known) - ramp).abs()
    >>> off[:, known].max().item(), bool(off.mean() < 0.03)
    (0.0, True)
    """
    network, given = trained(), known[None, None].float()
    ways = range(WAYS) if known.numel() <= MOST_PIXELS else range(1)

    def estimate(picture: Tensor) -> Tensor:
        seen = [turned_back(network(turned(picture, way), turned(given, way)), way) for way in ways]
        return torch.stack(seen).mean(0)

    found = in_three_channels(estimate, filled(image, known).float())
    return torch.where(known, image, found.to(image.dtype))


@cache
def trained() -> nn.Module:
    """The network with the weights of the package."""
    return load(FillingNetwork(), "filling.safetensors")
