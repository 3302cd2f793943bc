"""Small convolutional networks that were trained on other photos: their layers, and how a picture is given to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from staf._typing import Float

# Weights in float16 beside this file, made by `python -m benchmarks.sweeps.learn_restoring`.
ASSETS = Path(__file__).parent / "assets"
WIDTH, BLOCKS = 56, 3
# Added to the standard deviation of a picture, in units of the range, so that noise is not taken for a picture.
FLOOR = 0.01


class Body(nn.Module):
    """A convolution from `channels` to 56 features, and three residual blocks of two convolutions each, all 3x3.

    >>> Body(4)(torch.zeros(1, 4, 8, 8)).shape
    torch.Size([1, 56, 8, 8])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, WIDTH, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(2 * BLOCKS))

    def forward(self, x: Float[Tensor, "n k h w"]) -> Float[Tensor, "n f h w"]:
        x = self.first(x)
        for inner, outer in zip(self.blocks[::2], self.blocks[1::2], strict=True):
            x = x + outer(functional.relu(inner(functional.relu(x))))
        return functional.relu(x)


def last(channels: int) -> nn.Conv2d:
    """The last layer: it begins with zeros, so that nothing is changed."""
    layer = nn.Conv2d(WIDTH, channels, 3, padding=1)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    return layer


def contrast(picture: Float[Tensor, "n c h w"]) -> tuple[Tensor, Tensor]:
    """The mean and the spread of each picture, (n, 1, 1, 1): a network sees neither brightness nor contrast."""
    flat = picture.flatten(1)
    return flat.mean(1)[:, None, None, None], flat.std(1)[:, None, None, None] + FLOOR


def turned(picture: Float[Tensor, "n c h w"], way: int) -> Float[Tensor, "n c ..."]:
    """A picture in one of eight ways: mirrored, upside down, transposed.

    >>> turned(torch.tensor([[[[1, 2], [3, 4]]]]), 5)[0, 0].tolist()
    [[3, 1], [4, 2]]
    """
    picture = picture.mT if way & 4 else picture
    return picture.flip([axis for axis, bit in ((2, 2), (3, 1)) if way & bit])


def turned_back(picture: Float[Tensor, "n c h w"], way: int) -> Float[Tensor, "n c ..."]:
    """What `turned` the same way gives the picture.

    >>> picture = torch.arange(6.0).reshape(1, 1, 2, 3)
    >>> all(torch.equal(turned_back(turned(picture, way), way), picture) for way in range(8))
    True
    """
    picture = picture.flip([axis for axis, bit in ((2, 2), (3, 1)) if way & bit])
    return picture.mT if way & 4 else picture


def in_three_channels(
    estimate: Callable[[Float[Tensor, "n 3 h w"]], Tensor], image: Float[Tensor, "c h w"]
) -> Float[Tensor, "c ..."]:
    """What a network for colour pictures makes of any picture: of other channels than three, each is a grey one."""
    if len(image) == 3:
        return estimate(image[None])[0]
    return torch.cat([estimate(plane.expand(1, 3, -1, -1)).mean(1) for plane in image])


def load(network: nn.Module, name: str) -> nn.Module:
    """The network with the weights of the package."""
    from safetensors.torch import load_file

    network.load_state_dict({key: tensor.float() for key, tensor in load_file(ASSETS / name).items()})
    return network.requires_grad_(False).eval()
