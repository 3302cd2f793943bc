"""Launches for few rows, which go through all layers, and back, in one launch each."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
from torch import Tensor

from staf.ops.sine_network.tiles import WHOLE_ROWS, WHOLE_TILES, WHOLE_WIDTHS, Kept, Layer
from staf.ops.sine_network.triton_rows import rows_kernel
from staf.ops.sine_network.triton_rows_gradient import rows_gradient_kernel
from staf.ops.triton_early import early

# Sums in slots, amplitudes, how many slots, sums of columns in slots and their length.
Unfinished = tuple[Tensor, Tensor, int, Tensor, int]


def is_whole(rows: int, width: int, layers: Sequence[Layer]) -> bool:
    """Whether one launch takes rows through all layers."""
    alike = len({layer.terms for layer in layers}) == 1
    return alike and rows <= WHOLE_ROWS and width in WHOLE_WIDTHS


def values(
    x: Tensor,
    layers: Sequence[Layer],
    weights: Tensor,
    output: Tensor,
    bias: Tensor,
    planes: Tensor,
    inner: Tensor,
    out: Tensor,
    height: int,
    keep: bool,
    kind: int,
) -> None:
    """The outputs to `out`, activations to `planes` and z to `inner`, where `keep`, given the planes of weights."""
    _, points, inputs = x.shape
    kinds, slots, rows, width = planes.shape
    tile = WHOLE_TILES[kinds == 2, False]
    rows_kernel[(rows // tile.rows,)](
        x,
        tuple(tuple(layer) for layer in layers),
        weights,
        output,
        bias,
        planes,
        inner,
        out,
        points,
        height,
        rows // height,
        SPLIT=kinds == 2,
        INPUTS=inputs,
        TERMS=layers[0].terms,
        OUTPUTS=output.shape[1],
        HIDDEN=len(layers) - 1,
        PLANES=slots,
        KEEP=keep,
        KIND=kind,
        ROWS=tile.rows,
        SLICE=min(tile.rows, tile.warps * 128 // width),
        WIDTH=width,
        COLUMNS=min(width, tile.columns),
        num_warps=tile.warps,
        num_stages=tile.stages,
        **early(x.device),
    )


def gradients(
    grad: Tensor,
    x: Tensor,
    layers: Sequence[Layer],
    output: Tensor,
    kept: Kept,
    gradient: Tensor,
    reach: Tensor,
    height: int,
    trained: bool,
    kind: int,
) -> tuple[list[Unfinished], Tensor]:
    """Planes of each hidden layer's gradient to `gradient`; what is left to add up, the last layer first, and factors.

    Of a float16, `reach` (networks, blocks) has the largest of `grad`, and the factors (hidden, networks, slots) are
    what each program's rows are stored with.
    """
    networks, points, inputs = x.shape
    kinds, hidden, rows, width = gradient.shape
    split, outputs, terms = kinds == 2, output.shape[1], layers[0].terms
    tile = WHOLE_TILES[split, True]
    slots = height // tile.rows
    few = min(tile.rows, tile.warps * 128 // width)

    def empty(*shape: int) -> Tensor:
        return torch.empty(*shape, device=x.device, dtype=torch.float32)

    lengths = [(outputs + 1) * width + outputs, *[width] * (hidden - 1), (inputs + 1) * width]
    # So many warps have sums of their own.
    warps = few * width // 128
    partials = [empty(networks * 3 * terms * slots * warps) for _ in layers]
    columns = [empty(networks * slots * few * length) for length in lengths]
    factors = empty(0 if split else hidden, networks, slots)
    heaviest = kept.largest
    rows_gradient_kernel[(networks * slots,)](
        grad,
        x,
        tuple(tuple(layer) for layer in layers),
        kept.weights[kinds:],
        output,
        kept.inner,
        gradient,
        empty(rows * width),
        tuple(partials),
        tuple(columns),
        None if split else heaviest,
        None if split else reach,
        None if split else factors,
        points,
        height,
        networks,
        0 if split else heaviest.shape[2],
        0 if split else reach.shape[1],
        SPLIT=split,
        INPUTS=inputs,
        TERMS=terms,
        OUTPUTS=outputs,
        HIDDEN=hidden,
        KIND=kind,
        TRAINED=trained,
        ROWS=tile.rows,
        SLICE=few,
        WIDTH=width,
        COLUMNS=min(width, tile.columns),
        MOST_WEIGHT_REACHES=1 if split else triton.next_power_of_2(heaviest.shape[2]),
        MOST_REACHES=1 if split else triton.next_power_of_2(reach.shape[1]),
        num_warps=tile.warps,
        num_stages=tile.stages,
        **early(x.device),
    )
    amplitudes = [layer.amplitude for layer in reversed(layers)]
    # The last layer's own amplitudes come first, then those of each layer below.
    return [
        (partial, amplitude, slots * warps, column, length)
        for partial, amplitude, column, length in zip(partials, amplitudes, columns, lengths, strict=True)
    ], factors
