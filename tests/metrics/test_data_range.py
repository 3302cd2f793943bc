from __future__ import annotations

import inspect

import pytest
import torch

from staf.metrics import lpips, psnr, ssim
from staf.metrics.data_range import limits


def test_a_peak_means_from_zero():
    assert limits(255) == (0.0, 255.0)
    assert limits((-1, 1)) == (-1.0, 1.0)


@pytest.mark.parametrize("measure", [psnr, ssim, lpips])
def test_every_measure_refuses_two_shapes(measure):
    # Unwrapped, since the tests' own shape checks would refuse them first.
    with pytest.raises(ValueError, match=r"the same shape, got \(40, 40, 3\) and \(40, 41, 3\)"):
        inspect.unwrap(measure)(torch.zeros(40, 40, 3), torch.zeros(40, 41, 3), data_range=1.0)
