"""`march`, `visible` and `composite`: light along rays through a field of density and colour.

Samples of all rays lie in one list; ray r has `count[r]` of them from `start[r]` on. Points of the list that belong to
no ray are padding, so that a training step can have one fixed shape.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from staf._typing import Bool, Float, Int
from staf.ops.backend import choose, is_traced, note
from staf.ops.volume_rendering.checks import check_cells, check_composite, check_devices, check_rays, check_samples
from staf.ops.volume_rendering.reference import (
    cell_index,
    composite_reference,
    march_reference,
    visible_reference,
)

MOST_CHANNELS = 16

__all__ = ["Rendered", "Samples", "cell_index", "composite", "march", "ray_box", "visible"]


class Rendered(NamedTuple):
    """Of each ray: colour (n, c), opacity (n,) between 0 and 1, and depth (n,), the mean distance times the opacity."""

    colour: Tensor
    opacity: Tensor
    depth: Tensor


class Samples(NamedTuple):
    """Samples along rays: distance (m,) and ray (m,) of each; where those of each ray start (n,), and how many (n,)."""

    distance: Tensor
    ray: Tensor
    start: Tensor
    samples: Tensor


def composite(
    density: Float[Tensor, " m"],
    colour: Float[Tensor, "m c"],
    distance: Float[Tensor, " m"],
    width: Float[Tensor, " m"],
    start: Int[Tensor, " n"],
    count: Int[Tensor, " n"],
    background: Float[Tensor, " c"],
    *,
    stop: float = 0.0,
) -> Rendered:
    """Colour, opacity and depth of rays by the quadrature of volume rendering.

    With optical depths sigma_i w_i, the light that reaches sample i is T_i = exp(-sum_{j<i} sigma_j w_j), the sample
    takes a_i = T_i (1 - exp(-sigma_i w_i)) of it, and colour = sum a_i c_i + (1 - sum a_i) background.

    Args:
        density: sigma, per unit of distance; finite, and not negative.
        width: the part of the ray that a sample represents.
        start: where the samples of each ray begin in the list; rays must not overlap.
        count: how many samples each ray has.
        stop: samples that less than this share of the light reaches are left out (0: none).

    Gradients by density, colour, distance, width and background are exact, of both orders; derivatives of derivatives
    go through the formula. On CUDA in float32 one pass over the samples computes each.

    >>> one = torch.ones(1)
    >>> composite(1e9 * one, torch.tensor([[1.0, 0.5]]), 2 * one, one, torch.tensor([0]), torch.tensor([1]),
    ...           torch.zeros(2))
    Rendered(colour=tensor([[1.0000, 0.5000]]), opacity=tensor([1.]), depth=tensor([2.]))
    """
    check_composite(density, colour, distance, width, start, count, background, stop)
    fused = (
        choose("composite", density) == "triton"
        and all(t.dtype == torch.float32 for t in (colour, distance, width, background))
        and not is_traced()
        and not torch._C._are_functorch_transforms_active()
        and colour.shape[1] <= MOST_CHANNELS
    )
    if not fused:
        note("composite", "reference")
        return Rendered(*composite_reference(density, colour, distance, width, start, count, background, stop))
    from staf.ops.volume_rendering.autograd import Composite

    return Rendered(*Composite.apply(density, colour, distance, width, start, count, background, stop))


def march(
    origin: Float[Tensor, "n 3"],
    direction: Float[Tensor, "n 3"],
    near: Float[Tensor, " n"],
    far: Float[Tensor, " n"],
    occupied: Bool[Tensor, "x y z"],
    *,
    step: float,
    budget: int,
    offset: Float[Tensor, " n"] | None = None,
) -> Samples:
    """Samples of rays, `step` apart, in the occupied cells of a grid over [-1, 1]^3.

    Ray r is sampled at near_r + (k + offset_r) step below far_r, k = 0, 1, ..., in cells that are occupied. The list
    has `budget` entries; what does not fit is left out from the last rays, and entries that no ray has are zero.

    Args:
        offset: where in its first step each ray starts, in [0, 1); 0.5 by default, random while training.

    >>> o, d = torch.tensor([[-2.0, 0.0, 0.0]]), torch.tensor([[1.0, 0.0, 0.0]])
    >>> found = march(o, d, *ray_box(o, d), torch.ones(2, 2, 2, dtype=torch.bool), step=0.5, budget=6)
    >>> found.distance.tolist(), found.samples.tolist()
    ([1.25, 1.75, 2.25, 2.75, 0.0, 0.0], [4])
    """
    if not step > 0:
        raise ValueError(f"step must be positive, got {step}")
    if budget < 1:
        raise ValueError(f"budget must be at least 1 sample, got {budget}")
    if offset is None:
        offset = torch.full_like(near, 0.5)
    check_rays(origin, direction, near=near, far=far, offset=offset)
    check_cells(occupied, origin)
    given = (origin, direction, near, far, occupied, step, budget, offset)
    chosen = choose("march", origin)
    if chosen == "triton":
        from staf.ops.volume_rendering import triton

        note("march", "triton")
        return Samples(*triton.march(*given))
    if chosen == "reference":
        note("march", "reference")
        return Samples(*march_reference(*given))
    from staf.ops.volume_rendering import blocks

    note("march", "loop")
    return Samples(*blocks.march(*given))


def visible(
    samples: Samples, density: Float[Tensor, " m"], width: Float[Tensor, " m"], *, stop: float, budget: int
) -> Samples:
    """The samples that at least a share `stop` of the light reaches, packed into a list of `budget` entries.

    They are the first ones of each ray. What does not fit is left out from the last rays, as by `march`. No gradients.

    >>> three = Samples(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0, 0, 0]), torch.tensor([0]), torch.tensor([3]))
    >>> visible(three, torch.full((3,), 5.0), torch.ones(3), stop=1e-3, budget=4)
    Samples(distance=tensor([1., 2., 0., 0.]), ray=tensor([0, 0, 0, 0]), start=tensor([0]), samples=tensor([2]))
    """
    if not 0 < stop < 1:
        raise ValueError(f"stop must be above 0 and below 1, got {stop}")
    if budget < 1:
        raise ValueError(f"budget must be at least 1 sample, got {budget}")
    check_samples(distance=samples.distance, density=density, width=width)
    check_devices(density=density, ray=samples.ray, start=samples.start, samples=samples.samples)
    given = (density.detach(), width.detach(), *samples, stop, budget)
    if choose("visible", density) == "triton" and density.dtype == width.dtype == torch.float32:
        from staf.ops.volume_rendering import triton

        note("visible", "triton")
        return Samples(*triton.visible(*given))
    note("visible", "reference")
    return Samples(*visible_reference(*given))


def ray_box(
    origin: Float[Tensor, "n 3"], direction: Float[Tensor, "n 3"], *, closest: float = 0.0
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Where rays enter and leave [-1, 1]^3, in front of them; both are `closest` where a ray misses it.

    >>> o, d = torch.tensor([[-3.0, 0.0, 0.0], [-3.0, 2.0, 0.0]]), torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> ray_box(o, d)
    (tensor([2., 0.]), tensor([4., 0.]))
    """
    check_rays(origin, direction)
    # A direction along a face gives infinities of either sign, and 0/0 on the face itself, which counts as inside.
    one = ((-1 - origin) / direction).nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf)
    other = ((1 - origin) / direction).nan_to_num(nan=torch.inf, posinf=torch.inf, neginf=-torch.inf)
    enter, leave = torch.minimum(one, other).amax(-1), torch.maximum(one, other).amin(-1)
    near, far = enter.clamp(min=closest), leave.clamp(min=closest)
    missed = ~(near < far)
    return near.masked_fill(missed, closest), far.masked_fill(missed, closest)
