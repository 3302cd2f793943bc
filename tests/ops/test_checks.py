from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest
import torch

from staf.ops import checks


def test_what_is_no_tensor_is_named_before_its_type_of_number():
    # Without the type checker of the tests, which users do not have.
    check = unwrap(checks.check_floating)
    with pytest.raises(TypeError, match="x must be a tensor, got ndarray"):
        check("x", np.ones(3, np.float32))
    with pytest.raises(TypeError, match=r"x must be float32 or float64, got torch\.int64"):
        check("x", torch.ones(3, dtype=torch.int64))
