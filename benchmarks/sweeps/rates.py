"""The rates of the default plans (`staf.nn.networks`): every network, the same trials, on two small photographs.

`python -m benchmarks.sweeps.rates [MODEL ...]` prints a line per trial: final PSNR (dB) of 150 full-batch steps of the
default recipe at one rate for Adam and Muon, on scikit-image's `coffee` and `rocket` reduced to 64x64 by area means."""

from __future__ import annotations

import sys

import numpy as np
import torch

import staf
from staf.planning import recipes
from staf.tasks import Reconstruction
from staf.training import run

TRIALS = (5e-4, 1.5e-3, 3e-3, 1e-2)
SIDE = 64
STEPS = 150


def small(name: str) -> staf.Image:
    """The left upper part of a photograph in 64x64 means."""
    from skimage import data

    photo = getattr(data, name)()
    block = min(photo.shape[:2]) // SIDE
    part = photo[: block * SIDE, : block * SIDE]
    return staf.Image(part.reshape(SIDE, block, SIDE, block, 3).mean((1, 3)).astype(np.uint8), name=name)


def main() -> None:
    photos = [small("coffee"), small("rocket")]
    for model in sys.argv[1:] or [name for name in staf.nn.NETWORKS if name != "incode"]:
        for rate in TRIALS:
            recipe = recipes.default(steps=STEPS).replace(rate=rate, matrix_rate=rate)
            results = []
            for photo in photos:
                field = staf.nn.NETWORKS[model].factory(2, 3, generator=torch.Generator().manual_seed(0))
                results.append(run(Reconstruction(photo), field, recipe, progress=False).metrics["psnr"])
            print(f"{model:8s} {rate:g}  " + "  ".join(f"{psnr:.1f}" for psnr in results), flush=True)


if __name__ == "__main__":
    main()
