"""Batches without a permutation: one point a run, all points equally often, the same again from a saved state."""

from __future__ import annotations

import pytest
import torch

from staf.training.jittered_batches import JitteredBatches


def drawn(points, size, count, seed=0):
    batches = JitteredBatches(points, size, torch.Generator().manual_seed(seed))
    index, weight = torch.zeros(count, size, dtype=torch.long), torch.zeros(count, size)
    batches.fill(index, weight)
    return index, weight


def test_each_batch_has_one_point_of_every_run():
    index, weight = drawn(1000, 64, 50)
    runs = (index.double() + 0.5) * 64 / 1000
    assert ((runs.floor().long() - torch.arange(64)).abs() <= 1).all()
    assert (index[:, 1:] >= index[:, :-1]).all()
    assert torch.allclose(weight.sum(1), torch.ones(50))


def test_every_point_is_drawn_equally_often():
    for points, size in ((10, 3), (7, 7), (1000, 64)):
        index, _ = drawn(points, size, 4000)
        counts = torch.bincount(index.flatten(), minlength=points).double()
        expected = 4000 * size / points
        assert (counts - expected).abs().max() < 6 * expected**0.5


def test_huge_numbers_of_points_cost_nothing():
    index, _ = drawn(2**40, 1024, 2)
    assert int(index.min()) >= 0
    assert int(index.max()) < 2**40
    assert int(index[0, -1]) > 2**40 - 2**31


def test_a_saved_state_continues():
    batches = JitteredBatches(100, 10, torch.Generator().manual_seed(1))
    index, weight = torch.zeros(3, 10, dtype=torch.long), torch.zeros(3, 10)
    batches.fill(index, weight)
    state = batches.state()
    batches.fill(index, weight)
    expected = index.clone()
    other = JitteredBatches(100, 10, torch.Generator().manual_seed(2))
    other.load_state(*state)
    other.fill(index, weight)
    assert torch.equal(index, expected)
    assert not batches.full


def test_whoever_asks_is_told_how_many_points_were_drawn():
    told = []
    batches = JitteredBatches(100, 10, torch.Generator().manual_seed(1), told.append)
    batches.fill(torch.zeros(3, 10, dtype=torch.long), torch.zeros(3, 10))
    assert told == [30]


@pytest.mark.parametrize("size", [0, 11])
def test_sizes_beyond_the_points_are_refused(size):
    with pytest.raises(ValueError, match="size must be from 1 to the 10 points"):
        JitteredBatches(10, size, torch.Generator())
