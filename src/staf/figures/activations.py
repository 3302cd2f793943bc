"""What each activated layer computes, before and after training, as curves ready to be drawn."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from staf.nn import SineSeries
from staf.nn.activations import Finer, Gauss, Sine

POINTS = 2048
SAMPLES = 257
NEURONS = 6
BINS = 48


@dataclass(frozen=True)
class ActivationCurves:
    """One activation: rho(x) over the inputs that it meets.

    `x` has shape (n,), `before` and `after` (k, n): one row, or a few neurons' where each has its own. `before` is None
    where nothing is known of the start. `edges` (b+1,) and `density` (b,) are the histogram of the layer's inputs after
    training. The sinusoids (C, Omega, Phi), each of shape (tau,), are None where the activation has none of its own.
    """

    name: str
    x: np.ndarray
    before: np.ndarray | None
    after: np.ndarray
    edges: np.ndarray
    density: np.ndarray
    sinusoids_before: tuple[np.ndarray, np.ndarray, np.ndarray] | None
    sinusoids_after: tuple[np.ndarray, np.ndarray, np.ndarray] | None

    @property
    def trained(self) -> bool:
        """Whether training has moved the curve."""
        return self.before is not None and not np.allclose(self.before, self.after)


def activation_curves(
    module: nn.Module, start: Mapping[str, Tensor] | None = None, *, in_features: int | None = None
) -> list[ActivationCurves]:
    """The activations of a network in the order in which they are applied; a shared one comes once.

    Each is drawn where the central 99% of its inputs lie, over 2,048 random points of [-1, 1]^d. `start` maps the
    names of parameters to their values before training (`Fit.start`); without it the curves before are None, except
    for activations that have nothing to train.

    >>> import staf
    >>> field = staf.staf(2, 3, width=16, depth=2)
    >>> [(curve.name, curve.after.shape) for curve in activation_curves(field)]
    [('Layer 1', (1, 257)), ('Layer 2', (1, 257))]
    """
    d = in_features if in_features is not None else int(getattr(module, "in_features", 2))
    inputs = _inputs(module, d)
    started = None
    if start:
        started = copy.deepcopy(module)
        state = dict(started.named_parameters())
        with torch.no_grad():
            for name, value in start.items():
                state[name].copy_(value)
    names = {part: name for name, part in module.named_modules()}
    curves = []
    for number, (part, seen) in enumerate(inputs.items(), start=1):
        first = started.get_submodule(names[part]) if started is not None else None
        if first is None and not list(part.parameters()):
            first = part
        curves.append(_curve(f"Layer {number}", part, first, seen))
    return curves


def _inputs(module: nn.Module, d: int) -> dict[nn.Module, Tensor]:
    """Each activation, in order of use, with a sample of its inputs (m, width)."""
    found: dict[nn.Module, list[Tensor]] = {}

    def keep(part: nn.Module, arguments: tuple[Tensor, ...], _: Tensor) -> None:
        found.setdefault(part, []).append(arguments[0].detach().float().cpu())

    kinds = (SineSeries, Sine, Finer, Gauss)
    hooks = [part.register_forward_hook(keep) for part in module.modules() if isinstance(part, kinds)]
    parameter = next(module.parameters())
    points = torch.rand(POINTS, d, generator=torch.Generator().manual_seed(0)) * 2 - 1
    try:
        with torch.no_grad():
            module(points.to(parameter.device, parameter.real.dtype))
    finally:
        for hook in hooks:
            hook.remove()
    return {part: torch.cat(parts) for part, parts in found.items()}


def _curve(name: str, part: nn.Module, first: nn.Module | None, seen: Tensor) -> ActivationCurves:
    flat = seen.flatten().numpy()
    low, high = (float(end) for end in np.quantile(flat, [0.005, 0.995]))
    reach = max(abs(low), abs(high), 1e-6)
    x = torch.linspace(-reach, reach, SAMPLES)
    density, edges = np.histogram(flat, bins=BINS, range=(-reach, reach), density=True)
    return ActivationCurves(
        name,
        x.numpy(),
        None if first is None else _evaluate(first, x),
        _evaluate(part, x),
        edges,
        density,
        None if first is None else _sinusoids(first),
        _sinusoids(part),
    )


def _evaluate(part: nn.Module, x: Tensor) -> np.ndarray:
    """rho at x (n,): (1, n), or (k, n) for the first few of the neurons that have their own."""
    width = part.width if isinstance(part, SineSeries) else None
    tensors = [*part.parameters(), *part.buffers()]
    if tensors:
        x = x.to(tensors[0].device, tensors[0].dtype)
    with torch.no_grad():
        values = part(x[:, None].expand(-1, width or 1))
    return values[:, :NEURONS].T.float().cpu().numpy()


def _sinusoids(part: nn.Module) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    if not isinstance(part, SineSeries) or part.width is not None:
        return None
    amplitude, frequency, phase = (value.detach().float().cpu().numpy() for value in part.sinusoids)
    return amplitude, frequency, phase
