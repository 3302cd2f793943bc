from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.spatial import KDTree
from skimage.measure import marching_cubes

from staf.kinds.shape.marching import TooManyFaces, _padded, march
from staf.kinds.shape.mesh import closure
from tests.kinds.solids import volume_of


def ball(size: int = 24, radius: float = 0.7) -> np.ndarray:
    axis = np.linspace(-1, 1, size)
    distance = np.sqrt(sum(part**2 for part in np.meshgrid(axis, axis, axis, indexing="ij")))
    return (0.5 + radius - distance).astype(np.float32)


@pytest.mark.parametrize("slab", [1, 2000, 10**9])
@pytest.mark.parametrize("kind", ["smooth", "noise", "bits"])
def test_slabs_join_to_the_surface_of_the_whole(slab, kind):
    random = np.random.default_rng(0)
    noise = random.random((15, 16, 17)).astype(np.float32)
    volume = {"smooth": ball(), "noise": noise, "bits": (noise > 0.6).astype(np.float32)}[kind]
    # No sample within the clearance of the level, so that both march the same numbers.
    volume = np.where(np.abs(volume - 0.5) < 1e-3, np.float32(0.498), volume)
    mesh = march(volume, slab_samples=slab)
    assert closure(mesh.faces).rule == "winding"
    vertices, faces, _, _ = marching_cubes(np.stack(list(_padded(volume, 0.5))), 0.5)
    assert (len(mesh.vertices), len(mesh.faces)) == (len(vertices), len(faces))
    for first, second in ((mesh.vertices, vertices - 1), (vertices - 1, mesh.vertices)):
        assert KDTree(first).query(second)[0].max() < 1e-3


def test_faces_look_out_and_the_place_is_right():
    mesh = march(ball())
    spacing = 2 / 23
    assert volume_of(mesh) * spacing**3 == pytest.approx(4 / 3 * np.pi * 0.7**3, rel=0.01)
    assert np.linalg.norm(mesh.vertices * spacing - 1, axis=1) == pytest.approx(0.7, abs=2e-3)


def test_a_shape_at_the_edge_is_closed_at_the_edge_of_the_box():
    mesh = march(np.full((3, 4, 5), 0.9, np.float32))
    assert closure(mesh.faces).rule == "winding"
    assert (mesh.vertices.min(0).tolist(), mesh.vertices.max(0).tolist()) == ([-0.5] * 3, [2.5, 3.5, 4.5])


def test_values_that_fall_towards_the_edge_close_before_it():
    """A slanted field, whose surface lies a quarter of a sample beyond the last plane."""
    heights = np.array([1.0, 1.0, 0.9, 0.6], np.float32)
    for axis in range(3):
        volume = np.moveaxis(np.broadcast_to(heights[:, None, None], (4, 5, 6)), 0, axis)
        mesh = march(volume)
        assert mesh.vertices[:, axis].max() == pytest.approx(3 + 1 / 3, abs=0.01)
        assert mesh.vertices[:, axis].min() == -0.5
        assert closure(mesh.faces).rule == "winding"


def test_no_surface_is_none():
    assert march(np.zeros((3, 3, 3), np.float32)) is None
    assert march(iter(())) is None


def test_samples_at_the_level_leave_it_closed():
    volume = np.zeros((8, 8, 8), np.float32)
    volume[2:6, 2:6, 2:6] = 1
    volume[2:6, 2:6, 1] = 0.5
    volume[3, 3:6, 3:6] = 0.5
    for slab in (100, 10**9):
        mesh = march(volume, slab_samples=slab)
        assert closure(mesh.faces).watertight


def test_noise_is_given_up():
    noise = np.random.default_rng(0).random((30, 30, 30)).astype(np.float32)
    with pytest.raises(TooManyFaces, match=r"over 5,000 faces, .* fit it longer, or lower the resolution"):
        march(noise, slab_samples=3000, max_faces=5000)


def test_memory_follows_the_slabs_and_not_the_volume():
    """400 planes of 128 x 128 are 26 MB of floats; a slab of 16 planes is 1 MB."""
    rows = np.linspace(-1, 1, 128, dtype=np.float32)
    disc = (0.9 - np.hypot(rows[:, None], rows[None])).astype(np.float32)
    march(disc[None], slab_samples=2**18)
    tracemalloc.start()
    mesh = march((disc for _ in range(400)), slab_samples=2**18)
    peak = tracemalloc.get_traced_memory()[1] - mesh.vertices.nbytes - mesh.faces.nbytes
    tracemalloc.stop()
    assert len(mesh.vertices) > 50_000
    assert peak < 16 * 2**20
