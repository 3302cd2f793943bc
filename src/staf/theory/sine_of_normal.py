"""The law of Y = sin(aX + b) for X standard normal: how true SIREN's Lemma 1.6 is.

SIREN uses that sin(pi/2 X) follows the arcsine law for X ~ N(0, 1). It does so approximately: aX + b modulo 2 pi is a
wrapped normal angle, whose n-th Fourier coefficient is e^{-n^2 a^2 / 2}, and the arcsine law is that of a uniform one.
Without a bias, odd coefficients cancel and the distance is e^{-2 a^2} / pi to leading order, 0.0023 at a = pi/2. With a
bias they do not, and the distance is up to (2/pi) e^{-a^2/2}, 0.19 at a = pi/2.

>>> import math
>>> round(arcsine_distance(math.pi / 2, 0.0), 4), round(arcsine_distance(math.pi / 2, math.pi / 2), 4)
(0.0023, 0.1854)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from staf.theory.checks import finite, numbers, whole
from staf.theory.sine_of_uniform import arcsine_cdf

Array = NDArray[np.float64]
# Fourier coefficients below this are left out.
SMALLEST = 1e-18
SMALLEST_SPREAD = 1e-4


def moment(order: int, a: float, b: float = 0.0) -> float:
    """E[Y^k] = (2i)^-k sum_r C(k, r) (-1)^r e^{i(k-2r)b} e^{-((k-2r)a)^2 / 2}.

    >>> round(moment(2, math.pi / 2), 6)          # 1/2 for the arcsine law
    0.496404
    """
    order = whole("order", order)
    finite("a", a)
    finite("b", b)
    r = np.arange(order + 1)
    binomials = np.array([math.comb(order, int(i)) / (1 << order) for i in r], dtype=np.float64)
    harmonics = (order - 2 * r).astype(np.float64)
    terms = binomials * (-1.0) ** r * np.exp(1j * harmonics * b - (harmonics * a) ** 2 / 2)
    return float((terms.sum() * (-1j) ** order).real)


def cdf(y: ArrayLike, a: float, b: float = 0.0) -> Array:
    """P(sin(aX + b) <= y), by the Fourier series of the wrapped normal angle.

    With al = arcsin y:  F = 1/2 + al/pi + (1/pi) sum_n e^{-n^2 a^2 / 2} (sin n(al - b) + (-1)^n sin n(al + b)) / n.

    >>> cdf([-1.0, 0.0, 1.0], math.pi / 2).round(12).tolist()
    [0.0, 0.5, 1.0]
    """
    _require(a, b)
    values = numbers("y", y)
    angle = np.arcsin(np.clip(values, -1, 1))
    n = np.arange(1, 1 + _harmonics(a))
    weight = np.exp(-((n * a) ** 2) / 2) / n
    waves = np.sin(n * (angle[..., None] - b)) + (-1.0) ** n * np.sin(n * (angle[..., None] + b))
    return np.clip(arcsine_cdf(values) + (waves @ weight) / np.pi, 0.0, 1.0)


def arcsine_distance(a: float, b: float = 0.0, *, points: int = 4001) -> float:
    """sup_y |F(y) - arcsine(y)| on a grid of angles; its error is below the spacing, pi / points.

    >>> round(arcsine_distance(1.0), 4)
    0.0431
    """
    whole("points", points, 2)
    y = np.sin(np.linspace(-np.pi / 2, np.pi / 2, points))
    return float(np.abs(cdf(y, a, b) - arcsine_cdf(y)).max())


def _harmonics(a: float) -> int:
    return math.ceil(math.sqrt(-2 * math.log(SMALLEST)) / abs(a))


def _require(a: float, b: float) -> None:
    finite("a", a)
    finite("b", b)
    if abs(a) < SMALLEST_SPREAD:
        raise ValueError(f"a must be at least {SMALLEST_SPREAD:g} in size, or the series has too many terms; got {a}")
