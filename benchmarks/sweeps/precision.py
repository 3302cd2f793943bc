"""Final PSNR of the default recipe at each precision of the hidden products: `python -m benchmarks.sweeps.precision
IMAGE...` (PNG, or .npy where no image library is installed); needs a CUDA device."""

from __future__ import annotations

import argparse
import statistics

import numpy as np
import torch

import staf
from staf.planning import recipes
from staf.tasks import Reconstruction
from staf.training import run
from staf.training.recipe import Recipe

PRECISIONS = ("fp32", "bf16x3", "tf32-then-bf16x3", "tf32")


def measure(path: str, recipe: Recipe, seed: int) -> tuple[float, float]:
    """PSNR of the final weights and seconds of training for one image, samples at the ends."""
    image = staf.Image(np.load(path)) if path.endswith(".npy") else staf.open(path)
    field = staf.staf(2, image.out_features, generator=torch.Generator().manual_seed(seed)).cuda()
    result = run(Reconstruction(image, "ends").to("cuda"), field, recipe, seed=seed, progress=False)
    return result.metrics["psnr"], result.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", nargs="+")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.steps} full-batch steps")
    for precision in PRECISIONS:
        recipe = recipes.default(steps=options.steps).replace(precision=precision)
        fits = [measure(path, recipe, options.seed) for path in options.images]
        each = "  ".join(f"{psnr:.2f} dB in {seconds:.2f} s" for psnr, seconds in fits)
        print(f"{precision:18s} mean {statistics.mean(psnr for psnr, _ in fits):.2f} dB   {each}")


if __name__ == "__main__":
    main()
