"""Bessel functions against scipy and against their own identities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import jv

from staf.theory.bessel import bessel_j


def test_equals_scipy_in_relative_terms() -> None:
    x = np.array([0.0, 1e-12, 1e-9, 1e-6, 0.01, 0.3, 1.0, -2.5, 3.5, 7.7, -12.0, 30.0, 88.0])
    order = 40
    ours, theirs = bessel_j(order, x), jv(np.arange(order + 1)[:, None], x)
    assert np.abs(ours - theirs).max() < 1e-14
    # Where J is not near one of its zeros the relative error is small too, however small J is.
    tiny = np.arange(order + 1)[:, None] > np.abs(x) + 5
    meaningful = tiny & (np.abs(theirs) > 1e-290)
    assert (np.abs(ours / np.where(meaningful, theirs, 1) - 1)[meaningful] < 1e-11).all()


def test_identities() -> None:
    x = np.linspace(-20, 20, 81)
    j = bessel_j(60, x)
    assert np.abs(j[0] ** 2 + 2 * (j[1:] ** 2).sum(0) - 1).max() < 1e-13
    theta = 0.83
    series = j[0] + 2 * sum(j[k] * np.cos(k * theta) * (1 if k % 2 == 0 else 0) for k in range(1, 61))
    assert np.abs(series - np.cos(x * np.sin(theta))).max() < 1e-12


def test_shape_and_errors() -> None:
    assert bessel_j(4, np.zeros((2, 3))).shape == (5, 2, 3)
    assert bessel_j(4, np.zeros(0)).shape == (5, 0)
    with pytest.raises(ValueError, match="order must be at least 0, got -1"):
        bessel_j(-1, 1.0)
    with pytest.raises(ValueError, match="x must be finite"):
        bessel_j(1, np.inf)
