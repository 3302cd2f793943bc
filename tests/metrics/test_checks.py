from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest
import torch

from staf.metrics import checks


def test_arrays_and_two_shapes_are_refused():
    # Without the type checker of the tests, which users do not have.
    check = unwrap(checks.check_pair)
    with pytest.raises(TypeError, match="target must be a tensor, got ndarray"):
        check(torch.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match=r"must have the same shape, got \(3,\) and \(1, 3\)"):
        check(torch.zeros(3), torch.zeros(1, 3))
