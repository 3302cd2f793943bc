"""The other networks: Gabor wavelets, Gaussians, encodings with ReLU, multiplicative filters."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import nn

from staf.nn._architecture import Device, Runtime, model
from staf.nn._arguments import Bands, Depth, NonNegative, Positive, Size, refuse_unused
from staf.nn.activations import Gauss
from staf.nn.coordinate_mlp import CoordinateMLP
from staf.nn.encodings import FrequencyEncoding, GaussianEncoding
from staf.nn.filter_network import FilterName, MultiplicativeFilterNetwork
from staf.nn.gabor_network import Wire


@model
def wire(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    omega0: Positive = 30.0,
    hidden_omega0: Positive = 30.0,
    sigma0: Positive = 10.0,
    planar: bool = False,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> Wire:
    """WIRE (Saragadam et al. 2023): exp(i omega0 x - |sigma0 x|^2) with complex weights.

    `width` is that of a real network of about as many scalars: the layers have floor(width / sqrt 2) complex neurons,
    or floor(width / 2) in the `planar` (2D) variant, which has two linear maps a layer.

    >>> sum(p.numel() for p in wire(2, 3).parameters())
    99915
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    return Wire(
        in_features,
        out_features,
        width=max(1, int(width / (2 if planar else math.sqrt(2)))),
        depth=depth,
        omega0=omega0,
        hidden_omega0=hidden_omega0,
        sigma0=sigma0,
        planar=planar,
        **runtime,
    )


@model
def gauss(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    sigma: Positive = 10.0,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """Gauss (Ramasinghe and Lucey 2022): exp(-(sigma x)^2); torch's default weights.

    >>> sum(p.numel() for p in gauss(2, 3).parameters())
    198915
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    return CoordinateMLP(
        in_features, out_features, width=width, depth=depth, activation=partial(Gauss, sigma), **runtime
    )


@model
def ffn(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    features: Size = 256,
    scale: NonNegative = 10.0,
    bands: Bands | None = None,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """Fourier feature network (Tancik et al. 2020): gaussian features, then ReLU layers.

    `bands` replaces the gaussian features by a frequency encoding; 5 bands give the paper's row of the cost table.

    >>> [sum(p.numel() for p in field.parameters()) for field in (ffn(2, 3), ffn(2, 3, bands=5))]
    [329475, 204035]
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    encoding: nn.Module
    if bands is None:
        encoding = GaussianEncoding(in_features, features=features, scale=scale, **runtime)
    else:
        refuse_unused("with bands given", features=(features, 256), scale=(scale, 10.0))
        encoding = FrequencyEncoding(in_features, bands=bands, device=device, dtype=dtype)
    return CoordinateMLP(
        in_features, out_features, width=width, depth=depth, activation=nn.ReLU, encoding=encoding, **runtime
    )


@model
def pemlp(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    bands: Bands = 7,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> CoordinateMLP:
    """ReLU with positional encoding (Mildenhall et al. 2020): sin and cos of 2^k pi x for k < bands, then ReLU layers.

    `nyquist_bands(samples)` gives the bands for a grid: 7 at 512 samples.

    >>> sum(p.numel() for p in pemlp(2, 3).parameters())
    206083
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    return CoordinateMLP(
        in_features,
        out_features,
        width=width,
        depth=depth,
        activation=nn.ReLU,
        encoding=FrequencyEncoding(in_features, bands=bands, device=device, dtype=dtype),
        **runtime,
    )


@model
def mfn(
    in_features: Size,
    out_features: Size,
    *,
    width: Size = 256,
    depth: Depth = 4,
    filters: FilterName = "gabor",
    input_scale: Positive = 256.0,
    weight_scale: Positive = 1.0,
    alpha: Positive = 6.0,
    beta: Positive = 1.0,
    generator: torch.Generator | None = None,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> MultiplicativeFilterNetwork:
    """Multiplicative filter network (Fathony et al. 2021): `depth` Gabor or Fourier filters of the coordinates.

    >>> sum(p.numel() for p in mfn(2, 3).parameters())
    204291
    """
    runtime: Runtime = {"generator": generator, "device": device, "dtype": dtype}
    if filters != "gabor":
        refuse_unused(f"with filters={filters!r}", alpha=(alpha, 6.0), beta=(beta, 1.0))
    return MultiplicativeFilterNetwork(
        in_features,
        out_features,
        width=width,
        depth=depth,
        filters=filters,
        input_scale=input_scale,
        weight_scale=weight_scale,
        alpha=alpha,
        beta=beta,
        **runtime,
    )
