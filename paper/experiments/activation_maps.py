"""What the layers of trained STAF, FINER, SIREN and WIRE compute over an image (Figure "activation maps")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paper.data.preparation import Preparation
from paper.report.pictures import groups_of
from paper.runner.result import RunResult
from paper.study.image_study import ImageStudy, rows_of
from paper.study.rows import LABELS, Length

NEURONS = 2
LARGEST = 96


def maps(fit: Any) -> dict[str, np.ndarray]:
    """Two neurons of every layer over the image, at most 96 pixels a side, each scaled to 8 bits."""
    from staf.analysis import activation_maps

    height, width = fit.signal.shape
    scale = min(1.0, LARGEST / max(height, width))
    shape = (max(1, round(height * scale)), max(1, round(width * scale)))
    layers = activation_maps(fit.module, shape, neurons=NEURONS)
    found = {}
    for index, layer in enumerate(layers):
        values = np.asarray(layer.maps, np.float64)
        low, high = values.min((1, 2), keepdims=True), values.max((1, 2), keepdims=True)
        found[f"maps_{index}"] = np.rint(255 * (values - low) / np.maximum(high - low, 1e-12)).astype(np.uint8)
    return found


def figure(results: Sequence[RunResult]) -> Any:
    """A part for each protocol: a row for each network, a column for each neuron, its reconstruction last."""
    from staf.figures.style import new_figure

    groups = groups_of(results)
    arrays = {p: {row: members[0].arrays() for row, members in rows.items()} for p, rows in groups.items()}
    columns = 1 + max(len(_neurons(found)) for rows in arrays.values() for found in rows.values())
    made = new_figure(1.35 * columns, sum(1.45 * len(rows) + 0.4 for rows in groups.values()))
    parts = made.subfigures(len(groups), 1, squeeze=False, height_ratios=[len(rows) for rows in groups.values()])[:, 0]
    for part, (protocol, rows) in zip(parts, groups.items(), strict=True):
        grid = part.subplots(len(rows), columns, squeeze=False)
        for line, (row, members) in zip(grid, rows.items(), strict=True):
            _draw_network(line, row, arrays[protocol][row], members[0].metrics["psnr"])
        for column, axes in enumerate(grid[0][:-1]):
            axes.set_title(f"layer {column // NEURONS + 1}", fontsize=8)
        part.suptitle(LABELS[protocol], fontsize=10)
    return made


def _neurons(arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The maps of all neurons, layer by layer."""
    return [neuron for key, layer in arrays.items() if key.startswith("maps_") for neuron in layer]


def _draw_network(axes: Sequence[Any], name: str, arrays: Mapping[str, np.ndarray], psnr: float) -> None:
    from staf.figures.style import bare

    for place, picture in zip(axes[:-1], _neurons(arrays), strict=False):
        place.imshow(picture, cmap="gray")
    restored = arrays["restored"]
    axes[-1].imshow(restored[..., 0] if restored.shape[-1] == 1 else restored, cmap="gray", vmin=0, vmax=255)
    axes[-1].set_title(f"{psnr:.1f} dB", fontsize=8)
    for place in axes:
        bare(place)
    axes[0].set_ylabel(name, fontsize=9)


STUDY = ImageStudy(
    "activation-maps",
    "Trained networks on one image: their layers' maps, and PSNR; 500 iterations",
    rows_of("staf", "finer", "siren", "wire"),
    Length(500),
    preparation=Preparation(divide=4),
    figures={"activation-maps": figure},
    look=maps,
    needs="one image of DIV2K at full size, which is divided by 4",
    time="4 rows x 2 recipes: 1 min on an H200",
    quick={"rows": ["staf", "wire"]},
).study()
