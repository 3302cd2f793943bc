from __future__ import annotations

import pytest

from staf.kinds import Shape
from staf.kinds.cloud.task import SignedDistance
from staf.kinds.shape.options import Fit
from staf.signals.errors import SignalError


def test_the_signed_distance_is_fitted_to_points_of_the_mesh():
    ball = Shape.sphere(subdivisions=1, resolution=8)
    task, said = Fit(signed_distance=True).problem(ball, seed=3)
    assert isinstance(task, SignedDistance)
    assert said == f"the signed distance is fitted to {task.signal.count:,} points on the mesh"
    again, _ = Fit(signed_distance=True).problem(ball, seed=3)
    assert (task.signal.array == again.signal.array).all()
    assert task.signal.resolution == 128
    small, _ = Fit(signed_distance=True, resolution=24).problem(ball, seed=3)
    assert small.signal.resolution == 24


def test_voxels_near_the_surface_and_signed_distances_exclude_each_other():
    with pytest.raises(SignalError, match="give one of them"):
        Fit(signed_distance=True, near_surface=0.5).problem(Shape.sphere(subdivisions=1, resolution=8), seed=0)
