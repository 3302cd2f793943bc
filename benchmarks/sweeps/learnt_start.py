"""PSNR after k steps from the usual start and from a learnt one, on faces that the start has not seen.

`python -m benchmarks.sweeps.learnt_start --data CELEBA --size 24 --width 32 --out RESULT.json`: crops of 178x178,
area means to `--size`; four fifths of the faces teach the start, the others are held out (a fixed shuffle). The usual
start has the plan's recipe for each number of steps, with its own schedule. `--continue-usual` trains the learnt start
with that recipe too.
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
from staf.many_plans import Planner
from staf.planning.plans import Budget


def faces(folder: Path, size: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Those that teach, and those held out."""
    prepare = Preparation(crop=(178, 178), size=(size, size))
    pictures = [prepare(staf.open(path).array) for path in sorted(folder.iterdir())]
    order = torch.randperm(len(pictures), generator=torch.Generator().manual_seed(1)).tolist()
    held = len(pictures) // 5
    return [pictures[i] for i in order[held:]], [pictures[i] for i in order[:held]]


def usual(width: int, steps: int, picture: np.ndarray) -> staf.Plan:
    """The library's recipe for so many steps, with a network of this width."""

    def factory(generator: torch.Generator) -> torch.nn.Module:
        return staf.staf(2, 3, width=width, depth=4, generator=generator)

    job = Planner(None, None, "staf", "size", Budget(steps), 0).job("usual", staf.open(picture))
    return staf.Plan(factory, job.recipe)


def measured(start: str, pictures: list[np.ndarray], plan: staf.Plan, steps: int, seed: int) -> dict[str, Any]:
    """Mean and standard deviation over the pictures."""
    fits = staf.fit_many(pictures, plan=plan, steps=steps, seed=seed, progress=False, at_once=len(pictures))
    values = [one["psnr"] for one in fits.metrics.values()]
    row = {"start": start, "steps": steps, "seed": seed, "optimiser": plan.recipe.optimiser}
    row |= {"mean": round(statistics.mean(values), 2), "deviation": round(statistics.stdev(values), 2)}
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--size", type=int, default=24)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--inner", type=int, default=5, help="steps of the fits that teach the start")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--usual", type=int, nargs="*", default=[10, 25, 50, 100, 250])
    parser.add_argument("--learnt", type=int, nargs="*", default=[5, 10, 25, 50])
    parser.add_argument("--continue-usual", type=int, nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    teach, held = faces(options.data, options.size)
    rows, seconds = [], []
    for seed in range(options.seeds):
        began = time.monotonic()
        start = staf.learn_start(
            teach,
            plan=usual(options.width, 10, teach[0]),
            steps=options.inner,
            rounds=options.rounds,
            at_once=options.at_once,
            seed=seed,
        )
        seconds.append(round(time.monotonic() - began))
        rows += [measured("learnt", held, start, steps, seed) for steps in options.learnt]
        for steps in options.usual:
            rows.append(measured("usual", held, usual(options.width, steps, held[0]), steps, seed))
        for steps in options.continue_usual:
            recipe = usual(options.width, steps, held[0]).recipe
            rows.append(measured("learnt", held, staf.Plan(start.field_factory, recipe), steps, seed))
    settings = {name: value for name, value in vars(options).items() if name not in ("data", "out")}
    settings |= {"teach": len(teach), "held_out": len(held), "seconds_of_learning": seconds}
    if options.out is not None:
        options.out.write_text(json.dumps({**provenance("cpu"), "settings": settings, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
