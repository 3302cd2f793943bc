"""`sine`, `finer` and `gauss` on CUDA in float32: a derivative times a gradient, in one pass over memory."""

from __future__ import annotations

import ctypes
import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from staf.ops import column_sums
from staf.ops.linear.triton_kernels import finish_kernel
from staf.ops.triton_math import ROUNDER, TURN, hardware_cosine, hardware_sine, reduced_angle

KINDS = {"sine": 0, "finer": 1, "gauss": 2}
BLOCK = 1024
# From this many numbers on, sums over columns in passing are worth the launch that adds them up; rows of a power of two
# up to BLOCK fill a block. So many programs share the work.
MUCH_WORK = 2**22
LEAST_WIDTH = 64
PROGRAMS = 132 * 16


@triton.jit
def derivative(x, constant, high, low, KIND: tl.constexpr, ORDER: tl.constexpr):
    """phi^(ORDER)(x)."""
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
            minus_whole = ROUNDER - tl.fma(high, total, ROUNDER)
            angle = tl.fma(tl.fma(high, rest, tl.fma(high, total, minus_whole)), TURN, low * total)
            rate = constant * (tl.abs(x) + 1.0)
        if ORDER == 0:
            result = hardware_sine(angle)
        elif ORDER == 1:
            result = rate * hardware_cosine(angle)
        else:
            result = -rate * rate * hardware_sine(angle)
    return result


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
    result = derivative(tl.load(x_pointer + place, mask=exists, other=0.0), constant, high, low, KIND, ORDER)
    if SCALED:
        result *= tl.load(grad_pointer + place, mask=exists, other=0.0)
    tl.store(out_pointer + place, result, mask=exists)


@triton.jit
def _slope_kernel(
    grad_pointer,
    x_pointer,
    out_pointer,
    column_pointer,
    elements,
    constant,
    high,
    low,
    slots,
    tiles,
    KIND: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """grad phi'(x), and this slot's sums of each column: a block holds whole rows."""
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    for tile in range(tiles):
        inside = (slot.to(tl.int64) * tiles + tile) * BLOCK + lanes
        exists = inside < elements
        place = network * elements + inside
        grad = tl.load(grad_pointer + place, mask=exists, other=0.0)
        x = tl.load(x_pointer + place, mask=exists, other=0.0)
        result = derivative(x, constant, high, low, KIND, 1) * grad
        tl.store(out_pointer + place, result, mask=exists)
        sums += result
    columns = tl.sum(tl.reshape(sums, (BLOCK // WIDTH, WIDTH)), axis=0)
    tl.store(column_pointer + tl.program_id(0).to(tl.int64) * WIDTH + tl.arange(0, WIDTH), columns)


def scaled_derivative(grad: Tensor | None, x: Tensor, name: str, constant: float, order: int) -> Tensor:
    """grad phi^(order)(x), or phi^(order)(x) where grad is None, for orders 0 to 2.

    Of much work with grad at order 1, which a backward pass is, the column sums are left with the result.
    """
    x = x.contiguous()
    source = x if grad is None else grad.contiguous()
    out = torch.empty_like(x)
    rate = constant / (2 * math.pi)
    high = ctypes.c_float(rate).value
    numbers = (constant, high, 2 * math.pi * (rate - high))
    width = x.shape[-1] if x.dim() in (2, 3) else 0
    summed = grad is not None and order == 1 and x.numel() >= MUCH_WORK
    with torch.cuda.device(x.device):
        if summed and width >= LEAST_WIDTH and BLOCK % width == 0:
            _slope_and_sums(source, x, out, numbers, KINDS[name])
        else:
            options = {"KIND": KINDS[name], "ORDER": order, "SCALED": grad is not None, "BLOCK": BLOCK}
            _kernel[(triton.cdiv(x.numel(), BLOCK),)](
                source, x, out, x.numel(), *numbers, **options, enable_fp_fusion=False
            )
    return out


def _slope_and_sums(grad: Tensor, x: Tensor, out: Tensor, numbers: tuple[float, float, float], kind: int) -> None:
    width = x.shape[-1]
    networks = x.shape[0] if x.dim() == 3 else 1
    elements = x.numel() // networks
    blocks = triton.cdiv(elements, BLOCK)
    tiles = triton.cdiv(blocks * networks, PROGRAMS)
    slots = triton.cdiv(blocks, tiles)
    partial = torch.empty(networks * slots * width, device=x.device, dtype=torch.float32)
    options = {"KIND": kind, "WIDTH": width, "BLOCK": BLOCK}
    _slope_kernel[(slots * networks,)](
        grad, x, out, partial, elements, *numbers, slots, tiles, **options, enable_fp_fusion=False
    )
    sums = torch.empty(networks, width, device=x.device, dtype=torch.float32)
    finish_kernel[(triton.cdiv(width, 8), networks)](partial, partial, sums, width, 0, slots, SLOTS=256, BLOCK=8)
    column_sums.leave(out.view(networks, -1, width), sums)
