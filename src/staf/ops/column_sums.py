"""Column sums of a gradient, made in passing by the kernel that wrote it, for the layer below that wants them.

In the same way the largest number of a tensor is left by a kernel that has read it, for one that reads it again.

An activation's backward pass has each gradient in a register; the linear layer below needs its sum over the points, for
the bias. Reading it again for that takes as long as a matrix product, so the kernel leaves the sums with the memory it
has written, and the layer finds them there. They hold for that memory as a whole, until anyone writes to it.
"""

from __future__ import annotations

from typing import cast

from torch import Tensor

_NAME = "staf_column_sums"


def leave(tensor: Tensor, sums: Tensor, name: str = _NAME) -> None:
    """Leave the sums (networks, width) of a fresh contiguous tensor (networks, points, width) with its memory, by name.

    >>> import torch
    >>> gradient = torch.ones(1, 5, 3)
    >>> leave(gradient, gradient.sum(1))
    >>> found(gradient.view(5, 3)[None]).tolist(), found(gradient[:, :4]), found(gradient.mul_(2))
    ([[5.0, 5.0, 5.0]], None, None)
    """
    # Inference tensors do not count who writes to them.
    if not tensor.is_inference():
        setattr(tensor.untyped_storage(), name, (tensor.storage_offset(), tensor.shape, tensor._version, sums))


def found(tensor: Tensor, name: str = _NAME) -> Tensor | None:
    """The sums left with a tensor's memory; None where there are none, or where they are of something else."""
    # The memory outlives the objects that stand for it, and torch gives it the same Python object each time.
    left = getattr(tensor.untyped_storage(), name, None)
    if left is None or tensor.is_inference() or not tensor.is_contiguous():
        return None
    *known, sums = left
    return cast(Tensor, sums) if known == [tensor.storage_offset(), tensor.shape, tensor._version] else None
