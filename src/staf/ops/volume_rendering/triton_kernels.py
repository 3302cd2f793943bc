"""The kernels of volume rendering: a warp for each ray."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _optical(density_pointer, width_pointer, place, exists):
    """sigma w of some samples, and both factors; zero beyond a ray's last."""
    density = tl.load(density_pointer + place, mask=exists, other=0.0)
    width = tl.load(width_pointer + place, mask=exists, other=0.0)
    return density * width, density, width


@triton.jit
def _weights(optical, before, exists, stop):
    """The share of light that samples take, what reaches them and what leaves them, and the optical depth after all."""
    inclusive = tl.cumsum(optical, axis=0)
    reaches = tl.exp(-(before + inclusive - optical))
    leaves = tl.exp(-(before + inclusive))
    # 1 - exp(-x) by its series where x is small, as expm1 has it.
    small = optical * (1.0 - optical * (0.5 - optical * (1.0 / 6.0 - optical * (1.0 / 24.0))))
    taken = tl.where(optical < 0.03, small, 1.0 - tl.exp(-optical))
    counted = exists & (reaches >= stop)
    return tl.where(counted, reaches * taken, 0.0), leaves, counted, before + tl.sum(optical, axis=0)


@triton.jit
def composite_kernel(
    density_pointer,
    colour_pointer,
    distance_pointer,
    width_pointer,
    start_pointer,
    count_pointer,
    background_pointer,
    shown_pointer,
    opacity_pointer,
    depth_pointer,
    stop,
    darkest,
    CHANNELS: tl.constexpr,
    PADDED: tl.constexpr,
    SAMPLES: tl.constexpr,
):
    ray = tl.program_id(0)
    first = tl.load(start_pointer + ray).to(tl.int64)
    count = tl.load(count_pointer + ray).to(tl.int32)
    channel = tl.arange(0, PADDED)
    real = channel < CHANNELS
    shown = tl.zeros((PADDED,), dtype=tl.float32)
    opacity = 0.0
    depth = 0.0
    before = 0.0
    done = 0
    while done < count:
        inside = done + tl.arange(0, SAMPLES)
        exists = inside < count
        place = first + inside
        optical, _, _ = _optical(density_pointer, width_pointer, place, exists)
        weight, _, _, before = _weights(optical, before, exists, stop)
        distance = tl.load(distance_pointer + place, mask=exists, other=0.0)
        colour = tl.load(
            colour_pointer + place[:, None] * CHANNELS + channel[None, :],
            mask=exists[:, None] & real[None, :],
            other=0.0,
        )
        shown += tl.sum(weight[:, None] * colour, axis=0)
        opacity += tl.sum(weight, axis=0)
        depth += tl.sum(weight * distance, axis=0)
        done = tl.where(before > darkest, count, done + SAMPLES)
    background = tl.load(background_pointer + channel, mask=real, other=0.0)
    tl.store(shown_pointer + ray.to(tl.int64) * CHANNELS + channel, shown + (1.0 - opacity) * background, mask=real)
    tl.store(opacity_pointer + ray, opacity)
    tl.store(depth_pointer + ray, depth)


@triton.jit
def _score(
    colour_pointer, distance_pointer, place, exists, channel, real, background, grad_colour, grad_opacity, grad_depth,
    CHANNELS: tl.constexpr,
):  # fmt: skip
    """The loss's derivative by the weight of each sample."""
    colour = tl.load(
        colour_pointer + place[:, None] * CHANNELS + channel[None, :],
        mask=exists[:, None] & real[None, :],
        other=0.0,
    )
    distance = tl.load(distance_pointer + place, mask=exists, other=0.0)
    return tl.sum((colour - background[None, :]) * grad_colour[None, :], axis=1) + grad_opacity + grad_depth * distance


