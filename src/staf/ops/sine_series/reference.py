"""The sine series as its formula says; every kernel is a claim about this function."""

from __future__ import annotations

import torch
from torch import Tensor

from staf._typing import Float


def sine_series_reference(
    x: Float[Tensor, "batch n width"],
    amplitude: Float[Tensor, "batch columns terms"],
    frequency: Float[Tensor, "batch columns terms"],
    phase: Float[Tensor, "batch columns terms"],
) -> Float[Tensor, "batch n width"]:
    """rho(x) = sum_i C_i sin(Omega_i x + Phi_i), with `columns` either 1 or the width of `x`.

    >>> x, one = torch.tensor([[[0.5]]]), torch.ones(1, 1, 1)
    >>> bool(torch.allclose(sine_series_reference(x, one, one, 0 * one), torch.sin(x)))
    True
    """
    amplitude, frequency, phase = amplitude[:, None], frequency[:, None], phase[:, None]
    return (amplitude * torch.sin(frequency * x[..., None] + phase)).sum(-1)
