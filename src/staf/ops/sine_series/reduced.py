"""The sine series on CUDA beside products of ten bits: one set of many sinusoids has sines with an error of 1e-5.

Everything else is that of `triton`, second derivatives included.
"""

from __future__ import annotations

from torch import Tensor

from staf.ops.sine_series import triton
from staf.ops.sine_series.loop import Four
from staf.ops.sine_series.triton import second

__all__ = ["gradients", "second", "value"]


def value(x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Tensor:
    """The series itself."""
    return triton.value(x, amplitude, frequency, phase, reduced=True)


def gradients(grad: Tensor, x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Four:
    """Gradients of `sum(grad * value)` in x, amplitude, frequency and phase."""
    return triton.gradients(grad, x, amplitude, frequency, phase, reduced=True)
