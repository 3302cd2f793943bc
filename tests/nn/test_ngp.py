"""The grid with its decoder: what every network must do, and that it learns."""

from __future__ import annotations

import json

import pytest
import torch
from torch.func import functional_call, grad, vmap

from staf.nn import ngp, parameter_roles
from staf.nn.derivatives import gradient, laplacian
from staf.training.stacked import StackedField

DECODERS = ("relu", "siren", "finer", "staf", "gauss")
SMALL = {"levels": 4, "log2_entries": 8, "coarsest": 4, "finest": 32, "width": 12}
every = pytest.mark.parametrize("activation", DECODERS)


def make(activation="relu", seed=0, inputs=2, **changes):
    generator = torch.Generator().manual_seed(seed)
    return ngp(inputs, 3, activation=activation, **{**SMALL, **changes}, generator=generator)


def points(count=9, inputs=2, dtype=torch.float32):
    return (torch.rand(count, inputs, generator=torch.Generator().manual_seed(3)) * 2 - 1).to(dtype)


def trained(activation, **changes):
    """A field with features of the size that training gives them."""
    field = make(activation, **changes)
    with torch.no_grad():
        field.encoding.table.normal_(generator=torch.Generator().manual_seed(4))
    return field


@every
def test_maps_coordinates_to_values(activation):
    for inputs in (1, 2, 3, 4):
        field = make(activation, inputs=inputs)
        for count in (0, 1, 9):
            values = field(points(count, inputs))
            assert values.shape == (count, 3)
            assert torch.isfinite(values).all()
    with pytest.raises(ValueError, match="last dimension 2"):
        make(activation)(torch.zeros(4, 3))


@every
def test_the_parameters_of_the_published_network(activation):
    field = ngp(2, 3, activation=activation, finest=3072, device="meta")
    decoder = sum(p.numel() for p in field.parameters()) - field.encoding.table.numel()
    assert decoder == 32 * 64 + 64 + 64 * 64 + 64 + 64 * 3 + 3 + (30 if activation == "staf" else 0)
    roles = parameter_roles(field)
    assert roles["encoding.table"] == "table"
    assert roles["layers.1.weight"] == "matrix"


@every
def test_gradients_reach_every_parameter_and_match_finite_differences(activation):
    field = trained(activation).double()
    x = points(dtype=torch.float64)
    field(x).square().sum().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in field.parameters())
    if activation == "finer":
        return  # FINER trains with a part of its derivative left out
    row = int(field.encoding.table.grad.abs().sum(-1).argmax())
    slope, step = float(field.encoding.table.grad[row, 0]), 1e-5
    with torch.no_grad():
        values = []
        for sign in (1, -2):
            field.encoding.table[row, 0] += sign * step
            values.append(float(field(x).square().sum()))
    assert (values[0] - values[1]) / (2 * step) == pytest.approx(slope, rel=1e-4)


@every
def test_architecture_rebuilds_the_network(activation):
    field = make(activation, proportions=(2.0, 2.0))
    text = json.loads(json.dumps(field.architecture))
    assert text["name"] == "ngp"
    rebuilt = ngp(**text["arguments"])
    assert rebuilt.architecture == field.architecture
    rebuilt.load_state_dict(field.state_dict())
    assert torch.equal(rebuilt(points()), field(points()))


@every
def test_derivatives_by_the_coordinates(activation):
    field = trained(activation, interpolation="smoothstep").double()
    x = points(5, dtype=torch.float64)
    slopes, step = gradient(field, x), 1e-6
    for axis in range(2):
        shift = torch.zeros(2, dtype=torch.float64)
        shift[axis] = step
        expected = (field(x + shift) - field(x - shift)) / (2 * step)
        assert torch.allclose(slopes[..., axis], expected, rtol=1e-4, atol=1e-5)
    bent = laplacian(field, x)
    assert bent.abs().max() > 0
    with pytest.raises(NotImplementedError, match="use interpolation='smoothstep'"):
        laplacian(trained(activation), x.float())


def test_torch_func_and_stacks_of_networks():
    field = trained("staf").double()
    parameters = dict(field.named_parameters())
    x = points(4, dtype=torch.float64)

    def value(parameters, point):
        return functional_call(field, parameters, (point[None],))[0, 0]

    per_point = vmap(grad(value), in_dims=(None, 0))(parameters, x)
    expected = torch.autograd.grad(field(x)[2, 0], list(parameters.values()))
    for found, true in zip(per_point.values(), expected, strict=True):
        assert torch.allclose(found[2], true, rtol=1e-8, atol=1e-12)
    fields = [make("relu", seed) for seed in range(3)]
    stack = StackedField(fields)
    together = stack(torch.stack([points()] * 3))
    for one, alone in zip(together, fields, strict=True):
        assert torch.allclose(one, alone(points()), atol=1e-6)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("levels", 3),
        ("features", 4),
        ("log2_entries", 7),
        ("coarsest", 5),
        ("finest", 40),
        ("proportions", (1.0, 2.0)),
        ("interpolation", "smoothstep"),
        ("width", 10),
        ("depth", 3),
        ("omega0", 31.0),
        ("terms", 4),
    ],
)
def test_no_option_without_effect(option, value):
    fields = [trained("staf"), trained("staf", **{option: value})]
    assert fields[0].architecture != fields[1].architecture
    assert not torch.equal(fields[0](points()), fields[1](points()))


def test_options_of_other_decoders_are_refused():
    for activation, option in (("relu", "omega0"), ("siren", "terms"), ("staf", "sigma")):
        with pytest.raises(ValueError, match=f"{option} has no effect with activation='{activation}'"):
            make(activation, **{option: 7})
    assert not torch.equal(trained("gauss")(points()), trained("gauss", sigma=3.0)(points()))


@every
def test_a_picture_is_learnt(activation):
    axis = (torch.arange(24) * 2 + 1) / 24 - 1
    x = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), dim=-1).reshape(-1, 2)
    target = (torch.sin(9 * x[:, :1]) * torch.cos(7 * x[:, 1:]) * 0.4 + 0.5).expand(-1, 3)
    field = make(activation, log2_entries=10, width=16)
    roles = parameter_roles(field)
    tables = [p for name, p in field.named_parameters() if roles[name] == "table"]
    others = [p for name, p in field.named_parameters() if roles[name] != "table"]
    optimiser = torch.optim.Adam([{"params": tables, "lr": 1e-2, "eps": 1e-15}, {"params": others, "lr": 1e-3}])
    first = float((field(x) - target).square().mean().detach())
    for _ in range(150):
        optimiser.zero_grad()
        loss = (field(x) - target).square().mean()
        loss.backward()
        optimiser.step()
    assert float(loss.detach()) < first / 100
