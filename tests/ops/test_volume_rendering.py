"""Volume rendering against hand-computed rays, float64 and finite differences; kernels against the formula."""

from __future__ import annotations

import math

import pytest
import torch

from staf.ops import record_backends
from staf.ops.volume_rendering import Samples, blocks, composite, march, ray_box, visible
from staf.ops.volume_rendering.reference import composite_reference, march_reference, visible_reference

COUNTS = (0, 1, 5, 40, 70, 33, 2)


def scene(device="cpu", dtype=torch.float32, counts=COUNTS):
    """Samples of a few rays, some padding behind them, and a background."""
    generator = torch.Generator().manual_seed(0)
    count = torch.tensor(counts)
    size = int(count.sum()) + 9
    density = 3 * torch.rand(size, generator=generator)
    density[3] = 0
    colour = torch.rand(size, 3, generator=generator)
    distance = torch.rand(size, generator=generator).cumsum(0)
    width = 0.1 * torch.rand(size, generator=generator)
    floats = [t.to(device, dtype) for t in (density, colour, distance, width, torch.tensor([1.0, 0.5, 0.2]))]
    return (*floats[:4], (count.cumsum(0) - count).to(device), count.to(device), floats[4])


def test_two_samples_by_hand():
    density, width = torch.tensor([2.0, 3.0]), torch.tensor([0.5, 0.1])
    colour = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    out = composite(
        density, colour, torch.tensor([1.0, 2.0]), width, torch.tensor([0]), torch.tensor([2]), torch.tensor([0.5, 0.5])
    )
    first, second = 1 - math.exp(-1), math.exp(-1) * (1 - math.exp(-0.3))
    left = math.exp(-1.3)
    torch.testing.assert_close(out.colour, torch.tensor([[first + 0.5 * left, second + 0.5 * left]]))
    torch.testing.assert_close(out.opacity, torch.tensor([1 - left]))
    torch.testing.assert_close(out.depth, torch.tensor([first + 2 * second]))


def test_a_ray_without_samples_shows_the_background():
    out = composite(*scene())
    assert out.colour[0].tolist() == pytest.approx([1.0, 0.5, 0.2])
    assert (out.opacity[0].item(), out.depth[0].item()) == (0, 0)


def test_no_rays_and_no_samples():
    none = torch.zeros(0, dtype=torch.long)
    empty = torch.zeros(0)
    out = composite(empty, torch.zeros(0, 3), empty, empty, none, none, torch.ones(3))
    assert out.colour.shape == (0, 3)
    out = composite(empty, torch.zeros(0, 3), empty, empty, none.new_zeros(2), none.new_zeros(2), torch.ones(3))
    assert out.colour.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_stop_leaves_out_what_little_light_reaches():
    whole, stopped = composite(*scene()), composite(*scene(), stop=0.05)
    difference = (whole.colour - stopped.colour).abs().max()
    assert 0 < difference < 0.05


@pytest.mark.parametrize("stop", [0.0, 0.2])
def test_derivatives_of_both_orders(stop):
    *floats, start, count, background = scene(dtype=torch.float64, counts=(0, 1, 4))
    leaves = [t.requires_grad_() for t in (*floats, background)]

    def function(density, colour, distance, width, background):
        return composite(density, colour, distance, width, start, count, background, stop=stop)

    assert torch.autograd.gradcheck(function, leaves)
    assert torch.autograd.gradgradcheck(function, leaves)


def rays(count=200):
    generator = torch.Generator().manual_seed(1)
    origin = torch.randn(count, 3, generator=generator)
    origin = 3 * origin / origin.norm(dim=1, keepdim=True)
    direction = 0.4 * torch.randn(count, 3, generator=generator) - origin
    return origin, direction / direction.norm(dim=1, keepdim=True), torch.rand(count, generator=generator)


def test_rays_enter_and_leave_the_box():
    origin = torch.tensor([[0.0, 0.0, -3.0], [0.0, 0.0, 0.0], [0.0, 0.0, 3.0], [5.0, 0.0, -3.0], [1.0, 0.0, -3.0]])
    direction = torch.tensor([[0.0, 0.0, 1.0]] * 5)
    near, far = ray_box(origin, direction)
    assert near.tolist() == [2, 0, 0, 0, 2]
    assert far.tolist() == [4, 1, 0, 0, 4]


