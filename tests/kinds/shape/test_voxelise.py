from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from staf.kinds.shape.mesh import Mesh, closure
from staf.kinds.shape.voxelise import grid_of, voxelise
from staf.kinds.shape.winding import winding_numbers
from staf.signals import SignalError
from tests.kinds.solids import box, moved, sphere, together, torus, volume_of

SHAPE = (20, 22, 18)
CENTRES = np.stack(np.meshgrid(*(np.arange(size) + 0.5 for size in SHAPE), indexing="ij"), -1).reshape(-1, 3)


def tilted(mesh: Mesh) -> Mesh:
    rotation, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    return Mesh(mesh.vertices @ rotation.T, mesh.faces)


def cavity() -> Mesh:
    inner = sphere(2, 3.0)
    return together(sphere(2, 6.0), Mesh(inner.vertices, inner.faces[:, ::-1]))


SOLIDS = {
    "sphere": moved(sphere(2, 7.0), shift=(10, 11, 9)),
    "torus": moved(tilted(torus()), 5.5, (10, 11, 9)),
    "cavity": moved(cavity(), shift=(10, 11, 9)),
    "overlapping": together(moved(sphere(2, 5.0), shift=(8, 11, 9)), moved(sphere(2, 5.0), shift=(12.3, 11, 9))),
    "inside out": Mesh(moved(sphere(2, 7.0), shift=(10, 11, 9)).vertices, sphere(2).faces[:, ::-1]),
    "beyond the grid": moved(sphere(2, 14.0), shift=(10, 11, 9)),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_scanline_equals_winding_numbers(name):
    mesh = SOLIDS[name]
    assert closure(mesh.faces).rule == "winding"
    numbers = winding_numbers(mesh, CENTRES)
    assert np.abs(numbers - numbers.round()).max() < 1e-6
    assert np.array_equal(voxelise(mesh, SHAPE).array().ravel(), numbers.round() != 0)


@pytest.mark.parametrize("name", ["sphere", "torus", "cavity"])
def test_parity_needs_no_orientation(name):
    mesh = SOLIDS[name]
    turned = mesh.faces.copy()
    turned[::3] = turned[::3, ::-1]
    parity = voxelise(Mesh(mesh.vertices, turned), SHAPE, "parity")
    assert np.array_equal(parity.bits, voxelise(mesh, SHAPE).bits)


@pytest.mark.parametrize("name", ["sphere", "torus", "overlapping"])
def test_refining_near_the_surface_gives_the_same_voxels(name):
    mesh = SOLIDS[name]
    assert np.mean(voxelise(mesh, SHAPE, "open").array() != voxelise(mesh, SHAPE).array()) < 1e-3


def test_an_open_surface_is_filled_where_its_winding_number_is_over_one_half():
    ball = SOLIDS["sphere"]
    bowl = Mesh(ball.vertices, ball.faces[ball.corners[:, :, 2].mean(1) < 13])
    assert closure(bowl.faces).rule == "open"
    numbers = np.abs(winding_numbers(bowl, CENTRES))
    clear = np.abs(numbers - 0.5) > 0.01
    found = voxelise(bowl, SHAPE, "open").array().ravel()
    assert np.array_equal(found[clear], numbers[clear] > 0.5)
    assert 0.7 < found.sum() / volume_of(ball) < 1


def test_faces_through_samples_leave_no_streak():
    """Every face and edge of the box passes exactly through samples; the count is that of a half-open box."""
    volume = voxelise(moved(box(), 8, (2.5, 2.5, 2.5)), (14, 14, 14)).array()
    assert volume.sum() == 8**3
    assert volume.any((1, 2)).sum() == volume.any((0, 2)).sum() == volume.any((0, 1)).sum() == 8


def test_volume_converges_to_the_exact_one():
    mesh = moved(tilted(torus()), 40, (64, 64, 64))
    assert voxelise(mesh, (128, 128, 128)).count() == pytest.approx(volume_of(mesh), rel=2e-3)


def test_limits():
    with pytest.raises(SignalError, match="1 to 2048 voxels"):
        voxelise(box(), (4096, 1, 1))
    for resolution in (1, 0, -3, True, 2.5, 4096):
        with pytest.raises(SignalError, match="resolution must be"):
            grid_of(box(), resolution)


def test_a_hundred_thousand_faces_at_512_fit_in_time_and_memory():
    code = """
import time
from staf.kinds import Shape
from tests.peak_memory import peak_mebibytes
from tests.kinds.solids import torus
shape = Shape(torus(around=250, across=200), resolution=512)
before, start = peak_mebibytes(), time.perf_counter()
volume, _ = shape._voxelised()
print(len(shape.mesh.faces), volume.shape, volume.count())
print(time.perf_counter() - start, (peak_mebibytes() - before) / 2**10)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    first, second = done.stdout.splitlines()
    assert first.startswith("100000 (512, 512, 146)")
    volume = volume_of(torus(around=250, across=200)) * (256 / 1.4) ** 3
    assert int(first.split()[-1]) == pytest.approx(volume, rel=1e-3)
    seconds, gigabytes = (float(word) for word in second.split())
    assert seconds < 90
    assert gigabytes < 1
