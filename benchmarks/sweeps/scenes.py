"""Scenes: the default grid, the paper's perceptrons without one, decoders of every activation, in equal time.

`python -m benchmarks.sweeps.scenes FOLDER --out FILE.json` fits the photos of FOLDER (transforms_train.json and the
like) by every one of `runs`, in this order, until `--limit` seconds are over, and prints one line for each: PSNR, SSIM
and, where its weights are found, LPIPS of all held-out views, rendered by the final weights, clamped, peak 1. `--only`
keeps the runs whose names start with one of some words. Kernels should have been compiled before, by `--only warm-up`.
Long runs take what is left of `--limit` where that is less than they are asked for.

Networks without a grid have two runs each (`TRIALS`): the best rate of three of an earlier search, and its neighbour on
the side that the search left open. The one whose photos are fitted better counts; held-out views do not decide. Plans
have what was found so, and `--only planned` runs every network by its plan, as other scenes are compared.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

import staf
from benchmarks.sweeps.rows import Row, measure, options
from paper.protocols.published import with_arguments
from staf.kinds.scene.plan import RAYS
from staf.kinds.scene.rendering import on_background
from staf.kinds.scene.task import Radiance
from staf.metrics import lpips
from staf.metrics.lpips import load_lpips
from staf.ops.execution import Execution
from staf.planning import Budget, plan
from staf.training import run
from staf.training.task import Predict

MODELS = ("staf", "siren", "finer", "pemlp", "gauss", "wire")
SEEDS = (0, 1, 2)
# The rate of two runs of each network without a grid, and constants in place of the paper's. Of 5e-4, 1e-3 and 2e-3,
# three seconds each (benchmarks/results/scenes-h200-2026-11-16.json), STAF and SIREN were best with 1e-3, FINER with
# the lowest and ReLU with the highest. Gauss and WIRE learnt nothing with the paper's sigma of 40; on a CPU, with lego
# at 50x50 and 80 steps, Gauss fits the photos at 14.6, 14.6, 15.0 and 17.3 dB with a sigma of 40, 20, 10 and 5, and at
# 19.2 dB with a sigma of 5 and a rate of 5e-3. WIRE, 48 wide and 50 steps: 13.4 dB with sigma 5, omega0 10 and 5e-3;
# 15.2 and 15.5 dB with sigma 2, omega0 3 and 1e-2 or 2e-2; 14.3 dB with 4e-2; 64 wide and 150 steps, 21.7 dB with these
# and 5e-3, 20.6 dB with 2e-3, 20.5 dB with 1e-2 (docs/results/scenes-evidence.md). WIRE's own rates are 5e-3 to 1e-2.
TRIALS: dict[str, tuple[tuple[float, Row], tuple[float, Row]]] = {
    "staf": ((1e-3, {}), (5e-4, {})),
    "siren": ((5e-4, {}), (1e-3, {})),
    "finer": ((5e-4, {}), (2.5e-4, {})),
    "pemlp": ((2e-3, {}), (4e-3, {})),
    "gauss": ((4e-3, {"sigma": 5.0}), (2e-3, {"sigma": 5.0})),
    "wire": ((5e-3, {"sigma": 2.0, "omega0": 3.0}), (2e-3, {"sigma": 2.0, "omega0": 3.0})),
}
GRID, DECODER, PERCEPTRONS = 15.0, 6.0, 5.0
LONG = {"grid": 80.0, "mlp": 100.0}
# Seconds for measuring after a long run.
RESERVE = 6.0
# Where more of the cells than this hold matter, the field is fog, whose rays are long: one view is enough to show it.
FOG = 0.1
# Steps whose mean error is that of the photos.
LAST = 100


def fit(
    scene: staf.Scene,
    network: str,
    model: str,
    *,
    device: str,
    seconds: float | None = None,
    steps: int | None = None,
    rate: float | None = None,
    constants: Row | None = None,
    seed: int = 0,
) -> Row:
    """One network by its plan, with another rate and other constants if they are given."""
    scene = scene.changed(network=network)  # type: ignore[arg-type]
    budget = Budget(seconds=seconds, steps=steps)
    chosen = with_arguments(plan(scene, budget, device=device.split(":")[0], model=model), **(constants or {}))
    recipe = chosen.recipe if rate is None else chosen.recipe.replace(rate=rate, matrix_rate=rate)
    task, field = Measured(scene.as_planned(recipe)), chosen.field(seed)
    task.is_grid = network == "grid"
    result = run(task, field, recipe, seed=seed, execution=Execution(device=device), progress=False)
    # What fails below does not lose this.
    print(result.metrics, f"{result.steps} steps in {result.seconds:.1f} s", flush=True)
    last = float(np.mean(result.history.loss[-LAST:]))
    return {
        **result.metrics,
        **perceptual(task, device),
        **room(task, field.to(device)),
        "views": task.views,
        "train_psnr": -10 * math.log10(last),
        "steps": result.steps,
        "seconds": result.seconds,
        "ms_per_step": 1000 * result.seconds / max(1, result.steps),
        "rate": recipe.rate,
        "constants": constants or {},
        "seed": seed,
        "rays_a_pixel": task.rays,
        "parameters": sum(p.numel() for p in field.parameters()),
        "occupied": float(task.grid.occupied.float().mean()),
        "stopped": result.stopped,
        "notes": result.notes,
    }


class Measured(Radiance):
    """A task that is measured on all held-out views, or on one where the field is fog."""

    views = 0
    is_grid = True

    def evaluate(self, predict: Predict) -> Row:
        assert self.signal.test is not None
        is_fog = float(self.grid.occupied.float().mean()) > FOG
        shown = self.signal.test.first(1) if is_fog else self.signal.test
        self.views = len(shown)
        measures = self._measured(predict, shown, keep=True)
        if is_fog or not self.is_grid:
            return measures
        # Instant-NGP's published figures, which grids are set beside, are of pictures on black.
        white, self.background = self.background, torch.zeros_like(self.background)
        measures["psnr_on_black"] = self._measured(predict, shown, keep=False)["psnr"]
        self.background = white
        return measures


def perceptual(task: Measured, device: str) -> Row:
    """LPIPS of the views that were rendered last, the mean over all; nothing without its weights or of one view."""
    shown, scene = task.reconstruction, task.signal
    assert shown is not None
    if scene.test is None or task.views == 1:
        return {}
    try:
        model = load_lpips().to(device)
    except (OSError, ValueError):
        return {}
    background = torch.tensor(scene.background)
    total = 0.0
    for found, photo in zip(shown.train.pixels, scene.test.pixels, strict=True):
        pair = [picture.to(device) for picture in (found.float() / 255, on_background(photo, background))]
        with torch.no_grad():
            total += float(lpips(*pair, data_range=1.0, model=model))
    return {"lpips": total / len(scene.test)}


def room(task: Measured, field: torch.nn.Module) -> Row:
    """How much of the samples that a step has room for are used, and which part of its rays fits."""
    pixels = torch.arange(0, task.points, max(1, task.points // RAYS["cuda"]), device=task.background.device)
    rays = task._rays(task.batch(pixels[: RAYS["cuda"]]).coordinates)
    try:
        found, whole = task._visible(field, *rays, torch.full_like(rays[0][:, 0], 0.5))
    except RuntimeError as error:
        # The fit itself is not lost by this.
        return {"used": str(error)[:100]}
    fits, used = whole & task.trained_on.has(found), float(found.samples.sum())
    return {
        "used": used / task.trained_on.size,
        "rays_that_fit": float(fits.float().mean()),
        "room": task.trained_on.size / task.trained_on.most,
        "room_to_look": task.looked_at.size / task.looked_at.most,
    }


def runs(scene: staf.Scene, given: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Row]]]:
    """The name of each run and what makes it, the most telling first."""
    assert scene.test is not None
    device, began = given.device, time.monotonic()
    quick = scene.changed()
    quick.test = scene.test.first(1)
    for network in ("grid", "mlp"):
        for model in MODELS:
            yield f"warm-up {network} {model}", partial(fit, quick, network, model, steps=40, device=device)
    whole = partial(fit, scene, device=device)
    for seed in given.seeds:
        yield f"grid staf {GRID:g} s seed {seed}", partial(whole, "grid", "staf", seconds=GRID, seed=seed)
    for network in LONG:
        for seed in given.seeds:
            left = given.limit - (time.monotonic() - began) - RESERVE
            seconds = max(1.0, min(getattr(given, f"long_{network}"), left))
            yield f"long {network} staf seed {seed}", partial(whole, network, "staf", seconds=seconds, seed=seed)
    # Networks that are likelier to need their second run have it first.
    for place, models in enumerate((MODELS, reversed(MODELS))):
        for model in models:
            rate, constants = TRIALS[model][place]
            name = f"mlp {model} {given.perceptrons:g} s rate {rate:g}"
            chosen = {"seconds": given.perceptrons, "rate": rate, "constants": constants}
            yield name, partial(whole, "mlp", model, **chosen)
    for seed in given.seeds:
        for model in MODELS:
            name = f"planned mlp {model} {given.perceptrons:g} s seed {seed}"
            yield name, partial(whole, "mlp", model, seconds=given.perceptrons, seed=seed)
    for seed in given.seeds:
        for model in MODELS:
            name = f"decoder {model} {given.decoders:g} s seed {seed}"
            yield name, partial(whole, "grid", model, seconds=given.decoders, seed=seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    for network, seconds in LONG.items():
        parser.add_argument(f"--long-{network}", type=float, default=seconds, help="seconds of its long run")
    parser.add_argument("--perceptrons", type=float, default=PERCEPTRONS, help="seconds of each network without a grid")
    parser.add_argument("--decoders", type=float, default=DECODER, help="seconds of each activation with a grid")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="of every run but the trials")
    given = options(parser)
    scene = staf.open(given.folder, kind="scene")
    measure(runs(scene, given), [], given, {"scene": repr(scene)})


if __name__ == "__main__":
    main()
