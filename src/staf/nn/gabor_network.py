"""WIRE: complex Gabor wavelets with complex weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from staf._documents import Document
from staf._typing import Float
from staf.nn.arguments import Depth, Positive, Size, check
from staf.nn.hooks import has_hooks
from staf.nn.init import fill_torch_default
from staf.nn.linear import CoordinateLinear, Linear, check_coordinates
from staf.ops.backend import fused_allowed
from staf.ops.complex_linear import complex_linear
from staf.ops.gabor import gabor
from staf.ops.gabor_network import GaborLayer, gabor_network, is_fused

COMPLEX = {torch.float16: torch.complex32, torch.float32: torch.complex64, torch.float64: torch.complex128}


class Wire(nn.Module):
    """Coordinates (n, d) to the real part of a complex network: `depth` Gabor layers of `width`, then a linear output.

    `planar` is WIRE-2D: each layer has a second linear map whose Gaussian window multiplies the first's.
    The first layer has real weights; the others complex ones, which `.to(torch.float64)` makes complex128.

    >>> field = Wire(2, 3, width=16, depth=3, omega0=30.0, hidden_omega0=30.0, sigma0=10.0)
    >>> field(torch.zeros(10, 2)).dtype, field.layers[1].weight.dtype
    (torch.float32, torch.complex64)
    """

    architecture: Document

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        width: int,
        depth: int = 4,
        omega0: float = 30.0,
        hidden_omega0: float = 30.0,
        sigma0: float = 10.0,
        planar: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features: int = check("in_features", in_features, Size)
        self.out_features: int = check("out_features", out_features, Size)
        width, depth = check("width", width, Size), check("depth", depth, Depth)
        self.omega0: float = check("omega0", omega0, Positive)
        self.hidden_omega0: float = check("hidden_omega0", hidden_omega0, Positive)
        self.sigma0: float = check("sigma0", sigma0, Positive)
        dtype = dtype or torch.get_default_dtype()
        if dtype not in COMPLEX:
            raise TypeError(f"dtype must be float16, float32 or float64 (the ones with a complex twin), got {dtype}")

        def stack() -> nn.ModuleList:
            first: list[nn.Module] = [CoordinateLinear(self.in_features, width, device=device, dtype=dtype)]
            hidden = [Linear(width, width, device=device, dtype=COMPLEX[dtype]) for _ in range(depth - 1)]
            return nn.ModuleList([*first, *hidden])

        self.layers = stack()
        self.orthogonal = stack() if planar else None
        self.output = Linear(width, self.out_features, device=device, dtype=COMPLEX[dtype])
        for part in self.modules():
            if isinstance(part, nn.Linear):
                fill_torch_default(part, generator)

    def hidden_matrices(self) -> list[Tensor]:
        """None: the hidden weights are complex."""
        return []

    def forward(self, coordinates: Float[Tensor, "*points d"]) -> Float[Tensor, "*points c"]:
        """Values at the coordinates."""
        check_coordinates(coordinates, self.in_features)
        fused = self.fused(coordinates)
        if fused is not None:
            return fused
        z = coordinates
        for index, layer in enumerate(self.layers):
            window = None if self.orthogonal is None else self.orthogonal[index](z)
            z = gabor(layer(z), self.omega0 if index == 0 else self.hidden_omega0, self.sigma0, window)
        if z.is_cuda and fused_allowed() and type(self.output) is Linear and not has_hooks(self.output):
            return complex_linear(z, self.output.weight, self.output.bias, real=True)
        return self.output(z).real

    def fused(self, coordinates: Tensor, outputs: int | None = None) -> Tensor | None:
        """The first `outputs` values (all if None) as one operation, where a GPU gains by it; None elsewhere.

        Coordinates may have more columns than the network has inputs, which have no effect.
        """
        if not coordinates.is_cuda or not fused_allowed():
            return None
        linear = [self.output, *self.layers, *(() if self.orthogonal is None else self.orthogonal)]
        if any(type(layer) not in (Linear, CoordinateLinear) for layer in linear) or has_hooks(*linear):
            return None
        layers = self._tensors(coordinates.shape[-1] - self.in_features)
        weight, bias = cast("tuple[Tensor, Tensor]", (self.output.weight, self.output.bias))
        if outputs is not None:
            weight, bias = weight[:outputs], bias[:outputs]
        if not is_fused(coordinates, layers, weight, bias):
            return None
        omega0 = [self.omega0] + [self.hidden_omega0] * (len(layers) - 1)
        return gabor_network(coordinates, layers, weight, bias, omega0, self.sigma0)

    def _tensors(self, spare: int) -> list[GaborLayer]:
        """Weights and biases of each layer and of its window; zeros for `spare` more inputs of the first."""
        stacks = [self.layers] if self.orthogonal is None else [self.layers, self.orthogonal]
        layers = [
            tuple(tensor for layer in maps for tensor in (layer.weight, layer.bias))
            for maps in zip(*stacks, strict=True)
        ]
        if spare:
            layers[0] = tuple(
                functional.pad(tensor, (0, spare)) if tensor.dim() == 2 else tensor for tensor in layers[0]
            )
        return layers

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Wire:
        """Convert complex tensors by their real view: `.to(torch.float64)` would drop the imaginary parts."""

        def convert(tensor: Tensor) -> Tensor:
            if not tensor.is_complex():
                return fn(tensor)
            applied = fn(torch.view_as_real(tensor))
            if applied.is_complex():
                return fn(tensor)
            if applied.dtype not in COMPLEX:
                raise TypeError(f"complex weights have no {applied.dtype} form; use float16, float32 or float64")
            return torch.view_as_complex(applied)

        return super()._apply(convert, recurse)
