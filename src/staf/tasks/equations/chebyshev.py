"""Chebyshev collocation: derivatives and interpolation on the points cos(pi j / n), exact for polynomials."""

from __future__ import annotations

import numpy as np


def nodes(count: int, low: float, high: float) -> np.ndarray:
    """`count` points from low to high, closer together at the ends.

    >>> nodes(3, 0.0, 2.0).round(12).tolist()
    [0.0, 1.0, 2.0]
    """
    places = -np.cos(np.pi * np.arange(count) / (count - 1))
    return low + (high - low) * (places + 1) / 2


def differentiation(x: np.ndarray) -> np.ndarray:
    """The matrix (n, n) that takes values at the nodes `x` to the derivative of their polynomial there.

    >>> x = nodes(5, 0.0, 1.0)
    >>> bool(np.allclose(differentiation(x) @ x**4, 4 * x**3))
    True
    """
    weights = _weights(len(x))
    gaps = x[:, None] - x[None] + np.eye(len(x))
    matrix = (weights[None] / weights[:, None]) / gaps
    np.fill_diagonal(matrix, 0)
    np.fill_diagonal(matrix, -matrix.sum(1))
    return matrix


def interpolation(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The matrix (m, n) that takes values at the nodes `x` to those of their polynomial at places `at` (m,).

    >>> x = nodes(6, -1.0, 1.0)
    >>> bool(np.allclose(interpolation(x, np.array([0.3, 1.0])) @ x**5, [0.3**5, 1.0]))
    True
    """
    gaps = at[:, None] - x[None]
    hit = np.abs(gaps) < 1e-14 * max(1.0, float(np.abs(x).max()))
    terms = _weights(len(x)) / np.where(hit, 1.0, gaps)
    matrix = terms / terms.sum(1, keepdims=True)
    rows = hit.any(1)
    matrix[rows] = hit[rows]
    return matrix


def _weights(count: int) -> np.ndarray:
    """Barycentric weights of the nodes."""
    weights = (-1.0) ** np.arange(count)
    weights[[0, -1]] /= 2
    return weights
