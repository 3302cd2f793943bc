"""Scanned objects: classical reconstructions with floors, and the task of a field."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import staf
from staf.kinds import Grid
from staf.operators import Beam, cone_beam, fan_beam, parallel_beam
from staf.tasks.classical import measured
from staf.tasks.inverse_classical import inverse_candidates
from staf.tasks.returned import returned_inverse
from staf.tasks.tomography import Tomography, estimated_range, held_out_views
from staf.tasks.tomography_classical import filtered_backprojection


def slice_of_discs(size: int = 32) -> Grid:
    """Water with two insets, in millimetres, softened at the edges."""
    y, x = np.mgrid[0:size, 0:size] / (size - 1) * 2 - 1

    def disc(cy: float, cx: float, radius: float) -> np.ndarray:
        return 1 / (1 + np.exp((np.hypot(y - cy, x - cx) - radius) * size / 2))

    return Grid((0.02 * disc(0, 0, 0.75) + 0.02 * disc(-0.3, 0.1, 0.2) - 0.01 * disc(0.3, -0.2, 0.2)).astype("f4"))


def turns(count: int, span: float) -> torch.Tensor:
    return torch.arange(count, dtype=torch.float64) * span / count


FAN = {"source_distance": 90.0, "detector_distance": 60.0, "detectors": 88, "detector_size": 1.2}
SCANNERS = {
    "parallel, half a turn": parallel_beam((32, 32), turns(45, math.pi)),
    "parallel, a whole turn": parallel_beam((32, 32), turns(45, 2 * math.pi)),
    "fan": fan_beam((32, 32), turns(45, 2 * math.pi), **FAN),
}


@pytest.mark.parametrize("scanner", SCANNERS.values(), ids=list(SCANNERS))
def test_backprojection_has_the_right_units(scanner):
    truth = slice_of_discs()
    values = truth.values().T.reshape(1, 32, 32)
    everything = torch.ones(scanner.output_shape, dtype=torch.bool)
    found = filtered_backprojection(scanner, scanner.A(values), everything)
    assert -10 * math.log10(float((found - values).square().mean()) / 0.04**2) > 30
    assert float(found.mean() / values.mean()) == pytest.approx(1, abs=0.05)


def test_views_that_are_not_seen_have_no_part_in_a_backprojection():
    scanner = SCANNERS["parallel, half a turn"]
    values = slice_of_discs().values().T.reshape(1, 32, 32)
    sinogram = scanner.A(values)
    seen = torch.ones(scanner.output_shape, dtype=torch.bool)
    seen[::3] = False
    wrong = torch.where(seen, sinogram, 99.0)
    found = filtered_backprojection(scanner, wrong, seen)
    assert -10 * math.log10(float((found - values).square().mean()) / 0.04**2) > 27


def test_feldkamp_finds_a_ball_of_voxels_that_are_no_cubes():
    spacing = (2.0, 1.0, 1.0)
    z, y, x = (torch.arange(n) - (n - 1) / 2 for n in (8, 20, 20))
    ball = ((z[:, None, None] * 2) ** 2 + y[:, None] ** 2 + x**2 < 36).float()[None]
    scanner = cone_beam(
        (8, 20, 20), turns(40, 2 * math.pi), source_distance=80.0, detector_distance=40.0, detectors=(20, 34),
        detector_size=1.5, spacing=spacing,
    )  # fmt: skip
    everything = torch.ones(scanner.output_shape, dtype=torch.bool)
    found = filtered_backprojection(scanner, scanner.A(ball), everything)
    inside = (z[:, None, None] * 2) ** 2 + y[:, None] ** 2 + x**2 < 16
    assert float(found[0][inside].mean()) == pytest.approx(1, abs=0.06)
    assert float((found - ball).square().mean()) < 0.02


def test_few_views_with_noise_every_classical_method_has_a_floor():
    draw = torch.Generator().manual_seed(0)
    task = Tomography.simulated(
        slice_of_discs(), parallel_beam((32, 32), turns(24, math.pi)), photons=1e5, held_out=0.1, generator=draw
    )
    found = {name: measured(task, of.values)["psnr"] for name, of in inverse_candidates(task).items()}
    assert list(found) == ["SART with total variation", "filtered backprojection"]
    assert found["filtered backprojection"] > 24
    assert found["SART with total variation"] > 28


def test_a_field_is_fitted_to_a_sinogram_and_the_better_result_is_returned():
    truth = slice_of_discs(24)
    scanner = parallel_beam((24, 24), turns(20, math.pi))
    draw = torch.Generator().manual_seed(0)
    sinogram = scanner.A(truth.values().reshape(24, 24))
    signal = Grid.blank((24, 24), estimated_range(scanner, sinogram))
    assert 0.035 < signal.value_range[1] < 0.055
    task = Tomography(signal, scanner, sinogram, held_out=0.1, generator=draw)
    fit = staf.fit(task, field=staf.siren(2, 1, width=32, depth=2, omega0=6.0), steps=60, progress=False)
    field = signal.render(fit.field.predict).values() - truth.values()
    assert -10 * math.log10(float(field.square().mean()) / 0.04**2) > 14
    choice = returned_inverse(task, fit.module)
    error = task.transform.values(choice.values) - truth.values()
    assert -10 * math.log10(float(error.square().mean()) / 0.04**2) > 27
    assert fit.field.metadata["task"] == "tomography"


def test_noise_that_cancels_along_rays_is_not_taken_for_a_good_result():
    truth = slice_of_discs(32)
    draw = torch.Generator().manual_seed(0)
    task = Tomography.simulated(truth, parallel_beam((32, 32), turns(40, math.pi)), held_out=0.2, generator=draw)
    exact = task.transform.fitted(truth.values()).reshape(32, 32)
    dark = 0.92 * exact
    noisy = exact + 0.05 * torch.randn(32, 32, generator=draw)

    def looked_up(values: torch.Tensor):
        return lambda x: values[tuple(((x + 1) * 16).long().clamp(0, 31).T)][:, None]

    def plain(values: torch.Tensor) -> float:
        error = task.observed_by(looked_up(values)) - task.observation
        return float(error.flatten(1)[:, task.held_out_index].square().mean())

    of_result = [float((values - exact).square().mean()) for values in (dark, noisy)]
    assert of_result[1] > 1.3 * of_result[0]
    assert plain(noisy) < plain(dark), "rays alone would prefer the noise"
    judged = [task.held_out_error(looked_up(values)) for values in (dark, noisy)]
    assert judged[1] > 1.1 * judged[0]
    # In the units of the result; interpolation between cells takes half of the noise away.
    assert all(0.3 < found / error < 1.3 for found, error in zip(judged, of_result, strict=True))


def test_a_fit_is_measured_at_many_points_at_once():
    scanner = parallel_beam((16, 16), turns(6, math.pi))
    calls: list[int] = []
    field = staf.siren(2, 1, width=8, depth=2)
    field.register_forward_pre_hook(lambda module, inputs: calls.append(len(inputs[0])))
    staf.fit(Tomography.simulated(slice_of_discs(16), scanner), field=field, steps=2, progress=False)
    assert len(calls) < 20
    assert max(calls) == 256


def test_views_are_held_out_whole():
    held, fitted = held_out_views((10, 4), 0.2, torch.Generator().manual_seed(0))
    assert sorted(torch.cat([held, fitted]).tolist()) == list(range(40))
    assert len(held) == 8
    assert len(set((held // 4).tolist())) == 2
    with pytest.raises(ValueError, match=r"held_out must be a share of the views in \[0, 1\), got 1"):
        held_out_views((10, 4), 1.0, None)
    with pytest.raises(ValueError, match="generator must be given"):
        held_out_views((10, 4), 0.1, None)


def test_a_view_stands_for_its_share_of_half_a_turn():
    assert Beam(turns(10, math.pi), 1.0).step == pytest.approx(math.pi / 10)
    assert Beam(turns(10, 2 * math.pi), 1.0).step == pytest.approx(math.pi / 10)
    assert Beam(turns(10, math.pi / 2), 1.0).step == pytest.approx(math.pi / 20), "a limited angle is not stretched"


def test_mistakes_are_named():
    scanner = parallel_beam((8, 8), turns(4, math.pi))
    with pytest.raises(ValueError, match="generator must be given to draw photons"):
        Tomography.simulated(slice_of_discs(8), scanner, photons=10)
    with pytest.raises(ValueError, match="must show something that attenuates"):
        estimated_range(scanner, torch.zeros(scanner.output_shape))
