"""The baselines' activations, without parameters."""

from __future__ import annotations

from torch import Tensor, nn

from staf import ops
from staf._typing import Float
from staf.nn.arguments import Positive, check


class Sine(nn.Module):
    """SIREN's: sin(omega0 x).

    >>> import torch
    >>> Sine(30)(torch.zeros(2, 3)).sum().item()
    0.0
    """

    def __init__(self, omega0: float = 30.0) -> None:
        super().__init__()
        self.omega0: float = check("omega0", omega0, Positive)

    def forward(self, x: Float[Tensor, "*points n"]) -> Float[Tensor, "*points n"]:
        """sin(omega0 x)."""
        return ops.sine(x, self.omega0)

    def extra_repr(self) -> str:
        return f"omega0={self.omega0:g}"


class Finer(nn.Module):
    """FINER's: sin(omega0 (|x| + 1) x), the scale |x| + 1 taken without gradient."""

    def __init__(self, omega0: float = 30.0) -> None:
        super().__init__()
        self.omega0: float = check("omega0", omega0, Positive)

    def forward(self, x: Float[Tensor, "*points n"]) -> Float[Tensor, "*points n"]:
        """sin(omega0 (|x| + 1) x)."""
        return ops.finer(x, self.omega0)

    def extra_repr(self) -> str:
        return f"omega0={self.omega0:g}"


class Gauss(nn.Module):
    """exp(-(sigma x)^2)."""

    def __init__(self, sigma: float = 10.0) -> None:
        super().__init__()
        self.sigma: float = check("sigma", sigma, Positive)

    def forward(self, x: Float[Tensor, "*points n"]) -> Float[Tensor, "*points n"]:
        """exp(-(sigma x)^2)."""
        return ops.gauss(x, self.sigma)

    def extra_repr(self) -> str:
        return f"sigma={self.sigma:g}"
