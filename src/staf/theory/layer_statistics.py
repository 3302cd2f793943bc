"""Distributions and spectra of every layer of a network, on one line of inputs or on any coordinates.

>>> from staf.nn import siren
>>> rows = layer_statistics(siren(1, 1, width=64, depth=2), torch.linspace(-1, 1, 256)[:, None])
>>> [row.layer for row in rows], rows[0].post.shape
([0, 1], (256, 64))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from staf._documents import Document
from staf._typing import Float
from staf.nn import CoordinateMLP
from staf.theory.initialisation import normal_cdf
from staf.theory.layers import linear_modules

Array = NDArray[np.float64]


class LayerRow(NamedTuple):
    """One activated layer: pre- and post-activations (n, width), and the statistics of the latter over all entries."""

    layer: int
    pre: Array
    post: Array
    variance: float
    excess_kurtosis: float
    normal_distance: float


def layer_statistics(field: nn.Module, coordinates: Float[Tensor, "n d"]) -> list[LayerRow]:
    """Pre-activations, post-activations, variance, kurtosis and distance from N(0, 1) of every activated layer.

    Of any `CoordinateMLP`, whatever its activation, or `Sequential` of linear layers and activations.
    """
    seen: list[tuple[Tensor, Tensor]] = []

    def keep(module: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
        seen.append((arguments[0], output))

    hooks = [linear.register_forward_hook(keep) for linear in linear_modules(field)]
    try:
        with torch.no_grad():
            last = field(coordinates)
    finally:
        for hook in hooks:
            hook.remove()
    activated = isinstance(field, nn.Sequential) and not isinstance(field[-1], nn.Linear)
    inputs = [entry[0] for entry in seen[1:]] + ([last] if activated else [])
    rows = []
    for index, post in enumerate(inputs):
        z = post.double().cpu().numpy()
        rows.append(LayerRow(index, seen[index][1].double().cpu().numpy(), z, *_moments(z)))
    return rows


def mean_spectrum(values: Array) -> tuple[Array, Array]:
    """Frequencies (cycles per unit of [-1, 1]) and mean magnitude over neurons of values (n, width) on a line.

    Each neuron's mean is removed, and a Hann window keeps the ends of the line from leaking into every frequency.

    >>> x = np.linspace(-1, 1, 512, endpoint=False)[:, None]
    >>> frequency, magnitude = mean_spectrum(np.sin(2 * np.pi * 20 * x))
    >>> float(frequency[magnitude.argmax()])
    20.0
    """
    n = len(values)
    window = np.hanning(n)[:, None]
    magnitude = np.abs(np.fft.rfft((values - values.mean(0)) * window, axis=0)) / window.sum() * 2
    return np.fft.rfftfreq(n, 2 / n).astype(np.float64), magnitude.mean(1)


def bandwidth(frequency: Array, magnitude: Array, share: float = 0.99) -> float:
    """The frequency below which `share` of the power lies.

    >>> bandwidth(np.array([0.0, 1.0, 2.0]), np.array([0.0, 3.0, 0.1]))
    1.0
    """
    running = np.cumsum(magnitude**2)
    return float(frequency[np.searchsorted(running, share * running[-1])])


def layer_distribution_data(
    fields: Mapping[str, nn.Module] | None = None, *, points: int = 8192, bins: int = 121, seed: int = 0
) -> Document:
    """Arrays for the figure of distributions and spectra per layer: SIREN and STAF of tau = 5, 10, 20 by default.

    Keys: `names`; `edges` (bins + 1,); `pre` and `post` (networks, layers, bins) densities; `frequency` (k,);
    `spectrum` (networks, layers, k); `bandwidth`, `variance`, `kurtosis`, `distance`, `pre_variance` (networks,
    layers). Pre-activations are divided by their standard deviation. All networks must have the same number of layers;
    one with several coordinates is read along the first of them, the others being 0.

    >>> data = layer_distribution_data(points=256, bins=21)
    >>> data["names"], data["post"].shape
    (['SIREN', 'STAF, τ = 5', 'STAF, τ = 10', 'STAF, τ = 20'], (4, 4, 21))
    """
    chosen = default_fields(seed) if fields is None else fields
    line = 2 * torch.arange(points) / points - 1
    edges = np.linspace(-4, 4, bins + 1)
    data: Document = {"names": list(chosen), "edges": edges}
    keys = ("pre", "post", "spectrum", "bandwidth", "variance", "kurtosis", "distance", "pre_variance")
    columns: dict[str, list[Any]] = {key: [] for key in keys}
    for field in chosen.values():
        x = line.to(next(field.parameters())).new_zeros(points, _inputs(field))
        x[:, 0] = line
        rows = layer_statistics(field, x)
        spectra = [mean_spectrum(row.post) for row in rows]
        data["frequency"] = spectra[0][0]
        columns["pre"].append([_histogram(row.pre / max(row.pre.std(), 1e-300), edges) for row in rows])
        columns["post"].append([_histogram(row.post, edges) for row in rows])
        columns["spectrum"].append([magnitude for _, magnitude in spectra])
        columns["bandwidth"].append([bandwidth(*pair) for pair in spectra])
        columns["variance"].append([row.variance for row in rows])
        columns["kurtosis"].append([row.excess_kurtosis for row in rows])
        columns["distance"].append([row.normal_distance for row in rows])
        columns["pre_variance"].append([float(row.pre.var()) for row in rows])
    return {**data, **{key: np.array(value) for key, value in columns.items()}}


def default_fields(seed: int = 0) -> dict[str, nn.Module]:
    """SIREN and the paper's STAF with 5, 10 and 20 terms, on one coordinate: 4 activated layers of 256, omega0 = 30."""
    from staf.nn import siren, staf

    generator = torch.Generator().manual_seed(seed)
    fields: dict[str, nn.Module] = {"SIREN": siren(1, 1, generator=generator)}
    for terms in (5, 10, 20):
        fields[f"STAF, τ = {terms}"] = staf(
            1, 1, terms=terms, omega0=30, law="theorem", weights="torch", generator=generator
        )
    return fields


def _inputs(field: nn.Module) -> int:
    if isinstance(field, CoordinateMLP):
        return field.in_features
    return next(module.in_features for module in field.modules() if isinstance(module, nn.Linear))


def _histogram(values: Array, edges: Array) -> Array:
    counts, _ = np.histogram(values, edges)
    return counts / (values.size * np.diff(edges))


def _moments(values: Array) -> tuple[float, float, float]:
    centred = values - values.mean()
    variance = float((centred**2).mean())
    kurtosis = float((centred**4).mean() / variance**2 - 3) if variance > 0 else 0.0
    ordered = np.sort(values.ravel())
    rank = np.arange(1, len(ordered) + 1) / len(ordered)
    reference = normal_cdf(ordered)
    return (
        variance,
        kurtosis,
        float(np.maximum(np.abs(rank - reference), np.abs(rank - 1 / len(ordered) - reference)).max()),
    )
