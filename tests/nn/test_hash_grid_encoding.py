"""The hash-grid module: start, options, and what its table tells."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch

from staf import ops
from staf.nn import parameter_roles
from staf.nn.encodings.hash_grid import START, HashGridEncoding


def small(**changes):
    options = {"levels": 3, "log2_entries": 6, "coarsest": 3, "finest": 20, **changes}
    return HashGridEncoding(2, **options, generator=torch.Generator().manual_seed(0))


def test_the_table_starts_small_from_the_generator_and_is_the_only_parameter():
    grid = small()
    assert torch.equal(grid.table, small().table)
    assert float(grid.table.detach().abs().max()) <= START
    assert float(grid.table.detach().std()) == pytest.approx(START / 3**0.5, rel=0.1)
    assert parameter_roles(grid) == {"table": "table"}
    assert grid.out_features == 6
    assert grid.table.shape == (grid.layout.entries, 2)


def test_values_are_those_of_the_operation():
    grid = small(interpolation="smoothstep", proportions=(1.0, 2.0))
    x = torch.rand(9, 2, generator=torch.Generator().manual_seed(1))
    assert torch.equal(grid(x), ops.hash_grid(x, grid.table, grid.layout, interpolation="smoothstep"))
    assert [level.resolution[0] < level.resolution[1] for level in grid.layout.levels] == [True] * 3


def test_under_autocast_features_keep_their_precision():
    grid = small()
    with torch.no_grad():
        grid.table.normal_()
    x = torch.rand(9, 2, generator=torch.Generator().manual_seed(1))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(grid(x), grid(x).float())
    exact = grid.double()(x.double()).float()
    torch.testing.assert_close(grid.float()(x), exact)


def test_levels_are_views_of_the_table():
    grid = small()
    tables = grid.level_tables()
    assert [len(table) for table in tables] == [level.entries for level in grid.layout.levels]
    with torch.no_grad():
        tables[1].zero_()
    first = grid.layout.levels[0].entries
    assert not grid.table[first : first + len(tables[1])].any()


def test_summary_counts_vertices_rows_and_collisions():
    grid = small()
    for level, told in zip(grid.layout.levels, grid.summary(), strict=True):
        vertices = torch.tensor(list(itertools.product(*(range(cells + 1) for cells in level.resolution))))
        rows = (level.row(vertices) - level.offset).tolist()
        counts = [rows.count(row) for row in set(rows)]
        assert told.used == len(counts) / level.entries
        assert told.sharing == pytest.approx(len(rows) / len(counts))
        assert told.collided == pytest.approx(sum(count for count in counts if count > 1) / len(rows))
        assert (told.collided == 0) == level.dense
        assert told.energy == pytest.approx(START**2 / 3, rel=0.4)
        assert told.changed == 0


def test_summary_of_some_points_counts_only_what_they_read():
    grid = small()
    corner = torch.tensor([[-0.99, -0.99], [-0.98, -0.99]])
    coarse = grid.summary(corner)[0]
    assert coarse.used == 4 / 16
    assert coarse.sharing == 1
    trained = copy.deepcopy(grid)
    optimiser = torch.optim.Adam(trained.parameters(), lr=1e-2)
    trained(corner).sum().backward()
    optimiser.step()
    assert trained.summary()[0].changed == 4 / 16
    assert trained.summary()[0].energy > grid.summary()[0].energy


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": 3}, "features must be one of 1, 2, 4, 8, got 3"),
        ({"interpolation": "linaer"}, "did you mean 'linear'"),
        ({"finest": 2}, "finest must be a whole number from 3"),
        ({"levels": 33}, "levels must be a whole number from 1 to 32"),
    ],
)
def test_bad_options_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)
