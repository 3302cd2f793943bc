"""Which cells hold matter: found, forgotten, kept in a checkpoint."""

from __future__ import annotations

import pytest
import torch

from staf.kinds.scene.occupancy import OccupancyGrid, cells_for, occupancy_of

DEVICES = ("cpu", "cuda")


def ball(points):
    return 50.0 * (points.norm(dim=1) < 0.5)


def test_cells_of_a_ball_are_found_and_others_are_not():
    grid = OccupancyGrid(resolution=16, step=0.05)
    assert grid.occupied.all()
    for _ in range(4):
        grid.update(ball)
    centres = (torch.arange(16) + 0.5) / 8 - 1
    radius = torch.stack(torch.meshgrid(centres, centres, centres, indexing="ij")).norm(dim=0)
    assert grid.occupied[radius < 0.4].all()
    assert not grid.occupied[radius > 0.65].any()


def test_matter_that_is_gone_is_forgotten_and_what_is_not_a_number_is_none():
    grid = OccupancyGrid(resolution=8, step=0.05)
    grid.update(ball)
    held = grid.occupied.clone()

    def elsewhere(points):
        return torch.where(points[:, 0] > 0.75, 50.0, torch.nan)

    for _ in range(150):
        grid.update(elsewhere)
    assert not (grid.occupied & held).any()
    assert grid.occupied[-1].all()


def test_parts_look_at_every_cell_in_turn():
    grid = OccupancyGrid(resolution=8, step=0.05, decay=1.0)
    looked = []

    def density(points):
        looked.append(len(points))
        return torch.full((len(points),), 9.0)

    for _ in range(4):
        grid.update(density, parts=4)
    assert looked == [128] * 4
    assert (grid.density == 9).all()


def test_what_is_gone_is_forgotten_as_fast_by_parts():
    """A cell that is looked at at every fourth update forgets as much at that look as at four."""
    grid = OccupancyGrid(resolution=8, step=0.05)
    grid.update(lambda points: torch.full((len(points),), 9.0))
    for _ in range(4):
        grid.update(lambda points: torch.zeros(len(points)), parts=4)
    torch.testing.assert_close(grid.density, torch.full((8, 8, 8), 9.0 * 0.95**4))


def test_a_block_is_looked_at_once_for_all_its_cells():
    grid, looked = OccupancyGrid(resolution=8, step=0.05), []

    def density(points):
        looked.append(points)
        return 10 + points[:, 0].sign() + 2 * points[:, 1].sign() + 4 * points[:, 2].sign()

    grid.update(density, block=4)
    (points,) = looked
    assert len(points) == 8
    found = torch.tensor([3.0, 11, 7, 15, 5, 13, 9, 17]).view(2, 2, 2)
    assert torch.equal(grid.density, found.repeat_interleave(4, 0).repeat_interleave(4, 1).repeat_interleave(4, 2))
    with pytest.raises(ValueError, match="block must divide 8, the cells along a side, got 3"):
        grid.update(density, block=3)


def test_cells_are_a_few_steps_long_where_there_is_time():
    sizes = {
        device: [cells_for(3.4641 / samples, device) for samples in (64, 256, 512, 1024, 4096)] for device in DEVICES
    }
    assert sizes == {"cpu": [16, 64, 64, 64, 64], "cuda": [16, 64, 128, 256, 256]}
    assert OccupancyGrid(step=3.4641 / 256).resolution == 64


def test_a_checkpoint_continues_with_the_same_points():
    grid, other = (OccupancyGrid(resolution=8, step=0.05) for _ in range(2))
    grid.update(lambda points: points[:, 0].abs())
    other.load_tensors({name: tensor.clone() for name, tensor in grid.tensors().items()})
    for each in (grid, other):
        each.update(lambda points: points[:, 1].abs(), parts=2)
    assert torch.equal(grid.density, other.density)
    assert torch.equal(grid.occupied, other.occupied)
    with pytest.raises(ValueError, match="has shape"):
        OccupancyGrid(resolution=4, step=0.05).load_tensors(grid.tensors())


def test_of_a_trained_field_the_neighbours_count_too():
    occupied = occupancy_of(ball, resolution=16, step=0.05, device="cpu").around()
    again = OccupancyGrid(resolution=16, step=0.05)
    again.update(ball)
    assert (occupied | ~again.occupied).all()
    assert occupied.sum() > again.occupied.sum()