def test_samples_lie_in_occupied_cells_alone():
    origin, direction, offset = rays()
    occupied = torch.rand(8, 7, 9, generator=torch.Generator().manual_seed(2)) > 0.6
    near, far = ray_box(origin, direction)
    found = march(origin, direction, near, far, occupied, step=0.05, budget=20_000, offset=offset)
    used = int(found.samples.sum())
    assert used > 1000
    assert found.distance[used:].eq(0).all()
    points = origin[found.ray[:used]] + found.distance[:used, None] * direction[found.ray[:used]]
    cells = ((points + 1) / 2 * torch.tensor([8, 7, 9])).long()
    assert occupied[tuple(cells.T)].all()
    # Every step that was not taken is in an empty cell: counted by a plain loop over three rays.
    for r in (0, 50, 199):
        expected = 0
        t = near[r] + offset[r] * 0.05
        for k in range(200):
            t = near[r] + (k + offset[r]) * 0.05
            if t < far[r]:
                cell = ((origin[r] + t * direction[r] + 1) / 2 * torch.tensor([8, 7, 9])).long()
                expected += int(occupied[tuple(cell)])
        assert int(found.samples[r]) == expected


def test_the_budget_cuts_the_last_rays():
    origin, direction, offset = rays()
    occupied = torch.ones(4, 4, 4, dtype=torch.bool)
    limits = ray_box(origin, direction)
    whole = march(origin, direction, *limits, occupied, step=0.05, budget=50_000, offset=offset)
    cut = march(origin, direction, *limits, occupied, step=0.05, budget=500, offset=offset)
    assert int(cut.samples.sum()) == 500
    assert torch.equal(cut.distance, whole.distance[:500])
    assert (cut.start + cut.samples <= 500).all()


@pytest.mark.parametrize(
    ("shape", "step", "share"),
    [((16, 16, 16), 0.05, 0.5), ((64, 64, 64), 0.01, 0.03), ((9, 30, 17), 0.05, 0.3), ((4, 4, 4), 0.7, 1.0)],
)
@pytest.mark.parametrize("budget", [60_000, 700])
def test_blocks_of_rays_find_what_the_formula_finds(shape, step, share, budget):
    origin, direction, offset = rays(600)
    occupied = torch.rand(shape, generator=torch.Generator().manual_seed(5)) < share
    limits = ray_box(origin, direction)
    expected = march_reference(origin, direction, *limits, occupied, step, budget, offset)
    for ours, exact in zip(
        blocks.march(origin, direction, *limits, occupied, step, budget, offset), expected, strict=True
    ):
        assert torch.equal(ours, exact)
    with record_backends() as ran:
        march(origin, direction, *limits, occupied, step=step, budget=budget, offset=offset)
    assert ran == [("march", "loop")]


def test_visible_samples_are_the_first_of_each_ray():
    """Optical depth 2 a sample: exp(-2 i) of the light reaches sample i, and less than 1e-3 the fifth."""
    distance = torch.arange(12.0)
    samples = Samples(distance, torch.tensor([0] * 8 + [2] * 4), torch.tensor([0, 8, 8]), torch.tensor([8, 0, 4]))
    density, width = torch.full((12,), 4.0), torch.full((12,), 0.5)
    found = visible(samples, density, width, stop=1e-3, budget=12)
    assert found.samples.tolist() == [4, 0, 4]
    assert found.start.tolist() == [0, 4, 4]
    assert found.distance.tolist() == [0, 1, 2, 3, 8, 9, 10, 11, 0, 0, 0, 0]
    assert found.ray.tolist() == [0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 0, 0]
    cut = visible(samples, density, width, stop=1e-3, budget=6)
    assert (cut.samples.tolist(), cut.start.tolist()) == ([4, 0, 2], [0, 4, 4])
    assert cut.distance.tolist() == [0, 1, 2, 3, 8, 9]


def test_what_is_not_visible_changes_little():
    density, colour, distance, width, start, count, background = scene()
    samples = Samples(distance, torch.zeros(len(distance), dtype=torch.long), start, count)
    whole = composite(density, colour, distance, width, start, count, background)
    found = visible(samples, 20 * density, width, stop=1e-3, budget=len(distance))
    assert int(found.samples.sum()) < int(count.sum())
    kept = composite(20 * density, colour, distance, width, start, found.samples, background)
    whole = composite(20 * density, colour, distance, width, start, count, background)
    assert (whole.colour - kept.colour).abs().max() < 2e-3


