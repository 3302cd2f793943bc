"""Adam on CUDA in one launch for up to 32 parameters.

torch's fused Adam launches twice for each group of rates and gives a 256 x 256 matrix to a single block, which costs a
fifth of a small step. The formula is torch's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from staf.ops.triton_early import begin, early

BLOCK = 512
BETAS = (0.9, 0.999)
# Gradients lie where the backward pass has put them, and a kernel is told each one's place: this many at most.
TOGETHER = 32
# Parameters start at multiples of this many numbers: cuBLAS multiplies by others with kernels of half the speed.
ALIGNED = 32


@triton.jit
def _adam_kernel(
    gradients,
    table_pointer,
    parameter_pointer,
    mean_pointer,
    square_pointer,
    rate_pointer,
    step_pointer,
    ended_pointer,
    MEMBERS: tl.constexpr,
    BETA1: tl.constexpr,
    BETA2: tl.constexpr,
    LOG2_BETA1: tl.constexpr,
    LOG2_BETA2: tl.constexpr,
    EPSILON: tl.constexpr,
    LAST: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    """One block of one parameter; its row of the table is (member, group, first element, size, place in the buffer).

    Steps before this one were counted. In the LAST launch of a step the program that ends last counts it.
    """
    # Nobody writes to the table, so that it need not be waited for.
    row = table_pointer + tl.program_id(0) * 5
    member = tl.load(row)
    group = tl.load(row + 1)
    inside = tl.load(row + 2) + tl.arange(0, BLOCK)
    exists = inside < tl.load(row + 3)
    place = tl.load(row + 4) + inside
    begin(EARLY)
    # Where the gradient lies is chosen without branches, so that all that is read is asked for at once.
    address = gradients[0].to(tl.int64)
    for which in tl.static_range(1, MEMBERS):
        address = tl.where(member == which, gradients[which].to(tl.int64), address)
    gradient = tl.load(address.to(tl.pointer_type(tl.float32)) + inside, mask=exists, other=0.0)
    step = tl.load(step_pointer) + 1
    mean = tl.load(mean_pointer + place, mask=exists, other=0.0)
    square = tl.load(square_pointer + place, mask=exists, other=0.0)
    rate = tl.load(rate_pointer + group)
    parameter = tl.load(parameter_pointer + place, mask=exists, other=0.0)
    mean = mean + (1 - BETA1) * (gradient - mean)
    square = BETA2 * square + (1 - BETA2) * gradient * gradient
    correction1 = 1 - tl.exp2(step * LOG2_BETA1)
    correction2 = 1 - tl.exp2(step * LOG2_BETA2)
    denominator = tl.sqrt(square) / tl.sqrt(correction2) + EPSILON
    tl.store(parameter_pointer + place, parameter - rate / correction1 * mean / denominator, mask=exists)
    tl.store(mean_pointer + place, mean, mask=exists)
    tl.store(square_pointer + place, square, mask=exists)
    if LAST:
        # Everyone has read the counter, all threads of this program included, before the last one moves it.
        tl.debug_barrier()
        if tl.atomic_add(ended_pointer, 1) == tl.num_programs(0) - 1:
            tl.store(ended_pointer, 0)
            tl.store(step_pointer, step)


class FlatAdam(torch.optim.Optimizer):
    """Adam over float32 and complex64 CUDA parameters, which it lays side by side in one buffer of float32.

    They become views of it. A complex number is two real ones, each with a step of its own, as torch's Adam has it.
    `groups` are lists of parameters; `rates` is a device vector with a rate for each, read at every step.
    """

    def __init__(self, groups: Iterable[list[Tensor]], rates: Tensor) -> None:
        groups = list(groups)
        super().__init__([{"params": members} for members in groups], {})
        self.members = [parameter for members in groups for parameter in members]
        owners = [group for group, members in enumerate(groups) for _ in members]
        self.rates = rates
        sizes = [-(-_real(parameter).numel() // ALIGNED) * ALIGNED for parameter in self.members]
        self.flat = torch.zeros(sum(sizes), device=rates.device)
        self.mean, self.square = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        self.count = torch.zeros((), device=rates.device)
        self.ended = torch.zeros((), device=rates.device, dtype=torch.int32)
        rows: list[list[np.ndarray]] = [[] for _ in range(0, len(self.members), TOGETHER)]
        start = 0
        for index, parameter in enumerate(self.members):
            real = _real(parameter.detach())
            size = real.numel()
            place = slice(start, start + size)
            self.flat[place].copy_(real.reshape(-1))
            parameter.data = _viewed(self.flat[place], parameter)
            # The state is views, so that checkpoints read and restore it by parameter.
            self.state[parameter] = {
                "step": self.count,
                "exp_avg": _viewed(self.mean[place], parameter),
                "exp_avg_sq": _viewed(self.square[place], parameter),
            }
            member, group = index % TOGETHER, owners[index]
            firsts = np.arange(0, size, BLOCK)
            others = [np.full_like(firsts, number) for number in (member, group, size, start)]
            rows[index // TOGETHER].append(np.stack([*others[:2], firsts, *others[2:]], axis=1))
            start += sizes[index]
        self.tables = [torch.from_numpy(np.concatenate(table)).to(rates.device) for table in rows]

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for number, table in enumerate(self.tables):
            members = self.members[number * TOGETHER : (number + 1) * TOGETHER]
            gradients = tuple(
                torch.zeros_like(_real(parameter)) if parameter.grad is None else _real(parameter.grad).contiguous()
                for parameter in members
            )
            _adam_kernel[(len(table),)](
                gradients,
                table,
                self.flat,
                self.mean,
                self.square,
                self.rates,
                self.count,
                self.ended,
                MEMBERS=len(members),
                BETA1=BETAS[0],
                BETA2=BETAS[1],
                LOG2_BETA1=math.log2(BETAS[0]),
                LOG2_BETA2=math.log2(BETAS[1]),
                EPSILON=1e-8,
                LAST=number == len(self.tables) - 1,
                BLOCK=BLOCK,
                **early(table.device),
            )


def _real(tensor: Tensor) -> Tensor:
    """The real numbers of a tensor: itself, or real and imaginary parts in one more dimension."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _viewed(flat: Tensor, like: Tensor) -> Tensor:
    """Contiguous real numbers in the shape of a tensor, complex as this is."""
    return torch.view_as_complex(flat.view(*like.shape, 2)) if like.is_complex() else flat.view(like.shape)
