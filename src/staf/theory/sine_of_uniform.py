"""The law of Y = sin(aX + b) for X uniform on (-1, 1), for every real a and b.

SIREN assumes that Y follows the arcsine law once a > pi/2, whatever b is. That is true only where a is a multiple
of pi; elsewhere the distance is at most pi/(4|a|), so the claim becomes true as a grows.

>>> import math
>>> round(float(cdf(0.0, math.pi / 2, 1.5 * math.pi)), 12)   # every value is negative here
1.0
>>> round(arcsine_distance(math.pi / 2, 1.5 * math.pi), 12), arcsine_distance_bound(math.pi / 2)
(0.5, 0.5)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from staf.theory.checks import numbers, whole

Array = NDArray[np.float64]
TURNS = (np.pi / 2, -np.pi / 2)
# Above it neighbouring floats are 1/8 or more apart: too coarse to place a x + b within a period of the sine.
LARGEST_ARGUMENT = 1e15


def moment(order: int, a: float, b: float) -> float:
    """E[Y^k] = (2i)^-k sum_r C(k, r) (-1)^r e^{i(k-2r)b} sinc((k-2r)a), with sinc t = sin t / t.

    Holds for every a, zero and negative included. For a = n pi, n != 0, it is C(k, k/2)/2^k (k even) or 0: the
    moments of the arcsine law, for every b.

    >>> moment(2, 2 * math.pi, 0.3)
    0.5
    """
    order = whole("order", order)
    _require_resolved(a, b)
    r = np.arange(order + 1)
    # Divided as integers: neither the binomials nor 2^order need fit in a float.
    binomials = np.array([math.comb(order, int(i)) / (1 << order) for i in r], dtype=np.float64)
    harmonics = order - 2 * r
    terms = binomials * (-1.0) ** r * np.exp(1j * harmonics * b) * np.sinc(harmonics * a / np.pi)
    return float((terms.sum() * (-1j) ** order).real)


def roots(y: ArrayLike, a: float, b: float) -> NDArray[np.int64]:
    """N(y), the number of x in [-1, 1] with sin(ax + b) = y; a root where y = 1 or -1 counts once.

    >>> roots([-1.0, 0.0, 1.0], math.pi, 0.0).tolist()
    [1, 3, 1]
    """
    _require_nonzero(a)
    values = numbers("y", y)
    _require_resolved(a, b)
    inside = np.abs(values) <= 1
    rising = np.arcsin(np.clip(values, -1, 1))
    low, high = b - abs(a), b + abs(a)

    def count(angle: Array) -> Any:
        return np.floor((high - angle) / (2 * np.pi)) - np.ceil((low - angle) / (2 * np.pi)) + 1

    total = count(rising) + np.where(np.abs(values) < 1, count(np.pi - rising), 0)
    return np.where(inside, total, 0).astype(np.int64)


def density(y: ArrayLike, a: float, b: float) -> Array:
    """f(y) = N(y) / (2 |a| sqrt(1 - y^2)) inside (-1, 1) and 0 outside; infinite at an end that Y reaches.

    Infinite too where |a| is so small that the density is no float.

    >>> round(float(density(0.0, 2 * math.pi, 0.4)) * math.pi, 12)   # the arcsine law at a = n pi
    1.0
    """
    values = np.clip(numbers("y", y), -2, 2)
    count = roots(values, a, b)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        result = count / (2 * abs(a) * np.sqrt(np.maximum(1 - values**2, 0)))
    return np.where(count > 0, result, 0.0)


def cdf(y: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """F(y) = (M(b + |a|) - M(b - |a|)) / (2|a|), M(t) the length of {s < t : sin s <= y} up to a constant.

    With al = arcsin y: sin s <= y on [pi - al, 2 pi + al] modulo 2 pi, so that
    M(t) = (pi + 2 al) k + clip(t - pi/2 - 2 pi k - (pi/2 - al), 0, pi + 2 al), k = floor((t - pi/2) / 2 pi).
    For a = 0 it is the step at sin b. The three arguments broadcast.

    >>> cdf([-1.0, 0.0, 1.0], 5.0, 0.0).round(12).tolist()
    [0.0, 0.5, 1.0]
    """
    values = numbers("y", y)
    _require_resolved(a, b)
    reach, centre = np.abs(np.asarray(a, dtype=np.float64)), np.asarray(b, dtype=np.float64)
    half = np.arcsin(np.clip(values, -1, 1))
    length = np.pi + 2 * half

    def measure(t: Array) -> Any:
        period = np.floor((t - np.pi / 2) / (2 * np.pi))
        return length * period + np.clip(t - np.pi / 2 - 2 * np.pi * period - (np.pi / 2 - half), 0, length)

    constant = np.where(values >= np.sin(centre), 1.0, 0.0)
    ends = np.sin(centre - reach), np.sin(centre + reach)
    # The largest and smallest value of Y: at the interval's ends where it holds no turning point. Comparing with them
    # keeps rounding out of F where |a| is tiny and the difference of two M is little else.
    turns = [np.floor((centre + reach - s) / (2 * np.pi)) > np.floor((centre - reach - s) / (2 * np.pi)) for s in TURNS]
    top, bottom = np.where(turns[0], 1.0, np.maximum(*ends)), np.where(turns[1], -1.0, np.minimum(*ends))
    share = (measure(centre + reach) - measure(centre - reach)) / np.where(reach == 0, 1.0, 2 * reach)
    inside = np.where(values >= top, 1.0, np.where(values < bottom, 0.0, np.clip(share, 0.0, 1.0)))
    result = np.where(reach == 0, constant, inside)
    return np.where(values >= 1, 1.0, np.where(values < -1, 0.0, result))


def arcsine_density(y: ArrayLike) -> Array:
    """1 / (pi sqrt(1 - y^2)) inside (-1, 1), 0 outside: the law of the sine of a uniform angle.

    >>> round(float(arcsine_density(0.0)), 6)
    0.31831
    """
    values = np.clip(numbers("y", y), -2, 2)
    inside = np.abs(values) < 1
    return np.where(inside, 1 / (np.pi * np.sqrt(np.where(inside, 1 - values**2, 1.0))), 0.0)


def arcsine_cdf(y: ArrayLike) -> Array:
    """1/2 + arcsin(y)/pi, clamped outside [-1, 1].

    >>> float(arcsine_cdf(0.0))
    0.5
    """
    return 0.5 + np.arcsin(np.clip(numbers("y", y), -1, 1)) / np.pi


def arcsine_distance(a: float, b: float) -> float:
    """sup_y |F(y) - arcsine(y)|, exactly.

    As functions of al = arcsin y both are continuous and piecewise linear, and F bends only where y is the sine of an
    end of the interval [b - |a|, b + |a|]; the largest difference is at one of those two points. For a = 0, Y is a
    point mass at sin b and the distance is max(A, 1 - A) with A the arcsine CDF there.

    >>> arcsine_distance(0.0, 0.0)
    0.5
    """
    return float(arcsine_distances(a, b))


def arcsine_distances(a: ArrayLike, b: ArrayLike) -> Array:
    """`arcsine_distance` for arrays of a and b, which broadcast.

    >>> arcsine_distances([math.pi, 2 * math.pi], 0.3).round(12).tolist()
    [0.0, 0.0]
    """
    _require_resolved(a, b)
    first, second = np.broadcast_arrays(np.abs(np.asarray(a, dtype=np.float64)), np.asarray(b, dtype=np.float64))
    low, high = np.sin(second - first), np.sin(second + first)
    at_low = np.abs(cdf(low, first, second) - arcsine_cdf(low))
    at_high = np.abs(cdf(high, first, second) - arcsine_cdf(high))
    step = np.maximum(arcsine_cdf(np.sin(second)), 1 - arcsine_cdf(np.sin(second)))
    return np.where(first == 0, step, np.maximum(at_low, at_high))


def arcsine_distance_bound(a: float) -> float:
    """pi / (4|a|) >= sup_y |F(y) - arcsine(y)|, for every b; attained where |a| = pi/2 + n pi.

    With q the arcsine CDF at y, M(t) - q t is periodic and swings by 2 pi q (1 - q) <= pi/2; divide by 2|a|.

    >>> round(arcsine_distance_bound(30.0), 5)
    0.02618
    """
    _require_nonzero(float(numbers("a", a)))
    return math.pi / (4 * abs(a))


def siren_claim_data(frequencies: ArrayLike | None = None, phases: int = 181) -> dict[str, Array]:
    """Arrays for the figure that settles SIREN's claim: the distance to the arcsine law over a, for every b.

    Keys: `a` (n,), `smallest`, `largest` and `median` distance over `phases` values of b in [0, 2 pi) (n,), `bound`
    (n,); and, for three pairs (a, b), `y` (m,) with `density` (3, m), `cdf` (3, m), `pairs` (3, 2).

    >>> data = siren_claim_data([2.0, 20.0], phases=61)
    >>> bool((data["largest"] <= data["bound"]).all())
    True
    """
    a = np.linspace(0.2, 32.0, 637) if frequencies is None else np.asarray(frequencies, dtype=np.float64)
    b = np.linspace(0, 2 * np.pi, phases, endpoint=False)
    distance = arcsine_distances(a[:, None], b)
    pairs = np.array([[2.0, 0.0], [2.0, 1.2], [30.0, 0.0]])
    y = np.linspace(-0.999, 0.999, 1001)
    return {
        "a": a,
        "smallest": distance.min(1),
        "largest": distance.max(1),
        "median": np.median(distance, 1),
        "bound": np.pi / (4 * np.abs(a)),
        "y": y,
        "pairs": pairs,
        "density": np.stack([density(y, ai, bi) for ai, bi in pairs]),
        "cdf": np.stack([cdf(y, ai, bi) for ai, bi in pairs]),
    }


def _require_nonzero(a: float) -> None:
    if a == 0:
        raise ValueError("a must not be 0: sin(b) is then a constant, which has no density; got a = 0")


def _require_resolved(a: ArrayLike, b: ArrayLike) -> None:
    for name, given in (("a", a), ("b", b)):
        value = np.asarray(given, dtype=np.float64)
        if not (finite := np.isfinite(value)).all():
            raise ValueError(f"a and b must be finite, got {name} = {value[~finite].flat[0]}")
        if (large := np.abs(value).max(initial=0.0)) > LARGEST_ARGUMENT:
            raise ValueError(
                f"a and b must be at most {LARGEST_ARGUMENT:.0e} in size, got |{name}| = {large}: float64 does not "
                "resolve the sine's period there"
            )
