"""The activations themselves on [-1, 1]: STAF, SIREN, WIRE and others (Figure "Activation functions used in INRs")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.study.looking import LookingStudy
from staf.figures.style import line_style, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 2001
OMEGA0 = 30.0


def look(seed: int, device: str, terms: int) -> tuple[dict[str, dict[str, float]], dict[str, np.ndarray]]:
    """Each activation over [-1, 1] with the constants that the paper's networks have, and how often it changes sign."""
    import torch

    from staf.nn.init import LAWS

    x = np.linspace(-1, 1, POINTS)
    generator = torch.Generator().manual_seed(seed)
    c, omega, phi = (t.numpy() for t in LAWS["theorem"]()((terms,), OMEGA0, generator))
    window = np.exp(-((10 * x) ** 2))
    curves = {
        "STAF": (c * np.sin(omega * x[:, None] + phi)).sum(1),
        "SIREN": np.sin(OMEGA0 * x),
        "WIRE, real part": window * np.cos(OMEGA0 * x),
        "WIRE, imaginary part": window * np.sin(OMEGA0 * x),
        "FINER": np.sin(OMEGA0 * (np.abs(x) + 1) * x),
        "Gauss": window,
        "ReLU": np.maximum(x, 0),
    }
    rows = {
        name: {
            "sign changes": float(np.count_nonzero(np.diff(np.sign(y[np.abs(y) > 1e-9])))),
            "largest value": float(np.abs(y).max()),
            "largest slope": float(np.abs(np.gradient(y, x)).max()),
        }
        for name, y in curves.items()
    }
    return rows, {"x": x, **{name.replace(" ", "_"): y for name, y in curves.items()}}


def figure(arrays: Mapping[str, Any]) -> Figure:
    """A panel for each activation."""
    names = [name for name in arrays if name != "x"]
    made = new_figure(2.4 * len(names), 2.3)
    for index, (name, axes) in enumerate(zip(names, made.subplots(1, len(names), sharex=True), strict=True)):
        axes.plot(arrays["x"], arrays[name], linewidth=1.2, color=line_style(index)["color"])
        tidy(axes, x="x", title=name.replace("_", " "))
    return made


STUDY = LookingStudy(
    "activations",
    "Activations on [-1, 1], omega0 30, sigma0 10; STAF of one draw of Theorem 3.1",
    look,
    figure,
    "each formula on 2,001 points",
    options={"terms": 5},
).study()
