"""What the layers of a field compute over a grid: feature maps, their distribution and their spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from staf.analysis.selection import module_of
from staf.analysis.spectrum import Array
from staf.signals.grid import Convention, coordinates


@dataclass(frozen=True)
class LayerMaps:
    """What one linear layer, `read_by`, reads: features over the grid, (neurons, *shape), and their statistics.

    `maps` holds the neurons that were kept; `variance` and `excess_kurtosis` are over all neurons and points, and
    `edges` (b + 1,), `density` (b,) their histogram. `frequency` (k,) in cycles per sample along an axis and `power`
    (k,) are the mean power spectrum over all neurons, radially summed and normalised to 1. Complex features count by
    their modulus in maps and histograms.
    """

    read_by: str
    maps: Array
    variance: float
    excess_kurtosis: float
    edges: Array
    density: Array
    frequency: Array
    power: Array

    @property
    def mean_frequency(self) -> float:
        """The mean of the frequency under the power spectrum."""
        return float((self.frequency * self.power).sum())


def activation_maps(
    field: nn.Module,
    shape: Sequence[int],
    *,
    neurons: int = 8,
    bins: int = 80,
    convention: Convention = "centres",
    chunk: int = 2**14,
) -> list[LayerMaps]:
    """Features of every layer of any field over a grid, trained or fresh.

    A feature is what a linear layer reads, so skips and products of filters are included, and encodings come first;
    layers that read the coordinates themselves have none. The first `neurons` maps are kept. `chunk` points are
    evaluated at a time; all features of all points are held once, on the CPU.

    >>> from staf.nn import siren
    >>> [(layer.read_by, layer.maps.shape) for layer in activation_maps(siren(2, 3, width=16, depth=2), (8, 6))]
    [('layers.1', (8, 8, 6)), ('output', (8, 8, 6))]
    """
    module = module_of(field)
    if neurons < 1:
        raise ValueError(f"neurons must be at least 1, got {neurons}")
    return [
        _layer(name, features, tuple(shape), neurons, bins)
        for name, features in layer_features(module, coordinates(shape, convention), chunk).items()
    ]


def layer_features(field: nn.Module, points: Tensor, chunk: int = 2**14) -> dict[str, Tensor]:
    """What each linear layer reads at each point, (n, width), by the layer's name and in order of use.

    A tensor that two layers read comes once; a layer used several times is numbered, as `layers.0 #2`.
    """
    parameter = next(field.parameters())
    real = parameter.real.dtype if parameter.is_complex() else parameter.dtype
    names: dict[nn.Module, str] = {part: name for name, part in field.named_modules() if isinstance(part, nn.Linear)}
    seen: list[tuple[str, Tensor]] = []

    def keep(part: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        if all(arguments[0] is not other for _, other in seen):
            seen.append((names[part], arguments[0]))

    pieces: dict[str, list[Tensor]] = {}
    handles = [part.register_forward_pre_hook(keep) for part in names]
    try:
        with torch.no_grad():
            for start in range(0, len(points), chunk):
                batch = points[start : start + chunk].to(parameter.device, real)
                seen.append(("coordinates", batch))
                field(batch)
                counts: dict[str, int] = {}
                for name, features in seen[1:]:
                    if len(features) == len(batch):
                        counts[name] = counts.get(name, 0) + 1
                        key = name if counts[name] == 1 else f"{name} #{counts[name]}"
                        pieces.setdefault(key, []).append(features.cpu())
                seen.clear()
    finally:
        for handle in handles:
            handle.remove()
    if not pieces:
        raise ValueError(f"the field has no linear layer that reads features: {type(field).__name__}")
    return {name: torch.cat(parts) for name, parts in pieces.items()}


def _layer(name: str, features: Tensor, shape: tuple[int, ...], neurons: int, bins: int) -> LayerMaps:
    frequency, power = radial_spectrum(features.numpy(), shape)
    values = (features.abs() if features.is_complex() else features).double().numpy()
    centred = values - values.mean()
    variance = float((centred**2).mean())
    density, edges = np.histogram(values, bins=bins, density=True)
    return LayerMaps(
        read_by=name,
        maps=values.T[:neurons].reshape(-1, *shape).copy(),
        variance=variance,
        excess_kurtosis=float((centred**4).mean() / variance**2 - 3) if variance > 0 else 0.0,
        edges=edges,
        density=density,
        frequency=frequency,
        power=power,
    )


def radial_spectrum(values: NDArray[Any], shape: Sequence[int]) -> tuple[Array, Array]:
    """Mean power over neurons of values (n, width) on a grid, by frequency in cycles per sample, summing to 1.

    The mean is removed and a Hann window applied along every axis, so that the ends of a signal that is not periodic
    do not leak into every frequency. Power of all directions at about one radius adds up; frequencies beyond 1/2,
    which only the corners of a square spectrum have, count as 1/2.

    >>> i = np.arange(64)
    >>> frequency, power = radial_spectrum(np.sin(2 * np.pi * 0.25 * i)[:, None], (64,))
    >>> float(frequency[power.argmax()])
    0.25
    """
    grid = np.asarray(values).reshape(*shape, -1)
    axes = tuple(range(len(shape)))
    grid = grid - grid.mean(axis=axes, keepdims=True)
    for k, size in enumerate(shape):
        window = np.hanning(size + 2)[1:-1]
        grid = grid * window.reshape([-1 if axis == k else 1 for axis in range(grid.ndim)])
    power = (np.abs(np.fft.fftn(grid, axes=axes)) ** 2).mean(-1)
    radius = np.sqrt(sum(np.square(part) for part in np.meshgrid(*(np.fft.fftfreq(n) for n in shape), indexing="ij")))
    count = max(2, max(shape) // 2 + 1)
    ring = np.minimum(np.rint(radius * 2 * (count - 1)).astype(int), count - 1)
    summed = np.bincount(ring.ravel(), weights=power.ravel(), minlength=count)
    total = summed.sum()
    return np.linspace(0, 0.5, count), np.asarray(summed / max(total, np.finfo(float).tiny))
