"""The gradients of a whole sine network on CUDA: slopes of sines and all sums over points are made where products are.

Sums over points are made in two stages, slots first and then their results in order: the same bits in every run.
Nothing here waits for the device, so calls can be captured.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
import triton
from torch import Tensor

from staf.ops import column_sums
from staf.ops.linear.beside import side_by_side
from staf.ops.linear.triton_kernels import finish_kernel
from staf.ops.sine_network.hidden import gradient as hidden_gradient
from staf.ops.sine_network.hidden import is_shared
from staf.ops.sine_network.tiles import (
    LAST_TILES,
    MANY_ROWS,
    PADDING,
    SUMS_TILES,
    Kept,
    Layer,
    divisor,
    tiled,
)
from staf.ops.sine_network.triton_ends import largest_kernel, last_gradient_kernel
from staf.ops.sine_network.triton_sums import weight_sums_kernel
from staf.ops.sine_series.triton import finished_shared
from staf.ops.squared_error.triton import REACH
from staf.ops.triton_early import early

# The largest gradient is looked for in blocks of so many numbers, by so many programs for each network at most.
LARGEST_BLOCK, LARGEST_BLOCKS = 1024, 128
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
    little = rows <= MANY_ROWS
    chained = early(x.device, little)
    # What each hidden layer's gradients are stored with.
    factors = torch.empty(0 if split else hidden, networks, device=x.device, dtype=torch.float32)
    gradient = torch.empty_like(kept.planes)
    kinds = gradient.shape[0]
    found: list[Tensor | None] = [None] * (5 * (hidden + 1) + 2)
    with torch.cuda.device(x.device):
        reach = factors if split else _largest(grad, little)
        last = layers[-1]
        length = (outputs + 1) * width + outputs
        if is_shared(rows, width, kind):
            from staf.ops.sine_network import gluon

            partial, count, columns, made = gluon.last(
                grad,
                kept.inner[-1],
                output,
                last,
                gradient[:, -1],
                None if split else reach,
                None if split else factors[-1],
                height,
                trained[-1],
            )
        else:
            warps, programs, registers = LAST_TILES[rows > MANY_ROWS]
            across = triton.next_power_of_2(width)
            few = max(1, warps * 128 // across)
            # Every program has as many rows, a power of two.
            share = max(
                few,
                divisor(height, triton.next_power_of_2(triton.cdiv(rows, programs))),
            )
            slots = height // share
            made = torch.empty(0 if split else networks, slots, device=x.device, dtype=torch.float32)
            threads = few * across // 4
            partial = torch.empty(
                networks * 3 * last.terms * slots * threads // 32,
                device=x.device,
                dtype=torch.float32,
            )
            columns = torch.empty(networks * slots * few * length, device=x.device, dtype=torch.float32)
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
                None if split else reach,
                None if split else made,
                None if split else factors[hidden - 1],
                points,
                height,
                width,
                reach.shape[1],
                slots,
                SPLIT=split,
                TERMS=last.terms,
                TRAINED=trained[-1],
                OUTPUTS=outputs,
                SLICE=few,
                COLUMNS=across,
                KIND=kind,
                WHOLE=across == width,
                SHARE=share,
                MOST_REACHES=triton.next_power_of_2(reach.shape[1]),
                num_warps=warps,
                maxnreg=registers,
                **chained,
            )
            count = slots * threads // 32
        reach = made
        unfinished: list[Unfinished] = [(partial, last.amplitude, count, columns, length)]

        def descend(index: int) -> Unfinished:
            """The gradient of a layer's input, and what it leaves to add up."""
            nonlocal reach
            under, count = max(0, index - 1), inputs if index == 0 else 0
            partial, slots, columns, reach = hidden_gradient(
                gradient[:, index],
                kept.weights[kinds:, index],
                kept.inner[under],
                x,
                layers[index],
                gradient[:, under],
                None if split else (kept.largest[index], reach, factors[index], factors[under]),
                height,
                count,
                trained[index],
                kind,
            )
            return partial, layers[index].amplitude, slots, columns, (count + 1) * width

        def weight_sums(chosen: slice) -> Tensor:
            return _weight_sums(
                gradient[:, chosen],
                kept.planes[:, chosen],
                factors[chosen],
                split,
                networks,
                height,
                width,
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


def _largest(grad: Tensor, little: bool) -> Tensor:
    """The largest |gradient| of some blocks of each network's: (networks, blocks)."""
    left = column_sums.found(grad, REACH)
    if left is not None:
        return left
    networks = grad.shape[0]
    elements = grad.numel() // networks
    share = triton.cdiv(triton.cdiv(elements, LARGEST_BLOCKS), LARGEST_BLOCK) * LARGEST_BLOCK
    blocks = triton.cdiv(elements, share)
    out = torch.empty(networks, blocks, device=grad.device, dtype=torch.float32)
    options = {"BLOCK": LARGEST_BLOCK} | early(grad.device, little)
    largest_kernel[(blocks * networks,)](grad, out, elements, blocks, share, **options)
    return out


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
    finished.append(finished_shared(*left, scaled=True, little=True))
    return weights, finished


def _both(
    weight_sums: Callable[[slice], Tensor], chosen: slice, left: Unfinished
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    return weight_sums(chosen), finished_shared(*left, scaled=True, little=True)


def _weight_sums(
    gradient: Tensor,
    planes: Tensor,
    factors: Tensor,
    split: bool,
    networks: int,
    height: int,
    width: int,
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
        None if split else factors,
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
        **early(gradient.device, rows <= MANY_ROWS),
    )
    if slots == 1:
        return partial.view(hidden, networks, width, width)
    out = torch.empty(hidden, networks, width, width, device=gradient.device, dtype=torch.float32)
    finish_kernel[(triton.cdiv(size, 128), hidden * networks)](
        partial,
        partial,
        out,
        size,
        0,
        slots,
        SLOTS=8,
        BLOCK=128,
        **early(gradient.device, rows <= MANY_ROWS),
    )
    return out
