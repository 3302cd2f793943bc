"""Scenes: the default grid, the paper's perceptrons without one, decoders of every activation, in equal time.

`python -m benchmarks.sweeps.scenes FOLDER --out FILE.json` fits the photos of FOLDER (transforms_train.json and the
like) by every one of `runs`, in this order, until `--limit` seconds are over, and prints one line for each: PSNR, SSIM
and, where its weights are found, LPIPS of all held-out views, rendered by the final weights, clamped, peak 1. `--only`
keeps the runs whose names start with one of some words. Kernels should have been compiled before, by `--only warm-up`.

Networks without a grid first look for their rate, each among the same `RATES`, for `SEARCH` seconds; the least error on
the photos that are fitted decides, and held-out views are not looked at. A network whose photos end worse in the longer
run than in the search has another run with the next lower rate. Where `--only` leaves the search out, rates are those
of the plans.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

import staf
from benchmarks.sweeps.rows import Row, measure, options
from staf.kinds.scene.rendering import on_background
from staf.kinds.scene.task import Radiance
from staf.metrics import lpips
from staf.metrics.lpips import load_lpips
from staf.ops.execution import Execution
from staf.planning import Budget, plan
from staf.training import run

MODELS = ("staf", "siren", "finer", "pemlp", "gauss", "wire")
SEEDS = (0, 1, 2)
RATES, SEARCH = (1e-4, 3e-4, 1e-3, 3e-3), 1.5
GRID, DECODER, PERCEPTRONS = 15.0, 6.0, 8.0
LONG = {"grid": 150.0, "mlp": 100.0}
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
    seed: int = 0,
) -> Row:
    """One network by its plan, with another rate if one is given."""
    scene = scene.changed(network=network)  # type: ignore[arg-type]
    chosen = plan(scene, Budget(seconds=seconds, steps=steps), device=device.split(":")[0], model=model)
    recipe = chosen.recipe if rate is None else chosen.recipe.replace(rate=rate, matrix_rate=rate)
    task, field = Radiance(scene), chosen.field(seed)
    result = run(task, field, recipe, seed=seed, execution=Execution(device=device), progress=False)
    last = float(np.mean(result.history.loss[-LAST:]))
    return {
        **result.metrics,
        **perceptual(task, device),
        "train_psnr": -10 * math.log10(last),
        "steps": result.steps,
        "seconds": result.seconds,
        "ms_per_step": 1000 * result.seconds / max(1, result.steps),
        "rate": recipe.rate,
        "seed": seed,
        "rays_a_pixel": task.rays,
        "parameters": sum(p.numel() for p in field.parameters()),
        "occupied": float(task.grid.occupied.float().mean()),
        "stopped": result.stopped,
        "notes": result.notes,
    }


def perceptual(task: Radiance, device: str) -> Row:
    """LPIPS of the views that were rendered last, the mean over all; nothing without its weights or of one view."""
    shown, scene = task.reconstruction, task.signal
    assert shown is not None
    if scene.test is None or len(scene.test) == 1:
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


def runs(
    scene: staf.Scene, rows: list[Row], device: str, long: dict[str, float]
) -> Iterator[tuple[str, Callable[[], Row]]]:
    """The name of each run and what makes it, the most telling first; rates come from the rows before."""
    assert scene.test is not None
    quick = scene.changed()
    quick.test = scene.test.first(1)
    for network in ("grid", "mlp"):
        for model in MODELS:
            yield f"warm-up {network} {model}", partial(fit, quick, network, model, steps=40, device=device)
    whole = partial(fit, scene, device=device)
    for seed in SEEDS:
        yield f"grid staf {GRID:g} s seed {seed}", partial(whole, "grid", "staf", seconds=GRID, seed=seed)
    for network, seconds in long.items():
        yield f"long {network} staf {seconds:g} s", partial(whole, network, "staf", seconds=seconds)
    for model in MODELS:
        for tried in RATES:
            name = f"rate of mlp {model} {tried:g}"
            yield name, partial(fit, quick, "mlp", model, seconds=SEARCH, rate=tried, device=device)
    for model in MODELS:
        for rate in best_rates(rows, model):
            name = f"mlp {model} {PERCEPTRONS:g} s" + ("" if rate is None else f" rate {rate:g}")
            yield name, partial(whole, "mlp", model, seconds=PERCEPTRONS, rate=rate)
            if not rows or rate is None or rows[-1].get("train_psnr", -math.inf) > found(rows, model)[rate]:
                break
    for model in MODELS:
        yield f"decoder {model} {DECODER:g} s", partial(whole, "grid", model, seconds=DECODER)


def found(rows: list[Row], model: str) -> dict[float, float]:
    """How well the photos were fitted with each rate of the search, in dB."""
    tried = [row for row in rows if row["run"].startswith(f"rate of mlp {model} ") and "train_psnr" in row]
    return {row["rate"]: row["train_psnr"] for row in tried}


def best_rates(rows: list[Row], model: str) -> list[float | None]:
    """The rate with the least error on the photos, and those below it; that of the plan before any was looked at."""
    tried = found(rows, model)
    if not tried:
        return [None]
    best = max(tried, key=tried.__getitem__)
    return [rate for rate in sorted(tried, reverse=True) if rate <= best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    for network, seconds in LONG.items():
        parser.add_argument(f"--long-{network}", type=float, default=seconds, help="seconds of its long run")
    parser.add_argument("--subpixels", type=int, default=1, help="rays along each side of a pixel")
    given = options(parser)
    long = {network: getattr(given, f"long_{network}") for network in LONG}
    scene = staf.open(given.folder, kind="scene").changed(subpixels=given.subpixels)
    rows: list[Row] = []
    measure(runs(scene, rows, given.device, long), rows, given, {"scene": repr(scene)})


if __name__ == "__main__":
    main()
