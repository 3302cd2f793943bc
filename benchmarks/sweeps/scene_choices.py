"""What the default for scenes with a grid is chosen by: one thing after the other, on photos that were not fitted.

`python -m benchmarks.sweeps.scene_choices FOLDER --out FILE.json` leaves every tenth photo of the training set out,
fits the others by every one of `STAGES`, in equal time, and prints how well the photos that were left out are rendered
by the final weights. With `--validation` all are fitted and measured on the photos of transforms_val.json. What was
best in a stage is kept in the next; `--only` keeps runs by the start of their names. Views of the test set are not
read, except by the last run, `--long`, which fits all photos by what was chosen. `--steps` gives every run so many
steps, not seconds, and `--downscale` makes the photos smaller, as a CPU needs them. `--also` names changes that every
run has, as JSON: '{"grid": {"log2_entries": 13}, "recipe": {"batch": 256}}'.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import staf
from benchmarks.sweeps.rows import Row, measure, options
from benchmarks.sweeps.scenes import Measured
from paper.protocols.published import with_arguments
from staf.kinds.scene.reading import Views, read_views
from staf.ops.execution import Execution
from staf.planning import Budget, plan
from staf.training import run

HELD_OUT_EVERY = 10
LAST = 100
# Steps that compile the kernels.
WARM_UP = 40

# Decays of the table: for the 2^19 entries of a GPU, and larger ones for the smaller tables of a CPU.
DECAYS = (0.0, 1e-9, 3e-9, 1e-8, 3e-8, 6e-8, 3e-7, 6e-7, 1e-6, 6e-6)

Changes = dict[str, Any]
# What runs change: arguments of the scene, of the grid and of the task, entries of the recipe.
STAGES: tuple[dict[str, Changes], ...] = (
    {"as planned": {}},
    {"4 rays a pixel": {"scene": {"subpixels": 2}}},
    {f"{directions} directions": {"grid": {"directions": directions}} for directions in ("plain", "frequencies")},
    {"more pixels": {"scene": {"subpixels": 1}, "recipe": {"batch": 2**16}}},
    {"2048 samples": {"scene": {"ray_samples": 2048}, "task": {"samples": 2**18}}},
    {f"{cells} cells": {"grid": {"finest": cells}} for cells in (256, 512, 2048)},
    {f"decay {decay:g}": {"recipe": {"table_decay": decay}} for decay in DECAYS},
    {"twice as many pixels": {"recipe": {"batch": 2**17}, "task": {"samples": 2**20}}},
    {f"2^{size} entries": {"grid": {"log2_entries": size}} for size in (18, 20, 21)},
    {"perceptrons of 128": {"grid": {"width": 128}}},
    {f"steps of 2^{size} samples": {"task": {"samples": 2**size}} for size in (12, 14)},
    {"4 rays, room for 2^18": {"scene": {"subpixels": 2}, "task": {"samples": 2**18}}},
    {"1024 samples on a ray": {"scene": {"ray_samples": 1024}}},
)


def merged(one: Changes, other: Changes) -> Changes:
    """Both changes, the second one's where they disagree.

    >>> merged({"grid": {"finest": 1024}}, {"grid": {"levels": 8}})
    {'grid': {'finest': 1024, 'levels': 8}}
    """
    return {name: {**one.get(name, {}), **other.get(name, {})} for name in [*one, *(set(other) - set(one))]}


def split(scene: staf.Scene) -> staf.Scene:
    """The same scene, whose photos are nine tenths of the training set, to be measured on the others."""

    def part(places: list[int]) -> Views:
        views = scene.train
        return Views([views.names[i] for i in places], views.pixels[places], views.cameras.subset(places))

    left_out = list(range(0, len(scene.train), HELD_OUT_EVERY))
    fitted = [i for i in range(len(scene.train)) if i % HELD_OUT_EVERY]
    return scene.with_photos(part(fitted), part(left_out))


def fit(scene: staf.Scene, changes: Changes, budget: Budget, *, device: str, seed: int) -> Row:
    """One run of the plan with changes."""
    scene = scene.changed(**changes.get("scene", {}))
    chosen = with_arguments(plan(scene, budget, device=device.split(":")[0]), **changes.get("grid", {}))
    recipe, module = chosen.recipe.replace(**changes.get("recipe", {})), chosen.field(seed)
    task = Measured(scene.as_planned(recipe), **changes.get("task", {}))
    began = time.monotonic()
    result = run(task, module, recipe, seed=seed, execution=Execution(device=device), progress=False)
    return {
        **result.metrics,
        "train_psnr": -10 * math.log10(float(np.mean(result.history.loss[-LAST:]))),
        "steps": result.steps,
        "seconds": result.seconds,
        "with_measuring": time.monotonic() - began,
        "ms_per_step": 1000 * result.seconds / max(1, result.steps),
        "occupied": float(task.grid.occupied.float().mean()),
        "parameters": sum(p.numel() for p in module.parameters()),
        "changes": changes,
        "seed": seed,
        "stopped": result.stopped,
        "notes": result.notes,
    }


def runs(whole: staf.Scene, rows: list[Row], given: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Row]]]:
    """A short run that compiles the kernels, the stages, and all photos by what was best."""

    def budget(seconds: float) -> Budget:
        return Budget(steps=given.steps) if given.steps else Budget(seconds=seconds)

    def one(scene: staf.Scene, changes: Changes, budget: Budget) -> Callable[[], Row]:
        return partial(fit, scene, merged(given.also, changes), budget, device=given.device, seed=given.seed)

    scene = split(whole)
    if given.validation:
        scene = whole.with_photos(
            whole.train, read_views(given.folder, splits=["val"], downscale=given.downscale)["val"]
        )
    assert scene.test is not None
    quick = scene.with_photos(scene.train, scene.test.first(1))
    warm_up = Budget(steps=min(WARM_UP, given.steps or WARM_UP))
    yield "warm-up", one(quick, {}, warm_up)
    best: Changes = {}
    level = -math.inf
    for choices in STAGES:
        known = best
        for name, changes in choices.items():
            tried = merged(known, changes)
            yield name, one(scene, tried, budget(given.seconds))
            found = rows[-1].get("psnr", -math.inf) if rows and rows[-1]["run"] == name else -math.inf
            if found > level:
                best, level = tried, found
    yield "long, all photos", one(whole, best, budget(given.long))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--long", type=float, default=120.0)
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--downscale", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--also", type=json.loads, default={}, metavar="JSON", help="changes that every run has")
    parser.add_argument("--validation", action="store_true", help="measure on the photos of transforms_val.json")
    given = options(parser)
    scene = staf.Scene.read(given.folder, downscale=given.downscale)
    rows: list[Row] = []
    measure(runs(scene, rows, given), rows, given, {"scene": repr(scene)})


if __name__ == "__main__":
    main()
