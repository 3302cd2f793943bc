"""What it does to prefer voxels near the surface: IoU and Chamfer distance of one small network, by share.

python -m benchmarks.sweeps.near_surface armadillo.ply --shares 0 0.5 0.7
"""

from __future__ import annotations

import argparse

import torch

import staf
from staf.kinds.shape.task import Occupancy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mesh")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.0, 0.5], help="0: every voxel alike")
    parser.add_argument("--resolution", type=int, default=96)
    parser.add_argument("--band", type=int, default=2)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    shape = staf.open(options.mesh).sampled(options.resolution)
    for share in options.shares:
        generator = torch.Generator().manual_seed(options.seed)
        task = Occupancy(shape, near_surface=share or None, band=options.band, generator=generator)
        field = staf.staf(3, 1, width=64, omega0=30.0, generator=torch.Generator().manual_seed(options.seed))
        recipe = staf.recipes.default(steps=options.steps, batch=options.batch)
        fit = staf.fit(task, field, recipe, seed=options.seed, progress=False)
        measures = ", ".join(f"{name} {value:.4g}" for name, value in fit.metrics.items())
        print(f"share {share:g}: {task.points:,} of {shape.points:,} voxels fitted; {measures}", flush=True)


if __name__ == "__main__":
    main()
