"""Device code of the sine series where one set of sinusoids serves all of x: x is a line of numbers, cut into parts.

A part is BLOCK numbers side by side, and a tile is PARTS of them. A program sums over its tiles into its own slot, so
that `finish_shared_kernel` adds the slots in order. Where a tile holds whole rows of x, the sums of each column of the
gradient in x, which the layer below needs for its bias, are made in passing: lane l of part p belongs to the column
(p BLOCK + l) % width, and PERIOD is how many parts a row takes (0: these sums are not wanted).

BIASED, unless it is 0, is the width of rows to which a bias is added as they are read.

With many terms, one whose angles all lie within SMALL in the numbers at hand goes to the hardware sine as it is, which
takes four instructions instead of eight; SMALL says how exact that is (`triton.py`), and 0 that no term does.
"""

from __future__ import annotations

import triton
import triton.language as tl

from staf.ops.triton_math import hardware_cosine, hardware_sine, reduced_angle, turns


@triton.jit
def _reach(x, SMALL: tl.constexpr):
    """The largest |x|, where it is asked for."""
    reach = 0.0
    if SMALL > 0:
        reach = tl.max(tl.abs(x))
    return reach


@triton.jit
def _small(frequency, phase, reach, SMALL: tl.constexpr):
    """Whether every |frequency x + phase| is within SMALL; not so for what is no number."""
    small: tl.constexpr = False
    if SMALL > 0:
        small = tl.abs(frequency) * reach + tl.abs(phase) <= SMALL
    return small


@triton.jit
def shared_value_kernel(
    x_pointer,
    bias_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    out_pointer,
    elements,
    slots,
    TERMS: tl.constexpr,
    BLOCK: tl.constexpr,
    UNROLL: tl.constexpr,
    SMALL: tl.constexpr,
    BIASED: tl.constexpr,
):
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    inside = slot.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    exists = inside < elements
    place = network * elements + inside
    sets = network * TERMS
    x = tl.load(x_pointer + place, mask=exists, other=0.0)
    if BIASED > 0:
        x += tl.load(bias_pointer + network * BIASED + inside % BIASED)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    reach = _reach(x, SMALL)
    for k in tl.range(0, TERMS, loop_unroll_factor=UNROLL):
        amplitude = tl.load(amplitude_pointer + sets + k)
        frequency = tl.load(frequency_pointer + sets + k)
        phase = tl.load(phase_pointer + sets + k)
        if _small(frequency, phase, reach, SMALL):
            total += amplitude * hardware_sine(tl.fma(x, frequency, phase))
        else:
            high, low, rest = turns(frequency, phase)
            total += amplitude * hardware_sine(reduced_angle(x, high, low, rest))
    tl.store(out_pointer + place, total, mask=exists)


@triton.jit
def term(amplitude_pointer, frequency_pointer, phase_pointer, place):
    """A term's constants: three of its angle, and its steepest slope."""
    frequency = tl.load(frequency_pointer + place)
    high, low, rest = turns(frequency, tl.load(phase_pointer + place))
    return high, low, rest, tl.load(amplitude_pointer + place) * frequency


@triton.jit
def added(parts, index: tl.constexpr, more, count: tl.constexpr):
    """The tuple with `more` added to one member."""
    result = ()
    for part in tl.static_range(count):
        if part == index:
            result = result + (parts[part] + more,)  # noqa: RUF005
        else:
            result = result + (parts[part],)  # noqa: RUF005
    return result


