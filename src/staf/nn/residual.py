"""The first stages of residual networks (He et al. 2016; Tran et al. 2018), untrained, in two and three dimensions."""

from __future__ import annotations

import math
from typing import Unpack

import torch
from torch import Tensor, nn
from torch.nn import functional

from staf._typing import Float
from staf.nn.architecture import Runtime
from staf.nn.init import fill, normal


class Convolution(nn.Module):
    """A convolution without bias, weights N(0, 2 / fan out), followed by batch normalisation.

    Normalisation always uses the statistics of what it reads, so that a forward pass changes no state.

    >>> Convolution(3, 8, kernel=(3, 3))(torch.rand(1, 3, 6, 6)).shape
    torch.Size([1, 8, 6, 6])
    """

    def __init__(
        self,
        channels: int,
        features: int,
        *,
        kernel: tuple[int, ...],
        stride: tuple[int, ...] | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.stride = stride or (1,) * len(kernel)
        self.padding = tuple(size // 2 for size in kernel)
        self.weight = nn.Parameter(torch.empty(features, channels, *kernel, device=device, dtype=dtype))
        self.scale = nn.Parameter(torch.empty(features, device=device, dtype=dtype))
        self.shift = nn.Parameter(torch.empty(features, device=device, dtype=dtype))
        std = math.sqrt(2 / (features * math.prod(kernel)))
        fill(self.weight, lambda: normal(tuple(self.weight.shape), std, generator))
        fill(self.scale, lambda: torch.ones(features, device="cpu"))
        fill(self.shift, lambda: torch.zeros(features, device="cpu"))

    def forward(self, x: Tensor) -> Tensor:
        """Convolve, then normalise each channel."""
        convolve = functional.conv2d if self.weight.dim() == 4 else functional.conv3d
        y = convolve(x, self.weight, stride=self.stride, padding=self.padding)
        if y[0, 0].numel() == 1:
            return torch.zeros_like(y) + self.shift.reshape(-1, *[1] * (y.dim() - 2))
        return functional.batch_norm(y, None, None, self.scale, self.shift, training=True)


class Block(nn.Module):
    """relu(x + conv(relu(conv(x)))), with a 1x1 convolution on x where its shape changes."""

    def __init__(
        self, channels: int, features: int, *, dimensions: int, stride: int = 1, **runtime: Unpack[Runtime]
    ) -> None:
        super().__init__()
        cube, strides = (3,) * dimensions, (stride,) * dimensions
        self.first = Convolution(channels, features, kernel=cube, stride=strides, **runtime)
        self.second = Convolution(features, features, kernel=cube, **runtime)
        self.short: Convolution | None = None
        if stride != 1 or channels != features:
            self.short = Convolution(channels, features, kernel=(1,) * dimensions, stride=strides, **runtime)

    def forward(self, x: Tensor) -> Tensor:
        """The residual sum."""
        short = x if self.short is None else self.short(x)
        return torch.relu(short + self.second(torch.relu(self.first(x))))


class ImageStem(nn.Module):
    """A 34-layer ResNet up to its first stage: (1, 3, h, w) to 64 features, averaged over the image.

    >>> sum(p.numel() for p in ImageStem().parameters())
    231488
    """

    out_features = 64

    def __init__(self, **runtime: Unpack[Runtime]) -> None:
        super().__init__()
        self.stem = Convolution(3, 64, kernel=(7, 7), stride=(2, 2), **runtime)
        self.blocks = nn.Sequential(*[Block(64, 64, dimensions=2, **runtime) for _ in range(3)])

    def forward(self, image: Float[Tensor, "1 3 h w"]) -> Float[Tensor, 64]:
        """Features."""
        x = functional.max_pool2d(torch.relu(self.stem(image)), 3, stride=2, padding=1)
        return self.blocks(x).mean((0, 2, 3))


class ShapeStem(nn.Module):
    """An 18-layer 3D ResNet up to its second stage: (1, 3, d, h, w) to 128 features, averaged over the volume."""

    out_features = 128

    def __init__(self, **runtime: Unpack[Runtime]) -> None:
        super().__init__()
        self.stem = Convolution(3, 64, kernel=(3, 7, 7), stride=(1, 2, 2), **runtime)
        widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1)]
        blocks = [Block(before, after, dimensions=3, stride=stride, **runtime) for before, after, stride in widths]
        self.blocks = nn.Sequential(*blocks)

    def forward(self, volume: Float[Tensor, "1 3 d h w"]) -> Float[Tensor, 128]:
        """Features."""
        return self.blocks(torch.relu(self.stem(volume))).mean((0, 2, 3, 4))
