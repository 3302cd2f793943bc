"""The page's own meshing, run by Node: shapes that end with their box are closed there, and stay round."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from staf.viewer.page import asset

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no Node")

COUNT, VOXELS = 48, 12
# Values of a ball as a field learns them of voxels: nothing tells it to end beyond the outermost ones.
PROGRAM = """
const run = (job) => { for (;;) { const {done, value} = job.next(); if (done) return value; } };
const [count, voxels, radius, rounding] = process.argv.slice(2).map(Number);
const grid = new PaddedGrid([count, count, count]);
const held = (i) => Math.min(Math.abs((2 * i + 1) / count - 1), 1 - 1 / voxels);
for (let i = 0; i < count; i++) for (let j = 0; j < count; j++) for (let k = 0; k < count; k++) {
  grid.values[grid.at(i, j, k)] = 0.5 * Math.tanh(2 * voxels * (radius - Math.hypot(held(i), held(j), held(k))));
}
if (rounding) run(rounded(grid, [voxels, voxels, voxels], -0.5));
grid.close();
const {vertices, triangles} = run(surfaceNets(grid));
console.log(JSON.stringify([[...vertices], [...triangles]]));
"""


def meshed(radius: float, *, rounding: bool, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices in the cube [-1, 1], and triangles."""
    program = folder / "mesh.js"
    program.write_text("const CPU = 'cpu';\n" + asset("mesh.js") + asset("rounding.js") + PROGRAM)
    words = ["node", str(program), str(COUNT), str(VOXELS), str(radius), str(int(rounding))]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    vertices, triangles = json.loads(told)
    return (2 * np.array(vertices).reshape(-1, 3) + 1) / COUNT - 1, np.array(triangles).reshape(-1, 3)


def flat_share(vertices: np.ndarray) -> float:
    """Vertices in the six planes that are furthest out."""
    away = np.abs(vertices).max(1)
    return float((away > away.max() - 1e-3).mean())


def test_the_ends_of_a_ball_of_few_voxels_are_round(tmp_path: Path):
    cut, _ = meshed(1.0, rounding=False, folder=tmp_path)
    vertices, triangles = meshed(1.0, rounding=True, folder=tmp_path)
    assert flat_share(cut) > 0.08
    assert flat_share(vertices) < 0.02
    radius = np.linalg.norm(vertices, axis=1)
    assert np.abs(radius - 1).max() < 0.35 * 2 / VOXELS
    assert closed(triangles)


def test_a_shape_within_its_box_is_left_alone(tmp_path: Path):
    apart = [meshed(0.8, rounding=rounding, folder=tmp_path)[0] for rounding in (False, True)]
    assert np.array_equal(*apart)


def test_a_shape_that_fills_its_box_is_closed_where_the_box_ends(tmp_path: Path):
    vertices, triangles = meshed(3.0, rounding=True, folder=tmp_path)
    assert closed(triangles)
    assert np.abs(vertices).max() == pytest.approx(1, abs=0.01)
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    # The cube, whose edges are a little round.
    assert 7.4 < np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 < 8.01


def closed(triangles: np.ndarray) -> bool:
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    return bool((np.unique(edges, axis=0, return_counts=True)[1] == 2).all())
