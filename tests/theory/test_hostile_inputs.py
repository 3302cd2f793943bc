"""What is no number, or too large for one, is refused by name; nothing comes back as NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from staf.nn import siren, staf
from staf.theory import adaptive_activations, bessel, gradient_gain, kernels
from staf.theory import amplitude_moments as am
from staf.theory import initialisation as init
from staf.theory import jacobi_anger as ja
from staf.theory import potential_frequencies as pf
from staf.theory import rational_elusive as re
from staf.theory import sine_of_normal as sn
from staf.theory import sine_of_uniform as su
from staf.theory.dual import GaussianDual, ReLUDual, SineDual, SineSeriesDual, dual_activation, dual_covariance, unit
from staf.theory.fourier_series import SeparableSeries

ONE = torch.ones(1, dtype=torch.float64)
SINE = SineSeriesDual(ONE, ONE, 0 * ONE)
# Functions of one number, by the argument that its message names.
FUNCTIONS: dict[str, list[Callable[[float], Any]]] = {
    "amplitude": [
        lambda v: dual_activation(0.5, v * ONE, ONE, ONE),
        lambda v: init.power([v]),
        lambda v: init.excess_kurtosis([v, 1.0]),
        lambda v: init.neuron_cdf(0.5, [v, 1.0]),
        lambda v: init.distance_from_normal([v, 1.0]),
        lambda v: SeparableSeries(v * ONE[None], ONE[None], ONE[None]),
    ],
    "frequency": [
        lambda v: dual_activation(0.5, ONE, v * ONE, ONE),
        lambda v: init.neuron_moments([1.0], [v], [0.0], 1.0),
        lambda v: init.init_covariance(1.0, [v]),
        lambda v: pf.kronecker_frequencies([v], [[1.0]]),
        lambda v: ja.grouped_amplitude_bound([[1]], v, [1.0], [1.0]),
        lambda v: gradient_gain.unit_gain_variance(v * ONE, 4),
    ],
    "phase": [lambda v: dual_activation(0.5, ONE, ONE, v * ONE)],
    "p": [lambda v: dual_covariance(v * ONE, 0 * ONE, ONE, ONE, ONE, ONE)],
    "c": [lambda v: dual_covariance(ONE, v * ONE, ONE, ONE, ONE, ONE)],
    "omega0": [SineDual, gradient_gain.default_gain],
    "sigma": [GaussianDual],
    "variance": [
        lambda v: kernels.shared_sinusoid_spread(v, SINE),
        lambda v: init.neuron_moments([1.0], [1.0], [0.0], v),
    ],
    "x": [
        lambda v: kernels.nngp_ntk(torch.full((2, 2), v, dtype=torch.float64), [ReLUDual()]),
        lambda v: bessel.bessel_j(2, v),
    ],
    "distance": [lambda v: init.init_covariance(v, [1.0])],
    "weights": [lambda v: ja.amplitude_bound([[1]], [v]), lambda v: ja.truncation_bound([v], 3)],
    "weight": [
        lambda v: pf.kronecker_frequencies([1.0], [[v]]),
        lambda v: adaptive_activations.adaptive_network(
            ONE[None],
            [adaptive_activations.AdaptiveLayer(v * ONE[None], ONE, ONE, ONE)],
            (ONE[None], ONE),
            [torch.sin],
        ),
    ],
    "psi": [lambda v: pf.injectivity([[v]], 2), lambda v: pf.integer_kernel_vector([[v], [1.0]])],
    "row": [lambda v: re.perturb_row([v], 3)],
    "amplitudes": [lambda v: am.post_activation_moments([[1, v]])],
    "wanted": [lambda v: am.amplitude_moments([1, v], 3)],
    "a": [
        lambda v: su.moment(2, v, 0.0),
        lambda v: sn.moment(2, v),
        lambda v: sn.cdf(0.0, v),
        lambda v: su.roots(0.0, v, 0.0),
    ],
    "b": [lambda v: su.moment(2, 1.0, v), lambda v: sn.cdf(0.0, 1.0, v), lambda v: su.cdf(0.0, 1.0, v)],
}
# Laws are defined at infinity, and nowhere at NaN.
LAWS: dict[str, list[Callable[[float], Any]]] = {
    "c": [lambda v: init.amplitude_density(v, 5), lambda v: init.amplitude_cdf(v, 5)],
    "x": [lambda v: init.power_cdf(v, 5)],
    "z": [lambda v: init.neuron_cdf(v, [1.0, 0.5]), init.normal_cdf],
    "y": [
        su.arcsine_cdf,
        su.arcsine_density,
        lambda v: su.cdf(v, 2.0, 0.3),
        lambda v: su.density(v, 2.0, 0.3),
        lambda v: sn.cdf(v, 2.0, 0.3),
    ],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_finite_number_is_refused_by_name(name: str, value: float) -> None:
    for function in FUNCTIONS[name]:
        with pytest.raises(ValueError, match=rf"\b{name}\b") as caught:
            function(value)
        assert "finite" in str(caught.value) or "covariance" in str(caught.value) or "at least 0" in str(caught.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_largest_floats_give_a_number_or_are_refused(name: str) -> None:
    for function in FUNCTIONS[name]:
        try:
            found = function(1e308)
        except ValueError:
            continue
        assert "nan" not in repr(found)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", LAWS)
def test_laws_end_at_infinity(name: str) -> None:
    for function in LAWS[name]:
        with pytest.raises(ValueError, match=f"{name} must be numbers, got NaN"):
            function(math.nan)
        for value in (math.inf, 1e308, 1e200):
            assert float(np.asarray(function(value))) in (0.0, 1.0)
            assert float(np.asarray(function(-value))) == 0.0


def test_probabilities_are_numbers() -> None:
    for function in (init.amplitude_quantile, init.power_quantile):
        with pytest.raises(ValueError, match="must be numbers, got NaN"):
            function(math.nan, 5)


def test_counts_are_whole() -> None:
    for call, message in (
        (lambda: pf.delannoy(2.5, 2), "T must be a whole number, got 2.5"),
        (lambda: pf.growth(1.5, 3, 2), "tau must be a whole number"),
        (lambda: init.amplitude_moment(2.5, 5), "order must be a whole number"),
        (lambda: init.amplitude_density(0.5, math.nan), "terms must be a whole number, got nan"),
        (lambda: bessel.bessel_j(1.5, 1.0), "order must be a whole number"),
        (lambda: ja.truncation_bound([1.0], 1.5), "order must be a whole number"),
        (lambda: ja.amplitude_bound([[1.5]], [1.0]), "orders must be rows of whole numbers"),
        (lambda: ja.amplitude_bound([[1, 2]], [1.0, 1.0, 1.0]), "orders must have 3 columns"),
        (lambda: ja.grouped_amplitude_bound([[1]], [1.0, 2.0], [1.0], [1.0]), "frequency must be one number"),
        (lambda: ja.truncation_bound([[1.0]], 1), r"weights must be those of one unit, of shape \(m,\)"),
        (lambda: re.primes(-1), "count must be at least 0"),
        (lambda: re.perturb_row([1.0], 1.5), "digits must be a whole number"),
        (lambda: su.moment(2.0, 1.0, 0.0), "order must be a whole number"),
        (lambda: init.sample_amplitude((-1,), 5), "shape must be at least 0"),
        (lambda: pf.scaled_integers([1.0, 2.0]), "psi must be a matrix of finite numbers"),
        (lambda: init.neuron_moments([1.0], [1.0], [0.0], -1.0), "variance must be at least 0"),
        (lambda: sn.cdf(0.0, 1e-9), "a must be at least 0.0001 in size"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_shapes_of_kernels_are_named() -> None:
    for x, y, message in (
        (torch.ones(3), None, r"x must be rows of 3 coordinates, got shape \(3,\)"),
        (torch.ones(3, 2), torch.ones(3, 3), r"y must be rows of 2 coordinates, got shape \(3, 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            kernels.nngp_ntk(x, [ReLUDual()], y)
    with pytest.raises(TypeError, match="activations must be duals"):
        kernels.nngp_ntk(torch.ones(2, 2), [torch.relu])
    with pytest.raises(ValueError, match="p, c and q must broadcast"):
        dual_covariance(torch.ones(2), torch.zeros(3), torch.ones(2), ONE, ONE, ONE)
    deep = [SineDual(1e25).normalised()] * 8
    with pytest.raises(ValueError, match="must give kernels that are floats"):
        kernels.nngp_ntk(torch.ones(1, 1), deep)
    assert kernels.nngp_ntk(torch.zeros(0, 2), [ReLUDual()]).ntk.shape == (0, 0)


def test_the_scale_of_amplitudes_does_not_matter_for_their_law() -> None:
    for scale in (1e-300, 1e-160, 1.0, 1e160, 1e300):
        assert init.excess_kurtosis([scale, scale]) == -0.75
        assert init.neuron_cdf(0.3 * scale, [scale, scale]) == pytest.approx(
            init.neuron_cdf(0.3, [1.0, 1.0]), abs=1e-12
        )
    assert init.excess_kurtosis([]) == init.excess_kurtosis([0.0]) == 0.0
    assert float(unit(1.0)[1]) == 1.0


def test_networks_with_nan_have_no_gradient_gain() -> None:
    field = siren(2, 3, width=4, depth=2)
    with pytest.raises(ValueError, match="coordinates must be finite, got nan"):
        gradient_gain.gradient_gains(field, torch.full((3, 2), math.nan))
    broken = staf(2, 3, width=4, depth=2)
    with torch.no_grad():
        broken.output.weight[0, 0] = math.inf
    with pytest.raises(ValueError, match=r"output\.weight must be finite, got inf"):
        gradient_gain.gradient_gains(broken, torch.zeros(3, 2))
    with pytest.raises(ValueError, match="frequency must have an entry other than 0"):
        gradient_gain.unit_gain_variance(torch.zeros(3), 4)
