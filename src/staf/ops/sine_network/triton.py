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

from staf.ops.linear.beside import side_by_side
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
    """Rows, columns and depth of a product's tile, how it is compiled, and how many programs share the tiles."""

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int
    registers: int | None
    programs: int
    stagger: int = 0

    def options(self) -> dict[str, int | None]:
        """What the kernels are compiled with; a thread reads four numbers at a time."""
        return {
            "ROWS": self.rows,
            "COLUMNS": self.columns,
            "DEPTH": self.depth,
            "SLICE": self.warps * 128 // self.columns,
            "STAGGER": self.stagger,
            "num_warps": self.warps,
            "num_stages": self.stages,
            "maxnreg": self.registers,
        }

    def slots(self, networks: int, height: int, width: int) -> int:
        """How many programs a network has: a multiple of the tiles across, so that each keeps its columns."""
        across = width // self.columns
        return max(1, min(height // self.rows, self.programs // (networks * across))) * across


# All of these are chosen by timing on an H200; for few rows and for many, of one float16 and of two bfloat16 planes.
LAYER_TILES = {
    (False, False): Tile(64, 64, 64, 4, 3, None, 528),
    (False, True): Tile(64, 64, 64, 4, 3, None, 528),
    (True, False): Tile(128, 128, 64, 8, 3, 128, 264),
    (True, True): Tile(128, 128, 32, 8, 3, 128, 264),
}
GRADIENT_TILES = {
    (False, False): Tile(64, 64, 64, 4, 3, None, 528),
    (False, True): Tile(64, 64, 64, 4, 3, None, 528),
    (True, False): Tile(128, 128, 64, 8, 3, 128, 264),
    (True, True): Tile(128, 128, 32, 8, 3, 128, 264),
}
# Columns, depth and rows of a tile, warps, stages, and about how many programs share the work.
SUMS_TILES = {
    (False, False): (64, 64, 64, 4, 3, 264),
    (False, True): (64, 64, 64, 4, 3, 264),
    (True, False): (128, 256, 64, 8, 3, 132),
    (True, True): (128, 256, 32, 8, 3, 132),
}
# Warps and programs of the first layer, and of the last gradient, with its registers, for few rows and for many.
FIRST_TILES = {False: (4, 132 * 4), True: (4, 132 * 16)}
LAST_TILES = {False: (4, 132 * 4, 128), True: (4, 132 * 8, 128)}


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
    """What the gradients need: planes of each hidden layer's input and of its weights, z, and the largest |weight|."""

    planes: Tensor
    inner: Tensor
    weights: Tensor
    largest: Tensor


def value(
    x: Tensor, layers: Sequence[Layer], output: Tensor, bias: Tensor, split: bool, keep: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """x (networks, points, inputs) to (networks, points, outputs), and what is `Kept`, which is empty unless `keep`."""
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
    largest = torch.zeros(0 if split else hidden, networks, device=x.device, dtype=torch.float32)
    planes = torch.empty(kinds, hidden if keep else min(2, hidden), rows, width, device=x.device, dtype=kind)
    slots = tile.slots(networks, height, width)
    size = hidden * rows * width if keep else slots * networks * tile.rows * tile.columns
    inner = torch.empty(size, device=x.device, dtype=x.dtype)
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
        share = _share(rows, programs)
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
            num_warps=warps,
        )
        for index, layer in enumerate(layers[1:]):
            given, made = planes[:, index % planes.shape[1]], planes[:, (index + 1) % planes.shape[1]]
            layer_kernel[(slots * networks,)](
                *_tiled(given, tile.rows, tile.depth),
                *_tiled(weights[:kinds, index], tile.columns, tile.depth),
                layer.bias,
                layer.amplitude,
                layer.frequency,
                layer.phase,
                output,
                inner[index * rows * width :] if keep else inner,
                made[0],
                made[-1],
                shares,
                rows,
                height,
                width,
                slots,
                SPLIT=split,
                TERMS=layer.terms,
                OUTPUTS=outputs if index == hidden - 1 else 0,
                KEEP=keep,
                **tile.options(),
            )
        output_kernel[(triton.cdiv(points, 512) * networks,)](
            shares, bias, out, points, height, rows, TILES=tiles, OUTPUTS=outputs, BLOCK=512
        )
    if keep:
        return out, planes, inner.view(hidden, rows, width), weights, largest
    nothing = out.new_empty(0)
    return out, nothing, nothing, nothing, nothing


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
            num_warps=warps,
            maxnreg=registers,
        )
        unfinished = [(partial, last.amplitude, slots, columns, length)]
        tile = _tile(GRADIENT_TILES, rows, split, width)
        slots = tile.slots(networks, height, width)
        place = torch.empty(slots * networks * tile.rows * tile.columns, device=x.device, dtype=torch.float32)
        for index in reversed(range(hidden)):
            below, under = layers[index], max(0, index - 1)
            count = inputs if index == 0 else 0
            partial = torch.empty(networks * 3 * below.terms * slots, device=x.device, dtype=torch.float32)
            length = (count + 1) * width
            stacked = networks * (slots // (width // tile.columns))
            columns = torch.empty(stacked * length, device=x.device, dtype=torch.float32)
            gradient_kernel[(slots * networks,)](
                *_tiled(gradient[:, index], tile.rows, tile.depth),
                *_tiled(kept.weights[kinds:, index], tile.columns, tile.depth),
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
                **tile.options(),
            )
            unfinished.append((partial, below.amplitude, slots, columns, length))
        weights, finished = side_by_side(
            lambda: _weight_sums(gradient, kept.planes, scale, split, networks, height, width),
            lambda: [finished_shared(*sums, scaled=True) for sums in unfinished],
            fork=rows <= MANY_ROWS,
        )
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


def _weight_sums(
    gradient: Tensor, planes: Tensor, scale: Tensor, split: bool, networks: int, height: int, width: int
) -> Tensor:
    """The sums over points of every hidden layer, in one launch and one that adds slots: (hidden, networks, n, k)."""
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
        *_tiled(planes.view(kinds, hidden * rows, width), high, deep),
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


def _tile(tiles: dict[tuple[bool, bool], Tile], rows: int, split: bool, width: int) -> Tile:
    tile = tiles[rows > MANY_ROWS, split]
    return tile._replace(columns=_divisor(width, tile.columns))


def _share(rows: int, programs: int) -> int:
    """How many rows each of about so many programs has: a power of two up to PADDING, so that it is of one network."""
    return max(1, min(PADDING, triton.next_power_of_2(triton.cdiv(rows, programs))))


def _divisor(width: int, most: int) -> int:
    """The largest power of two up to `most` that divides the width."""
    return min(most, width & -width)


def _described(tensor: Tensor, rows: int, columns: int) -> TensorDescriptor:
    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), [rows, columns])


def _tiled(planes: Tensor, rows: int, columns: int) -> tuple[TensorDescriptor, TensorDescriptor]:
    """Descriptors of the first and the last plane, which are one without splitting."""
    return _described(planes[0], rows, columns), _described(planes[-1], rows, columns)
