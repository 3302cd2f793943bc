"""`weighted_squared_error`: the loss of every least-squares fit, in one launch on a GPU."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Float
from staf.ops.backend import forced_backend, fused_allowed, is_traced, note
from staf.ops.squared_error.reference import weighted_squared_error_reference

__all__ = ["weighted_squared_error"]


def weighted_squared_error(
    prediction: Float[Tensor, "n c"], target: Float[Tensor, "n c"], weight: Float[Tensor, " n"]
) -> Float[Tensor, ""]:
    """sum_i w_i |p_i - y_i|^2 / c.

    Inside a `product_precision` block, float32 tensors on CUDA go through a kernel, since a small fit would spend a
    tenth of its time launching the parts of this formula one by one; everywhere else this is the formula. The kernel
    has gradients of every order in all arguments, and `vmap`; forward mode raises.

    >>> weighted_squared_error(torch.ones(4, 2), torch.zeros(4, 2), torch.full((4,), 0.25))
    tensor(1.)
    """
    fused = (
        fused_allowed()
        and forced_backend() != "compiled"
        and prediction.is_cuda
        and prediction.dtype == target.dtype == weight.dtype == torch.float32
        and 0 < prediction.numel() < 2**30
        and not is_traced()
    )
    if not fused:
        if forced_backend() == "reference" and not is_traced():
            note("squared_error", "reference")
        return weighted_squared_error_reference(prediction, target, weight)
    from staf.ops.squared_error.autograd import SquaredError

    # A view, unlike an element, needs no launch backward.
    keep = torch.is_grad_enabled()
    return SquaredError.apply(prediction[None], target[None], weight[None], keep)[0].reshape(())
