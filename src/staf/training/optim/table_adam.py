"""Adam for the tables of hash grids.

A step sees a fraction of a table's rows, and their gradients are as small as one point's share in the mean loss. So
epsilon is far below Adam's usual 1e-8, the second moment forgets faster, and `lazy` leaves alone what has no gradient:
parameters, moments and memory traffic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

BETAS = (0.9, 0.99)
EPSILON = 1e-15


class TableAdam(torch.optim.Optimizer):
    """Adam with betas (0.9, 0.99) and epsilon 1e-15; with `lazy`, numbers whose gradient is zero are not touched.

    `lr` may be a device tensor, so that a captured graph reads the rate of each step. All state exists from the start.

    >>> table = torch.nn.Parameter(torch.zeros(2, 1))
    >>> table.grad = torch.tensor([[1e-9], [0.0]])
    >>> TableAdam([table], lr=0.1).step()
    >>> table.flatten().tolist()
    [-0.10000000149011612, 0.0]
    """

    def __init__(self, params: Iterable[Tensor], lr: float | Tensor = 1e-2, *, lazy: bool = True) -> None:
        super().__init__(params, {"lr": lr, "lazy": lazy})
        first = self.param_groups[0]["params"][0]
        self._count = torch.zeros((), device=first.device)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.is_complex():
                    raise ValueError("tables are real; give complex parameters to Adam")
                self.state[parameter] = {
                    "step": self._count,
                    "exp_avg": torch.zeros_like(parameter),
                    "exp_avg_sq": torch.zeros_like(parameter),
                }

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self._count.add_(1)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                moments = (state["exp_avg"], state["exp_avg_sq"])
                gradient = parameter.grad.contiguous()
                if parameter.is_cuda and parameter.dtype == torch.float32 and parameter.is_contiguous():
                    from staf.training.optim.table_adam_triton import update

                    update(parameter, gradient, *moments, group["lr"], self._count, BETAS, EPSILON, group["lazy"])
                else:
                    self._update(parameter, gradient, *moments, group["lr"], group["lazy"])

    def _update(
        self, parameter: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, lr: float | Tensor, lazy: bool
    ) -> None:
        corrections = [1 - beta**self._count for beta in BETAS]
        kept = (gradient != 0).to(gradient.dtype) if lazy else 1.0
        mean.add_((gradient - mean) * kept, alpha=1 - BETAS[0])
        square.add_((gradient.square() - square) * kept, alpha=1 - BETAS[1])
        change = (mean / corrections[0]) / ((square / corrections[1]).sqrt_().add_(EPSILON))
        parameter.sub_(change * kept * lr)
