"""The Kronecker equivalent against the network it came from, and its matrices against np.kron of the theorem."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from staf.nn import SineSeries, build, gauss, siren, staf
from staf.theory.kronecker import equivalent_parameters, kronecker_equivalent


def network(depth: int, seed: int = 0, omega0: float = 3.0, **options) -> nn.Module:
    options = {"width": 12, "terms": 3, "law": "theorem", "weights": "torch", **options}
    return staf(
        2,
        2,
        depth=depth,
        omega0=omega0,
        hidden_omega0=omega0,
        generator=torch.Generator().manual_seed(seed),
        dtype=torch.float64,
        **options,
    )


def points(n: int = 300) -> torch.Tensor:
    return 2 * torch.rand(n, 2, generator=torch.Generator().manual_seed(9), dtype=torch.float64) - 1


def largest_error(field: nn.Module, plain: nn.Module) -> float:
    with torch.no_grad():
        return float((field(points()) - plain(points())).abs().max())


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("sharing", ["layer", "neuron", "network"])
def test_equal_at_every_depth_and_sharing(depth: int, sharing: str) -> None:
    field = network(depth, sharing=sharing)
    plain = kronecker_equivalent(field)
    assert largest_error(field, plain) < 1e-12
    assert len(plain.layers) == depth
    assert not any(plain.linear_units)
    assert sum(p.numel() for p in plain.parameters()) == equivalent_parameters(field)


@pytest.mark.parametrize(("depth", "tolerance"), [(1, 1e-13), (4, 1e-10), (6, 1e-8)])
def test_error_at_large_frequencies_grows_with_depth_alone(depth: int, tolerance: float) -> None:
    field = network(depth, omega0=30.0)
    assert largest_error(field, kronecker_equivalent(field)) < tolerance


def test_matrices_are_the_kronecker_products_of_the_theorem() -> None:
    field = network(3)
    plain = kronecker_equivalent(field)
    series = [field.activation(i) for i in range(3)]
    omega = [s.frequency.detach().numpy()[:, None] for s in series]
    amplitude = [s.amplitude.detach().numpy()[:, None] for s in series]
    weights = [layer.weight.detach().numpy() for layer in field.layers]
    expected = [
        np.kron(omega[0], weights[0]),
        np.kron(omega[1] @ amplitude[0].T, weights[1]),
        np.kron(omega[2] @ amplitude[1].T, weights[2]),
        np.kron(amplitude[2].T, field.output.weight.detach().numpy()),
    ]
    for layer, matrix in zip([*plain.layers, plain.output], expected, strict=True):
        assert np.abs(layer.weight.detach().numpy() - matrix).max() < 1e-14
    for i, layer in enumerate(plain.layers):
        bias = field.layers[i].bias.detach().numpy()[:, None]
        phase = series[i].phase.detach().numpy()[:, None]
        expected_bias = np.kron(omega[i], bias) + np.kron(phase, np.ones((12, 1)))
        assert np.abs(layer.bias.detach().numpy() - expected_bias[:, 0]).max() < 1e-14
    # The printed bias, Phi (x) 1 without Omega (x) B, is another function.
    with torch.no_grad():
        for i, layer in enumerate(plain.layers):
            layer.bias.copy_(torch.from_numpy(np.kron(series[i].phase.detach().numpy(), np.ones(12))))
    assert largest_error(field, plain) > 0.1


def test_activated_output_and_layers_of_different_size() -> None:
    generator = torch.Generator().manual_seed(3)
    options = {"law": "theorem", "generator": generator, "dtype": torch.float64}
    torch.manual_seed(0)
    field = nn.Sequential(
        nn.Linear(2, 7, dtype=torch.float64),
        SineSeries(2, 3.0, **options),
        nn.Linear(7, 5, bias=False, dtype=torch.float64),
        SineSeries(4, 2.0, width=5, **options),
        nn.Linear(5, 3, dtype=torch.float64),
        SineSeries(3, 1.0, **options),
    )
    plain = kronecker_equivalent(field)
    assert largest_error(field, plain) < 1e-12
    assert [layer.out_features for layer in plain.layers] == [14, 20, 9]
    assert plain.output.out_features == 3
    assert largest_error(field[:5], kronecker_equivalent(field[:5])) < 1e-12
    with pytest.raises(ValueError, match="equal widths"):
        plain.to_siren()


def test_factor_inside_the_sine_divides_the_weights() -> None:
    field = network(3)
    plain = kronecker_equivalent(field, omega0=30.0)
    assert largest_error(field, plain) < 1e-11
    ratio = kronecker_equivalent(field).layers[1].weight / plain.layers[1].weight
    assert torch.allclose(ratio, torch.full_like(ratio, 30.0))
    with pytest.raises(ValueError, match="omega0 must be finite and not 0"):
        kronecker_equivalent(field, omega0=0.0)


def test_equivalent_is_a_siren_that_can_be_rebuilt() -> None:
    field = network(3)
    plain = kronecker_equivalent(field).to_siren()
    again = build(plain.architecture, dtype=torch.float64)
    again.load_state_dict(plain.state_dict())
    assert largest_error(field, again) < 1e-12
    assert sum(p.numel() for p in again.parameters()) == equivalent_parameters(field)


def test_siren_is_its_own_equivalent_with_the_frequency_absorbed() -> None:
    field = siren(2, 2, width=8, depth=2, omega0=3.0, hidden_omega0=2.0, dtype=torch.float64)
    plain = kronecker_equivalent(field)
    assert largest_error(field, plain) < 1e-12
    assert torch.allclose(plain.layers[0].weight, 3.0 * field.layers[0].weight)


def test_skips_are_refused_with_the_reason_or_carried_by_linear_units() -> None:
    field = network(4, skip=True)
    with pytest.raises(ValueError, match="linear_units=True"):
        kronecker_equivalent(field)
    plain = kronecker_equivalent(field, linear_units=True)
    assert largest_error(field, plain) < 1e-12
    assert plain.linear_units == (0, 12, 12, 12)
    assert sum(p.numel() for p in plain.parameters()) == equivalent_parameters(field)
    assert largest_error(field, kronecker_equivalent(field, linear_units=True, omega0=5.0)) < 1e-11


def test_parameter_count_of_the_papers_network() -> None:
    field = staf(2, 3)
    assert sum(p.numel() for p in field.parameters()) == 198_975
    assert equivalent_parameters(field) == 4_926_723


def test_dtype_follows_the_field_and_others_are_refused() -> None:
    field = network(2).float()
    assert next(kronecker_equivalent(field).parameters()).dtype is torch.float32
    with pytest.raises(TypeError, match="SineSeries or Sine activations, got Gauss"):
        kronecker_equivalent(gauss(2, 3, width=4))
    with pytest.raises(TypeError, match="CoordinateMLP, or a Sequential"):
        kronecker_equivalent(nn.Linear(2, 2))


@pytest.mark.parametrize("omega0", [1e39, -1e39, 1e-50])
def test_a_factor_that_does_not_fit_the_dtype_is_refused(omega0: float) -> None:
    with pytest.raises(ValueError, match=r"omega0 must be finite and not 0 in torch.float32.* got -?1e"):
        kronecker_equivalent(network(2).float(), omega0=omega0)
    plain = kronecker_equivalent(network(2), omega0=omega0)
    assert largest_error(network(2), plain) < 1e-11


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_parameters_that_are_not_finite_are_refused(value: float) -> None:
    field = network(2)
    with torch.no_grad():
        field.layers[1].weight[0, 0] = value
    with pytest.raises(ValueError, match=r"layers.1.weight of the equivalent is not finite in torch.float64"):
        kronecker_equivalent(field)


def test_products_that_overflow_the_dtype_are_refused() -> None:
    field = network(2).float()
    with torch.no_grad():
        field.activation(0).amplitude.fill_(1e30)
        field.activation(1).frequency.fill_(1e30)
    with pytest.raises(ValueError, match=r"is not finite in torch.float32.*field.double\(\)"):
        kronecker_equivalent(field)
    kronecker_equivalent(field.double())
