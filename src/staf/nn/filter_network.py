"""Multiplicative filter networks: products of filters of the coordinates, with linear maps between."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from staf._documents import Document
from staf._typing import Float
from staf.nn.architecture import Runtime
from staf.nn.arguments import Depth, Positive, Size, check, choose
from staf.nn.init import fill, fill_torch_default, fill_uniform, gamma, uniform
from staf.nn.linear import CoordinateLinear, Linear, check_coordinates

FilterName = Literal["gabor", "fourier"]


class FourierFilter(nn.Module):
    """g(x) = sin(W x + b), W torch's default times `scale`, b ~ U(-pi, pi).

    >>> FourierFilter(2, 8, scale=128.0)(torch.zeros(5, 2)).shape
    torch.Size([5, 8])
    """

    def __init__(
        self,
        in_features: int,
        width: int,
        *,
        scale: float,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.linear = CoordinateLinear(in_features, width, device=device, dtype=dtype)
        fill_uniform(self.linear.weight, scale / math.sqrt(in_features), generator)
        fill_uniform(self.linear.bias, math.pi, generator)

    def forward(self, x: Float[Tensor, "*points d"]) -> Float[Tensor, "*points m"]:
        """g(x)."""
        return torch.sin(self.linear(x))


class GaborFilter(nn.Module):
    """g(x) = sin(W x + b) exp(-gamma |x - mu|^2 / 2).

    gamma ~ Gamma(alpha, beta) per neuron, mu ~ U(-1, 1), W torch's default times scale sqrt(gamma), b ~ U(-pi, pi).
    """

    def __init__(
        self,
        in_features: int,
        width: int,
        *,
        scale: float,
        alpha: float,
        beta: float,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.linear = CoordinateLinear(in_features, width, device=device, dtype=dtype)
        self.centre = nn.Parameter(torch.empty(width, in_features, device=device, dtype=dtype))
        self.sharpness = nn.Parameter(torch.empty(width, device=device, dtype=dtype))
        fill(self.centre, lambda: uniform((width, in_features), -1, 1, generator))
        fill(self.sharpness, lambda: gamma((width,), alpha, beta, generator))
        fill_uniform(self.linear.weight, scale / math.sqrt(in_features), generator)
        fill(self.linear.weight, lambda: self.linear.weight * self.sharpness[:, None].sqrt())
        fill_uniform(self.linear.bias, math.pi, generator)

    def forward(self, x: Float[Tensor, "*points d"]) -> Float[Tensor, "*points m"]:
        """g(x)."""
        a = self.linear(x)
        distance = torch.zeros_like(a)
        for k in range(self.centre.shape[1]):
            distance = distance + (x[..., k : k + 1].to(a.dtype) - self.centre[:, k]).square()
        return torch.sin(a) * torch.exp(-0.5 * self.sharpness * distance)


class MultiplicativeFilterNetwork(nn.Module):
    """z_1 = g_1(x);  z_i = g_i(x) * (W_i z_{i-1} + b_i);  output linear. `depth` filters, `depth - 1` linear maps.

    Args:
        filters: `gabor` or `fourier`.
        input_scale: filter weights are scaled by input_scale / sqrt(depth).
        weight_scale: linear maps start U(+-sqrt(weight_scale / width)).
        alpha: of the Gabor widths, Gamma(alpha / depth, beta).
        beta: of the same.

    >>> field = MultiplicativeFilterNetwork(2, 3, width=16, depth=3)
    >>> field(torch.zeros(10, 2)).shape
    torch.Size([10, 3])
    """

    architecture: Document

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        width: int = 256,
        depth: int = 4,
        filters: str = "gabor",
        input_scale: float = 256.0,
        weight_scale: float = 1.0,
        alpha: float = 6.0,
        beta: float = 1.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features: int = check("in_features", in_features, Size)
        self.out_features: int = check("out_features", out_features, Size)
        width, depth = check("width", width, Size), check("depth", depth, Depth)
        choose("filters", filters, ("gabor", "fourier"))
        scale = check("input_scale", input_scale, Positive) / math.sqrt(depth)
        weight_scale, alpha = check("weight_scale", weight_scale, Positive), check("alpha", alpha, Positive)
        beta = check("beta", beta, Positive)

        def make() -> nn.Module:
            place: Runtime = {"generator": generator, "device": device, "dtype": dtype}
            if filters == "fourier":
                return FourierFilter(self.in_features, width, scale=scale, **place)
            return GaborFilter(self.in_features, width, scale=scale, alpha=alpha / depth, beta=beta, **place)

        self.filters = nn.ModuleList([make() for _ in range(depth)])
        layers = [Linear(width, width, device=device, dtype=dtype) for _ in range(depth - 1)]
        self.layers = nn.ModuleList(layers)
        self.output = Linear(width, self.out_features, device=device, dtype=dtype)
        for layer in layers:
            fill_uniform(layer.weight, math.sqrt(weight_scale / width), generator)
            fill_uniform(layer.bias, 1 / math.sqrt(width), generator)
        fill_torch_default(self.output, generator)

    def hidden_matrices(self) -> list[Tensor]:
        """The linear maps between filters."""
        return [layer.weight for layer in self.layers]  # type: ignore[misc]

    def forward(self, coordinates: Float[Tensor, "*points d"]) -> Float[Tensor, "*points c"]:
        """Values at the coordinates."""
        check_coordinates(coordinates, self.in_features)
        z = self.filters[0](coordinates)
        for layer, filter_ in zip(self.layers, list(self.filters)[1:], strict=True):
            z = filter_(coordinates) * layer(z)
        return self.output(z)
