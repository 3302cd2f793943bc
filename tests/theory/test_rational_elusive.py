"""Exact surds: independence decided symbolically and confirmed by sixty-digit arithmetic."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from staf.theory import rational_elusive as re
from staf.theory.potential_frequencies import delannoy, injectivity, lattice


def decimal_value(surd: re.Surd) -> Decimal:
    return Decimal(surd.alpha.numerator) / Decimal(surd.alpha.denominator) * Decimal(surd.radicand).sqrt()


def distinct_by_decimals(surds: list[re.Surd], K: int) -> tuple[int, Decimal]:
    with localcontext() as context:
        context.prec = 60
        values = [decimal_value(s) for s in surds]
        sums = sorted(
            sum((int(k) * v for k, v in zip(row, values, strict=True)), Decimal(0)) for row in lattice(len(surds), K)
        )
        gap = min(b - a for a, b in itertools.pairwise(sums))
        return len(sums), gap


@pytest.mark.parametrize("digits", [1, 4, 15, 40])
def test_perturbation_is_within_its_bound_and_shrinks(digits: int) -> None:
    row = [0.3, -1.75, 0.0, 12.0]
    for value, surd in zip(row, re.perturb_row(row, digits), strict=True):
        exact = Fraction(value)
        bound = (abs(exact) if exact else 1 + Fraction(1, 10**digits)) / Fraction(10) ** digits
        low, high = (
            surd.rounded(digits + 30),
            surd.rounded(digits + 30) + abs(surd.alpha) / Fraction(10) ** (digits + 30),
        )
        assert max(abs(low - exact), abs(high - exact)) <= bound + Fraction(1, 10 ** (digits + 20))
        assert surd.alpha != 0


def test_alpha_is_rational_where_the_float_ratio_degenerates() -> None:
    # At 15 digits sqrt(p)/(truncated sqrt(p)) is exactly 1 in float64 for some primes; the pair keeps the difference.
    surds = re.perturb_row([1.0] * 8, 15)
    ratios = [np.sqrt(float(s.radicand)) / float(re.root_floor(s.radicand, 15)) for s in surds]
    assert 1.0 in ratios
    assert all(s.alpha**2 * s.radicand != 1 for s in surds)


def test_a_colliding_row_becomes_injective() -> None:
    row = [1.0, 2.5, 3.0, 0.5]
    assert not injectivity(np.array(row)[:, None], 3).injective
    surds = re.perturb_row(row, 6)
    forms = {tuple(sorted(re.combine(surds, s).items())) for s in lattice(4, 3).tolist()}
    assert len(forms) == delannoy(4, 3)
    count, gap = distinct_by_decimals(surds, 3)
    assert count == delannoy(4, 3)
    assert gap > Decimal("1e-40")


def test_structured_perturbation_keeps_the_kronecker_form_and_is_injective() -> None:
    frequency, column = [1.0, 2.5], [0.25, -0.5, 0.75]
    assert not injectivity(np.kron(frequency, column)[:, None], 3).injective
    moved = re.perturb_structured(frequency, column, 8)
    products = moved.products()
    omega, w = moved.arrays()
    assert np.allclose([float(s) for s in products], np.kron(omega, w), rtol=1e-15, atol=0)
    assert np.abs(omega - frequency).max() < 1e-7
    assert np.abs(w - column).max() < 1e-7
    assert len({s.radicand for s in products}) == 6
    assert len({tuple(sorted(re.combine(products, s).items())) for s in lattice(6, 3).tolist()}) == 377
    assert distinct_by_decimals(products, 3)[1] > Decimal("1e-40")


def test_product_of_surds_extracts_the_shared_square() -> None:
    product = re.Surd(Fraction(1, 3), 6) * re.Surd(Fraction(2), 10)
    assert product == re.Surd(Fraction(4, 3), 15)
    assert float(product) == pytest.approx(np.sqrt(6) / 3 * 2 * np.sqrt(10), rel=1e-15)


def test_primes_and_errors() -> None:
    assert re.primes(10) == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    with pytest.raises(ValueError, match="square-free, got 12"):
        re.Surd(Fraction(1), 12)
    with pytest.raises(ValueError, match="digits must be at least 1, got 0"):
        re.perturb_row([1.0], 0)
    with pytest.raises(ValueError, match="distinct"):
        re.perturb_row([1.0, 2.0], 3, radicands=[2, 2])
    with pytest.raises(ValueError, match="weights must have 1 entries"):
        re.combine([re.Surd(Fraction(1), 2)], [1, 2])
