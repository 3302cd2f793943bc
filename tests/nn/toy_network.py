"""A network that the library does not know: this file is all there is of it."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from staf.nn.architecture import Device, network
from staf.nn.arguments import Depth, Positive, Size
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.first_layer import SineLayer
from staf.nn.init import SirenWeights
from staf.nn.networks import NetworkSpec, Preset, Rates


class Triangle(nn.Module):
    """arcsin(sin(omega0 x)) / (pi / 2), a triangle wave."""

    def __init__(self, omega0: float) -> None:
        super().__init__()
        self.omega0 = omega0

    def forward(self, x: Tensor) -> Tensor:
        return torch.asin(0.999 * torch.sin(self.omega0 * x)) / (torch.pi / 2)


@network
def toy(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 64,
    depth: Depth = 4,
    omega0: Positive = 30.0,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """Triangle waves."""
    return CoordinateMLP(
        in_features,
        out_features,
        width=width,
        depth=depth,
        activation=partial(Triangle, 30.0),
        first_activation=partial(Triangle, omega0),
        weights=SirenWeights(),
        generator=generator,
        device=device,
        dtype=dtype,
    )


SPEC = NetworkSpec(
    "toy",
    toy,
    formula="arcsin(sin(omega0 x))",
    source="this test",
    rates=Rates(full_batch=2e-3),
    first_layer=SineLayer(factor=0.5),
    presets={"paper_image": Preset("As nobody has published it.", "paper_image", {"omega0": 7.0})},
    layers="4 activated layers of 64",
)
