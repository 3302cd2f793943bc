"""Training that a kernel predicts, beside training that happened.

Gradient descent with rate eta on the mean squared error of n points and c channels moves the residual r = f - y by
r(t+1) = (I - 2 eta / (n c) K) r(t) as long as the kernel K (the full one, between channels too) stays where it
started. Along its eigenvectors,

    r_k(t) = (1 - 2 eta lambda_k / (n c))^t r_k(0)      ->      exp(-2 eta lambda_k t / (n c)) r_k(0) for small steps.

FINER stops the gradient of its scale, so it trains along J_autograd, while its values move with the true Jacobian: for
it the prediction is only a model.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from staf._documents import Document
from staf._typing import Float
from staf.analysis.ntk import empirical_ntk
from staf.analysis.selection import module_of, selected_parameters
from staf.analysis.spectrum import Array, ntk_spectrum


@dataclass(frozen=True)
class LazyConvergence:
    """Mean squared errors after 0, 1, ..., steps: `observed`, `predicted` by descent, and by gradient `flow`.

    `modes` are the eigenvectors followed one by one, `mode_observed` and `mode_predicted` (modes, steps + 1) their
    |r_k(t) / r_k(0)|. `kernel_change` is |K(end) - K(0)| / |K(0)| in Frobenius norm: how lazy the training was.
    """

    rate: float
    eigenvalues: Array
    observed: Array
    predicted: Array
    flow: Array
    modes: list[int]
    mode_observed: Array
    mode_predicted: Array
    kernel_change: float

    def to_plain(self) -> Document:
        """Numbers and lists, for a file."""
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in asdict(self).items()}


def decay(eigenvalues: Array, rate: float, numbers: int, steps: int, *, flow: bool = False) -> Array:
    """The factor of each residual r_k after 0, 1, ..., steps, (m, steps + 1); `numbers` is n c.

    >>> decay(np.array([1.0]), 0.25, 1, 2).tolist(), bool(decay(np.array([1.0]), 0.25, 1, 2, flow=True)[0, 1] > 0.5)
    ([[1.0, 0.5, 0.25]], True)
    """
    exponent = 2 * rate * eigenvalues / numbers
    time = np.arange(steps + 1)
    if flow:
        return np.asarray(np.exp(-exponent[:, None] * time))
    return np.asarray((1 - exponent[:, None]) ** time)


def lazy_convergence(
    field: nn.Module,
    coordinates: Float[Tensor, "n d"],
    target: Float[Tensor, "n c"],
    *,
    rate: float | None = None,
    steps: int = 200,
    modes: Collection[int] = (0, 1, 2, 4, 8),
    roles: str | Collection[str] = "all",
    memory: int = 2**30,
) -> LazyConvergence:
    """Train a copy of `field` by plain gradient descent, and set what its kernel predicts beside it.

    `rate` defaults to half of what keeps every eigenvector stable, n c / (2 lambda_1). Only the parameters of `roles`
    are trained. Predictions hold while the kernel stays put: wide networks, small residuals, few steps.

    >>> from staf.nn import siren
    >>> x = torch.linspace(-1, 1, 32)[:, None]
    >>> field = siren(1, 1, width=64, depth=2, omega0=10, generator=torch.Generator().manual_seed(0))
    >>> found = lazy_convergence(field, x, field(x).detach() + 0.01 * torch.sin(3 * x), steps=50)
    >>> bool(np.allclose(found.observed, found.predicted, rtol=0.02))
    True
    """
    module = copy.deepcopy(module_of(field))
    chosen = selected_parameters(module, roles)
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    for parameter in chosen.values():
        parameter.requires_grad_(True)
    first = next(iter(chosen.values()))
    real = first.real.dtype if first.is_complex() else first.dtype
    coordinates, target = coordinates.to(first.device, real), target.to(first.device, real)
    kernel = empirical_ntk(module, coordinates, outputs="full", memory=memory)
    spectrum = ntk_spectrum(kernel)
    numbers = target.numel()
    chosen_rate = numbers / (2 * float(spectrum.eigenvalues[0])) if rate is None else rate
    followed = [mode for mode in modes if mode < numbers]
    observed, residuals = _descend(module, list(chosen.values()), coordinates, target, chosen_rate, steps)
    along = np.abs(spectrum.eigenvectors[:, followed].T @ residuals)
    start = spectrum.eigenvectors.T @ residuals[:, 0]
    predicted, flow = (
        (start[:, None] ** 2 * decay(spectrum.eigenvalues, chosen_rate, numbers, steps, flow=f) ** 2).sum(0) / numbers
        for f in (False, True)
    )
    change = empirical_ntk(module, coordinates, outputs="full", memory=memory) - kernel
    return LazyConvergence(
        rate=chosen_rate,
        eigenvalues=spectrum.eigenvalues,
        observed=observed,
        predicted=predicted,
        flow=flow,
        modes=followed,
        mode_observed=along / along[:, :1],
        mode_predicted=np.abs(decay(spectrum.eigenvalues[followed], chosen_rate, numbers, steps)),
        kernel_change=float(torch.linalg.matrix_norm(change) / torch.linalg.matrix_norm(kernel)),
    )


def _descend(
    field: nn.Module, parameters: list[nn.Parameter], coordinates: Tensor, target: Tensor, rate: float, steps: int
) -> tuple[Array, Array]:
    """Mean squared errors (steps + 1,) and residuals (n c, steps + 1) of gradient descent on all points at once."""
    losses, residuals = [], []
    for step in range(steps + 1):
        residual = field(coordinates) - target
        loss = residual.square().mean()
        losses.append(float(loss.detach()))
        residuals.append(residual.detach().reshape(-1).double().cpu().numpy())
        if step < steps:
            slopes = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                for parameter, slope in zip(parameters, slopes, strict=True):
                    parameter.sub_(slope, alpha=rate)
    return np.array(losses), np.stack(residuals, axis=1)
