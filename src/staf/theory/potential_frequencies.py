"""Potential frequencies of a sine network: how many there are, which they are, and when two of them coincide.

A network whose first layer is sin(Psi r + zeta), Psi of T rows, followed by polynomial layers of total degree K can
only contain the frequencies Psi^T s, s in V(T, K) = {s in Z^T : |s_1| + ... + |s_T| <= K}. The size of V(T, K) is a
Delannoy number. A STAF layer multiplies T by tau. Sine is not a polynomial: for a sine network K is the order at
which one truncates, and the count is a bound for that order.

>>> delannoy(3, 2), len(lattice(3, 2))
(25, 25)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from staf._documents import Document
from staf.theory.checks import finite, whole

ENUMERATION_LIMIT = 2_000_000

Matrix = NDArray[np.float64] | Sequence[Sequence[float | Fraction]]


def delannoy(T: int, K: int) -> int:
    """|V(T, K)| = sum_i C(K, i) C(T, i) 2^i, an exact integer of any size; symmetric in T and K.

    >>> delannoy(1280, 4)
    1792371374081
    """
    _require_counts(T, K)
    return sum(math.comb(K, i) * math.comb(T, i) << i for i in range(min(T, K) + 1))


def real_frequencies(T: int, K: int) -> int:
    """(|V(T, K)| + 1) / 2: s and -s are one frequency of a real signal, and 0 is its own opposite.

    >>> real_frequencies(2, 2)
    7
    """
    return (delannoy(T, K) + 1) // 2


def delannoy_asymptotic(T: int, K: int) -> float:
    """(2T)^K / K! (1 + K/(2T)), which is |V(T, K)| (1 + O(K^3/T^2)) for T much larger than K; inf beyond floats.

    >>> round(delannoy_asymptotic(1000, 3) / delannoy(1000, 3), 5)
    1.0
    """
    _require_counts(T, K)
    if T == 0:
        raise ValueError("T must be at least 1 for the asymptotic form, got 0")
    try:
        return math.exp(K * math.log(2 * T) - math.lgamma(K + 1)) * (1 + K / (2 * T))
    except OverflowError:
        return math.inf


def growth(tau: int, T: int, K: int) -> Fraction:
    """|V(tau T, K)| / |V(T, K)|, exactly: what tau terms do to the number of potential frequencies.

    >>> float(growth(5, 256, 4) / 5**4).__round__(4), float(growth(5, 16, 27) / 5**27).__round__(4)
    (0.9937, 0.0121)
    """
    tau = whole("tau", tau, 1)
    return Fraction(delannoy(tau * T, K), delannoy(T, K))


def growth_asymptotic(tau: int, T: int, K: int) -> float:
    """tau^K [1 - (K / 2T)(1 - 1/tau)], with an error of relative order K^3/T^2; tau^K itself is an upper bound.

    The correction is small only where T is much larger than K. Infinite where tau^K is beyond floats.

    >>> round(growth_asymptotic(5, 256, 4) / 5**4, 5)
    0.99375
    """
    _require_counts(T, K)
    if whole("tau", tau) < 1 or T < 1:
        raise ValueError(f"tau and T must be at least 1 for the asymptotic form, got tau = {tau}, T = {T}")
    factor = 1 - K / (2 * T) * (1 - 1 / tau)
    try:
        return float(tau) ** K * factor
    except OverflowError:
        return math.copysign(math.inf, factor)


def lattice(T: int, K: int, *, limit: int = ENUMERATION_LIMIT) -> NDArray[np.int64]:
    """Every s in V(T, K), as rows of an array of shape (|V|, T).

    >>> lattice(1, 2).ravel().tolist()
    [-2, -1, 0, 1, 2]
    """
    size = delannoy(T, K)
    if size > limit:
        raise ValueError(f"V(T={T}, K={K}) has {size} elements, more than limit = {limit}: too many to enumerate")
    rows = np.zeros((1, 0), dtype=np.int64)
    left = np.array([K], dtype=np.int64)
    for _ in range(T):
        width = 2 * left + 1
        starts = np.repeat(np.cumsum(width) - width, width)
        value = np.arange(width.sum()) - starts - np.repeat(left, width)
        rows = np.column_stack([np.repeat(rows, width, axis=0), value])
        left = np.repeat(left, width) - np.abs(value)
    return rows


def scaled_integers(psi: Matrix) -> tuple[list[list[int]], int]:
    """Integers m and a positive integer scale with psi = m / scale exactly, for rows of floats, integers or Fractions.

    Every finite float is a dyadic rational, so the scale is a power of two for floats.

    >>> scaled_integers([[0.5, 3.0]])
    ([[1, 6]], 2)
    """
    try:
        exact = [[Fraction(value) for value in _numbers(row)] for row in _numbers(psi)]
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"psi must be a matrix of finite numbers: {error}") from error
    if not exact or not exact[0]:
        raise ValueError("psi must have at least one row and one column, got none")
    if len({len(row) for row in exact}) > 1:
        raise ValueError(f"psi must be a matrix of shape (T, D), got rows of lengths {[len(row) for row in exact]}")
    scale = math.lcm(*(value.denominator for row in exact for value in row))
    return [[int(value * scale) for value in row] for row in exact], scale


def kronecker_frequencies(frequency: ArrayLike, weight: ArrayLike) -> list[list[Fraction]]:
    """Omega (x) W_1 with exact products, shape (tau F, D): row (m - 1) F + j is Omega_m W_j.

    A product of two floats needs twice their digits, and rounding it hides collisions: Omega = (1, 2.5) makes
    5 Omega_1 w = 2 Omega_2 w exactly, whereas the stored float products differ in the last digit.

    >>> kronecker_frequencies([2.0, 0.5], [[3.0]])
    [[Fraction(6, 1)], [Fraction(3, 2)]]
    """
    matrix = np.atleast_2d(finite("weight", weight, largest=None))
    if matrix.ndim != 2:
        raise ValueError(f"weight must have shape (F, D), got {matrix.shape}")
    omega = [Fraction(float(v)) for v in finite("frequency", frequency, largest=None).ravel()]
    rows = [[Fraction(float(v)) for v in row] for row in matrix]
    return [[m * value for value in row] for m in omega for row in rows]


class Injectivity(NamedTuple):
    """Whether s -> Psi^T s is one to one on V(T, K): sizes of V and of its image, and two s that collide, if any."""

    injective: bool
    lattice_size: int
    image_size: int
    collision: tuple[tuple[int, ...], tuple[int, ...]] | None


def injectivity(psi: Matrix, K: int, *, limit: int = ENUMERATION_LIMIT) -> Injectivity:
    """Test exactly whether the potential frequencies of `psi` (T, D) up to order K are all different.

    Entries are scaled to integers, so that sums are exact and equality means equality (for Omega (x) W_1 pass
    `kronecker_frequencies`, whose products are not rounded). Injective on V(T, K) exactly
    when Psi^T has no nonzero integer kernel vector of L1 norm <= 2K.

    >>> injectivity([[1.0], [2.5]], 3).injective, injectivity([[1.0], [2.5]], 4).injective   # 5 x 1 = 2 x 2.5
    (True, False)
    """
    vectors, image = _exact_image(psi, K, limit)
    seen: dict[object, int] = {}
    collision = None
    for index, key in enumerate(image):
        first = seen.setdefault(key, index)
        if first != index and collision is None:
            collision = (tuple(vectors[first].tolist()), tuple(vectors[index].tolist()))
    return Injectivity(len(seen) == len(vectors), len(vectors), len(seen), collision)


def potential_frequencies(psi: Matrix, K: int, *, limit: int = ENUMERATION_LIMIT) -> NDArray[np.float64]:
    """The set {Psi^T s : s in V(T, K)} without repetition, shape (n, D), in lexicographic order.

    >>> potential_frequencies([[1.0], [2.0]], 1).ravel().tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    _, image = _exact_image(psi, K, limit)
    _, scale = scaled_integers(psi)
    return np.array([[float(Fraction(v, scale)) for v in key] for key in sorted(set(image))], dtype=np.float64)


