"""Muon: momentum whose update is orthogonalised by a Newton-Schulz iteration, for batches of matrices.

torch's own Muon has no capturable form, takes single 2-D matrices only and decays weights by default.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from staf.ops.linear.library import library_precision

ITERATIONS, COEFFICIENTS = 5, (3.4445, -4.7750, 2.0315)
# From so many matrices on, those of many networks that train together, a GPU feels the products: they are taken in tf32
# there, whose error of 5e-4 is far below the 0.3 by which the iteration leaves singular values apart.
MANY = 16


def orthogonalise(update: Tensor) -> Tensor:
    """Move the singular values of each matrix in (..., m, n) towards one, in the input's own precision.

    Five times X <- a X + (b A + c A A) X with A = X X^T, started at X = U / (|U|_F + 1e-7). 16 matrices or more on
    CUDA are multiplied in tf32.

    >>> singular = torch.linalg.svdvals(orthogonalise(torch.eye(4, dtype=torch.float64) * 7))
    >>> bool((singular > 0.6).all() and (singular < 1.3).all())
    True
    """
    a, b, c = COEFFICIENTS
    tall = update.shape[-2] > update.shape[-1]
    x = (update.mT if tall else update).flatten(0, -3) if update.dim() > 2 else (update.mT if tall else update)[None]
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    with library_precision("tf32") if x.is_cuda and len(x) >= MANY else contextlib.nullcontext():
        for _ in range(ITERATIONS):
            gram = x @ x.mT
            x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).reshape(update.shape)


class Muon(torch.optim.Optimizer):
    """W <- W - lr 0.2 sqrt(max(m, n)) orthogonalise(g + mu b), b <- mu b + g; no weight decay.

    Parameters are real, of shape (..., m, n); leading axes are independent matrices. `lr` can be a device tensor, so
    that a captured graph reads the rate of each step. Matrices of the same shape are computed together.

    >>> weight = torch.nn.Parameter(torch.eye(3))
    >>> weight.grad = torch.ones(3, 3)
    >>> Muon([weight], lr=0.1).step()
    >>> bool((weight != torch.eye(3)).all())
    True
    """

    def __init__(self, params: Iterable[Tensor], lr: float | Tensor = 3e-3, momentum: float = 0.95) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum})
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.ndim < 2 or parameter.is_complex():
                    raise ValueError(
                        f"Muon takes real matrices, got shape {tuple(parameter.shape)} of {parameter.dtype}; "
                        "give vectors and complex weights to Adam"
                    )

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            momentum = group["momentum"]
            by_shape: dict[torch.Size, list[Tensor]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape.setdefault(parameter.shape, []).append(parameter)
            for shape, parameters in by_shape.items():
                gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
                buffers = []
                for parameter in parameters:
                    state = self.state[parameter]
                    if "momentum_buffer" not in state:
                        state["momentum_buffer"] = torch.zeros_like(parameter)
                    buffers.append(state["momentum_buffer"])
                # One launch for all matrices of a shape.
                torch._foreach_mul_(buffers, momentum)
                torch._foreach_add_(buffers, gradients)
                updates = torch._foreach_add(gradients, buffers, alpha=momentum)
                scale = 0.2 * max(shape[-2:]) ** 0.5
                directions = orthogonalise(torch.stack(updates)) * (group["lr"] * scale)
                torch._foreach_sub_(parameters, list(directions))
