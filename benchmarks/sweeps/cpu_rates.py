"""The rates of mini-batches on a CPU: every network, the same trials, by the CPU's plan.

`python -m benchmarks.sweeps.cpu_rates LOG PHOTO ... [--models ffn kan] [--rates 5e-4 1e-3] [--steps 30 200]` fits each
photo with each network at each rate, on one thread of a CPU. What `LOG` (docs/results/data/cpu-rates.csv) already has
is not run again; every new fit is a line at its end: PSNR (dB) of the final weights over all pixels, seed 0.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import time
from pathlib import Path

import torch

import staf
from benchmarks.sweeps.rows import Row
from staf._machine import cpu_model
from staf.planning import Budget, plan

KEYS = ("network", "image", "steps", "rate")
COLUMNS = (*KEYS, "psnr", "optimiser", "batch", "machine")
MODELS = tuple(name for name, spec in staf.nn.NETWORKS.items() if spec.rates.mini_batch is not None)
RATES = (5e-4, 1e-3, 2e-3, 4e-3, 8e-3)


def fit(photo: Path, model: str, steps: int, rate: float) -> Row:
    """One network at one rate."""
    picture = staf.open(str(photo), kind="image")
    chosen = plan(picture, Budget(steps=steps), device="cpu", model=model)
    recipe = chosen.recipe.replace(rate=rate, matrix_rate=rate)
    found = staf.fit(picture, field=chosen.field(0), recipe=recipe, seed=0, progress=False, device="cpu")
    about = {
        "optimiser": "adam" if staf.nn.NETWORKS[model].complex_weights else recipe.optimiser,
        "batch": recipe.batch,
    }
    return {"psnr": f"{found.metrics['psnr']:.2f}", **about}


def logged(log: Path) -> set[tuple[str, str, int, float]]:
    """Network, image, steps and rate of every fit in the log."""
    with log.open(encoding="utf-8", newline="") as file:
        return {(r["network"], r["image"], int(r["steps"]), float(r["rate"])) for r in csv.DictReader(file)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("photos", nargs="+", type=Path)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--rates", nargs="+", type=float, default=RATES)
    parser.add_argument("--steps", nargs="+", type=int, default=(30, 200))
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds after which no fit begins")
    given = parser.parse_args()
    torch.set_num_threads(1)
    began = time.monotonic()
    if not given.log.exists():
        given.log.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    done = logged(given.log)
    machine = f"one thread of {cpu_model()}"
    for photo, model, steps, rate in itertools.product(given.photos, given.models, given.steps, given.rates):
        trial = (model, photo.stem, steps, rate)
        if trial in done or time.monotonic() - began > given.limit:
            continue
        row = {**dict(zip(KEYS, trial, strict=True)), **fit(photo, model, steps, rate), "machine": machine}
        with given.log.open("a", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
        print(*row.values(), f"{time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
