"""Values of a whole sine network on CUDA: hidden layers multiply 16-bit planes, and sines are made where products are.

Tensors have a leading axis of networks. Nothing here waits for the device, so calls can be captured.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
from torch import Tensor

from staf.ops.sine_network.hidden import is_shared, tiles_across
from staf.ops.sine_network.hidden import layer as hidden_layer
from staf.ops.sine_network.tiles import (
    FIRST_TILES,
    MANY_ROWS,
    PADDING,
    Layer,
    share_of,
    tile_for,
)
from staf.ops.sine_network.triton_ends import first_kernel, output_kernel
from staf.ops.sine_network.triton_sums import split_kernel
from staf.ops.triton_early import early

# Rows and columns of a tile of weights that is split by one program.
SIDE = 32
# Up to this many shares of a row are added up by the last layer, which asks for all of them at once.
MOST_SHARES = 32


def value(
    x: Tensor, layers: Sequence[Layer], output: Tensor, bias: Tensor, split: bool, keep: bool, kind: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """x (networks, points, inputs) to (networks, points, outputs), and what is `Kept`, which is empty unless `keep`.

    `kind` is 0 for sine series, or one of `pointwise_triton.KINDS`.
    """
    networks, points, inputs = x.shape
    hidden, width, outputs = len(layers) - 1, layers[0].bias.shape[1], output.shape[1]
    height = triton.cdiv(points, PADDING) * PADDING
    rows = networks * height
    tile = tile_for(rows, split, width)
    x = x.contiguous()
    layers = [Layer(*(tensor.contiguous() for tensor in layer)) for layer in layers]
    dtype = torch.bfloat16 if split else torch.float16
    kinds = 2 if split else 1
    weights = torch.empty(2 * kinds, hidden, networks * width, width, device=x.device, dtype=dtype)
    reaches = triton.cdiv(width, SIDE) ** 2
    largest = torch.empty(0 if split else hidden, networks, reaches, device=x.device, dtype=torch.float32)
    planes = torch.empty(kinds, hidden if keep else min(2, hidden), rows, width, device=x.device, dtype=dtype)
    kept = x.dtype if split else dtype
    inner = torch.empty(hidden if keep else 1, rows if keep else tile.rows, width, device=x.device, dtype=kept)
    tiles = tiles_across(rows, width, split, kind)
    little = rows <= MANY_ROWS
    chained = early(x.device, little)
    # The last layer of few rows adds up its shares itself, with a counter for each tile of rows.
    added = little and tiles * outputs <= MOST_SHARES
    counters = torch.empty(rows // tile.rows if added else 0, device=x.device, dtype=torch.int32)
    shares = torch.empty(tiles, outputs, rows, device=x.device, dtype=x.dtype)
    out = torch.empty(networks, points, outputs, device=x.device, dtype=x.dtype)
    with torch.cuda.device(x.device):
        warps, programs = FIRST_TILES[not little]
        share = share_of(rows, programs)
        columns = triton.next_power_of_2(width)

        unsplit = tuple(layer.weight for layer in layers[1:])
        splitting = {"SPLIT": split, "LAYERS": hidden, "SIDE": SIDE}
        if is_shared(rows, width, kind):
            from staf.ops.sine_network import gluon

            gluon.first(x, layers[0], planes[:, 0], height)
            split_kernel[(reaches * networks * hidden,)](unsplit, weights, largest, networks, width, **splitting)
        else:
            first_kernel[(rows // share + reaches * networks * hidden,)](
                x,
                tuple(layers[0]),
                (planes[0, 0], planes[-1, 0]),
                unsplit,
                weights,
                largest,
                counters,
                points,
                height,
                width,
                networks,
                rows // share,
                len(counters),
                INPUTS=inputs,
                TERMS=layers[0].terms,
                ROWS=share,
                SLICE=max(1, min(share, warps * 128 // columns)),
                COLUMNS=columns,
                KIND=kind,
                COUNTERS=triton.next_power_of_2(max(1, len(counters))),
                num_warps=warps,
                **splitting,
                **chained,
            )
        for index, given in enumerate(layers[1:]):
            hidden_layer(
                planes[:, index % planes.shape[1]],
                weights[:kinds, index],
                given,
                output,
                inner[index if keep else 0],
                planes[:, (index + 1) % planes.shape[1]],
                shares,
                (counters, bias, out) if added else None,
                height,
                outputs if index == hidden - 1 else 0,
                keep,
                kind,
            )
        if not added:
            output_kernel[(triton.cdiv(points, 512) * networks,)](
                shares, bias, out, points, height, rows, TILES=tiles, OUTPUTS=outputs, BLOCK=512, **chained
            )
    if keep:
        return out, planes, inner, weights, largest
    nothing = out.new_empty(0)
    return out, nothing, nothing, nothing, nothing
