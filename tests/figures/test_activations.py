from __future__ import annotations

import numpy as np
import pytest
import torch

import staf
from staf.figures import activation_curves


def test_curves_are_the_activations_formula() -> None:
    field = staf.staf(2, 1, width=8, depth=2, terms=3, generator=torch.Generator().manual_seed(0))
    curve = activation_curves(field)[1]
    assert curve.sinusoids_after is not None
    amplitude, frequency, phase = curve.sinusoids_after
    expected = (amplitude * np.sin(frequency * curve.x[:, None] + phase)).sum(-1)
    assert np.allclose(curve.after[0], expected, atol=1e-4)
    assert curve.before is None, "nothing is known of the start"


def test_curves_cover_the_inputs_that_the_layer_meets() -> None:
    field = staf.siren(2, 1, width=32, depth=3)
    with torch.no_grad():
        field.layers[1].bias += 40
    reach = [float(curve.x[-1]) for curve in activation_curves(field)]
    assert reach[1] > 30 > reach[0]
    histogram = activation_curves(field)[1]
    assert np.sum(histogram.density * np.diff(histogram.edges)) == pytest.approx(1)


def test_the_start_is_drawn_and_the_network_left_alone() -> None:
    field = staf.staf(2, 1, width=8, depth=2)
    state = {name: value.clone() for name, value in field.state_dict().items()}
    start = {name: p.detach() * 2 for name, p in field.named_parameters() if "amplitude" in name}
    curve = activation_curves(field, start)[0]
    assert curve.before is not None
    assert np.allclose(curve.before, 2 * curve.after, atol=1e-5)
    assert curve.trained
    assert all(torch.equal(value, state[name]) for name, value in field.state_dict().items())
    assert not any(part._forward_hooks for part in field.modules())


def test_neurons_with_their_own_sinusoids_are_sampled() -> None:
    curves = activation_curves(staf.staf(2, 1, width=16, depth=2, sharing="neuron"))
    assert curves[0].after.shape == (6, 257)
    assert curves[0].sinusoids_after is None


def test_one_activation_for_the_network_comes_once() -> None:
    assert len(activation_curves(staf.staf(2, 1, width=8, depth=3, sharing="network"))) == 1


@pytest.mark.parametrize("model", ["siren", "finer", "gauss"])
def test_fixed_activations_began_where_they_are(model: str) -> None:
    field = getattr(staf, model)(3, 1, width=8, depth=2)
    curves = activation_curves(field)
    assert len(curves) == 2
    assert not any(curve.trained for curve in curves)
    assert all(curve.before is not None for curve in curves)


def test_networks_without_such_activations_have_none() -> None:
    assert activation_curves(staf.wire(2, 1, width=8)) == []
