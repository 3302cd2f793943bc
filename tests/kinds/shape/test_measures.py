from __future__ import annotations

import numpy as np
import pytest

from staf.kinds.shape.measures import distances, surface_measures, surface_points
from staf.kinds.shape.mesh import Mesh
from tests.kinds.solids import box, moved, sphere, torus


def test_equal_surfaces_are_zero_apart():
    for mesh in (torus(), box()):
        measures = surface_measures(mesh, Mesh(mesh.vertices, mesh.faces[::-1]), samples=3000)
        assert measures["chamfer"] < 1e-12
        assert measures["normal_consistency"] > 0.99


def test_distances_are_squared_and_added():
    apart = surface_measures(sphere(4), sphere(4, 1.05), samples=4000)
    assert apart["chamfer"] == pytest.approx(2 * 0.05**2, rel=0.02)
    assert surface_measures(moved(sphere(3), 10), moved(sphere(3, 1.05), 10), samples=2000)["chamfer"] == pytest.approx(
        100 * surface_measures(sphere(3), sphere(3, 1.05), samples=2000)["chamfer"], rel=1e-3
    )


def test_both_directions_count():
    """A second ball that only one surface has is far from the other in one direction."""
    one = sphere(2)
    far = moved(sphere(2), shift=(10, 0, 0))
    both = Mesh(
        np.concatenate([one.vertices, far.vertices]), np.concatenate([one.faces, far.faces + len(one.vertices)])
    )
    first, second = (surface_measures(a, b, samples=2000)["chamfer"] for a, b in ((one, both), (both, one)))
    assert first == pytest.approx(second, rel=0.02)
    assert first > 20


def test_directions_are_compared():
    stairs = box()
    ball = sphere(3, 0.6)
    crooked = surface_measures(moved(stairs, shift=(-0.5, -0.5, -0.5)), ball, samples=3000)["normal_consistency"]
    assert 0.5 < crooked < 0.97


def test_points_are_spread_by_area():
    points, face = surface_points(box(), 6000, np.random.default_rng(0))
    assert np.bincount(face // 2, minlength=6).tolist() == pytest.approx([1000] * 6, abs=2)
    assert distances(points, box())[0].max() < 1e-12
    assert np.abs(points.mean(0) - 0.5).max() < 0.02
