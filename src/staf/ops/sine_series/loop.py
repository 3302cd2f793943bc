"""The sine series and its first two derivatives, one term at a time: no temporary is larger than `x`.

Shapes: `x`, `grad` and `x_tangent` are (batch, n, width); parameters are (batch, columns, terms) with columns 1 or
width. With u = Omega x + Phi the functions below are

    value      y  = sum_i C sin u
    gradients  of sum(grad y):   x: grad sum_i C Omega cos u     C: sum grad sin u
                                 Omega: C sum grad x cos u       Phi: C sum grad cos u
    second     of sum over the four gradients paired with (x_tangent, C', Omega', Phi'). With
               q = Omega x_tangent + Omega' x + Phi' it is  sum grad sum_i (C' sin u + C q cos u),  and its gradients
               in grad, x, C, Omega and Phi are returned.
"""

from __future__ import annotations

import torch
from torch import Tensor

Five = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
Four = tuple[Tensor, Tensor, Tensor, Tensor]


def value(x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Tensor:
    """The series itself."""
    total = torch.zeros_like(x)
    for c, w, p in _terms(amplitude, frequency, phase):
        total = total + c * torch.sin(w * x + p)
    return total


def gradients(grad: Tensor, x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Four:
    """Gradients of `sum(grad * value)` in x, amplitude, frequency and phase."""
    slope = torch.zeros_like(x)
    sums: list[list[Tensor]] = [[], [], []]
    columns = amplitude.shape[1]
    for c, w, p in _terms(amplitude, frequency, phase):
        u = w * x + p
        cosine = torch.cos(u)
        slope = slope + (c * w) * cosine
        weighted = grad * cosine
        sums[0].append(_over_points(grad * torch.sin(u), columns))
        sums[1].append(_over_points(weighted * x, columns) * c[:, 0])
        sums[2].append(_over_points(weighted, columns) * c[:, 0])
    first, second_, third = (torch.stack(parts, dim=-1) for parts in sums)
    return grad * slope, first, second_, third


def second(
    grad: Tensor,
    x: Tensor,
    amplitude: Tensor,
    frequency: Tensor,
    phase: Tensor,
    x_tangent: Tensor,
    amplitude_tangent: Tensor,
    frequency_tangent: Tensor,
    phase_tangent: Tensor,
) -> Five:
    """Gradients of the pairing of `gradients` with the four tangents, in grad, x, amplitude, frequency and phase."""
    in_grad, in_x = torch.zeros_like(x), torch.zeros_like(x)
    sums: list[list[Tensor]] = [[], [], []]
    columns = amplitude.shape[1]
    tangents = _terms(amplitude_tangent, frequency_tangent, phase_tangent)
    for (c, w, p), (dc, dw, dp) in zip(_terms(amplitude, frequency, phase), tangents, strict=True):
        u = w * x + p
        sine, cosine = torch.sin(u), torch.cos(u)
        q = w * x_tangent + dw * x + dp
        in_grad = in_grad + dc * sine + c * q * cosine
        along = dc * cosine - c * q * sine
        in_x = in_x + along * w + (c * dw) * cosine
        sums[0].append(_over_points(grad * q * cosine, columns))
        sums[1].append(_over_points(grad * (along * x + c * x_tangent * cosine), columns))
        sums[2].append(_over_points(grad * along, columns))
    first, second_, third = (torch.stack(parts, dim=-1) for parts in sums)
    return in_grad, grad * in_x, first, second_, third


def _terms(*parameters: Tensor) -> list[tuple[Tensor, ...]]:
    split = [parameter[:, None].unbind(-1) for parameter in parameters]
    return list(zip(*split, strict=True))


def _over_points(product: Tensor, columns: int) -> Tensor:
    """Sum over the points, and over the width too where one parameter set serves every column."""
    if columns == product.shape[2]:
        return product.sum(1)
    return product.sum((1, 2))[:, None]
