"""WIRE's network as one operation: the formula everywhere, products of real matrices where a GPU computes it.

A CPU takes the same passes with torch's operations in the place of kernels, so that their arithmetic is tested there.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from staf.ops.gabor_network import gabor_network, plain, products
from staf.ops.gabor_network.autograd import GaborNetwork, Options, _network
from staf.ops.gabor_network.reference import gabor_network_reference

OMEGA0, SIGMA0 = 4.0, 3.0
# Points, inputs, width, layers, outputs, maps: coordinates and features, widths that have to be filled up and others,
# few outputs and many, with windows and without.
SIZES = [(6, 2, 3, 3, 3, 1), (5, 9, 4, 2, 6, 1), (4, 2, 5, 1, 2, 1), (7, 3, 6, 3, 17, 2), (5, 2, 8, 2, 3, 2)]
# Of values, and of gradients: a split product has 22 bits forward and 16 backward.
TOLERANCE = (2e-6, 3e-5)
WIDE = {torch.float32: torch.float64, torch.complex64: torch.complex128}


def drawn(
    points: int, inputs: int, width: int, depth: int, outputs: int, maps: int, networks: int = 1
) -> tuple[Tensor, list[Tensor]]:
    """Coordinates and tensors of networks in float32, by torch's law of weights."""
    generator = torch.Generator().manual_seed(points)

    def draw(*shape: int, fan: int, real: bool = False) -> Tensor:
        numbers = (2 * torch.rand(networks, *shape, 2, generator=generator) - 1) / fan**0.5
        return numbers[..., 0].contiguous() if real else torch.view_as_complex(numbers)

    tensors = []
    for index in range(depth):
        fan = width if index else inputs
        for _ in range(maps):
            tensors += [draw(width, fan, fan=fan, real=index == 0), draw(width, fan=fan, real=index == 0)]
    tensors += [draw(outputs, width, fan=width), draw(outputs, fan=width)]
    return 2 * torch.rand(networks, points, inputs, generator=generator) - 1, tensors


def leaves(tensors: list[Tensor], wide: bool, device: str = "cpu") -> list[Tensor]:
    return [
        tensor.to(device=device, dtype=WIDE[tensor.dtype] if wide else tensor.dtype).requires_grad_()
        for tensor in tensors
    ]


def layered(tensors: list[Tensor], maps: int) -> list[tuple[Tensor, ...]]:
    return [tuple(tensors[i : i + 2 * maps]) for i in range(0, len(tensors) - 2, 2 * maps)]


def formula(x: Tensor, tensors: list[Tensor], maps: int) -> Tensor:
    found = []
    for index, one in enumerate(x):
        own = [tensor[index] for tensor in tensors]
        layers = layered(own, maps)
        found.append(gabor_network_reference(one, layers, own[-2], own[-1], [OMEGA0] * len(layers), SIGMA0))
    return torch.stack(found)


def passes(precision: str, x: Tensor, tensors: list[Tensor], maps: int) -> Tensor:
    """The fused passes, on whichever device."""
    depth = (len(tensors) - 2) // (2 * maps)
    options = Options(precision, (OMEGA0,) * depth, SIGMA0, maps)
    return GaborNetwork.apply(options, True, x, *tensors)[0]


def relative(ours: Tensor, true: Tensor) -> float:
    return float((ours - true).detach().norm() / true.detach().norm())


@pytest.mark.parametrize("size", SIZES)
def test_on_a_cpu_it_is_the_formula(size):
    x, tensors = drawn(*size)
    single = [tensor[0] for tensor in leaves(tensors, wide=True)]
    layers, x = layered(single, size[-1]), x[0].double()
    found = gabor_network(x, layers, single[-2], single[-1], [OMEGA0] * len(layers), SIGMA0)
    torch.testing.assert_close(found, formula(x[None], leaves(tensors, wide=True), size[-1])[0])


def test_every_layer_needs_a_frequency():
    x, tensors = drawn(*SIZES[0])
    single = [tensor[0] for tensor in tensors]
    with pytest.raises(ValueError, match="omega0 must have a frequency for each of 3 layers, got 2"):
        gabor_network(x[0], layered(single, 1), single[-2], single[-1], [1.0, 2.0], SIGMA0)


@pytest.mark.parametrize("networks", [1, 2])
@pytest.mark.parametrize("dtype", products.SPLIT)
@pytest.mark.parametrize("points", [1, 63, 64, 65, 200, 4097])
def test_sums_over_any_number_of_points_leave_none_out(points, dtype, networks):
    generator = torch.Generator().manual_seed(points)
    grad, numbers = (torch.randn(networks, points, columns, generator=generator) for columns in (6, 4))
    found = products.added(products.sums(products.planes(grad, dtype), products.planes(numbers, dtype, 2)))
    assert relative(found, grad.double().mT @ numbers.double()) < 3e-5


