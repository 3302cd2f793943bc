"""The range of the data, which every image measure is given."""

from __future__ import annotations

import math


def limits(data_range: float | tuple[float, float]) -> tuple[float, float]:
    """The pair (low, high) that `data_range` means: a peak p is (0, p).

    >>> limits(1.0), limits((-1.0, 1.0))
    ((0.0, 1.0), (-1.0, 1.0))
    """
    low, high = data_range if isinstance(data_range, tuple) else (0.0, data_range)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"data_range must be a positive peak or an increasing pair (low, high), got {data_range!r}")
    return float(low), float(high)