@triton.jit
def gradient_kernel(
    grad_colour_pointer,
    grad_opacity_pointer,
    grad_depth_pointer,
    density_pointer,
    colour_pointer,
    distance_pointer,
    width_pointer,
    start_pointer,
    count_pointer,
    background_pointer,
    in_density_pointer,
    in_colour_pointer,
    in_distance_pointer,
    in_width_pointer,
    in_background_pointer,
    stop,
    darkest,
    CHANNELS: tl.constexpr,
    PADDED: tl.constexpr,
    SAMPLES: tl.constexpr,
    DISTANCE: tl.constexpr,
    WIDTH: tl.constexpr,
):
    ray = tl.program_id(0)
    first = tl.load(start_pointer + ray).to(tl.int64)
    count = tl.load(count_pointer + ray).to(tl.int32)
    channel = tl.arange(0, PADDED)
    real = channel < CHANNELS
    row = ray.to(tl.int64) * CHANNELS + channel
    grad_colour = tl.load(grad_colour_pointer + row, mask=real, other=0.0)
    grad_opacity = tl.load(grad_opacity_pointer + ray)
    grad_depth = tl.load(grad_depth_pointer + ray)
    background = tl.load(background_pointer + channel, mask=real, other=0.0)
    # The score of all samples together, of which those after a sample are what is left.
    total = 0.0
    opacity = 0.0
    before = 0.0
    done = 0
    while done < count:
        inside = done + tl.arange(0, SAMPLES)
        exists = inside < count
        place = first + inside
        optical, _, _ = _optical(density_pointer, width_pointer, place, exists)
        weight, _, _, before = _weights(optical, before, exists, stop)
        score = _score(
            colour_pointer, distance_pointer, place, exists, channel, real, background, grad_colour, grad_opacity,
            grad_depth, CHANNELS,
        )  # fmt: skip
        total += tl.sum(weight * score, axis=0)
        opacity += tl.sum(weight, axis=0)
        done = tl.where(before > darkest, count, done + SAMPLES)
    tl.store(in_background_pointer + row, (1.0 - opacity) * grad_colour, mask=real)
    before = 0.0
    passed = 0.0
    done = 0
    while done < count:
        inside = done + tl.arange(0, SAMPLES)
        exists = inside < count
        place = first + inside
        optical, density, width = _optical(density_pointer, width_pointer, place, exists)
        weight, leaves, counted, before = _weights(optical, before, exists, stop)
        score = _score(
            colour_pointer, distance_pointer, place, exists, channel, real, background, grad_colour, grad_opacity,
            grad_depth, CHANNELS,
        )  # fmt: skip
        share = weight * score
        after = total - (passed + tl.cumsum(share, axis=0))
        passed += tl.sum(share, axis=0)
        in_optical = tl.where(counted, leaves * score - after, 0.0)
        tl.store(in_density_pointer + place, in_optical * width, mask=exists)
        tl.store(
            in_colour_pointer + place[:, None] * CHANNELS + channel[None, :],
            weight[:, None] * grad_colour[None, :],
            mask=exists[:, None] & real[None, :],
        )
        if DISTANCE:
            tl.store(in_distance_pointer + place, weight * grad_depth, mask=exists)
        if WIDTH:
            tl.store(in_width_pointer + place, in_optical * density, mask=exists)
        done += SAMPLES


@triton.jit
def _occupied_at(
    along, ox, oy, oz, dx, dy, dz, occupied_pointer, X: tl.constexpr, Y: tl.constexpr, Z: tl.constexpr, mask
):
    """Whether the cells at these distances along rays are occupied."""
    x = tl.minimum(tl.maximum((((ox + along * dx) + 1.0) * 0.5 * X).to(tl.int32), 0), X - 1)
    y = tl.minimum(tl.maximum((((oy + along * dy) + 1.0) * 0.5 * Y).to(tl.int32), 0), Y - 1)
    z = tl.minimum(tl.maximum((((oz + along * dz) + 1.0) * 0.5 * Z).to(tl.int32), 0), Z - 1)
    return tl.load(occupied_pointer + (x * Y + y) * Z + z, mask=mask, other=0) != 0


