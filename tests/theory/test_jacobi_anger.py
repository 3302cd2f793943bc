"""The expansion against the network itself, its FFT, and the bounds against the amplitudes they bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.special import jv
from torch import nn

from staf.nn import Sine, SineSeries, siren, staf
from staf.theory import jacobi_anger as ja


def two_layers(seed: int = 0, in_features: int = 2, **options) -> nn.Module:
    options = {
        "width": 2,
        "terms": 2,
        "omega0": 4.0,
        "hidden_omega0": 1.0,
        "law": "theorem",
        "weights": "torch",
        **options,
    }
    generator = torch.Generator().manual_seed(seed)
    return staf(in_features, 2, depth=2, generator=generator, dtype=torch.float64, **options)


def error(field: nn.Module, expansion: ja.Expansion, d: int) -> np.ndarray:
    x = 2 * torch.rand(200, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64) - 1
    with torch.no_grad():
        return np.abs(expansion(x.numpy()) - field(x).numpy()).max(0)


@pytest.mark.parametrize("sharing", ["layer", "neuron"])
@pytest.mark.parametrize("truncation", ["ball", "box"])
def test_expansion_converges_to_the_network_within_its_bound(sharing: str, truncation: str) -> None:
    field = two_layers(sharing=sharing)
    previous = math.inf
    for order in (2, 5, 9):
        expansion = ja.expand(field, order, truncation=truncation)
        measured = error(field, expansion, 2)
        assert (measured <= expansion.error_bound + 1e-12).all()
        assert (expansion.error_bound < 1e3 * measured + 1e-9).all()
        assert measured.max() < previous
        previous = measured.max()
    assert previous < 1e-6


def test_activated_output_and_siren() -> None:
    generator = torch.Generator().manual_seed(2)
    options = {"law": "theorem", "generator": generator, "dtype": torch.float64}
    torch.manual_seed(0)
    field = nn.Sequential(
        nn.Linear(1, 2, dtype=torch.float64),
        SineSeries(2, 3.0, **options),
        nn.Linear(2, 2, dtype=torch.float64),
        SineSeries(3, 1.0, **options),
    )
    assert error(field, ja.expand(field, 16), 1).max() < 1e-10
    plain = siren(1, 1, width=3, depth=2, omega0=5.0, hidden_omega0=2.0, dtype=torch.float64)
    assert error(plain, ja.expand(plain, 16), 1).max() < 1e-10


def test_spectrum_equals_the_fft_of_the_network() -> None:
    data = ja.jacobi_anger_data(samples=1024, order=14)
    assert np.abs(data["predicted"] - data["fft"]).max() <= data["bound"] + 1e-14
    assert np.abs(data["predicted"] - data["fft"]).max() < 1e-9
    assert (data["fft"] > 1e-3).sum() > 20


def test_amplitudes_of_units_must_be_added_as_complex_numbers() -> None:
    field = two_layers(seed=4, in_features=1)
    expansion = ja.expand(field, 10)
    wrong = ja.Expansion(
        expansion.orders,
        expansion.frequencies,
        np.abs(expansion.amplitudes) + 0j,
        expansion.bias,
        expansion.error_bound,
    )
    assert error(field, expansion, 1).max() < 1e-4
    assert error(field, wrong, 1).max() > 0.1


def test_squares_of_the_amplitudes_of_one_unit_sum_to_one() -> None:
    weights = np.array([0.9, -1.7, 2.2])
    table = ja.signed_bessel(25, weights)
    alpha = np.einsum("i,j,k->ijk", *(table[:, j] for j in range(3)))
    assert (alpha**2).sum() == pytest.approx(1.0, abs=1e-13)
    assert np.abs(table - jv(np.arange(-25, 26)[:, None], weights)).max() < 1e-14


@pytest.mark.parametrize(("size", "order", "expected"), [(0.5, 8, 2e-11), (0.5, 10, 1e-14), (3.5, 10, 2e-5)])
def test_box_truncation_errors(size: float, order: int, expected: float) -> None:
    weights = np.array([1.0, -0.8, 0.6, 0.9]) * size
    k = np.arange(-order, order + 1)
    theta = np.random.default_rng(0).uniform(-np.pi, np.pi, (400, 4))
    # The box sum factorises: prod_j sum_k J_k e^{ik theta_j}, so that it can be formed at any order.
    factors = [
        (ja.signed_bessel(order, w) * np.exp(1j * k * t[:, None])).sum(1) for w, t in zip(weights, theta.T, strict=True)
    ]
    measured = np.abs(np.prod(factors, 0).imag - np.sin(np.sin(theta) @ weights)).max()
    bound = ja.truncation_bound(weights, order, truncation="box")
    assert measured <= bound + 2e-15
    assert measured < 20 * expected
    assert bound < 1e3 * expected


def test_ball_bound_equals_the_sum_over_a_large_box() -> None:
    weights, order = np.array([0.8, -1.1, 0.4]), 5
    k = np.array(list(itertools.product(range(-24, 25), repeat=3)))
    alpha = np.abs(np.prod([jv(k[:, j], weights[j]) for j in range(3)], 0))
    left_out = alpha[np.abs(k).sum(1) > order].sum()
    assert ja.truncation_bound(weights, order) == pytest.approx(left_out, rel=1e-9)


def test_bounds_hold_on_random_draws_where_the_printed_ones_fail() -> None:
    generator = np.random.default_rng(5)
    printed_grouped = printed_headline = 0
    for _ in range(2000):
        tau, width = 2, 2
        omega, c = generator.normal(), generator.normal(size=tau)
        w = generator.normal(size=width)
        k = generator.integers(-2, 3, size=tau * width)
        wbar = np.kron(omega * c, w)
        alpha = abs(np.prod(jv(k, wbar)))
        assert alpha <= ja.amplitude_bound(k[None], wbar)[0] * (1 + 1e-12)
        assert alpha <= ja.grouped_amplitude_bound(k[None], omega, c, w)[0] * (1 + 1e-12)
        power = np.prod((np.tile(np.abs(w), tau) / 2) ** np.abs(k) / [math.factorial(abs(v)) for v in k])
        printed_grouped += alpha > abs(omega * np.prod(c)) ** np.abs(k).sum() * power * (1 + 1e-12)
        headline = np.prod((np.kron(c, w) / 2) ** np.abs(k) / [math.factorial(abs(v)) for v in k])
        printed_headline += alpha > headline + 1e-15
    assert printed_grouped > 500
    assert printed_headline > 500


def test_the_counterexample_to_the_printed_bound() -> None:
    alpha = jv(1, 1.0) * jv(0, 0.1)
    assert alpha == pytest.approx(0.439, abs=5e-4)
    assert ja.grouped_amplitude_bound([[1, 0]], 1.0, [1.0, 0.1], [1.0])[0] == 0.5
    assert abs(1.0 * 1.0 * 0.1) ** 1 * 0.5 == pytest.approx(0.05)


def test_indices_of_the_second_matrix() -> None:
    field = two_layers(width=3, terms=2)
    from staf.theory.kronecker import kronecker_equivalent

    wbar = kronecker_equivalent(field).layers[1].weight.detach().numpy()
    omega, c = field.activation(1).frequency.tolist(), field.activation(0).amplitude.tolist()
    w2 = field.layers[1].weight.tolist()
    correct = printed = 0
    for i, j in itertools.product(range(1, 7), repeat=2):
        value = omega[math.ceil(i / 3) - 1] * c[math.ceil(j / 3) - 1] * w2[(i - 1) % 3][(j - 1) % 3]
        correct += math.isclose(value, wbar[i - 1, j - 1], rel_tol=1e-12)
        shifted = omega[math.ceil(i / 3) - 1] * c[math.ceil(j / 3) % 2] * w2[i % 3][j % 3]
        printed += math.isclose(shifted, wbar[i - 1, j - 1], rel_tol=1e-12)
    assert (correct, printed) == (36, 0)


def test_refusals_name_the_reason() -> None:
    with pytest.raises(ValueError, match="two activated layers"):
        ja.expand(staf(1, 1, width=2, depth=3), 2)
    with pytest.raises(ValueError, match="more than limit"):
        ja.expand(staf(1, 1, width=64, depth=2), 6)
    with pytest.raises(ValueError, match="more than 100"):
        ja.expand(two_layers(), 6, truncation="box", limit=100)
    with pytest.raises(ValueError, match="x must have shape"):
        ja.expand(two_layers(), 2)(np.zeros((3, 1)))


def test_the_bound_refuses_what_the_expansion_refuses() -> None:
    with pytest.raises(ValueError, match="truncation must be 'ball' or 'box', got 'sphere'"):
        ja.truncation_bound([0.5], 3, truncation="sphere")
    with pytest.raises(ValueError, match="order must be at least 0, got -1"):
        ja.truncation_bound([0.5], -1)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("name", ["layers.0.weight", "activations.0.phase", "activations.1.phase", "output.bias"])
def test_parameters_that_are_not_finite_are_refused(name: str, value: float) -> None:
    field = two_layers()
    with torch.no_grad():
        field.get_parameter(name).view(-1)[0] = value
    with pytest.raises(ValueError, match=r"field must have finite parameters .* got NaN or infinity in matrix [123]"):
        ja.expand(field, 2)


def test_weights_that_need_too_many_orders_are_refused() -> None:
    field = two_layers()
    with torch.no_grad():
        field.layers[1].weight.fill_(1e6)
        field.activation(0).amplitude.fill_(1.0)
        field.activation(1).frequency.fill_(1.0)
    with pytest.raises(ValueError, match=r"Omega C W .* at most 10,000 in size, got 1e\+06.*smaller hidden_omega0"):
        ja.expand(field, 2)
    with pytest.raises(ValueError, match="weights must be at most 10,000 in size, got 10001"):
        ja.truncation_bound([1.0, -10_001.0], 2)
    with torch.no_grad():
        field.layers[1].weight.fill_(1e4)
    expansion = ja.expand(field, 2)
    assert (error(field, expansion, 2) <= expansion.error_bound).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("truncation", ["ball", "box"])
def test_bounds_too_large_for_a_float_are_infinite_without_a_warning(truncation: str) -> None:
    assert ja._power_tail(1e300, 1) == math.inf
    assert ja._power_tail(2000.0, 1001) == math.inf
    assert math.isfinite(ja.truncation_bound([1400.0, 0.0], 3, truncation=truncation))
    weights = np.append(np.full(400, 1400.0), 0.0)
    assert ja.truncation_bound(weights, 3, truncation=truncation) == math.inf


@pytest.mark.filterwarnings("error")
def test_a_unit_that_is_not_read_adds_no_error() -> None:
    first, second, output = (nn.Linear(a, b, dtype=torch.float64) for a, b in ((1, 400), (400, 2), (2, 2)))
    field = nn.Sequential(first, Sine(1.0), second, Sine(1.0), output)
    with torch.no_grad():
        second.weight.fill_(1400.0)
        output.weight[0] = 0.0
    assert ja.expand(field, 0).error_bound.tolist() == [0.0, math.inf]


@pytest.mark.filterwarnings("error")
def test_bounds_of_the_smallest_weights() -> None:
    assert 0 <= ja._power_tail(5e-324, 1) < 1e-300
    assert ja.truncation_bound([5e-324, 0.0], 1) < 1e-300
    # The first term of the tail leads: 2 (w/2)^3 / 3!.
    assert ja._power_tail(1e-4, 2) == pytest.approx(2 * (5e-5) ** 3 / 6, rel=1e-4)


@pytest.mark.filterwarnings("error")
def test_amplitude_bounds_at_weight_zero_and_high_orders() -> None:
    assert ja.amplitude_bound([[0, 0], [0, 1], [2, 0]], [0.0, 1.0]).tolist() == pytest.approx([1.0, 0.5, 0.0])
    assert ja.grouped_amplitude_bound([[0, 0], [0, 1]], 0.0, [0.0, 1.0], [1.0]).tolist() == [1.0, 0.0]
    for order in (170, 171, 400):
        expected = math.exp(order * math.log(50.0) - math.lgamma(order + 1))
        assert ja.grouped_amplitude_bound([[order]], 100.0, [1.0], [1.0])[0] == pytest.approx(expected, rel=1e-11)
    assert ja.grouped_amplitude_bound([[200]], 1e300, [1.0], [1.0])[0] == math.inf


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_bounds_refuse_what_is_not_finite(value: float) -> None:
    with pytest.raises(ValueError, match=f"weights must be finite, got {value}"):
        ja.truncation_bound([1.0, value], 2)
    with pytest.raises(ValueError, match=f"weights must be finite, got {value}"):
        ja.amplitude_bound([[1, 0]], [1.0, value])
    for position, name in enumerate(("frequency", "amplitude", "weights")):
        arguments = [1.0, [1.0], [1.0]]
        arguments[position] = value if position == 0 else [value]
        with pytest.raises(ValueError, match=f"{name} must be finite, got {value}"):
            ja.grouped_amplitude_bound([[1]], *arguments)
