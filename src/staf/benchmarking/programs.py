"""A case in one version as something to run: what a user of the released code, or of this library, would run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from staf.benchmarking.baselines import ReleasedNetwork
from staf.benchmarking.cases import Case, Version
from staf.benchmarking.timing import once
from staf.kinds import Image
from staf.ops.linear import product_precision
from staf.planning.plans import Plan
from staf.tasks import Reconstruction
from staf.training import Recipe
from staf.training.assembly import assemble
from staf.training.loop import GROUP_SECONDS
from staf.training.prediction import predictor
from staf.training.stepper import points_at_once

# Images of which a mini-batch case draws its points.
MINIBATCH_SIDE = 256


@dataclass
class Program:
    """`run()` does the work of `units` steps, passes or images; `wall` says that a caller waits for each answer."""

    run: Callable[[], object]
    units: int = 1
    wall: bool = False
    notes: list[str] = field(default_factory=list)


def build(case: Case, version: Version, device: str) -> Program:
    """Make the program; on return it has run at least once, so that kernels are compiled and graphs captured."""
    makers = {
        "train": _ours_training if version.ours else _released_training,
        "minibatch": _ours_training if version.ours else _released_training,
        "inference": _inference,
        "latency": _inference,
        "render": _ours_render if version.ours else _released_render,
        "many": _ours_many if version.ours else _released_many,
    }
    return makers[case.kind](case, version, device)


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


def _ours_training(case: Case, version: Version, device: str) -> Program:
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


def _released_training(case: Case, version: Version, device: str) -> Program:
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


# A pass over few points is recorded when it is asked for the third time.
WARM_UP = 3


def _inference(case: Case, version: Version, device: str) -> Program:
    """Values at points that are on the device already."""
    network = case.field(device)
    coordinates = torch.rand(case.points, 2, generator=torch.Generator().manual_seed(0)).to(device) * 2 - 1
    if version.ours:
        predict: Callable[[Tensor], Tensor] = predictor(network, points_at_once(torch.device(device)))
    else:
        predict = _released_predictor(network, version, case.chunk or case.points)

    def run() -> None:
        with _chosen(version):
            predict(coordinates)

    for _ in range(WARM_UP):
        run()
    return Program(run, wall=case.kind == "latency")


def _chosen(version: Version) -> AbstractContextManager[None]:
    """The precision of our forward pass; the released networks have torch's own layers, which ask for none."""
    return product_precision(version.precision) if version.ours else nullcontext()


def _released_predictor(network: nn.Module, version: Version, chunk: int) -> Callable[[Tensor], Tensor]:
    released: Any = ReleasedNetwork(network)
    if version.compiled:
        released = torch.compile(released, dynamic=False)
    return predictor(released, chunk)


def _ours_render(case: Case, version: Version, device: str) -> Program:
    """`FittedField.render` of an 8-bit picture, pixels in host memory at the end."""
    from staf.api import FittedField

    image = picture(64 * 64)
    field = FittedField(case.field(device), {"signal": image.metadata(), "convention": "centres"})
    size = _size(case.points)

    def run() -> None:
        with _chosen(version):
            field.render(size=size, device=device)

    run()
    return Program(run, wall=True)


def _released_render(case: Case, version: Version, device: str) -> Program:
    """The same by hand: coordinates, chunks of values, bytes, host."""
    predict = _released_predictor(case.field(device), version, case.chunk or case.points)
    width, height = _size(case.points)

    def run() -> None:
        rows = torch.linspace(-1, 1, height, device=device)
        columns = torch.linspace(-1, 1, width, device=device)
        points = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), dim=-1).reshape(-1, 2)
        (predict(points).clamp(0, 1) * 255).round().to(torch.uint8).cpu().reshape(height, width, 3).numpy()

    run()
    return Program(run, wall=True)


def _size(points: int) -> tuple[int, int]:
    """Width and height of a picture of `points` pixels, 16:9 where that divides."""
    height = round((points * 9 / 16) ** 0.5)
    return (points // height, height) if height and points % height == 0 else (points, 1)


def _ours_many(case: Case, version: Version, device: str) -> Program:
    """`staf.fit_many`, from pictures in memory to measured fits in memory."""
    from staf.many import fit_many

    pictures = [picture(case.points, seed) for seed in range(case.images)]
    recipe = Recipe(steps=case.steps, rate=1e-3, optimiser=version.optimiser, precision=version.precision)

    def factory(generator: torch.Generator) -> nn.Module:
        return case.field("cpu", seed=generator.initial_seed())

    plan = Plan(factory, recipe)

    def run(steps: int) -> None:
        fit_many(pictures, recipe.replace(steps=steps), plan=plan, device=device, progress=False)

    run(min(4, case.steps))
    return Program(lambda: run(case.steps), case.images, wall=True)


def _released_many(case: Case, version: Version, device: str) -> Program:
    """One image after another: `steps` full-batch steps each; one image is timed."""
    single = _released_training(
        Case("train", case.model, case.points, case.terms, width=case.width, depth=case.depth), version, device
    )

    def run() -> None:
        for _ in range(case.steps):
            single.run()

    return Program(run, wall=True, notes=["one image after another, without measuring it"])
