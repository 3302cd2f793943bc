from __future__ import annotations

import numpy as np
import pytest
import torch

from staf.signals.host_copy import to_host

DTYPES = [torch.uint8, torch.uint16, torch.float32, torch.bool]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_arrive_as_they_were(dtype, device):
    numbers = torch.arange(24.0).reshape(4, 6)
    arriving = to_host(numbers.to(device).to(dtype).t())
    assert np.array_equal(arriving(), numbers.t().to(dtype).numpy())


@pytest.mark.gpu
def test_what_is_written_after_the_start_does_not_arrive():
    tensor = torch.ones(2**20, device="cuda")
    arriving = to_host(tensor)
    tensor.zero_()
    assert arriving().min() == 1


def test_gradients_stay_behind():
    assert to_host(torch.ones(2, requires_grad=True))().tolist() == [1.0, 1.0]
