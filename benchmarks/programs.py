"""The programs that only the full suites time: rendering a large picture, and many images at once."""

from __future__ import annotations

import torch
from torch import nn

from benchmarks.suites import ManyCase
from staf.benchmarking import programs
from staf.benchmarking.cases import Case, Version
from staf.benchmarking.programs import Program, chosen_precision, picture, released_predictor, released_training
from staf.planning.plans import Plan
from staf.training import Recipe


def build(case: Case, version: Version, device: str) -> Program:
    """Make the program of a case of any suite; on return it has run at least once."""
    if isinstance(case, ManyCase):
        return _ours_many(case, version, device) if version.ours else _released_many(case, version, device)
    if case.kind == "render":
        return _ours_render(case, version, device) if version.ours else _released_render(case, version, device)
    return programs.build(case, version, device)


def _ours_render(case: Case, version: Version, device: str) -> Program:
    """`FittedField.render` of an 8-bit picture, pixels in host memory at the end."""
    from staf.api import FittedField

    image = picture(64 * 64)
    field = FittedField(case.field(device), {"signal": image.metadata(), "convention": "centres"})
    size = _size(case.points)

    def run() -> None:
        with chosen_precision(version):
            field.render(size=size, device=device)

    run()
    return Program(run, wall=True)


def _released_render(case: Case, version: Version, device: str) -> Program:
    """The same by hand: coordinates, chunks of values, bytes, host."""
    predict = released_predictor(case.field(device), version, case.chunk or case.points)
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


def _ours_many(case: ManyCase, version: Version, device: str) -> Program:
    """`staf.fit_many`, from pictures in memory to measured fits in memory."""
    from staf.many.fitting import fit_many

    pictures = [picture(case.points, seed) for seed in range(case.images)]
    recipe = Recipe(steps=case.steps, rate=1e-3, optimiser=version.optimiser, precision=version.precision)

    def factory(generator: torch.Generator) -> nn.Module:
        return case.field("cpu", seed=generator.initial_seed())

    plan = Plan(factory, recipe)

    def run(steps: int) -> None:
        fit_many(pictures, recipe.replace(steps=steps), plan=plan, device=device, progress=False)

    run(min(4, case.steps))
    return Program(lambda: run(case.steps), case.images, wall=True)


def _released_many(case: ManyCase, version: Version, device: str) -> Program:
    """One image after another: `steps` full-batch steps each; one image is timed."""
    single = released_training(
        Case("train", case.model, case.points, case.terms, width=case.width, depth=case.depth), version, device
    )

    def run() -> None:
        for _ in range(case.steps):
            single.run()

    return Program(run, wall=True, notes=["one image after another, without measuring it"])
