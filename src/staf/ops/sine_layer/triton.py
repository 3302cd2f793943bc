"""The layer on coordinates on CUDA in float32: one pass forward, one backward, and neither keeps the inner numbers.

Shapes are those of `autograd.Layer`. Sums over points are made in two stages, slots first and then their results in
order: the same bits in every run, no atomics. Nothing here waits for the device, so calls can be captured.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from staf.ops.sine_layer.triton_kernels import layer_gradients_kernel, layer_value_kernel
from staf.ops.sine_series.triton import FEW_TILES, LITTLE_WORK, finished_shared

# Numbers and warps of a program forward, by timing on an H200.
VALUE_BLOCK = (1024, 2)


def value(x: Tensor, weight: Tensor, bias: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Tensor:
    """rho(x W^T + b)."""
    given = [tensor.contiguous() for tensor in (x, weight, bias, amplitude, frequency, phase)]
    networks, points, inputs = x.shape
    width, terms = weight.shape[1], amplitude.shape[2]
    out = torch.empty(networks, points, width, device=x.device, dtype=x.dtype)
    rows = VALUE_BLOCK[0] // width
    with torch.cuda.device(x.device):
        layer_value_kernel[(triton.cdiv(points, rows), networks)](
            *given, out, points, INPUTS=inputs, TERMS=terms, ROWS=rows, COLUMNS=width, num_warps=VALUE_BLOCK[1]
        )
    return out


def gradients(
    grad: Tensor, x: Tensor, weight: Tensor, bias: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor
) -> tuple[Tensor, ...]:
    """Gradients of `sum(grad * value)` in weight, bias, amplitude, frequency and phase."""
    given = [tensor.contiguous() for tensor in (grad, x, weight, bias, amplitude, frequency, phase)]
    networks, points, inputs = x.shape
    width, terms = weight.shape[1], amplitude.shape[2]
    block, parts, warps, programs = FEW_TILES[grad.numel() >= LITTLE_WORK]
    period = width // block
    rows = parts // period
    slots = max(1, min(triton.cdiv(programs, networks), triton.cdiv(points, rows)))
    tiles = triton.cdiv(triton.cdiv(points, slots), rows)
    slots = triton.cdiv(points, tiles * rows)
    partial = torch.empty(networks * 3 * terms * slots, device=x.device, dtype=torch.float32)
    columns = torch.empty(networks * slots * (inputs + 1) * width, device=x.device, dtype=torch.float32)
    with torch.cuda.device(x.device):
        layer_gradients_kernel[(slots * networks,)](
            *given,
            partial,
            columns,
            points,
            slots,
            tiles,
            INPUTS=inputs,
            TERMS=terms,
            BLOCK=block,
            PARTS=parts,
            PERIOD=period,
            num_warps=warps,
        )
        sums, found = finished_shared(partial, given[4], slots, columns, (inputs + 1) * width, scaled=True)
    by_coordinate = found.view(networks, inputs + 1, width)
    return by_coordinate[:, :inputs].mT, by_coordinate[:, inputs], *sums
