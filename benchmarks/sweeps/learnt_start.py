"""PSNR after k steps from the usual start and from a learnt one, on faces that the start has not seen.

`python -m benchmarks.sweeps.learnt_start --data CELEBA --size 24 --width 32 --out RESULT.json`: crops of 178x178,
area means to `--size`; four fifths of the faces teach the start, the others are held out (a fixed shuffle). The usual
recipe is the plan's for each number of steps, with its own schedule, in variants MOMENTUM:FACTOR of its rates; `--adam`
is the paper's recipe. A start is learnt with its rates (`--by rates`), or for the recipe of each variant (`--by
recipe`). `--continue-usual` trains a start that has rates with the usual recipe. Rows are written as they come.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import staf
from paper.data.preparation import Preparation
from staf._machine import provenance
from staf.many.plans import Planner
from staf.planning.plans import Budget


def faces(folder: Path, size: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Those that teach, and those held out."""
    prepare = Preparation(crop=(178, 178), size=(size, size))
    pictures = [prepare(staf.open(path).array) for path in sorted(folder.iterdir())]
    order = torch.randperm(len(pictures), generator=torch.Generator().manual_seed(1)).tolist()
    held = len(pictures) // 5
    return [pictures[i] for i in order[held:]], [pictures[i] for i in order[:held]]


def usual(steps: int, picture: np.ndarray, width: int, variant: str) -> staf.Plan:
    """The library's recipe for so many steps, in a variant."""

    def factory(generator: torch.Generator) -> torch.nn.Module:
        return staf.staf(2, 3, width=width, depth=4, generator=generator)

    recipe = Planner(None, None, "staf", "size", Budget(steps), 0).job("usual", staf.open(picture)).recipe
    momentum, factor = map(float, variant.split(":"))
    rates = {name: factor * getattr(recipe, name) for name in ("rate", "matrix_rate")}
    return staf.Plan(factory, recipe.replace(momentum=momentum, **rates))


def measured(start: str, pictures: list[np.ndarray], plan: staf.Plan, steps: int, device: str) -> dict[str, Any]:
    """Mean and standard deviation over the pictures."""
    began = time.monotonic()
    fits = staf.fit_many(pictures, plan=plan, steps=steps, seed=0, device=device, progress=False, at_once=len(pictures))
    values = [one["psnr"] for one in fits.metrics.values()]
    row: dict[str, Any] = {"start": start, "steps": steps, "optimiser": plan.recipe.optimiser}
    row |= {"rate": plan.recipe.rate, "momentum": plan.recipe.momentum}
    row |= {"mean": round(statistics.mean(values), 2), "deviation": round(statistics.stdev(values), 2)}
    return {**row, "seconds": round(time.monotonic() - began, 2)}


def learnt(teach: list[np.ndarray], variant: str, options: argparse.Namespace) -> staf.Plan:
    """A start for the variant's recipe, or one with rates of its own."""
    by_recipe = options.by == "recipe"
    chosen = usual(options.inner if by_recipe else 10, teach[0], options.width, variant)
    return staf.learn_start(
        teach,
        plan=chosen,
        recipe=chosen.recipe if by_recipe else None,
        steps=options.inner,
        rounds=options.rounds,
        at_once=options.at_once,
        device=options.device,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--size", type=int, default=24)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--by", choices=("rates", "recipe"), default="rates")
    parser.add_argument("--variants", nargs="+", default=["0.95:1"], metavar="MOMENTUM:FACTOR")
    parser.add_argument("--inner", type=int, default=5, help="steps of the fits that teach the start")
    parser.add_argument("--rounds", type=int, default=500, help="0 learns no start")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--learnt", type=int, nargs="*", default=[5, 10, 25, 50])
    parser.add_argument("--continue-usual", type=int, nargs="*", default=[])
    parser.add_argument("--usual", type=int, nargs="*", default=[10, 25, 50, 100, 250])
    parser.add_argument("--adam", type=int, nargs="*", default=[])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--save", type=Path, help="the file of the last start")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    teach, held = faces(options.data, options.size)
    settings = {name: value for name, value in vars(options).items() if name not in ("data", "out", "save")}
    settings |= {"teach": len(teach), "held_out": len(held), "seconds_of_learning": []}
    rows: list[dict[str, Any]] = []

    def keep(start: str, plan: staf.Plan, steps: int) -> None:
        rows.append(measured(start, held, plan, steps, options.device))
        print(rows[-1], flush=True)
        if options.out is not None:
            document = {**provenance(options.device), "settings": settings, "rows": rows}
            options.out.write_text(json.dumps(document, indent=1) + "\n")

    for variant in options.variants:
        if options.rounds:
            began = time.monotonic()
            start = learnt(teach, variant, options)
            settings["seconds_of_learning"].append(round(time.monotonic() - began, 1))
            if options.save is not None:
                staf.save_start(start, options.save)
            for steps in options.learnt:
                # A start for a recipe has that recipe's schedule for each number of steps.
                own = start.recipe if options.by == "rates" else usual(steps, held[0], options.width, variant).recipe
                keep(f"learnt by {options.by}", staf.Plan(start.field_factory, own), steps)
            for steps in options.continue_usual:
                own = usual(steps, held[0], options.width, variant).recipe
                keep(f"learnt by {options.by}", staf.Plan(start.field_factory, own), steps)
        for steps in options.usual:
            keep("usual", usual(steps, held[0], options.width, variant), steps)
    for steps in options.adam:
        recipe = staf.recipes.paper_celeba().replace(steps=steps, precision="bf16x3")
        factory = usual(steps, held[0], options.width, "0.95:1").field_factory
        keep("usual", staf.Plan(factory, recipe), steps)


if __name__ == "__main__":
    main()
