"""Volumes that are fitted by some rays at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import staf
from staf.kinds import Grid
from staf.operators import cone_beam, parallel_beam
from staf.tasks.ray_batches import RayTomography
from staf.tasks.tomography import Tomography
from tests.tasks.test_tomography import slice_of_discs, turns


def volume(size: int) -> tuple[Grid, object]:
    z, y, x = torch.meshgrid(*[torch.linspace(-1, 1, size)] * 3, indexing="ij")
    ball = torch.sigmoid((0.6 - (z**2 + y**2 + x**2).sqrt()) * size / 3)
    scanner = cone_beam(
        (size,) * 3, turns(4, 2 * math.pi), source_distance=3.0 * size, detector_distance=1.5 * size,
        detectors=(size, size), detector_size=2.0, spacing=1.0,
    )  # fmt: skip
    return Grid(0.02 * ball.numpy(), channels=False), scanner


def test_the_integrals_are_those_of_the_operator_and_the_loss_is_that_of_the_whole_grid():
    truth, scanner = volume(12)

    def smooth(x: torch.Tensor) -> torch.Tensor:
        return 0.5 + 0.2 * x.sum(-1, keepdim=True)

    by_rays, whole = (kind.simulated(truth, scanner) for kind in (RayTomography, Tomography))
    torch.testing.assert_close(by_rays.observed_by(smooth), whole.observed_by(smooth), rtol=1e-2, atol=0.1)
    everything = by_rays.batch(None)
    assert float(everything.weight.sum()) == pytest.approx(1, rel=1e-4)
    own = float(by_rays.loss(smooth, everything))
    hits = len(by_rays.rays) / math.prod(scanner.output_shape)
    scale = (whole._length / by_rays._length) ** 2 / hits
    assert own == pytest.approx(float(whole.loss(smooth, whole.batch(None))) * scale, rel=0.02)


def test_a_step_on_a_large_volume_sees_the_places_along_its_rays_alone():
    truth, scanner = volume(48)
    task = RayTomography.simulated(truth, scanner, held_out=0.25, generator=torch.Generator().manual_seed(0))
    seen: list[int] = []

    class Watched(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.append(len(x))
            assert float(x.abs().max()) < 1.01
            return self.inner(x)

    plan = staf.plan(task)
    assert plan.recipe.batch * task.ray_samples <= 2**13
    assert "so that memory is bounded" in plan.reasons["batch"]
    assert plan.field_factory.arguments["omega0"] < 20
    field = Watched()
    task.loss(field, task.batch(torch.arange(plan.recipe.batch))).backward()
    assert max(seen) == plan.recipe.batch * task.ray_samples < truth.points / 10
    assert math.isfinite(task.held_out_error(field))
    assert max(seen) <= 2**18


def test_a_slice_is_fitted_ray_by_ray():
    truth = slice_of_discs(16)
    scanner = parallel_beam((16, 16), turns(12, math.pi), step=1.0)
    draw = torch.Generator().manual_seed(0)
    task = RayTomography.simulated(truth, scanner, held_out=0.1, generator=draw)
    field = staf.siren(2, 1, width=24, depth=2, omega0=5.0, generator=draw)
    recipe = staf.recipes.default(batch=64).replace(rate=3e-3, matrix_rate=3e-3)
    fit = staf.fit(task, field=field, recipe=recipe, steps=80, progress=False)
    assert fit.metrics["psnr"] > 14
    assert task.held_out_error(fit.module) < 0.2 * float(task.observation.square().mean())


class Asked(TorchDispatchMode):
    """What a step may not do where it is recorded: read a number from the device, or bring one to it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("kind", [Tomography, RayTomography])
def test_a_step_asks_the_device_for_nothing(kind):
    operator = parallel_beam((12, 12), torch.arange(6) * math.pi / 6)
    task = kind.simulated(Grid(np.ones((12, 12), np.float32)), operator)
    field, batch = staf.siren(2, 1, width=8, depth=2), None if kind is Tomography else torch.arange(5)
    task.loss(field, task.batch(batch)).backward()
    with Asked() as asked:
        task.loss(field, task.batch(batch)).backward()
    assert len(asked.names) > 20
    assert not [name for name in asked.names if name.startswith(("_local_scalar_dense", "lift_fresh", "item"))]
