"""What a fitted video is between its frames: every second frame of a synthetic clip is fitted, the others are held out.

`python -m benchmarks.sweeps.video_between --frames 17 --speed 1 --times 1 0.5` prints, for each factor of the time axis
in the first layer, the PSNR of the fitted frames and of the held-out ones, beside the mean of the two neighbours.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch

import staf
from staf._files import atomic_write
from staf._machine import provenance
from staf.nn.networks import NETWORKS

SIDE = 32


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=17, help="of the clip, an odd number")
    parser.add_argument("--speed", type=float, default=1.0, help="pixels from frame to frame of the clip")
    parser.add_argument("--network", default="staf")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--times", nargs="+", type=float, default=[1.0, 0.5, 0.25])
    parser.add_argument("--json", type=Path, help="a file that gets the rows, beside those of other clips in it")
    options = parser.parse_args()
    whole = moving(options.frames, options.speed)
    seen, held = whole[::2], whole[1::2]
    neighbours = psnr((seen[:-1] + seen[1:]) / 2, held)
    print(f"mean of the neighbours: {neighbours:.2f} dB")
    rows = []
    clip = staf.Video((255 * seen).round().astype(np.uint8), rate=8)
    plan = staf.plan(clip, model=options.network)
    arguments = {**plan.field_factory.arguments, "width": 64, "depth": 3}  # type: ignore[attr-defined]
    count = len(seen)
    axis = (2 * torch.arange(SIDE) + 1) / SIDE - 1
    between = (2 * torch.arange(count - 1) + 2) / count - 1
    points = torch.cartesian_prod(between, axis, axis)
    for time in options.times:
        field = getattr(staf, options.network)(3, 1, generator=torch.Generator().manual_seed(0), **arguments)
        NETWORKS[options.network].first_layer.slow_down(field, axis=0, ratio=time)
        fit = staf.fit(clip, field=field, recipe=plan.recipe.replace(batch=2048), steps=options.steps, progress=False)
        with torch.no_grad():
            found = fit.module(points).reshape(held.shape).clamp(0, 1).numpy()
        rows.append({"time": time, "fitted": round(fit.metrics["psnr"], 2), "held_out": round(psnr(found, held), 2)})
        print(rows[-1], flush=True)
    if options.json is not None:
        clips = json.loads(options.json.read_text("utf-8"))["clips"] if options.json.exists() else []
        how = {"network": options.network, "frames": options.frames, "speed": options.speed, "steps": options.steps}
        clips.append({**how, "neighbours": round(neighbours, 2), "rows": rows})
        atomic_write(options.json, json.dumps({**provenance("cpu"), "clips": clips}, indent=1) + "\n")


if __name__ == "__main__":
    main()
