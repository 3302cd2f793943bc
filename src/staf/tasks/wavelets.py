"""Wavelet-L1: the picture with few large wavelet coefficients that has what is observed, by FISTA with moving grids."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from staf._extras import need
from staf._typing import Bool, Float
from staf.operators import LinearOperator
from staf.tasks.solvers import accelerated

# Of a coefficient's size below which it is zero, in units of the value range, for an operator of norm 1.
WAVELET_WEIGHTS = (1e-3, 3e-3, 1e-2, 3e-2)
FAMILY = "db4"
# Sides of the coarsest approximation, at least; coefficients there are kept as they are.
COARSEST = 8
ITERATIONS = 60


def wavelet_l1(
    operator: LinearOperator,
    observation: Float[Tensor, "c ..."],
    seen: Bool[Tensor, "*out"],
    weight: float,
    *,
    start: Float[Tensor, "c ..."],
    squared_norm: float,
) -> Float[Tensor, "c ..."]:
    """The minimiser of |A u - y|^2 / 2 + weight ||A||^2 |W u|_1 over the observations that are seen.

    W are the details of a Daubechies transform. Its grid is moved to another place in each iteration, so that the
    result has no blocks: with a fixed grid the same edge has large coefficients or small ones, depending on its place.

    >>> from staf.operators import MaskedFourier
    >>> scanner = MaskedFourier(torch.ones(16, 16, dtype=torch.bool))
    >>> picture, everything = torch.ones(1, 16, 16), torch.ones(scanner.output_shape, dtype=torch.bool)
    >>> found = wavelet_l1(scanner, scanner.A(picture), everything, 1e-2, start=0 * picture, squared_norm=1.0)
    >>> bool((found - picture).abs().max() < 1e-3)
    True
    """
    draw = np.random.default_rng(0)

    def step(v: Tensor) -> Tensor:
        gradient = operator.A_adjoint((operator.A(v) - observation) * seen)
        moved = (v - gradient / squared_norm).numpy()
        shift = tuple(int(draw.integers(size)) for size in moved.shape[1:])
        return torch.from_numpy(shrunk(moved, weight, shift)).to(observation.dtype)

    return accelerated(start, step, ITERATIONS)


def shrunk(values: np.ndarray, weight: float, shift: tuple[int, ...]) -> np.ndarray:
    """Values (c, *shape) whose wavelet details are made smaller by `weight`, those below it zero.

    >>> values = np.random.default_rng(0).normal(size=(1, 16, 16))
    >>> bool(np.allclose(shrunk(values, 0.0, (3, 5)), values))
    True
    """
    pywt: Any = need("image", "pywt")
    axes = tuple(range(1, values.ndim))
    # Sides are mirrored to a multiple of 2^levels, which a periodic transform needs to be orthonormal.
    levels = max(1, min(int(np.log2(max(1, side / COARSEST))) for side in values.shape[1:]))
    more = [(0, 0), *((0, -side % 2**levels) for side in values.shape[1:])]
    wide = np.roll(np.pad(values, more, mode="symmetric"), shift, axes)
    parts = pywt.wavedecn(wide, FAMILY, mode="periodization", level=levels, axes=axes)
    kept = [parts[0]]
    kept += [{name: pywt.threshold(part, weight, "soft") for name, part in level.items()} for level in parts[1:]]
    back = np.roll(
        pywt.waverecn(kept, FAMILY, mode="periodization", axes=axes), tuple(-places for places in shift), axes
    )
    return back[tuple(slice(0, side) for side in values.shape)]