def integer_kernel_vector(psi: Matrix) -> tuple[int, ...] | None:
    """A nonzero integer s with Psi^T s = 0 exactly, or None; one always exists for floats when T > D.

    This is why no float matrix can be injective on all of Z^T: only injectivity on V(T, K) can be had.

    >>> integer_kernel_vector([[1.0], [2.5]])
    (5, -2)
    """
    columns, _ = scaled_integers(psi)
    T, D = len(columns), len(columns[0])
    rows = [[Fraction(columns[t][d]) for t in range(T)] for d in range(D)]
    pivots: list[int] = []
    for column in range(T):
        rank = len(pivots)
        pivot = next((r for r in range(rank, D) if rows[r][column] != 0), None)
        if pivot is None:
            return _clear_denominators(_kernel_column(rows, pivots, column, T))
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        inverse = 1 / rows[rank][column]
        rows[rank] = [v * inverse for v in rows[rank]]
        for r in range(D):
            if r != rank and rows[r][column] != 0:
                factor = rows[r][column]
                rows[r] = [v - factor * w for v, w in zip(rows[r], rows[rank], strict=True)]
        pivots.append(column)
    return None


def delannoy_data(tau: int = 5, orders: Sequence[int] = (2, 4, 9, 27), widths: Sequence[int] | None = None) -> Document:
    """Arrays for the figure of growth against tau^K: exact ratio and first correction over T, for each order K.

    Keys: `T` (n,), `K` (m,), `ratio` and `predicted` (m, n), both divided by tau^K, and `tau`.

    >>> data = delannoy_data(5, orders=[4], widths=[256])
    >>> data["ratio"].round(4).tolist()
    [[0.9937]]
    """
    T = [2**k for k in range(1, 13)] if widths is None else list(widths)
    ratio = [[float(growth(tau, t, k) / Fraction(tau) ** k) for t in T] for k in orders]
    predicted = [[1 - k / (2 * t) * (1 - 1 / tau) for t in T] for k in orders]
    return {
        "T": np.array(T),
        "K": np.array(list(orders)),
        "ratio": np.array(ratio),
        "predicted": np.array(predicted),
        "tau": tau,
    }


