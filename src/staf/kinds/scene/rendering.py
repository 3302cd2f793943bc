"""Pictures of a radiance field: colour, opacity and depth along the rays of cameras."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from staf._typing import Bool, Float, UInt8
from staf.kinds.scene import checks
from staf.kinds.scene.cameras import Cameras
from staf.kinds.scene.occupancy import OccupancyGrid
from staf.ops.volume_rendering import Rendered, Samples, composite, march, ray_box

if TYPE_CHECKING:
    from staf.kinds.scene.signal import Scene

Predict = Callable[[Tensor], Tensor]
# A ray through the whole box takes this many steps.
STEPS = 1024
STEP = 2 * math.sqrt(3) / STEPS
# Samples that are computed together.
SAMPLES = {"cpu": 2**17, "cuda": 2**21}
# Pixels whose rays are made together.
RAYS = 2**20
# Points are padded to multiples of at least this many on a CPU.
LEAST_PART = 256
# What less light than this reaches is left out of pictures.
STOP = 1e-4


@torch.no_grad()
def render_rays(
    predict: Predict,
    origin: Float[Tensor, "n 3"],
    direction: Float[Tensor, "n 3"],
    occupied: Bool[Tensor, "x y z"],
    background: Float[Tensor, " c"],
    *,
    step: float = STEP,
    least: float | Tensor = 0.0,
    offset: float = 0.5,
) -> Rendered:
    """Colour, opacity and depth of rays in the box [-1, 1]^3, without gradients and in bounded memory.

    `predict` maps positions and directions (m, 6) to density and colour (m, 4); depth is in units of the box. Where the
    density is not above `least`, there is nothing. Each ray starts at `offset` in its first step.
    """
    most = SAMPLES.get(origin.device.type, SAMPLES["cpu"])
    near, far = ray_box(origin, direction)
    rays = most // 64
    parts = []
    for first in range(0, len(origin), rays):
        of = slice(first, first + rays)
        longest = int(float((far[of] - near[of]).max()) / step) + 2
        found = march(
            origin[of],
            direction[of],
            near[of],
            far[of],
            occupied,
            step=step,
            budget=longest * len(origin[of]),
            offset=torch.full_like(near[of], offset),
        )
        parts.append(_composited(predict, origin[of], direction[of], found, background, step, least, most))
    return Rendered(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _composited(
    predict: Predict,
    origin: Tensor,
    direction: Tensor,
    samples: Samples,
    background: Tensor,
    step: float,
    least: float | Tensor,
    most: int,
) -> Rendered:
    distance, ray, first, count = samples
    used = int(count.sum())
    distance, ray = distance[:used], ray[:used]
    values = torch.cat(
        [
            in_few_sizes(predict, sample_coordinates(origin, direction, distance[i : i + most], ray[i : i + most]))
            for i in range(0, used, most)
        ]
        or [distance.new_zeros(0, 4)]
    )
    width, density = torch.full_like(distance, step), values[:, 0]
    density = torch.where(density > least, density, 0)
    return composite(density, values[:, 1:].contiguous(), distance, width, first, count, background, stop=STOP)


def in_few_sizes(predict: Predict, points: Float[Tensor, "m d"]) -> Tensor:
    """`predict` of points, padded on a CPU so that few numbers of points are asked for: eight for each doubling.

    torch keeps 1.7 MB for each layer and each number of points that it has seen there, up to gigabytes.

    >>> in_few_sizes(lambda x: x + len(x), torch.zeros(5000, 1))[:1], in_few_sizes(torch.exp, torch.zeros(3, 1)).shape
    (tensor([[5120.]]), torch.Size([3, 1]))
    """
    if points.device.type != "cpu":
        return predict(points)
    count = len(points)
    part = max(LEAST_PART, 2 ** (count.bit_length() - 4)) if count else 1
    return predict(torch.nn.functional.pad(points, (0, 0, 0, -count % part)))[:count]


def sample_coordinates(origin: Tensor, direction: Tensor, distance: Tensor, ray: Tensor) -> Float[Tensor, "m 6"]:
    """Positions in [-1, 1]^3 and directions of samples along rays."""
    towards = direction[ray]
    return torch.cat([(origin[ray] + distance[:, None] * towards).clamp(-1, 1), towards], -1)


def on_background(pixels: UInt8[Tensor, "*n c"], background: Tensor) -> Float[Tensor, "*n 3"]:
    """Pixels of 3 or 4 bytes as colours between 0 and 1, the transparent ones on a background (3,) or (*n, 3).

    >>> on_background(torch.tensor([[255, 0, 0, 51]], dtype=torch.uint8), torch.ones(3)).tolist()
    [[1.0, 0.800000011920929, 0.800000011920929]]
    """
    colour = pixels[..., :3].float() / 255
    if pixels.shape[-1] == 3:
        return colour
    cover = pixels[..., 3:].float() / 255
    return colour * cover + (1 - cover) * background


def depth_of(shown: Rendered, half: float) -> Float[Tensor, "h w"]:
    """The mean distance of what is seen, in the scene's own units; 0 where more than half of the light passes."""
    solid = shown.opacity > 0.5
    return torch.where(solid, shown.depth / shown.opacity.clamp(min=0.5), 0) * half


