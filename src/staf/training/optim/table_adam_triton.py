"""`TableAdam` on CUDA: one pass over a table, which reads little more than the gradient where that is zero."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


@triton.jit
def _table_adam_kernel(
    parameter_pointer,
    gradient_pointer,
    mean_pointer,
    square_pointer,
    rate_pointer,
    step_pointer,
    size,
    BETA1: tl.constexpr,
    BETA2: tl.constexpr,
    LOG2_BETA1: tl.constexpr,
    LOG2_BETA2: tl.constexpr,
    EPSILON: tl.constexpr,
    LAZY: tl.constexpr,
    BLOCK: tl.constexpr,
):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    gradient = tl.load(gradient_pointer + place, mask=place < size, other=0.0)
    moved = place < size
    if LAZY:
        moved = moved & (gradient != 0.0)
    step = tl.load(step_pointer)
    mean = tl.load(mean_pointer + place, mask=moved, other=0.0)
    square = tl.load(square_pointer + place, mask=moved, other=0.0)
    parameter = tl.load(parameter_pointer + place, mask=moved, other=0.0)
    mean = mean + (1 - BETA1) * (gradient - mean)
    square = BETA2 * square + (1 - BETA2) * gradient * gradient
    correction1 = 1 - tl.exp2(step * LOG2_BETA1)
    correction2 = 1 - tl.exp2(step * LOG2_BETA2)
    denominator = tl.sqrt(square / correction2) + EPSILON
    tl.store(
        parameter_pointer + place, parameter - tl.load(rate_pointer) / correction1 * mean / denominator, mask=moved
    )
    tl.store(mean_pointer + place, mean, mask=moved)
    tl.store(square_pointer + place, square, mask=moved)


def update(
    parameter: Tensor,
    gradient: Tensor,
    mean: Tensor,
    square: Tensor,
    rate: float | Tensor,
    step: Tensor,
    betas: tuple[float, float],
    epsilon: float,
    lazy: bool,
) -> None:
    """One step of Adam on one table, in place; `rate` and `step` are read on the device."""
    rates = rate if isinstance(rate, Tensor) else torch.full((), rate, device=parameter.device)
    size = parameter.numel()
    with torch.cuda.device_of(parameter):
        _table_adam_kernel[(triton.cdiv(size, BLOCK),)](
            parameter,
            gradient,
            mean,
            square,
            rates,
            step,
            size,
            BETA1=betas[0],
            BETA2=betas[1],
            LOG2_BETA1=math.log2(betas[0]),
            LOG2_BETA2=math.log2(betas[1]),
            EPSILON=epsilon,
            LAZY=lazy,
            BLOCK=BLOCK,
        )