@triton.jit
def few_gradients_kernel(
    grad_pointer,
    x_pointer,
    bias_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    in_x_pointer,
    partial_pointer,
    column_pointer,
    elements,
    slots,
    tiles,
    TERMS: tl.constexpr,
    BLOCK: tl.constexpr,
    PARTS: tl.constexpr,
    PERIOD: tl.constexpr,
    BIASED: tl.constexpr,
):
    """Gradients for few terms: constants and sums stay in registers over all tiles of a program."""
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    sets = network * TERMS
    lanes = tl.arange(0, BLOCK)
    nothing = tl.zeros((BLOCK,), dtype=tl.float32)
    constants = ()
    sums = ()
    for k in tl.static_range(TERMS):
        high, low, rest, steep = term(amplitude_pointer, frequency_pointer, phase_pointer, sets + k)
        constants = constants + (high, low, rest, steep)  # noqa: RUF005
        sums = sums + (nothing, nothing, nothing)  # noqa: RUF005
    columns = ()
    biases = ()
    for part in tl.static_range(PERIOD):
        columns = columns + (nothing,)  # noqa: RUF005
        if BIASED > 0:
            biases = biases + (tl.load(bias_pointer + network * BIASED + part * BLOCK + lanes),)  # noqa: RUF005
    for tile in range(tiles):
        start = (slot.to(tl.int64) * tiles + tile) * PARTS * BLOCK
        xs = ()
        grads = ()
        for part in tl.static_range(PARTS):
            inside = start + part * BLOCK + lanes
            place = network * elements + inside
            x = tl.load(x_pointer + place, mask=inside < elements, other=0.0)
            if BIASED > 0:
                x += biases[part % PERIOD]
            xs = xs + (x,)  # noqa: RUF005
            grads = grads + (tl.load(grad_pointer + place, mask=inside < elements, other=0.0),)  # noqa: RUF005
        for part in tl.static_range(PARTS):
            x = xs[part]
            grad = grads[part]
            slope = nothing
            more = ()
            for k in tl.static_range(TERMS):
                angle = reduced_angle(x, constants[4 * k], constants[4 * k + 1], constants[4 * k + 2])
                cosine = hardware_cosine(angle)
                weighted = grad * cosine
                slope += constants[4 * k + 3] * cosine
                more = more + (  # noqa: RUF005
                    sums[3 * k] + grad * hardware_sine(angle),
                    sums[3 * k + 1] + weighted * x,
                    sums[3 * k + 2] + weighted,
                )
            sums = more
            in_x = grad * slope
            inside = start + part * BLOCK + lanes
            tl.store(in_x_pointer + network * elements + inside, in_x, mask=inside < elements)
            if PERIOD > 0:
                columns = added(columns, part % PERIOD, in_x, PERIOD)
    first = partial_pointer + network * 3 * TERMS * slots + slot
    for k in tl.static_range(TERMS):
        for which in tl.static_range(3):
            tl.store(first + (which * TERMS + k) * slots, tl.sum(sums[3 * k + which]))
    for part in tl.static_range(PERIOD):
        tl.store(column_pointer + (tl.program_id(0).to(tl.int64) * PERIOD + part) * BLOCK + lanes, columns[part])


@triton.jit
def _term_sums(xs, grads, slopes, amplitude, frequency, phase, REDUCE: tl.constexpr, PARTS: tl.constexpr):
    """One term of a tile: its sums for amplitude, frequency and phase, and the slopes with it."""
    by_amplitude = tl.zeros_like(xs[0])
    by_frequency = by_amplitude
    by_phase = by_amplitude
    steep = amplitude * frequency
    steeper = ()
    if REDUCE:
        high, low, rest = turns(frequency, phase)
    for part in tl.static_range(PARTS):
        if REDUCE:
            angle = reduced_angle(xs[part], high, low, rest)
        else:
            angle = tl.fma(xs[part], frequency, phase)
        cosine = hardware_cosine(angle)
        weighted = grads[part] * cosine
        by_amplitude += grads[part] * hardware_sine(angle)
        by_frequency += weighted * xs[part]
        by_phase += weighted
        steeper = steeper + (slopes[part] + steep * cosine,)  # noqa: RUF005
    return tl.sum(by_amplitude), tl.sum(by_frequency), tl.sum(by_phase), steeper


