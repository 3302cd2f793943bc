"""Tiles of the sine network's kernels, what they are launched with, and the tensors that pass between them."""

from __future__ import annotations

from typing import NamedTuple

import triton
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

# Every network's rows are padded to a multiple of this.
PADDING = 128
# From this many rows on, tiles are large.
MANY_ROWS = 16_384


class Tile(NamedTuple):
    """Rows, columns and depth of a product's tile, and how it is compiled."""

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int
    registers: int | None = None

    def options(self) -> dict[str, int | None]:
        """What every kernel with such a tile is compiled with."""
        return {
            "ROWS": self.rows,
            "COLUMNS": self.columns,
            "DEPTH": self.depth,
            "num_warps": self.warps,
            "num_stages": self.stages,
            "maxnreg": self.registers,
        }


# All of these are chosen by timing on an H200; for few rows and for many, of one float16 and of two bfloat16 planes.
TILES = {
    (False, False): Tile(64, 64, 64, 4, 5),
    (False, True): Tile(64, 64, 64, 4, 2),
    (True, False): Tile(128, 128, 64, 8, 3, 128),
    (True, True): Tile(128, 128, 32, 8, 3, 128),
}
# A layer's epilogue takes up to this many columns at a time. A gradient has about this many programs, two on each
# multiprocessor, unless rows are few and every tile has one.
SPAN = 32
PROGRAMS = {False: 528, True: 264}
# Columns, depth and rows of a tile, warps, stages, and about how many programs share the work. For few rows a program
# has to fit beside two of a gradient into shared memory.
SUMS_TILES = {
    (False, False): (64, 64, 64, 4, 3, 132),
    (False, True): (64, 64, 64, 4, 2, 132),
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


def tile_for(rows: int, split: bool, width: int) -> Tile:
    """The tile for so many rows; its columns divide the width."""
    tile = TILES[rows > MANY_ROWS, split]
    return tile._replace(columns=divisor(width, tile.columns))


def share_of(rows: int, programs: int) -> int:
    """How many rows each of about so many programs has: a power of two up to PADDING, so that it is of one network."""
    return max(1, min(PADDING, triton.next_power_of_2(triton.cdiv(rows, programs))))


def divisor(width: int, most: int) -> int:
    """The largest power of two up to `most` that divides the width."""
    return min(most, width & -width)


def described(tensor: Tensor, rows: int, columns: int) -> TensorDescriptor:
    """A matrix as the copy engine reads it, in blocks of rows x columns."""
    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), [rows, columns])


def tiled(planes: Tensor, rows: int, columns: int) -> tuple[TensorDescriptor, TensorDescriptor]:
    """Descriptors of the first and the last plane, which are one without splitting."""
    return described(planes[0], rows, columns), described(planes[-1], rows, columns)
