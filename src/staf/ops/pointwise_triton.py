"""`sine`, `finer` and `gauss` on CUDA in float32: a derivative times a gradient, in one pass over memory."""

from __future__ import annotations

import ctypes
import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from staf.ops.triton_math import ROUNDER, TURN, hardware_cosine, hardware_sine, reduced_angle

KINDS = {"sine": 0, "finer": 1, "gauss": 2}
BLOCK = 1024


@triton.jit
def _kernel(
    grad_pointer,
    x_pointer,
    out_pointer,
    elements,
    constant,
    high,
    low,
    KIND: tl.constexpr,
    ORDER: tl.constexpr,
    SCALED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    exists = place < elements
    x = tl.load(x_pointer + place, mask=exists, other=0.0)
    if KIND == 2:
        z = constant * x
        result = tl.exp(-z * z)
        if ORDER == 1:
            result *= -2.0 * constant * z
        if ORDER == 2:
            result *= 2.0 * constant * constant * (2.0 * z * z - 1.0)
    else:
        rate = constant
        if KIND == 0:
            angle = reduced_angle(x, high, low, 0.0)
        else:
            # total + rest = abs(x) x + x, without rounding; the compiler may not fuse these sums.
            square = tl.abs(x) * x
            total = square + x
            part = total - square
            rest = (square - (total - part)) + (x - part) + tl.fma(tl.abs(x), x, -square)
            whole = tl.fma(high, total, ROUNDER) - ROUNDER
            angle = tl.fma(low, total, tl.fma(high, rest, tl.fma(high, total, -whole))) * TURN
            rate = constant * (tl.abs(x) + 1.0)
        if ORDER == 0:
            result = hardware_sine(angle)
        elif ORDER == 1:
            result = rate * hardware_cosine(angle)
        else:
            result = -rate * rate * hardware_sine(angle)
    if SCALED:
        result *= tl.load(grad_pointer + place, mask=exists, other=0.0)
    tl.store(out_pointer + place, result, mask=exists)


def scaled_derivative(grad: Tensor | None, x: Tensor, name: str, constant: float, order: int) -> Tensor:
    """grad phi^(order)(x), or phi^(order)(x) where grad is None, for orders 0 to 2."""
    x = x.contiguous()
    source = x if grad is None else grad.contiguous()
    out = torch.empty_like(x)
    rate = constant / (2 * math.pi)
    high = ctypes.c_float(rate).value
    options = {"KIND": KINDS[name], "ORDER": order, "SCALED": grad is not None, "BLOCK": BLOCK}
    with torch.cuda.device(x.device):
        _kernel[(triton.cdiv(x.numel(), BLOCK),)](
            source, x, out, x.numel(), constant, high, rate - high, **options, enable_fp_fusion=False
        )
    return out
