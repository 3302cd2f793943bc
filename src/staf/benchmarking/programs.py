"""A case in one version as something to run: what a user of the released code, or of this library, would run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from staf.benchmarking.cases import Case, Version
from staf.benchmarking.released_networks import ReleasedNetwork
from staf.benchmarking.timing import once
from staf.kinds import Image
from staf.ops.linear import product_precision
from staf.tasks import Reconstruction
from staf.training import Recipe
from staf.training.assembly import assemble
from staf.training.loop import GROUP_SECONDS
from staf.training.prediction import predictor
from staf.training.replay import passes_before
from staf.training.stepper import points_at_once

# Images of which a mini-batch case draws its points.
MINIBATCH_SIDE = 256


@dataclass
class Program:
    """`run()` does the work of `units` steps, passes or images; `wall` says that a caller waits for each result."""

    run: Callable[[], object]
    units: int = 1
    wall: bool = False
    notes: list[str] = field(default_factory=list)


def build(case: Case, version: Version, device: str) -> Program:
    """Make the program; on return it has run at least once, so that kernels are compiled and graphs captured."""
    if not case.trains:
        return inference(case, version, device)
    return training(case, version, device) if version.ours else released_training(case, version, device)


def picture(points: int, seed: int = 0) -> Image:
    """A smooth random picture of about `points` pixels: a few waves per channel, 8 bits."""
    side = max(1, round(points**0.5))
    height, width = (side, side) if side * side == points else (1, points)
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    total = np.zeros((height, width, 3))
    for _ in range(6):
        waves, phases = rng.uniform(-12, 12, (2, 3)), rng.uniform(0, 2 * np.pi, 3)
        total += np.cos(2 * np.pi * (y[..., None] * waves[0] + x[..., None] * waves[1]) + phases)
    return Image((255 * (total - total.min()) / (np.ptp(total) + 1e-9)).astype(np.uint8), name=f"waves-{seed}")


def _problem(case: Case, device: str) -> Reconstruction:
    points = MINIBATCH_SIDE**2 if case.kind == "minibatch" else case.points
    return Reconstruction(picture(points)).to(device)


def training(case: Case, version: Version, device: str) -> Program:
    """The steps of the trainer's loop, in groups as long as the loop makes them."""
    network = case.field(device)
    batch = case.points if case.kind == "minibatch" else None
    recipe = Recipe(steps=1, rate=1e-4, optimiser=version.optimiser, batch=batch, precision=version.precision)
    task = _problem(case, device)
    stepper = assemble(task, network, recipe)
    rates, group = stepper.optimiser.rates(1.0), stepper.group

    def advance(steps: int) -> None:
        with product_precision(version.precision):
            stepper.advance([rates] * steps)

    advance(1)
    units = 1
    if group > 1:
        trial = min(group, 5)
        units = max(1, min(group, int(GROUP_SECONDS / max(once(lambda: advance(trial), device) / trial, 1e-6))))
    return Program(lambda: advance(units), units, notes=stepper.notes)


def released_training(case: Case, version: Version, device: str) -> Program:
    """Forward, mean squared error, backward, `torch.optim.Adam`."""
    network = ReleasedNetwork(case.field(device))
    task = _problem(case, device)
    coordinates, target, _ = task.batch(None)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4)

    def loss_of(x: Tensor, y: Tensor) -> Tensor:
        return ((network(x) - y) ** 2).mean()

    loss_function = torch.compile(loss_of, dynamic=False) if version.compiled else loss_of
    chunk = min(case.chunk or case.points, case.points)

    def step(most: int | None = None) -> None:
        x, y = coordinates[:most], target[:most]
        if case.kind == "minibatch":
            index = torch.randint(len(x), (case.points,), device=device)
            x, y = x[index], y[index]
        optimiser.zero_grad()
        for start in range(0, len(x), chunk):
            part = loss_function(x[start : start + chunk], y[start : start + chunk])
            (part * (chunk / len(x)) if chunk < len(x) else part).backward()
        optimiser.step()

    # One chunk warms up as well as all of them, and a step on a CPU may take minutes.
    step(chunk)
    notes = [f"{chunk:,} points at a time"] if chunk < case.points else []
    return Program(step, notes=notes)


def inference(case: Case, version: Version, device: str) -> Program:
    """Values at points that are on the device already."""
    network = case.field(device)
    coordinates = torch.rand(case.points, 2, generator=torch.Generator().manual_seed(0)).to(device) * 2 - 1
    if version.ours:
        predict: Callable[[Tensor], Tensor] = predictor(network, points_at_once(torch.device(device)))
    else:
        predict = released_predictor(network, version, case.chunk or case.points)

    def run() -> None:
        with chosen_precision(version):
            predict(coordinates)

    # On a GPU a pass is recorded when it has been asked for often enough.
    for _ in range(passes_before(case.points) + 1 if version.ours and device.startswith("cuda") else 3):
        run()
    return Program(run, wall=case.kind == "latency")


def chosen_precision(version: Version) -> AbstractContextManager[None]:
    """The precision of our forward pass; the released networks have torch's own layers, which ask for none."""
    return product_precision(version.precision) if version.ours else nullcontext()


def released_predictor(network: nn.Module, version: Version, chunk: int) -> Callable[[Tensor], Tensor]:
    released: Any = ReleasedNetwork(network)
    if version.compiled:
        released = torch.compile(released, dynamic=False)
    return predictor(released, chunk)
