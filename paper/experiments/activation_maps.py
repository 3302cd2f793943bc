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
    """A row for each network of the last protocol, a column for each layer, its reconstruction last."""
    from staf.figures.style import bare, new_figure

    protocol, rows = list(groups_of(results).items())[-1]
    arrays: dict[str, Mapping[str, np.ndarray]] = {row: members[0].arrays() for row, members in rows.items()}
    layers = {row: [key for key in found if key.startswith("maps_")] for row, found in arrays.items()}
    columns = max(len(keys) for keys in layers.values()) * NEURONS + 1
    made = new_figure(1.35 * columns, 1.45 * len(rows) + 0.4)
    grid = made.subplots(len(rows), columns, squeeze=False)
    for line, (row, members) in enumerate(rows.items()):
        pictures = [neuron for key in layers[row] for neuron in arrays[row][key]]
        for column in range(columns - 1):
            if column < len(pictures):
                grid[line][column].imshow(pictures[column], cmap="gray")
                if line == 0:
                    grid[line][column].set_title(f"layer {column // NEURONS + 1}", fontsize=8)
            bare(grid[line][column])
        restored = arrays[row]["restored"]
        grid[line][-1].imshow(restored[..., 0] if restored.shape[-1] == 1 else restored, cmap="gray")
        grid[line][-1].set_title(f"{members[0].metrics['psnr']:.1f} dB", fontsize=8)
        bare(grid[line][-1])
        grid[line][0].set_ylabel(row, fontsize=9)
    made.suptitle(LABELS[protocol], fontsize=10)
    return made


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
