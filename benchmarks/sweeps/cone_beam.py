"""A volume from the views of a cone beam: Feldkamp, SART with total variation, and networks, all by one set of views.

`python -m benchmarks.sweeps.cone_beam --size 24 --views 50 --networks staf siren --steps 200 --json FILE` prints a row
for each method. The phantom is of ellipsoids (Shepp and Logan's, with the contrast of Toft), of attenuations of up to
0.02 per mm; it is scanned with voxels of half the side, so that no method has the model that made the views; rays have
`--photons` of noise. Held-out views choose strengths of classical methods and the step of a fit.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import staf
from staf._files import atomic_write
from staf._machine import provenance
from staf.kinds import Grid
from staf.nn.networks import NETWORKS
from staf.operators import TransmissionNoise, cone_beam
from staf.tasks import KeepBestHeldOut
from staf.tasks.choice import Candidate
from staf.tasks.classical import measured
from staf.tasks.inverse_classical import inverse_candidates
from staf.tasks.ray_batches import RayTomography
from staf.tasks.returned import chosen_of

# Value, half axes (z, y, x), centre (z, y, x) and turn about z in degrees, in a cube of side 2.
ELLIPSOIDS = (
    (1.0, (0.81, 0.92, 0.69), (0.0, 0.0, 0.0), 0.0),
    (-0.8, (0.78, 0.874, 0.6624), (0.0, 0.0184, 0.0), 0.0),
    (-0.2, (0.22, 0.31, 0.11), (0.0, 0.0, 0.22), 18.0),
    (-0.2, (0.28, 0.41, 0.16), (0.0, 0.0, -0.22), -18.0),
    (0.1, (0.41, 0.25, 0.21), (-0.15, -0.35, 0.0), 0.0),
    (0.1, (0.05, 0.046, 0.046), (0.25, -0.1, 0.0), 0.0),
    (0.1, (0.05, 0.046, 0.046), (0.25, 0.1, 0.0), 0.0),
    (0.1, (0.02, 0.046, 0.023), (0.0, 0.605, -0.08), 0.0),
)
WATER = 0.02
SART = "SART with total variation"


def phantom(size: int) -> Grid:
    """The ellipsoids on size^3 voxels of 256 / size mm, each the mean of eight places in it."""
    fine = 2 * size
    axis = (2 * np.arange(fine) + 1) / fine - 1
    z, y, x = np.meshgrid(axis, axis, axis, indexing="ij", sparse=True)
    total = np.zeros((fine,) * 3)
    for value, (c, b, a), (cz, cy, cx), turn in ELLIPSOIDS:
        cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
        across, down = (x - cx) * cos + (y - cy) * sin, (y - cy) * cos - (x - cx) * sin
        total += value * (((z - cz) / c) ** 2 + (down / b) ** 2 + (across / a) ** 2 <= 1)
    means = total.reshape(size, 2, size, 2, size, 2).mean((1, 3, 5))
    spacing = 256 / size
    return Grid((WATER * means).astype(np.float32), channels=False, spacing=(spacing,) * 3)


def scanner(shape: tuple[int, int, int], spacing: float, detectors: tuple[int, int], size: float, views: int) -> Any:
    """A cone beam that sees the whole phantom."""
    angles = torch.arange(views, dtype=torch.float64) * 2 * math.pi / views
    distances = {"source_distance": 1000.0, "detector_distance": 500.0}
    return cone_beam(shape, angles, detectors=detectors, detector_size=size, spacing=spacing, **distances)


def scan(size: int, views: int, photons: float, seed: int, device: str = "cpu", times: int = 2) -> RayTomography:
    """The task of size^3 voxels: views of a phantom of `times` as many along each side, with noise."""
    truth, finer = phantom(size), phantom(times * size)
    side = 256 / size
    seen = ((math.ceil(1.25 * size), math.ceil(1.5 * size)), 1.5 * side, views)
    values = finer.values().T.reshape(1, *finer.shape).to(device)
    exact = scanner((times * size,) * 3, side / times, *seen).to(device).A(values)[0].cpu()
    draw = torch.Generator().manual_seed(seed)
    counted = TransmissionNoise(photons)(exact, draw)
    operator = scanner((size,) * 3, side, *seen)
    return RayTomography(truth, operator, counted, truth=truth, held_out=0.05, generator=draw).to(device)


class OnVolume(nn.Module):
    """A volume (z, y, x), interpolated linearly, and a field that is added to it."""

    def __init__(self, field: nn.Module, volume: Tensor) -> None:
        super().__init__()
        self.field = field
        self.volume: Tensor
        self.register_buffer("volume", volume[None, None])

    def forward(self, x: Tensor) -> Tensor:
        at = x.flip(-1)[None, None, None]
        start = nn.functional.grid_sample(self.volume, at, align_corners=False, padding_mode="border")
        return start.reshape(-1, 1) + self.field(x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=24)
    parser.add_argument("--views", type=int, default=50)
    parser.add_argument("--photons", type=float, default=1e5)
    help_ = "voxels of the scanned phantom along each of the result; 1: SART has the model that made the views"
    parser.add_argument("--times", type=int, default=2, metavar="N", help=help_)
    parser.add_argument("--networks", nargs="+", default=["staf", "siren"])
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--arguments", default="{}", help="JSON: network: {argument: value}, in place of the plan's")
    help_ = "the plan's rates times each are tried, and held-out views choose"
    parser.add_argument("--rates", nargs="+", type=float, default=[1.0, 3.0], help=help_)
    parser.add_argument("--on-sart", action="store_true", help="networks fit what SART with total variation leaves")
    parser.add_argument("--commit", metavar="HASH", help="of the code, where git does not tell")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    task = scan(options.size, options.views, options.photons, options.seed, options.device, options.times)
    rows: list[dict[str, Any]] = []

    def add(method: str, values: torch.Tensor, began: float, **more: Any) -> None:
        seconds = round(time.perf_counter() - began, 1)
        row = {"method": method, **measured(task, values.cpu()), "seconds": seconds, **more}
        rows.append(row)
        print(row, flush=True)
        if options.json is not None:
            about = {name: value for name, value in vars(options).items() if name != "json"}
            document = {"protocol": about, **provenance(options.device), "rows": rows}
            document["commit"] = about.pop("commit") or document["commit"]
            atomic_write(options.json, json.dumps(document, indent=1) + "\n")

    classical: dict[str, Candidate] = {}
    for method in ("filtered backprojection", SART):
        began = time.perf_counter()
        classical |= inverse_candidates(task, [method])
        add(method, classical[method].values, began)
    for network in options.networks:
        began = time.perf_counter()
        plan = staf.plan(task, staf.Budget(steps=options.steps), model=network, device=options.device)
        arguments: dict[str, Any] = dict(plan.field_factory.arguments)  # type: ignore[attr-defined]
        size = {} if NETWORKS[network].grid else {"width": options.width, "depth": options.depth}
        given = {**arguments, **size, **json.loads(options.arguments).get(network, {})}
        tried: dict[float, tuple[nn.Module, float]] = {}
        for factor in options.rates:
            draw = torch.Generator().manual_seed(options.seed)
            field = getattr(staf, network)(3, 1, generator=draw, **given).to(options.device)
            if options.on_sart:
                field = OnVolume(field, classical[SART].values.reshape(task.signal.shape).to(options.device))
            rates = {"rate": plan.recipe.rate * factor, "matrix_rate": plan.recipe.matrix_rate * factor}
            recipe = plan.recipe.replace(**rates)
            keep = KeepBestHeldOut(task, every=max(1, options.steps // 20))
            fit = staf.fit(task, field=field, recipe=recipe, progress=False, callbacks=[keep], device=options.device)
            tried[factor] = fit.module, task.held_out_error(fit.module)
            how = {"rate": factor, "steps": fit.result.steps, "kept_step": keep.best_step, "batch": recipe.batch}
            held_out = round(math.sqrt(tried[factor][1]), 4)
            add(network, task.predict(fit.module), began, **how, held_out_error=held_out, arguments=given)
            began = time.perf_counter()
        best = min(tried, key=lambda factor: tried[factor][1])
        choice = chosen_of(task, tried[best][0], classical, network)
        add(f"returned with {network}", choice.values, began, which=choice.method, held_out_errors=choice.errors)


if __name__ == "__main__":
    main()
