from __future__ import annotations

import pytest
import torch

from staf import ops
from staf.ops import column_sums
from staf.ops.linear import linear, product_precision


def left() -> torch.Tensor:
    gradient = torch.arange(24.0).reshape(2, 3, 4)
    column_sums.leave(gradient, gradient.sum(1))
    return gradient


def test_they_are_found_by_every_view_of_the_whole():
    gradient = left()
    expected = gradient.sum(1)
    view = gradient.reshape(6, 4).reshape(2, 3, 4)
    del gradient
    torch.testing.assert_close(column_sums.found(view), expected)


def test_they_are_not_found_where_they_would_be_wrong():
    gradient = left()
    assert column_sums.found(gradient[:, :2]) is None
    assert column_sums.found(gradient.reshape(1, 6, 4)) is None
    assert column_sums.found(gradient.permute(1, 0, 2).reshape(2, 3, 4)) is None
    assert column_sums.found(gradient.clone()) is None
    halves = torch.zeros(2, 1, 3, 4)
    column_sums.leave(halves[1], halves[1].sum(1))
    assert column_sums.found(halves[0]) is None
    gradient.view(-1)[0] += 1
    assert column_sums.found(gradient) is None


def test_memory_that_is_used_again_has_none():
    for _ in range(20):
        gradient = left()
        del gradient
        assert column_sums.found(torch.zeros(2, 3, 4)) is None


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "bf16x3", "tf32"])
@pytest.mark.parametrize("points", [4096, 40_000])
def test_bias_gradients_use_them_only_where_they_hold(points, precision):
    generator = torch.Generator("cuda").manual_seed(0)

    def draw(*shape):
        return torch.randn(*shape, device="cuda", generator=generator)

    given = [draw(points, 32), draw(256, 32) / 6, draw(256), draw(5), 9 * draw(5), draw(5)]
    weights = draw(points, 256)

    def network(x, weight, bias, *sinusoids, skip, sine):
        a = linear(x, weight, bias)
        z = ops.sine(a, 9.0) if sine else ops.sine_series(a, *sinusoids)
        return ((z + a if skip else z) * weights.to(z.dtype)).sum()

    for skip in (False, True):
        for sine in (False, True):
            exact = [tensor.double().requires_grad_() for tensor in given]
            ours = [tensor.clone().requires_grad_() for tensor in given]
            with product_precision(precision):
                network(*ours, skip=skip, sine=sine).backward()
            network(*exact, skip=skip, sine=sine).backward()
            error = (ours[2].grad - exact[2].grad).norm() / exact[2].grad.norm()
            assert error < {"fp32": 1e-4, "bf16x3": 1e-3, "tf32": 5e-2}[precision]
