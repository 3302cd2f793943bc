"""The parts of a SOAP step between its matrix products, on CUDA in float32: one launch each instead of a dozen.

The formulas are those of `soap`. A step of small matrices takes as long as its launches; products stay torch's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
# Rows of a generator that one program computes; a small matrix is turned by one program as a whole. A side of 16 would
# take minutes to compile.
ROWS, SMALL = 8, 8
# Gradients and parameters lie where they are, and a kernel is told each one's place: this many at most.
TOGETHER = 32
TINY = 1.1754943508222875e-38


@triton.jit
def _own(pointers, index, size, BLOCK: tl.constexpr, MEMBERS: tl.constexpr, KEEP: tl.constexpr, value):
    """Numbers `index` of the tensors, one after the other, each of `size`: loaded, or taken less `value` where KEEP."""
    member = index // size
    for which in tl.static_range(MEMBERS):
        exists = member == which
        place = pointers[which] + (index - which * size)
        if KEEP:
            tl.store(place, tl.load(place, mask=exists, other=0.0) - value, mask=exists)
        else:
            value = tl.where(exists, tl.load(place, mask=exists, other=0.0), value)
    return value


@triton.jit
def gather_kernel(
    gradients, mean_pointer, both_pointer, size, width, MEMBERS: tl.constexpr, RATE: tl.constexpr, BLOCK: tl.constexpr
):
    """mean += RATE (gradient - mean); both is (rows, 2, width): the gradient, and the mean."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    exists = index < MEMBERS * size
    nothing = tl.zeros((BLOCK,), dtype=tl.float32)
    gradient = _own(gradients, index, size, BLOCK, MEMBERS, False, nothing)
    mean = tl.load(mean_pointer + index, mask=exists, other=0.0)
    mean += RATE * (gradient - mean)
    tl.store(mean_pointer + index, mean, mask=exists)
    to = both_pointer + index + index // width * width
    tl.store(to, gradient, mask=exists)
    tl.store(to + width, mean, mask=exists)


