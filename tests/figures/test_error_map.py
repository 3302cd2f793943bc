from __future__ import annotations

import numpy as np
import pytest

from staf.figures import error_map, pixel_error


def test_the_error_is_a_share_of_the_range() -> None:
    target = np.zeros((2, 2, 2), np.uint16)
    other = target.copy()
    other[0, 0] = [65535, 0]
    assert pixel_error(target, other)[0, 0] == pytest.approx(np.sqrt(0.5))
    assert pixel_error(target.astype(np.float32), other.astype(np.float32), peak=65535.0)[0, 0] == pytest.approx(
        np.sqrt(0.5)
    )


def test_the_map_shows_the_errors_with_a_scale_beside_them() -> None:
    target = np.zeros((6, 9, 1))
    figure = error_map(target, target + 0.25)
    image = figure.axes[0].images[0]
    assert np.allclose(image.get_array(), 0.25)
    assert image.get_clim() == (0, pytest.approx(0.25))
    assert figure.axes[1].get_ylabel() == "error, share of the range"


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"got \(2, 2, 1\) and \(2, 3, 1\)"):
        pixel_error(np.zeros((2, 2, 1)), np.zeros((2, 3, 1)))
