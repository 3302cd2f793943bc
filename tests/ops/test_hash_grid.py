"""The grid's values: cells computed by hand, every backend against the formula, odd and huge sizes, bad arguments."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from staf import ops
from staf.ops import GridLayout, hash_grid
from staf.ops.hash_grid import cpu, loop
from staf.ops.hash_grid.layout import PRIMES, level_table
from staf.ops.hash_grid.reference import hash_grid_reference


def small(dimensions: int, levels: int = 3, log2_entries: int = 6) -> GridLayout:
    """Some levels dense, some hashed, with sides of different lengths."""
    sides = [1 + 0.4 * k for k in range(dimensions)]
    return GridLayout.geometric(
        dimensions, levels=levels, log2_entries=log2_entries, coarsest=3, growth=2.3, proportions=sides
    )


def drawn(layout, networks, points, features, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(networks, points, layout.dimensions, generator=generator) * 2.2 - 1.1
    others = ((layout.entries, features), (points, layout.dimensions), (points, len(layout.levels) * features))
    return [x.to(dtype), *(torch.randn(networks, *shape, generator=generator).to(dtype) for shape in others)]


def test_a_dense_cell_by_hand():
    layout = GridLayout.geometric(2, levels=1, coarsest=2, growth=1.0)
    table = torch.arange(9.0)[:, None] ** 2
    # Row 0.75 of 2 cells, column 1.2: the corners are vertices (0, 1), (0, 2), (1, 1), (1, 2), rows 1, 2, 4, 5.
    x = torch.tensor([[-0.25, 0.2]])
    expected = 0.25 * (0.8 * 1 + 0.2 * 4) + 0.75 * (0.8 * 16 + 0.2 * 25)
    assert hash_grid(x, table, layout).item() == pytest.approx(expected, rel=1e-6)
    s, t = 0.75**2 * (3 - 1.5), 0.2**2 * (3 - 0.4)
    smooth = (1 - s) * ((1 - t) * 1 + t * 4) + s * ((1 - t) * 16 + t * 25)
    assert hash_grid(x, table, layout, interpolation="smoothstep").item() == pytest.approx(smooth, rel=1e-6)


def test_a_hashed_cell_by_hand():
    layout = GridLayout.geometric(3, levels=1, log2_entries=8, coarsest=100, growth=1.0)
    assert not layout.levels[0].dense
    table = torch.randn(256, 2, generator=torch.Generator().manual_seed(0))
    x = torch.tensor([[0.013, -0.721, 0.5]])
    position = [(v + 1) * 50 for v in x[0].tolist()]
    expected = torch.zeros(2)
    for corner in itertools.product((0, 1), repeat=3):
        weight, row = 1.0, 0
        for p, bit, prime in zip(position, corner, reversed(PRIMES[:3]), strict=True):
            weight *= p % 1 if bit else 1 - p % 1
            row ^= (math.floor(p) + bit) * prime
        expected += weight * table[row % 256]
    torch.testing.assert_close(hash_grid(x, table, layout)[0], expected, rtol=1e-5, atol=1e-5)


def test_values_at_vertices_are_the_tables_own():
    layout = GridLayout.geometric(2, levels=1, coarsest=4, growth=1.0)
    table = torch.randn(25, 4, generator=torch.Generator().manual_seed(0))
    line = torch.linspace(-1, 1, 5)
    x = torch.stack(torch.meshgrid(line, line, indexing="ij"), dim=-1)
    for interpolation in ("linear", "smoothstep"):
        torch.testing.assert_close(hash_grid(x, table, layout, interpolation=interpolation), table.view(5, 5, 4))


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
@pytest.mark.parametrize("features", [1, 2, 4, 8])
def test_every_cpu_backend_equals_the_formula(cpu_backend, dimensions, features, poisoned):
    layout = small(dimensions)
    for networks, points in ((1, 1), (3, 701)):
        x, table, *_ = drawn(layout, networks, points, features)
        for interpolation in ("linear", "smoothstep"):
            with ops.backend(cpu_backend), ops.record_backends() as ran:
                found = hash_grid(x, table, layout, interpolation=interpolation)
            assert ran == [("hash_grid", cpu_backend)]
            smooth = interpolation == "smoothstep"
            expected = hash_grid_reference(x.double(), table.double(), layout, smooth)
            assert (found - expected).abs().max() < 1e-5


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_compiled_sums_equal_the_loops(dimensions, cpu_backend, poisoned):
    if cpu_backend == "loop":
        pytest.skip("the loop is what is compared with")
    layout = small(dimensions)
    for features, smooth, directed in itertools.product((1, 2, 4, 8), (False, True), (False, True)):
        x, table, v, grad = drawn(layout, 2, 601, features)
        exact = [tensor.double() for tensor in (x, table, v, grad)]
        along, exact_along = (v, exact[2]) if directed else (None, None)
        for found, expected in (
            (cpu.gather(x, table, along, layout, smooth), loop.gather(*exact[:2], exact_along, layout, smooth)),
            (
                cpu.slope(grad, x, table, along, layout, smooth),
                loop.slope(exact[3], *exact[:2], exact_along, layout, smooth),
            ),
            (
                cpu.scatter(grad, x, along, layout, smooth),
                loop.scatter(exact[3], exact[0], exact_along, layout, smooth),
            ),
        ):
            assert (found - expected).abs().max() <= 2e-5 * expected.abs().max()


def test_no_result_depends_on_the_number_of_threads():
    layout = small(2, levels=5)
    x, table, v, grad = drawn(layout, 1, 20_000, 2)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            results.append((cpu.gather(x, table, v, layout, True), cpu.scatter(grad, x, None, layout, True)))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_points_outside_have_the_borders_value_and_no_slope(cpu_backend):
    layout = small(2)
    table = drawn(layout, 1, 1, 2)[1][0].requires_grad_()
    x = torch.tensor([[-3.0, 0.3], [1e30, -0.2], [0.1, float("inf")]], requires_grad=True)
    border = torch.tensor([[-1.0, 0.3], [1.0, -0.2], [0.1, 1.0]])
    with ops.backend(cpu_backend):
        found = hash_grid(x, table, layout)
        assert torch.equal(found, hash_grid(border, table, layout))
        (slope,) = torch.autograd.grad(found.sum(), x)
    assert slope[[0, 1, 2], [0, 0, 1]].tolist() == [0, 0, 0]
    assert (slope[[0, 1, 2], [1, 1, 0]] != 0).all()


def test_what_is_not_a_number_stays_so_and_reads_no_foreign_memory(cpu_backend):
    layout = small(3)
    table = drawn(layout, 1, 1, 2)[1][0]
    x = torch.full((2, 3), 0.2)
    x[1, 1] = float("nan")
    with ops.backend(cpu_backend):
        found = hash_grid(x, table, layout)
    assert found[0].isfinite().all()
    assert found[1].isnan().all()


def test_empty_odd_shaped_and_strided_inputs(cpu_backend):
    layout = small(2)
    table = drawn(layout, 1, 1, 2)[1][0].requires_grad_()
    with ops.backend(cpu_backend):
        assert hash_grid(torch.zeros(0, 2), table, layout).shape == (0, 6)
        assert hash_grid(torch.zeros(4, 0, 2), table, layout).shape == (4, 0, 6)
        hash_grid(torch.zeros(0, 2), table, layout).sum().backward()
        assert table.grad is not None
        assert not table.grad.any()
        one = hash_grid(torch.tensor([0.1, -0.4]), table, layout)
        assert one.shape == (6,)
        wide = torch.rand(7, 5, 4, generator=torch.Generator().manual_seed(0))
        strided = wide[..., ::2].transpose(0, 1)
        assert torch.equal(hash_grid(strided, table, layout), hash_grid(strided.contiguous(), table, layout))


def test_a_table_of_many_millions_of_entries(cpu_backend):
    layout = GridLayout.geometric(2, levels=2, log2_entries=23, coarsest=2000, finest=2**20)
    assert [level.dense for level in layout.levels] == [True, False]
    assert layout.entries > 2**23
    table = torch.arange(layout.entries, dtype=torch.float32)[:, None]
    x = torch.tensor([[0.99999, -0.3], [-0.7, 0.25]])
    with ops.backend(cpu_backend):
        found = hash_grid(x, table, layout)
    expected = hash_grid_reference(x.double()[None], table.double()[None], layout, False)[0]
    assert ((found - expected).abs() / expected).max() < 0.2
    assert (found[:, 0] - expected[:, 0]).abs().max() < 300


def test_a_batch_of_grids_is_one_after_another(cpu_backend):
    layout = small(2)
    x, table, *_ = drawn(layout, 4, 31, 2)
    with ops.backend(cpu_backend):
        together = hash_grid(x, table, layout)
        for network in range(4):
            assert torch.equal(together[network], hash_grid(x[network], table[network], layout))


def test_layout_counts_and_resolutions_of_the_paper():
    layout = GridLayout.geometric(2, levels=16, log2_entries=19, coarsest=16, finest=3072)
    assert [layout.levels[0].resolution, layout.levels[-1].resolution] == [(16, 16), (3072, 3072)]
    assert layout.finest == 3072
    assert all(level.dense == (level.vertices <= 2**19) for level in layout.levels)
    assert all(level.entries == min(level.vertices, 2**19) for level in layout.levels)
    offsets = [level.offset for level in layout.levels]
    assert offsets == [sum(level.entries for level in layout.levels[:i]) for i in range(16)]
    assert level_table(layout, torch.device("cpu")).shape == (16, 7)


def test_rows_of_a_dense_level_are_all_different_and_those_of_a_hashed_one_within_its_table():
    layout = small(3)
    for level in layout.levels:
        axes = [torch.arange(cells + 1) for cells in level.resolution]
        rows = level.row(torch.stack(torch.meshgrid(*axes, indexing="ij"), dim=-1).reshape(-1, 3)) - level.offset
        assert int(rows.min()) >= 0
        assert int(rows.max()) < level.entries
        assert (len(rows.unique()) == len(rows)) == level.dense


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimensions": 5}, "dimensions must be a whole number from 1 to 4, got 5"),
        ({"levels": 0}, "levels must be a whole number from 1 to 32, got 0"),
        ({"log2_entries": 29}, "log2_entries must be a whole number from 1 to 28, got 29"),
        ({"coarsest": 0}, "coarsest must be a whole number"),
        ({"growth": 0.5}, "growth must be a number of at least 1, got 0.5"),
        ({"growth": None}, "give growth or finest"),
        ({"finest": 8}, "give growth or finest"),
        ({"proportions": (1.0,)}, "proportions must be 2 positive numbers"),
        ({"growth": 100.0, "levels": 16}, "more than 16,777,216"),
    ],
)
def test_bad_layouts_are_refused(change, message):
    arguments = {"dimensions": 2, "levels": 2, "log2_entries": 4, "coarsest": 4, "growth": 2.0, **change}
    with pytest.raises(ValueError, match=message):
        GridLayout.geometric(arguments.pop("dimensions"), **arguments)


@pytest.mark.parametrize(
    ("x", "table", "options", "error", "message"),
    [
        (torch.zeros(3, 3), None, {}, ValueError, "x must have last dimension 2"),
        (torch.zeros(3, 2, dtype=torch.float16), None, {}, TypeError, "x must be float32 or float64"),
        (None, torch.zeros(7, 2), {}, ValueError, "table must have shape"),
        (None, torch.zeros(50, 3), {}, ValueError, "with 1, 2, 4, 8 features"),
        (None, torch.zeros(50, 2, dtype=torch.float64), {}, TypeError, "table must have the dtype of x"),
        (None, torch.zeros(4, 50, 2), {}, ValueError, "with 4 networks"),
        (None, None, {"interpolation": "cubic"}, ValueError, "interpolation must be one of linear, smoothstep"),
        (None, None, {"unmixed": "ignore"}, ValueError, "unmixed must be"),
    ],
)
def test_bad_arguments_are_refused(x, table, options, error, message):
    layout = GridLayout.geometric(2, levels=2, log2_entries=10, coarsest=4, growth=1.0)
    with pytest.raises(error, match=message):
        hash_grid(
            torch.zeros(3, 2) if x is None else x, torch.zeros(50, 2) if table is None else table, layout, **options
        )


def test_half_precision_coordinates_are_promoted_inside_autocast_alone():
    layout = small(2)
    table = drawn(layout, 1, 1, 2)[1][0]
    x = torch.zeros(3, 2, dtype=torch.bfloat16)
    with pytest.raises(TypeError, match="x must be float32"):
        hash_grid(x, table, layout)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert hash_grid(x, table, layout).dtype == torch.float32
