"""The definition of WIRE's network."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from staf.ops.gabor.reference import gabor_reference


def gabor_network_reference(
    x: Tensor, layers: Sequence[Sequence[Tensor]], weight: Tensor, bias: Tensor, omega0: Sequence[float], sigma0: float
) -> Tensor:
    """Re(psi_L(... psi_1(x W_1^T + b_1) ... W_L^T + b_L) V^T + c), with `layers` of (W, b) or (W, b, U, d).

    psi is `ops.gabor` with the frequency of its layer and, where there are U and d, the window x U^T + d.
    """
    for frequency, (inner, shift, *window) in zip(omega0, layers, strict=True):
        orthogonal = x @ window[0].mT + window[1] if window else None
        x = gabor_reference(x @ inner.mT + shift, frequency, sigma0, orthogonal)
    return (x @ weight.mT + bias).real
