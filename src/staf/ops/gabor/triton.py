"""WIRE's wavelet on CUDA: value and gradient in one pass over memory each.

With x = u + i v, y = exp(-s^2 (u^2 + v^2) - w v) (cos(w u) + i sin(w u)) and a gradient g (by real and imaginary part):
p = Re(conj(g) y), q = Im(conj(y) g), and the gradient in u is -2 s^2 u p + w q, in v it is -(2 s^2 v + w) p.
"""

from __future__ import annotations

import ctypes
import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from staf.ops.triton_math import hardware_cosine, hardware_sine, reduced_angle

BLOCK = 1024


@triton.jit
def _pairs(pointer, start, elements, BLOCK: tl.constexpr):
    """Real and imaginary parts of complex numbers from `start` on."""
    place = 2 * start + tl.arange(0, 2 * BLOCK)
    both = tl.load(pointer + place, mask=place < 2 * elements, other=0.0)
    return tl.split(tl.reshape(both, (BLOCK, 2)))


@triton.jit
def _store_pairs(pointer, start, elements, real, imaginary, BLOCK: tl.constexpr):
    place = 2 * start + tl.arange(0, 2 * BLOCK)
    tl.store(pointer + place, tl.interleave(real, imaginary), mask=place < 2 * elements)


@triton.jit
def _number(pointer, start, elements, COMPLEX: tl.constexpr, BLOCK: tl.constexpr):
    if COMPLEX:
        u, v = _pairs(pointer, start, elements, BLOCK)
    else:
        place = start + tl.arange(0, BLOCK)
        u = tl.load(pointer + place, mask=place < elements, other=0.0)
        v = tl.zeros((BLOCK,), dtype=tl.float32)
    return u, v


@triton.jit
def wavelet(u, v, window, omega0, high, low, square):
    """Real and imaginary part of y, with a window's |r|^2."""
    size = tl.exp(-square * (u * u + v * v + window) - omega0 * v)
    angle = reduced_angle(u, high, low, 0.0)
    return size * hardware_cosine(angle), size * hardware_sine(angle)


@triton.jit
def _value_kernel(
    x_pointer, out_pointer, elements, omega0, high, low, square, COMPLEX: tl.constexpr, BLOCK: tl.constexpr
):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    u, v = _number(x_pointer, start, elements, COMPLEX, BLOCK)
    real, imaginary = wavelet(u, v, 0.0, omega0, high, low, square)
    _store_pairs(out_pointer, start, elements, real, imaginary, BLOCK)


@triton.jit
def _gradient_kernel(
    grad_pointer,
    x_pointer,
    out_pointer,
    elements,
    omega0,
    high,
    low,
    square,
    COMPLEX: tl.constexpr,
    BLOCK: tl.constexpr,
):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    u, v = _number(x_pointer, start, elements, COMPLEX, BLOCK)
    grad_real, grad_imaginary = _pairs(grad_pointer, start, elements, BLOCK)
    real, imaginary = wavelet(u, v, 0.0, omega0, high, low, square)
    along = grad_real * real + grad_imaginary * imaginary
    turned = grad_imaginary * real - grad_real * imaginary
    in_u = omega0 * turned - 2.0 * square * u * along
    if COMPLEX:
        _store_pairs(out_pointer, start, elements, in_u, -(2.0 * square * v + omega0) * along, BLOCK)
    else:
        place = start + tl.arange(0, BLOCK)
        tl.store(out_pointer + place, in_u, mask=place < elements)


def value(x: Tensor, omega0: float, sigma0: float) -> Tensor:
    """y, complex64, of x in float32 or complex64."""
    x = x.contiguous()
    out = torch.empty(x.shape, device=x.device, dtype=torch.complex64)
    with torch.cuda.device(x.device):
        _value_kernel[(triton.cdiv(x.numel(), BLOCK),)](
            _real(x), _real(out), x.numel(), *constants(omega0, sigma0), x.is_complex(), BLOCK=BLOCK
        )
    return out


def gradient(grad: Tensor, x: Tensor, omega0: float, sigma0: float) -> Tensor:
    """The gradient in x, of its dtype."""
    x, grad = x.contiguous(), grad.contiguous()
    out = torch.empty_like(x)
    with torch.cuda.device(x.device):
        _gradient_kernel[(triton.cdiv(x.numel(), BLOCK),)](
            _real(grad), _real(x), _real(out), x.numel(), *constants(omega0, sigma0), x.is_complex(), BLOCK=BLOCK
        )
    return out


def _real(x: Tensor) -> Tensor:
    return torch.view_as_real(x.resolve_conj().resolve_neg()) if x.is_complex() else x


def constants(omega0: float, sigma0: float) -> tuple[float, float, float, float]:
    """omega0, that in turns as two floats, and the square of sigma0."""
    turns = omega0 / (2 * math.pi)
    high = ctypes.c_float(turns).value
    return omega0, high, 2 * math.pi * (turns - high), sigma0**2
