"""Figures of the theory, each from the plain arrays that a `*_data` function of `staf.theory` returns.

`draw(name, data)` is the figure of an entry of `staf.theory.registry`. Figures are made without pyplot, so nothing
global changes and no display is needed. Colours are those of Okabe and Ito, which colour-blind readers can tell
apart; lines differ in dash as well.

>>> from staf.theory.potential_frequencies import delannoy_data
>>> type(delannoy(delannoy_data(5, orders=[4], widths=[16, 256]))).__name__
'Figure'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from staf._documents import Document
from staf._extras import need
from staf.figures.palette import BLACK, BLUE, COLOURS, DASHES, ORANGE, RED, SKY
from staf.figures.style import DPI, label_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(name: str, data: Document) -> Figure:
    """The figure of the registry entry `name`."""
    if name not in DRAWERS:
        raise ValueError(f"name must be one of {sorted(DRAWERS)}, got {name!r}")
    return DRAWERS[name](data)


def amplitude_law(data: Document) -> Figure:
    """The density of C, the law of the power of one draw, and the law across neurons of several draws."""
    figure, (left, middle, right) = _figure(1, 3, 12.0, 3.6)
    for i, terms in enumerate(data["terms"]):
        left.plot(data["c"], data["density"][i], color=COLOURS[i], ls=DASHES[i], label=f"τ = {terms}")
        middle.plot(data["power"], data["power_cdf"][i], color=COLOURS[i], ls=DASHES[i], label=f"τ = {terms}")
    label_axes(left, "amplitude c", "density f(c)", "Law of the amplitudes")
    label_axes(middle, "power ½ΣC²", "share of initialisations below", "Power of one layer's draw")
    middle.axvline(1, color=BLACK, lw=0.8, ls=":")
    for i, row in enumerate(data["neuron"]):
        right.plot(data["z"], row, color=SKY, lw=1, label="eight draws, τ = 5" if i == 0 else None)
    right.plot(data["z"], data["normal"], color=BLACK, lw=2, label="N(0, 1)")
    label_axes(right, "post-activation z", "share of neurons below", "Across neurons of one layer")
    for axes in (left, middle, right):
        axes.legend(frameon=False, fontsize=8)
    return figure


def layer_distributions(data: Document) -> Figure:
    """Post-activation distributions (top, one ridge a layer) and mean spectra (bottom), a column for each network."""
    names, layers = data["names"], data["post"].shape[1]
    figure, rows = _figure(2, len(names), max(3.2 * len(names), 4.5), 6.4, sharey="row", squeeze=False)
    centres = (data["edges"][1:] + data["edges"][:-1]) / 2
    normal = np.exp(-(centres**2) / 2) / np.sqrt(2 * np.pi)
    for n, name in enumerate(names):
        upper, lower = rows[0][n], rows[1][n]
        for layer in range(layers):
            colour, base = COLOURS[layer % 7], layers - 1 - layer
            height = np.minimum(data["post"][n, layer], 0.92)
            upper.fill_between(centres, base, base + height, color=colour, alpha=0.45, lw=0, step="mid")
            upper.plot(centres, base + normal, color=BLACK, lw=0.9, label="N(0, 1)" if layer == 0 else None)
            spectrum = _smooth(data["spectrum"][n, layer][1:])
            lower.plot(data["frequency"][1:], spectrum, color=colour, ls=DASHES[layer % 7], label=f"layer {layer + 1}")
        upper.set(yticks=range(layers), yticklabels=[f"layer {layers - i}" for i in range(layers)], ylim=(0, layers))
        lower.set(xscale="log", yscale="log", ylim=(1e-6, 2))
        label_axes(upper, "post-activation", "", name)
        label_axes(lower, "frequency (cycles per unit length)", "mean magnitude" if n == 0 else "", "")
    rows[0][0].legend(frameon=False, fontsize=8, loc="upper right")
    rows[1][0].legend(frameon=False, fontsize=8)
    return figure


def gradient_gain(data: Document) -> Figure:
    """Predicted and measured gain of each layer, on a logarithmic scale around one."""
    need("plot", "matplotlib")
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    figure, axes = _figure(1, 1, 6.0, 3.8)
    for i, name in enumerate(data["names"]):
        layers = np.arange(2, len(data["measured"][i]) + 2)
        axes.plot(layers, data["predicted"][i], color=COLOURS[i], ls=DASHES[i], lw=1.2)
        axes.plot(layers, data["measured"][i], "os^Dvp*"[i % 7], color=COLOURS[i], ms=7, label=name)
    axes.axhline(1, color=BLACK, lw=0.8)
    axes.set(yscale="log", xticks=range(2, max(len(row) for row in data["measured"]) + 2))
    axes.margins(x=0.08, y=0.15)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    label_axes(
        axes, "layer", "gradient at input / at output (rms)", "Gain of each layer (points measured, lines predicted)"
    )
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def sine_of_uniform(data: Document) -> Figure:
    """The density for three pairs (a, b) beside the arcsine law, and the distance to it over a with its bound."""
    figure, (left, right) = _figure(1, 2, 10.0, 4.0)
    for i, (a, b) in enumerate(data["pairs"]):
        left.plot(data["y"], data["density"][i], color=COLOURS[i], ls=DASHES[i], label=f"a = {a:g}, b = {b:g}")
    left.plot(data["y"], 1 / (np.pi * np.sqrt(1 - data["y"] ** 2)), color=BLACK, lw=1, label="arcsine law")
    left.set_ylim(0, 1.6)
    label_axes(left, "y", "density of sin(aX + b)", "The law depends on b where a > π/2")
    right.fill_between(data["a"], data["smallest"], data["largest"], color=SKY, alpha=0.5, lw=0, label="every b")
    right.plot(data["a"], data["median"], color=BLUE, lw=1, label="median over b")
    right.plot(data["a"], data["bound"], color=RED, ls="--", lw=1.2, label="π/(4|a|)")
    right.axvline(np.pi / 2, color=BLACK, lw=0.8, ls=":", label="a = π/2")
    if "network_a" in data:
        right.plot(data["network_a"], data["network_distance"], ".", color=ORANGE, ms=3, label="this network", zorder=3)
    right.set(yscale="log", ylim=(1e-3, 1.2), xlim=(0, 32))
    label_axes(right, "|a|", "largest difference from the arcsine CDF", "SIREN's claim holds at a = nπ, and as a grows")
    for axes in (left, right):
        axes.legend(frameon=False, fontsize=8)
    return figure


def kronecker(data: Document) -> Figure:
    """The second matrix of the equivalent, with its blocks, and the differences between the two networks."""
    figure, (left, right) = _figure(1, 2, 10.0, 4.2)
    matrix, block = data["matrix"], data["block"]
    picture = left.imshow(matrix, cmap="cividis", interpolation="nearest")
    for edge in range(block, max(matrix.shape), block):
        if edge < matrix.shape[0]:
            left.axhline(edge - 0.5, color="white", lw=0.8)
        if edge < matrix.shape[1]:
            left.axvline(edge - 0.5, color="white", lw=0.8)
    figure.colorbar(picture, ax=left, label="magnitude", shrink=0.85)
    label_axes(left, "unit of layer 1", "unit of layer 2", "(ΩCᵀ) ⊗ W: one block per pair of terms")
    left.grid(False)
    floor = np.finfo(np.float64).tiny
    values = np.sort(np.maximum(data["error"], floor))
    right.plot(values, np.linspace(0, 1, len(values)), color=BLUE)
    right.set_xscale("log")
    shown = values[values > floor]
    if len(shown):
        right.set_xlim(shown[0] / 3, shown[-1] * 3)
    label_axes(right, "|network − equivalent|", "share of points below", "Difference at 2,000 random points")
    return figure


def delannoy(data: Document) -> Figure:
    """Growth of the number of potential frequencies over tau^K, with its first correction."""
    figure, axes = _figure(1, 1, 6.4, 4.0)
    for i, order in enumerate(data["K"]):
        axes.plot(data["T"], data["ratio"][i], "o-", color=COLOURS[i], ms=4, label=f"K = {order}")
        valid = data["predicted"][i] > 0
        axes.plot(data["T"][valid], data["predicted"][i][valid], color=COLOURS[i], ls="--", lw=1)
    axes.axhline(1, color=BLACK, lw=0.8)
    axes.set_ylim(0, 1.08)
    axes.set_xscale("log", base=2)
    title = f"τ = {data['tau']}: points exact, dashes 1 − (K/2T)(1 − 1/τ)"
    label_axes(axes, "first-layer sines T", "|V(τT, K)| / (τᴷ |V(T, K)|)", title)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def rational_elusive(data: Document) -> Figure:
    """Lattice points that lose their own frequency, before and after the perturbation."""
    figure, axes = _figure(1, 1, 7.4, 3.8)
    lost_before, lost_after = data["lattice"] - data["before"], data["lattice"] - data["after"]
    axes.bar(data["K"] - 0.2, lost_before, 0.4, color=ORANGE, hatch="//", edgecolor="white", label="before")
    axes.bar(data["K"] + 0.2, lost_after, 0.4, color=BLUE, label="after the perturbation")
    for k, total, lost in zip(data["K"], data["lattice"], lost_before, strict=True):
        axes.annotate(f"{lost} of {total}", (k - 0.2, lost), ha="center", va="bottom", fontsize=8)
    for k, lost in zip(data["K"], lost_after, strict=True):
        axes.annotate(f"{lost}", (k + 0.2, lost), ha="center", va="bottom", fontsize=8, color=BLUE)
    axes.set_xticks(data["K"])
    axes.set_ylim(0, max(float(lost_before.max()) * 1.25, 1.0))
    label_axes(axes, "order K", "lattice points without a frequency of their own", "Coinciding potential frequencies")
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def kernels(data: Document) -> Figure:
    """Normalised dual activation and NTK over the correlation of the inputs."""
    figure, (left, right) = _figure(1, 2, 10.0, 4.0, sharey=True)
    for i, name in enumerate(data["names"]):
        style = {"color": COLOURS[i], "ls": DASHES[i], "lw": 1.6, "label": name}
        left.plot(data["xi"], data["dual"][i], **style)
        right.plot(data["xi"], data["ntk"][i], **style)
    label_axes(left, "correlation ξ of the inputs", "kernel / its value at ξ = 1", "Dual activation")
    label_axes(right, "correlation ξ of the inputs", "", "NTK, three hidden layers")
    left.legend(frameon=False, fontsize=8)
    return figure


def jacobi_anger(data: Document) -> Figure:
    """Predicted spectrum against the FFT of the network; or, without a period, the strength of each order."""
    figure, axes = _figure(1, 1, 8.0, 4.0)
    if "fft" not in data:
        shown = data["strength"] > 1e-12
        points = axes.scatter(
            data["radius"][shown], data["strength"][shown], c=data["orders"][shown], s=6, cmap="cividis", lw=0
        )
        figure.colorbar(points, ax=axes, label="order |k|₁")
        axes.set_yscale("log")
        label_axes(axes, "|frequency| (radians per unit length)", "|amplitude|", "Terms of the Jacobi–Anger expansion")
        return figure
    shown = data["fft"] > 1e-13
    axes.vlines(data["frequency"][shown], 1e-13, data["fft"][shown], color=SKY, lw=1.2, label="FFT of the network")
    predicted = data["predicted"] > 1e-13
    axes.plot(
        data["frequency"][predicted], data["predicted"][predicted], "o", mfc="none", color=RED, ms=4, label="predicted"
    )
    axes.axhline(max(data["bound"], 1e-16), color=BLACK, ls="--", lw=1, label="bound on the truncation error")
    axes.set(yscale="log", ylim=(1e-13, 3))
    label_axes(
        axes, "frequency (cycles per period)", "|Fourier coefficient|", "Two STAF layers, two terms each, width 2"
    )
    axes.legend(frameon=False, fontsize=8)
    return figure


DRAWERS: dict[str, Callable[[Document], Figure]] = {
    "initialisation": amplitude_law,
    "layers": layer_distributions,
    "gradient-gain": gradient_gain,
    "sine-of-uniform": sine_of_uniform,
    "kronecker": kronecker,
    "potential-frequencies": delannoy,
    "rational-elusive": rational_elusive,
    "kernels": kernels,
    "jacobi-anger": jacobi_anger,
}


def _figure(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Figure, Any]:
    figure = new_figure(width, height, DPI)
    return figure, figure.subplots(rows, columns, **options)


def _smooth(values: np.ndarray) -> np.ndarray:
    """Means of nine neighbours."""
    return np.convolve(np.pad(values, 4, mode="edge"), np.full(9, 1 / 9), mode="valid")
