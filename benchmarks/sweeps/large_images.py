"""What holds a large photo: grids of several sizes and decoders, a wide network, tiles of small ones, and the default.

`python -m benchmarks.sweeps.large_images PHOTO --small SMALL --out FILE.json` fits PHOTO (any image file, or an .npy
array) by every one of `runs`, in this order, until `--limit` seconds are over, and prints one line for each: decibels
of a fresh pass over all pixels, steps, seconds of training, parameters, memory. `--only` keeps the runs whose names
contain a word. SMALL is a picture of 256x256 pixels for the paper's figure of STAF, SIREN and a hash grid. Nothing is
chosen by looking at the photo but what the default plan chooses.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import staf
from benchmarks.sweeps.rows import Row, measure, options
from staf.ops.execution import Execution
from staf.planning import Budget, plan
from staf.planning.capacity import grid_arguments
from staf.planning.rules import learning_rate
from staf.tasks import Reconstruction
from staf.training.trainer import train

DECODERS = ("relu", "siren", "finer", "staf")
# Tiles along each axis.
TILES = (12, 16)


def grid_fit(
    image: staf.Image, seconds: float, *, activation: str = "relu", seed: int = 0, device: str, **changes: Any
) -> Row:
    """A hash grid with a decoder by the default plan's recipe; `changes` are arguments of `ngp`."""
    arguments = {**grid_arguments(image.shape, max(image.shape) // 2, 19), "activation": activation, **changes}
    field = staf.ngp(2, image.out_features, generator=torch.Generator().manual_seed(seed), **arguments)
    chosen = plan(image, Budget(seconds=seconds), device=device.split(":")[0], model="ngp")
    return told(staf.fit(image, field, chosen.recipe, seed=seed, device=device, progress=False))


def default_fit(image: staf.Image, *, device: str, model: str = "staf", seed: int = 0, **budget: Any) -> Row:
    """`staf fit` as it is."""
    chosen = plan(image, Budget(**budget), device=device.split(":")[0], model=model)
    fitted = staf.fit(image, plan=chosen, seed=seed, device=device, progress=False, **budget)
    return told(fitted) | {"capacity": chosen.reasons.get("capacity", "")}


def wide_fit(image: staf.Image, seconds: float, *, width: int, model: str = "staf", device: str) -> Row:
    """One wide network without a grid: Muon, tf32, mini-batches."""
    field = getattr(staf, model)(2, image.out_features, width=width, generator=torch.Generator().manual_seed(0))
    recipe = plan(image, Budget(seconds=seconds), device="cuda", model=model, rules={"capacity": None}).recipe
    return told(staf.fit(image, field, recipe.replace(precision="tf32"), device=device, progress=False))


def tiles_fit(image: staf.Image, seconds: float, *, width: int, depth: int, batch: int, device: str) -> Row:
    """Small STAFs, one for each tile, trained together as MINER's; the tiles' errors add up to the image's."""
    pixels = image.array
    height, across = (side // count for side, count in zip(pixels.shape[:2], TILES, strict=True))
    tiles = [
        staf.Image(np.ascontiguousarray(pixels[r * height : (r + 1) * height, c * across : (c + 1) * across]))
        for r in range(TILES[0])
        for c in range(TILES[1])
    ]
    make = torch.Generator().manual_seed(0)
    fields = [staf.staf(2, image.out_features, width=width, depth=depth, generator=make) for _ in tiles]
    recipe = plan(
        tiles[0], Budget(seconds=seconds), device="cuda", rules={"rate": lambda s: learning_rate(1.5e-3)}
    ).recipe
    recipe = recipe.replace(batch=batch, optimiser="muon", precision="tf32", seconds=seconds, steps=None)
    tasks = [Reconstruction(tile) for tile in tiles]
    results = train(tasks, fields, recipe, execution=Execution(device=device), progress=False)
    error = np.mean([10 ** (-result.metrics["psnr"] / 10) for result in results])
    return {
        "psnr": float(-10 * np.log10(error)),
        "steps": results[0].steps,
        "seconds": results[0].seconds,
        "parameters": sum(p.numel() for field in fields for p in field.parameters()),
    }


def told(fitted: staf.Fit) -> Row:
    """What is kept of a fit."""
    return {
        **fitted.metrics,
        "steps": fitted.result.steps,
        "seconds": fitted.result.seconds,
        "parameters": sum(p.numel() for p in fitted.module.parameters()),
        "notes": fitted.result.notes,
    }


def runs(photo: staf.Image, small: staf.Image | None, device: str) -> Iterator[tuple[str, Callable[[], Row]]]:
    """The name of each run and what makes it, the most telling first."""
    grid, default = partial(grid_fit, photo, device=device), partial(default_fit, photo, device=device)
    yield "default 20 s", partial(default, seconds=20.0)
    yield "default 5 s", partial(default, seconds=5.0)
    for name in DECODERS:
        yield f"warm-up of {name}", partial(grid, 0.5, activation=name)
    for seed in (0, 1, 2):
        for name in DECODERS:
            yield f"decoder {name} seed {seed} 3 s", partial(grid, 3.0, activation=name, seed=seed)
    for entries, features in ((18, 2), (20, 2), (22, 2), (22, 4)):
        name = f"grid 2^{entries} x {features}, finest the longest side, 4 s"
        yield name, partial(grid, 4.0, log2_entries=entries, features=features, finest=max(photo.shape), levels=16)
    yield "tiles of STAF 64 x 3, 8 s", partial(tiles_fit, photo, 8.0, width=64, depth=3, batch=1024, device=device)
    yield "STAF 512, 8 s", partial(wide_fit, photo, 8.0, width=512, device=device)
    yield "target 59 dB", partial(default, target_db=59.0)
    if small is not None:
        for model in ("staf", "siren", "ngp"):
            yield f"small {model} 1000 steps", partial(default_fit, small, steps=1000, model=model, device=device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photo", type=Path)
    parser.add_argument("--small", type=Path, default=None)
    given = options(parser)
    photo = staf.open(given.photo, max_pixels=2**31, kind="image")
    small = None if given.small is None else staf.open(given.small, kind="image")
    about = {"photo": photo.name, "shape": list(photo.shape)}
    measure(runs(photo, small, given.device), [], given, about)


if __name__ == "__main__":
    main()