def render_views(
    predict: Predict,
    cameras: Cameras,
    grid: OccupancyGrid,
    background: Float[Tensor, " c"],
    *,
    step: float = STEP,
    subpixels: int = 1,
) -> Iterator[Rendered]:
    """One picture after the other: colour (h, w, c), opacity (h, w) and depth (h, w).

    Rays go through the occupied cells and their neighbours, where the last looks may have missed thin matter. Training
    does not see the neighbours, so that what is there counts only if it would make its cell occupied: haze is left out.
    A pixel is the mean of `subpixels` x `subpixels` rays, evenly over its area, which start at as many places of their
    first step. The cameras are in the frame of the box (`Cameras.moved`).
    """
    around, least = grid.around(), grid.least()
    height, width = cameras.height, cameras.width
    places = [(place + 0.5) / subpixels for place in range(subpixels)]
    for view in range(len(cameras)):
        bands = []
        for pixel in torch.arange(height * width, device=around.device).split(RAYS):
            row, column = pixel // width, pixel % width
            parts = []
            for ray, (down, right) in enumerate(itertools.product(places, places)):
                rays = cameras.rays(torch.full_like(row, view), row + down, column + right)
                offset = (ray + 0.5) / subpixels**2
                parts.append(render_rays(predict, *rays, around, background, step=step, least=least, offset=offset))
            bands.append([torch.stack(of_rays).mean(0) for of_rays in zip(*parts, strict=True)])
        colour, opacity, depth = (torch.cat(of_bands) for of_bands in zip(*bands, strict=True))
        yield Rendered(colour.view(height, width, -1), opacity.view(height, width), depth.view(height, width))


def draw(
    scene: Scene,
    predict: Predict,
    cameras: Cameras,
    *,
    subpixels: int | None = None,
    device: torch.device | str | None = None,
) -> Iterator[tuple[UInt8[Tensor, "h w 3"], Float[Tensor, "h w"]]]:
    """What cameras in the scene's own frame see of a field: pictures, and depths in the scene's own units, one by one.

    `subpixels` are by default those of the fit.
    """
    device = torch.device("cpu" if device is None else device)
    side = (scene.subpixels or 1) if subpixels is None else checks.subpixels(subpixels)
    grid, inside = scene.occupancy(predict, device), scene.in_box(cameras).to(device)
    behind = torch.tensor(scene.background, device=device)
    for shown in render_views(predict, inside, grid, behind, step=scene.step, subpixels=side):
        picture = (shown.colour.clamp(0, 1) * 255).round().to("cpu", torch.uint8)
        yield picture, depth_of(shown, scene.half).cpu()
