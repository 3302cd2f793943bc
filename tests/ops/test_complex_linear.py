"""Complex layers: torch's own everywhere, and products of real matrices inside an `Execution` on a GPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear as torch_linear

from staf import ops
from staf.ops.complex_linear import by_real_product, complex_linear
from staf.ops.complex_linear.matrices import complex_numbers, real_matrix, real_numbers, real_rows
from staf.ops.complex_linear.reference import complex_linear_reference
from staf.ops.linear import product_precision

TOLERANCE = {"bf16x3": 3e-5, "tf32": 3e-3}


def drawn(rows: int, inputs: int, outputs: int, dtype: torch.dtype = torch.complex128) -> list[Tensor]:
    generator = torch.Generator().manual_seed(rows + inputs)
    shapes = ((rows, inputs), (outputs, inputs), (outputs,))
    return [torch.randn(shape, dtype=dtype, generator=generator).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("real", [False, True])
def test_outside_a_block_it_is_torchs_own_bit_by_bit(real):
    x, weight, bias = drawn(5, 7, 3, torch.complex64)
    expected = torch_linear(x, weight, bias)
    found = complex_linear(x, weight, bias, real=real)
    assert torch.equal(found, expected.real if real else expected)
    torch.testing.assert_close(found, complex_linear_reference(x, weight, bias, real))
    with ops.backend("reference"), ops.record_backends() as ran:
        torch.testing.assert_close(complex_linear(x, weight, bias, real=real), found)
    assert ran == [("complex_linear", "reference")]


def test_a_complex_number_is_a_block_and_its_real_part_a_row(generator):
    weight, x = (torch.randn(*shape, dtype=torch.complex128, generator=generator) for shape in ((4, 3, 2), (4, 2)))
    product = (weight @ x[..., None])[..., 0]
    columns = real_numbers(x)[..., None]
    torch.testing.assert_close(complex_numbers((real_matrix(weight) @ columns)[..., 0]), product)
    torch.testing.assert_close((real_rows(weight) @ columns)[..., 0], product.real)
    assert torch.equal(complex_numbers(real_numbers(x.conj())), x.conj())
    # Kernels leave sums one after another, at any place.
    for start, row in ((0, 9), (1, 8), (0, 8)):
        numbers = torch.rand(1, 30).as_strided((1, 3, 6), (29, row, 1), start)
        assert torch.equal(complex_numbers(numbers), torch.complex(numbers[..., ::2], numbers[..., 1::2]))


@pytest.mark.parametrize("real", [False, True])
def test_the_real_product_has_the_values_and_all_gradients(real):
    given = drawn(5, 7, 3)
    torch.testing.assert_close(by_real_product(*given, real), complex_linear_reference(*given, real))
    assert torch.autograd.gradcheck(lambda *tensors: by_real_product(*tensors, real), given)
    assert torch.autograd.gradgradcheck(lambda *tensors: by_real_product(*tensors, real), given)


@pytest.mark.parametrize("real", [False, True])
def test_the_real_product_is_differentiated_and_mapped_by_torch_func(real):
    x, weight, bias = (tensor.detach() for tensor in drawn(5, 7, 3))

    def loss(layer):
        return lambda w: layer(x, w, bias, real).abs().square().sum()

    found = torch.func.grad(loss(by_real_product))(weight)
    torch.testing.assert_close(found, torch.func.grad(loss(complex_linear_reference))(weight))
    several = torch.stack([weight, 2 * weight])
    mapped = torch.vmap(lambda w: by_real_product(x, w, bias, real))(several)
    torch.testing.assert_close(mapped[1], complex_linear_reference(x, 2 * weight, bias, real))


@pytest.mark.gpu
@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("size", [(1000, 128, 128), (20_000, 90, 90), (777, 181, 181), (900, 181, 3), (300, 64, 2)])
def test_values_gradients_and_second_gradients(size, real, precision, poisoned):
    given = [tensor.detach().cuda() for tensor in drawn(*size, torch.complex64)]
    generator = torch.Generator("cuda").manual_seed(1)
    shapes = [(size[0], size[2]), *(tensor.shape for tensor in given)]
    weights = [torch.randn(shape, dtype=torch.complex64, device="cuda", generator=generator) for shape in shapes]
    # Rows of 16 bytes, or few outputs; those of real parts alone are half as long.
    even = size[1] % 2 == 0 and size[2] % (4 if real else 2) == 0
    fast = precision == "tf32" or even or (real and size[2] <= 4)
    results = []
    for dtype in (torch.complex64, torch.complex128):
        leaves = [tensor.to(dtype).requires_grad_() for tensor in given]
        h = [weight.to(dtype) for weight in weights]
        with product_precision(precision), ops.record_backends() as ran:
            y = complex_linear(*leaves, real=real)
        assert (("complex_linear", "triton") in ran) == (fast and dtype == torch.complex64)
        first = torch.autograd.grad(y, leaves, h[0].real if real else h[0], create_graph=True)
        mixed = sum((g * part.conj()).real.sum() for g, part in zip(first, h[1:], strict=True))
        results.append([y, *first, *torch.autograd.grad(mixed, leaves[:2])])
    for ours, exact in zip(*results, strict=True):
        assert (ours - exact).detach().norm() <= TOLERANCE[precision] * exact.detach().norm()
