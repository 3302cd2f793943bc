"""Bessel functions J_0 ... J_n of the first kind, to full relative accuracy, with numpy alone.

>>> bessel_j(2, 1.0).round(6).tolist()
[0.765198, 0.440051, 0.114903]
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from staf.theory.checks import finite, whole

# The recurrence starts above |x|: a step of a Python loop for each order down to 0.
LARGEST_X = 1e6


def bessel_j(order: int, x: ArrayLike) -> NDArray[np.float64]:
    """J_k(x) for k = 0 ... order and real x, shape (order + 1, *x.shape).

    Miller's downward recurrence J_{k-1} = (2k/x) J_k - J_{k+1} from far above both order and |x|, normalised by
    J_0 + 2 J_2 + 2 J_4 + ... = 1. Downwards the recurrence damps errors; upwards it would amplify them for k > |x|.
    Negative orders and arguments follow from J_{-k}(x) = J_k(-x) = (-1)^k J_k(x).

    >>> float(bessel_j(3, -2.0)[3] + bessel_j(3, 2.0)[3])
    0.0
    """
    order = whole("order", order)
    values = finite("x", x, largest=LARGEST_X)
    size = np.abs(values)
    largest = max(order, math.ceil(float(size.max(initial=0.0))))
    start = largest + 20 + int(8 * math.sqrt(largest + 1))
    start += start % 2
    # Below 1e-8 the recurrence would divide by almost nothing; there J_k = (x/2)^k / k! to full accuracy.
    safe = np.where(size < 1e-8, 1.0, size)
    result = np.zeros((order + 1, *values.shape))
    above, here = np.zeros_like(safe), np.full_like(safe, 1e-300)
    total = np.zeros_like(safe)
    for k in range(start, 0, -1):
        above, here = here, 2 * k / safe * here - above
        if k - 1 <= order:
            result[k - 1] = here
        if (k - 1) % 2 == 0:
            total += here if k == 1 else 2 * here
        big = np.abs(here) > 1e200
        if big.any():
            scale = np.where(big, 1e-200, 1.0)
            above, here, total = above * scale, here * scale, total * scale
            result *= scale
    result /= total
    series = np.stack([(size / 2) ** k / math.factorial(k) if k < 30 else 0 * size for k in range(order + 1)])
    result = np.where(size < 1e-8, series, result)
    odd = (np.arange(order + 1) % 2).reshape(-1, *([1] * values.ndim)).astype(bool)
    return np.where(odd & (values < 0), -result, result)