def _exact_image(psi: Matrix, K: int, limit: int) -> tuple[NDArray[np.int64], list[tuple[int, ...]]]:
    integers, _ = scaled_integers(psi)
    vectors = lattice(len(integers), K, limit=limit)
    largest = max((abs(v) for row in integers for v in row), default=0)
    # int64 holds every sum exactly while K max|m| < 2^63; beyond that Python's own integers do.
    dtype = np.int64 if largest * max(K, 1) < 2**63 else object
    image = vectors.astype(dtype) @ np.array(integers, dtype=dtype)
    return vectors, [tuple(row) for row in image.tolist()]


def _kernel_column(rows: list[list[Fraction]], pivots: list[int], free: int, T: int) -> list[Fraction]:
    solution = [Fraction(0)] * T
    solution[free] = Fraction(-1)
    for r, pivot in enumerate(pivots):
        solution[pivot] = rows[r][free]
    return solution


def _clear_denominators(solution: list[Fraction]) -> tuple[int, ...]:
    multiple = math.lcm(*(v.denominator for v in solution))
    integers = [int(v * multiple) for v in solution]
    divisor = math.gcd(*integers)
    return tuple(v // divisor for v in integers)


def _numbers(values: object) -> list[Any]:
    to_list = getattr(values, "tolist", None)  # arrays and tensors
    return list(values) if to_list is None else to_list()  # type: ignore[call-overload]


def _require_counts(T: int, K: int) -> None:
    whole("T", T)
    whole("K", K)
