"""The wavelet's derivative: a kernel once, and the formula's own derivatives beyond that."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from staf.ops.backend import have_memory
from staf.ops.gabor.reference import gabor_reference


class Gabor(Function):
    """`Gabor.apply(x, omega0, sigma0)`: complex64 of the shape of x, which is float32 or complex64 on CUDA."""

    @staticmethod
    def forward(*inputs: Any) -> Tensor:
        from staf.ops.gabor import triton

        return triton.value(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, *ctx.constants = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        # Derivatives of this one are asked for exactly where gradients are being recorded now.
        if torch.is_grad_enabled() or not have_memory([grads[0], x]):
            return composed(grads[0], x, *ctx.constants)[0], None, None
        from staf.ops.gabor import triton

        return triton.gradient(grads[0], x, *ctx.constants), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        return Gabor.apply(*inputs), in_dims[0]


def composed(
    grad: Tensor, x: Tensor, omega0: float, sigma0: float, orthogonal: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """The gradients in x and in the window by torch's operations: with y the value, p = Re(conj(g) y) and
    q = Im(conj(y) g), in u = Re(x) it is -2 s^2 u p + w q, in v = Im(x) -(2 s^2 v + w) p, in the window r -2 s^2 r p.
    """
    value = gabor_reference(x, omega0, sigma0, orthogonal)
    along = grad.real * value.real + grad.imag * value.imag
    turned = grad.imag * value.real - grad.real * value.imag
    narrow = -2 * sigma0**2
    window = None if orthogonal is None else narrow * along * orthogonal
    if not x.is_complex():
        return narrow * x * along + omega0 * turned, window
    return torch.complex(narrow * x.real * along + omega0 * turned, (narrow * x.imag - omega0) * along), window
