"""The networks as their authors released them: plain `nn.Linear`, the activation's formula, eager fp32.

They hold the same weights as a field of the library, so both compute the same function. Coordinates go through an
ordinary matrix product, as there.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from staf.nn import SineSeries
from staf.nn.activations import Finer, Gauss, Sine
from staf.nn.gabor_network import Wire


class ReleasedSeries(nn.Module):
    """STAF's: rho(x) = sum_i C_i sin(Omega_i x + Phi_i), with a temporary of shape (points, width, tau)."""

    def __init__(self, amplitude: Tensor, frequency: Tensor, phase: Tensor) -> None:
        super().__init__()
        self.C, self.Omega, self.Phi = (nn.Parameter(t.detach().clone()) for t in (amplitude, frequency, phase))

    def forward(self, x: Tensor) -> Tensor:
        return (self.C * torch.sin(self.Omega * x.unsqueeze(-1) + self.Phi)).sum(-1)


class ReleasedSine(nn.Module):
    """SIREN's: sin(omega0 x)."""

    def __init__(self, omega0: float) -> None:
        super().__init__()
        self.omega0 = omega0

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(self.omega0 * x)


class ReleasedFiner(ReleasedSine):
    """FINER's: sin(omega0 (|x| + 1) x), the scale without gradient."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            scale = torch.abs(x) + 1
        return torch.sin(self.omega0 * scale * x)


class ReleasedGauss(nn.Module):
    """exp(-(sigma x)^2)."""

    def __init__(self, sigma: float) -> None:
        super().__init__()
        self.sigma = sigma

    def forward(self, x: Tensor) -> Tensor:
        return torch.exp(-((self.sigma * x) ** 2))


class ReleasedGabor(nn.Module):
    """WIRE's: exp(i omega0 x - |sigma0 x|^2)."""

    def __init__(self, omega0: float, sigma0: float) -> None:
        super().__init__()
        self.omega0, self.sigma0 = omega0, sigma0

    def forward(self, x: Tensor) -> Tensor:
        return torch.exp(1j * self.omega0 * x - (self.sigma0 * x).abs().square())


class ReleasedNetwork(nn.Module):
    """Activated layers and a linear output.

    >>> from staf.nn import siren
    >>> field = siren(2, 3, width=8, depth=2)
    >>> released = ReleasedNetwork(field)
    >>> bool(torch.allclose(released(torch.ones(5, 2)), field(torch.ones(5, 2)), atol=1e-5))
    True
    """

    def __init__(self, field: Any) -> None:
        super().__init__()
        self.linears = nn.ModuleList(_plain(linear) for linear in [*field.layers, field.output])
        self.activations = nn.ModuleList(_formula(field, index) for index in range(len(field.layers)))

    def forward(self, coordinates: Tensor) -> Tensor:
        z = coordinates
        for index, activation in enumerate(self.activations):
            z = activation(self.linears[index](z))
        values = self.linears[-1](z)
        return values.real if values.is_complex() else values


def _plain(linear: nn.Linear) -> nn.Linear:
    weight = linear.weight
    plain = nn.Linear(linear.in_features, linear.out_features, device=weight.device, dtype=weight.dtype)
    plain.load_state_dict(linear.state_dict())
    return plain


def _formula(field: Any, index: int) -> nn.Module:
    if isinstance(field, Wire):
        return ReleasedGabor(field.omega0 if index == 0 else field.hidden_omega0, field.sigma0)
    activation = field.activation(index)
    if isinstance(activation, SineSeries):
        return ReleasedSeries(*activation.sinusoids)
    if isinstance(activation, Finer):
        return ReleasedFiner(activation.omega0)
    if isinstance(activation, Sine):
        return ReleasedSine(activation.omega0)
    if isinstance(activation, Gauss):
        return ReleasedGauss(activation.sigma)
    raise TypeError(f"there is no released formula for {type(activation).__name__}")
