"""Missing samples of a picture, filled in as smoothly as possible."""

from __future__ import annotations

import torch
from torch import Tensor

from staf.operators import Laplacian
from staf.tasks.solvers import conjugate_gradients


def filled(image: Tensor, known: Tensor, steps: int = 200) -> Tensor:
    """`image` where `known`, and elsewhere what makes its Laplacian least: conjugate gradients from the known mean.

    >>> line = torch.tensor([[0.0, 1.0, 9.0, 3.0, 4.0, 5.0, 6.0, 7.0]])
    >>> filled(line, torch.tensor([1, 1, 0, 1, 1, 1, 1, 1]).bool())[0, 2].round(decimals=3).item()
    2.0
    """
    bend = Laplacian(tuple(known.shape))
    unknown = (~known).to(torch.float64)
    start = image.double().clone()
    start[:, ~known] = image.double()[:, known].mean(-1, keepdim=True)

    def curvature(x: Tensor) -> Tensor:
        return unknown * bend.A(bend.A(x))

    change = conjugate_gradients(curvature, -curvature(start), steps=steps, tolerance=1e-10)
    return (start + change).to(image.dtype)
