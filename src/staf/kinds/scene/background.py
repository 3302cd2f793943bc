"""The default background: white, or the colour around photos without transparency."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import UInt8
from staf.kinds.scene.checks import WHITE, Triple

# Pixels this near to a colour are of it; JPEG and noise move them by a few levels.
NEAR = 12
# A colour is that of the background where it has at least this share of the photos' borders.
LEAST_SHARE = 0.5
# Pixels of the borders that are looked at, at most.
MOST_PIXELS = 2**20
SURROUNDED = (
    "the photos are opaque and their borders have many colours. What lies outside of the box cannot be shown: make it "
    "transparent in the photos, or give a box that holds it (staf fit: --centre X Y Z --half X)"
)


def background_of(pixels: UInt8[Tensor, "v h w c"]) -> tuple[Triple, bool]:
    """The colour behind photos, and whether they show surroundings, which are no single colour.

    Transparent photos may be put on any colour, here white. Others are opaque all over: behind them is the median
    colour of their borders.

    >>> background_of(torch.full((2, 4, 4, 3), 51, dtype=torch.uint8))
    ((0.2, 0.2, 0.2), False)
    """
    if pixels.shape[-1] == 4:
        return WHITE, False
    border = _border(pixels)
    median = border.median(0).values
    red, green, blue = (round(value / 255, 6) for value in median.tolist())
    alike = float(((border - median).abs().amax(1) <= NEAR).float().mean())
    return (red, green, blue), alike < LEAST_SHARE


def is_empty(pixels: UInt8[Tensor, "v h w c"]) -> bool:
    """Whether photos are transparent all over.

    >>> is_empty(torch.zeros(1, 2, 2, 4, dtype=torch.uint8)), is_empty(torch.zeros(1, 2, 2, 3, dtype=torch.uint8))
    (True, False)
    """
    return pixels.shape[-1] == 4 and not bool(pixels[..., 3].any())


def _border(pixels: UInt8[Tensor, "v h w 3"]) -> Tensor:
    """Pixels (n, 3) of the outermost rows and columns, as integers."""
    sides = (pixels[:, 0], pixels[:, -1], pixels[:, :, 0], pixels[:, :, -1])
    border = torch.cat([side.reshape(-1, 3) for side in sides])
    return border[:: 1 + len(border) // MOST_PIXELS].int()
