"""A whole sine network on CUDA: hidden layers multiply 16-bit planes, and sines, their slopes and all sums over points
are made where the products are.

Tensors have a leading axis of networks. Sums over points are made in two stages, slots first and then their results in
order: the same bits in every run; the only atomic operation is a maximum. Nothing here waits for the device, so calls
can be captured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import triton
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from staf.ops.linear.triton_kernels import finish_kernel
from staf.ops.sine_network.triton_ends import first_kernel, largest_kernel, last_gradient_kernel, output_kernel
from staf.ops.sine_network.triton_gradient import gradient_kernel
from staf.ops.sine_network.triton_layer import layer_kernel
from staf.ops.sine_network.triton_sums import split_kernel, weight_sums_kernel
from staf.ops.sine_series.triton import finished_shared

# Every network's rows are padded to a multiple of this.
PADDING = 128
# From so many rows on, tiles are large.
MANY_ROWS = 16_384


class Tile(NamedTuple):
    """Rows, columns and depth of a product's tile, pieces of its epilogue, and how it is compiled."""

    rows: int
    columns: int
    depth: int
    pieces: int
    warps: int
    stages: int
    registers: int | None = None

    def options(self) -> dict[str, int | None]:
        return {
            "ROWS": self.rows,
            "COLUMNS": self.columns,
            "DEPTH": self.depth,
            "PIECES": self.pieces,
            "num_warps": self.warps,
            "num_stages": self.stages,
            "maxnreg": self.registers,
        }


# For few rows and for many, of one float16 and of two bfloat16 planes.
LAYER_TILES = {
    (False, False): Tile(64, 64, 64, 1, 4, 3),
    (False, True): Tile(64, 64, 64, 1, 4, 3),
    (True, False): Tile(128, 128, 64, 4, 8, 3, 128),
    (True, True): Tile(128, 128, 32, 4, 8, 3, 128),
}
GRADIENT_TILES = {
    (False, False): Tile(64, 64, 64, 1, 4, 3),
    (False, True): Tile(64, 64, 64, 1, 4, 3),
    (True, False): Tile(128, 128, 64, 4, 8, 3, 128),
    (True, True): Tile(128, 128, 32, 4, 8, 3, 128),
}
# Columns, depth and rows of a tile, warps, stages, and about how many programs share the work.
SUMS_TILES = {
    (False, False): (64, 64, 64, 4, 3, 264),
    (False, True): (64, 64, 64, 4, 3, 264),
    (True, False): (128, 256, 64, 8, 3, 132),
    (True, True): (128, 256, 32, 8, 3, 132),
}
# Numbers and warps of a program of the first layer; rows at a time, warps and programs of the last gradient, for few
# rows and for many.
FIRST_BLOCK = (1024, 2)
LAST_TILES = {False: (2, 4, 132 * 4), True: (4, 4, 132 * 16)}


class Layer(NamedTuple):
    """An activated layer's tensors: weight (networks, n, k), bias (networks, n), sinusoids (networks, 1, terms)."""

    weight: Tensor
    bias: Tensor
    amplitude: Tensor
    frequency: Tensor
    phase: Tensor

    @property
    def terms(self) -> int:
        return self.amplitude.shape[-1]


class Kept(NamedTuple):
    """What the gradients need: planes of each hidden layer's input and of its weights, z of each, and scales."""

    planes: Tensor
    inner: Tensor
    weights: Tensor
    scale: Tensor