@triton.jit
def scale_kernel(
    both_pointer,
    square_pointer,
    count_pointer,
    rate_pointer,
    out_pointer,
    size,
    width,
    BETA2: tl.constexpr,
    LOG2_BETA1: tl.constexpr,
    LOG2_BETA2: tl.constexpr,
    EPSILON: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Adam's direction (rows, width), times the rate; both (rows, 2, width) are the rotated gradient and mean."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    exists = index < size
    step = tl.load(count_pointer)
    place = both_pointer + index + index // width * width
    gradient = tl.load(place, mask=exists, other=0.0)
    mean = tl.load(place + width, mask=exists, other=0.0)
    square = tl.load(square_pointer + index, mask=exists, other=0.0)
    square += (1 - BETA2) * (gradient * gradient - square)
    tl.store(square_pointer + index, square, mask=exists)
    mean_correction = 1 - tl.exp2(step * LOG2_BETA1)
    square_correction = 1 - tl.exp2(step * LOG2_BETA2)
    scale = tl.load(rate_pointer) / mean_correction / (tl.sqrt(square / square_correction) + EPSILON)
    tl.store(out_pointer + index, mean * scale, mask=exists)


@triton.jit
def subtract_kernel(parameters, direction_pointer, size, MEMBERS: tl.constexpr, BLOCK: tl.constexpr):
    """Every parameter, less its part of the direction."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    direction = tl.load(direction_pointer + index, mask=index < MEMBERS * size, other=0.0)
    _own(parameters, index, size, BLOCK, MEMBERS, True, direction)


@triton.jit
def _generator(rotated, turned, left, right, largest, TINY: tl.constexpr):
    """The generator's entries from those of M and of its transpose, with the eigenvalues of their rows and columns."""
    noise = 1e-7 * largest + TINY
    gap = right - left
    size = tl.maximum(tl.maximum(tl.abs(gap), tl.abs(rotated)), noise)
    other = tl.maximum(tl.maximum(tl.abs(gap), tl.abs(turned)), noise)
    near, off, still = gap / size, rotated / size, noise / size
    entry = off * near / (near * near + off * off + still * still)
    near, off, still = -gap / other, turned / other, noise / other
    return 0.5 * (entry - off * near / (near * near + off * off + still * still))


@triton.jit
def generator_kernel(
    rotated_pointer,
    out_pointer,
    length_pointer,
    side,
    blocks,
    TINY: tl.constexpr,
    ROWS: tl.constexpr,
    PADDED: tl.constexpr,
):
    """ROWS rows of the generator, and their part of its length (matrices, 2, blocks): largest row, sum of squares."""
    matrix = (tl.program_id(0) // blocks).to(tl.int64)
    block = tl.program_id(0) % blocks
    first = rotated_pointer + matrix * side * side
    row = (block * ROWS + tl.arange(0, ROWS))[:, None]
    column = tl.arange(0, PADDED)[None, :]
    inside = (row < side) & (column < side)
    rotated = tl.load(first + row * side + column, mask=inside, other=0.0)
    turned = tl.load(first + column * side + row, mask=inside, other=0.0)
    left = tl.load(first + row * (side + 1), mask=row < side, other=0.0)
    right = tl.load(first + column * (side + 1), mask=column < side, other=0.0)
    entry = _generator(rotated, turned, left, right, tl.max(tl.abs(right)), TINY)
    tl.store(out_pointer + matrix * side * side + row * side + column, entry, mask=inside)
    entry = tl.where(inside, entry, 0.0)
    to = length_pointer + matrix * 2 * blocks + block
    tl.store(to, tl.max(tl.sum(tl.abs(entry), axis=1)))
    tl.store(to + blocks, tl.sum(entry * entry))


@triton.jit
def bound_kernel(
    generator_pointer,
    length_pointer,
    size,
    blocks,
    tiles,
    TURN: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The generators (matrices, size), each shortened to a length of at most TURN."""
    matrix = (tl.program_id(0) // tiles).to(tl.int64)
    part = tl.arange(0, PADDED)
    parts = length_pointer + matrix * 2 * blocks + part
    largest = tl.max(tl.load(parts, mask=part < blocks, other=0.0))
    norm = tl.sqrt(tl.sum(tl.load(parts + blocks, mask=part < blocks, other=0.0)))
    index = (tl.program_id(0) % tiles) * BLOCK + tl.arange(0, BLOCK)
    place = generator_pointer + matrix * size + index
    entry = tl.load(place, mask=index < size, other=0.0)
    tl.store(place, entry * (TURN / tl.maximum(tl.minimum(largest, norm), TURN)), mask=index < size)


@triton.jit
def _times(a, b, SIDE: tl.constexpr):
    """a b of matrices of one program, exactly in float32."""
    return tl.sum(tl.reshape(a, (SIDE, SIDE, 1)) * tl.reshape(b, (1, SIDE, SIDE)), axis=1)


@triton.jit
def small_turn_kernel(
    covariance_pointer, basis_pointer, out_pointer, TURN: tl.constexpr, TINY: tl.constexpr, SIDE: tl.constexpr
):
    """`soap.turn` of one small matrix."""
    row = tl.arange(0, SIDE)[:, None]
    column = tl.arange(0, SIDE)[None, :]
    place = tl.program_id(0) * (SIDE * SIDE) + row * SIDE + column
    basis = tl.load(basis_pointer + place)
    rotated = _times(tl.trans(basis), _times(tl.load(covariance_pointer + place), basis, SIDE), SIDE)
    diagonal = tl.where(row == column, rotated, 0.0)
    left = tl.sum(diagonal, axis=1)[:, None]
    right = tl.sum(diagonal, axis=0)[None, :]
    entry = _generator(rotated, tl.trans(rotated), left, right, tl.max(tl.abs(right)), TINY)
    length = tl.minimum(tl.max(tl.sum(tl.abs(entry), axis=1)), tl.sqrt(tl.sum(entry * entry)))
    basis += _times(basis, entry * (TURN / tl.maximum(length, TURN)), SIDE)
    for _ in tl.static_range(2):
        basis = 1.5 * basis - 0.5 * _times(basis, _times(tl.trans(basis), basis, SIDE), SIDE)
    tl.store(out_pointer + place, basis)


def gathered(gradients: Sequence[Tensor], mean: Tensor, rate: float) -> Tensor:
    """Gradient and updated mean (matrices, m, 2, n) of gradients of one size; `mean` (matrices, m, n) is changed."""
    matrices, height, width = mean.shape
    both = torch.empty(matrices, height, 2, width, device=mean.device)
    given = tuple(gradient.contiguous() for gradient in gradients)
    size = given[0].numel()
    grid = (triton.cdiv(size * len(given), BLOCK),)
    gather_kernel[grid](given, mean, both, size, width, MEMBERS=len(given), RATE=rate, BLOCK=BLOCK)
    return both


def scaled(
    both: Tensor, square: Tensor, count: Tensor, rate: Tensor, betas: tuple[float, float], epsilon: float
) -> Tensor:
    """Adam's direction times the rate, from the rotated gradient and mean `both`; `square` is changed."""
    size, out = square.numel(), torch.empty_like(square)
    scale_kernel[(triton.cdiv(size, BLOCK),)](
        both,
        square,
        count,
        rate,
        out,
        size,
        square.shape[-1],
        BETA2=betas[1],
        LOG2_BETA1=math.log2(betas[0]),
        LOG2_BETA2=math.log2(betas[1]),
        EPSILON=epsilon,
        BLOCK=BLOCK,
    )
    return out


def subtract(parameters: Sequence[Tensor], direction: Tensor) -> None:
    """Take the direction from contiguous parameters of one size, which lie in it one after the other."""
    size = parameters[0].numel()
    grid = (triton.cdiv(size * len(parameters), BLOCK),)
    subtract_kernel[grid](tuple(parameters), direction.contiguous(), size, MEMBERS=len(parameters), BLOCK=BLOCK)


def generator(rotated: Tensor, turn: float) -> Tensor:
    """The bounded generator of `soap.turn` from Q^T P Q, (matrices, n, n)."""
    matrices, side, _ = rotated.shape
    blocks = triton.cdiv(side, ROWS)
    out = torch.empty_like(rotated)
    lengths = torch.empty(matrices, 2, blocks, device=rotated.device)
    generator_kernel[(matrices * blocks,)](
        rotated, out, lengths, side, blocks, TINY=TINY, ROWS=ROWS, PADDED=triton.next_power_of_2(side)
    )
    tiles = triton.cdiv(side * side, BLOCK)
    bound_kernel[(matrices * tiles,)](
        out, lengths, side * side, blocks, tiles, TURN=turn, PADDED=triton.next_power_of_2(blocks), BLOCK=BLOCK
    )
    return out


def turned_small(covariance: Tensor, basis: Tensor, turn: float) -> Tensor:
    """`soap.turn` of matrices (matrices, n, n) whose side is a power of two up to SMALL."""
    out = torch.empty_like(basis)
    small_turn_kernel[(len(basis),)](covariance, basis, out, TURN=turn, TINY=TINY, SIDE=basis.shape[-1])
    return out
