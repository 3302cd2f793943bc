"""KAN with Chebyshev polynomials, which the released code of STAF holds beside its networks."""

from __future__ import annotations

import itertools
from typing import Annotated, Unpack

import torch
from torch import Tensor, nn

from staf._documents import Document
from staf._typing import Float
from staf.nn.architecture import Device, Runtime, network
from staf.nn.arguments import Depth, Range, Size
from staf.nn.init import fill, normal
from staf.nn.linear import check_coordinates
from staf.nn.networks.spec import NetworkSpec, Rates, Row, Settings, decay, paper_presets

Degree = Annotated[int, Range(1, 64)]


class ChebyshevLayer(nn.Module):
    """y_o = sum_i sum_d c_{o,i,d} T_d(tanh x_i), T_d the Chebyshev polynomial of degree d <= `degree`.

    `weight` holds the coefficients, of shape (out, in (degree + 1)), and starts at N(0, (1 / (in (degree + 1)))^2).

    >>> ChebyshevLayer(2, 3, degree=4)(torch.zeros(5, 2)).shape
    torch.Size([5, 3])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        degree: int,
        generator: torch.Generator | None = None,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.degree = degree
        shape = (out_features, in_features * (degree + 1))
        self.weight = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        fill(self.weight, lambda: normal(shape, 1 / shape[1], generator))

    def forward(self, x: Float[Tensor, "*points d"]) -> Float[Tensor, "*points c"]:
        u = torch.tanh(x)
        polynomials = [torch.ones_like(u), u]
        for _ in range(2, self.degree + 1):
            polynomials.append(2 * u * polynomials[-1] - polynomials[-2])
        return torch.stack(polynomials, -1).flatten(-2) @ self.weight.T


class ChebyshevKan(nn.Module):
    """`depth` Chebyshev layers of `width`, and one to the values: every edge has a polynomial of its own."""

    architecture: Document

    def __init__(
        self, in_features: int, out_features: int, *, width: int, depth: int, degree: int, **runtime: Unpack[Runtime]
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        sizes = [in_features, *[width] * depth, out_features]
        layers = [ChebyshevLayer(a, b, degree=degree, **runtime) for a, b in itertools.pairwise(sizes)]
        self.layers, self.output = nn.ModuleList(layers[:-1]), layers[-1]

    def hidden_matrices(self) -> list[Tensor]:
        """The coefficients between layers of `width`, which Muon may train: wide matrices, not square ones."""
        return [layer.weight for layer in list(self.layers)[1:]]  # type: ignore[misc]

    def forward(self, coordinates: Float[Tensor, "*points d"]) -> Float[Tensor, "*points c"]:
        """Values at the coordinates."""
        check_coordinates(coordinates, self.in_features)
        # Half precision would move the points themselves.
        with torch.autocast(device_type=coordinates.device.type, enabled=False):
            z = self.layers[0](coordinates.to(self.output.weight.dtype))
        for layer in [*self.layers][1:]:
            z = layer(z)
        return self.output(z)


@network
def kan(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    degree: Degree = 8,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> ChebyshevKan:
    """Kolmogorov-Arnold network with Chebyshev polynomials instead of splines; width 84 has about SIREN's size.

    >>> [sum(p.numel() for p in kan(2, 3, width=width).parameters()) for width in (256, 84)]
    [1780992, 194292]
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    return ChebyshevKan(in_features, out_features, width=width, depth=depth, degree=degree, **runtime)


SPEC = NetworkSpec(
    "kan",
    kan,
    formula=r"$\sum_d c_d T_d(\tanh x)$ on every edge, $c$ trained",
    source="Liu et al., *KAN: Kolmogorov-Arnold Networks*, 2024; polynomials as in the released code of STAF",
    rates=Rates(full_batch=3e-3, soap=3e-3, mini_batch=(1e-3, 1e-3)),
    restoration={"super_resolution": Settings(3e-3), "denoising": Settings(1.5e-3)},
    # Nobody has published a rate for images: the paper's for STAF.
    presets=paper_presets("KAN", {"rate": 1e-3, "schedule": decay(0.05)}),
    summary="a trained Chebyshev polynomial on every edge",
    rows=(
        Row(
            "`degree=8`", "$N(0, 1/(n (d + 1))^2)$, $n$ inputs, $d$ = `degree`", 1_780_992, note=" (width 84: 194,292)"
        ),
    ),
)
