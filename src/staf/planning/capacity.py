"""Whether a network is large enough for a signal, and otherwise which hash grid is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional

from staf._documents import Document
from staf.nn.networks import NETWORKS
from staf.planning.situation import Choice, Situation

# Values for each parameter up to which a network is used as it is. STAF's 199,000 parameters end at 40 dB with 4 values
# each (512x512 pixels), at 37 dB with 180; a grid of the same photo ends at 44 to 47 dB in less time
# (docs/results/large-images.md).
HOLDS = 8
LARGER = "a larger width or the network ngp (a hash grid) holds more"
# Resolutions grow by about this much from level to level, from this many cells along the longest side.
GROWTH, COARSEST, MOST_LEVELS = 1.5, 16, 16
# The quality that a grid is made for where none is asked for, in dB, by type of device; above 59 dB an 8-bit picture is
# exact.
GOAL = {"cpu": 45.0, "cuda": 59.0}
# A trained grid with cells of k pixels ends this much above the picture reduced k times and enlarged again, at least.
GAIN = 7.0
REDUCTIONS = (8, 4, 2)
# Every vertex should be seen so often, or it remains noise.
VISITS = 4
# Entries of a level, as powers of two: at least, and at most by type of device.
LEAST_ENTRIES = 10
MOST_ENTRIES = {"cpu": 20, "cuda": 24}
# Steps of a grid, by type of device: points of each, how many a second holds at least, and how many there are where the
# budget leaves them open: as many as see each point so often, within these limits.
BATCH = {"cpu": 2**14, "cuda": 2**18}
STEPS_PER_SECOND = {"cpu": 20, "cuda": 300}
POINT_VISITS = 128
STEPS = {"cpu": (1000, 3000), "cuda": (1000, 20_000)}
# Pictures are looked at in this many patches of this side.
PATCHES, PATCH = 16, 512


def capacity(s: Situation) -> Choice:
    """The requested network, if it is large enough for the image; otherwise its activation behind a hash grid.

    Signals that are observed through an operator keep the network, because a grid would fit noise between observations.
    """
    if hasattr(s.source, "observed"):
        return of_observation(s)
    shape = tuple(getattr(s.signal, "shape", ()))
    if s.asked.grid:
        return hash_grid(s, shape, "") if shape else Choice()
    values, parameters = s.points * int(s.source.out_features), s.asked.rows[0].parameters if s.asked.rows else 0
    if s.in_features != 2 or len(shape) != 2 or s.asked.decoder is None or values <= HOLDS * parameters:
        return Choice()
    return hash_grid(s, shape, f"{parameters:,} parameters cannot hold {values:,} values: ")


def of_observation(s: Situation) -> Choice:
    """For restorations: the requested network, and a grid not finer than half of the observation."""
    if not s.asked.grid:
        return Choice()
    seen = getattr(s.source, "observed", None)
    shape = tuple(getattr(seen if seen is not None else s.signal, "shape", ()))
    if not shape:
        return Choice()
    longest = max(shape)
    finest = max(1, longest // 2)
    reason = f"a hash grid of up to {finest:,} cells for {longest:,} observed samples"
    return Choice(reason, arguments=grid_arguments(shape, finest, 19))


def of_volume(s: Situation) -> Choice:
    """For volumes measured by rays: a grid with cells as small as the voxels; resolutions double from 4 cells on.

    A phantom of 64x64x64, 50 views of a cone beam, 1,000 steps: 31.8 dB; 27.3 dB with 16 to 32 cells.
    """
    shape = tuple(getattr(s.signal, "shape", ()))
    if not s.asked.grid or not shape:
        return Choice()
    finest = max(shape)
    coarsest = min(4, finest)
    levels = min(1 + math.ceil(math.log2(finest / coarsest) - 1e-9), MOST_LEVELS)
    arguments = {**grid_arguments(shape, finest, 19), "levels": levels, "coarsest": coarsest}
    return Choice(f"a hash grid of up to {finest:,} cells, as many as there are voxels", arguments=arguments)


def size(s: Situation) -> Choice:
    """A note if a network is much too small for a signal, with what to use instead."""
    return too_small(s, s.points * int(s.source.out_features), "values", LARGER)


def too_small(s: Situation, values: int, what: str, larger: str, holds: int = HOLDS) -> Choice:
    """What the topic `size` says where there are more than `holds` values for each parameter of a network."""
    every_sample = math.prod(getattr(s.signal, "shape", ())) == s.points and not hasattr(s.source, "operator")
    if s.spec.grid or not every_sample or values <= holds * (parameters := s.parameters("size")):
        return Choice()
    each = values / parameters
    return Choice(
        f"this network is too small for this signal, unless it is smooth: {parameters:,} parameters for {values:,} "
        f"{what}, {each:.0f} for each parameter, and detail is lost above about {holds}; {larger}"
    )


def hash_grid(s: Situation, shape: tuple[int, ...], why: str) -> Choice:
    """A hash grid for a signal of this shape, with the activation of the network asked for behind it; `why` leads."""
    device = "cpu" if s.on_cpu else "cuda"
    cell, loss = _cell(s, shape)
    seen = samples_seen(s)
    finest = max(1, math.ceil(max(shape) / cell))
    sides = [side / max(shape) for side in shape]
    while finest > COARSEST and _vertices(finest, sides) * VISITS > seen:
        finest, loss = math.ceil(finest / 1.25), "the budget trains no more"
    entries = math.ceil(math.log2(_vertices(finest, sides)))
    entries = min(max(entries, LEAST_ENTRIES), MOST_ENTRIES[device])
    arguments: Document = grid_arguments(shape, finest, entries)
    if s.asked.decoder is not None:
        arguments["activation"] = s.asked.decoder
    field = NETWORKS["ngp"].factory(s.in_features, int(s.source.out_features), device="meta", **arguments)
    count = sum(p.numel() for p in field.parameters())
    behind = f" with {s.asked.name}'s activation behind it" if s.asked.decoder is not None else ""
    reason = (
        f"{why}a hash grid of {arguments['levels']} levels up to {finest:,} cells, 2^{entries} entries each, "
        f"{count:,} parameters{behind}"
    )
    if loss is not None:
        reason += f"; cells of {max(shape) / finest:.2g} {'samples' if len(shape) != 2 else 'pixels'}, because {loss}"
    return Choice(reason, arguments=arguments, network=NETWORKS["ngp"])


def _cell(s: Situation, shape: tuple[int, ...]) -> tuple[int, str | None]:
    """Pixels of the finest cells: as many as the picture may be reduced by for the quality that is wanted, and why."""
    pixels = getattr(s.signal, "array", None) if len(shape) == 2 else None
    if pixels is None:
        return 1, None
    goal = s.budget.target_db or GOAL["cpu" if s.on_cpu else "cuda"]
    losses = reduction_losses(pixels)
    for cell, loss in losses.items():
        if loss + GAIN >= goal:
            return cell, f"reduced {cell} times the picture keeps {loss:.1f} dB"
    cell, loss = list(losses.items())[-1] if losses else (1, 0.0)
    return 1, f"reduced {cell} times the picture keeps {loss:.1f} dB only" if losses else None


def reduction_losses(pixels: np.ndarray) -> dict[int, float]:
    """PSNR of a picture (h, w, c) that is reduced k times by area means and enlarged bilinearly, for k = 8, 4, 2.

    It is looked at in 16 patches of 512 pixels a side, spread evenly; k that do not fit into the picture are left out.

    >>> import numpy as np
    >>> ramp = np.broadcast_to(np.arange(64, dtype=np.uint8)[:, None, None], (64, 64, 1))
    >>> [k for k, loss in reduction_losses(ramp).items() if loss > 45]
    [8, 4, 2]
    """
    height, width, _ = pixels.shape
    across = max(1, round(math.sqrt(PATCHES)))
    steps = [i / max(1, across - 1) for i in range(across)]
    tops, lefts = ({round(step * max(0, side - PATCH)) for step in steps} for side in (height, width))
    errors: dict[int, list[float]] = {}
    for top in sorted(tops):
        for left in sorted(lefts):
            part = torch.from_numpy(pixels[top : top + PATCH, left : left + PATCH].astype("float32"))
            if pixels.dtype.kind != "f":
                part = part / float(torch.iinfo(getattr(torch, pixels.dtype.name)).max)
            for k in REDUCTIONS:
                error = _reduction_error(part.movedim(-1, 0)[None], k)
                if error is not None:
                    errors.setdefault(k, []).append(error)
    means = {k: sum(found) / len(found) for k, found in errors.items()}
    return {k: math.inf if mean == 0 else -10 * math.log10(mean) for k, mean in means.items()}


def _reduction_error(part: torch.Tensor, k: int) -> float | None:
    height, width = (side // k * k for side in part.shape[2:])
    if min(height, width) < 2 * k:
        return None
    part = part[:, :, :height, :width]
    small = functional.avg_pool2d(part, k)
    large = functional.interpolate(small, scale_factor=k, mode="bilinear", align_corners=False)
    return float((large - part).square().mean())


def samples_seen(s: Situation) -> float:
    """About how many points a fit of a grid sees by its budget."""
    device = "cpu" if s.on_cpu else "cuda"
    batch = min(BATCH[device], s.points)
    steps = math.inf if s.budget.steps is None else s.budget.steps
    if s.budget.seconds is not None:
        steps = min(steps, s.budget.seconds * STEPS_PER_SECOND[device])
    return batch * (default_steps(s) if math.isinf(steps) else steps)


def default_steps(s: Situation) -> int:
    """Steps of a grid's fit whose budget leaves them open."""
    device = "cpu" if s.on_cpu else "cuda"
    least, most = STEPS[device]
    return min(max(least, round(POINT_VISITS * s.points / min(BATCH[device], s.points))), most)


def grid_arguments(shape: Sequence[int], finest: int, log2_entries: int) -> Document:
    """The arguments of `ngp` for a signal of this shape, whose longest side has up to `finest` cells.

    >>> grid_arguments((300, 400), 200, 14)
    {'levels': 8, 'log2_entries': 14, 'coarsest': 16, 'finest': 200, 'proportions': (0.75, 1.0)}
    """
    coarsest = min(COARSEST, finest)
    levels = 1 + math.ceil(math.log(finest / coarsest) / math.log(GROWTH) - 1e-9)
    arguments: Document = {
        "levels": min(levels, MOST_LEVELS),
        "log2_entries": log2_entries,
        "coarsest": coarsest,
        "finest": finest,
    }
    if len(set(shape)) > 1:
        arguments["proportions"] = tuple(side / max(shape) for side in shape)
    return arguments


def _vertices(finest: int, sides: Sequence[float]) -> int:
    return math.prod(max(1, int(finest * side)) + 1 for side in sides)
