"""`gabor`: WIRE's complex wavelet."""

from __future__ import annotations

import torch
from torch import Tensor

from staf.ops.backend import forced_backend, fused_allowed, has_triton, is_traced, note
from staf.ops.gabor.reference import gabor_reference

__all__ = ["gabor"]


def gabor(x: Tensor, omega0: float, sigma0: float, orthogonal: Tensor | None = None) -> Tensor:
    """exp(i omega0 x - |sigma0 x|^2), times exp(-|sigma0 y|^2) where an orthogonal window y is given.

    x, real or complex, of any shape. Inside an `Execution` on CUDA, float32 and complex64 without a window take one
    kernel forward and one backward; second derivatives, and everything else, are the formula's.

    >>> gabor(torch.zeros(2), 30.0, 10.0)
    tensor([1.+0.j, 1.+0.j])
    """
    fused = (
        x.is_cuda
        and orthogonal is None
        and fused_allowed()
        and forced_backend() != "compiled"
        and x.dtype in (torch.float32, torch.complex64)
        and x.numel() > 0
        and not is_traced()
        and not torch.is_autocast_enabled("cuda")
        and has_triton()
    )
    if not fused:
        return gabor_reference(x, omega0, sigma0, orthogonal)
    from staf.ops.gabor.autograd import Gabor

    note("gabor", "triton")
    return Gabor.apply(x, omega0, sigma0)
