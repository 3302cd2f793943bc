"""Total variation taken out of a picture or a volume, on any device."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Float


def chambolle(values: Float[Tensor, "c ..."], weight: float, steps: int) -> Float[Tensor, "c ..."]:
    """Steps of Chambolle's projection towards the minimiser u of |u - y|^2 / 2 + weight TV(u), each channel by itself.

    u = y + div p with |p| <= weight everywhere, and p <- (p + t grad u) / (1 + t |grad u| / weight), t = 1 / (2 d).

    >>> step = torch.tensor([[0.0, 0.1, 0.0, 1.0, 0.9, 1.0]])
    >>> chambolle(step, 0.05, 200).round(decimals=2)
    tensor([[0.0500, 0.0500, 0.0500, 0.9500, 0.9500, 0.9500]])
    """
    axes = range(1, values.dim())
    rate = 1 / (2 * len(axes))
    flow = values.new_zeros(len(axes), *values.shape)
    found = values
    for _ in range(steps):
        slope = torch.zeros_like(flow)
        for number, axis in enumerate(axes):
            size = values.shape[axis] - 1
            slope[number].narrow(axis, 0, size).copy_(found.diff(dim=axis))
        flow = (flow + rate * slope) / (1 + rate / weight * slope.square().sum(0).sqrt())
        found = values.clone()
        for number, axis in enumerate(axes):
            size = values.shape[axis] - 1
            along = flow[number].narrow(axis, 0, size)
            found.narrow(axis, 0, size).add_(along)
            found.narrow(axis, 1, size).sub_(along)
    return found
