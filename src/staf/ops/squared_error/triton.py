"""The weighted squared error on CUDA in float32: a sum in slots, then the slots in order; no atomics."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from staf.ops.linear.triton_kernels import finish_kernel

BLOCK = 4096
# So many blocks are one program's work; up to that, the second launch is saved.
BLOCKS = 4
PROGRAMS = 132 * 4


@triton.jit
def _value_kernel(
    prediction_pointer,
    target_pointer,
    weight_pointer,
    partial_pointer,
    elements,
    channels,
    slots,
    tiles,
    BLOCK: tl.constexpr,
):
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for tile in range(tiles):
        inside = (slot.to(tl.int64) * tiles + tile) * BLOCK + tl.arange(0, BLOCK)
        exists = inside < elements
        place = network * elements + inside
        prediction = tl.load(prediction_pointer + place, mask=exists, other=0.0)
        difference = prediction - tl.load(target_pointer + place, mask=exists, other=0.0)
        weight = tl.load(weight_pointer + place // channels, mask=exists, other=0.0)
        total += weight * difference * difference
    tl.store(partial_pointer + tl.program_id(0), tl.sum(total) / channels)


@triton.jit
def _gradient_kernel(
    grad_pointer,
    prediction_pointer,
    target_pointer,
    weight_pointer,
    out_pointer,
    elements,
    channels,
    total,
    BLOCK: tl.constexpr,
):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    exists = place < total
    prediction = tl.load(prediction_pointer + place, mask=exists, other=0.0)
    difference = prediction - tl.load(target_pointer + place, mask=exists, other=0.0)
    weight = tl.load(weight_pointer + place // channels, mask=exists, other=0.0)
    grad = tl.load(grad_pointer + place // elements, mask=exists, other=0.0)
    tl.store(out_pointer + place, 2.0 / channels * grad * weight * difference, mask=exists)


def value(prediction: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """(networks, n, c), (networks, n, c) and (networks, n) to (networks,)."""
    networks, points, channels = prediction.shape
    elements = points * channels
    blocks = triton.cdiv(elements, BLOCK)
    tiles = max(BLOCKS, triton.cdiv(blocks * networks, PROGRAMS))
    slots = max(1, triton.cdiv(blocks, tiles))
    partial = torch.empty(networks, slots, device=prediction.device, dtype=torch.float32)
    with torch.cuda.device(prediction.device):
        _value_kernel[(networks * slots,)](
            *(tensor.contiguous() for tensor in (prediction, target, weight)),
            partial,
            elements,
            channels,
            slots,
            tiles,
            BLOCK=BLOCK,
            num_warps=8,
        )
        if slots == 1:
            return partial[:, 0]
        out = torch.empty(networks, 1, device=prediction.device, dtype=torch.float32)
        finish_kernel[(1, networks)](partial, partial, out, 1, 0, slots, SLOTS=256, BLOCK=1)
    return out[:, 0]


def gradient(grad: Tensor, prediction: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """2 grad w (p - y) / c, shaped as the prediction; grad is (networks,)."""
    out = torch.empty(prediction.shape, device=prediction.device, dtype=torch.float32)
    elements = prediction.shape[1] * prediction.shape[2]
    given = [tensor.contiguous() for tensor in (grad, prediction, target, weight)]
    with torch.cuda.device(prediction.device):
        _gradient_kernel[(triton.cdiv(out.numel(), 1024),)](
            *given, out, elements, prediction.shape[2], out.numel(), BLOCK=1024
        )
    return out
