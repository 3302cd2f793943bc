"""Products of a hidden layer's real matrices by the library: tf32, or 16-bit planes side by side.

A number that is split is two 16-bit numbers, high and low. The planes of numbers (rows, k) stand as (high, low, high)
in rows of 3 k, and those of a matrix as (high, high, low). One 16-bit product of three times the depth, summed in
float32, is then high high + low high + high low.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from staf.ops.linear.library import library_precision

SPLIT = (torch.float16, torch.bfloat16)
# Sums of 16-bit numbers are made over a multiple of this many points, and over the rest: cuBLAS of CUDA 13.0 leaves out
# the last of 3,073, 4,097, 8,193, 12,289, 16,385 or 65,537 points on an H200.
EVEN = 64


def planes(numbers: Tensor, dtype: torch.dtype, count: int = 3) -> Tensor:
    """(..., k) float32 to (..., 3 k) of a 16-bit type: high, low, high; or the first `count` of these.

    >>> planes(torch.tensor([1.0, 1.0 + 2**-10]), torch.bfloat16).tolist()
    [1.0, 1.0, 0.0, 0.0009765625, 1.0, 1.0]
    """
    high, low = _split(numbers, dtype)
    return torch.cat([high, low, high][:count], -1)


def matrix_planes(matrix: Tensor, dtype: torch.dtype) -> Tensor:
    """(..., k) float32 to (..., 3 k) of a 16-bit type: high, high, low."""
    high, low = _split(matrix, dtype)
    return torch.cat([high, high, low], -1)


def _split(numbers: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    high = numbers.to(dtype)
    return high, (numbers - high).to(dtype)


def product(numbers: Tensor, matrix: Tensor) -> Tensor:
    """(networks, n, d) times (networks, m, d), both split or neither, to (networks, n, m) in float32."""
    return _multiplied(numbers, matrix.mT)


def sums(grad: Tensor, numbers: Tensor) -> tuple[Tensor, ...]:
    """sum_n grad[n, m] numbers[n, k] of (networks, n, m) and (networks, n, k), as matrices that have to be added.

    Of planes, three of grad and two of numbers, these are (networks, 2 m, k), which is two of them one below the other,
    and (networks, m, k).
    """
    if grad.dtype not in SPLIT:
        return (_multiplied(grad.mT, numbers),)
    rows, columns = grad.shape[2] // 3, numbers.shape[2] // 2
    both, high = grad[..., : 2 * rows].mT, grad[..., :rows].mT
    return _summed(both, numbers[..., :columns]), _summed(high, numbers[..., columns:])


def added(parts: Sequence[Tensor]) -> Tensor:
    """What `sums` has found, as one matrix (networks, m, k)."""
    if len(parts) == 1:
        return parts[0]
    upper, lower = parts[0].chunk(2, 1)
    return upper + lower + parts[1]


def _summed(a: Tensor, b: Tensor) -> Tensor:
    """a b of 16-bit numbers, whose sums are over points."""
    points = b.shape[1]
    whole = points // EVEN * EVEN
    if whole in (0, points):
        return _multiplied(a, b)
    return _multiplied(a[..., :whole], b[:, :whole]) + _multiplied(a[..., whole:], b[:, whole:])


def _multiplied(a: Tensor, b: Tensor) -> Tensor:
    """a b of (networks, ., .) in float32, by plain products where a network is alone."""
    if a.dtype in SPLIT:
        if not a.is_cuda:
            # Only a GPU sums 16-bit products in float32 without making the operands longer.
            return a.float() @ b.float()
        if len(a) == 1:
            return torch.mm(a[0], b[0], out_dtype=torch.float32)[None]
        return torch.bmm(a, b, out_dtype=torch.float32)
    with library_precision("tf32"):
        return torch.mm(a[0], b[0])[None] if len(a) == 1 else torch.bmm(a, b)
