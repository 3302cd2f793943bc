"""Values of a whole sine network on CUDA: hidden layers multiply 16-bit planes, and sines are made where products are.

Tensors have a leading axis of networks. Nothing here waits for the device, so calls can be captured.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
from torch import Tensor

from staf.ops.sine_network.tiles import (
    FIRST_TILES,
    MANY_ROWS,
    PADDING,
    SPAN,
    Layer,
    described,
    share_of,
    tile_for,
    tiled,
)
from staf.ops.sine_network.triton_ends import first_kernel, output_kernel
from staf.ops.sine_network.triton_layer import layer_kernel
from staf.ops.sine_network.triton_sums import split_kernel


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
    largest = torch.zeros(0 if split else hidden, networks, device=x.device, dtype=torch.float32)
    planes = torch.empty(kinds, hidden if keep else min(2, hidden), rows, width, device=x.device, dtype=dtype)
    inner = torch.empty(hidden if keep else 1, rows if keep else tile.rows, width, device=x.device, dtype=x.dtype)
    tiles = width // tile.columns
    shares = torch.empty(tiles, outputs, rows, device=x.device, dtype=x.dtype)
    out = torch.empty(networks, points, outputs, device=x.device, dtype=x.dtype)
    with torch.cuda.device(x.device):
        split_kernel[(triton.cdiv(width, 32) ** 2, networks, hidden)](
            tuple(layer.weight for layer in layers[1:]),
            weights,
            largest,
            networks,
            width,
            SPLIT=split,
            LAYERS=hidden,
            SIDE=32,
        )
        warps, programs = FIRST_TILES[rows > MANY_ROWS]
        share = share_of(rows, programs)
        columns = triton.next_power_of_2(width)
        first_kernel[(rows // share,)](
            x,
            *layers[0],
            planes[0, 0],
            planes[-1, 0],
            points,
            height,
            width,
            SPLIT=split,
            INPUTS=inputs,
            TERMS=layers[0].terms,
            ROWS=share,
            SLICE=max(1, min(share, warps * 128 // columns)),
            COLUMNS=columns,
            KIND=kind,
            num_warps=warps,
        )
        span = min(SPAN, tile.columns)
        for index, layer in enumerate(layers[1:]):
            given, made = planes[:, index % planes.shape[1]], planes[:, (index + 1) % planes.shape[1]]
            layer_kernel[(rows // tile.rows * tiles,)](
                *tiled(given, tile.rows, tile.depth),
                *tiled(weights[:kinds, index], tile.columns, tile.depth),
                layer.bias,
                layer.amplitude,
                layer.frequency,
                layer.phase,
                output,
                described(inner[index if keep else 0], tile.rows, span),
                *tiled(made, tile.rows, span),
                shares,
                rows,
                height,
                width,
                SPLIT=split,
                TERMS=layer.terms,
                OUTPUTS=outputs if index == hidden - 1 else 0,
                KEEP=keep,
                PIECES=tile.columns // span,
                KIND=kind,
                **tile.options(),
            )
        output_kernel[(triton.cdiv(points, 512) * networks,)](
            shares, bias, out, points, height, rows, TILES=tiles, OUTPUTS=outputs, BLOCK=512
        )
    if keep:
        return out, planes, inner, weights, largest
    nothing = out.new_empty(0)
    return out, nothing, nothing, nothing, nothing
