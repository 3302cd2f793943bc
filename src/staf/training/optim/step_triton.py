"""What a captured step writes down, in one launch: its rates, its loss, and that it was taken."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from staf.ops.triton_early import begin, early


@triton.jit
def _note_kernel(
    counter_pointer,
    table_pointer,
    rates_pointer,
    loss_pointer,
    losses_pointer,
    groups,
    networks,
    GROUPS: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr = False,
):
    begin(EARLY)
    step = tl.load(counter_pointer)
    group = tl.arange(0, GROUPS)
    rates = tl.load(table_pointer + step * groups + group, mask=group < groups, other=0.0)
    tl.store(rates_pointer + group, rates, mask=group < groups)
    for start in range(0, networks, BLOCK):
        network = start + tl.arange(0, BLOCK)
        loss = tl.load(loss_pointer + network, mask=network < networks, other=0.0)
        tl.store(losses_pointer + step * networks + network, loss, mask=network < networks)
    # Every thread has to read the counter before one of them moves it.
    tl.debug_barrier()
    tl.store(counter_pointer, step + 1)


def note_step(counter: Tensor, table: Tensor, rates: Tensor, loss: Tensor, losses: Tensor) -> None:
    """rates = table[counter], losses[counter] = loss, counter += 1.

    All are contiguous on one GPU: counter (1,) int64, table (steps, groups), rates (groups,), loss (networks,), losses
    (steps, networks) float32.
    """
    groups, networks = table.shape[1], losses.shape[1]
    _note_kernel[(1,)](
        counter,
        table,
        rates,
        loss.contiguous(),
        losses,
        groups,
        networks,
        GROUPS=triton.next_power_of_2(groups),
        BLOCK=128,
        num_warps=1,
        **early(counter.device),
    )
