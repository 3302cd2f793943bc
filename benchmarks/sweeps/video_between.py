"""What a fitted video is between its frames: every second frame of a synthetic clip is fitted, the others are held out.

`python -m benchmarks.sweeps.video_between --frames 17 --speed 1 --times 1 0.5` prints, for each factor of the time axis
in the first layer, the PSNR of the fitted frames and of the held-out ones, beside the mean of the two neighbours.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import staf
from staf._files import atomic_write
from staf._machine import provenance
from staf.nn.networks import NETWORKS
from staf.planning import Plan

SIDE = 32
FILMED = 256


def moving(frames: int, speed: float) -> np.ndarray:
    """(t, 32, 32) in [0, 1]: waves that pan to the right by `speed` pixels a frame, and a disc that crosses them."""
    draw = np.random.default_rng(0)
    t, y, x = np.mgrid[0:frames, 0:SIDE, 0:SIDE].astype(np.float64)
    ground = np.zeros_like(t)
    for _ in range(12):
        down, across = draw.normal(size=2) * 0.35
        phase, amplitude = draw.uniform(0, 6.28), draw.uniform(0.3, 1)
        ground += amplitude * np.sin(down * y + across * (x - speed * t) + phase)
    ground = 0.5 + 0.18 * ground / ground.std()
    from_centre = np.hypot(y - SIDE / 2 - 4 * np.sin(t * speed / 6), x - (6 + 1.2 * speed * t))
    disc = 1 / (1 + np.exp((from_centre - 5) * 2))
    return np.clip(ground * (1 - disc) + 0.9 * disc, 0, 1)


def psnr(found: np.ndarray, target: np.ndarray) -> float:
    return -10 * math.log10(float(np.square(found - target).mean()))


def filmed(photos: Sequence[Path], frames: int) -> np.ndarray:
    """(t, 256, 256, 3) in [0, 1]: a window pans, turns and zooms over a photo, and a disc of another one crosses it."""
    ground, disc = (_planes(path) for path in photos)
    clip = []
    rows, columns = torch.meshgrid(*[torch.linspace(-1, 1, FILMED)] * 2, indexing="ij")
    for share in torch.linspace(0, 1, frames):
        turn, zoom = 0.5 * share, 0.45 - 0.15 * share
        cos, sin = torch.cos(turn), torch.sin(turn)
        across = zoom * (cos * columns - sin * rows) + 0.8 * share - 0.4
        down = zoom * (sin * columns + cos * rows) + 0.3 * torch.sin(3 * share)
        picture = functional.grid_sample(ground, torch.stack([across, down], -1)[None], align_corners=False)[0]
        other = functional.grid_sample(disc, torch.stack([columns, rows], -1)[None] * 0.5, align_corners=False)[0]
        inside = torch.hypot(rows - 0.3 * torch.sin(4 * share), columns - 1.6 * share + 0.8) < 0.3
        clip.append(torch.where(inside, other, picture).movedim(0, -1))
    return torch.stack(clip).clamp(0, 1).numpy()


def _planes(path: Path) -> torch.Tensor:
    photo = staf.open(path)
    return photo.values()[:, :3].T.reshape(1, 3, *photo.shape)


def slowed(plan: Plan, network: str, time: float, outputs: int) -> nn.Module:
    """The plan's network with a time axis that is `time` as fast; a hash grid has so many times its cells along it."""
    arguments: dict[str, Any] = dict(plan.field_factory.arguments)  # type: ignore[attr-defined]
    draw = torch.Generator().manual_seed(0)
    if "proportions" in arguments:
        along, *others = arguments["proportions"]
        arguments["proportions"] = (along * time, *others)
        return staf.ngp(3, outputs, generator=draw, **arguments)
    field = getattr(staf, network)(3, outputs, generator=draw, **{**arguments, "width": 64, "depth": 3})
    NETWORKS[network].first_layer.slow_down(field, axis=0, ratio=time)
    return field


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=17, help="of the clip, an odd number")
    parser.add_argument("--speed", type=float, default=1.0, help="pixels from frame to frame of the clip")
    parser.add_argument("--photos", nargs=2, type=Path, help="two photos to film, in place of the synthetic clip")
    parser.add_argument("--network", default="staf")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--times", nargs="+", type=float, default=[1.0, 0.5, 0.25])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=Path, help="a file that gets the rows, beside those of other clips in it")
    options = parser.parse_args()
    whole = (
        filmed(options.photos, options.frames) if options.photos else moving(options.frames, options.speed)[..., None]
    )
    seen, held = whole[::2], whole[1::2]
    neighbours = psnr((seen[:-1] + seen[1:]) / 2, held)
    print(f"mean of the neighbours: {neighbours:.2f} dB")
    rows = []
    clip = staf.Video((255 * seen).round().astype(np.uint8), rate=8)
    plan = staf.plan(clip, staf.Budget(steps=options.steps), model=options.network, device=options.device)
    count, side, outputs = len(seen), seen.shape[1], seen.shape[-1]
    axis = (2 * torch.arange(side) + 1) / side - 1
    between = (2 * torch.arange(count - 1) + 2) / count - 1
    for time in options.times:
        field = slowed(plan, options.network, time, outputs).to(options.device)
        recipe = plan.recipe.replace(batch=options.batch)
        fit = staf.fit(clip, field=field, recipe=recipe, steps=options.steps, progress=False, device=options.device)
        with torch.no_grad():
            frames = [fit.module(torch.cartesian_prod(t[None], axis, axis).to(options.device)).cpu() for t in between]
        found = torch.stack(frames).reshape(held.shape).clamp(0, 1).numpy()
        rows.append({"time": time, "fitted": round(fit.metrics["psnr"], 2), "held_out": round(psnr(found, held), 2)})
        print(rows[-1], flush=True)
    if options.json is not None:
        clips = json.loads(options.json.read_text("utf-8"))["clips"] if options.json.exists() else []
        how = {"network": options.network, "frames": options.frames, "steps": options.steps, "batch": options.batch}
        how |= {"photos": [path.stem for path in options.photos]} if options.photos else {"speed": options.speed}
        clips.append({**how, "neighbours": round(neighbours, 2), "rows": rows})
        document = {**provenance(options.device), "clips": clips}
        atomic_write(options.json, json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
