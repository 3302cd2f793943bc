"""The pool: what it holds is the image, every tile comes, and it turns as points are drawn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from staf.kinds.image.large.tiles import TilePool, as_signed, as_values


def image(height=50, width=70, dtype=np.uint16):
    return np.arange(height * width * 2, dtype=dtype).reshape(height, width, 2)


def held(pool):
    return sorted({tuple(corner) for corner in pool.corners.tolist()})


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_picked_samples_are_the_images_own(dtype):
    pixels = image(dtype=dtype)
    pool = TilePool(pixels, 3 * 10 * 10 * 2 * pixels.itemsize + 5, "cpu", side=10)
    assert pool.slots == 3
    index = torch.arange(pool.points)
    rows, columns, samples = pool.pick(index)
    expected = as_signed(pixels)[rows.numpy(), columns.numpy()]
    assert np.array_equal(samples.numpy(), expected)
    assert len({(int(r), int(c)) for r, c in zip(rows, columns, strict=True)}) == pool.points


def test_tiles_of_odd_images_cover_them_with_an_overlap_of_a_pixel():
    pixels = image(47, 61)
    pool = TilePool(pixels, 10**6, "cpu", side=10)
    assert pool.slots == len(pool.origins) == 5 * 7
    rows, columns, _ = pool.pick(torch.arange(pool.points))
    counts = np.zeros((47, 61), int)
    np.add.at(counts, (rows.numpy(), columns.numpy()), 1)
    assert counts.min() == 1
    assert (counts > 1).mean() < 0.15
    small = TilePool(image(3, 5), 10**6, "cpu")
    assert (small.tile, small.slots) == ((3, 5), 1)


def test_every_tile_comes_before_one_comes_again():
    pool = TilePool(image(), 4 * 10 * 10 * 4, "cpu", side=10)
    seen = held(pool)
    tile = pool.tile[0] * pool.tile[1]
    while len(seen) < len(pool.origins):
        pool.advance(tile)
        seen.append(tuple(pool.corners[(pool._oldest - 1) % pool.slots].tolist()))
    assert sorted(seen) == sorted(pool.origins)


def test_a_tiles_worth_of_points_replaces_one_tile():
    pool = TilePool(image(), 4 * 10 * 10 * 4, "cpu", side=10)
    before = held(pool)
    for _ in range(9):
        pool.advance(10)
    assert held(pool) == before
    pool.advance(10)
    assert len(set(held(pool)) & set(before)) == 3
    pool.advance(10**9)
    assert not set(held(pool)) & set(before) or len(pool.origins) < 8


def test_a_pool_of_all_tiles_stays():
    pool = TilePool(image(), 10**7, "cpu", side=10)
    before = pool.corners.clone()
    pool.advance(10**6)
    assert torch.equal(pool.corners, before)


def test_the_same_seed_gives_the_same_tiles():
    def walk(seed):
        pool = TilePool(image(), 4 * 10 * 10 * 4, "cpu", side=10, seed=seed)
        pool.advance(700)
        return pool.corners.tolist()

    assert walk(0) == walk(0) != walk(1)


def test_too_little_room_is_refused():
    with pytest.raises(ValueError, match="most_bytes must hold one tile of 400 bytes, got 399"):
        TilePool(image(), 399, "cpu", side=10)


def test_stored_samples_become_values():
    samples = np.array([[0, 1, 65535]], np.uint16)
    found = as_values(torch.from_numpy(as_signed(samples)), samples.dtype)
    assert found.tolist() == [[0.0, np.float32(1 / 65535), 1.0]]
    assert as_values(torch.tensor([255], dtype=torch.uint8), np.dtype(np.uint8)).tolist() == [1.0]
    assert as_values(torch.tensor([-3.5]), np.dtype(np.float32)).tolist() == [-3.5]
