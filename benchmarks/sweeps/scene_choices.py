"""What the default for scenes with a grid is chosen by: variants of it in equal time, on photos that were not fitted.

`python -m benchmarks.sweeps.scene_choices FOLDER --seconds 10 --out FILE.json` leaves every tenth photo of the training
set out, fits the others by every one of `VARIANTS`, in this order, and prints how well the photos that were left out
are rendered by the final weights. Views of the test set are not read. `--only` keeps the runs whose names start with
one of some words, `--steps` gives every run so many steps in place of seconds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import staf
from benchmarks.sweeps.rows import Row, measure, options
from paper.protocols.published import with_arguments
from staf.kinds.scene.reading import Views
from staf.kinds.scene.rendering import on_background
from staf.kinds.scene.task import Radiance
from staf.ops.execution import Execution
from staf.planning import Budget, plan
from staf.training import run

HELD_OUT_EVERY = 10
LAST = 100
# Steps that compile the kernels.
WARM_UP = 40


@dataclass(frozen=True)
class Variant:
    """What one run changes: of the grid, of the recipe, of the scene, of a step's samples."""

    grid: dict[str, Any] = field(default_factory=dict)
    recipe: dict[str, Any] = field(default_factory=dict)
    scene: dict[str, Any] = field(default_factory=dict)
    samples: int | None = None
    opaque: bool = False


def variants() -> dict[str, Variant]:
    """Names and what they change."""
    one, many = {"subpixels": 1}, {"subpixels": 2}
    coarse = {"finest": 1024}
    return {
        "before": Variant({"finest": 2048}, {"batch": 2**14}, one),
        "4 rays": Variant({"finest": 2048}, {"batch": 2**12}, many),
        "4 rays, 1024 cells": Variant(coarse, {"batch": 2**12}, many),
        "1024 cells": Variant(coarse, {"batch": 2**14}, one),
        "4 rays, 1024 cells, decay 1e-7": Variant(coarse, {"batch": 2**12, "table_decay": 1e-7}, many),
        "4 rays, 1024 cells, white": Variant(coarse, {"batch": 2**12}, many, opaque=True),
        "4 rays, 512 cells": Variant({"finest": 512}, {"batch": 2**12}, many),
        "4 rays, 1024 cells, decay 1e-6": Variant(coarse, {"batch": 2**12, "table_decay": 1e-6}, many),
        "4 rays, 1024 cells, 8192 pixels": Variant(coarse, {"batch": 2**13}, many, samples=2**18),
        "4 rays, 1024 cells, 2^20 entries": Variant({**coarse, "log2_entries": 20}, {"batch": 2**12}, many),
        "4 rays, 1024 cells, rate 5e-3": Variant(coarse, {"batch": 2**12, "table_rate": 5e-3}, many),
    }


def split(scene: staf.Scene) -> staf.Scene:
    """The same scene, whose photos are nine tenths of the training set, to be measured on the others."""

    def part(places: list[int]) -> Views:
        views = scene.train
        return Views([views.names[i] for i in places], views.pixels[places], views.cameras.subset(places))

    left_out = list(range(0, len(scene.train), HELD_OUT_EVERY))
    fitted = [i for i in range(len(scene.train)) if i % HELD_OUT_EVERY]
    return scene.with_photos(part(fitted), part(left_out))


def on_white(scene: staf.Scene) -> staf.Scene:
    """The same scene with its photos put on the background before they are fitted."""
    views = scene.train
    colours = on_background(views.pixels, torch.tensor(scene.background))
    opaque = Views(views.names, (colours * 255).round().to(torch.uint8), views.cameras)
    return scene.with_photos(opaque, scene.test)


def fit(scene: staf.Scene, variant: Variant, budget: Budget, *, device: str, seed: int = 0) -> Row:
    """One run of a variant."""
    scene = scene.changed(**variant.scene)
    scene = on_white(scene) if variant.opaque else scene
    chosen = with_arguments(plan(scene, budget, device=device.split(":")[0]), **variant.grid)
    recipe, module = chosen.recipe.replace(**variant.recipe), chosen.field(seed)
    task = Radiance(scene, samples=variant.samples)
    result = run(task, module, recipe, seed=seed, execution=Execution(device=device), progress=False)
    return {
        **result.metrics,
        "train_psnr": -10 * math.log10(float(np.mean(result.history.loss[-LAST:]))),
        "steps": result.steps,
        "ms_per_step": 1000 * result.seconds / max(1, result.steps),
        "occupied": float(task.grid.occupied.float().mean()),
        "parameters": sum(p.numel() for p in module.parameters()),
        "stopped": result.stopped,
        "notes": result.notes,
    }


def runs(scene: staf.Scene, given: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Row]]]:
    """A short run of each kind of kernel, and every variant."""
    assert scene.test is not None
    quick = scene.with_photos(scene.train, scene.test.first(1))
    found = variants()
    for name in ("before", "4 rays, 1024 cells"):
        warm_up = Budget(steps=min(WARM_UP, given.steps or WARM_UP))
        yield f"warm-up {name}", partial(fit, quick, found[name], warm_up, device=given.device)
    budget = Budget(steps=given.steps) if given.steps else Budget(seconds=given.seconds)
    for name, variant in found.items():
        yield name, partial(fit, scene, variant, budget, device=given.device, seed=given.seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    given = options(parser)
    scene = split(staf.open(given.folder, kind="scene"))
    rows: list[Row] = []
    measure(runs(scene, given), rows, given, {"scene": repr(scene)})


if __name__ == "__main__":
    main()
