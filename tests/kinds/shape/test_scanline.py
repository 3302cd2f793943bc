from __future__ import annotations

import numpy as np
import pytest

from staf.kinds.shape import scanline


def covered(corners: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    count = np.zeros((len(corners), *shape), int)
    for hit in scanline.hits(corners, shape):
        np.add.at(count, (hit.triangle, hit.row, hit.column), 1)
    return count


def test_random_triangles_cover_the_samples_inside_them():
    random = np.random.default_rng(0)
    corners = random.uniform(-4, 20, (300, 3, 2))
    count = covered(corners, (16, 13))
    rows, columns = np.mgrid[:16, :13] + 0.5
    points = np.stack([rows, columns], -1)
    a, b, c = (corners[:, None, None, k] for k in range(3))
    cross = lambda u, v: u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]  # noqa: E731
    sides = np.stack([cross(q - p, points - p) for p, q in ((a, b), (b, c), (c, a))])
    expected = (sides > 0).all(0) | (sides < 0).all(0)
    assert np.array_equal(count, expected.astype(int))


def test_weights_give_back_the_position():
    corners = np.random.default_rng(1).uniform(0, 16, (50, 3, 2))
    for hit in scanline.hits(corners, (16, 16)):
        assert hit.weights.sum(1) == pytest.approx(1)
        position = (hit.weights[:, :, None] * corners[hit.triangle]).sum(1)
        assert np.abs(position - np.stack([hit.row, hit.column], 1) - 0.5).max() < 1e-4


def test_samples_on_edges_and_corners_belong_to_one_triangle():
    # A fan around the sample (4.5, 4.5) whose spokes run through other samples too.
    ring = np.array([[0.5, 0.5], [0.5, 4.5], [0.5, 8.5], [4.5, 8.5], [8.5, 8.5], [8.5, 4.5], [8.5, 0.5], [4.5, 0.5]])
    fan = np.array([[[4.5, 4.5], ring[k], ring[(k + 1) % 8]] for k in range(8)])
    total = covered(fan, (10, 10)).sum(0)
    assert (total[1:8, 1:8] == 1).all()
    assert total.max() == 1
    # The shift by (e, e^2) lets the square keep its low edges and lose its high ones.
    assert total.sum() == 64
    assert np.array_equal(total, covered(fan[:, ::-1], (10, 10)).sum(0))


def test_chunks_change_nothing(monkeypatch):
    corners = np.random.default_rng(2).uniform(0, 30, (40, 3, 2))
    whole = covered(corners, (30, 30))
    monkeypatch.setattr(scanline, "PAIRS", 7)
    assert np.array_equal(covered(corners, (30, 30)), whole)
    assert len(list(scanline.hits(corners, (30, 30)))) > 10


def test_the_lattice_fits_in_64_bits():
    for longest in (1, 2, 511, 512, 2048):
        assert (longest * scanline.lattice_step(longest)) ** 2 * 2 < 2**63
    assert scanline.lattice_step(511) == 2**20
