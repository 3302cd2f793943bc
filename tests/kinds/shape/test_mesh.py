from __future__ import annotations

import numpy as np
import pytest

from staf.kinds.shape.mesh import Mesh, checked_mesh, closure
from staf.signals import SignalError
from tests.kinds.solids import box, sphere, together, torus

TRIANGLE = np.array([[0, 1, 2]])


def test_soup_becomes_one_surface():
    whole = torus()
    soup, notes = checked_mesh(whole.corners.reshape(-1, 3), np.arange(3 * len(whole.faces)).reshape(-1, 3))
    assert (len(soup.vertices), len(soup.faces), notes) == (len(whole.vertices), len(whole.faces), [])
    assert closure(soup.faces).rule == "winding"
    assert np.array_equal(soup.corners, whole.corners)


def test_negative_zero_is_zero():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [-0.0, 0, 0], [0, -1, 0]])
    mesh, _ = checked_mesh(vertices, np.array([[0, 1, 2], [3, 4, 1]]))
    assert len(mesh.vertices) == 4


def test_unused_vertices_do_not_count():
    mesh, _ = checked_mesh(np.array([[9.0, 9, 9], [0, 0, 0], [1, 0, 0], [0, 1, 0]]), TRIANGLE + 1)
    assert mesh.bounds[1].tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        (np.zeros((0, 3)), TRIANGLE[:0], "no vertices"),
        (np.eye(3), TRIANGLE[:0], "3 vertices and no faces"),
        (np.eye(3) * np.nan, TRIANGLE, "3 of 3 vertices are NaN"),
        (np.diag([1, 1, np.inf]), TRIANGLE, "1 of 3 vertices are NaN or infinite"),
        (np.eye(3), TRIANGLE + 1, "names vertex 3, and they are numbered from 0 to 2"),
        (np.eye(3), TRIANGLE - 1, "names vertex -1"),
        (np.ones((3, 3)), TRIANGLE, "every face has a repeated corner"),
        (np.array([[0.0, 0, 0], [1, 1, 1], [2, 2, 2]]), TRIANGLE, "every face has zero area"),
        (np.eye(3) * 1e200, TRIANGLE, r"vertices must have coordinates of at most 1e\+32, got 1e\+200: choose another"),
        (np.eye(3) * 1e-200, TRIANGLE, "vertices must spread over at least 1e-32, got 1e-200: choose another unit"),
        (np.eye(3)[:, :2], TRIANGLE, r"shape \(n, 3\)"),
        (np.eye(3), TRIANGLE.astype(float), "whole numbers"),
    ],
)
def test_what_is_no_surface_is_refused(vertices, faces, message):
    with pytest.raises(SignalError, match=message):
        checked_mesh(vertices, faces)


def test_closure_tells_winding_parity_and_open():
    ball = sphere(1)
    assert closure(ball.faces) == ("winding", 120, 0)
    turned = ball.faces.copy()
    turned[7] = turned[7, ::-1]
    assert closure(turned).rule == "parity"
    assert closure(ball.faces[1:]) == ("open", 120, 3)
    assert closure(np.concatenate([ball.faces, ball.faces[:1]])).rule == "open"
    assert closure(together(box(), box(2, 3)).faces).rule == "winding"


def test_normals_point_out_and_areas_add_up():
    ball = sphere(3)
    assert ((ball.face_normals() * ball.corners.mean(1)).sum(1) > 0.9).all()
    assert np.abs(ball.vertex_normals() - ball.vertices).max() < 0.02
    assert ball.areas().sum() == pytest.approx(4 * np.pi, rel=0.01)
    assert box().areas().sum() == 6


def test_the_digest_is_that_of_the_content():
    assert box().digest() == box().digest()
    assert box().digest() != box(0, 2).digest()
    assert Mesh(box().vertices, box().faces[::-1]).digest() != box().digest()
