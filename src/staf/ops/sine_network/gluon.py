"""Launches of `gluon_first`, `gluon_layer` and `gluon_gradient`: sine layers of width 128 or 256 for many rows."""

from __future__ import annotations

import functools

import torch
import triton
from torch import Tensor
from triton.experimental.gluon.language import NVMMASharedLayout
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from staf.ops.sine_network.gluon_first import shared_first_kernel
from staf.ops.sine_network.gluon_gradient import shared_gradient_kernel
from staf.ops.sine_network.gluon_last import SLICE as LAST_SLICE
from staf.ops.sine_network.gluon_last import shared_last_kernel
from staf.ops.sine_network.gluon_layer import shared_layer_kernel
from staf.ops.sine_network.gluon_tiles import COLUMNS, DEPTH, ROWS, SLICE
from staf.ops.sine_network.tiles import Layer, divisor, share_of

# About this many programs for the first layer and for the last gradient; others have one on each multiprocessor.
FIRST_PROGRAMS, LAST_PROGRAMS = 132 * 16, 132 * 8
WARPS = 16
# How the copy engine lays 16-bit operands in shared memory.
SHARED = NVMMASharedLayout(128, 16, 2)


def first(x: Tensor, layer: Layer, out: Tensor, height: int) -> None:
    """The first layer of x (networks, points, inputs) to the planes `out` (planes, rows, width)."""
    _, points, inputs = x.shape
    kinds, rows, width = out.shape
    share = share_of(rows, FIRST_PROGRAMS)
    shared_first_kernel[(rows // share,)](
        x,
        tuple(layer),
        (out[0], out[-1]),
        points,
        height,
        width,
        SPLIT=kinds == 2,
        INPUTS=inputs,
        TERMS=layer.terms,
        ROWS=share,
        COLUMNS=width,
        num_warps=4,
    )


def layer(
    planes: Tensor,
    weights: Tensor,
    layer: Layer,
    output: Tensor,
    inner: Tensor,
    out: Tensor,
    shares: Tensor,
    height: int,
    outputs: int,
    keep: bool,
) -> None:
    """A hidden layer's z to `inner`, where `keep`, and its planes to `out` or its `outputs` to `shares`."""
    kinds, rows, width = planes.shape
    networks = rows // height
    slots = _slots(networks, height, width, planes.device)
    shared_layer_kernel[(networks * slots,)](
        *_operands(planes, weights),
        tuple(layer),
        output,
        inner,
        (out[0], out[-1]),
        shares,
        rows,
        height,
        width,
        slots,
        SPLIT=kinds == 2,
        TERMS=layer.terms,
        OUTPUTS=outputs,
        KEEP=keep,
        WIDTH=width,
        num_warps=WARPS,
    )


def gradient(
    planes: Tensor,
    weights: Tensor,
    inner: Tensor,
    x: Tensor,
    below: Layer,
    out: Tensor,
    scales: tuple[Tensor, Tensor, Tensor, Tensor] | None,
    height: int,
    inputs: int,
    trained: bool,
) -> tuple[Tensor, int, Tensor, Tensor]:
    """Sums of the sinusoids in slots, how many these are, sums of columns in slots, and the largest results.

    Planes of a gradient (planes, rows, width) and of transposed weights; `scales` of a float16 are the largest weights
    and gradients, and the factors of the given gradient and of the result.
    """
    split = scales is None
    networks, points, _ = x.shape
    width = planes.shape[2]
    slots = _slots(networks, height, width, planes.device)

    def empty(*shape: int) -> Tensor:
        return torch.empty(*shape, device=x.device, dtype=torch.float32)

    partial = empty(networks * 3 * below.terms * slots * SLICE.value)
    columns = empty(networks * slots * COLUMNS.value * SLICE.value * (inputs + 1))
    reach = empty(0 if split else networks, slots * SLICE.value)
    # Without factors nothing is read or written there.
    heaviest, largest, factor, below_factor = scales or (partial[None],) * 4
    shared_gradient_kernel[(networks * slots,)](
        *_operands(planes, weights),
        inner,
        x,
        tuple(below),
        (out[0], out[-1]),
        partial,
        columns,
        (heaviest, largest, factor, partial if split else reach, below_factor),
        points,
        height,
        width,
        heaviest.shape[1],
        largest.shape[1],
        slots,
        SPLIT=split,
        TERMS=below.terms,
        TRAINED=trained,
        INPUTS=inputs,
        WIDTH=width,
        MOST_WEIGHT_REACHES=1 if split else triton.next_power_of_2(heaviest.shape[1]),
        MOST_REACHES=1 if split else triton.next_power_of_2(largest.shape[1]),
        num_warps=WARPS,
    )
    return partial, slots * SLICE.value, columns, reach


def last(
    grad: Tensor,
    inner: Tensor,
    output: Tensor,
    layer: Layer,
    out: Tensor,
    reach: Tensor | None,
    factor: Tensor | None,
    height: int,
    trained: bool,
) -> tuple[Tensor, int, Tensor, Tensor]:
    """The same four for the output's gradient `grad` (networks, points, outputs); columns are those of `gradients`.

    Of a float16, `reach` has the largest of `grad` in blocks, and `factor` gets what the result is stored with.
    """
    networks, points, outputs = grad.shape
    kinds, rows, width = out.shape
    across = width // COLUMNS.value
    share = divisor(height, triton.next_power_of_2(triton.cdiv(rows * across, LAST_PROGRAMS)))
    slots = height // share
    partial = grad.new_empty(networks * 3 * layer.terms * slots * across * LAST_SLICE.value)
    columns = grad.new_empty(networks * slots * LAST_SLICE.value * ((outputs + 1) * width + outputs))
    made = grad.new_empty(0 if reach is None else networks, slots * across)
    given = partial[None] if reach is None else reach
    shared_last_kernel[(networks * slots * across,)](
        grad,
        inner,
        output,
        tuple(layer),
        (out[0], out[-1]),
        partial,
        columns,
        given,
        partial if reach is None else made,
        partial if factor is None else factor,
        points,
        height,
        width,
        given.shape[1],
        slots,
        SPLIT=kinds == 2,
        TERMS=layer.terms,
        TRAINED=trained,
        OUTPUTS=outputs,
        WIDTH=width,
        SHARE=share,
        MOST_REACHES=1 if reach is None else triton.next_power_of_2(reach.shape[1]),
        num_warps=4,
        maxnreg=128,
    )
    return partial, slots * across * LAST_SLICE.value, columns, made


def _slots(networks: int, height: int, width: int, device: torch.device) -> int:
    """How many programs each network has, a multiple of the tiles across."""
    across = width // COLUMNS.value
    return max(1, min(height // ROWS.value, _multiprocessors(device) // (networks * across))) * across


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


def _operands(planes: Tensor, weights: Tensor) -> list[TensorDescriptor]:
    """Planes (planes, rows, width) and weights as blocks for the copy engine, of one plane or two."""
    return [
        TensorDescriptor(plane, list(plane.shape), list(plane.stride()), block, SHARED)
        for plane, block in (
            (planes[0], [ROWS.value, DEPTH.value]),
            (planes[-1], [ROWS.value, DEPTH.value]),
            (weights[0], [COLUMNS.value, weights.shape[2]]),
            (weights[-1], [COLUMNS.value, weights.shape[2]]),
        )
    ]