@pytest.mark.parametrize("networks", [1, 2])
@pytest.mark.parametrize("size", SIZES)
def test_passes_by_real_products_have_values_and_two_gradients(size, networks):
    x, tensors = drawn(*size, networks)
    given = leaves([x, *tensors], wide=True)
    true, found = formula(given[0], given[1:], size[-1]), passes("tf32", given[0], given[1:], size[-1])
    torch.testing.assert_close(found, true)
    generator = torch.Generator().manual_seed(1)
    grad = torch.randn(true.shape, dtype=true.dtype, generator=generator)
    for create_graph in (False, True):
        mine = torch.autograd.grad(found, given, grad, create_graph=create_graph, retain_graph=True)
        exact = torch.autograd.grad(true, given, grad, create_graph=create_graph, retain_graph=True)
        torch.testing.assert_close(mine, exact)
    weights = [torch.randn(one.shape, dtype=one.dtype, generator=generator) for one in exact]

    def second(gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        total = sum((one * weight.conj()).real.sum() for one, weight in zip(gradients, weights, strict=True))
        # Nothing bends in the last bias.
        return torch.autograd.grad(total, given[:-1])

    torch.testing.assert_close(second(mine), second(exact))


@pytest.mark.parametrize("size", SIZES)
def test_split_passes_are_as_close_as_their_planes(size):
    x, tensors = drawn(*size)
    given, exact = leaves([x, *tensors], wide=False), leaves([x, *tensors], wide=True)
    found, true = passes("bf16x3", given[0], given[1:], size[-1]), formula(exact[0], exact[1:], size[-1])
    values, gradients = TOLERANCE
    assert relative(found, true) < values
    grad = torch.randn(true.shape, generator=torch.Generator().manual_seed(1))
    pairs = zip(torch.autograd.grad(found, given, grad), torch.autograd.grad(true, exact, grad.double()), strict=True)
    assert max(relative(mine, theirs) for mine, theirs in pairs) < gradients


def test_wavelets_beyond_float16_have_bfloat16_planes():
    x, tensors = drawn(*SIZES[0])
    for sigma0, dtype in ((OMEGA0, torch.float16), (OMEGA0 / 8, torch.bfloat16)):
        options = Options("bf16x3", (OMEGA0,) * 3, sigma0, 1)
        network = _network(options, tensors)
        assert network.planes("bf16x3") is dtype
        assert network.planes("tf32") is None
        assert GaborNetwork.apply(options, False, x, *tensors)[0].isfinite().all()


def test_passes_of_several_networks_are_mapped_and_differentiated_by_torch_func():
    x, tensors = drawn(*SIZES[0], networks=3)
    given = [tensor.detach() for tensor in leaves([x, *tensors], wide=True)]

    def one(*tensors: Tensor) -> Tensor:
        return passes("tf32", tensors[0][None], [tensor[None] for tensor in tensors[1:]], 1)[0]

    torch.testing.assert_close(torch.vmap(one)(*given), formula(given[0], given[1:], 1))

    def loss(layer):
        return lambda weight: layer(given[0][0], weight, *[tensor[0] for tensor in given[2:]]).square().sum()

    def exact(*tensors: Tensor) -> Tensor:
        return formula(tensors[0][None], [tensor[None] for tensor in tensors[1:]], 1)[0]

    weight = given[1][0]
    torch.testing.assert_close(torch.func.grad(loss(one))(weight), torch.func.grad(loss(exact))(weight))
    with pytest.raises(NotImplementedError, match="jvp"):
        torch.func.jvp(lambda x: one(x, *[tensor[0] for tensor in given[1:]]), (given[0][0],), (given[0][0],))


def test_folding_is_the_transpose_of_making_matrices(generator):
    """<R(W), T> = Re <W, fold(T)>, also where three matrices have to be added."""
    size, width, maps = 5, 8, 2
    weights = [[torch.randn(2, size, size, dtype=torch.complex64, generator=generator) for _ in range(maps)]]
    (matrix,) = plain.matrices(weights, width, None, False)
    shape = (2, maps * 2 * width, 2 * width)
    assert matrix.shape == shape
    assert torch.equal(plain.matrices(weights, width, None, True)[0], matrix.mT)
    parts = [torch.randn(shape, generator=generator) for _ in range(3)]
    for totals in ((parts[0],), (torch.cat(parts[:2], 1), parts[2])):
        (found,) = plain.folded([totals], size, width, maps)
        expected = (matrix * products.added(totals)).sum()
        scalar = sum((one.conj() * fold).real.sum() for one, fold in zip(weights[0], found, strict=True))
        torch.testing.assert_close(scalar, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("dtype", "error"), [(torch.float16, 1e-6), (torch.bfloat16, 2e-5)])
def test_one_product_of_planes_is_three_of_halves(dtype, error, generator):
    a, b, g = (torch.randn(2, rows, 40, generator=generator) for rows in (30, 50, 30))
    found = products.product(products.planes(a, dtype), products.matrix_planes(b, dtype))
    assert relative(found, a.double() @ b.double().mT) < error
    total = products.added(products.sums(products.planes(g, dtype), products.planes(a, dtype, 2)))
    assert relative(total, g.double().mT @ a.double()) < error
