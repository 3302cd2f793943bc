"""Photos on a device: all of them, or as many as fit, in turn."""

from __future__ import annotations

import torch

from staf.kinds.scene.photos import PhotoPool


def photos(count: int) -> torch.Tensor:
    return torch.arange(count, dtype=torch.uint8)[:, None, None, None].expand(count, 2, 3, 4).contiguous()


def test_all_photos_fit_by_default():
    pool = PhotoPool(photos(5))
    assert not pool.rotating
    assert pool.view.tolist() == [0, 1, 2, 3, 4]
    pool.rotate()
    assert pool.turns == 0
    assert pool.at(torch.tensor([3]), torch.tensor([5])).tolist() == [[3, 3, 3, 3]]


def test_every_photo_has_its_turn_and_slots_hold_what_they_say():
    pool = PhotoPool(photos(7), most_bytes=3 * 24, seed=4)
    assert len(pool) == 3
    seen = set(pool.view.tolist())
    for _ in range(4):
        pool.rotate()
        seen |= set(pool.view.tolist())
        assert len(set(pool.view.tolist())) == 3
        assert pool.pixels[:, 0, 0, 0].tolist() == pool.view.tolist()
    assert seen == set(range(7))


def test_a_resumed_pool_holds_what_it_held():
    for turns in range(12):
        walked, jumped = (PhotoPool(photos(5), most_bytes=2 * 24, seed=1) for _ in range(2))
        for _ in range(turns):
            walked.rotate()
        jumped.turn_to(turns)
        assert jumped.view.tolist() == walked.view.tolist()
        assert torch.equal(jumped.pixels, walked.pixels)
        walked.rotate()
        jumped.rotate()
        assert jumped.view.tolist() == walked.view.tolist()


def test_one_photo_is_kept_even_if_it_is_too_large():
    assert len(PhotoPool(photos(2), most_bytes=1)) == 1