@triton.jit
def march_kernel(
    origin_pointer,
    direction_pointer,
    near_pointer,
    far_pointer,
    offset_pointer,
    occupied_pointer,
    start_pointer,
    count_pointer,
    distance_pointer,
    ray_pointer,
    step,
    budget,
    X: tl.constexpr,
    Y: tl.constexpr,
    Z: tl.constexpr,
    WRITE: tl.constexpr,
    STEPS: tl.constexpr,
):
    """One ray: STEPS places are looked at together."""
    ray = tl.program_id(0)
    ox = tl.load(origin_pointer + ray * 3)
    oy = tl.load(origin_pointer + ray * 3 + 1)
    oz = tl.load(origin_pointer + ray * 3 + 2)
    dx = tl.load(direction_pointer + ray * 3)
    dy = tl.load(direction_pointer + ray * 3 + 1)
    dz = tl.load(direction_pointer + ray * 3 + 2)
    near = tl.load(near_pointer + ray)
    far = tl.load(far_pointer + ray)
    offset = tl.load(offset_pointer + ray)
    steps = ((far - near) / step).to(tl.int32) + 1
    place = 0
    if WRITE:
        place = tl.load(start_pointer + ray)
        # Nothing to write for a ray without samples, or beyond the budget.
        steps = tl.where((tl.load(count_pointer + ray) > 0) & (place < budget), steps, 0)
    found = 0
    done = 0
    while done < steps:
        along = near + (done + tl.arange(0, STEPS) + offset) * step
        live = along < far
        taken = live & _occupied_at(along, ox, oy, oz, dx, dy, dz, occupied_pointer, X, Y, Z, live)
        number = taken.to(tl.int32)
        if WRITE:
            to = place + found + tl.cumsum(number, axis=0) - number
            fits = taken & (to < budget)
            tl.store(distance_pointer + to, along, mask=fits)
            tl.store(ray_pointer + to, tl.zeros_like(to) + ray, mask=fits)
        found += tl.sum(number, axis=0)
        done += STEPS
    if not WRITE:
        tl.store(count_pointer + ray, found)


@triton.jit
def count_visible_kernel(
    density_pointer, width_pointer, start_pointer, count_pointer, seen_pointer, stop, darkest, SAMPLES: tl.constexpr
):
    """How many samples of a ray at least `stop` of the light reaches."""
    ray = tl.program_id(0)
    first = tl.load(start_pointer + ray).to(tl.int64)
    count = tl.load(count_pointer + ray).to(tl.int32)
    seen = 0
    before = 0.0
    done = 0
    while done < count:
        inside = done + tl.arange(0, SAMPLES)
        exists = inside < count
        optical, _, _ = _optical(density_pointer, width_pointer, first + inside, exists)
        _, _, counted, before = _weights(optical, before, exists, stop)
        seen += tl.sum(counted.to(tl.int32), axis=0)
        done = tl.where(before > darkest, count, done + SAMPLES)
    tl.store(seen_pointer + ray, seen)


@triton.jit
def pack_kernel(
    distance_pointer,
    start_pointer,
    to_pointer,
    seen_pointer,
    packed_pointer,
    ray_pointer,
    budget,
    SAMPLES: tl.constexpr,
):
    """Copy the first samples of a ray to where they belong in a shorter list."""
    ray = tl.program_id(0)
    first = tl.load(start_pointer + ray).to(tl.int64)
    to = tl.load(to_pointer + ray)
    count = tl.minimum(tl.load(seen_pointer + ray), budget - to)
    done = 0
    while done < count:
        inside = done + tl.arange(0, SAMPLES)
        exists = inside < count
        distance = tl.load(distance_pointer + first + inside, mask=exists, other=0.0)
        tl.store(packed_pointer + to + inside, distance, mask=exists)
        tl.store(ray_pointer + to + inside, tl.zeros_like(inside) + ray, mask=exists)
        done += SAMPLES
