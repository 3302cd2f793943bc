"""What the default for scenes with a grid is chosen by: one thing after the other, on photos that were not fitted.

`python -m benchmarks.sweeps.scene_choices FOLDER --out FILE.json` leaves every tenth photo of the training set out,
fits the others by every one of `STAGES`, in equal time, and prints how well the photos that were left out are rendered
by the final weights. What was best in a stage is kept in the next; `--only` keeps runs by the start of their names.
Views of the test set are not read, except by the last run, `--long`, which fits all photos by what was chosen.
`--steps` gives every run so many steps, not seconds.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
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
from staf.training.schedules import Cosine
from staf.training.state import State

HELD_OUT_EVERY = 10
LAST = 100
# Steps that compile the kernels.
WARM_UP = 40
# Runs that are compared after as many steps, because theirs take longer.
SHORT = 3000

Changes = dict[str, Any]
FLOOR = {"schedule": Cosine(floor=0.1)}
FOUR = {"scene": {"subpixels": 2}, "task": {"samples": 2**19}, "recipe": {"batch": 2**14}, "run": {"steps": SHORT}}
# What runs change: arguments of the scene, of the grid and of the task, entries of the recipe, and of the run its steps
# and the part of its end over which weights are averaged.
GRID_STAGES: tuple[dict[str, Changes], ...] = (
    {"as planned": {}},
    {f"{cells} cells": {"grid": {"finest": cells}} for cells in (512, 256)},
    {"3000 steps": {"run": {"steps": SHORT}}},
    {"3000 steps, 4 rays": FOUR},
    {"average": {"recipe": FLOOR, "run": {"average": 0.25}}},
    {"plain directions": {"grid": {"directions": "plain"}}},
    {"2^18 entries": {"grid": {"log2_entries": 18}}},
    {
        "3000 steps, 2048 samples": {
            "scene": {"ray_samples": 2048},
            "task": {"samples": 2**18},
            "run": {"steps": SHORT},
        }
    },
)
MLP_STAGES: tuple[dict[str, Changes], ...] = (
    {"as planned": {}},
    {"512 samples": {"scene": {"ray_samples": 512}, "task": {"samples": 2**16}}},
    {"average": {"recipe": FLOOR, "run": {"average": 0.25}}},
)
STAGES = {"grid": GRID_STAGES, "mlp": MLP_STAGES}


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


class Average:
    """A callback that puts the mean of the weights of the last `part` of a fit in place, looked at every 16 steps."""

    every = 16

    def __init__(self, part: float, *, seconds: float | None, steps: int | None) -> None:
        self.start = 1 - part
        self.seconds, self.steps = seconds, steps
        self.count = 0
        self.mean: list[torch.Tensor] = []

    @torch.no_grad()
    def __call__(self, state: State) -> None:
        done = state.step / self.steps if self.steps else state.seconds / (self.seconds or math.inf)
        if done < self.start:
            return
        self.count += 1
        weights = [weight.detach() for weight in state.field.parameters()]
        if not self.mean:
            self.mean = [weight.clone() for weight in weights]
        torch._foreach_lerp_(self.mean, weights, 1 / self.count)

    @torch.no_grad()
    def finish(self, module: torch.nn.Module) -> str:
        for weight, mean in zip(module.parameters(), self.mean, strict=bool(self.mean)):
            weight.copy_(mean)
        return f"the weights are the mean of {self.count}"


def fit(scene: staf.Scene, changes: Changes, budget: Budget, *, device: str, seed: int = 0) -> Row:
    """One run of the plan with changes."""
    how = changes.get("run", {})
    scene = scene.changed(**changes.get("scene", {}))
    budget = Budget(steps=how["steps"]) if "steps" in how and budget.steps is None else budget
    chosen = with_arguments(plan(scene, budget, device=device.split(":")[0]), **changes.get("grid", {}))
    recipe, module = chosen.recipe.replace(**changes.get("recipe", {})), chosen.field(seed)
    task = Radiance(scene, **changes.get("task", {}))
    averages = [Average(how["average"], seconds=budget.seconds, steps=budget.steps)] if "average" in how else []
    began = time.monotonic()
    execution = Execution(device=device)
    result = run(task, module, recipe, seed=seed, execution=execution, progress=False, callbacks=averages)
    return {
        **result.metrics,
        "train_psnr": -10 * math.log10(float(np.mean(result.history.loss[-LAST:]))),
        "steps": result.steps,
        "seconds": result.seconds,
        "with_measuring": time.monotonic() - began,
        "ms_per_step": 1000 * result.seconds / max(1, result.steps),
        "occupied": float(task.grid.occupied.float().mean()),
        "parameters": sum(p.numel() for p in module.parameters()),
        "changes": repr(changes),
        "stopped": result.stopped,
        "notes": result.notes,
        **errors(task),
    }


def errors(task: Radiance) -> Row:
    """The squared error of the rendered photos, as parts of the whole: at outlines, inside of them and outside."""
    shown, views = task.reconstruction, task.signal.test
    if shown is None or views is None or views.pixels.shape[-1] < 4:
        return {}
    photos = on_background(views.pixels, torch.tensor(task.signal.background))
    error = (shown.train.pixels.float() / 255 - photos).square().mean(-1)
    cover = views.pixels[..., 3]
    parts = {"empty": cover == 0, "outline": (cover > 0) & (cover < 255), "solid": cover == 255}
    return {f"error_{name}": float((error * where).mean()) for name, where in parts.items()}


def runs(whole: staf.Scene, rows: list[Row], given: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Row]]]:
    """A short run that compiles the kernels, the stages, and all photos by what was best."""

    def budget(seconds: float) -> Budget:
        return Budget(steps=given.steps) if given.steps else Budget(seconds=seconds)

    scene = split(whole)
    assert scene.test is not None
    quick = scene.with_photos(scene.train, scene.test.first(1))
    warm_up = Budget(steps=min(WARM_UP, given.steps or WARM_UP))
    yield "warm-up", partial(fit, quick, {}, warm_up, device=given.device)
    best: Changes = {}
    level = -math.inf
    for choices in STAGES[whole.network]:
        known = best
        for name, changes in choices.items():
            tried = merged(known, changes)
            yield name, partial(fit, scene, tried, budget(given.seconds), device=given.device)
            found = rows[-1].get("psnr", -math.inf) if rows and rows[-1]["run"] == name else -math.inf
            if found > level:
                best, level = tried, found
    yield "long, all photos", partial(fit, whole, best, budget(given.long), device=given.device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--long", type=float, default=120.0)
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--network", choices=list(STAGES), default="grid")
    given = options(parser)
    scene = staf.open(given.folder, kind="scene").changed(network=given.network)
    rows: list[Row] = []
    measure(runs(scene, rows, given), rows, given, {"scene": repr(scene)})


if __name__ == "__main__":
    main()