@triton.jit
def many_gradients_kernel(
    grad_pointer,
    x_pointer,
    plan_pointer,
    amplitude_pointer,
    frequency_pointer,
    phase_pointer,
    in_x_pointer,
    partial_pointer,
    column_pointer,
    elements,
    slots,
    tiles,
    TERMS: tl.constexpr,
    SUMS: tl.constexpr,
    BLOCK: tl.constexpr,
    PARTS: tl.constexpr,
    PERIOD: tl.constexpr,
    SMALL: tl.constexpr,
):
    """Gradients for any number of terms: the tile stays in registers, and each term's sums are added to the slot.

    partial has room for SUMS sums of each network. Where the first number of the `plan` (networks, 2) is
    positive, `moments_kernel` does the work.
    """
    slot = tl.program_id(0) % slots
    network = (tl.program_id(0) // slots).to(tl.int64)
    if plan_pointer is not None:  # noqa: SIM102  (the outer one is decided when the kernel is compiled)
        if tl.load(plan_pointer + 2 * network) > 0:
            return
    sets = network * TERMS
    lanes = tl.arange(0, BLOCK)
    nothing = tl.zeros((BLOCK,), dtype=tl.float32)
    columns = ()
    for _ in tl.static_range(PERIOD):
        columns = columns + (nothing,)  # noqa: RUF005
    first = partial_pointer + network * SUMS * slots + slot
    for tile in range(tiles):
        start = (slot.to(tl.int64) * tiles + tile) * PARTS * BLOCK
        xs = ()
        grads = ()
        slopes = ()
        farthest = nothing
        for part in tl.static_range(PARTS):
            inside = start + part * BLOCK + lanes
            place = network * elements + inside
            xs = xs + (tl.load(x_pointer + place, mask=inside < elements, other=0.0),)  # noqa: RUF005
            grads = grads + (tl.load(grad_pointer + place, mask=inside < elements, other=0.0),)  # noqa: RUF005
            slopes = slopes + (nothing,)  # noqa: RUF005
            farthest = tl.maximum(farthest, tl.abs(xs[part]))
        reach = tl.max(farthest)
        later = tile > 0
        amplitude = tl.load(amplitude_pointer + sets)
        frequency = tl.load(frequency_pointer + sets)
        phase = tl.load(phase_pointer + sets)
        for k in range(TERMS):
            # What the next term and this one's sums need is asked for before the arithmetic that hides the wait.
            following = sets + tl.minimum(k + 1, TERMS - 1)
            next_amplitude = tl.load(amplitude_pointer + following)
            next_frequency = tl.load(frequency_pointer + following)
            next_phase = tl.load(phase_pointer + following)
            kept = first + k * slots
            for_amplitude = tl.load(kept, mask=later, other=0.0)
            for_frequency = tl.load(kept + TERMS * slots, mask=later, other=0.0)
            for_phase = tl.load(kept + 2 * TERMS * slots, mask=later, other=0.0)
            if _small(frequency, phase, reach, SMALL):
                by_amplitude, by_frequency, by_phase, slopes = _term_sums(
                    xs, grads, slopes, amplitude, frequency, phase, False, PARTS
                )
            else:
                by_amplitude, by_frequency, by_phase, slopes = _term_sums(
                    xs, grads, slopes, amplitude, frequency, phase, True, PARTS
                )
            tl.store(kept, for_amplitude + by_amplitude)
            tl.store(kept + TERMS * slots, for_frequency + by_frequency)
            tl.store(kept + 2 * TERMS * slots, for_phase + by_phase)
            amplitude = next_amplitude
            frequency = next_frequency
            phase = next_phase
        for part in tl.static_range(PARTS):
            inside = start + part * BLOCK + lanes
            in_x = grads[part] * slopes[part]
            tl.store(in_x_pointer + network * elements + inside, in_x, mask=inside < elements)
            if PERIOD > 0:
                columns = added(columns, part % PERIOD, in_x, PERIOD)
        # The sums that one thread has stored are loaded by all of them for the next tile.
        tl.debug_barrier()
    for part in tl.static_range(PERIOD):
        tl.store(column_pointer + (tl.program_id(0).to(tl.int64) * PERIOD + part) * BLOCK + lanes, columns[part])
