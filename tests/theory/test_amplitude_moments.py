"""Moments of amplitudes and of post-activations determine each other, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from staf.theory import initialisation
from staf.theory.amplitude_moments import amplitude_moments, normal_moments, post_activation_moments


@pytest.mark.parametrize("terms", [1, 2, 5, 20])
def test_the_papers_law_is_the_one_for_a_normal(terms: int) -> None:
    found = amplitude_moments(normal_moments(12), terms)
    assert found == [Fraction(2, terms) ** j * math.factorial(j) for j in range(7)]
    assert [initialisation.post_activation_moment(2 * n, terms) for n in range(5)] == normal_moments(8)


def test_any_symmetric_law_agrees_with_draws() -> None:
    # Uniform amplitudes on (-1, 1), and twice those for the second term.
    one = [Fraction(1, 2 * j + 1) for j in range(4)]
    two = [moment * 4**j for j, moment in enumerate(one)]
    rng = np.random.default_rng(0)
    c = rng.uniform(-1, 1, (400_000, 2)) * [1, 2]
    z = (c * np.sin(rng.uniform(-np.pi, np.pi, c.shape) + 3.0)).sum(1)
    for n, moment in enumerate(post_activation_moments([one, two])[:3]):
        assert float(moment) == pytest.approx((z ** (2 * n)).mean(), rel=0.02)


@pytest.mark.parametrize("terms", [1, 3, 7])
def test_there_and_back(terms: int) -> None:
    moments = [Fraction(1), Fraction(2), Fraction(9), Fraction(80)]
    assert amplitude_moments(post_activation_moments([moments] * terms), terms) == moments


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="terms must be at least 1"):
        amplitude_moments(normal_moments(4), 0)
    with pytest.raises(ValueError, match="wanted must start with"):
        amplitude_moments([Fraction(2)], 3)
    with pytest.raises(ValueError, match="amplitudes must hold"):
        post_activation_moments([])
    with pytest.raises(ValueError, match="order must be"):
        normal_moments(-2)
