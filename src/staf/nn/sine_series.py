"""The trainable sinusoidal activation."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import torch
from torch import Tensor, nn

from staf import ops
from staf._typing import Float
from staf.nn.arguments import Positive, Size, Terms, check, choose
from staf.nn.init import Law, Sinusoids, fill, law_by_name

Part = Literal["amplitude", "frequency", "phase"]
PARTS: tuple[Part, ...] = ("amplitude", "frequency", "phase")


class SineSeries(nn.Module):
    """rho(x) = sum_i C_i sin(Omega_i x + Phi_i), elementwise, with C, Omega and Phi trained.

    Args:
        terms: the number of sinusoids (tau).
        omega0: the highest initial frequency.
        width: if given, every neuron (last axis of x) has its own sinusoids, with parameters of shape (width, terms);
            otherwise one set is used for the whole layer, with parameters of shape (terms,). To share one set between
            layers, use the same module in all of them.
        law: the initial sinusoids: `siren_start` (default), `theorem`, `released`, or a law object of `staf.nn.init`.
        train: which of amplitude, frequency and phase are parameters; the others are buffers: saved but not trained.

    >>> act = SineSeries(terms=5, omega0=30, generator=torch.Generator().manual_seed(0))
    >>> act(torch.zeros(7, 16)).shape, sum(p.numel() for p in act.parameters())
    (torch.Size([7, 16]), 15)
    """

    amplitude: Tensor
    frequency: Tensor
    phase: Tensor

    def __init__(
        self,
        terms: int = 5,
        omega0: float = 30.0,
        *,
        width: int | None = None,
        law: str | Law = "siren_start",
        train: Collection[str] = PARTS,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.terms: int = check("terms", terms, Terms)
        self.omega0: float = check("omega0", omega0, Positive)
        self.width: int | None = check("width", width, Size | None)
        if isinstance(train, str):
            raise TypeError(f"train must be a collection of {', '.join(PARTS)}, such as ({train!r},), got {train!r}")
        for part in train:
            choose("train", part, PARTS)
        law = law_by_name(law)
        shape = (self.terms,) if self.width is None else (self.width, self.terms)
        start = torch.empty((3, *shape), device=device, dtype=dtype)
        fill(start, lambda: torch.stack(law(shape, self.omega0, generator)))
        for part, value in zip(PARTS, start, strict=True):
            value = value.clone()
            if part in train:
                self.register_parameter(part, nn.Parameter(value))
            else:
                self.register_buffer(part, value)

    @property
    def sinusoids(self) -> Sinusoids:
        """Amplitude, frequency and phase together."""
        return Sinusoids(self.amplitude, self.frequency, self.phase)

    def forward(self, x: Float[Tensor, "*points n"]) -> Float[Tensor, "*points n"]:
        """rho(x)."""
        return ops.sine_series(x, self.amplitude, self.frequency, self.phase)

    def extra_repr(self) -> str:
        frozen = [part for part in PARTS if part not in self._parameters]
        width = "" if self.width is None else f", width={self.width}"
        return f"terms={self.terms}, omega0={self.omega0:g}{width}" + (f", frozen={frozen}" if frozen else "")
