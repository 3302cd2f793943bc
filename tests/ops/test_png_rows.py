"""PNG's row filters: the kernel against the definition, every filter, pixel size and odd length."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from staf.ops import native
from staf.ops.png_rows import unfiltered
from staf.ops.png_rows.reference import unfiltered_reference


def rows(count, width, seed=0):
    generator = np.random.default_rng(seed)
    filtered = generator.integers(0, 256, (count, width + 1), dtype=np.uint8)
    filtered[:, 0] = np.arange(count) % 5
    return filtered, generator.integers(0, 256, width, dtype=np.uint8)


@pytest.mark.skipif(native.library() is None, reason="no C compiler here")
def test_the_kernel_equals_the_definition():
    for width, step in itertools.product((1, 2, 7, 24), (1, 2, 3, 4, 6, 8)):
        filtered, above = rows(11, width)
        before = filtered.copy()
        assert np.array_equal(unfiltered(filtered, above, step), unfiltered_reference(filtered, above, step))
        assert np.array_equal(filtered, before)


def test_bands_one_after_another_are_the_whole():
    filtered, above = rows(10, 12)
    whole = unfiltered(filtered, above, 3)
    first = unfiltered(filtered[:4], above, 3)
    assert np.array_equal(whole, np.concatenate([first, unfiltered(filtered[4:], first[-1], 3)]))
    assert unfiltered(filtered[:0], above, 3).shape == (0, 12)


@pytest.mark.parametrize("function", [unfiltered, unfiltered_reference])
def test_an_unknown_filter_is_refused(function):
    filtered, above = rows(3, 6)
    filtered[1, 0] = 5
    with pytest.raises(ValueError, match="row 1 has the unknown filter 5"):
        function(filtered, above, 1)


def test_bad_arguments_are_refused():
    filtered, above = rows(3, 6)
    with pytest.raises(ValueError, match="rows must be"):
        unfiltered(filtered, above[:-1], 1)
    with pytest.raises(ValueError, match="step must be at least 1"):
        unfiltered(filtered, above, 0)
