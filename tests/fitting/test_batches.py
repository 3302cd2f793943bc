from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from staf.fitting.batches import Batches


@settings(deadline=None, max_examples=30)
@given(points=st.integers(2, 60), size=st.integers(1, 59), seed=st.integers(0, 5))
def test_an_epoch_visits_every_point_once_and_weights_add_up(points, size, seed):
    size = min(size, points - 1)
    batches = Batches(points, size, torch.Generator().manual_seed(seed))
    for _ in range(2):
        seen = []
        for _ in range(batches.per_epoch):
            index, weight = batches.next()
            assert index.shape == weight.shape == (size,)
            torch.testing.assert_close(weight.sum(), torch.tensor(1.0))
            seen += index[weight > 0].tolist()
        assert sorted(seen) == list(range(points))


def test_epochs_differ_and_the_seed_repeats_them():
    orders = [Batches(50, 49, torch.Generator().manual_seed(s)).next()[0] for s in (0, 0, 1)]
    assert torch.equal(orders[0], orders[1])
    assert not torch.equal(orders[0], orders[2])


def test_state_in_mid_epoch_and_at_its_end_continues_with_the_same_batches():
    for taken in range(9):
        batches = Batches(10, 3, torch.Generator().manual_seed(0))
        for _ in range(taken):
            batches.next()
        state = batches.state()
        other = Batches(10, 3, torch.Generator().manual_seed(99))
        other.load_state(*state)
        for _ in range(6):
            assert torch.equal(batches.next()[0], other.next()[0])


def test_full_batches_have_no_index():
    assert Batches(10, 10, torch.Generator()).next() == (None, None)
