"""The perceptron: depth, skips, sharing, encodings, precision of the first layer."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from staf.nn import CoordinateMLP, FrequencyEncoding, SineSeries
from staf.nn.linear import CoordinateLinear, exact_product


def test_depth_counts_activated_layers() -> None:
    field = CoordinateMLP(2, 3, width=8, depth=3, activation=nn.ReLU)
    assert [tuple(layer.weight.shape) for layer in field.layers] == [(8, 2), (8, 8), (8, 8)]
    assert tuple(field.output.weight.shape) == (3, 8)


def test_forward_is_the_formula(generator: torch.Generator) -> None:
    field = CoordinateMLP(2, 1, width=5, depth=3, activation=nn.Tanh, skip=True, generator=generator)
    x = torch.rand(4, 2, generator=generator)
    first, second, third = field.layers
    z = torch.tanh(first(x))
    for layer in (second, third):
        a = layer(z)
        z = torch.tanh(a) + a
    assert torch.allclose(field(x), field.output(z), atol=1e-6)


def test_a_factory_makes_one_activation_a_layer() -> None:
    field = CoordinateMLP(2, 3, width=8, depth=4, activation=SineSeries)
    assert len({id(field.activation(layer)) for layer in range(4)}) == 4
    assert sum(name.startswith("activations") for name, _ in field.named_parameters()) == 12


def test_a_shared_module_is_held_once() -> None:
    shared = SineSeries()
    field = CoordinateMLP(2, 3, width=8, depth=4, activation=lambda: shared)
    assert all(field.activation(layer) is shared for layer in range(4))
    assert sum("amplitude" in key for key in field.state_dict()) == 1


def test_the_first_activation_may_differ() -> None:
    field = CoordinateMLP(2, 3, width=8, depth=3, activation=nn.ReLU, first_activation=nn.Tanh)
    assert [type(field.activation(layer)) for layer in range(3)] == [nn.Tanh, nn.ReLU, nn.ReLU]


def test_an_encoding_must_say_its_width() -> None:
    field = CoordinateMLP(2, 3, width=8, activation=nn.ReLU, encoding=FrequencyEncoding(2, bands=3))
    assert field.layers[0].in_features == 14
    with pytest.raises(TypeError, match="encoding must have out_features"):
        CoordinateMLP(2, 3, activation=nn.ReLU, encoding=nn.Identity())


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_exact_product_equals_linear(dimension: int, generator: torch.Generator) -> None:
    x, weight = (torch.randn(n, dimension, generator=generator, dtype=torch.float64) for n in (7, 4))
    bias = torch.randn(4, generator=generator, dtype=torch.float64)
    assert torch.allclose(exact_product(x, weight, bias), nn.functional.linear(x, weight, bias), atol=1e-14)
    assert torch.allclose(exact_product(x, weight), x @ weight.T, atol=1e-14)


def test_the_first_layer_ignores_autocast(generator: torch.Generator) -> None:
    layer = CoordinateLinear(2, 16)
    with torch.no_grad():
        layer.weight.normal_(generator=generator)
        layer.bias.zero_()
    x = torch.rand(9, 2, generator=generator)
    expected = layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert nn.functional.linear(x, layer.weight).dtype == torch.bfloat16
        assert torch.equal(layer(x), expected)


@pytest.mark.gpu
def test_the_first_layer_ignores_tf32() -> None:
    layer = CoordinateLinear(2, 256, device="cuda")
    with torch.no_grad():
        layer.weight.normal_()
        layer.bias.zero_()
    x = torch.rand(4096, 2, device="cuda")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        error = (layer(x).double() - x.double() @ layer.weight.double().T).abs().max().item()
    finally:
        torch.set_float32_matmul_precision(before)
    assert error < 1e-5


def test_features_of_another_network_use_an_ordinary_product(generator: torch.Generator) -> None:
    layer = CoordinateLinear(32, 4)
    with torch.no_grad():
        layer.weight.normal_(generator=generator)
        layer.bias.normal_(generator=generator)
    x = torch.rand(5, 32, generator=generator)
    assert torch.allclose(layer(x), nn.functional.linear(x, layer.weight, layer.bias))
