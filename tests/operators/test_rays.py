"""Integrals along rays of known pictures and volumes."""

from __future__ import annotations

import math

import pytest
import torch

from staf.operators import RayIntegrals, cone_beam, fan_beam, parallel_beam


def disc(size, radius, spacing=1.0):
    axis = (torch.arange(size, dtype=torch.float64) - (size - 1) / 2) * spacing
    return (axis[:, None] ** 2 + axis[None, :] ** 2 <= radius**2).double()


def test_a_disc_from_every_side_has_its_chords():
    spacing, radius = 0.1, 3.0
    beam = parallel_beam((96, 96), torch.linspace(0, math.pi, 7)[:-1], spacing=spacing, detectors=91)
    found = beam.A(disc(96, radius, spacing))
    across = (torch.arange(91, dtype=torch.float64) - 45) * spacing
    chords = 2 * (radius**2 - across**2).clamp(min=0).sqrt()
    assert found.shape == (6, 91)
    assert (found - chords).abs().max() < 0.6
    assert (found - chords).abs().mean() < 0.06


def test_mass_is_kept_at_every_angle():
    picture = torch.rand(20, 30, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sums = parallel_beam((20, 30), torch.tensor([0.0, 0.3, 1.0, 2.5]), detectors=40, step=0.25).A(picture).sum(1)
    torch.testing.assert_close(sums, picture.sum().expand(4), rtol=0.02, atol=0)


def test_angle_zero_sums_columns_and_a_quarter_turn_rows():
    picture = torch.rand(8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    beam = parallel_beam((8, 8), torch.tensor([0.0, math.pi / 2]), detectors=8, step=0.05)
    found = beam.A(picture)
    torch.testing.assert_close(found[0], picture.sum(0), rtol=1e-2, atol=0)
    torch.testing.assert_close(found[1], picture.sum(1).flip(0), rtol=1e-2, atol=0)


def test_a_far_source_sees_what_parallel_rays_see():
    picture = disc(32, 9.0) + disc(32, 4.0)
    angles = torch.tensor([0.0, 0.7])
    parallel = parallel_beam((32, 32), angles, detectors=33).A(picture)
    fan = fan_beam((32, 32), angles, source_distance=1e5, detector_distance=100.0, detectors=33, detector_size=1.0).A(
        picture
    )
    assert (parallel - fan).abs().max() < 0.2


def test_a_ball_in_a_cone():
    axis = torch.arange(24, dtype=torch.float64) - 11.5
    ball = (axis[:, None, None] ** 2 + axis[None, :, None] ** 2 + axis[None, None, :] ** 2 <= 64).double()
    beam = cone_beam(
        (24, 24, 24),
        torch.tensor([0.0, 0.5, 2.0]),
        source_distance=60.0,
        detector_distance=30.0,
        detectors=(9, 11),
        detector_size=4.0,
    )
    found = beam.A(ball)
    assert found.shape == (3, 9, 11)
    # The middle ray passes through the whole ball, and all directions see the same.
    torch.testing.assert_close(found[:, 4, 5], torch.full((3,), 16.0, dtype=torch.float64), atol=0.8, rtol=0)
    assert (found - found.mean(0)).abs().max() < 1.2


def test_rays_that_miss_are_zero():
    operator = RayIntegrals((4, 4), torch.tensor([[10.0, 10.0]]), torch.tensor([[1.0, 0.0]]))
    assert operator.A(torch.ones(4, 4)).tolist() == [0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spacing": -1.0}, "spacing must be positive"),
        ({"step": 0.0}, "step must be positive, got 0.0"),
        ({"origin": torch.zeros(2, 3)}, "origin and direction must have shape"),
        ({"output_shape": (5,)}, "output_shape must hold 2 rays"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    given = {"shape": (4, 4), "origin": torch.zeros(2, 2), "direction": torch.ones(2, 2)} | change
    with pytest.raises(ValueError, match=message):
        RayIntegrals(**given)


def test_kept_weights_and_weights_computed_each_time_agree(monkeypatch):
    beam = parallel_beam((9, 7), torch.tensor([0.1, 1.0, 2.0]))
    x, y = torch.rand(2, 9, 7, dtype=torch.float64), torch.rand(2, *beam.output_shape, dtype=torch.float64)
    assert beam.tabulated
    kept = beam.A(x), beam.A_adjoint(y)
    monkeypatch.setattr("staf.operators.rays.MOST_WEIGHTS", {})
    assert not beam.tabulated
    torch.testing.assert_close(kept, (beam.A(x), beam.A_adjoint(y)))


def test_subsets_are_all_rays_once():
    beam = parallel_beam((6, 6), torch.linspace(0, 3, 7))
    x = torch.rand(6, 6)
    whole = beam.A(x).flatten()
    parts = beam.subsets(3)
    assert sorted(torch.cat([of for of, _ in parts]).tolist()) == list(range(len(whole)))
    for of, part in parts:
        torch.testing.assert_close(part.A(x), whole[of])
    assert len(beam.subsets(20)) == 7
