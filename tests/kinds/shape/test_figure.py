from __future__ import annotations

import numpy as np
import pytest

from staf.kinds import Shape
from staf.kinds.shape.figure import Viewpoint, shape_comparison, shape_picture
from tests.kinds.solids import moved, sphere, torus


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_every_reconstruction_has_a_column_and_errors_share_a_scale(tmp_path):
    target = Shape(sphere(3), resolution=32)
    wrong = Shape(moved(sphere(3), 1.25), resolution=32)
    figure = shape_comparison(target, {"right": target, "wrong": wrong}, pixels=64, view=Viewpoint(up="z"))
    figure.savefig(tmp_path / "a.png")
    assert [axes.get_title() for axes in figure.axes[:3]] == ["target", "right", "wrong"]
    right, wrong_errors = (np.asarray(figure.axes[k].images[0].get_array()).astype(int) for k in (7, 8))
    # Pale yellow where the surface is right, dark red a quarter of the radius away.
    assert right[32, 32, 1] > 150
    assert wrong_errors[32, 32, 1] < 80
    # A quarter of the radius is 4 of the 32 voxels of the diameter.
    assert figure.axes[-1].get_xlim()[1] == pytest.approx(4.0, rel=0.02)


def test_the_close_view_is_where_they_differ():
    target = Shape(torus(around=48, across=24), resolution=24)
    bump = target.mesh.vertices.copy()
    chosen = np.linalg.norm(bump - (1.4, 0, 0), axis=1) < 0.4
    bump[chosen] *= 1.2
    bumped = Shape(target.mesh._replace(vertices=bump), resolution=24)
    figure = shape_comparison(target, {"bump": bumped}, pixels=96, view=Viewpoint(azimuth=0, elevation=80))
    whole, close = (
        [np.asarray(figure.axes[k].images[0].get_array()).astype(int) for k in pair] for pair in ((0, 1), (2, 3))
    )
    difference = [np.abs(first - second).mean() for first, second in (whole, close)]
    assert difference[1] > 4 * difference[0]


def test_pictures_are_on_white():
    assert shape_picture(sphere(2), pixels=24)[0, 0].tolist() == [255, 255, 255]
    with pytest.raises(ValueError, match="at least one shape"):
        shape_comparison(Shape(sphere(1)), {})
