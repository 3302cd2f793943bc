"""The amplitude law by quadrature and sampling; post-activations over draws and across neurons."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from staf.nn import staf
from staf.nn.init import Theorem
from staf.theory import initialisation as init
from staf.theory.layer_statistics import layer_statistics


@pytest.mark.parametrize("terms", [1, 2, 5, 20])
def test_density_has_unit_mass_and_its_moments(terms: int) -> None:
    for order in range(0, 9, 2):
        value, _ = integrate.quad(
            lambda c, k=order: c**k * init.amplitude_density(c, terms), 0, 40, epsabs=1e-13, limit=200
        )
        assert 2 * value == pytest.approx(float(init.amplitude_moment(order, terms)), rel=1e-10)
    for c in (-1.3, -0.2, 0.4, 2.0):
        value, _ = integrate.quad(
            lambda t: float(init.amplitude_density(t, terms)), -40, c, points=[0], limit=400, epsabs=1e-12
        )
        assert float(init.amplitude_cdf(c, terms)) == pytest.approx(value, abs=1e-10)


def test_quantile_inverts_the_cdf() -> None:
    u = np.linspace(0.001, 0.999, 333)
    assert np.abs(init.amplitude_cdf(init.amplitude_quantile(u, 5), 5) - u).max() < 1e-14
    assert init.amplitude_quantile([0.0, 1.0], 5).tolist() == [-math.inf, math.inf]
    with pytest.raises(ValueError, match="u must lie in"):
        init.amplitude_quantile(1.2, 5)


def test_sampler_follows_the_law_and_the_generator_alone() -> None:
    drawn = init.sample_amplitude((200_000,), 5, torch.Generator().manual_seed(0)).numpy()
    assert stats.kstest(drawn, lambda c: init.amplitude_cdf(c, 5)).pvalue > 1e-3
    assert np.array_equal(drawn, init.sample_amplitude((200_000,), 5, torch.Generator().manual_seed(0)).numpy())
    library = Theorem()((200_000, 1), 1.0, torch.Generator().manual_seed(1)).amplitude[:, 0].numpy()
    assert stats.kstest(library, lambda c: init.amplitude_cdf(c, 1)).pvalue > 1e-3


@pytest.mark.parametrize("terms", [1, 2, 3, 5])
def test_moments_of_the_sum_are_those_of_the_normal_exactly(terms: int) -> None:
    for order in range(13):
        expected = Fraction(math.prod(range(order - 1, 0, -2))) if order % 2 == 0 else Fraction(0)
        assert init.post_activation_moment(order, terms) == expected


def test_moment_identity_of_the_paper_by_enumeration() -> None:
    for terms, half in itertools.product((2, 3), range(1, 7)):
        total = Fraction(0)
        for j in itertools.product(range(half + 1), repeat=terms):
            if sum(j) == half:
                factors = [init.amplitude_moment(2 * i, terms) / math.factorial(i) ** 2 for i in j]
                total += math.prod(factors, start=Fraction(1))
        assert total == Fraction(2**half, math.factorial(half))


def draws(count: int, terms: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = torch.Generator().manual_seed(seed)
    c = init.sample_amplitude((count, terms), terms, generator).numpy()
    phase = (torch.rand(count, terms, generator=generator, dtype=torch.float64) * 2 * math.pi - math.pi).numpy()
    return c, phase


def test_one_neuron_over_draws_is_standard_normal_for_dependent_gamma() -> None:
    c, phase = draws(400_000, 5, 0)
    # Gamma_i = Omega_i (w.x) with a Cauchy w.x shared by all five terms: dependent and without moments.
    shared = stats.cauchy.rvs(size=(400_000, 1), random_state=1)
    omega = 30 * np.random.default_rng(2).random((400_000, 5))
    z = (c * np.sin(omega * shared + phase)).sum(1)
    assert abs(z.var() - 1) < 0.011
    assert abs(stats.kurtosis(z)) < 0.04
    assert stats.kstest(z, "norm").pvalue > 1e-3


def test_phases_that_depend_on_gamma_break_the_printed_hypotheses() -> None:
    # Gamma = -Phi meets every condition that the paper lists, and Z is identically zero.
    c, phase = draws(1000, 5, 3)
    assert np.abs((c * np.sin(-phase + phase)).sum(1)).max() == 0


@pytest.mark.parametrize("sharing", ["layer", "network"])
def test_network_wide_sharing_breaks_the_theorem_at_the_second_layer(sharing: str) -> None:
    generator = np.random.default_rng(0)
    count, width, terms = 40_000, 16, 2

    def draw() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        u = generator.random((3, count, 1, terms))
        return init.amplitude_quantile(u[0], terms), 3 * u[1], 2 * np.pi * u[2]

    first = draw()
    second = first if sharing == "network" else draw()
    z = np.tile([0.3, -0.7], (count, 1))
    for c, omega, phase in (first, second):
        bound = 1 / math.sqrt(z.shape[1])
        weight = generator.uniform(-bound, bound, (count, width, z.shape[1]))
        a = np.einsum("bfn,bn->bf", weight, z) + generator.uniform(-bound, bound, (count, width))
        z = (c * np.sin(omega * a[..., None] + phase)).sum(-1)
    fits = stats.kstest(z[:, 0], "norm").pvalue > 1e-3
    assert fits == (sharing == "layer")
    assert (abs(z[:, 0].var() - 1) < 0.03) == (sharing == "layer")


def test_power_is_gamma_and_its_quantiles() -> None:
    c, _ = draws(100_000, 5, 4)
    powers = (c**2).sum(1) / 2
    assert stats.kstest(powers, lambda x: init.power_cdf(x, 5)).pvalue > 1e-3
    assert init.power_quantile([0.05, 0.95], 5) == pytest.approx(stats.gamma.ppf([0.05, 0.95], 5, scale=0.2), abs=1e-10)
    assert [round(v, 2) for v in init.power_quantile([0.05, 0.95], 2)] == [0.18, 2.37]
    assert powers[0] == init.power(c[0])


def test_kurtosis_of_one_draw_and_its_mean() -> None:
    c, _ = draws(100_000, 5, 5)
    values = -1.5 * (c**4).sum(1) / (c**2).sum(1) ** 2
    assert values.mean() == pytest.approx(-3 / 6, abs=4 * values.std() / math.sqrt(len(values)))
    assert init.excess_kurtosis(c[0]) == pytest.approx(values[0])
    angles = np.random.default_rng(0).uniform(-np.pi, np.pi, (400_000, 5))
    sample = np.sin(angles) @ c[0]
    assert stats.kurtosis(sample) == pytest.approx(values[0], abs=0.03)


@pytest.mark.parametrize("amplitude", [[0.7], [1.0, 0.3], [0.5, -0.5, 0.9], [0.2, 0.4, 0.6, -0.8, 1.0]])
def test_neuron_cdf_equals_sampling(amplitude: list[float]) -> None:
    angles = np.random.default_rng(1).uniform(-np.pi, np.pi, (400_000, len(amplitude)))
    sample = np.sin(angles) @ np.array(amplitude)
    z = np.linspace(-1.2, 1.2, 41) * np.abs(amplitude).sum()
    share = np.searchsorted(np.sort(sample), z, side="right") / len(sample)
    # The Kolmogorov distance of 400,000 samples is below 0.0031 with probability 0.999.
    assert np.abs(share - init.neuron_cdf(z, amplitude)).max() < 0.0035


def test_layer_shared_draws_are_not_standard_normal_across_neurons_but_per_neuron_draws_are() -> None:
    x = 2 * torch.rand(64, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1
    shared_distances, neuron_variances = [], []
    for seed in range(8):
        field = network(seed, "layer")
        row = layer_statistics(field, x)[1]
        sinusoids = [t.detach().numpy() for t in field.activation(1).sinusoids]
        _, expected = init.neuron_moments(*sinusoids, row.pre.var())
        assert row.variance == pytest.approx(expected, rel=0.1)
        shared_distances.append(row.normal_distance)
        neuron_variances.append(layer_statistics(network(seed, "neuron"), x)[1].variance)
    assert max(shared_distances) > 0.1
    assert np.mean(neuron_variances) == pytest.approx(1.0, abs=0.05)
    assert np.std(neuron_variances) < 0.1


def test_moments_of_one_draw_equal_quadrature() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = weights / weights.sum()
    c, omega, phi = np.array([0.8, -0.5]), np.array([0.7, 2.5]), np.array([0.4, -2.0])
    values = (c * np.sin(omega * math.sqrt(1.7) * nodes[:, None] + phi)).sum(1)
    mean = weights @ values
    assert init.neuron_moments(c, omega, phi, 1.7) == pytest.approx((mean, weights @ values**2 - mean**2), abs=1e-13)


def network(seed: int, sharing: str) -> torch.nn.Module:
    generator = torch.Generator().manual_seed(seed)
    return staf(2, 1, width=512, depth=2, omega0=30, hidden_omega0=30, law="theorem", weights="torch", sharing=sharing,
                generator=generator, dtype=torch.float64)  # fmt: skip


def test_covariance_over_draws() -> None:
    c, phase = draws(200_000, 3, 6)
    omega = np.array([3.0, 7.0, 11.0])
    first, second = ((c * np.sin(omega * x + phase)).sum(1) for x in (0.2, 0.35))
    error = 4 * np.std(first * second) / math.sqrt(len(first))
    assert float(init.init_covariance(0.15, omega)) == pytest.approx((first * second).mean(), abs=error)
    many = 30 * (np.arange(20_000) + 0.5) / 20_000
    assert float(init.init_covariance(0.15, many)) == pytest.approx(math.sin(4.5) / 4.5, abs=1e-6)


def test_distance_from_normal_over_eight_draws() -> None:
    data = init.amplitude_law_data()
    assert 0.01 < data["distances"].min() < data["distances"].max() < 0.35
    assert init.distance_from_normal(np.full(400, math.sqrt(2 / 400))) < 1e-3


def test_errors_name_the_argument() -> None:
    with pytest.raises(ValueError, match="terms must be at least 1, got 0"):
        init.amplitude_density(0.1, 0)
    with pytest.raises(ValueError, match="probability must lie in"):
        init.power_quantile([1.0], 5)


def test_no_amplitude_at_all_and_orders_below_zero() -> None:
    assert init.excess_kurtosis([0.0, 0.0]) == 0.0
    with pytest.raises(ValueError, match="order must be at least 0, got -1"):
        init.post_activation_moment(-1, 5)
