"""PNG's row filters undone, one byte at a time: the definition."""

from __future__ import annotations

import numpy as np


def unfiltered_reference(rows: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    """Rows (k, bytes) of filtered rows (k, 1 + bytes), whose first byte names the filter; `step` is a pixel's bytes.

    Each byte is what is stored plus a prediction, mod 256: nothing (0), the byte to the left (1), above (2), the mean
    of both rounded down (3), or of left, above and corner the one nearest to left + above - corner (4).

    >>> unfiltered_reference(np.array([[1, 5, 1], [2, 1, 1]], np.uint8), np.zeros(2, np.uint8), 1).tolist()
    [[5, 6], [6, 7]]
    """
    out = np.zeros((len(rows), rows.shape[1] - 1), np.uint8)
    for r, (filter, *stored) in enumerate(rows.tolist()):
        if filter > 4:
            raise ValueError(f"row {r} has the unknown filter {filter}")
        up = (above if r == 0 else out[r - 1]).tolist()
        row: list[int] = []
        for i, byte in enumerate(stored):
            left, corner = (row[i - step], up[i - step]) if i >= step else (0, 0)
            estimate = left + up[i] - corner
            nearest = min((left, up[i], corner), key=lambda value: abs(estimate - value))
            row.append((byte + (0, left, up[i], (left + up[i]) // 2, nearest)[filter]) % 256)
        out[r] = row
    return out
