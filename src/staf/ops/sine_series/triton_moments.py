"""Device code of sums over points for one set of many terms: Chebyshev moments, from which all terms' sums follow.

With X the largest |x| and t = x / X, sines of frequencies up to W are polynomials in t of a degree little above W X, to
float32's last digit. So the sums of grad T_j(t), j < count, with Chebyshev's T_j by their recurrence, hold all three
parameters' gradients: they are turned into weights of the count Chebyshev nodes, and the terms' sines are computed
there alone. Where `count` would be more than MOST, terms are summed one by one.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.sine_series.triton_shared import added
from staf.ops.sine_series.triton_table_kernels import looked_up, sine_and_cosine
from staf.ops.triton_math import TURN


@triton.jit
def reach_kernel(x_pointer, reach_pointer, elements, slots, tiles, COPIES: tl.constexpr, BLOCK: tl.constexpr):
    """The largest |x| of each network, over all of reach (networks, COPIES), which is zero before."""
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    farthest = tl.zeros((BLOCK,), dtype=tl.float32)
    for tile in range(tiles):
        inside = (slot.to(tl.int64) * tiles + tile) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_pointer + network * elements + inside, mask=inside < elements, other=0.0)
        farthest = tl.maximum(farthest, tl.abs(x))
    tl.atomic_max(reach_pointer + network * COPIES + slot % COPIES, tl.max(farthest))


@triton.jit
def moments_kernel(
    grad_pointer,
    x_pointer,
    table_pointer,
    unit_pointer,
    plan_pointer,
    in_x_pointer,
    partial_pointer,
    column_pointer,
    elements,
    slots,
    tiles,
    HALF: tl.constexpr,
    MOST: tl.constexpr,
    BLOCK: tl.constexpr,
    PARTS: tl.constexpr,
    PERIOD: tl.constexpr,
):
    """grad rho'(x), the sums of its columns, and those of grad T_j(x / X), (networks, MOST, slots); tiles and slots are
    those of `many_gradients_kernel`, which does the work where the plan is to sum term by term.
    """
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    count = tl.load(plan_pointer + 2 * network).to(tl.int32)
    if count == 0:
        return
    shrink = tl.load(plan_pointer + 2 * network + 1)
    per_unit = tl.load(unit_pointer + network)
    table = table_pointer + network * (2 * HALF + 1)
    lanes = tl.arange(0, BLOCK)
    nothing = tl.zeros((BLOCK,), dtype=tl.float32)
    columns = ()
    for _ in tl.static_range(PERIOD):
        columns = columns + (nothing,)  # noqa: RUF005
    first = partial_pointer + network * MOST * slots + slot
    for tile in range(tiles):
        start = (slot.to(tl.int64) * tiles + tile) * PARTS * BLOCK
        doubled = ()
        before = ()
        now = ()
        for part in tl.static_range(PARTS):
            inside = start + part * BLOCK + lanes
            place = network * elements + inside
            x = tl.load(x_pointer + place, mask=inside < elements, other=0.0)
            grad = tl.load(grad_pointer + place, mask=inside < elements, other=0.0)
            in_x = grad * looked_up(table, x, per_unit, HALF)
            tl.store(in_x_pointer + place, in_x, mask=inside < elements)
            if PERIOD > 0:
                columns = added(columns, part % PERIOD, in_x, PERIOD)
            t = x * shrink
            doubled = doubled + (t + t,)  # noqa: RUF005
            before = before + (grad * t,)  # noqa: RUF005
            now = now + (grad,)  # noqa: RUF005
        later = tile > 0
        # Two at a time, so that nothing has to be moved from one name to the other.
        for j in range(0, count, 2):
            kept = first + j * slots
            so_far = tl.load(kept, mask=later, other=0.0)
            so_far_next = tl.load(kept + slots, mask=later, other=0.0)
            total = nothing
            total_next = nothing
            following = ()
            after = ()
            for part in tl.static_range(PARTS):
                total += now[part]
                step = doubled[part] * now[part] - before[part]
                total_next += step
                following = following + (step,)  # noqa: RUF005
                after = after + (doubled[part] * step - now[part],)  # noqa: RUF005
            tl.store(kept, so_far + tl.sum(total))
            tl.store(kept + slots, so_far_next + tl.sum(total_next))
            before = following
            now = after
        # The sums that one thread has stored are loaded by all of them for the next tile.
        tl.debug_barrier()
    for part in tl.static_range(PERIOD):
        tl.store(column_pointer + (tl.program_id(0).to(tl.int64) * PERIOD + part) * BLOCK + lanes, columns[part])


@triton.jit
def nodes_kernel(
    total_pointer,
    plan_pointer,
    weight_pointer,
    blocks,
    MOST: tl.constexpr,
    NODES: tl.constexpr,
    PADDED: tl.constexpr,
):
    """Weights (networks, MOST) of the Chebyshev nodes X cos(pi (m + 1/2) / count), from the moments (networks, MOST).

    With these, sums of grad f(x) over the points are sums of weight f(node) for smooth f.
    """
    network = (tl.program_id(0) // blocks).to(tl.int64)
    count = tl.load(plan_pointer + 2 * network).to(tl.int32)
    node = ((tl.program_id(0) % blocks) * NODES + tl.arange(0, NODES))[:, None]
    if count > 0:
        j = tl.arange(0, PADDED)[None, :]
        moment = tl.load(total_pointer + network * MOST + j, mask=j < count, other=0.0)
        moment *= tl.where(j > 0, 2.0, 1.0) / count.to(tl.float64)
        # cos(pi j (2 m + 1) / 2 count), which repeats after 4 count.
        quarter = ((j * (2 * node + 1)) % (4 * count)).to(tl.float64) / (4 * count).to(tl.float64)
        weight = tl.sum(moment * tl.cos(quarter * TURN), axis=1)[:, None]
        tl.store(weight_pointer + network * MOST + node, weight, mask=node < tl.minimum(count, MOST))


@triton.jit
def terms_kernel(
    total_pointer,
    weight_pointer,
    plan_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    out_pointer,
    networks,
    TERMS: tl.constexpr,
    MOST: tl.constexpr,
    PADDED: tl.constexpr,
):
    """The three parameters' sums of one term, out is (3, networks, 1, terms): from the nodes' weights, or, where terms
    were summed one by one, from those sums, (networks, MOST).
    """
    k = tl.program_id(0) % TERMS
    network = (tl.program_id(0) // TERMS).to(tl.int64)
    count = tl.load(plan_pointer + 2 * network).to(tl.int32)
    own = network * TERMS + k
    amplitude = tl.load(amplitude_pointer + own).to(tl.float64)
    totals = total_pointer + network * MOST
    if count > 0:
        node = tl.arange(0, PADDED)
        weight = tl.load(weight_pointer + network * MOST + node, mask=node < count, other=0.0)
        angle = (2 * node + 1).to(tl.float64) / (4 * count).to(tl.float64) * TURN
        place = tl.cos(angle) / tl.load(plan_pointer + 2 * network + 1).to(tl.float64)
        frequency, phase = tl.load(frequency_pointer + own), tl.load(phase_pointer + own)
        sine, cosine = sine_and_cosine(frequency, phase, place)
        by_amplitude = tl.sum(weight * sine)
        by_frequency = tl.sum(weight * cosine * place)
        by_phase = tl.sum(weight * cosine)
    else:
        by_amplitude = tl.load(totals + k)
        by_frequency = tl.load(totals + TERMS + k)
        by_phase = tl.load(totals + 2 * TERMS + k)
    to = out_pointer + own
    tl.store(to, by_amplitude.to(tl.float32))
    tl.store(to + networks * TERMS, (amplitude * by_frequency).to(tl.float32))
    tl.store(to + 2 * networks * TERMS, (amplitude * by_phase).to(tl.float32))


@triton.jit
def totals_kernel(
    partial_pointer,
    column_pointer,
    plan_pointer,
    total_pointer,
    column_out_pointer,
    slots,
    rows,
    width,
    programs,
    TERMS: tl.constexpr,
    MOST: tl.constexpr,
    BLOCK: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Add the slots in order: of one moment or of one term's parameter, or of COLUMNS columns' sums."""
    index = tl.program_id(0) % programs
    network = (tl.program_id(0) // programs).to(tl.int64)
    if index < MOST:
        count = tl.load(plan_pointer + 2 * network).to(tl.int32)
        if index < tl.where(count > 0, count, 3 * TERMS):
            first = partial_pointer + (network * MOST + index) * slots
            slot = tl.arange(0, BLOCK)
            total = tl.zeros((BLOCK,), dtype=tl.float64)
            for start in range(0, slots, BLOCK):
                total += tl.load(first + start + slot, mask=start + slot < slots, other=0.0).to(tl.float64)
            tl.store(total_pointer + network * MOST + index, tl.sum(total))
    else:
        column = ((index - MOST) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
        row = tl.arange(0, BLOCK // COLUMNS)[:, None]
        sums = tl.zeros((BLOCK // COLUMNS, COLUMNS), dtype=tl.float64)
        for start in range(0, rows, BLOCK // COLUMNS):
            place = column_pointer + (network * rows + start + row) * width + column
            sums += tl.load(place, mask=(start + row < rows) & (column < width), other=0.0).to(tl.float64)
        added_up = tl.sum(sums, axis=0)[None, :].to(tl.float32)
        tl.store(column_out_pointer + network * width + column, added_up, mask=column < width)
