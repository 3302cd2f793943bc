"""One set of many terms on the CPU: rho is a function of one variable, so a table of it costs the same for any number.

On cells of a width h, a power of two, rho is Hermite's cubic through its values and slopes at the knots n h, and rho'
that through its slopes and second derivatives. With W the fastest frequency, both are off by at most (W h)^4 / 384 of
their bounds sum |C| and sum |C Omega|: 5e-7 by `ANGLE`. Sums over the points go by the same weights: a point gives its
gradient to the two knots beside it, and the terms' sines are computed at the knots alone. Values do not depend on which
other points are computed with them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from staf.ops import native

# The largest W h.
ANGLE = 0.118
# From this many terms on, and from this many points for each knot, a table is faster; it is at most this long.
TERMS, POINTS, KNOTS = 16, 64, 2**15
# Beyond this cell n h may not be a float32.
FURTHEST = 2**22
# Points that share one row of sums, and how many rows there are at most.
PIECE, PIECES = 2**16, 32


@dataclass(frozen=True)
class Knots:
    """The knots first h, (first + 1) h, ... of a table: one more than it has cells."""

    first: int
    count: int
    per_unit: float

    @property
    def places(self) -> Tensor:
        return torch.arange(self.first, self.first + self.count, dtype=torch.float32) / self.per_unit


def knots_for(x: Tensor, terms: int, frequency: Tensor) -> Knots | None:
    """The knots of a table for the points `x`, or None where the terms themselves are faster."""
    if terms < TERMS or x.numel() < TERMS * POINTS:
        return None
    fastest = float(frequency.abs().max())
    if not 0 < fastest < math.inf:
        return None
    exponent = math.ceil(math.log2(fastest / ANGLE))
    low, high = (float(bound) for bound in x.aminmax())
    if not (abs(exponent) < 64 and max(abs(low), abs(high)) * 2.0**exponent < FURTHEST):
        return None
    first, last = math.floor(low * 2.0**exponent), math.floor(high * 2.0**exponent)
    count = last - first + 2
    return Knots(first, count, 2.0**exponent) if count <= min(KNOTS, x.numel() // POINTS) else None


def value(x: Tensor, values: Tensor, slopes: Tensor, knots: Knots) -> Tensor:
    """The function of these values and slopes at the knots, at every element of `x`."""
    x, out = x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
    _call("staf_table_value", [x, _cubics(values, slopes, knots), out], x.numel(), knots, 1)
    return out


def gradients(grad: Tensor, x: Tensor, slopes: Tensor, bends: Tensor, knots: Knots) -> tuple[Tensor, Tensor]:
    """grad times the slope at x, and for each knot the sums of grad by the weights of value and h times slope."""
    grad, x = grad.contiguous(), x.contiguous()
    in_x = torch.empty_like(x)
    pieces = min(PIECES, -(-x.numel() // PIECE))
    sums = torch.zeros(pieces, knots.count, 2, dtype=torch.float64)
    _call("staf_table_gradients", [grad, x, _cubics(slopes, bends, knots), in_x, sums], x.numel(), knots, pieces)
    return in_x, sums.sum(0)


def parameter_sums(sums: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor, knots: Knots) -> list[Tensor]:
    """The gradients by the three parameters (terms,) from the sums at the knots."""
    by_value, by_slope = sums[:, 0], sums[:, 1] / knots.per_unit
    places, rate, size = knots.places.double(), frequency.double(), amplitude.double()
    turns = torch.outer(rate / math.tau, places).add_(phase.double()[:, None] / math.tau)
    # Whole turns are taken off first, so that float32 is enough.
    angle = turns.sub_(turns.round()).mul_(math.tau).float()
    sine, cosine = angle.sin().double(), angle.cos().double()
    in_amplitude = sine @ by_value + rate * (cosine @ by_slope)
    in_phase = size * (cosine @ by_value - rate * (sine @ by_slope))
    # x cos(Omega x + Phi) has the slope cos - Omega x sin.
    in_frequency = size * (cosine @ (places * by_value + by_slope) - rate * (sine @ (places * by_slope)))
    return [total.to(amplitude.dtype) for total in (in_amplitude, in_frequency, in_phase)]


def _cubics(values: Tensor, slopes: Tensor, knots: Knots) -> Tensor:
    """Coefficients (cells, 4) of Hermite's polynomials in the rest of x / h."""
    left, right = values[:-1].double(), values[1:].double()
    rise, fall = slopes[:-1].double() / knots.per_unit, slopes[1:].double() / knots.per_unit
    up = right - left
    return torch.stack((left, rise, 3 * up - 2 * rise - fall, rise + fall - 2 * up), dim=1).float()


def _call(function: str, tensors: list[Tensor], size: int, knots: Knots, pieces: int) -> None:
    addresses = [tensor.data_ptr() for tensor in tensors]
    kernel = getattr(native.library(required=True), function)
    kernel(*addresses, size, knots.first, knots.count, pieces, native.thread_count(size * TERMS), knots.per_unit)
