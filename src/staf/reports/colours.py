"""The colour scale of error maps: dark to light in one direction, readable with every kind of colour vision."""

from __future__ import annotations

import numpy as np

# Ten anchors of matplotlib's inferno (by Nathaniel Smith and Stefan van der Walt, CC0).
ANCHORS = ("000004", "1b0c41", "4a0c6b", "781c6d", "a52c60", "cf4446", "ed6925", "fb9b06", "f7d13d", "fcffa4")


def _table() -> np.ndarray:
    anchors = np.array([[int(code[i : i + 2], 16) for i in (0, 2, 4)] for code in ANCHORS], np.float64)
    at = np.linspace(0, len(anchors) - 1, 256)
    columns = [np.interp(at, np.arange(len(anchors)), anchors[:, channel]) for channel in range(3)]
    return np.stack(columns, axis=1).round().astype(np.uint8)


ERROR_COLOURS = _table()
