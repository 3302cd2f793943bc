from __future__ import annotations

import numpy as np
import pytest

from staf.kinds import Shape
from staf.kinds.shape.mesh import Mesh
from staf.kinds.shape.picture import MOST_MEETING, camera_of, corner_normals, draw, look
from staf.signals import SignalError
from tests.kinds.solids import box, moved, sphere, together, torus


def test_a_ball_is_a_disc_lit_from_above_left():
    picture = draw(sphere(4), size=96).astype(int)
    solid = picture[..., 3] == 255
    assert solid.sum() == pytest.approx(np.pi / 4 * (0.94 * 96 / camera_width()) ** 2, rel=0.03)
    rows, columns = np.nonzero(solid)
    assert (abs(rows.mean() - 47.5), abs(columns.mean() - 47.5)) == pytest.approx((0, 0), abs=0.5)
    bright = picture[..., :3].sum(-1)
    assert bright[30, 36] > 1.5 * bright[66, 60]


def camera_width() -> float:
    """The width of the unit ball's box, 2 a side, seen by the default camera, in diameters of the ball."""
    camera = camera_of(30, 15, "y")
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) @ camera[:2].T
    return float((corners.max(0) - corners.min(0)).max() / 2)


def test_what_is_in_front_is_seen():
    near, far = moved(sphere(2, 0.5), shift=(0, 0, 3)), sphere(2, 1.0)
    pair = together(far, near)
    red = np.repeat([[0.0, 1, 0], [1, 0, 0]], [len(far.vertices), len(near.vertices)], axis=0)
    front = draw(pair, size=64, azimuth=0, elevation=0, colours=red)[32, 32].astype(int)
    back = draw(pair, size=64, azimuth=180, elevation=0, colours=red)[32, 32].astype(int)
    assert front[0] > front[1] + 50
    assert back[1] > back[0] + 50


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_up_is_up(up):
    camera = camera_of(40, 20, up)
    assert np.allclose(camera @ camera.T, np.eye(3))
    assert np.linalg.det(camera) == pytest.approx(1)
    assert camera[1]["xyz".index(up)] == pytest.approx(np.cos(np.radians(20)))
    assert camera[0]["xyz".index(up)] == pytest.approx(0)


def test_the_same_bounds_give_the_same_frame_and_zoom_magnifies():
    ring = torus()
    half = Mesh(ring.vertices, ring.faces[: len(ring.faces) // 4])
    whole, part = (draw(mesh, size=48, bounds=ring.bounds, elevation=60)[..., 3] > 0 for mesh in (ring, half))
    assert (whole & part).sum() == part.sum() > 0
    cube = box(-1, 1)
    one, two = (draw(cube, size=64, zoom=zoom)[..., 3].sum() for zoom in (0.4, 0.8))
    assert two / one == pytest.approx(4, rel=0.03)
    assert draw(cube, size=32, look_at=np.array([50.0, 0, 0])).sum() == 0


def test_a_shape_draws_itself():
    picture = Shape(torus()).picture(40, azimuth=0, elevation=0, up="z")
    assert (picture.shape, picture.out_features) == ((40, 40), 4)
    # From the side a lying torus is a bar; from above it has a hole.
    assert picture.array[20, 20, 3] == 255
    assert picture.array[8, 20, 3] == 0
    assert Shape(torus()).picture(40, azimuth=0, elevation=89, up="z").array[20, 20, 3] == 0
    assert Shape(torus())._repr_png_()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"size": 4}, "size must be at least 8"),
        ({"zoom": 0}, "zoom must be positive"),
        ({"up": "w"}, "up must be"),
        ({"colours": np.zeros((2, 3))}, "colours must have shape"),
    ],
)
def test_what_cannot_be_drawn_is_said(how, message):
    with pytest.raises(SignalError, match=message):
        draw(box(), **how)


def shades(mesh: Mesh) -> np.ndarray:
    """The different normals that are seen of a mesh."""
    normals = look(mesh, size=64, azimuth=40, elevation=35).normals
    assert np.allclose(np.linalg.norm(normals, axis=1), 1)
    return np.unique(normals.round(6), axis=0)


def test_an_edge_is_sharp_and_a_curve_is_smooth():
    assert len(shades(box())) == 3
    assert len(shades(sphere(2))) > 1000
    # The sides of a prism of 40 and its two ends: around the sides it is smooth, along them nothing changes.
    prism = shades(cylinder(40))
    camera = camera_of(40, 35, "y")
    upright = np.abs((prism @ camera)[:, 2])
    assert set(upright.round(4).tolist()) == {0.0, 1.0}
    assert (upright < 0.5).sum() > 100


def test_a_tip_where_many_faces_meet_keeps_their_normals():
    mesh = cylinder(2 * MOST_MEETING)
    tip = mesh.vertices.copy()
    tip[-1, 2] += 3
    cone = Mesh(tip, mesh.faces)
    shown = np.flatnonzero((cone.faces == len(tip) - 1).any(1))
    corner = np.argmax(cone.faces[shown] == len(tip) - 1, axis=1)
    found = corner_normals(cone, shown)[np.arange(len(shown)), corner]
    assert np.allclose(found, cone.face_normals()[shown])


def cylinder(sides: int) -> Mesh:
    """A prism around z from -1 to 1; its last vertex is the middle of the upper end."""
    angle = 2 * np.pi * np.arange(sides) / sides
    ring = np.stack([np.cos(angle), np.sin(angle)], 1)
    low, high = (np.column_stack([ring, np.full(sides, z)]) for z in (-1.0, 1.0))
    a, b = np.arange(sides), np.roll(np.arange(sides), -1)
    ends = 2 * sides, 2 * sides + 1
    faces = [
        (a, b, b + sides),
        (a, b + sides, a + sides),
        (b, a, a * 0 + ends[0]),
        (a + sides, b + sides, a * 0 + ends[1]),
    ]
    vertices = np.concatenate([low, high, [[0, 0, -1.0], [0, 0, 1.0]]])
    return Mesh(vertices, np.concatenate([np.stack(part, 1) for part in faces]))
