"""Room for samples: smaller where the last steps needed less, larger where one was cut off, kept in checkpoints."""

from __future__ import annotations

import pytest
import torch

from staf.kinds.scene.room import LEAST, SPARE, Room
from staf.ops.volume_rendering import Samples


def samples(*counts):
    """Rays with so many samples each."""
    count = torch.tensor(counts)
    return Samples(torch.zeros(1), torch.zeros(1), count.cumsum(0) - count, count)


@pytest.mark.parametrize(
    ("needed", "size"),
    [(1600, 1600), (1455, 1600), (1363, 1500), (1090, 1200), (1091, 1300), (600, 700), (10, 300), (0, 1600)],
)
def test_the_smallest_size_with_some_to_spare(needed, size):
    room = Room(1600)
    room.note(samples(needed // 2, needed - needed // 2))
    assert room.fit() == (size != 1600)
    assert room.size == size


def test_the_fullest_step_since_the_last_look_counts():
    room = Room(1600)
    for count in (100, 900, 200):
        room.note(samples(count))
    room.fit()
    assert room.size == 1000
    room.note(samples(200))
    room.fit()
    assert room.size == 100 * LEAST


def test_a_step_that_was_cut_off_gets_a_larger_room():
    room, sizes = Room(1600), []
    room.size = 400
    for _ in range(6):
        room.note(samples(room.size))
        room.fit()
        sizes.append(room.size)
    assert sizes == [500, 700, 900, 1200, 1500, 1600]


def test_steps_that_differ_by_less_than_the_spare_do_not_change_it_twice():
    room, changes = Room(1600), 0
    for count in (720, 700, 725, 720):
        room.note(samples(count))
        changes += room.fit()
    assert changes == 1
    assert room.size == 800 >= SPARE * 695


def test_rooms_of_a_checkpoint_are_checked():
    room, other = Room(1600), Room(1600)
    room.note(samples(500))
    room.fit()
    room.note(samples(321))
    other.load(room.tensors())
    assert (other.size, int(other.needed)) == (600, 321)
    with pytest.raises(ValueError, match="room for 1 to 400 samples, got 600"):
        Room(400).load(room.tensors())
