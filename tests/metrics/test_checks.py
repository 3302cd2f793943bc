from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest
import torch

from staf.metrics import checks, lpips, psnr, ssim


# Unwrapped: without the type checker of the tests, which users do not have.
def test_arrays_and_two_shapes_are_refused():
    check = unwrap(checks.check_pair)
    with pytest.raises(TypeError, match="target must be a tensor, got ndarray"):
        check(torch.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match=r"must have the same shape, got \(3,\) and \(1, 3\)"):
        check(torch.zeros(3), torch.zeros(1, 3))


@pytest.mark.parametrize("measure", [psnr, ssim, lpips])
def test_every_measure_refuses_two_shapes(measure):
    with pytest.raises(ValueError, match=r"the same shape, got \(40, 40, 3\) and \(40, 41, 3\)"):
        unwrap(measure)(torch.zeros(40, 40, 3), torch.zeros(40, 41, 3), data_range=1.0)


def test_a_peak_means_from_zero():
    assert checks.limits(255) == (0.0, 255.0)
    assert checks.limits((-1, 1)) == (-1.0, 1.0)
