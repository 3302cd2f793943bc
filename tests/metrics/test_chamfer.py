from __future__ import annotations

import inspect

import pytest
import torch

from staf.metrics import chamfer


@pytest.mark.parametrize(("n", "m", "d"), [(1, 1, 3), (50, 80, 3), (200, 30, 2)])
def test_agrees_with_all_pairs(n, m, d, generator):
    first, second = torch.rand(n, d, generator=generator), torch.rand(m, d, generator=generator)
    squared = torch.cdist(first.double(), second.double()) ** 2
    expected = squared.min(1).values.mean() + squared.min(0).values.mean()
    assert float(chamfer(first, second)) == pytest.approx(float(expected), rel=1e-9)
    assert float(chamfer(second, first)) == pytest.approx(float(expected), rel=1e-9)


def test_it_counts_what_either_cloud_lacks():
    line = torch.stack([torch.linspace(0, 1, 11), torch.zeros(11)], dim=1)
    assert chamfer(line, line) == 0
    assert float(chamfer(line, line[:6])) == pytest.approx((0.01 + 0.04 + 0.09 + 0.16 + 0.25) / 11)


def test_it_goes_with_the_square_of_the_unit(generator):
    first, second = torch.rand(2, 40, 3, generator=generator)
    assert float(chamfer(first * 10, second * 10)) == pytest.approx(100 * float(chamfer(first, second)), rel=1e-5)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (torch.zeros(0, 3), torch.zeros(4, 3), "first must have shape"),
        (torch.zeros(4, 3), torch.zeros(3), "second must have shape"),
        (torch.zeros(4, 3), torch.full((4, 3), float("nan")), "second must hold numbers only"),
        (torch.zeros(4, 3), torch.zeros(4, 2), "one dimension, got 3 and 2"),
    ],
)
def test_bad_clouds_are_refused(first, second, message):
    # Unwrapped, since the tests' own shape checks would refuse some of them first.
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(chamfer)(first, second)
