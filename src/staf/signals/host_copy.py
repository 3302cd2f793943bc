"""Copies of tensors to host memory that run while the device computes the next ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

Arriving = Callable[[], np.ndarray]


def to_host(tensor: Tensor) -> Arriving:
    """Start copying a tensor to host memory; calling what is returned waits for it and gives the array.

    >>> to_host(torch.arange(3))().tolist()
    [0, 1, 2]
    """
    tensor = tensor.detach()
    if not tensor.is_cuda:
        host = tensor.cpu()
        return host.numpy
    # Only into pinned memory does a copy run beside the host.
    pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    pinned.copy_(tensor, non_blocking=True)
    copied = torch.cuda.Event()
    copied.record(torch.cuda.current_stream(tensor.device))

    def arrived() -> np.ndarray:
        copied.synchronize()
        return pinned.numpy()

    return arrived
