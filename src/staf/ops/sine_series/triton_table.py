"""One set of many terms on CUDA: values and slopes by a table, sums over points by Chebyshev moments.

`triton_table_kernels` and `triton_moments` have the mathematics. Nothing here waits for the device: how far x reaches,
how wide a cell is and whether moments or single terms are summed is decided there. Kernels that are not needed return
at once.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from staf.ops import column_sums
from staf.ops.sine_series.triton_moments import (
    moments_kernel,
    nodes_kernel,
    reach_kernel,
    terms_kernel,
    totals_kernel,
)
from staf.ops.sine_series.triton_shared import many_gradients_kernel
from staf.ops.sine_series.triton_table_kernels import table_kernel, table_value_kernel

# From this many terms on, and numbers of a network; with fewer, single terms are as fast.
TERMS, LEAST = 16, 2**20
# Cells on each side of zero: angles of up to 240 at least.
HALF = 2**12
# Numbers and warps of a program forward.
VALUE_BLOCK = (1024, 4)
# Knots of a program that makes the table.
KNOTS = 16
# The largest |x| is looked for in this many places, since many programs would wait for one; numbers of a program that
# does nothing else, and how many such programs there are.
COPIES, REACH_BLOCK, REACH_PROGRAMS = 256, 4096, 132 * 8
REACH = "staf_reach"
# Numbers of a part, parts of a tile, warps, and how many programs share the work; registers of a thread.
TILE, REGISTERS = (128, 6, 1, 132 * 32), 128
# Chebyshev nodes of a program.
NODES = 8


def applies(x: Tensor, amplitude: Tensor) -> bool:
    """Whether these have a table: one set of many terms, and many numbers."""
    networks, columns, terms = amplitude.shape
    return columns == 1 and terms >= TERMS and x.numel() >= LEAST * networks


def most_moments(terms: int) -> int:
    """More moments than this take longer than the terms' own sums; those, three for each term, fit as well.

    >>> most_moments(50)
    250
    """
    return 5 * terms


def value(x: Tensor, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> Tensor:
    """The series of contiguous tensors x (networks, points, width) and parameters (networks, 1, terms)."""
    networks, _, terms = amplitude.shape
    elements = x.numel() // networks
    out = torch.empty_like(x)
    reach = torch.zeros(networks, COPIES, device=x.device, dtype=torch.float32)
    with torch.cuda.device(x.device):
        table, unit, _ = _table(amplitude, frequency, phase, None)
        block, warps = VALUE_BLOCK
        slots = triton.cdiv(elements, block)
        table_value_kernel[(slots * networks,)](
            x,
            table,
            unit,
            amplitude,
            frequency,
            phase,
            out,
            reach,
            elements,
            slots,
            TERMS=terms,
            HALF=HALF,
            COPIES=COPIES,
            BLOCK=block,
            num_warps=warps,
        )
    column_sums.leave(x, reach, REACH)
    return out


def gradients(grad: Tensor, x: Tensor, *parameters: Tensor, small_angle: float, period: int) -> tuple[Tensor, Tensor]:
    """grad rho'(x), with its column sums left with it, and the parameters' sums (3, networks, 1, terms).

    `period` is how many parts of a tile a row of x takes, or 0 where its columns cannot be summed in passing.
    """
    amplitude, frequency, phase = parameters
    networks, _, terms = amplitude.shape
    elements, width = x.numel() // networks, x.shape[2] if period else 0
    block, parts, warps, programs = TILE
    tile = block * parts
    slots = max(1, min(triton.cdiv(programs, networks), triton.cdiv(elements, tile)))
    tiles = triton.cdiv(triton.cdiv(elements, slots), tile)
    slots = triton.cdiv(elements, tiles * tile)
    most = most_moments(terms)
    in_x = torch.empty_like(x)
    partial = torch.empty(networks * most * slots, device=x.device, dtype=torch.float32)
    columns = torch.empty(networks * slots * period * block, device=x.device, dtype=torch.float32)
    column_out = torch.empty((networks, width), device=x.device, dtype=torch.float32)
    totals, weights = torch.empty(2, networks, most, device=x.device, dtype=torch.float64)
    sums = torch.empty((3, networks, 1, terms), device=x.device, dtype=torch.float32)
    shape = {"BLOCK": block, "PARTS": parts, "PERIOD": period, "num_warps": warps, "maxnreg": REGISTERS}
    padded = triton.next_power_of_2(most)
    with torch.cuda.device(x.device):
        table, unit, plan = _table(amplitude, frequency, phase, _reach(x))
        moments_kernel[(slots * networks,)](
            grad, x, table, unit, plan, in_x, partial, columns, elements, slots, tiles, HALF=HALF, MOST=most, **shape
        )
        many_gradients_kernel[(slots * networks,)](
            grad,
            x,
            plan,
            amplitude,
            frequency,
            phase,
            in_x,
            partial,
            columns,
            elements,
            slots,
            tiles,
            TERMS=terms,
            SUMS=most,
            SMALL=small_angle,
            **shape,
        )
        rows = columns.numel() // (networks * max(1, width))
        count = most + triton.cdiv(width, 8)
        totals_kernel[(count * networks,)](
            partial,
            columns,
            plan,
            totals,
            column_out,
            slots,
            rows,
            width,
            count,
            TERMS=terms,
            MOST=most,
            BLOCK=4096,
            COLUMNS=8,
            num_warps=8,
        )
        blocks = triton.cdiv(most, NODES)
        nodes_kernel[(blocks * networks,)](totals, plan, weights, blocks, MOST=most, NODES=NODES, PADDED=padded)
        terms_kernel[(terms * networks,)](
            totals, weights, plan, amplitude, frequency, phase, sums, networks, TERMS=terms, MOST=most, PADDED=padded
        )
    if period:
        column_sums.leave(in_x, column_out)
    return in_x, sums


def _reach(x: Tensor) -> Tensor:
    """The largest |x| of each network in one of its copies: as `value` has left it, or by a pass over x."""
    left = column_sums.found(x, REACH)
    if left is not None:
        return left
    networks = x.shape[0]
    elements = x.numel() // networks
    reach = torch.zeros(networks, COPIES, device=x.device, dtype=torch.float32)
    blocks = min(REACH_PROGRAMS, triton.cdiv(elements, REACH_BLOCK))
    tiles = triton.cdiv(triton.cdiv(elements, blocks), REACH_BLOCK)
    blocks = triton.cdiv(elements, tiles * REACH_BLOCK)
    reach_kernel[(blocks * networks,)](x, reach, elements, blocks, tiles, COPIES=COPIES, BLOCK=REACH_BLOCK)
    return reach


def _table(
    amplitude: Tensor, frequency: Tensor, phase: Tensor, reach: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Pairs of the knots, and cells per unit; where the `reach` of x is given, the table of rho', and the plan."""
    networks, _, terms = amplitude.shape
    knots = 2 * HALF + 1
    table = torch.empty(networks, knots, 2, device=amplitude.device, dtype=torch.float32)
    unit = torch.empty(networks, device=amplitude.device, dtype=torch.float32)
    plan = None if reach is None else torch.empty(networks, 2, device=amplitude.device, dtype=torch.float32)
    blocks = triton.cdiv(knots, KNOTS)
    table_kernel[(blocks * networks,)](
        amplitude,
        frequency,
        phase,
        reach,
        table,
        unit,
        plan,
        blocks,
        TERMS=terms,
        PADDED=triton.next_power_of_2(terms),
        SLOPE=reach is not None,
        HALF=HALF,
        MOST=most_moments(terms),
        COPIES=COPIES,
        BLOCK=KNOTS,
        num_warps=4,
    )
    return table.view(torch.int64).squeeze(-1), unit, plan
