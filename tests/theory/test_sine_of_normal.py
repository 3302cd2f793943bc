"""The law of sin(aX + b) for a normal X, against draws and quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest

from staf.theory import sine_of_normal as law
from staf.theory import sine_of_uniform

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@pytest.mark.parametrize("b", [0.0, 0.7, -2.0])
@pytest.mark.parametrize("a", [0.6, -1.0, math.pi / 2])
def test_moments_equal_quadrature(a: float, b: float) -> None:
    for order in range(6):
        expected = float(WEIGHTS @ np.sin(a * NODES + b) ** order)
        assert law.moment(order, a, b) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.3), (1.3, -1.0), (math.pi / 2, 0.0), (-1.0, 0.4)])
def test_the_distribution_is_that_of_draws(a: float, b: float) -> None:
    drawn = np.sort(np.sin(a * np.random.default_rng(0).standard_normal(40_000) + b))
    distance = np.abs(law.cdf(drawn, a, b) - np.arange(1, 40_001) / 40_000).max()
    assert distance * math.sqrt(40_000) < 1.95


def test_the_distance_has_its_leading_terms_and_falls() -> None:
    a = 2.0
    assert law.arcsine_distance(a) == pytest.approx(math.exp(-2 * a**2) / math.pi, rel=0.01)
    assert law.arcsine_distance(a, math.pi / 2) == pytest.approx(2 / math.pi * math.exp(-(a**2) / 2), rel=0.01)
    assert law.arcsine_distance(3.0) < 1e-7 < sine_of_uniform.arcsine_distance_bound(3.0)


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (math.nan, 0.0), (1.0, math.inf)])
def test_mistakes_are_named(a: float, b: float) -> None:
    with pytest.raises(ValueError, match=r"[ab] must be (finite|at least 0.0001 in size)"):
        law.cdf([0.0], a, b)
    with pytest.raises(ValueError, match="order must be at least 0"):
        law.moment(-1, 1.0)
