"""sin(aX + b) against quadrature, brute-force root counting and sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest

from staf.theory import sine_of_uniform as law

PAIRS = [(0.3, 0.0), (-0.3, 0.2), (math.pi / 2, 0.7), (2.5, 0.0), (-2.5, 1.1), (3.0, 5.0), (math.pi, 0.4), (30.0, -2.0)]


def quadrature_moment(order: int, a: float, b: float) -> float:
    nodes, weights = np.polynomial.legendre.leggauss(400)
    return float((weights / 2 * np.sin(a * nodes + b) ** order).sum())


@pytest.mark.parametrize(("a", "b"), [*PAIRS, (0.0, 0.6)])
def test_moments_equal_quadrature(a: float, b: float) -> None:
    for order in range(13):
        assert law.moment(order, a, b) == pytest.approx(quadrature_moment(order, a, b), abs=1e-13)


def test_first_moment_depends_on_b() -> None:
    assert law.moment(1, 2.0, 1.2) == pytest.approx(math.sin(2.0) * math.sin(1.2) / 2.0, abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, -3])
def test_multiples_of_pi_have_the_arcsine_moments_without_the_printed_factor(n: int) -> None:
    for order in range(0, 13, 2):
        expected = math.comb(order, order // 2) / 2**order
        assert law.moment(order, n * math.pi, 0.9) == pytest.approx(expected, abs=1e-14)
        assert law.moment(order + 1, n * math.pi, 0.9) == pytest.approx(0.0, abs=1e-14)
    # The paper divides by n: 0.25 at n = 2, k = 2.
    assert quadrature_moment(2, 2 * math.pi, 0.9) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_root_count_equals_sign_changes_on_a_fine_grid(a: float, b: float) -> None:
    x = np.linspace(-1, 1, 400_001)
    values = np.sin(a * x + b)
    for y in (-0.93, -0.4, 0.05, 0.61, 0.98):
        changes = int((np.diff(np.sign(values - y)) != 0).sum())
        assert int(law.roots(y, a, b)) == changes


def test_a_root_at_an_end_counts_once() -> None:
    assert law.roots([1.0, -1.0], 3 * math.pi, 0.1).tolist() == [3, 3]
    assert law.roots([1.5, -1.5], 3.0, 0.1).tolist() == [0, 0]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_density_has_unit_mass_and_integrates_to_the_cdf(a: float, b: float) -> None:
    # In al = arcsin y the density is the step function N/(2|a|): its integral over a fine midpoint grid.
    edges = np.linspace(-np.pi / 2, np.pi / 2, 200_001)
    middle = (edges[1:] + edges[:-1]) / 2
    mass = law.density(np.sin(middle), a, b) * np.cos(middle) * (edges[1] - edges[0])
    running = np.cumsum(mass)
    assert running[-1] == pytest.approx(1.0, abs=2e-4)
    assert np.abs(running - law.cdf(np.sin(edges[1:]), a, b)).max() < 2e-4


@pytest.mark.parametrize(("a", "b", "mass"), [(2.5, 0.0, 0.628), (math.pi / 2, 0.7, 0.777)])
def test_the_printed_single_branch_is_not_a_density(a: float, b: float, mass: float) -> None:
    t = np.linspace(b - a, b + a, 200_001)
    smallest, largest = np.sin(t).min(), np.sin(t).max()
    assert (np.arcsin(largest) - np.arcsin(smallest)) / (2 * a) == pytest.approx(mass, abs=5e-4)


@pytest.mark.parametrize(("a", "b"), [*PAIRS, (0.0, 0.3)])
def test_cdf_equals_the_share_of_a_fine_grid(a: float, b: float) -> None:
    x = (np.arange(1_000_000) + 0.5) / 500_000 - 1
    values = np.sort(np.sin(a * x + b))
    y = np.linspace(-1.1, 1.1, 45)
    share = np.searchsorted(values, y, side="right") / values.size
    assert np.abs(share - law.cdf(y, a, b)).max() < 1e-4


@pytest.mark.parametrize(("a", "b"), [*PAIRS, (0.0, 0.3), (100.3, 2.0)])
def test_exact_distance_equals_the_largest_difference_on_a_grid(a: float, b: float) -> None:
    y = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 100_001))
    left = np.concatenate([[0.0], law.cdf(y, a, b)[:-1]])
    difference = np.maximum(np.abs(law.cdf(y, a, b) - law.arcsine_cdf(y)), np.abs(left - law.arcsine_cdf(y)))
    exact = law.arcsine_distance(a, b)
    assert exact == pytest.approx(difference.max(), abs=1e-4)


def test_bound_holds_everywhere_and_is_attained() -> None:
    data = law.siren_claim_data(np.linspace(-20, 20, 202), phases=60)
    assert (data["largest"] <= data["bound"] + 1e-12).all()
    for n in range(4):
        a = math.pi / 2 + n * math.pi
        assert law.arcsine_distance(a, math.pi + a) == pytest.approx(law.arcsine_distance_bound(a), abs=1e-13)
    assert law.arcsine_distance(3 * math.pi, 0.7) < 1e-14


def test_zero_frequency_has_no_density_and_says_why() -> None:
    with pytest.raises(ValueError, match="a must not be 0"):
        law.density(0.1, 0.0, 0.3)
    with pytest.raises(ValueError, match="order must be at least 0"):
        law.moment(-1, 1.0, 0.0)


def test_high_orders_and_tiny_frequencies() -> None:
    nodes, weights = np.polynomial.legendre.leggauss(600)
    expected = float((weights / 2 * np.sin(3 * nodes + 0.2) ** 1100).sum())
    assert law.moment(1100, 3.0, 0.2) == pytest.approx(expected, abs=1e-12)
    for b in (0.0, 0.7, -4.0, 1.5 * math.pi):
        y = math.sin(b)
        assert law.cdf([y - 1e-6, y + 1e-6], 1e-14, b).tolist() == [0.0, 1.0]
    assert law.arcsine_distance(1e-14, 0.7) == pytest.approx(law.arcsine_distance(0.0, 0.7), abs=0.05)


@pytest.mark.filterwarnings("error")
def test_the_smallest_frequency_has_a_density_too_large_for_a_float() -> None:
    assert law.roots(0.0, 5e-324, 0.0) == 1
    assert float(law.density(0.0, 5e-324, 0.0)) == math.inf
    assert float(law.density(0.5, 5e-324, 0.0)) == 0.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", [law.roots, law.density, law.cdf])
def test_what_has_no_answer_is_refused_alike(function) -> None:
    with pytest.raises(ValueError, match="y must be numbers, got NaN"):
        function([0.0, math.nan], 1.0, 0.0)
    for a, b, got in ((1.0, math.nan, "b = nan"), (math.inf, 0.0, "a = inf"), (math.nan, 0.0, "a = nan")):
        with pytest.raises(ValueError, match=f"a and b must be finite, got {got}"):
            function([0.0], a, b)
    for a, b, got in ((1e20, 0.0, r"\|a\| = 1e\+20"), (-1e20, 0.0, r"\|a\| = 1e\+20"), (1.0, -1e20, r"\|b\| = 1e\+20")):
        with pytest.raises(ValueError, match=rf"a and b must be at most 1e\+15 in size, got {got}"):
            function([0.0], a, b)


def test_the_largest_frequencies_that_are_resolved() -> None:
    assert int(law.roots(0.0, 1e15, 0.3)) == pytest.approx(2e15 / math.pi, rel=1e-12)
    assert float(law.density(0.0, 1e15, 0.3)) == pytest.approx(1 / math.pi, rel=1e-12)
    assert float(law.cdf(0.0, 1e15, 0.3)) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.filterwarnings("error")
def test_one_entry_of_an_array_is_enough_to_refuse() -> None:
    with pytest.raises(ValueError, match="a and b must be finite, got b = -inf"):
        law.cdf(0.0, [1.0, 2.0], [0.0, -math.inf])
    for a in (math.nan, math.inf):
        with pytest.raises(ValueError, match=f"a and b must be finite, got a = {a}"):
            law.arcsine_distances([1.0, a], 0.0)
