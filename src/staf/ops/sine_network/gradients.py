"""The gradients of a whole sine network on CUDA: slopes of sines and all sums over points are made where products are.

Sums over points are made in two stages, slots first and then their results in order: the same bits in every run; the
only atomic operation is a maximum. Nothing here waits for the device, so calls can be captured.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
import triton
from torch import Tensor

from staf.ops.linear.beside import side_by_side
from staf.ops.linear.triton_kernels import finish_kernel
from staf.ops.sine_network.tiles import (
    LAST_TILES,
    MANY_ROWS,
    PADDING,
    PROGRAMS,
    SUMS_TILES,
    Kept,
    Layer,
    divisor,
    tile_for,
    tiled,
)
from staf.ops.sine_network.triton_ends import largest_kernel, last_gradient_kernel
from staf.ops.sine_network.triton_gradient import gradient_kernel
from staf.ops.sine_network.triton_sums import weight_sums_kernel
from staf.ops.sine_series.triton import finished_shared

# Sums in slots, amplitudes, how many slots, sums of columns in slots and their length.
Unfinished = tuple[Tensor, Tensor, int, Tensor, int]


def gradients(
    grad: Tensor,
    x: Tensor,
    layers: Sequence[Layer],
    output: Tensor,
    kept: Kept,
    split: bool,
    trained: Sequence[bool],
    kind: int,
) -> list[Tensor | None]:
    """Gradients of `sum(grad * value)` in each layer's five tensors, then in the output layer's weights and biases.

    Those of the sinusoids are None in layers that are not `trained`.
    """
    networks, points, inputs = x.shape
    hidden, width, outputs = len(layers) - 1, layers[0].bias.shape[1], output.shape[1]
    height = triton.cdiv(points, PADDING) * PADDING
    rows = networks * height
    grad, x = grad.contiguous(), x.contiguous()
    layers = [Layer(*(tensor.contiguous() for tensor in layer)) for layer in layers]
    # The largest |gradient| and its factor: of each hidden layer, and of what is given.
    scale = torch.zeros(0 if split else hidden + 1, 2, networks, device=x.device, dtype=torch.float32)
    places = [None if split else scale[index] for index in range(hidden + 1)]
    gradient = torch.empty_like(kept.planes)
    kinds = gradient.shape[0]
    found: list[Tensor | None] = [None] * (5 * (hidden + 1) + 2)
    with torch.cuda.device(x.device):
        if not split:
            blocks = triton.cdiv(points * outputs, 4096)
            largest_kernel[(blocks * networks,)](grad, scale[hidden, 0], points * outputs, blocks, BLOCK=4096)
        warps, programs, registers = LAST_TILES[rows > MANY_ROWS]
        across = triton.next_power_of_2(width)
        few = max(1, warps * 128 // across)
        slots = max(1, min(programs // networks, height // few))
        share = triton.cdiv(triton.cdiv(height, slots), few) * few
        slots = triton.cdiv(height, share)
        last = layers[-1]
        partial = torch.empty(networks * 3 * last.terms * slots, device=x.device, dtype=torch.float32)
        length = (outputs + 1) * width + outputs
        columns = torch.empty(networks * slots * length, device=x.device, dtype=torch.float32)
        last_gradient_kernel[(slots * networks,)](
            grad,
            kept.inner[-1],
            output,
            last.amplitude,
            last.frequency,
            last.phase,
            gradient[0, -1],
            gradient[-1, -1],
            partial,
            columns,
            places[hidden],
            places[hidden - 1],
            points,
            height,
            width,
            networks,
            slots,
            share,
            SPLIT=split,
            TERMS=last.terms,
            TRAINED=trained[-1],
            OUTPUTS=outputs,
            SLICE=few,
            COLUMNS=across,
            KIND=kind,
            num_warps=warps,
            maxnreg=registers,
        )
        unfinished: list[Unfinished] = [(partial, last.amplitude, slots, columns, length)]
        tile = tile_for(rows, split, width)
        # Every program keeps its columns, so their number is a multiple of the tiles across.
        tiles = width // tile.columns
        slots = max(1, min(height // tile.rows, PROGRAMS[rows > MANY_ROWS] // (networks * tiles))) * tiles
        place = torch.empty(slots * networks * tile.rows * tile.columns, device=x.device, dtype=torch.float32)

        def descend(index: int) -> Unfinished:
            """The gradient of a layer's input, and what it leaves to add up."""
            below, under = layers[index], max(0, index - 1)
            count = inputs if index == 0 else 0
            partial = torch.empty(networks * 3 * below.terms * slots, device=x.device, dtype=torch.float32)
            length = (count + 1) * width
            stacked = networks * (slots // tiles)
            columns = torch.empty(stacked * length, device=x.device, dtype=torch.float32)
            gradient_kernel[(slots * networks,)](
                *tiled(gradient[:, index], tile.rows, tile.depth),
                *tiled(kept.weights[kinds:, index], tile.columns, tile.depth),
                kept.inner[under],
                x,
                below.weight,
                below.bias,
                below.amplitude,
                below.frequency,
                below.phase,
                gradient[0, under],
                gradient[-1, under],
                place,
                partial,
                columns,
                None if split else kept.largest[index],
                places[index],
                places[under],
                points,
                height,
                width,
                networks,
                slots,
                SPLIT=split,
                TERMS=below.terms,
                TRAINED=trained[index],
                INPUTS=count,
                SLICE=tile.warps * 128 // tile.columns,
                KIND=kind,
                **tile.options(),
            )
            return partial, below.amplitude, slots, columns, length

        def weight_sums(chosen: slice) -> Tensor:
            return _weight_sums(
                gradient[:, chosen], kept.planes[:, chosen], scale[chosen], split, networks, height, width
            )

        if rows <= MANY_ROWS:
            weights, finished = _side_by_side(descend, weight_sums, unfinished, hidden)
        else:
            unfinished += [descend(index) for index in reversed(range(hidden))]
            weights = weight_sums(slice(0, hidden))
            finished = [finished_shared(*sums, scaled=True) for sums in unfinished]
    for index, (sums, by_column) in zip(reversed(range(hidden + 1)), finished, strict=True):
        start = inputs * width if index == 0 else 0
        found[5 * index + 1] = by_column[:, start : start + width]
        if trained[index]:
            found[5 * index + 2 : 5 * index + 5] = sums
        if index > 0:
            found[5 * index] = weights[index - 1]
        else:
            found[0] = by_column[:, :start].view(networks, width, inputs)
    by_column = finished[0][1]
    found[-2] = by_column[:, width : (outputs + 1) * width].view(networks, outputs, width)
    found[-1] = by_column[:, (outputs + 1) * width :]
    return found


def _side_by_side(
    descend: Callable[[int], Unfinished],
    weight_sums: Callable[[slice], Tensor],
    unfinished: Sequence[Unfinished],
    hidden: int,
) -> tuple[Tensor | list[Tensor], list[tuple[Tensor, Tensor]]]:
    """For few rows: while a layer's gradient is computed, the sums for the weights above it, and those left before."""
    weights: list[Tensor] = []
    finished: list[tuple[Tensor, Tensor]] = []
    (left,) = unfinished
    for index in reversed(range(hidden)):
        left, (sums, ended) = side_by_side(
            functools.partial(descend, index),
            functools.partial(_both, weight_sums, slice(index, index + 1), left),
            fork=True,
        )
        weights.insert(0, sums[0])
        finished.append(ended)
    finished.append(finished_shared(*left, scaled=True))
    return weights, finished


def _both(
    weight_sums: Callable[[slice], Tensor], chosen: slice, left: Unfinished
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    return weight_sums(chosen), finished_shared(*left, scaled=True)


def _weight_sums(
    gradient: Tensor, planes: Tensor, scale: Tensor, split: bool, networks: int, height: int, width: int
) -> Tensor:
    """The sums over points of some hidden layers, in one launch and one that adds slots: (hidden, networks, n, k)."""
    kinds, hidden, rows, _ = gradient.shape
    wide, deep, high, warps, stages, programs = SUMS_TILES[rows > MANY_ROWS, split]
    wide, deep = divisor(width, wide), divisor(width, deep)
    blocks = (width // wide) * (width // deep)
    slots = max(1, min(programs // (blocks * networks), height // (2 * high)))
    share = triton.cdiv(triton.cdiv(height, slots), high) * high
    slots = triton.cdiv(height, share)
    size = width * width
    partial = torch.empty(hidden * networks * slots * size, device=gradient.device, dtype=torch.float32)
    weight_sums_kernel[(width // wide, width // deep, hidden * networks * slots)](
        *tiled(gradient.reshape(kinds, hidden * rows, width), high, wide),
        *tiled(planes.reshape(kinds, hidden * rows, width), high, deep),
        partial,
        None if split else scale,
        networks,
        height,
        width,
        share,
        slots,
        SPLIT=split,
        COLUMNS=wide,
        DEPTH=deep,
        ROWS=high,
        num_warps=warps,
        num_stages=stages,
    )
    if slots == 1:
        return partial.view(hidden, networks, width, width)
    out = torch.empty(hidden, networks, width, width, device=gradient.device, dtype=torch.float32)
    finish_kernel[(triton.cdiv(size, 128), hidden * networks)](
        partial, partial, out, size, 0, slots, SLOTS=8, BLOCK=128
    )
    return out
