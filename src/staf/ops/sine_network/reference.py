"""The definition of a sine network."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from staf.ops.sine_series.reference import sine_series_reference


def sine_network_reference(
    x: Tensor, layers: Sequence[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]], weight: Tensor, bias: Tensor
) -> Tensor:
    """rho_L(... rho_1(x W_1^T + b_1) ... W_L^T + b_L) V^T + c, with `layers` of (W, b, C, Omega, Phi).

    Shapes have a leading axis of networks: x (networks, n, k), W (networks, m, k), b (networks, m), sinusoids
    (networks, 1, terms), V (networks, c, m), c (networks, c).
    """
    for inner_weight, inner_bias, amplitude, frequency, phase in layers:
        inner = x @ inner_weight.mT + inner_bias[:, None]
        x = sine_series_reference(inner, amplitude, frequency, phase)
    return x @ weight.mT + bias[:, None]