@pytest.mark.gpu
def test_visible_samples_on_a_gpu():
    origin, direction, offset = (t.cuda() for t in rays(1000))
    occupied = torch.ones(8, 8, 8, dtype=torch.bool, device="cuda")
    found = march(origin, direction, *ray_box(origin, direction), occupied, step=0.02, budget=200_000, offset=offset)
    density = 40 * torch.rand(200_000, generator=torch.Generator().manual_seed(0)).cuda()
    width = torch.full_like(density, 0.02)
    for budget in (100_000, 3000):
        with record_backends() as ran:
            ours = visible(found, density, width, stop=1e-3, budget=budget)
        assert ran == [("visible", "triton")]
        expected = visible_reference(density, width, *found, 1e-3, budget)
        # The share of light at the border may be rounded to either side.
        assert (ours.samples - expected[3]).abs().sum() <= 4
        if torch.equal(ours.samples, expected[3]):
            assert all(torch.equal(one, other) for one, other in zip(ours, expected, strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize("stop", [0.0, 1e-2])
def test_the_kernel_and_its_gradients(stop, poisoned):
    *floats, start, count, background = scene("cuda")
    leaves = [t.requires_grad_() for t in (*floats, background)]
    with record_backends() as ran:
        out = composite(*leaves[:4], start, count, leaves[4], stop=stop)
        first = torch.autograd.grad(sum(o.square().sum() for o in out), leaves)
    assert set(ran) == {("composite", "triton")}
    *floats, start, count, background = scene(dtype=torch.float64)
    leaves = [t.requires_grad_() for t in (*floats, background)]
    expected = composite(*leaves[:4], start, count, leaves[4], stop=stop)
    exact = torch.autograd.grad(sum(o.square().sum() for o in expected), leaves)
    for ours, other in zip([*out, *first], [*expected, *exact], strict=True):
        assert (ours.double().cpu() - other).norm() <= 2e-5 * other.norm() + 1e-7


@pytest.mark.gpu
@pytest.mark.parametrize("stop", [0.0, 1e-2])
def test_derivatives_of_the_kernels_derivatives(stop):
    results = []
    for dtype in (torch.float32, torch.float64):
        *floats, start, count, background = scene("cuda", dtype)
        leaves = [t.requires_grad_() for t in (*floats, background)]
        out = composite(*leaves[:4], start, count, leaves[4], stop=stop)
        first = torch.autograd.grad(sum(o.square().sum() for o in out), leaves, create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), leaves)
        results.append([*first, *second])
    for ours, exact in zip(*results, strict=True):
        assert (ours.double() - exact).norm() <= 2e-5 * exact.norm() + 1e-7


@pytest.mark.gpu
def test_marching_on_a_gpu_finds_the_same_samples():
    origin, direction, offset = (t.cuda() for t in rays(1000))
    occupied = (torch.rand(16, 16, 16, generator=torch.Generator().manual_seed(2)) > 0.6).cuda()
    limits = ray_box(origin, direction)
    for budget in (200_000, 5000):
        with record_backends() as ran:
            found = march(origin, direction, *limits, occupied, step=0.02, budget=budget, offset=offset)
        assert ("march", "triton") in ran
        expected = march_reference(origin, direction, *limits, occupied, 0.02, budget, offset)
        # A sample on the border of two cells may be rounded into either.
        assert (found.samples - expected[3]).abs().sum() <= 4
        if torch.equal(found.samples, expected[3]):
            torch.testing.assert_close(found.distance, expected[0])
            assert torch.equal(found.ray, expected[1])


@pytest.mark.gpu
def test_a_captured_march_and_composite_replays():
    origin, direction, offset = (t.cuda() for t in rays(256))
    occupied = torch.ones(8, 8, 8, dtype=torch.bool, device="cuda")
    limits = ray_box(origin, direction)
    background = torch.ones(3, device="cuda")

    def step():
        s = march(origin, direction, *limits, occupied, step=0.05, budget=16384, offset=offset)
        density = s.distance * 0 + 1
        colour = torch.stack([s.distance] * 3, -1)
        return composite(density, colour, s.distance, torch.full_like(s.distance, 0.05), s.start, s.samples, background)

    expected = step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = step()
    graph.replay()
    torch.testing.assert_close(out.colour, expected.colour)
    distance, _, start, count = march(origin, direction, *limits, occupied, step=0.05, budget=16384, offset=offset)
    width = torch.full_like(distance, 0.05)
    colour = torch.stack([distance] * 3, -1)
    again = composite_reference(torch.ones_like(distance), colour, distance, width, start, count, background)
    torch.testing.assert_close(out.colour, again[0], atol=1e-5, rtol=1e-5)
