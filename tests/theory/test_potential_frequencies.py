"""Delannoy counts by brute force, the exact injectivity test, and the support of a network's FFT."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from staf.theory import potential_frequencies as pf


def brute_lattice(T: int, K: int) -> set[tuple[int, ...]]:
    return {s for s in itertools.product(range(-K, K + 1), repeat=T) if sum(map(abs, s)) <= K}


@pytest.mark.parametrize("T", range(6))
@pytest.mark.parametrize("K", range(6))
def test_counts_and_set_equal_brute_force(T: int, K: int) -> None:
    expected = brute_lattice(T, K)
    found = [tuple(row) for row in pf.lattice(T, K).tolist()]
    assert pf.delannoy(T, K) == len(expected) == len(found)
    assert set(found) == expected


def test_recurrence_symmetry_and_size() -> None:
    for T, K in itertools.product(range(1, 30), repeat=2):
        assert pf.delannoy(T, K) == pf.delannoy(T - 1, K) + pf.delannoy(T, K - 1) + pf.delannoy(T - 1, K - 1)
        assert pf.delannoy(T, K) == pf.delannoy(K, T)
    assert pf.delannoy(3, 2) == 25  # the printed C(i, K) C(i, T) 2^i gives 0
    assert sum(math.comb(i, 2) * math.comb(i, 3) << i for i in range(3)) == 0
    assert 1.7e12 < pf.delannoy(1280, 4) < 1.9e12


def test_asymptotic_error_is_second_order() -> None:
    errors = [abs(pf.delannoy_asymptotic(T, 5) / pf.delannoy(T, 5) - 1) for T in (100, 200, 400)]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize(("T", "K", "ratio"), [(256, 4, 0.9937), (256, 27, 0.937), (16, 27, 0.012)])
def test_growth_against_tau_to_the_k(T: int, K: int, ratio: float) -> None:
    assert float(pf.growth(5, T, K) / Fraction(5) ** K) == pytest.approx(ratio, abs=5e-4)


def test_growth_is_below_tau_to_the_k_and_its_correction_is_second_order() -> None:
    for tau, K, T in itertools.product((2, 3, 5), range(1, 15), range(1, 60, 4)):
        assert pf.growth(tau, T, K) < tau**K
    errors = [abs(pf.growth_asymptotic(5, T, 4) / float(pf.growth(5, T, 4)) - 1) for T in (200, 400, 800)]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)


def test_injectivity_finds_the_collision_of_a_rational_omega() -> None:
    generator = np.random.default_rng(0)
    weight = generator.normal(size=(3, 2))
    psi = pf.kronecker_frequencies([1.0, 2.5], weight)
    assert np.allclose(np.array(psi, dtype=float), np.kron([[1.0], [2.5]], weight), rtol=1e-15, atol=0)
    assert pf.injectivity(psi, 3)[:3] == (True, 377, 377)
    # 5 Omega_1 w_j = 2 Omega_2 w_j: (5, -2) = s - s' in six ways with both norms at most 4, for each of three w_j.
    result = pf.injectivity(psi, 4)
    assert result[:3] == (False, 1289, 1289 - 3 * 6)
    assert result.collision is not None
    difference = np.subtract(*result.collision)
    assert all(sum(int(s) * row[d] for s, row in zip(difference, psi, strict=True)) == 0 for d in range(2))
    assert 0 < np.abs(difference).sum() <= 8


def test_injectivity_is_exact_where_floating_sums_are_not() -> None:
    # The sum 0.1 + 0.7 is rounded when stored, so the exact values do not collide; in floats they seem to.
    assert pf.injectivity([[0.1], [0.7], [0.1 + 0.7]], 1).injective
    assert pf.injectivity([[0.1], [0.7], [0.1 + 0.7]], 2).injective
    assert not pf.injectivity([[0.25], [0.5], [0.75]], 2).injective


def test_huge_ratios_use_python_integers() -> None:
    psi = [[1e-300], [1e300]]
    result = pf.injectivity(psi, 3)
    assert result.injective
    assert result.image_size == pf.delannoy(2, 3)


def test_every_float_matrix_with_more_rows_than_columns_has_an_integer_kernel() -> None:
    generator = np.random.default_rng(1)
    for D in (1, 2):
        psi = generator.normal(size=(D + 1, D))
        kernel = pf.integer_kernel_vector(psi)
        assert kernel is not None
        assert any(kernel)
        exact = [[Fraction(float(v)) for v in row] for row in psi]
        assert all(sum(s * row[d] for s, row in zip(kernel, exact, strict=True)) == 0 for d in range(D))
    assert pf.integer_kernel_vector(np.eye(3)) is None


@pytest.mark.parametrize(("layers", "count"), [(1, 13), (2, 41)])
def test_support_of_the_fft_of_a_polynomial_network(layers: int, count: int) -> None:
    generator = np.random.default_rng(2)
    x = 2 * np.pi * np.arange(32) / 32
    r = np.stack(np.meshgrid(x, x, indexing="ij"), -1).reshape(-1, 2)
    z = np.sin(r @ np.eye(2) + generator.uniform(-3, 3, 2))
    for _ in range(layers):
        a = z @ generator.normal(size=(z.shape[1], 5)) + generator.normal(size=5)
        z = 0.3 + 0.8 * a + 0.5 * a**2
    spectrum = np.fft.fft2((z @ generator.normal(size=5)).reshape(32, 32)) / 32**2
    rows, columns = np.nonzero(np.abs(spectrum) > 1e-10)
    found = {(int((i + 16) % 32 - 16), int((j + 16) % 32 - 16)) for i, j in zip(rows, columns, strict=True)}
    predicted = {tuple(map(int, f)) for f in pf.potential_frequencies(np.eye(2), 2**layers)}
    assert found == predicted
    assert len(found) == count


def test_figure_data_agrees_with_the_functions() -> None:
    data = pf.delannoy_data(3, orders=[2, 5], widths=[4, 64])
    assert data["ratio"][1, 0] == pytest.approx(float(pf.growth(3, 4, 5) / 3**5), rel=1e-15)
    assert data["predicted"][1, 1] == pytest.approx(pf.growth_asymptotic(3, 64, 5) / 3**5, rel=1e-15)


def test_errors_name_the_argument() -> None:
    with pytest.raises(ValueError, match="K must be at least 0, got -1"):
        pf.delannoy(3, -1)
    with pytest.raises(ValueError, match="more than limit = 1000"):
        pf.lattice(20, 6, limit=1000)
    with pytest.raises(ValueError, match="psi must be a matrix of finite numbers"):
        pf.injectivity([[np.nan]], 2)


def test_asymptotic_forms_beyond_floats_and_outside_their_domain() -> None:
    assert pf.growth_asymptotic(5, 1000, 900) == math.inf
    assert pf.delannoy_asymptotic(10**9, 60) == math.inf
    for tau, T in ((0, 4), (5, 0)):
        with pytest.raises(ValueError, match="tau and T must be at least 1"):
            pf.growth_asymptotic(tau, T, 2)


def test_matrices_may_be_tensors_and_must_not_be_empty() -> None:
    assert not pf.injectivity(torch.tensor([[1.0], [2.5]]), 4).injective
    for psi in ([], [[]]):
        with pytest.raises(ValueError, match="at least one row"):
            pf.injectivity(psi, 2)
