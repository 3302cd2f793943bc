"""Distributions and spectra of every layer, SIREN and STAF with 5, 10, 20 terms (Figure "activation distributions")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paper.study.looking import LookingStudy

PUBLISHED = {
    "SIREN": "narrower spectrum",
    "STAF, τ = 5": "N(0, 1), wider spectrum",
    "STAF, τ = 10": "wider still",
    "STAF, τ = 20": "widest",
}
NAMES = list(PUBLISHED)


def look(seed: int, device: str, points: int) -> tuple[dict[str, dict[str, float]], dict[str, np.ndarray]]:
    """Moments and bandwidths of the post-activations of the last layer, and the arrays of the figure."""
    from staf.theory.layer_statistics import layer_distribution_data

    data = layer_distribution_data(points=points, seed=seed)
    rows = {
        name: {
            "variance, layer 1": float(data["variance"][n, 0]),
            "variance, layer 4": float(data["variance"][n, -1]),
            "excess kurtosis, layer 4": float(data["kurtosis"][n, -1]),
            "distance from N(0,1), layer 4": float(data["distance"][n, -1]),
            "variance of dot products, layer 4": float(data["pre_variance"][n, -1]),
            "bandwidth, layer 1": float(data["bandwidth"][n, 0]),
            "bandwidth, layer 4": float(data["bandwidth"][n, -1]),
        }
        for n, name in enumerate(data["names"])
    }
    return rows, {key: value for key, value in data.items() if key != "names"}


def figure(arrays: Mapping[str, Any]) -> Any:
    """As the paper draws it: histograms and spectra, layer by layer."""
    from staf.figures.theory import layer_distributions

    return layer_distributions({"names": NAMES, **arrays})


STUDY = LookingStudy(
    "activation-distributions",
    "Post-activations and spectra of fresh networks, four layers of 256; bandwidth in cycles per unit length",
    look,
    figure,
    "fresh networks on a line of points; one draw of the sinusoids, over whose draws the theorem holds",
    options={"points": 8192},
    published=PUBLISHED,
    quick={"points": 256},
).study()
