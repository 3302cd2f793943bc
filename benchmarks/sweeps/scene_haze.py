"""Through which cells views are drawn best: those that training samples, their neighbours too, or these without haze.

`python -m benchmarks.sweeps.scene_haze FOLDER --out FILE.json` leaves every tenth photo of the training set out, makes
the others eight times smaller, fits them with a grid and without one for `--seconds` each, and measures the photos left
out in the three ways. Views of the test set are not read. A minute of one core each is enough to see the order.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch

import staf
from benchmarks.sweeps.rows import Row, measure, options
from benchmarks.sweeps.scene_choices import split
from paper.protocols.published import with_arguments
from staf.kinds.scene.task import Radiance
from staf.ops.execution import Execution
from staf.planning import Budget, plan
from staf.training import run

NETWORKS: tuple[Literal["grid", "mlp"], ...] = ("mlp", "grid")
# What a core can train in a minute: fewer samples of rays, narrower networks without a grid.
DOWNSCALE, RAY_SAMPLES, RAYS, CELLS = 8, 256, 1024, 64
SAMPLES = {"grid": 2**13, "mlp": 2**12}
SIZES: dict[str, Row] = {"grid": {}, "mlp": {"width": 64, "features": 32}}
RATES = {"grid": {}, "mlp": {"rate": 2e-3, "matrix_rate": 2e-3}}
LAST = 50


def fit(scene: staf.Scene, network: Literal["grid", "mlp"], seconds: float, device: str) -> Row:
    """PSNR of the photos left out, drawn in three ways by one field."""
    scene = split(scene.changed(network=network, ray_samples=RAY_SAMPLES))
    chosen = with_arguments(plan(scene, Budget(seconds=seconds), device=device.split(":")[0]), **SIZES[network])
    task = Radiance(scene, samples=SAMPLES[network], resolution=CELLS)
    recipe = chosen.recipe.replace(batch=RAYS, **RATES[network])
    result = run(task, chosen.field(0), recipe, execution=Execution(device=device), progress=False)
    field = result.field.to(device)
    grid, least = task.grid, task.grid.least()
    found: Row = {"without_haze": result.metrics["psnr"]}
    with torch.no_grad():
        for name, cells in (("neighbours", grid.around()), ("occupied", grid.occupied)):
            grid.around, grid.least = (lambda cells=cells: cells), (lambda: torch.zeros_like(least))  # type: ignore
            found[name] = task.evaluate(field)["psnr"]
    last = float(np.mean(result.history.loss[-LAST:]))
    return {**found, "train_psnr": -10 * math.log10(last), "steps": result.steps, "seconds": result.seconds}


def runs(scene: staf.Scene, given: argparse.Namespace) -> Iterator[tuple[str, Callable[[], Row]]]:
    for network in NETWORKS:
        yield network, partial(fit, scene, network, given.seconds, given.device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=55.0)
    given = options(parser)
    scene = staf.Scene.read(given.folder, downscale=DOWNSCALE)
    measure(runs(scene, given), [], given, {"scene": repr(scene)})


if __name__ == "__main__":
    main()
