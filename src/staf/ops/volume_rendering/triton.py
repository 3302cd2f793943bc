"""Volume rendering on CUDA in float32: a warp for each ray."""

from __future__ import annotations

import math

import torch
import triton
from torch import Tensor

from staf.ops.volume_rendering.triton_kernels import (
    composite_kernel,
    count_visible_kernel,
    gradient_kernel,
    march_kernel,
    pack_kernel,
)

# Samples of a ray that are read together.
SAMPLES = 32
# Places along a ray that are looked at together.
STEPS = 128


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
            composite_kernel[(rays,)](
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
            gradient_kernel[(rays,)](*given, *made, in_background, stop, _darkest(stop), **_sizes(channels), **options)
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
            march_kernel[(rays,)](*given, cells, *outputs, WRITE=False, **sizes)
            start = (count.cumsum(0, dtype=torch.int32) - count).clamp_(max=budget)
            march_kernel[(rays,)](*given, cells, start, *outputs[1:], WRITE=True, **sizes)
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
            count_visible_kernel[(rays,)](density, width, start, count, seen, stop, _darkest(stop), **sizes)
            to = (seen.cumsum(0, dtype=torch.int32) - seen).clamp_(max=budget)
            pack_kernel[(rays,)](distance, start, to, seen, packed, of, budget, **sizes)
    return packed, of.long(), to.long(), torch.minimum(seen, budget - to).long()


def _darkest(stop: float) -> float:
    """The optical depth beyond which samples are left out."""
    return -math.log(stop) if stop > 0 else math.inf


def _sizes(channels: int) -> dict[str, int]:
    return {"CHANNELS": channels, "PADDED": triton.next_power_of_2(channels), "SAMPLES": SAMPLES}
