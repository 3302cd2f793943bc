"""Linear layers on CUDA in float32: products in a chosen precision, sums over points, exact layers at both ends.

Shapes carry a leading axis of networks. Sums over points are made in two stages, slots first and then their results in
order: the same bits in every run, no atomics. Nothing here waits for the device, so calls can be captured.
"""

from __future__ import annotations

import functools

import torch
import triton
from torch import Tensor
from torch.nn import functional
from triton.runtime import driver

from staf.ops import column_sums
from staf.ops.linear.autograd import COORDINATES, FEW_POINTS
from staf.ops.linear.library import library_precision
from staf.ops.linear.triton_kernels import finish_kernel, product_kernel, sums_kernel
from staf.ops.linear.triton_thin import few_outputs_kernel, narrow_product_kernel, narrow_sums_kernel, thin_sums_kernel

# Tiles and warps chosen by timing on an H200. Split products: rows, columns, depth, warps, stages; for few points, for
# many, and for few columns. Sums: columns, depth, rows, warps, stages, and how many programs there are about; likewise.
FEW_COLUMNS = 16
PRODUCT_TILES = ((64, 64, 64, 4, 3), (64, 128, 32, 4, 3), (128, 16, 64, 4, 3))
SUMS_TILES = ((64, 64, 64, 4, 3, 256), (64, 128, 32, 4, 3, 512), (16, 128, 64, 4, 3, 512))
# With tf32 and few points: for weights as they are, and for transposed ones. And for many points of several networks,
# whose biases cuBLAS would first write to the result: 0.77 ms for 64 x 16,384 points, instead of 1.45.
TF32_TILES = ((128, 64, 64, 8, 3), (32, 128, 32, 4, 4))
TF32_NETWORKS_TILE = (128, 256, 32, 8, 4)
COORDINATE_ROWS = 8
# Layers of up to this many outputs are computed exactly, and up to this many sums are made in one reading.
THIN = 4
OUTPUT_TILE = (8, 256, 1)
# Programs for one network, and for several.
THIN_SUMS_TILE, THIN_PROGRAMS = (8, 256), (132 * 4, 132 * 16)


def product(a: Tensor, b: Tensor, bias: Tensor | None, precision: str) -> Tensor:
    """(networks, m, k) and (networks, n, k), both strided as they are, to (networks, m, n)."""
    networks, rows, depth = a.shape
    columns = b.shape[1]
    # Kernels read a network's biases one after another.
    bias = bias.contiguous() if bias is not None and bias.stride(1) != 1 else bias
    few = rows * networks <= FEW_POINTS
    several = precision == "tf32" and not few and networks > 1 and bias is not None and columns > 128
    by_library = _by_library(precision, columns, few) and not several
    if depth > COORDINATES and columns > THIN and (by_library or not _is_aligned(depth, columns)):
        return _library_product(a, b, bias, precision)
    out = torch.empty(networks, rows, columns, device=a.device, dtype=a.dtype)
    if out.numel() == 0:
        return out
    strides = (*a.stride(), *b.stride(), bias.stride(0) if bias is not None else 0)
    given = bias is not None
    if depth <= COORDINATES:
        grid = (triton.cdiv(rows, COORDINATE_ROWS), triton.cdiv(columns, 256), networks)
        narrow_product_kernel[grid](
            a, b, bias, out, rows, columns, *strides, BIAS=given, DEPTH=depth, ROWS=COORDINATE_ROWS, COLUMNS=256
        )
    elif columns <= THIN:
        height, deep, warps = OUTPUT_TILE
        few_outputs_kernel[(triton.cdiv(rows, height), networks)](
            a,
            b,
            bias,
            out,
            rows,
            depth,
            *strides,
            BIAS=given,
            COLUMNS=columns,
            ROWS=height,
            DEPTH=deep,
            num_warps=warps,
        )
    else:
        split = PRODUCT_TILES[2 if columns <= FEW_COLUMNS else int(not few)]
        reduced = networks_tile(_shared_memory(a.device)) if several else TF32_TILES[b.stride(2) != 1]
        tile = split if precision == "bf16x3" else reduced
        height, width, deep, warps, stages = tile
        options = {"ROWS": height, "COLUMNS": width, "DEPTH": deep, "num_warps": warps, "num_stages": stages}
        product_kernel[(triton.cdiv(rows, height), triton.cdiv(columns, width), networks)](
            a, b, bias, out, rows, columns, depth, *strides, BIAS=given, PRECISION=precision, **options
        )
    return out


