"""SOAP's elementwise work on CUDA in float32, three launches for about thirty of torch's; the formulas are `soap`'s."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS = 8


@triton.jit
def _generator_kernel(rotated_pointer, out_pointer, sum_pointer, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Some rows of the damped antisymmetric generator of one matrix M, with the sums of their sizes and squares."""
    matrix = tl.program_id(1).to(tl.int64) * n * n
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    inside = (row < n) & (column < n)
    of_row = tl.load(rotated_pointer + matrix + row * n + row, mask=row < n, other=0.0)
    of_column = tl.load(rotated_pointer + matrix + column * n + column, mask=column < n, other=0.0)
    straight = tl.load(rotated_pointer + matrix + row * n + column, mask=inside, other=0.0)
    turned = tl.load(rotated_pointer + matrix + column * n + row, mask=inside, other=0.0)
    gap = of_column - of_row
    noise = 1e-7 * tl.max(tl.abs(of_column)) + 1.1754943508222875e-38
    total = _damped(straight, gap, noise) + _damped(turned, gap, noise)
    generator = tl.where(inside, 0.5 * total, 0.0)
    tl.store(out_pointer + matrix + row * n + column, generator, mask=inside)
    to = sum_pointer + tl.program_id(1) * 2 * n + tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    left = tl.program_id(0) * ROWS + tl.arange(0, ROWS) < n
    tl.store(to, tl.sum(tl.abs(generator), axis=1), mask=left)
    tl.store(to + n, tl.sum(generator * generator, axis=1), mask=left)


@triton.jit
def _damped(off, gap, noise):
    """off gap / (gap^2 + off^2 + noise^2), written so that small numbers do not underflow when squared."""
    size = tl.maximum(tl.maximum(tl.abs(gap), tl.abs(off)), noise)
    gap = gap / size
    off = off / size
    noise = noise / size
    return off * gap / (gap * gap + off * off + noise * noise)


@triton.jit
def _bounded_kernel(out_pointer, sum_pointer, n, LARGEST: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr):
    """Scale a generator in place, so that the smaller of its two norms is at most LARGEST."""
    matrix = tl.program_id(1)
    column = tl.arange(0, COLUMNS)
    sizes = tl.load(sum_pointer + matrix * 2 * n + column, mask=column < n, other=0.0)
    squares = tl.load(sum_pointer + matrix * 2 * n + n + column, mask=column < n, other=0.0)
    length = tl.minimum(tl.max(sizes), tl.sqrt(tl.sum(squares)))
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    exists = place < n * n
    out = out_pointer + matrix.to(tl.int64) * n * n + place
    tl.store(out, tl.load(out, mask=exists, other=0.0) * (LARGEST / tl.maximum(length, LARGEST)), mask=exists)


@triton.jit
def _adam_kernel(
    rotated_pointer,
    square_pointer,
    out_pointer,
    rate_pointer,
    count_pointer,
    elements,
    BETA2: tl.constexpr,
    LOG2_BETA1: tl.constexpr,
    LOG2_BETA2: tl.constexpr,
    EPSILON: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Adam's second moment and direction in the eigenbasis; rotated is (2, elements): gradient, mean gradient."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    exists = place < elements
    gradient = tl.load(rotated_pointer + place, mask=exists, other=0.0)
    mean = tl.load(rotated_pointer + elements + place, mask=exists, other=0.0)
    square = tl.load(square_pointer + place, mask=exists, other=0.0)
    square = square + (1 - BETA2) * (gradient * gradient - square)
    step = tl.load(count_pointer)
    correction1 = 1 - tl.exp2(step * LOG2_BETA1)
    correction2 = 1 - tl.exp2(step * LOG2_BETA2)
    scale = tl.sqrt(square / correction2) + EPSILON
    tl.store(square_pointer + place, square, mask=exists)
    tl.store(out_pointer + place, tl.load(rate_pointer) / correction1 * mean / scale, mask=exists)


def bounded_generator(rotated: Tensor, largest: float) -> Tensor:
    """The generator of `soap.turn` for matrices (..., n, n), bounded by `largest`."""
    n = rotated.shape[-1]
    rotated = rotated.contiguous()
    matrices = rotated.numel() // (n * n)
    out = torch.empty_like(rotated)
    sums = torch.empty(matrices, 2, n, device=rotated.device, dtype=rotated.dtype)
    columns = triton.next_power_of_2(n)
    with torch.cuda.device(rotated.device):
        _generator_kernel[(triton.cdiv(n, ROWS), matrices)](rotated, out, sums, n, ROWS=ROWS, COLUMNS=columns)
        _bounded_kernel[(triton.cdiv(n * n, 2048), matrices)](
            out, sums, n, LARGEST=largest, BLOCK=2048, COLUMNS=columns
        )
    return out


def direction(
    rotated: Tensor, square: Tensor, rate: Tensor, count: Tensor, betas: tuple[float, float], epsilon: float
) -> Tensor:
    """Update `square` in place and return rate mean / (1 - beta1^count) / (sqrt(square / (1 - beta2^count)) + epsilon).

    rotated is (2, ...): the gradient and its running mean in the eigenbasis; rate and count are single numbers.
    """
    rotated = rotated.contiguous()
    out = torch.empty_like(square)
    with torch.cuda.device(square.device):
        _adam_kernel[(triton.cdiv(square.numel(), 1024),)](
            rotated,
            square,
            out,
            rate,
            count,
            square.numel(),
            BETA2=betas[1],
            LOG2_BETA1=math.log2(betas[0]),
            LOG2_BETA2=math.log2(betas[1]),
            EPSILON=epsilon,
            BLOCK=1024,
        )
    return out
