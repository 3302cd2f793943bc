"""What a fitted field has learnt: activations before and after training, sinusoids, and spectra of layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from staf._documents import Entries
from staf.analysis.features import LayerMaps, activation_maps
from staf.figures.activations import ActivationCurves, activation_curves
from staf.figures.palette import AFTER, BEFORE, INPUTS
from staf.figures.style import new_figure, tidy
from staf.nn import networks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from staf.api import FittedField

GRID = {1: 4096, 2: 128, 3: 24}
COLUMN_INCHES = 2.7


def inspect_figure(field: FittedField, start: Mapping[str, Tensor] | None = None) -> Figure:
    """A figure of what a `FittedField` has learnt, with a column per layer.

    Rows: the activation rho(x) over the distribution of its inputs, its sinusoids as lines of height |C| at Omega, and
    the power spectrum of the layer's outputs over the signal. `start` is `Fit.start`; without it, a field whose file
    says that it was built from its seed is built again, and for others only the end is drawn.

    >>> import numpy as np, staf
    >>> fit = staf.fit(np.eye(8, dtype=np.float32), field=staf.staf(2, 1, width=8, depth=2), steps=1, progress=False)
    >>> [axes.get_title("left") for axes in inspect_figure(fit.field, fit.start).axes[:2]]
    ['Layer 1', 'Layer 2']
    """
    module, metadata = field.module, field.metadata
    if start is None:
        start = start_of(module, metadata)
    d = int(getattr(module, "in_features", len(metadata.get("signal", {}).get("shape", (0, 0)))))
    curves = activation_curves(module, start, in_features=d)
    spectra = activation_maps(module, (GRID.get(d, 8),) * d, neurons=1)
    return draw_inspection(curves, spectra, side=GRID.get(d, 8))


def start_of(module: nn.Module, metadata: Entries) -> dict[str, Tensor] | None:
    """The parameters of a field before training, where its file is enough to know them."""
    architecture = getattr(module, "architecture", None)
    if architecture is None or not metadata.get("from_seed"):
        return None
    generator = torch.Generator().manual_seed(int(metadata["seed"]))
    return {
        name: value.detach() for name, value in networks.build(architecture, generator=generator).named_parameters()
    }


def draw_inspection(curves: Sequence[ActivationCurves], spectra: Sequence[LayerMaps], *, side: int) -> Figure:
    """The figure of `inspect_figure` from its data; frequencies of spectra are shown in cycles per `side` samples."""
    with_sinusoids = any(curve.sinusoids_after is not None for curve in curves)
    rows = [name for name, there in (("curve", curves), ("sinusoids", with_sinusoids), ("power", spectra)) if there]
    columns = max(len(curves), len(spectra), 1)
    figure = new_figure(max(5.0, COLUMN_INCHES * columns), 2.3 * len(rows) + 0.3)
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for row, name in enumerate(rows):
        count = len(spectra) if name == "power" else len(curves)
        for column in range(columns):
            axes = grid[row, column]
            if column >= count:
                axes.set_visible(False)
            elif name == "curve":
                draw_activation(axes, curves[column])
            elif name == "sinusoids":
                draw_sinusoids(axes, curves[column])
            else:
                draw_power(axes, spectra[column], side)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper right", ncols=3, frameon=False, fontsize=9)
    return figure


def draw_activation(axes: Axes, curve: ActivationCurves) -> None:
    """rho(x) before and after, over the histogram of the inputs."""
    below = axes.twinx()
    below.stairs(curve.density, curve.edges, fill=True, color=INPUTS, alpha=0.7)
    below.set_ylim(0, 2.2 * max(float(curve.density.max()), 1e-12))
    below.set_axis_off()
    axes.set_zorder(below.get_zorder() + 1)
    axes.set_frame_on(False)
    axes.fill_between([], [], color=INPUTS, alpha=0.7, label="its inputs")
    if curve.before is not None and curve.trained:
        lines = axes.plot(curve.x, curve.before.T, color=BEFORE, linestyle=(0, (4, 2)), linewidth=1.3)
        lines[0].set_label("before training")
    lines = axes.plot(curve.x, curve.after.T, color=AFTER, linewidth=1.6)
    lines[0].set_label("after training" if curve.trained or curve.before is None else "fixed")
    tidy(axes, x="input x", y="ρ(x)", title=curve.name)


def draw_sinusoids(axes: Axes, curve: ActivationCurves) -> None:
    """|C| at Omega of every term, before and after."""
    pairs = ((curve.sinusoids_before, BEFORE, "s", 5.0), (curve.sinusoids_after, AFTER, "o", 4.0))
    for sinusoids, colour, marker, size in pairs:
        if sinusoids is not None and (colour == AFTER or curve.trained):
            amplitude, frequency, _ = sinusoids
            axes.vlines(np.abs(frequency), 0, np.abs(amplitude), color=colour, linewidth=1.4)
            axes.plot(np.abs(frequency), np.abs(amplitude), marker, color=colour, markersize=size, fillstyle="none")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    tidy(axes, x="frequency |Ω|", y="amplitude |C|")


def draw_power(axes: Axes, layer: LayerMaps, side: int) -> None:
    """The share of a layer's power at each frequency of the signal."""
    axes.fill_between(layer.frequency * side, layer.power, color=AFTER, alpha=0.25, linewidth=0)
    axes.plot(layer.frequency * side, layer.power, color=AFTER, linewidth=1.4)
    axes.axvline(layer.mean_frequency * side, color="black", linewidth=0.9, linestyle=":")
    axes.text(layer.mean_frequency * side, 0.96, " mean", transform=axes.get_xaxis_transform(), fontsize=8, va="top")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, side / 2)
    tidy(axes, x="cycles across the signal", y="share of power")
