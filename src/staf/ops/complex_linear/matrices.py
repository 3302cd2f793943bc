"""Complex matrices as real ones: a complex number beside another is two real numbers beside two others."""

from __future__ import annotations

import torch
from torch import Tensor


def real_numbers(x: Tensor) -> Tensor:
    """(..., k) complex as (..., 2 k) real, each number as its real and its imaginary part.

    >>> real_numbers(torch.tensor([1 + 2j, 3 + 4j])).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return torch.view_as_real(x.resolve_conj().resolve_neg()).flatten(-2)


def complex_numbers(x: Tensor) -> Tensor:
    """The inverse of `real_numbers`: a view, or a copy of numbers that do not lie in pairs.

    >>> complex_numbers(torch.tensor([1.0, 2.0, 3.0, 4.0])).tolist()
    [(1+2j), (3+4j)]
    """
    if x.storage_offset() % 2 or any(stride % 2 for stride in x.stride()[:-1]):
        x = x.clone(memory_format=torch.contiguous_format)
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))


def real_matrix(weight: Tensor) -> Tensor:
    """The matrix (..., 2 m, 2 k) that multiplies `real_numbers` as a complex (..., m, k) multiplies the numbers.

    A complex number a + i b is the block (a, -b; b, a).

    >>> real_matrix(torch.tensor([[1 + 2j]])).tolist()
    [[1.0, -2.0], [2.0, 1.0]]
    """
    conjugate = weight.conj()
    return real_numbers(torch.stack((conjugate, 1j * conjugate), -2)).flatten(-3, -2)


def real_rows(weight: Tensor) -> Tensor:
    """The rows (..., m, 2 k) of `real_matrix` that make the real parts.

    >>> real_rows(torch.tensor([[1 + 2j]])).tolist()
    [[1.0, -2.0]]
    """
    return real_numbers(weight.conj())
