from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from staf.training.batches import Batches


def take(batches, count):
    index = torch.zeros(count, batches.size, dtype=torch.long)
    weight = torch.zeros(count, batches.size)
    batches.fill(index, weight)
    return index, weight


@settings(deadline=None, max_examples=30)
@given(points=st.integers(2, 60), size=st.integers(1, 59), seed=st.integers(0, 5))
def test_an_epoch_visits_every_point_once_and_weights_add_up(points, size, seed):
    size = min(size, points - 1)
    batches = Batches(points, size, torch.Generator().manual_seed(seed))
    for _ in range(2):
        seen = []
        for index, weight in zip(*take(batches, batches.per_epoch), strict=True):
            torch.testing.assert_close(weight.sum(), torch.tensor(1.0))
            seen += index[weight > 0].tolist()
        assert sorted(seen) == list(range(points))


def test_epochs_differ_and_the_seed_repeats_them():
    orders = [take(Batches(50, 49, torch.Generator().manual_seed(s)), 1)[0] for s in (0, 0, 1)]
    assert torch.equal(orders[0], orders[1])
    assert not torch.equal(orders[0], orders[2])


def test_state_in_mid_epoch_and_at_its_end_continues_with_the_same_batches():
    for taken in range(9):
        batches = Batches(10, 3, torch.Generator().manual_seed(0))
        take(batches, taken)
        state = batches.state()
        other = Batches(10, 3, torch.Generator().manual_seed(99))
        other.load_state(*state)
        assert torch.equal(take(batches, 6)[0], take(other, 6)[0])


def test_groups_of_any_size_give_the_same_batches():
    one, many = (Batches(10, 3, torch.Generator().manual_seed(0)) for _ in range(2))
    singles = torch.cat([take(one, 1)[0] for _ in range(11)])
    groups = torch.cat([take(many, k)[0] for k in (2, 5, 4)])
    assert torch.equal(singles, groups)


def test_a_batch_of_all_points_is_full():
    assert Batches(10, 10, torch.Generator()).full
    assert not Batches(10, 9, torch.Generator()).full
