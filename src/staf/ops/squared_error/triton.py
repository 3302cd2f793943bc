"""The weighted squared error on CUDA in float32: a sum in slots, then the slots in order; no atomics."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from staf.ops import column_sums
from staf.ops.linear.triton_kernels import finish_kernel
from staf.ops.triton_early import begin, early

BLOCK = 4096
# So many blocks are one program's work at least; up to that, the second launch is saved, and one program of more warps
# reads them all at once.
BLOCKS = 4
PROGRAMS = 132 * 4
# The name that the largest |gradient| of each block is left by, and of how many blocks that is worth while.
REACH, MOST_REACHES = "staf_reach", 1024


@triton.jit
def _weighted(prediction_pointer, target_pointer, weight_pointer, network, inside, elements, CHANNELS: tl.constexpr):
    """The weights and the differences of some elements of a network; zero beyond its last."""
    exists = inside < elements
    first = network.to(tl.int64) * elements
    prediction = tl.load(prediction_pointer + first + inside, mask=exists, other=0.0)
    target = tl.load(target_pointer + first + inside, mask=exists, other=0.0)
    weights = weight_pointer + network.to(tl.int64) * (elements // CHANNELS)
    return tl.load(weights + inside // CHANNELS, mask=exists, other=0.0), prediction - target


@triton.jit
def _value_kernel(
    prediction_pointer,
    target_pointer,
    weight_pointer,
    partial_pointer,
    elements,
    slots,
    tiles,
    CHANNELS: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    begin(EARLY)
    slot = tl.program_id(0) % slots
    network = tl.program_id(0) // slots
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for tile in range(tiles):
        inside = (slot * tiles + tile) * BLOCK + tl.arange(0, BLOCK)
        weight, difference = _weighted(
            prediction_pointer, target_pointer, weight_pointer, network, inside, elements, CHANNELS
        )
        total += weight * difference * difference
    tl.store(partial_pointer + tl.program_id(0), tl.sum(total) / CHANNELS)


@triton.jit
def _gradient_kernel(
    grad_pointer,
    prediction_pointer,
    target_pointer,
    weight_pointer,
    out_pointer,
    reach_pointer,
    elements,
    blocks,
    CHANNELS: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    begin(EARLY)
    network = tl.program_id(0) // blocks
    inside = (tl.program_id(0) % blocks) * BLOCK + tl.arange(0, BLOCK)
    weight, difference = _weighted(
        prediction_pointer, target_pointer, weight_pointer, network, inside, elements, CHANNELS
    )
    grad = tl.load(grad_pointer + network) * (2.0 / CHANNELS)
    out = out_pointer + network.to(tl.int64) * elements + inside
    result = grad * weight * difference
    tl.store(out, result, mask=inside < elements)
    tl.store(reach_pointer + tl.program_id(0), tl.max(tl.abs(result)))


def value(prediction: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """(networks, n, c), (networks, n, c) and (networks, n) to (networks,); a network has at most 2^30 numbers."""
    networks, points, channels = prediction.shape
    elements = points * channels
    blocks = triton.cdiv(elements, BLOCK)
    tiles = max(min(blocks, BLOCKS), triton.cdiv(blocks * networks, PROGRAMS))
    slots = max(1, triton.cdiv(blocks, max(1, tiles)))
    partial = torch.empty(networks, slots, device=prediction.device, dtype=torch.float32)
    given = [tensor.contiguous() for tensor in (prediction, target, weight)]
    options = {"CHANNELS": channels, "BLOCK": BLOCK, "num_warps": 8} | early(prediction.device)
    if 1 < blocks <= BLOCKS:
        options |= {"BLOCK": triton.next_power_of_2(elements), "num_warps": 16}
        tiles = 1
    with torch.cuda.device(prediction.device):
        _value_kernel[(networks * slots,)](*given, partial, elements, slots, tiles, **options)
        if slots == 1:
            return partial[:, 0]
        out = torch.empty(networks, 1, device=prediction.device, dtype=torch.float32)
        finish_kernel[(1, networks)](partial, partial, out, 1, 0, slots, SLOTS=256, BLOCK=1)
    return out[:, 0]


def gradient(grad: Tensor, prediction: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """2 grad w (p - y) / c, shaped as the prediction; grad is (networks,). Its blocks' largest are left with it."""
    networks, points, channels = prediction.shape
    out = torch.empty(prediction.shape, device=prediction.device, dtype=torch.float32)
    blocks = triton.cdiv(points * channels, 1024)
    reach = torch.empty(networks, blocks, device=prediction.device, dtype=torch.float32)
    given = [tensor.contiguous() for tensor in (grad, prediction, target, weight)]
    options = {"CHANNELS": channels, "BLOCK": 1024} | early(prediction.device)
    with torch.cuda.device(prediction.device):
        _gradient_kernel[(networks * blocks,)](*given, out, reach, points * channels, blocks, **options)
    if blocks <= MOST_REACHES:
        column_sums.leave(out, reach, REACH)
    return out
