"""INCODE's harmoniser: reads the observed signal and predicts four numbers."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from staf._typing import Float
from staf.nn.architecture import Runtime
from staf.nn.arguments import choose
from staf.nn.init import fill, normal
from staf.nn.linear import Linear
from staf.nn.mfcc import mfcc
from staf.nn.residual import ImageStem, ShapeStem

SignalName = Literal["image", "denoising", "audio", "shape"]
HEADS = {
    "image": (64, 64, 32, 4),
    "denoising": (64, 32, 16, 8, 4),
    "audio": (50, 50, 32, 4),
    "shape": (128, 64, 32, 4),
}
LAYOUTS = {"image": "(c, h, w)", "denoising": "(c, h, w)", "audio": "(c, n)", "shape": "(1, d, h, w)"}
# The head that reads a noisy image normalises what its layers say.
NORMALISED = ("denoising",)
LARGEST_SHAPE = 128


class Harmoniser(nn.Module):
    """Features of the observation, then a SiLU head to (a, b, c, d).

    An image is read by the first stage of a ResNet-34, a shape by two stages of an 18-layer 3D ResNet, both trained
    with the field; audio by 50 MFCCs. A noisy image (`denoising`) has the features of an image and a head with layer
    normalisation. The head starts with weights N(0, 0.001^2) and every bias at `head_bias`, so the four numbers start
    near `head_bias`.

    >>> reader = Harmoniser("audio")
    >>> reader(reader.prepare(torch.zeros(1, 4000))).shape
    torch.Size([4])
    """

    def __init__(
        self,
        signal: str,
        *,
        sample_rate: int = 44100,
        head_bias: float = 0.312,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.signal = choose("harmoniser", signal, tuple(HEADS))
        self.sample_rate = sample_rate
        runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
        self.features: nn.Module | None = None
        if signal != "audio":
            self.features = ShapeStem(**runtime) if signal == "shape" else ImageStem(**runtime)
        sizes = HEADS[signal]
        layers = [Linear(a, b, device=device, dtype=dtype) for a, b in itertools.pairwise(sizes)]
        self.head = nn.ModuleList(layers)
        hidden = sizes[1:-1] if signal in NORMALISED else ()
        self.norms = nn.ModuleList(nn.LayerNorm(size, device=device, dtype=dtype) for size in hidden)
        for layer in layers:
            shape = tuple(layer.weight.shape)
            fill(layer.weight, lambda shape=shape: normal(shape, 0.001, generator))  # type: ignore[misc]
            fill(layer.bias, lambda: torch.tensor(float(head_bias), device="cpu"))

    def prepare(self, observation: Tensor) -> Tensor:
        """What `forward` reads: images and shapes in three channels (a shape at most 128 long), audio as its MFCCs."""
        layout = LAYOUTS[self.signal]
        if observation.dim() != layout.count(",") + 1:
            raise ValueError(
                f"observation must have the layout {layout} for harmoniser='{self.signal}', "
                f"got shape {tuple(observation.shape)}"
            )
        if self.signal == "audio":
            return mfcc(observation, self.sample_rate)
        three = observation[:3] if observation.shape[0] >= 3 else observation[:1].expand(3, *observation.shape[1:])
        three = three[None]
        longest = max(observation.shape[1:])
        if self.signal == "shape" and longest > LARGEST_SHAPE:
            depth, height, width = (math.ceil(side * LARGEST_SHAPE / longest) for side in observation.shape[1:])
            three = functional.adaptive_avg_pool3d(three, (depth, height, width))
        return three

    def forward(self, prepared: Tensor) -> Float[Tensor, 4]:
        """(a, b, c, d)."""
        x = prepared if self.features is None else self.features(prepared)
        for index, layer in enumerate(self.head):
            if index > 0:
                x = functional.silu(self.norms[index - 1](x) if self.norms else x)
            x = layer(x)
        return x
