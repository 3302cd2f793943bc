"""Rational-elusive perturbation: make all integer combinations of frequencies different, in exact arithmetic.

Square roots of distinct square-free integers are linearly independent over the rationals. Replacing a rational a_i by
alpha_i sqrt(p_i), alpha_i rational and close to a_i / sqrt(p_i), p_i the i-th prime, leaves no rational combination
equal to zero except the trivial one. Floats cannot hold such numbers (every float row has an integer kernel vector),
so they are kept as the pair (alpha, radicand).

>>> row = perturb_row([1.0, 2.5, 0.0], digits=6)
>>> [surd.radicand for surd in row], [round(float(surd), 6) for surd in row]
([2, 3, 5], [1.0, 2.500001, 1e-06])
>>> combination_is_zero(row, [5, -2, 0])       # 5 x 1 = 2 x 2.5 before the perturbation
False
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from staf.theory.checks import fractions, whole

Rational = int | float | Fraction


@dataclass(frozen=True)
class Surd:
    """The number alpha sqrt(radicand), alpha rational and radicand a square-free positive integer.

    >>> float(Surd(Fraction(1, 2), 2)).__round__(6)
    0.707107
    """

    alpha: Fraction
    radicand: int

    def __post_init__(self) -> None:
        if self.radicand < 1:
            raise ValueError(f"radicand must be at least 1, got {self.radicand}")
        divisor = next((d for d in range(2, math.isqrt(self.radicand) + 1) if self.radicand % (d * d) == 0), None)
        if divisor is not None:
            raise ValueError(f"radicand must be square-free, got {self.radicand} = {divisor}^2 x ...")

    def __float__(self) -> float:
        return float(self.rounded(20))

    def __mul__(self, other: Surd) -> Surd:
        shared = math.gcd(self.radicand, other.radicand)
        radicand = (self.radicand // shared) * (other.radicand // shared)
        return Surd(self.alpha * other.alpha * shared, radicand)

    def rounded(self, digits: int) -> Fraction:
        """A rational within |alpha| 10^-digits of the number.

        >>> Surd(Fraction(1), 2).rounded(3)
        Fraction(707, 500)
        """
        return self.alpha * root_floor(self.radicand, digits)


def root_floor(radicand: int, digits: int) -> Fraction:
    """floor(10^digits sqrt(radicand)) / 10^digits, by integer square root.

    >>> root_floor(2, 4)
    Fraction(7071, 5000)
    """
    digits = whole("digits", digits)
    return Fraction(math.isqrt(whole("radicand", radicand) * 100**digits), 10**digits)


def primes(count: int, *, skip: int = 0) -> list[int]:
    """`count` consecutive primes after the first `skip`.

    >>> primes(4), primes(2, skip=4)
    ([2, 3, 5, 7], [11, 13])
    """
    count, skip = whole("count", count), whole("skip", skip)
    found: list[int] = []
    candidate = 2
    while len(found) < count + skip:
        if all(candidate % p for p in found if p * p <= candidate):
            found.append(candidate)
        candidate += 1
    return found[skip:]


def perturb_row(row: Sequence[Rational], digits: int, *, radicands: Sequence[int] | None = None) -> list[Surd]:
    """alpha_i sqrt(p_i) with alpha_i = (a_i + 10^-digits [a_i = 0]) / (floor(10^digits sqrt(p_i)) / 10^digits).

    The distance is at most |a_i| 10^-digits (10^-digits (1 + 10^-digits) where a_i = 0), so it shrinks with every
    digit, zeros included. `radicands` replaces the first primes by other distinct square-free integers.

    >>> abs(float(perturb_row([0.3], 3)[0]) - 0.3) <= 0.3e-3
    True
    """
    digits = whole("digits", digits, 1)
    chosen = primes(len(row)) if radicands is None else list(radicands)
    if len(set(chosen)) != len(row):
        raise ValueError(f"radicands must be {len(row)} distinct integers, got {chosen}")
    tiny = Fraction(1, 10**digits)
    exact = fractions("row", row)
    return [Surd((a or tiny) / root_floor(p, digits), p) for a, p in zip(exact, chosen, strict=True)]


def combine(surds: Sequence[Surd], weights: Sequence[int | Fraction]) -> dict[int, Fraction]:
    """sum_i weights_i surds_i as {radicand: rational coefficient}, without zero coefficients: a unique normal form.

    >>> combine([Surd(Fraction(1), 2), Surd(Fraction(3), 2)], [3, -1])
    {}
    """
    if len(surds) != len(weights):
        raise ValueError(f"weights must have {len(surds)} entries, one for each surd, got {len(weights)}")
    total: dict[int, Fraction] = {}
    for surd, weight in zip(surds, weights, strict=True):
        total[surd.radicand] = total.get(surd.radicand, Fraction(0)) + surd.alpha * weight
    return {radicand: value for radicand, value in total.items() if value != 0}


def combination_is_zero(surds: Sequence[Surd], weights: Sequence[int | Fraction]) -> bool:
    """Whether sum_i weights_i surds_i = 0, decided exactly.

    >>> combination_is_zero(perturb_row([1, 1], 4), [1, -1])
    False
    """
    return not combine(surds, weights)


@dataclass(frozen=True)
class StructuredPerturbation:
    """A perturbation of Omega and of one column of W_1 that keeps the form Omega (x) W_1.

    Omega_m = alpha_m sqrt(p_m) and w_j = beta_j sqrt(q_j) with all primes distinct; the products
    alpha_m beta_j sqrt(p_m q_j) have distinct square-free radicands, so they are independent over the rationals.
    """

    frequency: tuple[Surd, ...]
    column: tuple[Surd, ...]

    def products(self) -> list[Surd]:
        """Omega (x) w in Kronecker order: entry (m - 1) F + j is Omega_m w_j."""
        return [omega * w for omega in self.frequency for w in self.column]

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Omega (tau,) and the column of W_1 (F,), rounded to float64."""
        return np.array([float(s) for s in self.frequency]), np.array([float(s) for s in self.column])


def perturb_structured(
    frequency: Sequence[Rational], column: Sequence[Rational], digits: int
) -> StructuredPerturbation:
    """Perturb Omega (tau,) and a column of W_1 (F,) so that Omega (x) w has no rational relation.

    >>> moved = perturb_structured([1.0, 2.5], [0.3, -0.7], 8)
    >>> combination_is_zero(moved.products(), [5, 0, -2, 0])
    False
    >>> moved.arrays()[0].round(6).tolist()
    [1.0, 2.5]
    """
    tau, width = len(frequency), len(column)
    return StructuredPerturbation(
        tuple(perturb_row(frequency, digits)),
        tuple(perturb_row(column, digits, radicands=primes(width, skip=tau))),
    )
