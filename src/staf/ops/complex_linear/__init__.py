"""`complex_linear`: a linear layer of complex numbers, as one product of real matrices where a context allows it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from staf.ops.backend import forced_backend, fused_allowed, has_triton, is_traced, note
from staf.ops.complex_linear.matrices import complex_numbers, real_matrix, real_numbers, real_rows
from staf.ops.complex_linear.reference import complex_linear_reference
from staf.ops.linear import current_precision, linear

# The kernels of `linear` read rows of 16 bytes, two complex numbers; up to this many outputs are exact there.
ALIGNED, THIN = 2, 4

__all__ = ["complex_linear"]


def complex_linear(x: Tensor, weight: Tensor, bias: Tensor, *, real: bool = False) -> Tensor:
    """y = x W^T + b with complex x (..., k), W (m, k) and b (m,); its real part alone where `real`.

    Inside `product_precision("bf16x3")` or `("tf32")` on CUDA, complex64 numbers are taken as pairs of real ones, and
    the layer is a `linear` of twice the inputs and outputs in that precision: with W = A + i B each number of the
    weight is the block (A, -B; B, A). The gradients of every order and `vmap` are those of `linear`. Rows that are no
    multiple of 16 bytes are multiplied so with "tf32" alone. Everywhere else this is `torch.nn.functional.linear`.

    >>> i = torch.tensor([[1j]])
    >>> complex_linear(i, i, torch.ones(1) + 0j), complex_linear(i, i, torch.ones(1) + 0j, real=True)
    (tensor([[0.+0.j]]), tensor([[0.]]))
    """
    if not is_traced():
        if _is_faster_as_real(x, weight, real):
            note("complex_linear", "triton")
            return by_real_product(x, weight, bias, real)
        if forced_backend() == "reference":
            note("complex_linear", "reference")
            return complex_linear_reference(x, weight, bias, real)
    product = functional.linear(x, weight, bias)
    return product.real if real else product


def by_real_product(x: Tensor, weight: Tensor, bias: Tensor, real: bool) -> Tensor:
    """The same by one product of real matrices, half of it where `real`."""
    if real:
        return linear(real_numbers(x), real_rows(weight), bias.real.contiguous())
    return complex_numbers(linear(real_numbers(x), real_matrix(weight), real_numbers(bias)))


def _is_faster_as_real(x: Tensor, weight: Tensor, real: bool) -> bool:
    if not x.is_cuda or current_precision() not in ("bf16x3", "tf32") or not fused_allowed():
        return False
    outputs, inputs = weight.shape
    fast = (
        current_precision() == "tf32"
        or (real and outputs <= THIN)
        or (inputs % ALIGNED == 0 and outputs % (2 * ALIGNED if real else ALIGNED) == 0)
    )
    return (
        fast
        and forced_backend() != "compiled"
        and x.dtype == weight.dtype == torch.complex64
        and x.dim() >= 2
        and x.numel() > 0
        and not torch.is_autocast_enabled("cuda")
        and has_triton()
    )
