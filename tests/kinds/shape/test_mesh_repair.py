from __future__ import annotations

import numpy as np
import pytest

from staf.kinds.shape.mesh import Mesh, closure
from staf.kinds.shape.mesh_repair import repaired
from tests.kinds.solids import box, sphere, torus, volume_of


def test_holes_are_closed_the_right_way_round():
    ball = sphere(2)
    around = ball.corners.mean(1)
    holed = Mesh(ball.vertices, ball.faces[(around[:, 2] < 0.8) & (around[:, 0] > -0.9)])
    assert closure(holed.faces).rule == "open"
    whole, notes = repaired(holed)
    assert closure(whole.faces).rule == "winding"
    assert notes[0].startswith("2 holes were closed with")
    assert 0.85 < volume_of(whole) / volume_of(ball) < 1


def test_holes_that_touch_in_a_vertex_are_closed():
    ball = sphere(1)
    at = np.flatnonzero((ball.faces == 20).any(1))
    chosen = [at[0], next(f for f in at if len(set(ball.faces[f]) & set(ball.faces[at[0]])) == 1)]
    whole, _ = repaired(Mesh(ball.vertices, np.delete(ball.faces, chosen, axis=0)))
    assert closure(whole.faces).rule == "winding"
    assert volume_of(whole) == pytest.approx(volume_of(ball), rel=0.01)


def test_seams_are_welded():
    ring = torus()
    soup = ring.corners.reshape(-1, 3) + np.random.default_rng(0).uniform(-1e-8, 1e-8, (3 * len(ring.faces), 3))
    whole, notes = repaired(Mesh(soup, np.arange(len(soup)).reshape(-1, 3)))
    assert closure(whole.faces).rule == "winding"
    assert len(whole.faces) == len(ring.faces)
    assert "merged" in notes[0]


def test_repeated_faces_are_dropped():
    cube = box()
    whole, notes = repaired(Mesh(cube.vertices, np.concatenate([cube.faces, cube.faces[:2]])))
    assert (len(whole.faces), notes) == (12, ["2 repeated faces were dropped"])


def test_a_fin_and_a_turned_face_are_closed_too():
    ball = sphere(1)
    turned = ball.faces[1:].copy()
    turned[5] = turned[5, ::-1]
    vertices = np.vstack([ball.vertices, [[0, 0, 3]]])
    fin = [[ball.faces[30, 0], ball.faces[30, 1], len(ball.vertices)]]
    whole, _ = repaired(Mesh(vertices, np.vstack([turned, fin])))
    assert closure(whole.faces).rule == "winding"
    assert volume_of(whole) == pytest.approx(volume_of(ball), rel=0.01)
