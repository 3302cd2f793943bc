"""Adam on CUDA in two launches: gather the gradients, update everything.

torch's fused Adam launches twice for each group of rates and gives a 256 x 256 matrix to a single block, which costs a
fifth of a small step. The formula is torch's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
BETAS = (0.9, 0.999)


@triton.jit
def _adam_kernel(
    parameter_pointer,
    gradient_pointer,
    mean_pointer,
    square_pointer,
    group_pointer,
    rate_pointer,
    step_pointer,
    size,
    BETA1: tl.constexpr,
    BETA2: tl.constexpr,
    LOG2_BETA1: tl.constexpr,
    LOG2_BETA2: tl.constexpr,
    EPSILON: tl.constexpr,
    BLOCK: tl.constexpr,
):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    exists = place < size
    step = tl.load(step_pointer)
    gradient = tl.load(gradient_pointer + place, mask=exists, other=0.0)
    mean = tl.load(mean_pointer + place, mask=exists, other=0.0)
    square = tl.load(square_pointer + place, mask=exists, other=0.0)
    rate = tl.load(rate_pointer + tl.load(group_pointer + place, mask=exists, other=0).to(tl.int32))
    mean = mean + (1 - BETA1) * (gradient - mean)
    square = BETA2 * square + (1 - BETA2) * gradient * gradient
    correction1 = 1 - tl.exp2(step * LOG2_BETA1)
    correction2 = 1 - tl.exp2(step * LOG2_BETA2)
    denominator = tl.sqrt(square) / tl.sqrt(correction2) + EPSILON
    parameter = tl.load(parameter_pointer + place, mask=exists, other=0.0)
    tl.store(parameter_pointer + place, parameter - rate / correction1 * mean / denominator, mask=exists)
    tl.store(mean_pointer + place, mean, mask=exists)
    tl.store(square_pointer + place, square, mask=exists)


class FlatAdam(torch.optim.Optimizer):
    """Adam over real float32 CUDA parameters, which it lays side by side in one buffer (they become views of it).

    `groups` are lists of parameters; `rates` is a device vector with a rate for each, read at every step.
    """

    def __init__(self, groups: Iterable[list[Tensor]], rates: Tensor) -> None:
        groups = list(groups)
        super().__init__([{"params": members} for members in groups], {})
        self.members = [parameter for members in groups for parameter in members]
        device = rates.device
        sizes = torch.tensor([parameter.numel() for parameter in self.members], device=device)
        owners = torch.tensor([i for i, members in enumerate(groups) for _ in members], device=device)
        self.rates = rates
        self.group = owners.repeat_interleave(sizes).to(torch.uint8)
        self.flat = torch.cat([parameter.detach().reshape(-1) for parameter in self.members])
        self.mean, self.square = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        self.count = torch.zeros((), device=device)
        start = 0
        for parameter in self.members:
            place = slice(start, start + parameter.numel())
            parameter.data = self.flat[place].view(parameter.shape)
            # The state is views, so that checkpoints read and restore it by parameter.
            self.state[parameter] = {
                "step": self.count,
                "exp_avg": self.mean[place].view(parameter.shape),
                "exp_avg_sq": self.square[place].view(parameter.shape),
            }
            start += parameter.numel()

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        gradients = [
            parameter.grad if parameter.grad is not None else torch.zeros_like(parameter) for parameter in self.members
        ]
        self.count.add_(1)
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        size = self.flat.numel()
        _adam_kernel[(triton.cdiv(size, BLOCK),)](
            self.flat,
            flat,
            self.mean,
            self.square,
            self.group,
            self.rates,
            self.count,
            size,
            BETA1=BETAS[0],
            BETA2=BETAS[1],
            LOG2_BETA1=math.log2(BETAS[0]),
            LOG2_BETA2=math.log2(BETAS[1]),
            EPSILON=1e-8,
            BLOCK=BLOCK,
        )
