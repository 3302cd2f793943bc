"""Launches of a hidden layer and of the gradient of its input: for many rows by `gluon`, else by tiles of Triton."""

from __future__ import annotations

import functools

import torch
import triton
from torch import Tensor

from staf.ops.sine_network.tiles import MANY_ROWS, PROGRAMS, SPAN, Layer, described, tile_for, tiled
from staf.ops.sine_network.triton_gradient import gradient_kernel
from staf.ops.sine_network.triton_layer import layer_kernel
from staf.ops.triton_early import early

# What `gluon` was written for. Triton calls this language experimental, so other versions may read it differently.
GLUON_ROWS, GLUON_WIDTHS, GLUON_COLUMNS, GLUON_TRITON = MANY_ROWS, (128, 256), 128, "3.6."

# The largest weights and gradients, and the factors of the given gradient and of the result.
Scales = tuple[Tensor, Tensor, Tensor, Tensor]


def tiles_across(rows: int, width: int, split: bool, kind: int) -> int:
    """How many tiles a layer's columns make, each of which has a share in the outputs."""
    return width // (GLUON_COLUMNS if is_shared(rows, width, kind) else tile_for(rows, split, width).columns)


def layer(
    planes: Tensor,
    weights: Tensor,
    given: Layer,
    output: Tensor,
    inner: Tensor,
    out: Tensor,
    shares: Tensor,
    results: tuple[Tensor, Tensor, Tensor] | None,
    height: int,
    outputs: int,
    keep: bool,
    kind: int,
) -> None:
    """z of a hidden layer to `inner` where `keep`, and its planes to `out`, or its `outputs` to `shares`.

    planes (planes, rows, width), with `height` rows for each network, and weights likewise. With `results`, which few
    rows may have, shares are added up as well: to the values, the last of them, after counters, zero at first, and the
    output's biases.
    """
    kinds, rows, width = planes.shape
    if is_shared(rows, width, kind):
        from staf.ops.sine_network import gluon

        gluon.layer(planes, weights, given, output, inner, out, shares, height, outputs, keep)
        return
    tile = tile_for(rows, kinds == 2, width)
    span = min(SPAN, tile.columns)
    little = rows <= MANY_ROWS
    layer_kernel[(rows // tile.rows * (width // tile.columns),)](
        *tiled(planes, tile.rows, tile.depth),
        *tiled(weights, tile.columns, tile.depth),
        tuple(given),
        output,
        inner if little else described(inner, tile.rows, span),
        *((out[0], out[-1]) if little else tiled(out, tile.rows, span)),
        shares,
        results,
        0 if results is None else results[2].shape[1],
        rows,
        height,
        width,
        SPLIT=kinds == 2,
        TERMS=given.terms,
        OUTPUTS=outputs,
        KEEP=keep,
        PIECES=tile.columns // span,
        KIND=kind,
        DIRECT=little,
        TILES=width // tile.columns,
        ADDED=results is not None and outputs > 0,
        **tile.options(),
        **early(planes.device, little),
    )


def gradient(
    planes: Tensor,
    weights: Tensor,
    inner: Tensor,
    x: Tensor,
    below: Layer,
    out: Tensor,
    scales: Scales | None,
    height: int,
    inputs: int,
    trained: bool,
    kind: int,
) -> tuple[Tensor, int, Tensor, Tensor]:
    """Sums of the sinusoids in slots, how many these are, sums of columns in slots, and the largest results.

    Planes of a gradient (planes, rows, width) and of transposed weights; there are `scales` of a float16 alone.
    """
    split = scales is None
    networks, points, _ = x.shape
    _, rows, width = planes.shape
    if is_shared(rows, width, kind):
        from staf.ops.sine_network import gluon

        return gluon.gradient(planes, weights, inner, x, below, out, scales, height, inputs, trained)
    tile = tile_for(rows, split, width)
    few = tile.warps * 128 // tile.columns
    # Every program keeps its columns, so their number is a multiple of the tiles across.
    tiles = width // tile.columns
    slots = max(1, min(height // tile.rows, PROGRAMS[rows > MANY_ROWS] // (networks * tiles))) * tiles

    def empty(*shape: int) -> Tensor:
        return torch.empty(*shape, device=x.device, dtype=torch.float32)

    partial = empty(networks * 3 * below.terms * slots * tile.warps)
    columns = empty(networks * slots * tile.columns * few * (inputs + 1))
    reach = empty(0 if split else networks, slots)
    heaviest, largest, factor, below_factor = scales or (None,) * 4
    gradient_kernel[(slots * networks,)](
        *tiled(planes, tile.rows, tile.depth),
        *tiled(weights, tile.columns, tile.depth),
        inner,
        x,
        tuple(below),
        (out[0], out[-1]),
        empty(slots * networks * tile.rows * tile.columns),
        partial,
        columns,
        heaviest,
        largest,
        factor,
        None if split else reach,
        below_factor,
        points,
        height,
        width,
        0 if heaviest is None else heaviest.shape[1],
        0 if largest is None else largest.shape[1],
        slots,
        SPLIT=split,
        TERMS=below.terms,
        TRAINED=trained,
        INPUTS=inputs,
        SLICE=few,
        KIND=kind,
        MOST_WEIGHT_REACHES=1 if heaviest is None else triton.next_power_of_2(heaviest.shape[1]),
        MOST_REACHES=1 if largest is None else triton.next_power_of_2(largest.shape[1]),
        **tile.options(),
        **early(x.device, rows <= MANY_ROWS),
    )
    return partial, slots * tile.warps, columns, reach


def is_shared(rows: int, width: int, kind: int) -> bool:
    """Whether `gluon` has kernels for this."""
    return rows > GLUON_ROWS and width in GLUON_WIDTHS and kind == 0 and _has_gluon()


@functools.cache
def _has_gluon() -> bool:
    return triton.__version__.startswith(GLUON_TRITON)
