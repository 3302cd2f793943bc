"""`unfiltered`: the row filters of PNG undone, so that a file is decoded a few rows at a time."""

from __future__ import annotations

import numpy as np

from staf.ops import native
from staf.ops.png_rows.reference import unfiltered_reference

__all__ = ["unfiltered"]


def unfiltered(rows: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    """Rows (k, bytes) of filtered rows (k, 1 + bytes) below the row `above`; `step` is a pixel's bytes.

    Without a C compiler the definition runs, which takes minutes for a photo.

    >>> unfiltered(np.array([[1, 5, 1], [2, 1, 1]], np.uint8), np.zeros(2, np.uint8), 1).tolist()
    [[5, 6], [6, 7]]
    """
    if rows.ndim != 2 or rows.dtype != np.uint8 or above.dtype != np.uint8 or above.shape != (rows.shape[1] - 1,):
        raise ValueError(
            f"rows must be (k, 1 + bytes) and above (bytes,) of uint8, got {rows.dtype} {rows.shape} and {above.shape}"
        )
    if step < 1:
        raise ValueError(f"step must be at least 1 byte, got {step}")
    kernels = native.library()
    if kernels is None:
        return unfiltered_reference(rows, above, step)
    own, last = rows.copy(), above.copy()
    bad = kernels.staf_png_rows(own.ctypes.data, last.ctypes.data, len(own), own.shape[1] - 1, step)
    if bad:
        raise ValueError(f"row {bad - 1} has the unknown filter {rows[bad - 1, 0]}")
    return own[:, 1:]