def sums(g: Tensor, a: Tensor, precision: str) -> tuple[Tensor, Tensor]:
    """(networks, m, n) and (networks, m, k) to sum_m g a, (networks, n, k), and sum_m g, (networks, n)."""
    networks, rows, columns = g.shape
    depth = a.shape[2]
    if rows == 0:
        return g.new_zeros(networks, columns, depth), g.new_zeros(networks, columns)
    if depth <= COORDINATES or columns <= THIN:
        return _thin_sums(g, a)
    few = rows * networks <= FEW_POINTS
    known = column_sums.found(g)
    if _by_library(precision, columns, few) or not _is_aligned(depth, columns):
        with library_precision(precision):
            weight = torch.mm(g[0].T, a[0])[None] if networks == 1 else torch.bmm(g.mT, a)
        return weight, known if known is not None else _thin_sums(g, a[..., :0])[1]
    # Both matrices are transposed here, which tf32 cannot multiply fast; split ones are faster and closer.
    wide, deep, high, warps, stages, programs = SUMS_TILES[2 if columns <= FEW_COLUMNS else int(not few)]
    blocks = triton.cdiv(columns, wide) * triton.cdiv(depth, deep)
    slots, share = _slots(programs // (blocks * networks), rows, high)
    partial, bias = _places(g, columns, depth, slots)
    options = {"COLUMNS": wide, "DEPTH": deep, "ROWS": high, "num_warps": warps, "num_stages": stages}
    sums_kernel[(triton.cdiv(columns, wide), triton.cdiv(depth, deep), slots * networks)](
        g,
        a,
        partial,
        bias,
        rows,
        columns,
        depth,
        share,
        *g.stride(),
        *a.stride(),
        slots,
        PLAIN=known is None,
        PRECISION="bf16x3",
        **options,
    )
    weight, plain = _finished(len(g), partial, bias, columns, depth, slots, plain=known is None)
    return weight, plain if known is None else known


def _thin_sums(g: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    """The sums of a layer with few inputs or few outputs."""
    networks, rows, columns = g.shape
    depth = a.shape[2]
    output = depth > COORDINATES
    together = output or depth <= THIN
    wide = depth if output else columns
    height, width = THIN_SUMS_TILE if together else (32, 128)
    blocks = triton.cdiv(wide, width) * (1 if together else depth + 1)
    slots, share = _slots(THIN_PROGRAMS[networks > 1] // (blocks * networks), rows, height)
    partial, bias = _places(g, columns, depth, slots)
    if together:
        matrices, thin = ((a, g), columns) if output else ((g, a), depth)
        strides = (*matrices[0].stride(), *matrices[1].stride())
        thin_sums_kernel[(triton.cdiv(wide, width), slots * networks)](
            *matrices,
            partial,
            bias,
            rows,
            wide,
            share,
            *strides,
            slots,
            THIN=thin,
            OUTPUT=output,
            ROWS=height,
            COLUMNS=width,
        )
    else:
        strides = (*g.stride(), *a.stride())
        narrow_sums_kernel[(triton.cdiv(columns, width), depth + 1, slots * networks)](
            g, a, partial, bias, rows, columns, share, *strides, slots, DEPTH=depth, ROWS=height, COLUMNS=width
        )
    return _finished(networks, partial, bias, columns, depth, slots)


def _slots(most: int, rows: int, height: int) -> tuple[int, int]:
    """How many slots share the rows, at least four tiles each, and how many rows each takes."""
    slots = max(1, min(most, rows // (4 * height)))
    share = triton.cdiv(triton.cdiv(rows, slots), height) * height
    return triton.cdiv(rows, share), share


def _places(g: Tensor, columns: int, depth: int, slots: int) -> tuple[Tensor, Tensor]:
    """Memory for the sums of each slot: of weights, and of biases."""
    size = len(g) * slots * columns
    partial = torch.empty(size * (depth + 1), device=g.device, dtype=g.dtype)
    return partial[: size * depth], partial[size * depth :]


def _finished(
    networks: int, partial: Tensor, bias: Tensor, columns: int, depth: int, slots: int, plain: bool = True
) -> tuple[Tensor, Tensor]:
    """Add the slots of weights (networks, columns, depth) and, where `plain`, of biases (networks, columns)."""
    size, biases = columns * depth, columns if plain else 0
    together, block = (256, 8) if slots > 64 else (8, 128)
    out = torch.empty(networks, size + biases, device=partial.device, dtype=partial.dtype)
    finish_kernel[(triton.cdiv(size + biases, block), networks)](
        partial, bias, out, size, biases, slots, SLOTS=together, BLOCK=block
    )
    return out[:, :size].view(networks, columns, depth), out[:, size:]


def networks_tile(shared_memory: int) -> tuple[int, int, int, int, int]:
    """`TF32_NETWORKS_TILE` with a stage less on GPUs whose shared memory does not hold all of its stages.

    Those are all but the largest: an H200 has 232,448 bytes for a program, an A100 166,912 and an RTX 4090 101,376.

    >>> networks_tile(232_448), networks_tile(101_376)
    ((128, 256, 32, 8, 4), (128, 256, 32, 8, 3))
    """
    height, width, deep, warps, stages = TF32_NETWORKS_TILE
    fits = stages * (height + width) * deep * 4 <= shared_memory
    return height, width, deep, warps, stages if fits else stages - 1


@functools.cache
def _shared_memory(device: torch.device) -> int:
    """The bytes of shared memory that a program may have."""
    # torch names them in its newer releases only.
    return driver.active.utils.get_device_properties(device.index)["max_shared_mem"]


def _by_library(precision: str, columns: int, few: bool) -> bool:
    """Whether cuBLAS does it: always in float32, and in tf32 unless points are few and columns are not."""
    return precision == "fp32" or (precision == "tf32" and not (few and columns > FEW_COLUMNS))


def _is_aligned(depth: int, columns: int) -> bool:
    """Whether rows begin where 16 bytes do; ours would read others number by number, for several times as long."""
    return depth % 4 == 0 and columns % 4 == 0


def _library_product(a: Tensor, b: Tensor, bias: Tensor | None, precision: str) -> Tensor:
    if precision == "tf32":
        # Of a transposed matrix the product takes a quarter longer than the copy and the other product.
        b = b.contiguous()
    with library_precision(precision):
        if len(a) == 1:
            return functional.linear(a[0], b[0], None if bias is None else bias[0])[None]
        return torch.bmm(a, b.mT) if bias is None else torch.baddbmm(bias[:, None], a, b.mT)
