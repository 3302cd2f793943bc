"""Linear layers over many points on a CPU, in float32: the fastest product that torch brings for each shape.

One thread of an AMD EPYC (AVX-512, peak 116 GFLOP/s), 16,384 points, torch 2.13, milliseconds:

| product | torch's linear (MKL) | here |
|---|---|---|
| 256 by 256, forward | 24.7 (87 GFLOP/s) | 21.1 (102), oneDNN |
| 256 by 256, by the input | 25.4 (85) | 20.9 (103), oneDNN |
| 256 by 256, by the weight | 23.3 (92) | the same |
| 2 inputs: forward / by weight and bias | 2.2 to 8.6 / 10.3 | 1.3, oneDNN / 1.4, own kernel |
| 3 outputs: by the input / by the weight | 3.7 / 4.3 | 1.2, oneDNN / 1.4, own kernel |
"""

from __future__ import annotations

import functools
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional

from staf.ops import native
from staf.ops.backend import have_memory, note
from staf.ops.linear import MANY_POINTS

# Up to this many inputs or outputs make a product thin; the kernel takes the other side in blocks.
MOST_THIN, COLUMNS = 8, 32


def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b, with x (n, k), W (m, k) of any strides, b (m,).

    >>> product(torch.ones(300, 2), torch.ones(16, 2), torch.zeros(16))[0, 0].item()
    2.0
    """
    many = x.shape[0] >= MANY_POINTS and weight.shape[0] > MOST_THIN
    if many and _has_onednn() and have_memory([x, weight]):
        return cast(Tensor, torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], ""))
    return functional.linear(x, weight, bias)


def sums(grad: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """grad^T x and the sums of grad over the points, with grad (n, m), x (n, k).

    >>> in_weight, in_bias = sums(torch.ones(300, 32), torch.ones(300, 2))
    >>> in_weight.shape, in_bias[0].item()
    (torch.Size([32, 2]), 300.0)
    """
    outputs, inputs = grad.shape[1], x.shape[1]
    if grad.shape[0] >= MANY_POINTS and have_memory([grad, x]) and native.library() is not None:
        if 1 <= inputs <= MOST_THIN and outputs % COLUMNS == 0:
            total = _thin_sums(grad, x)
            return total[:inputs].t().contiguous(), total[inputs]
        if 1 <= outputs <= MOST_THIN and inputs % COLUMNS == 0:
            return _thin_sums(x, grad)[:outputs], grad.sum(0)
    return grad.t() @ x, grad.sum(0)


def _thin_sums(wide: Tensor, thin: Tensor) -> Tensor:
    """(k + 1, m): thin^T wide, and below it the sums of wide."""
    wide, thin = wide.contiguous(), thin.contiguous()
    points, columns = wide.shape
    out = torch.empty(thin.shape[1] + 1, columns)
    kernels = native.library(required=True)
    assert kernels is not None
    addresses = [tensor.data_ptr() for tensor in (wide, thin, out)]
    threads = native.thread_count(wide.numel())
    if kernels.staf_thin_sums(*addresses, points, thin.shape[1], columns, threads):
        raise MemoryError(f"linear could not allocate the sums for {points} points of {columns} columns")
    note("linear", "compiled")
    return out


@functools.cache
def _has_onednn() -> bool:
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
