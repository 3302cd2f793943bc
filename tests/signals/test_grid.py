from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from staf.signals.grid import CONVENTIONS, axis, coordinates, window


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("size", [1, 2, 7, 339, 510, 6144])
def test_window_at_the_axis_own_resolution_is_the_axis(size, convention):
    assert torch.equal(window(size, 0, size, size, convention), axis(size, convention))
    first, last = size // 3, size // 3 + max(1, size // 2)
    assert torch.equal(window(size, first, last, last - first, convention), axis(size, convention)[first:last])


@settings(deadline=None)
@given(size=st.integers(1, 300), factor=st.integers(1, 5))
def test_fine_centres_average_to_the_coarse_ones(size, factor):
    means = window(size, 0, size, size * factor).double().reshape(size, factor).mean(1)
    # Each is rounded to float32.
    torch.testing.assert_close(means, axis(size).double(), atol=1.2e-7, rtol=0)


@settings(deadline=None)
@given(size=st.integers(2, 300), count=st.integers(2, 600))
def test_ends_touch_both_ends_at_every_resolution(size, count):
    positions = window(size, 0, size, count, "ends")
    assert positions[0] == -1
    assert positions[-1] == 1


def test_one_sample_of_ends_sits_in_the_middle_of_its_window():
    assert window(5, 1, 4, 1, "ends").item() == 0.0
    assert window(5, 0, 3, 1, "ends").item() == -0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 0, 4, 0), "count must be at least 1, got 0"),
        ((4, 2, 2, 1), "a window must lie in"),
        ((4, -1, 2, 1), "a window must lie in"),
        ((4, 0, 5, 1), "a window must lie in"),
        ((4, 0, 0.5, 1, "ends"), "at least one sample"),
        ((0, 0, 1, 1), "at least one sample, got 0"),
        ((4, 0, 4, 4, "corners"), "convention must be one of centres, ends, got 'corners'"),
    ],
)
def test_bad_windows_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        window(*arguments)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_indexed_coordinates_are_rows_of_all_coordinates(convention):
    everything = coordinates((5, 6, 7), convention)
    index = torch.tensor([0, 3, 99, 209])
    assert torch.equal(coordinates((5, 6, 7), convention, index), everything[index])
    assert everything.shape == (210, 3)
    assert torch.equal(everything.reshape(5, 6, 7, 3)[2, 3, 4], torch.stack([axis(n, convention)[i]
                       for n, i in ((5, 2), (6, 3), (7, 4))]))  # fmt: skip


@pytest.mark.parametrize("convention", ["centres", "ends"])
@pytest.mark.parametrize("shape", [(1,), (2,), (1000,), (7, 501), (3, 1, 40)])
def test_a_short_index_of_a_long_axis_gives_the_same_bits(convention, shape):
    total = math.prod(shape)
    whole = coordinates(shape, convention)
    for index in (torch.tensor([0]), torch.tensor([total - 1]), torch.tensor([total // 2, total // 3])):
        assert torch.equal(coordinates(shape, convention, index), whole[index])
