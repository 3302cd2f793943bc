"""The weighted squared error on CUDA in float32: its value and its gradient in one launch; no atomics."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from staf.ops import column_sums
from staf.ops.linear.triton_kernels import finish_kernel
from staf.ops.triton_early import begin, early

BLOCK = 4096
# Up to this many blocks of a network are one program's work, of more warps, which saves the launch that adds slots.
BLOCKS, WARPS = 4, 16
PROGRAMS = 132 * 4
# The name that the largest |gradient| of each program is left by.
REACH = "staf_reach"


@triton.jit
def _error_kernel(
    prediction_pointer,
    target_pointer,
    weight_pointer,
    partial_pointer,
    out_pointer,
    reach_pointer,
    elements,
    slots,
    tiles,
    CHANNELS: tl.constexpr,
    GRADIENT: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """A slot's share of sum_i w_i |p_i - y_i|^2 / c and, where GRADIENT, 2 w (p - y) / c and the largest of these."""
    begin(EARLY)
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    first = network * elements
    weights = weight_pointer + network * (elements // CHANNELS)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    reach = tl.zeros((BLOCK,), dtype=tl.float32)
    for tile in range(tiles):
        inside = (slot * tiles + tile) * BLOCK + tl.arange(0, BLOCK)
        exists = inside < elements
        prediction = tl.load(prediction_pointer + first + inside, mask=exists, other=0.0)
        target = tl.load(target_pointer + first + inside, mask=exists, other=0.0)
        weight = tl.load(weights + inside // CHANNELS, mask=exists, other=0.0)
        difference = prediction - target
        weighted = weight * difference
        total += weighted * difference
        if GRADIENT:
            gradient = weighted * (2.0 / CHANNELS)
            tl.store(out_pointer + first + inside, gradient, mask=exists)
            reach = tl.maximum(reach, tl.abs(gradient))
    tl.store(partial_pointer + tl.program_id(0), tl.sum(total) / CHANNELS)
    if GRADIENT:
        tl.store(reach_pointer + tl.program_id(0), tl.max(reach))


def value(prediction: Tensor, target: Tensor, weight: Tensor, keep: bool) -> tuple[Tensor, Tensor]:
    """(networks, n, c), (networks, n, c) and (networks, n) to (networks,), and the gradient in the prediction.

    The gradient is empty unless `keep`; the largest of its parts are left with it. A network has at most 2^30 numbers.
    """
    networks, points, channels = prediction.shape
    elements = points * channels
    blocks = triton.cdiv(elements, BLOCK)
    options = {"BLOCK": BLOCK, "num_warps": 8}
    tiles = triton.cdiv(blocks * networks, PROGRAMS)
    if 1 < blocks <= BLOCKS:
        options = {"BLOCK": triton.next_power_of_2(elements), "num_warps": WARPS}
        blocks = 1
    tiles = min(tiles, blocks)
    slots = triton.cdiv(blocks, tiles)

    def empty(*shape: int) -> Tensor:
        return torch.empty(*shape, device=prediction.device, dtype=torch.float32)

    partial, reach = empty(networks, slots), empty(networks, slots if keep else 0)
    gradient = empty(*prediction.shape) if keep else empty(0)
    given = [tensor.contiguous() for tensor in (prediction, target, weight)]
    options |= {"CHANNELS": channels, "GRADIENT": keep} | early(prediction.device)
    with torch.cuda.device(prediction.device):
        _error_kernel[(networks * slots,)](*given, partial, gradient, reach, elements, slots, tiles, **options)
        if keep:
            column_sums.leave(gradient, reach, REACH)
        if slots == 1:
            return partial[:, 0], gradient
        out = empty(networks, 1)
        finish_kernel[(1, networks)](partial, partial, out, 1, 0, slots, SLOTS=256, BLOCK=1)
    return out[:, 0], gradient
