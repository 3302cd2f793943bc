"""Figures of `staf.analysis`, each from the plain arrays of a registry entry's `result.data`, or of a file.

`draw(name, data)` is the figure of an entry of `staf.analysis.registry`. Figures are made without pyplot, so nothing
global changes and no display is needed. Colours are those of Okabe and Ito; lines differ in dash as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from staf._documents import Document
from staf.figures.palette import BLACK, COLOURS, DASHES
from staf.figures.style import DPI, label_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SYMBOLS = {"amplitude": "C", "frequency": "Ω", "phase": "Φ"}


def draw(name: str, data: Document) -> Figure:
    """The figure of the registry entry `name`."""
    if name not in DRAWERS:
        raise ValueError(f"name must be one of {sorted(DRAWERS)}, got {name!r}")
    return DRAWERS[name](data)


def ntk_comparison(data: Document) -> Figure:
    """Eigenfunctions (left, a row a network), eigenvalues, and the signal's energy along the eigenvectors (right)."""
    names, functions = data["names"], np.asarray(data["eigenfunctions"])
    figure = new_figure(13.5, max(4.2, 1.15 * len(names)), DPI)
    halves: Any = figure.subfigures(1, 2, width_ratios=(1.15, 1))
    left, right = halves
    grid = left.subplots(len(names), functions.shape[1], squeeze=False)
    for n, name in enumerate(names):
        for k in range(functions.shape[1]):
            _eigenfunction(grid[n][k], functions[n, k], COLOURS[n % 7])
            if n == 0:
                grid[n][k].set_title(f"eigenfunction {k + 1}", fontsize=8)
        grid[n][0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    panels = right.subplots(2 if "cumulative" in data else 1, 1, squeeze=False)[:, 0]
    for n, name in enumerate(names):
        values = np.asarray(data["eigenvalues"][n])
        index = np.arange(1, len(values) + 1)
        style: Document = {"color": COLOURS[n % 7], "ls": DASHES[n % 7], "label": name}
        shown = np.where(values > 1e-9 * values[0], values, np.nan)
        panels[0].plot(index, shown, **style)
        if "cumulative" in data:
            panels[1].plot(index, data["cumulative"][n], **style)
    panels[0].set(xscale="log", yscale="log")
    label_axes(panels[0], "index", "eigenvalue", "Eigenvalues of the NTK")
    panels[0].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    if "cumulative" in data:
        (flat,) = panels[1].plot(index, index / len(index), color="0.6", lw=3, alpha=0.5, zorder=1)
        panels[1].legend([flat], ["no preference"], frameon=False, fontsize=8, loc="upper left")
        panels[1].set(xscale="log", ylim=(0, 1.02))
        title = "Alignment of the signal, mean removed"
        label_axes(panels[1], "first k eigenvectors", "share of the signal's energy", title)
    return figure


def ntk_roles(data: Document) -> Figure:
    """The share of the kernel's trace by kind of parameter, beside the sinusoids' share of the parameters."""
    laws = data["laws"]
    figure = new_figure(4.4 * len(laws) + 2.2, 4.0, DPI)
    panels = figure.subplots(1, len(laws), sharey=True, squeeze=False)[0]
    for axes, law, shares, count in zip(panels, laws, data["shares"], data["count"], strict=True):
        places = np.arange(len(data["names"]))
        for k, kind in enumerate(data["roles"]):
            label = kind if kind not in SYMBOLS else f"{kind} {SYMBOLS[kind]}"
            row = np.asarray(shares)[:, k]
            axes.plot(places, row, marker="os^D"[k % 4], color=COLOURS[k], ls=DASHES[k], label=label)
        axes.plot(places, count, "x:", color=BLACK, label="number of C, Ω, Φ\nover all parameters")
        axes.set(yscale="log", xticks=places, xticklabels=data["names"])
        axes.margins(x=0.1)
        label_axes(axes, "", "share of the NTK's trace" if axes is panels[0] else "", law)
    panels[-1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def lazy_convergence(data: Document) -> Figure:
    """Observed losses over what the kernel predicts for several sizes of residual; residuals of single eigenvectors."""
    figure = new_figure(11.5, 4.2, DPI)
    left, right = figure.subplots(1, 2)
    for i, (size, run) in enumerate(zip(data["sizes"], data["runs"], strict=True)):
        observed, predicted = np.asarray(run["observed"]), np.asarray(run["predicted"])
        moved = f"residual × {size:g} (kernel moved {run['kernel_change']:.1%})"
        left.plot(observed / observed[0], color=COLOURS[i], ls=DASHES[i], lw=2, label=moved)
        if i == len(data["sizes"]) - 1:
            left.plot(predicted / predicted[0], color=BLACK, lw=0, marker=".", ms=4, markevery=8, label="predicted")
    left.set(yscale="log")
    label_axes(left, "step", "mean squared error / at the start", "Loss")
    left.legend(frameon=False, fontsize=8)
    run = data["runs"][-1]
    for i, mode in enumerate(run["modes"]):
        right.plot(run["mode_observed"][i], color=COLOURS[i % 7], ls=DASHES[i % 7], label=f"eigenvector {mode + 1}")
        right.plot(run["mode_predicted"][i], color=COLOURS[i % 7], lw=0, marker=".", ms=4, markevery=8)
    right.set(yscale="log", ylim=(2e-3, 1.5))
    title = f"Along eigenvectors, residual × {data['sizes'][-1]:g} (lines observed, dots predicted)"
    label_axes(right, "step", "|residual| / at the start", title)
    right.legend(frameon=False, fontsize=8)
    return figure


def dynamics(data: Document) -> Figure:
    """Change per step (left) and drift from the start (right) of Omega, Phi and C, a line a layer."""
    figure = new_figure(10.0, 7.0, DPI)
    axes = figure.subplots(3, 2, sharex=True)
    for row, part in enumerate(("frequency", "phase", "amplitude")):
        for column, kind in enumerate(("change", "drift")):
            values = np.asarray(data[kind][part])
            for layer in range(values.shape[1]):
                style: Document = {"color": COLOURS[layer % 7], "ls": DASHES[layer % 7]}
                axes[row][column].plot(data["step"], values[:, layer], label=f"layer {layer + 1}", lw=1.3, **style)
            name = f"{part} {SYMBOLS[part]}"
            title = f"{name}: mean change per step" if kind == "change" else f"{name}: mean drift from the start"
            label_axes(axes[row][column], "step" if row == 2 else "", "", title)
        axes[row][0].set_yscale("log")
    axes[0][1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def freezing(data: Document) -> Figure:
    """Training PSNR with and without freezing, and how far the frequencies moved in each."""
    figure = new_figure(10.0, 3.8, DPI)
    left, right = figure.subplots(1, 2)
    for i, name in enumerate(("full", "frozen")):
        run = data[name]
        decibels = -10 * np.log10(np.maximum(run["loss"], 1e-30))
        label = f"{'all trained' if name == 'full' else 'C, Ω, Φ frozen'}: {run['metrics']['psnr']:.2f} dB"
        left.plot(decibels, color=COLOURS[i], ls=DASHES[i], lw=1.3, label=label)
        drift = np.asarray(run["dynamics"]["drift"]["frequency"]).mean(1)
        right.plot(run["dynamics"]["step"], drift, color=COLOURS[i], ls=DASHES[i], lw=1.6)
    for axes in (left, right):
        axes.axvline(data["freeze_from"], color=BLACK, lw=0.8, ls=":")
    label_axes(left, "step", "training PSNR (dB)", f"Frozen from step {data['freeze_from']} of {data['steps']}")
    left.legend(frameon=False, fontsize=8, title="final weights", title_fontsize=8)
    label_axes(right, "step", "mean drift of Ω", "Frequencies stand still once frozen")
    return figure


def activation_maps(data: Document) -> Figure:
    """The first neurons of each layer over the grid (a row a layer), their distribution and their spectrum."""
    layers, shown = len(data["maps"]), min(6, len(data["maps"][0]))
    figure = new_figure(13.0, 1.6 * layers + 0.6, DPI)
    axes = figure.subplots(layers, shown + 2, squeeze=False, width_ratios=[1] * shown + [1.4, 1.4])
    for row in range(layers):
        for neuron in range(shown):
            panel, values = axes[row][neuron], np.asarray(data["maps"][row][neuron])
            if values.ndim == 2:
                panel.imshow(values, cmap="RdBu_r", vmin=-np.abs(values).max(), vmax=np.abs(values).max())
            else:
                panel.plot(values, color=COLOURS[row % 7], lw=0.7)
            panel.set(xticks=[], yticks=[])
            if row == 0:
                panel.set_title(f"neuron {neuron + 1}", fontsize=8)
        axes[row][0].set_ylabel(f"read by\n{data['read_by'][row]}", fontsize=8)
        spread, power = axes[row][shown], axes[row][shown + 1]
        spread.stairs(data["density"][row], data["edges"][row], color=COLOURS[row % 7], fill=True, alpha=0.6)
        power.plot(data["frequency"][row], np.maximum(data["power"][row], 1e-8), color=COLOURS[row % 7])
        power.set(yscale="log", ylim=(1e-6, 1))
        last = row == layers - 1
        label_axes(spread, "value" if last else "", "", "distribution" if row == 0 else "")
        label_axes(power, "cycles per sample" if last else "", "", "power spectrum" if row == 0 else "")
        for panel in (spread, power):
            panel.tick_params(labelsize=7)
    return figure


DRAWERS: dict[str, Callable[[Document], Figure]] = {
    "ntk": ntk_comparison,
    "ntk-crop": ntk_comparison,
    "ntk-audio": ntk_comparison,
    "ntk-roles": ntk_roles,
    "lazy": lazy_convergence,
    "dynamics": dynamics,
    "freeze": freezing,
    "activation-maps": activation_maps,
}


def _eigenfunction(axes: Axes, values: np.ndarray, colour: str) -> None:
    """One eigenfunction: a picture, or a line for one coordinate."""
    if values.ndim == 2:
        limit = float(np.abs(values).max())
        axes.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit)
    else:
        axes.plot(values.reshape(-1), color=colour, lw=0.8)
    axes.set(xticks=[], yticks=[])
