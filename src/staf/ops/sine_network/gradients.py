"""The gradients of a whole sine network on CUDA: slopes of sines and all sums over points are made where products are.

Sums over points are made in two stages, slots first and then their results in order: the same bits in every run.
Nothing here waits for the device, so calls can be captured.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
import triton
from torch import Tensor

from staf.ops import column_sums
from staf.ops.linear.beside import branch
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

# The largest gradient is looked for in blocks of this many numbers, by so many programs for each network at most.
LARGEST_BLOCK, LARGEST_BLOCKS = 1024, 128
# So many slots are added at a time.
SLOTS = 8
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
                tuple(last),
                (gradient[0, -1], gradient[-1, -1]),
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

        weight_sums = _WeightSums(gradient, kept.planes, factors, networks, height)
        if little:
            # While a layer's gradient is computed, the sums for the weights above it, and those left before.
            with branch(fork=True) as beside:
                finished = []
                for index in reversed(range(hidden)):
                    finished.append(beside(functools.partial(_both, weight_sums, index, unfinished[-1])))
                    if index == 0:
                        weights = beside(weight_sums.finish)
                    unfinished.append(descend(index))
                finished.append(_finished(unfinished[-1], little))
        else:
            unfinished += [descend(index) for index in reversed(range(hidden))]
            weight_sums.add(slice(0, hidden))
            weights = weight_sums.finish()
            finished = [_finished(left, little) for left in unfinished]
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


def _finished(left: Unfinished, little: bool) -> tuple[Tensor, Tensor]:
    return finished_shared(*left, scaled=True, little=little)


def _both(weight_sums: _WeightSums, index: int, left: Unfinished) -> tuple[Tensor, Tensor]:
    weight_sums.add(slice(index, index + 1))
    return _finished(left, little=True)


class _WeightSums:
    """The sums over points of hidden layers, made in slots, of some layers at a time, and then added."""

    def __init__(self, gradient: Tensor, planes: Tensor, factors: Tensor, networks: int, height: int) -> None:
        self.gradient, self.planes, self.factors = gradient, planes, factors
        self.networks, self.height = networks, height
        kinds, self.hidden, rows, self.width = gradient.shape
        self.split = kinds == 2
        wide, deep, self.high, self.warps, self.stages, programs = SUMS_TILES[rows > MANY_ROWS, self.split]
        self.wide, self.deep = divisor(self.width, wide), divisor(self.width, deep)
        blocks = (self.width // self.wide) * (self.width // self.deep)
        slots = max(1, min(programs // (blocks * networks), height // (2 * self.high)))
        self.share = triton.cdiv(triton.cdiv(height, slots), self.high) * self.high
        self.slots = triton.cdiv(height, self.share)
        self.options = early(gradient.device, rows <= MANY_ROWS)
        shape = (self.hidden, networks * self.slots, self.width, self.width)
        self.partial = torch.empty(shape, device=gradient.device, dtype=torch.float32)

    def add(self, chosen: slice) -> None:
        """One launch for the chosen layers."""
        gradient, planes = self.gradient[:, chosen], self.planes[:, chosen]
        kinds, hidden, rows, width = gradient.shape
        weight_sums_kernel[(width // self.wide, width // self.deep, hidden * self.networks * self.slots)](
            *tiled(gradient.reshape(kinds, hidden * rows, width), self.high, self.wide),
            *tiled(planes.reshape(kinds, hidden * rows, width), self.high, self.deep),
            self.partial[chosen],
            None if self.split else self.factors[chosen],
            self.height,
            width,
            self.share,
            self.slots,
            SPLIT=self.split,
            COLUMNS=self.wide,
            DEPTH=self.deep,
            ROWS=self.high,
            num_warps=self.warps,
            num_stages=self.stages,
            **self.options,
        )

    def finish(self) -> Tensor:
        """The sums of all layers, (hidden, networks, n, k)."""
        out_shape = (self.hidden, self.networks, self.width, self.width)
        if self.slots == 1:
            return self.partial.view(out_shape)
        out = torch.empty(out_shape, device=self.partial.device, dtype=torch.float32)
        size, block = self.width * self.width, 128 if self.slots > SLOTS else 512
        finish_kernel[(triton.cdiv(size, block), self.hidden * self.networks)](
            self.partial, self.partial, out, size, 0, self.slots, SLOTS=SLOTS, BLOCK=block, **self.options
        )
        return out
