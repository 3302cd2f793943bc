from __future__ import annotations

import pytest
import torch

from staf.operators import AreaDownsampling
from staf.signals.grid import coordinates


def test_a_linear_function_keeps_its_values_at_cell_centres():
    fine, coarse = coordinates((12, 8)), coordinates((3, 2))
    slope = torch.tensor([0.3, -2.0])
    seen = AreaDownsampling((12, 8), 4).A((fine @ slope).reshape(12, 8))
    torch.testing.assert_close(seen.flatten(), coarse @ slope)


def test_it_is_the_area_resize_of_scikit_image():
    from skimage.transform import resize_local_mean

    image = torch.rand(3, 20, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = resize_local_mean(image.numpy(), (5, 3), channel_axis=0)
    torch.testing.assert_close(AreaDownsampling((20, 12), 4).A(image), torch.from_numpy(expected))


def test_a_factor_that_does_not_divide_says_what_would():
    with pytest.raises(ValueError, match=r"factor 4 for 510x339; the largest part it divides is 508x336"):
        AreaDownsampling((510, 339), 4)


@pytest.mark.parametrize("factor", [0, -2, 1.5, True])
def test_factor(factor):
    with pytest.raises(ValueError, match="factor must be a whole number"):
        AreaDownsampling((4, 4), factor)


def test_shape():
    with pytest.raises(ValueError, match="shape must have at least one axis"):
        AreaDownsampling((), 2)
