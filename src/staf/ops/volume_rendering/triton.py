"""Volume rendering on CUDA in float32: a warp for each ray."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

# Samples of a ray that are read together.
SAMPLES = 32
# Places along a ray that are looked at together.
STEPS = 128


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
def _composite_kernel(
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
def _gradient_kernel(
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
def _march_kernel(
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
def _count_visible_kernel(
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
def _pack_kernel(
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


def composite(
    density: Tensor,
    colour: Tensor,
    distance: Tensor,
    width: Tensor,
    start: Tensor,
    count: Tensor,
    background: Tensor,
    stop: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `composite_reference`."""
    rays, channels = len(start), colour.shape[1]
    shown = torch.empty(rays, channels, device=density.device)
    opacity, depth = torch.empty(2, rays, device=density.device).unbind()
    if rays:
        given = [t.contiguous() for t in (density, colour, distance, width, start, count, background)]
        with torch.cuda.device(density.device):
            _composite_kernel[(rays,)](
                *given, shown, opacity, depth, stop, _darkest(stop), **_sizes(channels), num_warps=1
            )
    return shown, opacity, depth


def composite_gradients(
    grads: tuple[Tensor, ...],
    density: Tensor,
    colour: Tensor,
    distance: Tensor,
    width: Tensor,
    start: Tensor,
    count: Tensor,
    background: Tensor,
    stop: float,
    wanted: tuple[bool, ...],
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """Gradients by density, colour, distance, width and background; the last three if wanted."""
    rays, channels = len(start), colour.shape[1]
    in_density, in_colour = torch.zeros_like(density), torch.zeros_like(colour, memory_format=torch.contiguous_format)
    in_distance = torch.zeros_like(distance) if wanted[2] else None
    in_width = torch.zeros_like(width) if wanted[3] else None
    in_background = torch.zeros(rays, channels, device=density.device)
    if rays:
        given = [t.contiguous() for t in (*grads, density, colour, distance, width, start, count, background)]
        made = [t if t is not None else in_density for t in (in_density, in_colour, in_distance, in_width)]
        options = {"DISTANCE": in_distance is not None, "WIDTH": in_width is not None, "num_warps": 1}
        with torch.cuda.device(density.device):
            _gradient_kernel[(rays,)](*given, *made, in_background, stop, _darkest(stop), **_sizes(channels), **options)
    return in_density, in_colour, in_distance, in_width, in_background.sum(0) if wanted[6] else None


def march(
    origin: Tensor,
    direction: Tensor,
    near: Tensor,
    far: Tensor,
    occupied: Tensor,
    step: float,
    budget: int,
    offset: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """As `march_reference`: the rays are walked twice, to count their samples and to write them."""
    rays, device = len(origin), origin.device
    distance = torch.zeros(budget, device=device)
    ray, count = (torch.zeros(size, device=device, dtype=torch.int32) for size in (budget, rays))
    start = torch.zeros_like(count)
    if rays:
        given = [t.contiguous() for t in (origin, direction, near, far, offset)]
        cells = occupied.contiguous().view(torch.uint8)
        x, y, z = occupied.shape
        sizes = {"X": x, "Y": y, "Z": z, "STEPS": STEPS, "num_warps": 1}
        with torch.cuda.device(device):
            outputs = (start, count, distance, ray, step, budget)
            _march_kernel[(rays,)](*given, cells, *outputs, WRITE=False, **sizes)
            start = (count.cumsum(0, dtype=torch.int32) - count).clamp_(max=budget)
            _march_kernel[(rays,)](*given, cells, start, *outputs[1:], WRITE=True, **sizes)
    return distance, ray.long(), start.long(), torch.minimum(count, budget - start).long()


def visible(
    density: Tensor,
    width: Tensor,
    distance: Tensor,
    ray: Tensor,
    start: Tensor,
    count: Tensor,
    stop: float,
    budget: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """As `visible_reference`: samples are counted, then copied."""
    rays, device = len(start), density.device
    packed = torch.zeros(budget, device=device)
    of, seen = (torch.zeros(size, device=device, dtype=torch.int32) for size in (budget, rays))
    to = torch.zeros_like(seen)
    if rays:
        density, width, distance, start, count = (t.contiguous() for t in (density, width, distance, start, count))
        sizes = {"SAMPLES": SAMPLES, "num_warps": 1}
        with torch.cuda.device(device):
            _count_visible_kernel[(rays,)](density, width, start, count, seen, stop, _darkest(stop), **sizes)
            to = (seen.cumsum(0, dtype=torch.int32) - seen).clamp_(max=budget)
            _pack_kernel[(rays,)](distance, start, to, seen, packed, of, budget, **sizes)
    return packed, of.long(), to.long(), torch.minimum(seen, budget - to).long()


def _darkest(stop: float) -> float:
    """The optical depth beyond which samples are left out."""
    return -math.log(stop) if stop > 0 else math.inf


def _sizes(channels: int) -> dict[str, int]:
    return {"CHANNELS": channels, "PADDED": triton.next_power_of_2(channels), "SAMPLES": SAMPLES}
