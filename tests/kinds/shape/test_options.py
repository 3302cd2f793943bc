from __future__ import annotations

import pytest

import staf
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


def test_a_signed_distance_is_repeated_with_the_options_of_its_mesh(tmp_path):
    whole = Shape.sphere(subdivisions=1).mesh
    path = Shape.from_arrays(whole.vertices, whole.faces[3:]).save(tmp_path / "open.ply")
    for given, words in (({"repair": True}, ["--repair"]), ({"allow_open": True, "resolution": 8}, ["--allow-open"])):
        options = Fit(signed_distance=True, **given)
        task, _ = options.problem(options.open(path), seed=3)
        size = ["--resolution", "8"] if "resolution" in given else []
        assert task.signal.view.command_options({"seed": 3}) == ["--signed-distance", *size, *words]
        again = eval(task.signal.view.python({"seed": 3}), {"staf": staf})
        assert (task.signal.array == again.signal.array).all()


def test_voxels_near_the_surface_and_signed_distances_exclude_each_other():
    with pytest.raises(SignalError, match="give one of them"):
        Fit(signed_distance=True, near_surface=0.5).problem(Shape.sphere(subdivisions=1, resolution=8), seed=0)
