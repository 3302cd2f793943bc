"""Where the seconds of `fit_many` go: images a second, seconds of each stage, microseconds of each kernel of a step.

`python -m benchmarks.many_profile --data CELEBA muon:bf16x3:64 adam:tf32:64 --out RESULT.json`. A run is
OPTIMISER:PRECISION:IMAGES: faces of 128x128 (crop 178x178, area means) that repeat where there are fewer. A fourth
word, `shards`, fits into a set of shards; `kernels` lists the kernels of a captured step of so many networks. A run is
timed from pictures in memory to measured fits in memory or in shards, after a short one that compiles kernels.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import staf
from paper.data.preparation import Preparation
from staf._machine import provenance
from staf.many import fitting, groups, plans, units, writing
from staf.ops.execution import Execution
from staf.planning import recipes
from staf.tasks import task_for
from staf.training import loop
from staf.training.assembly import assemble
from staf.training.recipe import Precision
from staf.training.stacked import StackedField, StackedTask

# What is timed: a name, and where the function is looked up.
STAGES: tuple[tuple[str, Any, str], ...] = (
    ("planning", plans.Planner, "jobs"),
    ("reading", units.UnitFitter, "prepare"),
    ("tasks", groups, "task_for"),
    ("building", loop.Loop, "__init__"),
    ("steps", loop.Loop, "_advance"),
    ("divergence", loop.Loop, "_look_for_divergence"),
    ("measuring", loop.Loop, "_measure"),
    ("group", units, "fit_group"),
    ("group", fitting, "fit_group"),
    ("writing, by another thread", writing, "entries_of"),
)


@contextlib.contextmanager
def timed_stages() -> Iterator[dict[str, float]]:
    """Seconds that each stage takes inside the block, all calls together; stages may lie within others."""
    seconds: dict[str, float] = collections.defaultdict(float)
    before = [(place, name, getattr(place, name)) for _, place, name in STAGES]

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            began = time.monotonic()
            try:
                return function(*arguments, **options)
            finally:
                seconds[stage] += time.monotonic() - began

        return call

    for (stage, place, name), (_, _, function) in zip(STAGES, before, strict=True):
        setattr(place, name, timed(stage, function))
    try:
        yield seconds
    finally:
        for place, name, function in before:
            setattr(place, name, function)


def recipe_of(optimiser: str, precision: Precision, steps: int) -> staf.Recipe:
    """The library's own recipe for Muon; for Adam that of the suites, which the paper has too."""
    if optimiser == "muon":
        return recipes.default(steps=steps).replace(precision=precision)
    return staf.Recipe(steps=steps, rate=1e-3, optimiser=optimiser, precision=precision)  # type: ignore[arg-type]


def plan_of(width: int, recipe: staf.Recipe) -> staf.Plan:
    """STAF with four layers."""

    def factory(generator: torch.Generator) -> torch.nn.Module:
        return staf.staf(2, 3, width=width, depth=4, generator=generator)

    return staf.Plan(factory, recipe)


def run(faces: list[Any], plan: staf.Plan, device: str, shards: bool, at_once: int | None) -> dict[str, Any]:
    """One call of `fit_many`: images a second, stages, and the mean PSNR."""
    options: dict[str, Any] = {"plan": plan, "device": device, "progress": False, "at_once": at_once}
    with tempfile.TemporaryDirectory(prefix="staf-many-") as folder:
        if shards:
            options |= {"out": Path(folder) / "set", "shards": True}
        on_gpu = device != "cpu"
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        began = time.monotonic()
        with timed_stages() as stages:
            fits = staf.fit_many(faces, **options)
        seconds = time.monotonic() - began
    values = [one["psnr"] for one in fits.metrics.values()]
    return {
        "images_per_s": round(len(values) / seconds, 2),
        "seconds": round(seconds, 2),
        "stages": {name: round(value, 2) for name, value in stages.items()},
        "mean_psnr": round(statistics.mean(values), 3),
        "gib": round(torch.cuda.max_memory_allocated() / 2**30, 1) if on_gpu else None,
    }


def kernels(faces: list[np.ndarray], plan: staf.Plan, device: str, steps: int = 5) -> dict[str, Any]:
    """Microseconds and launches of each kernel in a step of so many networks, and of the host for a step."""
    from torch._C._autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    tasks = [task_for(staf.open(face), plan.recipe.convention).to(device) for face in faces]
    stack = StackedField([plan.field(0)] * len(tasks)).to(device)
    stepper = assemble(StackedTask(tasks), stack, plan.recipe)
    steps = min(steps, stepper.group)
    rates = [stepper.optimiser.rates(1.0)] * steps
    execution = Execution(device=device, precision=plan.recipe.precision)  # type: ignore[arg-type]
    with execution.active():
        # The first ones are launched one by one, and the next is recorded.
        stepper.advance(rates)
        began = time.monotonic()
        stepper.advance(rates)
        clock = (time.monotonic() - began) / steps
        found: dict[str, list[float]] = collections.defaultdict(list)
        if device != "cpu":
            with profile(activities=[ProfilerActivity.CUDA]) as profiler:
                stepper.advance(rates)
            for event in profiler.events():
                if event.device_type == DeviceType.CUDA:
                    found[event.name[:90]].append(event.time_range.elapsed_us())
    table = {name: (round(sum(times) / steps, 1), round(len(times) / steps, 1)) for name, times in found.items()}
    ordered = dict(sorted(table.items(), key=lambda item: -item[1][0]))
    total = round(sum(us for us, _ in ordered.values()), 1)
    return {"step_us": round(clock * 1e6, 1), "kernels_us": total, "kernels": ordered, "notes": stepper.notes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="OPTIMISER:PRECISION:IMAGES[:shards|:kernels]")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--at-once", type=int)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    prepare = Preparation(crop=(178, 178), size=(options.size, options.size))
    pictures = [prepare(staf.open(path).array) for path in sorted(options.data.iterdir())]
    results: list[dict[str, Any]] = []
    for text in options.runs:
        optimiser, precision, count, *rest = text.split(":")
        faces: list[Any] = [pictures[number % len(pictures)] for number in range(int(count))]
        plan = plan_of(options.width, recipe_of(optimiser, precision, options.steps))  # type: ignore[arg-type]
        result: dict[str, Any] = {"run": text, "at_once": options.at_once, "steps": options.steps}
        try:
            if "kernels" in rest:
                result |= kernels(faces, plan, options.device)
            else:
                first = plan_of(options.width, plan.recipe.replace(steps=4))
                run(faces, first, options.device, "shards" in rest, options.at_once)
                result |= run(faces, plan, options.device, "shards" in rest, options.at_once)
        except (RuntimeError, ValueError) as error:
            result["error"] = str(error)[:300]
        results.append(result)
        print(json.dumps(result), flush=True)
        if options.out is not None:
            document = {**provenance(options.device), "results": results}
            options.out.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
