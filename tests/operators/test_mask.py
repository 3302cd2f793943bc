from __future__ import annotations

import pytest
import torch

from staf.operators import Mask


def test_what_is_seen_comes_in_c_order():
    mask = Mask(torch.tensor([[False, True], [True, True]]))
    assert mask.A(torch.arange(8.0).reshape(2, 2, 2)).tolist() == [[1, 2, 3], [5, 6, 7]]


@pytest.mark.parametrize("mask", [torch.zeros(3), torch.tensor(True), torch.zeros(2, dtype=torch.bool)], ids=str)
def test_masks_that_are_none(mask):
    with pytest.raises((ValueError, TypeError), match="mask"):
        Mask(mask)