def value(x: Tensor, layers: Sequence[Layer], output: Tensor, bias: Tensor, split: bool, keep: bool) -> tuple:
    """x (networks, points, inputs) to (networks, points, outputs), and what is `Kept` where asked for."""
    networks, points, inputs = x.shape
    hidden, width, outputs = len(layers) - 1, layers[0].bias.shape[1], output.shape[1]
    height = triton.cdiv(points, PADDING) * PADDING
    rows = networks * height
    tile = _tile(LAYER_TILES, rows, split, width)
    x = x.contiguous()
    layers = [Layer(*(tensor.contiguous() for tensor in layer)) for layer in layers]
    kind = torch.bfloat16 if split else torch.float16
    kinds = 2 if split else 1
    weights = torch.empty(2 * kinds, hidden, networks * width, width, device=x.device, dtype=kind)
    scale = torch.zeros(0 if split else hidden + 1, 3, networks, device=x.device, dtype=torch.float32)
    planes = torch.empty(kinds, hidden if keep else min(2, hidden), rows, width, device=x.device, dtype=kind)
    inner = torch.empty(hidden if keep else 1, rows if keep else tile.rows, width, device=x.device, dtype=x.dtype)
    tiles = width // tile.columns
    shares = torch.empty(tiles, outputs, rows, device=x.device, dtype=x.dtype)
    out = torch.empty(networks, points, outputs, device=x.device, dtype=x.dtype)
    with torch.cuda.device(x.device):
        split_kernel[(triton.cdiv(width, 32) ** 2, networks, hidden)](
            tuple(layer.weight for layer in layers[1:]),
            weights,
            scale,
            networks,
            width,
            SPLIT=split,
            LAYERS=hidden,
            SIDE=32,
        )
        columns = triton.next_power_of_2(width)
        high = max(1, FIRST_BLOCK[0] // columns)
        first_kernel[(rows // high,)](
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
            ROWS=high,
            COLUMNS=columns,
            num_warps=FIRST_BLOCK[1],
        )
        span = tile.columns // tile.pieces
        for index, layer in enumerate(layers[1:]):
            last = index == hidden - 1
            given, made = planes[:, index % planes.shape[1]], planes[:, (index + 1) % planes.shape[1]]
            layer_kernel[(rows // tile.rows * tiles,)](
                *_tiled(given, tile.rows, tile.depth),
                *_tiled(weights[:kinds, index], tile.columns, tile.depth),
                layer.bias,
                layer.amplitude,
                layer.frequency,
                layer.phase,
                output,
                _described(inner[index if keep else 0], tile.rows, span),
                *_tiled(made, tile.rows, span),
                shares,
                rows,
                height,
                width,
                SPLIT=split,
                TERMS=layer.terms,
                OUTPUTS=outputs if last else 0,
                KEEP=keep,
                **tile.options(),
            )
        output_kernel[(triton.cdiv(points, 512) * networks,)](
            shares, bias, out, points, height, rows, TILES=tiles, OUTPUTS=outputs, BLOCK=512
        )
    return out, Kept(planes, inner, weights, scale) if keep else None


def gradients(
    grad: Tensor,
    x: Tensor,
    layers: Sequence[Layer],
    output: Tensor,
    kept: Kept,
    split: bool,
    trained: Sequence[bool],
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
    scale = kept.scale
    places = [None if split else scale[index] for index in range(hidden + 1)]
    gradient = torch.empty_like(kept.planes)
    kinds = gradient.shape[0]
    found: list[Tensor | None] = [None] * (5 * (hidden + 1) + 2)
    with torch.cuda.device(x.device):
        if not split:
            blocks = triton.cdiv(points * outputs, 4096)
            largest_kernel[(blocks * networks,)](grad, scale[hidden], points * outputs, blocks, BLOCK=4096)
        parts, warps, programs = LAST_TILES[rows > MANY_ROWS]
        slots = max(1, min(triton.cdiv(programs, networks), triton.cdiv(height, parts)))
        tiles = triton.cdiv(triton.cdiv(height, slots), parts)
        slots = triton.cdiv(height, tiles * parts)
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
            tiles,
            SPLIT=split,
            TERMS=last.terms,
            TRAINED=trained[-1],
            OUTPUTS=outputs,
            BLOCK=triton.next_power_of_2(width),
            PARTS=parts,
            num_warps=warps,
        )
        sums, by_column = finished_shared(partial, last.amplitude, slots, columns, length, scaled=True)
        _put(found, hidden, trained[-1], sums, by_column[:, :width])
        found[-2] = by_column[:, width : (outputs + 1) * width].reshape(networks, outputs, width)
        found[-1] = by_column[:, (outputs + 1) * width :]
        tile = _tile(GRADIENT_TILES, rows, split, width)
        across, span = width // tile.columns, tile.columns // tile.pieces
        for index in reversed(range(hidden)):
            below = layers[index]
            first = index == 0
            count = inputs if first else 0
            slots = height // tile.rows * across * (tile.rows // 16)
            partial = torch.empty(networks * 3 * below.terms * slots, device=x.device, dtype=torch.float32)
            length = (count + 1) * width
            columns = torch.empty(rows // tile.rows * length, device=x.device, dtype=torch.float32)
            under = max(0, index - 1)
            gradient_kernel[(rows // tile.rows * across,)](
                *_tiled(gradient[:, index], tile.rows, tile.depth),
                *_tiled(kept.weights[kinds:, index], tile.columns, tile.depth),
                _described(kept.inner[under], tile.rows, span),
                x,
                below.weight,
                below.bias,
                below.amplitude,
                below.frequency,
                below.phase,
                *_tiled(gradient[:, under], tile.rows, span),
                partial,
                columns,
                places[index],
                places[under],
                points,
                height,
                width,
                networks,
                SPLIT=split,
                TERMS=below.terms,
                TRAINED=trained[index],
                INPUTS=count,
                **tile.options(),
            )
            sums, by_column = finished_shared(partial, below.amplitude, slots, columns, length, scaled=True)
            _put(found, index, trained[index], sums, by_column[:, count * width :])
            if first:
                found[0] = by_column[:, : count * width].view(networks, count, width).mT
        for index, weight in enumerate(_weight_sums(gradient, kept, split, networks, height, width), 1):
            found[5 * index] = weight
    return found


def _weight_sums(gradient: Tensor, kept: Kept, split: bool, networks: int, height: int, width: int) -> Tensor:
    """The sums over points of every hidden layer, in one launch and one that adds the slots: (hidden, networks, n, k)."""
    kinds, hidden, rows, _ = gradient.shape
    wide, deep, high, warps, stages, programs = SUMS_TILES[rows > MANY_ROWS, split]
    wide, deep = _divisor(width, wide), _divisor(width, deep)
    blocks = (width // wide) * (width // deep)
    slots = max(1, min(programs // (blocks * networks * (1 if rows > MANY_ROWS else hidden)), height // (2 * high)))
    share = triton.cdiv(triton.cdiv(height, slots), high) * high
    slots = triton.cdiv(height, share)
    size = width * width
    partial = torch.empty(hidden * networks * slots * size, device=gradient.device, dtype=torch.float32)
    weight_sums_kernel[(width // wide, width // deep, hidden * networks * slots)](
        *_tiled(gradient.view(kinds, hidden * rows, width), high, wide),
        *_tiled(kept.planes.view(kinds, hidden * rows, width), high, deep),
        partial,
        None if split else kept.scale,
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
    together, block = (256, 8) if slots > 64 else (8, 128)
    finish_kernel[(triton.cdiv(size, block), hidden * networks)](
        partial, partial, out, size, 0, slots, SLOTS=together, BLOCK=block
    )
    return out


def _put(found: list[Tensor | None], index: int, trained: bool, sums: Tensor, bias: Tensor) -> None:
    found[5 * index + 1] = bias
    if trained:
        found[5 * index + 2 : 5 * index + 5] = sums


def _tile(tiles: dict[tuple[bool, bool], Tile], rows: int, split: bool, width: int) -> Tile:
    tile = tiles[rows > MANY_ROWS, split]
    columns = _divisor(width, tile.columns)
    return tile._replace(columns=columns, pieces=max(1, tile.pieces * columns // tile.columns))


def _divisor(width: int, most: int) -> int:
    """The largest power of two up to `most` that divides the width."""
    return min(most, width & -width)


def _described(tensor: Tensor, rows: int, columns: int) -> TensorDescriptor:
    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), [rows, columns])


def _tiled(planes: Tensor, rows: int, columns: int) -> tuple[TensorDescriptor, TensorDescriptor]:
    """Descriptors of the first and the last plane, which are one without splitting."""
    return _described(planes[0], rows, columns), _described(planes[-1], rows, columns)
