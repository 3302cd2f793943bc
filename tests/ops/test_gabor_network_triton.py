"""WIRE's network on a GPU: kernels against torch's operations, passes against the formula in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from staf import ops
from staf.nn import Wire
from staf.ops.gabor_network import gabor_network, plain, products
from staf.ops.gabor_network.plain import Wave
from staf.ops.linear import product_precision
from tests.ops.test_gabor_network import OMEGA0, SIGMA0, drawn, formula, layered, leaves, relative

# Of values, and of gradients: sines are off by 7e-7, and layers make errors larger, several times each.
TOLERANCE = {"bf16x3": (3e-5, 1e-4), "tf32": (1e-2, 2e-2)}

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("maps", [1, 2])
@pytest.mark.parametrize(("networks", "points", "size"), [(1, 1, 1), (2, 70, 9), (1, 4_099, 181), (3, 333, 90)])
def test_kernels_are_what_torchs_operations_compute(networks, points, size, maps, poisoned):
    from staf.ops.gabor_network import triton

    generator = torch.Generator("cuda").manual_seed(0)
    width = -(-size // 4) * 4

    def draw(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.randn(networks, *shape, device="cuda", dtype=dtype, generator=generator)

    def close(ours: Tensor, theirs: Tensor, columns: int) -> None:
        """Planes may be rounded in other ways; what they add up to is compared."""
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        if ours.dtype in products.SPLIT:
            ours, theirs = (
                part.double()[..., :columns] + part.double()[..., columns : 2 * columns] for part in (ours, theirs)
            )
        assert relative(ours, theirs.double()) < 3e-5

    for is_complex in (False, True):
        columns = maps * width * (1 + is_complex)
        inner, grad = 0.2 * draw(points, columns), draw(points, 2 * width)
        shifts = [0.1 * draw(size, dtype=torch.complex64) for _ in range(maps)] if is_complex else []
        for dtype in (None, *products.SPLIT):
            wave = Wave(7.0, 3.0, width, maps, is_complex, dtype)
            close(triton.value(inner, shifts, wave), plain.value(inner, shifts, wave), 2 * width)
            mine, theirs = (
                module.gradient(grad, inner, shifts, wave, torch.bfloat16 if dtype else None)
                for module in (triton, plain)
            )
            close(mine[0], theirs[0], columns)
            assert relative(mine[1], theirs[1].double()) < 1e-4
            if dtype:
                close(mine[2], theirs[2], 2 * width)
    layers = [[draw(size, size, dtype=torch.complex64) for _ in range(maps)] for _ in range(3)]
    for transposed in (False, True):
        exact = plain.matrices(layers, width, None, transposed)
        assert all(map(torch.equal, triton.matrices(layers, width, None, transposed), exact))
        for dtype in products.SPLIT:
            for ours, true in zip(triton.matrices(layers, width, dtype, transposed), exact, strict=True):
                high, again, low = ours.double().chunk(3, -1)
                assert torch.equal(high, again)
                assert relative(high + low, true.double()) < 1e-5
    totals = [(draw(maps * 4 * width, 2 * width), draw(maps * 2 * width, 2 * width)) for _ in range(3)]
    for given in (totals, [parts[1:] for parts in totals]):
        for ours, true in zip(
            triton.folded(given, size, width, maps), plain.folded(given, size, width, maps), strict=True
        ):
            torch.testing.assert_close(ours, true)


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize(
    "size",
    [
        (700, 2, 64, 4, 3, 1),
        (4_097, 2, 181, 4, 3, 1),
        (20_011, 3, 90, 3, 129, 1),
        (3_000, 144, 90, 3, 3, 1),
        (500, 32, 45, 1, 16, 1),
        (1_000, 2, 128, 3, 3, 2),
        (999, 2, 53, 2, 5, 2),
    ],
)
def test_values_and_gradients_on_a_gpu(size, precision, poisoned):
    x, tensors = drawn(*size)
    mine, exact = (leaves(tensors, wide, "cuda") for wide in (False, True))
    x, features = x.cuda(), size[1] > 8
    own, wide = x.clone().requires_grad_(features), x.double().requires_grad_(features)
    single = [tensor[0] for tensor in mine]
    layers = layered(single, size[-1])
    with product_precision(precision), ops.record_backends() as ran:
        found = gabor_network(own[0], layers, single[-2], single[-1], [OMEGA0] * len(layers), SIGMA0)
    assert ran == [("gabor_network", "triton")]
    true = formula(wide, exact, size[-1])[0]
    # The first product of features is not exact either, and all layers come after it.
    values, gradients = (10 * limit if features else limit for limit in TOLERANCE[precision])
    assert relative(found, true) < values
    grad = 1e-6 * torch.randn(found.shape, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    mine, exact = ([*mine, own], [*exact, wide]) if features else (mine, exact)
    pairs = zip(torch.autograd.grad(found, mine, grad), torch.autograd.grad(true, exact, grad.double()), strict=True)
    assert max(relative(ours, theirs) for ours, theirs in pairs) < gradients


@pytest.mark.parametrize("dtype", products.SPLIT)
@pytest.mark.parametrize("points", [3_073, 4_097, 8_191, 8_193, 65_537, 172_890])
def test_sums_leave_no_point_out(points, dtype):
    grad, numbers = (torch.randn(1, points, columns, device="cuda") for columns in (368, 256))
    found = products.added(products.sums(products.planes(grad, dtype), products.planes(numbers, dtype, 2)))
    assert relative(found, grad.double().mT @ numbers.double()) < 3e-5


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("planar", [False, True])
def test_captured_steps_repeat_their_bits_and_are_those_of_the_host(planar, precision):
    field = Wire(2, 3, width=61, depth=3, omega0=OMEGA0, hidden_omega0=OMEGA0, sigma0=SIGMA0, planar=planar)
    field, x = field.cuda(), torch.rand(3_001, 2).cuda() * 2 - 1

    def step() -> list[Tensor]:
        with product_precision(precision):
            return [field(x), *torch.autograd.grad(field(x).square().sum(), list(field.parameters()))]

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        expected = step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    runs = []
    for _ in range(3):
        graph.replay()
        torch.cuda.synchronize()
        runs.append([tensor.detach().clone() for tensor in captured])
    assert all(torch.equal(a, b) for run in runs[1:] for a, b in zip(run, runs[0], strict=True))
    # The library may choose another product while it is recorded.
    assert all(relative(a, b) < TOLERANCE[precision][1] for a, b in zip(runs[0], expected, strict=True))


def test_second_gradients_and_several_networks_on_a_gpu():
    x, tensors = drawn(300, 2, 21, 3, 3, 1, networks=3)
    given, exact = (leaves(tensors, wide, "cuda") for wide in (False, True))
    x = x.cuda()

    def one(x: Tensor, *own: Tensor) -> Tensor:
        return gabor_network(x, layered(list(own), 1), own[-2], own[-1], [OMEGA0] * 3, SIGMA0)

    with product_precision("bf16x3"), ops.record_backends() as ran:
        found = torch.vmap(one)(x, *given)
    assert ran == [("gabor_network", "triton")]
    true = formula(x.double(), exact, 1)
    assert relative(found, true) < TOLERANCE["bf16x3"][0]

    def bent(values: Tensor, leaves: list[Tensor]) -> tuple[Tensor, ...]:
        first = torch.autograd.grad(values.square().sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum(one.abs().square().sum() for one in first), leaves)

    with product_precision("bf16x3"):
        mine = bent(found, given)
    assert max(relative(ours, theirs) for ours, theirs in zip(mine, bent(true, exact), strict=True)) < 1e-3
